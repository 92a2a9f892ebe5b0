//! SIGINT, SIGTERM and SIGHUP become a [`Cancel`], from the moment a command begins until the process ends.
//!
//! A signal that comes while the command is cleaning up changes nothing: the clean-up is bounded, and is finished.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use weir_local::Cancel;

use super::ClusterError;

/// Tells whether the user wants the command to end.
pub(crate) struct Interrupt {
    /// Set by the first signal.
    pub(crate) cancel: Cancel,
    signalled: Receiver<()>,
}

impl Interrupt {
    /// Begins to catch the signals. Once this has returned, none of them ends the process.
    pub(crate) fn watch() -> Result<Self, ClusterError> {
        let failed = |error| ClusterError::Io("watch for signals", error);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().map_err(failed)?;
        let guard = runtime.enter();
        let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
        let [interrupt, terminate, hangup] = kinds.map(signal);
        let signals = (interrupt.map_err(failed)?, terminate.map_err(failed)?, hangup.map_err(failed)?);
        drop(guard);
        let cancel = Cancel::default();
        let (sender, signalled) = mpsc::channel();
        let for_thread = cancel.clone();
        std::thread::Builder::new()
            .name("signals".to_owned())
            .spawn(move || runtime.block_on(catch(signals, for_thread, sender)))
            .map_err(failed)?;
        Ok(Self { cancel, signalled })
    }

    /// Waits for a signal for at most `bound`; tells whether one has come.
    pub(super) fn wait(&self, bound: Duration) -> bool {
        match self.signalled.recv_timeout(bound) {
            Ok(()) => true,
            Err(RecvTimeoutError::Timeout) => self.cancel.is_set(),
            // The thread ends with the process only.
            Err(RecvTimeoutError::Disconnected) => true,
        }
    }
}

async fn catch(signals: (Signal, Signal, Signal), cancel: Cancel, sender: Sender<()>) {
    let (mut interrupt, mut terminate, mut hangup) = signals;
    loop {
        // `Signal::recv` is cancel-safe: a signal that was not received stays pending.
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
        }
        cancel.set();
        if sender.send(()).is_err() {
            return;
        }
    }
}
