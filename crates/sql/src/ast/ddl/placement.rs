//! Weir's own clause of a table: which shards hold its rows.

use super::PartitionValues;
use crate::ast::{Ident, Span};

/// Where a table's rows are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Placement<'a> {
    /// All of it: what is cut out before a server gets the text. For a comment, with `/*` and `*/`.
    pub span: Span,
    /// It is a comment: `/*weir: shard by hash(id) */`.
    pub in_comment: bool,
    /// What it says.
    pub kind: PlacementKind<'a>,
    /// `UNIQUE UNCHECKED (keys)` at the end of a comment: the unique keys that need not hold the shard key, by name.
    pub unchecked: &'a [Ident<'a>],
}

/// Where rows are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PlacementKind<'a> {
    /// `GLOBAL`: all rows on each shard.
    Global,
    /// `SINGLE [ON SHARD 's1']`, `DISTRIBUTED BY (s1)`: all rows on one shard.
    Single(Option<Ident<'a>>),
    /// `SHARD BY …`: each row on one shard.
    Sharded(&'a ShardBy<'a>),
}

/// `SHARD BY method (columns) [PARTITIONS n] [(ranges)]`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShardBy<'a> {
    /// How.
    pub method: ShardMethod,
    /// The shard key.
    pub columns: &'a [Ident<'a>],
    /// `PARTITIONS n`, which is recorded only: the number.
    pub count: Option<Span>,
    /// Which values are where.
    pub parts: &'a [ShardPart<'a>],
}

/// How a key's value says which shard it is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShardMethod {
    /// By the hash of the value.
    Hash,
    /// By ranges of values.
    Range,
    /// By lists of values.
    List,
    /// By a date's year.
    Year,
    /// By a date's year and month.
    Month,
    /// By a date.
    Day,
}

/// `s1 VALUES LESS THAN (10)`, `s1 VALUES IN (1, 2)`, `s1 DEFAULT`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShardPart<'a> {
    /// All of it.
    pub span: Span,
    /// The shard.
    pub shard: Ident<'a>,
    /// The values whose rows it holds.
    pub values: PartitionValues<'a>,
}
