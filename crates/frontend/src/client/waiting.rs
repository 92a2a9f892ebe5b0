//! Waiting for a client, no longer than it may take.

use std::task::Poll;

use tokio::time::Instant;

use super::{Client, ClientError};

/// What a future that may be polled once and dropped gives at once, if it does.
pub(super) async fn at_once<F: Future>(future: F) -> Option<F::Output> {
    let mut future = std::pin::pin!(future);
    std::future::poll_fn(|cx| {
        Poll::Ready(match future.as_mut().poll(cx) {
            Poll::Ready(output) => Some(output),
            Poll::Pending => None,
        })
    })
    .await
}

impl Client {
    /// Whether its host has acknowledged nothing of what was sent for the bound, though the system has asked for it time and again. One that
    /// pauses in a reply acknowledges all the same that its window is closed.
    pub fn has_vanished(&self) -> bool {
        self.stream.silent_for().is_some_and(|silent| silent >= self.write_timeout)
    }

    /// Reads what has arrived for a packet; for the rest of one no longer than the bound. Cancel-safe.
    pub(super) async fn fill_packet(&mut self) -> Result<(), ClientError> {
        // Of a packet of several frames, the input does not have the ones before.
        if self.has_input() || !self.packets.is_idle() { self.fill_in_time().await } else { self.fill().await }
    }

    /// Reads what has arrived of something that the client has begun to send, which it must go on with. Cancel-safe: the time goes on.
    pub(super) async fn fill_in_time(&mut self) -> Result<(), ClientError> {
        // Mostly it is there, and a timer need not be made.
        if let Some(filled) = at_once(self.fill()).await {
            return filled;
        }
        let bound = self.write_timeout;
        let by = *self.goes_on_by.get_or_insert_with(|| Instant::now() + bound);
        tokio::time::timeout_at(by, self.fill()).await.unwrap_or(Err(ClientError::Halted))
    }
}
