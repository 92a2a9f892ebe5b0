//! Replies that are not the client's, or not yet: kept in memory, up to a bound.
//!
//! What must always hold: what was put before goes on behind what is kept, with the numbers that it would have had without. A reply that is
//! kept while another one is leaves that as it was.

use bytes::BytesMut;
use weir_wire::frame::{HEADER, Header};

use super::replies::Replies;
use super::{Client, Mark};

/// What waits while something is kept.
#[derive(Debug)]
pub(super) struct Capture {
    output: BytesMut,
    next_seq: u8,
    replies: Option<Replies>,
    answered: bool,
    limit: usize,
    /// What becomes of more than that.
    excess: Excess,
    overflown: bool,
    /// What was kept already when this began.
    outer: Option<Box<Capture>>,
}

/// What becomes of a reply that is longer than may be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Excess {
    /// It is lost.
    Lost,
    /// All of it is sent, as if nothing had been kept.
    Sent,
}

/// A reply that was kept.
#[derive(Debug)]
pub struct Kept {
    /// Its packets.
    pub packets: BytesMut,
    /// The number of the packet behind them.
    next_seq: u8,
}

impl Client {
    /// What is put from now on is kept and not sent, up to so many bytes, until [`Client::end_capture`].
    pub fn begin_capture(&mut self, limit: usize, excess: Excess) {
        let capture = Capture {
            output: std::mem::take(&mut self.output),
            next_seq: self.packets.next_seq(),
            replies: self.replies.take(),
            answered: std::mem::take(&mut self.answered),
            limit,
            excess,
            overflown: false,
            outer: self.capture.take(),
        };
        self.capture = Some(Box::new(capture));
    }

    /// What was put since. `None`: it was too much.
    pub fn end_capture(&mut self) -> Option<Kept> {
        let Capture { output, next_seq, replies, answered, overflown, outer, .. } = *self.capture.take()?;
        let packets = std::mem::replace(&mut self.output, output);
        let kept = Kept { packets, next_seq: self.packets.next_seq() };
        self.packets.set_next_seq(next_seq);
        self.replies = replies;
        self.answered = answered;
        self.capture = outer;
        (!overflown).then_some(kept)
    }

    /// Puts what was kept as it is.
    pub fn put_kept(&mut self, kept: &Kept) {
        self.output.extend_from_slice(&kept.packets);
        self.packets.set_next_seq(kept.next_seq);
    }

    /// Puts whole packets, with the numbers that come next.
    pub fn put_packets(&mut self, packets: &[u8]) {
        let (mut at, mut seq) = (self.output.len(), self.packets.next_seq());
        self.output.extend_from_slice(packets);
        while let Some(header) = self.output.get(at..).and_then(Header::peek) {
            self.output[at..at + HEADER].copy_from_slice(&Header { seq, ..header }.encode());
            seq = seq.wrapping_add(1);
            at += HEADER + header.len;
        }
        self.packets.set_next_seq(seq);
    }

    /// Instead of sending. Whether something is kept.
    pub(super) fn captures(&mut self) -> bool {
        let Some(capture) = &mut self.capture else { return false };
        if self.output.len() > capture.limit {
            if capture.excess == Excess::Sent {
                return self.gives_up_capture();
            }
            capture.overflown = true;
        }
        if capture.overflown {
            self.output.clear();
        }
        true
    }

    /// What was kept is to be sent after all. Whether something is kept still.
    fn gives_up_capture(&mut self) -> bool {
        let Some(Capture { output, replies, outer, .. }) = self.capture.take().map(|capture| *capture) else {
            return false;
        };
        let kept = std::mem::replace(&mut self.output, output);
        self.output.extend_from_slice(&kept);
        self.replies = replies;
        self.capture = outer;
        self.captures()
    }

    /// Begins the replies of one command that has several, unless they have begun. Returns whether they have not.
    pub fn begin_results(&mut self) -> bool {
        let begins = self.replies.is_none();
        if begins {
            self.begin_replies();
        }
        begins
    }

    /// Takes back the last packet of the latest of several replies if it is an OK of a statement without rows, or an error.
    pub fn take_back_last(&mut self) -> Option<Vec<u8>> {
        let taken = self.replies.as_mut()?.take_back_last(&mut self.output);
        self.answered &= taken.is_none();
        taken
    }

    /// Whether anything was put or sent since `mark`, when so many bytes had been sent.
    pub fn has_put_since(&self, mark: Mark, sent: u64) -> bool {
        self.sent != sent || self.output.len() != mark.length
    }

    /// Bytes that were sent at all.
    pub fn sent(&self) -> u64 {
        self.sent
    }
}
