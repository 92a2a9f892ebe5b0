//! The columns of a table, as the log has them.

use crate::codec::Reader;

use super::BinlogError;

/// Types of columns in the log. Source: MySQL, `enum_field_types`; MariaDB, the same.
#[expect(missing_docs, reason = "the names are the servers' own")]
pub mod types {
    pub const TINY: u8 = 1;
    pub const SHORT: u8 = 2;
    pub const LONG: u8 = 3;
    pub const FLOAT: u8 = 4;
    pub const DOUBLE: u8 = 5;
    pub const NULL: u8 = 6;
    pub const TIMESTAMP: u8 = 7;
    pub const LONGLONG: u8 = 8;
    pub const INT24: u8 = 9;
    pub const DATE: u8 = 10;
    pub const TIME: u8 = 11;
    pub const DATETIME: u8 = 12;
    pub const YEAR: u8 = 13;
    pub const NEWDATE: u8 = 14;
    pub const VARCHAR: u8 = 15;
    pub const BIT: u8 = 16;
    pub const TIMESTAMP2: u8 = 17;
    pub const DATETIME2: u8 = 18;
    pub const TIME2: u8 = 19;
    pub const BLOB_COMPRESSED: u8 = 140;
    pub const VARCHAR_COMPRESSED: u8 = 141;
    pub const VECTOR: u8 = 242;
    pub const JSON: u8 = 245;
    pub const NEWDECIMAL: u8 = 246;
    pub const ENUM: u8 = 247;
    pub const SET: u8 = 248;
    pub const TINY_BLOB: u8 = 249;
    pub const BLOB: u8 = 252;
    pub const VAR_STRING: u8 = 253;
    pub const STRING: u8 = 254;
    pub const GEOMETRY: u8 = 255;
}

/// Digits per four bytes of a DECIMAL, and the bytes of fewer digits. Source: MySQL, `decimal.cc`.
pub const DECIMAL_DIGITS: usize = 9;
/// See [`DECIMAL_DIGITS`].
pub const DECIMAL_BYTES: [usize; DECIMAL_DIGITS + 1] = [0, 1, 1, 2, 2, 3, 3, 4, 4, 4];

/// The bytes of a DECIMAL of so many digits; `None` if there is no such one.
fn decimal_size(precision: u8, scale: u8) -> Option<usize> {
    let (whole, fraction) = (usize::from(precision.checked_sub(scale)?), usize::from(scale));
    let bytes = |digits: usize| digits / DECIMAL_DIGITS * 4 + DECIMAL_BYTES[digits % DECIMAL_DIGITS];
    Some(bytes(whole) + bytes(fraction))
}

/// A column: its type, and two bytes that say more, as its type needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    /// The type.
    pub kind: u8,
    /// Lengths, digits.
    pub meta: [u8; 2],
}

/// A table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableMap {
    /// Its columns.
    pub fields: Vec<Field>,
}

/// The names of an event's table: schema, table.
pub(super) fn names<'a>(r: &mut Reader<'a>) -> Result<(&'a [u8], &'a [u8]), BinlogError> {
    let mut name = || {
        let length = usize::from(r.u8("table name")?);
        let name = r.bytes(length, "table name")?;
        r.u8("table name's end")?;
        Ok::<_, BinlogError>(name)
    };
    Ok((name()?, name()?))
}

impl TableMap {
    /// Reads what follows the names.
    pub(super) fn parse(mut r: Reader<'_>) -> Result<TableMap, BinlogError> {
        const WHAT: &str = "columns of a table";
        let kinds = r.lenenc_bytes(WHAT)?;
        let mut meta = Reader::new(r.lenenc_bytes(WHAT)?);
        let mut fields = Vec::with_capacity(kinds.len());
        for kind in kinds {
            let mut field = Field { kind: *kind, meta: [0, 0] };
            let bytes = meta_bytes(*kind).ok_or(BinlogError::UnknownType(*kind))?;
            for (to, byte) in field.meta.iter_mut().zip(meta.bytes(bytes, WHAT)?) {
                *to = *byte;
            }
            fields.push(field.real());
        }
        Ok(TableMap { fields })
    }
}

/// How many bytes of metadata a type has.
fn meta_bytes(kind: u8) -> Option<usize> {
    Some(match kind {
        types::TINY | types::SHORT | types::LONG | types::LONGLONG | types::INT24 | types::NULL | types::YEAR => 0,
        types::TIMESTAMP | types::DATE | types::TIME | types::DATETIME | types::NEWDATE => 0,
        types::FLOAT | types::DOUBLE | types::TIMESTAMP2 | types::DATETIME2 | types::TIME2 => 1,
        types::TINY_BLOB..=types::BLOB | types::BLOB_COMPRESSED | types::GEOMETRY | types::JSON | types::VECTOR => 1,
        types::VARCHAR | types::VARCHAR_COMPRESSED | types::BIT | types::NEWDECIMAL => 2,
        types::VAR_STRING | types::STRING | types::ENUM | types::SET => 2,
        _ => return None,
    })
}

impl Field {
    /// ENUM and SET come as STRING; the high bits of a length above 255 are in the byte of the type. Source: MySQL, `Field_string`.
    fn real(self) -> Field {
        let [first, second] = self.meta;
        if self.kind != types::STRING || first == 0 {
            return self;
        }
        if first & 0x30 != 0x30 {
            let length = u16::from(second) | u16::from((first & 0x30) ^ 0x30) << 4;
            return Field { kind: first | 0x30, meta: length.to_le_bytes() };
        }
        match first {
            types::ENUM | types::SET => Field { kind: first, meta: [second, 0] },
            _ => Field { kind: types::STRING, meta: [second, 0] },
        }
    }

    /// Takes a value of this column.
    pub(super) fn take<'a>(self, r: &mut Reader<'a>) -> Result<&'a [u8], BinlogError> {
        const WHAT: &str = "value of a row";
        let [first, second] = self.meta;
        let fraction = usize::from(first.div_ceil(2));
        let fixed = match self.kind {
            types::NULL => 0,
            types::TINY | types::YEAR => 1,
            types::SHORT => 2,
            types::INT24 | types::DATE | types::NEWDATE | types::TIME => 3,
            types::LONG | types::FLOAT | types::TIMESTAMP => 4,
            types::LONGLONG | types::DOUBLE | types::DATETIME => 8,
            types::TIMESTAMP2 => 4 + fraction,
            types::DATETIME2 => 5 + fraction,
            types::TIME2 => 3 + fraction,
            types::NEWDECIMAL => decimal_size(first, second).ok_or(BinlogError::Malformed(WHAT))?,
            types::BIT => usize::from(second) + usize::from(first > 0),
            types::ENUM | types::SET => usize::from(first),
            types::VARCHAR | types::VARCHAR_COMPRESSED | types::VAR_STRING | types::STRING => {
                let length = match u16::from_le_bytes(self.meta) > 255 {
                    true => usize::from(r.u16(WHAT)?),
                    false => usize::from(r.u8(WHAT)?),
                };
                return Ok(r.bytes(length, WHAT)?);
            }
            types::TINY_BLOB..=types::BLOB | types::BLOB_COMPRESSED | types::GEOMETRY | types::JSON | types::VECTOR => {
                let mut length = 0_usize;
                for (at, byte) in r.bytes(usize::from(first), WHAT)?.iter().enumerate().take(4) {
                    length |= usize::from(*byte) << (8 * at);
                }
                return Ok(r.bytes(length, WHAT)?);
            }
            kind => return Err(BinlogError::UnknownType(kind)),
        };
        Ok(r.bytes(fixed, WHAT)?)
    }
}
