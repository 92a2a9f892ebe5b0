//! Text result sets: those that Weir itself answers, and those that it reads from a server for its own use.

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
    /// A floating-point number.
    Double = 0x05,
    /// Text, in utf8mb4.
    Text = 0xfd,
}

/// The collation ids of text (utf8mb4_general_ci) and of numbers (binary).
const UTF8MB4: u16 = 45;
const BINARY: u16 = 63;
/// UNSIGNED_FLAG and BINARY_FLAG, as servers say of their own counts. Source: MySQL, `mysql_com.h`.
const UNSIGNED_NUMBER: u16 = 0x20 | 0x80;
const BINARY_NUMBER: u16 = 0x80;
/// As many decimals as the number has. Source: MySQL, `DECIMAL_NOT_SPECIFIED`.
const ANY_DECIMALS: u8 = 31;

/// A column of Weir's own results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its type.
    pub kind: ColumnType,
}

impl Column {
    /// A column of text.
    pub fn text(name: &str) -> Column {
        Column { name: name.to_owned(), kind: ColumnType::Text }
    }

    /// A column of integers that are not negative.
    pub fn integer(name: &str) -> Column {
        Column { name: name.to_owned(), kind: ColumnType::BigInt }
    }

    /// A column of numbers that may have a fraction.
    pub fn number(name: &str) -> Column {
        Column { name: name.to_owned(), kind: ColumnType::Double }
    }

    fn encode(&self, capabilities: Capabilities) -> Vec<u8> {
        let (charset, length, flags, decimals) = match self.kind {
            ColumnType::BigInt => (BINARY, 21_u32, UNSIGNED_NUMBER, 0),
            ColumnType::Double => (BINARY, 23, BINARY_NUMBER, ANY_DECIMALS),
            ColumnType::Text => (UTF8MB4, 65_535, 0, 0),
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
}

/// A text result set that Weir answers. Cells are text; `None` is NULL.
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
            for cell in row {
                match cell {
                    Some(bytes) => put_lenenc_bytes(&mut payload, bytes),
                    None => payload.push(0xfb),
                }
            }
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
