//! The session's server connection: getting one, bringing it into the session's state, running a command on it, and
//! letting it go.

use std::rc::Rc;

use weir_admin::sessions::Interrupt;
use weir_backend::Lease;
use weir_backend::connect::Login;
use weir_backend::connection::OwnReply;
use weir_backend::monitor::kill_query;
use weir_backend::pool::Request;
use weir_backend::profile::is_replayable;
use weir_sql::{Class, Effects, Kind, Pins};
use weir_wire::error::codes;
use weir_wire::reply::ReplyKind;
use weir_wire::{Command, Failure, Fault, StatusFlags};

use super::diagnostics::Condition;
use super::relay::{Broken, Outcome, Relay};
use super::state::{Diagnostics, Left, OUTLAST_RESET, needs_insert_id, pins_left_by_failure};
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
        let request = Request { key: &self.key, password: &self.password, profile: &profile };
        let mut lending = std::pin::pin!(self.shared.pool.lend(request));
        let lease = loop {
            // Cancel-safe: a dropped `lend` gives up its place, `gone` keeps what was read, a bell keeps its ring.
            tokio::select! {
                biased;
                lent = &mut lending => break lent,
                () = self.handle.bell.notified() => {
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
        self.handle.info().server = Some((lease.server.settings.name.clone(), lease.thread_id));
        self.lease = Some(lease);
        Ok(())
    }

    /// The connection that [`Session::have_connection`] got.
    pub(super) fn connection(&mut self) -> &mut Lease {
        self.lease.as_mut().expect("the session has a connection while a command runs")
    }

    /// Gets a connection, brings it into the session's state, queues the command that `payload` makes, and sends all
    /// of it in one write if the statement changes nothing; else the state is confirmed before the command is sent.
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
        let pending = self.connection().state_is_pending();
        if pending {
            self.endpoint.backend_metrics.profile_changes.inc();
        }
        let connection = self.connection();
        if pending && careful {
            connection.flush().await?;
            connection.confirm_state().await?;
        }
        connection.queue(payload, true);
        connection.flush().await?;
        connection.confirm_state().await?;
        Ok(())
    }

    /// Queues what the connection lacks of the session's state, the transaction's start included.
    pub(super) fn queue_session_state(&mut self, class: &Class) -> Result<(), Stopped> {
        let own_tracking = self.state.pins.contains(Pins::SESSION_TRACKING)
            || class.pins.contains(Pins::SESSION_TRACKING)
            || class.effects.contains(Effects::SHOWS_SESSION_VARIABLES);
        let profile = self.state.profile.clone();
        let begin = self.state.begin.take();
        let there = self.connection().insert_id;
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
            connection.queue_begin(&begin.text);
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
        let login = Login {
            user: self.key.user.clone(),
            password: self.password.clone(),
            capabilities: weir_wire::Capabilities::empty(),
        };
        let server = self.endpoint.server.clone();
        let kills = self.endpoint.metrics.kills.clone();
        let kill = move |thread: u32| {
            kills.inc();
            let (server, login) = (server.clone(), login.clone());
            tokio::task::spawn_local(async move {
                if let Err(error) = kill_query(&server, &login, thread).await {
                    tracing::warn!(%error, thread, "a statement could not be killed on the server");
                }
            });
        };
        let track_all = self.state.pins.contains(Pins::SESSION_TRACKING) || class.pins.contains(Pins::SESSION_TRACKING);
        let lease = self.lease.as_mut().expect("a command was sent on the session's connection");
        let mut relay = Relay {
            client: &mut self.client,
            lease,
            handle: &self.handle,
            identity: &self.identity,
            track_all,
            database: self.state.profile.database.as_deref(),
            harmless: !class.effects.contains(Effects::WRITES) && !self.state.status.contains(StatusFlags::IN_TRANS),
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

    /// Runs a whole command: the state, the command, the reply, and what follows from it.
    pub(super) async fn run_command(&mut self, class: &Class, payload: &[u8], kind: ReplyKind) -> Result<(), End> {
        let repeatable = self.lease.is_none() && self.state.begin.is_none() && !class.effects.contains(Effects::WRITES);
        let mut done = self.run_once(class, payload, kind).await;
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
                Ok(())
            }
            Err(stopped) => self.stopped(stopped),
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

    /// Follows what a statement did to the session.
    pub(super) fn note(&mut self, class: &Class, outcome: &Outcome) {
        let failed = outcome.error.is_some();
        match outcome.status {
            Some(status) => self.state.status = status,
            // Without autocommit, a statement that failed may have opened a transaction.
            None if !self.state.status.contains(StatusFlags::AUTOCOMMIT) => self.state.status |= StatusFlags::IN_TRANS,
            None => {}
        }
        self.note_residue(class, outcome);
        self.note_profile(class, outcome);
        let mut pins = class.pins - (Pins::FOUND_ROWS | Pins::ROW_COUNT);
        if let Some((code, _)) = outcome.error {
            pins = pins_left_by_failure(pins, code, class.kind == Kind::Multiple);
        } else {
            self.state.pins &= !class.releases;
        }
        self.state.pins |= pins;
        self.note_next_transaction(outcome);
        if class.effects.contains(Effects::CHANGES_GLOBALS) && !failed {
            self.endpoint.server.retire_connections();
        }
    }

    /// The characteristics of the next transaction end with it.
    fn note_next_transaction(&mut self, outcome: &Outcome) {
        if !self.state.pins.contains(Pins::SET_TRANSACTION) || outcome.error.is_some() {
            return;
        }
        let open = self.state.status.contains(StatusFlags::IN_TRANS);
        if self.state.set_transaction_used && !open {
            self.state.pins -= Pins::SET_TRANSACTION;
        }
        self.state.set_transaction_used = open;
    }

    fn note_residue(&mut self, class: &Class, outcome: &Outcome) {
        let state = &mut self.state;
        if outcome.prepared.is_some() {
            // Preparing is no statement: the counts stay those of the latest one.
            let stays = class.effects.contains(Effects::USES_WARNINGS) || self.identity.mariadb;
            if outcome.warnings > 0 {
                state.diagnostics = Diagnostics::OnConnection;
            } else if !stays {
                state.diagnostics = Diagnostics::Empty;
            }
            return;
        }
        if let Some((code, sqlstate)) = outcome.error {
            state.latest_error = Some((code, sqlstate));
        }
        state.row_count = outcome.row_count;
        // Rows that a cursor keeps, and those that a routine read, are not those that were sent.
        let cursor = outcome.status.is_some_and(|status| status.contains(StatusFlags::CURSOR_EXISTS));
        let opaque = class.effects.contains(Effects::CALC_FOUND_ROWS) || class.pins.intersects(READ_OUT_OF_SIGHT);
        if opaque || cursor {
            state.found_rows = Left::OnConnection;
        } else if let Some(rows) = outcome.found_rows {
            state.found_rows = Left::Known(rows);
        }
        if let Some(lease) = &mut self.lease {
            lease.has_found_rows |= opaque || cursor || outcome.found_rows.is_some();
        }
        if outcome.insert_id || class.effects.contains(Effects::SETS_LAST_INSERT_ID) {
            state.last_insert_id = Left::OnConnection;
            if let Some(lease) = &mut self.lease {
                lease.insert_id = None;
            }
        }
        let state = &mut self.state;
        // What asks for the diagnostics, or is prepared to ask for them, leaves them as they are.
        let asks = matches!(class.kind, Kind::ShowWarnings(_)) || class.effects.contains(Effects::USES_WARNINGS);
        if asks && outcome.error.is_none() && class.kind != Kind::Multiple {
            return;
        }
        // An error is a condition too.
        state.warnings = if outcome.error.is_some() { outcome.warnings.max(1) } else { outcome.warnings };
        let left = outcome.warnings > 0 || outcome.error.is_some();
        // MariaDB clears them only for statements that read tables, and does not say so.
        let may_stay = self.identity.mariadb && state.diagnostics == Diagnostics::OnConnection;
        state.diagnostics = if left || may_stay { Diagnostics::OnConnection } else { Diagnostics::Empty };
    }

    /// Takes over the session variables and the database that the server says have changed. What can't be set again
    /// elsewhere pins.
    fn note_profile(&mut self, class: &Class, outcome: &Outcome) {
        let mut profile = None;
        if let Some(schema) = &outcome.schema {
            let database = Some(&schema[..]).filter(|name| !name.is_empty());
            profile = Some(self.state.profile.with_database(database));
            self.handle.info().database = database.map(|name| String::from_utf8_lossy(name).into_owned());
        }
        // What holds for one statement is reported as if it stayed.
        let scoped = class.effects.contains(Effects::SETS_FOR_STATEMENT);
        let tracked = outcome.variables.iter().filter(|(name, _)| !scoped && !is_derived(name));
        let changes: Vec<_> = tracked.map(|(name, value)| (name.as_str(), value.as_str())).collect();
        if !changes.iter().all(|(name, value)| is_replayable(name, value)) {
            self.state.pins |= Pins::SPECIAL_VARIABLE;
        } else if !changes.is_empty() {
            profile = Some(profile.as_ref().unwrap_or(&self.state.profile).with_variables(changes.iter().copied()));
        }
        let has = |wanted: &str| changes.iter().any(|(name, _)| *name == wanted);
        if has("character_set_connection") && !has("collation_connection") {
            self.state.collation_unknown = true;
        }
        if outcome.error.is_none() && !class.assigned.iter().all(|name| is_reported(name, &has)) {
            self.state.pins |= Pins::SPECIAL_VARIABLE;
        }
        if let Some(profile) = profile {
            let profile = Rc::new(profile);
            self.state.profile = profile.clone();
            self.connection().set_profile(profile);
            self.state.learn_lex_mode(&self.identity);
        }
        let explained = !changes.is_empty()
            || outcome.schema.is_some()
            || !class.pins.is_empty()
            || !class.releases.is_empty()
            || matches!(class.kind, Kind::SetUserVariables(_) | Kind::Set);
        if outcome.state_changed && !explained {
            self.state.pins |= Pins::COMPUTED_USER_VARIABLE;
        }
    }

    /// After a command: keeps the connection if something binds it, holds it softly if something was left on it,
    /// else gives it back.
    pub(super) async fn settle(&mut self) {
        let Some(lease) = &mut self.lease else { return };
        if !lease.is_clean() {
            self.lease = None;
            return;
        }
        if self.state.is_bound() {
            return;
        }
        if self.state.left_something() {
            self.held = true;
            self.shared.pool.hold(u64::from(self.handle.id), self.let_go.clone());
            return;
        }
        self.release().await;
    }

    /// Somebody waits for the connection that is held softly: reads what was left there, and gives it back.
    pub(super) async fn give_way(&mut self) {
        self.held = false;
        self.shared.pool.end_hold(u64::from(self.handle.id));
        if self.learn_what_was_left().await.is_err() {
            // The connection is gone, and what was left with it.
            self.lease = None;
            self.state.diagnostics = Diagnostics::Empty;
            self.state.last_insert_id = Left::Known(0);
            self.state.found_rows = Left::Known(0);
            return;
        }
        self.release().await;
        self.show_idle();
    }

    async fn learn_what_was_left(&mut self) -> Result<(), Failure> {
        let Some(connection) = self.lease.as_mut() else { return Ok(()) };
        if self.state.diagnostics == Diagnostics::OnConnection {
            let rows = connection.query("SHOW WARNINGS").await?.rows;
            let conditions = rows.into_iter().filter_map(|row| {
                let [level, code, message] = row.try_into().ok()?;
                Some(Condition { level: level?, code: code?, message: message?, sqlstate: None })
            });
            let mut conditions: Vec<_> = conditions.collect();
            if let (Some((code, sqlstate)), [only]) = (self.state.latest_error, &mut conditions[..])
                && only.level == b"Error"
                && only.code == code.to_string().into_bytes()
            {
                only.sqlstate = Some(sqlstate);
            }
            let some = !conditions.is_empty();
            self.state.diagnostics = if some { Diagnostics::Learnt(conditions) } else { Diagnostics::Empty };
        }
        if self.state.found_rows == Left::OnConnection {
            let found_rows = only_number(connection.query("SELECT FOUND_ROWS()").await?);
            self.state.found_rows = Left::Known(found_rows.unwrap_or(0));
        }
        // From a table, so that it also clears the diagnostics on both kinds of server: the next session must not see them.
        let insert_id = only_number(connection.query("SELECT LAST_INSERT_ID() FROM (SELECT 1) AS cleared").await?);
        if self.state.last_insert_id == Left::OnConnection {
            self.state.last_insert_id = Left::Known(insert_id.unwrap_or(0));
        }
        connection.insert_id = insert_id;
        Ok(())
    }

    /// Gives the connection back, after asking for the collation that the session has now if that is not known.
    async fn release(&mut self) {
        if self.state.collation_unknown {
            let Some(connection) = self.lease.as_mut() else { return };
            match connection.query("SELECT @@SESSION.collation_connection").await {
                Ok(reply) => {
                    let cell = reply.rows.into_iter().flatten().next().flatten().unwrap_or_default();
                    let value = String::from_utf8_lossy(&cell).into_owned();
                    let profile =
                        Rc::new(self.state.profile.with_variables([("collation_connection", value.as_str())]));
                    connection.set_profile(profile.clone());
                    self.state.profile = profile;
                    self.state.collation_unknown = false;
                }
                Err(error) => tracing::debug!(%error, "the collation of a session could not be asked"),
            }
        }
        self.lease = None;
    }

    /// Lets the connection go at the session's end, or when it begins anew: what is bound to it is cleared away in
    /// the background, and a connection with an unread reply is closed.
    pub(super) fn leave_server(&mut self) {
        if let Some(lease) = self.take_dirty_lease() {
            tokio::task::spawn_local(lease.reset_and_return(self.endpoint.settings.reset_timeout));
        }
    }

    /// The connection, if something of the session has to be cleared away from it; else it is given back or closed.
    fn take_dirty_lease(&mut self) -> Option<Lease> {
        if self.held {
            self.held = false;
            self.shared.pool.end_hold(u64::from(self.handle.id));
        }
        let lease = self.lease.take()?;
        if self.state.pins.intersects(OUTLAST_RESET) {
            lease.close();
            return None;
        }
        let dirty = self.state.is_bound() || self.state.diagnostics == Diagnostics::OnConnection;
        (lease.is_clean() && dirty).then_some(lease)
    }

    /// Sends a command that gets no reply.
    pub(super) async fn send_unanswered(&mut self, payload: &[u8]) -> Result<(), Failure> {
        let connection = self.connection();
        connection.queue(payload, false);
        connection.flush().await
    }

    /// The same, and waits until it is cleared away: a client that begins anew finds its locks released.
    pub(super) async fn leave_server_cleared(&mut self) {
        if let Some(lease) = self.take_dirty_lease() {
            lease.reset_and_return(self.endpoint.settings.reset_timeout).await;
        }
    }

    /// The command byte and a server's statement id.
    pub(super) fn statement_command(command: Command, id: u32) -> Vec<u8> {
        [&[command as u8][..], &id.to_le_bytes()].concat()
    }
}

/// What runs statements that the text does not show.
const READ_OUT_OF_SIGHT: Pins = Pins::CALL
    .union(Pins::UNKNOWN_FUNCTION)
    .union(Pins::UNKNOWN_STATEMENT)
    .union(Pins::TEXT_PREPARE)
    .union(Pins::HANDLER);

/// The number that is a reply's only cell.
fn only_number(reply: OwnReply) -> Option<u64> {
    let cell = reply.rows.into_iter().flatten().next()??;
    std::str::from_utf8(&cell).ok()?.parse().ok()
}

/// Variables that are reported and are not part of what a session has set: they follow from the default database or
/// from the latest statement, or are Weir's own.
fn is_derived(name: &str) -> bool {
    const DERIVED: [&str; 6] =
        ["character_set_database", "collation_database", "statement_id", "last_insert_id", "identity", "last_gtid"];
    DERIVED.contains(&name) || name.starts_with("session_track_")
}

/// Whether the server has reported a variable that the text assigns, by whichever of its names.
fn is_reported(name: &str, has: &dyn Fn(&str) -> bool) -> bool {
    let other = match name {
        "transaction_isolation" => "tx_isolation",
        "transaction_read_only" => "tx_read_only",
        // Followed by a question of Weir's own where the server does not report it.
        "collation_connection" if has("character_set_connection") => return true,
        _ => name,
    };
    has(name) || has(other)
}
