//! Killing what runs on a session's connections, from others of its user.
//!
//! What must always hold: a KILL that fails is logged; nobody waits for it who does not want to.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use weir_backend::connect::Login;
use weir_backend::kill::{self, Kill};
use weir_backend::{PoolKey, Server};
use weir_wire::auth::Password;

use crate::endpoint::Endpoint;

/// How often it is looked whether MariaDB waits for locks on behalf of a client that has gone. It looks as often itself; MySQL does not.
pub(super) const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// Kills what runs on connections of a session's user, in the background.
pub(super) struct Killer<'a> {
    pub(super) endpoint: &'a Endpoint,
    pub(super) key: &'a PoolKey,
    pub(super) password: &'a Password,
}

impl Killer<'_> {
    /// Kills a connection, or what runs on it. `thread`: its id on the server.
    pub(super) fn kill(&self, server: &Arc<Server>, thread: u32, what: Kill) {
        self.endpoint.metrics.kills.inc();
        let (login, server) = (self.login(), server.clone());
        tokio::task::spawn_local(async move { kill(&login, &server, thread, what).await });
    }

    /// Kills what runs on a connection. Resolves when the server has answered: `true` if it has done so.
    pub(super) fn killing(&self, server: Arc<Server>, thread: u32) -> Pin<Box<dyn Future<Output = bool>>> {
        self.endpoint.metrics.kills.inc();
        let login = self.login();
        Box::pin(async move { kill(&login, &server, thread, Kill::Query).await })
    }

    /// Ends a wait for a lock on a table or another object, in which a connection may be. Its transaction stays.
    pub(super) fn end_lock_wait(&self, server: Arc<Server>, thread: u32) -> Pin<Box<dyn Future<Output = ()>>> {
        let login = self.login();
        Box::pin(async move {
            if let Err(error) = kill::end_lock_wait(&server, &login, thread).await {
                tracing::warn!(%error, thread, "whether a statement waits for locks is not known");
            }
        })
    }

    fn login(&self) -> Login {
        let capabilities = weir_wire::Capabilities::empty();
        Login { user: self.key.user.clone(), password: self.password.clone(), database: None, capabilities }
    }
}

async fn kill(login: &Login, server: &Arc<Server>, thread: u32, what: Kill) -> bool {
    let killed = kill::kill(server, login, thread, what).await;
    if let Err(error) = &killed {
        tracing::warn!(%error, thread, "a statement could not be killed on the server");
    }
    killed.is_ok()
}

/// A KILL QUERY that was sent for the running statement. It is sent again for as long as the statement runs: one that
/// the server gets to before the statement, or while it reads it, has no effect.
#[derive(Debug, Default)]
pub(super) struct KilledQuery(Option<Sent>);

#[derive(Clone, Copy, Debug)]
struct Sent {
    again_at: tokio::time::Instant,
    pause: Duration,
}

const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// Pauses double. Behind a longer one, KILL QUERY is taken to end only one statement after the other of what runs.
const FUTILE_PAUSE: Duration = Duration::from_millis(800);

impl Sent {
    fn now(pause: Duration) -> Self {
        Self { again_at: tokio::time::Instant::now() + pause, pause }
    }
}

impl KilledQuery {
    /// Whether it was sent.
    pub(super) fn is_sent(&self) -> bool {
        self.0.is_some()
    }

    /// Whether it is sent for the first time now.
    pub(super) fn first(&mut self) -> bool {
        let first = !self.is_sent();
        self.0.get_or_insert_with(|| Sent::now(FIRST_PAUSE));
        first
    }

    /// Whether it has been sent so often that it is not what ends what runs.
    pub(super) fn is_futile(&self) -> bool {
        self.0.is_some_and(|sent| sent.pause > FUTILE_PAUSE)
    }

    /// Ends when it is time to send it again; never if it was not sent. Cancel-safe.
    pub(super) async fn unheard(&mut self) {
        let Some(sent) = self.0 else { return std::future::pending().await };
        tokio::time::sleep_until(sent.again_at).await;
        self.0 = Some(Sent::now(sent.pause * 2));
    }
}
