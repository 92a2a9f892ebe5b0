//! Views.

use crate::ast::{Account, Ident, ObjectName, Query, Span};

/// CREATE VIEW and ALTER VIEW.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CreateView<'a> {
    /// ALTER, rather than CREATE.
    pub alter: bool,
    /// OR REPLACE.
    pub or_replace: bool,
    /// ALGORITHM's word.
    pub algorithm: Option<Ident<'a>>,
    /// DEFINER.
    pub definer: Option<Account<'a>>,
    /// SQL SECURITY's word: DEFINER or INVOKER.
    pub security: Option<Ident<'a>>,
    /// Which kind of view.
    pub kind: ViewKind,
    /// IF NOT EXISTS, or IF EXISTS of ALTER.
    pub conditional: bool,
    /// The view.
    pub name: ObjectName<'a>,
    /// Its columns' names.
    pub columns: &'a [Ident<'a>],
    /// What it shows.
    pub query: &'a Query<'a>,
    /// `WITH [CASCADED | LOCAL] CHECK OPTION`.
    pub check_option: Option<Span>,
}

/// The kinds of views.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ViewKind {
    /// VIEW.
    Plain,
    /// MATERIALIZED VIEW (MySQL).
    Materialized,
    /// `JSON [RELATIONAL] DUALITY VIEW` (MySQL).
    Duality,
}
