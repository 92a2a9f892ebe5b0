//! Rows in the binary format, made of text: what Weir puts together for clients that have prepared a statement.

use bytes::Bytes;
use weir_wire::codec::put_lenenc_bytes;
use weir_wire::{Capabilities, Failure, Fault};

use crate::ask::Row;
use crate::read::{Column, Kind};

/// How the columns' values look.
///
/// # Errors
/// When a definition is cut short.
pub fn kinds(definitions: &[Bytes], capabilities: Capabilities) -> Result<Vec<Kind>, Failure> {
    let kind = |definition: &Bytes| Column::parse(definition, capabilities).map(|column| column.kind);
    definitions.iter().map(kind).collect::<Result<_, _>>().map_err(|e| malformed(&e.to_string()))
}

/// A row.
///
/// # Errors
/// When a value does not look as its column says.
pub fn row(row: &Row, kinds: &[Kind]) -> Result<Vec<u8>, Failure> {
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

fn put(out: &mut Vec<u8>, text: &[u8], kind: Kind) -> Result<(), Failure> {
    match kind {
        Kind::Integer { width, unsigned } => {
            let bytes = if unsigned { parsed::<u64>(text)?.to_le_bytes() } else { parsed::<i64>(text)?.to_le_bytes() };
            out.extend_from_slice(&bytes[..usize::from(width).min(8)]);
        }
        Kind::Float => out.extend_from_slice(&parsed::<f32>(text)?.to_le_bytes()),
        Kind::Double => out.extend_from_slice(&parsed::<f64>(text)?.to_le_bytes()),
        Kind::Date => date(out, text)?,
        Kind::Time => return Err(malformed("a time span")),
        Kind::Decimal | Kind::Bytes => put_lenenc_bytes(out, text),
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

fn parsed<T: std::str::FromStr>(text: &[u8]) -> Result<T, Failure> {
    let text = std::str::from_utf8(text).map_err(|_| malformed("a number"))?;
    text.parse().map_err(|_| malformed(text))
}

fn malformed(what: &str) -> Failure {
    Failure::new(Fault::Server, 1105, b"HY000", format!("A server's reply can't be read: {what}"))
}
