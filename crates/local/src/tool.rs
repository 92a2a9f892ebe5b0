//! Runs short-lived helper programs (cp, mariadb-install-db, `--version`) with a bound, open to cancellation.
//!
//! A helper runs in a process group of its own, so that a helper which starts others (mariadb-install-db starts a
//! server) can be ended whole, and so that Ctrl-C at a terminal reaches us and not, half-way, the helper. It dies with us.

use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use crate::LocalError;
use crate::wait::{Cancel, wait_until};

/// How much of an output or a log an error carries.
pub(crate) const TAIL_BYTES: u64 = 4096;

/// Runs `program` with its output (both streams) in the file `output`, which is made anew; the exit must be 0.
pub(crate) fn run_logged(
    program: &Path,
    arguments: &[OsString],
    output: &Path,
    bound: Duration,
    cancel: &Cancel,
) -> Result<(), LocalError> {
    let tool = program.display().to_string();
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", "--"]).arg(program).args(arguments);
    let failed = |reason: String| LocalError::Tool { tool: tool.clone(), reason, output: file_tail(output, 0) };
    let log = File::create(output).map_err(LocalError::io("create", output))?;
    let log_too = log.try_clone().map_err(LocalError::io("open", output))?;
    let status = run_bounded(command.stdout(log).stderr(log_too), bound, cancel, &failed)?;
    if status.success() { Ok(()) } else { Err(failed(status.to_string())) }
}

/// What `program --version` prints.
pub(crate) fn version_text(program: &Path) -> Result<String, LocalError> {
    let output = Command::new(program)
        .arg("--version")
        .stdin(Stdio::null())
        .output()
        .map_err(|error| LocalError::Unusable { binary: program.into(), reason: format!("can't be run: {error}") })?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        let reason = format!("--version failed ({}): {}", output.status, text.trim_end());
        return Err(LocalError::Unusable { binary: program.into(), reason });
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn run_bounded(
    command: &mut Command,
    bound: Duration,
    cancel: &Cancel,
    failed: &dyn Fn(String) -> LocalError,
) -> Result<ExitStatus, LocalError> {
    let mut child = command.stdin(Stdio::null()).process_group(0).spawn().map_err(|error| failed(error.to_string()))?;
    let outcome = wait_until(bound, cancel, || child.try_wait().map_err(|error| failed(error.to_string())));
    if let Ok(Some(status)) = outcome {
        return Ok(status);
    }
    // Not reaped yet, so the group's number can't have been given to anyone else.
    let group = Pid::from_raw(child.id().cast_signed());
    let _already_gone = killpg(group, Signal::SIGKILL);
    let _reaped = child.wait();
    outcome?;
    Err(failed(format!("no end after {} s", bound.as_secs())))
}

/// The last [`TAIL_BYTES`] of a file, from byte `from` on at the earliest, cut at a line; empty when there is none.
pub(crate) fn file_tail(path: &Path, from: u64) -> String {
    let read = || -> std::io::Result<String> {
        let mut file = File::open(path)?;
        let length = file.metadata()?.len();
        let start = length.saturating_sub(TAIL_BYTES).max(from.min(length));
        file.seek(SeekFrom::Start(start))?;
        let mut bytes = Vec::new();
        file.take(TAIL_BYTES).read_to_end(&mut bytes)?;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let whole_lines =
            if start > from { text.split_once('\n').map_or(text.as_str(), |(_, rest)| rest) } else { &text };
        Ok(whole_lines.to_owned())
    };
    read().unwrap_or_default()
}
