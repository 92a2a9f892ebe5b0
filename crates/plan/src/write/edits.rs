//! Changes of a statement's text, collected in any order.
//!
//! What must always hold: what no change covers stays byte for byte; changes don't overlap.

use std::ops::Range;

use weir_catalog::Constant;
use weir_sql::LexMode;
use weir_sql::ast::{Expr, ExprKind, Statement};
use weir_sql::visit::{Flow, Node, walk};

use super::literal::parameter;
use crate::session::SessionFacts;
use crate::{Edit, Piece};

/// A statement's text with the values of its parameters as literals.
pub fn with_values(statement: &Statement<'_>, text: &[u8], values: &[Constant], mode: LexMode) -> Vec<u8> {
    let mut edits = Edits::of_values(statement, text, values, mode);
    edits.sort();
    let mut out = Vec::with_capacity(text.len());
    edits.put(&mut out, text, 0..text.len());
    out
}

/// Changes, in the order of the text once they are sorted.
#[derive(Debug, Default, Clone)]
pub(super) struct Edits(Vec<Edit>);

impl Edits {
    /// The statement's parameters by the values that they have. Without values there is nothing to change.
    pub(super) fn of_parameters(statement: &Statement<'_>, text: &[u8], session: &SessionFacts<'_>) -> Edits {
        session.parameters.map_or_else(Edits::default, |values| Edits::of_values(statement, text, values, session.mode))
    }

    fn of_values(statement: &Statement<'_>, text: &[u8], values: &[Constant], mode: LexMode) -> Edits {
        let mut edits = Edits::default();
        let mut limits = Vec::new();
        walk(Node::Statement(statement), &mut |node: Node<'_>| {
            if let Node::Limit(limit) = node {
                for expr in [&limit.offset, &limit.count].into_iter().flatten() {
                    let ExprKind::Parameter(at) = expr.kind else { continue };
                    let rows = values.get(at as usize).and_then(number_of_rows);
                    edits.0.extend(rows.map(|rows| {
                        limits.push(expr.span.range());
                        let rows = apart(text, expr.span.range(), rows.to_string().into_bytes());
                        Edit { range: expr.span.range(), pieces: vec![Piece::Text(rows)] }
                    }));
                }
            }
            if let Node::Expr(Expr { kind: ExprKind::Parameter(at), span }) = node
                && let Some(value) = values.get(*at as usize)
                && !limits.contains(&span.range())
            {
                edits.replace(span.range(), apart(text, span.range(), parameter(value, mode)));
            }
            Flow::Descend
        });
        edits
    }

    pub(super) fn replace(&mut self, range: Range<usize>, with: Vec<u8>) {
        self.push(range, vec![Piece::Text(with)]);
    }

    pub(super) fn push(&mut self, range: Range<usize>, pieces: Vec<Piece>) {
        self.0.push(Edit { range, pieces });
    }

    /// Takes back what lies within a range, which is then replaced in whole. What is put in at its ends stays.
    pub(super) fn forget_within(&mut self, range: &Range<usize>) {
        let beside = |edit: &Range<usize>| edit.is_empty() && (edit.start == range.start || edit.start == range.end);
        self.0.retain(|edit| edit.range.start < range.start || edit.range.end > range.end || beside(&edit.range));
    }

    /// Whether a range is replaced already, with more or alone.
    pub(super) fn covers(&self, range: &Range<usize>) -> bool {
        self.0
            .iter()
            .any(|edit| edit.range.start <= range.start && range.end <= edit.range.end && !edit.range.is_empty())
    }

    pub(super) fn sort(&mut self) {
        self.0.sort_by_key(|edit| (edit.range.start, edit.range.end));
    }

    pub(super) fn into_sorted(mut self) -> Vec<Edit> {
        self.sort();
        self.0
    }

    /// A part of the text, changed. The changes are sorted and none of them waits for a value.
    pub(super) fn put(&self, out: &mut Vec<u8>, text: &[u8], range: Range<usize>) {
        let first = self.0.partition_point(|edit| edit.range.start < range.start);
        let mut done = range.start;
        for edit in self.0[first..].iter().take_while(|edit| edit.range.end <= range.end) {
            out.extend_from_slice(&text[done..edit.range.start.max(done)]);
            for piece in &edit.pieces {
                if let Piece::Text(piece) = piece {
                    out.extend_from_slice(piece);
                }
            }
            done = edit.range.end.max(done);
        }
        out.extend_from_slice(&text[done..range.end]);
    }

    /// As [`Edits::put`], as a text of its own.
    pub(super) fn cut(&self, text: &[u8], range: Range<usize>) -> Vec<u8> {
        let mut out = Vec::with_capacity(range.len());
        self.put(&mut out, text, range);
        out
    }

    /// The whole text, changed.
    pub(super) fn apply(&self, text: &[u8]) -> Vec<u8> {
        self.cut(text, 0..text.len())
    }
}

/// The rows that the parameter of a LIMIT is: NULL and a number's digits are written as the number that servers take them for, as LIMIT has no
/// other literals.
fn number_of_rows(value: &Constant) -> Option<u64> {
    match value {
        Constant::Null => Some(0),
        Constant::Integer(value) => u64::try_from(*value).ok(),
        Constant::Text { bytes, .. } | Constant::Binary(bytes) if bytes.iter().all(u8::is_ascii_digit) => {
            std::str::from_utf8(bytes).ok()?.parse().ok()
        }
        _ => None,
    }
}

/// A replacement, kept apart by spaces from words and quotes that it would grow together with.
pub(super) fn apart(text: &[u8], range: Range<usize>, mut with: Vec<u8>) -> Vec<u8> {
    let grows = |byte: Option<&u8>| {
        byte.is_some_and(|b| {
            b.is_ascii_alphanumeric() || matches!(b, b'_' | b'$' | b'\'' | b'"' | b'`' | b'.') || *b >= 0x80
        })
    };
    if range.start.checked_sub(1).is_some_and(|before| grows(text.get(before))) {
        with.insert(0, b' ');
    }
    if grows(text.get(range.end)) {
        with.push(b' ');
    }
    with
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Resolve;

    #[test]
    fn parts_of_a_text_have_their_own_changes() {
        let mut edits = Edits::default();
        edits.replace(8..9, b"X".to_vec());
        edits.replace(2..3, b"YY".to_vec());
        edits.sort();
        let text = b"a ? b c ? d";
        assert_eq!(edits.apply(text), b"a YY b c X d");
        assert_eq!(edits.cut(text, 0..4), b"a YY ");
        assert_eq!(edits.cut(text, 6..11), b"c X d");
        assert_eq!(edits.cut(text, 3..8), b" b c ");
    }

    #[test]
    fn what_is_replaced_in_whole_loses_the_changes_within() {
        let mut edits = Edits::default();
        edits.replace(4..5, b"1".to_vec());
        edits.replace(9..10, b"2".to_vec());
        edits.forget_within(&(2..7));
        edits.replace(2..7, b"X".to_vec());
        edits.sort();
        assert_eq!(edits.apply(b"a f(?) , ?"), b"a X, 2");
    }

    #[test]
    fn what_is_put_in_beside_a_replacement_stays() {
        let mut edits = Edits::default();
        edits.replace(3..3, b"<".to_vec());
        edits.replace(6..6, b">".to_vec());
        edits.forget_within(&(3..6));
        edits.replace(3..6, b"X".to_vec());
        edits.sort();
        assert_eq!(edits.apply(b"(1,f())"), b"(1,<X>)");
        assert!(edits.covers(&(3..6)) && edits.covers(&(4..5)));
        assert!(!edits.covers(&(0..2)) && !edits.covers(&(5..7)));
    }

    #[test]
    fn replacements_do_not_grow_together_with_what_is_around_them() {
        for (text, range, expected) in [
            (&b"LIMIT?"[..], 5..6, "LIMIT 5"),
            (b"?AND", 0..1, "5 AND"),
            (b"x?'", 1..2, "x 5 '"),
            (b"(?,", 1..2, "(5,"),
        ] {
            let with = apart(text, range.clone(), b"5".to_vec());
            let text = weir_sql::splice(text, &[(range, &with)]);
            assert_eq!(String::from_utf8_lossy(&text), expected);
        }
    }

    #[test]
    fn a_settled_text_has_what_was_found_out_in_its_places() {
        let edits = vec![
            Edit { range: 1..1, pieces: vec![Piece::Text(b",id".to_vec())] },
            Edit { range: 4..5, pieces: vec![Piece::Answer(1)] },
            Edit { range: 6..6, pieces: vec![Piece::Text(b",".to_vec()), Piece::Generated(2)] },
            Edit { range: 7..8, pieces: vec![Piece::Rows] },
        ];
        let resolve = Resolve {
            read: None,
            lazy: false,
            none: None,
            ask: None,
            rows: None,
            columns: None,
            ignore: false,
            generate: None,
            edits,
        };
        let text = resolve.text(b"a (e? )q", &[b"0".to_vec(), b"'x'".to_vec()], &[], b"(1),(2)", &[10, 11, 20]);
        assert_eq!(String::from_utf8_lossy(&text), "a,id (e'x' ,20)(1),(2)");
    }
}
