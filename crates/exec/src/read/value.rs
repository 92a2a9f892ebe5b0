//! Values of folded rows: read from the shards' fields, written in the client's format.
//!
//! What must always hold: a value that is not computed keeps the bytes in which it arrived.

use weir_wire::Failure;
use weir_wire::codec::put_lenenc_bytes;

use super::columns::{Column, ColumnKind};
use super::decimal::Decimal;
use super::failure::internal;
use super::float;
use super::key::{binary_integer, parse_float, parse_integer};
use super::row::Format;

/// A value of a folded row.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Null,
    /// A field's bytes, of a column of the same kind.
    Field(Vec<u8>),
    Integer(i128),
    Decimal(Decimal),
    /// A quotient, whose digits are settled.
    Digits(Vec<u8>),
    Float(f64),
    Text(Vec<u8>),
}

fn malformed(error: weir_wire::Malformed) -> Failure {
    internal(&error.to_string())
}

/// Reads a field as an integer.
pub(crate) fn integer(column: &Column, format: Format, field: &[u8]) -> Result<i128, Failure> {
    match (column.kind, format) {
        (ColumnKind::Integer { width, unsigned }, Format::Binary) => binary_integer(field, width, unsigned),
        _ => parse_integer(field),
    }
    .map_err(malformed)
}

/// Adds a field to an exact sum.
pub(super) fn add(sum: &mut Decimal, column: &Column, format: Format, field: &[u8]) -> Result<(), Failure> {
    match column.kind {
        ColumnKind::Integer { .. } => sum.add_integer(integer(column, format, field)?),
        ColumnKind::Decimal => sum.add(field).map_err(malformed)?,
        other => return Err(internal(&format!("{other:?} has no exact sum"))),
    }
    Ok(())
}

/// Reads a field as an approximate number.
pub(crate) fn float(column: &Column, format: Format, field: &[u8]) -> Result<f64, Failure> {
    let cut = || internal("an approximate number is cut short");
    match (column.kind, format) {
        (ColumnKind::Float, Format::Binary) => Ok(f32::from_le_bytes(field.try_into().map_err(|_| cut())?).into()),
        (ColumnKind::Double, Format::Binary) => Ok(f64::from_le_bytes(field.try_into().map_err(|_| cut())?)),
        (ColumnKind::Integer { .. }, Format::Binary) => Ok(integer(column, format, field)? as f64),
        _ => parse_float(field).map_err(malformed),
    }
}

impl Value {
    /// Appends the value to a text row of this column's type.
    fn put_text(&self, column: &Column, out: &mut Vec<u8>) {
        let decimals = usize::from(column.decimals);
        match self {
            Value::Null => out.push(0xfb),
            Value::Field(bytes) | Value::Digits(bytes) | Value::Text(bytes) => put_lenenc_bytes(out, bytes),
            Value::Integer(number) if column.kind == ColumnKind::Decimal && decimals > 0 => {
                put_lenenc_bytes(out, &exact(*number).text(decimals));
            }
            Value::Integer(number) => put_lenenc_bytes(out, number.to_string().as_bytes()),
            Value::Decimal(number) => {
                let decimals = if column.kind == ColumnKind::Decimal { decimals } else { number.scale() };
                put_lenenc_bytes(out, &number.text(decimals));
            }
            Value::Float(number) => {
                let decimals = (!column.any_decimals()).then_some(decimals);
                put_lenenc_bytes(out, float::text(*number, decimals).as_bytes());
            }
        }
    }

    /// Appends the value to a binary row of this column's type; NULL is none.
    fn put_binary(&self, column: &Column, out: &mut Vec<u8>) -> Result<(), Failure> {
        match (column.kind, self) {
            (_, Value::Null) => {}
            (ColumnKind::Integer { .. } | ColumnKind::Float | ColumnKind::Double, Value::Field(bytes)) => {
                out.extend_from_slice(bytes)
            }
            (ColumnKind::Integer { width, .. }, _) => {
                let number = self.as_integer()?;
                out.extend_from_slice(&number.to_le_bytes()[..usize::from(width)]);
            }
            (ColumnKind::Float, _) => out.extend_from_slice(&(self.as_float()? as f32).to_le_bytes()),
            (ColumnKind::Double, _) => out.extend_from_slice(&self.as_float()?.to_le_bytes()),
            (ColumnKind::Date | ColumnKind::Time, Value::Field(bytes)) => put_lenenc_bytes(out, bytes),
            (ColumnKind::Date | ColumnKind::Time, _) => return Err(internal("a date can't be computed")),
            // Digits and strings are the same in both formats.
            (ColumnKind::Decimal | ColumnKind::Bytes, _) => self.put_text(column, out),
        }
        Ok(())
    }

    fn as_integer(&self) -> Result<i128, Failure> {
        match self {
            Value::Integer(number) => Ok(*number),
            Value::Decimal(number) => parse_integer(&number.text(0)).map_err(malformed),
            Value::Digits(bytes) | Value::Text(bytes) => parse_integer(bytes).map_err(malformed),
            Value::Null | Value::Field(_) | Value::Float(_) => Err(internal("a value is no integer")),
        }
    }

    fn as_float(&self) -> Result<f64, Failure> {
        match self {
            Value::Float(number) => Ok(*number),
            Value::Integer(number) => Ok(*number as f64),
            Value::Decimal(number) => Ok(number.float()),
            Value::Digits(bytes) | Value::Text(bytes) => parse_float(bytes).map_err(malformed),
            Value::Null | Value::Field(_) => Err(internal("a value is no number")),
        }
    }

    /// Compares a number with an exact one; `None` if it is NULL.
    pub(super) fn compare(
        &self,
        column: &Column,
        format: Format,
        other: &Decimal,
    ) -> Result<Option<std::cmp::Ordering>, Failure> {
        let exactly = |own: &Decimal| Ok(own.partial_cmp(other));
        match self {
            Value::Null => Ok(None),
            Value::Float(number) => Ok(number.partial_cmp(&other.float())),
            Value::Decimal(number) => exactly(number),
            Value::Integer(number) => exactly(&exact(*number)),
            Value::Digits(digits) => exactly(&Decimal::parse(digits).map_err(malformed)?),
            Value::Field(field) if matches!(column.kind, ColumnKind::Float | ColumnKind::Double) => {
                Ok(float(column, format, field)?.partial_cmp(&other.float()))
            }
            Value::Field(field) => {
                let mut sum = Decimal::default();
                add(&mut sum, column, format, field)?;
                exactly(&sum)
            }
            Value::Text(_) => Err(internal("a text is compared with a number")),
        }
    }
}

fn exact(number: i128) -> Decimal {
    let mut sum = Decimal::default();
    sum.add_integer(number);
    sum
}

/// Appends a row of these values.
///
/// # Errors
/// When a value is not one of its column's type.
pub(super) fn put_row(values: &[Value], columns: &[Column], format: Format, out: &mut Vec<u8>) -> Result<(), Failure> {
    match format {
        Format::Text => values.iter().zip(columns).for_each(|(value, column)| value.put_text(column, out)),
        Format::Binary => {
            let bitmap = out.len() + 1;
            out.resize(bitmap + (values.len() + 9) / 8, 0);
            for (at, (value, column)) in values.iter().zip(columns).enumerate() {
                if *value == Value::Null {
                    out[bitmap + (at + 2) / 8] |= 1 << ((at + 2) % 8);
                }
                value.put_binary(column, out)?;
            }
        }
    }
    Ok(())
}
