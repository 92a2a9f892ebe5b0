//! Letting the server connection go: after a command, when somebody waits for it, and at the session's end.

use std::rc::Rc;

use weir_backend::Lease;
use weir_backend::connection::OwnReply;
use weir_backend::profile::charset_of;
use weir_sql::Pins;
use weir_wire::Failure;
use weir_wire::error::codes;

use super::Session;
use super::condition::Condition;
use super::latest::{Diagnostics, Left};
use super::outcome::ReplyOutcome;
use super::state::OUTLAST_RESET;
use super::stopped::{SessionEnd, Stopped};
use crate::literals::is_default;

/// The variable that says in which character set results are sent.
const RESULTS: &str = "character_set_results";

impl Session {
    /// After a command: keeps the connection if something binds it, holds it softly if something was left on it,
    /// else gives it back.
    ///
    /// # Errors
    /// The session's end: a transaction that has begun for nothing but a statement that was refused is lost with its connection.
    pub(super) async fn finish_command(&mut self) -> Result<(), SessionEnd> {
        if self.current.lease.as_ref().is_some_and(|lease| lease.only_awaits_state()) {
            self.confirm_queued_state().await?;
        }
        self.keep_or_release().await;
        self.has_lost_locks()?;
        self.has_lost_anchor()?;
        self.defining = None;
        self.release_permit();
        Ok(())
    }

    /// The server is told what was queued for a statement that it has not got.
    async fn confirm_queued_state(&mut self) -> Result<(), SessionEnd> {
        let confirmed = match self.connection().flush().await {
            Ok(()) => self.confirm_state().await,
            Err(failure) => Err(failure.into()),
        };
        match confirmed {
            Err(Stopped::Ended(end)) => Err(end),
            Err(stopped) if self.state.is_bound() => {
                Err(stopped.failure().map_or(SessionEnd::Killed, SessionEnd::Told))
            }
            // What is not clean is given up.
            _ => Ok(()),
        }
    }

    async fn keep_or_release(&mut self) {
        self.target.end_read();
        self.look_after_branches().await;
        self.release_metadata_locks().await;
        if self.aside.is_some() {
            self.take_up_again().await;
        }
        if self.held {
            return;
        }
        let Some(lease) = &self.current.lease else { return };
        if !lease.is_clean() {
            self.lose_lease();
            return;
        }
        // Also a connection that is only held for what is left on it: plans and definitions depend on the collation.
        if self.endpoint.sharding.is_some() && self.state.collation_unknown {
            self.learn_collation_while_kept().await;
        }
        if self.state.is_bound() {
            return;
        }
        if std::mem::take(&mut self.kill_on_its_way) {
            // As on a direct connection it may hit the session's own next statement, but nobody else's.
            if self.state.left_something() && self.learn_what_was_left(true).await.is_err() {
                self.forget_what_was_left();
            }
            if let Some(lease) = self.current.lease.take() {
                lease.close();
            }
            return;
        }
        if self.state.left_something() {
            self.held = true;
            self.shared.at(self.current.server).pool.hold(u64::from(self.handle.id), self.let_go.clone());
            return;
        }
        self.release().await;
    }

    /// Without autocommit, a server keeps the metadata locks of a statement until COMMIT, also if it has begun no transaction: of a CALL, of
    /// a table whose engine has none, of a statement that failed or needed no rows. Nobody may get the connection with them, and
    /// definitions of the session's own, which run on others, would wait for them.
    async fn release_metadata_locks(&mut self) {
        let in_transaction = self.state.in_transaction() || self.transaction.is_multi_shard();
        // COMMIT would end what SET TRANSACTION has said of the next one.
        if !self.current.metadata_locks || in_transaction || self.state.pins.contains(Pins::SET_TRANSACTION) {
            return;
        }
        self.current.metadata_locks = false;
        if !self.current.lease.as_ref().is_some_and(|lease| lease.is_clean()) {
            return;
        }
        let released = match self.learn_what_was_left(false).await {
            Ok(()) => {
                let connection = self.connection();
                connection.has_found_rows = false;
                connection.query("COMMIT").await.map(drop)
            }
            Err(failure) => Err(failure),
        };
        if let Err(error) = released {
            tracing::debug!(%error, "a connection's metadata locks could not be released");
            self.connection().retired = true;
        }
    }

    /// The connection is no longer held softly.
    pub(super) fn end_hold(&mut self) {
        if self.held {
            self.held = false;
            self.shared.at(self.current.server).pool.end_hold(u64::from(self.handle.id));
        }
    }

    /// The statement at hand needs another server's connection: what is kept softly on the one that the session has is
    /// laid aside, or read and given back.
    pub(super) async fn leave_connection(&mut self) {
        self.end_hold();
        let to_reader = self.target.index != self.backends().writer();
        if to_reader && self.state.begin.is_none() && self.state.latest.diagnostics != Diagnostics::OnConnection {
            self.aside = self.current.lease.take().map(|lease| (self.current.server, lease));
        } else {
            self.give_way().await;
        }
    }

    /// After a read elsewhere: the connection that was laid aside is the session's again.
    async fn take_up_again(&mut self) {
        let Some((at, mut lease)) = self.aside.take() else { return };
        let left = self.state.latest.diagnostics == Diagnostics::OnConnection
            || self.state.latest.found_rows == Left::OnConnection;
        if self.current.lease.as_ref().is_some_and(|lease| lease.is_clean()) && left {
            // One connection is kept: what the read has left is read at once.
            if self.learn_what_was_left(false).await.is_err() {
                self.state.latest.diagnostics = Diagnostics::Empty;
                self.state.latest.found_rows = Left::Known(0);
            }
        }
        lease.has_found_rows = false;
        self.handle.info().server = Some((lease.server.clone(), lease.thread_id));
        self.current.lease = Some(lease);
        self.current.server = at;
    }

    /// A server that is sent more than it takes says so, and closes the connection; the same error may be a statement's own.
    ///
    /// # Errors
    /// The session's end: what was bound to the connection is gone, and the client has been told why.
    pub(super) async fn see_whether_closed(&mut self, outcome: &ReplyOutcome) -> Result<(), SessionEnd> {
        let too_large = outcome.error.is_some_and(|(code, _)| code == codes::ER_NET_PACKET_TOO_LARGE);
        let Some(lease) = self.current.lease.as_mut().filter(|_| too_large) else { return Ok(()) };
        if lease.ping().await.is_ok() {
            return Ok(());
        }
        let bound = self.state.is_bound();
        self.lose_lease();
        if bound { Err(SessionEnd::Said) } else { Ok(()) }
    }

    /// The connection is lost, and with it what earlier statements have left there.
    pub(super) fn lose_lease(&mut self) {
        self.end_hold();
        if let Some(lease) = self.current.lease.take() {
            lease.close();
        }
        self.forget_what_was_left();
    }

    /// What was left on a connection is gone with it.
    pub(super) fn forget_what_was_left(&mut self) {
        let state = &mut self.state;
        if state.latest.diagnostics == Diagnostics::OnConnection {
            state.latest.diagnostics = Diagnostics::Empty;
        }
        for left in [&mut state.latest.last_insert_id, &mut state.latest.found_rows] {
            if *left == Left::OnConnection {
                *left = Left::Known(0);
            }
        }
    }

    /// Somebody waits for the connection that is held softly: reads what was left there, and gives it back. The session may be in mid-statement,
    /// and goes on to be shown so.
    pub(super) async fn give_way(&mut self) {
        self.end_hold();
        match self.learn_what_was_left(true).await {
            Ok(()) => self.release().await,
            // The connection is gone, and what was left with it.
            Err(_) => self.lose_lease(),
        }
        if self.current.lease.is_none() {
            self.handle.info().server = None;
        }
    }

    /// `insert_id`: the insert id too.
    pub(super) async fn learn_what_was_left(&mut self, insert_id: bool) -> Result<(), Failure> {
        let Some(connection) = self.current.lease.as_mut() else { return Ok(()) };
        let had_diagnostics = self.state.latest.diagnostics != Diagnostics::Empty;
        if self.state.latest.diagnostics == Diagnostics::OnConnection {
            let conditions = Condition::with_error(Condition::all_on(connection).await?, self.state.latest.error);
            let some = !conditions.is_empty();
            self.state.latest.diagnostics = if some { Diagnostics::Learnt(conditions) } else { Diagnostics::Empty };
        }
        self.learn_found_rows().await?;
        let Some(connection) = self.current.lease.as_mut().filter(|_| insert_id) else { return Ok(()) };
        // From a table if there are diagnostics, because that clears them on both kinds of server: the next session must not
        // see them.
        let ask = match had_diagnostics {
            true => "SELECT LAST_INSERT_ID() FROM (SELECT 1) AS cleared LIMIT 1",
            false => "SELECT LAST_INSERT_ID() LIMIT 1",
        };
        let insert_id = only_number(connection.ask(ask).await?);
        self.endpoint.backend_metrics.insert_ids_asked.inc();
        self.state.latest.learn_insert_id(insert_id.unwrap_or(0));
        connection.insert_id = insert_id;
        Ok(())
    }

    /// Of what was left, what any SELECT changes.
    pub(super) async fn learn_found_rows(&mut self) -> Result<(), Failure> {
        let Some(connection) = self.current.lease.as_mut() else { return Ok(()) };
        if self.state.latest.found_rows == Left::OnConnection {
            let found_rows = only_number(connection.ask("SELECT FOUND_ROWS() LIMIT 1").await?);
            self.state.latest.found_rows = Left::Known(found_rows.unwrap_or(0));
        }
        Ok(())
    }

    /// Gives the connection back.
    pub(super) async fn release(&mut self) {
        self.learn_collation().await;
        self.current.lease = None;
    }

    /// What the session does next may need other shards' connections, which are to read it alike.
    async fn learn_collation_while_kept(&mut self) {
        if self.state.left_something() && self.learn_what_was_left(true).await.is_err() {
            return;
        }
        self.connection().has_found_rows = false;
        self.learn_collation().await;
    }

    /// Asks for the collation that the session has now, if that is not known.
    async fn learn_collation(&mut self) {
        let Some(connection) = self.current.lease.as_mut().filter(|_| self.state.collation_unknown) else { return };
        match connection.ask("SELECT @@SESSION.collation_connection LIMIT 1").await {
            Ok(reply) => {
                let cell = reply.rows.into_iter().flatten().next().flatten().unwrap_or_default();
                let value = String::from_utf8_lossy(&cell).into_owned();
                let mut profile = self.state.profile.with_variables([("collation_connection", value.as_str())]);
                // SET NAMES … COLLATE gives results another collation than the variable's value stands for.
                let of_results = reply.collation.and_then(|id| self.identity.handshake_collation(id));
                let results = profile.variable(RESULTS).map(charset_of);
                let named = |collation: &&str| {
                    results == Some(charset_of(collation)) && !is_default(collation, self.identity.mariadb)
                };
                if let Some(collation) = of_results.filter(named) {
                    profile = profile.with_variables([(RESULTS, collation)]);
                }
                let profile = Rc::new(profile);
                connection.set_profile(profile.clone());
                self.state.profile = profile;
                self.state.collation_unknown = false;
            }
            Err(error) => tracing::debug!(%error, "the collation of a session could not be asked"),
        }
    }

    /// Lets the connection go at the session's end, or when it begins anew: what is bound to it is cleared away in
    /// the background, and a connection with an unread reply is closed.
    pub(super) fn leave_server(&mut self) {
        let bound = self.endpoint.settings.load().reset_timeout;
        for lease in self.leave_branches() {
            tokio::task::spawn_local(lease.reset_and_return(bound));
        }
        match self.take_dirty_lease() {
            // As on a direct connection, what is left goes when the server sees that the connection is closed.
            Some(lease) if self.outlasts_reset() => lease.close(),
            Some(lease) => drop(tokio::task::spawn_local(lease.reset_and_return(bound))),
            None => {}
        }
    }

    /// The connection, if something of the session has to be cleared away from it; else it is given back or closed.
    fn take_dirty_lease(&mut self) -> Option<Lease> {
        self.end_hold();
        let lease = self.current.lease.take()?;
        let dirty = self.state.is_bound() || self.state.latest.diagnostics == Diagnostics::OnConnection;
        (lease.is_clean() && dirty).then_some(lease)
    }

    /// Whether a reset may leave something of the session on its connection.
    fn outlasts_reset(&self) -> bool {
        self.state.recorded || self.state.pins.intersects(OUTLAST_RESET)
    }

    /// Sends a command that gets no reply.
    pub(super) async fn send_unanswered(&mut self, payload: &[u8]) -> Result<(), Failure> {
        let connection = self.connection();
        connection.queue(payload, false);
        connection.flush().await
    }

    /// The same, and waits until it is cleared away: a client that begins anew finds its locks released.
    pub(super) async fn leave_server_cleared(&mut self) {
        self.leave_branches_cleared().await;
        let bound = self.endpoint.settings.load().reset_timeout;
        match self.take_dirty_lease() {
            Some(lease) if self.outlasts_reset() => lease.reset_and_close(bound).await,
            Some(lease) => lease.reset_and_return(bound).await,
            None => {}
        }
    }

    /// The connections but the session's own: what is open or locked there is cleared away.
    pub(super) async fn leave_branches_cleared(&mut self) {
        let bound = self.endpoint.settings.load().reset_timeout;
        for lease in self.leave_branches() {
            lease.reset_and_return(bound).await;
        }
    }
}

/// The number that a reply consists of.
pub(super) fn only_number(reply: OwnReply) -> Option<u64> {
    let cell = reply.rows.into_iter().flatten().next()??;
    std::str::from_utf8(&cell).ok()?.parse().ok()
}
