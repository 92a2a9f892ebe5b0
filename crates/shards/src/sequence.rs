//! AUTO_INCREMENT of sharded tables: one sequence for all shards, taken in blocks from `weir.sequences` in one of them.
//!
//! What must always hold: no value is given twice, also not after a SIGKILL of Weir. So a block is the process's own once the shard has
//! committed that the next one begins behind it; what is left of a block when the process dies is a gap. A value that a client wrote
//! itself has raised the sequence before its row is acknowledged.
//!
//! A sequence is in the first shard of its table's database. It is as durable as that shard's group.

mod block;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use weir_catalog::{Database, ShardId};
use weir_wire::Failure;
use weir_wire::error::codes;

use crate::own::{Own, number, quoted};
use block::Block;

/// Which sequence: that of a table, by the names in the catalog.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SequenceName {
    /// The shard that keeps it.
    pub shard: ShardId,
    /// The database.
    pub database: String,
    /// The table.
    pub table: String,
}

impl SequenceName {
    /// The sequence of a table of a database.
    pub fn new(database_name: &str, database: &Database, table: &str) -> SequenceName {
        let shard = database.shards.first().copied().unwrap_or(ShardId(0));
        SequenceName { shard, database: database_name.to_owned(), table: table.to_owned() }
    }

    fn condition(&self) -> String {
        format!("database_name = {} AND table_name = {}", quoted(&self.database), quoted(&self.table))
    }
}

/// All sequences, shared by all workers.
#[derive(Debug)]
pub struct Sequences {
    own: Own,
    all: Mutex<HashMap<SequenceName, Arc<Sequence>>>,
}

#[derive(Debug, Default)]
struct Sequence {
    block: Mutex<Block>,
    /// Held while the shard is asked. The block is changed under it only, but for values taken from it.
    asking: tokio::sync::Mutex<()>,
}

impl Sequence {
    fn with<T>(&self, with: impl FnOnce(&mut Block) -> T) -> T {
        with(&mut self.block.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Sequences {
    /// The sequences in the shards that these connections reach.
    pub fn new(own: Own) -> Sequences {
        Sequences { own, all: Mutex::default() }
    }

    /// The first of `count` values in a row, which nobody else gets.
    ///
    /// # Errors
    /// 1467 when there are no values left; else as [`Own::run`].
    pub async fn take(&self, name: &SequenceName, count: u64) -> Result<u64, Failure> {
        let sequence = self.sequence(name);
        if let Some(first) = sequence.with(|block| block.take(count)) {
            return Ok(first);
        }
        let (own, name) = (self.own.clone(), name.clone());
        self.own
            .apart(async move {
                let _asking = sequence.asking.lock().await;
                if let Some(first) = sequence.with(|block| block.take(count)) {
                    return Ok(first);
                }
                let floor = sequence.with(|block| block.floor());
                refill(&own, &name, &sequence, floor, count).await?;
                sequence.with(|block| block.take(count)).ok_or_else(exhausted)
            })
            .await
    }

    /// A client has written this value itself: values to come are greater. To be awaited before the row is acknowledged.
    ///
    /// # Errors
    /// As [`Own::run`].
    pub async fn at_least(&self, name: &SequenceName, value: u64) -> Result<(), Failure> {
        let sequence = self.sequence(name);
        if sequence.with(|block| block.pass(value)) {
            return Ok(());
        }
        let (own, name) = (self.own.clone(), name.clone());
        self.own
            .apart(async move {
                let _asking = sequence.asking.lock().await;
                if sequence.with(|block| block.pass(value)) {
                    return Ok(());
                }
                let floor = sequence.with(|block| block.floor()).max(value.saturating_add(1));
                match refill(&own, &name, &sequence, floor, 1).await {
                    // The last value there is: no other one follows.
                    Err(failure) if failure.code == codes::ER_AUTOINC_READ_FAILED => {
                        store(&own, &name, u64::MAX).await?;
                        sequence.with(Block::clear);
                        Ok(())
                    }
                    outcome => outcome,
                }
            })
            .await
    }

    /// The next value will be this one: ALTER TABLE … AUTO_INCREMENT, TRUNCATE (1), and a table's creation. The caller sees to it that it
    /// is greater than all that are in the table.
    ///
    /// # Errors
    /// As [`Own::run`].
    pub async fn set(&self, name: &SequenceName, next: u64) -> Result<(), Failure> {
        let (own, sequence, name) = (self.own.clone(), self.sequence(name), name.clone());
        self.own
            .apart(async move {
                let _asking = sequence.asking.lock().await;
                // First, so that no value is taken from the old block after the new start was promised.
                sequence.with(Block::reset);
                store(&own, &name, next.max(1)).await
            })
            .await
    }

    /// The next value, as `SHOW CREATE TABLE` tells it.
    ///
    /// # Errors
    /// As [`Own::run`].
    pub async fn position(&self, name: &SequenceName) -> Result<u64, Failure> {
        let sequence = self.sequence(name);
        match sequence.with(|block| block.next()) {
            Some(next) => Ok(next),
            None => Ok(stored(&self.own, name).await?.unwrap_or(1)),
        }
    }

    /// The table is gone.
    ///
    /// # Errors
    /// As [`Own::run`].
    pub async fn remove(&self, name: &SequenceName) -> Result<(), Failure> {
        let (own, sequence, gone) = (self.own.clone(), self.sequence(name), name.clone());
        self.own
            .apart(async move {
                let _asking = sequence.asking.lock().await;
                sequence.with(Block::reset);
                own.run(gone.shard, format!("DELETE FROM weir.sequences WHERE {}", gone.condition())).await.map(drop)
            })
            .await?;
        self.all.lock().unwrap_or_else(PoisonError::into_inner).remove(name);
        Ok(())
    }

    /// The table has another name now.
    ///
    /// # Errors
    /// As [`Own::run`].
    pub async fn rename(&self, from: &SequenceName, to: &SequenceName) -> Result<(), Failure> {
        let (own, sequence, old, new) = (self.own.clone(), self.sequence(from), from.clone(), to.clone());
        let target = self.sequence(to);
        self.own
            .apart(async move {
                let _asking = sequence.asking.lock().await;
                let Some(stored) = stored(&own, &old).await? else { return Ok(()) };
                let next = sequence.with(|block| block.rest_before(stored)).unwrap_or(stored);
                sequence.with(Block::reset);
                target.with(Block::reset);
                store(&own, &new, next).await?;
                own.run(old.shard, format!("DELETE FROM weir.sequences WHERE {}", old.condition())).await.map(drop)
            })
            .await?;
        self.all.lock().unwrap_or_else(PoisonError::into_inner).remove(from);
        Ok(())
    }

    /// Gives back what is left of all blocks: a Weir that ends in peace leaves no gaps.
    pub async fn give_back(&self) {
        let all: Vec<_> = self
            .all
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .iter()
            .map(|(name, sequence)| (name.clone(), sequence.clone()))
            .collect();
        for (name, sequence) in all {
            let _asking = sequence.asking.lock().await;
            if let Some((next, end)) = sequence.with(Block::give_up) {
                let sql = format!(
                    "UPDATE weir.sequences SET next_value = {next} WHERE {} AND next_value = {end}",
                    name.condition()
                );
                if let Err(failure) = self.own.run(name.shard, sql).await {
                    tracing::debug!(table = name.table, %failure, "values of a sequence were left unused");
                }
            }
        }
    }

    fn sequence(&self, name: &SequenceName) -> Arc<Sequence> {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        match all.get(name) {
            Some(sequence) => sequence.clone(),
            None => all.entry(name.clone()).or_default().clone(),
        }
    }
}

/// Takes a block of at least `count` values, none of them below `floor`.
async fn refill(own: &Own, name: &SequenceName, sequence: &Sequence, floor: u64, count: u64) -> Result<(), Failure> {
    let size = sequence.with(|block| block.size_at(Instant::now())).max(count);
    let start = match reserve(own, name, floor, size).await {
        Err(failure) if failure.code == codes::ER_DATA_OUT_OF_RANGE && size > count => {
            return match reserve(own, name, floor, count).await {
                Err(failure) if failure.code == codes::ER_DATA_OUT_OF_RANGE => Err(exhausted()),
                outcome => outcome.map(|start| sequence.with(|block| block.extend(start, count))),
            };
        }
        Err(failure) if failure.code == codes::ER_DATA_OUT_OF_RANGE => return Err(exhausted()),
        outcome => outcome?,
    };
    sequence.with(|block| block.extend(start, size));
    Ok(())
}

/// Commits that the next block begins `size` values further on, and returns where this one begins. When the reply is lost and it runs
/// again, the first block is a gap.
async fn reserve(own: &Own, name: &SequenceName, floor: u64, size: u64) -> Result<u64, Failure> {
    let floor = floor.max(1);
    // The greatest of a column and a literal is a DECIMAL, which LAST_INSERT_ID() takes only up to half of the range.
    let update = format!(
        "UPDATE weir.sequences SET next_value = LAST_INSERT_ID(CAST(GREATEST(next_value, {floor}) AS UNSIGNED)) + {size} WHERE {}",
        name.condition()
    );
    let reply = own.run(name.shard, update.clone()).await?;
    if reply.affected == 1 {
        return Ok(reply.last_insert_id);
    }
    let begin = format!(
        "INSERT IGNORE INTO weir.sequences (database_name, table_name, next_value) VALUES ({}, {}, 1)",
        quoted(&name.database),
        quoted(&name.table)
    );
    own.run(name.shard, begin).await?;
    let reply = own.run(name.shard, update).await?;
    match reply.affected {
        1 => Ok(reply.last_insert_id),
        _ => Err(Failure::weir(
            codes::ER_AUTOINC_READ_FAILED,
            format!("The sequence of {}.{} can't be kept in weir.sequences", name.database, name.table),
        )),
    }
}

async fn store(own: &Own, name: &SequenceName, next: u64) -> Result<(), Failure> {
    let (database, table) = (quoted(&name.database), quoted(&name.table));
    let sql = format!(
        "INSERT INTO weir.sequences (database_name, table_name, next_value) VALUES ({database}, {table}, {next}) \
         ON DUPLICATE KEY UPDATE next_value = {next}"
    );
    own.run(name.shard, sql).await.map(drop)
}

async fn stored(own: &Own, name: &SequenceName) -> Result<Option<u64>, Failure> {
    let sql = format!("SELECT next_value FROM weir.sequences WHERE {}", name.condition());
    Ok(own.run(name.shard, sql).await?.rows.first().and_then(|row| number(row.first())))
}

fn exhausted() -> Failure {
    let message = "Failed to read auto-increment value from storage engine";
    Failure::client(codes::ER_AUTOINC_READ_FAILED, message)
}

/// Refuses an INSERT whose session wants other steps than one.
///
/// # Errors
/// 1235 when `auto_increment_increment` or `auto_increment_offset` is not 1.
pub fn check_steps(increment: u64, offset: u64) -> Result<(), Failure> {
    if (increment, offset) == (1, 1) {
        return Ok(());
    }
    let message = format!(
        "Values of a sharded table come from one sequence for all shards, in steps of 1: auto_increment_increment = {increment} and \
         auto_increment_offset = {offset} can't be kept. Set both to 1"
    );
    Err(Failure::client(codes::ER_NOT_SUPPORTED_YET, message))
}
