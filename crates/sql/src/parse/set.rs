//! SET.
//!
//! What must hold: what a word means is decided by what follows it, as the servers do, since nearly all words of this
//! statement may name variables too.

use super::transaction::Characteristics;
use super::{Expected, Parser, Read};
use crate::ast::{
    Account, Expr, Ident, Set, SetDefaultRole, SetItem, SetItemKind, SetNames, SetPassword, SetRole, SetRoleKind,
    SetStatement, SetTransaction, SetValue, SetVariable, Span, StatementKind, SystemVariable, VariableScope,
};
use crate::keyword::Keyword;
use crate::kw;
use crate::lexer::TokenKind;
use crate::mode::Dialect;

impl<'a> Parser<'a> {
    /// SET.
    pub(super) fn set(&mut self) -> Read<StatementKind<'a>> {
        self.advance();
        if self.at(kw::STATEMENT) && !self.next_assigns() {
            return self.set_statement();
        }
        let items = self.set_items()?;
        Ok(StatementKind::Set(self.alloc(Set { items })))
    }

    /// What SET lists. GLOBAL and the like hold for all names without `@@` up to the next such word.
    pub(super) fn set_items(&mut self) -> Read<&'a [SetItem<'a>]> {
        let mut scope = None;
        self.list(|parser| {
            let start = parser.start();
            let kind = parser.set_item_kind(&mut scope)?;
            Ok(SetItem { span: parser.span_from(start), kind })
        })
    }

    /// At STATEMENT of SET STATEMENT.
    fn set_statement(&mut self) -> Read<StatementKind<'a>> {
        self.advance();
        let items = self.list(|parser| {
            let start = parser.start();
            let kind = parser.set_variable(None)?;
            Ok(SetItem { span: parser.span_from(start), kind })
        })?;
        self.expect(kw::FOR)?;
        let statement = self.nested(Self::statement)?;
        Ok(StatementKind::SetStatement(self.alloc(SetStatement { items, statement: self.alloc(statement) })))
    }

    /// One of the things of SET's list; the scope is that of the last word that gave one.
    fn set_item_kind(&mut self, last: &mut Option<VariableScope>) -> Read<SetItemKind<'a>> {
        if self.kind() == TokenKind::UserVariable {
            let variable = self.user_variable()?;
            self.expect_set_equal()?;
            return Ok(SetItemKind::UserVariable(variable, self.expr()?));
        }
        match self.word() {
            _ if self.kind() == TokenKind::SystemVariable => self.set_variable(None),
            kw::NAMES => self.set_names(),
            kw::PASSWORD => self.set_password(),
            _ if self.next_assigns() => self.set_variable(*last),
            kw::CHARACTER | kw::CHAR | kw::CHARSET => self.set_character_set(),
            kw::ROLE => Ok(SetItemKind::Role(self.set_role()?)),
            kw::DEFAULT => self.set_default_role(),
            kw::RESOURCE => self.set_resource_group(),
            kw::TRANSACTION => self.set_transaction(None),
            word => {
                let scope = scope_of(word);
                if scope.is_none() {
                    return self.set_variable(*last);
                }
                self.advance();
                if self.at(kw::TRANSACTION) && !self.next_assigns() {
                    return self.set_transaction(scope);
                }
                if self.kind() == TokenKind::SystemVariable {
                    return self.stop(Expected::What("a name without @@"));
                }
                *last = scope;
                self.set_variable(scope)
            }
        }
    }

    /// Whether the next token makes the current one the name, or the first part of the name, of a variable.
    fn next_assigns(&self) -> bool {
        matches!(self.cursor.next().token.kind, TokenKind::Punct(b'=' | b'.') | TokenKind::Assign)
    }

    /// `name = value`, after the words that say whose.
    fn set_variable(&mut self, scope: Option<VariableScope>) -> Read<SetItemKind<'a>> {
        let start = self.start();
        let at_signs = self.kind() == TokenKind::SystemVariable;
        let variable = if at_signs { self.variable_with_at_signs()? } else { self.variable_name(scope)? };
        let name = self.span_from(start);
        self.expect_set_equal()?;
        let value = self.set_value()?;
        Ok(SetItemKind::Variable(self.alloc(SetVariable { variable, at_signs, name, value })))
    }

    /// `x`, `base.x`.
    pub(super) fn variable_name(&mut self, scope: Option<VariableScope>) -> Read<SystemVariable<'a>> {
        let default_cache = self.at(kw::DEFAULT) && self.next_is_punct(b'.');
        let first = if default_cache { self.take_ident() } else { self.ident()? };
        if !self.eat_punct(b'.') {
            return Ok(SystemVariable { scope, base: None, name: first });
        }
        Ok(SystemVariable { scope, base: Some(first), name: self.ident_after_point()? })
    }

    /// `@@x`, `@@global.x`, `@@base.x`, `@@global.base.x`.
    fn variable_with_at_signs(&mut self) -> Read<SystemVariable<'a>> {
        let first = self.take_name_after_at_signs()?;
        let scope = self.at_punct(b'.').then(|| self.scope_named(first)).flatten();
        let mut name = first;
        if scope.is_some() {
            self.expect_punct(b'.')?;
            name = self.variable_part()?;
        }
        if !self.eat_punct(b'.') {
            return Ok(SystemVariable { scope, base: None, name });
        }
        Ok(SystemVariable { scope, base: Some(name), name: self.variable_part()? })
    }

    /// After a point: a name, or a string, which a replication connection may be (MariaDB).
    fn variable_part(&mut self) -> Read<Ident<'a>> {
        if self.kind() == TokenKind::String { Ok(self.take_ident()) } else { self.ident_after_point() }
    }

    /// The name in a token `@@name`.
    fn take_name_after_at_signs(&mut self) -> Read<Ident<'a>> {
        const SIGNS: u32 = 2;
        let Span { start, end } = Self::span_of(self.take());
        let span = Span { start: start + SIGNS, end };
        match self.text_of(span) {
            [] => self.stop(Expected::What("a variable")),
            text @ [b'`', ..] => Ok(Ident { name: self.unquoted(text), span }),
            name => Ok(Ident { name, span }),
        }
    }

    /// What a word after `@@` and before a point says of whose variable it is.
    fn scope_named(&self, word: Ident<'a>) -> Option<VariableScope> {
        let scope = scope_of(Keyword::of(word.name))?;
        let mysql_only = matches!(scope, VariableScope::Persist | VariableScope::PersistOnly);
        (!mysql_only || self.mode.dialect != Dialect::MariaDb).then_some(scope)
    }

    fn set_value(&mut self) -> Read<SetValue<'a>> {
        let next = self.cursor.next();
        let alone = matches!(next.token.kind, TokenKind::Punct(b',') | TokenKind::Semicolon | TokenKind::End)
            || next.word == kw::FOR;
        match self.word() {
            kw::DEFAULT if !self.next_is_punct(b'(') => Ok(SetValue::Default(Self::span_of(self.take()))),
            kw::ON | kw::ALL => Ok(SetValue::Word(self.take_ident())),
            // Weir's own variables take words, reserved ones too: SET weir_consistency = primary.
            kw::PRIMARY if alone => Ok(SetValue::Word(self.take_ident())),
            kw::BINARY | kw::ROW | kw::SYSTEM if alone => Ok(SetValue::Word(self.take_ident())),
            _ => Ok(SetValue::Expr(self.expr()?)),
        }
    }

    fn set_names(&mut self) -> Read<SetItemKind<'a>> {
        self.advance();
        let charset = self.charset_or_default()?;
        let collation = if self.eat(kw::COLLATE) { self.charset_or_default()? } else { None };
        Ok(SetItemKind::Names(SetNames { charset, collation }))
    }

    /// `CHARACTER SET`, `CHAR SET` or `CHARSET`.
    fn set_character_set(&mut self) -> Read<SetItemKind<'a>> {
        if !self.eat(kw::CHARSET) {
            self.advance();
            self.expect(kw::SET)?;
        }
        Ok(SetItemKind::CharacterSet(self.charset_or_default()?))
    }

    fn charset_or_default(&mut self) -> Read<Option<Ident<'a>>> {
        if self.eat(kw::DEFAULT) { Ok(None) } else { self.charset_name().map(Some) }
    }

    /// At TRANSACTION.
    fn set_transaction(&mut self, scope: Option<VariableScope>) -> Read<SetItemKind<'a>> {
        self.advance();
        let Characteristics { isolation, read_only } = self.transaction_characteristics()?;
        Ok(SetItemKind::Transaction(self.alloc(SetTransaction { scope, isolation, read_only })))
    }

    fn set_password(&mut self) -> Read<SetItemKind<'a>> {
        self.advance();
        let account = if self.eat(kw::FOR) { Some(self.account()?) } else { None };
        let (mut password, mut function) = (None, None);
        if self.eat(kw::TO) {
            self.expect(kw::RANDOM)?;
        } else {
            self.expect_set_equal()?;
            function = self.next_is_punct(b'(').then(|| self.take_ident());
            password = Some(self.password(function)?);
        }
        let replace = if self.eat(kw::REPLACE) { Some(self.expect_string()?) } else { None };
        let retain_current = self.eat(kw::RETAIN);
        if retain_current {
            self.expect_all(&[kw::CURRENT, kw::PASSWORD])?;
        }
        Ok(SetItemKind::Password(self.alloc(SetPassword { account, password, function, replace, retain_current })))
    }

    /// A string; in parentheses after a function.
    fn password(&mut self, function: Option<Ident<'a>>) -> Read<Span> {
        if function.is_none() {
            return self.expect_string();
        }
        self.expect_punct(b'(')?;
        let password = self.expect_string()?;
        self.expect_punct(b')')?;
        Ok(password)
    }

    /// At ROLE.
    fn set_role(&mut self) -> Read<&'a SetRole<'a>> {
        self.advance();
        let roles = self.roles()?;
        Ok(self.alloc(roles))
    }

    fn roles(&mut self) -> Read<SetRole<'a>> {
        let start = self.start();
        let kind = match self.word() {
            kw::NONE => {
                self.advance();
                SetRoleKind::None
            }
            kw::DEFAULT => {
                self.advance();
                SetRoleKind::Default
            }
            kw::ALL => {
                self.advance();
                if self.eat(kw::EXCEPT) { SetRoleKind::AllExcept(self.role_list()?) } else { SetRoleKind::All }
            }
            _ => SetRoleKind::Roles(self.role_list()?),
        };
        Ok(SetRole { span: self.span_from(start), kind })
    }

    /// Roles, up to a comma that another assignment follows (MariaDB).
    fn role_list(&mut self) -> Read<&'a [Account<'a>]> {
        let mut first = true;
        self.several(|parser| {
            if !std::mem::take(&mut first) {
                if !parser.at_punct(b',') || parser.assignment_follows_comma() {
                    return Ok(None);
                }
                parser.advance();
            }
            parser.account_or_role().map(Some)
        })
    }

    fn assignment_follows_comma(&self) -> bool {
        let mut ahead = self.cursor;
        ahead.advance();
        matches!(ahead.kind(), TokenKind::UserVariable | TokenKind::SystemVariable)
            || matches!(ahead.next().token.kind, TokenKind::Punct(b'=' | b'.') | TokenKind::Assign)
            || (scope_of(ahead.current().word).is_some() && ahead.next().is_name())
    }

    /// At DEFAULT.
    fn set_default_role(&mut self) -> Read<SetItemKind<'a>> {
        self.expect_all(&[kw::DEFAULT, kw::ROLE])?;
        let roles = self.roles()?;
        let accounts = if self.eat_any(&[kw::TO, kw::FOR]).is_some() { self.list(Self::account)? } else { &[] };
        Ok(SetItemKind::DefaultRole(self.alloc(SetDefaultRole { roles, accounts })))
    }

    /// At RESOURCE.
    fn set_resource_group(&mut self) -> Read<SetItemKind<'a>> {
        self.expect_all(&[kw::RESOURCE, kw::GROUP])?;
        let name = self.ident()?;
        let mut threads: &[Expr<'a>] = &[];
        if self.eat(kw::FOR) {
            // Commas between them may be missing.
            threads = self.several(|parser| {
                parser.eat_punct(b',');
                if parser.at_end() { Ok(None) } else { parser.expr().map(Some) }
            })?;
        }
        Ok(SetItemKind::ResourceGroup(name, threads))
    }
}

/// Whose variable a word means.
pub(super) fn scope_of(word: Keyword) -> Option<VariableScope> {
    match word {
        kw::GLOBAL => Some(VariableScope::Global),
        kw::SESSION | kw::LOCAL => Some(VariableScope::Session),
        kw::PERSIST => Some(VariableScope::Persist),
        kw::PERSIST_ONLY => Some(VariableScope::PersistOnly),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
