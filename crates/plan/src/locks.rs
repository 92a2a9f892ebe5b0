//! LOCK TABLES and FLUSH TABLES.
//!
//! What must always hold: a lock is taken on one shard, which has all rows of what is locked.

use weir_catalog::{Placement, ShardId};
use weir_sql::ast::{FlushLock, FlushTables, LockTables, TableLock};

use crate::planner::{Planner, to_shard};
use crate::{Need, Plan, Refusal};

impl Planner<'_> {
    /// LOCK TABLES: one shard can, if what is written is there alone, and what is only read is there too.
    pub(crate) fn lock_tables(self, lock: &LockTables<'_>) -> Result<Plan, Refusal> {
        const WAY_OUT: &str = "servers allow no distributed transaction while tables are locked. With mysqldump, use --single-transaction --skip-add-locks; for dumps that already have such statements, SET weir_lock_tables = 'ignore'";
        let refuse = |why: String| Err(Need::OneServer.refused(format!("LOCK TABLES: {why}, and {WAY_OUT}")));
        let (mut needed, mut able): (Vec<ShardId>, Option<Vec<ShardId>>) = (Vec::new(), None);
        for locked in lock.tables {
            let database = locked.table.database.map(|database| database.name).or(self.session.database);
            let found = database.and_then(|name| {
                Some((self.catalog.database(name)?.1, self.catalog.table(name, locked.table.name.name)?))
            });
            let Some((database, (name, table))) = found else { continue };
            let reads = matches!(locked.lock, TableLock::Read | TableLock::ReadLocal);
            match (&table.placement, &database.shards[..]) {
                (Placement::Single(shard), _) | (_, [shard]) => needed.push(*shard),
                (Placement::Global, shards) if reads => {
                    let has = |shard: &ShardId| able.as_ref().is_none_or(|able| able.contains(shard));
                    able = Some(shards.iter().copied().filter(has).collect());
                }
                _ => return refuse(format!("the rows of {name} are on several shards")),
            }
        }
        needed.sort_unstable();
        needed.dedup();
        let at = match (&needed[..], &able) {
            ([], None) => return Ok(Plan::Home),
            ([], Some(able)) if able.contains(&self.home()) => Some(self.home()),
            ([], Some(able)) => able.first().copied(),
            ([shard], able) => Some(*shard).filter(|shard| able.as_ref().is_none_or(|able| able.contains(shard))),
            _ => None,
        };
        match at {
            Some(shard) => Ok(to_shard(shard, "what it locks is on this shard alone, or GLOBAL and only read")),
            None => refuse("its tables are on several shards".to_owned()),
        }
    }

    /// FLUSH TABLES t, u: each shard flushes what it has. With a lock it binds the session to one server.
    pub(crate) fn flush_tables(self, flush: FlushTables<'_>) -> Result<Plan, Refusal> {
        if flush.lock == FlushLock::None {
            return Ok(if self.names_sharded() { Plan::Show } else { Plan::Home });
        }
        self.on_one_shard(
            "FLUSH TABLES with a lock, which is a server's own (name its tables on the servers themselves, or read with START TRANSACTION \
             WITH CONSISTENT SNAPSHOT)",
        )
    }
}
