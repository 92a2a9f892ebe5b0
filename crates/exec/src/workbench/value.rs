//! Values of gathered rows as literals of an INSERT.
//!
//! What must always hold: the server reads exactly the value that the shard sent. The texts are for a connection of the workbench's own
//! settings ([`super::tables::filling`]): its `sql_mode` has backslash escapes; its character set is utf8mb4, where no byte of a character of
//! several bytes is a quote or a backslash, so that any bytes can stand within quotes. (NUL may, too: both servers' lexers go by lengths.)
//! Nothing is allocated per value.

use std::io::Write;

use weir_plan::Passed;
use weir_wire::Failure;

use crate::read::columns::types;
use crate::read::failure::internal;
use crate::read::{Column, ColumnKind, Format};

/// How fields of a column are written, by their form in the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Literal {
    /// Digits, as they are.
    Digits,
    /// The text of a DOUBLE.
    Approximate,
    /// An integer of a binary row.
    Integer {
        /// It has no sign.
        unsigned: bool,
    },
    /// A DOUBLE of a binary row.
    Double,
    /// A FLOAT of a binary row.
    Float,
    /// A text that has no quotes in it.
    Quoted,
    /// A date of a binary row.
    Date {
        /// With a time of day.
        time: bool,
    },
    /// A time span of a binary row.
    Time,
    /// A text of this character set.
    Text(&'static str),
    /// Digits of the seconds of a TIMESTAMP.
    Epoch,
    /// An integer of a binary row: the seconds of a TIMESTAMP.
    EpochInteger,
    /// The shard's query gives something else than the plan says.
    Strange,
}

impl Literal {
    /// How the fields of a column are written that are passed in this way.
    pub fn of(passed: Passed, column: &Column, format: Format) -> Literal {
        let binary = format == Format::Binary;
        match (passed, column.kind) {
            (Passed::Number, ColumnKind::Integer { unsigned, .. }) if binary => Literal::Integer { unsigned },
            (Passed::Number, ColumnKind::Double) if binary => Literal::Double,
            (Passed::Number, ColumnKind::Float) if binary => Literal::Float,
            (Passed::Number, ColumnKind::Double | ColumnKind::Float) => Literal::Approximate,
            (Passed::Number, ColumnKind::Integer { .. } | ColumnKind::Decimal) => Literal::Digits,
            (Passed::Ascii, ColumnKind::Date) if binary => Literal::Date { time: column.code != types::DATE },
            (Passed::Ascii, ColumnKind::Time) if binary => Literal::Time,
            (Passed::Ascii, ColumnKind::Date | ColumnKind::Time) => Literal::Quoted,
            (Passed::Ascii, ColumnKind::Bytes) => Literal::Text("_ascii"),
            (Passed::Bytes, ColumnKind::Bytes) => Literal::Text("_binary"),
            (Passed::Utf8, ColumnKind::Bytes) => Literal::Text("_utf8mb4"),
            (Passed::Epoch, ColumnKind::Integer { .. }) if binary => Literal::EpochInteger,
            (Passed::Epoch, ColumnKind::Integer { .. } | ColumnKind::Decimal) => Literal::Epoch,
            _ => Literal::Strange,
        }
    }

    /// Appends a field's value.
    ///
    /// # Errors
    /// When it is not of its type.
    #[inline]
    pub fn put(self, field: Option<&[u8]>, out: &mut Vec<u8>) -> Result<(), Failure> {
        let Some(field) = field else {
            out.extend_from_slice(b"NULL");
            return Ok(());
        };
        match self {
            Literal::Digits => out.extend_from_slice(field),
            Literal::Approximate => put_approximate(field, out),
            Literal::Integer { unsigned } => put_integer(field, unsigned, out)?,
            Literal::Double => put_float(f64::from_le_bytes(exactly(field)?), out),
            Literal::Float => put_float(f32::from_le_bytes(exactly(field)?).into(), out),
            Literal::Quoted => {
                out.push(b'\'');
                out.extend_from_slice(field);
                out.push(b'\'');
            }
            Literal::Date { time } => put_date(field, time, out)?,
            Literal::Time => put_time(field, out)?,
            Literal::Text(introducer) => put_text(field, introducer, out),
            Literal::Epoch => put_epoch(field, out),
            Literal::EpochInteger => {
                let mut digits = Vec::with_capacity(20);
                put_integer(field, false, &mut digits)?;
                put_epoch(&digits, out);
            }
            Literal::Strange => return Err(internal("a fragment's column has another type than its plan says")),
        }
        Ok(())
    }
}

/// With an exponent it is read as it is; without, it would be an exact number first, which has no negative zero.
fn put_approximate(field: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(field);
    if !field.contains(&b'e') {
        out.extend_from_slice(b"e0");
    }
}

fn put_integer(field: &[u8], unsigned: bool, out: &mut Vec<u8>) -> Result<(), Failure> {
    let mut bytes = [0; 8];
    let width = field.len();
    bytes.get_mut(..width).ok_or_else(cut_short)?.copy_from_slice(field);
    let bits = u64::from_le_bytes(bytes);
    let written = match unsigned {
        true => write!(out, "{bits}"),
        false => {
            let unused = 64 - 8 * width.clamp(1, 8);
            write!(out, "{}", (bits << unused) as i64 >> unused)
        }
    };
    written.map_err(|_| cut_short())
}

/// The fewest digits that are read as this number.
fn put_float(value: f64, out: &mut Vec<u8>) {
    // Writing to memory does not fail.
    let _ = write!(out, "{value:e}");
}

fn put_text(bytes: &[u8], introducer: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(introducer.as_bytes());
    out.push(b'\'');
    let mut rest = bytes;
    while let Some(at) = memchr::memchr2(b'\'', b'\\', rest) {
        let (before, special) = rest.split_at(at);
        out.extend_from_slice(before);
        out.extend_from_slice(&[b'\\', special[0]]);
        rest = &special[1..];
    }
    out.extend_from_slice(rest);
    out.push(b'\'');
}

/// Zero is the zero date: as seconds it would be 1970.
fn put_epoch(digits: &[u8], out: &mut Vec<u8>) {
    if digits.iter().all(|digit| matches!(digit, b'0' | b'.')) {
        out.extend_from_slice(b"'0000-00-00 00:00:00'");
    } else {
        out.extend_from_slice(b"FROM_UNIXTIME(");
        out.extend_from_slice(digits);
        out.push(b')');
    }
}

/// Source: MySQL, "Binary Protocol Value" (`ProtocolBinary::MYSQL_TYPE_DATETIME`). What is zero at the end is left out.
fn put_date(field: &[u8], time: bool, out: &mut Vec<u8>) -> Result<(), Failure> {
    let mut all = [0; 11];
    all.get_mut(..field.len()).ok_or_else(cut_short)?.copy_from_slice(field);
    let [y1, y2, month, day, hour, minute, second, micros @ ..] = all;
    out.push(b'\'');
    put_padded(u32::from(u16::from_le_bytes([y1, y2])), 4, out);
    put_pair(b'-', month, out);
    put_pair(b'-', day, out);
    if time {
        put_pair(b' ', hour, out);
        put_pair(b':', minute, out);
        put_pair(b':', second, out);
        put_micros(micros, out);
    }
    out.push(b'\'');
    Ok(())
}

/// Source: as above, `MYSQL_TYPE_TIME`: a sign, days, and the time of day.
fn put_time(field: &[u8], out: &mut Vec<u8>) -> Result<(), Failure> {
    let mut all = [0; 12];
    all.get_mut(..field.len()).ok_or_else(cut_short)?.copy_from_slice(field);
    let [negative, d1, d2, d3, d4, hour, minute, second, micros @ ..] = all;
    out.push(b'\'');
    if negative != 0 {
        out.push(b'-');
    }
    let hours = u32::from_le_bytes([d1, d2, d3, d4]).saturating_mul(24).saturating_add(hour.into());
    // No server has more than three digits of hours.
    put_padded(hours, 3, out);
    put_pair(b':', minute, out);
    put_pair(b':', second, out);
    put_micros(micros, out);
    out.push(b'\'');
    Ok(())
}

fn put_micros(bytes: [u8; 4], out: &mut Vec<u8>) {
    let micros = u32::from_le_bytes(bytes);
    if micros > 0 {
        out.push(b'.');
        put_padded(micros, 6, out);
    }
}

fn put_pair(before: u8, number: u8, out: &mut Vec<u8>) {
    out.push(before);
    put_padded(number.into(), 2, out);
}

/// A number with zeros in front; of one with more digits than wanted, the last ones.
fn put_padded(mut number: u32, digits: usize, out: &mut Vec<u8>) {
    let end = out.len() + digits;
    out.resize(end, b'0');
    for digit in out[end - digits..].iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
    }
}

fn exactly<const N: usize>(field: &[u8]) -> Result<[u8; N], Failure> {
    field.try_into().map_err(|_| cut_short())
}

fn cut_short() -> Failure {
    internal("a value has another length than its type")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(kind: ColumnKind, code: u8) -> Column {
        Column { kind, code, collation: 63, decimals: 0, length: 0, zerofill: false }
    }

    fn put(passed: Passed, kind: ColumnKind, code: u8, format: Format, field: &[u8]) -> String {
        let mut out = Vec::new();
        let literal = Literal::of(passed, &column(kind, code), format);
        literal.put(Some(field), &mut out).expect("it is well formed");
        String::from_utf8(out).expect("the tests' values are texts")
    }

    fn integer(width: u8, unsigned: bool) -> ColumnKind {
        ColumnKind::Integer { width, unsigned }
    }

    #[test]
    fn values_of_text_rows_keep_their_digits() {
        for (passed, kind, field, expected) in [
            (Passed::Number, integer(4, false), "-0012", "-0012"),
            (Passed::Number, ColumnKind::Decimal, "1.50", "1.50"),
            (Passed::Number, ColumnKind::Double, "-0", "-0e0"),
            (Passed::Number, ColumnKind::Double, "5e-324", "5e-324"),
            (Passed::Ascii, ColumnKind::Time, "-838:59:59", "'-838:59:59'"),
            (Passed::Ascii, ColumnKind::Bytes, "a'b", "_ascii'a\\'b'"),
            (Passed::Bytes, ColumnKind::Bytes, "", "_binary''"),
            (Passed::Bytes, ColumnKind::Bytes, "\\'\0\n\u{e4}'", "_binary'\\\\\\'\0\n\u{e4}\\''"),
            (Passed::Utf8, ColumnKind::Bytes, "{\"a\": \"\\\\\"}", "_utf8mb4'{\"a\": \"\\\\\\\\\"}'"),
            (Passed::Epoch, integer(8, false), "0", "'0000-00-00 00:00:00'"),
            (Passed::Epoch, ColumnKind::Decimal, "0.000", "'0000-00-00 00:00:00'"),
            (Passed::Epoch, ColumnKind::Decimal, "10.020", "FROM_UNIXTIME(10.020)"),
        ] {
            assert_eq!(put(passed, kind, types::DATETIME, Format::Text, field.as_bytes()), expected);
        }
    }

    #[test]
    fn values_of_binary_rows_are_written_out() {
        let number = |kind, field: &[u8]| put(Passed::Number, kind, 0, Format::Binary, field);
        assert_eq!(number(integer(1, false), &[0x80]), "-128");
        assert_eq!(number(integer(1, true), &[0x80]), "128");
        assert_eq!(number(integer(2, false), &[0xff, 0xff]), "-1");
        assert_eq!(number(integer(4, false), &i32::MIN.to_le_bytes()), "-2147483648");
        assert_eq!(number(integer(8, false), &i64::MIN.to_le_bytes()), "-9223372036854775808");
        assert_eq!(number(integer(8, true), &u64::MAX.to_le_bytes()), "18446744073709551615");
        for value in [0.1, -0.0, 5e-324, f64::MAX, 1e15] {
            let text = number(ColumnKind::Double, &f64::to_le_bytes(value));
            assert_eq!(text.parse::<f64>().map(f64::to_bits), Ok(value.to_bits()), "{text}");
            assert!(text.contains('e'), "{text}");
        }
        assert_eq!(number(ColumnKind::Float, &0.1_f32.to_le_bytes()), "1.0000000149011612e-1");
        let epoch = |field: u64| put(Passed::Epoch, integer(8, false), 0, Format::Binary, &field.to_le_bytes());
        assert_eq!((epoch(0), epoch(7)), ("'0000-00-00 00:00:00'".into(), "FROM_UNIXTIME(7)".into()));
    }

    #[test]
    fn dates_of_binary_rows_are_written_out() {
        let date = |code, field: &[u8]| put(Passed::Ascii, ColumnKind::Date, code, Format::Binary, field);
        assert_eq!(date(types::DATE, &[]), "'0000-00-00'");
        assert_eq!(date(types::DATETIME, &[]), "'0000-00-00 00:00:00'");
        assert_eq!(date(types::DATE, &[0xe8, 0x03, 12, 31]), "'1000-12-31'");
        assert_eq!(date(types::DATETIME, &[0x0f, 0x27, 12, 31]), "'9999-12-31 00:00:00'");
        assert_eq!(date(types::DATETIME, &[0xe8, 0x03, 1, 2, 3, 4, 5, 6, 0, 0, 0]), "'1000-01-02 03:04:05.000006'");
        let time = |field: &[u8]| put(Passed::Ascii, ColumnKind::Time, 0, Format::Binary, field);
        assert_eq!(time(&[]), "'000:00:00'");
        assert_eq!(time(&[1, 34, 0, 0, 0, 22, 59, 58]), "'-838:59:58'");
        assert_eq!(time(&[0, 0, 0, 0, 0, 1, 2, 3, 0x40, 0xe2, 1, 0]), "'001:02:03.123456'");
    }

    #[test]
    fn what_is_not_of_its_type_is_refused() {
        let strange = Literal::of(Passed::Number, &column(ColumnKind::Bytes, types::BLOB), Format::Text);
        assert!(strange.put(Some(b"1;"), &mut Vec::new()).is_err());
        assert_eq!(strange.put(None, &mut Vec::new()), Ok(()));
        for literal in [Literal::Double, Literal::Float, Literal::Integer { unsigned: false }, Literal::Time] {
            assert!(literal.put(Some(&[0; 13]), &mut Vec::new()).is_err(), "{literal:?}");
        }
    }
}
