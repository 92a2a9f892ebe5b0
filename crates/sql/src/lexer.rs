//! Tokens of a statement's text, as byte ranges.
//!
//! What must hold, for any bytes: token ranges are in order, do not overlap and lie within the text; nothing panics;
//! nothing is copied or allocated. What the server would refuse to read to its end (an open string, comment or quoted
//! name) becomes one [`TokenKind::Unterminated`] that covers the rest.
//!
//! The boundaries are those of the servers' own lexers (MySQL 9, MariaDB 10.11), see "Comments", "Literal Values" and
//! "Schema Object Names" in their manuals. Executable comments (`/*! … */`, `/*!80000 … */`, `/*M! … */`) are read as code
//! between two marker tokens unless no server of the dialect runs them; [`Lexer::conditional`] tells whether any of
//! them runs on some servers only.

use crate::mode::{Dialect, LeadBytes, LexMode};

/// What a token is. The text between `start` and `end` has the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// An unquoted identifier or a keyword; a character set introducer such as `_utf8mb4` too.
    Word,
    /// A quoted identifier with its quotes: backquotes, or double quotes under `ANSI_QUOTES`.
    QuotedIdent,
    /// A string with its quotes, `N'…'` with its prefix.
    String,
    /// `$$…$$`, `$tag$…$tag$`: the text of a routine in another language (MySQL; elsewhere these are names).
    DollarQuoted,
    /// Digits only.
    Integer,
    /// Digits with a point.
    Decimal,
    /// A number with an exponent.
    Float,
    /// `0xAF` or `x'AF'`.
    Hex,
    /// `0b01` or `b'01'`.
    Bit,
    /// `@x`, `@'x'`, `@"x"`, or a quoted name after `@`.
    UserVariable,
    /// `@@x`: the name up to a point only, so that `@@session.x` is three tokens.
    SystemVariable,
    /// The `?` of a prepared statement.
    Parameter,
    /// One byte of punctuation, or a byte that means nothing.
    Punct(u8),
    /// `:=`.
    Assign,
    /// An operator of several bytes: `<=`, `<=>`, `<>`, `!=`, `<<`, `>>`, `||`, `&&`, `->`, `->>`.
    Operator,
    /// `;`.
    Semicolon,
    /// `/*+` directly after SELECT, INSERT, REPLACE, UPDATE or DELETE; the hint's tokens follow.
    HintStart,
    /// The `*/` that ends a hint.
    HintEnd,
    /// `/*!` or `/*M!` with its version number; code follows.
    CodeStart,
    /// The `*/` that ends an executable comment.
    CodeEnd,
    /// From here on the text can't be read: an open string, comment or quoted name, or a malformed literal.
    Unterminated,
    /// The end of the text, an empty range.
    End,
}

impl TokenKind {
    /// Whether it is a value that stands in the text, or the `?` in place of one.
    pub fn is_literal(self) -> bool {
        matches!(
            self,
            TokenKind::String
                | TokenKind::Integer
                | TokenKind::Decimal
                | TokenKind::Float
                | TokenKind::Hex
                | TokenKind::Bit
                | TokenKind::Parameter
        )
    }
}

/// A token and the bytes of the text that it covers, `start..end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// What it is.
    pub kind: TokenKind,
    /// Offset of its first byte.
    pub start: u32,
    /// Offset after its last byte.
    pub end: u32,
}

impl Token {
    /// The token's bytes in the text that it was read from.
    pub fn text<'a>(&self, sql: &'a [u8]) -> &'a [u8] {
        &sql[self.range()]
    }

    /// The token's bytes as a range.
    pub fn range(&self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// Which executable comments of a text depend on the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Conditional {
    /// None seen so far.
    None,
    /// All have this header (and version); they run together or not at all.
    One { mariadb_only: bool, version: Option<u32> },
    /// Several headers, or contents whose extent depends on whether they run.
    Mixed,
}

/// Reads tokens off a text. Cheap to copy: a copy is a place in the text to look ahead from.
#[derive(Clone, Copy, Debug)]
pub struct Lexer<'a> {
    pub(crate) sql: &'a [u8],
    pub(crate) pos: usize,
    /// Where the readable text ends: the text's end, or the end of the hint that is being read.
    limit: usize,
    mode: LexMode,
    in_hint: bool,
    in_code: bool,
    /// Where an executable comment would end if it were skipped.
    code_end: usize,
    conditional: Conditional,
    /// Comments that only some servers run are read in the other way than the mode has it.
    read_otherwise: bool,
    /// The next byte, if it can be in a name, starts one: the token before is a `.`.
    name_follows: bool,
    /// The last token was a word that ends here.
    last_word: (u32, u32),
}

const SPACE: u8 = 1;
const NAME: u8 = 2;
const DIGIT: u8 = 3;
const QUOTE: u8 = 4;
const OTHER: u8 = 0;

static CLASS: [u8; 256] = classes();

const fn classes() -> [u8; 256] {
    let mut table = [OTHER; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = match byte as u8 {
            b' ' | b'\t' | b'\n' | 0x0B | 0x0C | b'\r' => SPACE,
            b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'$' | 0x80..=0xFF => NAME,
            b'0'..=b'9' => DIGIT,
            b'\'' | b'"' | b'`' => QUOTE,
            _ => OTHER,
        };
        byte += 1;
    }
    table
}

fn is_name_byte(byte: u8) -> bool {
    matches!(CLASS[usize::from(byte)], NAME | DIGIT)
}

impl<'a> Lexer<'a> {
    /// Starts at the beginning of a text.
    pub fn new(sql: &'a [u8], mode: LexMode) -> Self {
        Self {
            sql,
            pos: 0,
            limit: sql.len(),
            mode,
            in_hint: false,
            in_code: false,
            code_end: 0,
            conditional: Conditional::None,
            read_otherwise: false,
            name_follows: false,
            last_word: (0, 0),
        }
    }

    /// Reads a part of a text only; offsets are those of the whole.
    pub(crate) fn within(sql: &'a [u8], part: std::ops::Range<usize>, mode: LexMode) -> Self {
        Self { pos: part.start, limit: part.end, ..Self::new(sql, mode) }
    }

    /// Reads executable comments that only some servers run as other servers than the mode's would: as plain comments instead of as code, or
    /// the other way round.
    pub(crate) fn reading_otherwise(mut self) -> Self {
        self.read_otherwise = true;
        self
    }

    /// What was seen so far of executable comments that only some servers run.
    pub(crate) fn conditional(&self) -> Conditional {
        self.conditional
    }

    /// At a point with a name directly behind it: the servers take any word before it for a name.
    pub(crate) fn at_qualified_name(&self) -> bool {
        self.peek(0) == b'.' && self.is_name_byte(self.peek(1))
    }

    /// The next token; [`TokenKind::End`] from the end of the text on.
    pub fn next_token(&mut self) -> Token {
        if u32::try_from(self.sql.len()).is_err() {
            // Longer than any packet can be. Offsets would not fit.
            self.limit = self.pos;
            return Token { kind: TokenKind::Unterminated, start: 0, end: 0 };
        }
        loop {
            let start = self.skip_space();
            let Some(&byte) = self.sql.get(start).filter(|_| start < self.limit && !self.is_final_nul(start)) else {
                if self.in_hint {
                    self.leave_hint();
                    return self.token(TokenKind::HintEnd, start);
                }
                return self.end(start);
            };
            let name_follows = std::mem::take(&mut self.name_follows);
            let kind = match CLASS[usize::from(byte)] {
                NAME if name_follows => self.word(),
                NAME => self.word_or_literal(byte),
                DIGIT if name_follows => self.word(),
                DIGIT => self.number(),
                QUOTE => self.quoted(byte),
                _ => match self.other(byte) {
                    Some(kind) => kind,
                    None => continue,
                },
            };
            return self.token(kind, start);
        }
    }

    fn token(&mut self, kind: TokenKind, start: usize) -> Token {
        let token = Token { kind, start: start as u32, end: self.pos as u32 };
        if kind == TokenKind::Word {
            self.last_word = (token.start, token.end);
        }
        token
    }

    fn end(&mut self, start: usize) -> Token {
        if std::mem::take(&mut self.in_code) {
            self.pos = self.sql.len();
            return self.token(TokenKind::Unterminated, start);
        }
        Token { kind: TokenKind::End, start: start as u32, end: start as u32 }
    }

    /// Whether this is a zero byte with nothing behind it. The servers strip spaces and semicolons off the end of a text,
    /// and take a zero byte in the last place for its end; anywhere else it fits nowhere.
    fn is_final_nul(&self, at: usize) -> bool {
        self.sql[at] == 0 && self.sql[at + 1..].iter().all(|&byte| byte == b';' || CLASS[usize::from(byte)] == SPACE)
    }

    fn leave_hint(&mut self) {
        self.in_hint = false;
        self.pos = self.limit + 2;
        self.limit = self.sql.len();
    }

    fn skip_space(&mut self) -> usize {
        while self.pos < self.limit && self.is_space(self.sql[self.pos]) {
            self.pos += 1;
            self.name_follows = false;
        }
        self.pos
    }

    fn is_space(&self, byte: u8) -> bool {
        CLASS[usize::from(byte)] == SPACE || byte >= 0x80 && self.mode.lead_bytes.is_space(byte)
    }

    fn is_name_byte(&self, byte: u8) -> bool {
        is_name_byte(byte) && !(byte >= 0x80 && self.mode.lead_bytes.is_space(byte))
    }

    /// The byte `ahead` of the position, 0 past the end.
    fn peek(&self, ahead: usize) -> u8 {
        if self.pos + ahead < self.limit { self.sql[self.pos + ahead] } else { 0 }
    }

    /// Gives up on the rest of the text.
    fn unterminated(&mut self) -> TokenKind {
        self.in_hint = false;
        self.in_code = false;
        self.limit = self.sql.len();
        self.pos = self.limit;
        TokenKind::Unterminated
    }

    fn word(&mut self) -> TokenKind {
        self.skip_name_bytes();
        TokenKind::Word
    }

    fn skip_name_bytes(&mut self) {
        while self.pos < self.limit {
            let byte = self.sql[self.pos];
            if !self.is_name_byte(byte) {
                return;
            }
            let pair = byte >= 0x80 && self.mode.lead_bytes.is_pair(byte, self.peek(1));
            self.pos += if pair { 2 } else { 1 };
        }
    }

    fn word_or_literal(&mut self, byte: u8) -> TokenKind {
        if byte == b'$' && self.mode.dialect == Dialect::MySql {
            return self.dollar();
        }
        if self.peek(1) == b'\'' {
            match byte | 0x20 {
                b'n' => {
                    self.pos += 1;
                    return self.string(b'\'', TokenKind::String);
                }
                b'x' => return self.quoted_digits(TokenKind::Hex, |byte| byte.is_ascii_hexdigit()),
                b'b' => return self.quoted_digits(TokenKind::Bit, |byte| matches!(byte, b'0' | b'1')),
                _ => {}
            }
        }
        self.word()
    }

    fn quoted(&mut self, quote: u8) -> TokenKind {
        if quote == b'`' || (quote == b'"' && self.mode.ansi_quotes) {
            self.string(quote, TokenKind::QuotedIdent)
        } else {
            self.string(quote, TokenKind::String)
        }
    }

    /// Everything that begins with neither a name byte, a digit nor a quote. `None`: a comment was skipped.
    fn other(&mut self, byte: u8) -> Option<TokenKind> {
        match byte {
            b'#' => {
                self.skip_line();
                return None;
            }
            // A space or a control character must follow; the end of the text counts as one.
            b'-' if self.peek(1) == b'-' && self.begins_comment(self.peek(2)) => {
                self.skip_line();
                return None;
            }
            b'[' | b'\\' | b']' | b'^' | b'{' | b'|' | b'}' | b'~' if self.mode.lead_bytes == LeadBytes::Swe7 => {
                return Some(self.unterminated());
            }
            b'/' if self.peek(1) == b'*' => return self.comment(),
            b'*' if self.in_code && self.peek(1) == b'/' => return Some(self.leave_code()),
            b'@' => return Some(self.variable()),
            b'.' if self.peek(1).is_ascii_digit() && !self.follows_word() => {
                self.pos += 1;
                self.skip_digits();
                return Some(if self.skip_exponent() { TokenKind::Float } else { TokenKind::Decimal });
            }
            b'.' => self.name_follows = true,
            _ => {}
        }
        Some(self.operator(byte))
    }

    fn begins_comment(&self, byte: u8) -> bool {
        matches!(byte, 0..=b' ' | 0x7F) || byte >= 0x80 && self.mode.lead_bytes.begins_comment(byte)
    }

    fn follows_word(&self) -> bool {
        self.last_word.1 as usize == self.pos && self.last_word.0 < self.last_word.1
    }

    fn operator(&mut self, byte: u8) -> TokenKind {
        let (kind, length) = match (byte, self.peek(1), self.peek(2)) {
            (b';', ..) => (TokenKind::Semicolon, 1),
            (b'?', ..) => (TokenKind::Parameter, 1),
            (b':', b'=', _) => (TokenKind::Assign, 2),
            (b'<', b'=', b'>') | (b'-', b'>', b'>') => (TokenKind::Operator, 3),
            (b'<', b'=' | b'>' | b'<', _)
            | (b'>', b'=' | b'>', _)
            | (b'!', b'=', _)
            | (b'|', b'|', _)
            | (b'&', b'&', _)
            | (b'-', b'>', _) => (TokenKind::Operator, 2),
            // MySQL takes two for one: `!!0` is 1 there, and `! !0` is 0.
            (b'!', b'!', _) if self.mode.dialect == Dialect::MySql => (TokenKind::Punct(byte), 2),
            _ => (TokenKind::Punct(byte), 1),
        };
        self.pos += length;
        kind
    }

    fn variable(&mut self) -> TokenKind {
        match self.peek(1) {
            b'@' => {
                self.pos += 2;
                if self.peek(0) == b'`' {
                    return self.string(b'`', TokenKind::SystemVariable);
                }
                self.skip_name_bytes();
                TokenKind::SystemVariable
            }
            quote @ (b'\'' | b'"' | b'`') => {
                self.pos += 1;
                match self.quoted(quote) {
                    TokenKind::Unterminated => TokenKind::Unterminated,
                    _ => TokenKind::UserVariable,
                }
            }
            byte if self.is_name_byte(byte) || byte == b'.' => {
                self.pos += 1;
                while self.is_name_byte(self.peek(0)) || self.peek(0) == b'.' {
                    self.pos += 1;
                }
                TokenKind::UserVariable
            }
            _ => {
                self.pos += 1;
                TokenKind::Punct(b'@')
            }
        }
    }
}

mod comments;
mod literals;

impl Iterator for Lexer<'_> {
    type Item = Token;

    /// The next token, `None` at the end of the text.
    fn next(&mut self) -> Option<Token> {
        let token = self.next_token();
        (token.kind != TokenKind::End).then_some(token)
    }
}

#[cfg(test)]
pub(crate) mod tests;
