//! The normal form of a column's values: equal values have the same form.
//!
//! What must always hold: see [`crate::key`]. There are two conversions: of a constant that is *compared* with a column, by the servers'
//! rules of comparison, and of one that is *stored* into it, to the column's type.

use std::borrow::Cow;
use std::cmp::Ordering;
use weir_wire::charset::is_wide;

use super::Constant;
use super::kind::KeyKind;
use crate::charset::{Charset, narrowed};
use crate::hash::KeyHasher;
use crate::moment::{self, Moment};
use crate::number::Number;
use crate::weights::Weights;

/// Integers up to this are exact as approximate numbers.
const EXACT: i128 = 1 << 53;

/// A value of a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Value<'a> {
    Null,
    Number(Number),
    Moment(Moment),
    /// Microseconds.
    Time(i64),
    Bytes(Cow<'a, [u8]>),
    /// Collation weights, of this collation.
    Weights(Vec<u8>),
}

/// What a constant is as a column's value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Read<'a> {
    Is(Value<'a>),
    /// No value of the column is equal to it.
    Nothing,
    Unsure,
    /// These characters' weights in this collation aren't known.
    Needs(String, Vec<char>),
}

impl<'a> Read<'a> {
    fn into_owned(self) -> Read<'static> {
        match self {
            Read::Is(value) => Read::Is(value.into_owned()),
            Read::Nothing => Read::Nothing,
            Read::Unsure => Read::Unsure,
            Read::Needs(collation, chars) => Read::Needs(collation, chars),
        }
    }

    fn number(number: Number) -> Read<'a> {
        Read::Is(Value::Number(number))
    }

    fn maybe(value: Option<Value<'a>>) -> Read<'a> {
        value.map_or(Read::Unsure, Read::Is)
    }
}

impl Value<'_> {
    pub(crate) fn into_owned(self) -> Value<'static> {
        match self {
            Value::Null => Value::Null,
            Value::Number(number) => Value::Number(number),
            Value::Moment(moment) => Value::Moment(moment),
            Value::Time(time) => Value::Time(time),
            Value::Bytes(bytes) => Value::Bytes(Cow::Owned(bytes.into_owned())),
            Value::Weights(weights) => Value::Weights(weights),
        }
    }

    /// Gives a hash the value. The encoding is part of what must never change: a tag, the value, and its length where that varies.
    pub(crate) fn hash(&self, hasher: &mut KeyHasher) {
        let mut bytes = |tag: u8, bytes: &[u8]| {
            hasher.write(&[tag]);
            hasher.write(bytes);
            hasher.write(&(bytes.len() as u32).to_le_bytes());
        };
        match self {
            Value::Null => hasher.write(&[0]),
            Value::Number(Number::Integer { negative, magnitude }) => {
                hasher.write(&[1 + u8::from(*negative)]);
                hasher.write(&magnitude.to_le_bytes());
            }
            Value::Number(Number::Decimal { negative, whole, fraction }) => {
                bytes(3 + u8::from(*negative), whole.as_bytes());
                bytes(b'.', fraction.as_bytes());
            }
            Value::Moment(moment) => {
                hasher.write(&[5]);
                hasher.write(&moment.packed().to_le_bytes());
            }
            Value::Time(micros) => {
                hasher.write(&[6]);
                hasher.write(&micros.to_le_bytes());
            }
            Value::Bytes(value) => bytes(7, value),
            Value::Weights(value) => bytes(8, value),
        }
    }

    /// The order of two values of one column; NULL is the least. Of weights: only whether they are equal means something.
    pub(crate) fn compare(&self, other: &Value<'_>) -> Option<Ordering> {
        match (self, other) {
            (Value::Null, Value::Null) => Some(Ordering::Equal),
            (Value::Null, _) => Some(Ordering::Less),
            (_, Value::Null) => Some(Ordering::Greater),
            (Value::Number(one), Value::Number(two)) => Some(one.compare(two)),
            (Value::Moment(one), Value::Moment(two)) => Some(one.cmp(two)),
            (Value::Time(one), Value::Time(two)) => Some(one.cmp(two)),
            (Value::Bytes(one), Value::Bytes(two)) => Some(one.cmp(two)),
            _ => None,
        }
    }
}

/// A constant that is compared with a column of this kind. NULL is itself: what is made of it is the caller's matter.
pub(crate) fn compared<'a>(kind: &KeyKind<'_>, constant: &'a Constant, weights: &Weights) -> Read<'a> {
    if *constant == Constant::Null {
        return Read::Is(Value::Null);
    }
    if let Some(narrow) = narrow(kind, constant) {
        return compared(kind, &narrow, weights).into_owned();
    }
    match kind {
        KeyKind::Integer { .. } => compared_with_integers(constant),
        KeyKind::Bits(_) if matches!(constant, Constant::Text { .. }) => Read::Unsure,
        KeyKind::Bits(_) => compared_with_integers(constant),
        KeyKind::Decimal { precision, .. } => compared_with_decimals(*precision, constant),
        KeyKind::Year => year(constant),
        KeyKind::Date => match moment(constant) {
            Some(moment) if moment.micros == 0 => Read::Is(Value::Moment(moment)),
            _ => Read::Unsure,
        },
        // No value of the column is equal to one with more digits, in principle; but servers find some: MySQL finds 00:00:00 for
        // '-00:00:00.123456'.
        KeyKind::Datetime(scale) => {
            Read::maybe(moment(constant).filter(|moment| fits(moment.micros, *scale)).map(Value::Moment))
        }
        KeyKind::Time(scale) => {
            let exact = |time: &i64| fits(time.unsigned_abs(), *scale) && (*time >= 0 || time % 1_000_000 == 0);
            Read::maybe(time(constant).filter(exact).map(Value::Time))
        }
        KeyKind::Text { charset, collation, fixed, .. } => match constant {
            Constant::Text { bytes, collation: theirs, explicit } if !explicit || theirs == collation => {
                read_text(*charset, collation, *fixed, Charset::of_collation(theirs), bytes, weights).1
            }
            Constant::Binary(bytes) => read_text(*charset, collation, *fixed, Some(*charset), bytes, weights).1,
            _ => Read::Unsure,
        },
        KeyKind::Binary { fixed, .. } => match constant {
            Constant::Text { explicit: true, collation, .. } if collation != "binary" => Read::Unsure,
            Constant::Text { bytes, collation, .. } if has_known_bytes(collation) => {
                Read::Is(bytes_value(*fixed, bytes))
            }
            Constant::Binary(bytes) => Read::Is(bytes_value(*fixed, bytes)),
            _ => Read::Unsure,
        },
    }
}

/// A constant that is stored into a column of this kind. [`Read::Unsure`] also for all that the servers would refuse or warn of.
pub(crate) fn stored<'a>(kind: &KeyKind<'_>, constant: &'a Constant, weights: &Weights) -> Read<'a> {
    if *constant == Constant::Null {
        return Read::Is(Value::Null);
    }
    if let Some(narrow) = narrow(kind, constant) {
        return stored(kind, &narrow, weights).into_owned();
    }
    match kind {
        KeyKind::Integer { least, most } => match stored_integer(constant) {
            Some(value) if (*least..=*most).contains(&value) => Read::number(Number::integer(value)),
            _ => Read::Unsure,
        },
        // Texts are bits to it, and what else is no integer is seldom meant.
        KeyKind::Bits(bits) => match constant {
            Constant::Integer(value) if *value >= 0 && *value < 1 << bits => Read::number(Number::integer(*value)),
            _ => Read::Unsure,
        },
        KeyKind::Decimal { precision, scale, unsigned } => {
            let Some(number) = number(constant).map(|number| number.rounded(*scale)) else {
                return Read::Unsure;
            };
            match number.digits().0 <= precision.saturating_sub(*scale) && !(*unsigned && number.is_negative()) {
                true => Read::number(number),
                false => Read::Unsure,
            }
        }
        KeyKind::Year => year(constant),
        KeyKind::Date => compared(kind, constant, weights),
        KeyKind::Datetime(scale) => match moment(constant) {
            Some(moment) if fits(moment.micros, *scale) => Read::Is(Value::Moment(moment)),
            _ => Read::Unsure,
        },
        KeyKind::Time(scale) => match time(constant) {
            Some(time) if fits(time.unsigned_abs(), *scale) => Read::Is(Value::Time(time)),
            _ => Read::Unsure,
        },
        KeyKind::Text { charset, collation, fixed, length } => {
            let theirs = match constant {
                // Bytes become characters of the column's charset as they are.
                Constant::Text { collation, .. } if collation == "binary" => Some(*charset),
                Constant::Binary(_) => Some(*charset),
                Constant::Text { collation, .. } => Charset::of_collation(collation),
                _ => Some(Charset::Ascii),
            };
            let Some(text) = text_of(constant) else { return Read::Unsure };
            let (chars, read) = read_text(*charset, collation, *fixed, theirs, &text, weights);
            if chars > *length { Read::Unsure } else { read }
        }
        KeyKind::Binary { fixed, length } => match (constant, text_of(constant)) {
            (Constant::Text { collation, .. }, _) if !has_known_bytes(collation) => Read::Unsure,
            (_, Some(bytes)) if bytes.len() <= *length => match bytes {
                Cow::Borrowed(bytes) => Read::Is(bytes_value(*fixed, bytes)),
                Cow::Owned(bytes) => Read::Is(Value::Bytes(Cow::Owned(bytes))),
            },
            _ => Read::Unsure,
        },
    }
}

/// A literal of a wide character set as characters, where these count: servers convert it to the column's character set, or read a number or
/// a date in it.
fn narrow(kind: &KeyKind<'_>, constant: &Constant) -> Option<Constant> {
    let Constant::Text { bytes, collation, explicit: false } = constant else { return None };
    if !is_wide(collation) || matches!(kind, KeyKind::Binary { .. } | KeyKind::Bits(_)) {
        return None;
    }
    let bytes = narrowed(bytes, collation)?.into_bytes();
    Some(Constant::Text { bytes, collation: "utf8mb4_bin".to_owned(), explicit: false })
}

fn has_known_bytes(collation: &str) -> bool {
    Charset::of_collation(collation).is_some() || is_wide(collation)
}

/// Approximate numbers and the numbers in texts are compared as approximate numbers, which integers below 2^53 are exactly.
fn compared_with_integers<'a>(constant: &'a Constant) -> Read<'a> {
    match constant {
        Constant::Integer(value) => Read::number(Number::integer(*value)),
        Constant::Decimal(text) => match Number::parse(text) {
            Some(number) if number.as_integer().is_some() => Read::number(number),
            Some(_) => Read::Nothing,
            None => Read::Unsure,
        },
        Constant::Float(value) if value.abs() < EXACT as f64 => match value.fract() == 0.0 {
            true => Read::number(Number::integer(*value as i128)),
            false => Read::Nothing,
        },
        Constant::Text { .. } => match number(constant).and_then(|number| number.as_integer()) {
            Some(value) if value.abs() < EXACT => Read::number(Number::integer(value)),
            _ => Read::Unsure,
        },
        _ => Read::Unsure,
    }
}

/// Decimals of up to 15 digits are told apart by approximate numbers too.
fn compared_with_decimals<'a>(precision: usize, constant: &'a Constant) -> Read<'a> {
    match (constant, number(constant)) {
        (Constant::Integer(_) | Constant::Decimal(_), Some(number)) => Read::number(number),
        (Constant::Text { .. } | Constant::Float(_), Some(number)) => {
            let (whole, fraction) = number.digits();
            if precision <= 15 && whole + fraction <= 15 { Read::number(number) } else { Read::Unsure }
        }
        _ => Read::Unsure,
    }
}

/// A plain number: an integer, a decimal, an integral approximate number below 2^53, a text that is nothing but a number without an exponent.
fn number(constant: &Constant) -> Option<Number> {
    match constant {
        Constant::Integer(value) => Some(Number::integer(*value)),
        Constant::Decimal(text) => Number::parse(text),
        Constant::Float(value) if value.abs() < EXACT as f64 && value.fract() == 0.0 => {
            Some(Number::integer(*value as i128))
        }
        Constant::Text { .. } => Number::parse(plain(constant)?),
        _ => None,
    }
}

/// What an integer column gets; not yet whether it has room for it.
fn stored_integer(constant: &Constant) -> Option<i128> {
    match constant {
        Constant::Decimal(text) => Number::parse(text)?.rounded(0).as_integer(),
        // Halves of approximate numbers are rounded to even by one kind of server and away from zero by the other.
        Constant::Float(value) if value.abs() < EXACT as f64 && value.fract().abs() != 0.5 => {
            Some(value.round() as i128)
        }
        Constant::Text { .. } => {
            let text = plain(constant)?;
            (!text.contains('.')).then(|| Number::parse(text)).flatten()?.as_integer()
        }
        Constant::Integer(value) => Some(*value),
        _ => None,
    }
}

/// A year of four digits. Those of one or two have meanings of their own.
fn year<'a>(constant: &Constant) -> Read<'a> {
    match stored_integer(constant) {
        Some(value)
            if (1901..=2155).contains(&value) && !matches!(constant, Constant::Decimal(_) | Constant::Float(_)) =>
        {
            Read::number(Number::integer(value))
        }
        _ => Read::Unsure,
    }
}

pub(super) fn moment(constant: &Constant) -> Option<Moment> {
    match constant {
        Constant::Temporal(text) => Moment::parse(text),
        Constant::Text { .. } => Moment::parse(plain(constant)?),
        _ => None,
    }
}

fn time(constant: &Constant) -> Option<i64> {
    match constant {
        Constant::Temporal(text) => moment::time(text),
        Constant::Text { .. } => moment::time(plain(constant)?),
        _ => None,
    }
}

/// The micros have no digits after this many of a second's fraction: nothing is rounded.
fn fits(micros: u64, scale: usize) -> bool {
    micros.is_multiple_of(10u64.pow(6 - scale.min(6) as u32))
}

/// A text of ASCII characters, in a character set in which these have their own bytes.
fn plain(constant: &Constant) -> Option<&str> {
    match constant {
        Constant::Text { bytes, collation, .. } if Charset::of_collation(collation).is_some() && bytes.is_ascii() => {
            std::str::from_utf8(bytes).ok()
        }
        _ => None,
    }
}

/// What a column of texts gets.
fn text_of(constant: &Constant) -> Option<Cow<'_, [u8]>> {
    match constant {
        Constant::Text { bytes, .. } | Constant::Binary(bytes) => Some(Cow::Borrowed(bytes)),
        Constant::Integer(value) => Some(Cow::Owned(value.to_string().into_bytes())),
        _ => None,
    }
}

/// BINARY is filled up with zero bytes: values that differ in these only may meet.
fn bytes_value(fixed: bool, bytes: &[u8]) -> Value<'_> {
    let zeros = if fixed { bytes.iter().rev().take_while(|byte| **byte == 0).count() } else { 0 };
    Value::Bytes(Cow::Borrowed(&bytes[..bytes.len() - zeros]))
}

/// How many characters the text has, and what it is. CHAR loses its trailing spaces, unless `PAD_CHAR_TO_FULL_LENGTH` puts them back: with and
/// without them it is one value here.
fn read_text<'a>(
    charset: Charset,
    collation: &str,
    fixed: bool,
    theirs: Option<Charset>,
    bytes: &[u8],
    weights: &Weights,
) -> (usize, Read<'a>) {
    // A text of the binary character set is compared byte by byte, in the column's own encoding.
    let theirs = theirs.map(|theirs| if theirs == Charset::Binary { charset } else { theirs });
    let Some(text) = theirs.and_then(|theirs| theirs.decode(bytes)).filter(|text| charset.can_hold(text)) else {
        return (0, Read::Unsure);
    };
    let mut encoded = Vec::with_capacity(text.len() * 2);
    match weights.encode(collation, &text, fixed, &mut encoded) {
        Ok(()) => (text.chars().count(), Read::Is(Value::Weights(encoded))),
        Err(chars) => (text.chars().count(), Read::Needs(collation.to_owned(), chars)),
    }
}
