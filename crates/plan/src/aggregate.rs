//! Which functions are aggregates.

use weir_sql::ast::{Call, Expr, ExprKind};
use weir_sql::visit::{Flow, Node, walk};

/// Whether a call makes one value of many rows. MySQL's ANY_VALUE does not: it is its argument, in each row. A stored aggregate function
/// (MariaDB) can't be told from others, nor a loadable one.
pub(crate) fn is_aggregate(call: &Call<'_>) -> bool {
    call.aggregate
}

/// Whether a call needs other rows than its own: an aggregate or a window function.
pub(crate) fn is_group_function(call: &Call<'_>) -> bool {
    call.over.is_some() || is_aggregate(call)
}

/// Whether an expression has such a call, those of queries in it left out.
pub(crate) fn has_group_function(expr: &Expr<'_>) -> bool {
    let mut found = false;
    walk(Node::Expr(expr), &mut |node: Node<'_>| match node {
        Node::Expr(Expr { kind: ExprKind::Call(call), .. }) if is_group_function(call) => {
            found = true;
            Flow::Stop
        }
        Node::Query(_) => Flow::Skip,
        _ => Flow::Descend,
    });
    found
}
