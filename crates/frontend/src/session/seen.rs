//! What a session has seen on each shard.
//!
//! What must always hold: positions of one shard say nothing of another.

use weir_topology::Seen;

use crate::backends::HOME;

/// What a new session has seen.
pub(super) static NOTHING_SEEN: Seen =
    Seen { written: None, reader: None, horizon: None, ahead: false, uncovered_since: None };

/// What a session has written and seen, on each shard: positions of one say nothing of another.
#[derive(Debug, Default)]
pub(super) struct SeenByShard {
    home: Seen,
    /// Of the shards after the first, as far as it has been there. One shard needs no memory here.
    others: Vec<Seen>,
}

impl SeenByShard {
    /// On a shard.
    pub(super) fn of(&self, shard: usize) -> &Seen {
        match shard {
            HOME => &self.home,
            other => self.others.get(other - 1).unwrap_or(&NOTHING_SEEN),
        }
    }

    /// The same, to be changed.
    pub(super) fn of_mut(&mut self, shard: usize) -> &mut Seen {
        match shard {
            HOME => &mut self.home,
            other => {
                if self.others.len() < other {
                    self.others.resize_with(other, Seen::default);
                }
                &mut self.others[other - 1]
            }
        }
    }
}
