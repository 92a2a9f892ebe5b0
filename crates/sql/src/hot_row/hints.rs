//! Hints that end the transaction with a statement, in AliSQL's words: `UPDATE /*+ COMMIT_ON_SUCCESS ROLLBACK_ON_FAIL
//! TARGET_AFFECT_ROW(1) */ t SET …`.
//!
//! What must hold: they count where MySQL reads optimizer hints, and nowhere else; no server hears of them, as MySQL would warn of them.

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
    memchr::memmem::find(text, b"/*+")?;
    let mut tokens = Lexer::new(text, mode);
    let start = tokens.find(|token| token.kind == TokenKind::HintStart)?.range().start;
    let mut hints = TransactionHints::default();
    let (mut own, mut others): (Vec<Range<usize>>, bool) = (Vec::new(), false);
    let end = loop {
        let token = tokens.next()?;
        let word = token.text(text);
        match token.kind {
            TokenKind::HintEnd => break token.range().end,
            TokenKind::End => return None,
            TokenKind::Word if word.eq_ignore_ascii_case(b"COMMIT_ON_SUCCESS") => {
                hints.commit_on_success = true;
                own.push(token.range());
            }
            TokenKind::Word if word.eq_ignore_ascii_case(b"ROLLBACK_ON_FAIL") => {
                hints.rollback_on_fail = true;
                own.push(token.range());
            }
            TokenKind::Word if word.eq_ignore_ascii_case(b"TARGET_AFFECT_ROW") => {
                let Some((rows, close)) = number_in_parentheses(&mut tokens, text) else {
                    return Some(Err(MalformedHint));
                };
                hints.target_affect_row = Some(rows);
                own.push(token.range().start..close);
            }
            _ => others = true,
        }
    };
    if own.is_empty() {
        return None;
    }
    let mut without = text.to_vec();
    match others {
        false => drop(without.drain(start..end)),
        true => own.into_iter().rev().for_each(|range| drop(without.drain(range))),
    }
    Some(Ok((hints, without)))
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
        for text in
            ["UPDATE t SET a = '/*+ COMMIT_ON_SUCCESS */'", "UPDATE /*+ BKA(t) */ t SET a=1", "UPDATE t SET a=1"]
        {
            assert_eq!(read(text), None, "{text}");
        }
        for text in ["UPDATE /*+ TARGET_AFFECT_ROW */ t SET a=1", "UPDATE /*+ TARGET_AFFECT_ROW(x) */ t SET a=1"] {
            assert_eq!(read(text), Some(Err(MalformedHint)), "{text}");
        }
    }
}
