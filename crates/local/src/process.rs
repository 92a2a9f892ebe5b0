//! Long-lived processes: started apart from us, recognised beyond doubt, ended within a bound.
//!
//! A process is known by its pid *and* its start time (so that a recycled pid is not taken for it) *and* its command
//! line (so that a damaged record can't point at a stranger). [`Process`] signals only while all three match. A zombie
//! counts as dead once the last of its threads is gone.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, SysconfVar, sysconf};
use serde::{Deserialize, Serialize};

use crate::LocalError;
use crate::wait::{Cancel, wait_until};

/// How long a process may take to vanish after SIGKILL; a dump to a slow disk can hold it in the kernel.
const KILL_BOUND: Duration = Duration::from_secs(20);

/// A process, told apart from later ones with the same pid by its start time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessId {
    /// Process id.
    pub pid: i32,
    /// Clock ticks since boot (field 22 of `/proc/<pid>/stat`, proc_pid_stat(5)).
    pub start_ticks: u64,
}

impl ProcessId {
    /// The process with this pid; `None` when there is none, or only a zombie.
    pub fn of(pid: i32) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The second field is the program's name in parentheses, and may itself hold spaces and parentheses.
        let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
        let state = fields.next()?;
        let threads: u32 = fields.nth(16)?.parse().ok()?;
        let start_ticks = fields.nth(1)?.parse().ok()?;
        // While a process dies, its first thread may be a zombie already and others still hold its ports and locks.
        let is_dead = matches!(state, "Z" | "X") && threads <= 1;
        (!is_dead).then_some(Self { pid, start_ticks })
    }

    /// How long ago the process started; `None` where `/proc` does not tell.
    pub fn age(&self) -> Option<Duration> {
        let since_boot: f64 = fs::read_to_string("/proc/uptime").ok()?.split_whitespace().next()?.parse().ok()?;
        let ticks_per_second = u32::try_from(sysconf(SysconfVar::CLK_TCK).ok()??).ok()?;
        let started = Duration::from_secs(self.start_ticks) / ticks_per_second;
        Some(Duration::try_from_secs_f64(since_boot).ok()?.saturating_sub(started))
    }
}

/// What the command line of a process must hold to be the one that we mean.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandMark {
    /// File names of programs, one of which must be among the words (as a path's last part).
    pub programs: Vec<String>,
    /// Words that must all be there, exactly.
    pub words: Vec<String>,
}

impl CommandMark {
    /// Whether the process with this pid has such a command line now.
    pub fn fits(&self, pid: i32) -> bool {
        let Ok(command_line) = fs::read(format!("/proc/{pid}/cmdline")) else { return false };
        let given: Vec<&[u8]> = command_line.split(|byte| *byte == 0).collect();
        let is_program = |word: &&[u8]| {
            let file_name = word.rsplit(|byte| *byte == b'/').next();
            self.programs.iter().any(|program| file_name == Some(program.as_bytes()))
        };
        given.iter().any(is_program) && self.words.iter().all(|word| given.contains(&word.as_bytes()))
    }
}

/// All live processes whose command line has this mark: how the process of an interrupted start is found, whose pid
/// nobody had the time to write down.
pub fn find_processes(mark: &CommandMark) -> Vec<ProcessId> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let own = std::process::id().cast_signed();
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|pid| *pid != own && mark.fits(*pid))
        .filter_map(ProcessId::of)
        .collect()
}

/// How a process relates to the one that starts it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lifetime {
    /// A session of its own: neither our end nor the terminal's reaches it.
    Independent,
    /// Gets SIGKILL when the *thread* that started it ends (`PR_SET_PDEATHSIG`, prctl(2)).
    WithParentThread,
}

/// What to start.
pub(crate) struct Launch<'a> {
    pub(crate) name: &'a str,
    pub(crate) program: &'a Path,
    pub(crate) arguments: &'a [String],
    pub(crate) directory: &'a Path,
    /// Both output streams are appended here.
    pub(crate) log: &'a Path,
    pub(crate) lifetime: Lifetime,
    pub(crate) mark: CommandMark,
    /// A folder of programs that the process finds first.
    pub(crate) programs: Option<&'a Path>,
}

/// A running process, ours or found again; does nothing on drop.
#[derive(Debug)]
pub(crate) struct Process {
    name: String,
    id: ProcessId,
    mark: CommandMark,
    /// There when this process of ours started it: then it must be reaped.
    child: Option<Child>,
}

impl Process {
    /// Starts a process without waiting for it to be ready.
    pub(crate) fn spawn(launch: Launch<'_>) -> Result<Self, LocalError> {
        let log = open_log(launch.log)?;
        let log_too = log.try_clone().map_err(LocalError::io("open", launch.log))?;
        // Both tools replace themselves by the program, so that its pid is the child's.
        let (tool, tool_arguments): (_, &[&str]) = match launch.lifetime {
            Lifetime::Independent => ("setsid", &["--"]),
            Lifetime::WithParentThread => ("setpriv", &["--pdeathsig", "KILL", "--"]),
        };
        let mut command = Command::new(tool);
        command.args(tool_arguments).arg(launch.program).args(launch.arguments);
        command.current_dir(launch.directory).stdin(Stdio::null()).stdout(log).stderr(log_too);
        if let Some(programs) = launch.programs {
            let path = std::env::var_os("PATH").unwrap_or_default();
            let folders = std::iter::once(programs.to_path_buf()).chain(std::env::split_paths(&path));
            command.env("PATH", std::env::join_paths(folders).unwrap_or(path));
        }
        if launch.lifetime == Lifetime::WithParentThread {
            command.process_group(0); // setsid(1) would fork if it led a group already.
        }
        let mut child = command.spawn().map_err(|error| LocalError::Tool {
            tool: tool.to_owned(),
            reason: format!("can't be run ({error}); it is part of util-linux"),
            output: String::new(),
        })?;
        let Some(id) = ProcessId::of(child.id().cast_signed()) else {
            let status = child.wait().map_or_else(|error| error.to_string(), |status| status.to_string());
            return Err(not_started(launch.name, launch.log, 0, format!("it exited at once ({status})")));
        };
        Ok(Self { name: launch.name.to_owned(), id, mark: launch.mark, child: Some(child) })
    }

    /// Finds a process that an earlier command started: the recorded one if it still is the same, else any with the
    /// mark on its command line.
    pub(crate) fn find(name: &str, recorded: Option<ProcessId>, mark: &CommandMark) -> Option<Self> {
        let alive = |id: &ProcessId| ProcessId::of(id.pid) == Some(*id) && mark.fits(id.pid);
        let id = recorded.filter(alive).or_else(|| find_processes(mark).into_iter().next())?;
        Some(Self { name: name.to_owned(), id, mark: mark.clone(), child: None })
    }

    pub(crate) fn id(&self) -> ProcessId {
        self.id
    }

    pub(crate) fn is_alive(&self) -> bool {
        // A child that was not reaped keeps its pid; and in the midst of execve(2) it has no command line to look at.
        ProcessId::of(self.id.pid) == Some(self.id) && (self.child.is_some() || self.mark.fits(self.id.pid))
    }

    /// How it ended, when it was started by this process and has ended.
    pub(crate) fn exit_status(&mut self) -> Option<ExitStatus> {
        self.child.as_mut()?.try_wait().ok()?
    }

    /// Sends a signal if the process is alive; tells whether it was.
    pub(crate) fn signal(&self, signal: Signal) -> bool {
        self.is_alive() && kill(Pid::from_raw(self.id.pid), signal).is_ok()
    }

    /// Asks the process to end; a stopped one is woken so that it can hear.
    pub(crate) fn request_stop(&self) {
        self.signal(Signal::SIGTERM);
        self.signal(Signal::SIGCONT);
    }

    /// Asks the process to end, and ends it with SIGKILL after `bound`. Returns when it is gone.
    pub(crate) fn stop(mut self, bound: Duration) -> Result<(), LocalError> {
        self.request_stop();
        if self.wait_gone(bound)? { Ok(()) } else { self.kill() }
    }

    /// Ends the process with SIGKILL; returns when it is gone.
    pub(crate) fn kill(mut self) -> Result<(), LocalError> {
        self.signal(Signal::SIGKILL);
        if self.wait_gone(KILL_BOUND)? {
            return Ok(());
        }
        Err(LocalError::NotStopped { name: self.name, pid: self.id.pid, bound: KILL_BOUND })
    }

    fn wait_gone(&mut self, bound: Duration) -> Result<bool, LocalError> {
        let gone = || {
            let is_gone = match &mut self.child {
                Some(child) => matches!(child.try_wait(), Ok(Some(_))),
                // By pid and start time alone: a process in the middle of its exit has no command line any more.
                None => ProcessId::of(self.id.pid) != Some(self.id),
            };
            Ok(is_gone.then_some(()))
        };
        // Not open to cancellation: a stop that was begun is brought to its end.
        Ok(wait_until(bound, &Cancel::default(), gone)?.is_some())
    }
}

/// Opens a log for appending, readable by its owner only.
pub(crate) fn open_log(path: &Path) -> Result<File, LocalError> {
    let mut options = OpenOptions::new();
    options.create(true).append(true).mode(0o600).open(path).map_err(LocalError::io("open", path))
}

/// The error of a process that did not become ready, with the end of what it has logged since `log_start`.
pub(crate) fn not_started(name: &str, log: &Path, log_start: u64, reason: String) -> LocalError {
    let log_tail = crate::tool::file_tail(log, log_start);
    LocalError::NotStarted { name: name.to_owned(), reason, log: log.to_path_buf(), log_tail }
}

#[cfg(test)]
mod tests;
