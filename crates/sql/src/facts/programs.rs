//! What is known of stored programs that a text calls.
//!
//! What must hold: a program is reported only if its whole body is known; unknown programs are not reported.

use super::Varies;
use crate::ast::{Call, CallProcedure};
use crate::flags::Effects;

/// Who knows stored programs.
pub trait Programs {
    /// What the results of a stored function depend on, if it is known not to change the session's state; with [`Varies::TABLES`] if it
    /// reads tables, with [`Varies::STORED`] if it matters on which server it does, and with [`Varies::CHANGES`] if it changes rows.
    fn function(&self, call: &Call<'_>) -> Option<Varies>;

    /// What of the session's state a procedure reads and changes, if all of that is known: it leaves nothing else on its connection.
    fn procedure(&self, call: &CallProcedure<'_>) -> Option<Effects>;
}

/// Nothing is known.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoPrograms;

impl Programs for NoPrograms {
    fn function(&self, _: &Call<'_>) -> Option<Varies> {
        None
    }

    fn procedure(&self, _: &CallProcedure<'_>) -> Option<Effects> {
        None
    }
}
