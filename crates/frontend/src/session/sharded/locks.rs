//! LOCK TABLES on several shards; and those that are not taken, because the session said so: `weir_lock_tables = 'ignore'`.
//!
//! What must always hold: only who asked for it goes without locks, and is told of each lock that was not taken. The statement commits
//! what is open, as it does on one server. Who has a lock on one shard waits for one on another no longer than [`BRIEFLY`] before he lets
//! go what he has: sessions that want what others have, here or in a transaction over several shards, never wait for each other for ever.

use std::time::{Duration, Instant};

use weir_exec::{MultiShardResult, ShardLease};
use weir_plan::ShardLocks;
use weir_sql::Pins;
use weir_sql::ast::StatementKind;
use weir_wire::error::{codes, not_supported};
use weir_wire::packets::OkPacket;
use weir_wire::{Failure, StatusFlags};

use super::super::Session;
use super::super::condition::Condition;
use super::super::latest::Diagnostics;
use super::super::release::only_number;
use super::super::statement::Statement;
use super::super::stopped::Stopped;
use super::super::transaction::table_locks::unlock;
use crate::backends::places;

/// So long a lock is waited for by who has one on another shard.
const BRIEFLY: Duration = Duration::from_secs(1);

impl Session {
    /// Runs LOCK TABLES on several shards, and answers the client.
    pub(super) async fn lock_tables(&mut self, statement: &Statement<'_>, locks: &ShardLocks) -> Result<(), Stopped> {
        self.commit_for_definition().await?;
        self.unlock_tables().await;
        if !self.state.status.contains(StatusFlags::AUTOCOMMIT) {
            return Err(not_supported(
                "LOCK TABLES of several shards with autocommit = 0, where one COMMIT would be about all of them, and servers prepare \
                 nothing while tables are locked: SET autocommit = 1, or lock the rows, in a transaction",
            )
            .into());
        }
        if self.state.is_bound() {
            let message = format!(
                "LOCK TABLES of several shards in a session that something binds to one connection ({}): end it first",
                self.state.bindings()
            );
            return Err(not_supported(message).into());
        }
        if self.current.lease.is_some() {
            self.give_way().await;
        }
        self.have_multi_shard_permit().await?;
        let shards = places(&locks.texts.iter().map(|(shard, _)| *shard).collect::<Vec<_>>());
        let mut leased = self.leases_outside(&shards).await?;
        // What ends this early closes them, and the locks are gone.
        leased.parts.iter_mut().for_each(|part| part.lease.retired = true);
        let outcome = self.lock_all(locks, &mut leased.parts).await?;
        if let Some(failure) = outcome.error.clone() {
            unlock(leased.parts.iter_mut().map(|part| &mut part.lease)).await;
            self.note_multi_shard(statement.class, &shards, &outcome, &mut []).await;
            return Err(failure.into());
        }
        self.note_multi_shard(statement.class, &shards, &outcome, &mut leased.parts).await;
        self.keep_locked(leased);
        self.note_locked_names(statement);
        self.state.pins |= Pins::LOCK_TABLES;
        self.shared.hot_rows.tables.forget();
        self.answer_write(&outcome);
        Ok(())
    }

    /// Takes the locks of all shards, one after another. While it has some, it waits briefly for others: then it lets them go, waits
    /// where it could not go on, and begins anew.
    async fn lock_all(&mut self, locks: &ShardLocks, parts: &mut [ShardLease]) -> Result<MultiShardResult, Stopped> {
        let begun = Instant::now();
        let patience = self.lock_wait_timeout(parts).await?;
        loop {
            let (at, failure) = match self.lock_in_order(locks, parts, patience > BRIEFLY).await? {
                Ok(warnings) => return Ok(MultiShardResult { warnings, ..MultiShardResult::default() }),
                Err(failed) => failed,
            };
            let failed = |failure| MultiShardResult { error: Some(failure), ..MultiShardResult::default() };
            let again = failure.code == codes::ER_LOCK_WAIT_TIMEOUT && at > 0 && !locks.waits;
            if !again || begun.elapsed() >= patience {
                return Ok(failed(failure));
            }
            unlock(parts.iter_mut().map(|part| &mut part.lease)).await;
            parts.iter_mut().for_each(|part| part.lease.retired = true);
            if let (Some(part), Some((_, text))) = (parts.get_mut(at), locks.texts.get(at)) {
                if let Err(failure) = self.ask_attended(&mut part.lease, text).await? {
                    return Ok(failed(failure));
                }
                unlock([&mut part.lease]).await;
                part.lease.retired = true;
            }
        }
    }

    /// Takes the locks. Returns how many warnings the servers have, or where it failed, and with what.
    async fn lock_in_order(
        &mut self,
        locks: &ShardLocks,
        parts: &mut [ShardLease],
        patient: bool,
    ) -> Result<Result<u16, (usize, Failure)>, Stopped> {
        let own = self.state.profile.variable("lock_wait_timeout").unwrap_or("DEFAULT").to_owned();
        let mut warnings = 0;
        for (at, (part, (_, text))) in parts.iter_mut().zip(&locks.texts).enumerate() {
            let briefly = at > 0 && patient && !locks.waits;
            if briefly {
                let seconds = BRIEFLY.as_secs();
                part.lease.query(&format!("SET SESSION lock_wait_timeout = {seconds}")).await?;
            }
            let locked = self.ask_attended(&mut part.lease, text).await?;
            if briefly {
                part.lease.query(&format!("SET SESSION lock_wait_timeout = {own}")).await?;
            }
            match locked {
                Ok(more) => warnings = warnings.max(more),
                Err(failure) => return Ok(Err((at, failure))),
            }
        }
        Ok(Ok(warnings))
    }

    async fn lock_wait_timeout(&mut self, parts: &mut [ShardLease]) -> Result<Duration, Stopped> {
        let Some(part) = parts.first_mut() else { return Ok(Duration::ZERO) };
        let told = part.lease.ask("SELECT CEILING(@@SESSION.lock_wait_timeout) LIMIT 1").await?;
        Ok(Duration::from_secs(only_number(told).unwrap_or_default()))
    }

    /// Answers LOCK TABLES of tables of sharded databases without taking locks.
    pub(in crate::session) async fn ignore_locks(&mut self) -> Result<(), Stopped> {
        self.commit_for_definition().await?;
        let condition = Condition {
            level: b"Warning".to_vec(),
            code: codes::ER_NOT_SUPPORTED_YET.to_string().into_bytes(),
            message: b"No lock was taken: LOCK TABLES of a sharded database is ignored (weir_lock_tables)".to_vec(),
            sqlstate: None,
        };
        self.endpoint.metrics.answered_here.inc();
        self.state.answered_here();
        self.state.latest.warnings = 1;
        self.state.latest.diagnostics = Diagnostics::Learnt(vec![condition]);
        let status = self.state.own_status();
        self.client.put_ok(&OkPacket { warnings: 1, ..OkPacket::plain(status) });
        Ok(())
    }

    /// Whether a statement is LOCK TABLES of tables of sharded databases.
    pub(in crate::session) fn locks_sharded_tables(&self, statement: &Statement<'_>) -> bool {
        if !statement.class.pins.contains(Pins::LOCK_TABLES) {
            return false;
        }
        let Some(sharding) = self.sharding() else { return false };
        let catalog = sharding.catalog();
        let Some(StatementKind::LockTables(lock)) = statement.only().map(|statement| statement.kind) else {
            return false;
        };
        lock.tables.iter().any(|locked| {
            let database = locked.table.database.map(|database| database.name);
            let database = database.or(self.state.profile.database.as_deref());
            let known = database.and_then(|database| catalog.database(database));
            known.is_some_and(|(_, database)| database.shards.len() > 1)
        })
    }
}
