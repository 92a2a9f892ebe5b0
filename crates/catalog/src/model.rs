//! Databases, tables and placements.
//!
//! What must always hold: names are UTF-8 and compared byte by byte, unless [`Catalog::fold_case`]; a [`ShardId`] is the place of a
//! shard in [`Catalog::shards`], and never changes its meaning (shards are added at the end, and never removed while they hold rows).

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize, Serializer};

/// How many slots rows of a hashed table fall into.
pub const SLOTS: usize = 4096;

/// The place of a shard in [`Catalog::shards`]; the same as its group's in the configuration's order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ShardId(pub u16);

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
    pub definitions: Vec<crate::definition::Definition>,
    /// Triggers, each with its table.
    #[serde(default)]
    pub triggers: Vec<(crate::definition::Object, crate::definition::Object)>,
    /// Procedures and functions, by their database.
    #[serde(default)]
    pub routines: BTreeMap<String, crate::routine::Routines>,
    /// The number of the definition that was begun last.
    #[serde(default)]
    pub last_definition: u64,
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

/// A table. Columns and keys are what the servers say of it; the placement is Weir's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// Where its rows are.
    pub placement: Placement,
    /// Its columns, in order.
    pub columns: Vec<Column>,
    /// Its primary key's columns, by place; empty if it has none.
    pub primary_key: Vec<usize>,
    /// Its other unique keys: name, columns by place. A key over an expression or a prefix is not here but in `odd_unique`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unique_keys: Vec<(String, Vec<usize>)>,
    /// Unique keys that are over expressions or prefixes of columns, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub odd_unique: Vec<String>,
    /// Unique keys (PRIMARY included) that don't hold the shard key and were allowed by `UNIQUE UNCHECKED`: unique in each shard only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unchecked: Vec<String>,
    /// Its foreign keys.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub foreign_keys: Vec<ForeignKey>,
    /// It has triggers.
    #[serde(default, skip_serializing_if = "is_false")]
    pub triggers: bool,
    /// The column that AUTO_INCREMENT fills, by place. Values come from the cluster-wide sequence, unless the table is on one shard.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auto_increment: Option<usize>,
    /// The shard clause, as SHOW CREATE TABLE shows it within `/*weir: … */`.
    pub clause: String,
    /// It is sharded because nothing else was said: it may become SINGLE as long as it has no rows.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_default: bool,
}

/// A foreign key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForeignKey {
    /// Its name.
    pub name: String,
    /// The columns, by place.
    pub columns: Vec<usize>,
    /// The table that it refers to: database, name.
    pub table: (String, String),
    /// That table's columns.
    pub references: Vec<String>,
}

/// A column, as the servers' `information_schema.columns` has it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Column {
    /// Its name. Compared without regard to case.
    pub name: String,
    /// Its type.
    pub kind: ColumnType,
    /// It may be NULL.
    #[serde(default, skip_serializing_if = "is_false")]
    pub nullable: bool,
    /// It has a default (NULL included, for a column that may be NULL).
    #[serde(default, skip_serializing_if = "is_false")]
    pub has_default: bool,
    /// It is generated from others.
    #[serde(default, skip_serializing_if = "is_false")]
    pub generated: bool,
    /// `SELECT *` and INSERT without columns leave it out.
    #[serde(default, skip_serializing_if = "is_false")]
    pub invisible: bool,
}

/// A column's type.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ColumnType {
    /// `DATA_TYPE`, in lower case: `int`, `varchar`, `decimal`.
    pub base: String,
    /// `COLUMN_TYPE`, whole: `int(10) unsigned`, `enum('a','b')`.
    pub full: String,
    /// `UNSIGNED` (or ZEROFILL, which implies it).
    #[serde(default, skip_serializing_if = "is_false")]
    pub unsigned: bool,
    /// Characters of text, bytes of binary strings, digits of decimals, bits of BIT.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub length: Option<u64>,
    /// Digits after the point of decimals, of the seconds of times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale: Option<u32>,
    /// The collation of text; `None` for all else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collation: Option<String>,
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

impl Catalog {
    /// A database, if it is sharded.
    pub fn database(&self, name: &[u8]) -> Option<(&str, &Arc<Database>)> {
        find(&self.databases, name, self.fold_case)
    }

    /// A table of a sharded database.
    pub fn table(&self, database: &[u8], name: &[u8]) -> Option<(&str, &Arc<Table>)> {
        find(&self.database(database)?.1.tables, name, self.fold_case)
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

impl Table {
    /// A column's place.
    pub fn column(&self, name: &[u8]) -> Option<usize> {
        self.columns.iter().position(|column| column.name.as_bytes().eq_ignore_ascii_case(name))
    }

    /// Its shard key, if it has one.
    pub fn shard_key(&self) -> Option<&ShardKey> {
        match &self.placement {
            Placement::Sharded(key) => Some(key),
            _ => None,
        }
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
