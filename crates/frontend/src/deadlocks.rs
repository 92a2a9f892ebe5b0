//! Ends deadlocks over several shards: one of the sessions that wait for each other gets error 1213, as one server would give it.
//!
//! What must always hold: servers are asked only while at least two sessions that have connections to several of them have waited for a
//! while; a session is ended only for a cycle of waits that two looks have seen ([`weir_txn::deadlock`]).

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use weir_admin::sessions::{Interrupt, SessionHandle};
use weir_backend::Server;
use weir_txn::deadlock::{LockWait, LockWaits, cycle};

use crate::endpoint::Endpoint;

/// Between two looks at what may be a deadlock: InnoDB shows its transactions as they were up to 0.1 s ago.
const AGAIN: Duration = Duration::from_millis(150);
/// Whether deadlocks are to be looked for is asked so often while they are not.
const IDLE: Duration = Duration::from_secs(5);

/// Looks for deadlocks over several shards, until the future is dropped.
pub async fn watch(endpoint: Arc<Endpoint>) {
    let mut waits = LockWaits::default();
    loop {
        let interval = endpoint.transactions.deadlock_interval();
        if interval.is_zero() {
            tokio::time::sleep(IDLE).await;
            continue;
        }
        tokio::time::sleep(interval).await;
        let shards = suspected(&endpoint, interval);
        if shards.len() < 2 {
            continue;
        }
        let before = waits.look(&endpoint.transactions, &shards).await;
        if before.is_empty() {
            continue;
        }
        tokio::time::sleep(AGAIN).await;
        let after = waits.look(&endpoint.transactions, &shards).await;
        let mut lasting: Vec<LockWait> = after.into_iter().filter(|wait| same(wait, &before)).collect();
        let sessions = Sessions::of(&endpoint);
        while let Some(victim) = sessions.victim(&mut lasting) {
            tracing::info!(session = victim.id, "transactions wait for each other on several shards: this one ends");
            endpoint.transactions.metrics.deadlocks.inc();
            victim.interrupt(Interrupt::Deadlock);
        }
    }
}

/// What a transaction has done may have grown: it is the same wait.
fn same(wait: &LockWait, before: &[LockWait]) -> bool {
    before.iter().any(|earlier| (earlier.shard, &earlier.name) == (wait.shard, &wait.name))
}

/// The shards of sessions with several that have been in a statement for a while, if there are two such sessions.
fn suspected(endpoint: &Endpoint, interval: Duration) -> BTreeSet<usize> {
    let shard_of = |server: &Arc<Server>| {
        endpoint.groups.iter().position(|group| group.servers.iter().any(|member| Arc::ptr_eq(member, server)))
    };
    let mut shards = BTreeSet::new();
    let mut sessions = 0;
    for handle in endpoint.registry.all() {
        let info = handle.info();
        let waits = info.command != "Sleep" && info.since.is_some_and(|since| since.elapsed() >= interval);
        if waits && info.connections().count() > 1 {
            sessions += 1;
            shards.extend(info.connections().filter_map(|(server, _)| shard_of(server)));
        }
    }
    if sessions > 1 { shards } else { BTreeSet::new() }
}

/// Who waits, or is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Party {
    Session(u32),
    /// A connection of no session, on this shard: a client's own to the server, or one that Weir has lost and the server has not yet. What
    /// its transaction has locked stays locked.
    Other(usize, u32),
}

impl Party {
    fn is_other(self) -> bool {
        matches!(self, Party::Other(..))
    }
}

/// Whose connections are whose.
struct Sessions {
    by_id: BTreeMap<u32, Arc<SessionHandle>>,
    /// By a writer's shard, and the connection's id there.
    connections: HashMap<(usize, u32), u32>,
}

impl Sessions {
    fn of(endpoint: &Endpoint) -> Sessions {
        let writers: Vec<_> = endpoint.groups.iter().map(|group| group.writer()).collect();
        let mut sessions = Sessions { by_id: BTreeMap::new(), connections: HashMap::new() };
        for handle in endpoint.registry.all() {
            for (server, thread) in handle.info().connections() {
                if let Some(shard) = writers.iter().position(|writer| Arc::ptr_eq(writer, server)) {
                    sessions.connections.insert((shard, *thread), handle.id);
                }
            }
            sessions.by_id.insert(handle.id, handle);
        }
        sessions
    }

    fn party(&self, shard: usize, thread: u32) -> Party {
        match self.connections.get(&(shard, thread)) {
            Some(id) => Party::Session(*id),
            None => Party::Other(shard, thread),
        }
    }

    /// Whom to end for a cycle of waits over several shards: the session that has done least. Its waits are taken out.
    fn victim(&self, waits: &mut Vec<LockWait>) -> Option<Arc<SessionHandle>> {
        loop {
            let mut graph: BTreeMap<Party, BTreeSet<Party>> = BTreeMap::new();
            for wait in waits.iter() {
                let (waiter, blocker) = (self.party(wait.shard, wait.waiter), self.party(wait.shard, wait.blocker));
                graph.entry(waiter).or_default().insert(blocker);
            }
            let cycle = cycle(&graph)?;
            let of = |party| waits.iter().filter(move |wait| self.party(wait.shard, wait.waiter) == party);
            let shards: BTreeSet<usize> = cycle.iter().flat_map(|party| of(*party)).map(|wait| wait.shard).collect();
            let weight = |party| of(party).map(|wait| wait.weight).sum::<u64>();
            // A cycle over several shards has sessions: nobody else has connections to two.
            let victim =
                *cycle.iter().min_by_key(|party| (party.is_other(), weight(**party), std::cmp::Reverse(**party)))?;
            waits.retain(|wait| self.party(wait.shard, wait.waiter) != victim);
            // One server alone sees its own deadlocks, unless it was told not to.
            if let (Party::Session(id), true) = (victim, shards.len() > 1) {
                return self.by_id.get(&id).cloned();
            }
        }
    }
}
