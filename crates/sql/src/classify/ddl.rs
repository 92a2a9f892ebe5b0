//! CREATE, ALTER and DROP.
//!
//! What must hold: definitions are not executed, so their expressions say nothing; but the query of CREATE TABLE …
//! SELECT is, and so is what follows a routine's body in the same text.

use super::scan::Reader;
use super::{Effects, Kind, Pins};
use crate::keyword::Keyword;
use crate::kw;
use crate::lexer::TokenKind;

const DEFINITION: Effects = Effects::WRITES.union(Effects::IMPLICIT_COMMIT);

/// Objects that are defined by names and options.
const PLAIN_OBJECTS: &[Keyword] = &[
    kw::INDEX,
    kw::DATABASE,
    kw::SCHEMA,
    kw::VIEW,
    kw::USER,
    kw::ROLE,
    kw::SERVER,
    kw::TABLESPACE,
    kw::LOGFILE,
    kw::RESOURCE,
    kw::REFERENCE,
    kw::SEQUENCE,
    kw::LIBRARY,
    kw::INSTANCE,
    kw::TABLES,
];

/// Objects whose definition holds statements.
const ROUTINES: &[Keyword] = &[kw::PROCEDURE, kw::FUNCTION, kw::TRIGGER, kw::EVENT];

/// What may stand between the verb and the object's word, apart from `=` and names after `=`.
const MODIFIERS: &[Keyword] = &[
    kw::OR,
    kw::REPLACE,
    kw::TEMPORARY,
    kw::UNIQUE,
    kw::FULLTEXT,
    kw::SPATIAL,
    kw::ONLINE,
    kw::OFFLINE,
    kw::IGNORE,
    kw::UNDO,
    kw::AGGREGATE,
    kw::ALGORITHM,
    kw::DEFINER,
    kw::SQL,
    kw::SECURITY,
    kw::INVOKER,
    kw::JSON,
    kw::RELATIONAL,
    kw::DUALITY,
    kw::MATERIALIZED,
    kw::IF,
    kw::NOT,
    kw::EXISTS,
];

/// What a definition is about.
enum Object {
    Table,
    Routine,
    Plain(Keyword),
    Unknown,
}

impl Reader<'_> {
    /// Moves to the object's word.
    fn object(&mut self) -> Object {
        self.cursor.advance();
        loop {
            let word = self.cursor.current().word;
            match self.cursor.kind() {
                TokenKind::Word if word == kw::TABLE => return Object::Table,
                TokenKind::Word if ROUTINES.contains(&word) => return Object::Routine,
                TokenKind::Word if PLAIN_OBJECTS.contains(&word) => return Object::Plain(word),
                TokenKind::Word if word == kw::TEMPORARY => self.pin(Pins::TEMPORARY_TABLE),
                TokenKind::Word if MODIFIERS.contains(&word) => {}
                // ALGORITHM = MERGE, DEFINER = user@host, DEFINER = CURRENT_USER()
                TokenKind::Punct(b'=') => {
                    self.cursor.advance();
                    if self.cursor.at_end() {
                        return Object::Unknown;
                    }
                    self.skip_account();
                    continue;
                }
                _ => return Object::Unknown,
            }
            self.cursor.advance();
        }
    }

    /// A name or account after `=`.
    fn skip_account(&mut self) {
        self.cursor.advance();
        if self.cursor.eat_punct(b'(') {
            self.cursor.eat_punct(b')');
        }
        // A host follows as @host, or as @ and a name.
        if self.cursor.eat_punct(b'@') || self.cursor.kind() == TokenKind::UserVariable {
            self.cursor.advance();
        }
    }

    pub(super) fn create(&mut self) -> Kind {
        self.effect(DEFINITION);
        match self.object() {
            Object::Table => self.create_table(),
            Object::Routine => self.routine(),
            Object::Plain(_) => self.names_only(DEFINITION),
            Object::Unknown => self.unknown_form(),
        }
    }

    /// Columns and options are skipped; a query is executed.
    fn create_table(&mut self) -> Kind {
        while !self.cursor.at_end() {
            let query = match self.cursor.current().word {
                kw::SELECT => true,
                kw::AS => {
                    let next = self.cursor.next().word;
                    matches!(next, kw::WITH | kw::VALUES | kw::TABLE)
                }
                _ => false,
            };
            if query {
                self.effect(Effects::READS | Effects::GENERATES_INSERT_ID);
                self.rest();
                break;
            }
            self.cursor.advance();
        }
        Kind::Other
    }

    pub(super) fn alter(&mut self) -> Kind {
        self.effect(DEFINITION);
        match self.object() {
            Object::Routine => self.routine(),
            Object::Table | Object::Plain(_) => self.names_only(DEFINITION),
            Object::Unknown => self.unknown_form(),
        }
    }

    pub(super) fn drop_object(&mut self) -> Kind {
        if self.cursor.next_is(kw::PREPARE) {
            return self.names_only(Effects::empty());
        }
        self.effect(DEFINITION);
        let pins = self.class.pins;
        let object = self.object();
        // DROP TEMPORARY TABLE leaves none.
        self.class.pins = pins;
        match object {
            Object::Plain(kw::DATABASE | kw::SCHEMA) => self.names_only(Effects::CHANGES_DATABASE),
            Object::Table | Object::Routine | Object::Plain(_) => self.names_only(DEFINITION),
            Object::Unknown => self.unknown_form(),
        }
    }
}
