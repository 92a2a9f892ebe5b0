//! Stored programs that a session's statements call: what is known of them says what such a statement leaves.
//!
//! What must always hold: a statement whose programs are all known leaves nothing but what its class says; all others bind the session.

use std::collections::BTreeSet;

use weir_plan::routines::KnownPrograms;
use weir_sql::ast::{Expr, ExprKind, StatementKind};
use weir_sql::{Class, Pins, TextKind, classify_with};

use super::super::Session;
use super::super::statement::Statement;

impl Session {
    /// What a statement does that calls stored programs, if more is known than its text says.
    pub(in super::super) fn class_by_programs(&self, class: &Class, text: &[u8]) -> Option<Class> {
        let calls = class.pins.intersects(Pins::CALL | Pins::UNKNOWN_FUNCTION);
        if !calls || class.kind == TextKind::Multiple || class.pins.contains(Pins::UNKNOWN_STATEMENT) {
            return None;
        }
        self.with_programs(|programs| classify_with(text, self.state.lex, programs))
            .filter(|known| known.pins != class.pins)
    }

    /// User variables that the body of a called procedure names.
    pub(super) fn variables_of_call(&self, asked: &Statement<'_>) -> BTreeSet<String> {
        if !asked.class.effects.contains(weir_sql::Effects::RUNS_OTHERS) {
            return BTreeSet::new();
        }
        let Some(StatementKind::Call(call)) = asked.only().map(|statement| statement.kind) else {
            return BTreeSet::new();
        };
        let known = self.with_programs(|programs| programs.procedure(&call.name).ok()).flatten();
        known.map(|understood| understood.variables).unwrap_or_default()
    }

    /// Whether a statement is a CALL that leaves nothing with its connection: MariaDB says of others, too, that they have changed the session's state.
    pub(in super::super) fn is_harmless_call(&self, asked: &Statement<'_>) -> bool {
        let Some(StatementKind::Call(call)) = asked.only().map(|statement| statement.kind) else { return false };
        let plain = |argument: &Expr<'_>| {
            matches!(argument.bare().kind, ExprKind::Literal(_) | ExprKind::Parameter(_) | ExprKind::UserVariable(_))
        };
        let harmless = |programs: &KnownPrograms<'_>| {
            programs.procedure(&call.name).is_ok_and(|understood| understood.leaves_nothing())
        };
        call.arguments.iter().all(plain) && self.with_programs(harmless).unwrap_or(false)
    }

    fn with_programs<T>(&self, ask: impl FnOnce(&KnownPrograms<'_>) -> T) -> Option<T> {
        let catalog = self.sharding()?.catalog();
        let profile = &self.state.profile;
        let temporary = &self.state.temporary;
        let in_transaction = self.state.in_transaction();
        let dialect = self.state.lex.dialect;
        let programs = KnownPrograms::new(&catalog, profile.database.as_deref(), dialect, temporary, in_transaction);
        Some(ask(&programs))
    }
}
