//! Keys, constraints and periods.

use crate::ast::{Expr, Ident, ObjectName, Span};

/// `CONSTRAINT [name]`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Constraint<'a> {
    /// All of it.
    pub span: Span,
    /// Its name.
    pub name: Option<Ident<'a>>,
}

/// A key, as a part of a table or added to one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KeyDefinition<'a> {
    /// All of it.
    pub span: Span,
    /// CONSTRAINT.
    pub constraint: Option<Constraint<'a>>,
    /// Which kind of key.
    pub kind: KeyKind,
    /// Weir's UNCHECKED after UNIQUE: the word.
    pub unchecked: Option<Span>,
    /// IF NOT EXISTS (MariaDB).
    pub if_not_exists: bool,
    /// Its name.
    pub name: Option<Ident<'a>>,
    /// What is indexed.
    pub parts: &'a [KeyPart<'a>],
    /// USING and the like, before and after the parts.
    pub options: &'a [KeyOption<'a>],
}

/// The kinds of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyKind {
    /// PRIMARY KEY.
    Primary,
    /// UNIQUE.
    Unique,
    /// INDEX, KEY.
    Plain,
    /// FULLTEXT.
    Fulltext,
    /// SPATIAL.
    Spatial,
    /// VECTOR.
    Vector,
}

/// One of the things that a key indexes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KeyPart<'a> {
    /// All of it.
    pub span: Span,
    /// What is indexed.
    pub kind: KeyPartKind<'a>,
    /// With DESC.
    pub descending: bool,
    /// WITHOUT OVERLAPS (MariaDB): what is named is a period.
    pub without_overlaps: bool,
}

impl<'a> KeyPart<'a> {
    /// The column, unless it is an expression.
    pub fn column(&self) -> Option<Ident<'a>> {
        match self.kind {
            KeyPartKind::Column(name, _) => Some(name),
            KeyPartKind::Expr(_) => None,
        }
    }
}

/// What is indexed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum KeyPartKind<'a> {
    /// A column, or so many characters or bytes of its beginning: the number.
    Column(Ident<'a>, Option<Span>),
    /// `(expr)` (MySQL): without the parentheses.
    Expr(Expr<'a>),
}

/// `USING BTREE`, `KEY_BLOCK_SIZE = 8` and the like.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KeyOption<'a> {
    /// All of it.
    pub span: Span,
    /// What it says.
    pub kind: KeyOptionKind<'a>,
}

/// What a key's option says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum KeyOptionKind<'a> {
    /// `USING x`, `TYPE x`.
    Using(Ident<'a>),
    /// `COMMENT 'text'`: the string.
    Comment(Span),
    /// `KEY_BLOCK_SIZE [=] n`: the number.
    KeyBlockSize(Span),
    /// `WITH PARSER x`.
    Parser(Ident<'a>),
    /// VISIBLE.
    Visible,
    /// INVISIBLE.
    Invisible,
    /// IGNORED (true), NOT IGNORED (MariaDB).
    Ignored(bool),
    /// Any other: its name and its value.
    Other(Ident<'a>, Span),
}

/// FOREIGN KEY.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ForeignKey<'a> {
    /// All of it.
    pub span: Span,
    /// CONSTRAINT.
    pub constraint: Option<Constraint<'a>>,
    /// IF NOT EXISTS (MariaDB).
    pub if_not_exists: bool,
    /// The name after FOREIGN KEY.
    pub name: Option<Ident<'a>>,
    /// The columns.
    pub columns: &'a [KeyPart<'a>],
    /// What they refer to.
    pub references: References<'a>,
}

/// REFERENCES.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct References<'a> {
    /// From REFERENCES on.
    pub span: Span,
    /// CONSTRAINT before it, as a column's attribute (MariaDB).
    pub constraint: Option<Constraint<'a>>,
    /// The table.
    pub table: ObjectName<'a>,
    /// Its columns.
    pub columns: &'a [KeyPart<'a>],
    /// `MATCH FULL` and the like: the word.
    pub matching: Option<Ident<'a>>,
    /// ON DELETE.
    pub on_delete: Option<ReferenceAction>,
    /// ON UPDATE.
    pub on_update: Option<ReferenceAction>,
}

/// What becomes of rows that refer to one that goes or changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReferenceAction {
    /// RESTRICT.
    Restrict,
    /// CASCADE.
    Cascade,
    /// SET NULL.
    SetNull,
    /// SET DEFAULT.
    SetDefault,
    /// NO ACTION.
    NoAction,
}

/// `[CONSTRAINT [name]] CHECK (expr) [[NOT] ENFORCED]`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Check<'a> {
    /// All of it.
    pub span: Span,
    /// CONSTRAINT.
    pub constraint: Option<Constraint<'a>>,
    /// IF NOT EXISTS (MariaDB).
    pub if_not_exists: bool,
    /// Without the parentheses.
    pub expr: Expr<'a>,
    /// ENFORCED (true), NOT ENFORCED.
    pub enforced: Option<bool>,
}

/// `PERIOD FOR name (start, end)` (MariaDB).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PeriodDefinition<'a> {
    /// All of it.
    pub span: Span,
    /// IF NOT EXISTS.
    pub if_not_exists: bool,
    /// `SYSTEM_TIME`, or the period's name.
    pub name: Ident<'a>,
    /// The column with the start.
    pub from: Ident<'a>,
    /// The column with the end.
    pub to: Ident<'a>,
}
