//! Ends or holds up the process between two steps of a move, so that tests can check what is left, or do something just then. Release builds
//! do not contain it.
//!
//! * `WEIR_CRASH_AT=move-POINT`: the process ends at this point.
//! * `WEIR_HOLD_IN=DIRECTORY`: a move that comes to a point after which a file in there is named renames it to `POINT.reached`, and goes on
//!   when that file is removed.
//!
//! The points: begun, made, copied, sealed, recorded, half-renamed, renamed, placed, undoing, finishing, cancelling.

/// The process ends or waits here if its environment says so.
#[cfg(debug_assertions)]
pub(crate) async fn here(point: &str) {
    let is_meant = |at: String| at.strip_prefix("move-") == Some(point);
    if std::env::var("WEIR_CRASH_AT").is_ok_and(is_meant) {
        let _ = nix::sys::signal::kill(nix::unistd::Pid::this(), nix::sys::signal::Signal::SIGKILL);
    }
    let Some(directory) = std::env::var_os("WEIR_HOLD_IN").map(std::path::PathBuf::from) else { return };
    let reached = directory.join(format!("{point}.reached"));
    // Nobody waits where no such file is.
    if std::fs::rename(directory.join(point), &reached).is_ok() {
        while reached.exists() {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    }
}

/// Nothing.
#[cfg(not(debug_assertions))]
pub(crate) async fn here(_: &str) {}
