//! `SET STATEMENT variable = value FOR statement` (MariaDB), of statements that several servers run.
//!
//! What must always hold: only variables pass that bound or steer how a server runs its part, and change nothing of the rows; and
//! `sql_select_limit`, where the rows that a shard cuts off are beyond the result's end.

use weir_sql::ast::{Expr, ExprKind, SetItemKind, SetStatement, SetValue, SetVariable};

/// Variables that each server may have for its part of a statement.
const STEERING: [&str; 12] = [
    "innodb_lock_wait_timeout",
    "join_buffer_size",
    "join_cache_level",
    "lock_wait_timeout",
    "long_query_time",
    "max_heap_table_size",
    "max_statement_time",
    "optimizer_prune_level",
    "optimizer_search_depth",
    "optimizer_switch",
    "sort_buffer_size",
    "tmp_table_size",
];

/// The variable that cuts a query's result, as drivers set it for one statement.
const SELECT_LIMIT: &str = "sql_select_limit";

/// Whether all of the variables are such ones, with values that stand in the text.
pub(crate) fn only_steers(set: &SetStatement<'_>) -> bool {
    variables(set).all(|variable| variable.is_some_and(steers))
}

/// The limit that it gives a query, if besides it there are only variables of the former kind.
pub(crate) fn only_limits<'a>(set: &'a SetStatement<'a>) -> Option<&'a Expr<'a>> {
    let passes = variables(set).all(|variable| {
        variable.is_some_and(|variable| steers(variable) || limits(variable) && stands(&variable.value))
    });
    if !passes {
        return None;
    }
    variables(set).flatten().filter(|variable| limits(variable)).last().and_then(|variable| match &variable.value {
        SetValue::Expr(value) => Some(value),
        SetValue::Word(_) | SetValue::Default(_) => None,
    })
}

/// Whether it gives the statement a limit of its own, in place of the session's.
#[must_use]
pub fn sets_select_limit(set: &SetStatement<'_>) -> bool {
    variables(set).flatten().any(limits)
}

fn variables<'a>(set: &'a SetStatement<'a>) -> impl Iterator<Item = Option<&'a SetVariable<'a>>> {
    set.items.iter().map(|item| match &item.kind {
        SetItemKind::Variable(variable) => Some(*variable),
        _ => None,
    })
}

fn limits(variable: &SetVariable<'_>) -> bool {
    variable.variable.base.is_none() && variable.variable.name.is(SELECT_LIMIT)
}

fn steers(variable: &SetVariable<'_>) -> bool {
    let name = &variable.variable;
    stands(&variable.value) && name.base.is_none() && STEERING.iter().any(|steering| name.name.is(steering))
}

/// Whether the value stands in the text.
fn stands(value: &SetValue<'_>) -> bool {
    match value {
        SetValue::Expr(value) => matches!(value.bare().kind, ExprKind::Literal(_)),
        SetValue::Word(_) | SetValue::Default(_) => true,
    }
}
