//! What a statement says about the rows that matter to it: its tables, which of their columns are equal to what, and within which query.
//!
//! What must always hold: a limit or an equality is noted for a table only if it holds for every row of that table that can change the
//! statement's result. A missing one costs a cheaper plan; a wrong one makes the result wrong.
//!
//! *Instances* are references to tables: a table that is named twice has two, a common table expression one for each reference.
//! *Blocks* are SELECTs (and the tables of UPDATE and DELETE). An instance *follows* another one by an equality when each of its rows
//! that matters (for one row of all tables around it) has the value of the other one's row in the column; see [`Edge`].
//!
//! * `query_graph`: from the tree to blocks and instances; `common`: WITH and views; `from`: joins in FROM; `names`: what a column name refers to;
//!   `locks`: which tables are locked.
//! * `conditions`: what conditions say; `values`: what all of them say about columns.
//! * `outer`: aggregates in subqueries that group the rows around them.

mod common;
mod conditions;
mod from;
mod locks;
mod logic;
mod names;
mod outer;
mod query_graph;
pub(crate) mod values;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use weir_catalog::{ColumnType, Database, ShardId, Table};
use weir_sql::ast::{Expr, Select};

use crate::effort::Effort;
use crate::known::KnownValue;
pub(crate) use logic::{conjuncts, disjuncts};
pub(crate) use names::AFTER_TEXT;
pub(crate) use query_graph::{Surroundings, calls, gather, has_aggregates, has_query, is_mergeable};

/// Servers join no more tables.
pub(crate) const MOST_JOINED: usize = 61;

/// All that was found.
#[derive(Default)]
pub(crate) struct Analysis<'a> {
    pub(crate) instances: Vec<Instance<'a>>,
    pub(crate) blocks: Vec<Block<'a>>,
    pub(crate) edges: Vec<Edge>,
    pub(crate) limits: Vec<Limit>,
    /// A table whose rows never matter: its block's condition is false.
    pub(crate) impossible: Vec<usize>,
    /// What the statement is about, if it is a query.
    pub(crate) outcome: Option<QueryBranches<'a>>,
    /// It names more tables, or nests deeper, than is looked at.
    pub(crate) too_large: bool,
    /// A FROM has more than [`MOST_JOINED`] tables.
    pub(crate) too_many_joined: bool,
    /// Counts lookups.
    pub(crate) effort: Option<&'a Effort>,
    /// A common table expression that is made of itself.
    pub(crate) recursive: bool,
    /// An aggregate in a subquery is one of the query around it, as it names only columns of that.
    pub(crate) outer_aggregate: bool,
}

/// A table where it is named, or what stands for one.
pub(crate) struct Instance<'a> {
    pub(crate) kind: InstanceKind<'a>,
    /// What it goes by: its alias, or its name with its database.
    pub(crate) database: Option<&'a [u8]>,
    pub(crate) name: &'a [u8],
    /// The block whose FROM it is in.
    pub(crate) block: usize,
    /// It is on the side of an outer join that may have no row.
    pub(crate) nullable: bool,
}

/// What an instance is.
pub(crate) enum InstanceKind<'a> {
    /// A table of a sharded database.
    Base(Base<'a>),
    /// A query: derived table, common table expression, view, or the right side of IN.
    Derived(Derived<'a>),
    /// A table of a database that each server has for itself.
    System,
    /// A table of another database, or one that isn't known, on this shard.
    Elsewhere(ShardId),
    /// JSON_TABLE, and what else comes with the row of others.
    Computed,
}

/// A table of a sharded database.
pub(crate) struct Base<'a> {
    pub(crate) database_name: &'a str,
    pub(crate) database: &'a Arc<Database>,
    pub(crate) name: &'a str,
    pub(crate) table: &'a Arc<Table>,
    /// A locking clause of the statement is about its rows.
    pub(crate) locked: bool,
}

/// A query in place of a table.
pub(crate) struct Derived<'a> {
    /// Its columns' names; `None` if they aren't known.
    pub(crate) names: Option<Vec<&'a [u8]>>,
    /// One of those that have no name of their own may be any word.
    pub(crate) open: bool,
    /// The types of columns that are columns of tables.
    pub(crate) types: Vec<Option<&'a ColumnType>>,
    /// Columns that can't be NULL.
    pub(crate) filled: Vec<bool>,
    pub(crate) outcome: QueryBranches<'a>,
}

/// What a query gives.
#[derive(Clone)]
pub(crate) struct QueryBranches<'a> {
    /// The SELECTs that it is made of; more than one: UNION and the like.
    pub(crate) branches: Vec<Branch<'a>>,
}

/// One SELECT of a query.
#[derive(Clone)]
pub(crate) struct Branch<'a> {
    pub(crate) block: usize,
    /// Its columns, with stars spelt out; `None` if they can't be told.
    pub(crate) columns: Option<Vec<OutColumn<'a>>>,
    /// Rows are cut (LIMIT), or depend on each other beyond groups.
    pub(crate) cut: bool,
}

/// A column that a SELECT gives.
#[derive(Clone, Copy)]
pub(crate) struct OutColumn<'a> {
    pub(crate) name: &'a [u8],
    /// The column of a table that it is.
    pub(crate) column: Option<ColumnRef>,
    /// The expression, if it is one of the text's.
    pub(crate) expr: Option<&'a Expr<'a>>,
}

/// A SELECT, or the tables of an UPDATE or DELETE.
pub(crate) struct Block<'a> {
    /// The block around it, whose columns it can name.
    pub(crate) parent: Option<usize>,
    /// Its tables, in order.
    pub(crate) sources: Vec<usize>,
    /// Columns that USING and NATURAL made one: the name, and whose they are.
    pub(crate) merged: Vec<(Vec<u8>, ColumnRef)>,
    pub(crate) select: Option<&'a Select<'a>>,
}

/// A column of an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ColumnRef {
    pub(crate) instance: usize,
    pub(crate) column: usize,
}

/// Two columns that are equal (`=`, so neither is NULL).
///
/// `right_follows`: whenever a row of the right one's table matters, the left one's table has a row with it, of the same value. Likewise
/// `left_follows`. An outer join's condition makes the side follow that may have no row, and not the other one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Edge {
    pub(crate) left: ColumnRef,
    pub(crate) right: ColumnRef,
    pub(crate) left_follows: bool,
    pub(crate) right_follows: bool,
}

/// Some columns of one instance have one of these combinations of values in each row that matters.
#[derive(Debug, Clone)]
pub(crate) struct Limit {
    pub(crate) columns: Vec<ColumnRef>,
    pub(crate) rows: Vec<Vec<KeyRange>>,
}

/// A value or a range of them.
#[derive(Debug, Clone)]
pub(crate) enum KeyRange {
    /// Equal to it; NULL if that is NULL.
    Value(KnownValue),
    /// Not NULL, and between these, each with whether it is in.
    Range(Option<(KnownValue, bool)>, Option<(KnownValue, bool)>),
}

impl<'a> Analysis<'a> {
    /// Counts steps; see [`Effort`].
    pub(super) fn spend(&self, steps: usize) -> bool {
        self.effort.is_none_or(|effort| effort.spend(steps))
    }

    /// For each column those whose rows that matter have its value.
    pub(crate) fn followers(&self) -> HashMap<ColumnRef, BTreeSet<ColumnRef>> {
        let mut next: HashMap<ColumnRef, BTreeSet<ColumnRef>> = HashMap::new();
        for edge in &self.edges {
            if edge.right_follows {
                next.entry(edge.left).or_default().insert(edge.right);
            }
            if edge.left_follows {
                next.entry(edge.right).or_default().insert(edge.left);
            }
        }
        next
    }

    pub(crate) fn base(&self, instance: usize) -> Option<&Base<'a>> {
        match &self.instances[instance].kind {
            InstanceKind::Base(base) => Some(base),
            _ => None,
        }
    }

    /// The type of a column, if it is known to be a table's column.
    pub(crate) fn kind(&self, at: ColumnRef) -> Option<&'a ColumnType> {
        match &self.instances[at.instance].kind {
            InstanceKind::Base(base) => base.table.columns.get(at.column).map(|column| &column.kind),
            InstanceKind::Derived(derived) => derived.types.get(at.column).copied().flatten(),
            _ => None,
        }
    }

    /// Whether a column can't be NULL in a row of its table.
    pub(crate) fn is_filled(&self, at: ColumnRef) -> bool {
        let instance = &self.instances[at.instance];
        let filled = match &instance.kind {
            InstanceKind::Base(base) => base.table.columns.get(at.column).is_some_and(|column| !column.nullable),
            InstanceKind::Derived(derived) => derived.filled.get(at.column).copied().unwrap_or(false),
            _ => false,
        };
        filled && !instance.nullable
    }
}

/// Whether equality means the same for two types, so that what equals a value of the one equals it in the other.
pub(crate) fn alike(one: &ColumnType, other: &ColumnType) -> bool {
    let family = |kind: &ColumnType| match kind.base.as_str() {
        "tinyint" | "smallint" | "mediumint" | "int" | "integer" | "bigint" => Some("integer"),
        "char" | "varchar" | "tinytext" | "text" | "mediumtext" | "longtext" => Some("text"),
        "binary" | "varbinary" | "tinyblob" | "blob" | "mediumblob" | "longblob" => Some("binary"),
        "decimal" | "numeric" => Some("decimal"),
        "date" => Some("date"),
        "datetime" => Some("datetime"),
        "timestamp" => Some("timestamp"),
        "year" => Some("year"),
        "uuid" => Some("uuid"),
        _ => None,
    };
    let same_text = one.collation == other.collation;
    family(one).is_some() && family(one) == family(other) && same_text
}
