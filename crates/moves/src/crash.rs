//! Ends the process between two steps of a move, so that tests can check what is left. Release builds do not contain it.
//!
//! `WEIR_CRASH_AT=move-POINT`, with these points: begun, made, copied, sealed, recorded, half-renamed, renamed, placed, undoing, finishing,
//! cancelling.

/// The process ends here if its environment says so.
#[cfg(debug_assertions)]
pub(crate) fn here(point: &str) {
    let is_meant = |at: String| at.strip_prefix("move-") == Some(point);
    if std::env::var("WEIR_CRASH_AT").is_ok_and(is_meant) {
        let _ = nix::sys::signal::kill(nix::unistd::Pid::this(), nix::sys::signal::Signal::SIGKILL);
    }
}

/// Nothing.
#[cfg(not(debug_assertions))]
pub(crate) fn here(_: &str) {}
