//! Column definitions: how they determine the form of values in a row.
//!
//! Definitions go to the client as the first shard has sent them. Weir reads them only for what merging needs.

use weir_wire::{Capabilities, Malformed, Reader};

/// Column types. Source: MySQL, `enum_field_types`.
pub(crate) mod types {
    pub(crate) const NULL: u8 = 0x06;
    pub(crate) const VARCHAR: u8 = 0x0f;
    pub(crate) const BIT: u8 = 0x10;
    pub(crate) const TINY_BLOB: u8 = 0xf9;
    pub(crate) const BLOB: u8 = 0xfc;
    pub(crate) const VAR_STRING: u8 = 0xfd;
    pub(crate) const STRING: u8 = 0xfe;
    /// The collation that is none.
    pub(crate) const BINARY: u16 = 63;
    pub(super) const DECIMAL: u8 = 0x00;
    pub(super) const TINY: u8 = 0x01;
    pub(super) const SHORT: u8 = 0x02;
    pub(super) const LONG: u8 = 0x03;
    pub(super) const FLOAT: u8 = 0x04;
    pub(super) const DOUBLE: u8 = 0x05;
    pub(crate) const TIMESTAMP: u8 = 0x07;
    pub(super) const LONGLONG: u8 = 0x08;
    pub(super) const INT24: u8 = 0x09;
    pub(crate) const DATE: u8 = 0x0a;
    pub(super) const TIME: u8 = 0x0b;
    pub(crate) const DATETIME: u8 = 0x0c;
    pub(crate) const YEAR: u8 = 0x0d;
    pub(super) const NEWDATE: u8 = 0x0e;
    pub(super) const NEWDECIMAL: u8 = 0xf6;
}

/// UNSIGNED_FLAG of a definition. Source: MySQL, `mysql_com.h`.
const UNSIGNED: u16 = 0x20;
/// ZEROFILL_FLAG.
const ZEROFILL: u16 = 0x40;

/// Decimals of a number that has as many as it needs. Source: MySQL, `DECIMAL_NOT_SPECIFIED`; MariaDB has 31 or 39.
pub const ANY_DECIMALS: u8 = 31;

/// How a column's values look in the formats of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnKind {
    /// An integer; in a binary row it has so many bytes.
    Integer {
        /// 1, 2, 4 or 8.
        width: u8,
        /// It has no sign.
        unsigned: bool,
    },
    /// An approximate number of four bytes.
    Float,
    /// An approximate number of eight bytes.
    Double,
    /// An exact number: digits, in both formats.
    Decimal,
    /// A date, with a time of day or without.
    Date,
    /// A time span with a sign.
    Time,
    /// Anything else: a string of bytes, in both formats.
    Bytes,
}

/// A column of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    /// How its values look.
    pub kind: ColumnKind,
    /// Its type as the definition says it.
    pub code: u8,
    /// The id of its collation.
    pub collation: u16,
    /// Digits behind the point; [`ANY_DECIMALS`] and more: as many as there are.
    pub decimals: u8,
    /// The most bytes or digits that a value has.
    pub length: u32,
    /// A number is shown with zeros in front.
    pub zerofill: bool,
}

impl Column {
    /// Reads a definition of a server with which `capabilities` were negotiated.
    ///
    /// # Errors
    /// When it is cut short.
    pub fn parse(definition: &[u8], capabilities: Capabilities) -> Result<Column, Malformed> {
        let mut r = Reader::new(definition);
        let extended = capabilities.contains(Capabilities::MARIADB_EXTENDED_METADATA);
        // Catalog, schema, table, its own name, the column's name, its own name; MariaDB's type name.
        for _ in 0..6 + usize::from(extended) {
            r.lenenc_bytes("column definition")?;
        }
        r.u8("column definition")?;
        let collation = r.u16("collation")?;
        let length = r.u32("column length")?;
        let code = r.u8("column type")?;
        let flags = r.u16("column flags")?;
        let decimals = r.u8("decimals")?;
        let (kind, zerofill) = (ColumnKind::of(code, flags & UNSIGNED != 0), flags & ZEROFILL != 0);
        Ok(Column { kind, code, collation, decimals, length, zerofill })
    }

    /// Whether a number of this column has as many decimals as it needs.
    pub fn any_decimals(&self) -> bool {
        self.decimals >= ANY_DECIMALS
    }
}

impl ColumnKind {
    fn of(code: u8, unsigned: bool) -> ColumnKind {
        match code {
            types::TINY => ColumnKind::Integer { width: 1, unsigned },
            types::SHORT => ColumnKind::Integer { width: 2, unsigned },
            types::YEAR => ColumnKind::Integer { width: 2, unsigned: true },
            types::LONG | types::INT24 => ColumnKind::Integer { width: 4, unsigned },
            types::LONGLONG => ColumnKind::Integer { width: 8, unsigned },
            types::FLOAT => ColumnKind::Float,
            types::DOUBLE => ColumnKind::Double,
            types::DECIMAL | types::NEWDECIMAL => ColumnKind::Decimal,
            types::DATE | types::NEWDATE | types::DATETIME | types::TIMESTAMP => ColumnKind::Date,
            types::TIME => ColumnKind::Time,
            _ => ColumnKind::Bytes,
        }
    }
}

#[cfg(test)]
pub(crate) mod testing {
    use weir_wire::codec::put_lenenc_bytes;

    /// A column definition of this name, type, flags and decimals.
    pub(crate) fn definition(name: &str, code: u8, flags: u16, decimals: u8) -> Vec<u8> {
        let mut out = Vec::new();
        for text in ["def", "d", "t", "t", name, name] {
            put_lenenc_bytes(&mut out, text.as_bytes());
        }
        out.push(0x0c);
        out.extend_from_slice(&45_u16.to_le_bytes());
        out.extend_from_slice(&20_u32.to_le_bytes());
        out.push(code);
        out.extend_from_slice(&flags.to_le_bytes());
        out.extend_from_slice(&[decimals, 0, 0]);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::testing::definition;
    use super::*;

    #[test]
    fn definitions_say_how_values_look() {
        let kind = |code, flags| {
            let definition = definition("c", code, flags, 2);
            Column::parse(&definition, Capabilities::empty()).expect("it is well formed").kind
        };
        assert_eq!(kind(types::LONGLONG, UNSIGNED), ColumnKind::Integer { width: 8, unsigned: true });
        assert_eq!(kind(types::INT24, 0), ColumnKind::Integer { width: 4, unsigned: false });
        assert_eq!(kind(types::YEAR, 0), ColumnKind::Integer { width: 2, unsigned: true });
        assert_eq!((kind(types::NEWDECIMAL, 0), kind(types::TIMESTAMP, 0)), (ColumnKind::Decimal, ColumnKind::Date));
        assert_eq!((kind(0xfd, 0), kind(0x10, UNSIGNED)), (ColumnKind::Bytes, ColumnKind::Bytes));
        let whole = definition("c", types::DOUBLE, 0, 31);
        assert!(Column::parse(&whole, Capabilities::empty()).expect("it is well formed").any_decimals());
        for cut in 0..whole.len() - 2 {
            assert!(Column::parse(&whole[..cut], Capabilities::empty()).is_err(), "cut at {cut}");
        }
    }
}
