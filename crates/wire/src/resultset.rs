//! Result sets that Weir itself answers, and the text rows that it reads from a server for its own use.

use bytes::BytesMut;

use crate::caps::{Capabilities, StatusFlags};
use crate::codec::{Malformed, Reader, put_lenenc, put_lenenc_bytes};
use crate::frame::put_packet;
use crate::packets::{EofPacket, OkPacket};

/// Column types that Weir's own results have. Source: MySQL, `enum_field_types`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum ColumnType {
    /// A 64-bit integer without a sign.
    BigInt = 0x08,
    /// A 32-bit integer.
    Int = 0x03,
    /// A floating-point number.
    Double = 0x05,
    /// Text, in utf8mb4.
    Text = 0xfd,
}

/// The collation ids of text (utf8mb4_general_ci) and of numbers (binary).
const UTF8MB4: u16 = 45;
/// Those of other texts: the defaults of their character sets.
const LATIN1: u16 = 8;
const ASCII: u16 = 11;
const UTF8MB3: u16 = 33;
const BINARY: u16 = 63;
/// UNSIGNED_FLAG and BINARY_FLAG, as servers say of their own counts. Source: MySQL, `mysql_com.h`.
const UNSIGNED_NUMBER: u16 = 0x20 | 0x80;
const BINARY_NUMBER: u16 = 0x80;
/// NOT_NULL_FLAG. Source: MySQL, `mysql_com.h`.
const NOT_NULL: u16 = 0x01;
/// As many decimals as the number has. Source: MySQL, `DECIMAL_NOT_SPECIFIED`.
const ANY_DECIMALS: u8 = 31;

/// A column of Weir's own results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its type.
    pub kind: ColumnType,
    /// What servers say of it, if that is not the usual of its type.
    details: Option<Details>,
}

/// What a column definition tells beside the type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Details {
    charset: u16,
    length: u32,
    flags: u16,
    decimals: u8,
}

impl Column {
    /// A column of text.
    pub fn text(name: &str) -> Column {
        Column { name: name.to_owned(), kind: ColumnType::Text, details: None }
    }

    /// A column of integers that are not negative.
    pub fn integer(name: &str) -> Column {
        Column { name: name.to_owned(), kind: ColumnType::BigInt, details: None }
    }

    /// A column of numbers that may have a fraction.
    pub fn number(name: &str) -> Column {
        Column { name: name.to_owned(), kind: ColumnType::Double, details: None }
    }

    /// The columns of SHOW WARNINGS, as either kind of server tells them to a client whose results are in this character set.
    pub fn of_warnings(mariadb: bool, charset: &str) -> Vec<Column> {
        let (charset, most_bytes) = match charset {
            "latin1" => (LATIN1, 1),
            "ascii" => (ASCII, 1),
            "utf8" | "utf8mb3" => (UTF8MB3, 3),
            _ => (UTF8MB4, 4),
        };
        let text = |name: &str, characters: u32| Column {
            name: name.to_owned(),
            kind: ColumnType::Text,
            details: Some(Details {
                charset,
                length: characters * most_bytes,
                flags: NOT_NULL,
                decimals: if mariadb { 39 } else { ANY_DECIMALS },
            }),
        };
        let length = if mariadb { 4 } else { 5 };
        let flags = NOT_NULL | UNSIGNED_NUMBER;
        let code = Column {
            name: "Code".to_owned(),
            kind: ColumnType::Int,
            details: Some(Details { charset: BINARY, length, flags, decimals: 0 }),
        };
        vec![text("Level", 7), code, text("Message", 512)]
    }

    fn encode(&self, capabilities: Capabilities) -> Vec<u8> {
        let (charset, length, flags, decimals) = match (self.details, self.kind) {
            (Some(told), _) => (told.charset, told.length, told.flags, told.decimals),
            (None, ColumnType::BigInt) => (BINARY, 21_u32, UNSIGNED_NUMBER, 0),
            (None, ColumnType::Int) => (BINARY, 10, UNSIGNED_NUMBER, 0),
            (None, ColumnType::Double) => (BINARY, 23, BINARY_NUMBER, ANY_DECIMALS),
            (None, ColumnType::Text) => (UTF8MB4, 65_535, 0, 0),
        };
        let mut out = Vec::with_capacity(48 + self.name.len());
        put_lenenc_bytes(&mut out, b"def");
        for _ in 0..3 {
            put_lenenc_bytes(&mut out, b"");
        }
        put_lenenc_bytes(&mut out, self.name.as_bytes());
        put_lenenc_bytes(&mut out, b"");
        if capabilities.contains(Capabilities::MARIADB_EXTENDED_METADATA) {
            put_lenenc_bytes(&mut out, b"");
        }
        out.push(0x0c);
        out.extend_from_slice(&charset.to_le_bytes());
        out.extend_from_slice(&length.to_le_bytes());
        out.push(self.kind as u8);
        out.extend_from_slice(&flags.to_le_bytes());
        // The decimals, and two bytes that are always 0.
        out.extend_from_slice(&[decimals, 0, 0]);
        out
    }

    /// Appends a cell as it is in the binary protocol. `None`: it is no number of the column's type.
    fn put_binary(&self, out: &mut Vec<u8>, cell: &[u8]) -> Option<()> {
        let text = std::str::from_utf8(cell);
        match self.kind {
            ColumnType::Text => put_lenenc_bytes(out, cell),
            ColumnType::Int => out.extend_from_slice(&text.ok()?.parse::<u32>().ok()?.to_le_bytes()),
            ColumnType::BigInt => out.extend_from_slice(&text.ok()?.parse::<u64>().ok()?.to_le_bytes()),
            ColumnType::Double => out.extend_from_slice(&text.ok()?.parse::<f64>().ok()?.to_le_bytes()),
        }
        Some(())
    }
}

/// A result set that Weir answers. Cells are text; `None` is NULL.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ResultSet {
    /// The columns.
    pub columns: Vec<Column>,
    /// The rows, each with one cell per column.
    pub rows: Vec<Vec<Option<Vec<u8>>>>,
}

impl ResultSet {
    /// Appends the result set as packets, beginning with sequence number `seq`; returns the number that follows.
    pub fn put(&self, out: &mut BytesMut, seq: u8, capabilities: Capabilities, status: StatusFlags) -> u8 {
        self.put_with(Self::put_text_row, out, seq, capabilities, status)
    }

    /// The same with rows in the binary protocol's form, for an executed prepared statement.
    pub fn put_binary(&self, out: &mut BytesMut, seq: u8, capabilities: Capabilities, status: StatusFlags) -> u8 {
        self.put_with(Self::put_binary_row, out, seq, capabilities, status)
    }

    fn put_text_row(&self, payload: &mut Vec<u8>, row: &[Option<Vec<u8>>]) {
        for cell in row {
            match cell {
                Some(bytes) => put_lenenc_bytes(payload, bytes),
                None => payload.push(0xfb),
            }
        }
    }

    fn put_binary_row(&self, payload: &mut Vec<u8>, row: &[Option<Vec<u8>>]) {
        // A header, then a bit for each column that is NULL, behind two that are never used.
        payload.resize(1 + (self.columns.len() + 9) / 8, 0);
        for (at, (column, cell)) in self.columns.iter().zip(row).enumerate() {
            if cell.as_ref().and_then(|cell| column.put_binary(payload, cell)).is_none() {
                let bit = at + 2;
                payload[1 + bit / 8] |= 1 << (bit % 8);
            }
        }
    }

    fn put_with(
        &self,
        put_row: impl Fn(&Self, &mut Vec<u8>, &[Option<Vec<u8>>]),
        out: &mut BytesMut,
        seq: u8,
        capabilities: Capabilities,
        status: StatusFlags,
    ) -> u8 {
        let mut payload = Vec::new();
        put_lenenc(&mut payload, self.columns.len() as u64);
        let mut seq = put_packet(out, seq, &payload);
        for column in &self.columns {
            seq = put_packet(out, seq, &column.encode(capabilities));
        }
        let deprecate_eof = capabilities.contains(Capabilities::DEPRECATE_EOF);
        let eof = EofPacket { warnings: 0, status };
        if !deprecate_eof {
            seq = put_packet(out, seq, &eof.encode());
        }
        for row in &self.rows {
            payload.clear();
            put_row(self, &mut payload, row);
            seq = put_packet(out, seq, &payload);
        }
        if deprecate_eof {
            let end = OkPacket { header: 0xfe, ..OkPacket::plain(status) };
            put_packet(out, seq, &end.encode(capabilities))
        } else {
            put_packet(out, seq, &eof.encode())
        }
    }
}

/// Reads the cells of a text row's payload.
pub fn parse_text_row(payload: &[u8]) -> Result<Vec<Option<Vec<u8>>>, Malformed> {
    let mut r = Reader::new(payload);
    let mut row = Vec::new();
    while !r.is_empty() {
        row.push(r.cell("cell")?.map(<[u8]>::to_vec));
    }
    Ok(row)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_in_the_binary_form_have_numbers_of_their_types_and_a_bit_for_each_null() {
        let row = |cells: [Option<&str>; 3]| cells.map(|cell| cell.map(|cell| cell.as_bytes().to_vec())).to_vec();
        let result = ResultSet { columns: Column::of_warnings(true, "utf8mb4"), rows: Vec::new() };
        let mut payload = Vec::new();
        result.put_binary_row(&mut payload, &row([Some("Note"), Some("1051"), Some("x")]));
        assert_eq!(payload, b"\0\0\x04Note\x1b\x04\0\0\x01x");
        payload.clear();
        result.put_binary_row(&mut payload, &row([None, Some("1"), None]));
        assert_eq!(payload, b"\0\x14\x01\0\0\0", "bits begin with the third");
    }
}
