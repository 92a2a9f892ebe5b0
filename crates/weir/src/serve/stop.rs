//! Stopping: signals, the grace that open transactions have, and the limits of the process.

use std::io;
use std::time::Duration;

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::Instant;
use weir_admin::sessions::{Interrupt, Registry};

/// How often it is looked whether the sessions have ended.
const LOOK: Duration = Duration::from_millis(20);
/// How long sessions have to close after the grace is over.
const LAST_WORDS: Duration = Duration::from_secs(3);

/// The signals that Weir listens to: SIGTERM and SIGINT stop it, and a second one ends the grace; SIGHUP has it read its
/// configuration again; SIGUSR2 starts a new process that takes over.
pub(super) struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
    user2: Signal,
}

/// What a signal asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    /// Stop.
    Stop,
    /// Read the configuration again.
    Reload,
    /// Start a new process that takes over.
    Upgrade,
}

impl Signals {
    /// Listens for the signals.
    pub(super) fn new() -> io::Result<Signals> {
        let (terminate, interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
        let (hangup, user2) = (signal(SignalKind::hangup())?, signal(SignalKind::user_defined2())?);
        Ok(Signals { terminate, interrupt, hangup, user2 })
    }

    /// What the next signal asks for. Cancel-safe.
    pub(super) async fn next(&mut self) -> Asked {
        tokio::select! {
            _ = self.terminate.recv() => Asked::Stop,
            _ = self.interrupt.recv() => Asked::Stop,
            _ = self.hangup.recv() => Asked::Reload,
            _ = self.user2.recv() => Asked::Upgrade,
        }
    }

    /// Resolves at the next signal that stops. Cancel-safe.
    pub(super) async fn stop(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

/// Lets sessions leave for a successor: each when it has been idle for a while, outside of transactions. Ends when all
/// have, or `grace` is over, or a signal says so.
pub(super) async fn let_leave(registry: &Registry, grace: Duration, signals: &mut Signals) {
    registry.interrupt_all(Interrupt::Leave);
    wait_until_empty(registry, grace, signals).await;
}

/// Lets sessions end: idle ones at once, open transactions within `grace`, all others then.
pub(super) async fn drain(registry: &Registry, grace: Duration, signals: &mut Signals) {
    registry.interrupt_all(Interrupt::Shutdown);
    wait_until_empty(registry, grace, signals).await;
    if registry.is_empty() {
        return;
    }
    tracing::warn!(sessions = registry.len(), "open transactions are rolled back");
    registry.interrupt_all(Interrupt::ShutdownNow);
    let deadline = Instant::now() + LAST_WORDS;
    while !registry.is_empty() && Instant::now() < deadline {
        tokio::time::sleep(LOOK).await;
    }
}

async fn wait_until_empty(registry: &Registry, grace: Duration, signals: &mut Signals) {
    let mut hurried = false;
    let deadline = Instant::now() + grace;
    while !registry.is_empty() && Instant::now() < deadline && !hurried {
        tokio::select! {
            () = signals.stop() => hurried = true,
            () = tokio::time::sleep(LOOK) => {}
        }
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
