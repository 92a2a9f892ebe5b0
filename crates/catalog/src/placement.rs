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

    /// The same over these shards: as many slots on each as on any other, or one more, and no slot moves without need.
    pub fn balanced(&self, shards: &[ShardId]) -> SlotMap {
        let (least, mut spare) = (SLOTS / shards.len().max(1), SLOTS % shards.len().max(1));
        let mut by_count: Vec<(usize, ShardId)> = shards.iter().map(|shard| (self.count(*shard), *shard)).collect();
        // Those that have the most now keep what can't be divided.
        by_count.sort_by_key(|(count, shard)| (std::cmp::Reverse(*count), *shard));
        let mut room: Vec<(ShardId, usize)> = Vec::with_capacity(by_count.len());
        for (_, shard) in by_count {
            room.push((shard, least + usize::from(spare > 0)));
            spare = spare.saturating_sub(1);
        }
        room.sort_unstable();
        let mut slots: Vec<Option<ShardId>> = Vec::with_capacity(self.0.len());
        for shard in &self.0 {
            let stays = room.iter_mut().find(|(at, left)| at == shard && *left > 0);
            slots.push(stays.map(|(at, left)| {
                *left -= 1;
                *at
            }));
        }
        let mut free = room.into_iter().flat_map(|(shard, left)| std::iter::repeat_n(shard, left));
        SlotMap(
            slots.into_iter().zip(&self.0).map(|(stays, was)| stays.or_else(|| free.next()).unwrap_or(*was)).collect(),
        )
    }

    /// How many slots a shard has.
    pub fn count(&self, shard: ShardId) -> usize {
        self.0.iter().filter(|at| **at == shard).count()
    }

    /// How many slots are on other shards in another map.
    pub fn moved(&self, other: &SlotMap) -> usize {
        self.0.iter().zip(&other.0).filter(|(one, other)| one != other).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shards(ids: &[u16]) -> Vec<ShardId> {
        ids.iter().map(|id| ShardId(*id)).collect()
    }

    #[test]
    fn balancing_moves_the_fewest_slots() {
        let two = SlotMap::even(&shards(&[0, 1]));
        assert_eq!(two.balanced(&shards(&[0, 1])), two);
        let three = two.balanced(&shards(&[0, 1, 2]));
        let counts = |map: &SlotMap, ids: &[u16]| ids.iter().map(|id| map.count(ShardId(*id))).collect::<Vec<_>>();
        assert_eq!(counts(&three, &[0, 1, 2]), [1366, 1365, 1365]);
        // Each slot that moves goes to the shard that came.
        assert_eq!(two.moved(&three), 1365);
        let back = three.balanced(&shards(&[0, 1]));
        assert_eq!((counts(&back, &[0, 1, 2]), three.moved(&back)), (vec![2048, 2048, 0], 1365));
        let one = two.balanced(&shards(&[1]));
        assert_eq!((one.count(ShardId(1)), two.moved(&one)), (SLOTS, 2048));
        let others = two.balanced(&shards(&[2, 3]));
        assert_eq!((counts(&others, &[2, 3]), two.moved(&others)), (vec![2048, 2048], SLOTS));
    }
}
