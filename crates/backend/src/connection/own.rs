//! Commands of Weir's own on a connection: small queries, and statements that a session has prepared elsewhere.

use std::rc::Rc;
use std::time::Duration;
use weir_wire::charset::is_wide;

use bytes::{Buf, BytesMut};
use weir_wire::error::codes;
use weir_wire::frame::{HEADER, Header};
use weir_wire::packets::{ErrPacket, OkPacket, SessionChange, SessionChanges};
use weir_wire::reply::{Ending, Event, ReplyKind, ReplyTracker};
use weir_wire::resultset::parse_text_row;
use weir_wire::stmt::query_payload;
use weir_wire::{Command, Failure, Malformed, StatusFlags};

use super::Connection;
use crate::connect::server_failure;
use crate::prepared::Prepared;
use crate::profile::charset_of;

/// The most bytes of a reply that Weir reads for its own use.
const MAX_OWN_REPLY: usize = 32 * 1024 * 1024;

/// A reply that Weir read for its own use.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OwnReply {
    /// The rows of its last result set.
    pub rows: Vec<Vec<Option<Vec<u8>>>>,
    /// The id of the collation of its first column, if it has one.
    pub collation: Option<u16>,
    /// The last OK's insert id.
    pub last_insert_id: u64,
    /// The last OK's affected rows.
    pub affected: u64,
    /// The last OK's warnings.
    pub warnings: u16,
    /// The status flags that came last.
    pub status: StatusFlags,
    /// The GTIDs of what it committed, as the server told them last.
    pub gtids: Option<String>,
    /// Session variables that it says have changed, but for GTIDs.
    pub variables: Vec<(String, String)>,
    /// The default database, if it says that this has changed: empty for none.
    pub schema: Option<Vec<u8>>,
}

impl OwnReply {
    fn note_ok(&mut self, ok: &OkPacket<'_>) -> Result<(), Malformed> {
        (self.last_insert_id, self.affected, self.warnings) = (ok.last_insert_id, ok.affected_rows, ok.warnings);
        self.status = ok.status;
        for change in SessionChanges::new(ok.changes) {
            match change? {
                SessionChange::Variable { name: b"last_gtid", value: gtids } | SessionChange::Gtids(gtids)
                    if !gtids.is_empty() =>
                {
                    self.gtids = Some(String::from_utf8_lossy(gtids).into_owned());
                }
                SessionChange::Schema(name) => self.schema = Some(name.to_vec()),
                SessionChange::Variable { name, value } if name != b"last_gtid" => {
                    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                    self.variables.push((text(name), text(value)));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// The longest wait for what a server says before it closes a connection on which it takes nothing more.
const LAST_WORD: Duration = Duration::from_secs(1);

impl Connection {
    /// The error with which a server has closed the connection while a command was still being sent: what it says of a packet that is too
    /// large, it says before it has read it.
    pub(super) async fn last_word(&mut self) -> Option<Failure> {
        let heard = async { while self.fill().await.is_ok() && first_error(&self.input).is_none() {} };
        // What has come is enough, however the wait ends.
        let _ = tokio::time::timeout(LAST_WORD, heard).await;
        first_error(&self.input)
    }

    /// Runs a query for Weir's own use.
    ///
    /// # Errors
    /// The server's error, or the loss of the connection.
    pub async fn query<Text: AsRef<[u8]> + ?Sized>(&mut self, sql: &Text) -> Result<OwnReply, Failure> {
        let payload = query_payload(sql.as_ref(), self.capabilities);
        self.queue(&payload, true);
        self.flush().await?;
        self.own_reply().await
    }

    /// The same for what Weir reads itself: texts come as UTF-8 where the session has its results in UTF-16 and the like, which are
    /// no ASCII. (Others are ASCII where they are asked for here.)
    ///
    /// # Errors
    /// As [`Connection::query`].
    pub async fn ask<Text: AsRef<[u8]> + ?Sized>(&mut self, sql: &Text) -> Result<OwnReply, Failure> {
        let mut reply = self.query(sql).await?;
        let charset = self.profile.variable("character_set_results").map(charset_of).filter(|charset| is_wide(charset));
        if let Some(charset) = charset {
            reply.rows.iter_mut().flatten().flatten().for_each(|cell| narrow(cell, charset));
        }
        Ok(reply)
    }

    /// Runs several queries that are sent in one write: each runs, whatever came of those before it. Returns the first error, or the
    /// last reply.
    ///
    /// # Errors
    /// The first of the server's errors, or the loss of the connection, which is not clean then.
    pub async fn queries(&mut self, texts: &[String]) -> Result<OwnReply, Failure> {
        for text in texts {
            let payload = query_payload(text.as_bytes(), self.capabilities);
            self.queue(&payload, true);
        }
        self.flush().await?;
        let mut result = Ok(OwnReply::default());
        for _ in texts {
            let before = self.unanswered;
            let reply = self.own_reply().await;
            let lost = self.unanswered == before;
            if result.is_ok() {
                result = reply;
            }
            if lost {
                break;
            }
        }
        result
    }

    /// Asks the server for a sign of life: COM_PING, which leaves diagnostics and counts as they are. The reply has the status flags
    /// only.
    ///
    /// # Errors
    /// The loss of the connection.
    pub async fn ping(&mut self) -> Result<OwnReply, Failure> {
        self.queue(&[Command::Ping as u8], true);
        self.flush().await?;
        self.own_reply().await
    }

    /// Takes a reply that is one packet, an OK or an error, if it has arrived. Returns whether it had.
    pub(super) fn single_reply(&mut self) -> Result<bool, Failure> {
        let mut tracker = ReplyTracker::new(ReplyKind::Results, self.capabilities);
        let (taken, reply) = match tracker.advance(&self.input).map_err(|e| self.broken(&e.to_string()))? {
            Event::NeedMore => return Ok(false),
            // If another one follows it is a text of several statements, whose other replies would be taken for those to what comes next.
            Event::Packet(n, Ending::Ok(ok)) if !ok.status.contains(StatusFlags::MORE_RESULTS_EXISTS) => (n, Ok(true)),
            Event::Packet(n, Ending::Err(err)) => (n, Err(server_failure(&err))),
            _ => return Err(self.broken("a change of the session's state was answered with more than OK")),
        };
        self.input.advance(taken);
        self.reply_done();
        reply
    }

    /// Takes the answer to [`Connection::queue_wait`], if it has arrived.
    pub(super) fn reached(&mut self) -> Result<bool, Failure> {
        let mut tracker = ReplyTracker::new(ReplyKind::Results, self.capabilities);
        let mut rows = RowCollector::default();
        let mut refused = None;
        let mut taken = 0;
        while !tracker.is_done() {
            let rest = &self.input[taken..];
            taken += match tracker.advance(rest).map_err(|e| self.broken(&e.to_string()))? {
                Event::NeedMore => return Ok(false),
                Event::Pass(n) => {
                    rows.push(&rest[..n]).map_err(|e| self.broken(e))?;
                    n
                }
                Event::Packet(n, Ending::Err(err)) => {
                    refused = Some(server_failure(&err));
                    n
                }
                Event::Packet(n, _) => n,
            };
        }
        self.input.advance(taken);
        self.reply_done();
        let (rows, _) = rows.finish().map_err(|e| self.broken(&e.to_string()))?;
        let answer = rows.into_iter().flatten().next().flatten();
        if answer.as_deref() == Some(b"0") {
            return Ok(true);
        }
        self.late = true;
        Err(refused.unwrap_or_else(|| {
            let message =
                format!("Server '{}' has not reached the session's position in time", self.server.settings.name);
            Failure::server(codes::ER_LOCK_WAIT_TIMEOUT, message)
        }))
    }

    /// Prepares a text for Weir's own use: the client has had the answer to its own PREPARE.
    ///
    /// # Errors
    /// The server's error, or the loss of the connection.
    pub async fn prepare(&mut self, text: &[u8]) -> Result<Prepared, Failure> {
        self.queue_prepare(text);
        self.flush().await?;
        self.prepared().await
    }

    /// Queues the preparing of a text, whose answer [`Connection::prepared`] reads.
    pub fn queue_prepare(&mut self, text: &[u8]) {
        self.defined_before = self.server.tables.defined();
        self.queue(&[&[Command::StmtPrepare as u8], text].concat(), true);
    }

    /// Reads the answer to [`Connection::queue_prepare`].
    ///
    /// # Errors
    /// As [`Connection::prepare`].
    pub async fn prepared(&mut self) -> Result<Prepared, Failure> {
        self.confirm_state().await?;
        let mut tracker = ReplyTracker::new(self.prepare_kind(), self.capabilities);
        let mut outcome = None;
        while !tracker.is_done() {
            let taken = match tracker.advance(&self.input).map_err(|e| self.broken(&e.to_string()))? {
                Event::Pass(n) => n,
                Event::Packet(n, ending) => {
                    match ending {
                        Ending::Prepared(ok) => {
                            outcome = Some(Ok(Prepared {
                                warned: ok.warnings > 0,
                                ..Prepared::new(ok.id, self.defined_before)
                            }));
                        }
                        Ending::Err(err) => outcome = Some(Err(server_failure(&err))),
                        _ => {}
                    }
                    n
                }
                Event::NeedMore => {
                    self.fill_unless_hung().await?;
                    0
                }
            };
            self.input.advance(taken);
        }
        self.reply_done();
        outcome.unwrap_or_else(|| Err(self.broken("no answer to PREPARE")))
    }

    /// Reads one reply to its end, for Weir's own use; before it, those to what was queued for the state.
    pub(super) async fn own_reply(&mut self) -> Result<OwnReply, Failure> {
        self.own_reply_of(ReplyKind::Results).await
    }

    /// The same, of a command that is answered in this way.
    pub(super) async fn own_reply_of(&mut self, kind: ReplyKind) -> Result<OwnReply, Failure> {
        self.confirm_state().await?;
        let mut tracker = ReplyTracker::new(kind, self.capabilities);
        let mut rows = RowCollector::default();
        let mut reply = OwnReply::default();
        let mut failure = None;
        while !tracker.is_done() {
            let event = tracker.advance(&self.input).map_err(|e| self.broken(&e.to_string()))?;
            let taken = match event {
                Event::Pass(n) => {
                    rows.push(&self.input[..n]).map_err(|e| self.broken(e))?;
                    n
                }
                Event::Packet(n, ending) => {
                    match ending {
                        Ending::Ok(ok) => reply.note_ok(&ok).map_err(|e| self.broken(&e.to_string()))?,
                        Ending::Eof(eof) => reply.status = eof.status,
                        Ending::Err(err) => failure = Some(server_failure(&err)),
                        _ => {}
                    }
                    n
                }
                Event::NeedMore => {
                    self.fill_unless_hung().await?;
                    0
                }
            };
            self.input.advance(taken);
        }
        self.reply_done();
        match failure {
            Some(failure) => Err(failure),
            None => {
                (reply.rows, reply.collation) = rows.finish().map_err(|e| self.broken(&e.to_string()))?;
                // A routine of another database leads back to the one before, or to none if that was dropped meanwhile.
                let schema = reply.schema.as_deref().map(|name| Some(name).filter(|name| !name.is_empty()));
                if let Some(database) = schema.filter(|database| self.profile.database.as_deref() != *database) {
                    self.profile = Rc::new(self.profile.with_database(database));
                }
                Ok(reply)
            }
        }
    }
}

type Rows = Vec<Vec<Option<Vec<u8>>>>;

/// Collects the passed bytes of a small text result set, whose column definitions come first.
#[derive(Default)]
struct RowCollector {
    bytes: BytesMut,
}

impl RowCollector {
    fn push(&mut self, bytes: &[u8]) -> Result<(), &'static str> {
        if self.bytes.len() + bytes.len() > MAX_OWN_REPLY {
            return Err("a reply to Weir's own query is too large");
        }
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    /// Packets: the column count, the definitions, perhaps an EOF, the rows.
    fn finish(mut self) -> Result<(Rows, Option<u16>), weir_wire::Malformed> {
        let (mut rows, mut collation) = (Rows::new(), None);
        let mut head = 0_usize;
        let mut columns = None;
        while let Some(header) = Header::peek(&self.bytes) {
            let mut packet = self.bytes.split_to((HEADER + header.len).min(self.bytes.len()));
            packet.advance(HEADER);
            match columns {
                None => columns = Some(weir_wire::Reader::new(&packet).lenenc("column count")? as usize),
                Some(n) if head < n => {
                    collation = collation.or_else(|| collation_of(&packet));
                    head += 1;
                }
                Some(_) if packet.first() == Some(&0xfe) && packet.len() < 9 => {}
                Some(_) => rows.push(parse_text_row(&packet)?),
            }
        }
        Ok((rows, collation))
    }
}

/// The collation in a column's definition. What has a fixed length stands at its end. Source: MySQL, `Protocol::ColumnDefinition41`.
fn collation_of(definition: &[u8]) -> Option<u16> {
    // The collation, the length, the type, the flags, the decimals, and two bytes that mean nothing.
    const FROM_END: usize = 2 + 4 + 1 + 2 + 1 + 2;
    let at = definition.len().checked_sub(FROM_END)?;
    Some(u16::from_le_bytes([definition[at], definition[at + 1]]))
}

/// The first error packet among whole packets: no other packet of a reply begins with its header.
fn first_error(mut input: &[u8]) -> Option<Failure> {
    while let Some(header) = Header::peek(input) {
        let payload = input.get(HEADER..HEADER + header.len)?;
        if payload.first() == Some(&0xff) {
            return ErrPacket::parse(payload).ok().map(|err| server_failure(&err));
        }
        input = &input[HEADER + header.len..];
    }
    None
}

/// Turns a text of a wide character set into UTF-8.
fn narrow(cell: &mut Vec<u8>, charset: &str) {
    // MySQL writes numbers in ASCII all the same.
    if cell.iter().all(|byte| byte.is_ascii_digit()) {
        return;
    }
    let unit = |pair: &[u8]| match (pair, charset) {
        (&[low, high], "utf16le") => u16::from_le_bytes([low, high]),
        (&[high, low], _) => u16::from_be_bytes([high, low]),
        _ => 0,
    };
    let text: String = match charset {
        "utf32" => cell
            .chunks_exact(4)
            .map(|four| u32::from_be_bytes(four.try_into().expect("chunks of four bytes")))
            .map(|point| char::from_u32(point).unwrap_or(char::REPLACEMENT_CHARACTER))
            .collect(),
        _ => char::decode_utf16(cell.chunks_exact(2).map(unit))
            .map(|decoded| decoded.unwrap_or(char::REPLACEMENT_CHARACTER))
            .collect(),
    };
    *cell = text.into_bytes();
}

#[cfg(test)]
mod tests {
    use weir_wire::frame::put_packet;

    use super::*;

    #[test]
    fn wide_texts_are_read_as_utf_8() {
        let narrowed = |cell: &[u8], charset| {
            let mut cell = cell.to_vec();
            narrow(&mut cell, charset);
            String::from_utf8(cell)
        };
        assert_eq!(narrowed(b"\x00N\x00o", "ucs2").as_deref(), Ok("No"));
        assert_eq!(narrowed(b"N\x00o\x00", "utf16le").as_deref(), Ok("No"));
        assert_eq!(narrowed(b"\xd8\x3d\xde\x00", "utf16").as_deref(), Ok("\u{1f600}"));
        assert_eq!(narrowed(b"\x00\x00\x00N\x00\x01\xf6\x00", "utf32").as_deref(), Ok("N\u{1f600}"));
        assert_eq!(narrowed(b"1062", "utf32").as_deref(), Ok("1062"));
    }

    #[test]
    fn the_first_error_among_what_has_come_is_found() {
        let mut bytes = BytesMut::new();
        assert!(first_error(&bytes).is_none());
        put_packet(&mut bytes, 1, &[0, 0, 0, 2, 0, 0, 0]);
        assert!(first_error(&bytes).is_none());
        put_packet(&mut bytes, 3, b"\xff\x81\x04#08S01Got a packet bigger than 'max_allowed_packet' bytes");
        let whole = bytes.len();
        put_packet(&mut bytes, 4, b"\xff\x01\x04#HY000later");
        let failure = first_error(&bytes).expect("there is one");
        assert_eq!((failure.code, &failure.sqlstate), (1153, b"08S01"));
        assert!(first_error(&bytes[..whole - 1]).is_none(), "it has not come to its end");
    }
}
