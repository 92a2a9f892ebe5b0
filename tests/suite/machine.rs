//! What is left of the machine when a test fails: a server that finds no room on the disk, or is ended for its memory, looks like a fault
//! of what was tested.

use std::path::Path;

/// The space that is left on the disk of `path`, the memory that is left, and the load.
pub(crate) fn state(path: &Path) -> String {
    let disk = nix::sys::statvfs::statvfs(path).map_or_else(
        |error| error.to_string(),
        |found| format!("{} MiB", (found.blocks_available() * found.fragment_size()) >> 20),
    );
    let memory = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let available = memory.lines().find(|line| line.starts_with("MemAvailable")).unwrap_or("MemAvailable: unknown");
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    format!("free disk: {disk}; {}; load: {}", available.replace("  ", ""), load.trim())
}
