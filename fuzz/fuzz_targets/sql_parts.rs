//! Reading a text statement by statement, as a session does: it gets to the end, nothing is left out or read twice, and what a statement is
//! depends on nothing behind it. Where no statement can change how the rest is read it is what the parser finds in the whole text. The class
//! of the whole never says less than the classes of its parts: a text with a statement that writes doesn't only read.
//!
//! Input: mode, character set, text.
#![no_main]

use libfuzzer_sys::fuzz_target;
use weir_fuzz::Input;
use weir_sql::{
    Bump, Effects, First, LeadBytes, LexMode, are_read_alike, classify, first_statement, parse, trimmed, trimmed_start,
};

/// The statements of a text, as far as their ends are certain, and whether they are to its end.
fn parts(sql: &[u8], mode: LexMode) -> (Vec<&[u8]>, bool) {
    let mut parts = Vec::new();
    let mut rest = trimmed(sql, mode);
    loop {
        match first_statement(rest, mode) {
            First::Unknown => return (parts, false),
            // An empty statement: the server's syntax error, of all that follows.
            First::Ends(0) => return (parts, rest.is_empty()),
            First::Ends(end) => {
                assert!(end <= rest.len(), "an end at {end} of {}", rest.len());
                assert!(end == rest.len() || rest[end] == b';', "an end at {end} that is no semicolon");
                parts.push(&rest[..end]);
                let Some(behind) = rest.get(end + 1..) else { return (parts, true) };
                let next = trimmed_start(behind, mode);
                assert!(next.len() < rest.len(), "no progress");
                rest = next;
            }
        }
    }
}

/// A statement by itself ends at its end.
fn stands_alone(part: &[u8], mode: LexMode) {
    let alone = first_statement(part, mode);
    assert!(alone == First::Ends(part.len()) || alone == First::Unknown, "{alone:?} of {part:?}, {} bytes", part.len());
}

fuzz_target!(|data: &[u8]| {
    let mut input = Input(data);
    let mut mode = input.lex_mode();
    let charsets = [
        "", "big5", "gbk", "sjis", "latin1", "cp852", "cp1250", "cp850", "hebrew", "hp8", "latin7", "macroman", "swe7",
    ];
    mode.lead_bytes = LeadBytes::of_charset(input.pick(&charsets));
    let sql = input.0;

    let (parts, whole) = parts(sql, mode);
    for part in &parts {
        stands_alone(part, mode);
    }
    if !whole {
        return;
    }
    let class = classify(sql, mode);
    let written = parts.iter().find(|part| classify(part, mode).effects.contains(Effects::WRITES));
    if let Some(part) = written {
        assert!(class.effects.contains(Effects::WRITES), "the whole only reads, {part:?} writes");
        assert!(!class.is_plain_read(), "the whole is a plain read, {part:?} writes");
    }
    if are_read_alike(sql, mode) {
        let arena = Bump::new();
        let parsed = parse(&arena, sql, mode).expect("texts that are read alike are those that can be read");
        let statements = parts.iter().filter(|part| {
            let arena = Bump::new();
            parse(&arena, part, mode).is_ok_and(|parsed| !parsed.statements.is_empty())
        });
        assert_eq!(parsed.statements.len(), statements.count(), "another number of statements in the whole");
    }
});
