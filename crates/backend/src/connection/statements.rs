//! The prepared statements of a connection: when they can be executed as they are, and how an execution is written.

use std::rc::Rc;

use weir_wire::Command;

use super::Connection;
use crate::prepared::{Execution, Prepared, StatementKey};

impl Connection {
    /// Closes the statement here if it can't be executed as it was prepared: MySQL takes the types of expressions from what was executed
    /// before, which were another session's; and see [`Connection::is_outlived`].
    pub fn close_if_unfit(&mut self, execution: &Execution<'_>, mariadb: bool) {
        let Some(prepared) = self.statements.peek(execution.key) else { return };
        let is_outlived = self.is_outlived(prepared, execution);
        let others = prepared.executed_by.is_some_and(|session| session != execution.session);
        let is_mistyped = !mariadb && others && (execution.untyped || prepared.types.as_ref() != execution.types);
        if (is_outlived || is_mistyped) && !prepared.held {
            self.close_statement(execution.key);
        }
    }

    /// Whether a client is not to get a statement, as a definition was made after that and before the client has prepared it. When a table has
    /// become another one, MySQL prepares a statement again by itself, but takes the values of its next execution as they were converted
    /// for the old columns, and finds no rows by them; parameters without a context keep the types that they had. Only who has
    /// prepared it before sees that.
    pub(crate) fn is_outlived(&self, prepared: &Prepared, execution: &Execution<'_>) -> bool {
        !self.is_mariadb() && self.server.tables.defined_between(prepared.defined, execution.since)
    }

    /// Before the first piece of a value is sent, with which nobody knows the types yet that the execution will bring: closes the
    /// statement here if another session has executed it. Later [`Connection::close_if_unfit`] would take the value away.
    pub fn close_if_others(&mut self, key: &StatementKey, session: u32, mariadb: bool) {
        let others = |prepared: &Prepared| !prepared.held && prepared.executed_by.is_some_and(|by| by != session);
        if !mariadb && self.statements.peek(key).is_some_and(others) {
            self.close_statement(key);
        }
    }

    /// Closes the statement here if the server warned when it was prepared: prepared again, it warns again.
    pub fn close_if_warned(&mut self, key: &StatementKey) {
        if self.statements.peek(key).is_some_and(|prepared| prepared.warned && !prepared.held) {
            self.close_statement(key);
        }
    }

    /// A statement's cursor, or its values in pieces, have come or gone.
    pub fn hold_statement(&mut self, key: &StatementKey, held: bool) {
        if let Some(prepared) = self.statements.peek_mut(key) {
            prepared.held = held;
        }
    }

    /// Writes the execution of a statement that is prepared here as `id`, with the types of its parameters if the client brings them, or
    /// if they are others than those of its last execution here. What the client brings is never left out as known: a server may have
    /// changed the types of its parameters meanwhile, and would read the values by those.
    pub fn encode_execution(&mut self, execution: &Execution<'_>, id: u32, out: &mut Vec<u8>) {
        let Execution { key, execute, types, session, .. } = *execution;
        let Some(prepared) = self.statements.peek_mut(key) else {
            execute.encode_into(out, id, types.map(|types| &types[..]).filter(|_| execute.params > 0));
            return;
        };
        let same = matches!((&prepared.types, types), (Some(a), Some(b)) if Rc::ptr_eq(a, b) || a == b);
        let send = types.filter(|_| execute.params > 0 && (execute.types.is_some() || !same));
        execute.encode_into(out, id, send.map(|types| &types[..]));
        prepared.types = types.filter(|_| !execution.retypes).cloned();
        let by = |before| if before == session { session } else { u32::MAX };
        prepared.executed_by = Some(prepared.executed_by.map_or(session, by));
    }

    /// Closes a statement here, if it is prepared.
    pub fn close_statement(&mut self, key: &StatementKey) {
        if let Some(old) = self.statements.pop(key) {
            self.queue_close(old.id);
        }
    }

    /// Closes half of the statements here, those that were used longest ago, but for those in use. Returns how many.
    pub fn close_old_statements(&mut self, in_use: &dyn Fn(&StatementKey) -> bool) -> usize {
        let half = self.statements.len().div_ceil(2);
        let free = self.statements.iter().rev().filter(|(key, kept)| !kept.held && !in_use(key)).map(|(key, _)| key);
        let old: Vec<_> = free.take(half).cloned().collect();
        old.iter().for_each(|key| self.close_statement(key));
        old.len()
    }

    /// Keeps a statement prepared here. A statement that has to make room is closed on the server: never one with a cursor or with
    /// values in pieces, for which there is room in any case.
    pub fn remember(&mut self, key: Rc<StatementKey>, prepared: Prepared) {
        if self.statements.peek(&key).is_some_and(|kept| kept.held) {
            self.queue_close(prepared.id);
            return;
        }
        let full = self.statements.len() >= self.statements.cap().get() && !self.statements.contains(&key);
        if full && self.statements.peek_lru().is_some_and(|(_, oldest)| oldest.held) {
            let free = self.statements.iter().rev().find(|(_, kept)| !kept.held).map(|(key, _)| key.clone());
            match free {
                Some(free) => self.close_statement(&free),
                None => self.statements.resize(self.statements.cap().saturating_add(1)),
            }
        }
        if let Some((_, old)) = self.statements.push(key, prepared) {
            self.queue_close(old.id);
        }
    }

    fn queue_close(&mut self, id: u32) {
        self.queue(&[&[Command::StmtClose as u8][..], &id.to_le_bytes()].concat(), false);
    }
}
