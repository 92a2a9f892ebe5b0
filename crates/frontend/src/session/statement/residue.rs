//! What a statement leaves in its session.
//!
//! What must always hold: it is taken over once, when the statement has ended on its server, and only what the reply proves.

use std::rc::Rc;
use weir_wire::charset::has_ascii;

use weir_backend::profile::{charset_of, user_variable_bytes};
use weir_exec::values;
use weir_sql::ast::StatementKind;
use weir_sql::facts::nothing_ran;
use weir_sql::{Pins, TextKind};
use weir_wire::StatusFlags;
use weir_wire::error::codes;

use super::super::Session;
use super::super::outcome::ReplyOutcome;
use super::super::stopped::{SessionEnd, Stopped};
use super::{Execution, Form, Statement};

impl Session {
    /// Takes over what a statement has left. `bound`: the pins before it.
    pub(super) async fn take_residue(
        &mut self,
        statement: &Statement<'_>,
        outcome: &ReplyOutcome,
        bound: Pins,
    ) -> Result<(), Stopped> {
        let (class, text) = (statement.class, statement.text);
        let told = self.told_id(statement, outcome);
        self.note_told(class, outcome, told);
        self.see_whether_closed(outcome).await.map_err(Stopped::Ended)?;
        match (outcome.error, statement.form) {
            (None, _) => self.learn_unreported(class, outcome, bound).await,
            (Some((code, _)), Form::Text(_) | Form::Resolved | Form::Prepared(_)) => {
                let nothing = self.is_own(code, &outcome.message)
                    && nothing_ran(text, self.state.lex, class, code, &outcome.message)
                    || self.has_no_database_for(statement, code);
                self.state.pins &= if nothing { bound } else { Pins::all() };
            }
            _ => {}
        }
        // The client has the reply already.
        let mut learnt = self.learn_database(class, outcome).await;
        if learnt.is_ok() {
            learnt = self.learn_roles(class).await;
        }
        learnt.map_err(|failure| Stopped::Ended(SessionEnd::Told(failure)))?;
        if let (TextKind::SetUserVariables(variables), Form::Text(_) | Form::Resolved) = (&class.kind, statement.form) {
            self.note_user_variables(text, variables);
        }
        self.note_assigned(statement);
        self.note_clock(class, text);
        if outcome.error.is_none() {
            self.note_temporary(statement);
        }
        self.leave_reader().await?;
        match &statement.form {
            Form::Prepared(execution) => self.note_execution(execution, outcome),
            _ => Ok(()),
        }
    }

    /// Whether an error of rights is the user's: a routine that calls itself may meet one of its definer's.
    fn is_own(&self, code: u16, message: &[u8]) -> bool {
        let whom = format!(" to user '{}'@", self.user);
        code != codes::ER_PROCACCESS_DENIED_ERROR || message.windows(whom.len()).any(|part| part == whom.as_bytes())
    }

    /// Whether an error says that a called procedure was not even looked for: its name is without a database, and so is the session.
    fn has_no_database_for(&self, statement: &Statement<'_>, code: u16) -> bool {
        let Some(StatementKind::Call(call)) = statement.only().map(|only| only.kind) else { return false };
        let unnamed = call.name.database.is_none() && call.package_database.is_none();
        code == codes::ER_NO_DB_ERROR && unnamed && self.state.profile.database.is_none()
    }

    /// After an execution: a cursor may be open, and values that came in pieces have been used.
    fn note_execution(&mut self, execution: &Execution<'_>, outcome: &ReplyOutcome) -> Result<(), Stopped> {
        let says = |flag| outcome.status.is_some_and(|status| status.contains(flag));
        // What ends in an OK of its own, as CALL does, has sent all rows; a routine's own cursor raises the flag there too.
        let rows_last = outcome.error.is_none() && outcome.found_rows.is_some();
        let open = execution.execute.opens_cursor() && rows_last && says(StatusFlags::CURSOR_EXISTS);
        let prepared = self.prepared_statement(execution.id, "mysqld_stmt_execute")?;
        if prepared.long_data || prepared.cursor || open {
            prepared.cursor = open;
            prepared.long_data = false;
            self.state.learn_busy_statements();
            self.hold_statement(execution.key, open);
        }
        Ok(())
    }

    /// A SET of user variables to literals was run: the profile takes them, in a form whose meaning no later SET
    /// changes. Where there is no such form the session is pinned.
    fn note_user_variables(&mut self, text: &[u8], assigned: &[weir_sql::UserVariable]) {
        if self.state.latest.row_count < 0 {
            return;
        }
        let form =
            |v: &weir_sql::UserVariable| Some((v.name.to_string(), self.lasting_literal(&text[v.literal.clone()])?));
        let Some(literals) = assigned.iter().map(form).collect::<Option<Vec<_>>>() else {
            self.state.pins |= Pins::COMPUTED_USER_VARIABLE;
            self.note_assigned_in(text);
            return;
        };
        let taken = literals.iter().map(|(name, literal)| user_variable_bytes(name, literal));
        let all = self.state.profile.user_variable_bytes() + taken.sum::<usize>();
        if all > values::MOST_LITERALS || literals.iter().any(|(_, literal)| literal.len() > values::MOST_LITERAL) {
            // Too much to be sent with a statement.
            self.state.pins |= Pins::COMPUTED_USER_VARIABLE;
            self.note_assigned_in(text);
            return;
        }
        literals.iter().for_each(|(name, _)| {
            self.state.kept.remove(name);
        });
        let literals = literals.iter().map(|(name, literal)| (name.as_str(), literal.as_str()));
        let profile = Rc::new(self.state.profile.with_user_variables(literals));
        self.state.profile = profile.clone();
        if let Some(lease) = &mut self.current.lease {
            lease.set_profile(profile);
        }
    }

    /// A literal with the character set and the collation that it has now, if it is a string.
    fn lasting_literal(&self, literal: &[u8]) -> Option<String> {
        let literal = std::str::from_utf8(literal).ok()?;
        let quote = literal.chars().next().filter(|c| matches!(c, '\'' | '"'));
        let Some(quote) = quote else { return Some(literal.to_owned()) };
        let value = literal.strip_prefix(quote)?.strip_suffix(quote)?;
        if value.contains('\'') || self.state.collation_unknown {
            return None;
        }
        let collation = self.state.profile.variable("collation_connection")?;
        let charset = charset_of(collation);
        let is_converted = self.state.profile.variable("character_set_client").map(charset_of) != Some(charset);
        // An introducer says of which character set the bytes in the text are, and these are the client's.
        let is_ascii = |variable| self.state.profile.variable(variable).is_none_or(has_ascii);
        if is_converted && !(is_ascii("character_set_client") && has_ascii(charset) && value.is_ascii()) {
            return None;
        }
        Some(format!("_{charset}'{value}' COLLATE {collation}"))
    }
}
