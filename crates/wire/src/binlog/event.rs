//! What an event says.

use crate::codec::{Malformed, Reader};

use super::BinlogError;
use super::rows::Rows;

/// Types of events. Source: MySQL, `Log_event_type`; MariaDB, `Log_event_type` from 160 on.
pub(super) mod types {
    pub(crate) const QUERY: u8 = 2;
    pub(crate) const ROTATE: u8 = 4;
    pub(crate) const FORMAT: u8 = 15;
    pub(crate) const XID: u8 = 16;
    pub(crate) const TABLE_MAP: u8 = 19;
    pub(crate) const WRITE_V1: u8 = 23;
    pub(crate) const UPDATE_V1: u8 = 24;
    pub(crate) const DELETE_V1: u8 = 25;
    pub(crate) const INCIDENT: u8 = 26;
    pub(crate) const HEARTBEAT: u8 = 27;
    pub(crate) const WRITE: u8 = 30;
    pub(crate) const UPDATE: u8 = 31;
    pub(crate) const DELETE: u8 = 32;
    pub(crate) const GTID: u8 = 33;
    pub(crate) const ANONYMOUS: u8 = 34;
    pub(crate) const XA_PREPARE: u8 = 38;
    pub(crate) const PARTIAL_UPDATE: u8 = 39;
    pub(crate) const PAYLOAD: u8 = 40;
    pub(crate) const HEARTBEAT_V2: u8 = 41;
    pub(crate) const TAGGED_GTID: u8 = 42;
    pub(crate) const MARIADB_GTID: u8 = 162;
    pub(crate) const QUERY_COMPRESSED: u8 = 165;
    pub(crate) const WRITE_COMPRESSED_V1: u8 = 166;
    pub(crate) const UPDATE_COMPRESSED_V1: u8 = 167;
    pub(crate) const DELETE_COMPRESSED_V1: u8 = 168;
    pub(crate) const WRITE_COMPRESSED: u8 = 169;
    pub(crate) const UPDATE_COMPRESSED: u8 = 170;
    pub(crate) const DELETE_COMPRESSED: u8 = 171;
}

/// Bytes of an event's header.
pub(super) const HEADER: usize = 19;
/// The event is made for this stream only, and not in the log: LOG_EVENT_ARTIFICIAL_F.
const ARTIFICIAL: u16 = 0x20;

/// An event's header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// When its statement began, in seconds since 1970; 0 for events that are made for the stream.
    pub timestamp: u32,
    /// Its type.
    pub kind: u8,
    /// The server that wrote it first.
    pub server_id: u32,
    /// Its length, header included.
    pub size: u32,
    /// Where it ends in the file; 0 where that means nothing.
    pub end: u32,
    /// Flags.
    pub flags: u16,
}

impl Header {
    /// Reads a header.
    ///
    /// # Errors
    /// When it is cut short.
    pub fn parse(bytes: &[u8]) -> Result<Header, BinlogError> {
        let mut r = Reader::new(bytes);
        let timestamp = r.u32("timestamp")?;
        let kind = r.u8("event type")?;
        let server_id = r.u32("server id")?;
        let size = r.u32("event size")?;
        let end = r.u32("event position")?;
        Ok(Header { timestamp, kind, server_id, size, end, flags: r.u16("event flags")? })
    }

    /// Whether it is in the log, and not made for the stream.
    pub fn is_logged(&self) -> bool {
        self.flags & ARTIFICIAL == 0 && self.end > 0 && !matches!(self.kind, types::HEARTBEAT | types::HEARTBEAT_V2)
    }
}

/// A global transaction id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gtid {
    /// As the servers write it: `uuid:5`, `uuid:tag:5`, `0-1-5`; none for an anonymous transaction.
    pub text: Option<String>,
    /// The next event is all of its group: no commit follows. (MariaDB says so here; elsewhere the events tell.)
    pub standalone: Option<bool>,
}

/// The name of a distributed transaction's branch.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Xid {
    /// The format's number.
    pub format: u32,
    /// The global part.
    pub global: Vec<u8>,
    /// The branch's part.
    pub branch: Vec<u8>,
}

/// What an event says.
#[derive(Debug)]
pub enum Event<'a> {
    /// The log goes on in this file.
    Rotate {
        /// The file.
        file: &'a [u8],
        /// The place in it.
        position: u64,
    },
    /// The server has nothing to send.
    Heartbeat,
    /// A transaction, or another group of events, begins.
    Gtid(Gtid),
    /// A statement that was logged as a text: BEGIN, definitions.
    Query {
        /// The default database.
        database: &'a [u8],
        /// The text.
        text: &'a [u8],
    },
    /// Rows of a table that is watched.
    Rows(Rows<'a>),
    /// The transaction commits.
    Commit,
    /// The branch is prepared, or, in one phase, commits.
    Prepare {
        /// Its name.
        xid: Xid,
        /// It commits.
        one_phase: bool,
    },
    /// Something else.
    Other,
}

pub(super) fn rotate(body: &[u8]) -> Result<Event<'_>, BinlogError> {
    let mut r = Reader::new(body);
    let position = u64_of(&mut r, "rotate position")?;
    Ok(Event::Rotate { file: r.take_rest(), position })
}

pub(super) fn mysql_gtid<'a>(kind: u8, body: &[u8]) -> Result<Event<'a>, BinlogError> {
    if kind == types::ANONYMOUS {
        return Ok(Event::Gtid(Gtid { text: None, standalone: None }));
    }
    let mut r = Reader::new(body);
    r.u8("gtid flags")?;
    let source = r.bytes(16, "gtid source")?;
    let number = u64_of(&mut r, "gtid number")?;
    Ok(Event::Gtid(Gtid { text: Some(format!("{}:{number}", uuid(source))), standalone: None }))
}

/// Source: MySQL, `Gtid_event`, and its library `mysql/serialization`: fields with numbers, and integers of varying length.
pub(super) fn tagged_gtid<'a>(body: &[u8]) -> Result<Event<'a>, BinlogError> {
    let mut r = Reader::new(body);
    for what in ["serialization version", "serialized size", "last field"] {
        varying(&mut r, what)?;
    }
    let (mut source, mut number, mut tag) = (Vec::new(), 0, Vec::new());
    while !r.is_empty() {
        match varying(&mut r, "field")? {
            0 => drop(varying(&mut r, "gtid flags")?),
            1 => {
                for _ in 0..16 {
                    let byte = varying(&mut r, "gtid source")?;
                    source.push(u8::try_from(byte).map_err(|_| BinlogError::Malformed("gtid source"))?);
                }
            }
            // A signed integer: its lowest bit is the sign.
            2 => number = varying(&mut r, "gtid number")? >> 1,
            3 => {
                let length = usize::try_from(varying(&mut r, "gtid tag")?).unwrap_or(usize::MAX);
                tag = r.bytes(length, "gtid tag")?.to_vec();
            }
            _ => break,
        }
    }
    if source.len() != 16 || number == 0 {
        return Err(BinlogError::Malformed("gtid"));
    }
    let text = match tag.is_empty() {
        true => format!("{}:{number}", uuid(&source)),
        false => format!("{}:{}:{number}", uuid(&source), String::from_utf8_lossy(&tag)),
    };
    Ok(Event::Gtid(Gtid { text: Some(text), standalone: None }))
}

/// Source: MariaDB, `Gtid_log_event`: the domain and the number are in the event, the server in its header.
pub(super) fn mariadb_gtid<'a>(header: &Header, body: &[u8]) -> Result<Event<'a>, BinlogError> {
    const STANDALONE: u8 = 1;
    let mut r = Reader::new(body);
    let number = u64_of(&mut r, "gtid number")?;
    let domain = r.u32("gtid domain")?;
    let flags = r.u8("gtid flags")?;
    let text = Some(format!("{domain}-{}-{number}", header.server_id));
    Ok(Event::Gtid(Gtid { text, standalone: Some(flags & STANDALONE != 0) }))
}

/// The default database and the text of a statement. Source: MySQL, `Query_event`.
pub(super) fn query(body: &[u8]) -> Result<(&[u8], &[u8]), BinlogError> {
    let mut r = Reader::new(body);
    r.bytes(8, "query thread and time")?;
    let database = usize::from(r.u8("query database")?);
    r.u16("query error")?;
    let variables = usize::from(r.u16("query variables")?);
    r.bytes(variables, "query variables")?;
    let database = r.bytes(database, "query database")?;
    r.u8("query database's end")?;
    Ok((database, r.take_rest()))
}

/// Source: MySQL, `XA_prepare_event`.
pub(super) fn prepare<'a>(body: &[u8]) -> Result<Event<'a>, BinlogError> {
    let mut r = Reader::new(body);
    let one_phase = r.u8("one phase")? != 0;
    let format = r.u32("xid format")?;
    let (global, branch) = (r.u32("xid length")? as usize, r.u32("xid length")? as usize);
    let global = r.bytes(global, "xid")?.to_vec();
    let branch = r.bytes(branch, "xid")?.to_vec();
    Ok(Event::Prepare { xid: Xid { format, global, branch }, one_phase })
}

pub(super) fn u64_of(r: &mut Reader<'_>, what: &'static str) -> Result<u64, Malformed> {
    let low = r.u32(what)?;
    Ok(u64::from(low) | u64::from(r.u32(what)?) << 32)
}

/// As many bytes follow the first as it has one-bits at its low end; the rest of the bits are the number.
fn varying(r: &mut Reader<'_>, what: &'static str) -> Result<u64, Malformed> {
    let first = r.u8(what)?;
    let more = first.trailing_ones() as usize;
    let mut bytes = [0; 16];
    bytes[0] = first;
    bytes[1..=more].copy_from_slice(r.bytes(more, what)?);
    let all = u128::from_le_bytes(bytes) >> (more + 1).min(8);
    u64::try_from(all).map_err(|_| Malformed(what))
}

fn uuid(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(36);
    for (at, byte) in bytes.iter().enumerate() {
        if matches!(at, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        text.push_str(&format!("{byte:02x}"));
    }
    text
}

impl Xid {
    /// Reads the name as statements in the log have it: `X'6162',X'63',1`.
    pub fn parse(text: &str) -> Option<Xid> {
        let mut parts = text.split(',').map(str::trim);
        let bytes = |part: &str| unhex(part.strip_prefix(['X', 'x'])?.trim_matches('\''));
        let global = bytes(parts.next()?)?;
        let branch = parts.next().map_or(Some(Vec::new()), bytes)?;
        let format = parts.next().map_or(Some(1), |part| part.parse().ok())?;
        Some(Xid { format, global, branch })
    }
}

/// Bytes from hexadecimal digits; `None` if these are none.
pub fn unhex(digits: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|value| value as u8);
    let pairs = digits.as_bytes().chunks(2);
    pairs.map(|pair| Some(digit(pair[0])? << 4 | digit(*pair.get(1)?)?)).collect()
}
