//! Stored procedures that Weir runs itself, statement by statement.
//!
//! A body is compiled into steps ([`compile`]), as servers do; a [`Machine`] goes through them. It says what comes next ([`Action`]), and is
//! told what has come of it ([`Answer`]). What must always hold: the machine neither sends nor waits, and computes no value: servers do,
//! and whoever drives it asks them. What it does with control flow, cursors, conditions and handlers is what servers do. A body of which
//! something is not known to run alike is not compiled.
#![forbid(unsafe_code)]

mod compile;
mod condition;
mod flow;
mod for_loop;
mod machine;
mod model;
mod statement;
mod template;
#[cfg(test)]
mod tests;

pub use compile::{Routine, compile};
pub use condition::{Level, Raised};
pub use machine::{Action, Answer, Machine, Rows};
pub use model::{DiagnosticsItem, GetDiagnostics, Kind, Parameter, Program, Security, Targets, Variable};
pub use statement::tells;
pub use template::{Role, Template};
