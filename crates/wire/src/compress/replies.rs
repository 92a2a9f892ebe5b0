//! Replies to a client that compresses: where frames begin, and what numbers the packets in them have.
//!
//! A server writes out what it has at the end of each result, and lets the numbers of packets go on from those of frames then
//! (`net_flush`: "Sync packet number if using compression"). So the first packet of a reply and of each of its results begins a frame, and
//! has that frame's number; the packets behind it count on. Some clients (`mysql_common`) take no other numbers.
//!
//! Source: `sql-common/net_serv.cc`.

use bytes::BytesMut;

use super::{Compressor, Contexts};
use crate::caps::{Capabilities, Command};
use crate::frame::{HEADER, Header};
use crate::reply::{Ending, Event, ReplyKind, ReplyTracker};
use crate::stmt::CURSOR_TYPES;

/// Where the flags of COM_STMT_EXECUTE are.
const EXECUTE_FLAGS_AT: usize = 5;

/// Cuts the replies to one client into frames.
#[derive(Debug, Default)]
pub struct ReplyFrames {
    /// Follows the reply, if it may have several results.
    tracker: Option<ReplyTracker>,
    /// The next packet from the client is a command.
    command_due: bool,
    /// The client was asked for a file.
    file_due: bool,
    /// Bytes of a packet that has begun.
    skip: usize,
    /// What the numbers of packets differ by from those that they came with.
    shift: u8,
    /// The next packet has the number of its frame.
    restart: bool,
}

impl ReplyFrames {
    /// The next packet from the client is a command.
    pub fn begin_command(&mut self) {
        self.command_due = true;
        self.tracker = None;
        self.file_due = false;
    }

    /// A packet has come from the client: what is said next begins a frame.
    pub fn heard(&mut self, payload: &[u8], capabilities: Capabilities) {
        self.restart = true;
        if std::mem::take(&mut self.command_due) {
            self.tracker = several_results(payload).map(|kind| ReplyTracker::new(kind, capabilities));
        }
    }

    /// Numbers the packets in `plain`, which may end within one, and appends the frames that they make.
    pub fn push(&mut self, writer: &mut Compressor, contexts: &mut Contexts, plain: &mut [u8], out: &mut BytesMut) {
        let (mut begin, mut at) = (0, 0);
        while at < plain.len() {
            let (length, ends) = self.advance(&plain[at..]);
            self.number(&mut plain[at..at + length], writer.next_seq());
            at += length;
            if ends {
                writer.push(contexts, &plain[begin..at], out);
                begin = at;
                self.restart = true;
            }
        }
        writer.push(contexts, &plain[begin..], out);
    }

    /// How many bytes stay together, and whether a result ends behind them that another one follows.
    fn advance(&mut self, rest: &[u8]) -> (usize, bool) {
        let all = (rest.len(), false);
        let Some(tracker) = &mut self.tracker else { return all };
        if std::mem::take(&mut self.file_due) {
            tracker.infile_sent();
        }
        match tracker.advance(rest) {
            Ok(Event::Pass(length)) => (length, false),
            Ok(Event::Packet(length, Ending::LocalInfile)) => {
                self.file_due = true;
                (length, false)
            }
            Ok(Event::Packet(length, _)) => (length, !tracker.is_done()),
            // What Weir says cannot be followed: it is sent all the same.
            Ok(Event::NeedMore) | Err(_) => {
                self.tracker = None;
                all
            }
        }
    }

    fn number(&mut self, mut bytes: &mut [u8], frame: u8) {
        loop {
            let passed = self.skip.min(bytes.len());
            self.skip -= passed;
            bytes = &mut bytes[passed..];
            let Some(header) = Header::peek(bytes) else { return };
            if std::mem::take(&mut self.restart) {
                self.shift = frame.wrapping_sub(header.seq);
            }
            bytes[HEADER - 1] = header.seq.wrapping_add(self.shift);
            self.skip = HEADER + header.len;
        }
    }
}

/// The kind of a command's reply, if that may have several results.
fn several_results(command: &[u8]) -> Option<ReplyKind> {
    let first = *command.first()?;
    if first == Command::Query as u8 {
        return Some(ReplyKind::Results);
    }
    let flags = command.get(EXECUTE_FLAGS_AT).filter(|_| first == Command::StmtExecute as u8)?;
    Some(if flags & CURSOR_TYPES == 0 { ReplyKind::Results } else { ReplyKind::Cursor })
}
