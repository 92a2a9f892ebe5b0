//! A key's value in the log as a literal of SQL.
//!
//! What must always hold: the literal names the row that the value is in, as [`crate::key`] writes literals. The column's type decides what
//! bytes mean: MariaDB's log says neither whether an integer has a sign nor which character set a text has.

use std::fmt::Write as _;

use weir_wire::binlog::{BinlogError, DECIMAL_BYTES as BYTES, DECIMAL_DIGITS as DIGITS, Field, types};

use crate::key::{self, KeyColumn};

/// Appends a value of a key.
///
/// # Errors
/// When it is not of its column's type.
pub(crate) fn put(out: &mut Vec<u8>, column: &KeyColumn, field: Field, bytes: &[u8]) -> Result<(), BinlogError> {
    let [first, second] = field.meta;
    match (field.kind, column) {
        (
            types::TINY | types::SHORT | types::INT24 | types::LONG | types::LONGLONG,
            KeyColumn::Integer { unsigned },
        ) => {
            put_integer(out, bytes, *unsigned);
        }
        (types::YEAR, _) => {
            let year = bytes.first().map_or(0, |byte| if *byte == 0 { 0 } else { 1900 + u32::from(*byte) });
            key::put_digits(out, &year.to_string());
        }
        (types::FLOAT, KeyColumn::Approximate) => {
            let value = f32::from_le_bytes(bytes.try_into().map_err(|_| strange())?);
            key::put_digits(out, &format!("{:e}", f64::from(value)));
        }
        (types::DOUBLE, KeyColumn::Approximate) => {
            let value = f64::from_le_bytes(bytes.try_into().map_err(|_| strange())?);
            key::put_digits(out, &format!("{value:e}"));
        }
        (types::NEWDECIMAL, _) => key::put_digits(out, &decimal(bytes, first, second).ok_or_else(strange)?),
        (types::BIT, _) => key::put_digits(out, &big_endian(bytes).to_string()),
        (types::ENUM | types::SET, _) => key::put_digits(out, &little_endian(bytes).to_string()),
        (types::DATE | types::NEWDATE, KeyColumn::Temporal) => {
            let packed = little_endian(bytes);
            let (year, month, day) = (packed >> 9, packed >> 5 & 15, packed & 31);
            key::put_quoted(out, format!("{year:04}-{month:02}-{day:02}").as_bytes());
        }
        (types::DATETIME2, KeyColumn::Temporal) => {
            key::put_quoted(out, datetime(bytes).ok_or_else(strange)?.as_bytes())
        }
        (types::TIME2, KeyColumn::Temporal) => key::put_quoted(out, time(bytes).ok_or_else(strange)?.as_bytes()),
        (types::TIMESTAMP2, KeyColumn::Timestamp) => {
            let (seconds, fraction) = bytes.split_at_checked(4).ok_or_else(strange)?;
            let mut text = big_endian(seconds).to_string();
            if !fraction.is_empty() {
                let _ = write!(text, ".{:06}", micros(fraction));
            }
            key::put_epoch(out, text.as_bytes());
        }
        (types::TIMESTAMP, KeyColumn::Timestamp) => key::put_epoch(out, little_endian(bytes).to_string().as_bytes()),
        (types::VARCHAR | types::VAR_STRING | types::STRING, KeyColumn::Text { charset }) => {
            key::put_text(out, bytes, charset);
        }
        (types::VARCHAR | types::VAR_STRING | types::STRING, KeyColumn::Binary { fixed }) => {
            let mut bytes = bytes.to_vec();
            // The log leaves zeros at the end of a BINARY out.
            bytes.resize(bytes.len().max(fixed.unwrap_or(0)), 0);
            key::put_text(out, &bytes, "binary");
        }
        _ => return Err(BinlogError::OtherColumns),
    }
    Ok(())
}

fn strange() -> BinlogError {
    BinlogError::Malformed("value of a key")
}

fn put_integer(out: &mut Vec<u8>, bytes: &[u8], unsigned: bool) {
    let bits = little_endian(bytes);
    match unsigned {
        true => key::put_digits(out, &bits.to_string()),
        false => {
            let unused = 64 - 8 * bytes.len().clamp(1, 8) as u32;
            key::put_digits(out, &((bits << unused) as i64 >> unused).to_string());
        }
    }
}

fn little_endian(bytes: &[u8]) -> u64 {
    bytes.iter().take(8).rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}

fn big_endian(bytes: &[u8]) -> u64 {
    bytes.iter().take(8).fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}

/// The fraction of a second: two digits per byte.
fn micros(fraction: &[u8]) -> u64 {
    match fraction.len() {
        1 => big_endian(fraction) * 10_000,
        2 => big_endian(fraction) * 100,
        _ => big_endian(fraction),
    }
}

/// Source: MySQL, `decimal_bin_size`, `bin2decimal`: groups of digits, big-endian; the first bit is the sign, and all bits of a negative
/// number are inverted.
fn decimal(bytes: &[u8], precision: u8, scale: u8) -> Option<String> {
    let (whole, scale) = (usize::from(precision.checked_sub(scale)?), usize::from(scale));
    let mut bytes = bytes.to_vec();
    let first = bytes.first_mut()?;
    let negative = *first & 0x80 == 0;
    *first ^= 0x80;
    if negative {
        bytes.iter_mut().for_each(|byte| *byte = !*byte);
    }
    let mut rest = &bytes[..];
    let mut digits = |count: usize| {
        let (group, left) = rest.split_at_checked(BYTES[count])?;
        rest = left;
        Some(format!("{:0count$}", big_endian(group)))
    };
    let mut text = String::new();
    if whole % DIGITS > 0 {
        text.push_str(&digits(whole % DIGITS)?);
    }
    for _ in 0..whole / DIGITS {
        text.push_str(&digits(DIGITS)?);
    }
    let mut text = match text.trim_start_matches('0') {
        "" => "0".to_owned(),
        digits => digits.to_owned(),
    };
    if scale > 0 {
        text.push('.');
        for _ in 0..scale / DIGITS {
            text.push_str(&digits(DIGITS)?);
        }
        if scale % DIGITS > 0 {
            text.push_str(&digits(scale % DIGITS)?);
        }
    }
    Some(if negative { format!("-{text}") } else { text })
}

/// Source: MySQL, `my_datetime_packed_from_binary`.
fn datetime(bytes: &[u8]) -> Option<String> {
    let (packed, fraction) = bytes.split_at_checked(5)?;
    let packed = big_endian(packed).checked_sub(0x80_0000_0000)?;
    let (days, times) = (packed >> 17, packed & 0x1_ffff);
    let (months, day) = (days >> 5, days & 31);
    let (year, month) = (months / 13, months % 13);
    let (hour, minute, second) = (times >> 12, times >> 6 & 63, times & 63);
    let mut text = format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}");
    if !fraction.is_empty() {
        let _ = write!(text, ".{:06}", micros(fraction));
    }
    Some(text)
}

/// Source: MySQL, `my_time_packed_from_binary`. Of a negative time, seconds and fraction are one negative number.
fn time(bytes: &[u8]) -> Option<String> {
    let (_, fraction) = bytes.split_at_checked(3).filter(|(_, fraction)| fraction.len() <= 3)?;
    let scale = 8 * fraction.len() as u32;
    let packed = big_endian(bytes) as i64 - (0x80_0000_i64 << scale);
    let (negative, packed) = (packed < 0, packed.unsigned_abs());
    let (whole, part) = (packed >> scale, packed & ((1 << scale) - 1));
    let (hour, minute, second) = (whole >> 12 & 1023, whole >> 6 & 63, whole & 63);
    let mut text = format!("{}{hour:02}:{minute:02}:{second:02}", if negative { "-" } else { "" });
    if !fraction.is_empty() {
        let micros = match fraction.len() {
            1 => part * 10_000,
            2 => part * 100,
            _ => part,
        };
        let _ = write!(text, ".{micros:06}");
    }
    Some(text)
}
