//! Functions whose answer is the session's and not the connection's: their values are put into the text.

use weir_sql::{Effects, StateValues, TextKind, TokenKind};

use super::super::Session;
use super::super::latest::Left;
use super::{Statement, names_server_threads};

impl Session {
    /// The text with the values of functions whose answer is the session's, not the connection's.
    pub(super) fn splice_state(&self, statement: &Statement<'_>) -> Option<Vec<u8>> {
        let (class, text) = (statement.class, statement.text);
        // The id of a session stays what it was when the statement was prepared.
        let counts = Effects::USES_ROW_COUNT | Effects::USES_FOUND_ROWS;
        if statement.execution().is_some() && !class.effects.intersects(counts) {
            return None;
        }
        let functions = Effects::USES_CONNECTION_ID | Effects::USES_ROW_COUNT | Effects::USES_FOUND_ROWS;
        if !class.effects.intersects(functions) {
            // MariaDB does not tell of variables that are set as `@@name`.
            let untold = self.identity.mariadb && class.kind == TextKind::Set;
            return if untold { weir_sql::with_session_scopes(text, self.state.lex) } else { None };
        }
        // Where server threads are named by their own ids, the session's id must be of the same kind.
        let connection_id = (!names_server_threads(text)).then_some(u64::from(self.handle.id));
        // On the connection that read the rows the server's own answer is right.
        let stays = self.current.server == self.target.place() || self.state.is_bound();
        let there = stays && self.current.lease.as_ref().is_some_and(|lease| lease.has_found_rows);
        let found_rows = match self.state.latest.found_rows {
            Left::Known(rows) if !there => Some(rows),
            _ => None,
        };
        let pseudo_thread_id = self.pseudo_thread_id().filter(|_| connection_id.is_some());
        let row_count = Some(self.state.latest.row_count);
        let settings = self.endpoint.settings.load();
        // Clients on the same machine go on by the socket that they are told: the server's would lead them around Weir.
        let socket = Some(&*settings.socket);
        let values = StateValues { connection_id, pseudo_thread_id, row_count, found_rows, socket };
        if class.kind != TextKind::Multiple {
            return weir_sql::replace_state_functions(text, self.state.lex, &values);
        }
        // In a later statement of the text, counts are those of the statement before it; the others are always the same.
        let (first, rest) = text.split_at(first_statement_end(text, self.state.lex));
        let id_only = StateValues { row_count: None, found_rows: None, ..values };
        let replaced = weir_sql::replace_state_functions(first, self.state.lex, &values);
        let replaced_rest = weir_sql::replace_state_functions(rest, self.state.lex, &id_only);
        if replaced.is_none() && replaced_rest.is_none() {
            return None;
        }
        Some([replaced.as_deref().unwrap_or(first), replaced_rest.as_deref().unwrap_or(rest)].concat())
    }

    /// `@@pseudo_thread_id`, unless only the session's connection knows it.
    pub(in crate::session) fn pseudo_thread_id(&self) -> Option<u64> {
        self.state.pseudo_thread_id.unwrap_or(Some(u64::from(self.handle.id)))
    }
}

/// Where the first statement of a text of several ends, its semicolon included: no statement begins with one.
fn first_statement_end(text: &[u8], lex: weir_sql::LexMode) -> usize {
    let mut tokens = weir_sql::Lexer::new(text, lex);
    tokens.find(|token| token.kind == TokenKind::Semicolon).map_or(text.len(), |token| token.end as usize)
}
