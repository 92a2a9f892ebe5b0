//! What the run ran on, and when.

use std::fs;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::record::Machine;

/// This machine; unknown values are empty or 0.
pub(crate) fn this() -> Machine {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let kernel = [read("/proc/sys/kernel/ostype"), read("/proc/sys/kernel/osrelease")];
    Machine {
        cpu: value_of(&read("/proc/cpuinfo"), "model name").unwrap_or_default(),
        cores: cores(),
        memory_bytes: memory_bytes(&read("/proc/meminfo")),
        kernel: kernel.map(|part| part.trim().to_owned()).join(" "),
        os: value_of(&read("/etc/os-release"), "PRETTY_NAME").unwrap_or_default(),
    }
}

/// Processors that this process may use.
pub(crate) fn cores() -> u32 {
    std::thread::available_parallelism().ok().and_then(|cores| u32::try_from(cores.get()).ok()).unwrap_or(1)
}

fn memory_bytes(meminfo: &str) -> u64 {
    let kibibytes = value_of(meminfo, "MemTotal").and_then(|value| value.split(' ').next()?.parse::<u64>().ok());
    kibibytes.unwrap_or(0) * 1024
}

/// The value of the first line `name : value` or `name="value"`.
fn value_of(text: &str, name: &str) -> Option<String> {
    let rest = text.lines().find_map(|line| {
        let rest = line.strip_prefix(name)?.trim_start();
        rest.strip_prefix(':').or_else(|| rest.strip_prefix('='))
    })?;
    Some(rest.trim().trim_matches('"').to_owned())
}

/// A moment in UTC, as RFC 3339 writes it.
pub(crate) fn rfc3339(time: SystemTime) -> String {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs();
    let (days, second) = (since / 86_400, since % 86_400);
    let (year, month, day) = civil_from_days(days);
    format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z", second / 3600, second / 60 % 60, second % 60)
}

/// Year, month and day of a number of days after 1970-01-01. Counts in years that begin in March, so that a leap day is
/// the last of its year.
fn civil_from_days(days: u64) -> (u64, u64, u64) {
    const DAYS_OF_400_YEARS: u64 = 146_097;
    const FROM_0000_03_01: u64 = 719_468;
    let days = days + FROM_0000_03_01;
    let (era, day_of_era) = (days / DAYS_OF_400_YEARS, days % DAYS_OF_400_YEARS);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_written_in_utc() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_709_251_199, "2024-02-29T23:59:59Z"),
            (1_767_225_599, "2025-12-31T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(rfc3339(UNIX_EPOCH + Duration::from_secs(seconds)), text);
        }
    }

    #[test]
    fn files_of_both_forms_are_read() {
        let cpuinfo = "processor\t: 0\nmodel name\t: Intel(R) Xeon(R) CPU\n\nprocessor\t: 1\nmodel name\t: other\n";
        assert_eq!(value_of(cpuinfo, "model name").as_deref(), Some("Intel(R) Xeon(R) CPU"));
        let release = "NAME=\"Debian GNU/Linux\"\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n";
        assert_eq!(value_of(release, "PRETTY_NAME").as_deref(), Some("Debian GNU/Linux 12 (bookworm)"));
        assert_eq!(memory_bytes("MemTotal:        1024 kB\nMemFree: 1 kB\n"), 1 << 20);
        assert_eq!(memory_bytes(""), 0);
    }
}
