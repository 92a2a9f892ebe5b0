//! Chains of AND and OR, and what NULL does to a comparison.

use weir_sql::ast::{BinaryOp, Expr, ExprKind};

/// The operands of a chain of AND.
pub(crate) fn conjuncts<'a>(expr: &'a Expr<'a>) -> Vec<&'a Expr<'a>> {
    operands(expr, BinaryOp::And)
}

/// The operands of a chain of OR.
pub(crate) fn disjuncts<'a>(expr: &'a Expr<'a>) -> Vec<&'a Expr<'a>> {
    operands(expr, BinaryOp::Or)
}

fn operands<'a>(expr: &'a Expr<'a>, of: BinaryOp) -> Vec<&'a Expr<'a>> {
    let mut found = Vec::new();
    let mut stack = vec![expr];
    while let Some(expr) = stack.pop() {
        match &expr.bare().kind {
            ExprKind::Binary(op, left, right) if *op == of => stack.extend([*right, *left]),
            _ => found.push(expr.bare()),
        }
    }
    found
}

/// Comparisons that are not true if a side is NULL.
pub(super) fn refuses_null(op: BinaryOp) -> bool {
    use BinaryOp::*;
    matches!(op, Eq | Ne | Lt | Le | Gt | Ge)
}
