//! Variables of the user and of the system.
//!
//! What must hold: a variable's name is what stands behind its `@`, without quotes.

use super::super::{Expected, Parser, Read};
use crate::ast::{Assign, Expr, ExprKind, Ident, Span, SystemVariable, VariableScope};
use crate::lexer::TokenKind;

impl<'a> Parser<'a> {
    /// At a user variable: its value, or `@x := value`.
    #[inline(never)]
    pub(super) fn user_variable_or_assignment(&mut self) -> Read<Expr<'a>> {
        let variable = self.user_variable()?;
        if self.kind() != TokenKind::Assign {
            return Ok(Expr { span: variable.span, kind: ExprKind::UserVariable(self.alloc(variable)) });
        }
        self.advance();
        let value = self.expr()?;
        let span = variable.span.to(value.span);
        Ok(Expr { span, kind: ExprKind::Assign(self.alloc(Assign { variable, value })) })
    }

    /// `@x`, `@'x'`, MySQL: `@ x`; also `@` alone, whose name is empty.
    pub(crate) fn user_variable(&mut self) -> Read<Ident<'a>> {
        let start = self.start();
        let item = self.take();
        match item.token.kind {
            TokenKind::UserVariable => {
                let span = Self::span_of(item);
                Ok(Ident { name: self.name_in(&self.text_of(span)[1..]), span })
            }
            TokenKind::Punct(b'@') if self.may_be_mysql() => {
                let name = match self.kind() {
                    TokenKind::Word | TokenKind::QuotedIdent | TokenKind::String => self.take_ident().name,
                    _ => b"",
                };
                Ok(Ident { name, span: self.span_from(start) })
            }
            _ => self.stop(Expected::What("a variable's name")),
        }
    }

    /// A name, in quotes or not.
    fn name_in(&self, text: &'a [u8]) -> &'a [u8] {
        match text.first() {
            Some(b'`' | b'\'' | b'"') => self.unquoted(text),
            _ => text,
        }
    }

    /// At `@@`.
    #[inline(never)]
    pub(crate) fn system_variable(&mut self) -> Read<Expr<'a>> {
        let start = self.start();
        let variable = self.system_variable_name()?;
        Ok(Expr { span: self.span_from(start), kind: ExprKind::SystemVariable(self.alloc(variable)) })
    }

    /// `@@x`, `@@scope.x`, `@@base.x`, `@@scope.base.x`.
    pub(crate) fn system_variable_name(&mut self) -> Read<SystemVariable<'a>> {
        let span = Self::span_of(self.take());
        let text = &self.text_of(span)[2..];
        if text.is_empty() {
            return self.stop(Expected::What("a variable's name"));
        }
        let first = Ident { name: self.name_in(text), span: Span { start: span.start + 2, end: span.end } };
        if !self.eat_punct(b'.') {
            return Ok(SystemVariable { scope: None, base: None, name: first });
        }
        let scope = if text[0] == b'`' { None } else { scope_named(first) };
        let second = self.ident_after_point()?;
        match scope {
            Some(_) if self.eat_punct(b'.') => {
                let name = self.ident_after_point()?;
                Ok(SystemVariable { scope, base: Some(second), name })
            }
            Some(_) => Ok(SystemVariable { scope, base: None, name: second }),
            None => Ok(SystemVariable { scope: None, base: Some(first), name: second }),
        }
    }
}

/// The scope that a word means.
pub(crate) fn scope_named(word: Ident<'_>) -> Option<VariableScope> {
    const SCOPES: [(&str, VariableScope); 3] =
        [("global", VariableScope::Global), ("session", VariableScope::Session), ("local", VariableScope::Session)];
    SCOPES.iter().find(|(name, _)| word.is(name)).map(|(_, scope)| *scope)
}
