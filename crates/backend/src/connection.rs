//! A connection to a server: commands out, replies in, and what is known of its session state.
//!
//! What must always hold: `unanswered` counts the commands whose reply has not been read to its end; a connection
//! that is given back with any of them, or with bytes left over, is closed. The profile is the server's state as far
//! as it is known; it is set only after the server's OK.

use std::cell::Cell;
use std::collections::VecDeque;
use std::io;
use std::num::NonZeroUsize;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use bytes::{Buf, BytesMut};
use lru::LruCache;
use tokio::io::{AsyncReadExt, AsyncWrite, AsyncWriteExt};
use weir_wire::error::codes;
use weir_wire::frame::put_packet;
use weir_wire::reply::ReplyKind;
use weir_wire::stmt::query_payload;
use weir_wire::{Capabilities, Command, Failure, Fault};

use crate::pool_key::PoolKey;
use crate::prepared::{Prepared, StatementKey};
use crate::profile::{CLIENT_TRACKS, Profile, Role, SharedProfile, set_texts};
use crate::server::Server;
use crate::transport::Stream;

mod open;
mod own;
mod statements;

pub use open::{ConnectionSlot, Opening};
pub use own::OwnReply;

/// Bytes read from a server at a time.
const READ_CHUNK: usize = 64 * 1024;

/// The maximum size of Weir's own SET statements in bytes, unless one value is larger. Servers accept texts of at least 16 MiB by default.
const MOST_SET: usize = 1024 * 1024;
/// The same on a server that takes little: the least `max_allowed_packet` is 1,024.
const MOST_SET_OF_LITTLE: usize = 900;

/// Bytes of an OK packet that tells nothing, its header included.
const PLAIN_OK: usize = 11;

/// A command that Weir has put before a session's statement.
#[derive(Debug, Clone, PartialEq, Eq)]
enum PreludeStep {
    Reset,
    Role(Arc<Role>),
    Database,
    Set,
    Begin,
    /// A transaction's start that the server may refuse.
    DoubtfulBegin,
    /// Waiting for a replication position.
    Wait,
}

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
    /// `LAST_INSERT_ID()` here, if known.
    pub insert_id: Option<u64>,
    /// It is not in the database that was to become its default: the server does not have that, does not let the user in, or was not asked yet.
    pub lacks_database: bool,
    /// The server has not reached a position in time: what was sent behind the question is not to be heard.
    pub late: bool,
    stream: Stream,
    output: BytesMut,
    unanswered: usize,
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

    /// Sends what is queued. Not cancel-safe: a connection dropped in mid-write is closed by its guard.
    pub async fn flush(&mut self) -> Result<(), Failure> {
        if self.output.is_empty() {
            return Ok(());
        }
        let sent = match self.stream.write_all(&self.output).await {
            Ok(()) => self.stream.flush().await,
            Err(e) => Err(e),
        };
        self.server.note_sent(self.output.len());
        self.output.clear();
        if self.output.capacity() > READ_CHUNK {
            self.output = BytesMut::new();
        }
        let Err(error) = sent else { return Ok(()) };
        self.retired = true;
        Err(self.last_word().await.unwrap_or_else(|| self.lost(&error)))
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
        }
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    /// Reads more bytes. Cancel-safe: nothing is lost when the future is dropped.
    pub async fn fill(&mut self) -> Result<(), Failure> {
        std::future::poll_fn(|cx| self.poll_fill(cx)).await
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
        if self.unanswered == 0 && self.input.is_empty() && self.input.capacity() > 2 * READ_CHUNK {
            self.input = BytesMut::new();
        }
    }

    /// Queues what brings the connection to `wanted`. `tracking`: whether the server tells Weir of every change of a
    /// session variable; without, the variables of the tracking itself have the values that a session expects.
    ///
    /// # Errors
    /// When there is no way from the connection's profile to `wanted`: the caller takes another connection.
    pub fn queue_state(&mut self, wanted: &SharedProfile, tracking: impl Into<Tracking>) -> Result<(), Failure> {
        let tracking = tracking.into();
        let difference = self.profile.difference(wanted, &self.after_reset);
        if difference.impossible {
            return Err(Failure::new(
                Fault::Weir,
                1105,
                b"HY000",
                "the connection can't leave its database or its roles",
            ));
        }
        if difference.reset {
            self.queue_step(PreludeStep::Reset, &[Command::ResetConnection as u8]);
            // Here, and not when it is confirmed: another may be queued behind it.
            self.insert_id = Some(0);
        }
        if let Some(role) = &difference.role {
            self.queue_role(role);
        }
        if let Some(database) = difference.database {
            self.queue_step(PreludeStep::Database, &[&[Command::InitDb as u8], database.as_ref()].concat());
            if self.lacks_database || wanted.is_denied_database() {
                // What it says if it still refuses is not the next statement's: on MariaDB, only one that has tables clears it away.
                self.queue_step(
                    PreludeStep::Set,
                    &query_payload(b"DO (SELECT 1 FROM (SELECT 1) AS t)", self.capabilities),
                );
            }
        }
        if let Some(role) = &difference.last_role {
            self.queue_role(role);
        }
        let tracked = if difference.reset { Tracking::Clients } else { self.tracking };
        let from = if difference.reset { &self.after_reset } else { &*self.profile };
        let others = tracking == Tracking::Clients && from.variable(CLIENT_TRACKS) != wanted.variable(CLIENT_TRACKS);
        let variables =
            (tracked != tracking || others).then(|| self.tracking_variables(tracking, wanted, from.introducer()));
        let mut items = difference.set;
        items.extend(variables);
        let most = if self.server.takes_little() { MOST_SET_OF_LITTLE } else { MOST_SET };
        for text in set_texts(&items, most) {
            self.queue_step(PreludeStep::Set, &query_payload(text.as_bytes(), self.capabilities));
        }
        if !self.steps.is_empty() {
            self.goal = Some(wanted.clone());
            self.goal_tracking = tracking;
        } else {
            self.profile = wanted.clone();
        }
        Ok(())
    }

    /// `introducer`: what strings need before them.
    fn tracking_variables(&self, tracking: Tracking, wanted: &Profile, introducer: &str) -> String {
        let identity = self.server.facts().identity.clone();
        // MariaDB tells its last GTID among the variables.
        let gtids = self.server.settings.track_gtids && identity.as_ref().is_some_and(|identity| !identity.mariadb);
        let (names, flag, own_gtid) = match tracking {
            Tracking::All | Tracking::AllButGtid => {
                let listed = identity.filter(|_| !self.server.takes_little());
                let names = listed.map(|identity| match &identity.tracked_but_gtid {
                    Some(names) if tracking == Tracking::AllButGtid => names.clone(),
                    _ => identity.tracked_variables.clone(),
                });
                (format!("{introducer}'{}'", names.as_deref().unwrap_or("*")), "ON", "OWN_GTID")
            }
            Tracking::Clients => {
                let clients = wanted.variable(CLIENT_TRACKS).map(|names| format!("{introducer}'{names}'"));
                (clients.unwrap_or_else(|| "DEFAULT".to_owned()), "DEFAULT", "DEFAULT")
            }
        };
        // By a server's own default it may not tell of another database.
        let items = [("system_variables", &*names), ("state_change", flag), ("schema", flag), ("gtids", own_gtid)];
        let items = items[..if gtids { 4 } else { 3 }].iter();
        items.map(|(what, value)| format!("@@SESSION.session_track_{what}={value}")).collect::<Vec<_>>().join(",")
    }

    /// Queues the question whether a position is reached ([`crate::Position::wait_query`]), to be confirmed with the rest of
    /// the state. If it is not, [`Connection::late`] is set and the confirmation fails.
    pub fn queue_wait(&mut self, question: &str) {
        self.queue_step(PreludeStep::Wait, &query_payload(question.as_bytes(), self.capabilities));
    }

    /// Queues a transaction's start, to be confirmed with the rest of the state, or by the next command of Weir's own.
    /// `may_be_refused`: by a server in whose present state it is not allowed.
    pub fn queue_begin(&mut self, text: &[u8], may_be_refused: bool) {
        let step = if may_be_refused { PreludeStep::DoubtfulBegin } else { PreludeStep::Begin };
        self.queue_step(step, &query_payload(text, self.capabilities));
    }

    /// Queues what makes `LAST_INSERT_ID()` on this connection `id`, to be confirmed with the rest of the state.
    pub fn queue_insert_id(&mut self, id: u64) {
        let payload = query_payload(format!("DO LAST_INSERT_ID({id})").as_bytes(), self.capabilities);
        self.queue_step(PreludeStep::Set, &payload);
        self.insert_id = Some(id);
    }

    fn queue_role(&mut self, role: &Arc<Role>) {
        let payload = query_payload(role.statement().as_bytes(), self.capabilities);
        self.queue_step(PreludeStep::Role(role.clone()), &payload);
    }

    fn queue_step(&mut self, step: PreludeStep, payload: &[u8]) {
        self.queue(payload, true);
        self.steps.push_back(step);
    }

    /// Whether something was queued that the server may refuse, and that has to be confirmed.
    pub fn state_changes(&self) -> bool {
        self.steps.iter().any(|step| !matches!(step, PreludeStep::Begin | PreludeStep::Wait))
    }

    /// Whether all that is queued before the session's statement is a transaction's start that no server refuses.
    pub fn only_begins(&self) -> bool {
        self.steps.len() == 1 && self.steps.front() == Some(&PreludeStep::Begin)
    }

    /// Whether something that is queued before a statement is to be confirmed.
    pub fn awaits_state(&self) -> bool {
        !self.steps.is_empty()
    }

    /// Whether what was queued before a statement is to be confirmed, and nothing else: no statement has followed.
    pub fn only_awaits_state(&self) -> bool {
        !self.steps.is_empty() && self.steps.len() == self.unanswered && !self.retired
    }

    /// Reads the replies of what [`Connection::queue_state`] and [`Connection::queue_begin`] queued.
    ///
    /// # Errors
    /// The server's own error; the connection is then retired, because a statement may already follow.
    pub async fn confirm_state(&mut self) -> Result<(), Failure> {
        while !self.confirm_arrived()? {
            self.fill().await?;
        }
        Ok(())
    }

    /// As [`Connection::confirm_state`], without waiting: whether all replies had arrived.
    ///
    /// # Errors
    /// As [`Connection::confirm_state`].
    pub fn confirm_arrived(&mut self) -> Result<bool, Failure> {
        while let Some(step) = self.steps.front().cloned() {
            let reply = if step == PreludeStep::Wait { self.reached() } else { self.single_reply() };
            let is = |codes: &[u16]| reply.as_ref().err().filter(|failure| codes.contains(&failure.code));
            let denied = is(&[codes::ER_DBACCESS_DENIED_ERROR]);
            let lacks = denied.or(is(&[codes::ER_BAD_DB_ERROR])).is_some();
            match (&step, &self.goal) {
                (PreludeStep::Role(role), _) if is(&Role::NOT_GRANTED).is_some() => role.note_refused(),
                (PreludeStep::Database, Some(goal)) if !matches!(reply, Ok(false)) => goal.note_entrance(denied),
                _ => {}
            }
            let confirmed = match reply {
                Err(failure) if step == PreludeStep::Database && lacks => self.has_no_database(failure).map(|()| true),
                reply => reply,
            };
            if !confirmed.inspect_err(|_| self.retired = true)? {
                return Ok(false);
            }
            self.steps.pop_front();
            self.lacks_database &= step != PreludeStep::Database || lacks;
            if step == PreludeStep::Reset {
                self.forget();
            }
        }
        if let Some(goal) = self.goal.take() {
            self.profile = goal;
            self.tracking = self.goal_tracking;
        }
        Ok(true)
    }

    /// The database that it was to enter is not there, or not for this user any more. Without one before, it has none still, and what follows
    /// runs as it would on a server whose default database was dropped. It can't leave another one.
    fn has_no_database(&mut self, failure: Failure) -> Result<(), Failure> {
        self.lacks_database = true;
        if self.profile.database.is_some() {
            return Err(failure);
        }
        self.goal = self.goal.take().map(|goal| Rc::new(goal.with_database(None)));
        Ok(())
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
