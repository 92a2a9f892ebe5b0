//! The session's transaction beyond one shard: its parts, how they join, and how they end together.
//!
//! What must always hold: while a transaction has parts on several shards, one of them is the session's connection (`lease`), on which
//! the statement at hand runs as it would without shards, and the others are parked here. A parked connection never goes back to its
//! pool with its part open. A transaction with one part is the server's own: nothing here is in its way.

mod admission;
mod end;
pub(super) mod kind;
pub(super) mod lease;
mod participants;
mod savepoints;
mod snapshot;

use weir_admin::sessions::Interrupt;
use weir_backend::Lease;
use weir_sql::{Class, Effects, Kind, Pins};
use weir_txn::{Role, Taken, TransactionId};
use weir_txn::{is_in_transaction, join_texts};
use weir_wire::StatusFlags;
use weir_wire::error::codes;

use super::Session;
use super::relay::Outcome;
use super::server::Stopped;
use super::sharded::shard_id;
use super::state::{Diagnostics, Left};
use super::statement::Statement;
use super::statement::decide::{First, TransactionAct};
use crate::backends::ServerPlace;
use lease::{Part, Shown};
pub(super) use participants::Parts;

/// Pins that say nothing of a connection that later statements of a transaction could miss.
pub(super) const HARMLESS: Pins = Pins::SET_TRANSACTION.union(Pins::FOUND_ROWS).union(Pins::ROW_COUNT);

/// "XA_RBROLLBACK".
const ER_XA_RBROLLBACK: u16 = 1402;

/// When a shard has to have joined a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Joins {
    /// Before anything else is sent there. What writes must not be on its way to a server that has refused the branch.
    First,
    /// While others join: whoever asks for it has it confirmed.
    Meanwhile,
    /// With the statement that is sent there next.
    WithStatement,
}

/// A savepoint that is open.
#[derive(Debug)]
struct Savepoint {
    /// Its name, in lower case where that is ASCII.
    name: Vec<u8>,
    /// The statement that sets it.
    text: String,
}

/// A part that the statement at hand does not run on. Dropped with its connection, the connection is closed.
pub(super) struct Parked {
    place: ServerPlace,
    lease: Option<Lease>,
    wrote: bool,
    /// As [`Session::on_reader`].
    on_reader: Option<u64>,
    _shown: Shown,
}

impl Drop for Parked {
    fn drop(&mut self) {
        if let Some(lease) = &mut self.lease {
            lease.retired = true;
        }
    }
}

/// See the module.
#[derive(Default)]
pub(super) struct Branches {
    /// The transaction's name, once it may write on a second shard.
    id: Option<TransactionId>,
    /// The shard where it began, once it has several parts.
    first: usize,
    /// The part of the session's connection may have changed something.
    wrote: bool,
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
    kept: Option<(ServerPlace, Lease)>,
    /// No server has heard of the savepoints and the characteristics yet.
    unsent: bool,
    /// The transaction is a READ ONLY one.
    read_only: bool,
    /// A statement has failed: the server may have rolled back more than it.
    in_doubt: bool,
    /// A part has ended by itself, with what it wrote.
    ended_by_itself: bool,
    /// A statement was killed because the session waited in a circle with others.
    deadlocked: bool,
}

impl Branches {
    /// The transaction is over.
    fn forget(&mut self) {
        *self = Branches::default();
    }

    /// A transaction of one part ends, or begins in place of another one.
    fn begin_anew(&mut self) {
        if !self.are_several() {
            self.savepoints.clear();
            self.wrote = false;
        }
    }

    /// Whether several shards take part.
    pub(super) fn are_several(&self) -> bool {
        !self.parked.is_empty()
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

    fn taken(&self, shard: usize, wrote: bool) -> Taken {
        // What a READ ONLY transaction was refused was nothing.
        Taken { role: self.role(shard), wrote: wrote && !self.read_only }
    }
}

/// Whether a statement may change data: not if it only locks what it reads.
fn may_change(class: &Class) -> bool {
    let locks_only = class.kind == Kind::Select
        && class.effects.contains(Effects::LOCKING_READ)
        && !class.pins.intersects(Pins::UNKNOWN_FUNCTION | Pins::UNKNOWN_STATEMENT | Pins::CALL);
    class.effects.intersects(Effects::WRITES | Effects::RUNS_OTHERS) && !locks_only
}

/// Whether a statement is one that a transaction, if only its own, begins or ends with.
fn works_or_ends(class: &Class) -> bool {
    let ends = matches!(class.kind, Kind::Commit | Kind::Rollback | Kind::Other);
    !class.effects.contains(Effects::SET_TRANSACTION_ONCE)
        && (ends || class.effects.intersects(Effects::READS | Effects::WRITES))
}

impl Session {
    /// Whether a transaction is open that a server knows of.
    pub(super) fn has_open_transaction(&self) -> bool {
        self.state.status.contains(StatusFlags::IN_TRANS)
    }

    /// Whether the statement at hand, which is for another shard than that of the session's connection, can take that shard into the
    /// transaction.
    pub(super) fn may_change_shard(&self) -> bool {
        self.has_open_transaction() && (self.state.pins - HARMLESS).is_empty() && !self.state.has_busy_statements()
    }

    /// Makes the part of a shard the session's connection: the shard joins the transaction if it has no part yet, at the latest when
    /// `joins` says.
    pub(super) async fn enter_shard(&mut self, shard: usize, joins: Joins) -> Result<(), Stopped> {
        self.enter_shard_by(shard, joins, None).await
    }

    /// The same by a connection that is there for it, if there is one.
    async fn enter_shard_by(&mut self, shard: usize, joins: Joins, ready: Option<Part>) -> Result<(), Stopped> {
        if self.at.shard == shard && self.lease.is_some() {
            return Ok(());
        }
        self.learn_values_left().await?;
        let mut entered = match self.take_parked(shard) {
            Some(parked) => parked,
            None => self.join(shard, joins, ready).await?,
        };
        self.park_current();
        self.lease = entered.lease.take();
        self.at = entered.place;
        self.branches.wrote = entered.wrote;
        self.on_reader = entered.on_reader;
        if let Some(lease) = &mut self.lease {
            lease.has_found_rows = false;
            self.handle.info().server = Some((lease.server.clone(), lease.thread_id));
        }
        self.target.follow(self.at);
        Ok(())
    }

    fn take_parked(&mut self, shard: usize) -> Option<Parked> {
        let at = self.branches.parked.iter().position(|parked| parked.place.shard == shard)?;
        Some(self.branches.parked.swap_remove(at))
    }

    /// The session's connection becomes a parked part.
    fn park_current(&mut self) {
        if let Some(lease) = self.lease.take() {
            let _shown = Shown::new(&self.handle, &lease);
            let (place, wrote, on_reader) = (self.at, self.branches.wrote, self.on_reader.take());
            self.branches.parked.push(Parked { place, lease: Some(lease), wrote, on_reader, _shown });
        }
    }

    /// What the latest statement left on the connection that is parked now, as far as a statement elsewhere can ask for it.
    pub(super) async fn learn_values_left(&mut self) -> Result<(), Stopped> {
        if self.state.diagnostics == Diagnostics::OnConnection {
            self.state.diagnostics = Diagnostics::Empty;
        }
        if self.state.last_insert_id == Left::OnConnection || self.state.found_rows == Left::OnConnection {
            self.learn_what_was_left(true).await?;
        }
        Ok(())
    }

    /// A new part of the open transaction: a branch, after whatever the transaction's beginning and savepoints are.
    async fn join(&mut self, shard: usize, joins: Joins, ready: Option<Part>) -> Result<Parked, Stopped> {
        if !self.branches.are_several() {
            self.branches.first = self.at.shard;
            self.branches.read_only = self.is_read_only();
        }
        self.have_place_for_several().await?;
        let texts = self.texts_to_join(shard);
        let Part { index, mut lease, _shown, .. } = match ready {
            Some(part) => part,
            None => self.lend_part(shard).await?,
        };
        texts.iter().for_each(|text| lease.queue_begin(text.as_bytes(), false));
        match joins {
            Joins::WithStatement => {}
            Joins::Meanwhile => lease.flush().await?,
            Joins::First => self.confirm_on(&mut lease).await?,
        }
        let place = ServerPlace { shard, index };
        Ok(Parked { place, lease: Some(lease), wrote: false, on_reader: None, _shown })
    }

    fn is_read_only(&self) -> bool {
        self.on_reader.is_some() || self.state.status.contains(StatusFlags::IN_TRANS_READONLY)
    }

    fn texts_to_join(&mut self, shard: usize) -> Vec<String> {
        let savepoints: Vec<String> = self.branches.savepoints.iter().map(|savepoint| savepoint.text.clone()).collect();
        let characteristics = self.branches.characteristics.clone();
        if self.branches.read_only {
            // It can't write, so it needs no name and no decision.
            let start = "START TRANSACTION READ ONLY".to_owned();
            return characteristics.into_iter().chain([start]).chain(savepoints).collect();
        }
        let first = shard_id(self.branches.first);
        let id = *self.branches.id.get_or_insert_with(|| self.endpoint.transactions.new_id(first));
        join_texts(&id, shard_id(shard), characteristics, savepoints)
    }

    /// Follows what a statement did to the transaction. To be called when its status is known.
    pub(super) fn note_branches(&mut self, class: &Class, outcome: &Outcome) {
        if self.shared.shards.len() == 1 {
            return;
        }
        let open = self.has_open_transaction();
        self.branches.wrote |= may_change(class);
        let deadlock = outcome.error.is_some_and(|(code, _)| code == codes::ER_LOCK_DEADLOCK);
        self.branches.deadlocked |= deadlock && self.handle.has(Interrupt::Deadlock);
        match (open, self.branches.are_several()) {
            (true, _) => self.branches.in_doubt |= outcome.error.is_some(),
            // What its parts elsewhere are is known: they go the same way.
            (false, true) => {
                self.branches.in_doubt = true;
                self.branches.ended_by_itself = outcome.error.is_none();
            }
            // What neither works nor ends a transaction leaves what was said of the next one.
            (false, false) if !works_or_ends(class) => {}
            (false, false) => {
                let unsent = self.branches.unsent;
                if !unsent && !self.branches.characteristics.is_empty() {
                    self.state.pins -= Pins::SET_TRANSACTION;
                }
                if !unsent && self.state.begin.is_none() {
                    self.branches.forget();
                }
            }
        }
    }

    /// After a statement that may have ended the transaction on one shard: if it has, the others follow.
    pub(super) async fn look_after_branches(&mut self) {
        if !std::mem::take(&mut self.branches.in_doubt) || !self.branches.are_several() && self.lease.is_none() {
            return;
        }
        if std::mem::take(&mut self.branches.deadlocked) {
            // The server has ended the statement only.
            self.end_parts(false).await;
            return;
        }
        let lives = match &mut self.lease {
            Some(lease) if lease.is_clean() => is_in_transaction(lease).await,
            _ => false,
        };
        if lives {
            self.state.status |= StatusFlags::IN_TRANS;
            return;
        }
        if !self.branches.are_several() {
            if self.lease.as_ref().is_some_and(|lease| lease.is_clean()) {
                self.state.status -= StatusFlags::IN_TRANS | StatusFlags::IN_TRANS_READONLY;
                self.on_reader = None;
                self.branches.forget();
            }
            return;
        }
        if self.branches.ended_by_itself {
            tracing::warn!(
                session = self.handle.id,
                "a statement has ended its transaction on one shard: the others follow"
            );
        }
        self.end_parts(self.branches.ended_by_itself).await;
    }

    /// What comes before a statement for the transaction's sake.
    pub(super) async fn begin_course(&mut self, first: First, statement: &Statement<'_>) -> Result<(), Stopped> {
        if first.begins_anew {
            self.branches.begin_anew();
        }
        if first.commits {
            self.commit_before().await?;
        }
        if first.ends_on_replica {
            self.end_transaction_on_reader().await?;
        }
        if first.keeps_characteristics {
            self.keep_characteristics(statement);
        }
        Ok(())
    }

    /// Runs what concerns the transaction as a whole, and answers the client.
    pub(super) async fn transact(&mut self, act: TransactionAct, statement: &Statement<'_>) -> Result<(), Stopped> {
        match act {
            TransactionAct::Snapshot(read_only) => self.begin_with_snapshot(read_only).await,
            TransactionAct::End(ends) => self.end_by_statement(&ends).await,
            TransactionAct::Characteristics => self.set_transaction(statement).await,
            TransactionAct::Savepoint { kind, unheard } => self.savepoint(&kind, unheard, statement.text).await,
        }
    }

    /// The session leaves its connections: what is open on the parked ones is rolled back.
    pub(super) fn leave_branches(&mut self) -> Vec<Lease> {
        let mut parked = std::mem::take(&mut self.branches.parked);
        let kept = self.branches.kept.take().map(|(_, lease)| lease);
        self.branches.forget();
        parked.iter_mut().filter_map(|part| part.lease.take()).chain(kept).collect()
    }
}
