//! Replies that are not the client's: kept in memory, up to a bound.
//!
//! What must always hold: what was put before goes on behind what is kept, with the numbers that it would have had without.

use bytes::BytesMut;

use super::replies::Replies;
use super::{Client, Mark};

/// What waits while something is kept.
#[derive(Debug)]
pub(super) struct Capture {
    output: BytesMut,
    next_seq: u8,
    replies: Option<Replies>,
    limit: usize,
    overflown: bool,
}

impl Client {
    /// What is put from now on is kept and not sent, up to so many bytes, until [`Client::end_capture`].
    pub fn begin_capture(&mut self, limit: usize) {
        let capture = Capture {
            output: std::mem::take(&mut self.output),
            next_seq: self.packets.next_seq(),
            replies: self.replies.take(),
            limit,
            overflown: false,
        };
        self.capture = Some(Box::new(capture));
    }

    /// What was put since. `None`: it was too much.
    pub fn end_capture(&mut self) -> Option<BytesMut> {
        let Capture { output, next_seq, replies, overflown, .. } = *self.capture.take()?;
        let kept = std::mem::replace(&mut self.output, output);
        self.packets.set_next_seq(next_seq);
        self.replies = replies;
        (!overflown).then_some(kept)
    }

    /// Instead of sending. Whether something is kept.
    pub(super) fn captures(&mut self) -> bool {
        let Some(capture) = &mut self.capture else { return false };
        if self.output.len() > capture.limit {
            capture.overflown = true;
        }
        if capture.overflown {
            self.output.clear();
        }
        true
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
        self.replies.as_mut()?.take_back_last(&mut self.output)
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
