//! A place in a text with one token on either side, for code that reads statements token by token.
//!
//! What must hold: markers of executable comments and the contents of hints are not shown, since they are no part of a
//! statement's structure; what can't be read with certainty sets [`Cursor::unreadable`]. A copy is a place to look ahead
//! from.

use crate::keyword::Keyword;
use crate::lexer::{Conditional, Lexer, Token, TokenKind};
#[cfg(test)]
use crate::mode::LexMode;

/// A token, and which known word it is if it is a [`TokenKind::Word`] that is not part of a name with points in it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Item {
    pub(crate) token: Token,
    pub(crate) word: Keyword,
}

impl Item {
    const START: Self = Self { token: Token { kind: TokenKind::Semicolon, start: 0, end: 0 }, word: Keyword::NONE };

    pub(crate) fn is_name(&self) -> bool {
        matches!(self.token.kind, TokenKind::Word | TokenKind::QuotedIdent)
    }
}

/// See the module.
#[derive(Clone, Copy)]
pub(crate) struct Cursor<'a> {
    lexer: Lexer<'a>,
    previous: Item,
    current: Item,
    next: Item,
    unreadable: bool,
    /// The hint that was read last, from its first byte to after its last.
    hint: (u32, u32),
}

impl<'a> Cursor<'a> {
    #[cfg(test)]
    pub(crate) fn new(sql: &'a [u8], mode: LexMode) -> Self {
        Self::over(Lexer::new(sql, mode))
    }

    pub(crate) fn over(lexer: Lexer<'a>) -> Self {
        let mut cursor = Self {
            lexer,
            previous: Item::START,
            current: Item::START,
            next: Item::START,
            unreadable: false,
            hint: (0, 0),
        };
        cursor.advance();
        cursor.advance();
        cursor.previous = Item::START;
        cursor
    }

    pub(crate) fn previous(&self) -> Item {
        self.previous
    }

    pub(crate) fn current(&self) -> Item {
        self.current
    }

    pub(crate) fn next(&self) -> Item {
        self.next
    }

    pub(crate) fn kind(&self) -> TokenKind {
        self.current.token.kind
    }

    pub(crate) fn text(&self, item: Item) -> &'a [u8] {
        item.token.text(self.lexer.sql)
    }

    /// A quoted identifier's contents as they stand (doubled quotes stay doubled), or a word's text.
    pub(crate) fn name(&self, item: Item) -> &'a [u8] {
        let text = self.text(item);
        if item.token.kind == TokenKind::QuotedIdent { &text[1..text.len() - 1] } else { text }
    }

    /// Moves on by one token; stays at the end.
    pub(crate) fn advance(&mut self) {
        self.previous = self.current;
        self.current = self.next;
        self.next = self.read();
    }

    /// Counts what lies between the token that was read last and `end` as a part of it.
    pub(crate) fn extend_previous(&mut self, end: u32) {
        self.previous.token.end = end;
    }

    fn read(&mut self) -> Item {
        let mut in_hint = false;
        loop {
            let token = self.lexer.next_token();
            match token.kind {
                TokenKind::CodeStart | TokenKind::CodeEnd => continue,
                TokenKind::HintStart => {
                    in_hint = true;
                    self.hint.0 = token.start;
                }
                TokenKind::HintEnd => {
                    in_hint = false;
                    self.hint.1 = token.end;
                }
                TokenKind::Unterminated => {
                    self.unreadable = true;
                    return Item { token, word: Keyword::NONE };
                }
                _ if in_hint => {}
                TokenKind::Word => {
                    let text = token.text(self.lexer.sql);
                    // MySQL 9 reads $tag$ … $tag$ as a string in places, others as names.
                    self.unreadable |= text[0] == b'$';
                    // `current` is still the token before this one. After a point every word is a name, and before one
                    // that another name follows directly.
                    let qualified = self.current.token.kind == TokenKind::Punct(b'.') || self.lexer.at_qualified_name();
                    let word = if qualified { Keyword::NONE } else { Keyword::of(text) };
                    return Item { token, word };
                }
                TokenKind::DollarQuoted => {
                    // Older servers read it as names.
                    self.unreadable = true;
                    return Item { token, word: Keyword::NONE };
                }
                _ => return Item { token, word: Keyword::NONE },
            }
        }
    }

    /// Something up to the token after the current one can't be read with certainty.
    pub(crate) fn unreadable(&self) -> bool {
        self.unreadable
    }

    pub(crate) fn conditional(&self) -> Conditional {
        self.lexer.conditional()
    }

    /// The optimizer hint between the current token and the next.
    pub(crate) fn hint_ahead(&self) -> Option<(u32, u32)> {
        // A hint that was begun but not ended has its end before its start.
        let (start, end) = self.hint;
        (start >= self.current.token.end && end > start).then_some((start, end))
    }

    /// Whether a star follows the next token, which is a point, with at most one name and another point between:
    /// `.*`, `.t.*`.
    pub(crate) fn star_follows_points(&self) -> bool {
        let mut lexer = self.lexer;
        let mut token = lexer.next_token();
        if matches!(token.kind, TokenKind::Word | TokenKind::QuotedIdent) {
            if lexer.next_token().kind != TokenKind::Punct(b'.') {
                return false;
            }
            token = lexer.next_token();
        }
        token.kind == TokenKind::Punct(b'*')
    }

    /// At a semicolon or the end of the text.
    pub(crate) fn at_end(&self) -> bool {
        matches!(self.kind(), TokenKind::Semicolon | TokenKind::End)
    }

    /// The next token is a semicolon or the end.
    pub(crate) fn next_is_end(&self) -> bool {
        matches!(self.next.token.kind, TokenKind::Semicolon | TokenKind::End)
    }

    pub(crate) fn at(&self, word: Keyword) -> bool {
        self.current.word == word
    }

    pub(crate) fn at_any(&self, words: &[Keyword]) -> bool {
        words.contains(&self.current.word)
    }

    pub(crate) fn next_is(&self, word: Keyword) -> bool {
        self.next.word == word
    }

    pub(crate) fn at_punct(&self, byte: u8) -> bool {
        self.kind() == TokenKind::Punct(byte)
    }

    pub(crate) fn next_is_punct(&self, byte: u8) -> bool {
        self.next.token.kind == TokenKind::Punct(byte)
    }

    /// Moves on if the current token is this word.
    pub(crate) fn eat(&mut self, word: Keyword) -> bool {
        let found = self.at(word);
        if found {
            self.advance();
        }
        found
    }

    /// Moves on if the current token is one of these words.
    pub(crate) fn eat_any(&mut self, words: &[Keyword]) -> bool {
        let found = self.current.word != Keyword::NONE && self.at_any(words);
        if found {
            self.advance();
        }
        found
    }

    /// Moves on if the current token is this byte.
    pub(crate) fn eat_punct(&mut self, byte: u8) -> bool {
        let found = self.at_punct(byte);
        if found {
            self.advance();
        }
        found
    }

    /// Moves past these words if they follow one another here, or stays.
    pub(crate) fn eat_all(&mut self, words: &[Keyword]) -> bool {
        let mut ahead = *self;
        let found = words.iter().all(|word| ahead.eat(*word));
        if found {
            *self = ahead;
        }
        found
    }

    /// From an opening parenthesis to after its closing one, or to the statement's end.
    pub(crate) fn skip_parentheses(&mut self) {
        let mut depth = 0_usize;
        while !self.at_end() {
            match self.kind() {
                TokenKind::Punct(b'(') => depth += 1,
                TokenKind::Punct(b')') => depth = depth.saturating_sub(1),
                _ => {}
            }
            self.advance();
            if depth == 0 {
                return;
            }
        }
    }
}
