//! Forwarding a reply from the server to the client, as it is.
//!
//! Only the packets that end a result are decoded; an OK is written anew when the client can't read the server's form
//! of it, or must not see the changes that Weir tracks. Memory is bounded by one read chunk and one write buffer.
//! While the server is silent the client is watched: when it goes, a read is killed and a write is let end.

use bytes::{Buf, BytesMut};
use weir_admin::sessions::{Interrupt, SessionHandle};
use weir_backend::connect::server_failure;
use weir_backend::kill::Kill;
use weir_backend::profile::Profile;
use weir_backend::{Identity, Lease};
use weir_wire::error::codes;
pub(super) use weir_wire::error::codes::ER_OPTION_PREVENTS_STATEMENT;
use weir_wire::frame::{FileFrames, put_packet};
use weir_wire::packets::{
    EofPacket, ErrPacket, OkPacket, SessionChange, SessionChanges, encode_failure, put_session_change,
};
use weir_wire::reply::{Ending, Event, ReplyKind, ReplyTracker};
use weir_wire::stmt::PrepareOk;
use weir_wire::{Capabilities, Failure, Malformed, StatusFlags};

use super::Session;
use super::again::may_come_of_lag;
use super::deadline::Deadline;
use super::kill_on_server::{KilledQuery, Killer, LOOK_INTERVAL};
use super::outcome::ReplyOutcome;
use super::replay::Checksum;
use crate::client::{Client, ClientError, FLUSH_AT};

/// Why a reply was not forwarded to its end.
#[derive(Debug)]
pub(crate) enum Broken {
    /// The client can't be served on. The server connection has an unread reply.
    Client(ClientError),
    /// The server connection broke. `said`: a part of the reply has reached the client already.
    Server { failure: Failure, said: bool },
    /// The session was told to end. `said`: as with a server that broke.
    Killed { said: bool },
    /// The server has given an error that is kept from the client (see [`Keep`]).
    Kept(Failure),
}

impl From<ClientError> for Broken {
    fn from(error: ClientError) -> Self {
        Broken::Client(error)
    }
}

/// Which error the client is not told, because the statement may be run elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keep {
    Nothing,
    /// The server takes no writes.
    ReadOnly,
    /// The server, a replica, lacks what was defined or granted on its writer, perhaps.
    Lacking,
}

impl Keep {
    fn keeps(self, err: &ErrPacket<'_>) -> bool {
        match self {
            Keep::Nothing => false,
            Keep::ReadOnly => says_read_only(err.code, err.message),
            Keep::Lacking => may_come_of_lag(err.code),
        }
    }
}

/// What a relay needs to know of its session.
pub(crate) struct Relay<'a> {
    pub(crate) client: &'a mut Client,
    pub(crate) lease: &'a mut Lease,
    pub(crate) handle: &'a SessionHandle,
    pub(crate) identity: &'a Identity,
    /// The client asked for session tracking itself: it gets all that the server sends.
    pub(crate) track_all: bool,
    /// The variables that it wants to be told of, if it has said so.
    pub(crate) client_tracks: Option<&'a str>,
    /// The session's, before the statement.
    pub(crate) profile: &'a Profile,
    /// The statement changes nothing: it may be killed when the client goes.
    pub(crate) harmless: bool,
    /// The id that the client knows a statement by that is being prepared.
    pub(crate) statement_id: Option<u32>,
    /// An error that is not forwarded.
    pub(crate) keep: Keep,
    /// When the statement is ended, if a rule bounds it.
    pub(crate) deadline: &'a Deadline,
    /// What the client is told is taken down, and it is told of a short reply when that is whole: it may have to come again.
    pub(crate) checksum: Option<&'a mut Checksum>,
    /// Who has the running statement, or the connection if it is not used on, killed on the server.
    pub(crate) killer: &'a Killer<'a>,
}

impl Relay<'_> {
    /// Forwards one reply.
    pub(crate) async fn run(&mut self, kind: ReplyKind) -> Result<ReplyOutcome, Broken> {
        let mark = self.client.mark();
        let done = self.forward(kind).await;
        if let Err(Broken::Server { said: false, .. } | Broken::Killed { said: false }) = &done {
            self.client.take_back(mark);
        }
        done
    }

    async fn forward(&mut self, kind: ReplyKind) -> Result<ReplyOutcome, Broken> {
        let mut holds = self.checksum.is_some();
        let mut tracker = ReplyTracker::new(kind, self.lease.capabilities);
        let mut outcome = ReplyOutcome::default();
        let mut said = false;
        let mut killed = KilledQuery::default();
        self.confirm_begin(&mut killed).await?;
        while !tracker.is_done() {
            let step = self.step(&mut tracker, &mut outcome);
            match step.map_err(|e| self.lost(&e.to_string(), said))? {
                RelayStep::Kept(failure) => {
                    self.lease.reply_done();
                    return Err(Broken::Kept(failure));
                }
                RelayStep::Taken => {
                    holds &= self.client.output.len() < FLUSH_AT;
                    said |= !holds;
                    if self.client.output.len() >= FLUSH_AT {
                        self.client.flush().await?;
                    }
                }
                RelayStep::SendFile(seq) => {
                    (holds, said) = (false, true);
                    self.send_file(seq, &mut killed).await?;
                    tracker.infile_sent();
                }
                RelayStep::Wait => {
                    if !holds {
                        self.client.flush().await?;
                    }
                    self.wait(&mut killed, said).await?;
                }
            }
        }
        self.lease.reply_done();
        self.client.is_answered();
        outcome.killed = killed.is_sent();
        // The rest is flushed by the session, once it shows what the statement has done to it.
        Ok(outcome)
    }

    /// Waits for the OK to the transaction's start that was sent with the statement. If it does not come, the statement
    /// may have run without its transaction: the client must not take it for undone.
    async fn confirm_begin(&mut self, killed: &mut KilledQuery) -> Result<(), Broken> {
        if !self.lease.only_begins() {
            return Ok(());
        }
        self.lease.gather_replies(true);
        loop {
            match self.lease.confirm_arrived() {
                Ok(true) => break,
                Ok(false) => self.wait(killed, false).await?,
                Err(failure) => {
                    return Err(self.lost(&format!("its transaction did not begin: {}", failure.message), false));
                }
            }
        }
        self.lease.gather_replies(false);
        Ok(())
    }

    fn lost(&mut self, why: &str, said: bool) -> Broken {
        self.lease.retired = true;
        Broken::Server { failure: self.lease.server.lost(why), said }
    }

    fn step(&mut self, tracker: &mut ReplyTracker, outcome: &mut ReplyOutcome) -> Result<RelayStep, Malformed> {
        let mut untold = self.lease.untold_changes_of;
        let input = &self.lease.input;
        let client = &mut *self.client;
        let taken = match tracker.advance(input)? {
            Event::NeedMore => return Ok(RelayStep::Wait),
            Event::Pass(n) => {
                if let Some(checksum) = &mut self.checksum {
                    checksum.pass(&input[..n]);
                }
                client.output.extend_from_slice(&input[..n]);
                n
            }
            Event::Packet(n, ending) => {
                if let Some(checksum) = &mut self.checksum {
                    checksum.end(&ending);
                }
                match ending {
                    Ending::Ok(ok) => {
                        outcome.note_ok(&ok, tracker.rows())?;
                        let others = untold.take().is_some_and(|id| id != self.handle.id);
                        let told = Told {
                            identity: self.identity,
                            all: self.track_all,
                            named: self.client_tracks,
                            not_schema: self.profile.database.as_deref().filter(|_| others),
                        };
                        told.forward(client, &input[..n], &ok)?;
                    }
                    Ending::Err(err) if tracker.rows() == 0 && self.keep.keeps(&err) => {
                        let failure = server_failure(&err);
                        self.lease.input.advance(n);
                        return Ok(RelayStep::Kept(failure));
                    }
                    Ending::Err(err) => {
                        let instead = in_place_of(self.handle, self.deadline, err.code);
                        let outside = err.code == codes::ER_NO_DB_ERROR && self.lease.profile().database.is_none();
                        let instead = instead.or_else(|| Session::without_database(self.profile).filter(|_| outside));
                        put_error(client, &input[..n], &err, instead, outcome);
                    }
                    Ending::Eof(eof) => {
                        outcome.note_eof(&eof, tracker.rows());
                        let changed = eof.status.contains(StatusFlags::SESSION_STATE_CHANGED);
                        // What another session has left untold keeps the flag up: then nothing is known of this one.
                        if changed && untold.is_none() {
                            untold = Some(self.handle.id);
                        }
                        put_eof(client, &input[..n], eof, self.track_all);
                    }
                    Ending::Prepared(ok) => {
                        put_prepared(client, &input[..n], &ok, self.statement_id);
                        outcome.warnings = ok.warnings;
                        outcome.prepared = Some(ok);
                    }
                    Ending::LocalInfile => {
                        let seq = input[3];
                        client.output.extend_from_slice(&input[..n]);
                        self.lease.input.advance(n);
                        return Ok(RelayStep::SendFile(seq));
                    }
                }
                n
            }
        };
        outcome.bytes += taken as u64;
        self.lease.input.advance(taken);
        self.lease.untold_changes_of = untold;
        Ok(RelayStep::Taken)
    }

    /// Waits for the server, and for whatever may make waiting pointless.
    async fn wait(&mut self, killed: &mut KilledQuery, said: bool) -> Result<(), Broken> {
        loop {
            // All branches are cancel-safe: `fill` and `gone` keep what they have read, a bell keeps its ring.
            tokio::select! {
                biased;
                filled = self.lease.fill() => {
                    return filled.map_err(|failure| Broken::Server { failure, said });
                }
                () = self.handle.bell.rung() => self.interrupted(killed, said)?,
                () = killed.unheard() => self.kill(self.kill_again(killed)),
                error = self.client.gone() => {
                    if self.harmless || matches!(error, ClientError::Frame(_)) {
                        self.kill(Kill::Connection);
                        return Err(Broken::Client(error));
                    }
                    // As on a direct connection, what was sent is done; nobody hears of it.
                    self.client.discard = true;
                }
                // As there, too, MariaDB waits for no locks any more.
                () = tokio::time::sleep(LOOK_INTERVAL), if self.client.discard && self.identity.mariadb => {
                    self.killer.end_lock_wait(self.lease.server.clone(), self.lease.thread_id).await;
                }
            }
        }
    }

    fn kill(&self, what: Kill) {
        self.killer.kill(&self.lease.server, self.lease.thread_id, what);
    }

    /// What is sent when a KILL QUERY had no effect. A block or a routine may take it for one of its statements and go on, in a session that
    /// is to end.
    fn kill_again(&self, killed: &KilledQuery) -> Kill {
        match self.handle.has(Interrupt::Connection) && killed.is_futile() {
            true => Kill::Connection,
            false => Kill::Query,
        }
    }

    fn interrupted(&mut self, killed: &mut KilledQuery, said: bool) -> Result<(), Broken> {
        let kill_connection = self.handle.has(Interrupt::Connection) || self.handle.has(Interrupt::ShutdownNow);
        if self.handle.has(Interrupt::ServerLost) {
            self.handle.clear(Interrupt::ServerLost);
            // Another server than this one may have been meant, whose connection the session had before.
            if self.lease.server.refusal().is_some() {
                return Err(self.lost("it has stopped answering", said));
            }
        }
        if kill_connection && (self.harmless || self.handle.has(Interrupt::ShutdownNow)) {
            self.kill(Kill::Connection);
            return Err(Broken::Killed { said });
        }
        // What changes something is ended, and the session when the server has said whether it has still done it.
        if (kill_connection || ends_statement(self.handle)) && killed.first() {
            self.kill(Kill::Query);
        }
        Ok(())
    }

    /// Hands the client's file to the server, frame by frame, up to the empty one that ends it. To the server the frames go on behind its
    /// request; the client's own numbers differ from those among the replies to several statements.
    async fn send_file(&mut self, mut seq: u8, killed: &mut KilledQuery) -> Result<(), Broken> {
        self.client.flush_request().await?;
        let mut frames = FileFrames::default();
        loop {
            let mut frame = self.next_frame(killed).await?;
            let last = frames.ends_with(&frame);
            seq = seq.wrapping_add(1);
            frame[3] = seq;
            self.lease.queue_raw(&frame);
            self.send_frame(killed).await?;
            if last {
                return Ok(());
            }
        }
    }

    /// The next frame of the client's file, unless the server, or whoever ends the session, does not wait for it any more.
    async fn next_frame(&mut self, killed: &mut KilledQuery) -> Result<BytesMut, Broken> {
        loop {
            // Cancel-safe: `frame` and `fill` keep what they have read, a bell keeps its ring.
            tokio::select! {
                biased;
                frame = self.client.frame() => return Ok(frame?),
                () = self.handle.bell.rung() => self.interrupted_in_file(killed)?,
                // An error comes before the connection's end, and after it is what is sent there.
                filled = self.lease.fill() => filled.map_err(|failure| Broken::Server { failure, said: true })?,
            }
        }
    }

    async fn send_frame(&mut self, killed: &mut KilledQuery) -> Result<(), Broken> {
        loop {
            // Cancel-safe, as what was not sent stays queued, and a bell keeps its ring.
            tokio::select! {
                biased;
                sent = self.lease.flush() => return sent.map_err(|failure| Broken::Server { failure, said: true }),
                () = self.handle.bell.rung() => self.interrupted_in_file(killed)?,
            }
        }
    }

    /// The server lacks the end of the file, so that it has not run the statement, and won't if its connection ends.
    fn interrupted_in_file(&mut self, killed: &mut KilledQuery) -> Result<(), Broken> {
        if self.handle.has(Interrupt::Connection) {
            self.kill(Kill::Connection);
            return Err(Broken::Killed { said: true });
        }
        self.interrupted(killed, true)
    }
}

/// Whether an error says that a server takes no writes: `--read-only` in one of its forms, or `innodb_read_only`.
pub(super) fn says_read_only(code: u16, message: &[u8]) -> bool {
    let names = |word: &[u8]| message.windows(word.len()).any(|part| part == word);
    code == codes::ER_READ_ONLY_MODE || code == ER_OPTION_PREVENTS_STATEMENT && names(b"read-only")
}

/// Whether the running statement is to be killed, and nothing else.
pub(super) fn ends_statement(handle: &SessionHandle) -> bool {
    handle.has(Interrupt::Query) || handle.has(Interrupt::Deadlock)
}

/// Passes an error on, or tells the client this one in its place.
fn put_error(
    client: &mut Client,
    packet: &[u8],
    err: &ErrPacket<'_>,
    instead: Option<Failure>,
    outcome: &mut ReplyOutcome,
) {
    match instead {
        None => {
            outcome.note_error(err.code, err.sqlstate);
            outcome.message = err.message.into();
            client.output.extend_from_slice(packet);
        }
        Some(failure) => {
            outcome.note_error(failure.code, failure.sqlstate);
            put_packet(&mut client.output, packet[3], &encode_failure(&failure));
        }
    }
}

/// Passes the end of a result on. An EOF has no room for what has changed, only for the flag: a client that does not track all is not told.
fn put_eof(client: &mut Client, packet: &[u8], eof: EofPacket, track_all: bool) {
    if track_all || !eof.status.contains(StatusFlags::SESSION_STATE_CHANGED) {
        client.output.extend_from_slice(packet);
        return;
    }
    let quiet = EofPacket { status: eof.status - StatusFlags::SESSION_STATE_CHANGED, ..eof };
    put_packet(&mut client.output, packet[3], &quiet.encode());
}

/// Passes PREPARE's OK on, with the id that the client knows the statement by.
fn put_prepared(client: &mut Client, packet: &[u8], ok: &PrepareOk, id: Option<u32>) {
    let start = client.output.len() + weir_wire::frame::HEADER;
    client.output.extend_from_slice(packet);
    client.output[start..][PrepareOk::ID_AT].copy_from_slice(&id.unwrap_or(ok.id).to_le_bytes());
}

/// What the client hears in place of this error, if a kill of Weir's own has caused it.
fn in_place_of(handle: &SessionHandle, deadline: &Deadline, code: u16) -> Option<Failure> {
    deadlock_in_place_of(handle, code).or_else(|| deadline.in_place_of(code))
}

/// A statement was killed because it waited in a cycle with others: its error.
pub(super) fn deadlock_in_place_of(handle: &SessionHandle, code: u16) -> Option<Failure> {
    let message = "Deadlock found when trying to get lock; try restarting transaction";
    (code == codes::ER_QUERY_INTERRUPTED && handle.has(Interrupt::Deadlock))
        .then(|| Failure::client(codes::ER_LOCK_DEADLOCK, message))
}

enum RelayStep {
    Taken,
    Kept(Failure),
    /// The server asks for a file, in a packet of this number.
    SendFile(u8),
    Wait,
}

/// Which session state changes of an OK packet the client is told.
pub(super) struct Told<'a> {
    pub(super) identity: &'a Identity,
    /// All: it asked for them itself.
    pub(super) all: bool,
    /// The variables that it has named.
    pub(super) named: Option<&'a str>,
    /// Not that the database is this one: what the server tells was left by another session.
    pub(super) not_schema: Option<&'a [u8]>,
}

impl Told<'_> {
    /// Forwards an OK packet: as it is if it tells nothing, or all is told.
    fn forward(&self, client: &mut Client, raw: &[u8], ok: &OkPacket<'_>) -> Result<(), Malformed> {
        let tracks = client.capabilities.contains(Capabilities::SESSION_TRACK);
        let tells = ok.status.contains(StatusFlags::SESSION_STATE_CHANGED);
        if (tracks && self.all) || !(tells || !tracks && !ok.info.is_empty()) {
            client.output.extend_from_slice(raw);
            return Ok(());
        }
        let changes = if tracks { self.select(ok.changes)? } else { Vec::new() };
        let payload = OkPacket { changes: &changes, ..*ok }.encode(client.capabilities);
        put_packet(&mut client.output, raw[3], &payload);
        Ok(())
    }

    /// Those of an OK's changes that the client is told.
    ///
    /// # Errors
    /// The changes can't be read.
    pub(super) fn select(&self, changes: &[u8]) -> Result<Vec<u8>, Malformed> {
        let mut selected = Vec::new();
        for change in SessionChanges::new(changes) {
            let change = change?;
            let wanted = match &change {
                SessionChange::Variable { name, .. } => match self.named {
                    Some(names) => is_among(names, name),
                    None => self.identity.client_tracked.iter().any(|n| n.as_bytes() == *name),
                },
                SessionChange::State => false,
                SessionChange::Schema(name) => self.not_schema != Some(*name),
                SessionChange::Gtids(_) => self.identity.client_tracks_gtids,
                SessionChange::Other { .. } => true,
            };
            if wanted {
                put_session_change(&mut selected, &change);
            }
        }
        Ok(selected)
    }
}

/// Whether a variable is one of a list of names with commas between, or that is `*`.
fn is_among(names: &str, variable: &[u8]) -> bool {
    names.split(',').map(str::trim).any(|name| name == "*" || name.as_bytes().eq_ignore_ascii_case(variable))
}
