//! A row that stands among others in the client's INSERT, and is alone on its shard.
//!
//! What must always hold: outside of the strict modes, NULL for a column that can't be NULL becomes its type's own default in an INSERT of several
//! rows, and is an error in one of a single row. The row of a query counts as one of several, however many there are.

use weir_catalog::Constant;
use weir_sql::ast::{Expr, ExprKind, Insert};
use weir_sql::visit::{Flow, Node, walk};

use super::Input;
use super::names::Target;
use super::nulls::is_strict;
use super::rows::Rows;
use crate::aggregate::is_aggregate;

/// Whether a row has to be sent as that of a query, and can be.
pub(super) fn is_query(
    input: &Input<'_>,
    target: &Target<'_>,
    insert: &Insert<'_>,
    rows: &Rows<'_>,
    row: usize,
) -> bool {
    let several = rows.len() > 1 && !insert.ignore && !is_strict(input.session);
    let plain = insert.row_alias.is_none() && insert.priority.is_none();
    several && plain && rows.values(row).all(is_independent) && may_be_null(input, target, rows, row)
}

/// The text of an INSERT up to its rows, and one of its rows, as those of a query.
pub(super) fn as_query(head: &[u8], row: &[u8]) -> Option<Vec<u8>> {
    let head = head.trim_ascii_end();
    // The last word may be in a comment.
    if head.contains(&b'#') || head.windows(2).any(|pair| pair == b"--" || pair == b"/*") {
        return None;
    }
    let before = |word: &[u8]| {
        let at = head.len().checked_sub(word.len())?;
        let (before, last) = head.split_at(at);
        let apart = before.last().is_some_and(|byte| byte.is_ascii_whitespace() || *byte == b')');
        (apart && last.eq_ignore_ascii_case(word)).then_some(before)
    };
    let before = before(b"VALUES").or_else(|| before(b"VALUE"))?;
    let values = row.strip_prefix(b"(")?.strip_suffix(b")")?;
    Some([before, b"SELECT ", values].concat())
}

/// Whether a value means the same in a query of its own.
fn is_independent(value: &Expr<'_>) -> bool {
    walk(Node::Expr(value), &mut |node: Node<'_>| match node {
        Node::Query(_) | Node::Expr(Expr { kind: ExprKind::Column(_) | ExprKind::Word(_), .. }) => Flow::Stop,
        // Which has no place beside VALUES.
        Node::Expr(Expr { kind: ExprKind::Call(call), .. }) if is_aggregate(call) => Flow::Stop,
        _ => Flow::Descend,
    })
}

/// Whether one of a row's values may be a NULL that its column can't be.
fn may_be_null(input: &Input<'_>, target: &Target<'_>, rows: &Rows<'_>, row: usize) -> bool {
    let may_be = |(column, value): (&Option<usize>, &Expr<'_>)| {
        let Some(column) = column.and_then(|at| target.table.columns.get(at)) else { return false };
        !column.nullable && matches!(input.reads.constant(value), None | Some(Constant::Null))
    };
    rows.columns().iter().zip(rows.values(row)).any(may_be)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_become_queries() {
        let made = |head: &str, row: &str| as_query(head.as_bytes(), row.as_bytes());
        assert_eq!(
            made("INSERT INTO t (a) values ", "(1, NULL)").as_deref(),
            Some(&b"INSERT INTO t (a) SELECT 1, NULL"[..])
        );
        assert_eq!(made("INSERT INTO t(a)VALUE", "(1)").as_deref(), Some(&b"INSERT INTO t(a)SELECT 1"[..]));
        assert_eq!(made("INSERT INTO t VALUES /* the rows */ ", "(1)"), None);
        assert_eq!(made("INSERT INTO t VALUES ", "ROW(1)"), None);
        assert_eq!(made("INSERT INTO t VALUES -- the new values\n", "(1)"), None);
    }
}
