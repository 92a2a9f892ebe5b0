//! Options of tables, and of whatever else has options by name and value.

use crate::ast::{Ident, ObjectName, Span};

/// An option of a table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TableOption<'a> {
    /// All of it, without a comma.
    pub span: Span,
    /// What it says.
    pub kind: TableOptionKind<'a>,
}

/// What a table's option says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TableOptionKind<'a> {
    /// `ENGINE [=] x`.
    Engine(Ident<'a>),
    /// `AUTO_INCREMENT [=] n`: the number.
    AutoIncrement(Span),
    /// `[DEFAULT] CHARACTER SET [=] x`; DEFAULT as the value: none.
    Charset(Option<Ident<'a>>),
    /// `[DEFAULT] COLLATE [=] x`; DEFAULT as the value: none.
    Collate(Option<Ident<'a>>),
    /// `COMMENT [=] 'text'`: the string.
    Comment(Span),
    /// `UNION [=] (tables)`.
    Union(&'a [ObjectName<'a>]),
    /// `WITH SYSTEM VERSIONING` (MariaDB).
    SystemVersioning,
    /// `START TRANSACTION` (MySQL).
    StartTransaction,
    /// `SEQUENCE [=] 1` (MariaDB).
    Sequence(Span),
    /// Any other: its name, which may have several words, and its value.
    Other(Span, Option<Span>),
}

/// An option of a database, a tablespace, a server or the like.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NamedOption {
    /// All of it, without a comma.
    pub span: Span,
    /// Its name, which may have several words: `DEFAULT CHARACTER SET`, `ADD DATAFILE`.
    pub name: Span,
    /// What follows the name, or the `=` after it.
    pub value: Option<Span>,
}
