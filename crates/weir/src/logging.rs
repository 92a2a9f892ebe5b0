//! Weir's own log: text for people or JSON lines for machines, to standard error or a file.
//!
//! Must always hold: an event is one write of one line, so lines of several threads never mix. The
//! file is opened once, in append mode; a tool that rotates it must copy and truncate.

use std::fs::{File, OpenOptions};
use std::io::{self, IsTerminal};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tracing::Subscriber;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::ParseError;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::util::SubscriberInitExt;

use crate::config::checked::{Log, LogFormat, LogLevel};

/// The environment variable that overrides the configured level.
pub(crate) const LEVEL_VARIABLE: &str = "WEIR_LOG";

/// Permissions of a new log file: its group may read it.
const LOG_FILE_MODE: u32 = 0o640;

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

/// Sets the process's log up as configured; call it once.
pub(crate) fn init(log: &Log) -> Result<(), LogError> {
    let filter = filter(log.level, std::env::var(LEVEL_VARIABLE).ok())?;
    let result = match &log.file {
        Some(path) => {
            let file = Arc::new(open(path)?);
            subscriber(filter, log.format, file, false).try_init()
        }
        None => {
            let colours = io::stderr().is_terminal();
            subscriber(filter, log.format, io::stderr, colours).try_init()
        }
    };
    result.map_err(|_| LogError::SetUpTwice)
}

fn open(path: &Path) -> Result<File, LogError> {
    let mut options = OpenOptions::new();
    options.append(true).create(true).mode(LOG_FILE_MODE);
    options.open(path).map_err(|source| LogError::File { path: path.to_owned(), source })
}

/// What is logged: as `overridden` says when it is there and not empty, else the configured level.
fn filter(level: LogLevel, overridden: Option<String>) -> Result<EnvFilter, LogError> {
    match overridden.filter(|value| !value.is_empty()) {
        Some(value) => EnvFilter::try_new(&value).map_err(|source| LogError::Level { value, source }),
        None => Ok(EnvFilter::new(match level {
            LogLevel::Error => "error",
            LogLevel::Warn => "warn",
            LogLevel::Info => "info",
            LogLevel::Debug => "debug",
            LogLevel::Trace => "trace",
        })),
    }
}

/// A subscriber that writes the events that pass the filter.
fn subscriber<W>(filter: EnvFilter, format: LogFormat, writer: W, colours: bool) -> Box<dyn Subscriber + Send + Sync>
where
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(writer).with_ansi(colours);
    match format {
        LogFormat::Text => Box::new(builder.finish()),
        LogFormat::Json => Box::new(builder.json().flatten_event(true).finish()),
    }
}

#[cfg(test)]
mod tests;
