//! NULL, or nothing, for a column of the shard key that can't be NULL and has no default.
//!
//! What must always hold: what a server refuses gets its error, and is written nowhere. Where it stores another value instead, the row goes
//! where that value belongs, if it is known.

use weir_catalog::{Constant, Located, Table, locate_stored};
use weir_sql::ast::{Expr, Insert, InsertSource};
use weir_wire::error::codes;

use super::names::Target;
use super::rows::is_default;
use super::{Input, mistake};
use crate::{Refusal, SessionFacts};

/// Whether a server refuses values that it would change in another `sql_mode`.
pub(super) fn is_strict(session: &SessionFacts<'_>) -> bool {
    const STRICT: [&str; 3] = ["STRICT_TRANS_TABLES", "STRICT_ALL_TABLES", "TRADITIONAL"];
    session.sql_mode.split(',').any(|mode| STRICT.iter().any(|strict| mode.trim().eq_ignore_ascii_case(strict)))
}

/// The servers' error for a column of this name.
fn not_null(table: &Table, column: usize) -> Refusal {
    let name = table.columns.get(column).map_or("", |column| &column.name);
    mistake(codes::ER_BAD_NULL_ERROR, format!("Column '{name}' cannot be null"))
}

/// Where a row of an INSERT belongs whose place is not certain, if that is for a NULL in its shard key. `values`: the key's, with their columns.
pub(super) fn place_of_null(
    input: &Input<'_>,
    target: &Target<'_>,
    insert: &Insert<'_>,
    values: &[(usize, &Expr<'_>)],
) -> Result<Option<Located>, Refusal> {
    let table = target.table;
    // A trigger may give it a value.
    if table.triggers {
        return Ok(None);
    }
    let constants: Option<Vec<Constant>> = values.iter().map(|(_, value)| input.reads.constant(value)).collect();
    let Some(mut constants) = constants else { return Ok(None) };
    let is_wrong = |column: usize, constant: &Constant| {
        let can_be = table.columns.get(column).is_none_or(|column| column.nullable);
        *constant == Constant::Null && !can_be && table.auto_increment != Some(column)
    };
    let wrong = values.iter().zip(&constants).find(|((column, _), constant)| is_wrong(*column, constant));
    let Some(((column, _), _)) = wrong else { return Ok(None) };
    if !insert.ignore {
        // In other modes several rows get the type's own default.
        let alone = match insert.source {
            InsertSource::Values(rows) => rows.len() == 1,
            _ => true,
        };
        return if alone || is_strict(input.session) { Err(not_null(table, *column)) } else { Ok(None) };
    }
    for ((column, _), constant) in values.iter().zip(&mut constants) {
        if is_wrong(*column, constant) {
            let Some(zero) = zero_of(table, *column) else { return Ok(None) };
            *constant = zero;
        }
    }
    Ok(Some(locate_stored(target.database, table, &constants, input.weights)))
}

/// Whether a row without a value for a column gets the type's own default, with a warning, that is known here.
pub(super) fn gets_zero(session: &SessionFacts<'_>, table: &Table, column: usize, ignore: bool) -> bool {
    // A trigger may give it a value.
    let lenient = (ignore || !is_strict(session)) && !table.triggers && table.auto_increment != Some(column);
    let required = table.columns.get(column).is_some_and(|column| column.required);
    lenient && required && zero_of(table, column).is_some()
}

/// The same value as a literal.
pub(super) fn zero_text(table: &Table, column: usize) -> Option<&'static [u8]> {
    zero_of(table, column).map(|zero| if matches!(zero, Constant::Integer(_)) { &b"0"[..] } else { b"''" })
}

/// Where a row belongs that has the word DEFAULT in its shard key, for such columns; `None` if it has none. `values`: the key's.
pub(super) fn place_of_default(
    input: &Input<'_>,
    target: &Target<'_>,
    ignore: bool,
    values: &[(usize, &Expr<'_>)],
) -> Option<Located> {
    let table = target.table;
    if !values.iter().any(|(_, value)| is_default(value)) {
        return None;
    }
    let constant = |(column, value): &(usize, &Expr<'_>)| match is_default(value) {
        true if gets_zero(input.session, table, *column, ignore) => zero_of(table, *column),
        true => None,
        false => input.reads.constant(value),
    };
    let constants: Vec<Constant> = values.iter().map(constant).collect::<Option<_>>()?;
    Some(locate_stored(target.database, table, &constants, input.weights))
}

/// What numbers and strings get with IGNORE for NULL, and without a value.
fn zero_of(table: &Table, column: usize) -> Option<Constant> {
    const NUMBERS: [&str; 6] = ["tinyint", "smallint", "mediumint", "int", "bigint", "decimal"];
    const STRINGS: [&str; 4] = ["char", "varchar", "binary", "varbinary"];
    match &*table.columns.get(column)?.kind.base {
        base if NUMBERS.contains(&base) => Some(Constant::Integer(0)),
        base if STRINGS.contains(&base) => Some(Constant::Binary(Vec::new())),
        _ => None,
    }
}
