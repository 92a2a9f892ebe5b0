//! Names: identifiers, names of objects and columns, variables, accounts.
//!
//! What must hold: a word that the dialect's servers reserve is never taken for a name, unless it follows a point; any
//! other word is one wherever the grammar asks for a name.

use super::{Expected, Parser, Read};
use crate::ast::{ColumnName, Ident, ObjectName};
use crate::cursor::Item;
use crate::lexer::TokenKind;

impl<'a> Parser<'a> {
    /// Whether a token can be a name where one is asked for.
    pub(crate) fn is_name(&self, item: Item) -> bool {
        match item.token.kind {
            TokenKind::Word => !item.word.is_reserved_in(self.mode.dialect),
            TokenKind::QuotedIdent => true,
            _ => false,
        }
    }

    pub(crate) fn at_name(&self) -> bool {
        self.is_name(self.cursor.current())
    }

    /// A name.
    pub(crate) fn ident(&mut self) -> Read<Ident<'a>> {
        if self.at_name() { Ok(self.take_ident()) } else { self.stop(Expected::What("a name")) }
    }

    /// A name, which any word is: after a point.
    pub(crate) fn ident_after_point(&mut self) -> Read<Ident<'a>> {
        match self.kind() {
            TokenKind::Word | TokenKind::QuotedIdent => Ok(self.take_ident()),
            _ => self.stop(Expected::What("a name")),
        }
    }

    /// A name or a string whose contents are one (aliases, accounts' parts, character sets).
    pub(crate) fn ident_or_string(&mut self) -> Read<Ident<'a>> {
        match self.kind() {
            TokenKind::String => Ok(self.take_ident()),
            _ => self.ident(),
        }
    }

    /// A character set or a collation: a name, a string, or the word BINARY.
    pub(crate) fn charset_name(&mut self) -> Read<Ident<'a>> {
        if self.at(crate::kw::BINARY) { Ok(self.take_ident()) } else { self.ident_or_string() }
    }

    /// The current token as a name: a word, a quoted name, or a string.
    pub(crate) fn take_ident(&mut self) -> Ident<'a> {
        let item = self.take();
        self.ident_of(item)
    }

    /// A token as a name: a word, a quoted name, or a string.
    pub(crate) fn ident_of(&self, item: Item) -> Ident<'a> {
        let text = self.cursor.text(item);
        let name = match item.token.kind {
            TokenKind::QuotedIdent | TokenKind::String => self.unquoted(text),
            _ => text,
        };
        Ident { name, span: Self::span_of(item) }
    }

    /// The contents of what stands in quotes, doubled quotes undone. Backslashes in strings stay: the caller that needs the
    /// value of a string must ask for it, not for its name.
    pub(crate) fn unquoted(&self, text: &'a [u8]) -> &'a [u8] {
        let quote = text[text.len() - 1];
        let from = text.iter().position(|byte| *byte == quote).unwrap_or(0) + 1;
        let inner = text.get(from..text.len() - 1).unwrap_or_default();
        if !inner.contains(&quote) {
            return inner;
        }
        let mut plain = bumpalo::collections::Vec::with_capacity_in(inner.len(), self.arena);
        let mut bytes = inner.iter().copied();
        while let Some(byte) = bytes.next() {
            plain.push(byte);
            if byte == quote {
                bytes.next();
            }
        }
        plain.into_bump_slice()
    }

    /// `name`, `db.name`, `.name`.
    pub(crate) fn object_name(&mut self) -> Read<ObjectName<'a>> {
        let start = self.start();
        if self.eat_punct(b'.') {
            let name = self.ident_after_point()?;
            return Ok(ObjectName { span: self.span_from(start), database: None, name });
        }
        let first = self.ident()?;
        if !self.eat_punct(b'.') {
            return Ok(ObjectName { span: first.span, database: None, name: first });
        }
        let name = self.ident_after_point()?;
        Ok(ObjectName { span: self.span_from(start), database: Some(first), name })
    }

    /// `c`, `t.c`, `db.t.c`, `.t.c`.
    pub(crate) fn column_name(&mut self) -> Read<ColumnName<'a>> {
        let leading_point = self.eat_punct(b'.');
        let first = if leading_point { self.ident_after_point()? } else { self.ident()? };
        if leading_point {
            self.expect_punct(b'.')?;
        } else if !self.eat_punct(b'.') {
            return Ok(ColumnName { database: None, table: None, name: first });
        }
        let second = self.ident_after_point()?;
        if leading_point || !self.eat_punct(b'.') {
            return Ok(ColumnName { database: None, table: Some(first), name: second });
        }
        let name = self.ident_after_point()?;
        Ok(ColumnName { database: Some(first), table: Some(second), name })
    }
}
