//! Where the rows of one table are, asked many times.
//!
//! What must always hold: the answers are those of [`locate_null_safe`](super::locate_null_safe), [`locate_stored`](super::locate_stored) and
//! [`locate_range`](super::locate_range) for the same table; only what follows from the table alone is worked out once.

use std::sync::Arc;

use super::part::{self, Parts};
use super::{Bound, Constant, Located, RangeShards, Way, find};
use crate::model::Database;
use crate::table::Table;
use crate::weights::Weights;

/// A table whose rows are looked for.
#[derive(Debug, Clone)]
pub struct Finder {
    database: Arc<Database>,
    table: Arc<Table>,
    /// The bounds and values of its clause, read. `None`: it has none, or they can't be read yet.
    parts: Option<Parts>,
}

impl Finder {
    /// For a table. `weights`: what is known when its clause is read.
    pub fn new(database: &Arc<Database>, table: &Arc<Table>, weights: &Weights) -> Finder {
        let parts = table.shard_key().and_then(|key| part::read_parts(table, key, weights));
        Finder { database: database.clone(), table: table.clone(), parts }
    }

    /// Whether both look for rows of one table.
    pub fn is_like(&self, other: &Finder) -> bool {
        Arc::ptr_eq(&self.database, &other.database) && Arc::ptr_eq(&self.table, &other.table)
    }

    /// See [`locate_null_safe`](super::locate_null_safe).
    pub fn null_safe(&self, values: &[Constant], weights: &Weights) -> Located {
        find(&self.database, &self.table, self.parts.as_ref(), values, weights, Way::NullSafe)
    }

    /// See [`locate_stored`](super::locate_stored).
    pub fn stored(&self, values: &[Constant], weights: &Weights) -> Located {
        find(&self.database, &self.table, self.parts.as_ref(), values, weights, Way::Stored)
    }

    /// See [`locate_range`](super::locate_range).
    pub fn range(&self, low: &Bound, high: &Bound) -> RangeShards {
        part::locate_range(&self.database, &self.table, low, high)
    }
}

/// Whether where a range lies in a table by hashes or lists is never known, whatever its ends, as long as they are not NULL.
pub fn ranges_are_unsure(table: &Table) -> bool {
    use crate::placement::Method;
    !table.shard_key().is_some_and(|key| !matches!(key.method, Method::Hash | Method::List(..)))
}
