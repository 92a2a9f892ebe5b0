//! From where an engine goes on.
//!
//! What must always hold: every change of a source behind a checkpoint's position is applied again by who starts from it, and all rows
//! up to the last keys were copied, as they were then or later. Doing so from an older checkpoint does no harm.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use weir_catalog::ShardId;

use crate::plan::Plan;
use crate::position::{Position, Positions};

/// See the module. One is given out when a source's copy of a table begins or ends, and about each second.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// The sources.
    pub sources: BTreeMap<ShardId, SourceCheckpoint>,
}

/// That of a source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceCheckpoint {
    /// All before it was applied.
    pub position: Position,
    /// How many rows were copied.
    #[serde(default)]
    pub rows: u64,
    /// How far its tables are copied, by name (`schema.table`).
    pub tables: BTreeMap<String, Copied>,
}

/// How far a table of a source is copied.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Copied {
    /// Not yet.
    #[default]
    Nothing,
    /// Up to the row with this key: its values as literals of SQL.
    UpTo(Vec<String>),
    /// All of it.
    All,
}

impl Checkpoint {
    /// One where nothing is copied yet.
    pub fn beginning(positions: &Positions) -> Checkpoint {
        let source =
            |position: &Position| SourceCheckpoint { position: position.clone(), rows: 0, tables: BTreeMap::new() };
        Checkpoint { sources: positions.iter().map(|(shard, position)| (*shard, source(position))).collect() }
    }

    /// One where nothing is left to be copied: all targets have what the sources had at these positions.
    pub fn following(plan: &Plan, positions: &Positions) -> Checkpoint {
        let sources = positions.iter().map(|(shard, position)| {
            let tables = plan.tables.iter().flat_map(|table| {
                let here = table.sources.iter().filter(|site| site.shard == *shard);
                here.map(|site| (table_name(&site.schema, &table.name), Copied::All))
            });
            (*shard, SourceCheckpoint { position: position.clone(), rows: 0, tables: tables.collect() })
        });
        Checkpoint { sources: sources.collect() }
    }
}

pub(crate) fn table_name(schema: &str, table: &str) -> String {
    format!("{schema}.{table}")
}
