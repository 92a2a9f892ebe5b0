//! What expressions have in them: aggregates, window functions.

use weir_sql::ast::{Call, Expr, ExprKind};
use weir_sql::visit::{Flow, Node, walk};

use crate::aggregate::is_aggregate;

/// The aggregate that an expression is, if it is just one.
pub(super) fn aggregate<'a>(expr: &'a Expr<'a>) -> Option<&'a Call<'a>> {
    match &expr.bare().kind {
        ExprKind::Call(call) if call.over.is_none() && is_aggregate(call) => Some(call),
        _ => None,
    }
}

/// Whether there are aggregates in an expression, those of queries in it left out.
pub(super) fn has_aggregate<'a>(expr: &'a Expr<'a>) -> bool {
    let mut found = false;
    walk(Node::Expr(expr), &mut |node: Node<'a>| {
        if let Node::Expr(expr) = node {
            found |= aggregate(expr).is_some();
        }
        if found || matches!(node, Node::Query(_)) { Flow::Skip } else { Flow::Descend }
    });
    found
}

/// Whether there are window functions in an expression.
pub(super) fn has_window<'a>(expr: &'a Expr<'a>) -> bool {
    let mut found = false;
    walk(Node::Expr(expr), &mut |node: Node<'a>| {
        found |= matches!(node, Node::Expr(Expr { kind: ExprKind::Call(call), .. }) if call.over.is_some());
        if found || matches!(node, Node::Query(_)) { Flow::Skip } else { Flow::Descend }
    });
    found
}
