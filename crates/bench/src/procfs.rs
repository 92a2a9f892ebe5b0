//! CPU time and memory of processes, from /proc (proc_pid_stat(5), proc_pid_status(5)).
//!
//! A process that is gone has no figures: that is `None`, never zero.

use std::fs;

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use nix::unistd::{SysconfVar, sysconf};

/// Resident memory of a process, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Memory {
    /// Now.
    pub(crate) resident: u64,
    /// The most since its start, or since [`reset_peak`].
    pub(crate) peak: u64,
}

/// User and system time that all threads of a process have used, in seconds.
pub(crate) fn cpu_seconds(pid: i32) -> Option<f64> {
    let ticks = parse_ticks(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)?;
    let per_second = u32::try_from(sysconf(SysconfVar::CLK_TCK).ok()??).ok()?;
    Some(ticks as f64 / f64::from(per_second))
}

/// Fields 14 and 15, utime and stime.
fn parse_ticks(stat: &str) -> Option<u64> {
    // The second field is the program's name in parentheses, and may itself hold spaces and parentheses.
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace().skip(11);
    let mut next = || fields.next()?.parse::<u64>().ok();
    Some(next()? + next()?)
}

/// What a process keeps in memory.
pub(crate) fn memory(pid: i32) -> Option<Memory> {
    parse_memory(&fs::read_to_string(format!("/proc/{pid}/status")).ok()?)
}

fn parse_memory(status: &str) -> Option<Memory> {
    let kibibytes = |name: &str| -> Option<u64> {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim_start_matches(':').split_ascii_whitespace().next()?.parse().ok()
    };
    Some(Memory { resident: kibibytes("VmRSS")? * 1024, peak: kibibytes("VmHWM")? * 1024 })
}

/// Makes a process's peak count from now on. Where the system does not allow that, it counts from the process's start.
pub(crate) fn reset_peak(pid: i32) {
    let _counts_from_the_start = fs::write(format!("/proc/{pid}/clear_refs"), "5");
}

/// User and system time of all children of this process that have ended and were waited for, in seconds.
pub(crate) fn ended_children_seconds() -> f64 {
    let used = getrusage(UsageWho::RUSAGE_CHILDREN);
    used.map_or(0.0, |used| (used.user_time().num_microseconds() + used.system_time().num_microseconds()) as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_is_found_behind_any_program_name() {
        let rest = "S 1 77 77 0 -1 4194560 4242 0 3 0 1234 766 0 0 20 0 5 0 88";
        for name in ["haproxy", "my sql) S 1 (d"] {
            assert_eq!(parse_ticks(&format!("77 ({name}) {rest}")), Some(2_000), "{name}");
        }
        assert_eq!(parse_ticks("77 (cut off) S 1 77"), None);
    }

    #[test]
    fn memory_is_read_in_bytes() {
        let status = "Name:\tmariadbd\nVmPeak:\t  999 kB\nVmHWM:\t   21504 kB\nVmRSS:\t   20480 kB\nThreads:\t9\n";
        assert_eq!(parse_memory(status), Some(Memory { resident: 20_971_520, peak: 22_020_096 }));
        assert_eq!(parse_memory("Name:\tkthreadd\n"), None, "a kernel thread has no memory of its own");
    }

    #[test]
    fn this_process_has_used_time_and_memory() {
        let own = std::process::id().cast_signed();
        // Enough work for the kernel's clock to tick.
        let mut sum = 0_u64;
        while cpu_seconds(own).expect("this process is there") < 0.02 {
            sum = (0..100_000_u64).fold(sum, |sum, n| std::hint::black_box(sum.wrapping_add(n)));
        }
        let memory = memory(own).expect("this process is there");
        assert!(memory.resident > 0 && memory.peak >= memory.resident, "{memory:?} after {sum}");
        assert_eq!(cpu_seconds(i32::MAX), None);
    }
}
