//! The session's transaction beyond one shard: its parts, how they join, and how they end together.
//!
//! What must always hold: while a transaction has parts on several shards, one of them is the session's connection (`lease`), on which
//! the statement at hand runs as it would without shards, and the others are parked here. A parked connection never goes back to its
//! pool with its part open. A transaction with one part is the server's own: nothing here is in its way.

mod admission;
pub(super) mod anchor;
mod end;
pub(super) mod kind;
pub(super) mod lease;
mod participants;
mod savepoints;
mod snapshot;
pub(super) mod table_locks;

use std::rc::Weak;

use weir_admin::sessions::Interrupt;
use weir_backend::Lease;
use weir_backend::admission::AdmissionPermit;
use weir_sql::{Class, Effects, Pins, TextKind};
use weir_txn::{Participation, Role, TransactionId, is_in_transaction, join_texts};
use weir_wire::Failure;
use weir_wire::StatusFlags;
use weir_wire::error::codes;

use super::Session;
use super::latest::{Diagnostics, Left};
use super::outcome::ReplyOutcome;
use super::state::runs_others;
use super::statement::Statement;
use super::statement::decide::{First, TransactionAct};
use super::stopped::Stopped;
use crate::backends::{ServerId, shard_id};
use kind::{Joins, ends_transaction, has_begun_nothing};
use lease::{Shown, StatementLease};
pub(super) use participants::StatementLeases;

/// A savepoint that is open.
#[derive(Debug)]
struct Savepoint {
    /// Its name, in lower case where that is ASCII.
    name: Vec<u8>,
    /// The statement that sets it.
    text: String,
}

/// A server with which the session runs statements: that of its connection, or of another part of its transaction.
#[derive(Default)]
pub(super) struct Participant {
    pub(super) server: ServerId,
    /// The connection, if there is one.
    pub(super) lease: Option<Lease>,
    /// The transaction may have changed something there.
    pub(super) wrote: bool,
    /// In which life of the server a READ ONLY transaction began that it serves as a replica.
    pub(super) reader_life: Option<u64>,
    /// A statement without autocommit may have left metadata locks there: see `release_metadata_locks`.
    pub(super) metadata_locks: bool,
}

/// A participant that the statement at hand does not run on. Dropped with its connection, the connection is closed.
pub(super) struct Parked {
    participant: Participant,
    _shown: Shown,
}

impl Drop for Parked {
    fn drop(&mut self) {
        if let Some(lease) = &mut self.participant.lease {
            lease.retired = true;
        }
    }
}

/// See the module.
#[derive(Default)]
pub(super) struct Transaction {
    /// The transaction's name, once it may write on a second shard.
    id: Option<TransactionId>,
    /// The shard where it began, once it has several parts.
    first: usize,
    /// Its participants but the session's current one.
    parked: Vec<Parked>,
    /// In the order in which they were set.
    savepoints: Vec<Savepoint>,
    /// What SET TRANSACTION has said of this transaction, or the next.
    characteristics: Vec<String>,
    /// It is the statement's at hand, and ends with it.
    of_statement: bool,
    /// The one that it begins now only looks.
    of_look: bool,
    /// The connection that something else binds the session to, while the statement's own transaction runs on others.
    kept: Option<(ServerId, Lease)>,
    /// The shard of the participant that has the session's temporary tables, user locks and latest values of sequences, once another one has been its connection.
    anchor: Option<usize>,
    /// The connection that had them is gone.
    anchor_lost: bool,
    /// No server has heard of the savepoints and the characteristics yet.
    unsent: bool,
    /// The transaction is a READ ONLY one.
    read_only: bool,
    /// A statement has failed: the server may have rolled back more than it.
    in_doubt: bool,
    /// None was open before the statement that has failed, and its error is not one that ends a transaction.
    begun_by_failure: bool,
    /// None was open before the latest statement over several shards.
    begun_over_shards: bool,
    /// A part has ended by itself, with what it wrote.
    ended_by_itself: bool,
    /// A statement was killed because the session waited in a cycle with others.
    deadlocked: bool,
    /// A statement's hint has ended it, and the client may still send its COMMIT or ROLLBACK.
    pub(super) ended_by_hint: bool,
    /// It began with the statement at hand.
    pub(super) begun_with_statement: bool,
    /// The session's permit among transactions and statements over several shards. It outlives the transaction by the statement.
    permit: Option<AdmissionPermit>,
    /// The permit for additional connections that leases of the statement at hand have.
    additional: Weak<AdmissionPermit>,
}

impl Transaction {
    /// The transaction is over.
    fn forget(&mut self) {
        let (permit, begun_with_statement) = (self.permit.take(), self.begun_with_statement);
        let (additional, anchor_lost) = (std::mem::take(&mut self.additional), self.anchor_lost);
        *self = Transaction { permit, additional, begun_with_statement, anchor_lost, ..Transaction::default() };
    }

    /// What the statement before has failed at is over.
    pub(super) fn forget_failure(&mut self) {
        self.begun_by_failure = false;
    }

    /// A statement has failed that may have begun it, unless it is `open`.
    pub(super) fn suppose_begun(&mut self, open: bool, outcome: &ReplyOutcome) {
        self.begun_by_failure = !open && outcome.error.is_none_or(|(code, _)| !ends_transaction(code));
    }

    /// Whether several shards take part.
    pub(super) fn is_multi_shard(&self) -> bool {
        !self.parked.is_empty()
    }

    /// Whether it is one server's own, begun by the client.
    pub(super) fn is_plain(&self) -> bool {
        self.parked.is_empty() && self.id.is_none() && !self.of_statement && self.kept.is_none()
    }

    /// Whether something was said of a transaction before it began.
    fn is_announced(&self) -> bool {
        !self.savepoints.is_empty() || !self.characteristics.is_empty()
    }

    /// Whether a server has to hear of what goes with a transaction's beginning.
    pub(super) fn unsent(&self) -> bool {
        self.unsent
    }

    /// It has to hear of it again.
    pub(super) fn set_unsent(&mut self, unsent: bool) {
        self.unsent = unsent;
    }

    /// Whether a savepoint of this name, in lower case, is open.
    pub(super) fn has_savepoint(&self, name: &[u8]) -> bool {
        self.savepoints.iter().any(|savepoint| savepoint.name == name)
    }

    fn role(&self, shard: usize) -> Role {
        if self.id.is_some() && shard != self.first { Role::Branch } else { Role::First }
    }

    fn taken(&self, shard: usize, wrote: bool) -> Participation {
        // What a READ ONLY transaction was refused was nothing.
        Participation { role: self.role(shard), wrote: wrote && !self.read_only }
    }
}

/// Whether a statement may change data: not if it only locks what it reads.
pub(super) fn may_change(class: &Class) -> bool {
    let locks_only = class.kind == TextKind::Select
        && class.effects.contains(Effects::LOCKING_READ)
        && !class.pins.intersects(Pins::UNKNOWN_FUNCTION | Pins::UNKNOWN_STATEMENT | Pins::CALL);
    class.effects.intersects(Effects::WRITES | Effects::RUNS_OTHERS) && !locks_only
}

/// Whether a statement is one that a transaction, if only its own, begins or ends with.
fn works_or_ends(class: &Class) -> bool {
    let ends = matches!(class.kind, TextKind::Commit | TextKind::Rollback | TextKind::Other);
    !class.effects.contains(Effects::SET_TRANSACTION_ONCE) && (ends || works(class))
}

/// Whether a statement needs a transaction. What asks for diagnostics needs none, and must find them.
fn works(class: &Class) -> bool {
    class.effects.intersects(Effects::READS | Effects::WRITES) && !class.effects.contains(Effects::USES_WARNINGS)
}

/// Whether a statement can neither begin nor end a transaction but by its reading of rows.
fn only_reads(class: &Class) -> bool {
    let ends = matches!(class.kind, TextKind::Commit | TextKind::Rollback);
    !ends
        && class.effects.contains(Effects::READS)
        && !class.effects.intersects(Effects::WRITES | Effects::RUNS_OTHERS | Effects::SET_TRANSACTION_ONCE)
}

/// The error of a write in a READ ONLY transaction.
pub(super) fn writes_in_read_only(mariadb: bool) -> Failure {
    let end = if mariadb { "" } else { "." };
    let message = format!("Cannot execute statement in a READ ONLY transaction{end}");
    Failure::client(codes::ER_CANT_EXECUTE_IN_READ_ONLY, message)
}

impl Session {
    /// What a server says to a write in the transaction that is open, or that the write would be, where no server is asked.
    pub(super) fn may_write(&self) -> Result<(), Failure> {
        let read_only = match self.state.in_transaction() {
            true => self.transaction.read_only || self.state.own_status().contains(StatusFlags::IN_TRANS_READONLY),
            false => self.state.next_is_read_only(),
        };
        if read_only { Err(writes_in_read_only(self.identity.mariadb)) } else { Ok(()) }
    }

    /// Whether a transaction is open that a server knows of.
    pub(super) fn has_open_transaction(&self) -> bool {
        self.state.status.contains(StatusFlags::IN_TRANS)
    }

    /// Whether the statement at hand, which is for another shard than that of the session's connection, can take that shard into the
    /// transaction.
    pub(super) fn may_change_shard(&self) -> bool {
        let in_transaction = self.has_open_transaction() || self.is_anchored() && self.is_or_begins_transaction();
        in_transaction && self.is_movable() || self.may_change_locked_shard()
    }

    /// The transaction is over.
    pub(super) fn forget_transaction(&mut self) {
        self.transaction.forget();
        self.state.said_read_only = None;
        self.replay.forget();
        self.current.wrote = false;
    }

    /// A transaction of one part ends, or begins in place of another one.
    fn begin_anew(&mut self) {
        if !self.transaction.is_multi_shard() {
            self.transaction.savepoints.clear();
            self.current.wrote = false;
        }
    }

    /// Makes the part of a shard the session's connection: the shard joins the transaction if it has no part yet, at the latest when
    /// `joins` says.
    pub(super) async fn enter_shard(&mut self, shard: usize, joins: Joins) -> Result<(), Stopped> {
        self.enter_shard_by(shard, joins, None).await
    }

    /// The same by a connection that is there for it, if there is one.
    async fn enter_shard_by(
        &mut self,
        shard: usize,
        joins: Joins,
        ready: Option<StatementLease>,
    ) -> Result<(), Stopped> {
        if self.current.server.shard == shard && self.current.lease.is_some() {
            return Ok(());
        }
        if self.has_table_locks() {
            return self.enter_locked_shard(shard).await;
        }
        self.begin_on_anchor().await?;
        self.learn_values_left().await?;
        let mut entered = match self.take_parked(shard) {
            Some(parked) => parked,
            None => self.join(shard, joins, ready).await?,
        };
        self.park_current();
        self.current = std::mem::take(&mut entered.participant);
        if let Some(lease) = &mut self.current.lease {
            lease.has_found_rows = false;
            self.handle.info().server = Some((lease.server.clone(), lease.thread_id));
        }
        self.target.follow(self.current.server);
        Ok(())
    }

    fn take_parked(&mut self, shard: usize) -> Option<Parked> {
        let at = self.transaction.parked.iter().position(|parked| parked.participant.server.shard == shard)?;
        Some(self.transaction.parked.swap_remove(at))
    }

    /// The session's connection becomes a parked part.
    fn park_current(&mut self) {
        self.note_anchor();
        if let Some(lease) = &self.current.lease {
            let _shown = Shown::new(&self.handle, lease);
            let server = self.current.server;
            let participant = std::mem::replace(&mut self.current, Participant { server, ..Participant::default() });
            self.transaction.parked.push(Parked { participant, _shown });
        }
    }

    /// What the latest statement left on the connection that is parked now, as far as a statement elsewhere can ask for it.
    pub(super) async fn learn_values_left(&mut self) -> Result<(), Stopped> {
        if self.state.latest.diagnostics == Diagnostics::OnConnection {
            self.state.latest.leaves_none_elsewhere();
        }
        if self.state.latest.last_insert_id == Left::OnConnection || self.state.latest.found_rows == Left::OnConnection
        {
            self.learn_what_was_left(true).await?;
        }
        Ok(())
    }

    /// A new part of the open transaction: a branch, after whatever the transaction's beginning and savepoints are.
    async fn join(&mut self, shard: usize, joins: Joins, ready: Option<StatementLease>) -> Result<Parked, Stopped> {
        if !self.transaction.is_multi_shard() {
            self.transaction.first = self.current.server.shard;
            self.transaction.read_only = self.is_read_only();
        }
        self.have_multi_shard_permit().await?;
        let texts = self.texts_to_join(shard);
        let StatementLease { index, mut lease, _shown, .. } = match ready {
            Some(part) => part,
            None => self.lease_shard(shard).await?,
        };
        texts.iter().for_each(|text| lease.queue_begin(text.as_bytes(), false));
        match joins {
            Joins::WithStatement => {}
            Joins::Meanwhile => lease.flush().await?,
            Joins::First => self.confirm_on(&mut lease).await?,
        }
        let server = ServerId { shard, index };
        Ok(Parked { participant: Participant { server, lease: Some(lease), ..Participant::default() }, _shown })
    }

    fn is_read_only(&self) -> bool {
        self.current.reader_life.is_some() || self.state.status.contains(StatusFlags::IN_TRANS_READONLY)
    }

    fn texts_to_join(&mut self, shard: usize) -> Vec<String> {
        let savepoints: Vec<String> =
            self.transaction.savepoints.iter().map(|savepoint| savepoint.text.clone()).collect();
        let mut characteristics = self.transaction.characteristics.clone();
        if self.transaction.read_only {
            // It can't write, so it needs no name and no decision.
            let start = "START TRANSACTION READ ONLY".to_owned();
            return characteristics.into_iter().chain([start]).chain(savepoints).collect();
        }
        // The transaction's beginning has said otherwise than what is set, which XA START can't.
        if self.state.next_is_read_only() {
            characteristics.push("SET TRANSACTION READ WRITE".to_owned());
        }
        let first = shard_id(self.transaction.first);
        let id = *self.transaction.id.get_or_insert_with(|| self.endpoint.transactions.new_id(first));
        join_texts(&id, shard_id(shard), characteristics, savepoints)
    }

    /// Follows what a statement did to the transaction. To be called when its status is known.
    pub(super) fn note_branches(&mut self, class: &Class, outcome: &ReplyOutcome) {
        if self.shared.shards.len() == 1 && !self.transaction.is_announced() {
            return;
        }
        self.note_anchor_left();
        let open = self.has_open_transaction();
        self.current.wrote |= may_change(class);
        let deadlock = outcome.error.is_some_and(|(code, _)| code == codes::ER_LOCK_DEADLOCK);
        self.transaction.deadlocked |= deadlock && self.handle.has(Interrupt::Deadlock);
        match (open, self.transaction.is_multi_shard()) {
            (true, _) => self.transaction.in_doubt |= outcome.error.is_some(),
            // What its parts elsewhere are is known: they go the same way.
            (false, true) => {
                self.transaction.in_doubt = true;
                self.transaction.ended_by_itself = outcome.error.is_none();
            }
            // What neither works nor ends a transaction leaves what was said of the next one.
            (false, false) if !works_or_ends(class) => {}
            // It has read no table of a storage engine with transactions: the next statement begins what this one could have begun.
            (false, false) if only_reads(class) && !self.state.status.contains(StatusFlags::AUTOCOMMIT) => {
                self.transaction.unsent |= self.transaction.is_announced();
            }
            // A PREPARE begins none.
            (false, false) if outcome.prepared.is_some() => {}
            // Nor does what servers refuse before they run it: whoever begins the transaction hears of what was said.
            (false, false)
                if self.transaction.is_announced()
                    && !runs_others(class)
                    && has_begun_nothing(outcome, self.identity.mariadb) =>
            {
                self.transaction.unsent = true;
                self.state.pins -= Pins::SET_TRANSACTION;
            }
            (false, false) => {
                let unsent = self.transaction.unsent;
                if !unsent && !self.transaction.characteristics.is_empty() {
                    self.state.pins -= Pins::SET_TRANSACTION;
                }
                if !unsent && self.state.begin.is_none() {
                    self.forget_transaction();
                }
            }
        }
    }

    /// After a statement that may have ended the transaction on one shard: if it has, the others follow.
    pub(super) async fn look_after_branches(&mut self) {
        if !std::mem::take(&mut self.transaction.in_doubt) {
            return;
        }
        if !self.transaction.is_multi_shard() && self.current.lease.is_none() {
            // It has failed elsewhere, on connections that are back already.
            if self.transaction.begun_by_failure {
                self.has_begun_none();
            }
            return;
        }
        if std::mem::take(&mut self.transaction.deadlocked) {
            // The server has ended the statement only.
            self.end_participants(false).await;
            return;
        }
        let lives = match &mut self.current.lease {
            Some(lease) if lease.is_clean() => is_in_transaction(lease).await,
            _ => false,
        };
        if lives {
            self.state.status |= StatusFlags::IN_TRANS;
            return;
        }
        if !self.transaction.is_multi_shard() {
            if self.current.lease.as_ref().is_some_and(|lease| lease.is_clean()) {
                self.has_begun_none();
            }
            return;
        }
        if self.transaction.ended_by_itself {
            tracing::warn!(
                session = self.handle.id,
                "a statement has ended its transaction on one shard: the others follow"
            );
        }
        self.end_participants(self.transaction.ended_by_itself).await;
    }

    /// The statement that has failed has left no transaction open.
    fn has_begun_none(&mut self) {
        self.state.status -= StatusFlags::IN_TRANS | StatusFlags::IN_TRANS_READONLY;
        self.current.reader_life = None;
        match self.transaction.begun_by_failure && self.transaction.is_announced() {
            // The next statement begins what this one has not.
            true => {
                self.transaction.unsent = true;
                self.state.pins -= Pins::SET_TRANSACTION;
            }
            false => self.forget_transaction(),
        }
    }

    /// What comes before a statement for the transaction's sake.
    pub(super) async fn begin_course(&mut self, first: First, statement: &Statement<'_>) -> Result<(), Stopped> {
        if first.begins_anew {
            self.begin_anew();
        }
        if first.commits {
            self.commit_before().await?;
        }
        if first.ends_on_replica {
            self.end_transaction_on_reader().await?;
        }
        if let Some(read_only) = first.keeps_characteristics {
            self.keep_characteristics(read_only, statement);
        }
        Ok(())
    }

    /// Runs what concerns the transaction as a whole, and answers the client.
    pub(super) async fn transact(&mut self, act: TransactionAct, statement: &Statement<'_>) -> Result<(), Stopped> {
        match act {
            TransactionAct::Snapshot(read_only) => self.begin_with_snapshot(read_only).await,
            TransactionAct::End(ends) => self.end_by_statement(&ends).await,
            TransactionAct::Characteristics(read_only) => self.set_transaction(read_only, statement).await,
            TransactionAct::Savepoint { kind, unheard } => self.savepoint(&kind, unheard, statement.text).await,
        }
    }

    /// The session leaves its connections: what is open on the parked ones is rolled back.
    pub(super) fn leave_branches(&mut self) -> Vec<Lease> {
        let mut parked = std::mem::take(&mut self.transaction.parked);
        let kept = self.transaction.kept.take().map(|(_, lease)| lease);
        self.forget_transaction();
        let locked = self.leave_locked();
        parked.iter_mut().filter_map(|part| part.participant.lease.take()).chain(kept).chain(locked).collect()
    }
}
