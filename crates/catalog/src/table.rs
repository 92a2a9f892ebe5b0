//! Tables, their columns and keys: what the servers say of them, and the placement, which is Weir's.

use serde::{Deserialize, Serialize};

use crate::placement::{Placement, ShardKey};

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
    /// Its counters may be moved by one statement for several clients: `WEIR ALTER TABLE … HOT MERGE`.
    #[serde(default, skip_serializing_if = "is_false")]
    pub hot_merge: bool,
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
    /// Its default as SQL, if that is known and not NULL: a literal or an expression that means the same in every session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
    /// It is generated from others.
    #[serde(default, skip_serializing_if = "is_false")]
    pub generated: bool,
    /// It can't be NULL and has no default, for certain: a row has to give it a value.
    #[serde(default, skip_serializing_if = "is_false")]
    pub required: bool,
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
