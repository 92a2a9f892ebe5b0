//! The connection to the workbench while its tables are made and filled: several statements are under way at once.
//!
//! What must always hold: replies are read in the order of the statements, each to its end; no more than [`MOST_UNDER_WAY`] texts of rows
//! wait for theirs, so that memory is bounded by these and one row.

use std::collections::VecDeque;
use std::task::{Context, Poll, ready};

use bytes::Buf;
use weir_backend::connect::server_failure;
use weir_backend::profile::SharedProfile;
use weir_wire::Failure;
use weir_wire::error::codes;
use weir_wire::reply::{Ending, Event, ReplyKind, ReplyTracker};
use weir_wire::stmt::query_payload;

use crate::ShardLease;
use crate::read::failure::internal;

/// How many statements with rows wait for their replies: one is executed while the next arrives.
const MOST_UNDER_WAY: usize = 2;

/// What a statement that is under way is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sent {
    /// It makes a table.
    Create,
    /// It brings rows. `warnings`: so many there may be, and no more.
    Rows { warnings: usize },
}

/// The connection.
#[derive(Debug)]
pub(super) struct Bench<'b> {
    pub(super) part: &'b mut ShardLease,
    sent: VecDeque<Sent>,
    lost: bool,
}

impl<'b> Bench<'b> {
    pub(super) fn new(part: &'b mut ShardLease) -> Bench<'b> {
        Bench { part, sent: VecDeque::new(), lost: false }
    }

    /// Queues what brings the connection to a profile. All replies before it must have been read.
    ///
    /// # Errors
    /// When there is no way to it.
    pub(super) fn queue_profile(&mut self, profile: &SharedProfile) -> Result<(), Failure> {
        let tracking = self.part.lease.tracking();
        self.part.lease.queue_state(profile, tracking)
    }

    pub(super) fn queue_create(&mut self, text: &[u8]) {
        self.part.lease.temporary_made += 1;
        self.queue(text, Sent::Create);
    }

    /// Queues a statement with rows, of which the server may warn so often: there must be room for it.
    pub(super) fn queue_rows(&mut self, text: &[u8], warnings: usize) {
        self.queue(text, Sent::Rows { warnings });
    }

    fn queue(&mut self, text: &[u8], sent: Sent) {
        let payload = query_payload(text, self.part.lease.capabilities);
        self.part.lease.queue(&payload, true);
        self.sent.push_back(sent);
    }

    /// Whether one more statement with rows may be sent.
    pub(super) fn has_room(&self) -> bool {
        self.sent.iter().filter(|sent| matches!(sent, Sent::Rows { .. })).count() < MOST_UNDER_WAY
    }

    /// Whether nothing is under way.
    pub(super) fn is_idle(&self) -> bool {
        self.sent.is_empty() && !self.part.lease.awaits_state()
    }

    /// Whether no more replies will come.
    pub(super) fn is_lost(&self) -> bool {
        self.lost
    }

    /// Sends what the connection takes at once. What is wrong with it, [`Bench::progress`] says.
    pub(super) async fn begin(&mut self) {
        std::future::poll_fn(|cx| {
            let _ = self.part.lease.poll_send(cx);
            Poll::Ready(())
        })
        .await;
    }

    /// Sends what is queued, and waits for the next replies; if nothing is under way, for the loss of the connection. Cancel-safe: what
    /// was sent and read is kept in the connection.
    ///
    /// # Errors
    /// The server's error, or the loss of the connection.
    pub(super) async fn progress(&mut self) -> Result<(), Failure> {
        std::future::poll_fn(|cx| self.poll_progress(cx)).await
    }

    fn poll_progress(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        if let Poll::Ready(Err(error)) = self.part.lease.poll_send(cx) {
            let failure = self.part.lease.lost(&error);
            return Poll::Ready(Err(self.losing(failure)));
        }
        loop {
            match self.take_replies() {
                Ok(Replies::None) if self.is_idle() && !self.part.lease.input.is_empty() => {
                    let failure = self.unasked();
                    return Poll::Ready(Err(self.losing(failure)));
                }
                Ok(Replies::None) => {}
                Ok(Replies::Some(replies)) => return Poll::Ready(replies),
                Err(failure) => return Poll::Ready(Err(self.losing(failure))),
            }
            let filled = ready!(self.part.lease.poll_fill(cx));
            filled.map_err(|failure| self.losing(failure))?;
        }
    }

    fn losing(&mut self, failure: Failure) -> Failure {
        self.lost = true;
        failure
    }

    /// Takes the replies that have come, up to the first error.
    ///
    /// # Errors
    /// When no more replies can be read.
    fn take_replies(&mut self) -> Result<Replies, Failure> {
        let mut replies = Replies::None;
        if self.part.lease.awaits_state() {
            if !self.part.lease.confirm_arrived()? {
                return Ok(replies);
            }
            replies = Replies::Some(Ok(()));
        }
        while let Some(sent) = self.sent.front().copied() {
            let Some(reply) = self.reply()? else { break };
            self.sent.pop_front();
            match (sent, reply) {
                (Sent::Create, Err(failure)) => return Ok(Replies::Some(Err(without_right(failure)))),
                (_, Err(failure)) => return Ok(Replies::Some(Err(failure))),
                (Sent::Rows { warnings }, Ok(warned)) if usize::from(warned) > warnings => {
                    return Ok(Replies::Some(Err(internal("the workbench did not store a row exactly as it was"))));
                }
                (_, Ok(_)) => replies = Replies::Some(Ok(())),
            }
        }
        Ok(replies)
    }

    /// What the server says of itself: why it closes the connection.
    fn unasked(&mut self) -> Failure {
        let said = self.reply();
        let lost = self.part.lease.server.lost("it has sent what was not asked for");
        match said {
            Ok(Some(Err(failure))) | Err(failure) => failure,
            Ok(_) => lost,
        }
    }

    /// Takes a statement's reply, if it has come: how often it warned, or its error.
    fn reply(&mut self) -> Result<Option<Result<u16, Failure>>, Failure> {
        let lease = &mut self.part.lease;
        let mut tracker = ReplyTracker::new(ReplyKind::Results, lease.capabilities);
        let (taken, reply) = match tracker.advance(&lease.input) {
            Ok(Event::NeedMore) => return Ok(None),
            Ok(Event::Packet(taken, Ending::Ok(ok))) => (taken, Ok(ok.warnings)),
            Ok(Event::Packet(taken, Ending::Err(err))) => (taken, Err(server_failure(&err))),
            Ok(_) => return Err(lease.server.lost("a statement without rows was answered with some")),
            Err(error) => return Err(lease.server.lost(&error.to_string())),
        };
        lease.input.advance(taken);
        lease.reply_done();
        Ok(Some(reply))
    }
}

/// The server's error, with the way out if the user may not make temporary tables.
fn without_right(failure: Failure) -> Failure {
    if failure.code != codes::ER_DBACCESS_DENIED_ERROR {
        return failure;
    }
    let message = format!(
        "{}; this statement needs rows of several shards in one place: GRANT CREATE TEMPORARY TABLES on the database to the user",
        failure.message
    );
    Failure { message, ..failure }
}

/// What has come of replies.
enum Replies {
    /// Nothing.
    None,
    /// Some have come, the last of them with an error, or none of them.
    Some(Result<(), Failure>),
}
