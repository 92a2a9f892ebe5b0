//! The task of a source: it copies and applies, one after the other.
//!
//! What must always hold: its checkpoint is not beyond what was applied, nor beyond the beginning of a branch that is prepared: that one's
//! keys come when it commits.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;
use weir_backend::gtid::Position as Gtids;
use weir_catalog::ShardId;

use crate::MoveError;
use crate::Trouble;
use crate::checkpoint::{Copied, SourceCheckpoint, table_name};
use crate::copy::Pace;
use crate::facts::{Facts, gtids_of};
use crate::follow::{Branch, Group};
use crate::link::Link;
use crate::plan::Site;
use crate::position::Position;
use crate::progress::Counters;
use crate::shared::Shared;
use crate::target::Targets;
use crate::visible::prepared;
use weir_wire::binlog::Xid;

/// The longest wait for transactions that were prepared before the move began.
const PREPARED_END: Duration = Duration::from_secs(60);
/// Checkpoints are told about so often.
const CHECKPOINTS: Duration = Duration::from_millis(500);
/// How long nothing is looked at while copying is held up.
const HELD_UP: Duration = Duration::from_millis(200);

/// See the module.
pub(crate) struct Source {
    pub(crate) shard: ShardId,
    pub(crate) shared: Arc<Shared>,
    pub(crate) facts: Facts,
    /// The connection on which rows are read.
    pub(crate) link: Link,
    /// Those to other sources.
    pub(crate) others: BTreeMap<ShardId, Link>,
    pub(crate) targets: Targets,
    pub(crate) groups: mpsc::Receiver<Group>,
    pub(crate) tables: Vec<SourceTable>,
    pub(crate) pace: Pace,
    pub(crate) counters: Arc<Counters>,
    pub(crate) position: Position,
    pub(crate) gtids: Option<Gtids>,
    /// Branches that are prepared, and where the log was before them.
    pub(crate) prepared: BTreeMap<Xid, Position>,
    pub(crate) told: Instant,
}

/// A table on a source.
pub(crate) struct SourceTable {
    /// Its place in the plan.
    pub(crate) table: usize,
    pub(crate) site: Site,
    /// The key's index, quoted.
    pub(crate) index: String,
    /// Bytes of a row, on average.
    pub(crate) average: u64,
    pub(crate) copied: Copied,
}

impl Source {
    /// Runs until it is stopped.
    ///
    /// # Errors
    /// What ends the move.
    pub(crate) async fn run(mut self) -> Result<(), MoveError> {
        let mut stop = self.shared.stop.subscribe();
        if self.to_copy().is_some() {
            self.wait_for_prepared().await?;
        }
        self.counters.started.store(true, Relaxed);
        self.note_copied(true);
        while !*stop.borrow_and_update() {
            let copying = self.to_copy();
            if copying.is_some() {
                self.look_at_load().await?;
            }
            let next = copying.and_then(|_| self.pace.next());
            let mut idle = true;
            if let (Some(nth), Some(next)) = (copying, next)
                && next <= Instant::now()
            {
                self.copy(nth).await?;
                idle = false;
            }
            if let Ok(group) = self.groups.try_recv() {
                self.apply_from(group).await?;
                idle = false;
            }
            if !idle {
                continue;
            }
            // All of these are cancel-safe: a group that was not received stays in the channel.
            tokio::select! {
                _ = stop.changed() => {}
                group = self.groups.recv() => match group {
                    Some(group) => self.apply_from(group).await?,
                    // The follower tells why.
                    None => std::future::pending().await,
                },
                () = sleep_until(next), if next.is_some() => {}
                () = self.shared.controls.changed(HELD_UP), if copying.is_some() && next.is_none() => {}
            }
        }
        self.tell_checkpoint();
        Ok(())
    }

    /// Waits for the end of transactions whose rows were logged before the position from which the log is read: nothing may be copied
    /// before they are visible, or gone.
    async fn wait_for_prepared(&mut self) -> Result<(), MoveError> {
        let begun = Instant::now();
        // One that is being prepared may be in the log already, and not be told as prepared yet.
        let mut preparing = self.preparing().await?;
        while !preparing.is_empty() {
            self.pause_for_prepared(begun).await?;
            let still = self.preparing().await?;
            preparing.retain(|id| still.contains(id));
        }
        let mut open = self.prepared_now().await?;
        while !open.is_empty() {
            self.pause_for_prepared(begun).await?;
            let still = self.prepared_now().await?;
            open.retain(|xid| still.contains(xid));
        }
        Ok(())
    }

    async fn prepared_now(&mut self) -> Result<BTreeSet<Xid>, MoveError> {
        prepared(&mut self.link).await.map_err(|failure| MoveError::of_source(self.shard, failure))
    }

    async fn pause_for_prepared(&self, begun: Instant) -> Result<(), MoveError> {
        if *self.shared.stop.borrow() {
            return Err(MoveError::new(Trouble::Stopped, "The move was stopped"));
        }
        if begun.elapsed() > PREPARED_END {
            return Err(MoveError::new(
                Trouble::Source(self.shard),
                format!(
                    "A distributed transaction on server '{}' has been prepared for {PREPARED_END:?}, and rows are not copied before it \
                     ends: XA RECOVER shows it; commit it or roll it back",
                    self.link.server_name()
                ),
            ));
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
        Ok(())
    }

    /// The connections that prepare a branch just now.
    async fn preparing(&mut self) -> Result<Vec<String>, MoveError> {
        let sql = "SELECT id FROM information_schema.processlist WHERE info LIKE 'XA PREPARE%'";
        let rows = self.link.query(sql).await.map_err(|failure| MoveError::of_source(self.shard, failure))?;
        let id = |row: Vec<Option<Vec<u8>>>| String::from_utf8_lossy(row.first()?.as_deref()?).into_owned().into();
        Ok(rows.into_iter().filter_map(id).collect())
    }

    /// A position of this source's server.
    pub(crate) fn position_of(&self, file: &str, offset: u64) -> Position {
        Position { server: self.facts.server.clone(), file: file.to_owned(), offset, gtids: String::new() }
    }

    /// A group has been applied.
    pub(crate) fn advance(&mut self, group: &Group) {
        match &group.branch {
            Branch::Prepared(xid) => {
                let before = self.whole_position();
                self.prepared.insert(xid.clone(), before);
            }
            Branch::Committed(xid) | Branch::RolledBack(xid) => drop(self.prepared.remove(xid)),
            Branch::None => {}
        }
        self.position = self.position_of(&group.file, group.offset);
        if let (Some(all), Some(gtid)) = (&mut self.gtids, &group.gtid)
            && let Some(gtid) = gtids_of(self.facts.mariadb, gtid)
        {
            all.add(&gtid);
        }
        match group.timestamp {
            0 => self.counters.lag.store(0, Relaxed),
            timestamp => self.counters.note_lag(timestamp),
        }
    }

    fn whole_position(&self) -> Position {
        let gtids = self.gtids.as_ref().map(ToString::to_string).unwrap_or_default();
        Position { gtids, ..self.position.clone() }
    }

    /// Tells those who wait how far it is.
    pub(crate) fn tell_applied(&mut self) {
        if self.groups.is_empty() {
            self.counters.lag.store(0, Relaxed);
        }
        let (shard, position) = (self.shard, self.whole_position());
        self.shared.applied.send_modify(|all| drop(all.insert(shard, position)));
        if self.told.elapsed() >= CHECKPOINTS {
            self.tell_checkpoint();
        }
    }

    /// A chunk has been copied.
    pub(crate) fn note_copied(&mut self, tell: bool) {
        if self.to_copy().is_none() {
            self.counters.copied.store(true, Relaxed);
            let shard = self.shard;
            self.shared.copied.send_modify(|all| {
                all.insert(shard, true);
            });
        }
        if tell || self.told.elapsed() >= CHECKPOINTS {
            self.tell_checkpoint();
        }
    }

    fn tell_checkpoint(&mut self) {
        self.told = Instant::now();
        let own = self.whole_position();
        let oldest = self.prepared.values().min_by(|one, two| one.compare_files(&two.file, two.offset));
        let position = oldest.cloned().unwrap_or(own);
        let name = |table: &SourceTable| table_name(&table.site.schema, &self.shared.plan.tables[table.table].name);
        let tables = self.tables.iter().map(|table| (name(table), table.copied.clone())).collect();
        let (shard, rows) = (self.shard, self.counters.rows.load(Relaxed));
        self.shared.checkpoint.send_modify(|all| {
            all.sources.insert(shard, SourceCheckpoint { position, rows, tables });
        });
    }
}

async fn sleep_until(next: Option<Instant>) {
    match next {
        Some(next) => tokio::time::sleep_until(next.into()).await,
        None => std::future::pending().await,
    }
}
