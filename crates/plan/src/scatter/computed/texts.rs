//! Values that can't be given to the server which computes: texts whose collation only their own server knows, and numbers that it shows with
//! fewer digits than it has.

use weir_sql::ast::{Call, Cast, Expr, ExprKind, Literal};

use super::super::expressions::aggregate;
use super::super::fold::Exactness;
use super::super::projection::{Projection, Sorts};

/// Functions whose values are texts, whatever they are given.
const TEXTS: &[&str] = &[
    "CHAR",
    "CONCAT",
    "CONCAT_WS",
    "DATE_FORMAT",
    "DAYNAME",
    "ELT",
    "FORMAT",
    "HEX",
    "INSERT",
    "JSON_UNQUOTE",
    "JSON_VALUE",
    "LCASE",
    "LEFT",
    "LOWER",
    "LPAD",
    "LTRIM",
    "MD5",
    "MID",
    "MONTHNAME",
    "QUOTE",
    "REGEXP_REPLACE",
    "REGEXP_SUBSTR",
    "REPEAT",
    "REPLACE",
    "REVERSE",
    "RIGHT",
    "RPAD",
    "RTRIM",
    "SHA",
    "SHA1",
    "SHA2",
    "SUBSTR",
    "SUBSTRING",
    "SUBSTRING_INDEX",
    "TIME_FORMAT",
    "TRIM",
    "UCASE",
    "UPPER",
];

/// Functions whose values are those of their arguments.
const ANY_OF: &[&str] = &["COALESCE", "GREATEST", "IFNULL", "LEAST", "NVL"];

/// Functions that MariaDB shows few digits of, if they are of exact numbers.
const SPREADS: &[&str] = &["STD", "STDDEV", "STDDEV_POP", "STDDEV_SAMP", "VARIANCE", "VAR_POP", "VAR_SAMP"];

/// How deep an expression is looked into.
const DEPTH: u32 = 32;

/// Whether an aggregate, or a part that has none, is certain to be such a value. `sorts`: how it compares.
pub(super) fn cannot_be_given<'a>(shown: &Projection<'_, '_, 'a>, expr: &'a Expr<'a>, sorts: &Sorts) -> bool {
    let Some(call) = aggregate(expr) else { return *sorts == Sorts::Unknown && is_text(shown, expr, DEPTH) };
    let [of] = call.arguments else { return false };
    let spread = SPREADS.iter().any(|name| call.name.name.is(name));
    if spread && shown.question.planner.session.mariadb {
        return shown.exactness(of) == Exactness::Exact;
    }
    let least = ["MIN", "MAX"].iter().any(|name| call.name.name.is(name));
    least && *sorts == Sorts::Unknown && is_text(shown, of, DEPTH)
}

/// Whether the value of an expression is a text, as far as so many levels of it say.
fn is_text<'a>(shown: &Projection<'_, '_, 'a>, expr: &'a Expr<'a>, depth: u32) -> bool {
    let Some(depth) = depth.checked_sub(1) else { return false };
    let (text, values) = parts(shown, expr);
    text || values.into_iter().any(|value| is_text(shown, value, depth))
}

/// Whether an expression is a text by itself, and the parts whose values it may have.
fn parts<'a>(shown: &Projection<'_, '_, 'a>, expr: &'a Expr<'a>) -> (bool, Vec<&'a Expr<'a>>) {
    match &expr.kind {
        ExprKind::Literal(Literal::String | Literal::Text(_)) | ExprKind::ConvertUsing(..) | ExprKind::Collate(..) => {
            (true, Vec::new())
        }
        ExprKind::Column(_) => (matches!(shown.expression_sorts(expr), Sorts::Text(_)), Vec::new()),
        ExprKind::Paren(inner) => (false, vec![inner]),
        ExprKind::Cast(cast) => (is_cast_to_text(shown, cast), Vec::new()),
        ExprKind::Case(case) => {
            let values = case.branches.iter().map(|branch| &branch.value).chain(&case.otherwise);
            (false, values.collect())
        }
        ExprKind::Call(call) if call.name.database.is_none() => of_call(call),
        _ => (false, Vec::new()),
    }
}

fn of_call<'a>(call: &'a Call<'a>) -> (bool, Vec<&'a Expr<'a>>) {
    let named = |names: &[&str]| names.iter().any(|name| call.name.name.is(name));
    match call.arguments {
        _ if named(TEXTS) => (true, Vec::new()),
        values if named(ANY_OF) => (false, values.iter().collect()),
        [_, values @ ..] if named(&["IF"]) => (false, values.iter().collect()),
        [first, ..] if named(&["NULLIF"]) => (false, vec![first]),
        _ => (false, Vec::new()),
    }
}

fn is_cast_to_text(shown: &Projection<'_, '_, '_>, cast: &Cast<'_>) -> bool {
    let name = shown.text().get(cast.data_type.name.range()).unwrap_or_default();
    ["CHAR", "NCHAR", "VARCHAR", "CHARACTER"].iter().any(|kind| name.eq_ignore_ascii_case(kind.as_bytes()))
}
