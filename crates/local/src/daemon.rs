//! A long-lived process that is no database server: Weir itself, in front of a cluster.

use std::io::Read;
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::time::Duration;

use crate::LocalError;
use crate::process::{CommandMark, Launch, Lifetime, Process, ProcessId, not_started};
use crate::tool::file_tail;
use crate::wait::{Cancel, wait_until};

/// How long a daemon whose value is dropped may take to end by itself.
const DROP_BOUND: Duration = Duration::from_secs(10);
/// How long a connection may take to be accepted and greeted before it is tried again.
const GREETING_BOUND: Duration = Duration::from_secs(2);
/// Larger than any server's first packet.
const LARGEST_GREETING: usize = 1024;
/// First byte of the payload of a server's first packet, in the protocol that every server since 1998 speaks.
const PROTOCOL_VERSION: u8 = 10;

/// What to start.
#[derive(Debug, Clone)]
pub struct DaemonSpec {
    /// Its name in messages.
    pub name: String,
    /// The program.
    pub program: PathBuf,
    /// Its arguments; together with the program's name they are how the process is recognised later.
    pub arguments: Vec<String>,
    /// Working directory.
    pub directory: PathBuf,
    /// Both output streams are appended here.
    pub log: PathBuf,
    /// End it with SIGKILL when the *thread* that starts it ends; see [`ServerSpec`](crate::ServerSpec).
    pub die_with_parent: bool,
}

impl DaemonSpec {
    /// How the process is recognised.
    pub fn mark(&self) -> CommandMark {
        let program = self.program.file_name().map(|name| name.to_string_lossy().into_owned());
        CommandMark { programs: program.into_iter().collect(), words: self.arguments.clone() }
    }
}

/// A running daemon; stopped on drop unless detached.
#[derive(Debug)]
pub struct Daemon {
    spec: DaemonSpec,
    process: Option<Process>,
    log_start: u64,
    stop_on_drop: bool,
}

impl Daemon {
    /// Starts the process, without waiting for it to be ready.
    ///
    /// Errors: [`LocalError::AlreadyRunning`] when a process with the same command line lives.
    pub fn start(spec: &DaemonSpec) -> Result<Self, LocalError> {
        if let Some(process) = Process::find(&spec.name, None, &spec.mark()) {
            return Err(LocalError::AlreadyRunning { name: spec.name.clone(), pid: process.id().pid });
        }
        let log_start = spec.log.metadata().map_or(0, |found| found.len());
        let process = Process::spawn(Launch {
            name: &spec.name,
            program: &spec.program,
            arguments: &spec.arguments,
            directory: &spec.directory,
            log: &spec.log,
            lifetime: if spec.die_with_parent { Lifetime::WithParentThread } else { Lifetime::Independent },
            mark: spec.mark(),
            programs: None,
        })?;
        Ok(Self { spec: spec.clone(), process: Some(process), log_start, stop_on_drop: true })
    }

    /// Waits until `address` greets as a MySQL server does; the connection is closed again.
    ///
    /// Errors: [`LocalError::NotStarted`] with the end of the log when the process ends first or `bound` passes.
    pub fn wait_for_greeting(
        &mut self,
        address: SocketAddr,
        bound: Duration,
        cancel: &Cancel,
    ) -> Result<(), LocalError> {
        let greeted = wait_until(bound, cancel, || {
            if greets(address) {
                return Ok(Some(()));
            }
            if self.pid().is_some() {
                return Ok(None);
            }
            let status = self.process.as_mut().and_then(Process::exit_status);
            Err(self.not_started(status.map_or("it ended".to_owned(), |status| format!("it ended ({status})"))))
        })?;
        greeted.ok_or_else(|| self.not_started(format!("no MySQL greeting on {address} within {} s", bound.as_secs())))
    }

    fn not_started(&self, reason: String) -> LocalError {
        not_started(&self.spec.name, &self.spec.log, self.log_start, reason)
    }

    /// Ends the process with SIGTERM; with SIGKILL if it takes longer than `bound`.
    pub fn stop(&mut self, bound: Duration) -> Result<(), LocalError> {
        self.process.take().map_or(Ok(()), |process| process.stop(bound))
    }

    /// Ends the process at once, with SIGKILL.
    pub fn kill(&mut self) -> Result<(), LocalError> {
        self.process.take().map_or(Ok(()), Process::kill)
    }

    /// Leaves the process running when this value is dropped.
    pub fn detach(&mut self) {
        self.stop_on_drop = false;
    }

    /// Its process id, while it is alive.
    pub fn pid(&self) -> Option<i32> {
        self.process.as_ref().filter(|process| process.is_alive()).map(|process| process.id().pid)
    }

    pub(crate) fn process_id(&self) -> Option<ProcessId> {
        self.process.as_ref().map(Process::id)
    }

    /// The end of its log, at most 4 KiB.
    pub fn log_tail(&self) -> String {
        file_tail(&self.spec.log, 0)
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        if self.stop_on_drop
            && let Err(error) = self.stop(DROP_BOUND)
        {
            tracing::warn!(%error, "a daemon could not be stopped");
        }
    }
}

/// Whether the first packet of a connection to `address` is a server's greeting.
pub(crate) fn greets(address: SocketAddr) -> bool {
    let first_bytes = || -> std::io::Result<[u8; 5]> {
        let mut stream = TcpStream::connect_timeout(&address, GREETING_BOUND)?;
        stream.set_read_timeout(Some(GREETING_BOUND))?;
        let mut start = [0; 5];
        stream.read_exact(&mut start)?;
        Ok(start)
    };
    let Ok([low, middle, high, sequence, version]) = first_bytes() else { return false };
    let length = usize::from(low) | usize::from(middle) << 8 | usize::from(high) << 16;
    (1..=LARGEST_GREETING).contains(&length) && sequence == 0 && version == PROTOCOL_VERSION
}
