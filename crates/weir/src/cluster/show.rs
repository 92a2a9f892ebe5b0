//! What the user sees: progress on standard error, results on standard output.
//!
//! On a terminal a running step has a spinner and its time; elsewhere each step that has ended is one plain line.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use weir_local::Progress;

const TICK: Duration = Duration::from_millis(100);

/// Shows the steps of a command.
pub(super) struct Show {
    is_terminal: bool,
    running: Option<Step>,
}

struct Step {
    what: String,
    started: Instant,
    spinner: ProgressBar,
}

impl Show {
    pub(super) fn new() -> Self {
        Self { is_terminal: std::io::stderr().is_terminal(), running: None }
    }

    fn end(&mut self, mark: &str, outcome: &str) {
        let Some(step) = self.running.take() else { return };
        step.spinner.finish_and_clear();
        let outcome = if outcome.is_empty() { String::new() } else { format!(": {outcome}") };
        self.note(&format!("{mark} {}{outcome} ({:.1} s)", step.what, step.started.elapsed().as_secs_f64()));
    }
}

impl Progress for Show {
    fn step(&mut self, what: &str) {
        self.end("✓", "");
        let spinner = if self.is_terminal {
            let style = ProgressStyle::with_template("{spinner} {msg} ({elapsed})");
            let spinner = ProgressBar::new_spinner().with_message(what.to_owned());
            spinner.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
            spinner.enable_steady_tick(TICK);
            spinner
        } else {
            ProgressBar::hidden()
        };
        self.running = Some(Step { what: what.to_owned(), started: Instant::now(), spinner });
    }

    fn done(&mut self, outcome: &str) {
        self.end("✓", outcome);
    }

    fn note(&mut self, text: &str) {
        if let Some(step) = &self.running {
            step.spinner.suspend(|| complain(text));
        } else {
            complain(text);
        }
    }
}

impl Drop for Show {
    fn drop(&mut self) {
        self.end("✗", "");
    }
}

/// Writes to standard output; a reader that has gone is no error (`weir status | head -1`).
pub(super) fn say(text: &str) {
    let _reader_gone = std::io::stdout().lock().write_all(text.as_bytes());
}

fn complain(text: &str) {
    let _reader_gone = writeln!(std::io::stderr().lock(), "{text}");
}
