//! ORDER BY of a view, or of a derived table, that orders the rows of a query without one of its own.
//!
//! What must always hold: the order is that of one server, where the query reads nothing else, and has one row for each that it reads.

use weir_sql::ast::{Expr, ExprKind, Literal, Query, QueryBody, Select, SelectItemKind, StatementKind, TableRefKind};

use crate::again;
use crate::analysis::is_mergeable;
use crate::planner::Planner;
use crate::text::{Edits, Pieces, made_of};
use crate::write::literal::put_name;
use crate::{Plan, Refusal};

/// The plan of the query with such an order put behind it. None if it has none, or one by what the query can't name.
pub(super) fn plan(planner: &Planner<'_>, query: &Query<'_>) -> Option<Result<Plan, Refusal>> {
    let is_whole = matches!(planner.statement.kind, StatementKind::Query(_)) && planner.computes;
    let QueryBody::Select(select) = query.body else { return None };
    if !is_whole || query.with.is_some() || !query.order_by.is_empty() || !is_mergeable(select) {
        return None;
    }
    let order = order(planner, select)?;
    let mut edits = Edits::default();
    edits.insert(select.span.range().end, Pieces::new(order));
    let (text, places) = made_of(&edits.into_pieces(planner.text), planner.text, planner.statement);
    let planned = again::plan(planner, &text, &places, planner.plan_whole)?;
    if let Some(trace) = planner.trace {
        trace.depends_on_more();
    }
    Some(planned)
}

/// The clause, with the names that the query has for the columns.
fn order(planner: &Planner<'_>, select: &Select<'_>) -> Option<Vec<u8>> {
    let [source] = select.from else { return None };
    match source.kind {
        TableRefKind::Table(table) => {
            let database = table.name.database.map(|database| database.name).or(planner.session.database)?;
            let (_, text) = planner.catalog.view(database, table.name.name.name)?;
            let mode = weir_sql::LexMode { dialect: planner.session.mode.dialect, ..Default::default() };
            let query = weir_sql::parse_query(planner.arena, text.as_bytes(), mode).ok()?;
            let called = table.alias.map_or(table.name.name.name, |alias| alias.name);
            clause(text.as_bytes(), &query, called)
        }
        // MariaDB leaves such an order out.
        TableRefKind::Derived(derived) if !planner.session.mariadb && derived.columns.is_empty() => {
            clause(planner.text, derived.query, derived.alias?.name)
        }
        _ => None,
    }
}

fn clause(text: &[u8], query: &Query<'_>, called: &[u8]) -> Option<Vec<u8>> {
    let QueryBody::Select(select) = query.body else { return None };
    // With LIMIT one server makes the rows, in their order.
    if query.order_by.is_empty() || query.limit.is_some() {
        return None;
    }
    let mut clause = b" ORDER BY ".to_vec();
    for (nth, item) in query.order_by.iter().enumerate() {
        if nth > 0 {
            clause.extend_from_slice(b", ");
        }
        put_name(&mut clause, called);
        clause.push(b'.');
        // Other letters of a view's text may have other bytes in the client's.
        put_name(&mut clause, output(text, select, &item.expr).filter(|name| name.is_ascii())?);
        if item.descending {
            clause.extend_from_slice(b" DESC");
        }
    }
    Some(clause)
}

/// The column of the result by which an item of ORDER BY sorts.
fn output<'a>(text: &[u8], select: &Select<'a>, by: &Expr<'a>) -> Option<&'a [u8]> {
    let by = by.bare();
    if let ExprKind::Literal(Literal::Integer) = by.kind {
        let all = select.items.iter().all(|item| matches!(item.kind, SelectItemKind::Expr(..)));
        let place = std::str::from_utf8(&text[by.span.range()]).ok()?.parse::<usize>().ok()?.checked_sub(1)?;
        return name(select.items.get(place).filter(|_| all)?.kind);
    }
    let names = || select.items.iter().filter_map(|item| Some((name(item.kind)?, item)));
    if let ExprKind::Column(column) = by.kind
        && column.table.is_none()
    {
        let own = names().find(|(name, _)| name.eq_ignore_ascii_case(column.name.name));
        let starred = select.items.iter().any(|item| !matches!(item.kind, SelectItemKind::Expr(..)));
        return own.map(|(name, _)| name).or(starred.then_some(column.name.name));
    }
    let written = |expr: &Expr<'_>| &text[expr.bare().span.range()];
    let same = names().find(|(_, item)| match &item.kind {
        SelectItemKind::Expr(expr, _) => written(expr) == written(by),
        _ => false,
    });
    same.map(|(name, _)| name)
}

/// What a column is called, unless a server makes a name of its text.
fn name<'a>(item: SelectItemKind<'a>) -> Option<&'a [u8]> {
    match item {
        SelectItemKind::Expr(_, Some(alias)) => Some(alias.name),
        SelectItemKind::Expr(Expr { kind: ExprKind::Column(column), .. }, None) => Some(column.name.name),
        _ => None,
    }
}
