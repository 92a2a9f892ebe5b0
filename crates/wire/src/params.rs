//! The values of a prepared statement's parameters, as COM_STMT_EXECUTE brings them. Source: MySQL, "Binary Protocol Value".
//!
//! What must always hold: nothing is copied; lengths are checked before bytes are taken.

use crate::codec::{Malformed, Reader};
use crate::stmt::Execute;

/// A parameter's value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Parameter<'a> {
    /// NULL.
    Null,
    /// A signed integer of any width.
    Signed(i64),
    /// An unsigned integer of any width.
    Unsigned(u64),
    /// FLOAT or DOUBLE.
    Float(f64),
    /// DECIMAL, as text.
    Decimal(&'a [u8]),
    /// Characters, in the client's character set.
    Text(&'a [u8]),
    /// A BLOB of any length, BIT, GEOMETRY: bytes.
    Bytes(&'a [u8]),
    /// DATE, DATETIME, TIMESTAMP: year, month, day, hour, minute, second, microsecond; how many bytes said it.
    Date([u32; 7], u8),
    /// TIME: negative, days, hours, minutes, seconds, microseconds.
    Time(bool, [u32; 5]),
}

/// The values of an execution's parameters. `types`: those of [`Execute::types`], or of an earlier execution; `named`: query attributes
/// were negotiated; `own`: how many parameters the statement itself has (attributes follow).
///
/// An item is an error when the payload ends too soon, or has an unknown type.
pub fn parameters<'a>(
    execute: &Execute<'a>,
    types: &[u8],
    named: bool,
    own: usize,
) -> impl Iterator<Item = Result<Parameter<'a>, Malformed>> {
    let mut types = Reader::new(types);
    let mut values = Reader::new(execute.values());
    (0..own).map(move |at| parameter(execute, &mut types, &mut values, named, at))
}

fn parameter<'a>(
    execute: &Execute<'a>,
    types: &mut Reader<'_>,
    values: &mut Reader<'a>,
    named: bool,
    at: usize,
) -> Result<Parameter<'a>, Malformed> {
    const WHAT: &str = "parameter value";
    let kind = types.u16("parameter type")?;
    if named {
        types.lenenc_bytes("parameter name")?;
    }
    if execute.is_null(at) {
        return Ok(Parameter::Null);
    }
    let unsigned = kind & 0x8000 != 0;
    let integer = |bytes: &[u8]| {
        let mut wide = [if !unsigned && bytes.last().is_some_and(|last| last & 0x80 != 0) { 0xff } else { 0 }; 8];
        wide[..bytes.len()].copy_from_slice(bytes);
        match unsigned {
            true => Parameter::Unsigned(u64::from_le_bytes(wide)),
            false => Parameter::Signed(i64::from_le_bytes(wide)),
        }
    };
    Ok(match kind as u8 {
        0x06 => Parameter::Null,
        0x01 => integer(values.bytes(1, WHAT)?),
        0x02 | 0x0d => integer(values.bytes(2, WHAT)?),
        0x03 | 0x09 => integer(values.bytes(4, WHAT)?),
        0x08 => integer(values.bytes(8, WHAT)?),
        0x04 => Parameter::Float(f64::from(f32::from_bits(values.u32(WHAT)?))),
        0x05 => {
            let bytes = values.bytes(8, WHAT)?;
            Parameter::Float(f64::from_le_bytes(bytes.try_into().map_err(|_| Malformed(WHAT))?))
        }
        0x00 | 0xf6 => Parameter::Decimal(values.lenenc_bytes(WHAT)?),
        0x0f | 0xf5 | 0xf7 | 0xf8 | 0xfd | 0xfe => Parameter::Text(values.lenenc_bytes(WHAT)?),
        0x10 | 0xf9..=0xfc | 0xff => Parameter::Bytes(values.lenenc_bytes(WHAT)?),
        0x07 | 0x0a | 0x0c => {
            let length = values.u8("date length")?;
            Parameter::Date(date(values.bytes(usize::from(length), "date")?)?, length)
        }
        0x0b => {
            let length = values.u8("time length")?;
            let (negative, fields) = time(values.bytes(usize::from(length), "time")?)?;
            Parameter::Time(negative, fields)
        }
        _ => return Err(Malformed("parameter type")),
    })
}

/// Reads a DATE, DATETIME or TIMESTAMP, without the byte that says its length: year, month, day, hour, minute, second, microsecond.
///
/// # Errors
/// When it is cut short.
pub fn date(bytes: &[u8]) -> Result<[u32; 7], Malformed> {
    let mut fields = [0; 7];
    let mut r = Reader::new(bytes);
    if bytes.len() >= 4 {
        fields[0] = u32::from(r.u16("year")?);
        fields[1] = u32::from(r.u8("month")?);
        fields[2] = u32::from(r.u8("day")?);
    }
    if bytes.len() >= 7 {
        for field in &mut fields[3..6] {
            *field = u32::from(r.u8("time of day")?);
        }
    }
    if bytes.len() >= 11 {
        fields[6] = r.u32("microseconds")?;
    }
    Ok(fields)
}

/// Reads a TIME, without the byte that says its length: whether it is negative; days, hours, minutes, seconds, microseconds.
///
/// # Errors
/// When it is cut short.
pub fn time(bytes: &[u8]) -> Result<(bool, [u32; 5]), Malformed> {
    let mut r = Reader::new(bytes);
    let mut fields = [0; 5];
    let mut negative = false;
    if bytes.len() >= 8 {
        negative = r.u8("sign")? != 0;
        fields[0] = r.u32("days")?;
        for field in &mut fields[1..4] {
            *field = u32::from(r.u8("time")?);
        }
    }
    if bytes.len() >= 12 {
        fields[4] = r.u32("microseconds")?;
    }
    Ok((negative, fields))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::caps::Capabilities;

    #[test]
    fn values_of_all_kinds_are_read() {
        let head = [0x17, 1, 0, 0, 0, 0, 1, 0, 0, 0];
        let types = [1, 0, 2, 0x80, 8, 0, 5, 0, 0xf6, 0, 0xfd, 0, 0xfc, 0, 0x0c, 0, 0x0b, 0, 6, 0, 3, 0];
        let nulls = [0, 0b100];
        let mut values = vec![0xff, 0xff, 0xff];
        values.extend_from_slice(&(-2_i64).to_le_bytes());
        values.extend_from_slice(&1.5_f64.to_le_bytes());
        values.extend_from_slice(b"\x041.50\x01a\x02\x00\xff");
        values.extend_from_slice(&[4, 0xe8, 7, 2, 29]);
        values.extend_from_slice(&[12, 1, 1, 0, 0, 0, 2, 3, 4, 5, 0, 0, 0]);
        let payload = [&head[..], &nulls, &[1], &types, &values].concat();
        let execute = Execute::parse(&payload, 11, Capabilities::empty()).expect("it is well formed");
        let all = parameters(&execute, execute.types.expect("types"), false, 11);
        let all = all.collect::<Result<Vec<_>, _>>().expect("values");
        let expected = [
            Parameter::Signed(-1),
            Parameter::Unsigned(0xffff),
            Parameter::Signed(-2),
            Parameter::Float(1.5),
            Parameter::Decimal(b"1.50"),
            Parameter::Text(b"a"),
            Parameter::Bytes(b"\x00\xff"),
            Parameter::Date([2024, 2, 29, 0, 0, 0, 0], 4),
            Parameter::Time(true, [1, 2, 3, 4, 5]),
            Parameter::Null,
            Parameter::Null,
        ];
        assert_eq!(all, expected);
        for end in 12..payload.len() {
            if let Ok(cut) = Execute::parse(&payload[..end], 11, Capabilities::empty()) {
                assert!(parameters(&cut, cut.types.unwrap_or(&types), false, 11).any(|value| value.is_err()), "{end}");
            }
        }
    }
}
