//! MariaDB's FOR loops and the parameters of cursors, for who asks for the pieces of a body.
//!
//! What must hold: the bounds of a range are told apart where the server does: at the first `..` outside of parentheses. Its first number may
//! have taken a dot (`1..3`).

use crate::ast::{Control, DeclaredType, Ident, Piece, Span};
use crate::keyword::Keyword;
use crate::kw;
use crate::lexer::TokenKind;
use crate::parse::{Expected, Parser, Read};

/// What stands between IN and DO.
struct Scanned {
    all: Span,
    /// Where a range has its dots: the end of the lower bound.
    dots: Option<u32>,
    /// Where the first pair of parentheses has commas, and where that begins and ends.
    commas: Vec<u32>,
    parentheses: Option<Span>,
}

impl<'a> Parser<'a> {
    /// Behind FOR, up to DO.
    pub(super) fn for_head(&mut self) -> Read<()> {
        let name = self.ident()?;
        self.expect(kw::IN)?;
        let reverse = self.eat(kw::REVERSE);
        let start = self.start();
        let cursor = if self.at_name() { Some(self.ident()?) } else { None };
        let scanned = self.scan_to(kw::DO, start)?;
        let Span { start, end } = scanned.all;
        if let Some(dots) = scanned.dots {
            self.control(Control::For { reverse });
            self.note(Piece::Variable(name));
            self.note(Piece::Assigned(name));
            self.note(Piece::Expression(Span { start, end: dots }));
            self.note(Piece::Expression(Span { start: dots + 2, end }));
            return Ok(());
        }
        self.control(Control::ForRow(name));
        match (cursor, scanned.parentheses) {
            (Some(cursor), None) if cursor.span == scanned.all => self.control(Control::Open(cursor)),
            (Some(cursor), Some(values)) if values.end == end => self.opened(cursor, values, &scanned.commas),
            (None, Some(query)) if query == scanned.all => {
                self.note(Piece::Statement(Span { start: start + 1, end: end - 1 }));
            }
            _ => return self.stop(Expected::What("a range, a cursor or a query")),
        }
        Ok(())
    }

    fn opened(&mut self, cursor: Ident<'a>, values: Span, commas: &[u32]) {
        self.control(Control::Open(cursor));
        let mut from = values.start + 1;
        for end in commas.iter().copied().chain([values.end - 1]) {
            self.note(Piece::Expression(Span { start: from, end }));
            from = end + 1;
        }
    }

    /// Reads up to a word outside of parentheses and CASE.
    fn scan_to(&mut self, word: Keyword, start: u32) -> Read<Scanned> {
        let mut scanned =
            Scanned { all: Span { start, end: start }, dots: None, commas: Vec::new(), parentheses: None };
        let (mut depth, mut cases, mut opened) = (0_u32, 0_u32, start);
        loop {
            let token = self.cursor.current().token;
            match token.kind {
                TokenKind::Semicolon | TokenKind::End | TokenKind::Unterminated => {
                    return self.stop(Expected::Words(&[kw::DO]));
                }
                TokenKind::Punct(b'(') => {
                    if depth == 0 {
                        opened = token.start;
                    }
                    depth += 1;
                }
                TokenKind::Punct(b')') => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 && scanned.parentheses.is_none() {
                        scanned.parentheses = Some(Span { start: opened, end: token.end });
                    }
                }
                TokenKind::Punct(b',') if depth == 1 && scanned.parentheses.is_none() => {
                    scanned.commas.push(token.start);
                }
                _ if depth == 0 && scanned.dots.is_none() && self.is_doubled_dot(token.end) => {
                    scanned.dots = Some(token.end - 1);
                }
                _ => {}
            }
            if depth == 0 && cases == 0 && token.start > start && self.at(word) {
                scanned.all = self.span_from(start);
                return Ok(scanned);
            }
            match self.word() {
                kw::CASE => cases += 1,
                kw::END => cases = cases.saturating_sub(1),
                _ => {}
            }
            self.advance();
        }
    }

    /// Whether the byte before an offset and that behind it are dots.
    fn is_doubled_dot(&self, at: u32) -> bool {
        let around = Span { start: at.saturating_sub(1), end: at.saturating_add(1) };
        self.sql_bytes().get(around.range()) == Some(&b".."[..])
    }

    /// Behind `CURSOR`: `(a INT, b INT)`, if it is there.
    pub(super) fn parameters_of_cursor(&mut self) -> Read<()> {
        if !self.eat_punct(b'(') {
            return Ok(());
        }
        loop {
            let name = self.ident()?;
            let start = self.start();
            let DeclaredType::Type(_) = self.declared_type()? else {
                return self.stop(Expected::What("a plain type"));
            };
            let span = self.span_from(start);
            self.note(Piece::Variable(name));
            self.control(Control::Type { span, default: false });
            if !self.eat_punct(b',') {
                return self.expect_punct(b')');
            }
        }
    }

    /// Behind the name of a cursor that is opened: `(value, value)`, if it is there.
    pub(super) fn arguments_of_cursor(&mut self) -> Read<()> {
        if !self.eat_punct(b'(') {
            return Ok(());
        }
        if self.eat_punct(b')') {
            return Ok(());
        }
        loop {
            self.noted_expression()?;
            if !self.eat_punct(b',') {
                return self.expect_punct(b')');
            }
        }
    }
}
