//! Statements on several shards at once: their connections, inside the transaction or with one of their own.
//!
//! What must always hold: a statement that writes on several shards is done on all of them or on none. Without a transaction it gets one;
//! in a transaction, what it did on some shards is undone when it fails on another.

use std::rc::Rc;

use futures_util::future::join_all;
use weir_backend::admission::AdmissionPermit;
use weir_exec::ShardLease;
use weir_sql::{Class, Pins};
use weir_txn::{clock, is_in_transaction};
use weir_wire::error::codes;
use weir_wire::{Failure, StatusFlags};

use super::super::Session;
use super::super::route::Target;
use super::super::route::multi_shard::{Reader, ShardServer};
use super::super::state::Begin;
use super::super::stopped::{SessionEnd, Stopped};
use super::kind::{HARMLESS, Joins, ends_transaction};
use super::lease::Shown;
use crate::backends::shard_id;

/// The connections of a statement on several shards.
pub(in super::super) struct StatementLeases {
    /// In the order of the shards that were asked for.
    pub(in super::super) parts: Vec<ShardLease>,
    /// The replicas among them, by their shards.
    pub(in super::super) readers: Vec<(usize, Reader)>,
    pub(super) how: How,
    /// Their clocks stand.
    pub(super) stopped: bool,
    pub(super) _shown: Vec<Shown>,
    /// For what the session has beside other connections.
    pub(super) _additional: Option<Rc<AdmissionPermit>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum How {
    /// Without a transaction.
    Alone,
    /// In a transaction that ends with the statement.
    Implicit,
    /// In the session's, or in the statement's while it goes on.
    Within,
    /// Without a transaction, on connections that have the session's table locks.
    Locked,
}

impl Session {
    /// Connections for a statement on several shards. They are parts of the session's transaction if it has one or, by autocommit = 0,
    /// begins one; of one of the statement's own if it writes on several. To be given to [`Session::end_leases`] in any case.
    pub(in super::super) async fn leases_for(
        &mut self,
        shards: &[usize],
        writes: bool,
    ) -> Result<StatementLeases, Stopped> {
        if self.has_table_locks() {
            return self.leases_locked(shards, writes).await;
        }
        // Temporary tables are on the session's own connection, which takes part in a transaction. What was said of the next one is said of this.
        let temporary = self.temporary_catalog.is_some();
        if (temporary || self.transaction.unsent) && !writes && self.is_outside_transactions() {
            return Box::pin(self.leases_to_begin(shards)).await;
        }
        let several = writes && (shards.len() > 1 || temporary);
        let how = match (self.transaction.of_statement, self.is_or_begins_transaction(), several) {
            (true, ..) if writes => How::Implicit,
            (true, ..) | (_, true, _) => How::Within,
            (_, false, true) => How::Implicit,
            (_, false, false) => How::Alone,
        };
        match how {
            How::Alone | How::Locked => self.leases_outside(shards).await,
            How::Within | How::Implicit => self.leases_within(shards, how, writes).await,
        }
    }

    /// The same for what a statement reads before it writes: without the session's transaction it begins its own, in which it goes on.
    /// To be ended by [`Session::end_statement`].
    pub(in super::super) async fn leases_to_begin(&mut self, shards: &[usize]) -> Result<StatementLeases, Stopped> {
        if self.has_table_locks() {
            // Nobody else changes what is locked.
            return self.leases_locked(shards, false).await;
        }
        self.transaction.of_statement |= !self.is_or_begins_transaction();
        self.leases_within(shards, How::Within, false).await
    }

    /// The same for what only reads, and takes no locks.
    pub(in super::super) async fn leases_to_look(&mut self, shards: &[usize]) -> Result<StatementLeases, Stopped> {
        self.transaction.of_look = true;
        let parts = self.leases_to_begin(shards).await;
        self.transaction.of_look = false;
        parts
    }

    /// The end of a statement that may have begun a transaction of its own, and has not ended it.
    pub(in super::super) async fn end_statement(&mut self, commit: bool) -> Result<(), Stopped> {
        match std::mem::take(&mut self.transaction.of_statement) {
            true if commit => self.commit_participants().await,
            true => {
                self.end_participants(false).await;
                Ok(())
            }
            false => Ok(()),
        }
    }

    /// Whether a transaction is open, or would be by the next statement.
    pub(in super::super) fn is_or_begins_transaction(&self) -> bool {
        let begins = self.state.begin.is_some() || !self.state.status.contains(StatusFlags::AUTOCOMMIT);
        self.has_open_transaction() || begins
    }

    /// Whether a read is part of no transaction, and begins none.
    pub(in super::super) fn is_outside_transactions(&self) -> bool {
        !self.transaction.of_statement && !self.is_or_begins_transaction()
    }

    /// What rows that a write returns tell of the transaction that the statement has begun for itself, which ends with it: nothing.
    pub(in super::super) fn told_of_own_transaction(&self) -> Option<StatusFlags> {
        let told = self.state.own_status() - StatusFlags::IN_TRANS - StatusFlags::IN_TRANS_READONLY;
        self.transaction.of_statement.then_some(told)
    }

    async fn leases_within(&mut self, shards: &[usize], how: How, writes: bool) -> Result<StatementLeases, Stopped> {
        self.transaction.begun_over_shards = !self.has_open_transaction() && self.state.begin.is_none();
        let own = how == How::Implicit || self.transaction.of_statement;
        let elsewhere = self.current.lease.is_some()
            && !self.held
            && shards.iter().any(|shard| *shard != self.current.server.shard);
        if shards.len() > 1 || elsewhere {
            self.have_multi_shard_permit().await?;
        }
        if !self.has_open_transaction() {
            match own && self.temporary_catalog.is_none() {
                true => self.keep_bound_connection(),
                false => self.may_begin_on(shards)?,
            }
            let first = self.anchor().unwrap_or(shards[0]);
            let begun = self.begin_on_first(first, own).await;
            if begun.is_err() {
                self.take_up_kept_connection();
            }
            begun?;
        } else if !own && !self.may_change_shard() && shards.iter().any(|shard| *shard != self.current.server.shard) {
            let other = shards.iter().find(|shard| **shard != self.current.server.shard).copied().unwrap_or_default();
            self.set_shard(other);
            self.stay_on_shard()?;
        }
        let entered = Box::pin(self.enter_shards(shards)).await;
        if entered.is_err() && own {
            self.end_participants(false).await;
        }
        entered?;
        let mut parts = self.take_leases(shards, how, writes);
        match self.bring_up_to_date(&mut parts).await {
            Ok(()) => Ok(parts),
            Err(stopped) => {
                let failure = stopped.failure().unwrap_or_else(Session::interrupted_failure);
                let _ = self.abandon_leases(parts, failure).await;
                Err(stopped)
            }
        }
    }

    /// Has these shards in the transaction. Those that have no part yet join at the same time.
    async fn enter_shards(&mut self, shards: &[usize]) -> Result<(), Stopped> {
        let has_part = |shard: &usize| {
            let current = self.current.lease.is_some() && self.current.server.shard == *shard;
            current || self.transaction.parked.iter().any(|parked| parked.participant.server.shard == *shard)
        };
        let missing: Vec<usize> = shards.iter().copied().filter(|shard| !has_part(shard)).collect();
        let mut ready = match missing[..] {
            // What the latest statement has left is read before the connections of others are waited for.
            [_, _, ..] => {
                self.learn_values_left().await?;
                self.have_multi_shard_permit().await?;
                self.lease_shards(&missing).await?
            }
            _ => Vec::new(),
        };
        for shard in shards {
            let at = ready.iter().position(|part| part.shard == *shard);
            let part = at.map(|at| ready.swap_remove(at));
            self.enter_shard_by(*shard, Joins::Meanwhile, part).await?;
        }
        Ok(())
    }

    /// A statement's own transaction leaves the connection alone to which the session is bound: it is not ended with its parts.
    fn keep_bound_connection(&mut self) {
        let bound = !(self.state.pins - HARMLESS).is_empty() || self.state.has_busy_statements();
        if bound && !self.held {
            self.transaction.kept = self.current.lease.take().map(|lease| (self.current.server, lease));
        }
    }

    /// The statement's own transaction is over.
    pub(super) fn take_up_kept_connection(&mut self) {
        let Some((place, lease)) = self.transaction.kept.take() else { return };
        self.handle.info().server = Some((lease.server.clone(), lease.thread_id));
        (self.current.lease, self.current.server) = (Some(lease), place);
        self.target.follow(place);
    }

    /// What the session has set since they joined.
    pub(super) async fn bring_up_to_date(&mut self, parts: &mut StatementLeases) -> Result<(), Stopped> {
        let profile = self.state.profile.clone();
        let tracking = !self.state.pins.contains(Pins::SESSION_TRACKING);
        for part in &mut parts.parts {
            let stays = self.may_lack_database(usize::from(part.shard.0)) && profile.database.is_some();
            let own = part.lease.profile().database.clone().filter(|_| stays);
            let profile = match own {
                // The transaction is there, and the connection can't leave its database: what is sent there names other databases' tables.
                Some(own) => Rc::new(profile.with_database(Some(&own))),
                None => profile.clone(),
            };
            part.lease.queue_state(&profile, tracking)?;
            if part.lease.state_changes() {
                self.endpoint.backend_metrics.profile_changes.inc();
            }
        }
        let confirmed = self.confirm_on_all(parts.parts.iter_mut().map(|part| &mut part.lease).collect()).await?;
        confirmed.into_iter().collect::<Result<(), _>>().map_err(Stopped::from)
    }

    /// Connections of the statement's own, whatever transaction is open.
    pub(in super::super) async fn leases_outside(&mut self, shards: &[usize]) -> Result<StatementLeases, Stopped> {
        self.leases_of(shards.iter().copied().map(ShardServer::writer).collect()).await
    }

    /// The same, of which some may be replicas.
    pub(in super::super) async fn leases_of(&mut self, servers: Vec<ShardServer>) -> Result<StatementLeases, Stopped> {
        let has_others = self.current.lease.is_some() && !self.held || self.transaction.is_multi_shard();
        let _additional = match has_others {
            true => Some(self.additional_permit().await?),
            false => None,
        };
        if servers.len() > 1 {
            self.have_multi_shard_permit().await?;
        }
        let mut all = StatementLeases {
            parts: Vec::with_capacity(servers.len()),
            readers: Vec::new(),
            how: How::Alone,
            stopped: false,
            _shown: Vec::new(),
            _additional,
        };
        for part in self.lease_shards_outside(servers).await? {
            let (part, shown, reader) = part.apart();
            all.readers.extend(reader.map(|reader| (usize::from(part.shard.0), reader)));
            all.parts.push(part);
            all._shown.push(shown);
        }
        Ok(all)
    }

    /// A connection of the statement's own, which has connections to this shard already, or comes to have them.
    pub(in super::super) async fn additional_lease(&mut self, shard: usize) -> Result<StatementLeases, Stopped> {
        let additional = self.additional_permit().await?;
        let mut leases = self.leases_outside(&[shard]).await?;
        leases._additional = Some(additional);
        Ok(leases)
    }

    /// A transaction that begins on the session's connection has no other parts if that has what a statement elsewhere could miss.
    fn may_begin_on(&self, shards: &[usize]) -> Result<(), Failure> {
        if self.current.lease.is_none() || self.is_movable() {
            return Ok(());
        }
        let other = shards.iter().find(|shard| **shard != self.current.server.shard);
        other.map_or(Ok(()), |other| Err(self.bound_elsewhere(*other)))
    }

    /// The transaction begins on a shard: by the client's own text, or one for the statement alone.
    pub(super) async fn begin_on_first(&mut self, shard: usize, own: bool) -> Result<(), Stopped> {
        if self.current.lease.is_some() {
            self.stay_with(shard).await?;
        }
        self.target = Target::writer_of(&self.shared.shards, shard);
        if own {
            let read_only = self.transaction.of_look;
            self.state.begin = Some(Begin::plain(read_only.then_some(true)));
        }
        let begun = self.begin_now().await;
        if begun.is_err() && own {
            self.transaction.of_statement = false;
            self.state.begin = None;
        }
        begun
    }

    /// A session that is bound stays on its connection; what is held softly is given back.
    async fn stay_with(&mut self, shard: usize) -> Result<(), Stopped> {
        if !self.state.is_bound() {
            self.give_way().await;
            return Ok(());
        }
        self.set_shard(shard);
        self.stay_on_shard()?;
        Ok(())
    }

    async fn begin_now(&mut self) -> Result<(), Stopped> {
        self.have_connection().await?;
        self.target.exact = self.must_catch_up_on(self.target.shard);
        self.queue_wait();
        let class = weir_sql::Class { effects: weir_sql::Effects::WRITES, ..weir_sql::Class::default() };
        let begun = self.state.begin.as_ref().map_or(StatusFlags::IN_TRANS, |begin| self.state.status_begun(begin));
        let queued = self.queue_session_state(&class);
        let connection = self.connection();
        let done = match queued {
            Ok(()) => connection.flush().await.map_err(Stopped::from),
            Err(stopped) => Err(stopped),
        };
        let done = match done {
            // No server refuses it: it is confirmed with what the others are asked meanwhile.
            Ok(()) if self.connection().only_begins() => Ok(()),
            Ok(()) => self.confirm_state().await,
            Err(stopped) => Err(stopped),
        };
        match done {
            Ok(()) => {
                self.seen.of_mut(self.target.shard).ahead &= !self.target.catches_up;
                self.state.status -= StatusFlags::IN_TRANS_READONLY;
                self.state.status |= begun;
                Ok(())
            }
            Err(stopped) => {
                self.lose_lease();
                match stopped.failure() {
                    Some(failure) if self.is_anchored() => Err(Stopped::Ended(SessionEnd::Told(failure))),
                    _ => Err(stopped),
                }
            }
        }
    }

    /// Takes the parts of these shards out of the session, which all have one.
    fn take_leases(&mut self, shards: &[usize], how: How, writes: bool) -> StatementLeases {
        self.park_current();
        let mut parts = Vec::with_capacity(shards.len());
        for shard in shards {
            let Some(at) = self.transaction.parked.iter().position(|parked| parked.participant.server.shard == *shard)
            else {
                continue;
            };
            let parked = &mut self.transaction.parked[at];
            parked.participant.wrote |= writes;
            if let Some(lease) = parked.participant.lease.take() {
                parts.push(ShardLease { shard: shard_id(*shard), index: parked.participant.server.index, lease });
            }
        }
        StatementLeases { parts, readers: Vec::new(), how, stopped: false, _shown: Vec::new(), _additional: None }
    }

    /// Puts parts back where they were taken from; the last of them is the session's connection again.
    fn put_back(&mut self, parts: &mut StatementLeases) {
        let mut last = None;
        for part in parts.parts.drain(..) {
            let shard = usize::from(part.shard.0);
            if let Some(parked) =
                self.transaction.parked.iter_mut().find(|parked| parked.participant.server.shard == shard)
            {
                parked.participant.lease = Some(part.lease);
                last = Some(shard);
            }
        }
        if let Some(mut parked) = last.and_then(|shard| self.take_parked(shard)) {
            self.current = std::mem::take(&mut parked.participant);
            if let Some(lease) = &self.current.lease {
                self.handle.info().server = Some((lease.server.clone(), lease.thread_id));
            }
            self.target.follow(self.current.server);
        }
    }

    /// The statement has ended on all its connections, or has failed on one and has left nothing. The client is told of it only after
    /// this, and of this error if there is one.
    pub(in super::super) async fn end_leases(
        &mut self,
        mut parts: StatementLeases,
        failed: Option<Failure>,
    ) -> Result<(), Stopped> {
        parts.let_clocks_go_on().await;
        match (parts.how, failed) {
            (How::Alone, None) => Ok(()),
            (How::Alone, Some(failure)) => Err(failure.into()),
            (How::Locked, failed) => {
                self.put_back_locked(&mut parts);
                failed.map_or(Ok(()), |failure| Err(failure.into()))
            }
            (How::Implicit, None) => {
                self.put_back(&mut parts);
                self.commit_participants().await
            }
            (How::Within, None) => {
                self.put_back(&mut parts);
                Ok(())
            }
            (How::Within, Some(failure))
                if failure.code != codes::ER_LOCK_DEADLOCK && transaction_lives(&mut parts).await =>
            {
                self.put_back(&mut parts);
                Err(failure.into())
            }
            // The first of them has begun none: what was set before it is for the next statement.
            (How::Within, Some(failure)) if self.transaction.begun_over_shards && !ends_transaction(failure.code) => {
                let (savepoints, said) = (std::mem::take(&mut self.transaction.savepoints), self.said_of_transaction());
                let abandoned = self.abandon_leases(parts, failure).await;
                self.transaction.unsent |= !savepoints.is_empty();
                self.transaction.savepoints = savepoints;
                self.say_again(said);
                abandoned
            }
            // A deadlock, or a lost server: what is open elsewhere can't be finished.
            (_, Some(failure)) => self.abandon_leases(parts, failure).await,
        }
    }

    /// The statement has failed in a way that it can't be undone alone: its transaction is rolled back.
    pub(in super::super) async fn abandon_leases(
        &mut self,
        mut parts: StatementLeases,
        failure: Failure,
    ) -> Result<(), Stopped> {
        parts.let_clocks_go_on().await;
        if parts.how == How::Locked {
            self.put_back_locked(&mut parts);
        } else if parts.how != How::Alone {
            self.put_back(&mut parts);
            self.end_participants(false).await;
        }
        Err(failure.into())
    }
}

impl StatementLeases {
    /// Gives all of them one time, until they are done.
    ///
    /// # Errors
    /// A server's.
    pub(in super::super) async fn stop_clocks(&mut self) -> Result<(), Failure> {
        self.stopped = true;
        clock::stop(self.parts.iter_mut().map(|part| &mut *part.lease).collect()).await
    }

    /// A statement of this class runs on them. What it leaves besides its changes (user variables, locks) is nobody's on a connection of the
    /// statement's own, which nobody gets afterwards, however the statement ends.
    pub(in super::super) fn note_class(&mut self, class: &Class) {
        const LEFT: Pins = Pins::COMPUTED_USER_VARIABLE
            .union(Pins::UNKNOWN_FUNCTION)
            .union(Pins::SEQUENCE)
            .union(Pins::USER_LOCK)
            .union(Pins::UNKNOWN_STATEMENT);
        if self.how == How::Alone && class.pins.intersects(LEFT) {
            self.parts.iter_mut().for_each(|part| part.lease.retired = true);
        }
    }

    async fn let_clocks_go_on(&mut self) {
        if std::mem::take(&mut self.stopped) {
            let clean = self.parts.iter_mut().filter(|part| part.lease.is_clean());
            clock::go_on(clean.map(|part| &mut *part.lease).collect()).await;
        }
    }

    /// Whether they are in a transaction that goes on when the statement fails.
    pub(in super::super) fn are_within_transaction(&self) -> bool {
        self.how == How::Within
    }

    /// Whether they are in a transaction that ends with the statement.
    pub(in super::super) fn are_in_own_transaction(&self) -> bool {
        self.how == How::Implicit
    }
}

/// Whether all of the parts are still in their transaction.
async fn transaction_lives(parts: &mut StatementLeases) -> bool {
    if !parts.parts.iter().all(|part| part.lease.is_clean()) {
        return false;
    }
    let all = parts.parts.iter_mut().map(|part| is_in_transaction(&mut part.lease));
    join_all(all).await.into_iter().all(|lives| lives)
}
