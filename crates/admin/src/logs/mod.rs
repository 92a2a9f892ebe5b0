//! The slow log and the audit log: JSON lines in files of their own.
//!
//! What must always hold: who logs never waits for a disk. Lines go through a bounded queue to a thread that writes them;
//! what does not fit is dropped and counted, or, if the audit log says so, the statement is refused before it runs. No
//! line has a password in it: texts are shown without literals unless asked for, and statements that speak of passwords
//! never with them.

mod audit;
mod file;
mod line;
mod writer;

use std::io;
use std::path::PathBuf;
use std::time::Duration;

pub use audit::{AuditLog, AuditSettings, Events};
pub use file::FileSettings;
pub use line::{Ended, Event, LogLine, Who, text_of};
pub use writer::{Slot, Writer};

use weir_wire::Failure;
use weir_wire::error::codes;

/// Why a log can't be had.
#[derive(Debug, thiserror::Error)]
#[error("can't write the log {path}: {source}")]
pub struct LogError {
    /// Which.
    pub path: PathBuf,
    /// What the system said.
    pub source: io::Error,
}

/// Statements that took long.
#[derive(Debug)]
pub struct SlowLog {
    /// Statements that took at least so long.
    pub min_time: Duration,
    /// Whether literals are shown.
    pub literals: bool,
    /// Where they are written.
    pub writer: Writer,
}

/// Both logs, those that there are.
#[derive(Debug, Default)]
pub struct Logs {
    /// Statements that took long.
    pub slow: Option<SlowLog>,
    /// Who did what.
    pub audit: Option<AuditLog>,
}

impl Logs {
    /// The writers, with the names of their logs.
    pub fn writers(&self) -> impl Iterator<Item = (&'static str, &Writer)> {
        let slow = self.slow.as_ref().map(|log| ("slow", &log.writer));
        slow.into_iter().chain(self.audit.as_ref().map(|log| ("audit", &log.writer)))
    }

    /// Begins new files: those there are are renamed, unless somebody has done so already.
    ///
    /// # Errors
    /// If a log can't be reopened, or a disk does not answer.
    pub async fn rotate(&self) -> Result<(), Failure> {
        for (name, writer) in self.writers() {
            writer.rotate().await.map_err(|why| {
                let message = format!("The {name} log can't be rotated: {why}");
                Failure::weir(codes::ER_UNKNOWN_ERROR, message)
            })?;
        }
        Ok(())
    }

    /// Writes what is queued, for at most so long, and ends.
    pub fn close(&self, bound: Duration) {
        for (name, writer) in self.writers() {
            if !writer.close(bound) {
                tracing::error!(log = name, "not all lines of the log could be written before the end");
            }
        }
    }
}

#[cfg(test)]
mod tests;
