//! The session's transaction beyond one shard: its parts, how they join, and how they end together.
//!
//! What must always hold: while a transaction has parts on several shards, one of them is the session's connection (`lease`), on which
//! the statement at hand runs as it would without shards, and the others are parked here. A parked connection never goes back to its
//! pool with its part open. A transaction with one part is the server's own: nothing here is in its way.

mod statement;
mod wording;

use weir_backend::{Lease, Position};
use weir_exec::transaction::{Ended, Party, Role, Taken, TransactionId, Verdict};
use weir_exec::transaction::{begin_on, everywhere, is_in_transaction, join_texts};
use weir_sql::{Class, Effects, Kind, Pins};
use weir_wire::error::codes;
use weir_wire::{Failure, Fault, StatusFlags};

use super::parts::{Part, Shown};
use super::relay::Outcome;
use super::server::Stopped;
use super::sharded::shard_id;
use super::state::{Begin, Diagnostics, Left};
use super::{End, Session};
use crate::backends::ServerPlace;
pub(super) use statement::Parts;
use wording::{Ends, Wording};

/// Pins that say nothing of a connection that later statements of a transaction could miss.
const HARMLESS: Pins = Pins::SET_TRANSACTION.union(Pins::FOUND_ROWS).union(Pins::ROW_COUNT);

/// "XA_RBROLLBACK".
const ER_XA_RBROLLBACK: u16 = 1402;

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
    /// No server has heard of the savepoints and the characteristics yet.
    unsent: bool,
    /// The transaction is a READ ONLY one.
    read_only: bool,
    /// A statement has failed: the server may have rolled back more than it.
    in_doubt: bool,
    /// A part has ended by itself, with what it wrote.
    ended_by_itself: bool,
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
    fn has_open_transaction(&self) -> bool {
        self.state.status.contains(StatusFlags::IN_TRANS)
    }

    /// Whether the statement at hand, which is for another shard than that of the session's connection, can take that shard into the
    /// transaction.
    pub(super) fn may_change_shard(&self) -> bool {
        self.has_open_transaction() && (self.state.pins - HARMLESS).is_empty() && !self.state.has_busy_statements()
    }

    /// Makes the part of a shard the session's connection: the shard joins the transaction if it has no part yet.
    pub(super) async fn enter_shard(&mut self, shard: usize) -> Result<(), Stopped> {
        if self.at.shard == shard && self.lease.is_some() {
            return Ok(());
        }
        self.learn_values_left().await?;
        let mut entered = match self.take_parked(shard) {
            Some(parked) => parked,
            None => self.join(shard).await?,
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
    async fn learn_values_left(&mut self) -> Result<(), Stopped> {
        if self.state.diagnostics == Diagnostics::OnConnection {
            self.state.diagnostics = Diagnostics::Empty;
        }
        if self.state.last_insert_id == Left::OnConnection || self.state.found_rows == Left::OnConnection {
            self.learn_what_was_left(true).await?;
        }
        Ok(())
    }

    /// A new part of the open transaction: a branch, after whatever the transaction's beginning and savepoints are.
    async fn join(&mut self, shard: usize) -> Result<Parked, Stopped> {
        if !self.branches.are_several() {
            self.branches.first = self.at.shard;
            self.branches.read_only = self.is_read_only();
        }
        let texts = self.texts_to_join(shard);
        let Part { index, mut lease, _shown, .. } = self.lend_part(shard).await?;
        begin_on(&mut lease, &texts).await?;
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

    /// What concerns the transaction as a whole. Returns whether the client has been answered; if not, the statement is to be run
    /// where it belongs.
    pub(super) async fn across_shards(&mut self, class: &Class, text: &[u8]) -> Result<bool, Stopped> {
        if self.shared.shards.len() == 1 {
            return Ok(false);
        }
        match Wording::of(class, text, self.state.lex) {
            Wording::Other => {}
            Wording::Begin => {
                self.branches.begin_anew();
                return self.commit_before().await.map(|()| false);
            }
            Wording::Autocommit(on) => {
                let begins = on && !self.state.status.contains(StatusFlags::AUTOCOMMIT);
                if begins {
                    self.commit_before().await?;
                }
            }
            Wording::End(ends) => return self.end_by_statement(&ends).await,
            Wording::SetTransaction => return self.set_transaction(text).await,
            Wording::Savepoint(..) | Wording::RollbackTo(_) | Wording::Release(_) => {
                return self.savepoint(&Wording::of(class, text, self.state.lex), text).await;
            }
        }
        let locks = class.pins.intersects(Pins::LOCK_TABLES);
        if class.effects.contains(Effects::IMPLICIT_COMMIT) || locks {
            self.commit_before().await?;
        }
        if self.branches.are_several() && class.pins.contains(Pins::UNKNOWN_STATEMENT) {
            let message = "This statement is not known to Weir: in a transaction with several shards it could end the transaction on \
                           one of them alone. COMMIT first";
            return Err(Failure::new(Fault::Client, codes::ER_NOT_SUPPORTED_YET, b"42000", message).into());
        }
        Ok(false)
    }

    /// A statement that commits what is open before it runs.
    async fn commit_before(&mut self) -> Result<(), Stopped> {
        if !self.branches.are_several() {
            return Ok(());
        }
        let committed = self.commit_parts().await;
        if self.lease.is_some() && !self.state.is_bound() {
            match self.state.left_something() {
                true => self.give_way().await,
                false => self.release().await,
            }
        }
        if !self.target.named {
            self.target_writer();
        }
        committed
    }

    /// A definition that runs on connections of its own commits what is open before.
    pub(super) async fn commit_for_definition(&mut self) -> Result<(), Stopped> {
        self.commit_before().await?;
        self.state.begin = None;
        if self.has_open_transaction() && self.lease.is_some() {
            self.connection().query("COMMIT").await?;
            self.state.status -= StatusFlags::IN_TRANS | StatusFlags::IN_TRANS_READONLY;
            self.on_reader = None;
            self.branches.forget();
        }
        Ok(())
    }

    /// COMMIT and ROLLBACK, in all their forms.
    async fn end_by_statement(&mut self, ends: &Ends) -> Result<bool, Stopped> {
        if !self.branches.are_several() {
            self.branches.begin_anew();
            return Ok(false);
        }
        let characteristics = self.branches.characteristics.clone();
        let read_only = self.branches.read_only;
        match ends.commit {
            true => self.commit_parts().await?,
            false => drop(self.end_parts(false).await),
        }
        if ends.chain {
            let text: &[u8] = if read_only { b"START TRANSACTION READ ONLY" } else { b"START TRANSACTION" };
            self.state.begin = Some(Begin { text: text.into(), read_only, may_be_refused: false });
            self.branches.unsent = !characteristics.is_empty();
            self.branches.characteristics = characteristics;
        }
        self.transaction_ok_here(if ends.chain { b"T_______" } else { b"________" });
        if ends.release {
            self.client.flush().await.map_err(|error| Stopped::Ended(error.into()))?;
            return Err(Stopped::Ended(End::Quit));
        }
        Ok(true)
    }

    /// Commits on all parts.
    async fn commit_parts(&mut self) -> Result<(), Stopped> {
        let ended = self.end_parts(true).await;
        match (ended.verdict, ended.failure) {
            (Verdict::Committed, _) => Ok(()),
            // As with one server: the connection is lost in its COMMIT.
            (Verdict::Unknown, Some(failure)) if failure.code == codes::CR_SERVER_LOST => {
                Err(Stopped::Ended(End::Told(failure)))
            }
            (_, Some(failure)) => Err(failure.into()),
            (_, None) => Err(Self::rolled_back_failure().into()),
        }
    }

    fn rolled_back_failure() -> Failure {
        let message = "XA_RBROLLBACK: Transaction branch was rolled back";
        Failure::new(Fault::Server, ER_XA_RBROLLBACK, b"XA100", message)
    }

    /// Ends the transaction on all parts. Nothing stops it: neither the client's end nor a kill.
    async fn end_parts(&mut self, commit: bool) -> Ended {
        let coordinator = self.endpoint.transactions.clone();
        let id = self.branches.id;
        let mut parked = std::mem::take(&mut self.branches.parked);
        let mut lease = self.lease.take();
        let mut parties = Vec::with_capacity(parked.len() + 1);
        if let Some(lease) = &mut lease {
            let taken = self.branches.taken(self.at.shard, self.branches.wrote);
            parties.push(Party::new(shard_id(self.at.shard), taken, lease));
        }
        for part in &mut parked {
            let (shard, wrote) = (part.place.shard, part.wrote);
            if let Some(lease) = &mut part.lease {
                parties.push(Party::new(shard_id(shard), self.branches.taken(shard, wrote), lease));
            }
        }
        parties.sort_by_key(|party| (party.taken.role == Role::Branch, party.shard));
        self.handle.set_state(if commit { "Committing on several shards" } else { "Rolling back on several shards" });
        let ended = match commit {
            true => Box::pin(coordinator.commit(id, &mut parties)).await,
            false => {
                Box::pin(coordinator.roll_back(id, &mut parties)).await;
                Ended { verdict: Verdict::RolledBack, failure: None }
            }
        };
        self.handle.set_state("");
        let wrote = |party: &Party<'_>| (usize::from(party.shard.0), party.taken.wrote, party.gtids.clone());
        let written: Vec<_> = parties.iter().map(wrote).collect();
        drop(parties);
        for (shard, wrote, gtids) in written {
            if commit && wrote {
                self.note_written(shard, gtids.as_deref());
            }
        }
        self.lease = lease;
        // What is clean goes back to its pool; what is not is closed.
        parked.iter_mut().for_each(|part| drop(part.lease.take()));
        self.transaction_is_over();
        ended
    }

    fn transaction_is_over(&mut self) {
        self.branches.forget();
        self.state.status -= StatusFlags::IN_TRANS | StatusFlags::IN_TRANS_READONLY;
        self.state.pins -= Pins::SET_TRANSACTION;
        self.state.set_transaction_used = false;
        self.state.begin = None;
        self.on_reader = None;
        if self.lease.as_ref().is_some_and(|lease| !lease.is_clean()) {
            self.lose_lease();
        }
    }

    /// The session has written on a shard, up to a position if that is known.
    fn note_written(&mut self, shard: usize, gtids: Option<&str>) {
        let backends = &self.shared.shards[shard];
        if !backends.splits {
            return;
        }
        let position = gtids.and_then(|gtids| Position::parse(self.identity.mariadb, gtids).ok());
        let Some(position) = position else {
            self.seen.of_mut(shard).saw_writer(std::time::Instant::now());
            return;
        };
        let (position, whole) = backends.group.with_view(|view| {
            let watched = view.writer_position.as_ref().map(|writer| &*writer.position);
            let whole = position.spans(watched);
            (position.up_to(watched), whole)
        });
        self.seen.of_mut(shard).wrote(position, whole);
    }

    /// The session leaves its connections: what is open on the parked ones is rolled back.
    pub(super) fn leave_branches(&mut self) -> Vec<Lease> {
        let mut parked = std::mem::take(&mut self.branches.parked);
        self.branches.forget();
        parked.iter_mut().filter_map(|part| part.lease.take()).collect()
    }

    // --- Savepoints and characteristics ---

    /// SAVEPOINT, ROLLBACK TO, RELEASE: on all parts alike.
    async fn savepoint(&mut self, wording: &Wording, text: &[u8]) -> Result<bool, Stopped> {
        let waits = self.state.begin.is_some()
            || !self.has_open_transaction() && !self.state.status.contains(StatusFlags::AUTOCOMMIT);
        let known = |name: &Vec<u8>| self.branches.savepoints.iter().any(|savepoint| savepoint.name == *name);
        let heard_here = match wording {
            Wording::Savepoint(..) => waits,
            Wording::RollbackTo(name) | Wording::Release(name) => waits && known(name),
            _ => false,
        };
        if !heard_here {
            if !self.has_open_transaction() || self.lease.is_none() {
                return Ok(false);
            }
            self.run_on_all_parts(&String::from_utf8_lossy(text)).await?;
        }
        self.branches.unsent |= heard_here;
        let savepoints = &mut self.branches.savepoints;
        let at = |savepoints: &[Savepoint], name: &[u8]| savepoints.iter().position(|one| one.name == name);
        match wording {
            Wording::Savepoint(name, statement) => {
                if let Some(at) = at(savepoints, name) {
                    savepoints.remove(at);
                }
                savepoints.push(Savepoint { name: name.clone(), text: statement.clone() });
            }
            Wording::RollbackTo(name) => {
                savepoints.truncate(at(savepoints, name).map_or(savepoints.len(), |at| at + 1))
            }
            Wording::Release(name) => savepoints.truncate(at(savepoints, name).unwrap_or(savepoints.len())),
            _ => {}
        }
        self.done_here();
        Ok(true)
    }

    /// Runs a statement on each part. One that is lost takes the transaction with it.
    async fn run_on_all_parts(&mut self, text: &str) -> Result<(), Stopped> {
        let parked = self.branches.parked.iter_mut().filter_map(|part| part.lease.as_deref_mut());
        let all = self.lease.as_deref_mut().into_iter().chain(parked);
        let Err(failure) = everywhere(all, text).await else { return Ok(()) };
        let lost = self.branches.parked.iter().any(|part| part.lease.as_ref().is_none_or(|lease| !lease.is_clean()));
        if lost || self.lease.as_ref().is_none_or(|lease| !lease.is_clean()) {
            return Err(Stopped::Ended(End::Told(failure)));
        }
        Err(failure.into())
    }

    /// SET TRANSACTION for the next transaction: kept until that begins, wherever it does.
    async fn set_transaction(&mut self, text: &[u8]) -> Result<bool, Stopped> {
        if self.has_open_transaction() || self.state.begin.is_some() {
            // The server says that it is too late.
            return Ok(false);
        }
        if self.held {
            self.give_way().await;
        }
        let bound = self.lease.is_some();
        self.branches.characteristics.push(String::from_utf8_lossy(text).into_owned());
        if bound {
            return Ok(false);
        }
        self.branches.unsent = true;
        self.state.pins |= Pins::SET_TRANSACTION;
        self.done_here();
        Ok(true)
    }

    /// Whether the server has to hear of more than BEGIN before the statement at hand, which begins a transaction.
    pub(super) fn take_unsent(&mut self, class: &Class, begins: bool) -> (Vec<String>, Vec<String>) {
        let works = begins || class.effects.intersects(Effects::READS | Effects::WRITES);
        if !works || !std::mem::take(&mut self.branches.unsent) {
            return Default::default();
        }
        let savepoints = self.branches.savepoints.iter().map(|savepoint| savepoint.text.clone()).collect();
        (self.branches.characteristics.clone(), savepoints)
    }
}
