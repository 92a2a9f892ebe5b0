//! Queries: SELECT, VALUES, TABLE, and what combines them.

use super::{Expr, Ident, ObjectName, Span, TableRef};

/// A query: a body with what surrounds it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Query<'a> {
    /// All of it.
    pub span: Span,
    /// WITH.
    pub with: Option<&'a With<'a>>,
    /// What is between.
    pub body: QueryBody<'a>,
    /// ORDER BY of the whole.
    pub order_by: &'a [OrderItem<'a>],
    /// LIMIT, or FETCH, of the whole.
    pub limit: Option<&'a Limit<'a>>,
    /// `FOR UPDATE`, `FOR SHARE OF t SKIP LOCKED`, `LOCK IN SHARE MODE`, …, in order.
    pub locks: &'a [Lock<'a>],
    /// INTO at the end. One that follows the select list directly is in [`Select::into`].
    pub into: Option<&'a Into<'a>>,
    /// `PROCEDURE ANALYSE(…)` (MariaDB).
    pub procedure: Option<Span>,
}

impl<'a> Query<'a> {
    /// A query that is nothing but its body.
    pub fn of_body(span: Span, body: QueryBody<'a>) -> Self {
        Self { span, with: None, body, order_by: &[], limit: None, locks: &[], into: None, procedure: None }
    }
}

/// What a query is made of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum QueryBody<'a> {
    /// SELECT.
    Select(&'a Select<'a>),
    /// `VALUES ROW(1, 2), ROW(3, 4)`, `VALUES (1, 2), (3, 4)` (MariaDB).
    Values(&'a Values<'a>),
    /// `TABLE t`.
    Table(&'a ExplicitTable<'a>),
    /// Queries combined, from left to right. INTERSECT binds tighter than the others: its operands are a compound of
    /// their own then, without parentheses.
    Compound(&'a Compound<'a>),
    /// `(query)`. The query's span is without these parentheses.
    Nested(&'a Query<'a>),
}

/// `VALUES …`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Values<'a> {
    /// All of it.
    pub span: Span,
    /// The rows, at least one.
    pub rows: &'a [ValuesRow<'a>],
}

/// `TABLE t`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExplicitTable<'a> {
    /// All of it.
    pub span: Span,
    /// The table.
    pub name: ObjectName<'a>,
}

/// `first UNION second EXCEPT third …`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Compound<'a> {
    /// All of it.
    pub span: Span,
    /// What comes first.
    pub first: QueryBody<'a>,
    /// What is combined with all before it; at least one.
    pub rest: &'a [CompoundTerm<'a>],
}

/// `UNION ALL query`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CompoundTerm<'a> {
    /// From UNION to the query's end, with its parentheses.
    pub span: Span,
    /// How.
    pub op: SetOp,
    /// With ALL: duplicates stay.
    pub all: bool,
    /// With what.
    pub body: QueryBody<'a>,
}

/// How two queries are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetOp {
    /// UNION.
    Union,
    /// EXCEPT, MINUS.
    Except,
    /// INTERSECT.
    Intersect,
}

/// `WITH [RECURSIVE] …`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct With<'a> {
    /// All of it.
    pub span: Span,
    /// With RECURSIVE.
    pub recursive: bool,
    /// The common table expressions.
    pub tables: &'a [CommonTable<'a>],
}

/// `name [(columns)] AS (query)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CommonTable<'a> {
    /// All of it.
    pub span: Span,
    /// Its name.
    pub name: Ident<'a>,
    /// Its columns' names.
    pub columns: &'a [Ident<'a>],
    /// What it is.
    pub query: &'a Query<'a>,
    /// `CYCLE a, b RESTRICT` (MariaDB).
    pub cycle: &'a [Ident<'a>],
}

/// `SELECT …` up to HAVING and WINDOW.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Select<'a> {
    /// All of it.
    pub span: Span,
    /// The optimizer hint, with `/*+` and `*/`.
    pub hint: Option<Span>,
    /// DISTINCT, `SQL_CALC_FOUND_ROWS`, ….
    pub options: SelectOptions,
    /// What is selected.
    pub items: &'a [SelectItem<'a>],
    /// INTO directly after the items.
    pub into: Option<&'a Into<'a>>,
    /// FROM; none, or FROM DUAL: empty.
    pub from: &'a [TableRef<'a>],
    /// WHERE.
    pub condition: Option<Expr<'a>>,
    /// GROUP BY: what it names, also within the parentheses of ROLLUP, CUBE and GROUPING SETS.
    pub group_by: &'a [OrderItem<'a>],
    /// WITH ROLLUP and the like.
    pub grouping: Grouping,
    /// HAVING.
    pub having: Option<Expr<'a>>,
    /// WINDOW.
    pub windows: &'a [NamedWindow<'a>],
    /// QUALIFY (MySQL).
    pub qualify: Option<Expr<'a>>,
}

/// What groups GROUP BY makes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Grouping {
    /// One for each combination of values; none at all without GROUP BY.
    #[default]
    Plain,
    /// WITH ROLLUP, `ROLLUP (…)` (MySQL).
    Rollup,
    /// WITH CUBE (which MariaDB reads and refuses), `CUBE (…)` (MySQL).
    Cube,
    /// `GROUPING SETS (…)` (MySQL).
    Sets,
}

/// Words between SELECT and the items.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SelectOptions {
    /// DISTINCT, DISTINCTROW.
    pub distinct: bool,
    /// `SQL_CALC_FOUND_ROWS`.
    pub calc_found_rows: bool,
    /// `STRAIGHT_JOIN`.
    pub straight_join: bool,
    /// `HIGH_PRIORITY`: the word.
    pub high_priority: Option<Span>,
    /// `SQL_BUFFER_RESULT`.
    pub buffer_result: bool,
}

/// One of the things selected.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SelectItem<'a> {
    /// With its alias.
    pub span: Span,
    /// What it is.
    pub kind: SelectItemKind<'a>,
}

/// What is selected.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SelectItemKind<'a> {
    /// `*`.
    Star,
    /// `t.*`, `db.t.*`.
    TableStar(&'a ObjectName<'a>),
    /// `expr [[AS] alias]`; an alias may be a string: its name is the contents, then.
    Expr(Expr<'a>, Option<Ident<'a>>),
}

/// `w AS (…)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NamedWindow<'a> {
    /// The window's name.
    pub name: Ident<'a>,
    /// The window.
    pub window: super::WindowSpec<'a>,
}

/// `expr [ASC | DESC]`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OrderItem<'a> {
    /// With ASC or DESC.
    pub span: Span,
    /// By what.
    pub expr: Expr<'a>,
    /// With DESC.
    pub descending: bool,
}

/// `LIMIT [offset,] count`, `LIMIT count OFFSET offset`, `OFFSET n ROWS FETCH FIRST m ROWS ONLY`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limit<'a> {
    /// All of it.
    pub span: Span,
    /// Rows at most: a literal, a parameter or a routine's variable.
    pub count: Option<Expr<'a>>,
    /// Rows to leave out.
    pub offset: Option<Expr<'a>>,
    /// WITH TIES.
    pub with_ties: bool,
    /// `ROWS EXAMINED n` (MariaDB).
    pub rows_examined: Option<Expr<'a>>,
}

/// A locking clause.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lock<'a> {
    /// All of it.
    pub span: Span,
    /// FOR UPDATE, rather than FOR SHARE or LOCK IN SHARE MODE.
    pub update: bool,
    /// OF these tables or aliases.
    pub tables: &'a [ObjectName<'a>],
    /// What if somebody else has the lock.
    pub wait: LockWait,
}

/// What a locking clause does about rows that are locked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LockWait {
    /// Waits for as long as the server's setting says.
    #[default]
    Default,
    /// NOWAIT: fails.
    NoWait,
    /// SKIP LOCKED: leaves them out.
    SkipLocked,
    /// `WAIT n` (MariaDB): waits so many seconds; the number.
    Seconds(Span),
}

/// INTO.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Into<'a> {
    /// All of it.
    pub span: Span,
    /// Whereto.
    pub target: IntoTarget<'a>,
}

/// What INTO names.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum IntoTarget<'a> {
    /// Variables: user variables, or a routine's own.
    Variables(&'a [Expr<'a>]),
    /// `OUTFILE 'name' …`: the name, with its quotes. How the file is written follows.
    Outfile(Span),
    /// `DUMPFILE 'name'`: the name, with its quotes.
    Dumpfile(Span),
}

/// A row of VALUES.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ValuesRow<'a> {
    /// With its parentheses, and ROW if it is there.
    pub span: Span,
    /// The values; DEFAULT is one.
    pub values: &'a [Expr<'a>],
}
