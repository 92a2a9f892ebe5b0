//! Names of distributed transactions that a text has XA statements for, whatever its grammar.
//!
//! What must hold: every XA statement that a server could run of the text counts, also one in a block, in a routine's body, in a text
//! that PREPARE or EXECUTE IMMEDIATE has as a literal, or in a statement that the parser does not read.

use crate::keyword::Keyword;
use crate::kw;
use crate::lexer::{Lexer, Token, TokenKind};
use crate::mode::LexMode;

/// What XA does to a transaction that it names.
const VERBS: &[Keyword] = &[kw::START, kw::BEGIN, kw::END, kw::PREPARE, kw::COMMIT, kw::ROLLBACK];

/// The first parts of the names (`gtrid`), as bytes.
pub fn xa_names(text: &[u8], mode: LexMode) -> Vec<Vec<u8>> {
    let mut names = Vec::new();
    gather(text, mode, true, &mut names);
    names
}

/// `texts`: those that are literals are looked at, too. No text that is prepared can prepare another one.
fn gather(text: &[u8], mode: LexMode, texts: bool, names: &mut Vec<Vec<u8>>) {
    let tokens: Vec<Token> = Lexer::new(text, mode).filter(|token| !is_of_comment(token.kind)).collect();
    let word = |at: usize| {
        let token = tokens.get(at).filter(|token| token.kind == TokenKind::Word)?;
        Some(Keyword::of(token.text(text)))
    };
    for at in 0..tokens.len() {
        match word(at) {
            Some(kw::XA) if word(at + 1).is_some_and(|verb| VERBS.contains(&verb)) => {
                names.extend(value(&tokens[at + 2..], text, mode));
            }
            Some(kw::FROM | kw::IMMEDIATE) if texts => {
                if let Some(prepared) = value(&tokens[at + 1..], text, mode) {
                    gather(&prepared, mode, false, names);
                }
            }
            _ => {}
        }
    }
}

fn is_of_comment(kind: TokenKind) -> bool {
    matches!(kind, TokenKind::CodeStart | TokenKind::CodeEnd)
}

/// The bytes of the literal with which the tokens begin; strings that follow each other are one.
fn value(tokens: &[Token], text: &[u8], mode: LexMode) -> Option<Vec<u8>> {
    let first = tokens.first()?;
    match first.kind {
        TokenKind::Hex => digits(first.text(text), 16, 2),
        TokenKind::Bit => digits(first.text(text), 2, 8),
        TokenKind::String => {
            let strings = tokens.iter().take_while(|token| token.kind == TokenKind::String);
            Some(strings.flat_map(|string| unquoted(string.text(text), mode)).collect())
        }
        _ => None,
    }
}

/// The bytes of `0xAF`, `x'AF'`, `0b1`, `b'1'`.
fn digits(literal: &[u8], radix: u32, per_byte: usize) -> Option<Vec<u8>> {
    let digits = match literal {
        [b'0', _, digits @ ..] | [_, b'\'', digits @ .., b'\''] => digits,
        _ => return None,
    };
    let byte = |chunk| u8::from_str_radix(std::str::from_utf8(chunk).ok()?, radix).ok();
    digits.rchunks(per_byte).rev().map(byte).collect()
}

/// The bytes of a string with its quotes.
fn unquoted(literal: &[u8], mode: LexMode) -> Vec<u8> {
    let literal = literal.strip_prefix(b"N").or_else(|| literal.strip_prefix(b"n")).unwrap_or(literal);
    let [quote, content @ .., _] = literal else { return Vec::new() };
    let mut bytes = Vec::with_capacity(content.len());
    let mut at = 0;
    while let Some(&byte) = content.get(at) {
        let next = content.get(at + 1).copied();
        if next.is_some_and(|next| mode.lead_bytes.is_pair(byte, next)) {
            bytes.extend_from_slice(&content[at..at + 2]);
            at += 2;
        } else if let (b'\\', false, Some(escaped)) = (byte, mode.no_backslash_escapes, next) {
            bytes.push(unescaped(escaped));
            at += 2;
        } else {
            bytes.push(byte);
            at += if byte == *quote && next == Some(*quote) { 2 } else { 1 };
        }
    }
    bytes
}

/// What a character behind a backslash stands for.
fn unescaped(escaped: u8) -> u8 {
    match escaped {
        b'n' => b'\n',
        b't' => b'\t',
        b'r' => b'\r',
        b'b' => 8,
        b'0' => 0,
        b'Z' => 0x1A,
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::xa_names;
    use crate::mode::LexMode;

    #[test]
    fn every_spelling_of_a_name_is_its_bytes() {
        for text in [
            "XA COMMIT 'weir1-a'",
            "xa/**/rollback \"weir1-a\", 'b', 1",
            "XA PREPARE X'77656972312d61'",
            "XA COMMIT 0x77656972312D61 ONE PHASE",
            "XA END b'01110111011001010110100101110010001100010010110101100001'",
            "XA START 'we\\ir1-\\a' JOIN",
            "XA BEGIN 'weir1' '-a'",
            "XA /*!40000 COMMIT */ 'weir1-a'",
            "SELECT 1; XA COMMIT 'weir1-a'",
            "CREATE PROCEDURE p() BEGIN XA COMMIT 'weir1-a'; END",
            "PREPARE s FROM 'XA COMMIT ''weir1-a'''",
            "PREPARE s FROM 0x584120434f4d4d4954202777656972312d6127",
            "EXECUTE IMMEDIATE \"XA ROLLBACK 'weir1-a'\"",
            "BEGIN NOT ATOMIC PREPARE s FROM \"XA COMMIT 'weir1-a'\"; EXECUTE s; END",
        ] {
            assert_eq!(xa_names(text.as_bytes(), LexMode::default()), [b"weir1-a".to_vec()], "{text}");
        }
    }

    #[test]
    fn nothing_else_is_a_name() {
        for text in
            ["XA RECOVER", "SELECT xa FROM t", "PREPARE s FROM 'SELECT 1'", "XA COMMIT @a", "SELECT 'XA COMMIT 1'"]
        {
            assert!(xa_names(text.as_bytes(), LexMode::default()).is_empty(), "{text}");
        }
    }
}
