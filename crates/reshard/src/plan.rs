//! What is to be moved: physical tables, from where, to where, and how a row's place is told.
//!
//! What must always hold: a table's key names a row over all of its sources, and is the same on both sides.

use std::collections::BTreeSet;
use std::pin::Pin;
use std::sync::Arc;

use weir_catalog::{Column, ShardId, Table};
use weir_wire::Failure;

use crate::MoveError;

/// A future of a trait's method.
pub type Later<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// All that is moved together.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The tables.
    pub tables: Vec<TablePlan>,
}

/// A table, physically: on one side and on the other.
#[derive(Clone)]
pub struct TablePlan {
    /// Its name, on both sides.
    pub name: String,
    /// All its columns, in order.
    pub columns: Vec<Column>,
    /// The columns of the key by which rows are copied and told apart, by place: see [`key_of`]. It must be unique over all sources.
    pub key: Vec<usize>,
    /// Where its rows come from. Of a GLOBAL table: one of the shards.
    pub sources: Vec<Site>,
    /// Where its rows go.
    pub targets: Vec<Site>,
    /// Which of the targets a row belongs to.
    pub placement: Arc<dyn RowPlacement>,
}

/// A schema on a shard.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Site {
    /// The shard.
    pub shard: ShardId,
    /// The schema that has the table there.
    pub schema: String,
}

/// Where a row belongs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Placed {
    /// To every target.
    Everywhere,
    /// To this shard.
    On(ShardId),
    /// [`RowPlacement::learn`] has to learn the weights of these characters of a collation first.
    NeedsWeights(String, Vec<char>),
}

/// How a row's place is told from its values.
pub trait RowPlacement: Send + Sync {
    /// The places of the columns that it depends on.
    fn columns(&self) -> &[usize];

    /// Where a row with these values belongs, one for each of [`RowPlacement::columns`]. A value is in the form in which
    /// [`weir_plan::passed`] has it, as a text row: digits, bytes of the column's character set.
    ///
    /// # Errors
    /// A failure when it belongs nowhere, or that can't be said.
    fn place(&self, values: &[Option<&[u8]>]) -> Result<Placed, Failure>;

    /// Learns weights.
    ///
    /// # Errors
    /// When no server can be asked.
    fn learn<'a>(&'a self, collation: &'a str, chars: &'a [char]) -> Later<'a, Result<(), Failure>>;
}

impl std::fmt::Debug for TablePlan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TablePlan")
            .field("name", &self.name)
            .field("sources", &self.sources)
            .field("targets", &self.targets)
            .finish_non_exhaustive()
    }
}

impl Plan {
    /// The shards that rows come from, each once, in order.
    pub fn sources(&self) -> Vec<ShardId> {
        let all: BTreeSet<ShardId> =
            self.tables.iter().flat_map(|table| &table.sources).map(|site| site.shard).collect();
        all.into_iter().collect()
    }

    /// The shards that rows go to, each once, in order.
    pub fn targets(&self) -> Vec<ShardId> {
        let all: BTreeSet<ShardId> =
            self.tables.iter().flat_map(|table| &table.targets).map(|site| site.shard).collect();
        all.into_iter().collect()
    }
}

/// The key by which a table's rows can be copied and told apart: its primary key, or else a unique key of columns that are never NULL.
///
/// # Errors
/// When it has none, with the way out.
pub fn key_of(name: &str, table: &Table) -> Result<Vec<usize>, MoveError> {
    let usable = |key: &[usize]| {
        !key.is_empty()
            && key.iter().all(|place| {
                let column = table.columns.get(*place);
                column.is_some_and(|column| !column.nullable && !column.generated && crate::key::is_usable(column))
            })
    };
    if usable(&table.primary_key) {
        return Ok(table.primary_key.clone());
    }
    let unique = table.unique_keys.iter().map(|(_, key)| key).find(|key| usable(key));
    unique.cloned().ok_or_else(|| {
        MoveError::refused(format!(
            "Table '{name}' has no key by which its rows can be moved: add a PRIMARY KEY, or a UNIQUE key of NOT NULL columns that are not \
             generated (ALTER TABLE … ADD COLUMN … BIGINT UNSIGNED NOT NULL AUTO_INCREMENT UNIQUE)"
        ))
    })
}
