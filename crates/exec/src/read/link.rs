//! Where a shard's reply comes from: a server connection, or bytes in memory (for benches and tests of pure code).
//!
//! What must always hold: a link whose reply was not read to its end is not clean, and its connection closes when it is given back.

use std::pin::Pin;
use std::sync::Arc;

use std::task::{Context, Poll};
use weir_backend::Server;

use bytes::Buf;
use weir_wire::{Capabilities, Failure};

use crate::ShardLease;

/// A statement that is to be killed.
#[derive(Debug, Clone)]
pub struct Target {
    /// Where it runs.
    pub server: Arc<Server>,
    /// The server's thread.
    pub thread_id: u32,
}

/// Has a statement killed, by KILL QUERY on another connection. Resolves when the server has answered: `true` if it has done so.
pub type Cancel<'a> = dyn Fn(Target) -> Pin<Box<dyn Future<Output = bool>>> + 'a;

/// A reply as it comes in.
pub trait Link {
    /// What was negotiated with the server.
    fn capabilities(&self) -> Capabilities;
    /// Bytes of the reply that have come and are not taken.
    fn input(&self) -> &[u8];
    /// Takes bytes off the front.
    fn take(&mut self, bytes: usize);
    /// Reads more. Keeps what it has read when it is not asked again.
    ///
    /// # Errors
    /// The loss of the connection.
    fn poll_fill(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Failure>>;
    /// Takes the answers to what was queued before the statement. Returns whether all have come.
    ///
    /// # Errors
    /// The server's refusal.
    fn confirm(&mut self) -> Result<bool, Failure>;
    /// The reply has been read to its end.
    fn done(&mut self);
    /// The connection is of no more use: the failure of losing it.
    fn broken(&mut self, why: &str) -> Failure;
    /// The name of the server, for messages.
    fn name(&self) -> &str;
    /// What to kill when the rest of the reply is not wanted.
    fn target(&self) -> Option<Target>;
}

impl Link for &mut ShardLease {
    fn capabilities(&self) -> Capabilities {
        self.lease.capabilities
    }

    #[inline]
    fn input(&self) -> &[u8] {
        &self.lease.input
    }

    #[inline]
    fn take(&mut self, bytes: usize) {
        self.lease.input.advance(bytes);
    }

    fn poll_fill(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        self.lease.poll_fill(cx)
    }

    fn confirm(&mut self) -> Result<bool, Failure> {
        self.lease.confirm_arrived()
    }

    fn done(&mut self) {
        self.lease.reply_done();
    }

    fn broken(&mut self, why: &str) -> Failure {
        self.lease.retired = true;
        self.lease.server.lost(why)
    }

    fn name(&self) -> &str {
        &self.lease.server.settings.name
    }

    fn target(&self) -> Option<Target> {
        Some(Target { server: self.lease.server.clone(), thread_id: self.lease.thread_id })
    }
}
