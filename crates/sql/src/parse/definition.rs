//! CREATE, ALTER, DROP and RENAME: the kind of object decides who reads the statement.
//!
//! What must hold: whatever stands between the verb and the kind (OR REPLACE, TEMPORARY, DEFINER = …, …) is only looked
//! at here; the one who reads the statement begins at its verb.

use super::{Expected, Parser, Read};
use crate::ast::{Account, StatementKind};
use crate::cursor::Cursor;
use crate::keyword::Keyword;
use crate::kw;
use crate::lexer::TokenKind;

/// Objects that hold no rows of their own.
const SERVER_OBJECTS: &[Keyword] = &[kw::LOGFILE, kw::REFERENCE, kw::RESOURCE, kw::SERVER, kw::TABLESPACE];

impl<'a> Parser<'a> {
    /// CREATE.
    pub(super) fn create(&mut self) -> Read<StatementKind<'a>> {
        match self.object_word() {
            kw::USER => self.create_user(),
            kw::ROLE => self.create_role(),
            kw::DATABASE | kw::SCHEMA => self.create_database(),
            kw::INDEX => self.create_index(),
            kw::SEQUENCE => self.define_sequence(),
            kw::TABLE => self.create_table(),
            kw::VIEW => self.define_view(),
            word if SERVER_OBJECTS.contains(&word) => self.server_object(),
            kw::PROCEDURE => self.create_procedure(),
            kw::FUNCTION => self.create_function(),
            kw::LIBRARY => self.create_library(),
            kw::TRIGGER => self.create_trigger(),
            kw::EVENT => self.create_event(),
            _ => self.unknown_object(),
        }
    }

    /// ALTER.
    pub(super) fn alter(&mut self) -> Read<StatementKind<'a>> {
        match self.object_word() {
            kw::USER => self.alter_user(),
            kw::DATABASE | kw::SCHEMA => self.alter_database(),
            kw::SEQUENCE => self.define_sequence(),
            kw::TABLE => self.alter_table(),
            kw::VIEW => self.define_view(),
            word if SERVER_OBJECTS.contains(&word) => self.server_object(),
            kw::PROCEDURE | kw::FUNCTION | kw::LIBRARY => self.alter_routine(),
            kw::EVENT => self.alter_event(),
            _ => self.unknown_object(),
        }
    }

    /// DROP.
    pub(super) fn drop_object(&mut self) -> Read<StatementKind<'a>> {
        match self.object_word() {
            kw::USER | kw::ROLE => self.drop_accounts(),
            kw::PREPARE => self.deallocate(),
            kw::DATABASE | kw::SCHEMA => self.drop_database(),
            kw::INDEX => self.drop_index(),
            kw::SEQUENCE | kw::TABLE | kw::TABLES | kw::VIEW => self.drop_tables(),
            word if SERVER_OBJECTS.contains(&word) => self.server_object(),
            kw::PROCEDURE | kw::FUNCTION | kw::TRIGGER | kw::EVENT | kw::LIBRARY | kw::PACKAGE => self.drop_program(),
            _ => self.unknown_object(),
        }
    }

    /// RENAME.
    pub(super) fn rename(&mut self) -> Read<StatementKind<'a>> {
        match self.object_word() {
            kw::USER => self.rename_user(),
            kw::TABLE | kw::TABLES => self.rename_tables(),
            _ => self.unknown_object(),
        }
    }

    /// At CREATE or ALTER: whether the statement has the body of a stored program, which may hold semicolons.
    pub(super) fn makes_program(&self) -> bool {
        matches!(self.object_word(), kw::PROCEDURE | kw::FUNCTION | kw::TRIGGER | kw::EVENT)
    }

    /// A definition of something that has no grammar here. What is no word of the servers' names no kind of object.
    fn unknown_object(&mut self) -> Read<StatementKind<'a>> {
        let object = self.at_object();
        if !object.current().word.is_keyword() {
            self.cursor = object;
            return self.stop(Expected::What("a kind of object"));
        }
        Ok(StatementKind::Opaque(self.opaque()?))
    }

    /// `OR REPLACE`, if it is there.
    pub(super) fn or_replace(&mut self) -> bool {
        self.eat_all(&[kw::OR, kw::REPLACE])
    }

    /// `IF NOT EXISTS`, if it is there.
    pub(super) fn if_not_exists(&mut self) -> Read<bool> {
        let found = self.eat(kw::IF);
        if found {
            self.expect_all(&[kw::NOT, kw::EXISTS])?;
        }
        Ok(found)
    }

    /// `IF EXISTS`, if it is there.
    pub(super) fn if_exists(&mut self) -> Read<bool> {
        let found = self.eat(kw::IF);
        if found {
            self.expect(kw::EXISTS)?;
        }
        Ok(found)
    }

    /// `DEFINER = account`, if it is there.
    pub(super) fn definer(&mut self) -> Read<Option<Account<'a>>> {
        if !self.eat(kw::DEFINER) {
            return Ok(None);
        }
        self.expect_punct(b'=')?;
        Ok(Some(self.account_or_role()?))
    }

    /// The word after the verb that says what kind of object is meant.
    fn object_word(&self) -> Keyword {
        self.at_object().current().word
    }

    /// Where that word stands.
    fn at_object(&self) -> Cursor<'a> {
        let mut ahead = self.cursor;
        ahead.advance();
        loop {
            match ahead.current().word {
                kw::AGGREGATE
                | kw::DUALITY
                | kw::EXTERNAL
                | kw::FULLTEXT
                | kw::IGNORE
                | kw::JSON
                | kw::MATERIALIZED
                | kw::OFFLINE
                | kw::ONLINE
                | kw::OR
                | kw::RELATIONAL
                | kw::REPLACE
                | kw::SPATIAL
                | kw::TEMPORARY
                | kw::UNDO
                | kw::VECTOR => ahead.advance(),
                kw::UNIQUE => {
                    ahead.advance();
                    if ahead.text(ahead.current()).eq_ignore_ascii_case(b"unchecked") {
                        ahead.advance();
                    }
                }
                kw::ALGORITHM => {
                    ahead.advance();
                    ahead.eat_punct(b'=');
                    ahead.advance();
                }
                kw::SQL => {
                    ahead.eat_all(&[kw::SQL, kw::SECURITY]);
                    ahead.advance();
                }
                kw::DEFINER => skip_definer(&mut ahead),
                _ => return ahead,
            }
        }
    }
}

/// `DEFINER = account`.
fn skip_definer(ahead: &mut Cursor<'_>) {
    ahead.advance();
    ahead.eat_punct(b'=');
    ahead.advance();
    match ahead.kind() {
        TokenKind::Punct(b'(') => ahead.skip_parentheses(),
        TokenKind::UserVariable => ahead.advance(),
        TokenKind::Punct(b'@') => {
            ahead.advance();
            ahead.advance();
        }
        _ => {}
    }
}
