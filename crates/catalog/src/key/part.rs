//! Keys that are placed by ranges, lists and periods of dates.
//!
//! What must always hold: values are compared, never texts. A value below all bounds is in the first partition, and so is NULL, as in the
//! servers' own partitions.

use std::cmp::Ordering;

use super::kind::KeyKind;
use super::value::{self, Read, Value};
use super::{Constant, Located, only_column, shard_of};
use crate::hash::KeyHasher;
use crate::model::Database;
use crate::moment::Moment;
use crate::number::Number;
use crate::placement::{Method, ShardId, ShardKey};
use crate::table::Table;
use crate::weights::Weights;

/// More periods than these are not counted out: nearly all shards have some of them anyway.
const MOST_PERIODS: usize = 366;

/// An end of a range of values.
#[derive(Debug, Clone, PartialEq)]
pub enum Bound {
    /// There is none.
    Open,
    /// The value belongs to the range: `<=`, `>=`, BETWEEN.
    Including(Constant),
    /// It does not: `<`, `>`.
    Excluding(Constant),
}

/// Where the rows of a range are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RangeShards {
    /// On these shards at most, in ascending order. None: there are no such rows.
    Shards(Vec<ShardId>),
    /// It can't be said: on any shard.
    Unsure,
}

/// The parts of a clause, read.
#[derive(Debug, Clone)]
pub(super) enum Parts {
    /// Upper bounds; `None` for MAXVALUE.
    Range(Vec<(Option<Value<'static>>, ShardId)>),
    /// Values, and the shard of all others.
    List(Vec<(Value<'static>, ShardId)>, Option<ShardId>),
}

impl Parts {
    /// As [`locate_value`].
    pub(super) fn locate(&self, value: &Value<'_>) -> Option<Located> {
        match self {
            Parts::Range(parts) => {
                for (bound, shard) in parts {
                    match bound.as_ref().map_or(Some(Ordering::Less), |bound| value.compare(bound)) {
                        None => return Some(Located::Unsure),
                        Some(Ordering::Less) => return Some(Located::Shard(*shard)),
                        Some(_) => {}
                    }
                }
                None
            }
            Parts::List(parts, others) => {
                let member = parts.iter().find(|(member, _)| member == value);
                member.map(|(_, shard)| *shard).or(*others).map(Located::Shard)
            }
        }
    }
}

/// Reads a clause. `None` for one without values, and where any of them can't be read, or not yet: then each is looked at when it matters.
pub(super) fn read_parts(table: &Table, key: &ShardKey, weights: &Weights) -> Option<Parts> {
    let kind = only_column(table, key)?;
    let read = |text: &str, weights: &Weights| {
        let constant = literal(text)?;
        match value::stored(&kind, &constant, weights) {
            Read::Is(value) => Some(value.into_owned()),
            _ => None,
        }
    };
    match &key.method {
        Method::Hash | Method::Year | Method::Month | Method::Day => None,
        Method::Range(parts) => {
            let none = Weights::default();
            let read = |(bound, shard): &(Option<String>, ShardId)| match bound {
                None => Some((None, *shard)),
                Some(bound) => Some((Some(read(bound, &none)?), *shard)),
            };
            Some(Parts::Range(parts.iter().map(read).collect::<Option<_>>()?))
        }
        Method::List(parts, others) => {
            let read = |(member, shard): &(Option<String>, ShardId)| match member {
                None => Some((Value::Null, *shard)),
                Some(member) => Some((read(member, weights)?, *shard)),
            };
            Some(Parts::List(parts.iter().map(read).collect::<Option<_>>()?, *others))
        }
    }
}

/// Where a value is. `None`: no part has room for it.
pub(super) fn locate_value(
    database: &Database,
    table: &Table,
    key: &ShardKey,
    value: &Value<'_>,
    weights: &Weights,
) -> Option<Located> {
    let Some(kind) = only_column(table, key) else {
        return Some(Located::Unsure);
    };
    match &key.method {
        Method::Hash => Some(Located::Unsure),
        Method::Year | Method::Month | Method::Day => Some(locate_period(database, &key.method, value)),
        Method::Range(parts) => {
            for (bound, shard) in parts {
                match bound.as_deref().map_or(Some(Ordering::Less), |bound| against(&kind, value, bound)) {
                    None => return Some(Located::Unsure),
                    Some(Ordering::Less) => return Some(Located::Shard(*shard)),
                    Some(_) => {}
                }
            }
            None
        }
        Method::List(parts, others) => {
            for (member, shard) in parts {
                match is_member(&kind, value, member.as_deref(), weights) {
                    Ok(true) => return Some(Located::Shard(*shard)),
                    Ok(false) => {}
                    Err(located) => return Some(located),
                }
            }
            others.map(Located::Shard)
        }
    }
}

fn is_member(kind: &KeyKind<'_>, value: &Value<'_>, member: Option<&str>, weights: &Weights) -> Result<bool, Located> {
    let Some(member) = member else {
        return Ok(*value == Value::Null);
    };
    let constant = literal(member).ok_or(Located::Unsure)?;
    match value::stored(kind, &constant, weights) {
        Read::Is(member) => Ok(member == *value),
        Read::Needs(collation, chars) => Err(Located::NeedsWeights(collation, chars)),
        Read::Nothing | Read::Unsure => Err(Located::Unsure),
    }
}

/// How a value compares with a bound of the clause.
fn against(kind: &KeyKind<'_>, value: &Value<'_>, bound: &str) -> Option<Ordering> {
    let constant = literal(bound)?;
    match value::stored(kind, &constant, &Weights::default()) {
        Read::Is(bound) => value.compare(&bound),
        _ => None,
    }
}

fn locate_period(database: &Database, method: &Method, value: &Value<'_>) -> Located {
    let mut hasher = KeyHasher::new();
    match value {
        Value::Null => Value::Null.hash(&mut hasher),
        Value::Moment(moment) => Value::Number(Number::integer(i128::from(period(method, *moment)))).hash(&mut hasher),
        _ => return Located::Unsure,
    }
    shard_of(database, hasher)
}

fn period(method: &Method, moment: Moment) -> u32 {
    let year = u32::from(moment.year);
    match method {
        Method::Year => year,
        Method::Month => year * 100 + u32::from(moment.month),
        _ => (year * 100 + u32::from(moment.month)) * 100 + u32::from(moment.day),
    }
}

/// Where the rows are whose shard key lies between these ends. For tables by RANGE, and for those by periods if there are few of them.
pub fn locate_range(database: &Database, table: &Table, low: &Bound, high: &Bound) -> RangeShards {
    let Some(key) = table.shard_key() else {
        return RangeShards::Unsure;
    };
    let Some(kind) = only_column(table, key) else {
        return RangeShards::Unsure;
    };
    let (low, high) = match (end(&kind, low), end(&kind, high)) {
        (RangeEnd::NoRows, _) | (_, RangeEnd::NoRows) => return RangeShards::Shards(Vec::new()),
        (RangeEnd::Unsure, _) | (_, RangeEnd::Unsure) => return RangeShards::Unsure,
        (RangeEnd::At(low), RangeEnd::At(high)) => (low, high),
    };
    let found = match &key.method {
        Method::Range(parts) => parts_between(&kind, parts, low.as_ref(), high.as_ref()),
        Method::Year | Method::Month | Method::Day => periods_between(database, &key.method, low, high),
        Method::Hash | Method::List(..) => None,
    };
    let Some(mut shards) = found else {
        return RangeShards::Unsure;
    };
    shards.sort_unstable();
    shards.dedup();
    RangeShards::Shards(shards)
}

/// An end, read: the value and whether it belongs to the range.
enum RangeEnd {
    At(Option<(Value<'static>, bool)>),
    /// Nothing compares with it: NULL.
    NoRows,
    Unsure,
}

fn end(kind: &KeyKind<'_>, bound: &Bound) -> RangeEnd {
    let (constant, including) = match bound {
        Bound::Open => return RangeEnd::At(None),
        Bound::Including(constant) => (constant, true),
        Bound::Excluding(constant) => (constant, false),
    };
    if *constant == Constant::Null {
        return RangeEnd::NoRows;
    }
    // A constant that no value is equal to still lies somewhere: `id < 5.5`, `d < '2024-01-01 00:00:00.5'`.
    if let (KeyKind::Integer { .. }, Constant::Decimal(text)) = (kind, constant) {
        return Number::parse(text)
            .map_or(RangeEnd::Unsure, |number| RangeEnd::At(Some((Value::Number(number), including))));
    }
    if let (KeyKind::Datetime(_), Some(moment)) = (kind, value::moment(constant)) {
        return RangeEnd::At(Some((Value::Moment(moment), including)));
    }
    match value::compared(kind, constant, &Weights::default()) {
        Read::Is(Value::Number(number)) => RangeEnd::At(Some((Value::Number(number), including))),
        Read::Is(Value::Moment(moment)) => RangeEnd::At(Some((Value::Moment(moment), including))),
        Read::Is(Value::Time(time)) => RangeEnd::At(Some((Value::Time(time), including))),
        Read::Is(Value::Bytes(bytes)) => RangeEnd::At(Some((Value::Bytes(bytes.into_owned().into()), including))),
        _ => RangeEnd::Unsure,
    }
}

type Edge<'a> = Option<&'a (Value<'static>, bool)>;

/// The parts that hold values between the ends. `None`: it can't be said.
fn parts_between(
    kind: &KeyKind<'_>,
    parts: &[(Option<String>, ShardId)],
    low: Edge<'_>,
    high: Edge<'_>,
) -> Option<Vec<ShardId>> {
    // BINARY is filled up with zero bytes, which its values here have not.
    if matches!(kind, KeyKind::Binary { .. } | KeyKind::Text { .. }) {
        return None;
    }
    let mut found = Vec::new();
    let mut below_reaches_high = false;
    for (bound, shard) in parts {
        if below_reaches_high {
            break;
        }
        // All of the part is less than its bound.
        let (over_low, over_high) = match bound {
            None => (true, true),
            Some(bound) => {
                let side = |edge: Edge<'_>| match edge {
                    None => Some(None),
                    Some((value, _)) => against(kind, value, bound).map(Some),
                };
                (matches!(side(low)?, None | Some(Ordering::Less)), ends_here(side(high)?, high))
            }
        };
        if over_low {
            found.push(*shard);
        }
        below_reaches_high = over_high;
    }
    Some(found)
}

/// The range ends below a part's bound: all later parts are beyond it.
fn ends_here(side: Option<Ordering>, high: Edge<'_>) -> bool {
    match (side, high) {
        (Some(Ordering::Less), _) => true,
        (Some(Ordering::Equal), Some((_, including))) => !including,
        _ => false,
    }
}

type OwnEdge = Option<(Value<'static>, bool)>;

fn periods_between(database: &Database, method: &Method, low: OwnEdge, high: OwnEdge) -> Option<Vec<ShardId>> {
    let (Some((Value::Moment(low), _)), Some((Value::Moment(high), _))) = (low, high) else {
        return None;
    };
    if low > high {
        return Some(Vec::new());
    }
    // With the zero date, and invalid ones that allow_invalid_dates lets in, periods aren't those of the calendar.
    if low.year == 0 {
        return None;
    }
    let mut shards = Vec::new();
    let mut at = first_of(method, low);
    let last = period(method, high);
    while period(method, at) <= last {
        if shards.len() == MOST_PERIODS {
            return None;
        }
        match locate_period(database, method, &Value::Moment(at)) {
            Located::Shard(shard) => shards.push(shard),
            _ => return None,
        }
        at = next(method, at)?;
    }
    Some(shards)
}

fn first_of(method: &Method, moment: Moment) -> Moment {
    let moment = Moment { micros: 0, ..moment };
    match method {
        Method::Year => Moment { month: 1, day: 1, ..moment },
        Method::Month => Moment { day: 1, ..moment },
        _ => moment,
    }
}

/// The first day of the next period. `None`: beyond the calendar.
fn next(method: &Method, at: Moment) -> Option<Moment> {
    let next = match method {
        Method::Year => Moment { year: at.year + 1, ..at },
        Method::Month if at.month == 12 => Moment { year: at.year + 1, month: 1, ..at },
        Method::Month => Moment { month: at.month + 1, ..at },
        _ => at.next_day(),
    };
    (next.year <= 9999).then_some(next)
}

/// The constant of a literal as clauses keep it: a number, or a text in quotation marks, in which only these are doubled.
pub(crate) fn literal(text: &str) -> Option<Constant> {
    if let Some(body) = text.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\'')) {
        let bytes = body.replace("''", "'").into_bytes();
        return Some(Constant::Text { bytes, collation: "utf8mb4_bin".to_owned(), explicit: false });
    }
    let number = Number::parse(text)?;
    Some(match number.as_integer() {
        Some(value) if !text.contains('.') => Constant::Integer(value),
        _ => Constant::Decimal(text.to_owned()),
    })
}
