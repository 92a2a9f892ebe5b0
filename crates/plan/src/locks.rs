//! LOCK TABLES and FLUSH TABLES.
//!
//! What must always hold: LOCK TABLES locks a table on each shard that has rows of it, so that whoever wants what the lock excludes waits
//! wherever he goes; a shard is asked for those tables only that it has. A lock of FLUSH TABLES is taken on one shard, which has all rows
//! of what is locked.

use weir_catalog::{Placement, ShardId};
use weir_sql::ast::{FlushLock, FlushTables, LockTables, LockedTable, TableLock};

use crate::planner::{ON_ONE_SHARD, Planner, to_shard};
use crate::write::literal::put_name;
use crate::{Need, Plan, Refusal, ShardLocks, views};

/// Where a table is locked.
enum Locked {
    /// On each of these.
    OnAll(Vec<ShardId>),
    /// Wherever others are, of these that have it; a GLOBAL table that is only read. Who writes it writes all copies.
    OnAny(Vec<ShardId>),
}

impl Planner<'_> {
    /// LOCK TABLES, on each shard that has what is locked.
    pub(crate) fn lock_tables(self, lock: &LockTables<'_>) -> Result<Plan, Refusal> {
        let places: Vec<Option<Locked>> = lock.tables.iter().map(|table| self.locked_on(table)).collect();
        let mut shards: Vec<ShardId> = Vec::new();
        for place in &places {
            match place {
                Some(Locked::OnAll(all)) => shards.extend(all),
                Some(Locked::OnAny(_)) => {}
                // What is in no sharded database is where sessions begin.
                None => shards.push(self.home()),
            }
        }
        for place in &places {
            if let Some(Locked::OnAny(any)) = place
                && !any.iter().any(|shard| shards.contains(shard))
            {
                shards.extend(if any.contains(&self.home()) { Some(self.home()) } else { any.first().copied() });
            }
        }
        shards.sort_unstable();
        shards.dedup();
        if places.iter().all(Option::is_none) {
            return Ok(Plan::Home);
        }
        if let [shard] = shards[..] {
            return Ok(to_shard(shard, "what it locks is on this shard alone, or GLOBAL and only read"));
        }
        let of_shard = |shard: ShardId| {
            let there = lock.tables.iter().zip(&places).filter(|(_, place)| match place {
                Some(Locked::OnAll(has) | Locked::OnAny(has)) => has.contains(&shard),
                None => shard == self.home(),
            });
            let mut text = b"LOCK TABLES ".to_vec();
            text.extend(there.map(|(table, _)| written(table)).collect::<Vec<_>>().join(&b", "[..]));
            if let Some(wait) = lock.wait {
                text.push(b' ');
                text.extend_from_slice(wait.text(self.text));
            }
            (shard, text)
        };
        let texts = shards.into_iter().map(of_shard).collect();
        Ok(Plan::Lock(ShardLocks { texts, waits: lock.wait.is_some() }))
    }

    /// Where a table of a sharded database is locked.
    fn locked_on(self, locked: &LockedTable<'_>) -> Option<Locked> {
        let database = locked.table.database.map(|database| database.name).or(self.session.database)?;
        let (database_name, database) = self.catalog.database(database)?;
        let name = locked.table.name.name;
        let Some((_, table)) = self.catalog.table(database_name.as_bytes(), name) else {
            let view = std::str::from_utf8(name).map(|view| views::shards(self.catalog, database_name, view));
            return Some(match view {
                Ok(shards) if !shards.is_empty() => Locked::OnAll(shards),
                // A server says that there is none.
                _ => Locked::OnAny(database.shards.clone()),
            });
        };
        let reads = matches!(locked.lock, TableLock::Read | TableLock::ReadLocal);
        Some(match table.placement {
            Placement::Single(shard) => Locked::OnAll(vec![shard]),
            Placement::Global if reads => Locked::OnAny(database.shards.clone()),
            Placement::Global | Placement::Sharded(_) => Locked::OnAll(database.shards.clone()),
        })
    }

    /// FLUSH TABLES t, u: each shard flushes what it has. With a lock it binds the session to one server.
    pub(crate) fn flush_tables(self, flush: FlushTables<'_>) -> Result<Plan, Refusal> {
        if flush.lock == FlushLock::None {
            return Ok(if self.names_sharded() { Plan::Show } else { Plan::Home });
        }
        if flush.tables.is_empty() && self.catalog.databases.values().any(|database| database.shards.len() > 1) {
            return Err(Need::OneServer
                .refused(format!("{WITH_A_LOCK}: it would lock the tables of one shard, {ON_ONE_SHARD}")));
        }
        self.on_one_shard(WITH_A_LOCK)
    }
}

const WITH_A_LOCK: &str = "FLUSH TABLES with a lock, which is a server's own (give it on the servers themselves, or read with START TRANSACTION WITH \
                           CONSISTENT SNAPSHOT)";

/// A table of LOCK TABLES. Not as the client has written it: parts of that may stand in comments for some versions.
fn written(locked: &LockedTable<'_>) -> Vec<u8> {
    let mut text = Vec::new();
    if let Some(database) = locked.table.database {
        put_name(&mut text, database.name);
        text.push(b'.');
    }
    put_name(&mut text, locked.table.name.name);
    if let Some(alias) = locked.alias {
        text.extend_from_slice(b" AS ");
        put_name(&mut text, alias.name);
    }
    text.extend_from_slice(match locked.lock {
        TableLock::Read => b" READ",
        TableLock::ReadLocal => b" READ LOCAL",
        TableLock::Write => b" WRITE",
        TableLock::LowPriorityWrite => b" LOW_PRIORITY WRITE",
        TableLock::WriteConcurrent => b" WRITE CONCURRENT",
    });
    text
}
