//! Values of a server's rows, in the text format, as literals for another server.
//!
//! What must always hold: the literal is the value exactly; what can't be written so is refused.

use weir_catalog::Constant;
use weir_plan::write::literal::{put_binary, put_bits, put_literal, put_text};
use weir_wire::Failure;
use weir_wire::error::codes;

use crate::read::failure::internal;
use crate::read::{Column, ColumnKind};

/// Types whose text is always UTF-8, though they are reported as binary. Source: MySQL, `MYSQL_TYPE_JSON`.
const JSON: u8 = 0xf5;
/// Source: MySQL, `MYSQL_TYPE_BIT`.
const BIT: u8 = 0x10;
/// The id of the collation `binary`.
const BINARY: u16 = 63;

/// As [`put_value`] for any use: with `introducer` before a literal in quotes, where the connection would make another text of it
/// ([`weir_backend::profile::Profile::introducer`]), which is longer and has other bytes.
pub(crate) fn put_value_after(
    out: &mut Vec<u8>,
    introducer: &str,
    field: Option<&[u8]>,
    column: &Column,
    charset: Option<&str>,
) -> Result<(), Failure> {
    let begin = out.len();
    put_value(out, field, column, charset)?;
    if !introducer.is_empty() && out.get(begin) == Some(&b'\'') {
        out.splice(begin..begin, introducer.bytes());
    }
    Ok(())
}

/// Writes a field of a text row as a literal. `charset`: that of texts, if it is known.
pub(crate) fn put_value(
    out: &mut Vec<u8>,
    field: Option<&[u8]>,
    column: &Column,
    charset: Option<&str>,
) -> Result<(), Failure> {
    let Some(bytes) = field else {
        out.extend_from_slice(b"NULL");
        return Ok(());
    };
    match column.kind {
        ColumnKind::Bytes => put_string(out, bytes, column, charset),
        _ => {
            put_literal(out, &number_of(bytes, column)?);
            Ok(())
        }
    }
}

/// A field of a text row whose texts are in utf8mb4, as a constant.
pub(crate) fn constant_of(field: Option<&[u8]>, column: &Column) -> Result<Constant, Failure> {
    let Some(bytes) = field else { return Ok(Constant::Null) };
    match column.kind {
        ColumnKind::Bytes if column.collation == BINARY && column.code != JSON => Ok(Constant::Binary(bytes.to_vec())),
        ColumnKind::Bytes => {
            let collation = "utf8mb4_general_ci".to_owned();
            Ok(Constant::Text { bytes: bytes.to_vec(), collation, explicit: false })
        }
        _ => number_of(bytes, column),
    }
}

/// Numbers, dates and times.
fn number_of(bytes: &[u8], column: &Column) -> Result<Constant, Failure> {
    let text = std::str::from_utf8(bytes).map_err(|_| internal("a number is no text"))?;
    match column.kind {
        ColumnKind::Integer { .. } => Ok(Constant::Integer(text.parse().map_err(|_| internal("an integer is none"))?)),
        ColumnKind::Double => Ok(Constant::Float(text.parse().map_err(|_| internal("a number is none"))?)),
        ColumnKind::Float => Err(float()),
        ColumnKind::Decimal => Ok(Constant::Decimal(text.to_owned())),
        ColumnKind::Date | ColumnKind::Time | ColumnKind::Bytes => Ok(Constant::Temporal(text.to_owned())),
    }
}

fn put_string(out: &mut Vec<u8>, bytes: &[u8], column: &Column, charset: Option<&str>) -> Result<(), Failure> {
    match (column.code, column.collation, charset) {
        (JSON, ..) => put_text(out, bytes, "utf8mb4"),
        (BIT, ..) => put_bits(out, bytes),
        (_, BINARY, _) => put_binary(out, bytes),
        (.., Some(charset)) => put_text(out, bytes, charset),
        (.., None) if bytes.is_ascii() => put_text(out, bytes, "ascii"),
        (.., None) => return Err(unknown_charset()),
    }
    Ok(())
}

fn float() -> Failure {
    let message = "A FLOAT value would have to pass through Weir, but servers show only six digits of it: select CAST(column AS DOUBLE), or column + 0e0";
    Failure::client(codes::ER_NOT_SUPPORTED_YET, message)
}

fn unknown_charset() -> Failure {
    let message = "A text value would have to pass through Weir, but its character set is not known: run SET NAMES, with character_set_results other than NULL";
    Failure::client(codes::ER_NOT_SUPPORTED_YET, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn literal_of(field: Option<&[u8]>, column: &Column, charset: Option<&str>) -> Result<Vec<u8>, Failure> {
        let mut out = Vec::new();
        put_value(&mut out, field, column, charset).map(|()| out)
    }

    fn column(kind: ColumnKind, code: u8, collation: u16) -> Column {
        Column { kind, code, collation, decimals: 0, length: 0, zerofill: false }
    }

    #[test]
    fn values_keep_their_types_and_bytes() {
        let integer = ColumnKind::Integer { width: 8, unsigned: true };
        for (bytes, column, expected) in [
            (&b"18446744073709551615"[..], column(integer, 8, 63), "18446744073709551615"),
            (b"-0.50", column(ColumnKind::Decimal, 0xf6, 63), "(-0.50)"),
            (b"0.1", column(ColumnKind::Double, 5, 63), "1e-1"),
            (b"2020-01-02 03:04:05.6", column(ColumnKind::Date, 0x0c, 63), "TIMESTAMP'2020-01-02 03:04:05.6'"),
            (b"abc", column(ColumnKind::Bytes, 0xfd, 45), "'abc'"),
            (b"\xc3\xa4", column(ColumnKind::Bytes, 0xfd, 45), "_utf8mb4 x'C3A4'"),
            (b"\x00", column(ColumnKind::Bytes, 0xfd, 63), "_binary x'00'"),
            (b"{}", column(ColumnKind::Bytes, JSON, 63), "'{}'"),
            (b"\x05", column(ColumnKind::Bytes, BIT, 63), "x'05'"),
        ] {
            let literal = literal_of(Some(bytes), &column, Some("utf8mb4")).expect("it is a value");
            assert_eq!(String::from_utf8_lossy(&literal), expected);
        }
        assert_eq!(literal_of(None, &column(integer, 8, 63), None), Ok(b"NULL".to_vec()));
    }

    #[test]
    fn what_is_shown_with_less_digits_than_it_has_is_refused() {
        let column = column(ColumnKind::Float, 4, 63);
        assert!(literal_of(Some(b"0.1"), &column, None).is_err_and(|failure| failure.code == 1235));
    }

    #[test]
    fn text_of_an_unknown_charset_is_refused() {
        let column = column(ColumnKind::Bytes, 0xfd, 8);
        assert!(literal_of(Some(b"\xe4"), &column, None).is_err_and(|failure| failure.code == 1235));
        assert_eq!(literal_of(Some(b"a"), &column, None), Ok(b"'a'".to_vec()));
    }
}
