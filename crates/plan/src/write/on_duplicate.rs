//! ON DUPLICATE KEY UPDATE of INSERT: what its subqueries read that no shard has all of.
//!
//! What must always hold: a subquery is read before the rows are written only if its value is one for all of them, and none of them can
//! change it.

use std::ops::Range;

use weir_sql::ast::{Expr, ExprKind, Insert, Query, QueryBody, SelectItemKind, Span};
use weir_sql::facts::Facts;
use weir_sql::resolve::{Roles, Table};
use weir_sql::visit::{Flow, Node, walk};

use super::Input;
use super::names::Target;
use crate::{Need, Refusal};

/// A subquery that is read first.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReadFirst {
    span: Span,
    /// It is a value: with several rows, it is an error once a server needs it.
    pub(super) value: bool,
}

impl ReadFirst {
    /// Where it stands.
    pub(super) fn range(&self) -> Range<usize> {
        self.span.range()
    }
}

/// The subqueries in what is assigned that read rows of other shards, and depend on nothing else.
pub(super) fn read_first(
    input: &Input<'_>,
    insert: &Insert<'_>,
    target: &Target<'_>,
    facts: &Facts<'_>,
) -> Vec<ReadFirst> {
    let mut found = Vec::new();
    for one in insert.on_duplicate {
        walk(Node::Expr(&one.value), &mut |node: Node<'_>| {
            let Node::Expr(expr) = node else { return Flow::Descend };
            let (query, value) = match expr.kind {
                ExprKind::Subquery(query) => (query, true),
                ExprKind::Exists(query) => (query, false),
                _ => return Flow::Descend,
            };
            if (!value || is_of_one_column(query)) && is_apart(input, target, facts, expr) {
                found.push(ReadFirst { span: expr.span, value });
            }
            Flow::Skip
        });
    }
    found
}

fn is_of_one_column(query: &Query<'_>) -> bool {
    match query.body {
        QueryBody::Select(select) => matches!(select.items, [item] if matches!(item.kind, SelectItemKind::Expr(..))),
        _ => false,
    }
}

/// Whether a subquery reads rows of other shards, neither those of the target nor columns of what is around it.
fn is_apart(input: &Input<'_>, target: &Target<'_>, facts: &Facts<'_>, expr: &Expr<'_>) -> bool {
    let within = |span: Span| expr.span.start <= span.start && span.end <= expr.span.end;
    let tables = || facts.names.tables().filter(|(source, _)| within(source.span)).map(|(_, table)| table);
    let is_other = |table: &Table<'_>| {
        let known = Target::of(input.catalog, table.database.unwrap_or_default(), table.name);
        known.is_some_and(|known| !known.is_same(target))
    };
    let of_its_own = |source: &usize| within(facts.names.sources[*source].span);
    let mut columns = facts.names.columns.iter().filter(|column| within(column.name.span()));
    refuse_foreign_reads(input, target, tables()).is_err()
        && tables().all(is_other)
        && columns.all(|column| !column.sources.is_empty() && column.sources.iter().all(of_its_own))
}

/// Subqueries among the values may read what each shard has all of.
pub(super) fn refuse_foreign_reads<'t>(
    input: &Input<'_>,
    target: &Target<'_>,
    tables: impl Iterator<Item = &'t Table<'t>>,
) -> Result<(), Refusal> {
    for table in tables.filter(|table| table.roles.contains(Roles::READ)) {
        let known = Target::of(input.catalog, table.database.unwrap_or_default(), table.name);
        let everywhere =
            known.is_some_and(|known| known.is_global() && known.database.shards == target.database.shards);
        if !everywhere {
            let name = String::from_utf8_lossy(table.name);
            return Err(Need::RowsInOnePlace.refused(format!(
                "The values of an INSERT read '{name}', and no shard has all of its rows. Read it first and write its values as literals"
            )));
        }
    }
    Ok(())
}
