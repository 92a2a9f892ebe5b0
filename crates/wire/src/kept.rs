//! A reply whose rows are kept until COM_STMT_FETCH asks for them, as a server keeps those of a cursor.
//!
//! What must always hold: the rows are those of the reply, packet by packet and in its order; what comes before them is told as by a server
//! that has opened a cursor.

use bytes::BytesMut;

use crate::caps::{Capabilities, StatusFlags};
use crate::codec::{Malformed, Reader, put_lenenc, put_lenenc_bytes};
use crate::frame::{HEADER, Header, MAX_FRAME, put_packet};
use crate::packets::EofPacket;

/// What a reply to COM_STMT_EXECUTE is to a client that has asked for a cursor.
#[derive(Debug, PartialEq, Eq)]
pub enum Opened {
    /// It has no rows to keep, or its server keeps them: the client gets it as it is.
    AsItIs,
    /// It is an error, or its rows end with one, of which this is the payload.
    Failed(Vec<u8>),
    /// It has rows.
    Cursor {
        /// The packets that open the cursor, the columns and their end, with numbers from 0 on.
        head: BytesMut,
        /// The rows.
        rows: KeptRows,
    },
}

/// Flags of keys (PRI_KEY, UNIQUE_KEY, MULTIPLE_KEY, PART_KEY), AUTO_INCREMENT, TIMESTAMP and ON_UPDATE_NOW.
const OF_KEYS: u16 = 0x0002 | 0x0004 | 0x0008 | 0x4000 | 0x0200 | 0x0400 | 0x2000;
/// BINARY.
const BINARY: u16 = 0x0080;
/// TINY, SHORT, LONG, FLOAT, DOUBLE, LONGLONG, INT24, NEWDECIMAL.
const NUMBERS: [u8; 8] = [1, 2, 3, 4, 5, 8, 9, 246];
/// VARCHAR, TINY_BLOB to BLOB, VAR_STRING, STRING.
const TEXTS: [u8; 7] = [15, 249, 250, 251, 252, 253, 254];

/// Rows that wait to be fetched.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct KeptRows {
    packets: Box<[u8]>,
    /// So much of them has been fetched.
    fetched: usize,
}

impl KeptRows {
    /// The bytes that they take up.
    pub fn size(&self) -> usize {
        self.packets.len()
    }

    /// The next row's packet, all its frames, whose numbers are those of the reply.
    pub fn next_row(&mut self) -> Option<&[u8]> {
        let rest = &self.packets[self.fetched..];
        let row = rest.get(..packet_length(rest)?)?;
        self.fetched += row.len();
        Some(row)
    }
}

/// Takes the whole reply to one COM_STMT_EXECUTE apart.
///
/// # Errors
/// It is none.
pub fn open(reply: &[u8], capabilities: Capabilities) -> Result<Opened, Malformed> {
    let mut packets = Packets { rest: reply, at: 0 };
    let (_, first) = packets.required("a reply without packets")?;
    match first.first() {
        None | Some(0x00 | 0xfb) => return Ok(Opened::AsItIs),
        Some(0xff) => return Ok(Opened::Failed(first.to_vec())),
        Some(_) => {}
    }
    let columns = Reader::new(first).lenenc("column count")?;
    let (mut head, mut seq) = (BytesMut::new(), 0);
    seq = put_packet(&mut head, seq, first);
    for _ in 0..columns {
        let (_, definition) = packets.required("a column's definition")?;
        seq = put_packet(&mut head, seq, &stored(definition, capabilities)?);
    }
    let deprecates = capabilities.contains(Capabilities::DEPRECATE_EOF);
    if !deprecates {
        let (_, eof) = packets.required("the end of columns")?;
        if packets.rest.is_empty() || eof.first() == Some(&0xff) {
            return Ok(ended_early(eof));
        }
    }
    let rows_start = packets.at;
    let (mut end_start, mut end) = packets.required("the end of rows")?;
    while let Some((start, packet)) = packets.next() {
        (end_start, end) = (start, packet);
    }
    if end.first() == Some(&0xff) {
        return Ok(Opened::Failed(end.to_vec()));
    }
    let flags_at = status_at(end, deprecates)?;
    let flags = end.get(flags_at..flags_at + 2).ok_or(Malformed("the end of rows"))?;
    let status = StatusFlags::from_bits_retain(u16::from_le_bytes([flags[0], flags[1]]));
    if status.intersects(StatusFlags::CURSOR_EXISTS | StatusFlags::MORE_RESULTS_EXISTS) {
        return Ok(Opened::AsItIs);
    }
    let mut end = end.to_vec();
    end[flags_at..flags_at + 2].copy_from_slice(&(status | StatusFlags::CURSOR_EXISTS).bits().to_le_bytes());
    put_packet(&mut head, seq, &end);
    Ok(Opened::Cursor { head, rows: KeptRows { packets: reply[rows_start..end_start].into(), fetched: 0 } })
}

/// A column's definition as that of a column of the temporary table that a server makes of a cursor's rows. Tried on MariaDB 10.11 and MySQL
/// 9.7: its own name is the name that it was given, it belongs to no key, numbers are not BINARY, and texts have no decimals.
fn stored(definition: &[u8], capabilities: Capabilities) -> Result<Vec<u8>, Malformed> {
    const NAME: usize = 4;
    let mut r = Reader::new(definition);
    let mut out = Vec::with_capacity(definition.len());
    for _ in 0..NAME {
        put_lenenc_bytes(&mut out, r.lenenc_bytes("a column's names")?);
    }
    let name = r.lenenc_bytes("a column's name")?;
    r.lenenc_bytes("a column's own name")?;
    put_lenenc_bytes(&mut out, name);
    put_lenenc_bytes(&mut out, name);
    if capabilities.contains(Capabilities::MARIADB_EXTENDED_METADATA) {
        put_lenenc_bytes(&mut out, r.lenenc_bytes("a column's further type")?);
    }
    put_lenenc(&mut out, r.lenenc("the length of what follows")?);
    out.extend_from_slice(r.bytes(6, "a column's character set and length")?);
    let kind = r.u8("a column's type")?;
    let mut flags = r.u16("a column's flags")? & !OF_KEYS;
    let decimals = r.u8("a column's decimals")?;
    if NUMBERS.contains(&kind) {
        flags &= !BINARY;
    }
    out.push(kind);
    out.extend_from_slice(&flags.to_le_bytes());
    out.push(if TEXTS.contains(&kind) { 0 } else { decimals });
    out.extend_from_slice(r.rest());
    Ok(out)
}

/// A reply that ends behind its columns: with an error, or as its server keeps the rows.
fn ended_early(end: &[u8]) -> Opened {
    if end.first() == Some(&0xff) { Opened::Failed(end.to_vec()) } else { Opened::AsItIs }
}

/// Where in the packet that ends rows the status stands.
fn status_at(end: &[u8], deprecates: bool) -> Result<usize, Malformed> {
    // Also a server that deprecates EOF may send one.
    if !deprecates || end.len() == EofPacket::LENGTH {
        return Ok(3);
    }
    let mut r = Reader::new(end);
    r.u8("the end of rows")?;
    r.lenenc("affected rows")?;
    r.lenenc("last insert id")?;
    Ok(end.len() - r.rest().len())
}

/// The length of the packet that the bytes begin with, headers and all.
fn packet_length(bytes: &[u8]) -> Option<usize> {
    let mut length = 0;
    loop {
        let header = Header::peek(bytes.get(length..)?)?;
        length += HEADER + header.len;
        if header.len < MAX_FRAME {
            return Some(length);
        }
    }
}

/// The packets of a reply.
struct Packets<'a> {
    rest: &'a [u8],
    at: usize,
}

impl<'a> Packets<'a> {
    /// Where the next packet begins, and its payload; of a packet of several frames, the payload of the first.
    fn next(&mut self) -> Option<(usize, &'a [u8])> {
        let length = packet_length(self.rest)?;
        let (packet, rest) = self.rest.split_at_checked(length)?;
        let start = self.at;
        self.rest = rest;
        self.at += length;
        let first = Header::peek(packet)?.len;
        Some((start, &packet[HEADER..HEADER + first]))
    }

    fn required(&mut self, what: &'static str) -> Result<(usize, &'a [u8]), Malformed> {
        self.next().ok_or(Malformed(what))
    }
}

#[cfg(test)]
mod tests;
