//! What the id in an INSERT's OK says of `LAST_INSERT_ID()`.
//!
//! An OK has the id of the row, whether it was generated, which changes `LAST_INSERT_ID()`, or given by the statement, which does not.
//! What must always hold: it is told only of statements whose values and table leave no doubt which it was
//! ([`weir_sql::PlainInsert`], [`weir_backend::tables`]); of all others the connection is asked.

use weir_sql::{Effects, PlainInsert, TextKind};
use weir_wire::params::Parameter;

use super::super::Session;
use super::super::latest::ToldId;
use super::super::outcome::ReplyOutcome;
use super::{Form, Statement};

/// Longer texts are not read again: asking the connection costs less.
const MOST: usize = 16 * 1024;

impl Session {
    /// What the insert id of a reply says, if that is certain. Where connections are not short the session keeps its own, and nobody
    /// has to know.
    pub(super) fn told_id(&self, statement: &Statement<'_>, outcome: &ReplyOutcome) -> Option<ToldId> {
        if outcome.insert_id == 0 || outcome.error.is_some() || statement.text.len() > MOST {
            return None;
        }
        let (class, pool) = (statement.class, &self.shared.at(self.current.server).pool);
        // A pinned session may have a table of its own by this name, or variables that choose the id.
        let plain = class.kind == TextKind::Other
            && class.pins.is_empty()
            && self.state.pins.is_empty()
            && class.effects.contains(Effects::GENERATES_INSERT_ID)
            && !class.effects.intersects(Effects::SETS_LAST_INSERT_ID | Effects::RUNS_OTHERS);
        // Definitions over shards go other ways than through sessions' connections.
        if !plain || self.endpoint.sharding.is_some() || !pool.is_short() {
            return None;
        }
        let insert = PlainInsert::of(statement.text, statement.mode())?;
        let database = insert.database.or(self.state.profile.database.as_deref())?;
        let column = pool.server.tables.generated_column(database, insert.table)?;
        let generated = insert.generates(&column, |at| self.is_nothing(statement, at))?;
        self.endpoint.backend_metrics.insert_ids_told.inc();
        Some(if generated { ToldId::Generated(outcome.insert_id) } else { ToldId::Given })
    }

    /// Whether a parameter is NULL or 0, if it is that or a positive number.
    fn is_nothing(&self, statement: &Statement<'_>, at: usize) -> Option<bool> {
        let Form::Prepared(execution) = &statement.form else { return None };
        if execution.long_data {
            return None;
        }
        match self.parameters(execution).nth(at)?.ok()? {
            Parameter::Null => Some(true),
            Parameter::Signed(value) if value >= 0 => Some(value == 0),
            Parameter::Unsigned(value) => Some(value == 0),
            _ => None,
        }
    }
}
