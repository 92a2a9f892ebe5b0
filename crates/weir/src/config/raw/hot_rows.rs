//! `[hot_rows]`, as it is written.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::units::DurationText;

/// `[hot_rows]`
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct RawHotRows {
    /// Whether statements that change the same row at the same time are run in batches.
    pub(crate) enabled: bool,
    /// How many statements in flight for one row make it hot. Below that, statements run as ever.
    #[schemars(range(min = 2, max = 10_000))]
    pub(crate) threshold: u32,
    /// The maximum number of statements in a batch.
    #[schemars(range(min = 1, max = 10_000))]
    pub(crate) max_batch: u32,
    /// How long the statements of a batch should take together, until it is committed. Its rows are locked for that time, and other
    /// transactions that want them wait.
    pub(crate) max_hold: DurationText,
    /// The tables, as `"database.table"`, whose counters Weir may change by one statement for several clients: `c = c + k` or `c = c - k`
    /// with a guard on the same column, where each client provably gets the result that it would have had alone. The binary log then has one
    /// change for a batch. For sharded databases use `WEIR ALTER TABLE … HOT MERGE` instead.
    #[schemars(extend("format" = "database.table"), example = ["shop.stock"])]
    pub(crate) merge: Vec<String>,
    /// How many statements of open transactions may wait on the server for one hot row. Others wait in Weir, so that the server does not
    /// look for deadlocks among hundreds.
    #[schemars(range(min = 1, max = 10_000))]
    pub(crate) admission: u32,
}

impl Default for RawHotRows {
    fn default() -> Self {
        Self { enabled: true, threshold: 4, max_batch: 256, max_hold: "50ms".into(), admission: 4, merge: Vec::new() }
    }
}
