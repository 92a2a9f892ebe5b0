//! From the bytes of an event to what it says.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use crate::codec::Reader;

use super::BinlogError;
use super::event::{self, Event, HEADER, Header, types};
use super::rows::{Kind, Rows, Shape};
use super::table_map::{TableMap, names};
use super::unpack::{Payload, mariadb};

/// A table whose rows are wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Watched {
    /// Its schema, as the server writes it.
    pub schema: String,
    /// Its name.
    pub table: String,
}

/// See the module. It knows the tables that the stream has named, and whether events have checksums.
#[derive(Debug)]
pub struct Decoder {
    watched: Vec<Watched>,
    /// Names are compared without regard to case (`lower_case_table_names`).
    ignore_case: bool,
    checksums: bool,
    tables: HashMap<u64, Option<(usize, Arc<TableMap>)>>,
}

/// Bytes of a checksum.
const CHECKSUM: usize = 4;

impl Decoder {
    /// One for a stream that gives the rows of these tables. `checksums`: the server writes them, as far as is known before the stream
    /// says so itself.
    pub fn new(watched: Vec<Watched>, ignore_case: bool, checksums: bool) -> Decoder {
        Decoder { watched, ignore_case, checksums, tables: HashMap::new() }
    }

    /// Tells what an event says: once, or for a transaction that is one event, as often as this has events.
    ///
    /// # Errors
    /// When it can't be read; what `each` returns.
    pub fn decode<E: From<BinlogError>>(
        &mut self,
        bytes: &[u8],
        each: &mut impl FnMut(&Header, Event<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let header = Header::parse(bytes)?;
        if header.size as usize != bytes.len() || bytes.len() < HEADER {
            return Err(BinlogError::Malformed("event size").into());
        }
        if header.kind == types::FORMAT {
            self.note_format(&bytes[HEADER..])?;
            return each(&header, Event::Other);
        }
        let body = if self.checksums { without_checksum(bytes)? } else { bytes };
        let body = body.get(HEADER..).ok_or(BinlogError::Malformed("event size"))?;
        if header.kind != types::PAYLOAD {
            return self.body(&header, body, each);
        }
        let mut payload = Payload::open(body)?;
        let mut inner = Vec::new();
        while payload.next(&mut inner)? {
            let within = Header::parse(&inner)?;
            if matches!(within.kind, types::PAYLOAD | types::FORMAT) {
                return Err(BinlogError::Malformed("event of a transaction payload").into());
            }
            self.body(&within, &inner[HEADER..], each)?;
        }
        Ok(())
    }

    /// Source: MySQL, `Format_description_event`: the last five bytes are the kind of checksums, and its own.
    fn note_format(&mut self, body: &[u8]) -> Result<(), BinlogError> {
        const WHAT: &str = "format description";
        let at = body.len().checked_sub(CHECKSUM + 1).ok_or(BinlogError::Malformed(WHAT))?;
        self.checksums = match body[at] {
            0 => false,
            1 => true,
            _ => return Err(BinlogError::Malformed("checksums of an unknown kind")),
        };
        self.tables.clear();
        Ok(())
    }

    fn body<E: From<BinlogError>>(
        &mut self,
        header: &Header,
        body: &[u8],
        each: &mut impl FnMut(&Header, Event<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let event = match header.kind {
            types::ROTATE => event::rotate(body)?,
            types::HEARTBEAT | types::HEARTBEAT_V2 => Event::Heartbeat,
            types::GTID | types::ANONYMOUS => event::mysql_gtid(header.kind, body)?,
            types::TAGGED_GTID => event::tagged_gtid(body)?,
            types::MARIADB_GTID => event::mariadb_gtid(header, body)?,
            types::QUERY => {
                let (database, text) = event::query(body)?;
                Event::Query { database, text }
            }
            types::QUERY_COMPRESSED => {
                let (database, text) = event::query(body)?;
                let text = mariadb(text)?;
                return each(header, Event::Query { database, text: &text });
            }
            types::XID => Event::Commit,
            types::XA_PREPARE => event::prepare(body)?,
            types::INCIDENT => return Err(BinlogError::Incident.into()),
            types::TABLE_MAP => {
                self.note_table(body)?;
                Event::Other
            }
            kind => match rows_kind(kind) {
                Some(form) => self.rows(form, body)?.map_or(Event::Other, Event::Rows),
                None => Event::Other,
            },
        };
        each(header, event)
    }

    fn note_table(&mut self, body: &[u8]) -> Result<(), BinlogError> {
        let mut r = Reader::new(body);
        let id = table_id(&mut r)?;
        r.u16("table flags")?;
        let (schema, table) = names(&mut r)?;
        let is = |name: &str, other: &[u8]| match self.ignore_case {
            true => name.to_lowercase() == String::from_utf8_lossy(other).to_lowercase(),
            false => name.as_bytes() == other,
        };
        let found = self.watched.iter().position(|one| is(&one.schema, schema) && is(&one.table, table));
        let mapped = match found {
            Some(watched) => Some((watched, Arc::new(TableMap::parse(r)?))),
            None => None,
        };
        self.tables.insert(id, mapped);
        Ok(())
    }

    fn rows<'a>(&self, form: RowsForm, body: &'a [u8]) -> Result<Option<Rows<'a>>, BinlogError> {
        let mut r = Reader::new(body);
        let id = table_id(&mut r)?;
        r.u16("rows flags")?;
        let Some((watched, table)) = self.tables.get(&id).and_then(Option::as_ref) else {
            // It has been named, and is not wanted; or it is the event that ends a statement, which names none.
            return Ok(None);
        };
        let shape = Shape::parse(&mut r, form.extra, form.kind)?;
        let rows = match form.compressed {
            true => Cow::Owned(mariadb(r.take_rest())?),
            false => Cow::Borrowed(r.take_rest()),
        };
        let (watched, table) = (*watched, table.clone());
        let Shape { columns, before, after } = shape;
        Ok(Some(Rows { watched, kind: form.kind, table, before, after, columns, rows }))
    }
}

/// How the events of a type have their rows.
struct RowsForm {
    kind: Kind,
    extra: bool,
    compressed: bool,
}

fn rows_kind(kind: u8) -> Option<RowsForm> {
    let form = |kind, extra, compressed| Some(RowsForm { kind, extra, compressed });
    match kind {
        types::WRITE_V1 | types::DELETE_V1 => form(Kind::Single, false, false),
        types::UPDATE_V1 => form(Kind::Update, false, false),
        types::WRITE | types::DELETE => form(Kind::Single, true, false),
        types::UPDATE => form(Kind::Update, true, false),
        types::PARTIAL_UPDATE => form(Kind::PartialUpdate, true, false),
        types::WRITE_COMPRESSED_V1 | types::DELETE_COMPRESSED_V1 => form(Kind::Single, false, true),
        types::UPDATE_COMPRESSED_V1 => form(Kind::Update, false, true),
        types::WRITE_COMPRESSED | types::DELETE_COMPRESSED => form(Kind::Single, true, true),
        types::UPDATE_COMPRESSED => form(Kind::Update, true, true),
        _ => None,
    }
}

fn table_id(r: &mut Reader<'_>) -> Result<u64, BinlogError> {
    let low = u64::from(r.u32("table id")?);
    Ok(low | u64::from(r.u16("table id")?) << 32)
}

/// An event without its checksum, which must be right.
fn without_checksum(event: &[u8]) -> Result<&[u8], BinlogError> {
    let at = event.len().checked_sub(CHECKSUM).ok_or(BinlogError::Malformed("checksum"))?;
    let (event, checksum) = event.split_at(at);
    let mut crc = flate2::Crc::new();
    crc.update(event);
    match crc.sum().to_le_bytes() == *checksum {
        true => Ok(event),
        false => Err(BinlogError::Checksum),
    }
}
