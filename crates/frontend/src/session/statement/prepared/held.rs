//! What prepared statements keep on their connection between commands: cursors of servers, and values that came in pieces.
//!
//! What must always hold: a server keeps them with its own id of a statement, which no other statement of the client, or of another
//! client, has meanwhile; and nothing closes that statement but what takes them away.

use std::rc::Rc;

use weir_backend::prepared::StatementKey;
use weir_sql::{Class, Effects};
use weir_wire::error::codes;
use weir_wire::reply::ReplyKind;
use weir_wire::stmt::{piece, statement_id};
use weir_wire::{Command, Failure, Malformed, StatusFlags};

use super::super::super::Session;
use super::super::super::prepared_statement::PreparedStatement;
use super::super::super::stopped::{SessionEnd, Stopped, malformed};

/// How many times `max_allowed_packet` a session's values in pieces may have, those of all its statements: a client could fill Weir's memory.
const KEPT_BY_SESSION: usize = 4;
const TOO_MANY_PIECES: &str = "The session's values that are sent in pieces (mysql_send_long_data) are longer than four times \
                               max_allowed_packet: execute or reset their statements first";

impl Session {
    /// A key for this statement alone, if another of the same key has a cursor or values in pieces.
    pub(in crate::session) fn key_beside_busy(&self, id: u32, key: &Rc<StatementKey>) -> Option<Rc<StatementKey>> {
        if !self.state.has_busy_statements() {
            return None;
        }
        let busy = |statement: &PreparedStatement| (statement.cursor || statement.long_data) && statement.key == *key;
        let taken = self.state.statements.iter().any(|(other, statement)| *other != id && busy(statement));
        taken.then(|| Rc::new(key.alone(self.handle.id, id)))
    }

    /// Sets a statement apart from another of its text that has a cursor or values in pieces.
    pub(in crate::session) fn set_apart(&mut self, id: u32) {
        let id = self.own_statement_id(id);
        let Some(statement) = self.state.statements.get(&id) else { return };
        let Some(key) = self.key_beside_busy(id, &statement.key) else { return };
        if let Some(statement) = self.state.statements.get_mut(&id) {
            statement.key = key;
        }
    }

    /// A statement's cursor, or its values in pieces, have come or gone.
    pub(in crate::session) fn hold_statement(&mut self, key: &StatementKey, held: bool) {
        if let Some(lease) = &mut self.current.lease {
            lease.hold_statement(key, held);
        }
    }

    /// After an execution: the pieces that came for it are not those of the next one, also if it was not run.
    pub(in crate::session) fn forget_pieces(&mut self, id: u32) {
        let Ok(statement) = self.prepared_statement(id, "mysqld_stmt_execute") else { return };
        if !std::mem::take(&mut statement.long_data) {
            return;
        }
        statement.cursor = false;
        let key = statement.key.clone();
        if let Some(lease) = &mut self.current.lease {
            lease.close_statement(&key);
        }
        self.state.learn_busy_statements();
    }

    /// COM_STMT_FETCH.
    pub(in crate::session) async fn fetch(&mut self, payload: &[u8]) -> Result<(), SessionEnd> {
        match self.fetch_rows(payload).await {
            Ok(()) => Ok(()),
            Err(stopped) => self.stopped(stopped),
        }
    }

    async fn fetch_rows(&mut self, payload: &[u8]) -> Result<(), Stopped> {
        let id = statement_id(payload).map_err(malformed)?;
        let rows = payload.get(5..9).and_then(|rows| rows.try_into().ok());
        let rows = u32::from_le_bytes(rows.ok_or_else(|| malformed(Malformed("number of rows")))?);
        let statement = self.prepared_statement(id, "mysqld_stmt_fetch")?;
        if let Some(waiting) = statement.waiting.take() {
            return self.fetch_waiting(id, rows, waiting).await;
        }
        if !statement.cursor {
            let end = if self.identity.mariadb { "" } else { "." };
            let message = format!("The statement ({id}) has no open cursor{end}");
            return Err(Failure::client(codes::ER_STMT_HAS_NO_OPEN_CURSOR, message).into());
        }
        let key = statement.key.clone();
        let server_id = self.have_statement(&key).await?;
        let mut payload = Self::statement_command(Command::StmtFetch, server_id);
        payload.extend_from_slice(&rows.to_le_bytes());
        let class = Class { effects: Effects::READS, ..Class::default() };
        self.send(&class, &payload).await?;
        let outcome = self.forward_reply(ReplyKind::Rows, &class, None).await?;
        self.note(&class, &outcome);
        let last = outcome.status.is_some_and(|status| status.contains(StatusFlags::LAST_ROW_SENT));
        let ended = outcome.error.is_some() || last;
        self.prepared_statement(id, "mysqld_stmt_fetch")?.cursor = !ended;
        self.state.learn_busy_statements();
        self.hold_statement(&key, !ended);
        Ok(())
    }

    /// COM_STMT_RESET: closes the cursor, and forgets what was sent in pieces.
    pub(in crate::session) async fn reset_statement(&mut self, payload: &[u8]) -> Result<(), SessionEnd> {
        match self.reset_on_server(payload).await {
            Ok(true) => Ok(()),
            Ok(false) => {
                self.done_here();
                Ok(())
            }
            Err(stopped) => self.stopped(stopped),
        }
    }

    /// Returns whether the server has answered.
    async fn reset_on_server(&mut self, payload: &[u8]) -> Result<bool, Stopped> {
        let id = statement_id(payload).map_err(malformed)?;
        let statement = self.prepared_statement(id, "mysqld_stmt_reset")?;
        statement.failed = None;
        statement.waiting = None;
        statement.pieces.clear();
        if !statement.cursor && !statement.long_data {
            return Ok(false);
        }
        let key = statement.key.clone();
        let server_id = self.have_statement(&key).await?;
        let class = Class::default();
        self.send(&class, &Self::statement_command(Command::StmtReset, server_id)).await?;
        let outcome = self.forward_reply(ReplyKind::Results, &class, None).await?;
        self.note(&class, &outcome);
        let statement = self.prepared_statement(id, "mysqld_stmt_reset")?;
        statement.cursor = false;
        statement.long_data = false;
        self.state.learn_busy_statements();
        self.hold_statement(&key, false);
        Ok(true)
    }

    /// COM_STMT_CLOSE, which has no reply. Connections keep the statement prepared for the next session that
    /// prepares the same text, unless a cursor or a value in pieces is left on it.
    pub(in crate::session) fn close_statement(&mut self, payload: &[u8]) -> Result<(), SessionEnd> {
        let Ok(id) = statement_id(payload).map(|id| self.own_statement_id(id)) else { return Ok(()) };
        let Some(statement) = self.state.statements.remove(&id) else { return Ok(()) };
        if statement.cursor || statement.long_data || statement.key.is_alone() {
            if let Some(lease) = &mut self.current.lease {
                lease.close_statement(&statement.key);
            }
            self.state.learn_busy_statements();
        }
        Ok(())
    }

    /// Where a statement runs over shards may depend on its values, and Weir may have to change its text: its pieces come with the execution.
    fn keep_piece(&mut self, id: u32, payload: &[u8]) {
        let most = self.endpoint.settings.load().max_allowed_packet;
        let kept: usize = self.state.statements.values().map(PreparedStatement::kept).sum();
        let (Ok((parameter, piece)), Ok(statement)) =
            (piece(payload), self.prepared_statement(id, "mysqld_stmt_send_long_data"))
        else {
            return;
        };
        let done = match kept.saturating_add(piece.len()) > most.saturating_mul(KEPT_BY_SESSION) {
            true => Err(Failure::client(codes::ER_UNKNOWN_ERROR, TOO_MANY_PIECES)),
            false => statement.keep_piece(parameter, piece, most),
        };
        if let Err(failure) = done {
            statement.failed = Some(failure);
            statement.pieces.clear();
        }
    }

    /// COM_STMT_SEND_LONG_DATA, which has no reply: a failure is told by the next execution.
    pub(in crate::session) async fn long_data(&mut self, payload: &[u8]) -> Result<(), SessionEnd> {
        let Ok(id) = statement_id(payload) else { return Ok(()) };
        let Ok(statement) = self.prepared_statement(id, "mysqld_stmt_send_long_data") else { return Ok(()) };
        if statement.failed.is_some() {
            return Ok(());
        }
        if !statement.long_data && (!statement.pieces.is_empty() || self.has_sharded_databases()) {
            self.keep_piece(id, payload);
            return Ok(());
        }
        let Ok(statement) = self.prepared_statement(id, "mysqld_stmt_send_long_data") else { return Ok(()) };
        let begun = statement.long_data || statement.cursor;
        self.set_apart(id);
        let Ok(statement) = self.prepared_statement(id, "mysqld_stmt_send_long_data") else { return Ok(()) };
        let key = statement.key.clone();
        let (session, mariadb) = (self.handle.id, self.identity.mariadb);
        if let Some(lease) = self.current.lease.as_mut().filter(|_| !begun) {
            lease.close_if_others(&key, session, mariadb);
        }
        let sent = match self.have_statement(&key).await {
            Ok(server_id) => {
                let mut forwarded = payload.to_vec();
                forwarded[1..5].copy_from_slice(&server_id.to_le_bytes());
                self.send_unanswered(&forwarded).await.map_err(Stopped::from)
            }
            Err(stopped) => Err(stopped),
        };
        let failure = match sent {
            Ok(()) => None,
            Err(Stopped::Refused(failure) | Stopped::ReadOnly(failure) | Stopped::Lost(failure)) => Some(failure),
            Err(Stopped::Late) => Some(self.behind()),
            Err(Stopped::Ended(end)) => return Err(end),
        };
        if let Ok(statement) = self.prepared_statement(id, "mysqld_stmt_send_long_data") {
            statement.long_data = failure.is_none();
            statement.failed = failure;
            let held = statement.long_data || statement.cursor;
            self.state.learn_busy_statements();
            self.hold_statement(&key, held);
        }
        Ok(())
    }
}
