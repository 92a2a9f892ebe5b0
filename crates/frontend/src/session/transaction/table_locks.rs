//! LOCK TABLES of several shards: a connection to each of them, which has the locks, until the session unlocks its tables.
//!
//! What must always hold: while a session has locks on several shards, one of these connections is the session's, and the others are
//! parked here; what its statements read and write of sharded tables goes by them, and by no others, so that the servers themselves say
//! what is not locked. Servers prepare nothing under table locks: no statement writes on several shards then.

mod definitions;

use std::collections::BTreeMap;

use futures_util::future::join_all;
use weir_backend::Lease;
use weir_exec::ShardLease;
use weir_sql::ast::{StatementKind, TableLock};
use weir_sql::resolve::{Context, Roles, resolve};
use weir_sql::{Effects, Pins, TextKind};
use weir_wire::error::{codes, not_supported};
use weir_wire::{Failure, StatusFlags};

use super::super::Session;
use super::super::state::TableName;
use super::super::statement::Statement;
use super::super::stopped::{SessionEnd, Stopped};
use super::kind::HARMLESS;
use super::lease::Shown;
use super::participants::{How, StatementLeases};
use super::{Parked, Participant};
use crate::backends::{ServerId, shard_id};

/// A table that is locked by one name.
struct Locked {
    table: TableName,
    writes: bool,
}

/// The tables that a session has locked, as far as they are of sharded databases.
#[derive(Default)]
pub(in crate::session) struct TableLocks {
    /// The connections but the session's own; none if the locks are on one shard.
    parked: Vec<Parked>,
    /// The names by which statements may name tables. Only while the session has locks.
    names: BTreeMap<TableName, Locked>,
    /// A view is among them: other names stand for tables that were locked with it.
    has_views: bool,
    /// Tables of databases that are not sharded are locked as well.
    has_others: bool,
    /// The shard of the connection that was the session's before the statement at hand took it.
    current: Option<usize>,
    /// A connection is gone, and the locks with it.
    lost: bool,
}

impl TableLocks {
    /// Whether there are any on several shards.
    pub(in crate::session) fn on_several_shards(&self) -> bool {
        !self.parked.is_empty()
    }
}

impl Session {
    /// Whether the session has locked tables.
    pub(in crate::session) fn has_table_locks(&self) -> bool {
        self.state.pins.contains(Pins::LOCK_TABLES)
    }

    /// Whether nothing but its locks, on several shards, binds the session to its connection.
    pub(super) fn may_change_locked_shard(&self) -> bool {
        self.table_locks.on_several_shards()
            && (self.state.pins - HARMLESS - Pins::LOCK_TABLES).is_empty()
            && !self.state.has_busy_statements()
    }

    // --- Before a statement ---

    /// What a statement does to locks on several shards before it runs on its own connection.
    ///
    /// # Errors
    /// It names what is not locked.
    pub(in crate::session) async fn heed_table_locks(&mut self, statement: &Statement<'_>) -> Result<(), Stopped> {
        if !self.has_table_locks() || self.endpoint.sharding.is_none() {
            return Ok(());
        }
        let class = statement.class;
        let begins =
            matches!(class.kind, TextKind::Begin { .. }) || class.effects.contains(Effects::STARTS_TRANSACTION_OTHER);
        if begins && self.table_locks.on_several_shards() {
            self.unlock_tables().await;
        } else if class.releases.contains(Pins::LOCK_TABLES) {
            // The session's own connection gets the statement itself.
            self.unlock_parked().await;
        }
        self.refuse_unlocked(statement).map_err(Stopped::from)
    }

    /// LOCK TABLES that one shard runs: its names are known, and what was locked before is not.
    pub(in crate::session) async fn prepare_locks(&mut self, statement: &Statement<'_>) {
        if !statement.class.pins.contains(Pins::LOCK_TABLES) || self.endpoint.sharding.is_none() {
            return;
        }
        self.unlock_tables().await;
        self.note_locked_names(statement);
    }

    /// Refuses what is not locked, in a server's words: where it is, there may be no connection with locks.
    fn refuse_unlocked(&self, statement: &Statement<'_>) -> Result<(), Failure> {
        let Some(sharding) = self.sharding().filter(|_| self.has_table_locks() && !self.table_locks.has_views) else {
            return Ok(());
        };
        let Some(only) = statement.only() else { return Ok(()) };
        let rows = matches!(
            only.kind,
            StatementKind::Query(_) | StatementKind::Insert(_) | StatementKind::Update(_) | StatementKind::Delete(_)
        );
        if !rows {
            return Ok(());
        }
        let catalog = sharding.catalog();
        let context = Context {
            database: self.state.profile.database.as_deref(),
            dialect: self.state.lex.dialect,
            fold_case: catalog.fold_case,
            columns: &(),
        };
        for (source, table) in resolve(only, &context).tables() {
            let Some((database, _)) = table.database.and_then(|name| catalog.database(name)) else { continue };
            let own = folded(table.name, catalog.fold_case);
            if self.state.temporary.contains(&(database.as_bytes().to_vec(), own)) {
                continue;
            }
            let shown = source.alias.map_or(table.name, |alias| alias.name);
            let name = (database.as_bytes().to_vec(), folded(shown, catalog.fold_case));
            let shown = String::from_utf8_lossy(shown);
            match self.table_locks.names.get(&name) {
                None => return Err(not_locked(&shown)),
                Some(locked) if !locked.writes && table.roles.contains(Roles::WRITTEN) => {
                    return Err(locked_to_read(&shown));
                }
                Some(_) => {}
            }
        }
        Ok(())
    }

    pub(in crate::session) fn note_locked_names(&mut self, statement: &Statement<'_>) {
        self.table_locks.names.clear();
        (self.table_locks.has_views, self.table_locks.has_others) = (false, false);
        let Some(sharding) = self.sharding() else { return };
        let Some(StatementKind::LockTables(lock)) = statement.only().map(|only| only.kind) else { return };
        let catalog = sharding.catalog();
        for locked in lock.tables {
            let database = locked.table.database.map(|database| database.name);
            let database = database.or(self.state.profile.database.as_deref());
            let Some((database, _)) = database.and_then(|name| catalog.database(name)) else {
                self.table_locks.has_others = true;
                continue;
            };
            let table = locked.table.name.name;
            self.table_locks.has_views |= catalog.table(database.as_bytes(), table).is_none();
            let shown = locked.alias.map_or(table, |alias| alias.name);
            let writes = !matches!(locked.lock, TableLock::Read | TableLock::ReadLocal);
            let name = (database.as_bytes().to_vec(), folded(shown, catalog.fold_case));
            let table = (name.0.clone(), folded(table, catalog.fold_case));
            self.table_locks.names.insert(name, Locked { table, writes });
        }
    }

    // --- Locking ---

    /// The connections with the locks are the session's.
    pub(in crate::session) fn keep_locked(&mut self, mut leased: StatementLeases) {
        let mut shown = std::mem::take(&mut leased._shown).into_iter();
        for part in leased.parts.drain(..) {
            let ShardLease { shard, index, mut lease } = part;
            lease.retired = false;
            let _shown = shown.next().unwrap_or_else(|| Shown::new(&self.handle, &lease));
            let server = ServerId { shard: usize::from(shard.0), index };
            let participant = Participant { server, lease: Some(lease), ..Participant::default() };
            self.table_locks.parked.push(Parked { participant, _shown });
        }
        if !self.table_locks.parked.is_empty() {
            let first = self.table_locks.parked.remove(0);
            self.take_up_locked(first);
        }
    }

    // --- Statements under locks ---

    /// The connections of a statement, which have the locks.
    pub(in crate::session) async fn leases_locked(
        &mut self,
        shards: &[usize],
        writes: bool,
    ) -> Result<StatementLeases, Stopped> {
        if writes && shards.len() > 1 {
            return Err(not_supported(
                "A write of rows on several shards while the session has locked tables: it would take a distributed transaction, which \
                 servers refuse under table locks. Write the rows of each shard in a statement of its own, or UNLOCK TABLES and use a \
                 transaction; to load a dump, SET weir_lock_tables = 'ignore'",
            )
            .into());
        }
        self.stays_in_autocommit()?;
        self.learn_values_left().await?;
        if !self.has_locks_on(shards) {
            return Err(not_locked_there().into());
        }
        self.table_locks.current = self.own_shard();
        self.park_locked();
        let mut leased = StatementLeases::of_locks();
        for shard in shards {
            let found = self.table_locks.parked.iter_mut().find(|parked| parked.participant.server.shard == *shard);
            let Some(Parked { participant, .. }) = found else { continue };
            if let Some(lease) = participant.lease.take() {
                leased.parts.push(ShardLease { shard: shard_id(*shard), index: participant.server.index, lease });
            }
        }
        match self.bring_up_to_date(&mut leased).await {
            Ok(()) => Ok(leased),
            Err(stopped) => {
                self.put_back_locked(&mut leased);
                Err(stopped)
            }
        }
    }

    fn own_shard(&self) -> Option<usize> {
        self.current.lease.as_ref().map(|_| self.current.server.shard)
    }

    /// Whether the session, which has locked tables, has a connection with locks to each of these shards.
    pub(in crate::session) fn has_locks_on(&self, shards: &[usize]) -> bool {
        let is_parked =
            |shard: usize| self.table_locks.parked.iter().any(|parked| parked.participant.server.shard == shard);
        shards.iter().all(|shard| self.own_shard() == Some(*shard) || is_parked(*shard))
    }

    /// A statement's connections are parked again, or the session's own.
    pub(super) fn put_back_locked(&mut self, leased: &mut StatementLeases) {
        for part in leased.parts.drain(..) {
            let shard = usize::from(part.shard.0);
            self.table_locks.lost |= !part.lease.is_clean();
            if let Some(parked) =
                self.table_locks.parked.iter_mut().find(|parked| parked.participant.server.shard == shard)
            {
                parked.participant.lease = Some(part.lease);
            }
        }
        let current = self.table_locks.current.take();
        if let Some(own) = current.and_then(|shard| self.take_locked(shard)) {
            self.take_up_locked(own);
        }
    }

    /// A statement was dropped on its connections: those that have locks are not used any more, which ends the session.
    pub(in crate::session) fn lose_locked(&mut self, mut leased: StatementLeases) {
        if leased.has_locks() {
            leased.parts.iter_mut().for_each(|part| part.lease.retired = true);
            self.put_back_locked(&mut leased);
        }
    }

    /// Makes the connection to a shard the session's.
    pub(super) async fn enter_locked_shard(&mut self, shard: usize) -> Result<(), Stopped> {
        self.stays_in_autocommit()?;
        self.learn_values_left().await?;
        let entered = self.take_locked(shard).ok_or_else(not_locked_there)?;
        self.park_locked();
        self.take_up_locked(entered);
        Ok(())
    }

    /// Locks on several shards are under autocommit, where no statement leaves anything to be committed.
    fn stays_in_autocommit(&self) -> Result<(), Failure> {
        let on = self.state.status.contains(StatusFlags::AUTOCOMMIT) || !self.table_locks.on_several_shards();
        let message = "With tables of several shards locked, one COMMIT can't be about all of them: SET autocommit = 1, or UNLOCK TABLES";
        if on { Ok(()) } else { Err(not_supported(message)) }
    }

    fn take_locked(&mut self, shard: usize) -> Option<Parked> {
        let at = self.table_locks.parked.iter().position(|parked| parked.participant.server.shard == shard)?;
        Some(self.table_locks.parked.swap_remove(at))
    }

    fn park_locked(&mut self) {
        if let Some(lease) = &self.current.lease {
            let _shown = Shown::new(&self.handle, lease);
            let server = self.current.server;
            let participant = std::mem::replace(&mut self.current, Participant { server, ..Participant::default() });
            self.table_locks.parked.push(Parked { participant, _shown });
        }
    }

    fn take_up_locked(&mut self, mut parked: Parked) {
        self.current = std::mem::take(&mut parked.participant);
        if let Some(lease) = &mut self.current.lease {
            lease.has_found_rows = false;
            self.handle.info().server = Some((lease.server.clone(), lease.thread_id));
        }
        self.target.follow(self.current.server);
    }

    /// The session's end, if a connection with locks of it is gone.
    pub(in crate::session) fn has_lost_locks(&self) -> Result<(), SessionEnd> {
        if self.table_locks.lost { Err(SessionEnd::Said) } else { Ok(()) }
    }

    // --- Unlocking ---

    /// All that the session has locked is unlocked.
    pub(in crate::session) async fn unlock_tables(&mut self) {
        if !self.has_table_locks() {
            return;
        }
        self.unlock_parked().await;
        if self.learn_values_left().await.is_err() {
            self.lose_lease();
        }
        if let Some(lease) = &mut self.current.lease {
            unlock([lease]).await;
        }
        self.state.pins -= Pins::LOCK_TABLES;
        if self.current.lease.is_some() && !self.state.is_bound() {
            self.give_way().await;
            self.target_writer();
        }
    }

    async fn unlock_parked(&mut self) {
        let mut leases = self.leave_locked();
        leases.iter_mut().for_each(|lease| lease.retired = true);
        unlock(&mut leases).await;
    }

    /// The session leaves the connections that have locks, but its own.
    pub(super) fn leave_locked(&mut self) -> Vec<Lease> {
        let mut locks = std::mem::take(&mut self.table_locks);
        locks.parked.iter_mut().filter_map(|parked| parked.participant.lease.take()).collect()
    }
}

impl StatementLeases {
    fn has_locks(&self) -> bool {
        self.how == How::Locked
    }

    fn of_locks() -> StatementLeases {
        StatementLeases {
            parts: Vec::new(),
            readers: Vec::new(),
            how: How::Locked,
            stopped: false,
            _shown: Vec::new(),
            _additional: None,
        }
    }
}

/// Unlocks what connections have locked. One that can't is closed.
pub(in crate::session) async fn unlock(leases: impl IntoIterator<Item = &mut Lease>) {
    let unlocked = leases.into_iter().map(|lease| async move {
        // Retired, it would count as busy.
        lease.retired = false;
        lease.retired = !lease.is_clean() || lease.query("UNLOCK TABLES").await.is_err();
    });
    join_all(unlocked).await;
}

fn folded(name: &[u8], fold_case: bool) -> Vec<u8> {
    if fold_case { name.to_ascii_lowercase() } else { name.to_vec() }
}

fn not_locked(table: &str) -> Failure {
    Failure::client(codes::ER_TABLE_NOT_LOCKED, format!("Table '{table}' was not locked with LOCK TABLES"))
}

fn locked_to_read(table: &str) -> Failure {
    let message = format!("Table '{table}' was locked with a READ lock and can't be updated");
    Failure::client(codes::ER_TABLE_NOT_LOCKED_FOR_WRITE, message)
}

/// A server would say of which.
fn not_locked_there() -> Failure {
    let message = "A table of the statement was not locked with LOCK TABLES";
    Failure::client(codes::ER_TABLE_NOT_LOCKED, message)
}
