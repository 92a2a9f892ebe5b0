//! Numbers, strings and quoted names.
//!
//! What must hold: a literal ends where the server ends it, which for numbers depends on what follows (`1e` and `0xZ` are
//! names), and for strings on the mode.

use super::{Lexer, TokenKind, is_name_byte};

/// So many bytes of a string are looked at one by one.
const SHORT: usize = 32;

impl Lexer<'_> {
    /// `x'…'` or `b'…'`: nothing but digits may stand between the quotes.
    pub(super) fn quoted_digits(&mut self, kind: TokenKind, is_digit: fn(u8) -> bool) -> TokenKind {
        self.pos += 2;
        while is_digit(self.peek(0)) {
            self.pos += 1;
        }
        if self.peek(0) != b'\'' {
            return self.unterminated();
        }
        self.pos += 1;
        kind
    }

    /// A number, or a name that begins with a digit.
    pub(super) fn number(&mut self) -> TokenKind {
        match (self.peek(0), self.peek(1)) {
            (b'0', b'x') => return self.prefixed_digits(TokenKind::Hex, |byte| byte.is_ascii_hexdigit()),
            (b'0', b'b') => return self.prefixed_digits(TokenKind::Bit, |byte| matches!(byte, b'0' | b'1')),
            _ => {}
        }
        self.skip_digits();
        match self.peek(0) {
            b'.' => {
                self.pos += 1;
                self.skip_digits();
                if self.skip_exponent() { TokenKind::Float } else { TokenKind::Decimal }
            }
            b'e' | b'E' if self.skip_exponent() => TokenKind::Float,
            byte if self.is_name_byte(byte) => self.word(),
            _ => TokenKind::Integer,
        }
    }

    /// `0x…` or `0b…`, or a name that begins so.
    pub(super) fn prefixed_digits(&mut self, kind: TokenKind, is_digit: fn(u8) -> bool) -> TokenKind {
        let digits = self.sql[self.pos + 2..self.limit].iter().take_while(|byte| is_digit(**byte)).count();
        if digits > 0 && !self.is_name_byte(self.peek(2 + digits)) {
            self.pos += 2 + digits;
            return kind;
        }
        self.word()
    }

    pub(super) fn skip_digits(&mut self) {
        while self.peek(0).is_ascii_digit() {
            self.pos += 1;
        }
    }

    pub(super) fn skip_exponent(&mut self) -> bool {
        if self.peek(0) | 0x20 != b'e' {
            return false;
        }
        let sign = usize::from(matches!(self.peek(1), b'+' | b'-'));
        if !self.peek(1 + sign).is_ascii_digit() {
            return false;
        }
        self.pos += 1 + sign;
        self.skip_digits();
        true
    }

    /// From an opening quote to after its closing one. A doubled quote is one character; so is, in strings, what follows a
    /// backslash.
    pub(super) fn string(&mut self, quote: u8, kind: TokenKind) -> TokenKind {
        let escape = if kind == TokenKind::String && !self.mode.no_backslash_escapes { b'\\' } else { quote };
        let has_pairs = self.mode.lead_bytes.has_pairs();
        let (begin, mut at) = (self.pos + 1, self.pos + 1);
        while at < self.limit {
            // Literals may be megabytes long; most are so short that a search does not pay.
            if !has_pairs && at - begin > SHORT {
                match memchr::memchr2(quote, escape, &self.sql[at..self.limit]) {
                    Some(next) => at += next,
                    None => break,
                }
            }
            let byte = self.sql[at];
            if byte == quote {
                if at + 1 < self.limit && self.sql[at + 1] == quote {
                    at += 2;
                    continue;
                }
                self.pos = at + 1;
                return kind;
            }
            let two = byte == escape
                || (has_pairs
                    && byte >= 0x80
                    && at + 1 < self.limit
                    && self.mode.lead_bytes.is_pair(byte, self.sql[at + 1]));
            at += if two { 2 } else { 1 };
        }
        self.unterminated()
    }

    /// `$tag$ … $tag$`, or a name that begins with `$`.
    pub(super) fn dollar(&mut self) -> TokenKind {
        let readable = &self.sql[self.pos..self.limit];
        let in_tag = |byte: &&u8| is_name_byte(**byte) && **byte != b'$';
        let tag = 1 + readable[1..].iter().take_while(in_tag).count();
        if readable.get(tag) != Some(&b'$') {
            return self.word();
        }
        let (opening, rest) = readable.split_at(tag + 1);
        match memchr::memmem::find(rest, opening) {
            Some(at) => {
                self.pos += opening.len() + at + opening.len();
                TokenKind::DollarQuoted
            }
            None => self.unterminated(),
        }
    }
}
