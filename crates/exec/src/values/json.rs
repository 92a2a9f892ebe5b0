//! Values as strings of a JSON document, and the types with which JSON_TABLE turns them into values again.

use std::fmt::Write as _;

use weir_backend::profile::charset_of;
use weir_wire::{Failure, params};

use crate::read::columns::types;
use crate::read::failure::internal;
use crate::read::value::{float, integer};
use crate::read::{Column, ColumnKind, Format};

/// A value of a row as the text of a string in a document.
///
/// # Errors
/// It is not one of its column's type.
pub(crate) fn value(column: &Column, format: Format, field: &[u8]) -> Result<String, Failure> {
    let text = |field: &[u8]| {
        String::from_utf8(field.to_vec()).map_err(|_| internal("a text is not of the character set of results"))
    };
    Ok(match (column.kind, format) {
        (ColumnKind::Integer { .. }, _) => integer(column, format, field)?.to_string(),
        (ColumnKind::Double | ColumnKind::Float, _) => format!("{:e}", float(column, format, field)?),
        (ColumnKind::Date, Format::Binary) => {
            let [year, month, day, hour, minute, second, micro] = params::date(field).map_err(malformed)?;
            match column.code {
                types::DATE => format!("{year:04}-{month:02}-{day:02}"),
                _ => format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}.{micro:06}"),
            }
        }
        (ColumnKind::Time, Format::Binary) => {
            let (negative, [days, hours, minutes, seconds, micro]) = params::time(field).map_err(malformed)?;
            let (sign, hours) = (if negative { "-" } else { "" }, u64::from(days) * 24 + u64::from(hours));
            format!("{sign}{hours:02}:{minutes:02}:{seconds:02}.{micro:06}")
        }
        _ => text(field)?,
    })
}

/// The type under which a value is given; none if there is none that is the same in all that can be asked of it.
pub(crate) fn type_of(column: &Column, collation: Option<&str>) -> Option<String> {
    if column.zerofill {
        return None;
    }
    let decimals = column.decimals;
    Some(match column.kind {
        ColumnKind::Integer { .. } if column.code == types::YEAR => return None,
        ColumnKind::Integer { unsigned: true, .. } => "BIGINT UNSIGNED".to_owned(),
        ColumnKind::Integer { .. } => "BIGINT".to_owned(),
        ColumnKind::Decimal => {
            // The point and the sign are counted.
            let digits = column.length.saturating_sub(u32::from(decimals > 0)).clamp(u32::from(decimals).max(1), 65);
            format!("DECIMAL({digits},{decimals})")
        }
        ColumnKind::Double if column.any_decimals() => "DOUBLE".to_owned(),
        ColumnKind::Double | ColumnKind::Float => return None,
        ColumnKind::Date if column.code == types::DATE => "DATE".to_owned(),
        ColumnKind::Date => format!("DATETIME({})", decimals.min(6)),
        ColumnKind::Time => format!("TIME({})", decimals.min(6)),
        ColumnKind::Bytes => {
            let text = matches!(
                column.code,
                types::VARCHAR | types::TINY_BLOB..=types::BLOB | types::VAR_STRING | types::STRING
            );
            let collation = collation.filter(|_| text && column.collation != types::BINARY)?;
            format!("LONGTEXT CHARACTER SET {} COLLATE {collation}", charset_of(collation))
        }
    })
}

/// Appends a text to a string of a document.
pub(crate) fn put_escaped(text: &str, out: &mut String) {
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            ' '..='~' => out.push(c),
            _ => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    let _ = write!(out, "\\u{unit:04x}");
                }
            }
        }
    }
}

fn malformed(error: weir_wire::Malformed) -> Failure {
    internal(&error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(kind: ColumnKind, code: u8, decimals: u8, length: u32) -> Column {
        Column { kind, code, collation: 45, decimals, length, zerofill: false }
    }

    #[test]
    fn values_are_given_in_types_that_hold_all_of_them() {
        let integer = |unsigned| ColumnKind::Integer { width: 4, unsigned };
        for (column, collation, expected) in [
            (column(integer(false), 3, 0, 11), None, Some("BIGINT")),
            (column(integer(true), 8, 0, 20), None, Some("BIGINT UNSIGNED")),
            (column(integer(true), types::YEAR, 0, 4), None, None),
            (Column { zerofill: true, ..column(integer(true), 3, 0, 10) }, None, None),
            (column(ColumnKind::Decimal, 0xf6, 2, 34), None, Some("DECIMAL(33,2)")),
            (column(ColumnKind::Decimal, 0xf6, 0, 33), None, Some("DECIMAL(33,0)")),
            (column(ColumnKind::Decimal, 0xf6, 30, 67), None, Some("DECIMAL(65,30)")),
            (column(ColumnKind::Double, 5, 31, 22), None, Some("DOUBLE")),
            (column(ColumnKind::Double, 5, 2, 22), None, None),
            (column(ColumnKind::Float, 4, 31, 12), None, None),
            (column(ColumnKind::Date, types::DATE, 0, 10), None, Some("DATE")),
            (column(ColumnKind::Date, types::DATETIME, 6, 26), None, Some("DATETIME(6)")),
            (column(ColumnKind::Time, 11, 3, 14), None, Some("TIME(3)")),
            (
                column(ColumnKind::Bytes, types::VAR_STRING, 0, 80),
                Some("latin1_bin"),
                Some("LONGTEXT CHARACTER SET latin1 COLLATE latin1_bin"),
            ),
            (column(ColumnKind::Bytes, types::VAR_STRING, 0, 80), None, None),
            (column(ColumnKind::Bytes, types::BIT, 0, 8), Some("latin1_bin"), None),
        ] {
            assert_eq!(type_of(&column, collation).as_deref(), expected, "{column:?}");
        }
    }
}
