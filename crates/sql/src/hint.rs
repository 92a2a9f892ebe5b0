//! Weir's own hints: which server a text wants to run on, `SELECT /*+ WEIR_PRIMARY */ …`; which shard, `SELECT /*+ WEIR_SHARD(s1) */ …`, or
//! as kingshard has it, `/*s1*/ SELECT …`.
//!
//! What must hold: a hint counts where MySQL reads optimizer hints, directly after the first word of a statement, and
//! nowhere else: not in strings, names or plain comments. Only kingshard's form is a plain comment: at the very beginning of the text.

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

/// A shard that a text wants to run on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShardHint<'t> {
    /// The shard's name.
    pub name: &'t [u8],
    /// What the servers don't know and would warn of; none for a plain comment, which may be no hint at all.
    pub blank: Option<Range<usize>>,
    /// It has no name in parentheses: to be refused, as a statement that somebody wants on one shard must not run on others.
    pub malformed: bool,
}

/// The shard that a text names by a hint.
pub fn shard_hint(text: &[u8], mode: LexMode) -> Option<ShardHint<'_>> {
    let begun = text.trim_ascii_start();
    if let Some(comment) = begun.strip_prefix(b"/*").filter(|rest| !rest.starts_with(b"!") && !rest.starts_with(b"+")) {
        let end = memchr::memmem::find(comment, b"*/")?;
        let name = comment[..end].trim_ascii();
        if !name.is_empty() && name.iter().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(byte)) {
            return Some(ShardHint { name, blank: None, malformed: false });
        }
    }
    memchr::memmem::find(text, b"/*+")?;
    let mut tokens = Lexer::new(text, mode);
    let mut start = None;
    while let Some(token) = tokens.next() {
        match token.kind {
            TokenKind::HintStart => start = Some(token.range().start),
            TokenKind::HintEnd => start = None,
            TokenKind::Word if start.is_some() && token.text(text).eq_ignore_ascii_case(b"WEIR_SHARD") => {
                let Some((name, close)) = in_parentheses(&mut tokens, text) else {
                    return Some(ShardHint { name: b"", blank: Some(token.range()), malformed: true });
                };
                let word = token.range().start..close;
                // The whole comment, if there is nothing else in it.
                let alone = text[start.unwrap_or(word.start) + 3..word.start].trim_ascii().is_empty();
                let end = tokens.next().filter(|end| alone && end.kind == TokenKind::HintEnd);
                let blank = end.map_or(word.clone(), |end| start.unwrap_or(word.start)..end.range().end);
                let quotes: &[u8] = b"'`\"";
                let inner = match name {
                    [first, inner @ .., last] if first == last && quotes.contains(first) => inner,
                    name => name,
                };
                return Some(ShardHint { name: inner, blank: Some(blank), malformed: false });
            }
            _ => {}
        }
    }
    None
}

/// The word in the parentheses that follow, and where they end.
fn in_parentheses<'t>(tokens: &mut Lexer<'t>, text: &'t [u8]) -> Option<(&'t [u8], usize)> {
    tokens.next().filter(|open| open.kind == TokenKind::Punct(b'('))?;
    let name = tokens.next()?.text(text);
    let close = tokens.next().filter(|close| close.kind == TokenKind::Punct(b')'))?;
    Some((name, close.range().end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_are_named_in_both_forms() {
        let hint = |text: &'static str| {
            let hint = shard_hint(text.as_bytes(), LexMode::default())?;
            Some((std::str::from_utf8(hint.name).expect("text"), hint.blank.map(|range| &text[range])))
        };
        assert_eq!(hint("/*s1*/ SELECT 1"), Some(("s1", None)));
        assert_eq!(hint("  /* s-2 */SELECT 1"), Some(("s-2", None)));
        assert_eq!(hint("SELECT /*+ WEIR_SHARD(s1) */ 1"), Some(("s1", Some("/*+ WEIR_SHARD(s1) */"))));
        assert_eq!(hint("UPDATE /*+ BKA(t) weir_shard('s1') */ t"), Some(("s1", Some("weir_shard('s1')"))));
        assert_eq!(hint("SELECT /*s1*/ 1"), None);
        assert_eq!(hint("/* two words */ SELECT 1"), None);
        assert_eq!(hint("/*!50000 SELECT */ 1"), None);
        assert_eq!(hint("SELECT '/*+ WEIR_SHARD(s1) */'"), None);
        assert_eq!(hint("SELECT 1"), None);
    }

    #[test]
    fn a_hint_without_a_name_in_parentheses_is_malformed() {
        let malformed = |text: &str| shard_hint(text.as_bytes(), LexMode::default()).map(|hint| hint.malformed);
        for hint in
            ["WEIR_SHARD s1", "weir_shard", "WEIR_SHARD()", "WEIR_SHARD(s1", "WEIR_SHARD(s1, s2)", "WEIR_SHARD=s1"]
        {
            assert_eq!(malformed(&format!("SELECT /*+ {hint} */ 1")), Some(true), "{hint}");
        }
        assert_eq!(malformed("SELECT /*+ WEIR_SHARD(s1) */ 1"), Some(false));
        assert_eq!(malformed("SELECT /* WEIR_SHARD s1 */ 1"), None);
        assert_eq!(malformed("SELECT '/*+ WEIR_SHARD s1 */'"), None);
    }

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
