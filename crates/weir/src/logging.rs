//! Weir's own log: text for people or JSON lines for machines, to standard error or a file.
//!
//! Must always hold: an event is one write of one line, so lines of several threads never mix. The file is opened in
//! append mode, and anew at a reload, so that a tool may rotate it by renaming. How much is logged and where can be
//! changed while Weir runs; there are no spans, which a change of the form could not carry over.

use std::fs::{File, OpenOptions};
use std::io::{self, IsTerminal};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use tracing_subscriber::filter::ParseError;
use tracing_subscriber::layer::{Layered, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer, Registry, fmt, reload};

use crate::config::checked::{Log, LogFormat, LogLevel};

/// The environment variable that overrides the configured level.
pub(crate) const LEVEL_VARIABLE: &str = "WEIR_LOG";

/// Permissions of a new log file: its group may read it.
const LOG_FILE_MODE: u32 = 0o640;

/// The words for levels.
const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];

/// Why the log can't be set up.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LogError {
    /// The log file can't be opened for appending.
    #[error("log file {}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// `WEIR_LOG` isn't a list of levels.
    #[error("{LEVEL_VARIABLE}=`{value}` is not a level or a list such as `info,weir_backend=debug`: {source}")]
    Level {
        /// The variable's value.
        value: String,
        /// What the parser said.
        source: ParseError,
    },
    /// Logging was set up before in this process.
    #[error("the log is set up already")]
    SetUpTwice,
}

type Filter = reload::Layer<EnvFilter, Registry>;
type Filtered = Layered<Filter, Registry>;
type Output = Box<dyn Layer<Filtered> + Send + Sync>;

/// How much is logged now, and what has said so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Level {
    /// A level, or a list of levels per part of the program.
    pub(crate) text: String,
    /// What overrides the configured level, if something does.
    pub(crate) overridden_by: Option<&'static str>,
}

/// Changes the log while Weir runs.
pub(crate) struct LogControl {
    filter: reload::Handle<EnvFilter, Registry>,
    output: reload::Handle<Output, Filtered>,
    level: Mutex<Level>,
}

impl std::fmt::Debug for LogControl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LogControl").field("level", &self.level).finish_non_exhaustive()
    }
}

/// A log that is ready to take the place of another.
pub(crate) struct NewLog {
    level: Level,
    filter: EnvFilter,
    output: Output,
}

impl NewLog {
    /// Opens the configured log; reopens the file even if it is the same.
    pub(crate) fn open(log: &Log) -> Result<NewLog, LogError> {
        let (level, filter) = filter(log.level, std::env::var(LEVEL_VARIABLE).ok())?;
        Ok(NewLog { level, filter, output: output(log)? })
    }
}

impl LogControl {
    /// How much is logged now.
    pub(crate) fn level(&self) -> Level {
        self.level.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Logs so much from now on.
    pub(crate) fn set_level(&self, text: &str) -> Result<(), String> {
        // A filter takes any other single word for a part of the program.
        let is_level = |word: &str| word.contains('=') || LEVELS.iter().any(|level| word.eq_ignore_ascii_case(level));
        if let Some(word) = text.split(',').find(|word| !is_level(word.trim())) {
            return Err(format!("`{word}` is none of {}", LEVELS.join(", ")));
        }
        let filter = EnvFilter::try_new(text).map_err(|error| error.to_string())?;
        self.replace(filter, Level { text: text.to_owned(), overridden_by: Some("SET LOG LEVEL") });
        Ok(())
    }

    /// Logs as configured from now on.
    pub(crate) fn configure(&self, log: NewLog) {
        // As below.
        let _ = self.output.reload(log.output);
        self.replace(log.filter, log.level);
    }

    fn replace(&self, filter: EnvFilter, level: Level) {
        // It fails only when the log has gone, and with it whoever could be told.
        let _ = self.filter.reload(filter);
        *self.level.lock().unwrap_or_else(PoisonError::into_inner) = level;
    }
}

/// Sets the process's log up as configured; call it once.
pub(crate) fn init(log: &Log) -> Result<LogControl, LogError> {
    let (control, filter, output) = control(NewLog::open(log)?);
    tracing_subscriber::registry().with(filter).with(output).try_init().map_err(|_| LogError::SetUpTwice)?;
    Ok(control)
}

/// A log's parts, and what changes them.
fn control(log: NewLog) -> (LogControl, Filter, reload::Layer<Output, Filtered>) {
    let (filter_layer, filter) = reload::Layer::new(log.filter);
    let (output_layer, output) = reload::Layer::new(log.output);
    (LogControl { filter, output, level: Mutex::new(log.level) }, filter_layer, output_layer)
}

/// Where the events go, and in which form.
fn output(log: &Log) -> Result<Output, LogError> {
    Ok(match &log.file {
        Some(path) => layer(log.format, Arc::new(open(path)?), false),
        None => layer(log.format, io::stderr, io::stderr().is_terminal()),
    })
}

fn open(path: &Path) -> Result<File, LogError> {
    let mut options = OpenOptions::new();
    options.append(true).create(true).mode(LOG_FILE_MODE);
    options.open(path).map_err(|source| LogError::File { path: path.to_owned(), source })
}

/// What is logged: as `overridden` says when it is there and not empty, else the configured level.
fn filter(level: LogLevel, overridden: Option<String>) -> Result<(Level, EnvFilter), LogError> {
    match overridden.filter(|value| !value.is_empty()) {
        Some(value) => match EnvFilter::try_new(&value) {
            Ok(filter) => Ok((Level { text: value, overridden_by: Some(LEVEL_VARIABLE) }, filter)),
            Err(source) => Err(LogError::Level { value, source }),
        },
        None => {
            let level = match level {
                LogLevel::Error => "error",
                LogLevel::Warn => "warn",
                LogLevel::Info => "info",
                LogLevel::Debug => "debug",
                LogLevel::Trace => "trace",
            };
            Ok((Level { text: level.to_owned(), overridden_by: None }, EnvFilter::new(level)))
        }
    }
}

fn layer<W>(format: LogFormat, writer: W, colours: bool) -> Output
where
    W: for<'w> fmt::MakeWriter<'w> + Send + Sync + 'static,
{
    let layer = fmt::layer().with_writer(writer).with_ansi(colours);
    match format {
        LogFormat::Text => layer.boxed(),
        LogFormat::Json => layer.json().flatten_event(true).boxed(),
    }
}

#[cfg(test)]
mod tests;
