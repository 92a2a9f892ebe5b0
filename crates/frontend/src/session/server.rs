//! The session's server connection: getting one, bringing it into the session's state, and running a command on it.

use std::time::Instant;

use weir_admin::sessions::Interrupt;
use weir_backend::Lease;
use weir_backend::connect::Login;
use weir_backend::monitor::kill_query;
use weir_backend::pool::Request;
use weir_sql::{Class, Effects, Pins};
use weir_wire::error::codes;
use weir_wire::reply::ReplyKind;
use weir_wire::{Command, Failure, Fault, StatusFlags};

use super::relay::{Broken, Outcome, Relay};
use super::state::{Left, needs_insert_id};
use super::{End, Session};
use crate::client::ClientError;

/// Why a statement was not run, or not to its end.
pub(super) enum Stopped {
    /// The client is told, and the session goes on.
    Refused(Failure),
    /// The session ends.
    Ended(End),
}

impl From<Failure> for Stopped {
    fn from(failure: Failure) -> Self {
        Stopped::Refused(failure)
    }
}

impl Session {
    /// What Weir answers to MySQL's error 1317.
    pub(super) fn interrupted_failure() -> Failure {
        Failure::new(Fault::Client, codes::ER_QUERY_INTERRUPTED, b"70100", "Query execution was interrupted")
    }

    /// Has a connection that suits the session, waiting for one if needed; a kill ends the wait.
    pub(super) async fn have_connection(&mut self) -> Result<(), Stopped> {
        if self.held {
            self.held = false;
            self.shared.pool.end_hold(u64::from(self.handle.id));
        }
        if self.lease.is_some() {
            return Ok(());
        }
        self.handle.set_state("Waiting for a server connection");
        let profile = self.state.profile.clone();
        let request = Request { key: &self.key, password: &self.password, profile: &profile, patient: false };
        let mut lending = std::pin::pin!(self.shared.pool.lend(request));
        let lease = loop {
            // Cancel-safe: a dropped `lend` gives up its place, `gone` keeps what was read, a bell keeps its ring.
            tokio::select! {
                biased;
                lent = &mut lending => break lent,
                () = self.handle.bell.rung() => {
                    if self.handle.has(Interrupt::Connection) || self.handle.has(Interrupt::ShutdownNow) {
                        return Err(Stopped::Ended(End::Killed));
                    }
                    if self.handle.has(Interrupt::Query) {
                        return Err(Stopped::Refused(Self::interrupted_failure()));
                    }
                }
                error = self.client.gone() => return Err(Stopped::Ended(error.into())),
            }
        };
        self.handle.set_state("");
        let lease = lease.inspect_err(|failure| {
            if failure.code == codes::ER_ACCESS_DENIED_ERROR {
                self.endpoint.accounts.forget(&self.user);
            }
        })?;
        let mut lease = lease;
        lease.has_found_rows = false;
        self.handle.info().server = Some((lease.server.clone(), lease.thread_id));
        self.lease = Some(lease);
        Ok(())
    }

    /// The connection that [`Session::have_connection`] got.
    pub(super) fn connection(&mut self) -> &mut Lease {
        self.lease.as_mut().expect("the session has a connection while a command runs")
    }

    /// Gets a connection, brings it into the session's state, queues the command that `payload` makes, and sends all
    /// of it in one write, but for a statement that writes: a change of the state is confirmed before that is sent. A
    /// transaction's start is not such a change: a server refuses none (but READ WRITE's, which counts as one), and it
    /// has begun or is lost with its connection.
    pub(super) async fn send(&mut self, class: &Class, payload: &[u8]) -> Result<(), Stopped> {
        self.have_connection().await?;
        let begins = self.state.begin.is_some();
        match self.send_on_connection(class, payload).await {
            // The client counts on a transaction that is not there.
            Err(Stopped::Refused(failure)) if begins => Err(Stopped::Ended(End::Told(failure))),
            Ok(()) if begins => {
                // An error packet has no status flags: if the statement fails, the transaction is open all the same.
                self.state.status |= StatusFlags::IN_TRANS;
                Ok(())
            }
            sent => sent,
        }
    }

    async fn send_on_connection(&mut self, class: &Class, payload: &[u8]) -> Result<(), Stopped> {
        self.queue_session_state(class)?;
        self.raise_what_was_left().await?;
        let careful = class.effects.contains(Effects::WRITES);
        let connection = self.connection();
        let changes = connection.state_changes();
        if careful && changes {
            connection.flush().await?;
            connection.confirm_state().await?;
        }
        connection.queue(payload, true);
        connection.flush().await?;
        // A transaction's start is confirmed with the statement's reply.
        if !connection.only_begins() {
            connection.confirm_state().await?;
        }
        if changes {
            self.endpoint.backend_metrics.profile_changes.inc();
        }
        Ok(())
    }

    /// Queues what the connection lacks of the session's state, the transaction's start included.
    pub(super) fn queue_session_state(&mut self, class: &Class) -> Result<(), Stopped> {
        let own_tracking = self.state.pins.contains(Pins::SESSION_TRACKING)
            || class.pins.contains(Pins::SESSION_TRACKING)
            || class.effects.contains(Effects::SHOWS_SESSION_VARIABLES);
        let profile = self.state.profile.clone();
        let begin = self.state.begin.take();
        let connection = self.connection();
        let there = if connection.profile().has_others_user_variables(&profile) {
            // It is reset first.
            Some(0)
        } else {
            connection.insert_id
        };
        let insert_id = match self.state.last_insert_id {
            Left::Known(id) if needs_insert_id(class) && there != Some(id) => Some(id),
            _ => None,
        };
        if insert_id.is_some() && class.effects.contains(Effects::USES_WARNINGS) {
            let message = "LAST_INSERT_ID() and the diagnostics of the statement before can't be read in one statement: \
                           the session's server connection was needed by another session in between. Ask in two statements";
            return Err(Failure::new(Fault::Weir, codes::ER_NOT_SUPPORTED_YET, b"42000", message).into());
        }
        let connection = self.connection();
        connection.queue_state(&profile, !own_tracking)?;
        if let Some(id) = insert_id {
            connection.queue_insert_id(id);
        }
        if let Some(begin) = begin {
            connection.queue_begin(&begin.text, begin.may_be_refused);
        }
        Ok(())
    }

    /// Forwards the reply to the command just sent.
    pub(super) async fn forward_reply(
        &mut self,
        kind: ReplyKind,
        class: &Class,
        statement_id: Option<u32>,
    ) -> Result<Outcome, Stopped> {
        let (endpoint, key, password) = (&self.endpoint, &self.key, &self.password);
        let kill = |thread: u32| {
            endpoint.metrics.kills.inc();
            let capabilities = weir_wire::Capabilities::empty();
            let login = Login { user: key.user.clone(), password: password.clone(), capabilities };
            let server = endpoint.server.clone();
            tokio::task::spawn_local(async move {
                if let Err(error) = kill_query(&server, &login, thread).await {
                    tracing::warn!(%error, thread, "a statement could not be killed on the server");
                }
            });
        };
        let track_all = self.state.pins.contains(Pins::SESSION_TRACKING) || class.pins.contains(Pins::SESSION_TRACKING);
        let harmless = !class.effects.contains(Effects::WRITES) && !self.state.status.contains(StatusFlags::IN_TRANS);
        // Only the time of what may ride is of interest, and a clock is not free.
        self.sent_at = harmless.then(Instant::now);
        let lease = self.lease.as_mut().expect("a command was sent on the session's connection");
        let mut relay = Relay {
            client: &mut self.client,
            lease,
            handle: &self.handle,
            identity: &self.identity,
            track_all,
            database: self.state.profile.database.as_deref(),
            harmless,
            statement_id,
            kill: &kill,
        };
        match relay.run(kind).await {
            Ok(outcome) => Ok(outcome),
            Err(Broken::Client(error)) => Err(Stopped::Ended(error.into())),
            Err(Broken::Killed) => Err(Stopped::Ended(End::Told(Self::interrupted_failure()))),
            Err(Broken::Server { failure, said }) => Err(self.server_broke(failure, said)),
        }
    }

    /// The server connection broke in the middle of a command. What was bound to it is lost, so a bound session
    /// ends, as it would on a direct connection; another one goes on.
    pub(super) fn server_broke(&mut self, failure: Failure, said: bool) -> Stopped {
        let bound = self.state.is_bound() || self.state.in_transaction();
        self.lease = None;
        if said {
            // A half reply can't be ended by an error packet of the right number: the client must not go on.
            return Stopped::Ended(End::Client(ClientError::Io(std::io::Error::other(failure.to_string()))));
        }
        if bound { Stopped::Ended(End::Told(failure)) } else { Stopped::Refused(failure) }
    }

    /// Runs a whole command: the state, the command, the reply, and what follows from it. `lost`: it has been tried
    /// before, in vain. Returns what came of it, or `None` if the client was told of a failure.
    pub(super) async fn run_command(
        &mut self,
        class: &Class,
        payload: &[u8],
        kind: ReplyKind,
        lost: Option<Failure>,
    ) -> Result<Option<Outcome>, End> {
        let repeatable = self.lease.is_none() && self.state.begin.is_none() && !class.effects.contains(Effects::WRITES);
        let mut done = match lost {
            Some(failure) => Err(Stopped::Refused(failure)),
            None => self.run_once(class, payload, kind).await,
        };
        if let Err(Stopped::Refused(failure)) = &done
            && failure.code == codes::CR_SERVER_LOST
            && repeatable
            && self.lease.as_ref().is_none_or(|lease| !lease.is_clean())
            && !self.handle.has(Interrupt::Query)
        {
            // The server had closed the idle connection: a read that nobody has heard of is asked again, once.
            self.lease = None;
            let again = self.run_once(class, payload, kind).await;
            // A server that is not there any more: what the client hears of is the loss.
            let gone = matches!(&again, Err(Stopped::Refused(f)) if f.code == codes::CR_CONN_HOST_ERROR);
            if !gone {
                done = again;
            }
        }
        match done {
            Ok(outcome) => {
                self.note(class, &outcome);
                Ok(Some(outcome))
            }
            Err(stopped) => self.stopped(stopped).map(|()| None),
        }
    }

    async fn run_once(&mut self, class: &Class, payload: &[u8], kind: ReplyKind) -> Result<Outcome, Stopped> {
        self.send(class, payload).await?;
        self.forward_reply(kind, class, None).await
    }

    /// A command was stopped: tells the client, or ends the session.
    pub(super) fn stopped(&mut self, stopped: Stopped) -> Result<(), End> {
        match stopped {
            Stopped::Ended(end) => Err(end),
            Stopped::Refused(failure) => {
                let broken = self.lease.as_ref().is_some_and(|lease| !lease.is_clean());
                if broken {
                    self.lease = None;
                    if self.state.is_bound() {
                        return Err(End::Told(failure));
                    }
                }
                self.refuse(&failure);
                Ok(())
            }
        }
    }

    /// The command byte and a server's statement id.
    pub(super) fn statement_command(command: Command, id: u32) -> Vec<u8> {
        [&[command as u8][..], &id.to_le_bytes()].concat()
    }
}
