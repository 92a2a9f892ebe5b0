//! A dump's statements, as the command line clients read them: ended by a delimiter, which the word DELIMITER changes.

use weir_sql::{LexMode, Lexer, TokenKind};

/// A statement of a dump.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Piece<'a> {
    /// The line that its first word is in, from 1.
    pub(super) line: usize,
    /// Its text, without the delimiter.
    pub(super) text: &'a [u8],
}

/// The statements, in order.
pub(super) fn pieces(text: &[u8], mode: LexMode) -> Vec<Piece<'_>> {
    let mut found = Vec::new();
    let mut delimiter: Vec<u8> = b";".to_vec();
    let (mut at, mut line, mut counted) = (0, 1, 0);
    loop {
        at += blank(&text[at..]);
        let rest = &text[at..];
        if rest.is_empty() {
            return found;
        }
        line += text[counted..at].iter().filter(|byte| **byte == b'\n').count();
        counted = at;
        if let Some(new) = new_delimiter(rest) {
            delimiter = new.to_vec();
            at += rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
            continue;
        }
        let length = match &delimiter[..] {
            b";" => to_semicolon(rest, mode),
            other => rest.windows(other.len()).position(|window| window == other).unwrap_or(rest.len()),
        };
        found.push(Piece { line, text: &rest[..length] });
        at = (at + length + delimiter.len()).min(text.len());
    }
}

/// How long the spaces and lines of comments are that a text begins with.
fn blank(text: &[u8]) -> usize {
    let mut at = 0;
    loop {
        at += text[at..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        let rest = &text[at..];
        let comment = rest.starts_with(b"#") || rest.starts_with(b"--") && rest.get(2).is_none_or(|byte| *byte <= b' ');
        let plain = rest.starts_with(b"/*") && !matches!(rest.get(2), Some(b'!' | b'M' | b'+'));
        at += if comment {
            rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len())
        } else if plain {
            rest.windows(2).position(|window| window == b"*/").map_or(rest.len(), |end| end + 2)
        } else {
            return at;
        };
    }
}

fn new_delimiter(text: &[u8]) -> Option<&[u8]> {
    const WORD: &[u8] = b"delimiter";
    let line = text.split(|byte| *byte == b'\n').next()?;
    let (word, rest) = line.split_at_checked(WORD.len())?;
    let delimiter = rest.trim_ascii();
    let is_one = word.eq_ignore_ascii_case(WORD) && rest.first().is_some_and(u8::is_ascii_whitespace);
    (is_one && !delimiter.is_empty()).then_some(delimiter)
}

fn to_semicolon(text: &[u8], mode: LexMode) -> usize {
    let mut lexer = Lexer::new(text, mode);
    loop {
        let token = lexer.next_token();
        match token.kind {
            TokenKind::Semicolon => return token.start as usize,
            TokenKind::End => return text.len(),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_end_where_the_clients_end_them() {
        let text = b"-- a dump; of all\nSELECT ';' /* ; */;\n\n/*!40101 SET a = 1 */;\nDELIMITER ;;\nCREATE TRIGGER x BEGIN a; b; END ;;\nDELIMITER ;\n# end\nSELECT 2";
        let found: Vec<(usize, &str)> = pieces(text, LexMode::default())
            .into_iter()
            .map(|piece| (piece.line, std::str::from_utf8(piece.text).expect("UTF-8").trim()))
            .collect();
        let expected = [
            (2, "SELECT ';' /* ; */"),
            (4, "/*!40101 SET a = 1 */"),
            (6, "CREATE TRIGGER x BEGIN a; b; END"),
            (9, "SELECT 2"),
        ];
        assert_eq!(found, expected);
    }
}
