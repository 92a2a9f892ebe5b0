//! A shard's reply in memory, for benches and tests of pure code.

use std::task::{Context, Poll};

use bytes::BytesMut;
use weir_wire::frame::put_packet;
use weir_wire::packets::{EofPacket, OkPacket};
use weir_wire::{Capabilities, Failure, StatusFlags, error::codes};

use super::link::Link;
use super::link::Target;

/// A reply that comes in pieces of a bounded size.
#[derive(Debug)]
pub struct Memory {
    capabilities: Capabilities,
    reply: BytesMut,
    at: usize,
    input: usize,
    piece: usize,
    /// The reply was read to its end.
    pub done: bool,
}

impl Memory {
    /// The reply of these definitions and rows, of which `piece` bytes come at a time.
    pub fn new(capabilities: Capabilities, definitions: &[Vec<u8>], rows: &[Vec<u8>], piece: usize) -> Memory {
        let mut reply = BytesMut::new();
        let mut seq = put_packet(&mut reply, 1, &[definitions.len() as u8]);
        for definition in definitions {
            seq = put_packet(&mut reply, seq, definition);
        }
        let deprecated = capabilities.contains(Capabilities::DEPRECATE_EOF);
        let eof = EofPacket { warnings: 1, status: StatusFlags::AUTOCOMMIT }.encode();
        if !deprecated {
            seq = put_packet(&mut reply, seq, &eof);
        }
        for row in rows {
            seq = put_packet(&mut reply, seq, row);
        }
        if deprecated {
            let ok = OkPacket { header: 0xfe, warnings: 1, ..OkPacket::plain(StatusFlags::AUTOCOMMIT) };
            put_packet(&mut reply, seq, &ok.encode(capabilities));
        } else {
            put_packet(&mut reply, seq, &eof);
        }
        Memory { capabilities, reply, at: 0, input: 0, piece, done: false }
    }

    /// The same, ended by this packet behind the rows.
    pub fn ending(mut self, payload: &[u8]) -> Memory {
        let end = if self.capabilities.contains(Capabilities::DEPRECATE_EOF) { 11 } else { 9 };
        self.reply.truncate(self.reply.len() - end);
        put_packet(&mut self.reply, 0, payload);
        self
    }
}

impl Link for Memory {
    fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    #[inline]
    fn input(&self) -> &[u8] {
        &self.reply[self.at..self.input]
    }

    #[inline]
    fn take(&mut self, bytes: usize) {
        self.at += bytes;
    }

    fn poll_fill(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        if self.input == self.reply.len() {
            return Poll::Ready(Err(self.broken("its reply is at its end")));
        }
        self.input = (self.input + self.piece).min(self.reply.len());
        cx.waker().wake_by_ref();
        Poll::Ready(Ok(()))
    }

    fn confirm(&mut self) -> Result<bool, Failure> {
        Ok(true)
    }

    fn done(&mut self) {
        self.done = true;
    }

    fn broken(&mut self, why: &str) -> Failure {
        Failure::server(codes::CR_SERVER_LOST, why)
    }

    fn name(&self) -> &str {
        "memory"
    }

    fn target(&self) -> Option<Target> {
        None
    }
}
