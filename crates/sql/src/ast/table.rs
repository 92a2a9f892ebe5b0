//! What stands in FROM, and in place of the tables of UPDATE and DELETE.

use super::{Expr, Ident, JsonTable, ObjectName, Query, Span};

/// What stands in FROM: a table, or several joined.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TableRef<'a> {
    /// All of it.
    pub span: Span,
    /// What it is.
    pub kind: TableRefKind<'a>,
}

/// What a table reference is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TableRefKind<'a> {
    /// A table, a view or a common table expression by its name.
    Table(&'a NamedTable<'a>),
    /// `[LATERAL] (query) [AS] alias [(columns)]`.
    Derived(&'a DerivedTable<'a>),
    /// `JSON_TABLE(…) [AS] alias`.
    JsonTable(&'a JsonTable<'a>),
    /// A join.
    Join(&'a Join<'a>),
    /// `(a, b JOIN c)`.
    Nested(&'a [TableRef<'a>]),
    /// `{OJ …}`.
    Odbc(&'a TableRef<'a>),
}

/// A table by its name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NamedTable<'a> {
    /// Its name.
    pub name: ObjectName<'a>,
    /// `PARTITION (p0, p1)`.
    pub partitions: &'a [Ident<'a>],
    /// `FOR SYSTEM_TIME …`, `FOR PORTION OF …` (MariaDB).
    pub period: Option<&'a Period<'a>>,
    /// Another name for it here.
    pub alias: Option<Ident<'a>>,
    /// `USE INDEX …` and the like.
    pub index_hints: &'a [IndexHint<'a>],
    /// `TABLESAMPLE …` (MySQL).
    pub sample: Option<&'a TableSample<'a>>,
}

/// Which versions of rows a table of MariaDB shows, or which part of their validity a change is for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Period<'a> {
    /// All of it.
    pub span: Span,
    /// Which clause it is.
    pub kind: PeriodKind<'a>,
    /// Its points in time, in order: none, one or two.
    pub bounds: &'a [Expr<'a>],
}

/// The clauses about periods.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PeriodKind<'a> {
    /// `FOR SYSTEM_TIME ALL`.
    All,
    /// `FOR SYSTEM_TIME AS OF time`.
    AsOf,
    /// `FOR SYSTEM_TIME BETWEEN time AND time`.
    Between,
    /// `FOR SYSTEM_TIME FROM time TO time`.
    From,
    /// `FOR PORTION OF period FROM time TO time`.
    Portion(Ident<'a>),
}

/// `TABLESAMPLE SYSTEM | BERNOULLI (percentage)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TableSample<'a> {
    /// All of it.
    pub span: Span,
    /// With BERNOULLI, which chooses rows rather than pages.
    pub bernoulli: bool,
    /// How much of the table.
    pub percentage: Expr<'a>,
}

/// `USE | FORCE | IGNORE INDEX [FOR …] (names)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IndexHint<'a> {
    /// All of it.
    pub span: Span,
    /// What is to be done with them.
    pub kind: IndexHintKind,
    /// What for.
    pub scope: IndexHintScope,
    /// The indexes that it names; none: USE INDEX () uses none.
    pub names: &'a [Ident<'a>],
}

/// What an index hint wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexHintKind {
    /// USE.
    Use,
    /// FORCE.
    Force,
    /// IGNORE.
    Ignore,
}

/// What an index hint is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexHintScope {
    /// Everything.
    All,
    /// FOR JOIN.
    Join,
    /// FOR ORDER BY.
    OrderBy,
    /// FOR GROUP BY.
    GroupBy,
}

/// A query in FROM.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DerivedTable<'a> {
    /// It sees the tables before it.
    pub lateral: bool,
    /// The query, without its parentheses.
    pub query: &'a Query<'a>,
    /// `FOR SYSTEM_TIME …` (MariaDB): for the tables in the query.
    pub period: Option<&'a Period<'a>>,
    /// Its name. A server that reads one without asks for it later.
    pub alias: Option<Ident<'a>>,
    /// Its columns' names.
    pub columns: &'a [Ident<'a>],
}

/// `left JOIN right ON …`. (No server has FULL JOIN: they read `a FULL JOIN b` as a table with the alias `full`.)
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Join<'a> {
    /// How.
    pub kind: JoinKind,
    /// With NATURAL.
    pub natural: bool,
    /// What comes first in the text.
    pub left: TableRef<'a>,
    /// What comes second.
    pub right: TableRef<'a>,
    /// ON.
    pub on: Option<Expr<'a>>,
    /// USING.
    pub using: &'a [Ident<'a>],
}

/// How tables are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinKind {
    /// JOIN, INNER JOIN, CROSS JOIN.
    Inner,
    /// `STRAIGHT_JOIN`.
    Straight,
    /// `LEFT [OUTER] JOIN`.
    Left,
    /// `RIGHT [OUTER] JOIN`.
    Right,
}
