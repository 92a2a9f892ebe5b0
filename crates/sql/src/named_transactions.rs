//! What a text does with distributed transactions, whatever its grammar: the names that it has XA statements for, and the procedures
//! that it calls.
//!
//! What must hold: every XA statement and CALL that a server could run of the text counts, also one in a block, in a routine's body, in a
//! text that PREPARE or EXECUTE IMMEDIATE has as a literal, or in a statement that the parser does not read; and executable comments are
//! read both ways, as code and as comments.

use crate::keyword::Keyword;
use crate::kw;
use crate::lexer::{Conditional, Lexer, Token, TokenKind};
use crate::mode::LexMode;

/// What XA does to a transaction that it names.
const VERBS: &[Keyword] = &[kw::START, kw::BEGIN, kw::END, kw::PREPARE, kw::COMMIT, kw::ROLLBACK];

/// What a text may do with transactions over several servers.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct NamedTransactions {
    /// The first parts of the names (`gtrid`) in XA statements, as bytes.
    pub names: Vec<Vec<u8>>,
    /// The procedures that are called: their databases, if they are named, and names.
    pub calls: Vec<(Option<Vec<u8>>, Vec<u8>)>,
    /// There are XA statements, or CALL of something that is named DECIDE, of which nobody can be sure what they name: executable comments of
    /// several versions are in the text.
    pub unsure: bool,
}

/// Reads a text for them.
pub fn named_transactions(text: &[u8], mode: LexMode) -> NamedTransactions {
    let mut found = NamedTransactions::default();
    let words: [&[u8]; 4] = [b"XA", b"CALL", b"PREPARE", b"IMMEDIATE"];
    if words.iter().any(|word| contains(text, word)) {
        read(text, mode, true, &mut found);
    }
    found
}

/// Whether an ASCII word is anywhere in a text.
fn contains(text: &[u8], word: &[u8]) -> bool {
    text.windows(word.len()).any(|window| window.eq_ignore_ascii_case(word))
}

/// `texts`: those that are literals are read, too. No text that is prepared can prepare another one.
fn read(text: &[u8], mode: LexMode, texts: bool, found: &mut NamedTransactions) {
    let mut lexer = Lexer::new(text, mode);
    let named = gather(&mut lexer, text, mode, texts, found);
    match lexer.conditional() {
        Conditional::None => {}
        Conditional::One { .. } => {
            gather(&mut Lexer::new(text, mode).reading_otherwise(), text, mode, texts, found);
        }
        Conditional::Mixed => found.unsure |= named || !found.calls.is_empty() && contains(text, b"DECIDE"),
    }
}

/// Returns whether there is the word XA.
fn gather(lexer: &mut Lexer<'_>, text: &[u8], mode: LexMode, texts: bool, found: &mut NamedTransactions) -> bool {
    let mut named = false;
    while let Some(token) = code(lexer) {
        if token.kind != TokenKind::Word {
            continue;
        }
        let mut ahead = *lexer;
        match Keyword::of(token.text(text)) {
            kw::XA => {
                named = true;
                let verb = code(&mut ahead).filter(|token| token.kind == TokenKind::Word);
                if verb.is_some_and(|verb| VERBS.contains(&Keyword::of(verb.text(text)))) {
                    found.names.extend(value(ahead, text, mode));
                }
            }
            kw::CALL => found.calls.extend(called(ahead, text)),
            kw::FROM | kw::IMMEDIATE if texts => {
                if let Some(prepared) = value(ahead, text, mode) {
                    read(&prepared, mode, false, found);
                }
            }
            _ => {}
        }
    }
    named
}

/// The next token, but for the marks of executable comments.
fn code(lexer: &mut Lexer<'_>) -> Option<Token> {
    lexer.find(|token| !matches!(token.kind, TokenKind::CodeStart | TokenKind::CodeEnd))
}

/// The name behind CALL, with its database if it has one.
fn called(mut ahead: Lexer<'_>, text: &[u8]) -> Option<(Option<Vec<u8>>, Vec<u8>)> {
    let name = |ahead: &mut Lexer<'_>| {
        let token = code(ahead)?;
        match (token.kind, token.text(text)) {
            (TokenKind::Word, name) => Some(name.to_vec()),
            (TokenKind::QuotedIdent, [_, name @ .., _]) => Some(name.to_vec()),
            _ => None,
        }
    };
    let first = name(&mut ahead)?;
    match code(&mut ahead) {
        Some(token) if token.text(text) == b"." => Some((Some(first), name(&mut ahead)?)),
        _ => Some((None, first)),
    }
}

/// The bytes of the literal that comes next, behind parentheses and the name of a character set; strings that follow each other are one.
fn value(mut ahead: Lexer<'_>, text: &[u8], mode: LexMode) -> Option<Vec<u8>> {
    let before = |token: &Token| {
        let word = token.text(text);
        token.kind == TokenKind::Word && word.starts_with(b"_") || word == b"("
    };
    let mut first = code(&mut ahead)?;
    while before(&first) {
        first = code(&mut ahead)?;
    }
    match first.kind {
        TokenKind::Hex => digits(first.text(text), 16, 2),
        TokenKind::Bit => digits(first.text(text), 2, 8),
        TokenKind::String => {
            let mut bytes = unquoted(first.text(text), mode);
            while let Some(more) = code(&mut ahead).filter(|token| token.kind == TokenKind::String) {
                bytes.extend(unquoted(more.text(text), mode));
            }
            Some(bytes)
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
    use super::named_transactions;
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
            "PREPARE s FROM (_latin1'XA COMMIT ''weir1-a''')",
            "PREPARE s FROM 0x584120434f4d4d4954202777656972312d6127",
            "EXECUTE IMMEDIATE \"XA ROLLBACK 'weir1-a'\"",
            "BEGIN NOT ATOMIC PREPARE s FROM \"XA COMMIT 'weir1-a'\"; EXECUTE s; END",
            // Some servers read these as comments, and others as code.
            "XA COMMIT /*!99998 'x' */ 'weir1-a'",
            "XA /*!99998 RECOVER */ COMMIT 'weir1-a'",
            "PREPARE s FROM 'XA COMMIT /*!99998 ''x'' */ ''weir1-a'''",
        ] {
            let found = named_transactions(text.as_bytes(), LexMode::default());
            assert!(found.names.contains(&b"weir1-a".to_vec()), "{text}: {found:?}");
        }
        let mixed = "XA COMMIT /*!99998 'x' */ /*!99997 'y' */ 'weir1-a'";
        assert!(named_transactions(mixed.as_bytes(), LexMode::default()).unsure);
    }

    #[test]
    fn nothing_else_is_a_name() {
        for text in [
            "XA RECOVER",
            "SELECT xa FROM t",
            "PREPARE s FROM 'SELECT 1'",
            "XA COMMIT @a",
            "SELECT 'XA COMMIT 1'",
            "/*!50003 CREATE */ /*!50017 DEFINER=a@b */ /*!50003 TRIGGER t BEFORE INSERT ON u FOR EACH ROW CALL p() */",
        ] {
            let found = named_transactions(text.as_bytes(), LexMode::default());
            assert!(found.names.is_empty() && !found.unsure, "{text}: {found:?}");
        }
    }

    #[test]
    fn calls_are_found_with_their_databases() {
        for text in [
            "CALL weir.decide('a')",
            "CREATE PROCEDURE p() CALL `weir` . decide(1)",
            "PREPARE s FROM 'CALL weir.decide(1)'",
            "CALL weir/*!99998 x */.decide(1)",
        ] {
            let found = named_transactions(text.as_bytes(), LexMode::default());
            assert!(found.calls.contains(&(Some(b"weir".to_vec()), b"decide".to_vec())), "{text}: {found:?}");
        }
        let granted = named_transactions(b"GRANT EXECUTE ON PROCEDURE weir.decide TO u", LexMode::default());
        assert!(granted.calls.is_empty(), "{granted:?}");
    }
}
