//! A statement on one server: on a lane if it may ride one, else on the session's connection.
//!
//! What must always hold: what is tried again has done nothing, and the client has heard nothing of it.

use std::rc::Rc;

use weir_backend::prepared::StatementKey;
use weir_exec::SQL_PREPARED;
use weir_sql::{Effects, Pins, RoutingHint};
use weir_wire::Failure;
use weir_wire::reply::ReplyKind;
use weir_wire::stmt::query_payload;

use super::super::outcome::ReplyOutcome;
use super::super::prepared_statement::in_pieces;
use super::super::stopped::Stopped;
use super::super::{SMALL_COMMAND, Session};
use super::decide::OneServer;
use super::lane::Rode;
use super::{Execution, Form, NewText, Statement};

impl Session {
    /// Runs a statement where its course says.
    pub(in crate::session) async fn run_on_server(
        &mut self,
        statement: &Statement<'_>,
        course: OneServer,
    ) -> Result<(), Stopped> {
        if let Some(raise) = &course.raise
            && let Some(sharding) = self.sharding()
        {
            Box::pin(self.raise_sequence(&sharding, raise)).await?;
        }
        match course.shard {
            Some(shard) => self.set_shard(shard),
            None => {
                self.aim_at_anchor(statement.class);
                self.aim_inside(statement.class);
                if statement.class.effects.contains(Effects::CHANGES_DATABASE) {
                    Box::pin(self.aim_at_database(statement)).await?;
                }
            }
        }
        self.stays_bound_once(statement.class, statement.opens_cursor())?;
        match course.text {
            None => self.run_there(statement).await,
            Some(text) => {
                let new = self.new_text(statement, text, true)?;
                // Rare: not in line, so that every session's task needn't have room for it.
                Box::pin(self.run_there(&statement.changed(&new))).await
            }
        }
    }

    async fn run_there(&mut self, statement: &Statement<'_>) -> Result<(), Stopped> {
        let hint = if statement.opens_cursor() { Some(RoutingHint::Primary) } else { statement.hint };
        self.route(statement.class, hint).await?;
        if statement.class.effects.contains(Effects::CHANGES_GLOBALS) {
            Box::pin(self.set_globals_elsewhere(statement)).await?;
        }
        let lanes = self.lanes_for(statement);
        let mut lost = None;
        if let Some((group, learnt)) = &lanes {
            match self.ride(statement, group, learnt).await? {
                Rode::Done(outcome) => {
                    self.note_ride(statement.class, &outcome);
                    return Ok(());
                }
                Rode::NotYet(failure) => lost = failure,
            }
        }
        self.before_catching_up(statement.class).await?;
        if self.before_diagnostics(statement).await? {
            self.is_not_kept("it was told of diagnostics that Weir keeps");
            return Ok(());
        }
        let ran = match self.splice_state(statement) {
            None => self.run_on_connection(statement, lost).await,
            Some(text) => {
                let new = self.new_text(statement, text, false)?;
                let ran = Box::pin(self.run_on_connection(&statement.changed(&new), lost)).await;
                // Nobody executes a text with these values again.
                if let (Some(key), Some(lease)) = (&new.key, &mut self.current.lease) {
                    lease.close_statement(key);
                }
                ran
            }
        };
        if let Some((_, learnt)) = &lanes {
            self.note_run(learnt, ran.as_ref().ok());
        }
        ran.map(drop)
    }

    /// Weir's own text in place of a statement's. `again`: other executions may have the same.
    fn new_text(&self, statement: &Statement<'_>, text: Vec<u8>, again: bool) -> Result<NewText, Failure> {
        let Some(execution) = statement.execution() else { return Ok(NewText { text, key: None }) };
        if execution.long_data {
            return Err(in_pieces());
        }
        let key = StatementKey::new(text.clone().into(), execution.key.parsing.clone());
        let key = if again { self.shared.statement_keys.share(key) } else { Rc::new(key) };
        Ok(NewText { text, key: Some(key) })
    }

    /// Runs a statement on the session's connection, again if that is needed and it has done nothing; then its residue is the session's.
    async fn run_on_connection(
        &mut self,
        statement: &Statement<'_>,
        lost: Option<Failure>,
    ) -> Result<ReplyOutcome, Stopped> {
        let mut retries = self.retries(statement.class);
        let (bound, unseen) = (self.state.pins, self.state.assigned_unseen);
        let mut done = match lost {
            Some(failure) => Err(Stopped::Refused(failure)),
            None => self.run_attempt(statement).await,
        };
        let outcome = loop {
            match done {
                Ok(outcome) => break outcome,
                Err(stopped) => self.again(stopped, &mut retries).await?,
            }
            done = self.run_attempt(statement).await;
        };
        self.take_residue(statement, &outcome, bound).await?;
        if self.state.assigned_unseen && !unseen && self.is_harmless_call(statement) {
            self.state.assigned_unseen = false;
            self.state.pins -= Pins::COMPUTED_USER_VARIABLE - bound;
        }
        self.take_along().await?;
        Ok(outcome)
    }

    async fn run_attempt(&mut self, statement: &Statement<'_>) -> Result<ReplyOutcome, Stopped> {
        self.record_begins(statement).await;
        let outcome = self.send_and_forward(statement).await?;
        self.record_ends(statement, &outcome);
        Ok(outcome)
    }

    async fn send_and_forward(&mut self, statement: &Statement<'_>) -> Result<ReplyOutcome, Stopped> {
        let class = statement.class;
        match &statement.form {
            Form::Text(text) => {
                match text.command {
                    Some(command) => self.send(class, command).await?,
                    None => self.send(class, &[text.head, statement.text].concat()).await?,
                }
                self.forward_reply(ReplyKind::Results, class, None).await
            }
            Form::Prepared(execution) => self.execute_once(statement, execution).await,
            Form::SqlPrepared(values) => {
                self.text_charset()?;
                self.be_in_profile().await?;
                let prepare = SQL_PREPARED.prepare(statement.text, !self.state.lex.no_backslash_escapes);
                self.connection().query(&prepare).await?;
                let execute = SQL_PREPARED.execute(values.names.iter().map(String::as_str));
                let payload = query_payload(&execute, self.connection().capabilities);
                self.send(class, &payload).await?;
                self.forward_reply(ReplyKind::Results, class, None).await
            }
            Form::Resolved => {
                self.have_connection().await?;
                let payload = query_payload(statement.text, self.connection().capabilities);
                self.send(class, &payload).await?;
                self.forward_reply(ReplyKind::Results, class, None).await
            }
        }
    }

    /// Executes a prepared statement on a connection of the session's own.
    async fn execute_once(&mut self, statement: &Statement<'_>, run: &Execution<'_>) -> Result<ReplyOutcome, Stopped> {
        let Execution { key, execute, .. } = *run;
        let mariadb = self.identity.mariadb;
        let retypes = mariadb && statement.class.effects.contains(Effects::RUNS_OTHERS);
        let execution = run.on_server(retypes);
        self.have_connection().await?;
        self.connection().close_if_unfit(&execution, mariadb);
        let there = self.have_statement(key).await;
        let server_id = there.map_err(|stopped| self.lost_with(stopped, statement.class))?;
        let mut forwarded = std::mem::take(&mut self.scratch);
        forwarded.clear();
        self.connection().encode_execution(&execution, server_id, &mut forwarded);
        self.handle_statement(key);
        let sent = self.send(statement.class, &forwarded).await;
        if forwarded.capacity() <= SMALL_COMMAND {
            self.scratch = forwarded;
        }
        sent?;
        let kind = if execute.opens_cursor() { ReplyKind::Cursor } else { ReplyKind::Results };
        self.forward_reply(kind, statement.class, None).await
    }
}
