//! Running a transaction again.
//!
//! What must always hold: it runs on a server where the lost one can't be any more: on another one, which the group has made its writer, or
//! on the same one in another life. The lost transaction was never told to commit, so its server has rolled it back, or does when it finds
//! its connection closed, however long it hangs until then. While the transaction is run again the client hears nothing.

use std::time::{Duration, Instant};

use bytes::Buf;
use weir_admin::sessions::Interrupt;
use weir_backend::connection::Connection;
use weir_backend::prepared;
use weir_wire::Failure;
use weir_wire::error::codes;
use weir_wire::reply::{Ending, Event, ReplyKind, ReplyTracker};
use weir_wire::stmt::Execute;

use super::super::Session;
use super::super::connection::Woken;
use super::super::lost_transaction::not_replayed;
use super::super::outcome::ReplyOutcome;
use super::super::route::Target;
use super::super::stopped::{SessionEnd, Stopped};
use super::super::unless_lost::unless_lost;
use super::varies::may_change_otherwise;
use super::{Checksum, Reason, Record, Recording, Sent};

/// How often servers may be lost with one statement: one that kills its server must not kill them all.
const MOST_LOSSES: u32 = 2;
/// How often a deadlock with other transactions that are run again is answered by another try.
const MOST_DEADLOCKS: u32 = 10;
/// How long a server that is still there, although the connection to it is lost, may take to go, or to be found to have started anew.
const MAY_STILL_GO: Duration = Duration::from_secs(2);
/// So much of a statement is shown in an error.
const SHOWN: usize = 80;

/// A table whose changes no server rolls back.
const LASTING: &str = "SELECT CONCAT(TABLE_SCHEMA, '.', TABLE_NAME) FROM information_schema.TABLES \
     WHERE TABLE_TYPE = 'BASE TABLE' AND TABLE_SCHEMA NOT IN ('mysql', 'sys', 'information_schema', 'performance_schema') \
     AND ENGINE NOT IN (SELECT ENGINE FROM information_schema.ENGINES WHERE TRANSACTIONS = 'YES') LIMIT 1";

/// A table that has no transactions, if the server has one.
///
/// # Errors
/// The connection's loss.
pub(in crate::session) async fn lasting_table(connection: &mut Connection) -> Result<Option<String>, Failure> {
    let table = connection.query(LASTING).await?.rows.into_iter().flatten().next().flatten();
    Ok(table.map(|table| String::from_utf8_lossy(&table).into_owned()))
}

/// Why a transaction was not run again to its end.
enum Unplayed {
    /// The server was lost, or is no writer any more.
    Lost(Failure),
    /// The server that was lost is still there.
    StillThere,
    /// It has met another transaction.
    Deadlock,
    /// It can't be.
    Never(Reason),
    Ended(SessionEnd),
}

impl From<Stopped> for Unplayed {
    fn from(stopped: Stopped) -> Unplayed {
        match stopped {
            Stopped::Refused(failure)
            | Stopped::ReadOnly(failure)
            | Stopped::Lost(failure)
            | Stopped::Ended(SessionEnd::Told(failure)) => Unplayed::from(failure),
            Stopped::Late => Unplayed::Never("the new writer was behind for too long".into()),
            Stopped::Ended(end) => Unplayed::Ended(end),
        }
    }
}

impl From<Failure> for Unplayed {
    fn from(failure: Failure) -> Unplayed {
        match failure.code {
            codes::CR_SERVER_LOST | codes::ER_OPTION_PREVENTS_STATEMENT | codes::ER_READ_ONLY_MODE => {
                Unplayed::Lost(failure)
            }
            codes::ER_LOCK_DEADLOCK => Unplayed::Deadlock,
            code => Unplayed::Never(format!("{} ({code})", failure.message).into()),
        }
    }
}

impl Session {
    /// Runs the lost transaction again, up to the statement at hand. `lost`: what the client is told if that can't be.
    pub(in crate::session) async fn play_again(&mut self, lost: Failure) -> Result<(), Stopped> {
        self.replay.pending = false;
        let Some(mut recording) = self.replay.recording.take() else { return Err(Stopped::Refused(lost)) };
        let begun = Instant::now();
        self.replay.playing = true;
        let target = std::mem::take(&mut self.target);
        let played = self.play(&mut recording).await;
        self.replay.playing = false;
        self.target = target;
        let reason = match played {
            Ok(()) => {
                if self.current.lease.is_some() {
                    self.target.stay_at(self.current.server);
                }
                self.endpoint.metrics.transactions_replayed.inc();
                let (statements, seconds) = (recording.records.len(), begun.elapsed().as_secs_f64());
                tracing::info!(session = self.handle.id, statements, seconds, "a lost transaction was run again");
                self.replay.played = true;
                self.replay.recording = Some(recording);
                return Ok(());
            }
            Err(Unplayed::Ended(end)) => return Err(Stopped::Ended(end)),
            Err(Unplayed::Never(reason)) => reason,
            Err(Unplayed::Lost(failure)) => failure.message.into(),
            Err(Unplayed::StillThere) => {
                "its connection has ended, but its server goes on: somebody may have ended it with reason".into()
            }
            Err(Unplayed::Deadlock) => "it meets others in deadlocks".into(),
        };
        self.give_up_transaction();
        self.state.begin = None;
        self.state.latest = recording.now;
        self.forget_what_was_left();
        self.target_writer_again();
        Err(Stopped::Refused(self.tells_not_replayed(&lost, &reason)))
    }

    /// What the client is told of a transaction that was to be run again.
    pub(in crate::session) fn tells_not_replayed(&self, lost: &Failure, reason: &str) -> Failure {
        self.endpoint.metrics.replays_given_up.inc();
        tracing::info!(session = self.handle.id, reason, "a lost transaction was not run again");
        not_replayed(lost, reason)
    }

    /// Runs it until it has run, or can't: not longer than a statement waits for its writer, once it is there.
    async fn play(&mut self, recording: &mut Recording) -> Result<(), Unplayed> {
        recording.losses += 1;
        if recording.losses > MOST_LOSSES {
            return Err(Unplayed::Never("the statement may be what its servers die of".into()));
        }
        self.refuse_what_varies(recording)?;
        let (mut deadline, mut deadlocks) = (None, 0);
        let gone_by = Instant::now() + MAY_STILL_GO;
        loop {
            let handle = self.handle.clone();
            let played = unless_lost(&handle, self.play_once(recording)).await;
            let lost = match played.unwrap_or_else(|| Err(self.stops_playing(recording))) {
                Err(Unplayed::Lost(failure)) => failure,
                Err(Unplayed::StillThere) if Instant::now() < gone_by => {
                    self.shared.at(recording.server).pool.server.lost("its connection has ended")
                }
                Err(Unplayed::Deadlock) if deadlocks < MOST_DEADLOCKS => {
                    deadlocks += 1;
                    self.give_up_transaction();
                    continue;
                }
                done => return done,
            };
            self.give_up_transaction();
            self.wait_for_writer(recording.server.shard, lost, &mut deadline).await.map_err(
                |stopped| match stopped {
                    Stopped::Refused(failure) => Unplayed::Never(failure.message.into()),
                    stopped => Unplayed::from(stopped),
                },
            )?;
        }
    }

    /// The session was told of something that ends a try.
    fn stops_playing(&self, recording: &Recording) -> Unplayed {
        match self.stops_waiting() {
            Ok(()) => Unplayed::Lost(self.shared.at(recording.server).pool.server.lost("it has stopped answering")),
            Err(stopped) => stopped.into(),
        }
    }

    fn refuse_what_varies(&self, recording: &Recording) -> Result<(), Unplayed> {
        if self.state.profile != recording.profile {
            return Err(Unplayed::Never("the session has changed its settings since".into()));
        }
        let clock_stands = recording.profile.variable("timestamp").is_some();
        for record in &recording.records {
            let text = record.sent.text();
            if let Some(reason) = may_change_otherwise(text, &record.class, self.state.lex, clock_stands) {
                return Err(Unplayed::Never(format!("{} {reason}", shown(text)).into()));
            }
        }
        Ok(())
    }

    async fn play_once(&mut self, recording: &Recording) -> Result<(), Unplayed> {
        self.target = Target::writer_of(&self.shared.shards, recording.server.shard);
        self.target.exact = self.must_catch_up_on(recording.server.shard);
        self.have_connection().await?;
        self.handle.set_state("Running the transaction again");
        self.refuse_same_life(recording)?;
        if recording.changes {
            self.refuse_lasting_changes().await?;
        }
        self.connection().has_found_rows = false;
        self.state.latest = recording.before.clone();
        self.state.begin.clone_from(&recording.begin);
        for record in &recording.records {
            self.play_record(record).await?;
        }
        self.handle.set_state("");
        if self.state.profile != recording.profile || !self.state.pins.is_empty() {
            return Err(Unplayed::Never("it leaves the session in another state than before".into()));
        }
        self.state.latest = recording.now.clone();
        Ok(())
    }

    /// Passes if the server at hand is another one than the lost one, or Weir has lost it as a whole since, and not the one connection.
    fn refuse_same_life(&self, recording: &Recording) -> Result<(), Unplayed> {
        let lease = self.current.lease.as_ref().filter(|_| self.current.server == recording.server);
        let life = lease.and_then(|lease| lease.server.observation()).map(|observed| observed.life);
        match life.is_some() && life == recording.life {
            true => Err(Unplayed::StillThere),
            false => Ok(()),
        }
    }

    /// What a statement has changed in a table without transactions, the lost server may have passed on, or still has.
    async fn refuse_lasting_changes(&mut self) -> Result<(), Unplayed> {
        let table = lasting_table(self.connection()).await?;
        table.map_or(Ok(()), |table| {
            let reason =
                format!("{table} has no transactions, so that changes there may have lasted; ALTER it to InnoDB");
            Err(Unplayed::Never(reason.into()))
        })
    }

    /// Runs one of its statements, which has to give what it gave before.
    async fn play_record(&mut self, record: &Record) -> Result<(), Unplayed> {
        match &record.sent {
            Sent::Command(payload, _) => self.send(&record.class, payload).await?,
            Sent::Execution { key, packet, params, types, untyped, since } => {
                let malformed = |_| Unplayed::Never("an execution can't be read again".into());
                let execute =
                    Execute::parse(packet, *params, self.client.capabilities).map_err(malformed)?.without_cursor();
                let (session, mariadb) = (self.handle.id, self.identity.mariadb);
                let (types, untyped, since) = (types.as_ref(), *untyped, *since);
                let execution =
                    prepared::Execution { key, execute: &execute, types, untyped, session, since, retypes: false };
                self.connection().close_if_unfit(&execution, mariadb);
                let id = self.have_statement(key).await?;
                let mut payload = Vec::new();
                self.connection().encode_execution(&execution, id, &mut payload);
                self.send(&record.class, &payload).await?;
            }
        }
        let (outcome, told) = self.take_reply().await?;
        if told != Some(record.told) {
            let text = shown(record.sent.text());
            return Err(match outcome.error {
                Some((code, _)) => {
                    let message = String::from_utf8_lossy(&outcome.message).into_owned();
                    match Unplayed::from(Failure::server(code, message)) {
                        Unplayed::Never(why) => Unplayed::Never(format!("{text} gives now: {why}").into()),
                        again => again,
                    }
                }
                None => Unplayed::Never(format!("{text} gives another result than before").into()),
            });
        }
        self.note(&record.class, &outcome);
        Ok(())
    }

    /// Reads a whole reply that nobody is told.
    async fn take_reply(&mut self) -> Result<(ReplyOutcome, Option<[u8; 32]>), Unplayed> {
        let mut tracker = ReplyTracker::new(ReplyKind::Results, self.connection().capabilities);
        let (mut outcome, mut checksum) = (ReplyOutcome::default(), Checksum::default());
        while !tracker.is_done() {
            let lease = self.connection();
            let broken = |lease: &weir_backend::Lease, why: &str| Unplayed::Lost(lease.server.lost(why));
            let taken = match tracker.advance(&lease.input) {
                Err(error) => return Err(broken(lease, &error.to_string())),
                Ok(Event::NeedMore) => {
                    self.wait_in_replay().await?;
                    continue;
                }
                Ok(Event::Pass(n)) => {
                    checksum.pass(&lease.input[..n]);
                    n
                }
                Ok(Event::Packet(n, ending)) => {
                    checksum.end(&ending);
                    match &ending {
                        Ending::Ok(ok) => {
                            let noted = outcome.note_ok(ok, tracker.rows());
                            noted.map_err(|error| broken(lease, &error.to_string()))?;
                        }
                        Ending::Eof(eof) => outcome.note_eof(eof, tracker.rows()),
                        Ending::Err(err) => {
                            outcome.note_error(err.code, err.sqlstate);
                            outcome.message = err.message.into();
                        }
                        Ending::Prepared(_) | Ending::LocalInfile => {
                            return Err(Unplayed::Never("a reply asks for what is not kept".into()));
                        }
                    }
                    n
                }
            };
            lease.input.advance(taken);
        }
        self.connection().reply_done();
        Ok((outcome, checksum.finish()))
    }

    async fn wait_in_replay(&mut self) -> Result<(), Unplayed> {
        let lease = self.current.lease.as_mut().expect("a command was sent on the session's connection");
        match Woken::by(lease, &self.handle, &mut self.client).await? {
            Woken::Filled => Ok(()),
            Woken::Gone(error) => Err(Unplayed::Ended(error.into())),
            Woken::Rung if self.handle.has(Interrupt::ServerLost) => {
                self.handle.clear(Interrupt::ServerLost);
                let server = &self.shared.at(self.current.server).pool.server;
                match server.refusal().is_some() {
                    true => Err(Unplayed::Lost(server.lost("it has stopped answering"))),
                    false => Ok(()),
                }
            }
            Woken::Rung => Ok(self.stops_waiting()?),
        }
    }
}

/// The beginning of a statement, for an error.
fn shown(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("`{}…`", &text[..end]),
        None => format!("`{text}`"),
    }
}
