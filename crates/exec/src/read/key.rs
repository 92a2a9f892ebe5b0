//! Sort keys as bytes: two rows compare as their keys compare byte by byte.
//!
//! A row's key is made once, into a buffer that is used again; merging, grouping, MIN and MAX then only compare bytes.
//! What must always hold: two keys are equal exactly if the server takes the values for equal, and no key is the beginning of another.
//!
//! Each part begins with 0 for NULL or 1; a descending part has all of its bits inverted.
//! * Integers: 0 if negative or 1, then 64 bits.
//! * Approximate numbers: 64 bits whose order is that of the numbers; -0 is 0.
//! * Exact numbers: 0, 1 or 2 for negative, zero and positive, the place of the first digit, the digits, an end; all but the first byte
//!   inverted if negative.
//! * Dates: year to microsecond. Times: the same with a sign.
//! * Strings: each 0 followed by 255, then two 0.
//! * Padded strings: pieces of eight weights continued with spaces, each followed by how what comes behind compares with spaces.

use std::cmp::Ordering;
use std::rc::Rc;

use weir_plan::{Compare, SortKey};
use weir_wire::{Failure, Malformed};

use super::collations::{Space, Weights, space_of};
use super::columns::{Column, ColumnKind};
use super::failure::internal;
use super::row::{Format, Span};

/// How one part of a key is made.
#[derive(Debug, Clone)]
pub(super) struct KeyPart {
    /// The column.
    pub(super) column: usize,
    descending: bool,
    how: How,
    /// Rows say themselves how they compare.
    by_collation: Option<ByCollation>,
}

/// See [`Compare::ByCollation`].
#[derive(Debug, Clone)]
struct ByCollation {
    weight: usize,
    collation: usize,
    weights: Rc<Weights>,
    /// What the first row has said: how weights compare, or that values do.
    said: Option<Option<How>>,
}

#[derive(Debug, Clone, Copy)]
enum How {
    Integer { width: u8, unsigned: bool },
    Digits,
    Decimal,
    Float,
    Double,
    FloatText,
    Date,
    DateText,
    Time,
    TimeText,
    Bytes,
    Padded(Space),
}

/// Weights in a piece of a padded string.
const PIECE: usize = 8;

impl KeyPart {
    /// How the part of `key` is made of rows of these columns.
    ///
    /// # Errors
    /// When there is no such column or collation.
    pub(super) fn new(
        key: &SortKey,
        columns: &[Column],
        format: Format,
        weights: &Rc<Weights>,
    ) -> Result<KeyPart, Failure> {
        let Some(column) = columns.get(key.column) else { return Err(internal("there is no column of a sort key")) };
        let mut by_collation = None;
        let how = match &key.by {
            Compare::Bytes => How::Bytes,
            Compare::Weights { collation } => How::of_weights(weights, collation)?,
            Compare::Value => How::of_values(column.kind, format),
            Compare::ByCollation { weight, collation } => {
                let (weight, collation) = (*weight, *collation);
                by_collation = Some(ByCollation { weight, collation, weights: weights.clone(), said: None });
                How::of_values(column.kind, format)
            }
        };
        Ok(KeyPart { column: key.column, descending: key.descending, how, by_collation })
    }

    /// Appends this part for a row.
    ///
    /// # Errors
    /// When the value is not one of the column's type.
    #[inline]
    pub(super) fn put(&mut self, row: &[u8], spans: &[Span], out: &mut Vec<u8>) -> Result<(), Failure> {
        let field = |column: usize| spans.get(column).and_then(|span| span.of(row));
        let start = out.len();
        match field(self.column) {
            None => out.push(0),
            Some(value) => {
                out.push(1);
                let (how, value) = match &mut self.by_collation {
                    None => (self.how, value),
                    Some(by) => match by.how(field(by.collation))? {
                        Some(how) => (how, field(by.weight).unwrap_or_default()),
                        None => (self.how, value),
                    },
                };
                how.put(value, out).map_err(|error| internal(&error.to_string()))?;
            }
        }
        if self.descending {
            out[start..].iter_mut().for_each(|byte| *byte = !*byte);
        }
        Ok(())
    }
}

/// How many of a row's first fields a key needs.
pub(super) fn reach(key: &SortKey) -> usize {
    let others = match key.by {
        Compare::ByCollation { weight, collation } => weight.max(collation),
        _ => 0,
    };
    key.column.max(others) + 1
}

impl ByCollation {
    /// How weights compare, if they do, as the first row says it.
    fn how(&mut self, collation: Option<&[u8]>) -> Result<Option<How>, Failure> {
        if let Some(said) = self.said {
            return Ok(said);
        }
        let said = match collation {
            None | Some(b"binary") => None,
            Some(name) => Some(How::of_weights(&self.weights, &String::from_utf8_lossy(name))?),
        };
        self.said = Some(said);
        Ok(said)
    }
}

/// Makes a row's key, in place of what `out` has.
///
/// # Errors
/// As [`KeyPart::put`].
#[inline]
pub(super) fn encode(parts: &mut [KeyPart], row: &[u8], spans: &[Span], out: &mut Vec<u8>) -> Result<(), Failure> {
    out.clear();
    parts.iter_mut().try_for_each(|part| part.put(row, spans, out))
}

impl How {
    fn of_values(kind: ColumnKind, format: Format) -> How {
        let text = format == Format::Text;
        match kind {
            ColumnKind::Integer { .. } if text => How::Digits,
            ColumnKind::Integer { width, unsigned } => How::Integer { width, unsigned },
            ColumnKind::Decimal => How::Decimal,
            ColumnKind::Float | ColumnKind::Double if text => How::FloatText,
            ColumnKind::Float => How::Float,
            ColumnKind::Double => How::Double,
            ColumnKind::Date if text => How::DateText,
            ColumnKind::Date => How::Date,
            ColumnKind::Time if text => How::TimeText,
            ColumnKind::Time => How::Time,
            ColumnKind::Bytes => How::Bytes,
        }
    }

    fn of_weights(weights: &Weights, collation: &str) -> Result<How, Failure> {
        Ok(space_of(weights, collation)?.map_or(How::Bytes, How::Padded))
    }
}

impl How {
    #[inline]
    fn put(self, value: &[u8], out: &mut Vec<u8>) -> Result<(), Malformed> {
        match self {
            How::Digits => put_integer(parse_integer(value)?, out),
            How::Integer { width, unsigned } => put_integer(binary_integer(value, width, unsigned)?, out),
            How::Decimal => put_decimal(value, out)?,
            How::FloatText => put_float(parse_float(value)?, out),
            How::Float => put_float(f32::from_le_bytes(array(value)?).into(), out),
            How::Double => put_float(f64::from_le_bytes(array(value)?), out),
            How::DateText => put_date_text(value, out)?,
            How::Date => put_date(value, out)?,
            How::TimeText => put_time_text(value, out)?,
            How::Time => put_time(value, out)?,
            How::Bytes => put_bytes(value, out),
            How::Padded(space) => put_padded(value, space.weight(), out),
        }
        Ok(())
    }
}

fn array<const N: usize>(value: &[u8]) -> Result<[u8; N], Malformed> {
    value.try_into().map_err(|_| Malformed("a number's length"))
}

/// An integer of a binary row.
///
/// # Errors
/// When it has another length.
pub(super) fn binary_integer(value: &[u8], width: u8, unsigned: bool) -> Result<i128, Malformed> {
    Ok(match (width, unsigned) {
        (1, false) => i8::from_le_bytes(array(value)?).into(),
        (1, true) => u8::from_le_bytes(array(value)?).into(),
        (2, false) => i16::from_le_bytes(array(value)?).into(),
        (2, true) => u16::from_le_bytes(array(value)?).into(),
        (4, false) => i32::from_le_bytes(array(value)?).into(),
        (4, true) => u32::from_le_bytes(array(value)?).into(),
        (_, false) => i64::from_le_bytes(array(value)?).into(),
        (_, true) => u64::from_le_bytes(array(value)?).into(),
    })
}

/// An integer of a text row.
///
/// # Errors
/// When it is none, or has more than 64 bits.
pub(super) fn parse_integer(value: &[u8]) -> Result<i128, Malformed> {
    let (negative, digits) = match value {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    // Not with `u64::from_str`: these are some of the merge's hottest lines.
    let mut number = 0_u64;
    for &digit in digits {
        let digit = digit.wrapping_sub(b'0');
        number =
            (digit < 10).then(|| number.checked_mul(10)?.checked_add(u64::from(digit))).flatten().ok_or(INTEGER)?;
    }
    if digits.is_empty() {
        return Err(INTEGER);
    }
    Ok(if negative { -i128::from(number) } else { i128::from(number) })
}

const INTEGER: Malformed = Malformed("an integer");

#[inline]
fn put_integer(value: i128, out: &mut Vec<u8>) {
    let mut bytes = [0; 9];
    bytes[0] = u8::from(value >= 0);
    // Of a negative one the low 64 bits are its two's complement, whose order is that of the numbers.
    bytes[1..].copy_from_slice(&(value as u64).to_be_bytes());
    out.extend_from_slice(&bytes);
}

/// An approximate number of a text row.
///
/// # Errors
/// When it is none.
pub(super) fn parse_float(value: &[u8]) -> Result<f64, Malformed> {
    let number = std::str::from_utf8(value).ok().and_then(|text| text.parse().ok());
    number.ok_or(Malformed("an approximate number"))
}

fn put_float(value: f64, out: &mut Vec<u8>) {
    let value = if value == 0.0 { 0.0 } else { value };
    let bits = value.to_bits();
    let ordered = if value.is_sign_negative() { !bits } else { bits | 1 << 63 };
    out.extend_from_slice(&ordered.to_be_bytes());
}

fn put_decimal(value: &[u8], out: &mut Vec<u8>) -> Result<(), Malformed> {
    let (negative, digits) = match value {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    let point = memchr::memchr(b'.', digits);
    let (whole, fraction) = match point {
        Some(at) => (&digits[..at], &digits[at + 1..]),
        None => (digits, &b""[..]),
    };
    if !whole.iter().chain(fraction).all(u8::is_ascii_digit) || whole.is_empty() && fraction.is_empty() {
        return Err(Malformed("a decimal"));
    }
    let leading = |digits: &[u8]| digits.iter().take_while(|digit| **digit == b'0').count();
    let zeros = leading(whole);
    // The number is 0.d1d2d3... times ten to this power.
    let (whole, fraction, power) = if zeros < whole.len() {
        (&whole[zeros..], fraction, (whole.len() - zeros) as i32)
    } else {
        let zeros = leading(fraction);
        (&b""[..], &fraction[zeros..], -(zeros as i32))
    };
    let last = |digits: &[u8]| digits.iter().rposition(|digit| *digit != b'0').map_or(0, |at| at + 1);
    let fraction = &fraction[..last(fraction)];
    let whole = if fraction.is_empty() { &whole[..last(whole)] } else { whole };
    if whole.is_empty() && fraction.is_empty() {
        out.push(1);
        return Ok(());
    }
    out.push(if negative { 0 } else { 2 });
    let start = out.len();
    out.extend_from_slice(&(power as u32 ^ 1 << 31).to_be_bytes());
    out.extend_from_slice(whole);
    out.extend_from_slice(fraction);
    // Less than any digit.
    out.push(0);
    if negative {
        out[start..].iter_mut().for_each(|byte| *byte = !*byte);
    }
    Ok(())
}

const DATE: Malformed = Malformed("a date or a time");

/// Splits off digits up to one of another kind, which is taken too.
fn number<'a>(text: &mut &'a [u8]) -> Result<(u32, &'a [u8]), Malformed> {
    let end = text.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    *text = rest.get(1..).unwrap_or_default();
    if digits.is_empty() || digits.len() > 9 {
        return Err(DATE);
    }
    Ok((digits.iter().fold(0, |number, digit| number * 10 + u32::from(digit - b'0')), digits))
}

/// The microseconds that a fraction's digits mean.
fn microseconds(text: &mut &[u8]) -> Result<u32, Malformed> {
    if text.is_empty() {
        return Ok(0);
    }
    let (value, digits) = number(text)?;
    let missing = 6_usize.checked_sub(digits.len()).ok_or(DATE)?;
    Ok(value * 10_u32.pow(missing as u32))
}

/// Packs fields from the year to the microsecond.
fn pack_date(date: [u32; 3], clock: [u32; 3], micro: u32, out: &mut Vec<u8>) {
    let [year, month, day] = date;
    let [hour, minute, second] = clock;
    out.extend_from_slice(&(year as u16).to_be_bytes());
    out.extend_from_slice(&[month as u8, day as u8, hour as u8, minute as u8, second as u8]);
    out.extend_from_slice(&micro.to_be_bytes());
}

fn put_date_text(mut text: &[u8], out: &mut Vec<u8>) -> Result<(), Malformed> {
    let mut fields = [0; 6];
    for (at, field) in fields.iter_mut().enumerate() {
        if at == 3 && text.is_empty() {
            break;
        }
        *field = number(&mut text)?.0;
    }
    let [year, month, day, hour, minute, second] = fields;
    let micro = microseconds(&mut text)?;
    pack_date([year, month, day], [hour, minute, second], micro, out);
    Ok(())
}

fn put_date(value: &[u8], out: &mut Vec<u8>) -> Result<(), Malformed> {
    let mut fields = [0; 11];
    if !matches!(value.len(), 0 | 4 | 7 | 11) {
        return Err(DATE);
    }
    fields[..value.len()].copy_from_slice(value);
    let [y0, y1, month, day, hour, minute, second, m0, m1, m2, m3] = fields;
    let year = u32::from(u16::from_le_bytes([y0, y1]));
    let micro = u32::from_le_bytes([m0, m1, m2, m3]);
    let wide = |fields: [u8; 3]| fields.map(u32::from);
    let [hour, minute, second] = wide([hour, minute, second]);
    pack_date([year, month.into(), day.into()], [hour, minute, second], micro, out);
    Ok(())
}

/// A span of time, by its microseconds.
fn pack_time(negative: bool, hours: u64, minute: u64, second: u64, micro: u64, out: &mut Vec<u8>) {
    let span = ((hours * 60 + minute) * 60 + second) * 1_000_000 + micro;
    put_integer(if negative { -i128::from(span) } else { i128::from(span) }, out);
}

fn put_time_text(text: &[u8], out: &mut Vec<u8>) -> Result<(), Malformed> {
    let (negative, mut text) = match text {
        [b'-', text @ ..] => (true, text),
        text => (false, text),
    };
    let mut field = || number(&mut text).map(|(value, _)| u64::from(value));
    let (hours, minute, second) = (field()?, field()?, field()?);
    let micro = microseconds(&mut text)?;
    pack_time(negative, hours, minute, second, micro.into(), out);
    Ok(())
}

fn put_time(value: &[u8], out: &mut Vec<u8>) -> Result<(), Malformed> {
    let mut fields = [0; 12];
    if !matches!(value.len(), 0 | 8 | 12) {
        return Err(DATE);
    }
    fields[..value.len()].copy_from_slice(value);
    let [negative, d0, d1, d2, d3, hour, minute, second, m0, m1, m2, m3] = fields;
    let hours = u64::from(u32::from_le_bytes([d0, d1, d2, d3])) * 24 + u64::from(hour);
    let micro = u32::from_le_bytes([m0, m1, m2, m3]);
    pack_time(negative != 0, hours, minute.into(), second.into(), micro.into(), out);
    Ok(())
}

fn put_bytes(mut value: &[u8], out: &mut Vec<u8>) {
    while let Some(at) = memchr::memchr(0, value) {
        out.extend_from_slice(&value[..=at]);
        out.push(0xff);
        value = &value[at + 1..];
    }
    out.extend_from_slice(value);
    out.extend_from_slice(&[0, 0]);
}

/// Compares with spaces, as if the value were continued with them.
fn against_spaces(value: &[u8], space: &[u8]) -> Ordering {
    // A last piece that is cut short is continued by the rest of a space.
    value
        .iter()
        .zip(space.iter().cycle())
        .map(|(byte, space)| byte.cmp(space))
        .find(|o| o.is_ne())
        .unwrap_or(Ordering::Equal)
}

fn put_padded(mut value: &[u8], space: &[u8], out: &mut Vec<u8>) {
    let piece = PIECE * space.len();
    loop {
        let (head, rest) = value.split_at(piece.min(value.len()));
        out.extend_from_slice(head);
        out.extend(space.iter().cycle().skip(head.len() % space.len()).take(piece - head.len()));
        let behind = against_spaces(rest, space);
        out.push(match behind {
            Ordering::Less => 1,
            Ordering::Equal => 2,
            Ordering::Greater => 3,
        });
        if behind.is_eq() {
            return;
        }
        value = rest;
    }
}

#[cfg(test)]
mod tests;
