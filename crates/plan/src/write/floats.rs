//! FLOAT and BIT columns, and numbers in hexadecimal or bits, of an INSERT … SELECT whose rows are read first.
//!
//! What must always hold: the target stores the value that one server would store. A FLOAT is shown with six digits, the DOUBLE of the same
//! value with all; a FLOAT, a DOUBLE or an integer stores the same of both. A text does not: such columns are left, and their values refused.
//! BIT and `0x05` are numbers to a column of numbers, and bytes when a row shows them.

use weir_catalog::Column;
use weir_sql::ast::{Expr, ExprKind, Insert, Literal, Query, QueryBody, SelectItemKind, TableRefKind};
use weir_sql::facts::Facts;
use weir_sql::resolve::SourceKind;

use super::Input;
use super::edits::Edits;
use super::literal::quoted_name;
use super::names::Target;

/// Types of numbers.
const NUMBERS: [&str; 9] = ["tinyint", "smallint", "mediumint", "int", "bigint", "decimal", "float", "double", "year"];

/// Has FLOAT columns that the query selects as they are given as DOUBLE, and bits that become numbers as numbers.
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
                let stored_in = places.get(place).copied();
                let kind = match column_of(input, facts, expr) {
                    Some(column) => widened(column, stored_in),
                    None => (select.group_by.is_empty() && is_number(input, expr, stored_in)).then_some("UNSIGNED"),
                };
                if let Some(kind) = kind {
                    let range = expr.span.range();
                    edits.replace(range.clone(), cast(&edits.cut(input.text, range), kind));
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
                let kinds: Vec<_> = columns
                    .iter()
                    .enumerate()
                    .map(|(place, column)| widened(column, places.get(place).copied()))
                    .collect();
                if kinds.iter().any(Option::is_some) {
                    let all = columns.iter().zip(kinds).map(|(column, kind)| written(column, kind));
                    edits.replace(item.span.range(), all.collect::<Vec<_>>().join(&b", "[..]));
                    edits.sort();
                }
            }
            _ => return,
        }
    }
}

fn cast(text: &[u8], kind: &str) -> Vec<u8> {
    [b"CAST(", text, b" AS ", kind.as_bytes(), b")"].concat()
}

fn written(column: &Column, kind: Option<&str>) -> Vec<u8> {
    let name = quoted_name(column.name.as_bytes());
    match kind {
        Some(kind) => cast(&name, kind),
        None => name,
    }
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

/// As what a column is given to be stored in another, if not as itself.
fn widened(column: &Column, stored_in: Option<&Column>) -> Option<&'static str> {
    let stored_in = &*stored_in?.kind.base;
    match &*column.kind.base {
        "float" => (NUMBERS.contains(&stored_in) && !["decimal", "year"].contains(&stored_in)).then_some("DOUBLE"),
        "bit" => NUMBERS.contains(&stored_in).then_some("UNSIGNED"),
        _ => None,
    }
}

/// Whether a literal of bits becomes a number in a column. To MariaDB `x'05'` is a text, and `0x05` a number.
fn is_number(input: &Input<'_>, expr: &Expr<'_>, stored_in: Option<&Column>) -> bool {
    /// The digits of eight bytes: servers store the greatest number for what is longer.
    const MOST: [usize; 2] = ["0x0123456789abcdef".len(), "x'0123456789abcdef'".len()];
    let text = input.text.get(expr.span.range()).unwrap_or_default();
    let bits = match expr.kind {
        ExprKind::Literal(Literal::Hex) if text.contains(&b'\'') => !input.session.mariadb && text.len() <= MOST[1],
        ExprKind::Literal(Literal::Hex) => text.len() <= MOST[0],
        ExprKind::Literal(Literal::Bit) => text.len() <= "b''".len() + 64,
        _ => false,
    };
    bits && stored_in.is_some_and(|column| NUMBERS.contains(&&*column.kind.base))
}
