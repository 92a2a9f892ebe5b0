//! Groups of several shards over which a server computes expressions.

use weir_catalog::ShardId;

use crate::Read;

/// The name of the table that [`Computed::text`] reads.
pub const GIVEN_TABLE: &str = "weir";
/// The name of its column with the number of the row.
pub const GIVEN_ROW: &str = "n";

/// Groups that are folded from those of the shards; expressions over their aggregates are computed by a server, from exact values.
#[derive(Debug, Clone, PartialEq)]
pub struct Computed {
    /// The client's query without rows, on one shard: it says what the columns are.
    pub head: Read,
    /// The groups: the client's columns, but for those that are computed, then what else is needed.
    pub groups: Read,
    /// The client's columns.
    pub columns: Vec<ComputedColumn>,
    /// What the expressions are made of: columns of [`GIVEN_TABLE`], which are `c0`, `c1` and so on.
    pub given: Vec<GivenValue>,
    /// `SELECT` the row's number and the computed columns, of those rows that HAVING keeps, in the order of the result.
    pub text: Vec<u8>,
    /// Which of the client's parameters those of the text are.
    pub parameters: Vec<u32>,
    /// All rows have to be in one statement: their order is computed.
    pub whole: bool,
    /// Rows that are left out at the beginning.
    pub skip: u64,
    /// The most rows.
    pub take: Option<u64>,
    /// Why no cheaper kind, for EXPLAIN.
    pub reason: String,
}

/// Where a column of the client's comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ComputedColumn {
    /// It is this one of the groups.
    Own(usize),
    /// It is this one of those that are computed, from 0.
    Computed(usize),
}

/// A value that expressions are made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GivenValue {
    /// Its place in the groups.
    pub column: usize,
    /// It is an average: the quotient of that sum by a count, with all the digits that MySQL's AVG has, which are more than it shows.
    pub average: Option<Averaged>,
    /// Its collation, if it is text of one that is known.
    pub collation: Option<String>,
    /// What it is in the client's text, for messages.
    pub text: String,
}

/// What an average is made of besides the sum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Averaged {
    /// The place of the count.
    pub count: usize,
    /// The place of the average as it is shown: it says how many more digits than the sum it has.
    pub shown: usize,
}

impl Computed {
    /// The shards that are asked, each once, in order. One of them computes.
    pub fn shards(&self) -> &[ShardId] {
        &self.groups.shards
    }

    /// The shard that says what the columns are, and computes.
    pub fn computes(&self) -> Option<ShardId> {
        self.head.shards.first().copied()
    }
}
