//! Rows in the binary format, made of text: what Weir puts together for clients that have prepared a statement.

use bytes::Bytes;
use weir_exec::read::{Column, ColumnKind};
use weir_shards::ask::Row;
use weir_wire::codec::put_lenenc_bytes;
use weir_wire::error::codes;
use weir_wire::{Capabilities, Failure};

/// How the columns' values look.
///
/// # Errors
/// When a definition is cut short.
pub fn kinds(definitions: &[Bytes], capabilities: Capabilities) -> Result<Vec<ColumnKind>, Failure> {
    let kind = |definition: &Bytes| Column::parse(definition, capabilities).map(|column| column.kind);
    definitions.iter().map(kind).collect::<Result<_, _>>().map_err(|e| malformed(&e.to_string()))
}

/// A row.
///
/// # Errors
/// When a value does not look as its column says.
pub fn row(row: &Row, kinds: &[ColumnKind]) -> Result<Vec<u8>, Failure> {
    // A header byte, and a bit for each column that is NULL, the first two unused.
    let mut payload = vec![0; 1 + (row.len() + 2).div_ceil(8)];
    for (at, (cell, kind)) in row.iter().zip(kinds).enumerate() {
        match cell {
            None => payload[1 + (at + 2) / 8] |= 1 << ((at + 2) % 8),
            Some(text) => put(&mut payload, text, *kind)?,
        }
    }
    Ok(payload)
}

fn put(out: &mut Vec<u8>, text: &[u8], kind: ColumnKind) -> Result<(), Failure> {
    match kind {
        ColumnKind::Integer { width, unsigned } => {
            let bytes = if unsigned { parsed::<u64>(text)?.to_le_bytes() } else { parsed::<i64>(text)?.to_le_bytes() };
            out.extend_from_slice(&bytes[..usize::from(width).min(8)]);
        }
        ColumnKind::Float => out.extend_from_slice(&parsed::<f32>(text)?.to_le_bytes()),
        ColumnKind::Double => out.extend_from_slice(&parsed::<f64>(text)?.to_le_bytes()),
        ColumnKind::Date => date(out, text)?,
        ColumnKind::Time => time(out, text)?,
        ColumnKind::Decimal | ColumnKind::Bytes => put_lenenc_bytes(out, text),
    }
    Ok(())
}

/// `2026-01-31 12:00:00.000001`, or a part of it: year, month, day, then hour, minute, second, then microseconds.
fn date(out: &mut Vec<u8>, text: &[u8]) -> Result<(), Failure> {
    let text = std::str::from_utf8(text).map_err(|_| malformed("a date"))?;
    let numbers = text.split(['-', ' ', ':']).map(|part| part.split_once('.').map_or(part, |(whole, _)| whole));
    let numbers: Vec<u16> = numbers.map(|part| part.parse().map_err(|_| malformed(text))).collect::<Result<_, _>>()?;
    let Some((year, rest)) = numbers.split_first() else { return Err(malformed(text)) };
    let length = if rest.len() > 2 { 7 } else { 4 };
    out.push(length);
    out.extend_from_slice(&year.to_le_bytes());
    for number in rest.iter().take(usize::from(length) - 2) {
        out.push(u8::try_from(*number).map_err(|_| malformed(text))?);
    }
    Ok(())
}

/// `-838:59:59.000001`: the sign, days, hours, minutes, seconds, then microseconds. Source: MySQL, "Binary Protocol Value".
fn time(out: &mut Vec<u8>, text: &[u8]) -> Result<(), Failure> {
    let text = std::str::from_utf8(text).map_err(|_| malformed("a time span"))?;
    let digits = text.strip_prefix('-').unwrap_or(text);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let numbers: Vec<u32> = whole.split(':').map(|part| parsed(part.as_bytes())).collect::<Result<_, _>>()?;
    let [hours, minutes, seconds] = numbers[..] else { return Err(malformed(text)) };
    let micros: u32 = parsed(format!("{fraction:0<6}").as_bytes())?;
    if fraction.len() > 6 || minutes > 59 || seconds > 59 {
        return Err(malformed(text));
    }
    if [hours, minutes, seconds, micros] == [0; 4] {
        out.push(0);
        return Ok(());
    }
    out.extend([if micros == 0 { 8 } else { 12 }, u8::from(text.starts_with('-'))]);
    out.extend_from_slice(&(hours / 24).to_le_bytes());
    for part in [hours % 24, minutes, seconds] {
        out.push(u8::try_from(part).map_err(|_| malformed(text))?);
    }
    if micros > 0 {
        out.extend_from_slice(&micros.to_le_bytes());
    }
    Ok(())
}

fn parsed<T: std::str::FromStr>(text: &[u8]) -> Result<T, Failure> {
    let text = std::str::from_utf8(text).map_err(|_| malformed("a number"))?;
    text.parse().map_err(|_| malformed(text))
}

fn malformed(what: &str) -> Failure {
    Failure::server(codes::ER_UNKNOWN_ERROR, format!("A server's reply can't be read: {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_spans_have_days_and_a_sign() {
        let told =
            |text: &str| row(&vec![Some(text.as_bytes().to_vec())], &[ColumnKind::Time]).map(|row| row[2..].to_vec());
        for (text, expected) in [
            ("00:00:00", &[0][..]),
            ("00:00:00.000", &[0]),
            ("01:02:03", &[8, 0, 0, 0, 0, 0, 1, 2, 3]),
            ("-838:59:59", &[8, 1, 34, 0, 0, 0, 22, 59, 59]),
            ("24:00:00.5", &[12, 0, 1, 0, 0, 0, 0, 0, 0, 0x20, 0xa1, 7, 0]),
            ("-00:00:00.000001", &[12, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0]),
        ] {
            assert_eq!(told(text), Ok(expected.to_vec()), "{text}");
        }
        for text in ["", "1:2", "00:60:00", "00:00:00.0000001", "x:00:00"] {
            assert!(told(text).is_err(), "{text}");
        }
    }
}
