//! Name resolution: which tables a statement names, in which role, and to which of them each column can belong.
//!
//! What must hold: a pure function of the tree, the default database and what is known of columns; no recursion over the
//! tree. A name that a common table expression hides is never given as a table. Without a catalog an unqualified column
//! may belong to any table in sight; then all of them are given, and [`ColumnUse::only`] is `None`. Views are tables here.
//!
//! What the server itself refuses (a column of no table, a target of DELETE that is not read) is not an error here: the
//! name is given with what is known of it.

mod common;
mod names;
mod scope;
#[cfg(test)]
mod tests;

use bitflags::bitflags;

use crate::ast::{ColumnName, CommonTable, DerivedTable, Ident, JsonTable, RowAlias, SelectItem, Span, Statement};
use crate::mode::Dialect;
use crate::visit::{Node, walk};

/// What is known of tables' columns.
pub trait Columns {
    /// Whether a table has a column; `None` if that isn't known.
    fn has(&self, database: Option<&[u8]>, table: &[u8], column: &[u8]) -> Option<bool>;
}

/// Nothing is known.
impl Columns for () {
    fn has(&self, _: Option<&[u8]>, _: &[u8], _: &[u8]) -> Option<bool> {
        None
    }
}

/// What names mean outside the statement.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// The default database.
    pub database: Option<&'a [u8]>,
    /// The kind of server.
    pub dialect: Dialect,
    /// The case of names of databases, tables and aliases does not matter: `lower_case_table_names` is not 0.
    pub fold_case: bool,
    /// What is known of columns.
    pub columns: &'a dyn Columns,
}

impl<'a> Context<'a> {
    /// A default database, and nothing else known.
    pub fn of_database(database: &'a [u8]) -> Self {
        Self { database: Some(database), dialect: Dialect::Either, fold_case: false, columns: &() }
    }

    fn same(&self, one: &[u8], other: &[u8]) -> bool {
        one == other || self.fold_case && one.eq_ignore_ascii_case(other)
    }
}

/// The names of a statement, resolved.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Resolved<'a> {
    /// What rows come from or go to, in the order in which it was found.
    pub sources: Vec<Source<'a>>,
    /// Every column that is named, in the order of the text.
    pub columns: Vec<ColumnUse<'a>>,
}

impl<'a> Resolved<'a> {
    /// The tables (and views) among the sources.
    pub fn tables(&self) -> impl Iterator<Item = (&Source<'a>, &Table<'a>)> {
        self.sources.iter().filter_map(|source| match &source.kind {
            SourceKind::Table(table) => Some((source, table)),
            _ => None,
        })
    }
}

/// What a name in FROM, or another table's name, stands for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Source<'a> {
    /// What it is.
    pub kind: SourceKind<'a>,
    /// Its name here, if that is not its own.
    pub alias: Option<Ident<'a>>,
    /// Of its name; of the whole if it has none of its own.
    pub span: Span,
}

/// What rows come from or go to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SourceKind<'a> {
    /// A table or a view.
    Table(Table<'a>),
    /// A common table expression of the statement.
    Common(&'a CommonTable<'a>),
    /// A query in FROM.
    Derived(&'a DerivedTable<'a>),
    /// `JSON_TABLE`.
    JsonTable(&'a JsonTable<'a>),
    /// The new row of an INSERT, under a name.
    NewRow(&'a RowAlias<'a>),
}

/// A table or a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Table<'a> {
    /// Its database: the default one if none is named.
    pub database: Option<&'a [u8]>,
    /// Its name.
    pub name: &'a [u8],
    /// What is done with it.
    pub roles: Roles,
}

bitflags! {
    /// What a statement does with a table.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct Roles: u16 {
        /// Its rows are read.
        const READ = 1 << 0;
        /// Its rows are written.
        const WRITTEN = 1 << 1;
        /// Its rows are written if it is the table of a column whose table isn't known.
        const MAYBE_WRITTEN = 1 << 2;
        /// Its rows are locked for others' writes: FOR SHARE.
        const LOCKED_SHARE = 1 << 3;
        /// Its rows are locked: FOR UPDATE.
        const LOCKED_UPDATE = 1 << 4;
        /// It is made, changed, removed or administered.
        const DEFINED = 1 << 5;
        /// It is told about, or referred to in a definition.
        const NAMED = 1 << 6;
        /// It is a name in a statement that has no grammar here, and may be no table at all.
        const UNKNOWN = 1 << 7;
    }
}

/// A column where it is named.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnUse<'a> {
    /// Its name, with what stands before it.
    pub name: ColumnName<'a>,
    /// What is done with it.
    pub role: ColumnRole,
    /// The item of the select list that it may be instead, by that item's alias: in ORDER BY, GROUP BY and HAVING.
    pub item: Option<&'a SelectItem<'a>>,
    /// What it can belong to, as indexes of [`Resolved::sources`]. Empty: nothing in sight, or an alias for certain.
    pub sources: Vec<usize>,
}

impl ColumnUse<'_> {
    /// The one source that it belongs to, if there is no other possibility.
    pub fn only(&self) -> Option<usize> {
        match self.sources[..] {
            [source] if self.item.is_none() => Some(source),
            _ => None,
        }
    }
}

/// What is done with a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnRole {
    /// It is read.
    Read,
    /// It is assigned, or one of INSERT's columns.
    Written,
    /// Tables are joined by it: USING. It is a column of all its sources' tables that have it.
    Joined,
}

/// Resolves the names of a statement.
pub fn resolve<'a>(statement: &'a Statement<'a>, context: &Context<'a>) -> Resolved<'a> {
    let mut resolver = names::Resolver::new(*context);
    walk(Node::Statement(statement), &mut resolver);
    resolver.resolved
}
