//! Definitions of tables, indexes, views, databases, sequences and what stores them.
//!
//! What must hold: all that either server reads is read; Weir's own clauses are read where table options stand. Words that
//! only these statements know are compared by their text, so that the table of words stays as the servers' functions
//! need it.

mod alter;
mod alter_partition;
mod column;
mod database;
mod drop;
mod index;
mod key;
mod options;
mod partition;
mod placement;
mod sequence;
mod table;
#[cfg(test)]
mod tests;
mod view;

use super::{Expected, Parser, Read};
use crate::ast::{Ident, ObjectName, Span};
use crate::kw;
use crate::lexer::TokenKind;
use crate::mode::Dialect;

impl<'a> Parser<'a> {
    /// Whether the current token is this word, which the table of words may lack.
    fn spelled(&self, word: &str) -> bool {
        let item = self.cursor.current();
        item.token.kind == TokenKind::Word && self.cursor.text(item).eq_ignore_ascii_case(word.as_bytes())
    }

    /// Whether the next token is this word, which the table of words may lack.
    fn next_spelled(&self, word: &str) -> bool {
        let item = self.cursor.next();
        item.token.kind == TokenKind::Word && self.cursor.text(item).eq_ignore_ascii_case(word.as_bytes())
    }

    /// Moves past this word.
    fn eat_spelled(&mut self, word: &str) -> bool {
        let found = self.spelled(word);
        if found {
            self.advance();
        }
        found
    }

    fn expect_spelled(&mut self, word: &'static str) -> Read<()> {
        if self.eat_spelled(word) { Ok(()) } else { self.stop(Expected::What(word)) }
    }

    /// `[=]`.
    fn optional_equal(&mut self) {
        self.eat_punct(b'=');
    }

    /// A word, reserved or not, as the name that it is here.
    fn any_word(&mut self) -> Read<Ident<'a>> {
        match self.kind() {
            TokenKind::Word => Ok(self.take_ident()),
            _ => self.stop(Expected::What("a word")),
        }
    }

    /// An option's value: a word, a name, a string or a number with or without a sign.
    fn option_value(&mut self) -> Read<Span> {
        let start = self.start();
        if self.at_punct(b'-') || self.at_punct(b'+') {
            self.advance();
        }
        match self.kind() {
            TokenKind::Word
            | TokenKind::QuotedIdent
            | TokenKind::String
            | TokenKind::Integer
            | TokenKind::Decimal
            | TokenKind::Float
            | TokenKind::Hex
            | TokenKind::Bit => {
                self.advance();
                Ok(self.span_from(start))
            }
            _ => self.stop(Expected::What("a value")),
        }
    }

    /// A whole number, which may be written in hexadecimal.
    fn any_number(&mut self) -> Read<Span> {
        match self.kind() {
            TokenKind::Integer | TokenKind::Hex | TokenKind::Decimal | TokenKind::Float => {
                Ok(Self::span_of(self.take()))
            }
            _ => self.stop(Expected::What("a number")),
        }
    }

    /// At an option whose name only an engine knows: `name = …` (MariaDB).
    fn at_engines_option(&self) -> bool {
        self.mode.dialect != Dialect::MySql && self.at_name() && self.next_is_punct(b'=')
    }

    /// Whether a query begins here, perhaps in parentheses.
    fn query_begins(&self) -> bool {
        let mut ahead = self.cursor;
        while ahead.eat_punct(b'(') {}
        ahead.at_any(&[kw::SELECT, kw::WITH, kw::VALUES, kw::TABLE])
    }

    /// `(a, b, …)`, names.
    fn names_in_parentheses(&mut self) -> Read<&'a [Ident<'a>]> {
        self.parenthesised(Self::ident)
    }

    /// Whatever follows, up to the statement's end.
    fn rest_of_statement(&mut self) -> Read<Option<Span>> {
        if self.at_end() {
            return Ok(None);
        }
        let start = self.start();
        while !self.at_end() {
            if self.kind() == TokenKind::Unterminated {
                return self.stop(Expected::What("the end of what is quoted"));
            }
            self.advance();
        }
        Ok(Some(self.span_from(start)))
    }

    /// A name that has no database.
    fn unqualified(name: Ident<'a>) -> ObjectName<'a> {
        ObjectName { span: name.span, database: None, name }
    }
}
