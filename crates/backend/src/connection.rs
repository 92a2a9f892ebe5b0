//! A connection to a server: commands out, replies in, and what is known of its session state.
//!
//! What must always hold: `unanswered` counts the commands whose reply has not been read to its end; a connection
//! that is given back with any of them, or with bytes left over, is closed. The profile is the server's state as far
//! as it is known; it is set only after the server's OK.

use std::cell::Cell;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::io;
use std::num::NonZeroUsize;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use bytes::{Buf, BytesMut};
use lru::LruCache;
use tokio::io::{AsyncReadExt, AsyncWrite};
use weir_wire::frame::put_packet;
use weir_wire::reply::ReplyKind;
use weir_wire::{Capabilities, Command, Failure};

use crate::pool_key::PoolKey;
use crate::prepared::{Prepared, StatementKey};
use crate::profile::{Profile, SharedProfile};
use crate::server::Server;
use crate::transport::Stream;

mod open;
mod own;
mod prelude;
mod statements;

pub use open::{ConnectionSlot, Opening};
pub use own::OwnReply;
use prelude::PreludeStep;

/// Bytes read from a server at a time.
const READ_CHUNK: usize = 64 * 1024;
/// Bytes that a server's system takes in any case, whatever the server waits for. Of more, it may take the rest when its statement has got a
/// lock: then that nothing is acknowledged does not tell that the server is gone.
const FITS: usize = 32 * 1024;

/// Bytes of an OK packet that tells nothing, its header included.
const PLAIN_OK: usize = 11;

/// Which changes of the session a server reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tracking {
    /// Those that the client has asked for, or the server's own choice.
    #[default]
    Clients,
    /// All.
    All,
    /// All but MariaDB's last GTID. In an EOF packet there is only a flag for what has changed, which each commit would raise.
    AllButGtid,
}

impl From<bool> for Tracking {
    /// Whether Weir follows the session.
    fn from(all: bool) -> Tracking {
        if all { Tracking::All } else { Tracking::Clients }
    }
}

/// A connection to a server.
#[derive(Debug)]
pub struct Connection {
    /// Unique within the process.
    pub id: u64,
    /// Which other connections are interchangeable with it.
    pub key: PoolKey,
    /// The server's id of it, for KILL.
    pub thread_id: u32,
    /// What was negotiated.
    pub capabilities: Capabilities,
    /// The server.
    pub server: Arc<Server>,
    /// Bytes that have arrived and are not yet taken.
    pub input: BytesMut,
    /// Prepared statements, least recently used last.
    pub statements: LruCache<Rc<StatementKey>, Prepared>,
    /// How many of them it keeps that have no cursor.
    most_statements: NonZeroUsize,
    /// When it was given back.
    pub idle_since: Instant,
    /// The server's generation when it was made.
    pub generation: u64,
    /// The number of the last change of accounts when its login began.
    rights: Cell<u64>,
    /// Never to be lent again, whatever its state.
    pub retired: bool,
    /// The session whose result set ended with an EOF packet that had no room for its session state changes: the server
    /// tells them with the next OK, whoever gets it.
    pub untold_changes_of: Option<u32>,
    /// The latest statement that set `FOUND_ROWS()` here was one of the session that has the connection on loan.
    pub has_found_rows: bool,
    /// The server was told of its next transaction (SET TRANSACTION), and none is known to have begun since.
    pub told_of_next: bool,
    /// Whoever told it has left: a COMMIT ends what it was told.
    ends_told: bool,
    /// How many statements that make a temporary table Weir knows to have run here since the latest reset: as many as MariaDB counts in
    /// `COM_CREATE_TEMPORARY_TABLE`, if none ran out of sight.
    pub temporary_made: u64,
    /// `LAST_INSERT_ID()` here, if known.
    pub insert_id: Option<u64>,
    /// How many definitions had been made on the server when a text was sent to be prepared.
    defined_before: u64,
    /// It is not in the database that was to become its default: the server does not have that, does not let the user in, or was not asked yet.
    pub lacks_database: bool,
    /// The server has not reached a position in time: what was sent behind the question is not to be heard.
    pub late: bool,
    stream: Stream,
    output: BytesMut,
    unanswered: usize,
    /// Bytes that were sent since nothing was unanswered.
    in_flight: usize,
    steps: VecDeque<PreludeStep>,
    profile: SharedProfile,
    goal: Option<SharedProfile>,
    after_reset: SharedProfile,
    tracking: Tracking,
    goal_tracking: Tracking,
    slot: ConnectionSlot,
}

impl Connection {
    /// Whether a login would give what this connection was given: neither global variables nor the user's rights have changed.
    pub fn is_current(&self) -> bool {
        let rights = &self.server.rights;
        // Asked for first: a change in between must not be taken for one that was looked at.
        let now = rights.now();
        let holds = rights.holds(&self.key.user, self.rights.get());
        if holds {
            self.rights.set(now);
        }
        holds && self.generation == self.server.generation()
    }

    /// The session that had it on loan leaves it.
    pub(crate) fn is_left(&mut self) {
        self.ends_told |= std::mem::take(&mut self.told_of_next);
    }

    /// Which changes of the session the server reports.
    pub fn tracking(&self) -> Tracking {
        self.tracking
    }

    /// The profile that the server has confirmed.
    pub fn profile(&self) -> &SharedProfile {
        &self.profile
    }

    /// Whether the server is MariaDB, as far as it is known.
    pub fn is_mariadb(&self) -> bool {
        self.server.facts().identity.as_ref().is_some_and(|identity| identity.mariadb)
    }

    /// What kind of reply a COM_STMT_PREPARE gets here.
    pub fn prepare_kind(&self) -> ReplyKind {
        if self.is_mariadb() { ReplyKind::Prepare } else { ReplyKind::MysqlPrepare }
    }

    /// Whether the server tells Weir of every change of a session variable.
    pub fn tracks(&self) -> bool {
        self.tracking != Tracking::Clients
    }

    /// The session on this connection has changed its own state, and the server has said so. A default database that the server lacks
    /// stays one that the connection does not have.
    pub fn set_profile(&mut self, profile: SharedProfile) {
        let stays_without = self.lacks_database && self.profile.database.is_none();
        self.profile = if stays_without { Rc::new(profile.with_database(None)) } else { profile };
    }

    /// Whether it can be brought to a profile, and whether it is there already. `may_lack_database`: its server may not have the
    /// profile's database, and it can't leave another one.
    pub fn suits(&self, wanted: &Profile, may_lack_database: bool) -> (bool, bool) {
        if *self.profile == *wanted {
            return (true, true);
        }
        let stays_in_roles = self.profile.has_others_roles(wanted);
        let (own, wanted) = (&self.profile.database, &wanted.database);
        let enters = if may_lack_database { own == wanted } else { wanted.is_some() };
        ((own.is_none() || enters) && !stays_in_roles, false)
    }

    /// Whether every reply has been read to its end, and nothing more has come.
    pub fn is_clean(&self) -> bool {
        // What is queued and gets no reply (COM_STMT_CLOSE) goes out with the next command.
        self.unanswered == 0 && self.input.is_empty() && !self.retired
    }

    /// Whether the peer has closed it while it was idle.
    pub fn is_stale(&self) -> bool {
        self.stream.is_stale()
    }

    /// The failure of losing this connection.
    pub fn lost(&self, error: &io::Error) -> Failure {
        self.server.lost(&error.to_string())
    }

    /// Queues a command. Its reply must be read, unless `answered` says that it gets none.
    pub fn queue(&mut self, payload: &[u8], answered: bool) {
        put_packet(&mut self.output, 0, payload);
        self.unanswered += usize::from(answered);
    }

    /// Queues bytes as they are: frames that continue a command, as a file's.
    pub fn queue_raw(&mut self, frames: &[u8]) {
        self.output.extend_from_slice(frames);
    }

    /// Sends what is queued, unless the server is found to have stopped answering: one that takes nothing more may never take it.
    /// Cancel-safe: what has not been sent stays queued, and makes the connection unfit to be lent again.
    pub async fn flush(&mut self) -> Result<(), Failure> {
        if self.flush_at_once().await? {
            return Ok(());
        }
        let server = self.server.clone();
        let sent = tokio::select! {
            biased;
            sent = poll_fn(|cx| self.poll_send(cx)) => Some(sent),
            () = server.hung() => None,
        };
        match sent {
            Some(sent) => self.has_sent(sent).await,
            None => Err(self.has_hung()),
        }
    }

    /// Sends what is queued as far as the socket takes it now. Returns whether that was all.
    pub async fn flush_at_once(&mut self) -> Result<bool, Failure> {
        match poll_fn(|cx| Poll::Ready(self.poll_send(cx))).await {
            Poll::Ready(sent) => self.has_sent(sent).await.map(|()| true),
            Poll::Pending => Ok(false),
        }
    }

    async fn has_sent(&mut self, sent: io::Result<()>) -> Result<(), Failure> {
        // What has been sent counts as room only when it is reclaimed.
        if self.output.is_empty() && self.output.try_reclaim(READ_CHUNK + 1) {
            self.output = BytesMut::new();
        }
        let Err(error) = sent else { return Ok(()) };
        self.output.clear();
        self.retired = true;
        Err(self.last_word().await.unwrap_or_else(|| self.lost(&error)))
    }

    /// The failure of a server that is found to have stopped answering.
    fn has_hung(&mut self) -> Failure {
        self.retired = true;
        self.server.lost("it has stopped answering")
    }

    /// Makes the socket report itself readable only when this number of bytes has come.
    pub(crate) fn set_receive_low_water(&self, bytes: usize) {
        self.stream.set_receive_low_water(bytes);
    }

    /// How many bytes are queued that the socket has not taken.
    pub fn unsent(&self) -> usize {
        self.output.len()
    }

    /// Sends what is queued as far as the socket takes it. What it does not take stays queued.
    pub fn poll_send(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.output.is_empty() {
            let n = ready!(Pin::new(&mut self.stream).poll_write(cx, &self.output))?;
            if n == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.server.note_sent(n);
            self.output.advance(n);
            if self.in_flight <= FITS && self.in_flight + n > FITS {
                self.stream.give_up_unacknowledged(false);
            }
            self.in_flight += n;
        }
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    /// Reads more bytes. Cancel-safe: nothing is lost when the future is dropped.
    pub async fn fill(&mut self) -> Result<(), Failure> {
        poll_fn(|cx| self.poll_fill(cx)).await
    }

    /// As [`Connection::fill`], unless the server is found to have stopped answering: nobody else looks after a question of Weir's own.
    pub(super) async fn fill_unless_hung(&mut self) -> Result<(), Failure> {
        let server = self.server.clone();
        let filled = tokio::select! {
            biased;
            filled = self.fill() => Some(filled),
            () = server.hung() => None,
        };
        filled.unwrap_or_else(|| Err(self.has_hung()))
    }

    /// As [`Connection::fill`], for whoever reads from several connections at once.
    ///
    /// # Errors
    /// The loss of the connection, which is retired then.
    pub fn poll_fill(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        // At most a chunk beyond what is there: a result of any size streams through a bounded buffer.
        self.input.reserve(READ_CHUNK.min(READ_CHUNK.saturating_sub(self.input.len()).max(4096)));
        // The future keeps nothing between two polls: it may be made anew for each.
        let read = std::pin::pin!(self.stream.read_buf(&mut self.input));
        let error = match ready!(read.poll(cx)) {
            Ok(0) => io::Error::new(io::ErrorKind::UnexpectedEof, "the server closed the connection"),
            Ok(n) => {
                self.server.note_received(n);
                return Poll::Ready(Ok(()));
            }
            Err(e) => e,
        };
        self.retired = true;
        Poll::Ready(Err(self.lost(&error)))
    }

    /// The reply to the oldest unanswered command has been read to its end.
    pub fn reply_done(&mut self) {
        self.unanswered = self.unanswered.saturating_sub(1);
        if self.unanswered == 0 && self.in_flight > FITS {
            self.stream.give_up_unacknowledged(true);
        }
        if self.unanswered == 0 {
            self.in_flight = 0;
        }
        if self.unanswered == 0 && self.input.is_empty() && self.input.capacity() > 2 * READ_CHUNK {
            self.input = BytesMut::new();
        }
    }

    /// Has the OK to a transaction's start alone not wake whoever waits: the statement's reply follows. Undone by `false`.
    pub fn gather_replies(&self, gather: bool) {
        self.stream.set_receive_low_water(if gather { PLAIN_OK + 1 } else { 1 });
    }

    fn forget(&mut self) {
        self.statements.clear();
        self.statements.resize(self.most_statements);
        self.tracking = Tracking::Clients;
        let database = self.profile.database.clone();
        self.profile = Rc::new(self.after_reset.with_database(database.as_deref()).with_roles_of(&self.profile));
    }

    /// Ends whatever a session has left on the connection: transaction, locks, temporary tables, variables.
    ///
    /// # Errors
    /// As the server's reply; the connection is of no more use then.
    pub async fn reset(&mut self) -> Result<(), Failure> {
        self.queue(&[Command::ResetConnection as u8], true);
        self.flush().await?;
        self.own_reply().await?;
        self.forget();
        self.temporary_made = 0;
        self.insert_id = Some(0);
        Ok(())
    }

    /// COM_SET_OPTION: whether a text may have several statements.
    ///
    /// # Errors
    /// The server's own error, or the connection's loss.
    pub async fn take_several(&mut self, on: bool) -> Result<(), Failure> {
        self.queue(&[Command::SetOption as u8, u8::from(!on), 0], true);
        self.flush().await?;
        self.own_reply_of(ReplyKind::Rows).await.map(drop)
    }

    pub(super) fn broken(&self, why: &str) -> Failure {
        self.server.lost(why)
    }
}
