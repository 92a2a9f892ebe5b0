//! The diagnostics of the latest statement, when the connection that ran it is gone or there never was one.
//!
//! A single condition is raised again by SIGNAL on whichever connection runs what asks for it, so that the server itself
//! answers, in either protocol. Several conditions, or one that SIGNAL can't say, are listed by Weir; what else asks for them is refused.

use weir_backend::profile::charset_of;
use weir_sql::ast::StatementKind;
use weir_sql::{Class, Diagnostics as Asked, Effects, TextKind};
use weir_wire::Failure;
use weir_wire::charset::is_wide;
use weir_wire::error::codes;
use weir_wire::resultset::{Column, ResultSet};

use super::Session;
use super::condition::Condition;
use super::latest::Diagnostics;
use super::statement::{AskedBy, Statement};
use super::stopped::Stopped;

impl Session {
    /// Called before a statement that asks for diagnostics is run. Returns whether the statement is answered already.
    pub(super) async fn before_diagnostics(&mut self, statement: &Statement<'_>) -> Result<bool, Stopped> {
        let (class, by) = (statement.class, statement.asked_by());
        let asks = class.effects.contains(Effects::USES_WARNINGS) && class.kind != TextKind::Multiple;
        if class.effects.contains(Effects::USES_WARNINGS) && self.state.latest.diagnostics == Diagnostics::Empty {
            if !asks_row_count(statement) {
                self.clear_those_of_others(class).await?;
            }
            return Ok(false);
        }
        let Diagnostics::Learnt(conditions) = &self.state.latest.diagnostics else { return Ok(false) };
        if !asks {
            return Ok(false);
        }
        if conditions.is_empty() {
            self.clear_those_of_before().await?;
            return Ok(false);
        }
        let exactly = !matches!(class.kind, TextKind::ShowWarnings(_));
        if let [condition] = &conditions[..]
            && let Some(signal) = self.signal(condition, exactly)
        {
            self.have_connection().await?;
            self.queue_wait();
            self.queue_session_state(class)?;
            self.raise(&signal).await?;
            return Ok(false);
        }
        match (&class.kind, by) {
            // Their texts, and the columns' names, are known in UTF-8 only.
            (TextKind::ShowWarnings(Asked::Warnings { .. } | Asked::Errors { .. }), _)
                if self.has_wide("character_set_results") =>
            {
                self.refuse_learnt()
            }
            (TextKind::ShowWarnings(asked), by) => self.list_learnt(*asked, statement.text, by),
            _ => self.refuse_learnt(),
        }
        Ok(true)
    }

    /// A writer that is asked to finish its commits has another latest statement then: what the statement at hand asks of the one before is
    /// read first.
    pub(super) async fn before_catching_up(&mut self, class: &Class) -> Result<(), Stopped> {
        let asks = class.effects.intersects(Effects::USES_WARNINGS | Effects::USES_FOUND_ROWS);
        let there = self.current.lease.is_some() && self.current.server == self.target.place();
        if !asks || !there || class.kind == TextKind::Multiple || !self.must_catch_up() {
            return Ok(());
        }
        self.learn_what_was_left(false).await?;
        self.connection().has_found_rows = false;
        Ok(())
    }

    /// Raises what the latest statement left, before the next one on a server: some statements leave the diagnostics as
    /// they are. On MySQL those are few, and only Weir's own errors are worth it; on MariaDB all that read no table.
    pub(super) async fn raise_what_was_left(&mut self) -> Result<(), Stopped> {
        let Diagnostics::Learnt(conditions) = &self.state.latest.diagnostics else { return Ok(()) };
        let [condition] = &conditions[..] else { return Ok(()) };
        let worth_it = condition.sqlstate.is_some() || self.identity.mariadb;
        match self.signal(condition, false) {
            Some(signal) if worth_it => self.raise(&signal).await,
            _ => Ok(()),
        }
    }

    /// The statement that raises a condition again, if there is one. Servers take its SQLSTATE for no text of ASCII where
    /// literals are none.
    fn signal(&self, condition: &Condition, exactly: bool) -> Option<String> {
        condition.signal(exactly).filter(|_| !self.has_wide("collation_connection"))
    }

    /// Whether a variable names a character set whose texts are no ASCII.
    fn has_wide(&self, variable: &str) -> bool {
        self.state.profile.variable(variable).map(charset_of).is_some_and(is_wide)
    }

    /// The session has none, but a connection from the pool may have those of another session's statement, or of a question of Weir's own:
    /// nothing that the session has run there so far need have named a table, without which MariaDB lets them be.
    async fn clear_those_of_others(&mut self, class: &Class) -> Result<(), Stopped> {
        self.have_connection().await?;
        self.queue_wait();
        self.queue_session_state(class)?;
        self.connection().flush().await?;
        self.confirm_state().await?;
        self.clear_those_of_before().await
    }

    /// The latest statement has left none, and ran elsewhere: the session's connection may have those of the one before.
    async fn clear_those_of_before(&mut self) -> Result<(), Stopped> {
        self.learn_found_rows().await?;
        if let Some(connection) = self.current.lease.as_mut() {
            connection.has_found_rows = false;
            // MariaDB clears them for what reads a table.
            connection.ask("SELECT 1 FROM (SELECT 1) AS cleared LIMIT 1").await?;
        }
        self.state.latest.diagnostics = Diagnostics::Empty;
        Ok(())
    }

    /// Confirms the state that is queued, and raises a condition on top of it.
    async fn raise(&mut self, signal: &str) -> Result<(), Stopped> {
        let connection = self.connection();
        connection.flush().await?;
        self.confirm_state().await?;
        let connection = self.connection();
        // An error is what is wanted; a connection that has broken shows in the next command.
        let _ = connection.query(signal).await;
        self.state.latest.diagnostics = Diagnostics::OnConnection;
        Ok(())
    }

    fn list_learnt(&mut self, asked: Asked, text: &[u8], by: AskedBy) {
        let Diagnostics::Learnt(conditions) = &self.state.latest.diagnostics else { return };
        let errors_only = matches!(asked, Asked::Errors { .. } | Asked::CountErrors);
        let wanted = conditions.iter().filter(|condition| !errors_only || condition.level == b"Error");
        let result = match asked {
            Asked::Warnings { offset, limit } | Asked::Errors { offset, limit } => {
                let limit = limit.and_then(|n| usize::try_from(n).ok()).unwrap_or(usize::MAX);
                let rows = wanted.skip(usize::try_from(offset).unwrap_or(usize::MAX)).take(limit);
                let cells = |c: &Condition| [&c.level, &c.code, &c.message].map(|cell| Some(cell.clone())).to_vec();
                let charset = charset_of(self.state.profile.variable("character_set_results").unwrap_or_default());
                ResultSet {
                    columns: Column::of_warnings(self.identity.mariadb, charset),
                    rows: rows.map(cells).collect(),
                }
            }
            Asked::CountWarnings | Asked::CountErrors => {
                let shown = if errors_only { "@@session.error_count" } else { "@@session.warning_count" };
                let name = variable_of(text).unwrap_or(shown);
                let count = wanted.count().to_string().into_bytes();
                ResultSet { columns: vec![Column::integer(name)], rows: vec![vec![Some(count)]] }
            }
        };
        self.endpoint.metrics.answered_here.inc();
        let status = self.state.own_status();
        match by {
            AskedBy::Text => self.client.put_result(&result, status),
            AskedBy::Execution => self.client.put_binary_result(&result, status),
        }
    }

    fn refuse_learnt(&mut self) {
        let message = "The diagnostics of the statement before can be read by a plain SHOW WARNINGS or SHOW ERRORS only: \
                       its server connection was needed by another session";
        let failure = Failure::weir(codes::ER_NOT_SUPPORTED_YET, message);
        self.endpoint.metrics.errors.inc();
        self.client.put_failure(&failure);
    }
}

/// The system variable of a text that selects nothing else, as it is written there: servers name the column by it.
fn variable_of(text: &[u8]) -> Option<&str> {
    let start = text.windows(2).position(|two| two == b"@@")?;
    let name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'@' | b'_' | b'.' | b'`');
    let length = text[start..].iter().take_while(|byte| name(byte)).count();
    std::str::from_utf8(&text[start..start + length]).ok()
}

/// Whether a statement asks the connection how many rows the latest statement has changed: a question of Weir's own would answer that.
fn asks_row_count(statement: &Statement<'_>) -> bool {
    let Some(StatementKind::GetDiagnostics(get)) = statement.only().map(|only| only.kind) else { return false };
    get.condition.is_none() && get.items.iter().any(|item| item.name.name.eq_ignore_ascii_case(b"ROW_COUNT"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_is_named_as_it_is_written() {
        assert_eq!(variable_of(b"SELECT @@warning_count"), Some("@@warning_count"));
        assert_eq!(variable_of(b"select @@SESSION.error_count ;"), Some("@@SESSION.error_count"));
        assert_eq!(variable_of(b"SHOW COUNT(*) WARNINGS"), None);
    }
}
