//! ON DUPLICATE KEY UPDATE of INSERT … SELECT by columns of the query, which rows of values do not have.
//!
//! What must always hold: such a column is read from the new row only where that has exactly the column's value.

use std::ops::Range;

use weir_sql::ast::{Expr, ExprKind, Grouping, Insert, Query, QueryBody, Select};
use weir_sql::facts::Facts;
use weir_sql::resolve::{ColumnUse, SourceKind};

use super::Input;
use super::literal::put_name;
use super::names::Target;
use super::nulls::is_strict;
use super::select::{inserted, is_inner, selected};
use crate::{Need, Refusal};

/// What names the new row, behind rows of values (MySQL, which warns of VALUES()).
pub(super) const ALIAS: &[u8] = b" AS `weir new row`";

/// A name in the text, and what stands for it.
pub(super) type Replaced = (Range<usize>, Vec<u8>);

/// Where ON DUPLICATE KEY UPDATE names columns of the query, and what the new row has in their place.
///
/// # Errors
/// The new row does not have it, or the column may be another one.
pub(super) fn as_new_row(
    input: &Input<'_>,
    insert: &Insert<'_>,
    query: &Query<'_>,
    target: &Target<'_>,
    facts: &Facts<'_>,
) -> Result<Vec<Replaced>, Refusal> {
    let is_own = |source: usize| facts.names.sources[source].span == insert.table.span;
    // Those of subqueries have sources there.
    let of_subquery = |source: &usize| facts.names.sources[*source].span.start >= query.span.end;
    let is_theirs = |column: &ColumnUse<'_>| !column.sources.is_empty() && column.sources.iter().all(of_subquery);
    // RETURNING is about the new row as it is.
    let end = insert.returning.first().map_or(u32::MAX, |item| item.span.start);
    let is_behind = |column: &&ColumnUse<'_>| (query.span.end..end).contains(&column.name.name.span.start);
    let behind = facts.names.columns.iter().filter(is_behind);
    let behind = behind.filter(|column| !is_theirs(column));
    let foreign = behind.filter(|column| !matches!(column.sources[..], [source] if is_own(source)));
    let found = foreign.map(|column| {
        let at = in_new_row(input, insert, query, target, facts, column)?;
        let mut name = Vec::new();
        put_name(&mut name, target.table.columns[at].name.as_bytes());
        let text = match input.session.mariadb {
            true => [b"VALUES(", &name[..], b")"].concat(),
            false => [b"`weir new row`.", &name[..]].concat(),
        };
        Some((column.name.span().range(), text))
    });
    found.collect::<Option<_>>().ok_or_else(|| {
        Need::OtherForm.refused(
            "ON DUPLICATE KEY UPDATE of INSERT … SELECT by columns that may be the query's: select them for columns of the same type, or \
             use VALUES(column)",
        )
    })
}

/// The column of the new row that has a column of the query as it is.
fn in_new_row(
    input: &Input<'_>,
    insert: &Insert<'_>,
    query: &Query<'_>,
    target: &Target<'_>,
    facts: &Facts<'_>,
    column: &ColumnUse<'_>,
) -> Option<usize> {
    // A trigger may give the new row another value.
    let QueryBody::Select(select) = query.body else { return None };
    if target.table.triggers || query.with.is_some() || !is_plain(select) {
        return None;
    }
    let source = column.only()?;
    let SourceKind::Table(table) = &facts.names.sources[source].kind else { return None };
    let known = Target::of(input.catalog, table.database.unwrap_or_default(), table.name)?;
    let from = known.table.column(column.name.name.name)?;
    let is_it = |expr: &Expr<'_>| {
        let ExprKind::Column(name) = expr.bare().kind else { return false };
        let found = facts.names.columns.iter().find(|known| known.name.name.span == name.name.span);
        found.and_then(ColumnUse::only) == Some(source) && known.table.column(name.name.name) == Some(from)
    };
    let fits = |to: usize| {
        let (one, other) = (&known.table.columns[from], &target.table.columns[to]);
        // Where NULL can't be written, it is an error, or becomes another value.
        let fails = is_strict(input.session) && !insert.ignore;
        let null = other.nullable || fails || !one.nullable && select.from.iter().all(is_inner);
        one.kind == other.kind && null && target.table.auto_increment != Some(to) && !other.generated
    };
    let places = inserted(insert, target).enumerate();
    let mut found = places.filter(|(place, _)| selected(select, *place).is_some_and(is_it));
    found.find_map(|(_, to)| to.filter(|to| fits(*to)))
}

/// Whether each row of a query is one of its tables: elsewhere servers let ON DUPLICATE KEY UPDATE name no columns of it.
fn is_plain(select: &Select<'_>) -> bool {
    select.group_by.is_empty()
        && select.grouping == Grouping::Plain
        && select.having.is_none()
        && !select.options.distinct
}
