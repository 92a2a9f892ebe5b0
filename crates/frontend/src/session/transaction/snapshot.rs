//! START TRANSACTION WITH CONSISTENT SNAPSHOT: one snapshot on each shard, all taken when the transaction begins.
//!
//! What must always hold: what is committed after the statement's OK is not seen, on whichever shard it is. Each shard's snapshot is of a
//! time of its own, between the statement's beginning and its OK.

use std::collections::BTreeSet;

use weir_catalog::{Catalog, Placement, ShardId};
use weir_plan::write::literal::put_name;
use weir_wire::error::{codes, not_supported};

use super::super::Session;
use super::super::state::Begin;
use super::super::stopped::Stopped;
use super::kind::Joins;
use crate::backends::{HOME, shard_id};

/// On a shard so many tables are tried, until there is one that the user may read.
const MOST_TRIED: usize = 64;

/// The statement was killed.
const ENDS: [u16; 2] = [codes::ER_QUERY_INTERRUPTED, codes::ER_LOCK_DEADLOCK];

impl Session {
    /// Begins the transaction on all shards of sharded databases.
    pub(super) async fn begin_with_snapshot(&mut self, read_only: Option<bool>) -> Result<(), Stopped> {
        let Some(sharding) = self.sharding() else { return Err(not_supported("There are no shards").into()) };
        self.commit_for_beginning().await?;
        self.heed_moves_with_snapshot(&sharding).await?;
        let catalog = sharding.catalog();
        if self.held {
            self.give_way().await;
        }
        let begun = self.begin_on_all(read_only, &catalog).await;
        if begun.is_err() {
            self.state.begin = None;
            self.end_participants(false).await;
        }
        begun?;
        self.transaction_ok_here(b"T_______");
        Ok(())
    }

    async fn begin_on_all(&mut self, read_only: Option<bool>, catalog: &Catalog) -> Result<(), Stopped> {
        self.state.begin = Some(Begin::with_snapshot(read_only));
        let first = if self.current.lease.is_some() { self.current.server.shard } else { HOME };
        self.begin_on_first(first, false).await?;
        let shards: BTreeSet<usize> = catalog
            .databases
            .values()
            .flat_map(|database| &database.shards)
            .map(|shard| usize::from(shard.0))
            .collect();
        for shard in shards.into_iter().filter(|shard| *shard != first) {
            self.enter_shard(shard, Joins::First).await?;
            self.take_snapshot(shard_id(shard), catalog).await?;
        }
        self.enter_shard(first, Joins::First).await
    }

    /// A branch has its snapshot from the first time that it reads.
    async fn take_snapshot(&mut self, shard: ShardId, catalog: &Catalog) -> Result<(), Stopped> {
        let own = self.state.profile.database.clone();
        let tables = tables_on(shard, catalog, own.as_deref());
        for text in tables.take(MOST_TRIED) {
            match self.query_attended(&text).await? {
                Ok(_) => return Ok(()),
                Err(failure) if !self.connection().is_clean() => return Err(failure.into()),
                Err(failure) if ENDS.contains(&failure.code) => return Err(failure.into()),
                // What the user may not read is not missed.
                Err(_) => {}
            }
        }
        Ok(())
    }
}

/// Reads of each table on a shard, those of a database first.
fn tables_on<'c>(shard: ShardId, catalog: &'c Catalog, own: Option<&'c [u8]>) -> impl Iterator<Item = String> + 'c {
    let mut databases: Vec<_> = catalog.databases.iter().filter(|(_, one)| one.shards.contains(&shard)).collect();
    databases.sort_by_key(|(name, _)| own != Some(name.as_bytes()));
    databases.into_iter().flat_map(move |(database, one)| {
        let there = move |placement: &Placement| !matches!(placement, Placement::Single(other) if *other != shard);
        one.tables.iter().filter(move |(_, table)| there(&table.placement)).map(move |(table, _)| {
            let mut text = b"SELECT 1 FROM ".to_vec();
            put_name(&mut text, database.as_bytes());
            text.push(b'.');
            put_name(&mut text, table.as_bytes());
            text.extend_from_slice(b" LIMIT 1");
            String::from_utf8_lossy(&text).into_owned()
        })
    })
}
