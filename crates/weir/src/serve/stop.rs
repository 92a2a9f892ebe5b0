//! Stopping: signals, the grace that open transactions have, and the limits of the process.

use std::io;
use std::time::Duration;

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::Instant;
use weir_admin::sessions::Registry;

/// How often it is looked whether the sessions have ended.
const LOOK: Duration = Duration::from_millis(20);
/// How long sessions have to close after the grace is over.
const LAST_WORDS: Duration = Duration::from_secs(3);

/// The signals that stop Weir: SIGTERM and SIGINT; a second one ends the grace.
pub(super) struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    /// Listens for the signals.
    pub(super) fn new() -> io::Result<Signals> {
        Ok(Signals { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    /// Resolves at the next signal. Cancel-safe.
    pub(super) async fn stop(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

/// Lets sessions end: idle ones at once, open transactions within `grace`, all others then.
pub(super) async fn drain(registry: &Registry, grace: Duration, signals: &mut Signals) {
    super::announce(registry, false);
    let mut hurried = false;
    let deadline = Instant::now() + grace;
    while !registry.is_empty() && Instant::now() < deadline && !hurried {
        tokio::select! {
            () = signals.stop() => hurried = true,
            () = tokio::time::sleep(LOOK) => {}
        }
    }
    if registry.is_empty() {
        return;
    }
    tracing::warn!(sessions = registry.len(), "open transactions are rolled back");
    super::announce(registry, true);
    let deadline = Instant::now() + LAST_WORDS;
    while !registry.is_empty() && Instant::now() < deadline {
        tokio::time::sleep(LOOK).await;
    }
}

/// Every client and every server connection is an open file: takes as many as the system allows.
pub(super) fn raise_file_limit() {
    let raised = getrlimit(Resource::RLIMIT_NOFILE)
        .and_then(|(soft, hard)| if soft < hard { setrlimit(Resource::RLIMIT_NOFILE, hard, hard) } else { Ok(()) });
    if let Err(error) = raised {
        tracing::warn!(%error, "the limit of open files could not be raised");
    }
}
