//! Decoding of a server's answers into values that can be compared and printed.
//!
//! Nothing is left out but two status bits that tell of the server's caches and clock, not of the answer.

use std::io::Result;

use crate::client::{Fields, Packets, broken};
use crate::login::caps;
use crate::raw;

/// More result sets follow.
pub(crate) const MORE_RESULTS: u16 = 0x0008;
/// The statement left a cursor open.
pub(crate) const CURSOR_EXISTS: u16 = 0x0040;
/// The row holds OUT parameters.
const OUT_PARAMETERS: u16 = 0x1000;
/// "Metadata changed" depends on when the server re-prepared, "query was slow" on its clock.
pub(crate) const NOT_OF_THE_ANSWER: u16 = 0x0400 | 0x0800;

/// Session state has changed; in an OK packet, records follow.
pub(crate) const SESSION_STATE_CHANGED: u16 = 0x4000;

/// Status and warnings of the EOF after column definitions, where the protocol has one.
pub(crate) type ColumnsEnd = Option<(u16, u16)>;

/// An OK packet, or the OK at the end of rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Summary {
    pub(crate) affected: u64,
    pub(crate) insert_id: u64,
    pub(crate) status: u16,
    pub(crate) warnings: u16,
    pub(crate) info: Vec<u8>,
    pub(crate) columns_end: ColumnsEnd,
    /// It came as an EOF packet.
    pub(crate) is_eof: bool,
    /// Session state records: type and data.
    pub(crate) track: Vec<(u8, Vec<u8>)>,
}

/// A column definition.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Column {
    /// Catalog, schema, table, original table, name, original name.
    pub(crate) names: [Vec<u8>; 6],
    pub(crate) charset: u16,
    pub(crate) length: u32,
    pub(crate) kind: u8,
    pub(crate) flags: u16,
    pub(crate) decimals: u8,
}

/// A value as bytes on the wire (without its length), or NULL.
pub(crate) type Cell = Option<Vec<u8>>;

/// One of the results that a command gives.
#[derive(Clone, PartialEq)]
pub(crate) enum Set {
    Ok(Summary),
    /// Columns, rows, and what ended them: an OK, or an error.
    Rows(Vec<Column>, Vec<Vec<Cell>>, Box<Set>),
    /// Code, SQLSTATE, message.
    Error(u16, String, Vec<u8>),
    /// Parameters and columns of a prepared statement, and its warnings.
    Prepared(Vec<Column>, Vec<Column>, u16),
    /// No answer by protocol: the connection ended, or the client gave up.
    Lost(String),
}

impl Set {
    /// The error code, if this is an error or rows that ended in one.
    pub(crate) fn error_code(&self) -> Option<u16> {
        match self {
            Self::Error(code, ..) => Some(*code),
            Self::Rows(.., end) => end.error_code(),
            _ => None,
        }
    }

    /// Its rows, if it has some.
    pub(crate) fn rows(&self) -> Vec<Vec<Cell>> {
        match self {
            Self::Rows(_, rows, _) => rows.clone(),
            _ => Vec::new(),
        }
    }

    /// Takes flags out of the status, wherever it stands.
    pub(crate) fn without_status(&mut self, flags: u16) {
        match self {
            Self::Ok(ok) => {
                ok.status &= !flags;
                if let Some((status, _)) = &mut ok.columns_end {
                    *status &= !flags;
                }
            }
            Self::Rows(.., end) => end.without_status(flags),
            _ => {}
        }
    }

    /// Takes the number of warnings out.
    pub(crate) fn without_warnings(&mut self) {
        match self {
            Self::Ok(ok) => {
                ok.warnings = 0;
                if let Some((_, warnings)) = &mut ok.columns_end {
                    *warnings = 0;
                }
            }
            Self::Rows(.., end) => end.without_warnings(),
            _ => {}
        }
    }

    /// The status flags, where the set has them.
    pub(crate) fn status(&self) -> u16 {
        match self {
            Self::Ok(ok) => ok.status,
            Self::Rows(.., end) => end.status(),
            _ => 0,
        }
    }
}

pub(crate) fn decode_error(packet: &[u8]) -> Result<Set> {
    let mut fields = Fields(&packet[1..]);
    let code = fields.int(2)? as u16;
    let state = if fields.0.first() == Some(&b'#') {
        String::from_utf8_lossy(&fields.bytes(6)?[1..]).into_owned()
    } else {
        String::new()
    };
    Ok(Set::Error(code, state, fields.rest().to_vec()))
}

pub(crate) fn decode_ok(packet: &[u8], capabilities: u32) -> Result<Summary> {
    let mut fields = Fields(&packet[1..]);
    let affected = fields.lenenc()?;
    let insert_id = fields.lenenc()?;
    let status = fields.int(2)? as u16;
    let warnings = fields.int(2)? as u16;
    let mut track = Vec::new();
    let info = if capabilities & caps::SESSION_TRACK != 0 {
        let info = if fields.0.is_empty() { Vec::new() } else { fields.lenenc_bytes()?.to_vec() };
        if status & SESSION_STATE_CHANGED != 0 {
            let mut records = Fields(fields.lenenc_bytes()?);
            while !records.0.is_empty() {
                let kind = records.int(1)? as u8;
                track.push((kind, records.lenenc_bytes()?.to_vec()));
            }
            // The state of a transaction (type 5): a start that Weir answers itself is told again by a second BEGIN.
            track.retain(|(kind, _)| *kind != 5);
            // The database (type 1): MariaDB tells it, unchanged, after statements that open views or routines; a client
            // that reads EOF packets hears of it with some later OK, on whichever connection that is.
            if capabilities & caps::DEPRECATE_EOF == 0 {
                track.retain(|(kind, _)| *kind != 1);
            }
            // The servers keep them in a hash table: their order says nothing, and differs from run to run.
            track.sort();
        }
        info
    } else {
        fields.rest().to_vec()
    };
    // The flag says that there are records.
    let told = if track.is_empty() { SESSION_STATE_CHANGED } else { 0 };
    Ok(Summary {
        affected,
        insert_id,
        status: status & !(NOT_OF_THE_ANSWER | told),
        warnings,
        info,
        track,
        ..Summary::default()
    })
}

fn decode_eof(packet: &[u8], capabilities: u32) -> Result<Summary> {
    // MySQL ends rows that an error has cut off by an EOF packet always.
    if capabilities & caps::DEPRECATE_EOF != 0 && packet.len() != EOF_LENGTH {
        return decode_ok(packet, capabilities);
    }
    let mut fields = Fields(&packet[1..]);
    let warnings = fields.int(2)? as u16;
    // "Session state changed": an EOF packet has no room for what it announces, and Weir does not pass the flag on.
    let status = fields.int(2)? as u16 & !(NOT_OF_THE_ANSWER | SESSION_STATE_CHANGED);
    Ok(Summary { status, warnings, is_eof: true, ..Summary::default() })
}

/// Decodes an OK packet that was just read.
fn read_ok(packets: &mut Packets, packet: &[u8], capabilities: u32) -> Result<Summary> {
    let ok = decode_ok(packet, capabilities)?;
    raw::keep_ok(packets, capabilities, &ok);
    Ok(ok)
}

/// Decodes the packet that ends rows, which was just read.
fn read_end(packets: &mut Packets, packet: &[u8], capabilities: u32) -> Result<Summary> {
    let end = decode_eof(packet, capabilities)?;
    if end.is_eof {
        raw::keep_eof(packets);
    } else {
        raw::keep_ok(packets, capabilities, &end);
    }
    Ok(end)
}

const EOF_LENGTH: usize = 5;

fn is_eof(packet: &[u8], capabilities: u32) -> bool {
    let limit = if capabilities & caps::DEPRECATE_EOF != 0 { 0xff_ffff } else { 9 };
    packet.first() == Some(&0xfe) && packet.len() < limit
}

fn decode_column(packet: &[u8]) -> Result<Column> {
    let mut fields = Fields(packet);
    let mut names: [Vec<u8>; 6] = Default::default();
    for name in &mut names {
        *name = fields.lenenc_bytes()?.to_vec();
    }
    fields.lenenc()?;
    let column = Column {
        names,
        charset: fields.int(2)? as u16,
        length: fields.int(4)? as u32,
        kind: fields.int(1)? as u8,
        flags: fields.int(2)? as u16,
        decimals: fields.int(1)? as u8,
    };
    fields.bytes(2)?;
    // COM_FIELD_LIST adds the default value.
    Ok(column)
}

fn decode_text_row(packet: &[u8], columns: &[Column]) -> Result<Vec<Cell>> {
    let mut fields = Fields(packet);
    let mut row = Vec::with_capacity(columns.len());
    for _ in columns {
        if fields.0.first() == Some(&0xfb) {
            fields.bytes(1)?;
            row.push(None);
        } else {
            row.push(Some(fields.lenenc_bytes()?.to_vec()));
        }
    }
    if !fields.0.is_empty() {
        return Err(broken("bytes after the last value of a row"));
    }
    Ok(row)
}

fn decode_binary_row(packet: &[u8], columns: &[Column]) -> Result<Vec<Cell>> {
    let mut fields = Fields(packet);
    if fields.int(1)? != 0 {
        return Err(broken("a binary row that doesn't begin with 0"));
    }
    let nulls = fields.bytes((columns.len() + 9) / 8)?;
    let mut row = Vec::with_capacity(columns.len());
    for (index, column) in columns.iter().enumerate() {
        if nulls[(index + 2) / 8] & 1 << ((index + 2) % 8) != 0 {
            row.push(None);
            continue;
        }
        let value = match column.kind {
            1 => fields.bytes(1)?,
            2 | 13 => fields.bytes(2)?,
            3 | 9 | 4 => fields.bytes(4)?,
            8 | 5 => fields.bytes(8)?,
            6 => &[],
            _ => fields.lenenc_bytes()?,
        };
        row.push(Some(value.to_vec()));
    }
    if !fields.0.is_empty() {
        return Err(broken("bytes after the last value of a binary row"));
    }
    Ok(row)
}

/// How the rows of an answer are encoded.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Rows {
    Text,
    Binary,
    /// As `Binary`, and a cursor was asked for.
    OfCursor,
}

/// Reads column definitions, and the EOF after them where the protocol has one.
fn read_columns(packets: &mut Packets, capabilities: u32, count: u64) -> Result<(Vec<Column>, ColumnsEnd)> {
    let mut columns = Vec::new();
    for _ in 0..count {
        columns.push(decode_column(&packets.read()?)?);
    }
    if count > 0 && capabilities & caps::DEPRECATE_EOF == 0 {
        let end = packets.read()?;
        if !is_eof(&end, capabilities) {
            return Err(broken("no EOF after column definitions"));
        }
        let end = decode_eof(&end, capabilities)?;
        raw::keep_eof(packets);
        return Ok((columns, Some((end.status, end.warnings))));
    }
    Ok((columns, None))
}

/// Reads rows up to the packet that ends them.
pub(crate) fn read_rows(
    packets: &mut Packets,
    capabilities: u32,
    rows: Rows,
    columns: &[Column],
) -> Result<(Vec<Vec<Cell>>, Set)> {
    let mut all = Vec::new();
    loop {
        let packet = packets.read()?;
        if is_eof(&packet, capabilities) {
            return Ok((all, Set::Ok(read_end(packets, &packet, capabilities)?)));
        }
        if packet.first() == Some(&0xff) {
            return Ok((all, decode_error(&packet)?));
        }
        all.push(match rows {
            Rows::Text => decode_text_row(&packet, columns)?,
            Rows::Binary | Rows::OfCursor => decode_binary_row(&packet, columns)?,
        });
    }
}

/// Reads all results of a command. `infile` is what a LOAD DATA LOCAL request gets.
pub(crate) fn read_reply(packets: &mut Packets, capabilities: u32, rows: Rows, infile: &[u8]) -> Result<Vec<Set>> {
    let mut sets = Vec::new();
    loop {
        let first = packets.read()?;
        let set = match first.first() {
            Some(0x00) => Set::Ok(read_ok(packets, &first, capabilities)?),
            Some(0xff) => decode_error(&first)?,
            Some(0xfb) => {
                if !infile.is_empty() {
                    packets.write(infile)?;
                }
                packets.write(&[])?;
                continue;
            }
            Some(_) => {
                let count = Fields(&first).lenenc()?;
                let (columns, columns_end) = read_columns(packets, capabilities, count)?;
                let (status, warnings) = columns_end.unwrap_or_default();
                // A routine's own cursor raises the flag too; more results follow those of a routine.
                if rows == Rows::OfCursor && status & (CURSOR_EXISTS | MORE_RESULTS) == CURSOR_EXISTS {
                    // The EOF after the columns is the only one: rows wait for COM_STMT_FETCH.
                    let end = Set::Ok(Summary { status, warnings, is_eof: true, ..Summary::default() });
                    Set::Rows(columns, Vec::new(), Box::new(end))
                } else {
                    let (all, mut end) = read_rows(packets, capabilities, rows, &columns)?;
                    if let Set::Ok(ok) = &mut end {
                        ok.columns_end = columns_end;
                    }
                    if let Set::Ok(ok) = &mut end
                        && status & OUT_PARAMETERS != 0
                    {
                        // MySQL says in the first EOF only that more results follow, and libmysql remembers it.
                        ok.status |= status & MORE_RESULTS;
                    }
                    Set::Rows(columns, all, Box::new(end))
                }
            }
            None => return Err(broken("an empty packet")),
        };
        let more = set.error_code().is_none() && set.status() & MORE_RESULTS != 0;
        sets.push(set);
        if !more {
            return Ok(sets);
        }
    }
}

const PREPARE_OK_LENGTH: usize = 12;

/// Reads the answer to COM_STMT_PREPARE: the statement's id, and what it says.
pub(crate) fn read_prepared(packets: &mut Packets, capabilities: u32) -> Result<(u32, Set)> {
    let first = packets.read()?;
    if first.first() == Some(&0xff) {
        return Ok((0, decode_error(&first)?));
    }
    if first.len() < PREPARE_OK_LENGTH {
        // MySQL 9.7 does this to `SET GLOBAL` without the privilege.
        return Ok((0, Set::Ok(read_ok(packets, &first, capabilities)?)));
    }
    raw::keep_prepared(packets);
    let mut fields = Fields(&first);
    fields.bytes(1)?;
    let id = fields.int(4)? as u32;
    let columns = fields.int(2)?;
    let parameters = fields.int(2)?;
    fields.bytes(1)?;
    let warnings = fields.int(2)? as u16;
    let (parameters, _) = read_columns(packets, capabilities, parameters)?;
    let (columns, _) = read_columns(packets, capabilities, columns)?;
    Ok((id, Set::Prepared(parameters, columns, warnings)))
}

/// Reads the answer to COM_FIELD_LIST: column definitions up to an EOF.
pub(crate) fn read_field_list(packets: &mut Packets, capabilities: u32) -> Result<Set> {
    let mut columns = Vec::new();
    loop {
        let packet = packets.read()?;
        if packet.first() == Some(&0xff) {
            return decode_error(&packet);
        }
        if is_eof(&packet, capabilities) {
            return Ok(Set::Rows(columns, Vec::new(), Box::new(Set::Ok(read_end(packets, &packet, capabilities)?))));
        }
        columns.push(decode_column(&packet)?);
    }
}

/// Replaces `from` by `to`, of the same length, wherever it occurs.
pub(crate) fn replace(bytes: &mut [u8], from: &[u8], to: &[u8]) {
    assert_eq!(from.len(), to.len(), "lengths would betray the name");
    let found: Vec<usize> = memchr::memmem::find_iter(bytes, from).collect();
    for start in found {
        bytes[start..start + from.len()].copy_from_slice(to);
    }
}

/// Takes the server's own number of a statement out of a message that SHOW WARNINGS or GET DIAGNOSTICS gave: the only
/// place where a client could see it.
fn forget_id_in_message(value: &mut Vec<u8>) {
    let Ok(text) = std::str::from_utf8(value) else { return };
    let Some(start) =
        ["The statement (", "statement handler ("].iter().find_map(|intro| text.find(intro).map(|at| at + intro.len()))
    else {
        return;
    };
    let digits = text[start..].bytes().take_while(u8::is_ascii_digit).count();
    value.drain(start..start + digits);
}

impl Set {
    /// Takes a statement's id out of an error's message.
    pub(crate) fn forget_statement_id(&mut self, id: u32) {
        match self {
            Self::Error(.., message) => {
                let text = String::from_utf8_lossy(message).replace(&format!("({id})"), "(statement)");
                *message = text.into_bytes();
            }
            Self::Rows(.., end) => end.forget_statement_id(id),
            _ => {}
        }
    }

    /// Puts `to` in the place of the name `from`, so that answers from two databases can be compared.
    pub(crate) fn rename(&mut self, from: &[u8], to: &[u8]) {
        let rename_columns = |columns: &mut [Column]| {
            for name in columns.iter_mut().flat_map(|column| &mut column.names) {
                replace(name, from, to);
            }
        };
        match self {
            Self::Ok(ok) => {
                replace(&mut ok.info, from, to);
                ok.track.iter_mut().for_each(|(_, data)| replace(data, from, to));
            }
            Self::Rows(columns, rows, end) => {
                rename_columns(columns);
                // Values of many megabytes are data, not names.
                for value in rows.iter_mut().flatten().flatten().filter(|value| value.len() < 100_000) {
                    replace(value, from, to);
                    forget_id_in_message(value);
                }
                end.rename(from, to);
            }
            Self::Error(.., message) => replace(message, from, to),
            Self::Prepared(parameters, columns, _) => {
                rename_columns(parameters);
                rename_columns(columns);
            }
            Self::Lost(_) => {}
        }
    }
}
