//! Values that pass through Weir on their way from a column, or an expression, to a column of another type: as what they are read.
//!
//! What must always hold: the target stores the value that one server would store. A FLOAT is shown with six digits, the DOUBLE of the same
//! value with all; a FLOAT, a DOUBLE or an integer stores the same of both. A text does not: such columns are left, and their values refused.
//! BIT, ENUM, SET and `0x05` are numbers to a column of numbers; a BIT is its bytes to a BLOB or TEXT, and a number to all else. A text is
//! the bytes of its own character set to a column of bytes, whatever character set a row shows it in.

use weir_catalog::Column;
use weir_sql::ast::{
    Expr, ExprKind, Insert, Literal, OrderItem, Query, QueryBody, Select, SelectItem, SelectItemKind, TableRefKind,
};
use weir_sql::facts::Facts;
use weir_sql::resolve::SourceKind;

use super::Input;
use super::edits::Edits;
use super::literal::quoted_name;
use super::names::Target;

/// Types of numbers.
const NUMBERS: [&str; 9] = ["tinyint", "smallint", "mediumint", "int", "bigint", "decimal", "float", "double", "year"];

/// Types that are the same bytes in rows as on a page: a column is copied to one of them as it is stored.
const BLOBS: [&str; 8] = ["tinyblob", "blob", "mediumblob", "longblob", "tinytext", "text", "mediumtext", "longtext"];
/// What gives a text as its bytes, and a number that a column is filled with zeros to as its digits.
const BINARY: &str = "BINARY";
/// Types of bytes.
const BYTES: [&str; 6] = ["binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob"];
/// Types of texts.
const TEXTS: [&str; 8] = ["char", "varchar", "tinytext", "text", "mediumtext", "longtext", "enum", "set"];
/// Functions whose value is a text.
const TEXT_FUNCTIONS: [&str; 22] = [
    "CONCAT",
    "CONCAT_WS",
    "UPPER",
    "UCASE",
    "LOWER",
    "LCASE",
    "SUBSTRING",
    "SUBSTR",
    "MID",
    "SUBSTRING_INDEX",
    "LEFT",
    "RIGHT",
    "TRIM",
    "LTRIM",
    "RTRIM",
    "LPAD",
    "RPAD",
    "REPLACE",
    "REVERSE",
    "REPEAT",
    "GROUP_CONCAT",
    "INSERT",
];
/// Functions whose value is one of their arguments: a text if one of these is.
const CHOOSING: [&str; 7] = ["IFNULL", "NVL", "COALESCE", "MAX", "MIN", "GREATEST", "LEAST"];

/// Has the query give its values as what the target's columns store the same of.
pub(super) fn convert(
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
    let compared = compares_values(query, select);
    let of_column = if compared { number_as } else { given_as };
    let mut place = 0;
    for item in select.items {
        match &item.kind {
            SelectItemKind::Expr(expr, _) => {
                let stored_in = places.get(place).copied();
                let kind = match column_of(input, facts, expr) {
                    Some(column) => of_column(column, stored_in),
                    None if select.group_by.is_empty() => {
                        of_expression(input, facts, expr, stored_in).filter(|kind| !compared || *kind != BINARY)
                    }
                    None => None,
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
                    .map(|(place, column)| of_column(column, places.get(place).copied()))
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

/// Whether a clause may mean a value of the select list, by its alias or place. As bytes, or as the number of an ENUM or SET, it would compare in
/// another way.
fn compares_values(query: &Query<'_>, select: &Select<'_>) -> bool {
    let is_named = |item: &SelectItem<'_>| matches!(item.kind, SelectItemKind::Expr(_, Some(_)));
    let is_column = |item: &OrderItem<'_>| matches!(item.expr.bare().kind, ExprKind::Column(_));
    !select.group_by.is_empty()
        || select.having.is_some()
        || !query.order_by.is_empty() && (select.items.iter().any(is_named) || !query.order_by.iter().all(is_column))
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
fn given_as(column: &Column, to: Option<&Column>) -> Option<&'static str> {
    let stored_in = &*to?.kind.base;
    match &*column.kind.base {
        "enum" | "set" if NUMBERS.contains(&stored_in) || stored_in == "bit" => Some("UNSIGNED"),
        base if TEXTS.contains(&base) => (BYTES.contains(&stored_in) && !is_utf8(column)).then_some(BINARY),
        // Its zeros are there in a copy only.
        _ if column.kind.full.contains("zerofill") => BLOBS.contains(&stored_in).then_some(BINARY),
        _ => number_as(column, to),
    }
}

/// The same of a column that compares as what it is given as.
fn number_as(column: &Column, to: Option<&Column>) -> Option<&'static str> {
    let stored_in = &*to?.kind.base;
    match &*column.kind.base {
        "float" => (NUMBERS.contains(&stored_in) && !["decimal", "year"].contains(&stored_in)).then_some("DOUBLE"),
        // As it is, it is written as its bytes, which are a number to another BIT.
        "bit" => (stored_in != "bit" && !BLOBS.contains(&stored_in)).then_some("UNSIGNED"),
        _ => None,
    }
}

/// Whether the bytes of its texts are those that a row shows.
fn is_utf8(column: &Column) -> bool {
    let charset = column.kind.collation.as_deref().and_then(|collation| collation.split('_').next());
    matches!(charset, Some("utf8mb4" | "utf8mb3" | "utf8" | "ascii"))
}

/// The same of an expression.
fn of_expression(
    input: &Input<'_>,
    facts: &Facts<'_>,
    expr: &Expr<'_>,
    stored_in: Option<&Column>,
) -> Option<&'static str> {
    if is_number(input, expr, stored_in) || is_bits(input, facts, expr) {
        return Some("UNSIGNED");
    }
    let bytes = stored_in.is_some_and(|column| BYTES.contains(&&*column.kind.base));
    (bytes && is_text(input, facts, expr)).then_some(BINARY)
}

/// A value that is assigned to a column, as an expression that gives it as what the column stores the same of.
pub(super) fn assigned(
    input: &Input<'_>,
    facts: &Facts<'_>,
    (expr, text): (&Expr<'_>, Vec<u8>),
    stored_in: Option<&Column>,
) -> Vec<u8> {
    let kind = match column_of(input, facts, expr.bare()) {
        Some(column) => given_as(column, stored_in),
        None => of_expression(input, facts, expr, stored_in),
    };
    match kind {
        Some(kind) => cast(&text, kind),
        None => [b"(", &text[..], b")"].concat(),
    }
}

/// The same of a value with subqueries, which have numbers of BIT and texts of ENUM and SET for whatever they are stored in.
pub(super) fn computed(
    input: &Input<'_>,
    facts: &Facts<'_>,
    (expr, text): (&Expr<'_>, Vec<u8>),
    stored_in: Option<&Column>,
) -> Vec<u8> {
    match of_expression(input, facts, expr, stored_in) {
        Some(kind) => cast(&text, kind),
        None => text,
    }
}

/// Whether an expression is a subquery for a BIT. It is a number, which MariaDB tells as a BIT of its digits.
fn is_bits(input: &Input<'_>, facts: &Facts<'_>, expr: &Expr<'_>) -> bool {
    let ExprKind::Subquery(Query { body: QueryBody::Select(select), .. }) = expr.bare().kind else { return false };
    let [item] = select.items else { return false };
    let SelectItemKind::Expr(inner, _) = &item.kind else { return false };
    column_of(input, facts, inner.bare()).is_some_and(|column| column.kind.base == "bit")
}

/// Whether an expression is known to be a text.
fn is_text(input: &Input<'_>, facts: &Facts<'_>, expr: &Expr<'_>) -> bool {
    match expr.bare().kind {
        ExprKind::Literal(Literal::String | Literal::Text(_)) | ExprKind::ConvertUsing(..) => true,
        ExprKind::Column(_) => {
            column_of(input, facts, expr.bare()).is_some_and(|column| TEXTS.contains(&&*column.kind.base))
        }
        ExprKind::Collate(inner, _) => is_text(input, facts, inner),
        ExprKind::Call(call) if call.name.database.is_none() => {
            let is_one_of = |names: &[&str]| names.iter().any(|name| call.name.name.is(name));
            let any = |arguments: &[Expr<'_>]| arguments.iter().any(|argument| is_text(input, facts, argument));
            is_one_of(&TEXT_FUNCTIONS)
                || is_one_of(&CHOOSING) && any(call.arguments)
                || call.name.name.is("IF") && any(call.arguments.get(1..).unwrap_or_default())
        }
        ExprKind::Case(case) => {
            let mut values = case.branches.iter().map(|branch| &branch.value).chain(&case.otherwise);
            values.any(|value| is_text(input, facts, value))
        }
        ExprKind::Subquery(Query { body: QueryBody::Select(select), .. }) => match select.items {
            [item] => matches!(&item.kind, SelectItemKind::Expr(expr, _) if is_text(input, facts, expr)),
            _ => false,
        },
        _ => false,
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
