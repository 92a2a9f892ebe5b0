//! Bringing transactions to their end whose Weir or server has died: steadily, by any Weir, whosever they are.
//!
//! What must always hold: see [`action`]. Only a branch's absence from XA RECOVER means that it is over: MariaDB answers 1397 to others
//! while the connection that prepared it is alive, and 1402 for a branch that has only locked.

mod clean;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use weir_backend::Server;
use weir_backend::monitor::Probe;
use weir_backend::patience::within;
use weir_catalog::ShardId;
use weir_wire::Failure;
use weir_wire::error::codes;

use super::decision::{self, Decision, unknown_shard};
use super::{BranchId, Coordinator, Holder, InDoubt, Left, TransactionId};
use futures_util::future::join_all;

/// Bound on one question to a server.
const ANSWER: Duration = Duration::from_secs(5);
/// The wait between two looks while this Weir has left something.
const SOON: Duration = Duration::from_millis(300);
/// Seconds for which a connection must have been idle, and so have been there, to be told from one that has its id since the server restarted.
const LEAST_IDLE: u64 = 2;
/// Decisions that have become old are looked for so often.
const CLEAN: Duration = Duration::from_secs(60);

/// What is known of the decision about a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KnownDecision {
    /// The deciding shard could not be asked.
    Nothing,
    /// There is none.
    Absent,
    /// To commit.
    Commit,
    /// To roll back.
    Abort,
}

/// What is done about a prepared branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Nothing yet.
    Wait,
    /// A decision to roll back is written, unless one comes before it; then that is done which is decided.
    Settle,
    /// It is committed.
    Commit,
    /// It is rolled back.
    RollBack,
}

/// Whether a branch may be looked after: it has been there for the grace, or this Weir itself has left it.
pub fn is_due(seen_for: Duration, left: bool, grace: Duration) -> bool {
    left || seen_for >= grace
}

/// What is done about a prepared branch that is due.
pub fn action(known: KnownDecision) -> Action {
    match known {
        KnownDecision::Nothing => Action::Wait,
        KnownDecision::Absent => Action::Settle,
        KnownDecision::Commit => Action::Commit,
        KnownDecision::Abort => Action::RollBack,
    }
}

/// What recovery knows from one look to the next.
struct Recovery<'a> {
    coordinator: &'a Coordinator,
    lines: Vec<RecoveryConnection>,
    /// Since when each branch has been seen.
    seen: HashMap<BranchId, Instant>,
    cleaned: Instant,
}

/// Weir's own connection to a shard's writer.
#[derive(Default)]
pub(super) struct RecoveryConnection {
    open: Option<(Arc<Server>, Probe)>,
}

impl Coordinator {
    /// A shard has told its branches: of transactions that had been left before it was asked, those that it lacks are over.
    fn note_ended(&self, shard: usize, branches: &[BranchId], left_before: &Left) {
        let Ok(shard) = u16::try_from(shard).map(ShardId) else { return };
        let over = |id: &TransactionId, shards: &BTreeMap<ShardId, Holder>| {
            shards.contains_key(&shard) && !branches.contains(&BranchId { transaction: *id, shard })
        };
        for (id, _) in left_before.iter().filter(|(id, shards)| over(id, shards)) {
            self.note_over(&BranchId { transaction: *id, shard });
        }
    }

    /// A branch that may have been left is over.
    fn note_over(&self, branch: &BranchId) {
        let mut left = self.lock_left();
        if let Some(shards) = left.get_mut(&branch.transaction) {
            shards.remove(&branch.shard);
        }
        left.retain(|_, shards| !shards.is_empty());
        drop(left);
        self.ended.notify_waiters();
    }

    /// Looks after what is left, until the future is dropped.
    pub async fn recover(self: Arc<Self>) {
        let lines = self.groups.iter().map(|_| RecoveryConnection::default()).collect();
        let mut recovery = Recovery { coordinator: &self, lines, seen: HashMap::new(), cleaned: Instant::now() };
        loop {
            let all = recovery.look().await;
            if all && recovery.cleaned.elapsed() >= CLEAN.min(self.settings.load().keep) {
                recovery.clean().await;
                recovery.cleaned = Instant::now();
            }
            let interval = self.settings.load().interval;
            let pause = if self.lock_left().is_empty() { interval } else { interval.min(SOON) };
            // Cancel-safe: a bell keeps its ring, and a sleep is nothing to lose.
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = self.woken.notified() => {}
            }
        }
    }
}

impl Recovery<'_> {
    /// Checks all shards once. Returns whether all of them have answered.
    async fn look(&mut self) -> bool {
        let coordinator = self.coordinator;
        // Before the shards are asked: what is left later may have branches that the answers lack.
        let left = &coordinator.lock_left().clone();
        let lists = join_all(self.lines.iter_mut().enumerate().map(|(shard, line)| async move {
            let listed = line.list(coordinator, shard).await;
            // At once: sessions wait for their branches, and another shard may take its time to answer.
            if let Ok(branches) = &listed {
                coordinator.note_ended(shard, branches, left);
            }
            (shard, listed)
        }))
        .await;
        let all = lists.iter().all(|(_, listed)| listed.is_ok());
        let now = Instant::now();
        for (shard, listed) in lists {
            match listed {
                Ok(branches) => self.note(shard, &branches, now),
                Err(error) => tracing::debug!(shard, %error, "prepared branches could not be listed"),
            }
        }
        let grace = coordinator.settings.load().grace;
        let seen: Vec<_> = self.seen.iter().map(|(branch, since)| (*branch, now.duration_since(*since))).collect();
        let mut in_doubt = Vec::new();
        for (branch, seen_for) in seen {
            let due = is_due(seen_for, left.contains_key(&branch.transaction), grace);
            let ended = if due { self.end(&branch).await } else { Ok(false) };
            match ended {
                Ok(true) => coordinator.note_over(&branch),
                other => in_doubt.push(InDoubt { branch, seen_for, why: other.err().map(|error| error.message) }),
            }
        }
        in_doubt.sort_by_key(|doubt| doubt.branch);
        coordinator.in_doubt.store(Arc::new(in_doubt));
        all
    }

    /// Takes down which branches a shard has.
    fn note(&mut self, shard: usize, branches: &[BranchId], now: Instant) {
        self.seen.retain(|branch, _| usize::from(branch.shard.0) != shard || branches.contains(branch));
        for branch in branches {
            self.seen.entry(*branch).or_insert(now);
        }
    }

    /// Ends a branch as it was decided. Returns whether its server confirms that.
    async fn end(&mut self, branch: &BranchId) -> Result<bool, Failure> {
        let id = branch.transaction;
        let known = self.known(&id).await?;
        let decided = match action(known) {
            Action::Wait => return Ok(false),
            Action::Settle => self.settle(&id).await?,
            Action::Commit => Decision::Commit,
            Action::RollBack => Decision::Abort,
        };
        let verb = if decided == Decision::Commit { "COMMIT" } else { "ROLLBACK" };
        let text = format!("XA {verb} {}", id.branch(branch.shard));
        let ended = self.line(branch.shard, &id)?.query(&text).await;
        if ended.as_ref().is_err_and(|failure| failure.code == codes::ER_XAER_NOTA) {
            self.end_holder(branch).await;
        }
        ended?;
        let metrics = &self.coordinator.metrics;
        match decided {
            Decision::Commit => metrics.recovered_committed.inc(),
            Decision::Abort => metrics.recovered_rolled_back.inc(),
        };
        tracing::info!(transaction = %id, shard = branch.shard.0, decided = verb, "a prepared branch was brought to its end");
        Ok(true)
    }

    /// The server still has the connection that prepared a branch, which nobody else can end before that is gone. Weir has closed it: the
    /// server has not been told if the connection's packets are lost.
    async fn end_holder(&mut self, branch: &BranchId) {
        let holder_of = |left: &Left| left.get(&branch.transaction)?.get(&branch.shard).cloned();
        let Some(holder) = holder_of(&self.coordinator.lock_left()) else { return };
        let Ok(line) = self.line(branch.shard, &branch.transaction) else { return };
        if !line.open.as_ref().is_some_and(|(server, _)| Arc::ptr_eq(server, &holder.server)) {
            return;
        }
        let Holder { thread_id, user, left_at, .. } = holder;
        // Ids begin anew when a server starts: a connection that was made later has not been idle for as long.
        let idle = left_at.elapsed().as_secs();
        if idle < LEAST_IDLE {
            return;
        }
        let its = format!(
            "SELECT USER FROM information_schema.PROCESSLIST WHERE ID = {thread_id} AND COMMAND = 'Sleep' AND TIME >= {idle}"
        );
        let found = line.query(&its).await.unwrap_or_default().into_iter().flatten().next().flatten();
        if found.is_some_and(|found| *found == *user) {
            match line.query(&format!("KILL CONNECTION {thread_id}")).await {
                Ok(_) => {
                    tracing::info!(transaction = %branch.transaction, thread_id, "the connection that prepared a branch was ended");
                }
                Err(error) => {
                    tracing::warn!(transaction = %branch.transaction, thread_id, %error, "the connection that prepared a branch was not ended");
                }
            }
        }
    }

    async fn known(&mut self, id: &TransactionId) -> Result<KnownDecision, Failure> {
        let line = self.line(id.decider, id)?;
        let Some((_, probe)) = &mut line.open else { return Ok(KnownDecision::Nothing) };
        let found = within(ANSWER, decision::look(probe, id)).await;
        Ok(match line.checked(found)? {
            None => KnownDecision::Absent,
            Some(Decision::Commit) => KnownDecision::Commit,
            Some(Decision::Abort) => KnownDecision::Abort,
        })
    }

    async fn settle(&mut self, id: &TransactionId) -> Result<Decision, Failure> {
        let line = self.line(id.decider, id)?;
        let Some((_, probe)) = &mut line.open else { return Err(not_asked()) };
        let settled = within(ANSWER, decision::settle(probe, id)).await;
        line.checked(settled)
    }

    fn line(&mut self, shard: ShardId, id: &TransactionId) -> Result<&mut RecoveryConnection, Failure> {
        self.lines.get_mut(usize::from(shard.0)).ok_or_else(|| unknown_shard(id))
    }
}

impl RecoveryConnection {
    /// Has a connection to the shard's writer.
    pub(super) async fn connect(&mut self, coordinator: &Coordinator, shard: usize) -> Result<(), Failure> {
        let writer = coordinator.groups[shard].writer();
        if self.open.as_ref().is_none_or(|(server, _)| !Arc::ptr_eq(server, &writer)) {
            self.open = None;
            if let Some(failure) = writer.refusal() {
                return Err(failure);
            }
            let monitor = coordinator.monitor.load_full();
            let probe = within(ANSWER, decision::connect(&writer, &monitor)).await.ok_or_else(not_asked)??;
            self.open = Some((writer, probe));
        }
        Ok(())
    }

    /// Weir's branches on a shard.
    async fn list(&mut self, coordinator: &Coordinator, shard: usize) -> Result<Vec<BranchId>, Failure> {
        self.connect(coordinator, shard).await?;
        let rows = self.query("XA RECOVER").await?;
        // What another shard's server shows here is a copy of it, or was: not this shard's to end.
        let here = |branch: &BranchId| usize::from(branch.shard.0) == shard;
        Ok(rows.iter().filter_map(|row| BranchId::of_row(row)).filter(here).collect())
    }

    pub(super) async fn query(&mut self, text: &str) -> Result<Vec<Vec<Option<Vec<u8>>>>, Failure> {
        let Some((_, probe)) = &mut self.open else { return Err(not_asked()) };
        let answer = within(ANSWER, probe.query(text)).await;
        self.checked(answer)
    }

    /// A connection that did not answer, or was lost, is not used again.
    fn checked<T>(&mut self, answer: Option<Result<T, Failure>>) -> Result<T, Failure> {
        let answer = answer.unwrap_or_else(|| Err(not_asked()));
        if answer.as_ref().is_err_and(|failure| failure.code == codes::CR_SERVER_LOST) {
            self.open = None;
        }
        answer
    }
}

fn not_asked() -> Failure {
    Failure::server(codes::CR_SERVER_LOST, "the shard's writer could not be asked")
}

#[cfg(test)]
mod tests;
