//! What operates the server: KILL, FLUSH, RESET, replication, upkeep of tables, plugins, and the like.
//!
//! What must hold: names of tables are read as names; options that nothing depends on are spans.

mod flush;
mod install;
mod replication;
mod upkeep;

use super::{Expected, Parser, Read};
use crate::ast::{Batch, DryRun, Kill, KillWhom, Purge, ServerControl, StatementKind};
use crate::keyword::Keyword;
use crate::kw;
use crate::lexer::TokenKind;
use crate::mode::Dialect;

impl<'a> Parser<'a> {
    /// KILL.
    pub(super) fn kill(&mut self) -> Read<StatementKind<'a>> {
        self.advance();
        let hard = self.eat_unless_last(&[kw::HARD, kw::SOFT]).map(|word| word == kw::HARD);
        let query = self.eat_any(&[kw::QUERY, kw::CONNECTION]) == Some(kw::QUERY);
        let by_id = query && self.eat_unless_last(&[kw::ID]).is_some();
        let target = if !self.next_is_punct(b'(') && self.eat_unless_last(&[kw::USER]).is_some() {
            KillWhom::User(self.account()?)
        } else if by_id {
            KillWhom::QueryId(self.expr()?)
        } else {
            KillWhom::Connection(self.expr()?)
        };
        Ok(StatementKind::Kill(self.alloc(Kill { hard, query, target })))
    }

    /// Moves past one of these words, which only MariaDB has here, if something follows it.
    fn eat_unless_last(&mut self, words: &[Keyword]) -> Option<Keyword> {
        let none = self.cursor.next_is_end() || self.mode.dialect == Dialect::MySql;
        if none { None } else { self.eat_any(words) }
    }

    /// A statement that is only known by its kind.
    fn server(&self, control: ServerControl<'a>) -> StatementKind<'a> {
        StatementKind::Server(self.alloc(control))
    }

    /// SHUTDOWN.
    pub(super) fn shutdown(&mut self) -> Read<StatementKind<'a>> {
        self.advance();
        if self.eat(kw::WAIT) {
            self.expect_all(&[kw::FOR, kw::ALL])?;
            self.expect_any(&[kw::SLAVES, kw::REPLICAS])?;
        }
        Ok(self.server(ServerControl::Shutdown))
    }

    /// RESTART.
    pub(super) fn restart(&mut self) -> Read<StatementKind<'a>> {
        self.advance();
        Ok(self.server(ServerControl::Restart))
    }

    /// BINLOG.
    pub(super) fn binlog(&mut self) -> Read<StatementKind<'a>> {
        self.advance();
        let events = self.exprs()?;
        Ok(self.server(ServerControl::Binlog(events)))
    }

    /// PURGE.
    pub(super) fn purge(&mut self) -> Read<StatementKind<'a>> {
        self.advance();
        self.expect_any(&[kw::BINARY, kw::MASTER])?;
        self.expect(kw::LOGS)?;
        let purge = match self.expect_any(&[kw::TO, kw::BEFORE])? {
            kw::TO => Purge::To(self.expect_string()?),
            _ => Purge::Before(self.expr()?),
        };
        Ok(self.server(ServerControl::Purge(purge)))
    }

    /// IMPORT.
    pub(super) fn import_table(&mut self) -> Read<StatementKind<'a>> {
        self.expect_all(&[kw::IMPORT, kw::TABLE, kw::FROM])?;
        let files = self.list(Self::expect_string)?;
        Ok(self.server(ServerControl::ImportTable(files)))
    }

    /// WEIR: Weir's own statements.
    pub(super) fn weir(&mut self) -> Read<StatementKind<'a>> {
        self.advance();
        let start = if self.at_end() { self.cursor.previous().token.end } else { self.start() };
        while !self.at_end() {
            if self.kind() == TokenKind::Unterminated {
                return self.stop(Expected::What("the end of what is quoted"));
            }
            self.advance();
        }
        Ok(StatementKind::Weir(self.span_from(start)))
    }

    /// BATCH: a large write in parts.
    pub(super) fn batch(&mut self) -> Read<StatementKind<'a>> {
        self.advance();
        let column = if self.eat(kw::ON) { Some(self.column_name()?) } else { None };
        self.expect(kw::LIMIT)?;
        let rows = self.expect_integer()?;
        let mut dry_run = DryRun::No;
        if self.eat(kw::DRY) {
            self.expect(kw::RUN)?;
            dry_run = if self.eat(kw::QUERY) { DryRun::Query } else { DryRun::Parts };
        }
        let statement = self.nested(Self::statement)?;
        Ok(StatementKind::Batch(self.alloc(Batch { column, rows, dry_run, statement: self.alloc(statement) })))
    }
}

#[cfg(test)]
mod tests;
