//! Distributed transactions: how they end in the same way on all shards, and how transactions whose Weir or server died are recovered.
//!
//! What must always hold: a transaction that wrote on several shards is committed exactly when its decision is committed on the
//! deciding shard, the first one that it touched; a prepared branch is committed only when that decision is there, and rolled back only
//! when it can't come any more. Whoever finds none writes one to the contrary first: the table's primary key settles who was first.
//!
//! [`machine`] says what follows from what, [`Coordinator::commit`] does it on connections, [`recovery`] does what was left.

#![forbid(unsafe_code)]

pub mod clock;
mod commit;
mod crash;
pub mod deadlock;
mod decision;
mod id;
pub mod machine;
pub mod recovery;
mod schema;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use arc_swap::ArcSwap;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::registry::Registry;
use tokio::sync::Notify;
use weir_backend::monitor::MonitorSettings;
use weir_backend::{Connection, Replaceable, Server};
use weir_catalog::ShardId;
use weir_topology::Group;

pub use commit::{CommitParticipant, Ended, everywhere, is_in_transaction, join_texts};
pub use id::{BranchId, FORMAT, NotOurs, TransactionId};
pub use machine::{Participation, Role, Verdict};

/// Choices about distributed transactions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransactionSettings {
    /// Time between two looks for prepared branches.
    pub interval: Duration,
    /// Any Weir that has seen a branch prepared for this time ends it.
    pub grace: Duration,
    /// The longest that a client waits to learn what was decided, when the answer to the deciding COMMIT was lost.
    pub bound: Duration,
    /// Decisions stay for so long.
    pub keep: Duration,
    /// Time between two looks for deadlocks over several shards; zero: they are not looked for.
    pub deadlock_interval: Duration,
}

impl Default for TransactionSettings {
    fn default() -> TransactionSettings {
        TransactionSettings {
            interval: Duration::from_secs(5),
            grace: Duration::from_secs(10),
            bound: Duration::from_secs(10),
            keep: Duration::from_secs(24 * 3600),
            deadlock_interval: Duration::from_millis(500),
        }
    }
}

/// What is counted.
#[derive(Debug, Clone, Default)]
pub struct Metrics {
    /// Transactions committed by a decision.
    pub decided: Counter,
    /// Transactions rolled back after their commit had begun.
    pub failed: Counter,
    /// Decisions that were looked up because the answer to the deciding COMMIT was lost.
    pub looked_up: Counter,
    /// Clients that were told that the outcome is unknown.
    pub unknown: Counter,
    /// Sessions that were ended for a deadlock over several shards.
    pub deadlocks: Counter,
    /// Branches that recovery has committed.
    pub recovered_committed: Counter,
    /// Branches that recovery has rolled back.
    pub recovered_rolled_back: Counter,
}

impl Metrics {
    /// Registers all of them.
    pub fn register(&self, registry: &mut Registry) {
        let mut counter = |name: &str, help: &str, counter: &Counter| {
            registry.register(format!("weir_transactions_{name}"), help, counter.clone());
        };
        counter("decided", "Distributed transactions committed by a decision", &self.decided);
        counter("failed", "Distributed transactions rolled back after their commit had begun", &self.failed);
        counter("looked_up", "Decisions looked up because the answer to COMMIT was lost", &self.looked_up);
        counter("unknown", "Clients told that the outcome of their transaction is unknown", &self.unknown);
        counter("deadlocks", "Transactions rolled back for a deadlock over several shards", &self.deadlocks);
        counter("branches_recovered_commit", "Branches that recovery has committed", &self.recovered_committed);
        counter("branches_recovered_rollback", "Branches that recovery has rolled back", &self.recovered_rolled_back);
    }
}

/// A prepared branch that nobody has ended yet, as recovery has seen it last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InDoubt {
    /// The branch.
    pub branch: BranchId,
    /// For how long it has been seen.
    pub seen_for: Duration,
    /// Why it is still there, if its end was tried.
    pub why: Option<String>,
}

/// Transactions that are left, and the shards that may have a prepared branch of them, with the connections that prepared these.
type Left = BTreeMap<TransactionId, BTreeMap<ShardId, Holder>>;

/// The connection that prepared a branch. Weir has closed it, but a server that is not told of that, as the network has forgotten the
/// connection, keeps it for hours.
#[derive(Debug, Clone)]
struct Holder {
    server: Arc<Server>,
    thread_id: u32,
    user: Arc<[u8]>,
    /// When it was given up: it has run nothing since.
    left_at: Instant,
}

impl Holder {
    fn of(connection: &Connection) -> Holder {
        let user = connection.key.user.clone();
        let left_at = Instant::now();
        Holder { server: connection.server.clone(), thread_id: connection.thread_id, user, left_at }
    }
}

/// Ends transactions for all sessions of a Weir, and those that were left. Shared by all threads.
#[derive(Debug)]
pub struct Coordinator {
    instance: u64,
    counter: AtomicU64,
    settings: ArcSwap<TransactionSettings>,
    groups: Vec<Arc<Group>>,
    monitor: Replaceable<MonitorSettings>,
    /// Transactions of this Weir that it has left to recovery, and the shards that may have a branch of them: these need no grace.
    left: Mutex<Left>,
    woken: Notify,
    /// Rung when there is less in `left`.
    ended: Notify,
    in_doubt: ArcSwap<Vec<InDoubt>>,
    crash: crash::Crash,
    /// What is counted.
    pub metrics: Metrics,
}

impl Coordinator {
    /// For the shards of these groups, in their order. `monitor`: Weir's own account.
    pub fn new(
        groups: Vec<Arc<Group>>,
        monitor: Replaceable<MonitorSettings>,
        settings: TransactionSettings,
    ) -> Coordinator {
        Coordinator {
            instance: rand::random(),
            counter: AtomicU64::new(1),
            settings: ArcSwap::from_pointee(settings),
            groups,
            monitor,
            left: Mutex::default(),
            woken: Notify::new(),
            ended: Notify::new(),
            in_doubt: ArcSwap::default(),
            crash: crash::Crash::from_environment(),
            metrics: Metrics::default(),
        }
    }

    /// Other choices.
    pub fn configure(&self, settings: TransactionSettings) {
        self.settings.store(Arc::new(settings));
    }

    /// Time between two looks for deadlocks over several shards; zero: they are not looked for.
    pub fn deadlock_interval(&self) -> Duration {
        self.settings.load().deadlock_interval
    }

    /// A name for a transaction that becomes distributed.
    pub fn new_id(&self, decider: ShardId) -> TransactionId {
        let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        TransactionId { decider, instance: self.instance, counter: self.counter.fetch_add(1, Ordering::Relaxed), time }
    }

    /// Prepared branches that nobody has ended yet, as recovery has seen them last.
    pub fn in_doubt(&self) -> Arc<Vec<InDoubt>> {
        self.in_doubt.load_full()
    }

    /// Waits until recovery has ended all branches of a transaction that were left to it, so that others see what they wrote. Returns
    /// whether that is so, or the time for outcomes is over. The connections that prepared them must be closed before: MariaDB lets nobody
    /// else end a branch while its connection is there.
    pub async fn until_ended(&self, id: &TransactionId) -> bool {
        let bound = self.settings.load().bound;
        let ended = async {
            loop {
                let rung = self.ended.notified();
                if !self.lock_left().contains_key(id) {
                    return;
                }
                rung.await;
            }
        };
        tokio::time::timeout(bound, ended).await.is_ok()
    }

    /// Branches of a transaction may be left prepared on these shards: recovery looks at once.
    fn leave(&self, id: TransactionId, shards: impl IntoIterator<Item = (ShardId, Holder)>) {
        let mut shards = shards.into_iter().peekable();
        if shards.peek().is_some() {
            self.lock_left().entry(id).or_default().extend(shards);
            self.woken.notify_one();
        }
    }

    fn lock_left(&self) -> std::sync::MutexGuard<'_, Left> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn group(&self, shard: ShardId) -> Option<&Arc<Group>> {
        self.groups.get(usize::from(shard.0))
    }
}
