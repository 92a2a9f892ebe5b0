//! The text of a statement for people: without literals, and without what may be a password in any form.

use weir_sql::{LexMode, Lexer, TokenKind, digest_text};

/// The most bytes of a digest's text.
const LONGEST: usize = 1024;

/// The text without its literals.
pub fn shown_text(text: &[u8], mode: LexMode) -> String {
    if !holds_secret(text, mode) {
        return digest_text(text, mode, LONGEST);
    }
    // Whatever the session takes double quotes for, there may be a password in them.
    let shown = digest_text(text, LexMode { ansi_quotes: false, ..mode }, LONGEST);
    without_bare_passwords(&shown)
}

/// Whether one of a text's literals may be a password: it speaks of one, or of an account's proof.
pub fn holds_secret(text: &[u8], mode: LexMode) -> bool {
    Lexer::new(text, mode).any(|token| {
        let named = matches!(token.kind, TokenKind::Word | TokenKind::QuotedIdent | TokenKind::UserVariable);
        named && tells_of_secret(token.text(text))
    })
}

fn tells_of_secret(name: &[u8]) -> bool {
    const PARTS: [&[u8]; 7] =
        [b"password", b"passwd", b"identified", b"secret", b"authentication_string", b"auth_string", b"encrypt"];
    // A name that no server would take may be megabytes long.
    let begins = |part: &[u8]| memchr::memchr2_iter(part[0], part[0].to_ascii_uppercase(), name);
    let has =
        |part: &[u8], at: usize| name[at..].get(..part.len()).is_some_and(|found| found.eq_ignore_ascii_case(part));
    PARTS.into_iter().any(|part| begins(part).any(|at| has(part, at)))
}

/// A password that was written without quotes: the server refuses it, but it is one.
fn without_bare_passwords(shown: &str) -> String {
    let mut hidden = String::with_capacity(shown.len());
    let mut before = "";
    for word in shown.split(' ') {
        if !hidden.is_empty() {
            hidden.push(' ');
        }
        let introduces = ["BY", "AS", "PASSWORD", "="].iter().any(|known| before.eq_ignore_ascii_case(known));
        let known = ["?", "?,", "RANDOM", "PASSWORD", "EXPIRE", "HISTORY", "REUSE", "REQUIRE", "=", "("]
            .iter()
            .any(|known| word.eq_ignore_ascii_case(known));
        let is_name = word.contains('(') || word.starts_with('`');
        hidden.push_str(if introduces && !known && !is_name { "?" } else { word });
        before = word;
    }
    hidden
}
