//! Questions of Weir's own on a session's connection, whose server may stop answering meanwhile.
//!
//! What must always hold: a ring of the session's bell that is about something else is heard by whoever waits next.

use weir_admin::sessions::{Interrupt, SessionHandle};

use super::Session;
use super::stopped::{SessionEnd, Stopped};

/// What `work` gives, or nothing once the session is told that its server has stopped answering, or that it has to end: then a reply may be
/// outstanding on the connection, which is of no more use. `work` must be cancel-safe but for that.
pub(super) async fn unless_lost<T>(handle: &SessionHandle, work: impl Future<Output = T>) -> Option<T> {
    let told = async {
        loop {
            handle.bell.rung().await;
            if [Interrupt::Connection, Interrupt::ShutdownNow].iter().any(|why| handle.has(*why)) {
                return;
            }
            if handle.has(Interrupt::ServerLost) {
                // Another server may have been meant, whose connection the session had before.
                if handle.info().connections().any(|(server, _)| server.refusal().is_some()) {
                    return;
                }
                handle.clear(Interrupt::ServerLost);
            }
        }
    };
    // Cancel-safe: a bell keeps its ring; `work` says so of itself.
    let done = tokio::select! {
        biased;
        done = work => Some(done),
        () = told => None,
    };
    if done.is_none() {
        handle.clear(Interrupt::ServerLost);
    }
    if INTERRUPTS.iter().any(|why| handle.has(*why)) {
        handle.bell.ring();
    }
    done
}

/// What somebody waits to hear.
const INTERRUPTS: [Interrupt; 5] =
    [Interrupt::Query, Interrupt::Deadlock, Interrupt::Connection, Interrupt::ShutdownNow, Interrupt::ServerLost];

impl Session {
    /// Sends what is queued on the session's connection. A server that takes no more of it may have stopped answering, and whoever ends
    /// the session does not wait for it.
    pub(super) async fn send_queued(&mut self) -> Result<(), Stopped> {
        if self.connection().flush_at_once().await? {
            return Ok(());
        }
        let handle = self.handle.clone();
        if let Some(sent) = unless_lost(&handle, self.connection().flush()).await {
            return Ok(sent?);
        }
        let failure = self.connection().server.lost("it has stopped answering");
        // The server has a part of the statement, and does not run it.
        self.lose_lease();
        Err(match self.stops_waiting() {
            Err(ended @ Stopped::Ended(_)) => ended,
            _ if self.state.is_bound() => Stopped::Ended(SessionEnd::Told(failure)),
            _ => Stopped::Refused(failure),
        })
    }
}
