//! CREATE TABLE.

use super::{
    Check, ColumnDefinition, ForeignKey, KeyDefinition, KeyKind, Partitioning, PeriodDefinition, Placement, TableOption,
};
use crate::ast::{Ident, ObjectName, Query, Span};

/// CREATE TABLE.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CreateTable<'a> {
    /// OR REPLACE (MariaDB).
    pub or_replace: bool,
    /// TEMPORARY.
    pub temporary: bool,
    /// EXTERNAL (MySQL).
    pub external: bool,
    /// IF NOT EXISTS.
    pub if_not_exists: bool,
    /// The table.
    pub name: ObjectName<'a>,
    /// What it is made from.
    pub body: TableBody<'a>,
}

/// What a new table is made from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TableBody<'a> {
    /// `LIKE t`, `(LIKE t)`.
    Like(&'a TableLike<'a>),
    /// Columns, options, a query.
    Definition(&'a TableDefinition<'a>),
}

/// `LIKE t`, `(LIKE t)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TableLike<'a> {
    /// With its parentheses.
    pub span: Span,
    /// The table whose definition is taken.
    pub table: ObjectName<'a>,
    /// Weir's clause after it.
    pub placement: Option<Placement<'a>>,
}

/// Columns, options, a query: each of them may be missing, but not all.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TableDefinition<'a> {
    /// From the columns' parenthesis to the end. Empty for `CREATE TABLE t`, which the servers refuse.
    pub span: Span,
    /// What stands in parentheses.
    pub elements: Option<TableElements<'a>>,
    /// `ENGINE = InnoDB` and the like.
    pub options: &'a [TableOption<'a>],
    /// PARTITION BY.
    pub partitioning: Option<&'a Partitioning<'a>>,
    /// Weir's own clause, or the comment that stands for it.
    pub placement: Option<Placement<'a>>,
    /// IGNORE or REPLACE before the query.
    pub duplicates: Option<Duplicates>,
    /// The query whose rows the table begins with.
    pub query: Option<&'a Query<'a>>,
}

/// What becomes of rows with a key that is there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Duplicates {
    /// IGNORE.
    Ignore,
    /// REPLACE.
    Replace,
}

/// The columns and keys of a table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TableElements<'a> {
    /// With the parentheses.
    pub span: Span,
    /// At least one.
    pub list: &'a [TableElement<'a>],
}

/// A column, a key or another part of a table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TableElement<'a> {
    /// A column.
    Column(&'a ColumnDefinition<'a>),
    /// A key.
    Key(&'a KeyDefinition<'a>),
    /// FOREIGN KEY.
    ForeignKey(&'a ForeignKey<'a>),
    /// CHECK.
    Check(&'a Check<'a>),
    /// PERIOD FOR.
    Period(&'a PeriodDefinition<'a>),
}

impl TableElement<'_> {
    /// All of it.
    pub fn span(&self) -> Span {
        match self {
            Self::Column(node) => node.span,
            Self::Key(node) => node.span,
            Self::ForeignKey(node) => node.span,
            Self::Check(node) => node.span,
            Self::Period(node) => node.span,
        }
    }
}

impl<'a> CreateTable<'a> {
    /// The definition, unless the table is made LIKE another one.
    pub fn definition(&self) -> Option<&'a TableDefinition<'a>> {
        match self.body {
            TableBody::Definition(definition) => Some(definition),
            TableBody::Like(_) => None,
        }
    }

    /// Weir's clause.
    pub fn placement(&self) -> Option<&'a Placement<'a>> {
        match self.body {
            TableBody::Definition(definition) => definition.placement.as_ref(),
            TableBody::Like(like) => like.placement.as_ref(),
        }
    }
}

impl<'a> TableDefinition<'a> {
    /// What stands in the parentheses.
    pub fn elements(&self) -> &'a [TableElement<'a>] {
        self.elements.map_or(&[], |elements| elements.list)
    }

    /// The columns, in order. Those that only the query has are not among them.
    pub fn columns(&self) -> impl Iterator<Item = &'a ColumnDefinition<'a>> + use<'a> {
        self.elements().iter().filter_map(|element| match element {
            TableElement::Column(column) => Some(*column),
            _ => None,
        })
    }

    /// The column with this name. Names that differ in the case of ASCII letters are the same column; the servers fold
    /// other letters too, which takes their collations.
    pub fn column(&self, name: &[u8]) -> Option<&'a ColumnDefinition<'a>> {
        self.columns().find(|column| column.name.name.eq_ignore_ascii_case(name))
    }

    /// The keys that stand by themselves, in order; those that are a column's attributes are not among them.
    pub fn keys(&self) -> impl Iterator<Item = &'a KeyDefinition<'a>> + use<'a> {
        self.elements().iter().filter_map(|element| match element {
            TableElement::Key(key) => Some(*key),
            _ => None,
        })
    }

    /// The first column of the primary key, wherever that is declared.
    pub fn first_primary_column(&self) -> Option<Ident<'a>> {
        let of_column = self.columns().find(|column| column.is_primary_key()).map(|column| column.name);
        let of_key = || self.keys().find(|key| key.kind == KeyKind::Primary)?.parts.first()?.column();
        of_column.or_else(of_key)
    }
}
