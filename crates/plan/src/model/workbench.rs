//! Queries that run on one server over rows gathered there.

use weir_catalog::ShardId;

use super::{CatalogTableName, Read};

/// A query that needs rows of several shards in one place: each of its tables is gathered into a temporary table on one server, the
/// workbench, where the client's own text runs over these.
#[derive(Debug, Clone, PartialEq)]
pub struct Workbench {
    /// The shard whose server is the workbench.
    pub home: ShardId,
    /// What is gathered, in this order.
    pub fragments: Vec<Fragment>,
    /// The client's statement with temporary tables in place of its tables, on [`Workbench::home`].
    pub query: Read,
    /// It answers with rows; if not, with an OK (`SELECT … INTO @a`, `SET @a = (SELECT …)`, DO).
    pub returns: bool,
    /// Why no cheaper kind, for EXPLAIN.
    pub reason: String,
}

/// The rows of one reference to a table that can matter to a query, as a temporary table.
#[derive(Debug, Clone, PartialEq)]
pub struct Fragment {
    /// The temporary table's name. It is in the database of the table that it stands for, and no table of Weir's users has its name.
    pub name: String,
    /// The table that it stands for.
    pub table: CatalogTableName,
    /// Its columns, in the order in which `read` has them.
    pub columns: Vec<FragmentColumn>,
    /// Its primary key: columns by place; empty if it has none. Queries depend on it that select what it determines (ONLY_FULL_GROUP_BY).
    pub primary_key: Vec<usize>,
    /// Its other unique keys.
    pub unique_keys: Vec<Vec<usize>>,
    /// Its other indexes.
    pub keys: Vec<Vec<usize>>,
    /// What gives its rows.
    pub read: Read,
    /// Rows that were gathered before say which of its rows can matter.
    pub narrowed: Vec<Narrowing>,
}

/// A condition `column IN (the values that another fragment's column has)` that a fragment's query gets, if there are few.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Narrowing {
    /// The fragment that has the values: its place among those of the plan, before this one.
    pub by: usize,
    /// Its column, by place.
    pub column: usize,
    /// The values are texts of this character set; if none, they are integers.
    pub charset: Option<String>,
    /// What is compared with them.
    pub compared: Vec<u8>,
    /// How many bytes stand at the end of the query's text behind its conditions.
    pub behind: usize,
    /// It has conditions.
    pub has_condition: bool,
}

/// A column of a [`Fragment`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FragmentColumn {
    /// Its name.
    pub name: String,
    /// Its type and what else CREATE TABLE says of it: `varchar(20) COLLATE utf8mb4_bin NOT NULL`.
    pub definition: String,
    /// How its values are passed.
    pub passed: Passed,
    /// It is not one of those that `*` shows, as in the original.
    pub invisible: bool,
}

/// The form in which a fragment's query has the values of a column, and how they are written into the temporary table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Passed {
    /// A number, written as it stands.
    Number,
    /// A text of ASCII characters (a date, a UUID), written within quotes.
    Ascii,
    /// Bytes in the column's own character set, written as a binary string.
    Bytes,
    /// Bytes of UTF-8, written as a text of utf8mb4 (JSON).
    Utf8,
    /// `UNIX_TIMESTAMP` of a TIMESTAMP, which has one meaning also in the hour that is repeated when clocks are set back. Zero is the zero date.
    Epoch,
}

impl Workbench {
    /// The shards that are asked for fragments, each once, in order.
    pub fn shards(&self) -> Vec<ShardId> {
        let mut shards: Vec<ShardId> = self.fragments.iter().flat_map(|one| one.read.shards.iter().copied()).collect();
        shards.sort_unstable();
        shards.dedup();
        shards
    }

    /// Whether any shard is asked for more than one fragment: only within a transaction these belong together.
    pub fn asks_again(&self) -> bool {
        let asked: usize = self.fragments.iter().map(|one| one.read.shards.len()).sum();
        asked > self.shards().len()
    }

    /// Whether a fragment's rows are locked.
    pub fn locks(&self) -> bool {
        self.fragments.iter().any(|one| one.read.locks)
    }
}
