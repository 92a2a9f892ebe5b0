//! Why a bench could not be run; each text says what to do where that is known.

use std::io;
use std::path::{Path, PathBuf};

use weir_local::LocalError;

use crate::report::ReportError;

/// Why a bench failed as a whole. What fails at a single point is in the record instead.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BenchError {
    /// Starting, stopping or asking a local server or proxy failed.
    #[error(transparent)]
    Local(#[from] LocalError),
    /// A given server could not be asked.
    #[error("{server}: {source}")]
    Sql {
        /// Its address.
        server: String,
        /// The driver's error.
        source: Box<mysql::Error>,
    },
    /// A program that no point can do without.
    #[error("{program} is not installed, but every bench needs it: scripts/install-deps installs it")]
    NoTool {
        /// Its name.
        program: &'static str,
    },
    /// A load tool could not be run, or its preparation failed.
    #[error("{tool} failed: {reason}")]
    Tool {
        /// Its name.
        tool: String,
        /// Its own words.
        reason: String,
    },
    /// A file could not be used.
    #[error("can't {action} {}: {source}", path.display())]
    Io {
        /// A verb: "read", "create".
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file is no record of this version.
    #[error("{}: {reason}", path.display())]
    NoRecord {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The options contradict each other or leave nothing to do.
    #[error("{0}")]
    Options(String),
    /// Too little room for the data.
    #[error("{} has {free_mib} MiB of free space; this bench needs about {needed_mib} MiB", dir.display())]
    NoSpace {
        /// Where the data would go.
        dir: PathBuf,
        /// What is there.
        free_mib: u64,
        /// What is needed.
        needed_mib: u64,
    },
    /// The report could not be written; the record was.
    #[error(transparent)]
    Report(#[from] ReportError),
    /// Stopped by the user. What had been measured by then is recorded.
    #[error("interrupted")]
    Interrupted,
}

impl BenchError {
    /// For `map_err`: wraps an I/O error with what was being done to which path.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::Io { action, path, source }
    }

    /// Whether the user's interrupt is the reason.
    pub fn is_interrupt(&self) -> bool {
        matches!(self, Self::Interrupted | Self::Local(LocalError::Cancelled))
    }
}
