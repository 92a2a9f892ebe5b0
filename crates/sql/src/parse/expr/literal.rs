//! Values that stand in the text.
//!
//! What must hold: what the server's lexer takes for an introducer is one, and no other word is.

use bumpalo::collections::Vec as ArenaVec;

use super::super::{Expected, Parser, Read};
use crate::ast::{Expr, ExprKind, Ident, Literal, Span, StringLiteral, Temporal};
use crate::lexer::TokenKind;

/// The character sets of both servers.
const CHARSETS: [&[u8]; 42] = [
    b"armscii8",
    b"ascii",
    b"big5",
    b"binary",
    b"cp1250",
    b"cp1251",
    b"cp1256",
    b"cp1257",
    b"cp850",
    b"cp852",
    b"cp866",
    b"cp932",
    b"dec8",
    b"eucjpms",
    b"euckr",
    b"gb18030",
    b"gb2312",
    b"gbk",
    b"geostd8",
    b"greek",
    b"hebrew",
    b"hp8",
    b"keybcs2",
    b"koi8r",
    b"koi8u",
    b"latin1",
    b"latin2",
    b"latin5",
    b"latin7",
    b"macce",
    b"macroman",
    b"sjis",
    b"swe7",
    b"tis620",
    b"ucs2",
    b"ujis",
    b"utf16",
    b"utf16le",
    b"utf32",
    b"utf8",
    b"utf8mb3",
    b"utf8mb4",
];

impl<'a> Parser<'a> {
    /// A literal of one token.
    #[inline]
    pub(super) fn literal(&mut self, literal: Literal<'a>) -> Read<Expr<'a>> {
        let span = Self::span_of(self.take());
        Ok(Expr { span, kind: ExprKind::Literal(literal) })
    }

    /// At a string.
    #[inline]
    pub(super) fn string(&mut self) -> Read<Expr<'a>> {
        let first = Self::span_of(self.take());
        if self.kind() == TokenKind::String || self.is_national(first) {
            return self.string_parts(None, first);
        }
        Ok(Expr { span: first, kind: ExprKind::Literal(Literal::String) })
    }

    /// `N'…'`.
    pub(super) fn is_national(&self, string: Span) -> bool {
        self.text_of(string)[0] | 0x20 == b'n'
    }

    /// A string whose first part was read, with an introducer or with more parts.
    #[inline(never)]
    fn string_parts(&mut self, introducer: Option<Ident<'a>>, first: Span) -> Read<Expr<'a>> {
        let mut parts = ArenaVec::new_in(self.arena);
        parts.push(first);
        while self.kind() == TokenKind::String && !self.is_national(Self::span_of(self.cursor.current())) {
            parts.push(Self::span_of(self.take()));
        }
        let span = self.span_from(introducer.map_or(first.start, |word| word.span.start));
        let text = self.alloc(StringLiteral { introducer, parts: parts.into_bump_slice() });
        Ok(Expr { span, kind: ExprKind::Literal(Literal::Text(text)) })
    }

    /// At a word that the server takes for an introducer: `_utf8mb4`.
    pub(in crate::parse) fn at_introducer(&self) -> bool {
        let [b'_', name @ ..] = self.cursor.text(self.cursor.current()) else { return false };
        CHARSETS.iter().any(|charset| charset.eq_ignore_ascii_case(name))
    }

    /// At an introducer: what follows it must be a string.
    #[inline(never)]
    pub(in crate::parse) fn introduced(&mut self) -> Read<Expr<'a>> {
        let introducer = self.take_ident();
        let first = Self::span_of(self.cursor.current());
        match self.kind() {
            TokenKind::String if !self.is_national(first) => {
                self.advance();
                self.string_parts(Some(introducer), first)
            }
            TokenKind::Hex | TokenKind::Bit => {
                self.advance();
                let parts = std::slice::from_ref(self.arena.alloc(first));
                let text = self.alloc(StringLiteral { introducer: Some(introducer), parts });
                let span = introducer.span.to(first);
                Ok(Expr { span, kind: ExprKind::Literal(Literal::Text(text)) })
            }
            _ => self.stop(Expected::What("a string")),
        }
    }

    /// At DATE, TIME or TIMESTAMP with a string behind it.
    #[inline(never)]
    pub(super) fn temporal(&mut self, temporal: Temporal) -> Read<Expr<'a>> {
        let start = self.start();
        self.advance();
        self.advance();
        Ok(Expr { span: self.span_from(start), kind: ExprKind::Literal(Literal::Temporal(temporal)) })
    }

    /// The next token is a plain string: DATE before it makes it a literal of another type.
    pub(super) fn next_is_string(&self) -> bool {
        let next = self.cursor.next();
        next.token.kind == TokenKind::String && !self.is_national(Self::span_of(next))
    }

    /// At a backslash: `\N`, which is NULL.
    #[inline(never)]
    pub(super) fn backslash(&mut self) -> Read<Expr<'a>> {
        let (slash, word) = (self.cursor.current().token, self.cursor.next().token);
        if !self.may_be_mariadb() || slash.end != word.start || self.sql.get(word.range()) != Some(b"N") {
            return self.no_expression();
        }
        let start = self.start();
        self.advance();
        self.advance();
        Ok(Expr { span: self.span_from(start), kind: ExprKind::Literal(Literal::Null) })
    }
}
