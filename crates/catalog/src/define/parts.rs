//! The parts of tables by RANGE and LIST.
//!
//! What must always hold: a bound or a member of a list is a value that the key's column can hold exactly.

use std::cmp::Ordering;

use weir_sql::ast::{Expr, ExprKind, Ident, Literal, PartitionValue, PartitionValues, ShardBy, ShardMethod, UnaryOp};

use super::{Setting, Unplaced, refused};
use crate::key::{KeyKind, Normal, normal};
use crate::placement::{Method, ShardId};
use crate::table::Column;
use weir_wire::Failure;
use weir_wire::error::codes;

/// The method of a clause, and the text of its parts.
pub(super) fn method(setting: &Setting<'_>, by: &ShardBy<'_>, keys: &[&Column]) -> Result<(Method, String), Unplaced> {
    let with_parts = matches!(by.method, ShardMethod::Range | ShardMethod::List);
    if with_parts == by.parts.is_empty() {
        return refused(match with_parts {
            true => {
                "SHARD BY RANGE and LIST need their parts: SHARD BY RANGE(id) (s1 VALUES LESS THAN (1000), s2 VALUES LESS THAN MAXVALUE)"
            }
            false => "Only SHARD BY RANGE and LIST have parts: leave them out",
        });
    }
    if by.method == ShardMethod::Hash {
        return Ok((Method::Hash, String::new()));
    }
    let [key] = keys else {
        return refused("A shard key of several columns is possible with HASH only: SHARD BY HASH(a, b)");
    };
    let kind = KeyKind::of(&key.kind).map_err(|why| Unplaced::Refused(super::unfit(key, why)))?;
    let dated = matches!(kind, KeyKind::Date | KeyKind::Datetime(_));
    let of_dates = |method| match dated {
        true => Ok((method, String::new())),
        false => refused(
            "SHARD BY YEAR, MONTH and DAY need a column of type DATE or DATETIME; use HASH, RANGE or LIST for others",
        ),
    };
    match by.method {
        ShardMethod::Year => of_dates(Method::Year),
        ShardMethod::Month => of_dates(Method::Month),
        ShardMethod::Day => of_dates(Method::Day),
        ShardMethod::List => list(setting, by, key),
        _ if matches!(kind, KeyKind::Text { .. } | KeyKind::Binary { .. }) => {
            refused("SHARD BY RANGE needs a column of numbers, dates or times; use LIST or HASH for texts")
        }
        _ => range(setting, by, key),
    }
}

/// The parts of a method as its clause has them, by the shards' names.
pub fn clause<'a>(method: &Method, name: impl Fn(ShardId) -> &'a str) -> String {
    let name = |shard: ShardId| super::quoted(name(shard));
    let shown: Vec<String> = match method {
        Method::Range(parts) => parts
            .iter()
            .map(|(bound, shard)| match bound {
                Some(text) => format!("{} values less than ({text})", name(*shard)),
                None => format!("{} values less than maxvalue", name(*shard)),
            })
            .collect(),
        Method::List(members, others) => {
            let of_one = members.chunk_by(|one, next| one.1 == next.1).map(|members| {
                let texts = members.iter().map(|(member, _)| member.as_deref().unwrap_or("null"));
                format!("{} values in ({})", name(members[0].1), texts.collect::<Vec<_>>().join(", "))
            });
            of_one.chain(others.map(|shard| format!("{} default", name(shard)))).collect()
        }
        Method::Hash | Method::Year | Method::Month | Method::Day => return String::new(),
    };
    format!(" ({})", shown.join(", "))
}

fn shard(setting: &Setting<'_>, name: &Ident<'_>) -> Result<ShardId, Unplaced> {
    super::shard_of(setting, &super::text(name.name))
}

fn range(setting: &Setting<'_>, by: &ShardBy<'_>, key: &Column) -> Result<(Method, String), Unplaced> {
    let mut parts = Vec::new();
    let mut last: Option<Normal> = None;
    for part in by.parts {
        let PartitionValues::LessThan([bound]) = part.values else {
            return refused("Parts of SHARD BY RANGE are written: s1 VALUES LESS THAN (1000)");
        };
        let at = shard(setting, &part.shard)?;
        if matches!(parts.last(), Some((None, _))) {
            return Err(Unplaced::Refused(Failure::client(
                codes::ER_PARTITION_MAXVALUE_ERROR,
                "MAXVALUE can only be used in last partition definition",
            )));
        }
        let bound = match bound {
            PartitionValue::MaxValue(_) => None,
            PartitionValue::Expr(expr) => {
                let (text, value) = exact(setting, expr, key)?;
                if last.as_ref().is_some_and(|last| last.compare(&value) != Some(Ordering::Less)) {
                    let message = "VALUES LESS THAN value must be strictly increasing for each partition";
                    return Err(Unplaced::Refused(Failure::client(codes::ER_RANGE_NOT_INCREASING_ERROR, message)));
                }
                last = Some(value);
                Some(text)
            }
            _ => return refused("Parts of SHARD BY RANGE have one value each, or MAXVALUE"),
        };
        parts.push((bound, at));
    }
    let method = Method::Range(parts);
    let shown = clause(&method, |shard| setting.catalog.shard_name(shard));
    Ok((method, shown))
}

fn list(setting: &Setting<'_>, by: &ShardBy<'_>, key: &Column) -> Result<(Method, String), Unplaced> {
    let (mut members, mut others) = (Vec::new(), None);
    let mut known: Vec<Normal> = Vec::new();
    let mut shown = Vec::new();
    for part in by.parts {
        let at = shard(setting, &part.shard)?;
        let name = super::quoted(setting.catalog.shard_name(at));
        match part.values {
            PartitionValues::Default if others.is_none() => {
                others = Some(at);
                shown.push(format!("{name} default"));
            }
            PartitionValues::In(values) => {
                let mut texts = Vec::new();
                for value in values {
                    let PartitionValue::Expr(expr) = value else {
                        return refused("Parts of SHARD BY LIST have values: s1 VALUES IN (1, 2)");
                    };
                    let (text, value) = exact(setting, expr, key)?;
                    if known.contains(&value) {
                        let message = "Multiple definition of same constant in list partitioning";
                        return Err(Unplaced::Refused(Failure::client(
                            codes::ER_MULTIPLE_DEF_CONST_IN_LIST_PART_ERROR,
                            message,
                        )));
                    }
                    known.push(value);
                    texts.push(text.clone());
                    members.push((Some(text).filter(|text| text != "null"), at));
                }
                shown.push(format!("{name} values in ({})", texts.join(", ")));
            }
            _ => return refused("Parts of SHARD BY LIST are written: s1 VALUES IN (1, 2), and one of them s2 DEFAULT"),
        }
    }
    Ok((Method::List(members, others), format!(" ({})", shown.join(", "))))
}

/// A value of a clause: the text that is kept, and what it is in the column.
fn exact(setting: &Setting<'_>, expr: &Expr<'_>, key: &Column) -> Result<(String, Normal), Unplaced> {
    let Some(text) = literal_text(setting, expr) else {
        return refused("Values of SHARD BY are numbers or texts without a backslash, as literals");
    };
    match normal(&key.kind, &text, setting.weights) {
        Ok(Some(value)) => Ok((text, value)),
        Ok(None) => refused(format!(
            "{text} is not a value that column '{}' can hold exactly: write it as the column shows it",
            key.name
        )),
        Err((collation, chars)) => Err(Unplaced::NeedsWeights(collation, chars)),
    }
}

/// The text of a literal in the form that [`crate::key`] reads.
fn literal_text(setting: &Setting<'_>, expr: &Expr<'_>) -> Option<String> {
    let expr = expr.bare();
    let text = std::str::from_utf8(expr.span.text(setting.text)).ok()?;
    match expr.kind {
        ExprKind::Literal(Literal::Null) => Some("null".to_owned()),
        ExprKind::Literal(Literal::Integer | Literal::Decimal) => Some(text.to_owned()),
        ExprKind::Unary(UnaryOp::Minus, inner) => match inner.bare().kind {
            ExprKind::Literal(Literal::Integer | Literal::Decimal) => {
                Some(format!("-{}", std::str::from_utf8(inner.bare().span.text(setting.text)).ok()?))
            }
            _ => None,
        },
        ExprKind::Literal(Literal::String) => quoted_text(text),
        ExprKind::Literal(Literal::Temporal(_)) => quoted_text(&text[text.find(['\'', '"'])?..]),
        _ => None,
    }
}

/// A string in quotation marks, in the form that clauses keep. Nothing in it may end a comment.
fn quoted_text(text: &str) -> Option<String> {
    let quote = text.chars().next().filter(|char| matches!(char, '\'' | '"'))?;
    let body = text.strip_prefix(quote)?.strip_suffix(quote)?;
    if body.contains('\\') || body.contains("*/") {
        return None;
    }
    let plain = body.replace(&format!("{quote}{quote}"), &quote.to_string());
    Some(format!("'{}'", plain.replace('\'', "''")))
}
