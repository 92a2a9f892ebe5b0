//! PREPARE, EXECUTE and DEALLOCATE PREPARE of a body, by the names that the session keeps.
//!
//! What must always hold: a text that is executed is judged then as the statements of a body are before the first of them runs. What a
//! body could not have ends the CALL with 1235, which no handler takes; errors of servers are for handlers.

use std::rc::Rc;

use weir_plan::routines::{check_class, is_definition};
use weir_program::tells;
use weir_sql::ast::{SetItemKind, Statement as Parsed, StatementKind};
use weir_sql::{Bump, Effects};
use weir_wire::Failure;
use weir_wire::error::{codes, not_supported};

use super::super::super::Session;
use super::super::super::prepared_statement::SqlPrepared;
use super::super::super::statement::sql_prepare::{SqlPrepare, Using};
use super::super::super::statement::{Form, Statement};
use super::super::super::stopped::Stopped;
use super::variables::is_fatal;

impl Session {
    /// Prepares, runs or forgets a text. `asked`: the CALL, if its client gets the rows.
    pub(super) async fn run_dynamic(
        &mut self,
        statement: &Statement<'_>,
        request: SqlPrepare,
        asked: Option<&Statement<'_>>,
    ) -> Result<(), Stopped> {
        if let Some(failure) = request.unknown_name(|name| self.state.sql_prepared.contains_key(name)) {
            return Err(failure.into());
        }
        let (prepared, using) = match request {
            SqlPrepare::Execute { name, using } => (self.state.sql_prepared.get(&name.to_lowercase()).cloned(), using),
            SqlPrepare::Immediate { source, using } => {
                let prepared = self.prepare_source(&source, statement.class).await;
                let (prepared, _) = self.forget_if_refused(prepared).await?;
                (Some(Rc::new(prepared)), using)
            }
            request => {
                let ran = self.run_sql_prepare(statement, request).await;
                return self.forget_if_refused(ran).await;
            }
        };
        let Some(prepared) = prepared else {
            return Err(Failure::weir(codes::ER_UNKNOWN_ERROR, "a prepared statement of a body is gone").into());
        };
        self.execute_in_body(&prepared, using, statement, asked).await
    }

    /// A text that a server refuses leaves its error on the connection, and a handler has no part in it. MariaDB clears it for statements
    /// that read tables only.
    async fn forget_if_refused<T>(&mut self, prepared: Result<T, Stopped>) -> Result<T, Stopped> {
        let refused = matches!(&prepared, Err(Stopped::Refused(failure)) if !is_fatal(failure.code));
        if let (true, true, Some(lease)) = (refused, self.identity.mariadb, &mut self.current.lease) {
            // A connection that has broken shows in the next command.
            let _ = lease.query(b"SELECT 1 FROM (SELECT 1) AS cleared").await;
        }
        prepared
    }

    async fn execute_in_body(
        &mut self,
        prepared: &SqlPrepared,
        using: Option<Vec<Using>>,
        by: &Statement<'_>,
        asked: Option<&Statement<'_>>,
    ) -> Result<(), Stopped> {
        let using = self.parameters_of(prepared, using)?;
        let has_rows = self.judge(&prepared.text)?;
        if using.is_empty() {
            let entry = self.shared.read(&prepared.text, self.state.lex);
            self.may_execute(&entry.digested)?;
            return Box::pin(self.run_text_of_body(&prepared.text, asked)).await;
        }
        if has_rows && asked.is_some_and(|asked| asked.execution().is_some()) {
            // They would come as those of a text.
            return Err(refused(&prepared.text, "its rows need the values of USING: send the CALL as text").into());
        }
        Box::pin(self.execute_prepared(prepared, Some(using), by)).await
    }

    /// Whether a body can have a text as its statement. Returns whether it may have rows for the client.
    fn judge(&self, text: &[u8]) -> Result<bool, Failure> {
        let (arena, class) = (Bump::new(), self.class_of_body(text, self.state.lex));
        let statement = Statement::new(&arena, text, &class, self.state.lex, Form::Resolved);
        let only = statement.only().ok_or_else(|| refused(text, "Weir can't read it"))?;
        if !is_of_body(only) {
            return Err(refused(
                text,
                "only queries, changes of rows, definitions of tables and views, CALL, SET of user variables and transactions are",
            ));
        }
        // COMMIT, definitions and the like: the statement's own way is that of the session's.
        if !matches!(only.kind, StatementKind::Transaction(_)) && !is_definition(only) && !tells(only) {
            check_class(&class, text).map_err(|why| refused(text, &format!("it {why}")))?;
        }
        Ok(matches!(only.kind, StatementKind::Query(_) | StatementKind::Call(_))
            || tells(only)
            || class.effects.contains(Effects::RUNS_OTHERS))
    }
}

/// Whether a statement of a body is PREPARE.
pub(super) fn is_prepare(text: &[u8]) -> bool {
    text.get(..7).is_some_and(|word| word.eq_ignore_ascii_case(b"PREPARE"))
}

/// Whether a statement is of a kind that bodies which Weir runs may have.
fn is_of_body(statement: &Parsed<'_>) -> bool {
    match &statement.kind {
        StatementKind::Query(_)
        | StatementKind::Insert(_)
        | StatementKind::Update(_)
        | StatementKind::Delete(_)
        | StatementKind::Do(_)
        | StatementKind::Call(_)
        | StatementKind::Transaction(_) => true,
        StatementKind::Set(set) => set.items.iter().all(|item| matches!(item.kind, SetItemKind::UserVariable(..))),
        _ => is_definition(statement) || tells(statement),
    }
}

fn refused(text: &[u8], why: &str) -> Failure {
    /// What of the text is shown, in characters.
    const SHOWN: usize = 60;
    let text: String = String::from_utf8_lossy(text).chars().take(SHOWN).collect();
    not_supported(format!("EXECUTE in a procedure that Weir runs statement by statement ({text}): {why}"))
}
