//! Which statement it is: the first words decide who reads the rest.

use bumpalo::collections::Vec as ArenaVec;

use super::{Expected, Parser, Read};
use crate::ast::{Opaque, Statement, StatementKind, UpkeepVerb};
use crate::keyword::Keyword;
use crate::kw;
use crate::lexer::TokenKind;

impl<'a> Parser<'a> {
    /// One statement, up to its end.
    pub(super) fn statement(&mut self) -> Read<Statement<'a>> {
        let start = self.start();
        let kind = self.statement_kind()?;
        Ok(Statement { span: self.span_from(start), kind })
    }

    fn statement_kind(&mut self) -> Read<StatementKind<'a>> {
        match self.word() {
            kw::SELECT | kw::VALUES | kw::TABLE => Ok(StatementKind::Query(self.query()?)),
            kw::WITH => self.after_with(),
            kw::INSERT | kw::REPLACE => self.insert(),
            kw::UPDATE => self.update(None),
            kw::DELETE => self.delete(None),
            kw::LOAD if self.next_is(kw::DATA) || self.next_is(kw::XML) => self.load(),
            kw::CREATE => self.create(),
            kw::ALTER => self.alter(),
            kw::DROP => self.drop_object(),
            kw::RENAME => self.rename(),
            kw::TRUNCATE => self.truncate(),
            kw::GRANT => self.grant(),
            kw::REVOKE => self.revoke(),
            kw::SET => self.set(),
            kw::SHOW => self.show(),
            kw::DESC | kw::DESCRIBE | kw::EXPLAIN => self.describe(),
            kw::ANALYZE => self.analyze(),
            kw::USE => self.use_database(),
            kw::CALL => self.call_statement(),
            kw::KILL => self.kill(),
            kw::LOCK => self.lock(),
            kw::UNLOCK => self.unlock(),
            kw::RELEASE => self.release(),
            kw::CHANGE => self.change_replication(),
            kw::CHECK => self.table_upkeep(UpkeepVerb::Check),
            kw::OPTIMIZE => self.table_upkeep(UpkeepVerb::Optimize),
            kw::PURGE => self.purge(),
            kw::SIGNAL | kw::RESIGNAL => self.signal(),
            kw::LOAD if self.next_is(kw::INDEX) => self.load_index(),
            kw::IF | kw::CASE | kw::LOOP | kw::WHILE | kw::REPEAT | kw::FOR => self.compound_statement(),
            _ if self.at_punct(b'(') => Ok(StatementKind::Query(self.query()?)),
            Keyword::NONE => self.stop(Expected::What("a statement")),
            _ => self.statement_of_plain_word(),
        }
    }

    /// A statement whose first word may be a name elsewhere.
    fn statement_of_plain_word(&mut self) -> Read<StatementKind<'a>> {
        match self.word() {
            kw::BEGIN => self.begin(),
            kw::START => self.start_something(),
            kw::COMMIT => self.commit(),
            kw::ROLLBACK => self.rollback(),
            kw::SAVEPOINT => self.savepoint(),
            kw::XA => self.xa(),
            kw::PREPARE => self.prepare(),
            kw::EXECUTE => self.execute(),
            kw::DEALLOCATE => self.deallocate(),
            kw::DO => self.do_statement(),
            kw::HANDLER => self.handler(),
            kw::GET => self.get_diagnostics(),
            kw::HELP => self.help(),
            kw::FLUSH => self.flush(),
            kw::RESET => self.reset(),
            kw::STOP => self.start_or_stop_replication(),
            kw::REPAIR => self.table_upkeep(UpkeepVerb::Repair),
            kw::CHECKSUM => self.table_upkeep(UpkeepVerb::Checksum),
            kw::CACHE => self.cache_index(),
            kw::INSTALL => self.install(),
            kw::UNINSTALL => self.uninstall(),
            kw::BACKUP => self.backup(),
            kw::BINLOG => self.binlog(),
            kw::CLONE => self.clone_statement(),
            kw::IMPORT => self.import_table(),
            kw::RESTART => self.restart(),
            kw::SHUTDOWN => self.shutdown(),
            kw::WEIR => self.weir(),
            kw::BATCH => self.batch(),
            _ => self.stop(Expected::What("a statement")),
        }
    }

    /// Whatever begins with a keyword and is not known further. To be called at the statement's first token.
    pub(super) fn opaque(&mut self) -> Read<&'a Opaque<'a>> {
        let start = self.start();
        while self.word() != Keyword::NONE && self.word().is_keyword() {
            self.advance();
        }
        let verb = self.span_from(start);
        let mut names = ArenaVec::new_in(self.arena);
        while !self.at_end() {
            if self.kind() == TokenKind::Unterminated {
                return self.stop(Expected::What("the end of what is quoted"));
            }
            match self.at_name().then(|| self.attempt(Self::object_name)).flatten() {
                Some(name) => names.push(name),
                None => self.advance(),
            }
        }
        Ok(self.alloc(Opaque { verb, names: names.into_bump_slice() }))
    }
}
