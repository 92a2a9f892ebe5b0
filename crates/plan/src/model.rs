//! Plans: what `exec` runs.
//!
//! What must always hold: a plan says everything that running it needs; whoever runs it looks at neither the statement's tree nor the
//! catalog again.

mod computed;
mod workbench;
mod write;

use std::ops::Range;

use weir_catalog::ShardId;

pub use computed::*;
pub use workbench::*;
pub use write::*;

/// What is done with a statement.
#[derive(Debug, Clone, PartialEq)]
pub enum Plan {
    /// It names no table of a sharded database: it runs where the session is, as it is.
    Home,
    /// All of it is on one shard.
    Route(Route),
    /// It reads from several shards.
    Read(Read),
    /// It combines queries that are each read alone.
    Union(Box<Union>),
    /// It reads groups from several shards, and a server computes expressions over their aggregates.
    Computed(Box<Computed>),
    /// Rows of several shards are gathered on one server, where it runs.
    Workbench(Box<Workbench>),
    /// It writes on several shards, or on one of several that only its rows say.
    Write(Write),
    /// It defines something: see `exec`'s room for definitions, which works from the statement itself.
    Define,
    /// It tells about logical tables, or administers them: SHOW, DESCRIBE, ANALYZE, CHECKSUM and the like.
    Show,
    /// It locks tables of several shards.
    Lock(ShardLocks),
    /// It reads `information_schema`, of which one server has a part only.
    InformationSchema(InformationQuery),
    /// Weir runs the statements of a procedure one by one.
    Stepwise(Box<Stepwise>),
}

/// A CALL of a procedure whose statements are planned one by one.
#[derive(Debug, Clone, PartialEq)]
pub struct Stepwise {
    /// The procedure.
    pub program: weir_program::Program,
    /// Its database.
    pub database: String,
    /// Its name, as the CALL has it.
    pub name: String,
    /// The arguments' texts.
    pub arguments: Vec<Vec<u8>>,
    /// The `sql_mode` that it was made with, in which its statements run.
    pub sql_mode: String,
    /// The `collation_connection` that it was made with.
    pub connection_collation: String,
    /// The collation of its variables.
    pub collation: String,
    /// Where the values of its variables are.
    pub home: ShardId,
    /// Why it is not run by one shard.
    pub reason: String,
}

/// LOCK TABLES on several shards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShardLocks {
    /// What each shard is asked, in the order in which all sessions take locks.
    pub texts: Vec<(ShardId, Vec<u8>)>,
    /// It says how long it waits.
    pub waits: bool,
}

/// A query over `information_schema`: other shards are asked for what is missing, and it runs on one with that put into its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InformationQuery {
    /// Where it runs.
    pub home: ShardId,
    /// The tables that are not whole there.
    pub tables: Vec<InformationTable>,
    /// Where its text changes, in order.
    pub edits: Vec<(Range<usize>, InformationEdit)>,
    /// Why, for EXPLAIN.
    pub reason: String,
}

impl InformationQuery {
    /// The shards that are asked first, each once, in order.
    pub fn shards(&self) -> Vec<ShardId> {
        let mut shards: Vec<ShardId> =
            self.tables.iter().flat_map(|table| table.asks.iter().map(|(shard, _)| *shard)).collect();
        shards.sort();
        shards.dedup();
        shards
    }
}

/// A table of `information_schema` that is made whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InformationTable {
    /// Its name.
    pub name: String,
    /// What shards are asked for rows of it, in the order of the shards.
    pub asks: Vec<(ShardId, Vec<u8>)>,
    /// Which rows of the shard where the query runs are replaced by those: a condition.
    pub replaced: Option<String>,
    /// Rows of several shards that tell of the same are one, whose counts are sums.
    pub adds: bool,
    /// Tables whose next value of AUTO_INCREMENT is that of a sequence.
    pub sequences: Vec<CatalogTableName>,
}

/// A table that the catalog knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CatalogTableName {
    /// Its database.
    pub database: String,
    /// Its name.
    pub table: String,
}

/// What stands in a changed text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InformationEdit {
    /// This.
    Text(Vec<u8>),
    /// The table at this place, as a query in parentheses, and its alias, if the text gives it none.
    Table(usize, Option<Vec<u8>>),
}

/// A statement for one shard.
#[derive(Debug, Clone, PartialEq)]
pub struct Route {
    /// The shard.
    pub shard: ShardId,
    /// Its text, if it is not the client's own.
    pub text: Option<Vec<u8>>,
    /// An explicit value of the table's AUTO_INCREMENT column: its sequence goes on behind it.
    pub raise: Option<Raise>,
    /// Why this shard, for EXPLAIN.
    pub reason: String,
}

/// A read of several shards.
#[derive(Debug, Clone, PartialEq)]
pub struct Read {
    /// The shards that are asked, in order.
    pub shards: Vec<ShardId>,
    /// What each of them is asked. It has the client's columns first, then the hidden ones.
    pub text: Vec<u8>,
    /// Which of the client's parameters those of the text are, in its order: some may be missing there, some stand there twice.
    pub parameters: Vec<u32>,
    /// How many columns the client's rows have, if that is known. It is whenever places of columns are named below: then a result with
    /// another number of columns than these and the hidden ones must not be merged (somebody changed a table behind the catalog's back).
    pub columns: Option<usize>,
    /// How many hidden columns there are at the end of each row.
    pub hidden: usize,
    /// How rows become one result.
    pub merge: Merge,
    /// Rows that are left out at the beginning of the merged result.
    pub skip: u64,
    /// The most rows of the merged result.
    pub take: Option<u64>,
    /// It locks rows: it is a part of the session's transaction on each shard.
    pub locks: bool,
    /// It asks for the time: to be the same everywhere, `timestamp` has to be set on each shard for it.
    pub pin_time: bool,
    /// Why no cheaper kind, for EXPLAIN.
    pub reason: String,
}

/// UNION, EXCEPT or INTERSECT of queries that are each read alone, on shards of their own.
#[derive(Debug, Clone, PartialEq)]
pub struct Union {
    /// The whole of it without rows, on a shard that has all of its tables: it says what the columns are.
    pub head: Read,
    /// The queries, in order. The rows of each have the client's columns, then those that only keys are made of.
    pub parts: Vec<UnionPart>,
    /// What rows are sorted by, in the result. If parts are combined by comparing rows, it has all columns.
    pub keys: Vec<SortKey>,
    /// Rows that are left out at the beginning.
    pub skip: u64,
    /// The most rows.
    pub take: Option<u64>,
    /// It asks for the time: see [`Read::pin_time`].
    pub pin_time: bool,
    /// Why no cheaper kind, for EXPLAIN.
    pub reason: String,
}

/// One of the queries of a [`Union`].
#[derive(Debug, Clone, PartialEq)]
pub struct UnionPart {
    /// How it is combined with all before it.
    pub how: Combine,
    /// What gives its rows.
    pub read: Read,
}

/// How two queries are combined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Combine {
    /// All rows of both.
    All,
    /// Equal rows are one.
    Distinct,
    /// The rows that are in both. With ALL: as often as in the one that has it less often.
    Intersect {
        /// ALL.
        all: bool,
    },
    /// The rows of the first that are not in the second. With ALL: those that it has more often.
    Except {
        /// ALL.
        all: bool,
    },
}

impl Combine {
    /// Whether rows are compared for it.
    pub fn compares(self) -> bool {
        self != Combine::All
    }
}

impl Union {
    /// The shards that are asked, each once, in order.
    pub fn shards(&self) -> Vec<ShardId> {
        let parts = self.parts.iter().flat_map(|part| part.read.shards.iter().copied());
        let mut shards: Vec<ShardId> = parts.chain(self.head.shards.iter().copied()).collect();
        shards.sort_unstable();
        shards.dedup();
        shards
    }

    /// Whether any shard is asked for rows more than once: only within a transaction these belong together.
    pub fn asks_again(&self) -> bool {
        let mut shards: Vec<ShardId> = self.parts.iter().flat_map(|part| part.read.shards.iter().copied()).collect();
        shards.sort_unstable();
        shards.windows(2).any(|two| two[0] == two[1])
    }
}

impl Read {
    /// The rows that a text has on one shard, with these of the client's parameters.
    pub fn of_one(shard: ShardId, text: Vec<u8>, parameters: Vec<u32>, reason: String) -> Read {
        Read {
            shards: vec![shard],
            text,
            parameters,
            columns: None,
            hidden: 0,
            merge: Merge::Concatenate,
            skip: 0,
            take: None,
            locks: false,
            pin_time: false,
            reason,
        }
    }
}

/// How rows of several shards become one result.
#[derive(Debug, Clone, PartialEq)]
pub enum Merge {
    /// All of them, in any order.
    Concatenate,
    /// Each shard's rows come sorted by these keys, and so does the result.
    Sorted(Vec<SortKey>),
    /// Equal rows of all shards are one: each shard's rows are sorted by the group's keys; folded, they are the result's rows.
    Grouped(Grouped),
}

/// Rows that are folded.
#[derive(Debug, Clone, PartialEq)]
pub struct Grouped {
    /// What makes rows equal, and by what each shard's rows are sorted. Empty: all rows are one group, and there is always one.
    pub keys: Vec<SortKey>,
    /// One for each of the client's columns, then those of hidden columns of the folded rows, if HAVING or the order needs any. The column
    /// at each place has the type that the shards' column at that place has.
    pub columns: Vec<Fold>,
    /// Conditions of HAVING on the folded rows.
    pub having: Option<Condition>,
    /// The order of the folded rows (places in these), if it is another one than that of the keys: they are sorted in memory, which has a bound.
    pub order: Option<Vec<SortKey>>,
    /// WITH ROLLUP: for each prefix of the keys, shortest last, a row with NULLs in the key's columns follows its group: the client's columns
    /// that are NULL then, for each key.
    pub rollup: Option<Vec<Vec<usize>>>,
}

/// A column that rows are sorted by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SortKey {
    /// Its place in the rows that shards send.
    pub column: usize,
    /// From the greatest to the least.
    pub descending: bool,
    /// How values compare.
    pub by: Compare,
}

/// How values compare. NULL is less than all others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Compare {
    /// By the column's type as the server reports it: numbers as numbers, dates and times as these, binary strings byte by byte. Never
    /// text of a character set.
    Value,
    /// Byte by byte.
    Bytes,
    /// The column is `WEIGHT_STRING` of text of this collation. If that is a PAD SPACE one, the shorter weight string is continued with the
    /// weight of a space; if not, bytes compare.
    Weights {
        /// The collation.
        collation: String,
    },
    /// Nothing is known of the type: the column is the value, and two hidden ones tell more.
    ByCollation {
        /// The place of `WEIGHT_STRING` of the value.
        weight: usize,
        /// The place of `COLLATION` of the value, the same in all rows: if it is `binary` (or NULL) values compare as by
        /// [`Compare::Value`], else as by [`Compare::Weights`] of that collation.
        collation: usize,
    },
}

/// How a column of a folded row comes about, from columns of the shards' rows by place.
#[derive(Debug, Clone, PartialEq)]
pub enum Fold {
    /// The value of the group's first row (keys, and what depends on them).
    First(usize),
    /// The sum of integers or decimals, as DECIMAL; NULL if all are. If the server reports the column as approximate, as `SumFloat`.
    Sum(usize),
    /// The sum of counts: a BIGINT that is never NULL.
    Count(usize),
    /// The sum of approximate numbers.
    SumFloat(usize),
    /// The least, by this comparison of this column; the value is that of `value`.
    Min {
        /// What is shown.
        value: usize,
        /// What is compared.
        key: SortKey,
    },
    /// The greatest.
    Max {
        /// What is shown.
        value: usize,
        /// What is compared.
        key: SortKey,
    },
    /// The sum by the count, with `div_precision_increment` digits more than the sum has.
    Average {
        /// The sum's column.
        sum: usize,
        /// The count's column.
        count: usize,
        /// It is approximate (as it is, too, if the server reports the sum so).
        float: bool,
    },
    /// BIT_AND, BIT_OR, BIT_XOR of unsigned 64-bit integers.
    BitAnd(usize),
    /// See `BitAnd`.
    BitOr(usize),
    /// See `BitAnd`.
    BitXor(usize),
    /// Standard deviation or variance, from count, mean and variance of the parts, as approximate numbers without a fixed number of
    /// decimals (`AVG(x + 0e0)`, `VAR_POP(x + 0e0)`).
    Variance {
        /// The count's column.
        count: usize,
        /// The mean of each part.
        mean: usize,
        /// The population variance of each part.
        variance: usize,
        /// Divided by the count less one.
        sample: bool,
        /// Its square root.
        root: bool,
    },
    /// Texts of parts, one after another with a separator, at most `group_concat_max_len` bytes. Only where no order is asked for.
    Concat {
        /// The texts.
        column: usize,
        /// The separator.
        separator: Vec<u8>,
        /// The column with `@@group_concat_max_len`, as the shards have it.
        limit: usize,
    },
    /// What only the distinct ones of sub-groups count for: `COUNT(DISTINCT …)` and the like. The column's rows are sub-groups, sorted behind
    /// the keys; of equal ones (by `by`) the first is folded.
    Distinct {
        /// What makes sub-groups equal.
        by: Vec<SortKey>,
        /// What is done with the first of equal ones. `Count` counts those whose `by` has no NULL.
        fold: Box<Fold>,
    },
    /// What depends on the order of rows: GROUP_CONCAT with ORDER BY. The rows of a group come sorted by these keys behind the group's own.
    InOrder {
        /// The order.
        by: Vec<SortKey>,
        /// What is done with them.
        fold: Box<Fold>,
    },
}

/// A condition of HAVING on a folded row.
#[derive(Debug, Clone, PartialEq)]
pub enum Condition {
    /// A client's or hidden column, folded by this, compared with a number or a text of digits.
    Compare {
        /// The column of the folded row, hidden ones included.
        column: usize,
        /// `<`, `<=`, `=`, `<>`, `>=`, `>`.
        operator: Comparison,
        /// The other side: an exact number, as text.
        number: String,
    },
    /// All of them.
    And(Vec<Condition>),
    /// One of them.
    Or(Vec<Condition>),
}

/// A comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Comparison {
    Less,
    LessOrEqual,
    Equal,
    NotEqual,
    GreaterOrEqual,
    Greater,
}
