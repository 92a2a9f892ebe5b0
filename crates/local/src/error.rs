//! What can go wrong with local servers, said so that the reader knows what to do next.
//!
//! No error text ever holds a password: statements are not part of SQL errors.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::Flavor;

/// Why an operation on local servers failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LocalError {
    /// No server program of this kind where it was looked for.
    #[error("no {flavor} server found (looked at {looked}); {advice}")]
    NotFound {
        /// The kind that was wanted.
        flavor: Flavor,
        /// The places.
        looked: String,
        /// What to do about it.
        advice: String,
    },
    /// The program is there, but it is not what was asked for.
    #[error("{}: {reason}", binary.display())]
    Unusable {
        /// The program.
        binary: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A file or directory could not be used.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// A verb: "read", "create".
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A helper program (cp, mariadb-install-db, …) failed or could not be run.
    #[error("{tool} failed: {reason}{}", tail(output))]
    Tool {
        /// Its name.
        tool: String,
        /// Exit status, or why it could not be run.
        reason: String,
        /// The end of its output.
        output: String,
    },
    /// A path can't be written into an option file.
    #[error("the path {} can't be used for a server: {reason}", path.display())]
    BadPath {
        /// The path.
        path: PathBuf,
        /// Why not.
        reason: &'static str,
    },
    /// Groups of this kind can't be made of these servers.
    #[error("{kind}: {reason}")]
    Unsupported {
        /// The kind's name.
        kind: &'static str,
        /// Why not, and what to do.
        reason: String,
    },
    /// The cluster has no server of this name.
    #[error("the cluster has no server {name:?}; it has {known}")]
    NoSuchServer {
        /// The name.
        name: String,
        /// The names that there are.
        known: String,
    },
    /// Its members don't work as a group.
    #[error("group {group}: {reason}")]
    NoGroup {
        /// The group's name.
        group: String,
        /// Why, and what to do.
        reason: String,
    },
    /// A name or an option that can't be used.
    #[error("{0:?} is not a usable server name or option")]
    BadName(String),
    /// All ports that were tried are in use.
    #[error("no free port between {from} and {to} on 127.0.0.1")]
    NoFreePort {
        /// First port tried.
        from: u16,
        /// Last port tried.
        to: u16,
    },
    /// The one port that was wanted is in use.
    #[error("port {port} on 127.0.0.1 is in use by another program ({name} needs it)")]
    PortTaken {
        /// The port.
        port: u16,
        /// Who needs it.
        name: String,
    },
    /// The process of this data directory, or this daemon, still lives.
    #[error("{name} is already running (pid {pid})")]
    AlreadyRunning {
        /// Whose name.
        name: String,
        /// Its process.
        pid: i32,
    },
    /// A process ended, or did not answer, before it was ready.
    #[error("{name} did not start: {reason} (log: {}){}", log.display(), tail(log_tail))]
    NotStarted {
        /// Whose name.
        name: String,
        /// Why.
        reason: String,
        /// Its log file.
        log: PathBuf,
        /// The end of the log.
        log_tail: String,
    },
    /// A process could not be ended, not even with SIGKILL.
    #[error("{name} (pid {pid}) is still there {} s after SIGKILL", bound.as_secs())]
    NotStopped {
        /// Whose name.
        name: String,
        /// Its process.
        pid: i32,
        /// How long it was waited for.
        bound: Duration,
    },
    /// A statement, or the connection to the server, failed.
    #[error("{server}: {source}")]
    Sql {
        /// The server's name.
        server: String,
        /// The driver's error.
        source: Box<mysql::Error>,
    },
    /// A replica stopped on an error, or is none.
    #[error("{server} does not replicate: {reason}")]
    NotReplicating {
        /// The replica's name.
        server: String,
        /// The server's own words.
        reason: String,
    },
    /// A replica has not caught up within the bound.
    #[error("{server} has not caught up after {} s; it still lacks some of {position}", bound.as_secs())]
    Behind {
        /// The replica's name.
        server: String,
        /// GTID position that it should have reached.
        position: String,
        /// How long it was waited for.
        bound: Duration,
    },
    /// The directory does not hold what Weir put there.
    #[error("{} is not a Weir cluster directory: {reason}", dir.display())]
    NotACluster {
        /// The directory.
        dir: PathBuf,
        /// How that is known.
        reason: String,
    },
    /// The existing cluster differs from the one that was asked for.
    #[error("{} holds a cluster with {has}, not {wanted}; to change that, start over (`weir up --fresh`)", dir.display())]
    OtherCluster {
        /// The directory.
        dir: PathBuf,
        /// What it has.
        has: String,
        /// What was asked for.
        wanted: String,
    },
    /// Another command works in the same directory.
    #[error("another weir command is running in {}; wait for it, or interrupt it", dir.display())]
    Busy {
        /// The directory.
        dir: PathBuf,
    },
    /// The caller's [`Cancel`](crate::Cancel) was set.
    #[error("interrupted")]
    Cancelled,
}

impl LocalError {
    pub(crate) fn sql(server: &str, source: mysql::Error) -> Self {
        Self::Sql { server: server.to_owned(), source: Box::new(source) }
    }

    /// For `map_err`: wraps an I/O error with what was being done to which path.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::Io { action, path, source }
    }
}

fn tail(output: &str) -> String {
    match output.trim_end() {
        "" => String::new(),
        text => format!("\n{text}"),
    }
}
