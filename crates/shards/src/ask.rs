//! A statement asked of one shard whose reply is small and read whole: definitions, SHOW, information_schema.
//!
//! What must always hold: a server's refusal leaves the connection clean and is told apart from its loss; the bytes kept of a reply are
//! bounded.

use bytes::{Buf, Bytes, BytesMut};
use weir_backend::Connection;
use weir_backend::connect::server_failure;
use weir_wire::frame::{HEADER, Header, MAX_FRAME};
use weir_wire::packets::OkPacket;
use weir_wire::reply::{Ending, Event, ReplyKind, ReplyTracker};
use weir_wire::resultset::parse_text_row;
use weir_wire::stmt::query_payload;
use weir_wire::{Failure, Malformed, Reader, StatusFlags};

/// The most bytes of a reply that is read whole.
const MAX_REPLY: usize = 32 * 1024 * 1024;

/// A row of a text result: cells, `None` for NULL.
pub type Row = Vec<Option<Vec<u8>>>;

/// A reply, read whole.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reply {
    /// The payloads of the column definitions; none for a statement without rows.
    pub columns: Vec<Bytes>,
    /// The rows.
    pub rows: Vec<Row>,
    /// Rows that were affected.
    pub affected: u64,
    /// The insert id.
    pub insert_id: u64,
    /// How many warnings it left.
    pub warnings: u16,
    /// The text of the OK.
    pub info: Vec<u8>,
    /// The status flags.
    pub status: StatusFlags,
}

/// What came of a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerAnswer {
    /// The server has answered.
    Reply(Reply),
    /// The server has refused: nothing was done.
    Refused(Failure),
    /// The connection was lost: it may have been done or not.
    Lost(Failure),
}

impl ServerAnswer {
    /// The reply.
    ///
    /// # Errors
    /// The server's refusal, or the loss of the connection.
    pub fn ok(self) -> Result<Reply, Failure> {
        match self {
            ServerAnswer::Reply(reply) => Ok(reply),
            ServerAnswer::Refused(failure) | ServerAnswer::Lost(failure) => Err(failure),
        }
    }
}

/// Asks a text, and reads the reply to its end.
pub async fn ask(connection: &mut Connection, text: &[u8]) -> ServerAnswer {
    // What brings the connection into the session's state is confirmed first: nothing is defined in another state.
    if let Err(failure) = prepared(connection).await {
        return ServerAnswer::Refused(failure);
    }
    let payload = query_payload(text, connection.capabilities);
    connection.queue(&payload, true);
    match whole(connection).await {
        Ok(answer) => answer,
        Err(failure) => ServerAnswer::Lost(failure.maybe_done()),
    }
}

async fn prepared(connection: &mut Connection) -> Result<(), Failure> {
    connection.flush().await?;
    connection.confirm_state().await
}

async fn whole(connection: &mut Connection) -> Result<ServerAnswer, Failure> {
    connection.flush().await?;
    let mut tracker = ReplyTracker::new(ReplyKind::Results, connection.capabilities);
    let (mut bytes, mut reply, mut refusal) = (BytesMut::new(), Reply::default(), None);
    while !tracker.is_done() {
        let event = tracker.advance(&connection.input).map_err(|e| broken(connection, &e.to_string()))?;
        let taken = match event {
            Event::Pass(n) => {
                bytes.extend_from_slice(&connection.input[..n]);
                n
            }
            Event::Packet(n, ending) => {
                match ending {
                    Ending::Ok(ok) => reply.note(&ok),
                    Ending::Eof(eof) => (reply.warnings, reply.status) = (eof.warnings, eof.status),
                    Ending::Err(err) => refusal = Some(server_failure(&err)),
                    Ending::LocalInfile | Ending::Prepared(_) => {
                        return Err(broken(connection, "a definition was answered with a question"));
                    }
                }
                n
            }
            Event::NeedMore => {
                connection.fill().await?;
                0
            }
        };
        connection.input.advance(taken);
        if bytes.len() > MAX_REPLY {
            return Err(broken(connection, "a reply that is read whole is too large"));
        }
    }
    connection.reply_done();
    if let Some(failure) = refusal {
        return Ok(ServerAnswer::Refused(failure));
    }
    reply.read(bytes).map_err(|e| broken(connection, &e.to_string()))?;
    Ok(ServerAnswer::Reply(reply))
}

fn broken(connection: &Connection, why: &str) -> Failure {
    connection.server.lost(why)
}

impl Reply {
    fn note(&mut self, ok: &OkPacket<'_>) {
        self.affected = ok.affected_rows;
        self.insert_id = ok.last_insert_id;
        self.warnings = ok.warnings;
        self.info = ok.info.to_vec();
        self.status = ok.status;
    }

    /// Reads the packets of one result: the column count, the definitions, perhaps an EOF, the rows.
    fn read(&mut self, mut bytes: BytesMut) -> Result<(), Malformed> {
        let mut columns = None;
        while let Some(header) = Header::peek(&bytes) {
            if header.len == MAX_FRAME {
                return Err(Malformed("a row in several frames"));
            }
            let mut packet = bytes.split_to((HEADER + header.len).min(bytes.len()));
            packet.advance(HEADER);
            match columns {
                None => columns = Some(Reader::new(&packet).lenenc("column count")? as usize),
                Some(n) if self.columns.len() < n => self.columns.push(packet.freeze()),
                Some(_) if packet.first() == Some(&0xfe) && packet.len() < 9 => {}
                Some(_) => self.rows.push(parse_text_row(&packet)?),
            }
        }
        Ok(())
    }

    /// The name of a column, in the session's charset of results.
    pub fn column_name(&self, column: usize) -> Option<&[u8]> {
        let mut definition = Reader::new(self.columns.get(column)?);
        // Catalog, schema, alias of the table, table, alias of the column. Source: MySQL, "Column Definition".
        for part in ["catalog", "schema", "table", "table's own name"] {
            definition.lenenc_bytes(part).ok()?;
        }
        definition.lenenc_bytes("column").ok()
    }

    /// The place of the column of this name, whatever its case.
    pub fn column(&self, name: &str) -> Option<usize> {
        (0..self.columns.len())
            .find(|at| self.column_name(*at).is_some_and(|found| found.eq_ignore_ascii_case(name.as_bytes())))
    }
}
