//! Which shard a key's value is on.
//!
//! What must always hold: two values that the servers consider equal, as values of the key's column, have one slot, however they are spelt
//! and sent. Where that is uncertain, the answer is [`Located::Unsure`], and never a guess.

mod finder;
mod kind;
mod part;
#[cfg(test)]
mod tests;
mod value;

pub(crate) use kind::KeyKind;
use value::{Read, Value};

use crate::hash::KeyHasher;
use crate::model::Database;
use crate::placement::{Method, ShardId, ShardKey};
use crate::table::Table;
use crate::weights::Weights;

/// A value in a statement, or a parameter's.
#[derive(Debug, Clone, PartialEq)]
pub enum Constant {
    /// NULL.
    Null,
    /// An integer (TRUE and FALSE included).
    Integer(i128),
    /// An exact number with a point, as text: `-12.340`.
    Decimal(String),
    /// An approximate number.
    Float(f64),
    /// Characters, in the encoding of the charset, with the collation that the literal or parameter has.
    Text {
        /// The bytes.
        bytes: Vec<u8>,
        /// The collation; its charset is the bytes' encoding.
        collation: String,
        /// It is a COLLATE clause's, or a column's: stronger than that of a literal.
        explicit: bool,
    },
    /// A binary string: `_binary'…'`, `x'…'`, `b'…'`, a parameter of a BLOB type.
    Binary(Vec<u8>),
    /// A date or a time of a day (`DATE'…'`, `TIMESTAMP'…'`, a binary protocol's parameter): text in the form of the server.
    Temporal(String),
}

/// A value in the only form that equal values of a column have.
pub(crate) type Normal = Value<'static>;

/// Where rows with a value are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Located {
    /// On this shard.
    Shard(ShardId),
    /// Nowhere: nothing is equal to the value.
    Nowhere,
    /// It can't be said: on any shard.
    Unsure,
    /// The weights of these characters of a collation have to be learnt first. There may be no characters: then it is the collation's weight
    /// of a space and its padding that aren't known yet.
    NeedsWeights(String, Vec<char>),
}

/// How values come to the key's columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Equal,
    NullSafe,
    Stored,
}

/// Where the rows are whose shard key is equal (`=`) to these values, one for each of the key's columns. Nothing is equal to NULL.
pub fn locate(database: &Database, table: &Table, values: &[Constant], weights: &Weights) -> Located {
    find(database, table, None, values, weights, Way::Equal)
}

/// The same, where a value of NULL means `IS NULL` or `<=> NULL`. (A key of several columns may have both kinds of conditions; who knows of a
/// `= NULL` among them knows that there are no rows.)
pub fn locate_null_safe(database: &Database, table: &Table, values: &[Constant], weights: &Weights) -> Located {
    find(database, table, None, values, weights, Way::NullSafe)
}

/// Where a row is put whose shard key's columns get these values, which the servers convert to the columns' types. [`Located::Unsure`] where
/// only the server says what becomes of the value, or refuses it; [`Located::Nowhere`] if no part of the table has room for it: that is
/// the servers' error 1526 ([`crate::no_part`]).
pub fn locate_stored(database: &Database, table: &Table, values: &[Constant], weights: &Weights) -> Located {
    find(database, table, None, values, weights, Way::Stored)
}

/// `parts`: the table's clause, if it has been read already.
fn find(
    database: &Database,
    table: &Table,
    parts: Option<&part::Parts>,
    values: &[Constant],
    weights: &Weights,
    way: Way,
) -> Located {
    let Some(key) = table.shard_key().filter(|key| key.columns.len() == values.len()) else {
        return Located::Unsure;
    };
    let mut hasher = KeyHasher::new();
    let mut found = Some(Located::Unsure);
    let mut unsure = None;
    for (column, constant) in key.columns.iter().zip(values) {
        match read(table, *column, constant, weights, way) {
            // Whatever the others are: no row.
            Read::Nothing => return Located::Nowhere,
            Read::Unsure => unsure = Some(Located::Unsure),
            Read::Needs(collation, chars) => unsure = unsure.or(Some(Located::NeedsWeights(collation, chars))),
            Read::Is(value) => match key.method {
                Method::Hash => value.hash(&mut hasher),
                _ => {
                    found = match parts {
                        Some(parts) => parts.locate(&value),
                        None => part::locate_value(database, table, key, &value, weights),
                    }
                }
            },
        }
    }
    match (unsure, &key.method) {
        (Some(unsure), _) => unsure,
        (None, Method::Hash) => shard_of(database, hasher),
        (None, _) => found.unwrap_or(Located::Nowhere),
    }
}

fn shard_of(database: &Database, hasher: KeyHasher) -> Located {
    database.slots.0.get(hasher.slot()).map_or(Located::Unsure, |shard| Located::Shard(*shard))
}

fn read<'a>(table: &Table, column: usize, constant: &'a Constant, weights: &Weights, way: Way) -> Read<'a> {
    let Some(column_of) = table.columns.get(column) else {
        return Read::Unsure;
    };
    let Ok(kind) = KeyKind::of(&column_of.kind) else {
        return Read::Unsure;
    };
    if *constant != Constant::Null {
        return match way {
            Way::Stored => value::stored(&kind, constant, weights),
            _ => value::compared(&kind, constant, weights),
        };
    }
    // `IS NULL` also finds the zero date in columns of dates that can't be NULL, and with sql_auto_is_null the last insert id.
    let odd = !column_of.nullable && matches!(kind, KeyKind::Date | KeyKind::Datetime(_))
        || table.auto_increment == Some(column);
    match way {
        Way::Equal => Read::Nothing,
        Way::NullSafe if odd => Read::Unsure,
        // The server refuses it, or makes a default or the next value of a sequence of it.
        Way::Stored if !column_of.nullable => Read::Unsure,
        _ => Read::Is(Value::Null),
    }
}

pub use finder::{Finder, ranges_are_unsure};
pub use part::{Bound, RangeShards, locate_range};

/// The only column of a key of parts, and its kind.
fn only_column<'a>(table: &'a Table, key: &ShardKey) -> Option<KeyKind<'a>> {
    let [column] = key.columns[..] else {
        return None;
    };
    KeyKind::of(&table.columns.get(column)?.kind).ok()
}

/// The value of a literal of a clause in a column of this type, if the column can hold it exactly; `null` is NULL. `Err`: a collation, and the
/// characters whose weights have to be learnt first.
pub(crate) fn normal(
    column: &crate::table::ColumnType,
    text: &str,
    weights: &Weights,
) -> Result<Option<Normal>, (String, Vec<char>)> {
    if text == "null" {
        return Ok(Some(Value::Null));
    }
    let (Ok(kind), Some(constant)) = (KeyKind::of(column), part::literal(text)) else {
        return Ok(None);
    };
    let same = match (value::stored(&kind, &constant, weights), value::compared(&kind, &constant, weights)) {
        (Read::Needs(collation, chars), _) => return Err((collation, chars)),
        (Read::Is(stored), Read::Is(compared)) if stored == compared => Some(stored.into_owned()),
        _ => None,
    };
    Ok(same)
}
