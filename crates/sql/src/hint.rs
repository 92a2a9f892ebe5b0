//! Weir's own hints: which server a text wants to run on, `SELECT /*+ WEIR_PRIMARY */ …`.
//!
//! What must hold: a hint counts where MySQL reads optimizer hints, directly after the first word of a statement, and
//! nowhere else: not in strings, names or plain comments.

use std::ops::Range;

use crate::lexer::{Lexer, TokenKind};
use crate::mode::LexMode;

/// Where a text wants to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RoutingHint {
    /// `WEIR_PRIMARY`: on the writer.
    Primary,
    /// `WEIR_REPLICA`: on a reader.
    Replica,
}

/// The first hint of Weir's in a text.
pub fn routing_hint(text: &[u8], mode: LexMode) -> Option<RoutingHint> {
    find(text, mode).map(|(hint, _)| hint)
}

/// The text with its first hint of Weir's blanked: the servers don't know the word, and MySQL would warn of it. Everything
/// else keeps its place.
pub fn without_routing_hint(text: &[u8], mode: LexMode) -> Option<Vec<u8>> {
    let (_, range) = find(text, mode)?;
    let mut blanked = text.to_vec();
    blanked[range].fill(b' ');
    Some(blanked)
}

/// The hint, and the bytes to blank: its word, or the whole comment if there is nothing else in it.
fn find(text: &[u8], mode: LexMode) -> Option<(RoutingHint, Range<usize>)> {
    // Most texts have no hints at all.
    memchr::memmem::find(text, b"/*+")?;
    let mut comment = None;
    let mut others = false;
    let mut found = None;
    for token in Lexer::new(text, mode) {
        match token.kind {
            TokenKind::HintStart => (comment, others) = (Some(token.range().start), false),
            TokenKind::HintEnd => {
                if let (Some(start), Some((hint, word))) = (comment.take(), found.take()) {
                    return Some((hint, if others { word } else { start..token.range().end }));
                }
            }
            TokenKind::Word if comment.is_some() && found.is_none() => {
                let word = token.text(text);
                found = match () {
                    () if word.eq_ignore_ascii_case(b"WEIR_PRIMARY") => Some((RoutingHint::Primary, token.range())),
                    () if word.eq_ignore_ascii_case(b"WEIR_REPLICA") => Some((RoutingHint::Replica, token.range())),
                    () => None,
                };
                others |= found.is_none();
            }
            _ => others = true,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_are_found_where_mysql_reads_them() {
        let cases: [(&str, Option<RoutingHint>); 9] = [
            ("SELECT /*+ WEIR_PRIMARY */ 1", Some(RoutingHint::Primary)),
            ("select /*+weir_replica*/ * from t", Some(RoutingHint::Replica)),
            ("SELECT /*+ MAX_EXECUTION_TIME(5) WEIR_REPLICA */ 1", Some(RoutingHint::Replica)),
            ("WITH a AS (SELECT 1) SELECT /*+ WEIR_PRIMARY */ * FROM a", Some(RoutingHint::Primary)),
            ("SELECT /* WEIR_PRIMARY */ 1", None),
            ("SELECT a FROM t /*+ WEIR_PRIMARY */", None),
            ("SELECT '/*+ WEIR_PRIMARY */'", None),
            ("SELECT /*+ BKA(t) */ weir_primary FROM t", None),
            ("SELECT 1", None),
        ];
        for (text, expected) in cases {
            assert_eq!(routing_hint(text.as_bytes(), LexMode::default()), expected, "{text}");
        }
    }

    #[test]
    fn hints_are_blanked_and_nothing_else() {
        let cases = [
            ("SELECT /*+ WEIR_PRIMARY */ 1", Some("SELECT                     1")),
            ("SELECT /*+ BKA(t) weir_replica */ 1", Some("SELECT /*+ BKA(t)              */ 1")),
            ("SELECT /*+ WEIR_REPLICA BKA(t) */ 1", Some("SELECT /*+              BKA(t) */ 1")),
            ("SELECT /*+ BKA(t) */ 1", None),
        ];
        for (text, expected) in cases {
            let blanked = without_routing_hint(text.as_bytes(), LexMode::default());
            assert_eq!(blanked.as_deref(), expected.map(str::as_bytes), "{text}");
        }
    }
}
