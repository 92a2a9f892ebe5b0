//! Names of accounts.
//!
//! What must hold: a host follows its `@` in the same token (`@h`, which alone would be a variable). An `@` that nothing
//! follows directly has an empty host.

use crate::ast::{Account, AccountKind, Ident, Span};
use crate::kw;
use crate::lexer::TokenKind;
use crate::mode::Dialect;
use crate::parse::{Parser, Read};

impl<'a> Parser<'a> {
    /// `u`, `'u'@'h'`, `u@h`, `CURRENT_USER`, `CURRENT_USER()`: what names an account where a role would not do.
    pub(crate) fn account(&mut self) -> Read<Account<'a>> {
        let start = self.start();
        let kind = if self.eat(kw::CURRENT_USER) {
            self.empty_parentheses()?;
            AccountKind::CurrentUser
        } else {
            let user = self.ident_or_string()?;
            let host = self.account_host();
            AccountKind::Named { user, host }
        };
        Ok(Account { span: self.span_from(start), kind })
    }

    /// As [`Parser::account`], or MariaDB's `CURRENT_ROLE` and `CURRENT_ROLE()`.
    pub(crate) fn account_or_role(&mut self) -> Read<Account<'a>> {
        let start = self.start();
        if self.mode.dialect == Dialect::MySql || !self.eat(kw::CURRENT_ROLE) {
            return self.account();
        }
        self.empty_parentheses()?;
        Ok(Account { span: self.span_from(start), kind: AccountKind::CurrentRole })
    }

    /// As [`Parser::account_or_role`], or MariaDB's PUBLIC and NONE.
    pub(crate) fn grantee(&mut self) -> Read<Account<'a>> {
        let kind = match self.word() {
            _ if self.mode.dialect == Dialect::MySql => return self.account(),
            kw::PUBLIC => AccountKind::Public,
            kw::NONE => AccountKind::None,
            _ => return self.account_or_role(),
        };
        if matches!(self.cursor.next().token.kind, TokenKind::UserVariable | TokenKind::Punct(b'@')) {
            return self.account();
        }
        let span = Self::span_of(self.take());
        Ok(Account { span, kind })
    }

    /// `account, account, …`
    pub(crate) fn accounts(&mut self) -> Read<&'a [Account<'a>]> {
        self.list(Self::account)
    }

    /// `()`, which may be missing.
    fn empty_parentheses(&mut self) -> Read<()> {
        if self.eat_punct(b'(') { self.expect_punct(b')') } else { Ok(()) }
    }

    /// `@h`, if it is there.
    fn account_host(&mut self) -> Option<Ident<'a>> {
        if !matches!(self.kind(), TokenKind::UserVariable | TokenKind::Punct(b'@')) {
            return None;
        }
        let item = self.take();
        let span = Span { start: item.token.start + 1, end: item.token.end };
        let text = self.text_of(span);
        let quoted = matches!(text.first(), Some(b'\'' | b'"' | b'`'));
        Some(Ident { name: if quoted { self.unquoted(text) } else { text }, span })
    }
}
