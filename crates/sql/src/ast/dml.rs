//! INSERT, REPLACE, UPDATE, DELETE and LOAD.

use super::{
    ColumnName, Expr, Ident, Limit, ObjectName, OrderItem, Query, SelectItem, Span, TableRef, ValuesRow, With,
};

/// INSERT or REPLACE.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Insert<'a> {
    /// All of it.
    pub span: Span,
    /// REPLACE.
    pub replace: bool,
    /// The optimizer hint, with `/*+` and `*/`.
    pub hint: Option<Span>,
    /// IGNORE.
    pub ignore: bool,
    /// `LOW_PRIORITY`, DELAYED, `HIGH_PRIORITY`: the word.
    pub priority: Option<Span>,
    /// Into what.
    pub table: ObjectName<'a>,
    /// `PARTITION (p0, p1)`.
    pub partitions: &'a [Ident<'a>],
    /// The columns in parentheses. `None`: no parentheses, all columns.
    pub columns: Option<&'a [ColumnName<'a>]>,
    /// What is inserted.
    pub source: InsertSource<'a>,
    /// `AS new(a, b)`: names for the new row (MySQL).
    pub row_alias: Option<RowAlias<'a>>,
    /// ON DUPLICATE KEY UPDATE.
    pub on_duplicate: &'a [Assignment<'a>],
    /// RETURNING (MariaDB).
    pub returning: &'a [SelectItem<'a>],
}

/// What an INSERT inserts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum InsertSource<'a> {
    /// `VALUES (…), (…)`; a row may be empty.
    Values(&'a [ValuesRow<'a>]),
    /// `SET a = 1, b = 2`.
    Set(&'a [Assignment<'a>]),
    /// A query: SELECT, WITH, TABLE, or one in parentheses.
    Query(&'a Query<'a>),
}

/// `AS new(a, b)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RowAlias<'a> {
    /// All of it.
    pub span: Span,
    /// The row's name.
    pub name: Ident<'a>,
    /// Its columns' names.
    pub columns: &'a [Ident<'a>],
}

/// `column = value`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Assignment<'a> {
    /// All of it.
    pub span: Span,
    /// What is set.
    pub column: ColumnName<'a>,
    /// To what; DEFAULT is possible.
    pub value: Expr<'a>,
}

/// UPDATE of one table or of several.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Update<'a> {
    /// All of it.
    pub span: Span,
    /// WITH before it (MySQL).
    pub with: Option<&'a With<'a>>,
    /// The optimizer hint, with `/*+` and `*/`.
    pub hint: Option<Span>,
    /// `LOW_PRIORITY`.
    pub low_priority: bool,
    /// IGNORE.
    pub ignore: bool,
    /// What is read; which of them are written is said by the assignments.
    pub tables: &'a [TableRef<'a>],
    /// SET.
    pub assignments: &'a [Assignment<'a>],
    /// WHERE.
    pub condition: Option<Expr<'a>>,
    /// ORDER BY.
    pub order_by: &'a [OrderItem<'a>],
    /// LIMIT.
    pub limit: Option<&'a Limit<'a>>,
    /// RETURNING.
    pub returning: &'a [SelectItem<'a>],
}

/// DELETE from one table or from several.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Delete<'a> {
    /// All of it.
    pub span: Span,
    /// WITH before it (MySQL).
    pub with: Option<&'a With<'a>>,
    /// The optimizer hint, with `/*+` and `*/`.
    pub hint: Option<Span>,
    /// `LOW_PRIORITY`.
    pub low_priority: bool,
    /// QUICK.
    pub quick: bool,
    /// IGNORE.
    pub ignore: bool,
    /// HISTORY (MariaDB): what is deleted is old versions.
    pub history: bool,
    /// The tables whose rows are deleted, as the form with several tables names them (`t`, `db.t`, `t.*`, or an alias of
    /// [`Delete::tables`]). Empty: the one table of [`Delete::tables`].
    pub targets: &'a [ObjectName<'a>],
    /// What is read: after FROM, or after USING if that is there.
    pub tables: &'a [TableRef<'a>],
    /// The time of `BEFORE SYSTEM_TIME …`, which DELETE HISTORY may have.
    pub before: Option<Expr<'a>>,
    /// WHERE.
    pub condition: Option<Expr<'a>>,
    /// ORDER BY.
    pub order_by: &'a [OrderItem<'a>],
    /// LIMIT.
    pub limit: Option<&'a Limit<'a>>,
    /// RETURNING (MariaDB).
    pub returning: &'a [SelectItem<'a>],
}

/// LOAD DATA or LOAD XML.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Load<'a> {
    /// All of it.
    pub span: Span,
    /// LOAD XML.
    pub xml: bool,
    /// LOCAL: the client sends the file.
    pub local: bool,
    /// `LOW_PRIORITY`, CONCURRENT: the word.
    pub priority: Option<Span>,
    /// The file's name, with its quotes; MySQL's `URL` and `S3` sources too.
    pub file: Span,
    /// What happens to rows whose keys are there already.
    pub duplicates: LoadDuplicates,
    /// Into what.
    pub table: ObjectName<'a>,
    /// `PARTITION (p0, p1)`.
    pub partitions: &'a [Ident<'a>],
    /// `CHARACTER SET x`.
    pub charset: Option<Ident<'a>>,
    /// How the file is written: FIELDS, LINES, ROWS IDENTIFIED BY, IGNORE n LINES, and what MySQL has besides.
    pub format: Option<Span>,
    /// The columns and user variables that the file's fields go to. `None`: no parentheses, all columns.
    pub columns: Option<&'a [Expr<'a>]>,
    /// SET.
    pub assignments: &'a [Assignment<'a>],
}

/// What LOAD does about rows whose keys are there already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LoadDuplicates {
    /// Fails; with LOCAL, ignores them.
    #[default]
    Default,
    /// REPLACE.
    Replace,
    /// IGNORE.
    Ignore,
}
