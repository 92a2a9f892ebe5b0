//! What the user sees while a bench runs, on standard error: on a terminal a bar with the time left, elsewhere plain lines.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use weir_local::Progress;

const TICK: Duration = Duration::from_millis(200);

/// Shows the progress of a run.
pub(crate) struct Console {
    is_terminal: bool,
    bar: Option<ProgressBar>,
    step: Option<(String, Instant)>,
    left: TimeLeft,
}

impl Console {
    pub(crate) fn new() -> Self {
        Self { is_terminal: std::io::stderr().is_terminal(), bar: None, step: None, left: TimeLeft::new(0.0) }
    }

    /// The runs begin: their number, and the seconds that they are planned to take.
    pub(crate) fn runs_begin(&mut self, runs: usize, seconds: f64) {
        self.left = TimeLeft::new(seconds);
        if self.is_terminal {
            let bar = ProgressBar::new(runs as u64);
            let style = ProgressStyle::with_template("{bar:24} {pos}/{len} {msg}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar.enable_steady_tick(TICK);
            self.bar = Some(bar);
        }
    }

    /// A run begins.
    pub(crate) fn run_begins(&self, what: &str) {
        if let Some(bar) = &self.bar {
            bar.set_message(format!("{what} ({} left)", duration(self.left.seconds())));
        }
    }

    /// A run that was planned to take `planned` seconds has ended; `outcome` is what came of it.
    pub(crate) fn run_ended(&mut self, what: &str, outcome: &str, planned: f64) {
        self.left.passed(planned);
        match &self.bar {
            Some(bar) => bar.inc(1),
            None => complain(&format!("{what}: {outcome} ({} left)", duration(self.left.seconds()))),
        }
    }

    /// No more runs.
    pub(crate) fn runs_end(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

impl Progress for Console {
    fn step(&mut self, what: &str) {
        self.done("");
        self.step = Some((what.to_owned(), Instant::now()));
    }

    fn done(&mut self, outcome: &str) {
        let Some((what, begun)) = self.step.take() else { return };
        let outcome = if outcome.is_empty() { String::new() } else { format!(": {outcome}") };
        self.note(&format!("✓ {what}{outcome} ({:.1} s)", begun.elapsed().as_secs_f64()));
    }

    fn note(&mut self, text: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| complain(text)),
            None => complain(text),
        }
    }
}

impl Drop for Console {
    fn drop(&mut self) {
        self.runs_end();
    }
}

/// A reader that has gone is no error.
fn complain(text: &str) {
    let _reader_gone = writeln!(std::io::stderr().lock(), "{text}");
}

/// How much longer it will take, by the plan and by how long the planned took so far.
struct TimeLeft {
    begun: Instant,
    planned: f64,
    passed: f64,
}

impl TimeLeft {
    fn new(planned: f64) -> Self {
        Self { begun: Instant::now(), planned, passed: 0.0 }
    }

    fn passed(&mut self, planned: f64) {
        self.passed += planned;
    }

    fn seconds(&self) -> f64 {
        self.after(self.begun.elapsed().as_secs_f64())
    }

    fn after(&self, elapsed: f64) -> f64 {
        /// Until this much has passed, the plan is trusted more than what was seen.
        const TRUSTED: f64 = 20.0;
        let pace = (elapsed + TRUSTED) / (self.passed + TRUSTED);
        let pace = if self.passed > 0.0 { pace.clamp(0.2, 5.0) } else { 1.0 };
        (self.planned - self.passed).max(0.0) * pace
    }
}

/// `48 s`, `12 min`, `1.5 h`.
pub(crate) fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 100.0 => format!("{s:.0} s"),
        s if s < 5_400.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::TimeLeft;

    #[test]
    fn the_time_left_follows_the_pace() {
        let mut left = TimeLeft::new(100.0);
        assert_eq!(left.after(0.0), 100.0);
        left.passed(40.0);
        assert_eq!(left.after(40.0), 60.0, "as planned");
        assert_eq!(left.after(100.0), 120.0, "half as fast");
        left.passed(70.0);
        assert_eq!(left.after(200.0), 0.0);
    }
}
