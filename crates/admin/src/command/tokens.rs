//! The words of a command, from SQL or from a command line.

use std::ops::Range;

use weir_sql::{LexMode, Lexer, TokenKind};

/// A word, a number, a sign or a string without its quotes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token {
    /// Its text.
    pub(super) text: String,
    /// As it was written.
    pub(super) raw: String,
    /// It was quoted: never a keyword.
    pub(super) quoted: bool,
    /// Where it begins in the text that it was read from.
    pub(super) start: usize,
}

impl Token {
    /// Whether it is this keyword.
    pub(super) fn is(&self, keyword: &str) -> bool {
        !self.quoted && self.text.eq_ignore_ascii_case(keyword)
    }
}

/// The words of a statement, by the rules of MySQL's lexer: comments are no words, strings have quotes.
pub(super) fn of_sql(text: &str) -> Vec<Token> {
    let bytes = text.as_bytes();
    let mut lexer = Lexer::new(bytes, LexMode::default());
    let mut ranges: Vec<(Range<usize>, bool)> = Vec::new();
    loop {
        let token = lexer.next_token();
        if matches!(token.kind, TokenKind::End | TokenKind::Semicolon) {
            break;
        }
        let quoted = matches!(token.kind, TokenKind::String | TokenKind::QuotedIdent);
        match ranges.last_mut() {
            // What stands together without a space is one word: `app-1`, `users.app`, `info,weir_backend=debug`.
            Some((last, false)) if !quoted && last.end == token.range().start => last.end = token.range().end,
            _ => ranges.push((token.range(), quoted)),
        }
    }
    let token = |(range, quoted): (Range<usize>, bool)| {
        let raw = String::from_utf8_lossy(&bytes[range.clone()]).into_owned();
        Token { text: if quoted { unquoted(&raw) } else { raw.clone() }, raw, quoted, start: range.start }
    };
    ranges.into_iter().map(token).collect()
}

/// The words of a command line. The shell has taken their quotes away, so each may be a keyword.
pub(super) fn of_words(words: &[String]) -> Vec<Token> {
    words.iter().map(|word| Token { text: word.clone(), raw: word.clone(), quoted: false, start: 0 }).collect()
}

/// A string or quoted name without its quotes and escapes. `\%` and `\_` stay, as in MySQL: they are LIKE's.
fn unquoted(text: &str) -> String {
    let mut chars = text.chars().peekable();
    let quote = chars.next();
    let mut out = String::new();
    while let Some(c) = chars.next() {
        match c {
            c if Some(c) == quote => {
                // Doubled within, or the end.
                if chars.next().is_some() {
                    out.push(c);
                }
            }
            '\\' if quote != Some('`') => match chars.next() {
                Some(escaped @ ('%' | '_')) => out.extend(['\\', escaped]),
                Some(escaped) => out.push(escaped),
                None => out.push('\\'),
            },
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sql_has_comments_strings_and_joined_words() {
        let words = |text: &str| of_sql(text).into_iter().map(|token| token.text).collect::<Vec<_>>();
        assert_eq!(words("show /* what */ sessions -- all\n;"), ["show", "sessions"]);
        assert_eq!(
            words("SHOW CONFIG LIKE 'it''s \\'a\\' \\% \"x\"'"),
            ["SHOW", "CONFIG", "LIKE", "it's 'a' \\% \"x\""]
        );
        assert_eq!(
            words("set log level = info,weir_backend=debug"),
            ["set", "log", "level", "=", "info,weir_backend=debug"]
        );
        assert_eq!(words("kill 17"), ["kill", "17"]);
        assert_eq!(words("show `servers`"), ["show", "servers"]);
        assert_eq!(words("help été 'ü%'é"), ["help", "été", "ü%", "é"]);
        assert!(of_sql("show `servers`")[1].quoted);
    }
}
