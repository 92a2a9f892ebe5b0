//! Which statement it is, by its first words.
//!
//! What must hold: a verb that is not listed here pins.

use super::scan::Reader;
use super::{Effects, Kind, Pins};
use crate::keyword::Keyword;
use crate::kw;
use crate::lexer::TokenKind;

const ADMINISTRATION: Effects = Effects::READS.union(Effects::WRITES).union(Effects::IMPLICIT_COMMIT);

impl Reader<'_> {
    /// One statement, from its first token on; may stop before its end.
    pub(super) fn statement(&mut self) -> Kind {
        match self.cursor.current().word {
            kw::SELECT => self.select(),
            kw::INSERT | kw::REPLACE => self.insert(),
            kw::UPDATE | kw::DELETE => self.plain(Effects::READS | Effects::WRITES),
            kw::SET => self.set(),
            kw::WITH => self.with(),
            kw::VALUES => self.query(Effects::empty()),
            kw::TABLE => self.query(Effects::READS),
            kw::BEGIN => self.begin(),
            kw::START => self.start(),
            kw::COMMIT => self.end_transaction(Kind::Commit),
            kw::ROLLBACK => self.end_transaction(Kind::Rollback),
            kw::SAVEPOINT => self.names_only(Effects::empty()),
            kw::RELEASE if self.cursor.next_is(kw::SAVEPOINT) => self.names_only(Effects::empty()),
            kw::USE => self.use_database(),
            kw::SHOW => self.show(),
            kw::KILL => self.kill(),
            kw::DO => self.do_expressions(),
            kw::LOAD => self.load(),
            kw::CALL => self.call_procedure(),
            kw::EXPLAIN | kw::DESCRIBE | kw::DESC => self.explain(),
            kw::HANDLER => self.pinned(Pins::HANDLER, Effects::READS),
            kw::GET => self.get_diagnostics(),
            kw::WEIR => self.weir(),
            kw::PREPARE => self.pinned(Pins::TEXT_PREPARE, Effects::empty()),
            kw::EXECUTE => {
                self.unknown_statement();
                self.pinned(Pins::TEXT_PREPARE, Effects::empty())
            }
            kw::DEALLOCATE => self.names_only(Effects::empty()),
            _ => self.administration(),
        }
    }

    fn administration(&mut self) -> Kind {
        match self.cursor.current().word {
            kw::CREATE => self.create(),
            kw::ALTER => self.alter(),
            kw::DROP => self.drop_object(),
            kw::TRUNCATE | kw::RENAME => self.names_only(ADMINISTRATION),
            kw::ANALYZE => self.analyze(),
            kw::CHECK | kw::CHECKSUM | kw::OPTIMIZE | kw::REPAIR | kw::CACHE => self.names_only(ADMINISTRATION),
            kw::GRANT | kw::REVOKE => self.names_only(ADMINISTRATION),
            kw::LOCK => self.lock(),
            kw::UNLOCK => self.unlock(),
            kw::FLUSH => self.flush(),
            kw::BACKUP => self.backup(),
            kw::XA => self.xa(),
            kw::STOP if self.cursor_names_replication() => self.names_only(ADMINISTRATION),
            kw::RESET | kw::PURGE | kw::INSTALL | kw::UNINSTALL | kw::CHANGE => self.plain(ADMINISTRATION),
            kw::IMPORT | kw::CLONE | kw::SHUTDOWN | kw::RESTART => self.plain(ADMINISTRATION),
            kw::HELP => self.names_only(Effects::READS),
            kw::SIGNAL | kw::RESIGNAL => self.plain(Effects::empty()),
            _ => {
                if self.cursor.at_punct(b'(') {
                    return self.parenthesised();
                }
                self.unknown_statement();
                Kind::Other
            }
        }
    }

    pub(super) fn plain(&mut self, effects: Effects) -> Kind {
        self.effect(effects);
        self.cursor.advance();
        self.rest();
        Kind::Other
    }

    fn pinned(&mut self, pins: Pins, effects: Effects) -> Kind {
        self.pin(pins);
        self.plain(effects)
    }

    /// A statement whose words are names and options, with no expression in it.
    pub(super) fn names_only(&mut self, effects: Effects) -> Kind {
        self.effect(effects);
        self.cursor.skip_statement();
        Kind::Other
    }

    /// A verb that has no meaning without a known second word.
    pub(super) fn unknown_form(&mut self) -> Kind {
        self.unknown_statement();
        self.rest();
        Kind::Other
    }

    pub(super) fn query(&mut self, effects: Effects) -> Kind {
        self.plain(effects);
        Kind::Select
    }

    fn select(&mut self) -> Kind {
        if let Some(kind) = self.counts_diagnostics() {
            return kind;
        }
        self.releases_all_locks();
        self.query(Effects::empty())
    }

    fn do_expressions(&mut self) -> Kind {
        self.releases_all_locks();
        self.plain(Effects::WRITES)
    }

    /// Exactly `SELECT RELEASE_ALL_LOCKS()` or `DO RELEASE_ALL_LOCKS()`. As a part of more it might not be evaluated.
    fn releases_all_locks(&mut self) {
        let mut ahead = self.cursor;
        ahead.advance();
        let call = ahead.eat(kw::RELEASE_ALL_LOCKS) && ahead.eat_punct(b'(') && ahead.eat_punct(b')');
        ahead.eat(kw::AS);
        if call && ahead.current().is_name() {
            ahead.advance();
        }
        if call && ahead.at_end() {
            self.class.releases |= Pins::USER_LOCK;
        }
    }

    fn insert(&mut self) -> Kind {
        self.effect(Effects::WRITES | Effects::GENERATES_INSERT_ID);
        self.cursor.advance();
        while self.cursor.eat_any(&[kw::LOW_PRIORITY, kw::DELAYED, kw::HIGH_PRIORITY, kw::IGNORE, kw::INTO]) {}
        // The table's name, which a parenthesis with columns may follow.
        while self.cursor.current().is_name() || self.cursor.at_punct(b'.') {
            let more = self.cursor.at_punct(b'.') || self.cursor.next_is_punct(b'.');
            self.cursor.advance();
            if !more {
                break;
            }
        }
        self.rest();
        Kind::Other
    }

    /// Up to the statement that the common table expressions are for.
    fn with(&mut self) -> Kind {
        self.visit();
        let mut depth = 0_u32;
        while !self.cursor.at_end() {
            match self.cursor.kind() {
                TokenKind::Punct(b'(') if depth == 0 && self.cursor.previous().token.kind == TokenKind::Punct(b')') => {
                    return self.parenthesised();
                }
                TokenKind::Punct(b'(') => depth += 1,
                TokenKind::Punct(b')') => depth = depth.saturating_sub(1),
                TokenKind::Word if depth == 0 => match self.cursor.current().word {
                    kw::SELECT => return self.query(Effects::empty()),
                    kw::VALUES => return self.query(Effects::empty()),
                    kw::TABLE => return self.query(Effects::READS),
                    kw::UPDATE | kw::DELETE => return self.plain(Effects::READS | Effects::WRITES),
                    kw::INSERT | kw::REPLACE => return self.insert(),
                    _ => {}
                },
                _ => {}
            }
            self.visit();
        }
        self.unknown_form()
    }

    fn parenthesised(&mut self) -> Kind {
        let mut ahead = self.cursor;
        while ahead.eat_punct(b'(') {}
        if !ahead.at_any(&[kw::SELECT, kw::WITH, kw::VALUES, kw::TABLE]) {
            return self.unknown_form();
        }
        self.rest();
        Kind::Select
    }

    fn load(&mut self) -> Kind {
        self.effect(Effects::READS | Effects::WRITES | Effects::GENERATES_INSERT_ID);
        self.cursor.advance();
        if self.cursor.at(kw::INDEX) {
            return self.names_only(Effects::empty());
        }
        if !self.cursor.eat_any(&[kw::DATA, kw::XML]) {
            return self.unknown_form();
        }
        // Only SET holds expressions; before it stand names, literals, and variables that are assigned.
        while !self.cursor.at_end() {
            let charset = matches!(self.cursor.previous().word, kw::CHARACTER | kw::CHAR);
            match self.cursor.kind() {
                TokenKind::Word if self.cursor.at(kw::LOCAL) => self.effect(Effects::LOCAL_INFILE),
                TokenKind::Word if self.cursor.at(kw::SET) && !charset => break,
                TokenKind::UserVariable | TokenKind::Punct(b'@') => self.computed_user_variable(),
                _ => {}
            }
            self.cursor.advance();
        }
        self.rest();
        Kind::Other
    }

    fn call_procedure(&mut self) -> Kind {
        self.pin(Pins::CALL);
        self.effect(Effects::READS | Effects::WRITES | Effects::GENERATES_INSERT_ID);
        self.cursor.advance();
        while self.cursor.current().is_name() || self.cursor.at_punct(b'.') {
            self.cursor.advance();
        }
        while !self.cursor.at_end() {
            if self.cursor.kind() == TokenKind::UserVariable {
                // It may be an OUT parameter.
                self.computed_user_variable();
            }
            self.visit();
        }
        Kind::Other
    }

    /// EXPLAIN, DESCRIBE, and what follows: a table's name, a connection, or a statement, which is executed after
    /// ANALYZE, and of which parts may be evaluated even without.
    fn explain(&mut self) -> Kind {
        self.effect(Effects::READS);
        self.cursor.advance();
        let runs = self.cursor.at(kw::ANALYZE) && !self.cursor.next_is_end();
        self.explained(runs)
    }

    /// From here to the statement that is explained, and that statement.
    fn explained(&mut self, runs: bool) -> Kind {
        const VERBS: &[Keyword] =
            &[kw::SELECT, kw::WITH, kw::VALUES, kw::INSERT, kw::REPLACE, kw::UPDATE, kw::DELETE, kw::TABLE];
        while !self.cursor.at_end() {
            let after_name = self.cursor.previous().token.kind == TokenKind::Punct(b'.');
            if !after_name && (self.cursor.at_any(VERBS) || self.cursor.at_punct(b'(')) {
                let (before, releases) = (self.class.effects, self.class.releases);
                self.statement();
                self.class.releases = releases;
                if !runs && !self.class.pins.intersects(Pins::UNKNOWN_FUNCTION | Pins::UNKNOWN_STATEMENT) {
                    let only_if_run = Effects::WRITES | Effects::GENERATES_INSERT_ID | Effects::LOCKING_READ;
                    self.class.effects = before | (self.class.effects - only_if_run);
                }
                return Kind::Other;
            }
            // MySQL: EXPLAIN FORMAT=JSON INTO @plan SELECT …
            self.visit();
        }
        Kind::Other
    }

    /// ANALYZE TABLE, or MariaDB's ANALYZE <statement>, which runs it.
    fn analyze(&mut self) -> Kind {
        let mut ahead = self.cursor;
        ahead.advance();
        ahead.eat_any(&[kw::NO_WRITE_TO_BINLOG, kw::LOCAL]);
        if ahead.at_any(&[kw::TABLE, kw::TABLES]) {
            return self.names_only(ADMINISTRATION);
        }
        self.effect(Effects::READS);
        self.cursor.advance();
        if self.cursor.at_end() { self.unknown_form() } else { self.explained(true) }
    }

    pub(super) fn cursor_names_replication(&self) -> bool {
        matches!(self.cursor.next().word, kw::REPLICA | kw::SLAVE | kw::GROUP_REPLICATION | kw::ALL)
    }

    fn get_diagnostics(&mut self) -> Kind {
        self.effect(Effects::USES_WARNINGS);
        while !self.cursor.at_end() {
            if self.cursor.kind() == TokenKind::UserVariable {
                self.computed_user_variable();
            }
            self.visit();
        }
        Kind::Other
    }
}
