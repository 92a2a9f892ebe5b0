//! Conditions, compound statements outside of routines, and Weir's own statements.

use super::{Expr, Ident, Span};

/// `SIGNAL …`, `RESIGNAL …`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Signal<'a> {
    /// RESIGNAL.
    pub again: bool,
    /// Which condition; RESIGNAL may leave it out.
    pub condition: Option<SignalCondition<'a>>,
    /// SET: what is known about it.
    pub items: &'a [SignalItem<'a>],
}

/// Which condition is raised.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SignalCondition<'a> {
    /// `SQLSTATE [VALUE] '45000'`: the string.
    State(Span),
    /// A condition that the routine declares.
    Named(Ident<'a>),
}

/// `MESSAGE_TEXT = value`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SignalItem<'a> {
    /// All of it.
    pub span: Span,
    /// What.
    pub name: Ident<'a>,
    /// To what.
    pub value: Expr<'a>,
}

/// `GET [CURRENT | STACKED] DIAGNOSTICS …`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GetDiagnostics<'a> {
    /// STACKED.
    pub stacked: bool,
    /// CONDITION with its number. `None`: about the statement.
    pub condition: Option<Expr<'a>>,
    /// What is asked.
    pub items: &'a [DiagnosticsItem<'a>],
}

/// `target = NAME`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DiagnosticsItem<'a> {
    /// All of it.
    pub span: Span,
    /// A user variable, or one of the routine.
    pub target: Expr<'a>,
    /// `NUMBER`, `ROW_COUNT`, `MESSAGE_TEXT`, ….
    pub name: Ident<'a>,
}

/// `BEGIN NOT ATOMIC … END`, `IF … END IF`, `LOOP … END LOOP` and the like, outside of a routine (MariaDB). What is within
/// is a span only.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CompoundStatement<'a> {
    /// The word that it begins with.
    pub verb: Ident<'a>,
    /// From after that word to the end.
    pub body: Span,
}
