//! SHOW, DESCRIBE, EXPLAIN, HELP, USE.
//!
//! What must hold: a word after SHOW that no form begins with stands for a table of `information_schema`, which a plugin
//! may have added; nothing but LIKE or WHERE follows it.

mod create;
mod explain;
mod replica;

use super::{Expected, Parser, Read};
use crate::ast::{
    Ident, Limit, RoutineKind, Show, ShowFilter, ShowGrants, ShowKind, ShowProfile, ShowTable, StatementKind,
    VariableScope,
};
use crate::keyword::Keyword;
use crate::kw;
use crate::lexer::TokenKind;

/// What a method that reads a kind of SHOW gives.
type Shown<'a> = Read<ShowKind<'a>>;

impl<'a> Parser<'a> {
    /// SHOW.
    pub(super) fn show(&mut self) -> Read<StatementKind<'a>> {
        self.advance();
        let extended = !self.cursor.next_is_end() && self.eat(kw::EXTENDED);
        let full = self.eat(kw::FULL);
        let mut limit = None;
        let kind = self.show_kind(&mut limit)?;
        let filter = self.show_filter()?;
        if limit.is_none() {
            limit = self.limit()?;
        }
        Ok(StatementKind::Show(self.alloc(Show { full, extended, kind, filter, limit })))
    }

    fn show_kind(&mut self, limit: &mut Option<&'a Limit<'a>>) -> Shown<'a> {
        match self.word() {
            kw::TABLES => self.of_database(ShowKind::Tables),
            kw::TABLE => self.second_word(kw::STATUS).and_then(|()| self.database().map(ShowKind::TableStatus)),
            kw::OPEN => self.second_word(kw::TABLES).and_then(|()| self.database().map(ShowKind::OpenTables)),
            kw::TRIGGERS => self.of_database(ShowKind::Triggers),
            kw::EVENTS => self.of_database(ShowKind::Events),
            kw::COLUMNS | kw::FIELDS => self.of_table(ShowKind::Columns),
            kw::INDEX | kw::INDEXES | kw::KEYS => self.of_table(ShowKind::Index),
            kw::CREATE => self.show_create(),
            kw::DATABASES | kw::SCHEMAS => self.alone(ShowKind::Databases),
            kw::GLOBAL => self.show_variables(Some(VariableScope::Global)),
            kw::SESSION | kw::LOCAL => self.show_variables(Some(VariableScope::Session)),
            kw::VARIABLES => self.alone(ShowKind::Variables(None)),
            kw::STATUS => self.alone(ShowKind::Status(None)),
            kw::WARNINGS => self.alone(ShowKind::Warnings),
            kw::ERRORS => self.alone(ShowKind::Errors),
            kw::COUNT if self.next_is_punct(b'(') => self.show_count(),
            kw::PROCESSLIST => self.alone(ShowKind::ProcessList),
            kw::ENGINES => self.alone(ShowKind::Engines),
            kw::STORAGE => self.second_word(kw::ENGINES).map(|()| ShowKind::Engines),
            kw::ENGINE => self.show_engine(),
            kw::GRANTS => self.show_grants(),
            kw::PRIVILEGES => self.alone(ShowKind::Privileges),
            kw::PLUGINS => self.show_plugins(),
            kw::PROFILES => self.alone(ShowKind::Profiles),
            kw::PROFILE => self.show_profile(),
            kw::CHARSET => self.alone(ShowKind::CharacterSets),
            kw::CHARACTER | kw::CHAR => self.second_word(kw::SET).map(|()| ShowKind::CharacterSets),
            kw::COLLATION => self.alone(ShowKind::Collations),
            kw::EXPLAIN | kw::ANALYZE => self.show_explain(),
            _ => match self.routine_kind() {
                Some(kind) => self.show_routine(kind),
                None => self.show_replication(limit),
            },
        }
    }

    /// Past the current word.
    fn alone(&mut self, kind: ShowKind<'a>) -> Shown<'a> {
        self.advance();
        Ok(kind)
    }

    /// Past the current word and the one that has to follow.
    fn second_word(&mut self, word: Keyword) -> Read<()> {
        self.advance();
        self.expect(word)
    }

    fn of_database(&mut self, kind: impl FnOnce(Option<Ident<'a>>) -> ShowKind<'a>) -> Shown<'a> {
        self.advance();
        self.database().map(kind)
    }

    /// `FROM database`, `IN database`, if it is there.
    fn database(&mut self) -> Read<Option<Ident<'a>>> {
        if self.eat_any(&[kw::FROM, kw::IN]).is_some() { self.ident().map(Some) } else { Ok(None) }
    }

    fn of_table(&mut self, kind: impl FnOnce(ShowTable<'a>) -> ShowKind<'a>) -> Shown<'a> {
        self.advance();
        self.expect_any(&[kw::FROM, kw::IN])?;
        let table = self.object_name()?;
        Ok(kind(ShowTable { table, database: self.database()? }))
    }

    /// `LIKE 'pattern'`, `WHERE expr`, if one of them is there.
    fn show_filter(&mut self) -> Read<Option<ShowFilter<'a>>> {
        if self.eat(kw::LIKE) {
            return Ok(Some(ShowFilter::Like(self.expect_string()?)));
        }
        Ok(self.where_clause()?.map(ShowFilter::Where))
    }

    /// At GLOBAL, SESSION or LOCAL.
    fn show_variables(&mut self, scope: Option<VariableScope>) -> Shown<'a> {
        self.advance();
        match self.expect_any(&[kw::VARIABLES, kw::STATUS])? {
            kw::VARIABLES => Ok(ShowKind::Variables(scope)),
            _ => Ok(ShowKind::Status(scope)),
        }
    }

    /// `COUNT(*) WARNINGS`.
    fn show_count(&mut self) -> Shown<'a> {
        self.advance();
        for punct in *b"(*)" {
            self.expect_punct(punct)?;
        }
        match self.expect_any(&[kw::WARNINGS, kw::ERRORS])? {
            kw::WARNINGS => Ok(ShowKind::CountWarnings),
            _ => Ok(ShowKind::CountErrors),
        }
    }

    /// `ENGINE name STATUS`.
    fn show_engine(&mut self) -> Shown<'a> {
        self.advance();
        let engine = if self.eat(kw::ALL) { None } else { Some(self.ident_or_string()?) };
        let start = self.start();
        self.ident()?;
        while self.kind() == TokenKind::Word {
            self.advance();
        }
        Ok(ShowKind::Engine(engine, self.span_from(start)))
    }

    fn show_grants(&mut self) -> Shown<'a> {
        self.advance();
        let account = if self.eat(kw::FOR) { Some(self.account_or_role()?) } else { None };
        let roles = if self.eat(kw::USING) { self.list(Self::account)? } else { &[] };
        Ok(ShowKind::Grants(ShowGrants { account, roles }))
    }

    fn show_plugins(&mut self) -> Shown<'a> {
        self.advance();
        if !self.eat(kw::SONAME) {
            return Ok(ShowKind::Plugins);
        }
        let library = (self.kind() == TokenKind::String).then(|| Self::span_of(self.take()));
        Ok(ShowKind::PluginsSoname(library))
    }

    /// `PROFILE [types] [FOR QUERY n]`.
    fn show_profile(&mut self) -> Shown<'a> {
        self.advance();
        let start = self.start();
        let types = if self.at_end() || self.at_any(&[kw::FOR, kw::LIMIT]) {
            None
        } else {
            self.list(Self::profile_type)?;
            Some(self.span_from(start))
        };
        let mut query = None;
        if self.eat(kw::FOR) {
            self.expect(kw::QUERY)?;
            query = Some(self.expr()?);
        }
        Ok(ShowKind::Profile(ShowProfile { types, query }))
    }

    fn profile_type(&mut self) -> Read<()> {
        const ALONE: &[Keyword] = &[kw::ALL, kw::CPU, kw::IPC, kw::MEMORY, kw::SOURCE, kw::SWAPS];
        if self.eat_any(ALONE).is_some()
            || self.eat_all(&[kw::BLOCK, kw::IO])
            || self.eat_all(&[kw::CONTEXT, kw::SWITCHES])
            || self.eat_all(&[kw::PAGE, kw::FAULTS])
        {
            return Ok(());
        }
        self.stop(Expected::What("a part of a profile"))
    }

    /// PROCEDURE, FUNCTION, PACKAGE, PACKAGE BODY or LIBRARY, if it is there.
    fn routine_kind(&mut self) -> Option<RoutineKind> {
        match self.eat_any(&[kw::PROCEDURE, kw::FUNCTION, kw::PACKAGE, kw::LIBRARY])? {
            kw::PROCEDURE => Some(RoutineKind::Procedure),
            kw::FUNCTION => Some(RoutineKind::Function),
            kw::LIBRARY => Some(RoutineKind::Library),
            _ if self.eat(kw::BODY) => Some(RoutineKind::PackageBody),
            _ => Some(RoutineKind::Package),
        }
    }

    /// After PROCEDURE and the like.
    fn show_routine(&mut self, kind: RoutineKind) -> Shown<'a> {
        match self.expect_any(&[kw::STATUS, kw::CODE])? {
            kw::STATUS => Ok(ShowKind::RoutineStatus(kind)),
            _ => Ok(ShowKind::RoutineCode(kind, self.object_name()?)),
        }
    }
}

#[cfg(test)]
mod tests;
