//! Applying changes: the rows of changed keys are read anew, and take the place of what targets have under these keys.
//!
//! What must always hold: what is read is not older than the change. A key that its source has no row for may have one on another source, to
//! which the row has moved; that is asked while no other task writes to the table's targets, as the other task might have read and not yet
//! written a newer row, or might write an older one afterwards. (An older one that was written before is corrected by the event of its
//! deletion, which is still to come.)

use std::collections::HashSet;
use std::sync::atomic::Ordering::Relaxed;

use weir_catalog::ShardId;

use crate::MoveError;
use crate::follow::{Branch, Group, no_room};
use crate::key::put_is_one_of;
use crate::link::Link;
use crate::source::Source;
use crate::target::SectionError;
use crate::transfer::transfer;
use crate::visible::{self, Wanted};

/// Keys that are applied at once, of one table.
const AT_ONCE: usize = 200;
/// Keys that are collected from several transactions.
const COLLECTED: usize = 1_000;
/// Transactions that are taken at once, with keys or without.
const GROUPS: usize = 500;
/// Bytes of rows that wait until it is known whether all keys have one.
const DEFER: usize = 4 * 1024 * 1024;
/// How often a section is tried that meets locks.
const TRIES: usize = 20;

/// Keys by table.
type Keys = Vec<HashSet<Vec<u8>>>;

impl Source {
    /// Takes what has come behind this group, up to a bound, and applies all of it.
    ///
    /// # Errors
    /// What ends the move.
    pub(crate) async fn apply_from(&mut self, first: Group) -> Result<(), MoveError> {
        let mut batch = vec![first];
        let mut keys = batch[0].keys.count();
        while keys < COLLECTED as u64 && batch.len() < GROUPS {
            let Ok(group) = self.groups.try_recv() else { break };
            keys += group.keys.count();
            batch.push(group);
        }
        if keys > 0 {
            self.wait_visible(&batch).await?;
        }
        let mut collected: Keys = vec![HashSet::new(); self.tables.len()];
        for group in &mut batch {
            let mut reader = group.keys.read().map_err(|error| no_room(&error))?;
            while let Some((table, key)) = reader.next().map_err(|error| no_room(&error))? {
                let Some(of_table) = collected.get_mut(usize::from(table)) else { continue };
                of_table.insert(key);
                if of_table.len() >= COLLECTED {
                    self.apply(&mut collected).await?;
                }
            }
        }
        self.apply(&mut collected).await?;
        self.counters.changes.fetch_add(keys, Relaxed);
        for group in batch {
            self.advance(&group);
        }
        self.tell_applied();
        Ok(())
    }

    async fn wait_visible(&mut self, batch: &[Group]) -> Result<(), MoveError> {
        let with_keys = || batch.iter().filter(|group| group.keys.count() > 0);
        let Some(last) = with_keys().next_back() else { return Ok(()) };
        let end = self.position_of(&last.file, last.offset);
        let gtids: Vec<&str> = with_keys().filter_map(|group| group.gtid.as_deref()).collect();
        // With anonymous ones among them, GTIDs don't tell.
        let gtids = if gtids.len() == with_keys().count() { gtids.join(",") } else { String::new() };
        let branches = with_keys().filter_map(|group| match &group.branch {
            Branch::Committed(xid) => Some(xid.clone()),
            _ => None,
        });
        let wanted = Wanted { end: &end, gtids, branches: branches.collect() };
        let waited = visible::wait(&mut self.link, &self.facts, wanted).await;
        waited.map_err(|failure| MoveError::of_source(self.shard, failure))
    }

    /// Applies collected keys, which are then none.
    async fn apply(&mut self, collected: &mut Keys) -> Result<(), MoveError> {
        for (nth, keys) in collected.iter_mut().enumerate() {
            let keys: Vec<Vec<u8>> = keys.drain().collect();
            for keys in keys.chunks(AT_ONCE) {
                let mut tries = 0;
                while let Err(error) = self.apply_once(nth, keys).await {
                    if !error.is_passing() || tries == TRIES {
                        return Err(error.into_error());
                    }
                    tries += 1;
                    self.targets.abandon().await.map_err(SectionError::into_error)?;
                }
            }
        }
        Ok(())
    }

    async fn apply_once(&mut self, nth: usize, keys: &[Vec<u8>]) -> Result<(), SectionError> {
        let here = &self.tables[nth];
        let shared = self.shared.clone();
        let (table, common) = (&shared.plan.tables[here.table], &shared.tables[here.table]);
        let form = &*common.form;
        let mut condition = Vec::new();
        put_is_one_of(&mut condition, &form.key_names, keys.iter().map(Vec::as_slice));
        let query = |site| [form.query(site).as_bytes(), b" WHERE ", &condition].concat();
        let own = query(&here.site);
        let alone = table.sources.len() == 1;
        let writing = if alone { None } else { Some(common.writing.read().await) };
        self.targets.begin(table, form, Some(condition.clone()));
        let found = transfer(&mut self.link, &own, (table, form), &shared, &mut self.targets, DEFER).await?;
        let all_found = found.rows >= keys.len() as u64;
        if all_found || alone {
            return self.targets.commit(!all_found || !form.placed_by_key).await;
        }
        drop(writing);
        if self.targets.has_begun() {
            self.targets.abandon().await?;
        }
        let _writing = common.writing.write().await;
        self.targets.begin(table, form, Some(condition.clone()));
        transfer(&mut self.link, &own, (table, form), &shared, &mut self.targets, DEFER).await?;
        for site in table.sources.iter().filter(|site| site.shard != self.shard) {
            let link = other(&mut self.others, &shared, site.shard).await?;
            transfer(link, &query(site), (table, form), &shared, &mut self.targets, DEFER).await?;
        }
        self.targets.commit(true).await
    }
}

/// The connection to another source.
async fn other<'l>(
    others: &'l mut std::collections::BTreeMap<ShardId, Link>,
    shared: &crate::shared::Shared,
    shard: ShardId,
) -> Result<&'l mut Link, SectionError> {
    match others.entry(shard) {
        std::collections::btree_map::Entry::Occupied(link) => Ok(link.into_mut()),
        std::collections::btree_map::Entry::Vacant(none) => {
            let link = Link::open(&*shared.connector, shard).await;
            Ok(none.insert(link.map_err(|failure| SectionError::Source(shard, failure))?))
        }
    }
}
