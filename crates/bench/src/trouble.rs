//! Trouble that a run meets: busy processes beside it, a server that gets little processor time or stops for a while.
//!
//! Must always hold: when the [`Troublemaker`] is dropped, its processes have ended and the server goes on.

use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::time::ClockId;
use nix::unistd::Pid;

use crate::error::BenchError;
use crate::plan::Trouble;

/// The period in which a slowed server may use its share: the kernel's own for quotas.
const PERIOD: Duration = Duration::from_millis(100);
/// The shortest time between two looks at what a slowed server has used.
const LOOK: Duration = Duration::from_micros(500);
/// For how long a server stops in mid-run.
const STOP: Duration = Duration::from_secs(2);

/// Makes trouble until it is dropped.
#[derive(Debug, Default)]
pub(crate) struct Troublemaker {
    busy: Vec<Child>,
    server: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Troublemaker {
    /// Begins with the run; `seconds` is the run's length, `server` the process that is to be slowed or stopped.
    ///
    /// # Errors
    /// A process that can't be started, or a server whose process is not known.
    pub(crate) fn begin(trouble: Trouble, seconds: u32, server: Option<i32>) -> Result<Self, BenchError> {
        let failed = |reason: String| BenchError::Tool { tool: format!("trouble ({trouble})"), reason };
        let mut maker = Self::default();
        if let Trouble::Busy(processes) = trouble {
            for _ in 0..processes {
                maker.busy.push(busy().map_err(|error| failed(error.to_string()))?);
            }
        }
        if matches!(trouble, Trouble::None | Trouble::Busy(_)) {
            return Ok(maker);
        }
        let pid = server.ok_or_else(|| failed("the server's process is not known".to_owned()))?;
        let pid = Pid::from_raw(pid);
        let clock = ClockId::pid_cpu_clock_id(pid).map_err(|error| failed(error.to_string()))?;
        let processors =
            std::thread::available_parallelism().map_or(1, |count| u32::try_from(count.get()).unwrap_or(1));
        let (end, ended) = channel();
        let thread = std::thread::spawn(move || match trouble {
            Trouble::Slow(percent) => slow(pid, clock, &ended, PERIOD * processors * percent / 100, processors),
            _ if waits(&ended, Duration::from_secs(u64::from(seconds)) / 2) => drop(stop(pid, &ended, STOP)),
            _ => {}
        });
        maker.server = Some((end, thread));
        Ok(maker)
    }
}

/// Lets a process use so much processor time in each period, as the kernel's quotas do: when it is used up the process stops until the next
/// one, which what was used too much is taken from.
fn slow(pid: Pid, clock: ClockId, ended: &Receiver<()>, share: Duration, processors: u32) {
    let used = || clock.now().map(Duration::from);
    let Ok(mut paid) = used() else { return };
    loop {
        let end = Instant::now() + PERIOD;
        loop {
            let Ok(used) = used() else { return };
            let left = (paid + share).saturating_sub(used);
            let rest = end.saturating_duration_since(Instant::now());
            if rest.is_zero() {
                // What is left is not kept.
                paid = used.min(paid + share);
                break;
            }
            let goes_on = match left.is_zero() {
                true => stop(pid, ended, rest),
                false => waits(ended, (left / processors).max(LOOK).min(rest)),
            };
            if !goes_on {
                return;
            }
        }
    }
}

/// Stops a process for some time. False if it is gone, or the trouble is to end.
fn stop(pid: Pid, ended: &Receiver<()>, time: Duration) -> bool {
    let goes_on = kill(pid, Signal::SIGSTOP).is_ok() && waits(ended, time);
    kill(pid, Signal::SIGCONT).is_ok() && goes_on
}

/// Waits; false if it is to end.
fn waits(ended: &Receiver<()>, time: Duration) -> bool {
    matches!(ended.recv_timeout(time), Err(RecvTimeoutError::Timeout))
}

/// A process that uses all of a processor that it gets.
fn busy() -> std::io::Result<Child> {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", "--", "sh", "-c", "while :; do :; done"]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()
}

impl Drop for Troublemaker {
    fn drop(&mut self) {
        for child in &mut self.busy {
            let _already_gone = child.kill();
            let _reaped = child.wait();
        }
        if let Some((end, thread)) = self.server.take() {
            drop(end);
            let _ended = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(pid: i32) -> Option<char> {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        stat.rsplit_once(") ")?.1.chars().next()
    }

    #[test]
    fn a_process_that_was_slowed_goes_on_in_the_end() {
        let mut child = busy().expect("a process");
        let pid = child.id().cast_signed();
        let trouble = Troublemaker::begin(Trouble::Slow(1), 1, Some(pid)).expect("trouble");
        while state(pid) != Some('T') {
            std::thread::sleep(Duration::from_millis(1));
        }
        drop(trouble);
        assert!(state(pid).is_some_and(|state| state != 'T'));
        let _gone = child.kill();
        let _reaped = child.wait();
    }

    #[test]
    fn a_server_that_is_not_known_is_not_slowed() {
        assert!(Troublemaker::begin(Trouble::Stop, 1, None).is_err());
        assert!(Troublemaker::begin(Trouble::Busy(1), 1, None).is_ok());
    }
}
