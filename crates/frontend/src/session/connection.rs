//! The session's server connection: getting one, bringing it into the session's state, and running a command on it.

use std::time::{Duration, Instant};

use weir_admin::sessions::{Interrupt, SessionHandle};
use weir_backend::connection::Tracking;
use weir_backend::pool::Request;
use weir_backend::profile::CLIENT_TRACKS;
use weir_backend::{Defining, Lease, Position};
use weir_sql::{Class, Effects, Pins};
use weir_wire::error::codes;
use weir_wire::reply::ReplyKind;
use weir_wire::{Command, Failure, Fault, StatusFlags};

use super::Session;
use super::kill_on_server::Killer;
use super::latest::Left;
use super::outcome::ReplyOutcome;
use super::relay::{Broken, ER_OPTION_PREVENTS_STATEMENT, Keep, Relay};
use super::state::needs_insert_id;
use super::stopped::{SessionEnd, Stopped};
use crate::backends::{HOME, ServerId};
use crate::client::{Client, ClientError};

/// How often a writer that is gone is tried again, unless something changes before.
pub(super) const AGAIN: Duration = Duration::from_millis(100);

/// Why a wait for a server's reply goes on or ends.
pub(super) enum Woken {
    /// More of the reply is there.
    Filled,
    /// The session's bell has rung.
    Rung,
    /// The client has gone.
    Gone(ClientError),
}

impl Woken {
    /// Waits for more from a server, for the bell, or for the client's end.
    pub(super) async fn by(lease: &mut Lease, handle: &SessionHandle, client: &mut Client) -> Result<Woken, Failure> {
        // Cancel-safe: `fill` and `gone` keep what they have read, a bell keeps its ring.
        tokio::select! {
            biased;
            filled = lease.fill() => filled.map(|()| Woken::Filled),
            () = handle.bell.rung() => Ok(Woken::Rung),
            error = client.gone() => Ok(Woken::Gone(error)),
        }
    }
}

impl Session {
    /// What Weir answers to MySQL's error 1317.
    pub(super) fn interrupted_failure() -> Failure {
        Failure::new(Fault::Client, codes::ER_QUERY_INTERRUPTED, b"70100", "Query execution was interrupted")
    }

    /// Has a connection that suits the session and the statement at hand, waiting for one if needed; a kill ends the wait.
    pub(super) async fn have_connection(&mut self) -> Result<(), Stopped> {
        // Nothing begins on a writer that is being changed.
        let is_held = self.current.lease.as_ref().is_some_and(|lease| lease.server.held().is_some());
        let is_elsewhere = self.current.server != self.target.place();
        if self.current.lease.is_some() && (is_elsewhere || is_held) && !self.state.is_bound() {
            self.leave_connection().await;
        }
        self.have_permit_to_begin().await?;
        self.end_hold();
        if self.current.lease.is_some() {
            return Ok(());
        }
        let mut deadline = None;
        loop {
            match self.lend(self.target.place()).await? {
                // While it was waited for, the writer has become another one.
                Ok(_) if self.target.level.is_none() && self.target.index != self.backends().writer() => {
                    self.target_writer_again();
                }
                Ok(mut lease) => {
                    lease.has_found_rows = false;
                    self.handle.info().server = Some((lease.server.clone(), lease.thread_id));
                    self.current.lease = Some(lease);
                    self.current.server = self.target.place();
                    return Ok(());
                }
                Err(failure) => self.find_another_way(failure, &mut deadline).await?,
            }
        }
    }

    /// A connection to a server, under the session's user; a kill or the client's end ends the wait for it.
    pub(super) async fn lend(&mut self, place: ServerId) -> Result<Result<Lease, Failure>, Stopped> {
        self.handle.set_state("Waiting for a server connection");
        let profile = self.state.profile.clone();
        let may_lack_database = self.may_lack_database(place.shard);
        let (key, password, profile) = (&self.key, &self.password, &*profile);
        let request = Request { key, password, profile, patient: false, may_lack_database };
        let mut lending = std::pin::pin!(self.shared.at(place).pool.lend(request));
        let leased = loop {
            // Cancel-safe: a dropped `lend` gives up its place, `gone` keeps what was read, a bell keeps its ring.
            tokio::select! {
                biased;
                leased = &mut lending => break leased,
                () = self.handle.bell.rung() => self.stops_waiting()?,
                error = self.client.gone() => return Err(Stopped::Ended(error.into())),
            }
        };
        self.handle.set_state("");
        Ok(leased)
    }

    /// The bell has rung while a statement that no server has heard of waits.
    pub(super) fn stops_waiting(&self) -> Result<(), Stopped> {
        if self.handle.has(Interrupt::Connection) || self.handle.has(Interrupt::ShutdownNow) {
            return Err(Stopped::Ended(SessionEnd::Killed));
        }
        if self.handle.has(Interrupt::Query) {
            return Err(Stopped::Refused(Self::interrupted_failure()));
        }
        Ok(())
    }

    /// There is no connection to the server at hand: another reader is chosen, or a writer that is gone is waited for.
    async fn find_another_way(&mut self, failure: Failure, deadline: &mut Option<Instant>) -> Result<(), Stopped> {
        let is_proof = self.target.shard == HOME && self.target.index == self.backends().writer();
        if failure.code == codes::ER_ACCESS_DENIED_ERROR {
            // The password is another one now, and a later login has told it: a server would not ask an open session for it.
            let known = self.endpoint.accounts.password(&self.user);
            if let Some(newer) = known.filter(|known| *known != self.password) {
                self.password = newer;
                return Ok(());
            }
            if is_proof {
                self.endpoint.accounts.forget(&self.user);
            }
        }
        // A pool that is full says so itself: others need not be filled up too.
        if failure.fault != Fault::Weir && self.choose_another() {
            return Ok(());
        }
        if failure.code != codes::CR_CONN_HOST_ERROR {
            return Err(failure.into());
        }
        self.wait_for_writer(self.target.shard, failure, deadline).await?;
        self.target_writer_again();
        Ok(())
    }

    /// Waits for a shard's writer to be there again, or for another one; not longer than the bound for the whole statement, whose
    /// end is `deadline` once it has begun.
    ///
    /// What is known of the writer may be older than `failure`: while nothing changes, it is tried again now and then.
    pub(super) async fn wait_for_writer(
        &mut self,
        shard: usize,
        failure: Failure,
        deadline: &mut Option<Instant>,
    ) -> Result<(), Stopped> {
        let group = self.shared.shards[shard].group.clone();
        let bound = group.settings().writer_wait;
        let now = Instant::now();
        if deadline.is_none() {
            self.endpoint.metrics.writer_waits.inc();
        }
        let end = *deadline.get_or_insert(now + bound);
        if now >= end {
            return Err(failure.into());
        }
        self.handle.set_state("Waiting for the writer");
        let mut changes = group.changes();
        let next = (now + AGAIN).min(end);
        loop {
            // Cancel-safe: nothing is taken from any of them but the fact that it is ready.
            tokio::select! {
                biased;
                _ = changes.changed() => break,
                () = tokio::time::sleep_until(next.into()) => break,
                () = self.handle.bell.rung() => self.stops_waiting()?,
                error = self.client.gone() => return Err(Stopped::Ended(error.into())),
            }
        }
        self.handle.set_state("");
        Ok(())
    }

    /// The connection that [`Session::have_connection`] got.
    pub(super) fn connection(&mut self) -> &mut Lease {
        self.current.lease.as_mut().expect("the session has a connection while a command runs")
    }

    /// Gets a connection, brings it into the session's state, queues the command that `payload` makes, and sends all
    /// of it in one write, but for a statement that writes: a change of the state is confirmed before that is sent. A
    /// transaction's start is not such a change: a server refuses none (but READ WRITE's, which counts as one), and it
    /// has begun or is lost with its connection.
    pub(super) async fn send(&mut self, class: &Class, payload: &[u8]) -> Result<(), Stopped> {
        self.stay_outside_for(class);
        self.have_connection().await?;
        self.note_before_command();
        self.is_lost_before_sending()?;
        let defines = class.effects.contains(Effects::IMPLICIT_COMMIT);
        self.defining = defines.then(|| Defining::on(&self.shared.at(self.current.server).pool.server));
        let begin = self.state.begin.clone();
        self.transaction.begun_with_statement = begin.is_some();
        let sent = self.send_on_connection(class, payload).await.map_err(|stopped| self.lost_with(stopped, class));
        let Some(begin) = begin else { return sent };
        match sent {
            Ok(()) => {
                // An error packet has no status flags, nor has the reply to a PREPARE: the transaction is open all the same.
                self.state.status |= self.state.status_begun(&begin);
                self.current.reader_life = self.target.on_reader.then_some(self.target.life);
                Ok(())
            }
            // START TRANSACTION READ WRITE on a writer that is being replaced.
            Err(Stopped::Refused(failure)) if begin.may_be_refused && failure.code == ER_OPTION_PREVENTS_STATEMENT => {
                Err(Stopped::ReadOnly(failure))
            }
            // It has only read, or will: it can begin again elsewhere.
            Err(Stopped::Refused(failure)) if begin.read_only => Err(Stopped::Refused(failure)),
            // The client counts on a transaction that is not there.
            Err(Stopped::Refused(failure)) => Err(Stopped::Ended(SessionEnd::Told(failure))),
            sent => sent,
        }
    }

    async fn send_on_connection(&mut self, class: &Class, payload: &[u8]) -> Result<(), Stopped> {
        if self.state.latest.is_doubtful() && needs_insert_id(class) {
            self.learn_what_was_left(true).await?;
            self.connection().has_found_rows = false;
        }
        self.hear_untold_before(class).await?;
        self.queue_wait();
        self.queue_session_state(class)?;
        self.raise_what_was_left().await?;
        let (careful, replays) = (class.effects.contains(Effects::WRITES), self.replay.is_on());
        let connection = self.connection();
        let changes = connection.state_changes();
        if careful && changes || replays && connection.awaits_state() {
            connection.flush().await?;
            self.confirm_state().await?;
        }
        self.connection().queue(payload, true);
        self.send_queued().await?;
        let connection = self.connection();
        // A transaction's start is confirmed with the statement's reply.
        if !connection.only_begins() {
            self.confirm_state().await?;
            self.check_database_on_replica()?;
        }
        if changes {
            self.endpoint.backend_metrics.profile_changes.inc();
        }
        Ok(())
    }

    /// Before anything else: the reader says whether it has the position that the session needs.
    pub(super) fn queue_wait(&mut self) {
        if self.target.waits {
            return;
        }
        let settings = self.shared.shards[self.target.shard].group.settings();
        let question = match &self.target.wait {
            Some(position) => position.wait_query(settings.read_wait.as_secs_f64()),
            None if self.must_catch_up() => {
                self.target.catches_up = true;
                Position::wait_for_commits_query(settings.writer_wait.as_secs_f64())
            }
            None => return,
        };
        self.target.waits = true;
        self.connection().queue_wait(&question);
    }

    /// Reads the replies to what was queued before the statement. A server that has stopped answering ends the wait, as the client's
    /// end and a kill do.
    pub(super) async fn confirm_state(&mut self) -> Result<(), Stopped> {
        loop {
            let connection = self.connection();
            match connection.confirm_arrived() {
                Ok(true) => return Ok(()),
                Ok(false) => {}
                Err(_) if connection.late => return Err(Stopped::Late),
                Err(failure) => return Err(failure.into()),
            }
            let lease = self.current.lease.as_mut().expect("the session has a connection while a command runs");
            let stopped = match Woken::by(lease, &self.handle, &mut self.client).await? {
                Woken::Filled => continue,
                Woken::Rung => self.stops_confirming(),
                Woken::Gone(error) => Some(Stopped::Ended(error.into())),
            };
            if let Some(stopped) = stopped {
                // Something may come still, which nobody waits for.
                self.lose_lease();
                return Err(stopped);
            }
        }
    }

    /// The bell has rung while what comes before a statement is waited for.
    fn stops_confirming(&self) -> Option<Stopped> {
        if self.handle.has(Interrupt::ServerLost) {
            self.handle.clear(Interrupt::ServerLost);
            let server = &self.shared.at(self.current.server).pool.server;
            if server.refusal().is_some() {
                let failure = server.lost("it has stopped answering");
                return Some(match self.state.is_bound() {
                    true => Stopped::Ended(SessionEnd::Told(failure)),
                    false => Stopped::Refused(failure),
                });
            }
        }
        match self.stops_waiting() {
            Ok(()) => None,
            Err(Stopped::Refused(failure)) if self.state.is_bound() => Some(Stopped::Ended(SessionEnd::Told(failure))),
            Err(stopped) => Some(stopped),
        }
    }

    /// Queues what the connection lacks of the session's state, the transaction's start included.
    pub(super) fn queue_session_state(&mut self, class: &Class) -> Result<(), Stopped> {
        let own_tracking = self.state.pins.contains(Pins::SESSION_TRACKING)
            || class.pins.contains(Pins::SESSION_TRACKING)
            || class.effects.contains(Effects::SHOWS_SESSION_VARIABLES);
        let profile = self.profile_here(class);
        let begin = self.state.begin.take();
        let connection = self.connection();
        let there = if connection.profile().has_others_user_variables(&profile) {
            // It is reset first.
            Some(0)
        } else {
            connection.insert_id
        };
        let insert_id = match self.state.latest.last_insert_id {
            Left::Known(id) if needs_insert_id(class) && there != Some(id) => Some(id),
            // Else nobody could tell afterwards whether it is the session's.
            Left::Known(id)
                if (there.is_none() || there != Some(id) && class.effects.contains(Effects::INSERT_ID_UNTOLD))
                    && class.effects.contains(Effects::GENERATES_INSERT_ID)
                    && !class.effects.contains(Effects::USES_WARNINGS) =>
            {
                Some(id)
            }
            _ => None,
        };
        if insert_id.is_some() && class.effects.contains(Effects::USES_WARNINGS) {
            let message = "LAST_INSERT_ID() and the diagnostics of the statement before can't be read in one statement: \
                           the session's server connection was needed by another session in between. Ask in two statements";
            return Err(Failure::new(Fault::Weir, codes::ER_NOT_SUPPORTED_YET, b"42000", message).into());
        }
        let (before, after) = self.take_unsent(class, begin.is_some());
        let only_flag = self.is_told_by_flag(class);
        let connection = self.connection();
        let tracking = match () {
            () if own_tracking => Tracking::Clients,
            () if only_flag => Tracking::AllButGtid,
            // Another choice would have the server forget what it has not told yet.
            () if connection.untold_changes_of.is_some() => connection.tracking(),
            () => Tracking::All,
        };
        connection.queue_state(&profile, tracking)?;
        if let Some(id) = insert_id {
            connection.queue_insert_id(id);
        }
        connection.told_of_next |= !before.is_empty();
        before.iter().for_each(|text| connection.queue_begin(text.as_bytes(), false));
        if let Some(begin) = begin {
            connection.queue_begin(begin.text.as_bytes(), begin.may_be_refused);
        }
        after.iter().for_each(|text| connection.queue_begin(text.as_bytes(), false));
        Ok(())
    }

    /// Forwards the reply to the command just sent.
    pub(super) async fn forward_reply(
        &mut self,
        kind: ReplyKind,
        class: &Class,
        statement_id: Option<u32>,
    ) -> Result<ReplyOutcome, Stopped> {
        let killer = Killer { endpoint: &self.endpoint, key: &self.key, password: &self.password };
        let track_all = self.state.pins.contains(Pins::SESSION_TRACKING) || class.pins.contains(Pins::SESSION_TRACKING);
        let harmless = !class.effects.contains(Effects::WRITES) && !self.state.status.contains(StatusFlags::IN_TRANS);
        // Only the time of what may ride is of interest, and a clock is not free.
        self.sent_at = harmless.then(Instant::now);
        let keep = self.keep(class);
        let lease = self.current.lease.as_mut().expect("a command was sent on the session's connection");
        let mut relay = Relay {
            client: &mut self.client,
            lease,
            handle: &self.handle,
            identity: &self.identity,
            track_all,
            client_tracks: self.state.profile.variable(CLIENT_TRACKS),
            profile: &self.state.profile,
            harmless,
            statement_id,
            keep,
            deadline: &self.deadline,
            checksum: self.replay.checksum(),
            killer: &killer,
        };
        match relay.run(kind).await {
            Ok(outcome) => {
                self.kill_on_its_way |= outcome.killed;
                Ok(outcome)
            }
            Err(Broken::Client(error)) => Err(Stopped::Ended(error.into())),
            Err(Broken::Kept(failure)) => Err(match keep {
                Keep::ReadOnly => Stopped::ReadOnly(failure),
                Keep::Lacking | Keep::Nothing => Stopped::Refused(failure),
            }),
            // As with a server that is lost: an error would stand within the reply, with a number that is not its place's.
            Err(Broken::Killed { said: true }) => Err(Stopped::Ended(SessionEnd::Killed)),
            Err(Broken::Killed { said: false }) => Err(Stopped::Ended(SessionEnd::Told(Self::interrupted_failure()))),
            Err(Broken::Server { failure, said }) => {
                if !harmless {
                    // It may have been done.
                    self.seen.of_mut(self.current.server.shard).saw_writer(Instant::now());
                }
                let stopped = self.server_broke(failure, said);
                Err(self.lost_with(stopped, class))
            }
        }
    }

    /// The server connection broke in the middle of a command. What was bound to it is lost, so a bound session
    /// ends, as it would on a direct connection; another one goes on.
    pub(super) fn server_broke(&mut self, failure: Failure, said: bool) -> Stopped {
        // A READ ONLY transaction that has just begun has shown nothing: it can begin again.
        if !said && self.current.reader_life.is_some() && self.transaction.begun_with_statement {
            self.current.reader_life = None;
            self.state.status -= StatusFlags::IN_TRANS | StatusFlags::IN_TRANS_READONLY;
        }
        let bound = self.state.is_bound() || self.state.in_transaction();
        self.lose_lease();
        if said {
            // A half reply can't be ended by an error packet of the right number: the client must not go on.
            return Stopped::Ended(SessionEnd::Client(ClientError::Io(std::io::Error::other(failure.to_string()))));
        }
        if bound { Stopped::Ended(SessionEnd::Told(failure)) } else { Stopped::Refused(failure) }
    }

    /// Runs a whole command: the state, the command, the reply, and what follows from it. `lost`: it has been tried
    /// before, in vain. Returns what came of it, or `None` if the client was told of a failure.
    pub(super) async fn run_command(
        &mut self,
        class: &Class,
        payload: &[u8],
        kind: ReplyKind,
        lost: Option<Failure>,
    ) -> Result<Option<ReplyOutcome>, SessionEnd> {
        let mut retries = self.retries(class);
        let mut done = match lost {
            Some(failure) => Err(Stopped::Refused(failure)),
            None => self.run_once(class, payload, kind).await,
        };
        while let Err(stopped) = done {
            done = match self.again(stopped, &mut retries).await {
                Ok(()) => self.run_once(class, payload, kind).await,
                Err(stopped) => return self.stopped(stopped).map(|()| None),
            };
        }
        match done {
            Ok(outcome) => {
                self.is_not_kept("it has run a command that is not kept");
                self.note(class, &outcome);
                self.see_whether_closed(&outcome).await?;
                Ok(Some(outcome))
            }
            Err(stopped) => self.stopped(stopped).map(|()| None),
        }
    }

    async fn run_once(&mut self, class: &Class, payload: &[u8], kind: ReplyKind) -> Result<ReplyOutcome, Stopped> {
        self.send(class, payload).await?;
        self.forward_reply(kind, class, None).await
    }

    /// The command byte and a server's statement id.
    pub(super) fn statement_command(command: Command, id: u32) -> Vec<u8> {
        [&[command as u8][..], &id.to_le_bytes()].concat()
    }
}
