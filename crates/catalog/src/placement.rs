//! Shards, slots, and where the rows of a table are.
//!
//! What must always hold: a slot map has [`SLOTS`] slots, whatever form it was written in.

use serde::{Deserialize, Serialize, Serializer};

/// How many slots rows of a hashed table fall into.
pub const SLOTS: usize = 4096;

/// The place of a shard in [`Catalog::shards`](crate::Catalog); the same as its group's in the configuration's order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ShardId(pub u16);

/// The shard of each slot.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Vec<SlotRun>")]
pub struct SlotMap(pub Vec<ShardId>);

/// How slots are written: as runs. Once they were written one by one.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum SlotRun {
    Run(ShardId, usize),
    One(ShardId),
}

impl TryFrom<Vec<SlotRun>> for SlotMap {
    type Error = &'static str;

    fn try_from(runs: Vec<SlotRun>) -> Result<SlotMap, Self::Error> {
        let mut slots = Vec::with_capacity(SLOTS);
        for run in runs {
            let (shard, count) = match run {
                SlotRun::Run(shard, count) => (shard, count),
                SlotRun::One(shard) => (shard, 1),
            };
            if count > SLOTS - slots.len().min(SLOTS) {
                return Err("there are too many slots");
            }
            slots.resize(slots.len() + count, shard);
        }
        Ok(SlotMap(slots))
    }
}

impl Serialize for SlotMap {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let runs = self.0.chunk_by(|one, next| one == next);
        serializer.collect_seq(runs.map(|run| SlotRun::Run(run[0], run.len())))
    }
}

/// Where a table's rows are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Placement {
    /// Each row on the shard that its key says.
    Sharded(ShardKey),
    /// All rows on each of the database's shards.
    Global,
    /// All rows on one shard.
    Single(ShardId),
}

/// The columns that say where a row is, and how.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ShardKey {
    /// The columns, by place.
    pub columns: Vec<usize>,
    /// How.
    pub method: Method,
}

/// How a key's value says which shard a row is on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Method {
    /// The slot of the hash of the value, and the database's slot map. Composite keys hash all columns.
    Hash,
    /// Upper bounds, ascending, each with the shard of what is less: texts of literals, `None` for MAXVALUE. One column.
    Range(Vec<(Option<String>, ShardId)>),
    /// Values, as texts of literals (`None`: NULL), each with its shard, and the shard of all others, if there is one. One column.
    List(Vec<(Option<String>, ShardId)>, Option<ShardId>),
    /// The slot of the hash of a date's year, year and month, or day. One column.
    Year,
    /// See `Year`.
    Month,
    /// See `Year`.
    Day,
}

impl SlotMap {
    /// Slots in runs of equal length over these shards, in order.
    pub fn even(shards: &[ShardId]) -> SlotMap {
        SlotMap((0..SLOTS).map(|slot| shards[slot * shards.len() / SLOTS]).collect())
    }
}
