//! How long a disk takes to keep what is written: what one commit after another can't be faster than.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::time::Instant;

use crate::error::BenchError;

/// The names of its times in the record's settings, in µs.
pub(crate) const P50_SETTING: &str = "disk.fdatasync_p50_us";
pub(crate) const P99_SETTING: &str = "disk.fdatasync_p99_us";
/// Writes that are timed.
const WRITES: usize = 200;
/// Bytes of each: of a small commit in a log, to the next page.
const BYTES: usize = 4_096;

/// Times of a write with fdatasync.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SyncLatency {
    pub(crate) p50_us: u128,
    pub(crate) p99_us: u128,
}

/// Appends to a file in `dir`, as a server does to its logs, and removes it.
pub(crate) fn sync_latency(dir: &Path) -> Result<SyncLatency, BenchError> {
    let path = dir.join("sync-latency");
    let mut times = Vec::with_capacity(WRITES);
    let mut file = File::create(&path).map_err(BenchError::io("create", &path))?;
    for _ in 0..WRITES {
        let begun = Instant::now();
        file.write_all(&[0x5a; BYTES]).and_then(|()| file.sync_data()).map_err(BenchError::io("write", &path))?;
        times.push(begun.elapsed().as_micros());
    }
    drop(file);
    fs::remove_file(&path).map_err(BenchError::io("remove", &path))?;
    times.sort_unstable();
    Ok(SyncLatency { p50_us: times[WRITES / 2], p99_us: times[WRITES * 99 / 100] })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_gone_and_the_times_are_in_order() {
        let dir = tempfile::tempdir().expect("a directory");
        let latency = sync_latency(dir.path()).expect("a disk");
        assert!(latency.p50_us > 0 && latency.p50_us <= latency.p99_us, "{latency:?}");
        assert_eq!(fs::read_dir(dir.path()).expect("it is there").count(), 0);
    }
}
