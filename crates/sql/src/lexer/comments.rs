//! Comments: plain ones are skipped, hints and executable ones are read.
//!
//! What must hold: a comment ends where the server ends it. A plain comment or a skipped executable comment ends at the
//! first `*/` (a skipped one may hold one level of plain comments on MySQL only, so such a text counts as
//! [`Conditional::Mixed`]); an executed one ends at the first `*/` that is not within a string, name or inner comment.

use memchr::memchr;

use super::{Conditional, Lexer, TokenKind};
use crate::mode::Execution;

impl Lexer<'_> {
    pub(super) fn skip_line(&mut self) {
        self.pos = memchr(b'\n', &self.sql[self.pos..self.limit]).map_or(self.limit, |at| self.pos + at + 1);
    }

    /// At `/*`. `None`: it was skipped.
    pub(super) fn comment(&mut self) -> Option<TokenKind> {
        if self.in_code && self.code_end != usize::MAX {
            // Skipped, the outer comment would end at the inner one's end, or not, depending on the server.
            self.conditional = Conditional::Mixed;
        }
        match (self.peek(2), self.peek(3)) {
            (b'!', _) => self.executable(3, false),
            (b'M', b'!') => self.executable(4, true),
            (b'+', _) if self.follows_hinted_verb() => Some(self.hint()),
            _ => self.skip_comment(self.pos + 2),
        }
    }

    /// Skips to after the first `*/` from `from` on.
    fn skip_comment(&mut self, from: usize) -> Option<TokenKind> {
        match self.find_comment_end(from) {
            Some(end) => {
                self.pos = end + 2;
                None
            }
            None => Some(self.unterminated()),
        }
    }

    /// Where the first `*/` from `from` on begins.
    fn find_comment_end(&self, from: usize) -> Option<usize> {
        let mut at = from;
        while let Some(star) = self.sql.get(at..self.limit).and_then(|rest| memchr(b'*', rest)) {
            at += star;
            if at + 1 < self.limit && self.sql[at + 1] == b'/' {
                return Some(at);
            }
            at += 1;
        }
        None
    }

    /// The keywords after which MySQL reads hints. MariaDB reads none and skips them, which changes nothing: a hint
    /// holds no code.
    fn follows_hinted_verb(&self) -> bool {
        let (start, end) = self.last_word;
        let word = &self.sql[start as usize..end as usize];
        !self.in_hint
            && matches!(word.len(), 6 | 7)
            && ["select", "insert", "update", "delete", "replace"]
                .iter()
                .any(|verb| word.eq_ignore_ascii_case(verb.as_bytes()))
    }

    fn hint(&mut self) -> TokenKind {
        let Some(end) = self.find_comment_end(self.pos + 3) else {
            return self.unterminated();
        };
        self.pos += 3;
        self.limit = end;
        self.in_hint = true;
        TokenKind::HintStart
    }

    /// At an executable comment whose mark (`/*!` or `/*M!`) has `mark` bytes.
    fn executable(&mut self, mark: usize, mariadb_only: bool) -> Option<TokenKind> {
        let digits = (0..6).take_while(|ahead| self.peek(mark + ahead).is_ascii_digit()).count();
        // Fewer than five digits are no version number but code.
        let digits = if digits < 5 { 0 } else { digits };
        let number = &self.sql[self.pos + mark..self.pos + mark + digits];
        let version = (digits > 0).then(|| number.iter().fold(0, |sum, digit| sum * 10 + u32::from(digit - b'0')));
        let body = self.pos + mark + digits;
        let execution = self.mode.dialect.executes(mariadb_only, version);
        let runs = match execution {
            Execution::Always => true,
            Execution::Never => false,
            Execution::Perhaps => {
                self.note_conditional(mariadb_only, version);
                self.mode.runs_version(version) != self.read_otherwise
            }
        };
        if !runs {
            return self.skip_executable(body);
        }
        // A comment within one that is being executed ends it: the servers keep no depth.
        self.code_end = match execution {
            // Once the extent is in doubt it stays so; looking for each end of nested comments would take quadratic time.
            Execution::Perhaps if self.conditional != Conditional::Mixed => {
                self.find_comment_end(body).unwrap_or(self.limit)
            }
            _ => usize::MAX,
        };
        self.pos = body;
        self.in_code = true;
        Some(TokenKind::CodeStart)
    }

    fn skip_executable(&mut self, body: usize) -> Option<TokenKind> {
        let end = self.find_comment_end(body).unwrap_or(self.limit);
        // Also the one whose `*` is that of the end: `/*/`.
        if self.sql[body..self.limit.min(end + 1)].windows(2).any(|pair| pair == b"/*") {
            self.conditional = Conditional::Mixed;
        }
        self.skip_comment(body)
    }

    fn note_conditional(&mut self, mariadb_only: bool, version: Option<u32>) {
        let this = Conditional::One { mariadb_only, version };
        self.conditional = match self.conditional {
            Conditional::None => this,
            seen if seen == this => this,
            _ => Conditional::Mixed,
        };
    }

    /// At the `*/` of an executed comment.
    pub(super) fn leave_code(&mut self) -> TokenKind {
        if self.code_end != usize::MAX && self.code_end != self.pos {
            // Skipped, the comment would have ended elsewhere, perhaps within a string.
            self.conditional = Conditional::Mixed;
        }
        self.in_code = false;
        self.pos += 2;
        TokenKind::CodeEnd
    }
}
