//! The grammar: from a statement's text to its tree, by recursive descent.
//!
//! What must hold: a text that a server of the dialect reads is read, as that server reads it, or refused with the place
//! where reading stopped; it is never read as something else. Nesting is bounded by [`MAX_DEPTH`]; time and memory are
//! linear in the text's length, but for backtracking over one parenthesis at a time. Nothing panics on any bytes.
//!
//! Each file reads the clauses that its name says; all of them add methods to [`Parser`], which knows nothing but tokens,
//! names, lists and errors. A method that reads a thing begins at its first token and ends after its last.

mod account;
mod admin;
mod compound;
mod ddl;
mod definition;
mod diagnostics;
mod dml;
mod end;
mod error;
mod expr;
mod names;
mod prepared;
mod query;
mod routine;
mod set;
mod show;
mod statement;
#[cfg(test)]
mod testing;
mod transaction;

use bumpalo::Bump;
use bumpalo::collections::Vec as ArenaVec;

pub(crate) use end::first_end;
pub use error::SyntaxError;
use error::{Expected, Stop};

use crate::ast::{Expr, Ident, Piece, Query, Span, Statement, TableRef};
use crate::cursor::{Cursor, Item};
use crate::keyword::Keyword;
use crate::lexer::{Conditional, Lexer, TokenKind};
use crate::mode::LexMode;

/// How deep parentheses, operands, subqueries and the like may nest. A level is an operand within another one; a subquery
/// counts as two more.
///
/// Chosen by measuring: without optimisation no level of an expression takes more than 2 KiB of the stack, so that half of a
/// thread's usual 2 MiB is never used.
pub const MAX_DEPTH: u16 = 500;

/// What reading a thing gives: the thing, or a stop whose reason the parser keeps.
type Read<T> = Result<T, Stop>;

/// A text that was read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parsed<'a> {
    /// Its statements, in order; none for spaces and comments.
    pub statements: &'a [Statement<'a>],
    /// How many `?` it has.
    pub parameters: u32,
    /// It has executable comments that only some servers of the dialect run. They were read as code.
    pub conditional: bool,
    /// How many statements the server sees, empty ones between semicolons included.
    pub parts: u32,
    /// It has words that begin with `$`, which MySQL 9 reads as quotes (`$tag$ … $tag$`) in places.
    pub dollars: bool,
}

/// Reads a text: statements separated by semicolons.
///
/// The tree borrows from the text and from the arena, which may be used again (`reset`) once the tree is gone.
///
/// # Errors
/// The first token that does not fit, with what was expected there.
pub fn parse<'a>(arena: &'a Bump, sql: &'a [u8], mode: LexMode) -> Result<Parsed<'a>, SyntaxError> {
    parse_tokens(arena, Lexer::new(sql, mode), mode).map(|(parsed, _)| parsed)
}

/// Reads the text of a lexer that stands at its beginning; with the executable comments that it has.
pub(crate) fn parse_tokens<'a>(
    arena: &'a Bump,
    lexer: Lexer<'a>,
    mode: LexMode,
) -> Result<(Parsed<'a>, Conditional), SyntaxError> {
    let mut parser = Parser::new(arena, lexer, mode);
    let (statements, parts) = parser.text().map_err(|Stop| parser.error())?;
    let found = parser.cursor.conditional();
    let conditional = found != Conditional::None;
    let dollars = parser.cursor.unreadable();
    Ok((Parsed { statements, parameters: parser.parameters, conditional, parts, dollars }, found))
}

/// Reads an expression alone.
///
/// # Errors
/// As [`parse`].
pub fn parse_expression<'a>(arena: &'a Bump, sql: &'a [u8], mode: LexMode) -> Result<Expr<'a>, SyntaxError> {
    let mut parser = Parser::new(arena, Lexer::new(sql, mode), mode);
    let read = parser.expr().and_then(|expr| parser.end_of_text().map(|()| expr));
    read.map_err(|Stop| parser.error())
}

/// Reads a query alone: SELECT and the like, without what may surround it in a statement.
///
/// # Errors
/// As [`parse`].
pub fn parse_query<'a>(arena: &'a Bump, sql: &'a [u8], mode: LexMode) -> Result<Query<'a>, SyntaxError> {
    let mut parser = Parser::new(arena, Lexer::new(sql, mode), mode);
    let read = parser.query().and_then(|query| parser.end_of_text().map(|()| *query));
    read.map_err(|Stop| parser.error())
}

/// Reads one of the things that stand in FROM alone: a table, or several joined.
///
/// # Errors
/// As [`parse`].
pub fn parse_table_reference<'a>(arena: &'a Bump, sql: &'a [u8], mode: LexMode) -> Result<TableRef<'a>, SyntaxError> {
    let mut parser = Parser::new(arena, Lexer::new(sql, mode), mode);
    let read = parser.table_ref().and_then(|table| parser.end_of_text().map(|()| table));
    read.map_err(|Stop| parser.error())
}

/// Reads the body of a stored routine alone, and says what it consists of, in the order of the text.
///
/// # Errors
/// As [`parse`]; what is within a body and has no grammar here, too.
pub fn parse_body<'a>(arena: &'a Bump, sql: &'a [u8], mode: LexMode) -> Result<&'a [Piece<'a>], SyntaxError> {
    let mut parser = Parser::new(arena, Lexer::new(sql, mode), mode);
    parser.pieces = Some(ArenaVec::new_in(arena));
    let read = parser.body().and_then(|_| parser.end_of_text());
    read.map_err(|Stop| parser.error())?;
    Ok(parser.pieces.take().map_or(&[][..], |pieces| pieces.into_bump_slice()))
}

/// Where and why reading stopped.
struct ParseStop {
    span: Span,
    expected: Expected,
    /// How it is written, if it is Weir's own.
    form: Option<&'static str>,
}

/// See the module.
pub(crate) struct Parser<'a> {
    pub(crate) arena: &'a Bump,
    pub(crate) cursor: Cursor<'a>,
    pub(crate) mode: LexMode,
    sql: &'a [u8],
    parameters: u32,
    depth: u16,
    /// Within ON DUPLICATE KEY UPDATE: `VALUES(c)` is a function of both servers there.
    pub(crate) values_is_function: bool,
    parentheses: query::ParenthesisRun,
    /// What a body consists of, if somebody asks for it.
    pieces: Option<ArenaVec<'a, Piece<'a>>>,
    /// Where and why reading stopped last. The message is made once, at the end: attempts stop often.
    stopped: Option<ParseStop>,
}

impl<'a> Parser<'a> {
    fn new(arena: &'a Bump, lexer: Lexer<'a>, mode: LexMode) -> Self {
        Self {
            arena,
            cursor: Cursor::over(lexer),
            mode,
            sql: lexer.sql,
            parameters: 0,
            depth: 0,
            values_is_function: false,
            parentheses: query::ParenthesisRun::default(),
            pieces: None,
            stopped: None,
        }
    }

    // --- Places in the text ---

    /// Where the current token begins: the start of a node's span.
    pub(crate) fn start(&self) -> u32 {
        self.cursor.current().token.start
    }

    /// From `start` to the end of the token that was read last.
    pub(crate) fn span_from(&self, start: u32) -> Span {
        Span { start, end: self.cursor.previous().token.end }
    }

    /// The span of a token.
    pub(crate) fn span_of(item: Item) -> Span {
        Span { start: item.token.start, end: item.token.end }
    }

    /// The bytes of a span.
    pub(crate) fn text_of(&self, span: Span) -> &'a [u8] {
        &self.sql[span.range()]
    }

    /// The whole text.
    pub(crate) fn sql_bytes(&self) -> &'a [u8] {
        self.sql
    }

    // --- Tokens ---

    pub(crate) fn kind(&self) -> TokenKind {
        self.cursor.kind()
    }

    pub(crate) fn word(&self) -> Keyword {
        self.cursor.current().word
    }

    pub(crate) fn at(&self, word: Keyword) -> bool {
        self.cursor.at(word)
    }

    pub(crate) fn at_any(&self, words: &[Keyword]) -> bool {
        self.word() != Keyword::NONE && self.cursor.at_any(words)
    }

    pub(crate) fn next_is(&self, word: Keyword) -> bool {
        self.cursor.next_is(word)
    }

    pub(crate) fn at_punct(&self, byte: u8) -> bool {
        self.cursor.at_punct(byte)
    }

    pub(crate) fn next_is_punct(&self, byte: u8) -> bool {
        self.cursor.next_is_punct(byte)
    }

    /// Whether the current and the next token are these words.
    pub(crate) fn at_pair(&self, first: Keyword, second: Keyword) -> bool {
        self.at(first) && self.next_is(second)
    }

    /// At a semicolon or the end of the text.
    pub(crate) fn at_end(&self) -> bool {
        self.cursor.at_end()
    }

    pub(crate) fn advance(&mut self) {
        self.cursor.advance();
    }

    /// The current token, moving past it.
    pub(crate) fn take(&mut self) -> Item {
        let item = self.cursor.current();
        self.cursor.advance();
        item
    }

    pub(crate) fn eat(&mut self, word: Keyword) -> bool {
        self.cursor.eat(word)
    }

    /// Moves past any of these words; the one it was.
    pub(crate) fn eat_any(&mut self, words: &[Keyword]) -> Option<Keyword> {
        let word = self.word();
        self.cursor.eat_any(words).then_some(word)
    }

    /// Moves past these words if all of them follow one another here.
    pub(crate) fn eat_all(&mut self, words: &[Keyword]) -> bool {
        match words {
            [first, second] => {
                let found = self.at_pair(*first, *second);
                if found {
                    self.advance();
                    self.advance();
                }
                found
            }
            _ => self.at(words[0]) && self.cursor.eat_all(words),
        }
    }

    pub(crate) fn eat_punct(&mut self, byte: u8) -> bool {
        self.cursor.eat_punct(byte)
    }

    pub(crate) fn expect(&mut self, word: Keyword) -> Read<()> {
        if self.eat(word) { Ok(()) } else { self.stop(Expected::Word(word)) }
    }

    pub(crate) fn expect_all(&mut self, words: &[Keyword]) -> Read<()> {
        words.iter().try_for_each(|word| self.expect(*word))
    }

    pub(crate) fn expect_any(&mut self, words: &'static [Keyword]) -> Read<Keyword> {
        match self.eat_any(words) {
            Some(word) => Ok(word),
            None => self.stop(Expected::Words(words)),
        }
    }

    pub(crate) fn expect_punct(&mut self, byte: u8) -> Read<()> {
        if self.eat_punct(byte) { Ok(()) } else { self.stop(Expected::Punct(byte)) }
    }

    /// `=` or `:=`.
    pub(crate) fn expect_set_equal(&mut self) -> Read<()> {
        if self.kind() == TokenKind::Assign {
            self.advance();
            return Ok(());
        }
        self.expect_punct(b'=')
    }

    /// A string in quotes; several in a row are not joined.
    pub(crate) fn expect_string(&mut self) -> Read<Span> {
        match self.kind() {
            TokenKind::String => Ok(Self::span_of(self.take())),
            _ => self.stop(Expected::What("a string")),
        }
    }

    /// Digits only.
    pub(crate) fn expect_integer(&mut self) -> Read<Span> {
        match self.kind() {
            TokenKind::Integer => Ok(Self::span_of(self.take())),
            _ => self.stop(Expected::What("a whole number")),
        }
    }

    /// From an opening parenthesis to after its closing one, whatever is between.
    pub(crate) fn skip_parentheses(&mut self) -> Read<Span> {
        let start = self.start();
        if !self.at_punct(b'(') {
            return self.stop(Expected::Punct(b'('));
        }
        self.cursor.skip_parentheses();
        if self.cursor.previous().token.kind == TokenKind::Punct(b')') {
            Ok(self.span_from(start))
        } else {
            self.stop(Expected::Punct(b')'))
        }
    }

    // --- Lists ---

    /// `one, one, …`: at least one.
    pub(crate) fn list<T: Copy>(&mut self, mut one: impl FnMut(&mut Self) -> Read<T>) -> Read<&'a [T]> {
        let first = one(self)?;
        if !self.at_punct(b',') {
            return Ok(std::slice::from_ref(self.arena.alloc(first)));
        }
        let mut list = ArenaVec::with_capacity_in(4, self.arena);
        list.push(first);
        while self.eat_punct(b',') {
            list.push(one(self)?);
        }
        Ok(list.into_bump_slice())
    }

    /// `(one, one, …)`: at least one.
    pub(crate) fn parenthesised<T: Copy>(&mut self, one: impl FnMut(&mut Self) -> Read<T>) -> Read<&'a [T]> {
        self.expect_punct(b'(')?;
        let list = self.list(one)?;
        self.expect_punct(b')')?;
        Ok(list)
    }

    /// `(one, one, …)` or `()`.
    pub(crate) fn parenthesised_or_empty<T: Copy>(&mut self, one: impl FnMut(&mut Self) -> Read<T>) -> Read<&'a [T]> {
        if self.at_punct(b'(') && self.next_is_punct(b')') {
            self.advance();
            self.advance();
            return Ok(&[]);
        }
        self.parenthesised(one)
    }

    /// Things one after another, for as long as `one` finds one.
    pub(crate) fn several<T: Copy>(&mut self, mut one: impl FnMut(&mut Self) -> Read<Option<T>>) -> Read<&'a [T]> {
        let Some(first) = one(self)? else { return Ok(&[]) };
        let mut list = ArenaVec::new_in(self.arena);
        list.push(first);
        while let Some(next) = one(self)? {
            list.push(next);
        }
        Ok(list.into_bump_slice())
    }

    pub(crate) fn alloc<T: Copy>(&self, value: T) -> &'a T {
        self.arena.alloc(value)
    }

    // --- Depth, errors, second tries ---

    /// Reads a thing that may hold things of its own kind.
    pub(crate) fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Read<T>) -> Read<T> {
        self.nested_by(1, read)
    }

    /// Reads a thing that may hold things of its own kind and takes as much of the stack as this many levels of
    /// expressions do.
    pub(crate) fn nested_by<T>(&mut self, levels: u16, read: impl FnOnce(&mut Self) -> Read<T>) -> Read<T> {
        if self.depth >= MAX_DEPTH {
            return self.stop(Expected::LessNesting);
        }
        self.depth += levels;
        let result = read(self);
        self.depth -= levels;
        result
    }

    /// Reads a thing if it is one, else is where it was. Not for things that may hold themselves: trying twice at each
    /// level takes exponential time.
    pub(crate) fn attempt<T>(&mut self, read: impl FnOnce(&mut Self) -> Read<T>) -> Option<T> {
        let (cursor, parameters, depth) = (self.cursor, self.parameters, self.depth);
        let result = read(self).ok();
        if result.is_none() {
            (self.cursor, self.parameters, self.depth) = (cursor, parameters, depth);
        }
        result
    }

    /// The current token does not fit.
    #[cold]
    pub(crate) fn stop<T>(&mut self, expected: Expected) -> Read<T> {
        self.stopped = Some(ParseStop { span: Self::span_of(self.cursor.current()), expected, form: None });
        Err(Stop)
    }

    /// Reads something of Weir's own, of which an error tells the form.
    pub(crate) fn of_form<T>(&mut self, form: &'static str, read: impl FnOnce(&mut Self) -> Read<T>) -> Read<T> {
        let result = read(self);
        if let (Err(Stop), Some(stopped)) = (&result, &mut self.stopped) {
            stopped.form.get_or_insert(form);
        }
        result
    }

    fn error(&mut self) -> SyntaxError {
        let span = Self::span_of(self.cursor.current());
        let here = ParseStop { span, expected: Expected::What("something else"), form: None };
        let ParseStop { span, expected, form } = self.stopped.take().unwrap_or(here);
        SyntaxError::at(span, self.sql, self.mode, expected, form)
    }

    fn end_of_text(&mut self) -> Read<()> {
        if self.kind() == TokenKind::End { Ok(()) } else { self.stop(Expected::What("the end")) }
    }

    /// The statements, and how many there are with empty ones.
    fn text(&mut self) -> Read<(&'a [Statement<'a>], u32)> {
        let mut statements = ArenaVec::new_in(self.arena);
        let mut parts = 0;
        while self.kind() != TokenKind::End {
            if self.kind() == TokenKind::Semicolon {
                parts += self.trailing_semicolons()?;
                break;
            }
            parts += 1;
            statements.push(self.statement()?);
            if !self.at_end() {
                return self.stop(Expected::What("the end of the statement"));
            }
            if self.kind() == TokenKind::Semicolon {
                self.advance();
            }
        }
        Ok((statements.into_bump_slice(), parts))
    }

    /// At a semicolon where a statement might begin, how many there are: the servers take any number of them at the end
    /// of a text, none before a statement.
    fn trailing_semicolons(&mut self) -> Read<u32> {
        let mut ahead = self.cursor;
        let mut count = 0;
        while ahead.kind() == TokenKind::Semicolon {
            ahead.advance();
            count += 1;
        }
        if ahead.kind() != TokenKind::End {
            return self.stop(Expected::What("a statement"));
        }
        self.cursor = ahead;
        Ok(count)
    }

    /// The next `?`.
    pub(crate) fn next_parameter(&mut self) -> u32 {
        self.parameters += 1;
        self.parameters - 1
    }

    /// A word as a name.
    pub(crate) fn ident_of_word(&self, item: Item) -> Ident<'a> {
        Ident { name: self.cursor.text(item), span: Self::span_of(item) }
    }
}
