//! FLOAT columns of an INSERT … SELECT whose rows are read first.
//!
//! What must always hold: the target stores the value that one server would store. A FLOAT is shown with six digits, the DOUBLE of the same
//! value with all; a FLOAT, a DOUBLE or an integer stores the same of both. A text does not: such columns are left, and their values refused.

use weir_catalog::Column;
use weir_sql::ast::{Expr, ExprKind, Insert, Query, QueryBody, SelectItemKind, TableRefKind};
use weir_sql::facts::Facts;
use weir_sql::resolve::SourceKind;

use super::Input;
use super::edits::Edits;
use super::literal::quoted_name;
use super::names::Target;

/// Has FLOAT columns that the query selects as they are given as DOUBLE.
pub(super) fn widen(
    input: &Input<'_>,
    insert: &Insert<'_>,
    query: &Query<'_>,
    target: &Target<'_>,
    facts: &Facts<'_>,
    edits: &mut Edits,
) {
    let QueryBody::Select(select) = query.body else { return };
    if select.options.distinct {
        // What it is ordered by has to stand among what it selects.
        return;
    }
    let places = stored_in(insert, target);
    let mut place = 0;
    for item in select.items {
        match &item.kind {
            SelectItemKind::Expr(expr, _) => {
                if column_of(input, facts, expr).is_some_and(|column| is_widened(column, places.get(place).copied())) {
                    let range = expr.span.range();
                    let text = edits.cut(input.text, range.clone());
                    edits.replace(range, [b"CAST(", &text[..], b" AS DOUBLE)"].concat());
                    edits.sort();
                }
                place += 1;
            }
            // Which columns it is follows from the one table in FROM.
            SelectItemKind::Star if select.items.len() == 1 => {
                let [from] = select.from else { return };
                let TableRefKind::Table(named) = &from.kind else { return };
                let source = facts.names.sources.iter().find(|source| source.span == named.name.span);
                let Some(from) = source.and_then(|source| table_of(input, &source.kind)) else { return };
                let columns: Vec<&Column> = from.table.columns.iter().filter(|column| !column.invisible).collect();
                let widened: Vec<bool> = columns
                    .iter()
                    .enumerate()
                    .map(|(place, column)| is_widened(column, places.get(place).copied()))
                    .collect();
                if widened.contains(&true) {
                    let all = columns.iter().zip(widened).map(|(column, widened)| written(column, widened));
                    edits.replace(item.span.range(), all.collect::<Vec<_>>().join(&b", "[..]));
                    edits.sort();
                }
            }
            _ => return,
        }
    }
}

fn written(column: &Column, widened: bool) -> Vec<u8> {
    let name = quoted_name(column.name.as_bytes());
    if widened { [b"CAST(", &name[..], b" AS DOUBLE)"].concat() } else { name }
}

/// The target's columns, in the order in which the query gives their values.
fn stored_in<'a>(insert: &Insert<'_>, target: &Target<'a>) -> Vec<&'a Column> {
    let columns = &target.table.columns;
    match insert.columns {
        Some(named) => {
            let places = named.iter().map_while(|name| target.table.column(name.name.name));
            places.map(|place| &columns[place]).collect()
        }
        None => columns.iter().filter(|column| !column.invisible).collect(),
    }
}

/// The table that a source is: a common table expression may have the name of one.
fn table_of<'a>(input: &Input<'a>, source: &SourceKind<'_>) -> Option<Target<'a>> {
    let SourceKind::Table(table) = source else { return None };
    Target::of(input.catalog, table.database.unwrap_or_default(), table.name)
}

/// The table's column that an expression is.
fn column_of<'a>(input: &Input<'a>, facts: &Facts<'_>, expr: &Expr<'_>) -> Option<&'a Column> {
    let ExprKind::Column(name) = expr.kind else { return None };
    let found = facts.names.columns.iter().find(|known| known.name.name.span == name.name.span)?;
    let known = table_of(input, &facts.names.sources[found.only()?].kind)?;
    let place = known.table.column(name.name.name)?;
    known.table.columns.get(place)
}

fn is_widened(column: &Column, stored_in: Option<&Column>) -> bool {
    let same = |stored: &Column| {
        matches!(&*stored.kind.base, "float" | "double" | "tinyint" | "smallint" | "mediumint" | "int" | "bigint")
    };
    &*column.kind.base == "float" && stored_in.is_some_and(same)
}
