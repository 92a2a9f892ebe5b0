//! One client's session, from its first byte to its last.
//!
//! What must always hold: the session has a server connection (`lease`) only while a statement runs on it, while
//! something binds it (a transaction, a lock, a temporary table: [`state::SessionState::is_bound`]), or softly, while the
//! latest statement left something there that the client may still ask for. A soft hold ends when another session
//! waits for a connection: what was left is read and kept here.
//!
//! States: logging in, idle, running a command, ended.

mod again;
mod batch;
pub(crate) mod begin;
mod commands;
mod condition;
mod confirm_login;
mod connection;
mod database;
mod deadline;
mod diagnostics;
mod entrance;
mod follow;
mod kill_on_server;
mod kill_statement;
mod latest;
mod lost_transaction;
mod observe;
mod outcome;
mod own_variables;
mod prepared_statement;
mod relay;
mod release;
mod replay;
mod roles;
mod route;
mod seen;
mod shard;
mod sharded;
mod state;
mod statement;
mod stopped;
mod syntax;
mod tls_status;
mod transaction;
mod unless_lost;

use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use tokio::sync::{Notify, OwnedSemaphorePermit};
use weir_admin::logs::{Event, Slot};
use weir_admin::sessions::{Interrupt, SessionHandle, UserEntry};
use weir_backend::profile::SharedProfile;
use weir_backend::{Defining, Identity, Lease, PoolKey, Profile};
use weir_catalog::Catalog;
use weir_topology::Level;
use weir_wire::auth::{Password, Scramble};
use weir_wire::error::codes;
use weir_wire::packets::OkPacket;
use weir_wire::stmt::query_text_at;
use weir_wire::{Command, Failure};

use crate::backends::ServerId;
use crate::client::{Client, ClientError};
use crate::endpoint::Endpoint;
use crate::idle::{Due, IdleState};
use crate::incoming::Peer;
use crate::plans::Circumstances;
use crate::shared::Shared;
use seen::SeenByShard;
use state::{BindingFlags, SessionState};
use stopped::SessionEnd;

/// A session keeps a buffer for commands of so many bytes from one to the next.
const SMALL_COMMAND: usize = 16 * 1024;

/// Time-outs that a client has set for its session.
#[derive(Debug, Clone, Copy)]
struct OwnTimeouts {
    /// For how long it may be idle.
    wait: Option<Duration>,
    /// For how long it may neither read nor go on with what it sends, where that is longer than `clients.write_timeout`.
    network: Duration,
}

/// A session that is logged in.
pub(crate) struct Session {
    shared: Rc<Shared>,
    endpoint: Arc<Endpoint>,
    identity: Arc<Identity>,
    client: Client,
    handle: Arc<SessionHandle>,
    peer: Peer,
    nonce: Scramble,
    user: String,
    password: Password,
    /// A text was prepared by SQL that may change accounts.
    prepares_for_accounts: bool,
    key: PoolKey,
    collation: u16,
    state: SessionState,
    /// Where its statements run.
    current: transaction::Participant,
    /// A connection that is kept softly while a read runs on another server, and its server's place.
    aside: Option<(ServerId, Lease)>,
    /// The procedures that run statement by statement, the outermost first.
    running: Vec<weir_plan::Running>,
    /// Shards that lack its default database.
    lacking: database::Lacking,
    /// The shard that the session has chosen for all that it runs, if it has.
    chosen_shard: Option<usize>,
    /// While a statement runs that names temporary tables and rows of other shards: the catalog with these tables as SINGLE ones.
    temporary_catalog: Option<Arc<Catalog>>,
    /// The session's `sql_select_limit`, while a statement runs that the shards run without.
    lifted_limit: Option<u64>,
    /// LOCK TABLES of sharded databases is answered without locks: `weir_lock_tables`.
    ignores_locks: bool,
    /// Its transaction, as far as it is more than the server's own.
    transaction: transaction::Transaction,
    /// Its transaction was lost while it was idle, and the client has not been told yet.
    rolled_back: Option<Failure>,
    /// Its transaction, as far as it is kept to be run again.
    replay: replay::Replay,
    /// Whether its user's transactions are run again when their server is lost; `None`: as the group says.
    own_replay: Option<bool>,
    /// The tables that it has locked.
    table_locks: transaction::table_locks::TableLocks,
    /// Where the statement at hand runs.
    target: route::Target,
    /// A KILL QUERY was sent to the session's connection, and may hit whatever runs there next.
    kill_on_its_way: bool,
    /// How fresh reads have to be.
    level: Level,
    /// What the session has written and seen, on each shard.
    seen: SeenByShard,
    riding: statement::lane::Riding,
    /// Its statement is one of the few that may wait on the server for a hot row. Others are let in when the client has its answer, which may
    /// be all that the row's next change waits for.
    admitted: Option<OwnedSemaphorePermit>,
    /// The settings with which its statements ride in batches, and the profile that they follow from.
    batch_profile: Option<(SharedProfile, Rc<Profile>)>,
    /// What plans depend on, for the profile that the session had when one was last made.
    circumstances: Option<(SharedProfile, Rc<Circumstances>)>,
    idle: Rc<IdleState>,
    /// The time-outs that the client has set, and the profile that says so.
    timeouts: Option<(SharedProfile, OwnTimeouts)>,
    /// Rung when somebody waits for the connection that is held softly.
    let_go: Rc<Notify>,
    held: bool,
    /// The statement at hand defines something.
    defining: Option<Defining>,
    counted_as_pinned: bool,
    /// What binds the session, as others see it.
    shown_bindings: BindingFlags,
    last_prepared: u32,
    /// What is known of the statement at hand.
    ran: observe::Ran,
    /// Statements of the session's user are in the audit log.
    audited: bool,
    /// The place that is kept in the audit log for the statement at hand.
    audit_slot: Option<Slot>,
    /// When the statement at hand is ended, if a rule bounds it.
    deadline: deadline::Deadline,
    /// Its way to tables that may move; without sharded databases there is none.
    pass: Option<weir_shards::Pass>,
    /// A statement that takes at least so long is in the slow log.
    slow_time: Option<Duration>,
    /// When the latest command was sent to a server.
    sent_at: Option<Instant>,
    /// For payloads that are put together anew.
    scratch: Vec<u8>,
    _user_entry: UserEntry,
}

impl Session {
    async fn run(&mut self) -> SessionEnd {
        let mut payload = BytesMut::new();
        loop {
            if let Err(end) = self.next_command(&mut payload).await {
                return end;
            }
            self.endpoint.metrics.commands.inc();
            if let Err(end) = self.command(&payload).await {
                return end;
            }
            if payload.capacity() > SMALL_COMMAND {
                payload = BytesMut::new();
            }
            self.show_bindings();
            self.client.is_answered();
            if let Err(error) = self.client.flush().await {
                return error.into();
            }
            self.admitted = None;
            if self.client.discard {
                return SessionEnd::Quit;
            }
            if let Err(end) = self.finish_command().await {
                return end;
            }
            self.leave_gate();
            self.client.shrink();
            self.show_idle();
        }
    }

    /// Waits for the next command, and meanwhile for whatever else may concern an idle session.
    async fn next_command(&mut self, payload: &mut BytesMut) -> Result<(), SessionEnd> {
        self.client.begin_command();
        self.client.is_answered();
        let (limit, write_timeout, wait_timeout) = {
            let settings = self.endpoint.settings.load();
            (settings.max_allowed_packet, settings.write_timeout, settings.wait_timeout)
        };
        let own = self.own_timeouts();
        self.client.write_timeout = write_timeout.max(own.network);
        self.idle.begin(self.shared.idle.now(), own.wait.unwrap_or(wait_timeout), self.client.write_timeout);
        loop {
            self.idle_interrupts()?;
            match self.idle.due() {
                Due::Nothing => {}
                Due::Rest => {
                    *payload = BytesMut::new();
                    self.rest();
                }
                // While a reply is on its way, keepalive probes nobody.
                Due::LookAtClient if self.client.has_vanished() => return Err(ClientError::Vanished.into()),
                Due::LookAtClient => {}
                Due::Leave if self.state.may_leave() => return Err(Self::stopping()),
                Due::Leave => {}
                Due::End => return Err(self.idle_for_too_long()),
            }
            // Cancel-safe: `packet` keeps what has arrived, bells keep their ring.
            tokio::select! {
                biased;
                arrived = self.client.packet_into(limit, payload) => {
                    self.idle.end();
                    self.client.awaits_answer();
                    return Ok(arrived?);
                }
                () = self.handle.bell.rung() => {}
                () = self.let_go.notified(), if self.held => {
                    self.give_way().await;
                    self.show_idle();
                }
            }
        }
    }

    /// Frees memory after a while of idleness.
    fn rest(&mut self) {
        if !self.client.has_input() {
            self.client.rest();
            self.riding.rest();
            self.handle.rest();
            self.scratch = Vec::new();
        }
    }

    /// The time-outs that the client has set for its session.
    fn own_timeouts(&mut self) -> OwnTimeouts {
        match &self.timeouts {
            Some((profile, timeouts)) if Rc::ptr_eq(profile, &self.state.profile) => *timeouts,
            _ => {
                let profile = self.state.profile.clone();
                let own = |name| {
                    let seconds = profile.variable(name).and_then(|seconds| seconds.parse().ok());
                    seconds.map(Duration::from_secs)
                };
                let network = own("net_read_timeout").max(own("net_write_timeout")).unwrap_or_default();
                let timeouts = OwnTimeouts { wait: own("wait_timeout"), network };
                self.timeouts = Some((profile, timeouts));
                timeouts
            }
        }
    }

    fn idle_for_too_long(&self) -> SessionEnd {
        self.endpoint.metrics.dropped.inc();
        let message = "The client was disconnected by the server because of inactivity. See wait_timeout and \
                       interactive_timeout for configuring this behavior.";
        SessionEnd::Told(Failure::client(codes::ER_CLIENT_INTERACTION_TIMEOUT, message))
    }

    fn idle_interrupts(&mut self) -> Result<(), SessionEnd> {
        if self.handle.has(Interrupt::Connection) {
            return Err(SessionEnd::Killed);
        }
        if self.handle.has(Interrupt::ServerLost) {
            self.handle.clear(Interrupt::ServerLost);
            let hung = self.current.lease.as_ref().filter(|lease| lease.server.refusal().is_some());
            if let Some(failure) = hung.map(|lease| lease.server.lost("it has stopped answering")) {
                self.lost_while_idle(failure)?;
            }
        }
        let stopping = self.handle.has(Interrupt::Shutdown) && !self.state.in_transaction();
        if stopping || self.handle.has(Interrupt::ShutdownNow) {
            return Err(Self::stopping());
        }
        Ok(())
    }

    fn stopping() -> SessionEnd {
        let message = "Server shutdown in progress";
        SessionEnd::Told(Failure::weir(codes::ER_SERVER_SHUTDOWN, message))
    }

    fn show_idle(&mut self) {
        self.count_bytes();
        self.show_replay();
        self.handle.end(self.shared.idle.now(), self.current.lease.is_some());
        self.handle.set_in_transaction(self.state.in_transaction());
        let pinned = self.current.lease.is_some() && !self.held;
        if pinned != self.counted_as_pinned {
            self.counted_as_pinned = pinned;
            if pinned {
                self.endpoint.metrics.pinned.inc()
            } else {
                self.endpoint.metrics.pinned.dec()
            };
        }
    }

    /// Counts what has come from the client and gone to it.
    fn count_bytes(&mut self) {
        let (received, sent) = self.client.take_traffic();
        self.shared.statistics.counters.note_bytes(received, sent);
    }

    /// Before the client can ask: what binds the session now.
    fn show_bindings(&mut self) {
        let binding = self.state.binding_flags();
        if binding == self.shown_bindings {
            return;
        }
        self.shown_bindings = binding;
        let bindings = self.state.bindings();
        let mut info = self.handle.info();
        if info.pins != bindings {
            info.pins = bindings;
        }
    }

    /// One command. An error ends the session.
    async fn command(&mut self, payload: &[u8]) -> Result<(), SessionEnd> {
        // Whoever has the OK to a KILL may rely on it.
        if self.handle.has(Interrupt::Connection) {
            return Err(SessionEnd::Killed);
        }
        self.handle.clear(Interrupt::Query);
        self.handle.clear(Interrupt::Deadlock);
        self.target_writer();
        let Some(command) = payload.first().copied().and_then(Command::served) else {
            self.handle.begin("Unknown", b"", self.shared.idle.now());
            self.refuse(&Failure::client(codes::ER_UNKNOWN_COM_ERROR, "Unknown command"));
            return Ok(());
        };
        let text = match command {
            // Behind the attributes that clients may send with a query.
            Command::Query => query_text_at(payload, self.client.capabilities).ok().and_then(|at| payload.get(at..)),
            Command::StmtPrepare => payload.get(1..),
            _ => None,
        };
        self.handle.begin(command.process_name(), text.unwrap_or_default(), self.shared.idle.now());
        if matches!(command, Command::StmtPrepare) {
            // A client that does not wait for the answer executes nothing if there is nothing prepared.
            self.last_prepared = 0;
        }
        if let Some(failure) = self.is_told_of_rollback(command) {
            if !self.replay.is_pending() {
                self.refuse(&failure);
                return Ok(());
            }
            if let Err(stopped) = Box::pin(self.play_again(failure)).await {
                return self.stopped(stopped);
            }
            self.target_writer();
        }
        match command {
            Command::Quit => Err(SessionEnd::Quit),
            Command::Ping => {
                self.endpoint.metrics.answered_here.inc();
                // MySQL repeats the warnings of the statement before.
                let warnings = if self.identity.mariadb { 0 } else { self.state.latest.warnings };
                let ok = OkPacket { warnings, ..OkPacket::plain(self.state.own_status()) };
                self.client.put_ok(&ok);
                Ok(())
            }
            Command::Query => self.query(payload).await,
            Command::InitDb => self.init_db(payload).await,
            Command::FieldList => self.field_list(payload).await,
            Command::Statistics => self.statistics(payload).await,
            Command::ProcessKill => self.process_kill(payload),
            Command::ChangeUser => Box::pin(self.change_user(payload)).await,
            Command::ResetConnection => self.reset_connection().await,
            Command::SetOption => self.set_option(payload).await,
            Command::StmtPrepare => self.prepare(payload).await,
            Command::StmtExecute => self.execute(payload).await,
            Command::StmtFetch => self.fetch(payload).await,
            Command::StmtReset => self.reset_statement(payload).await,
            Command::StmtClose => self.close_statement(payload),
            Command::StmtSendLongData => self.long_data(payload).await,
            _ => unreachable_command(),
        }
    }

    /// Answers with an error of Weir's own.
    fn refuse(&mut self, failure: &Failure) {
        let late = self.deadline.in_place_of(failure.code);
        let outside = || Self::without_database(&self.state.profile).filter(|_| failure.code == codes::ER_NO_DB_ERROR);
        let instead = late.or_else(outside);
        let failure = instead.as_ref().unwrap_or(failure);
        self.endpoint.metrics.errors.inc();
        self.heed_refused_roles(failure.code);
        self.ran.error = Some(failure.code);
        self.state.failed_here(failure);
        self.client.put_failure(failure);
    }

    /// Answers OK without a server.
    fn ok_here(&mut self) {
        self.endpoint.metrics.answered_here.inc();
        let ok = OkPacket::plain(self.state.own_status());
        self.client.put_ok(&ok);
    }

    /// Ends the session: the client is told, the connection cleared.
    async fn finish(mut self, end: SessionEnd) {
        if self.counted_as_pinned {
            self.endpoint.metrics.pinned.dec();
        }
        self.leave_server();
        self.count_bytes();
        self.audit(Event::Disconnect);
        match &end {
            SessionEnd::Quit | SessionEnd::Said | SessionEnd::Killed => {}
            SessionEnd::Told(failure) => self.client.put_last_failure(failure).await,
            SessionEnd::Client(error) => {
                match error {
                    ClientError::Stalled => self.endpoint.metrics.stalled.inc(),
                    _ => self.endpoint.metrics.dropped.inc(),
                };
                tracing::debug!(session = self.handle.id, user = %self.user, %error, "client lost");
            }
        }
        let Session { client, handle, shared, .. } = self;
        // Out of the registry before the socket closes, so that a client that sees the close finds its place free.
        shared.endpoint.registry.leave(&handle);
        // TLS ends with a notice: without one, clients report a broken connection rather than a closed one.
        if matches!(end, SessionEnd::Told(_) | SessionEnd::Said | SessionEnd::Killed) {
            client.close().await;
        }
    }
}

/// `Command::served` names no other commands.
fn unreachable_command() -> Result<(), SessionEnd> {
    Ok(())
}
