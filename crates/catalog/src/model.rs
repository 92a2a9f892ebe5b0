//! The catalog: a snapshot of all databases, and what is found in it by name.
//!
//! What must always hold: names are UTF-8 and compared byte by byte, unless [`Catalog::fold_case`]; a [`ShardId`] is the place of a
//! shard in [`Catalog::shards`], and never changes its meaning (shards are added at the end, and never removed while they hold rows).

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::definition::Definition;
use crate::event::Event;
use crate::moves::Move;
use crate::object::Object;
use crate::placement::{ShardId, SlotMap};
use crate::routine::Routines;
use crate::table::Table;

/// A snapshot of all that is known. Cheap to clone: databases and tables are shared.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Catalog {
    /// Grows by one with every change.
    pub version: u64,
    /// The shards' names.
    pub shards: Vec<String>,
    /// The sharded databases. What is not here is on the home shard (shard 0) alone, and none of Weir's business.
    pub databases: BTreeMap<String, Arc<Database>>,
    /// Names of databases and tables don't depend on case: the servers' `lower_case_table_names` is not 0.
    #[serde(default, skip_serializing_if = "is_false")]
    pub fold_case: bool,
    /// Definitions that not all of their shards have yet.
    #[serde(default)]
    pub definitions: Vec<Definition>,
    /// Triggers, each with its table.
    #[serde(default)]
    pub triggers: Vec<(Object, Object)>,
    /// Events that use tables.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<Event>,
    /// Procedures and functions, by their database.
    #[serde(default)]
    pub routines: BTreeMap<String, Routines>,
    /// The number of the definition that was begun last.
    #[serde(default)]
    pub last_definition: u64,
    /// Moves of tables: those in progress, and the latest of those that have ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub moves: Vec<Move>,
    /// The number of the move that was begun last.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub last_move: u64,
    /// Tables that have moved, and the version since which their rows are where they are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub relocated: Vec<(Object, u64)>,
    /// Shards that are to hold nothing: databases are not created there, and nothing moves there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub draining: Vec<ShardId>,
}

/// A database whose tables are spread over shards.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Database {
    /// The shards that hold it, in order.
    pub shards: Vec<ShardId>,
    /// Where the slots of its hashed tables are. One map for all of them: tables whose keys have equal types are co-located.
    pub slots: SlotMap,
    /// Its tables.
    pub tables: BTreeMap<String, Arc<Table>>,
    /// Its views: name, and the text of the query with names of databases spelt out.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub views: BTreeMap<String, String>,
    /// Tables without a clause are SINGLE.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub default_single: bool,
}

/// The shard, of those with a GLOBAL table, where its rows are locked before their copies on the others are. One order for all keeps writers of
/// one row from waiting for each other on two shards, and makes a locking read of one copy enough.
pub fn lead_shard(shards: &[ShardId]) -> Option<ShardId> {
    shards.iter().min().copied()
}

impl Catalog {
    /// A database, if it is sharded.
    pub fn database(&self, name: &[u8]) -> Option<(&str, &Arc<Database>)> {
        find(&self.databases, name, self.fold_case)
    }

    /// A table of a sharded database.
    pub fn table(&self, database: &[u8], name: &[u8]) -> Option<(&str, &Arc<Table>)> {
        find(&self.database(database)?.1.tables, name, self.fold_case)
    }

    /// A view of a sharded database: its name and its query. Where a table has the name, that is meant.
    pub fn view(&self, database: &[u8], name: &[u8]) -> Option<(&str, &str)> {
        self.database(database)?.1.view(name, self.fold_case)
    }

    /// A shard by its name.
    pub fn shard(&self, name: &str) -> Option<ShardId> {
        let at = self.shards.iter().position(|shard| shard == name)?;
        u16::try_from(at).ok().map(ShardId)
    }

    /// All shards of the cluster, in order.
    pub fn all_shards(&self) -> impl Iterator<Item = ShardId> {
        (0..self.shards.len()).filter_map(|at| u16::try_from(at).ok().map(ShardId))
    }

    /// A shard's name.
    pub fn shard_name(&self, shard: ShardId) -> &str {
        self.shards.get(usize::from(shard.0)).map_or("?", String::as_str)
    }
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Database {
    /// A view: its name and its query. `fold_case`: as [`Catalog::fold_case`].
    pub fn view(&self, name: &[u8], fold_case: bool) -> Option<(&str, &str)> {
        find(&self.views, name, fold_case).map(|(view, query)| (view, &**query))
    }
}

fn is_false(value: &bool) -> bool {
    !value
}

fn find<'a, T>(map: &'a BTreeMap<String, T>, name: &[u8], fold_case: bool) -> Option<(&'a str, &'a T)> {
    let name = std::str::from_utf8(name).ok()?;
    match map.get_key_value(name) {
        Some((name, found)) => Some((name, found)),
        None if fold_case => map
            .iter()
            .find(|(known, _)| known.to_lowercase() == name.to_lowercase())
            .map(|(name, found)| (&**name, found)),
        None => None,
    }
}
