//! Which tables the locking clauses of a query are about.
//!
//! What must always hold: a table is told to be locked wherever a server may lock its rows for a clause; queries within a query have clauses
//! of their own.

use weir_sql::ast::{Lock, ObjectName};

use super::query_graph::Gatherer;

/// What locks the tables of a query.
#[derive(Clone, Copy)]
pub(super) enum Locks<'a> {
    /// These clauses.
    Of(&'a [Lock<'a>]),
    /// It is a view's, and a clause is about the view.
    All,
}

impl Gatherer<'_> {
    /// Whether a table is locked that goes by a name.
    pub(super) fn is_locked(&self, database: Option<&[u8]>, called: &[u8]) -> bool {
        let names = |name: &ObjectName<'_>| {
            let other = name.database.zip(database).is_some_and(|(named, own)| !self.same(named.name, own));
            !other && self.same(name.name.name, called)
        };
        match self.locks {
            Locks::All => true,
            Locks::Of(locks) => locks.iter().any(|lock| lock.tables.is_empty() || lock.tables.iter().any(names)),
        }
    }
}
