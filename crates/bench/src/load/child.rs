//! Runs a load tool: in a process group of its own, its output in a file, ended with us, watched while it runs.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use weir_local::{Cancel, LocalError};

use crate::error::BenchError;
use crate::procfs;

/// How often is looked whether the measured seconds have begun; this is the error of their CPU time.
const START_LOOK: Duration = Duration::from_millis(5);
/// How often is looked whether the tool has ended.
const END_LOOK: Duration = Duration::from_millis(20);

/// What the load tool itself used, in the measured seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct ClientUse {
    pub(crate) cpu_seconds: f64,
    pub(crate) peak_rss_bytes: u64,
    pub(crate) rss_bytes: u64,
}

/// A tool to run.
pub(super) struct Child<'a> {
    pub(super) program: &'a Path,
    pub(super) arguments: Vec<String>,
    pub(super) environment: Vec<(String, String)>,
    /// Where both output streams go; made anew.
    pub(super) raw: &'a Path,
    /// What it prints when its measured seconds begin; they begin at once if `None`.
    pub(super) starts_with: Option<&'static str>,
    /// After this time it is ended.
    pub(super) bound: Duration,
}

/// How a tool ended.
#[derive(Debug)]
pub(super) struct Finished {
    pub(super) success: bool,
    pub(super) output: String,
    pub(super) client: ClientUse,
    /// It was ended because it took too long.
    pub(super) is_late: bool,
}

impl<'a> Child<'a> {
    /// A tool that measures its own time, and whose measured seconds begin at once.
    pub(super) fn new(program: &'a Path, arguments: Vec<String>, raw: &'a Path) -> Self {
        Self { program, arguments, environment: Vec::new(), raw, starts_with: None, bound: Duration::MAX }
    }

    /// Runs the tool to its end. `at_start` is called when its measured seconds begin.
    ///
    /// Errors: [`LocalError::Cancelled`] after the user's interrupt, when the tool was ended.
    pub(super) fn run(&self, cancel: &Cancel, at_start: impl FnOnce()) -> Result<Finished, BenchError> {
        let output = File::create(self.raw).map_err(BenchError::io("create", self.raw))?;
        let errors = output.try_clone().map_err(BenchError::io("open", self.raw))?;
        let tool = self.program.display().to_string();
        let failed = |error: std::io::Error| BenchError::Tool { tool: tool.clone(), reason: error.to_string() };
        // Both tools replace themselves by the program, so that its pid is the child's.
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", "--"]).arg(self.program).args(&self.arguments);
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::null()).stdout(output).stderr(errors).process_group(0);
        let ended_before = procfs::ended_children_seconds();
        let mut child = command.spawn().map_err(failed)?;
        let pid = child.id().cast_signed();
        let watched = self.watch(&mut child, pid, cancel, at_start);
        if !matches!(watched, Ok(Watched { status: Some(_), .. })) {
            // Not reaped yet, so the group's number can't have been given to anyone else.
            let _already_gone = killpg(Pid::from_raw(pid), Signal::SIGKILL);
            let _reaped = child.wait();
        }
        let watched = watched?;
        let all_seconds = procfs::ended_children_seconds() - ended_before;
        let client = ClientUse { cpu_seconds: (all_seconds - watched.seconds_before_start).max(0.0), ..watched.client };
        let bytes = fs::read(self.raw).map_err(BenchError::io("read", self.raw))?;
        Ok(Finished {
            success: watched.status == Some(true),
            output: String::from_utf8_lossy(&bytes).into_owned(),
            client,
            is_late: watched.status.is_none(),
        })
    }

    fn watch(
        &self,
        child: &mut std::process::Child,
        pid: i32,
        cancel: &Cancel,
        at_start: impl FnOnce(),
    ) -> Result<Watched, BenchError> {
        let begun = Instant::now();
        let mut watched = Watched { status: None, client: ClientUse::default(), seconds_before_start: 0.0 };
        let mut at_start = Some(at_start);
        let mut marker = self.starts_with.map(|marker| Marker::new(self.raw, marker));
        loop {
            if cancel.is_set() {
                return Err(LocalError::Cancelled.into());
            }
            if at_start.is_some() && marker.as_mut().is_none_or(Marker::is_there) {
                // Before a child's measured seconds it was set up: that is not counted.
                watched.seconds_before_start = marker.as_ref().and_then(|_| procfs::cpu_seconds(pid)).unwrap_or(0.0);
                if let Some(at_start) = at_start.take() {
                    at_start();
                }
            }
            if let Some(memory) = procfs::memory(pid) {
                watched.client.rss_bytes = memory.resident;
                watched.client.peak_rss_bytes = watched.client.peak_rss_bytes.max(memory.peak);
            }
            match child.try_wait() {
                Ok(Some(status)) => {
                    watched.status = Some(status.success());
                    return Ok(watched);
                }
                Ok(None) => {}
                Err(error) => {
                    let tool = self.program.display().to_string();
                    return Err(BenchError::Tool { tool, reason: error.to_string() });
                }
            }
            if begun.elapsed() > self.bound {
                return Ok(watched);
            }
            std::thread::sleep(if at_start.is_some() { START_LOOK } else { END_LOOK });
        }
    }
}

/// What was seen of a tool while it ran.
struct Watched {
    /// Whether it succeeded; `None` if it took too long.
    status: Option<bool>,
    client: ClientUse,
    seconds_before_start: f64,
}

/// Looks for a text in a growing file.
struct Marker<'a> {
    file: Option<File>,
    path: &'a Path,
    text: &'static str,
    seen: String,
}

impl<'a> Marker<'a> {
    fn new(path: &'a Path, text: &'static str) -> Self {
        Self { file: None, path, text, seen: String::new() }
    }

    /// A file that can't be read has no marker: the end of the tool will tell.
    fn is_there(&mut self) -> bool {
        let mut read = || -> std::io::Result<()> {
            if self.file.is_none() {
                self.file = Some(File::open(self.path)?);
            }
            let file = self.file.as_mut().expect("opened above");
            file.seek(SeekFrom::Start(self.seen.len() as u64))?;
            file.read_to_string(&mut self.seen).map(|_| ())
        };
        let _next_look = read();
        self.seen.contains(self.text)
    }
}
