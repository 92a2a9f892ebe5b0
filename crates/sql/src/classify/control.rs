//! Statements that Weir may answer or act on by itself, in exactly the forms that it understands, and locks.
//!
//! What must hold: a [`Kind`] with a meaning of its own is given only when nothing but that form stands up to the
//! statement's end; any other form is [`Kind::Other`].

use super::scan::Reader;
use super::{Diagnostics, Effects, KillTarget, Kind, Pins};
use crate::cursor::Cursor;
use crate::keyword::Keyword;
use crate::kw;
use crate::lexer::TokenKind;

const ADMINISTRATION: Effects = Effects::WRITES.union(Effects::IMPLICIT_COMMIT);

impl Reader<'_> {
    pub(super) fn begin(&mut self) -> Kind {
        self.cursor.advance();
        self.cursor.eat(kw::WORK);
        if self.cursor.at_end() {
            return Kind::Begin { read_only: None };
        }
        // BEGIN NOT ATOMIC and other blocks.
        self.unknown_form()
    }

    pub(super) fn start(&mut self) -> Kind {
        if self.cursor_names_replication() {
            return self.names_only(ADMINISTRATION);
        }
        self.cursor.advance();
        if !self.cursor.eat(kw::TRANSACTION) {
            return self.unknown_form();
        }
        let mut ahead = self.cursor;
        let read_only = if ahead.eat_all(&[kw::READ, kw::ONLY]) {
            Some(true)
        } else if ahead.eat_all(&[kw::READ, kw::WRITE]) {
            Some(false)
        } else {
            None
        };
        if ahead.at_end() {
            self.cursor = ahead;
            return Kind::Begin { read_only };
        }
        self.names_only(Effects::STARTS_TRANSACTION_OTHER)
    }

    /// COMMIT or ROLLBACK.
    pub(super) fn end_transaction(&mut self, kind: Kind) -> Kind {
        self.cursor.advance();
        self.cursor.eat(kw::WORK);
        if self.cursor.at(kw::TO) {
            return self.names_only(Effects::empty());
        }
        let mut ahead = self.cursor;
        ahead.eat_all(&[kw::AND, kw::NO, kw::CHAIN]);
        ahead.eat_all(&[kw::NO, kw::RELEASE]);
        if ahead.at_end() {
            self.cursor = ahead;
            return kind;
        }
        if self.cursor.eat_all(&[kw::AND, kw::CHAIN]) {
            self.cursor.eat_all(&[kw::NO, kw::RELEASE]);
            self.effect(Effects::STARTS_TRANSACTION_OTHER);
            if self.cursor.at_end() {
                return Kind::Other;
            }
        }
        // … RELEASE: the server ends the connection.
        self.unknown_form()
    }

    pub(super) fn use_database(&mut self) -> Kind {
        self.effect(Effects::CHANGES_DATABASE);
        self.cursor.advance();
        if self.cursor.current().is_name() && self.cursor.next_is_end() {
            self.cursor.advance();
            return Kind::Use;
        }
        self.unknown_form()
    }

    pub(super) fn kill(&mut self) -> Kind {
        self.effect(Effects::WRITES);
        self.cursor.advance();
        let mut ahead = self.cursor;
        ahead.eat_any(&[kw::HARD, kw::SOFT]);
        let query = ahead.at(kw::QUERY);
        ahead.eat_any(&[kw::QUERY, kw::CONNECTION]);
        let number = integer(&mut ahead).filter(|_| ahead.at_end());
        self.rest();
        Kind::Kill(match number {
            Some(number) if query => KillTarget::Query(number),
            Some(number) => KillTarget::Connection(number),
            None => KillTarget::Other,
        })
    }

    pub(super) fn show(&mut self) -> Kind {
        self.effect(Effects::READS);
        self.cursor.advance();
        let mut ahead = self.cursor;
        let full = ahead.eat(kw::FULL);
        if ahead.eat(kw::PROCESSLIST) && ahead.at_end() {
            self.cursor = ahead;
            return Kind::ShowProcesslist { full };
        }
        let mut ahead = self.cursor;
        if let Some(diagnostics) = shown_diagnostics(&mut ahead) {
            self.effect(Effects::USES_WARNINGS);
            if ahead.at_end() {
                self.cursor = ahead;
                return Kind::ShowWarnings(diagnostics);
            }
        }
        let scoped = self.cursor.eat_any(&[kw::SESSION, kw::LOCAL]);
        if self.cursor.at(kw::VARIABLES) {
            self.effect(Effects::SHOWS_SESSION_VARIABLES);
        } else if !scoped && self.cursor.at_any(&[kw::COUNT, kw::WARNINGS, kw::ERRORS]) {
            self.effect(Effects::USES_WARNINGS);
        }
        self.rest();
        Kind::Other
    }

    /// Exactly `SELECT @@warning_count` or `SELECT @@error_count`.
    pub(super) fn counts_diagnostics(&mut self) -> Option<Kind> {
        if self.cursor.next().token.kind != TokenKind::SystemVariable {
            return None;
        }
        let start = self.cursor;
        self.cursor.advance();
        let (scope, name) = self.system_variable_name();
        let session = matches!(scope, None | Some(kw::SESSION | kw::LOCAL));
        let diagnostics = match Keyword::of(name) {
            kw::WARNING_COUNT => Diagnostics::CountWarnings,
            kw::ERROR_COUNT => Diagnostics::CountErrors,
            _ => {
                self.cursor = start;
                return None;
            }
        };
        if session && self.cursor.at_end() {
            self.effect(Effects::USES_WARNINGS);
            return Some(Kind::ShowWarnings(diagnostics));
        }
        self.cursor = start;
        None
    }

    pub(super) fn weir(&mut self) -> Kind {
        let mut end = self.cursor.current().token.end as usize;
        self.cursor.advance();
        let start = self.cursor.current().token.start as usize;
        while !self.cursor.at_end() {
            end = self.cursor.current().token.end as usize;
            self.cursor.advance();
        }
        Kind::Weir(start.min(end)..end)
    }

    pub(super) fn lock(&mut self) -> Kind {
        self.cursor.advance();
        if self.cursor.at_any(&[kw::TABLE, kw::TABLES]) {
            self.pin(Pins::LOCK_TABLES);
            return self.names_only(ADMINISTRATION);
        }
        if self.cursor.eat_all(&[kw::INSTANCE, kw::FOR, kw::BACKUP]) {
            self.pin(Pins::BACKUP_LOCK);
            return self.names_only(ADMINISTRATION);
        }
        self.unknown_form()
    }

    pub(super) fn unlock(&mut self) -> Kind {
        self.cursor.advance();
        let released = if self.cursor.eat_any(&[kw::TABLE, kw::TABLES]) {
            Pins::LOCK_TABLES | Pins::GLOBAL_READ_LOCK
        } else if self.cursor.eat(kw::INSTANCE) {
            Pins::BACKUP_LOCK
        } else {
            return self.unknown_form();
        };
        if !self.cursor.at_end() {
            return self.unknown_form();
        }
        self.class.releases |= released;
        self.effect(ADMINISTRATION);
        Kind::Other
    }

    pub(super) fn flush(&mut self) -> Kind {
        while !self.cursor.at_end() {
            let locks = self.cursor.at(kw::WITH) && self.cursor.next_is(kw::READ)
                || self.cursor.at(kw::FOR) && self.cursor.next_is(kw::EXPORT);
            if locks {
                self.pin(Pins::GLOBAL_READ_LOCK);
            }
            self.cursor.advance();
        }
        self.effect(ADMINISTRATION);
        Kind::Other
    }

    /// MariaDB's BACKUP STAGE … and BACKUP LOCK. BACKUP UNLOCK gives back the lock only, so it is not counted.
    pub(super) fn backup(&mut self) -> Kind {
        self.cursor.advance();
        if self.cursor.eat_all(&[kw::STAGE, kw::END]) && self.cursor.at_end() {
            self.class.releases |= Pins::BACKUP_LOCK;
        } else if self.cursor.at(kw::UNLOCK) {
            // Nothing is left that was not there before.
        } else {
            self.pin(Pins::BACKUP_LOCK);
        }
        self.names_only(ADMINISTRATION)
    }

    pub(super) fn xa(&mut self) -> Kind {
        self.cursor.advance();
        if self.cursor.at_any(&[kw::START, kw::BEGIN]) {
            self.pin(Pins::XA);
            self.effect(Effects::STARTS_TRANSACTION_OTHER);
        } else if self.cursor.at_any(&[kw::COMMIT, kw::ROLLBACK]) {
            self.class.releases |= Pins::XA;
        } else if !self.cursor.at_any(&[kw::END, kw::PREPARE, kw::RECOVER]) {
            return self.unknown_form();
        }
        self.names_only(Effects::WRITES)
    }
}

/// An integer literal that fits.
fn integer(cursor: &mut Cursor<'_>) -> Option<u64> {
    if cursor.kind() != TokenKind::Integer {
        return None;
    }
    let number = std::str::from_utf8(cursor.text(cursor.current())).ok()?.parse().ok()?;
    cursor.advance();
    Some(number)
}

/// `WARNINGS | ERRORS [LIMIT …]` or `COUNT(*) WARNINGS | ERRORS`.
fn shown_diagnostics(cursor: &mut Cursor<'_>) -> Option<Diagnostics> {
    if cursor.eat(kw::COUNT) {
        if !(cursor.eat_punct(b'(') && cursor.eat_punct(b'*') && cursor.eat_punct(b')')) {
            return None;
        }
        return if cursor.eat(kw::WARNINGS) {
            Some(Diagnostics::CountWarnings)
        } else if cursor.eat(kw::ERRORS) {
            Some(Diagnostics::CountErrors)
        } else {
            None
        };
    }
    let errors = cursor.at(kw::ERRORS);
    if !cursor.eat_any(&[kw::WARNINGS, kw::ERRORS]) {
        return None;
    }
    let (mut offset, mut limit) = (0, None);
    if cursor.eat(kw::LIMIT) {
        let first = integer(cursor)?;
        if cursor.eat_punct(b',') {
            offset = first;
            limit = Some(integer(cursor)?);
        } else if cursor.eat(kw::OFFSET) {
            limit = Some(first);
            offset = integer(cursor)?;
        } else {
            limit = Some(first);
        }
    }
    Some(if errors { Diagnostics::Errors { offset, limit } } else { Diagnostics::Warnings { offset, limit } })
}
