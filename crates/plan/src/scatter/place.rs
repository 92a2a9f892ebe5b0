//! Columns that ORDER BY and GROUP BY name by their place.
//!
//! What must always hold: what a server takes for a place is one here too, as the shards sort their rows by it.

use weir_sql::Dialect;
use weir_sql::ast::{Expr, ExprKind, Literal, UnaryOp};

use crate::planner::Planner;

/// The place that an item names, from 1: a number, whatever parentheses and plus signs are around it. MariaDB takes TRUE for one, and a
/// parameter whose value is a number.
pub(super) fn named(planner: &Planner<'_>, item: &Expr<'_>) -> Result<Option<usize>, String> {
    let mysql = planner.session.mode.dialect == Dialect::MySql;
    let mut number = item.bare();
    while let ExprKind::Unary(UnaryOp::Plus, inner) = number.kind {
        number = inner.bare();
    }
    match number.kind {
        ExprKind::Literal(Literal::Integer) => {}
        ExprKind::Literal(Literal::True | Literal::False) if !mysql => {}
        ExprKind::Parameter(_) if !mysql => {
            return Err(
                "ORDER BY or GROUP BY of a parameter, in which MariaDB sees a column's place if it is a number"
                    .to_owned(),
            );
        }
        _ => return Ok(None),
    }
    // What is too large for a place is a decimal number, and a constant.
    Ok(planner.folder().count(number).map(|place| usize::try_from(place).unwrap_or(usize::MAX)))
}
