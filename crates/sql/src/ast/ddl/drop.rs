//! DROP TABLE, DROP VIEW, TRUNCATE and RENAME TABLE.

use crate::ast::{ObjectName, Span};

/// DROP TABLE, DROP VIEW or DROP SEQUENCE.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DropTables<'a> {
    /// What is dropped.
    pub kind: DropKind,
    /// TEMPORARY.
    pub temporary: bool,
    /// IF EXISTS.
    pub if_exists: bool,
    /// At least one.
    pub names: &'a [ObjectName<'a>],
    /// `WAIT n`, NOWAIT (MariaDB).
    pub wait: Option<Span>,
    /// RESTRICT or CASCADE, which mean nothing.
    pub behaviour: Option<Span>,
}

/// What [`DropTables`] drops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropKind {
    /// Tables.
    Table,
    /// Views.
    View,
    /// Sequences (MariaDB).
    Sequence,
}

/// `TRUNCATE [TABLE]`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Truncate<'a> {
    /// The table.
    pub table: ObjectName<'a>,
    /// `WAIT n`, NOWAIT (MariaDB).
    pub wait: Option<Span>,
}

/// RENAME TABLE.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RenameTables<'a> {
    /// IF EXISTS (MariaDB).
    pub if_exists: bool,
    /// At least one, in the order in which they are done.
    pub renames: &'a [Rename<'a>],
}

/// `a TO b`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rename<'a> {
    /// All of it.
    pub span: Span,
    /// The table.
    pub from: ObjectName<'a>,
    /// `WAIT n`, NOWAIT (MariaDB).
    pub wait: Option<Span>,
    /// Its new name.
    pub to: ObjectName<'a>,
}
