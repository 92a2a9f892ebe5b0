//! Converts values of one column to another, as a server does for the columns of a UNION.
//!
//! What must always hold: the result is what the server would produce, byte for byte; where that is uncertain, the query is refused.

use weir_wire::Failure;
use weir_wire::error::codes;

use super::columns::{Column, ColumnKind, types};
use super::decimal::Decimal;
use super::failure::internal;
use super::row::Format;
use super::value::{Value, float, integer};

/// What becomes of a column's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Conversion {
    /// Nothing: the bytes stay.
    Same,
    /// They are all NULL.
    Null,
    /// An integer becomes another number.
    Integer,
    /// Digits get more decimals.
    Decimal,
    /// An exact number becomes an approximate one.
    Float,
    /// The digits of a number become a text.
    Digits,
}

impl Conversion {
    /// What makes values of `from` such of `to`; `None` if nothing known does.
    pub(super) fn of(from: &Column, to: &Column) -> Option<Conversion> {
        use types::{NULL, YEAR};
        if from.code == NULL {
            return Some(Conversion::Null);
        }
        let year = from.code == YEAR || to.code == YEAR;
        if (from.zerofill || to.zerofill) && !year {
            return None;
        }
        match (from.kind, to.kind) {
            (ColumnKind::Bytes, ColumnKind::Bytes) => same_strings(from, to).then_some(Conversion::Same),
            (ColumnKind::Integer { .. }, ColumnKind::Integer { .. })
                if from.kind == to.kind && from.code == to.code =>
            {
                Some(Conversion::Same)
            }
            (ColumnKind::Integer { .. }, ColumnKind::Integer { .. }) if !year => Some(Conversion::Integer),
            (ColumnKind::Integer { .. }, ColumnKind::Decimal) if from.code != YEAR => Some(Conversion::Integer),
            (ColumnKind::Integer { .. }, ColumnKind::Double) if from.code != YEAR && to.any_decimals() => {
                Some(Conversion::Float)
            }
            (ColumnKind::Integer { .. }, ColumnKind::Bytes) if from.code != YEAR && is_text(to) => {
                Some(Conversion::Digits)
            }
            (ColumnKind::Decimal, ColumnKind::Decimal) if from.decimals == to.decimals => Some(Conversion::Same),
            (ColumnKind::Decimal, ColumnKind::Decimal) if from.decimals < to.decimals => Some(Conversion::Decimal),
            (ColumnKind::Decimal, ColumnKind::Double) if to.any_decimals() => Some(Conversion::Float),
            (ColumnKind::Decimal, ColumnKind::Bytes) if is_text(to) => Some(Conversion::Digits),
            (ColumnKind::Float, ColumnKind::Float) | (ColumnKind::Double, ColumnKind::Double) => {
                let any = from.any_decimals() && to.any_decimals();
                (any || from.decimals == to.decimals).then_some(Conversion::Same)
            }
            (ColumnKind::Date, ColumnKind::Date) => {
                let with_time = |column: &Column| column.code == types::TIMESTAMP || column.code == types::DATETIME;
                let alike = from.code == to.code || with_time(from) && with_time(to);
                (alike && from.decimals == to.decimals).then_some(Conversion::Same)
            }
            (ColumnKind::Time, ColumnKind::Time) => (from.decimals == to.decimals).then_some(Conversion::Same),
            _ => None,
        }
    }

    /// The value that a field becomes.
    ///
    /// # Errors
    /// When it is not one of its column's type, or the other type does not have it.
    pub(super) fn value(
        self,
        field: Option<&[u8]>,
        from: &Column,
        to: &Column,
        format: Format,
    ) -> Result<Value, Failure> {
        let Some(field) = field else { return Ok(Value::Null) };
        Ok(match self {
            Conversion::Same => Value::Field(field.to_vec()),
            Conversion::Null => return Err(internal("a column of NULLs has a value")),
            Conversion::Integer => {
                let value = integer(from, format, field)?;
                if !fits(value, to.kind) {
                    return Err(refused("a number exceeds the column's type in the whole"));
                }
                Value::Integer(value)
            }
            Conversion::Decimal => Value::Decimal(Decimal::parse(field).map_err(|error| internal(&error.to_string()))?),
            Conversion::Float => Value::Float(float(from, format, field)?),
            Conversion::Digits if from.kind == ColumnKind::Decimal => Value::Text(field.to_vec()),
            Conversion::Digits => Value::Text(integer(from, format, field)?.to_string().into_bytes()),
        })
    }
}

fn is_text(column: &Column) -> bool {
    matches!(column.code, types::VARCHAR | types::TINY_BLOB..=types::VAR_STRING) && column.collation != types::BINARY
}

fn same_strings(from: &Column, to: &Column) -> bool {
    let string = |column: &Column| {
        matches!(column.code, types::VARCHAR | types::TINY_BLOB..=types::BLOB | types::VAR_STRING | types::STRING)
    };
    if from.collation != to.collation {
        return false;
    }
    match (string(from), string(to)) {
        // Strings of a fixed length are filled up, or lose spaces.
        (true, true) if to.code == types::STRING && to.collation == types::BINARY => {
            from.code == to.code && from.length == to.length
        }
        (true, true) => to.code != types::STRING || from.code == to.code,
        (false, false) => from.code == to.code && (from.code != types::BIT || from.length == to.length),
        _ => false,
    }
}

fn fits(value: i128, kind: ColumnKind) -> bool {
    let ColumnKind::Integer { width, unsigned } = kind else { return true };
    let bits = u32::from(width) * 8;
    if unsigned { value >= 0 && value < 1 << bits } else { (-(1_i128 << (bits - 1))..1 << (bits - 1)).contains(&value) }
}

/// The refusal of what is not sure to become what a server would make of it.
pub(super) fn refused(why: &str) -> Failure {
    let message = format!(
        "The queries of a UNION give a column types that Weir can't combine exactly: {why}. CAST it to one type in each query"
    );
    Failure::client(codes::ER_NOT_SUPPORTED_YET, message)
}
