//! Trouble that a run meets: busy processes beside it, a server that works only by turns or stops for a while.
//!
//! Must always hold: when the [`Troublemaker`] is dropped, its processes have ended and the server goes on.

use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::error::BenchError;
use crate::plan::Trouble;

/// The period in which a slowed server works and stops: the kernel's own for quotas.
const PERIOD: Duration = Duration::from_millis(100);
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
        let (first, works, stops, again) = match trouble {
            Trouble::None | Trouble::Busy(_) => return Ok(maker),
            Trouble::Slow(percent) => {
                let works = PERIOD * percent / 100;
                (Duration::ZERO, works, PERIOD.saturating_sub(works), true)
            }
            Trouble::Stop => (Duration::from_secs(u64::from(seconds)) / 2, Duration::ZERO, STOP, false),
        };
        let pid = server.ok_or_else(|| failed("the server's process is not known".to_owned()))?;
        let pid = Pid::from_raw(pid);
        let (end, ended) = channel();
        let thread = std::thread::spawn(move || {
            let mut goes_on = waits(&ended, first);
            while goes_on {
                goes_on = waits(&ended, works) && kill(pid, Signal::SIGSTOP).is_ok();
                goes_on = goes_on && waits(&ended, stops);
                let _it_has_ended = kill(pid, Signal::SIGCONT);
                goes_on &= again;
            }
        });
        maker.server = Some((end, thread));
        Ok(maker)
    }
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
        let trouble = Troublemaker::begin(Trouble::Slow(34), 1, Some(pid)).expect("trouble");
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
