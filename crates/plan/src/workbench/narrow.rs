//! Fragments that are narrowed by the rows that have been gathered before: a table that is joined by an equality needs those rows only whose
//! values the other table's fragment has.
//!
//! What must always hold: a row that is left out has no row to join with, or makes no IN true. Values are compared as the query compares
//! them: only columns of types whose literals are equal exactly when their values are.

use weir_catalog::Column;
use weir_sql::ast::{
    BinaryOp, Expr, ExprKind, InList, Join, JoinKind, QueryBody, SelectItemKind, TableRef, TableRefKind,
};

use super::filters::Uses;
use crate::write::literal::charset;

/// A column: the table, by where its name begins, and the column's name.
pub(super) type Named = (u32, Vec<u8>);

/// Rows of one table matter only if their column has a value that another table's column has.
#[derive(Debug, Clone)]
pub(super) struct Link {
    pub(super) narrowed: Named,
    pub(super) by: Named,
}

/// Notes what a condition, which must be true, says of rows of these tables.
pub(super) fn of_condition(one: &Expr<'_>, tables: &[u32], uses: &Uses<'_, '_>, links: &mut Vec<Link>) {
    let column = |expr: &Expr<'_>| -> Option<Named> {
        let ExprKind::Column(name) = expr.bare().kind else { return None };
        Some((uses.start(uses.source_of(expr)?), name.name.name.to_vec()))
    };
    let (left, right, inner_too) = match &one.bare().kind {
        ExprKind::Binary(BinaryOp::Eq, left, right) => (column(left), column(right), false),
        ExprKind::In(list) if !list.negated => {
            let InList::Query(query) = list.list else { return };
            let QueryBody::Select(select) = query.body else { return };
            let plain = query.limit.is_none() && query.with.is_none() && select.group_by.is_empty();
            let ([item], [from], true) = (select.items, select.from, plain && select.having.is_none()) else { return };
            let SelectItemKind::Expr(expr, _) = &item.kind else { return };
            (column(&list.expr), column(expr), matches!(from.kind, TableRefKind::Table(_)))
        }
        _ => return,
    };
    let (Some(left), Some(right)) = (left, right) else { return };
    if left.0 == right.0 {
        return;
    }
    if tables.contains(&right.0) || inner_too && tables.contains(&left.0) {
        links.push(Link { narrowed: right.clone(), by: left.clone() });
    }
    if tables.contains(&left.0) {
        links.push(Link { narrowed: left, by: right });
    }
}

/// Notes what USING says of two tables.
pub(super) fn of_using(join: &Join<'_>, links: &mut Vec<Link>) {
    let only = |table: &TableRef<'_>| match &table.kind {
        TableRefKind::Table(named) => Some(named.name.span.start),
        _ => None,
    };
    let (Some(left), Some(right)) = (only(&join.left), only(&join.right)) else { return };
    for name in join.using {
        let of = |table: u32| (table, name.name.to_vec());
        if join.kind != JoinKind::Right {
            links.push(Link { narrowed: of(right), by: of(left) });
        }
        if join.kind != JoinKind::Left {
            links.push(Link { narrowed: of(left), by: of(right) });
        }
    }
}

/// How the values of one column are written so that another one is compared with them: the character set of texts, which are written in
/// hexadecimal digits.
pub(super) fn written(narrowed: &Column, by: &Column) -> Option<Option<String>> {
    let is_integer =
        |column: &Column| matches!(&*column.kind.base, "tinyint" | "smallint" | "mediumint" | "int" | "bigint");
    match (&narrowed.kind.collation, &by.kind.collation) {
        (None, None) if is_integer(narrowed) && is_integer(by) => Some(None),
        (Some(one), Some(other)) if one == other => {
            let is_text = |column: &Column| matches!(&*column.kind.base, "char" | "varchar");
            (is_text(narrowed) && is_text(by)).then(|| Some(charset(one).to_owned()))
        }
        _ => None,
    }
}
