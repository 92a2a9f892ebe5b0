//! CREATE INDEX and DROP INDEX.

use super::{KeyKind, KeyOption, KeyPart};
use crate::ast::{Ident, ObjectName, Span};

/// CREATE INDEX.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CreateIndex<'a> {
    /// OR REPLACE (MariaDB).
    pub or_replace: bool,
    /// Never [`KeyKind::Primary`].
    pub kind: KeyKind,
    /// Weir's UNCHECKED after UNIQUE: the word.
    pub unchecked: Option<Span>,
    /// IF NOT EXISTS (MariaDB).
    pub if_not_exists: bool,
    /// Its name.
    pub name: Ident<'a>,
    /// Of which table.
    pub table: ObjectName<'a>,
    /// What is indexed.
    pub parts: &'a [KeyPart<'a>],
    /// USING and the like, before and after the parts.
    pub options: &'a [KeyOption<'a>],
    /// `ALGORITHM = x`, `LOCK = x`, `WAIT n`, NOWAIT at the end: all of them.
    pub how: &'a [Span],
}

/// DROP INDEX.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DropIndex<'a> {
    /// IF EXISTS (MariaDB).
    pub if_exists: bool,
    /// Its name; the word PRIMARY in quotes is the primary key's.
    pub name: Ident<'a>,
    /// Of which table.
    pub table: ObjectName<'a>,
    /// `ALGORITHM = x`, `LOCK = x`, `WAIT n`, NOWAIT: all of them.
    pub how: &'a [Span],
}
