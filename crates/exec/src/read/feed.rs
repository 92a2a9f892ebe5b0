//! One shard's result, packet by packet: its columns, its rows one at a time, its end.
//!
//! What must always hold: the current row is read in place, in the connection's buffer, and removed when the next one is requested. Nothing
//! is read into the buffer while it holds a whole packet.

use std::task::{Context, Poll};

use weir_backend::connect::server_failure;
use weir_wire::frame::{HEADER, Header, MAX_FRAME};
use weir_wire::packets::{EofPacket, ErrPacket, OkPacket};
use weir_wire::{Capabilities, Failure, Malformed, Reader, StatusFlags};

use super::columns::Column;
use super::link::Link;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FeedState {
    /// What was queued before the statement is not confirmed yet.
    Confirming,
    /// The column count comes.
    First,
    /// So many definitions come.
    Columns(u64),
    /// The EOF behind the definitions comes.
    ColumnsEof,
    /// Rows, until their end.
    Rows,
    /// The reply has been read to its end.
    Done,
}

/// What comes next of a feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FeedStep {
    /// A row is at hand.
    Row,
    /// More bytes are needed.
    Wait,
    /// There are no more rows.
    End,
}

/// A result's head.
#[derive(Debug, Clone, Default)]
pub(super) struct Head {
    /// The columns.
    pub columns: Vec<Column>,
    /// Their definitions as they came.
    pub definitions: Vec<Vec<u8>>,
    /// The status flags behind them, where a server sends any.
    pub status: StatusFlags,
}

/// What a result's end says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FeedEnd {
    /// The status flags.
    pub status: StatusFlags,
    /// Warnings.
    pub warnings: u16,
}

/// One shard's result.
#[derive(Debug)]
pub(super) struct Feed<L> {
    /// Where it comes from.
    pub link: L,
    state: FeedState,
    deprecates_eof: bool,
    /// The head, as far as it has come.
    pub head: Head,
    /// Bytes of the row at hand in the link's buffer, its frame header included.
    row: usize,
    /// A row of several frames; empty if there is none.
    large: Vec<u8>,
    /// More frames of `large` come.
    continued: bool,
    /// Bytes taken since the last row that was asked for.
    pub drained: usize,
    /// It can't go on without more bytes.
    pub waits: bool,
    /// Set when it is done.
    pub end: Option<FeedEnd>,
}

impl<L: Link> Feed<L> {
    /// The result that comes over a link, on which a statement was sent.
    pub(super) fn new(link: L) -> Feed<L> {
        let deprecates_eof = link.capabilities().contains(Capabilities::DEPRECATE_EOF);
        Feed {
            link,
            state: FeedState::Confirming,
            deprecates_eof,
            head: Head::default(),
            row: 0,
            large: Vec::new(),
            continued: false,
            drained: 0,
            waits: false,
            end: None,
        }
    }

    /// Whether its reply has been read to its end.
    pub(super) fn is_done(&self) -> bool {
        self.state == FeedState::Done
    }

    /// The row at hand.
    #[inline]
    pub(super) fn row(&self) -> &[u8] {
        if self.large.is_empty() { self.link.input().get(HEADER..self.row).unwrap_or_default() } else { &self.large }
    }

    /// Reads what there is up to the first row, and not further. Returns whether the columns are known.
    ///
    /// # Errors
    /// As [`Feed::next`].
    pub(super) fn open(&mut self) -> Result<bool, Failure> {
        while !matches!(self.state, FeedState::Rows | FeedState::Done) {
            if !self.advance()? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Goes on to the next row.
    ///
    /// # Errors
    /// The server's error, after which the link is clean, or its loss.
    #[inline]
    pub(super) fn next(&mut self) -> Result<FeedStep, Failure> {
        self.drop_row();
        if self.state != FeedState::Rows && !self.open()? {
            return Ok(FeedStep::Wait);
        }
        if self.state == FeedState::Done {
            return Ok(FeedStep::End);
        }
        match self.packet() {
            Some(row) if !self.ends_rows(row) => {
                self.row = row;
                Ok(FeedStep::Row)
            }
            Some(end) => self.finish(end).map(|()| FeedStep::End),
            None => self.more(),
        }
    }

    /// The next packet is not whole, or is the first frame of a large row.
    fn more(&mut self) -> Result<FeedStep, Failure> {
        while let Some(header) = Header::peek(self.link.input()) {
            let len = HEADER + header.len;
            if header.len < MAX_FRAME && !self.continued || self.link.input().len() < len {
                break;
            }
            self.large.extend_from_slice(&self.link.input()[HEADER..len]);
            self.link.take(len);
            self.continued = header.len == MAX_FRAME;
            if !self.continued {
                return Ok(FeedStep::Row);
            }
        }
        self.waits = true;
        Ok(FeedStep::Wait)
    }

    #[inline]
    fn drop_row(&mut self) {
        if self.row > 0 {
            self.drained += self.row;
            self.link.take(std::mem::take(&mut self.row));
        } else if !self.large.is_empty() && !self.continued {
            self.drained += self.large.len();
            self.large = Vec::new();
        }
    }

    /// Reads more bytes, if it can't go on without.
    ///
    /// # Errors
    /// The loss of the connection.
    pub(super) fn poll_fill(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        let filled = self.link.poll_fill(cx);
        if let Poll::Ready(outcome) = &filled {
            self.waits = false;
            if outcome.is_err() {
                self.state = FeedState::Done;
            }
        }
        filled
    }

    /// The length of the next packet, if all of it has come and it has one frame.
    #[inline]
    fn packet(&self) -> Option<usize> {
        let input = self.link.input();
        let header = Header::peek(input)?;
        let len = HEADER + header.len;
        (len <= input.len() && header.len < MAX_FRAME && !self.continued).then_some(len)
    }

    #[inline]
    fn ends_rows(&self, packet: usize) -> bool {
        match self.link.input().get(HEADER) {
            // A value of eight bytes' length begins so too, in a longer packet.
            Some(0xfe) => self.deprecates_eof || packet < HEADER + 9,
            Some(0xff) | None => true,
            Some(_) => false,
        }
    }

    /// Takes one packet of the head. Returns whether there was one.
    fn advance(&mut self) -> Result<bool, Failure> {
        if self.state == FeedState::Confirming {
            let confirmed = self.link.confirm().inspect_err(|_| self.state = FeedState::Done)?;
            if confirmed {
                self.state = FeedState::First;
            }
            self.waits = !confirmed;
            return Ok(confirmed);
        }
        let Some(len) = self.packet() else {
            self.waits = true;
            return Ok(false);
        };
        if self.link.input().get(HEADER) == Some(&0xff) {
            self.finish(len)?;
        }
        let taken = self.head_packet(len);
        self.link.take(len);
        match taken {
            Ok(next) => self.state = next,
            Err(error) => return Err(self.broken(&error.to_string())),
        }
        Ok(true)
    }

    fn head_packet(&mut self, len: usize) -> Result<FeedState, Malformed> {
        let payload = self.link.input().get(HEADER..len).unwrap_or_default();
        match self.state {
            FeedState::First => match payload.first() {
                None | Some(0x00 | 0xfb) => Err(Malformed("a read was answered without rows")),
                Some(_) => Ok(FeedState::Columns(Reader::new(payload).lenenc("column count")?)),
            },
            FeedState::Columns(left) => {
                self.head.columns.push(Column::parse(payload, self.link.capabilities())?);
                self.head.definitions.push(payload.to_vec());
                Ok(match left {
                    2.. => FeedState::Columns(left - 1),
                    _ if self.deprecates_eof => FeedState::Rows,
                    _ => FeedState::ColumnsEof,
                })
            }
            FeedState::ColumnsEof => {
                self.head.status = EofPacket::parse(payload)?.status;
                Ok(FeedState::Rows)
            }
            state => Ok(state),
        }
    }

    /// Takes the packet that ends the rows.
    fn finish(&mut self, len: usize) -> Result<(), Failure> {
        let payload = self.link.input().get(HEADER..len).unwrap_or_default();
        let ended = match payload.first() {
            Some(0xff) => ErrPacket::parse(payload).map(|err| Err(server_failure(&err))),
            _ if self.deprecates_eof => OkPacket::parse(payload, self.link.capabilities())
                .map(|ok| Ok(FeedEnd { status: ok.status, warnings: ok.warnings })),
            _ => EofPacket::parse(payload).map(|eof| Ok(FeedEnd { status: eof.status, warnings: eof.warnings })),
        };
        self.link.take(len);
        self.drained += len;
        match ended {
            Err(error) => Err(self.broken(&error.to_string())),
            Ok(Ok(end)) if end.status.contains(StatusFlags::MORE_RESULTS_EXISTS) => {
                Err(self.broken("a read was answered with several results"))
            }
            Ok(ended) => {
                self.state = FeedState::Done;
                self.waits = false;
                self.link.done();
                self.end = Some(ended?);
                Ok(())
            }
        }
    }

    /// The connection can't be used on.
    pub(super) fn broken(&mut self, why: &str) -> Failure {
        self.state = FeedState::Done;
        self.waits = false;
        self.link.broken(why)
    }
}
