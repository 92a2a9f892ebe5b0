//! A text without its literals: hashed, to know it again, and as text for people.
//!
//! What must hold: texts with one digest differ at most in literals, spaces, comments, the case of keywords and built-in
//! functions, and semicolons at the end; in particular they have the same number of literals, in the same places. No
//! literal shows in a digest's text. A word is folded only where it can't be the name of a table or an alias, whose case
//! matters on some servers; so `commit` folds, but `events` in `FROM Events` does not.

use crate::keyword::Keyword;
use crate::kw;
use crate::lexer::{Lexer, Token, TokenKind};
use crate::mode::LexMode;
use crate::siphash::SipHasher;

/// The identity of a text without its literals, the same in every process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest(pub u128);

impl std::fmt::Display for Digest {
    /// 32 hexadecimal digits.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// What decides about a text's class: the text without the values of its literals, but with their kinds and with where
/// spaces stand. Texts of one shape, read in one mode, have one [`Class`](crate::Class), but for the ranges and values in
/// its [`TextKind`](crate::TextKind). `None` for texts with comments, which may hold anything.
pub fn shape(sql: &[u8], mode: LexMode) -> Option<Digest> {
    if memchr::memmem::find(sql, b"/*").is_some() {
        return None;
    }
    let mut hash = SipHasher::new();
    let mut end = 0_u32;
    for (token, part) in Normal::new(sql, mode) {
        hash.byte(if token.start == end { b'a' } else { b's' });
        end = token.end;
        match part {
            Part::Literal => {
                hash.byte(b'?');
                hash.byte(literal_kind(token.kind));
            }
            part => hash_word(&mut hash, token.text(sql), part),
        }
    }
    // Of semicolons at the end, one ends the statement, and two are an empty statement.
    sql[end as usize..].iter().filter(|byte| **byte == b';').for_each(|_| hash.byte(b';'));
    Some(Digest(hash.finish()))
}

fn literal_kind(kind: TokenKind) -> u8 {
    match kind {
        TokenKind::String => 1,
        TokenKind::Integer => 2,
        TokenKind::Decimal => 3,
        TokenKind::Float => 4,
        TokenKind::Hex => 5,
        TokenKind::Bit => 6,
        TokenKind::Parameter => 7,
        _ => 8,
    }
}

fn hash_word(hash: &mut SipHasher, text: &[u8], part: Part) {
    if part == Part::Folded {
        hash.byte(b'k');
        text.iter().for_each(|byte| hash.byte(byte.to_ascii_lowercase()));
        // No word and no operator has this byte, so the next part begins clearly.
        hash.byte(0);
    } else {
        hash.byte(b'v');
        hash.bytes(&(text.len() as u32).to_le_bytes());
        hash.bytes(text);
    }
}

/// The digest of a text. Lists are not collapsed: `IN (1, 2)` and `IN (1, 2, 3)` have different digests.
pub fn digest(sql: &[u8], mode: LexMode) -> Digest {
    let mut hash = SipHasher::new();
    for (token, part) in Normal::new(sql, mode) {
        match part {
            Part::Literal => hash.byte(b'?'),
            part => hash_word(&mut hash, token.text(sql), part),
        }
    }
    Digest(hash.finish())
}

/// The text of a digest for display: keywords in upper case, `?` for every literal, `(...)` for a list of two literals
/// or more and for several such lists. Cut to at most `max_len` bytes, then ending in `...`.
pub fn digest_text(sql: &[u8], mode: LexMode, max_len: usize) -> String {
    let mut out = Writer { text: Vec::new(), previous: None, max_len };
    let mut tokens = Normal::new(sql, mode);
    while let Some((token, part)) = tokens.next() {
        let list = if token.kind == TokenKind::Punct(b'(') { tokens.literal_list() } else { None };
        match list {
            Some(mut after) => {
                while let Some(further) = after.another_list() {
                    after = further;
                }
                tokens = after;
                out.write(b"(...)", token, Keyword::NONE, Part::Verbatim);
                out.previous = Some((TokenKind::Punct(b')'), Keyword::NONE));
            }
            None => out.token(sql, token, part),
        }
        if out.text.len() > max_len {
            break;
        }
    }
    out.finish()
}

/// What counts of a token.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Literal,
    Folded,
    Verbatim,
}

/// The tokens of a text with what counts of them.
#[derive(Clone, Copy)]
struct Normal<'a> {
    lexer: Lexer<'a>,
    previous: TokenKind,
    previous_word: Keyword,
    /// The statement begins with WITH.
    in_with: bool,
    /// Where the last statement that was looked ahead for begins.
    next_statement: u32,
}

impl<'a> Normal<'a> {
    fn new(sql: &'a [u8], mode: LexMode) -> Self {
        let lexer = Lexer::new(sql, mode);
        Self { lexer, previous: TokenKind::Semicolon, previous_word: Keyword::NONE, in_with: false, next_statement: 0 }
    }

    fn part(&mut self, token: Token) -> Part {
        let word = match token.kind {
            TokenKind::Word => Keyword::of(token.text(self.lexer.sql)),
            _ => Keyword::NONE,
        };
        if self.previous == TokenKind::Semicolon {
            self.in_with = word == kw::WITH;
        }
        let part = match token.kind {
            TokenKind::Unterminated => Part::Literal,
            kind if kind.is_literal() => Part::Literal,
            // A password in double quotes stays secret even if the quotes are taken for an identifier's.
            TokenKind::QuotedIdent if self.previous_word == kw::BY && self.quotes_double(token) => Part::Literal,
            TokenKind::Word if self.is_folded(word) => Part::Folded,
            _ => Part::Verbatim,
        };
        self.previous = token.kind;
        self.previous_word = word;
        part
    }

    fn quotes_double(&self, token: Token) -> bool {
        token.text(self.lexer.sql).starts_with(b"\"")
    }

    fn is_folded(&self, word: Keyword) -> bool {
        if word == Keyword::NONE || self.previous == TokenKind::Punct(b'.') {
            return false;
        }
        word.is_reserved()
            || self.previous == TokenKind::Semicolon
            || (word.is_function() && !self.table_follows() && self.parenthesis_follows())
    }

    /// A table's name, or a common table expression's, may stand here, and may be spelled like a function's.
    fn table_follows(&self) -> bool {
        const BEFORE_TABLES: &[Keyword] = &[
            kw::INTO,
            kw::TABLE,
            kw::INSERT,
            kw::REPLACE,
            kw::IGNORE,
            kw::LOW_PRIORITY,
            kw::DELAYED,
            kw::HIGH_PRIORITY,
            kw::AS,
            kw::WITH,
            kw::RECURSIVE,
            kw::ON,
            kw::REFERENCES,
        ];
        BEFORE_TABLES.contains(&self.previous_word) || self.in_with && self.previous == TokenKind::Punct(b',')
    }

    fn parenthesis_follows(&self) -> bool {
        let mut ahead = self.lexer;
        ahead.next_token().kind == TokenKind::Punct(b'(')
    }

    /// After an opening parenthesis: the place after its closing one, if only literals stand between, two at least.
    fn literal_list(&self) -> Option<Self> {
        let mut ahead = *self;
        let mut count = 0;
        loop {
            let (mut token, mut part) = ahead.next()?;
            if matches!(token.kind, TokenKind::Punct(b'-' | b'+')) {
                (token, part) = ahead.next()?;
            }
            if part != Part::Literal || token.kind == TokenKind::Unterminated {
                return None;
            }
            count += 1;
            match ahead.next()?.0.kind {
                TokenKind::Punct(b',') => {}
                TokenKind::Punct(b')') => return (count > 1).then_some(ahead),
                _ => return None,
            }
        }
    }

    /// After a list: the place after `, (…)` if that is another list of literals.
    fn another_list(&self) -> Option<Self> {
        let mut ahead = *self;
        let comma = ahead.next()?.0.kind == TokenKind::Punct(b',');
        let open = comma && ahead.next()?.0.kind == TokenKind::Punct(b'(');
        if open { ahead.literal_list() } else { None }
    }
}

impl Iterator for Normal<'_> {
    type Item = (Token, Part);

    /// The next token, without semicolons at the text's end.
    fn next(&mut self) -> Option<(Token, Part)> {
        let token = self.lexer.next()?;
        if token.kind == TokenKind::Semicolon && token.start >= self.next_statement {
            let mut ahead = self.lexer;
            self.next_statement = ahead.find(|next| next.kind != TokenKind::Semicolon)?.start;
        }
        Some((token, self.part(token)))
    }
}

/// Puts a digest's text together.
struct Writer {
    text: Vec<u8>,
    previous: Option<(TokenKind, Keyword)>,
    max_len: usize,
}

impl Writer {
    fn token(&mut self, sql: &[u8], token: Token, part: Part) {
        let text = token.text(sql);
        let word = if token.kind == TokenKind::Word { Keyword::of(text) } else { Keyword::NONE };
        // A name may be as long as a packet.
        let text = &text[..text.len().min(self.max_len + 1)];
        match part {
            Part::Literal => self.write(b"?", token, word, part),
            Part::Folded => self.write(&text.to_ascii_uppercase(), token, word, part),
            Part::Verbatim => self.write(text, token, word, part),
        }
    }

    fn write(&mut self, text: &[u8], token: Token, word: Keyword, part: Part) {
        let kind = if part == Part::Literal { TokenKind::Parameter } else { token.kind };
        if self.spaced(kind) {
            self.text.push(b' ');
        }
        self.text.extend_from_slice(text);
        self.previous = Some((kind, word));
    }

    /// Whether a space stands between the token before and one of this kind.
    fn spaced(&self, kind: TokenKind) -> bool {
        let Some((before, word)) = self.previous else { return false };
        if matches!(before, TokenKind::Punct(b'(' | b'.' | b'@')) {
            return false;
        }
        match kind {
            TokenKind::Punct(b',' | b')' | b'.' | b'@') | TokenKind::Semicolon => false,
            TokenKind::UserVariable => !matches!(before, TokenKind::QuotedIdent | TokenKind::Parameter),
            // A call, or a table with its columns.
            TokenKind::Punct(b'(') => !matches!(before, TokenKind::Word | TokenKind::QuotedIdent) || word.is_reserved(),
            _ => true,
        }
    }

    fn finish(self) -> String {
        // Bytes that are no UTF-8 take more room as replacement characters.
        let mut text = String::from_utf8_lossy(&self.text).into_owned();
        if text.len() <= self.max_len {
            return text;
        }
        let mut end = self.max_len.saturating_sub(3).min(text.len());
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
        text.push_str(&"..."[..self.max_len.min(3)]);
        text
    }
}

#[cfg(test)]
mod tests;
