//! What a statement does, derived from its tree: tables, side effects, session state, and what its results depend on.
//!
//! What must hold: a flag may be set needlessly, but none is missing for anything that the statement itself says. What
//! views, triggers and routines do that it only names isn't seen, but that a routine is called is.
//!
//! * `finder` walks a tree; `uses` knows what single calls, variables and names say; `varies` knows the functions whose
//!   results vary.
//! * `words` says what a text might do that has no tree.
//! * `programs`: what somebody else may know of stored functions and procedures.
//! * `variables` lists the variables by name.
//! * `refused` tells from a server's error that nothing of a text was run.

pub(crate) mod finder;
pub(crate) mod programs;
mod refused;
#[cfg(test)]
mod tests;
pub(crate) mod uses;
mod variables;
pub(crate) mod varies;
pub(crate) mod words;

pub use programs::{NoPrograms, Programs};
pub use refused::nothing_ran;
pub use variables::VariableUse;
pub use varies::Varies;

use crate::ast::Statement;
use crate::classify::{Class, class_of_statement};
use crate::mode::LexMode;
use crate::resolve::{Context, Resolved, resolve};

/// What is known of one statement.
#[derive(Clone, Debug, PartialEq)]
pub struct Facts<'a> {
    /// Its tables, with what it does with each, and its columns.
    pub names: Resolved<'a>,
    /// Its kind, side effects, and what it leaves and needs on its connection.
    pub class: Class,
    /// On what its results depend, apart from data and parameters.
    pub varies: Varies,
    /// The variables that it names.
    pub variables: Vec<VariableUse<'a>>,
}

/// What a statement of a text does.
pub fn facts<'a>(statement: &'a Statement<'a>, sql: &'a [u8], mode: LexMode, context: &Context<'a>) -> Facts<'a> {
    facts_with(statement, sql, mode, context, &NoPrograms)
}

/// On what the results of a statement of a text depend, apart from data and parameters.
pub fn varies<'a>(statement: &'a Statement<'a>, sql: &'a [u8], mode: LexMode) -> Varies {
    class_of_statement(statement, sql, mode, &NoPrograms).1
}

/// What a statement of a text does, by who knows stored programs.
pub fn facts_with<'a>(
    statement: &'a Statement<'a>,
    sql: &'a [u8],
    mode: LexMode,
    context: &Context<'a>,
    programs: &dyn Programs,
) -> Facts<'a> {
    let (class, varies) = class_of_statement(statement, sql, mode, programs);
    Facts { names: resolve(statement, context), class, varies, variables: variables::of_statement(statement) }
}
