//! One real server: started in a private directory, awaited, paused, stopped, killed, started again.
//!
//! Dropping a [`Server`] stops it, unless it was detached or was running before this value was made.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use crate::layout::ServerFiles;
use crate::ports::{free_port, is_port_free};
use crate::process::{Launch, Lifetime, Process, ProcessId, not_started};
use crate::tool::file_tail;
use crate::wait::{Cancel, SignsOfLife, wait_until};
use crate::{Installation, LocalError, PortChoice};

/// How long a server may take to end by itself when it is asked to.
const STOP_BOUND: Duration = Duration::from_secs(30);
/// The same for a server whose value is dropped.
const DROP_BOUND: Duration = Duration::from_secs(10);
/// Another process may bind a chosen port before the server does.
const PORT_ATTEMPTS: u32 = 8;

/// What kind of server to start; [`ServerSpec::new`] gives the defaults.
#[derive(Debug, Clone)]
pub struct ServerSpec {
    /// Name of the server and of its directory: letters, digits, `-`, `_`.
    pub name: String,
    /// Lines for the option file after Weir's own (`performance-schema=ON`), which they override.
    pub options: Vec<String>,
    /// TCP port on 127.0.0.1; also becomes the `server_id`.
    pub port: PortChoice,
    /// End the server with SIGKILL when the *thread* that starts it ends, however that happens: for tests. Linux ties
    /// `PR_SET_PDEATHSIG` to the thread, so start such servers from a thread that outlives their use.
    pub die_with_parent: bool,
    /// How long the server may take to answer, crash recovery included, without a word in its log; it may take four times as long in all.
    pub start_bound: Duration,
    /// Ends the waits for this server.
    pub cancel: Cancel,
}

impl ServerSpec {
    /// A server of this name on any port, that outlives us, and may take 90 s to answer.
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            options: Vec::new(),
            port: PortChoice::Any,
            die_with_parent: false,
            start_bound: Duration::from_secs(90),
            cancel: Cancel::default(),
        }
    }
}

/// A server in its directory, running or not.
#[derive(Debug)]
pub struct Server {
    installation: Installation,
    files: ServerFiles,
    spec: ServerSpec,
    port: u16,
    process: Option<Process>,
    /// Arguments of the next start only.
    start_arguments: Vec<String>,
    /// Length of the error log before the last start.
    log_start: u64,
    stop_on_drop: bool,
}

impl Server {
    /// A server in `parent/<name>` that does not run yet: its directories are there, but for the data directory.
    pub(crate) fn prepare(installation: &Installation, parent: &Path, spec: &ServerSpec) -> Result<Self, LocalError> {
        fs::create_dir_all(parent).map_err(LocalError::io("create", parent))?;
        let server = Self {
            installation: installation.clone(),
            files: ServerFiles::new(&resolved(parent)?, &spec.name)?,
            spec: spec.clone(),
            port: 0,
            process: None,
            start_arguments: Vec::new(),
            log_start: 0,
            stop_on_drop: true,
        };
        server.refuse_if_running()?;
        server.files.prepare()?;
        Ok(server)
    }

    /// Where its data is.
    pub(crate) fn data_directory(&self) -> PathBuf {
        self.files.data()
    }

    /// Starts the process on the data that is there; it may still fail.
    pub(crate) fn launch_on_data(&mut self) -> Result<(), LocalError> {
        self.port = free_port(self.spec.port)?;
        self.spawn()
    }

    /// The server of `parent/<name>` that an earlier command started, running or not; never stopped on drop.
    pub(crate) fn attach(
        installation: &Installation,
        parent: &Path,
        spec: &ServerSpec,
        port: u16,
        recorded: Option<ProcessId>,
    ) -> Result<Self, LocalError> {
        let files = ServerFiles::new(&resolved(parent)?, &spec.name)?;
        let process = Process::find(&spec.name, recorded, &files.mark(installation));
        Ok(Self {
            installation: installation.clone(),
            files,
            spec: ServerSpec { port: PortChoice::Exactly(port), ..spec.clone() },
            port,
            process,
            start_arguments: Vec::new(),
            log_start: 0,
            stop_on_drop: false,
        })
    }

    fn refuse_if_running(&self) -> Result<(), LocalError> {
        match Process::find(&self.spec.name, None, &self.files.mark(&self.installation)) {
            Some(process) => Err(LocalError::AlreadyRunning { name: self.spec.name.clone(), pid: process.id().pid }),
            None => Ok(()),
        }
    }

    fn spawn(&mut self) -> Result<(), LocalError> {
        if !is_port_free(self.port) {
            if let PortChoice::Exactly(port) = self.spec.port {
                return Err(LocalError::PortTaken { port, name: self.spec.name.clone() });
            }
            self.port = free_port(self.spec.port)?;
        }
        self.files.write_options(&self.installation, self.port, &self.spec.options)?;
        let log = self.files.error_log();
        self.log_start = self.log_length();
        let lifetime = if self.spec.die_with_parent { Lifetime::WithParentThread } else { Lifetime::Independent };
        let arguments = [vec![self.files.option_file_argument()], self.start_arguments.clone()].concat();
        let programs = Some(self.files.programs()).filter(|programs| programs.is_dir());
        self.process = Some(Process::spawn(Launch {
            name: &self.spec.name,
            program: self.installation.binary(),
            arguments: &arguments,
            directory: self.files.dir(),
            log: &log,
            lifetime,
            mark: self.files.mark(&self.installation),
            programs: programs.as_deref(),
        })?);
        tracing::debug!(server = %self.spec.name, port = self.port, "launched");
        Ok(())
    }

    /// Waits until the server answers a statement; starts it again on another port if its own was lost to another
    /// process meanwhile.
    pub(crate) fn wait_ready(&mut self) -> Result<(), LocalError> {
        for attempt in 1.. {
            match self.wait_answer() {
                Ok(()) => break,
                Err(LocalError::NotStarted { log_tail, .. })
                    if attempt < PORT_ATTEMPTS
                        && !matches!(self.spec.port, PortChoice::Exactly(_))
                        && log_tail.contains("Bind on TCP/IP port") =>
                {
                    self.kill()?;
                    self.port = free_port(self.spec.port)?;
                    self.spawn()?;
                }
                Err(error) => return Err(error),
            }
        }
        self.start_arguments.clear();
        Ok(())
    }

    fn wait_answer(&mut self) -> Result<(), LocalError> {
        let (cancel, begun) = (self.spec.cancel.clone(), Instant::now());
        let mut signs = SignsOfLife::new(self.spec.start_bound, self.log_length(), begun);
        let answered = wait_until(Duration::MAX, &cancel, || {
            if self.answers(Duration::from_secs(5)) {
                return Ok(Some(()));
            }
            if !self.is_running() {
                let status = self.process.as_mut().and_then(Process::exit_status);
                let ended = status.map_or("it ended".to_owned(), |status| format!("it ended ({status})"));
                return Err(self.not_started(ended));
            }
            if signs.are_over(self.log_length(), Instant::now()) {
                return Err(self.not_started(format!("no answer within {} s", begun.elapsed().as_secs())));
            }
            Ok(None)
        });
        answered.map(drop)
    }

    /// How many bytes the error log has.
    fn log_length(&self) -> u64 {
        self.files.error_log().metadata().map_or(0, |found| found.len())
    }

    fn not_started(&self, reason: String) -> LocalError {
        not_started(&self.spec.name, &self.files.error_log(), self.log_start, reason)
    }

    /// Whether the server answers a statement on its socket within `bound` (for each read).
    pub fn answers(&self, bound: Duration) -> bool {
        use mysql::prelude::Queryable;
        self.files.socket().exists()
            && self.admin_within(bound).and_then(|mut connection| connection.query_drop("DO 1")).is_ok()
    }

    /// Ends the server gracefully; with SIGKILL if it takes longer than 30 s. No-op when it isn't running.
    pub fn stop(&mut self) -> Result<(), LocalError> {
        self.stop_within(STOP_BOUND)
    }

    /// Ends the server gracefully; with SIGKILL if it takes longer than `bound`. No-op when it isn't running.
    pub fn stop_within(&mut self, bound: Duration) -> Result<(), LocalError> {
        let stopped = self.process.take().map_or(Ok(()), |process| process.stop(bound));
        self.files.remove_socket_dir();
        stopped
    }

    /// Ends the server at once, with SIGKILL, as a crash would. No-op when it isn't running.
    pub fn kill(&mut self) -> Result<(), LocalError> {
        self.process.take().map_or(Ok(()), Process::kill)
    }

    /// Freezes the server (SIGSTOP): its connections stay, nothing answers. Tells whether it was running. All of its threads
    /// have stopped when this returns, or a second has passed.
    pub fn pause(&self) -> bool {
        let paused = self.process.as_ref().is_some_and(|process| process.signal(Signal::SIGSTOP));
        let begun = Instant::now();
        while paused && self.pid().is_some_and(has_running_threads) && begun.elapsed() < Duration::from_secs(1) {
            std::thread::sleep(Duration::from_millis(1));
        }
        paused
    }

    /// Lets a paused server run on. Tells whether it was running.
    pub fn resume(&self) -> bool {
        self.process.as_ref().is_some_and(|process| process.signal(Signal::SIGCONT))
    }

    /// Stops the server if it runs, and starts it on the same data and port. The option file is rewritten.
    pub fn restart(&mut self) -> Result<(), LocalError> {
        self.stop()?;
        self.launch_again()?;
        self.wait_ready()
    }

    /// Starts a server that is known not to run, without waiting for it.
    pub(crate) fn launch_again(&mut self) -> Result<(), LocalError> {
        self.refuse_if_running()?;
        self.spec.port = PortChoice::Exactly(self.port);
        self.files.prepare()?;
        self.spawn()
    }

    /// Gives the next start arguments, for that one time.
    pub(crate) fn set_start_arguments(&mut self, arguments: Vec<String>) {
        self.start_arguments = arguments;
    }

    pub(crate) fn start_arguments(&self) -> &[String] {
        &self.start_arguments
    }

    pub(crate) fn files(&self) -> &ServerFiles {
        &self.files
    }

    pub(crate) fn cancel(&self) -> &Cancel {
        &self.spec.cancel
    }

    /// Whether its process is there and stopped ([`Server::pause`]).
    pub fn is_paused(&self) -> bool {
        self.pid().is_some_and(|pid| !has_running_threads(pid))
    }

    /// Has the server refuse writes from its next start on.
    pub(crate) fn start_read_only(&self) -> Result<(), LocalError> {
        self.files.set_read_only(true)
    }

    /// Changes the extra option lines, from the next start on.
    pub fn set_options(&mut self, options: Vec<String>) {
        self.spec.options = options;
    }

    /// Makes the server read-only or writable, now and after restarts. `read_only=ON` does not bind accounts with
    /// administrative rights on MariaDB; MySQL gets `super_read_only` too.
    pub fn set_read_only(&self, on: bool) -> Result<(), LocalError> {
        self.files.set_read_only(on)?;
        let value = if on { "ON" } else { "OFF" };
        match self.installation.flavor() {
            // Setting super_read_only sets read_only; clearing read_only clears super_read_only.
            crate::Flavor::MySql if on => self.execute("SET GLOBAL super_read_only = ON"),
            _ => self.execute(&format!("SET GLOBAL read_only = {value}")),
        }
    }

    /// Leaves the server running when this value is dropped.
    pub fn detach(&mut self) {
        self.stop_on_drop = false;
    }

    pub(crate) fn stops_on_drop(&self) -> bool {
        self.stop_on_drop
    }

    pub(crate) fn stop_on_drop(&mut self) {
        self.stop_on_drop = true;
    }

    pub(crate) fn process_id(&self) -> Option<ProcessId> {
        self.process.as_ref().map(Process::id)
    }

    /// The server's name.
    pub fn name(&self) -> &str {
        &self.spec.name
    }

    /// The program that runs it.
    pub fn installation(&self) -> &Installation {
        &self.installation
    }

    /// Whether its process is alive (it may be paused).
    pub fn is_running(&self) -> bool {
        self.process.as_ref().is_some_and(Process::is_alive)
    }

    /// Its process id, while it is alive.
    pub fn pid(&self) -> Option<i32> {
        self.process.as_ref().filter(|process| process.is_alive()).map(|process| process.id().pid)
    }

    /// Its TCP port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Its unix socket.
    pub fn socket(&self) -> &Path {
        self.files.socket()
    }

    /// Its directory.
    pub fn dir(&self) -> &Path {
        self.files.dir()
    }

    /// Its error log.
    pub fn error_log(&self) -> PathBuf {
        self.files.error_log()
    }

    /// The end of its error log, at most 4 KiB.
    pub fn error_log_tail(&self) -> String {
        file_tail(&self.files.error_log(), 0)
    }
}

/// A server is recognised by the path of its option file: each directory must have one path only.
fn resolved(dir: &Path) -> Result<PathBuf, LocalError> {
    dir.canonicalize().map_err(LocalError::io("resolve", dir))
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.stop_on_drop
            && let Err(error) = self.stop_within(DROP_BOUND)
        {
            tracing::warn!(%error, "a server could not be stopped");
        }
    }
}

/// Whether a thread of the process is in another state than stopped (proc(5), `stat`).
fn has_running_threads(pid: i32) -> bool {
    let Ok(threads) = std::fs::read_dir(format!("/proc/{pid}/task")) else { return false };
    threads.filter_map(Result::ok).any(|thread| {
        let stat = std::fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
        // The state follows the name, which is in parentheses and may hold any characters.
        stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['T', 't']))
    })
}
