//! PARTITION BY.

use crate::ast::{Expr, Ident, Span};

/// PARTITION BY with all that belongs to it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Partitioning<'a> {
    /// All of it.
    pub span: Span,
    /// It begins directly after the mark of an executable comment: `/*!50100 PARTITION BY …`.
    pub in_comment: bool,
    /// How rows find their partition.
    pub method: PartitionMethod<'a>,
    /// `PARTITIONS n`: the number.
    pub count: Option<Span>,
    /// SUBPARTITION BY.
    pub subpartitioning: Option<&'a Subpartitioning<'a>>,
    /// The partitions, if they are named.
    pub definitions: &'a [PartitionDefinition<'a>],
}

/// How rows find their partition.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PartitionMethod<'a> {
    /// `[LINEAR] HASH (expr)`.
    Hash(&'a PartitionHash<'a>),
    /// `[LINEAR] KEY [ALGORITHM = n] (columns)`.
    Key(&'a PartitionKey<'a>),
    /// `RANGE (expr)`.
    Range(&'a Expr<'a>),
    /// `RANGE COLUMNS (columns)`.
    RangeColumns(&'a [Ident<'a>]),
    /// `LIST (expr)`.
    List(&'a Expr<'a>),
    /// `LIST COLUMNS (columns)`.
    ListColumns(&'a [Ident<'a>]),
    /// `SYSTEM_TIME` (MariaDB).
    SystemTime(&'a SystemTime<'a>),
}

/// `[LINEAR] HASH (expr)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PartitionHash<'a> {
    /// With LINEAR.
    pub linear: bool,
    /// Without the parentheses.
    pub expr: Expr<'a>,
}

/// `[LINEAR] KEY [ALGORITHM = n] (columns)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PartitionKey<'a> {
    /// With LINEAR.
    pub linear: bool,
    /// The algorithm's number.
    pub algorithm: Option<Span>,
    /// The columns; none: the primary key.
    pub columns: &'a [Ident<'a>],
}

/// `SYSTEM_TIME [INTERVAL n unit [STARTS expr] | LIMIT n] [AUTO]`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SystemTime<'a> {
    /// All of it.
    pub span: Span,
    /// How many units one partition holds.
    pub interval: Option<Expr<'a>>,
    /// STARTS.
    pub starts: Option<Expr<'a>>,
    /// LIMIT's number.
    pub limit: Option<Span>,
    /// AUTO.
    pub auto: bool,
}

/// `SUBPARTITION BY [LINEAR] HASH | KEY … [SUBPARTITIONS n]`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Subpartitioning<'a> {
    /// All of it.
    pub span: Span,
    /// HASH or KEY.
    pub method: PartitionMethod<'a>,
    /// How many: the number.
    pub count: Option<Span>,
}

/// A partition.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PartitionDefinition<'a> {
    /// All of it.
    pub span: Span,
    /// Its name.
    pub name: Ident<'a>,
    /// Which rows are in it.
    pub values: Option<PartitionValues<'a>>,
    /// `ENGINE = x` and the like.
    pub options: &'a [super::TableOption<'a>],
    /// Its subpartitions.
    pub subpartitions: &'a [Subpartition<'a>],
}

/// A subpartition.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Subpartition<'a> {
    /// All of it.
    pub span: Span,
    /// Its name.
    pub name: Ident<'a>,
    /// `ENGINE = x` and the like.
    pub options: &'a [super::TableOption<'a>],
}

/// Which rows a partition holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PartitionValues<'a> {
    /// `VALUES LESS THAN (…)`, `VALUES LESS THAN MAXVALUE`.
    LessThan(&'a [PartitionValue<'a>]),
    /// `VALUES IN (…)`.
    In(&'a [PartitionValue<'a>]),
    /// DEFAULT (MariaDB).
    Default,
    /// HISTORY (MariaDB).
    History,
    /// CURRENT (MariaDB).
    Current,
}

/// A value of VALUES.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PartitionValue<'a> {
    /// An expression; for several columns, [`Row`](crate::ast::ExprKind::Row).
    Expr(Expr<'a>),
    /// MAXVALUE.
    MaxValue(Span),
    /// DEFAULT (MariaDB).
    Default(Span),
    /// `(1, MAXVALUE)`.
    Tuple(&'a [PartitionValue<'a>]),
}
