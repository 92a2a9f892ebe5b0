//! What the cluster commands can fail with.

use std::io;
use std::path::PathBuf;

use weir_local::LocalError;

/// Why a cluster command failed; the text is for the user, and says what to do where that is known.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ClusterError {
    /// Starting, stopping or looking at the servers failed.
    #[error(transparent)]
    Local(#[from] LocalError),
    /// Neither kind of server is installed.
    #[error("{}\n{}", .0.0, .0.1)]
    NoServer(Box<(LocalError, LocalError)>),
    /// Weir's port is in use.
    #[error("port {0} on 127.0.0.1 is in use by another program; choose another with --port")]
    PortTaken(u16),
    /// The cluster that is there has Weir on another port.
    #[error("{}: Weir listens on {has} here, not on port {wanted}; edit the file, or start over with --fresh", file.display())]
    OtherPort {
        /// The configuration file.
        file: PathBuf,
        /// Its first listening address.
        has: String,
        /// The argument.
        wanted: u16,
    },
    /// Too little room for the data.
    #[error("{} has {free_mib} MiB of free space; the cluster needs about {needed_mib} MiB", dir.display())]
    NoSpace {
        /// Where the data would go.
        dir: PathBuf,
        /// What is there.
        free_mib: u64,
        /// What is needed.
        needed_mib: u64,
    },
    /// The cluster's configuration file can't be used.
    #[error("{}: {reason}", file.display())]
    Config {
        /// The file.
        file: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// Something of this process itself.
    #[error("cannot {0}: {1}")]
    Io(&'static str, io::Error),
}

impl ClusterError {
    /// The exit code that shells expect: 130 after an interrupt, 1 otherwise.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::Local(LocalError::Cancelled) => 130,
            _ => 1,
        }
    }
}
