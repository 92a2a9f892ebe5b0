//! Changing a text at ranges.
//!
//! What must hold: what no range covers stays byte for byte.

use std::ops::Range;

/// The text with each range replaced. Ranges are in order and don't overlap; an empty range inserts.
///
/// A range that begins before the end of the one before it, or lies past the text's end, is a mistake of the caller; it
/// is cut to what is left of the text.
pub fn splice(sql: &[u8], edits: &[(Range<usize>, &[u8])]) -> Vec<u8> {
    let added: usize = edits.iter().map(|(_, text)| text.len()).sum();
    let mut out = Vec::with_capacity(sql.len() + added);
    let mut done = 0;
    for (range, text) in edits {
        debug_assert!(done <= range.start && range.start <= range.end && range.end <= sql.len());
        let start = range.start.clamp(done, sql.len());
        out.extend_from_slice(&sql[done..start]);
        out.extend_from_slice(text);
        done = range.end.clamp(start, sql.len());
    }
    out.extend_from_slice(&sql[done..]);
    out
}

#[cfg(test)]
mod tests {
    use super::splice;

    #[test]
    fn replaces_inserts_and_removes() {
        assert_eq!(
            splice(b"select a from t", &[(7..8, b"b, c"), (13..13, b" x."), (14..15, b"")]),
            b"select b, c from x. "
        );
        assert_eq!(splice(b"abc", &[]), b"abc");
        assert_eq!(splice(b"", &[(0..0, b"x")]), b"x");
    }
}
