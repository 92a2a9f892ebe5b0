//! Columns that ORDER BY and GROUP BY name by their place.
//!
//! What must always hold: what a server takes for a place is one here too, as the shards sort their rows by it.

use weir_sql::Dialect;
use weir_sql::ast::{Expr, ExprKind, Literal, UnaryOp};

use crate::planner::Planner;

/// The place that an item names, from 1: a number, whatever parentheses and plus signs are around it. MariaDB takes TRUE for one, and a
/// parameter whose value is a number; it reads minus signs as part of the number, so `- -2` is the second column, and `-2` one that
/// isn't there.
pub(super) fn named(planner: &Planner<'_>, item: &Expr<'_>) -> Result<Option<usize>, String> {
    let mysql = planner.session.mode.dialect == Dialect::MySql;
    let (mut number, mut negative, mut signed) = (item.bare(), false, false);
    loop {
        number = match number.kind {
            ExprKind::Unary(UnaryOp::Plus, inner) => inner.bare(),
            ExprKind::Unary(UnaryOp::Minus, inner) if !mysql => {
                (negative, signed) = (!negative, true);
                inner.bare()
            }
            _ => break,
        };
    }
    match number.kind {
        ExprKind::Literal(Literal::Integer) => {}
        ExprKind::Literal(Literal::True | Literal::False) if !mysql => {}
        ExprKind::Parameter(_) if !mysql && !signed => {
            return Err(
                "ORDER BY or GROUP BY of a parameter, in which MariaDB sees a column's place if it is a number"
                    .to_owned(),
            );
        }
        _ => return Ok(None),
    }
    if negative {
        return Ok(Some(0));
    }
    // What is too large for a place is a decimal number, and a constant.
    Ok(planner.folder().count(number).map(|place| usize::try_from(place).unwrap_or(usize::MAX)))
}
