//! SIGINT and SIGTERM end the suite with its files removed. The servers and Weirs die with it: the kernel kills them
//! when the threads that started them end.
//!
//! All threads block the two signals but one, which waits for them. Child processes inherit what is blocked, so those
//! that are to be stopped by SIGTERM are started by [`unblocked`].

use std::path::Path;

use nix::sys::signal::{SigSet, Signal};

fn handled() -> SigSet {
    let mut signals = SigSet::empty();
    signals.add(Signal::SIGINT);
    signals.add(Signal::SIGTERM);
    signals
}

/// Ends the process, and removes `dir`, at the first signal. Called before other threads are started.
pub(crate) fn end_with(dir: &Path) {
    if handled().thread_block().is_err() {
        return;
    }
    let dir = dir.to_path_buf();
    std::thread::spawn(move || {
        let _signal = handled().wait();
        let _removed = std::fs::remove_dir_all(dir);
        std::process::exit(130);
    });
}

/// Starts a process that must not inherit the blocked signals.
pub(crate) fn unblocked<T>(start: impl FnOnce() -> T) -> T {
    let unblocked = handled().thread_unblock();
    let started = start();
    if unblocked.is_ok() {
        let _as_before = handled().thread_block();
    }
    started
}
