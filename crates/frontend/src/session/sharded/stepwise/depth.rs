//! Procedures that call themselves, by others or not.
//!
//! What must always hold: a procedure is run within itself as often as `max_sp_recursion_depth` lets servers, and no more; what runs does
//! not outgrow its thread's stack.

use weir_plan::{Running, Stepwise};
use weir_program::Raised;
use weir_wire::error::{codes, not_supported};
use weir_wire::{Failure, Fault};

use super::super::super::Session;
use super::super::super::condition::Condition;
use super::super::super::latest::Diagnostics;
use super::super::super::stopped::Stopped;

/// Procedures within procedures that are run: each takes half a megabyte of the stack without optimisation.
const MOST_WITHIN: usize = 64;
const ER_SP_RECURSION_LIMIT: u16 = 1456;

impl Session {
    /// Whether a procedure may be run once more within what runs.
    pub(super) async fn may_run_again(&mut self, call: &Stepwise) -> Result<(), Stopped> {
        let itself = running(call);
        let count = self.running.iter().filter(|one| **one == itself).count();
        if count == 0 {
            return Ok(());
        }
        let rows = self.quietly(b"SELECT @@SESSION.max_sp_recursion_depth").await??;
        let limit = rows.rows.front().and_then(|row| std::str::from_utf8(row.first()?).ok()?.parse::<usize>().ok());
        let limit =
            limit.ok_or_else(|| Failure::weir(codes::ER_UNKNOWN_ERROR, "the server told no limit of recursion"))?;
        if count > limit {
            let message = format!(
                "Recursive limit {limit} (as set by the max_sp_recursion_depth variable) was exceeded for routine {}",
                call.name
            );
            return Err(Failure::new(Fault::Client, ER_SP_RECURSION_LIMIT, b"HY000", message).into());
        }
        if self.running.len() >= MOST_WITHIN {
            return Err(not_supported(format!(
                "CALL of {}, which Weir would run statement by statement: it is called by itself more than {MOST_WITHIN} deep",
                call.name
            ))
            .into());
        }
        Ok(())
    }

    /// MySQL's second error of a procedure that may not be run again.
    pub(super) fn note_not_run_again(&mut self, call: &Stepwise, raised: &Raised) {
        let name = raised.message.rsplit_once("for routine ").filter(|_| raised.code == ER_SP_RECURSION_LIMIT);
        if let (Some((_, name)), Diagnostics::Learnt(conditions)) = (name, &mut self.state.latest.diagnostics) {
            let message = format!("PROCEDURE {}.{name} does not exist", call.database).into_bytes();
            let (level, code) = (b"Error".to_vec(), codes::ER_SP_DOES_NOT_EXIST.to_string().into_bytes());
            conditions.push(Condition { level, code, message, sqlstate: None });
            self.state.latest.warnings = u16::try_from(conditions.len()).unwrap_or(u16::MAX);
        }
    }
}

/// A procedure as one that runs.
pub(super) fn running(call: &Stepwise) -> Running {
    Running { database: call.database.clone(), name: call.name.to_lowercase() }
}
