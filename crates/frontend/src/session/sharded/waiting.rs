//! Waiting for what runs on connections to several shards.
//!
//! What must always hold: a kill reaches all of them, and so does the client's end; what is not waited for any more is dropped.

use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::future::join_all;
use futures_util::stream::FuturesUnordered;
use weir_admin::sessions::{Interrupt, SessionHandle};
use weir_backend::kill::Kill;
use weir_backend::{Lease, OwnReply, PoolKey, Server};
use weir_exec::{MultiShardResult, ShardLease};
use weir_wire::Failure;
use weir_wire::auth::Password;

use super::super::Session;
use super::super::condition::Condition;
use super::super::kill_on_server::{KilledQuery, Killer};
use super::super::relay;
use super::super::stopped::{SessionEnd, Stopped};
use crate::client::Client;
use crate::endpoint::Endpoint;

/// A connection on which something runs that may have to be killed.
pub(super) type Running = (Arc<Server>, u32);

/// What it takes to kill what runs, while the session is busy with it.
pub(super) struct Killing {
    pub(super) endpoint: Arc<Endpoint>,
    pub(super) key: PoolKey,
    pub(super) password: Password,
}

impl Killing {
    pub(super) fn killer(&self) -> Killer<'_> {
        Killer { endpoint: &self.endpoint, key: &self.key, password: &self.password }
    }
}

/// The failure that the client is told.
pub(super) fn failure_told(handle: &SessionHandle, failure: Failure) -> Failure {
    relay::deadlock_in_place_of(handle, failure.code).unwrap_or(failure)
}

pub(super) fn as_told(
    handle: &SessionHandle,
    ended: Result<MultiShardResult, Failure>,
) -> Result<MultiShardResult, Failure> {
    match ended {
        Ok(outcome) => {
            let error = outcome.error.map(|failure| failure_told(handle, failure));
            Ok(MultiShardResult { error, ..outcome })
        }
        Err(failure) => Err(failure_told(handle, failure)),
    }
}

/// What runs on these parts.
pub(super) fn running<'p>(parts: impl IntoIterator<Item = &'p ShardLease>) -> Vec<Running> {
    parts.into_iter().map(|part| (part.lease.server.clone(), part.lease.thread_id)).collect()
}

/// Waits for what runs on several connections. A kill reaches all of them, and so does the end of the client, if it is to be seen to
/// here; what is not waited for any more is dropped. A KILL QUERY that was sent has been answered when this ends: one that came later
/// would hit what runs there next, which may be another session's.
pub(super) async fn attend<T>(
    handle: &SessionHandle,
    running: &[Running],
    killer: &Killer<'_>,
    client: Option<&mut Client>,
    what: impl Future<Output = T>,
) -> Result<T, Stopped> {
    let gone = async {
        match client {
            Some(client) => client.gone().await,
            None => std::future::pending().await,
        }
    };
    let mut gone = std::pin::pin!(gone);
    let end_all = || running.iter().for_each(|(server, thread)| killer.kill(server, *thread, Kill::Connection));
    let kill_all = || running.iter().map(|(server, thread)| killer.killing(server.clone(), *thread));
    let mut what = std::pin::pin!(what);
    let (mut killed, mut unanswered) = (KilledQuery::default(), FuturesUnordered::new());
    loop {
        // Cancel-safe: what runs is polled on, a bell keeps its ring, and a pause begins anew where it was.
        tokio::select! {
            biased;
            ended = &mut what => {
                while unanswered.next().await.is_some() {}
                return Ok(ended);
            }
            Some(_) = unanswered.next() => {}
            () = handle.bell.rung() => {
                if handle.has(Interrupt::Connection) || handle.has(Interrupt::ShutdownNow) {
                    end_all();
                    return Err(Stopped::Ended(SessionEnd::Told(Session::interrupted_failure())));
                }
                if handle.has(Interrupt::ServerLost) {
                    handle.clear(Interrupt::ServerLost);
                    if let Some((server, _)) = running.iter().find(|(server, _)| server.refusal().is_some()) {
                        return Err(Stopped::Refused(server.lost("it has stopped answering")));
                    }
                }
                if relay::ends_statement(handle) && killed.first() {
                    unanswered.extend(kill_all());
                }
            }
            () = killed.unheard() => unanswered.extend(kill_all()),
            error = &mut gone => {
                end_all();
                return Err(Stopped::Ended(error.into()));
            }
        }
    }
}

impl Session {
    /// Has the session's connection run a text of Weir's that may wait.
    pub(in crate::session) async fn query_attended(
        &mut self,
        text: &str,
    ) -> Result<Result<OwnReply, Failure>, Stopped> {
        let (killing, handle) = (self.killing(), self.handle.clone());
        let lease = self.current.lease.as_mut().expect("the session has a connection while a command runs");
        let running = [(lease.server.clone(), lease.thread_id)];
        let what = lease.query(text);
        let asked = attend(&handle, &running, &killing.killer(), Some(&mut self.client), what).await?;
        Ok(asked.map_err(|failure| failure_told(&handle, failure)))
    }

    /// Has another connection run a text that may wait. Returns how many warnings it has left.
    pub(in crate::session) async fn ask_attended(
        &mut self,
        lease: &mut Lease,
        text: &[u8],
    ) -> Result<Result<u16, Failure>, Stopped> {
        let (killing, handle) = (self.killing(), self.handle.clone());
        let running = [(lease.server.clone(), lease.thread_id)];
        let asked = attend(&handle, &running, &killing.killer(), Some(&mut self.client), lease.query(text)).await?;
        Ok(asked.map(|reply| reply.warnings).map_err(|failure| failure_told(&handle, failure)))
    }
}

/// What the latest statement left on each of these connections.
pub(super) async fn conditions_of(parts: &mut [ShardLease]) -> Vec<Condition> {
    let clean = parts.iter_mut().filter(|part| part.lease.is_clean());
    let all = join_all(clean.map(|part| Condition::all_on(&mut part.lease))).await;
    all.into_iter().flatten().flatten().collect()
}
