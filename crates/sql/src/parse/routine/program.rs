//! CREATE, ALTER and DROP of procedures, functions and libraries, and DROP of all stored programs.

use crate::ast::{
    Account, AlterRoutine, Characteristic, CharacteristicKind, CreateLibrary, CreateLoadableFunction, CreateRoutine,
    DropProgram, ObjectName, ProgramKind, RoutineBody, Span, StatementKind,
};
use crate::keyword::Keyword;
use crate::kw;
use crate::lexer::TokenKind;
use crate::parse::{Expected, Parser, Read};

/// What stands before a stored program's name.
pub(super) struct Head<'a> {
    pub(super) or_replace: bool,
    pub(super) definer: Option<Account<'a>>,
    pub(super) if_not_exists: bool,
    pub(super) name: ObjectName<'a>,
    aggregate: bool,
}

impl<'a> Parser<'a> {
    /// `CREATE [OR REPLACE] [DEFINER = …] [AGGREGATE] word [IF NOT EXISTS] name`.
    pub(super) fn head_of_program(&mut self, word: Keyword) -> Read<Head<'a>> {
        self.expect(kw::CREATE)?;
        let or_replace = self.or_replace();
        let definer = self.definer()?;
        let aggregate = word == kw::FUNCTION && self.eat(kw::AGGREGATE);
        self.expect(word)?;
        let if_not_exists = self.if_not_exists()?;
        let name = self.program_name()?;
        Ok(Head { or_replace, definer, if_not_exists, name, aggregate })
    }

    /// `p`, `db.p`; a point before it is possible for tables only.
    pub(super) fn program_name(&mut self) -> Read<ObjectName<'a>> {
        if self.at_punct(b'.') { self.stop(Expected::What("a name")) } else { self.object_name() }
    }

    /// CREATE PROCEDURE.
    pub(in crate::parse) fn create_procedure(&mut self) -> Read<StatementKind<'a>> {
        let head = self.head_of_program(kw::PROCEDURE)?;
        self.routine(head, false)
    }

    /// CREATE FUNCTION, stored or from a file.
    pub(in crate::parse) fn create_function(&mut self) -> Read<StatementKind<'a>> {
        let head = self.head_of_program(kw::FUNCTION)?;
        if self.at(kw::RETURNS) && head.definer.is_none() && head.name.database.is_none() {
            return self.loadable_function(&head);
        }
        self.routine(head, true)
    }

    fn loadable_function(&mut self, head: &Head<'a>) -> Read<StatementKind<'a>> {
        self.advance();
        if !self.at_any(&[kw::STRING, kw::INTEGER, kw::INT, kw::REAL, kw::DECIMAL, kw::DEC]) {
            return self.stop(Expected::Words(&[kw::STRING, kw::INTEGER, kw::REAL, kw::DECIMAL]));
        }
        let returns = self.take_ident();
        self.expect(kw::SONAME)?;
        let library = self.expect_string()?;
        Ok(StatementKind::CreateLoadableFunction(self.alloc(CreateLoadableFunction {
            or_replace: head.or_replace,
            aggregate: head.aggregate,
            if_not_exists: head.if_not_exists,
            name: head.name,
            returns,
            library,
        })))
    }

    fn routine(&mut self, head: Head<'a>, function: bool) -> Read<StatementKind<'a>> {
        let parameters = self.parameters_of_routine()?;
        let returns = if function {
            self.expect(kw::RETURNS)?;
            Some(self.declared_type()?)
        } else {
            None
        };
        let characteristics = self.characteristics(true)?;
        let body = if is_external(characteristics) {
            self.expect(kw::AS)?;
            RoutineBody::External(self.external_text()?)
        } else {
            RoutineBody::Statement(self.body()?)
        };
        let Head { or_replace, definer, if_not_exists, name, aggregate } = head;
        Ok(StatementKind::CreateRoutine(self.alloc(CreateRoutine {
            or_replace,
            definer,
            aggregate,
            function,
            if_not_exists,
            name,
            parameters,
            returns,
            characteristics,
            body,
        })))
    }

    /// `'…'`, `$$…$$`, a hexadecimal number; a character set may stand before it, as in `_binary x'…'`.
    fn external_text(&mut self) -> Read<Span> {
        match self.kind() {
            TokenKind::Word if self.at_introducer() => Ok(self.introduced()?.span),
            TokenKind::String | TokenKind::DollarQuoted | TokenKind::Hex => Ok(Self::span_of(self.take())),
            _ => self.stop(Expected::What("a string")),
        }
    }

    /// CREATE LIBRARY.
    pub(in crate::parse) fn create_library(&mut self) -> Read<StatementKind<'a>> {
        self.expect_all(&[kw::CREATE, kw::LIBRARY])?;
        let if_not_exists = self.if_not_exists()?;
        let name = self.program_name()?;
        let characteristics = self.characteristics(false)?;
        self.expect(kw::AS)?;
        let body = self.external_text()?;
        Ok(StatementKind::CreateLibrary(self.alloc(CreateLibrary { if_not_exists, name, characteristics, body })))
    }

    /// ALTER PROCEDURE, ALTER FUNCTION, ALTER LIBRARY.
    pub(in crate::parse) fn alter_routine(&mut self) -> Read<StatementKind<'a>> {
        self.expect(kw::ALTER)?;
        let kind = match self.expect_any(&[kw::PROCEDURE, kw::FUNCTION, kw::LIBRARY])? {
            kw::PROCEDURE => ProgramKind::Procedure,
            kw::FUNCTION => ProgramKind::Function,
            _ => ProgramKind::Library,
        };
        let name = self.program_name()?;
        if kind == ProgramKind::Library && !self.at(kw::COMMENT) {
            return self.stop(Expected::Word(kw::COMMENT));
        }
        let characteristics = self.characteristics(false)?;
        Ok(StatementKind::AlterRoutine(self.alloc(AlterRoutine { kind, name, characteristics })))
    }

    /// DROP PROCEDURE, FUNCTION, TRIGGER, EVENT, LIBRARY, PACKAGE.
    pub(in crate::parse) fn drop_program(&mut self) -> Read<StatementKind<'a>> {
        self.expect(kw::DROP)?;
        let kind =
            match self.expect_any(&[kw::PROCEDURE, kw::FUNCTION, kw::TRIGGER, kw::EVENT, kw::LIBRARY, kw::PACKAGE])? {
                kw::PROCEDURE => ProgramKind::Procedure,
                kw::FUNCTION => ProgramKind::Function,
                kw::TRIGGER => ProgramKind::Trigger,
                kw::EVENT => ProgramKind::Event,
                kw::LIBRARY => ProgramKind::Library,
                _ if self.eat(kw::BODY) => ProgramKind::PackageBody,
                _ => ProgramKind::Package,
            };
        let if_exists = self.if_exists()?;
        let name = self.program_name()?;
        Ok(StatementKind::DropProgram(self.alloc(DropProgram { kind, if_exists, name })))
    }
}

/// Whether the last LANGUAGE is another one than SQL.
fn is_external(characteristics: &[Characteristic<'_>]) -> bool {
    let mut languages = characteristics.iter().filter_map(|characteristic| match characteristic.kind {
        CharacteristicKind::Language(name) => Some(name),
        _ => None,
    });
    languages.next_back().is_some_and(|name| !name.is("sql"))
}
