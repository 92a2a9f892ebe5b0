//! Why a text could not be read.
//!
//! What must hold: the position is that of the first token that no reading of the text takes; the message is MySQL's
//! for error 1064, with what was expected after it.

use std::fmt;

use crate::ast::Span;
use crate::keyword::Keyword;
use crate::lexer::{Lexer, TokenKind};
use crate::mode::{Dialect, LexMode};

/// Reading stopped; the parser has the reason.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stop;

/// What would have fitted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Expected {
    /// A word.
    Word(Keyword),
    /// One of these words.
    Words(&'static [Keyword]),
    /// A character.
    Punct(u8),
    /// Something else: `an expression`.
    What(&'static str),
    /// Fewer levels of nesting.
    LessNesting,
}

/// A text that does not follow the grammar. MySQL's error 1064, SQLSTATE 42000.
#[derive(Clone, Debug, PartialEq)]
pub struct SyntaxError {
    /// The first token that does not fit; empty at the end of the text.
    pub span: Span,
    /// The line that it is in, from 1. MariaDB does not count line breaks in strings and quoted names.
    pub line: u32,
    /// The text from there on, up to 80 bytes, as the server shows it: MariaDB says that it goes on.
    near: String,
    expected: Expected,
    form: Option<&'static str>,
}

impl SyntaxError {
    pub(crate) fn at(span: Span, sql: &[u8], mode: LexMode, expected: Expected, form: Option<&'static str>) -> Self {
        const SHOWN: usize = 80;
        const GOES_ON: &str = "...";
        let mariadb = mode.dialect == Dialect::MariaDb;
        let start = (span.start as usize).min(sql.len());
        let rest = &sql[start..];
        let near = match mariadb && rest.len() > SHOWN {
            true => format!("{}{GOES_ON}", String::from_utf8_lossy(&rest[..SHOWN - GOES_ON.len()])),
            false => String::from_utf8_lossy(&rest[..rest.len().min(SHOWN)]).into_owned(),
        };
        let quoted = if mariadb { quoted_line_breaks(sql, start, mode) } else { 0 };
        let line = 1 + line_breaks(&sql[..start]) - quoted;
        Self { span, line: u32::try_from(line).unwrap_or(u32::MAX), near, expected, form }
    }

    /// How it is written, if what can't be read is Weir's own: the servers' manuals don't tell.
    pub fn form(&self) -> Option<&'static str> {
        self.form
    }

    /// Whether the text only nests deeper than [`MAX_DEPTH`](super::MAX_DEPTH) levels: a server may well read it.
    pub fn is_too_deep(&self) -> bool {
        self.expected == Expected::LessNesting
    }

    /// What would have fitted at [`SyntaxError::span`].
    pub fn expected(&self) -> String {
        match self.expected {
            Expected::Word(word) => word.text().to_ascii_uppercase(),
            Expected::Words(words) => {
                let words: Vec<String> = words.iter().map(|word| word.text().to_ascii_uppercase()).collect();
                words.join(", ")
            }
            Expected::Punct(byte) => format!("'{}'", char::from(byte)),
            Expected::What(what) => what.to_owned(),
            Expected::LessNesting => format!("at most {} levels of nesting", super::MAX_DEPTH),
        }
    }
}

fn line_breaks(text: &[u8]) -> usize {
    memchr::memchr_iter(b'\n', text).count()
}

/// How many line breaks are within tokens before a place.
fn quoted_line_breaks(sql: &[u8], end: usize, mode: LexMode) -> usize {
    let mut lexer = Lexer::new(&sql[..end], mode);
    let tokens = std::iter::from_fn(|| Some(lexer.next_token()).filter(|token| token.kind != TokenKind::End));
    tokens.map(|token| line_breaks(token.text(sql))).sum()
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "You have an error in your SQL syntax; check the manual that corresponds to your server version for the right \
             syntax to use near '{}' at line {}: {} was expected",
            self.near,
            self.line,
            self.expected()
        )
    }
}

impl std::error::Error for SyntaxError {}

#[cfg(test)]
mod tests;
