//! `SET STATEMENT variable = value FOR statement` (MariaDB), of statements that several servers run.
//!
//! What must always hold: only variables pass that bound or steer how a server runs its part, and change nothing of the rows.

use weir_sql::ast::{ExprKind, SetItemKind, SetStatement, SetValue, SetVariable};

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

/// Whether all of the variables are such ones, with values that stand in the text.
pub(crate) fn only_steers(set: &SetStatement<'_>) -> bool {
    set.items.iter().all(|item| {
        let SetItemKind::Variable(SetVariable { variable, value, .. }) = &item.kind else { return false };
        let stands = match value {
            SetValue::Expr(value) => matches!(value.bare().kind, ExprKind::Literal(_)),
            SetValue::Word(_) | SetValue::Default(_) => true,
        };
        stands && variable.base.is_none() && STEERING.iter().any(|name| variable.name.is(name))
    })
}
