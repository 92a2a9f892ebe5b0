//! A connection of a move: statements, rows that stream, replies that are read later.
//!
//! What must always hold: replies are read in the order of the statements. A connection whose statement was not awaited to its end is of no
//! more use; whoever drops a future of this module drops the connection, too.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use weir_backend::Server;
use weir_backend::connect::{Connected, server_failure};
use weir_catalog::ShardId;
use weir_exec::read::Column;
use weir_wire::frame::{PacketReader, put_packet};
use weir_wire::packets::{ErrPacket, OkPacket};
use weir_wire::resultset::parse_text_row;
use weir_wire::stmt::query_payload;
use weir_wire::{Failure, Reader};

use crate::connector::Connector;

/// The longest wait for the next packet of a reply: a server that is out of disk space does not answer.
const PATIENCE: Duration = Duration::from_secs(60);
/// The largest packet that servers can send.
const MOST_PACKET: usize = (1 << 30) + 1024;
/// Bytes read at a time.
const READ: usize = 64 * 1024;

/// What all connections of moves begin with: values are stored as they are, whatever the server's defaults.
pub(crate) const SETTINGS: &str = "SET NAMES utf8mb4, SESSION autocommit=1, SESSION sql_mode='ALLOW_INVALID_DATES,NO_AUTO_VALUE_ON_ZERO', \
     SESSION time_zone='+00:00', SESSION foreign_key_checks=0, SESSION lock_wait_timeout=20, \
     SESSION innodb_lock_wait_timeout=10, SESSION net_write_timeout=600, SESSION wait_timeout=86400";

/// See the module.
pub(crate) struct Link {
    pub(crate) shard: ShardId,
    pub(crate) mariadb: bool,
    pub(crate) thread_id: u32,
    server: Arc<Server>,
    connected: Connected,
    input: BytesMut,
    packets: PacketReader,
    packet: BytesMut,
    /// With which sequence number each reply begins that is awaited: a command of several frames takes several.
    replies: VecDeque<u8>,
}

/// What a statement without rows has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Done {
    pub(crate) affected: u64,
    pub(crate) warnings: u16,
}

/// A row of a small result.
pub(crate) type OwnedRow = Vec<Option<Vec<u8>>>;

impl Link {
    /// A new connection, with [`SETTINGS`].
    pub(crate) async fn open(connector: &dyn Connector, shard: ShardId) -> Result<Link, Failure> {
        let (server, connected) = connector.connect(shard).await?;
        let mariadb = connected.greeting.is_mariadb();
        let thread_id = connected.greeting.connection_id;
        let (input, packets, packet) = (BytesMut::new(), PacketReader::new(), BytesMut::new());
        let replies = VecDeque::new();
        let mut link = Link { shard, mariadb, thread_id, server, connected, input, packets, packet, replies };
        link.run(SETTINGS.as_bytes()).await?;
        let unbounded = if mariadb { "SET SESSION max_statement_time=0" } else { "SET SESSION max_execution_time=0" };
        link.run(unbounded.as_bytes()).await?;
        Ok(link)
    }

    /// Sends a statement, whose reply is read by [`Link::done`] or [`Link::columns`]. Others may be sent before that.
    pub(crate) async fn send(&mut self, sql: &[u8]) -> Result<(), Failure> {
        let payload = query_payload(sql, self.connected.capabilities);
        self.send_command(&payload).await
    }

    /// Sends a command.
    pub(crate) async fn send_command(&mut self, payload: &[u8]) -> Result<(), Failure> {
        let mut out = BytesMut::with_capacity(payload.len() + 8);
        self.replies.push_back(put_packet(&mut out, 0, payload));
        let stream = &mut self.connected.stream;
        let sent = async {
            stream.write_all(&out).await?;
            stream.flush().await
        };
        match tokio::time::timeout(PATIENCE, sent).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(self.server.lost(&error.to_string())),
            Err(_) => Err(self.silent()),
        }
    }

    fn silent(&self) -> Failure {
        self.server.lost(&format!("no answer within {PATIENCE:?}"))
    }

    /// The first packet of a reply is the next one.
    pub(crate) fn expect_reply(&mut self) {
        self.packets.set_next_seq(self.replies.pop_front().unwrap_or(1));
    }

    /// Reads the next packet into `self.packet`.
    async fn next_packet(&mut self) -> Result<(), Failure> {
        loop {
            let broken = |error: weir_wire::frame::FrameError| self.server.lost(&error.to_string());
            if self.packets.next_into(&mut self.input, MOST_PACKET, &mut self.packet).map_err(broken)? {
                return Ok(());
            }
            self.input.reserve(READ);
            match tokio::time::timeout(PATIENCE, self.connected.stream.read_buf(&mut self.input)).await {
                Ok(Ok(0)) => return Err(self.server.lost("the server closed the connection")),
                Ok(Ok(_)) => {}
                Ok(Err(error)) => return Err(self.server.lost(&error.to_string())),
                Err(_) => return Err(self.silent()),
            }
        }
    }

    /// The next packet of a stream of events: what follows its first byte; an error, or the stream's end, is an error. Not cancel-safe.
    pub(crate) async fn next_event(&mut self) -> Result<&[u8], Failure> {
        self.next_packet().await?;
        match self.packet.first() {
            Some(0x00) => Ok(&self.packet[1..]),
            Some(0xff) => Err(self.refused()),
            _ => Err(self.server.lost("the server ended the stream of its binary log")),
        }
    }

    /// Reads the reply to a statement without rows.
    pub(crate) async fn done(&mut self) -> Result<Done, Failure> {
        self.expect_reply();
        self.next_packet().await?;
        match self.packet.first() {
            Some(0x00) => {
                let ok = OkPacket::parse(&self.packet, self.connected.capabilities);
                let ok = ok.map_err(|error| self.server.lost(&error.to_string()))?;
                Ok(Done { affected: ok.affected_rows, warnings: ok.warnings })
            }
            Some(0xff) => Err(self.refused()),
            _ => Err(self.server.lost("a statement without rows was answered with some")),
        }
    }

    /// Runs a statement without rows.
    pub(crate) async fn run(&mut self, sql: &[u8]) -> Result<Done, Failure> {
        self.send(sql).await?;
        self.done().await
    }

    /// Runs a query of a few rows.
    pub(crate) async fn query(&mut self, sql: &str) -> Result<Vec<OwnedRow>, Failure> {
        self.send(sql.as_bytes()).await?;
        self.columns().await?;
        let mut rows = Vec::new();
        while let Some(row) = self.next_row().await? {
            rows.push(parse_text_row(row).map_err(malformed)?);
        }
        Ok(rows)
    }

    /// The first row of a query, as texts; NULL and what is missing are empty.
    pub(crate) async fn query_texts(&mut self, sql: &str) -> Result<Vec<String>, Failure> {
        let row = self.query(sql).await?.into_iter().next().unwrap_or_default();
        let text = |cell: Option<Vec<u8>>| String::from_utf8_lossy(&cell.unwrap_or_default()).into_owned();
        Ok(row.into_iter().map(text).collect())
    }

    /// Reads the beginning of a reply with rows, of a statement that was sent.
    pub(crate) async fn columns(&mut self) -> Result<Vec<Column>, Failure> {
        self.expect_reply();
        self.next_packet().await?;
        match self.packet.first() {
            Some(0xff) => return Err(self.refused()),
            Some(0x00) | None => return Err(self.server.lost("a query was answered without rows")),
            _ => {}
        }
        let count = Reader::new(&self.packet).lenenc("column count").map_err(malformed)?;
        let mut columns = Vec::new();
        for _ in 0..count {
            self.next_packet().await?;
            columns.push(Column::parse(&self.packet, self.connected.capabilities).map_err(malformed)?);
        }
        self.next_packet().await?;
        Ok(columns)
    }

    /// The next row, as its packet; `None` at the end.
    pub(crate) async fn next_row(&mut self) -> Result<Option<&[u8]>, Failure> {
        self.next_packet().await?;
        match self.packet.first() {
            Some(0xff) => Err(self.refused()),
            Some(0xfe) if self.packet.len() < 9 => Ok(None),
            _ => Ok(Some(&self.packet)),
        }
    }

    fn refused(&self) -> Failure {
        match ErrPacket::parse(&self.packet) {
            Ok(err) => server_failure(&err),
            Err(error) => self.server.lost(&error.to_string()),
        }
    }

    /// The server.
    pub(crate) fn server(&self) -> &Arc<Server> {
        &self.server
    }

    /// The server's name, as the configuration has it.
    pub(crate) fn server_name(&self) -> &str {
        &self.server.settings.name
    }
}

pub(crate) fn malformed(error: weir_wire::Malformed) -> Failure {
    Failure::server(weir_wire::error::codes::ER_UNKNOWN_ERROR, error.to_string())
}
