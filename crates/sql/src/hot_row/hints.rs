//! Hints that end the transaction with a statement, in AliSQL's words: `UPDATE /*+ COMMIT_ON_SUCCESS ROLLBACK_ON_FAIL
//! TARGET_AFFECT_ROW(1) */ t SET …`.
//!
//! What must hold: they count where MySQL reads optimizer hints, and in plain comments that hold nothing else, wherever they stand: that is
//! what a library lets an application add to a statement that it writes itself. No server hears of them, as MySQL would warn of them.

use std::ops::Range;

use crate::lexer::{Lexer, Token, TokenKind};
use crate::mode::LexMode;

/// What a statement's hints ask for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TransactionHints {
    /// `COMMIT_ON_SUCCESS`: the transaction is committed when the statement has succeeded.
    pub commit_on_success: bool,
    /// `ROLLBACK_ON_FAIL`: it is rolled back when the statement has failed.
    pub rollback_on_fail: bool,
    /// `TARGET_AFFECT_ROW(n)`: the statement fails unless it affects so many rows.
    pub target_affect_row: Option<u64>,
}

/// Why the hints of a text can't be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MalformedHint;

/// The hints of a text, and the text without them. `None`: it has none.
///
/// # Errors
/// `TARGET_AFFECT_ROW` without a number in parentheses.
pub fn transaction_hints(text: &[u8], mode: LexMode) -> Option<Result<(TransactionHints, Vec<u8>), MalformedHint>> {
    memchr::memmem::find(text, b"/*")?;
    let mut tokens = Lexer::new(text, mode);
    let mut from = 0;
    loop {
        let token = tokens.next_token();
        if let Some(found) = in_comments(text, from..token.range().start, mode) {
            return Some(found);
        }
        match token.kind {
            TokenKind::HintStart => return in_hint(text, token.range().start, tokens),
            TokenKind::End | TokenKind::Unterminated => return None,
            _ => from = token.range().end,
        }
    }
}

/// The hints of an optimizer hint that begins at `start`, of which its first token has been read.
fn in_hint(
    text: &[u8],
    start: usize,
    mut tokens: Lexer<'_>,
) -> Option<Result<(TransactionHints, Vec<u8>), MalformedHint>> {
    let mut words = match Words::read(text, &mut tokens) {
        Ok(words) => words,
        Err(malformed) => return Some(Err(malformed)),
    };
    if words.own.is_empty() || !words.ended {
        return None;
    }
    let mut without = text.to_vec();
    match words.others {
        false => drop(without.drain(start..words.end)),
        true => words.own.drain(..).rev().for_each(|range| drop(without.drain(range))),
    }
    Some(Ok((words.hints, without)))
}

/// The hints of the first plain comment that has nothing else, of those between two tokens.
fn in_comments(
    text: &[u8],
    gap: Range<usize>,
    mode: LexMode,
) -> Option<Result<(TransactionHints, Vec<u8>), MalformedHint>> {
    let mut from = gap.start;
    while let Some(at) = memchr::memmem::find(&text[from..gap.end], b"/*") {
        let start = from + at;
        let end = start + 2 + memchr::memmem::find(&text[start + 2..gap.end], b"*/")?;
        from = end + 2;
        // (Of a comment that is no hint, MySQL does not read what looks like one.)
        match Words::read(text, &mut Lexer::within(text, start + 2..end, mode)) {
            Ok(words) if words.others || words.own.is_empty() => {}
            Ok(words) => {
                let mut without = text.to_vec();
                without.splice(start..from, [b' ']);
                return Some(Ok((words.hints, without)));
            }
            Err(malformed) if begins_with_hint(&text[start + 2..end]) => return Some(Err(malformed)),
            Err(_) => {}
        }
    }
    None
}

fn begins_with_hint(comment: &[u8]) -> bool {
    let comment = comment.trim_ascii_start();
    [&b"COMMIT_ON_SUCCESS"[..], b"ROLLBACK_ON_FAIL", b"TARGET_AFFECT_ROW"]
        .iter()
        .any(|word| comment.get(..word.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(word)))
}

/// The words of a hint or a comment.
#[derive(Default)]
struct Words {
    hints: TransactionHints,
    /// Where those stand that are read here.
    own: Vec<Range<usize>>,
    /// There are others.
    others: bool,
    /// A hint has ended, and where.
    ended: bool,
    end: usize,
}

impl Words {
    fn read(text: &[u8], tokens: &mut Lexer<'_>) -> Result<Words, MalformedHint> {
        let mut words = Words::default();
        loop {
            let token = tokens.next_token();
            let word = token.text(text);
            match token.kind {
                TokenKind::HintEnd => {
                    (words.ended, words.end) = (true, token.range().end);
                    return Ok(words);
                }
                TokenKind::End => return Ok(words),
                TokenKind::Word if word.eq_ignore_ascii_case(b"COMMIT_ON_SUCCESS") => {
                    words.hints.commit_on_success = true;
                    words.own.push(token.range());
                }
                TokenKind::Word if word.eq_ignore_ascii_case(b"ROLLBACK_ON_FAIL") => {
                    words.hints.rollback_on_fail = true;
                    words.own.push(token.range());
                }
                TokenKind::Word if word.eq_ignore_ascii_case(b"TARGET_AFFECT_ROW") => {
                    let (rows, close) = number_in_parentheses(tokens, text).ok_or(MalformedHint)?;
                    words.hints.target_affect_row = Some(rows);
                    words.own.push(token.range().start..close);
                }
                TokenKind::Unterminated => {
                    words.others = true;
                    return Ok(words);
                }
                _ => words.others = true,
            }
        }
    }
}

fn number_in_parentheses(tokens: &mut Lexer<'_>, text: &[u8]) -> Option<(u64, usize)> {
    let is = |token: &Token, punct: u8| token.kind == TokenKind::Punct(punct);
    tokens.next().filter(|token| is(token, b'('))?;
    let number = tokens.next().filter(|token| token.kind == TokenKind::Integer)?;
    let close = tokens.next().filter(|token| is(token, b')'))?;
    Some((std::str::from_utf8(number.text(text)).ok()?.parse().ok()?, close.range().end))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<Result<(TransactionHints, String), MalformedHint>> {
        let read = transaction_hints(text.as_bytes(), LexMode::default())?;
        Some(read.map(|(hints, text)| (hints, String::from_utf8(text).expect("text"))))
    }

    #[test]
    fn hints_are_read_and_taken_out() {
        let all = TransactionHints { commit_on_success: true, rollback_on_fail: true, target_affect_row: Some(1) };
        let commits = TransactionHints { commit_on_success: true, ..TransactionHints::default() };
        for (text, hints, without) in [
            (
                "UPDATE /*+ COMMIT_ON_SUCCESS ROLLBACK_ON_FAIL TARGET_AFFECT_ROW(1) */ t SET a=1",
                all,
                "UPDATE  t SET a=1",
            ),
            ("delete /*+commit_on_success*/ from t", commits, "delete  from t"),
            ("UPDATE /*+ BKA(t) COMMIT_ON_SUCCESS */ t SET a=1", commits, "UPDATE /*+ BKA(t)  */ t SET a=1"),
        ] {
            assert_eq!(read(text), Some(Ok((hints, without.to_owned()))), "{text}");
        }
        for (text, hints, without) in [
            (
                "/* COMMIT_ON_SUCCESS rollback_on_fail TARGET_AFFECT_ROW(1) */ UPDATE t SET a=1",
                all,
                "  UPDATE t SET a=1",
            ),
            ("/* a */ -- b\n /*COMMIT_ON_SUCCESS*/update t SET a=1", commits, "/* a */ -- b\n  update t SET a=1"),
            ("UPDATE t SET a=1 /* it's */ /* COMMIT_ON_SUCCESS */", commits, "UPDATE t SET a=1 /* it's */  "),
            ("UPDATE/*COMMIT_ON_SUCCESS*/t SET a=1", commits, "UPDATE t SET a=1"),
        ] {
            assert_eq!(read(text), Some(Ok((hints, without.to_owned()))), "{text}");
        }
        for text in [
            "UPDATE t SET a = '/*+ COMMIT_ON_SUCCESS */'",
            "UPDATE t SET a = '/* COMMIT_ON_SUCCESS */'",
            "UPDATE /*+ BKA(t) */ t SET a=1",
            "UPDATE t SET a=1",
            "UPDATE t SET a=1 /* see COMMIT_ON_SUCCESS */",
            "UPDATE t SET a=1 /* COMMIT_ON_SUCCESS, if it's so */",
            "UPDATE t SET a=1 /* why TARGET_AFFECT_ROW */",
            "UPDATE t SET a=1 /*! COMMIT_ON_SUCCESS */",
            "UPDATE t SET a=1 /*999999! COMMIT_ON_SUCCESS */",
            "UPDATE t SET a=1 -- COMMIT_ON_SUCCESS",
            "UPDATE t SET a=1 /* COMMIT_ON_SUCCESS",
            "UPDATE t SET a=1 /**/",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
        for text in [
            "UPDATE /*+ TARGET_AFFECT_ROW */ t SET a=1",
            "UPDATE /*+ TARGET_AFFECT_ROW(x) */ t SET a=1",
            "/* TARGET_AFFECT_ROW 1 */ UPDATE t SET a=1",
        ] {
            assert_eq!(read(text), Some(Err(MalformedHint)), "{text}");
        }
    }
}
