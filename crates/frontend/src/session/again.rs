//! Running a statement again, on the same server or on another, when the client has heard nothing of it.
//!
//! What must always hold: a statement is run again only if it has done nothing: it only reads, or the server has said that it did
//! not run it. An error that may only tell how far behind a replica is reaches nobody while there is a writer to ask.

use std::sync::Arc;
use std::time::Instant;

use weir_admin::sessions::Interrupt;
use weir_exec::ShardLease;
use weir_sql::{Class, Effects, Pins, TextKind};
use weir_wire::error::codes;
use weir_wire::{Failure, Fault, StatusFlags};

use super::Session;
use super::relay::Keep;
use super::release::only_number;
use super::replay::lasting_table;
use super::state::Begin;
use super::stopped::{SessionEnd, Stopped};

/// How often a read is asked again on the writer. A writer that is dying loses more than one of its connections; one that the read itself
/// has killed must not be killed for ever.
const MOST_AGAIN: u32 = 3;

/// What is left to try for one statement.
#[derive(Debug)]
pub(super) struct Retries {
    /// It only reads, on a connection that nothing binds the session to.
    repeatable: bool,
    /// How often it has been asked again on the writer.
    writer_again: u32,
    /// The loss that made it be run again: what the client hears of if there is no way at all.
    lost: Option<Failure>,
    /// The transaction that begins with it.
    begin: Option<Begin>,
    /// What goes with the beginning has not been sent.
    unsent: bool,
    /// Until when a writer is waited for.
    deadline: Option<Instant>,
}

impl Session {
    /// Before a statement is run.
    pub(super) fn retries(&self, class: &Class) -> Retries {
        let free = self.current.lease.is_none() || self.current.server != self.target.place() && !self.state.is_bound();
        let begins_nothing = self.state.begin.as_ref().is_none_or(|begin| begin.read_only);
        let repeatable = free && begins_nothing && !class.effects.contains(Effects::WRITES);
        Retries {
            repeatable,
            writer_again: 0,
            lost: None,
            begin: self.state.begin.clone(),
            unsent: self.transaction.unsent(),
            deadline: None,
        }
    }

    /// A statement was stopped: makes ready to run it again, or says how it ends.
    pub(super) async fn again(&mut self, stopped: Stopped, retries: &mut Retries) -> Result<(), Stopped> {
        match stopped {
            // The client has its answer.
            stopped if self.client.has_answer() => Err(stopped),
            Stopped::Late => {
                self.lose_lease();
                if self.target.catches_up {
                    // In the middle of a transaction its connection is lost with what was not to be heard.
                    let failure = self.behind();
                    return Err(match self.state.is_bound() {
                        true => Stopped::Ended(SessionEnd::Told(failure)),
                        false => Stopped::Refused(failure),
                    });
                }
                self.state.begin.clone_from(&retries.begin);
                self.transaction.set_unsent(retries.unsent);
                self.choose_one_in_time();
                Ok(())
            }
            Stopped::ReadOnly(failure) => self.on_another_writer(failure, retries).await,
            Stopped::Lost(failure) => Box::pin(self.play_again(failure)).await,
            Stopped::Refused(failure) if self.may_lack(&failure) => {
                self.on_the_writer(retries);
                Ok(())
            }
            Stopped::Refused(failure) => self.after_loss(failure, retries),
            ended => Err(ended),
        }
    }

    /// A read whose connection has broken: the server had closed it while it was idle, or has died.
    fn after_loss(&mut self, failure: Failure, retries: &mut Retries) -> Result<(), Stopped> {
        if let Some(lease) = self.current.lease.take() {
            let news = self.learn_lack(self.current.server.shard, &lease);
            self.current.lease = Some(lease);
            // Nothing but the way into the database was refused: what followed was not sent, or has read only, and is not heard.
            if news && !self.state.is_bound() {
                self.lose_lease();
                self.state.begin.clone_from(&retries.begin);
                self.transaction.set_unsent(retries.unsent);
                self.ask_anew();
                return Ok(());
            }
        }
        let broken = self.current.lease.as_ref().is_none_or(|lease| !lease.is_clean());
        let lost = failure.code == codes::CR_SERVER_LOST;
        if !lost || !retries.repeatable || !broken || self.handle.has(Interrupt::Query) {
            // A server that is not there any more: what the client hears of is the loss.
            let gone = failure.code == codes::CR_CONN_HOST_ERROR;
            let first = if gone { retries.lost.take() } else { None };
            return Err(Stopped::Refused(first.unwrap_or(failure)));
        }
        self.lose_lease();
        self.state.begin.clone_from(&retries.begin);
        self.transaction.set_unsent(retries.unsent);
        if !self.choose_another() {
            if retries.writer_again == MOST_AGAIN {
                return Err(Stopped::Refused(failure));
            }
            retries.writer_again += 1;
            self.ask_anew();
        }
        retries.lost.get_or_insert(failure);
        Ok(())
    }

    /// The writer refuses to write: it is being replaced by hand, perhaps, or has been elected and is not there yet. Waits for one that
    /// writes, up to the bound.
    async fn on_another_writer(&mut self, failure: Failure, retries: &mut Retries) -> Result<(), Stopped> {
        let (refused, at) = (self.current.server.index, Instant::now());
        // What the statement has left there is not to be the next session's; what earlier ones have left is the session's own.
        let _ = self.learn_what_was_left(true).await;
        self.lose_lease();
        self.state.status -= StatusFlags::IN_TRANS;
        let had_begin = retries.begin.is_some();
        while self.backends().writer() == refused && !self.has_taken_writes(self.target.shard, refused, at) {
            if let Err(stopped) = self.wait_for_writer(self.target.shard, failure.clone(), &mut retries.deadline).await
            {
                return Err(match stopped {
                    // As on the server itself, the transaction stays open; here, unheard of again.
                    Stopped::Refused(_) if had_begin => {
                        self.state.begin.clone_from(&retries.begin);
                        self.transaction.set_unsent(retries.unsent);
                        Stopped::Refused(failure)
                    }
                    stopped => stopped,
                });
            }
        }
        self.state.begin.clone_from(&retries.begin);
        self.transaction.set_unsent(retries.unsent);
        self.target_writer_again();
        Ok(())
    }

    /// A write of several shards was refused by a writer: those that refuse, as shards with their servers, if it may be run again. A group
    /// of one server has no other writer, and changes of tables without transactions have lasted where they were not refused.
    pub(super) async fn writers_to_wait_for(&self, parts: &mut [ShardLease]) -> Option<Vec<(usize, usize)>> {
        let mut writers = Vec::with_capacity(parts.len());
        for part in parts {
            let shard = usize::from(part.shard.0);
            let backends = &self.shared.shards[shard];
            // One that was refused its transaction has done nothing.
            let refuses = match part.lease.is_clean() {
                true => {
                    if lasting_table(&mut part.lease).await.ok()?.is_some() {
                        return None;
                    }
                    let told = part.lease.ask("SELECT @@GLOBAL.read_only").await.ok()?;
                    only_number(told) != Some(0)
                }
                false => true,
            };
            if refuses && !backends.splits {
                return None;
            }
            if refuses {
                let servers = &backends.group.servers;
                writers.push((shard, servers.iter().position(|server| Arc::ptr_eq(server, &part.lease.server))?));
            }
        }
        (!writers.is_empty()).then_some(writers)
    }

    /// One of these writers, shards with their servers, refuses to write. Waits up to the bound until each is replaced, or takes writes.
    ///
    /// # Errors
    /// The refusal, if nothing has changed by then.
    pub(super) async fn wait_for_writes(
        &mut self,
        writers: &[(usize, usize)],
        failure: &Failure,
        deadline: &mut Option<Instant>,
    ) -> Result<(), Stopped> {
        let at = Instant::now();
        if deadline.is_some_and(|end| end <= at) {
            return Err(failure.clone().into());
        }
        for (shard, refused) in writers {
            let same = |session: &Session| {
                let backends = &session.shared.shards[*shard];
                backends.splits && backends.writer() == *refused && !session.has_taken_writes(*shard, *refused, at)
            };
            while same(self) {
                self.wait_for_writer(*shard, failure.clone(), deadline).await?;
            }
        }
        Ok(())
    }

    /// Whether a server of the shard was asked after that time, and takes writes.
    fn has_taken_writes(&self, shard: usize, index: usize, after: Instant) -> bool {
        let group = &self.shared.shards[shard].group;
        let observed = group.servers.get(index).and_then(|server| server.observation());
        observed.is_some_and(|observation| observation.asked > after && !observation.read_only)
    }

    /// A replica has no table, right or other thing of that name: the writer may have it by now.
    fn on_the_writer(&mut self, retries: &Retries) {
        let unread = self.current.lease.as_ref().is_some_and(|lease| !lease.is_clean());
        if self.transaction.begun_with_statement || unread {
            self.lose_lease();
        }
        if self.transaction.begun_with_statement {
            self.current.reader_life = None;
            self.state.status -= StatusFlags::IN_TRANS | StatusFlags::IN_TRANS_READONLY;
        }
        self.state.begin.clone_from(&retries.begin);
        self.transaction.set_unsent(retries.unsent);
        self.endpoint.metrics.reads_rerouted.inc();
        self.target_writer_again();
    }

    /// A statement runs without a default database that its server lacks. A replica may only not have heard of it yet.
    ///
    /// # Errors
    /// The database is not there, and the writer can be asked.
    pub(super) fn check_database_on_replica(&self) -> Result<(), Failure> {
        let (Some(database), Some(lease)) = (&self.state.profile.database, &self.current.lease) else { return Ok(()) };
        let outside = lease.lacks_database && lease.profile().database.is_none();
        if !outside || self.may_lack_database(self.current.server.shard) || !self.is_on_free_replica() {
            return Ok(());
        }
        let message = format!("Unknown database '{}'", String::from_utf8_lossy(database));
        Err(Failure::client(codes::ER_BAD_DB_ERROR, message))
    }

    fn may_lack(&self, failure: &Failure) -> bool {
        failure.fault != Fault::Weir && may_come_of_lag(failure.code) && self.is_on_free_replica()
    }

    /// A read is on a replica to which nothing binds the session, and its writer is there.
    fn is_on_free_replica(&self) -> bool {
        let free = self.transaction.begun_with_statement || !self.state.is_bound();
        free && self.target.is_read_on_reader() && self.has_writers(&[self.target.shard])
    }

    /// As far as is known, these shards' writers can be asked.
    pub(super) fn has_writers(&self, shards: &[usize]) -> bool {
        let has_writer =
            |shard: &usize| self.shared.shards[*shard].group.with_view(|view| view.writer_unusable.is_none());
        shards.iter().all(has_writer)
    }

    /// Which error of the statement's is not passed on.
    pub(super) fn keep(&self, class: &Class) -> Keep {
        if class.kind != TextKind::Multiple && self.is_on_free_replica() {
            return Keep::Lacking;
        }
        if self.can_be_run_on_another_writer(class) { Keep::ReadOnly } else { Keep::Nothing }
    }

    /// Whether a statement that the writer refuses because it is read-only may be run on another one: nothing was done on the
    /// connection that the session depends on.
    fn can_be_run_on_another_writer(&self, class: &Class) -> bool {
        const RUNS_SEVERAL: Pins =
            Pins::CALL.union(Pins::TEXT_PREPARE).union(Pins::UNKNOWN_FUNCTION).union(Pins::UNKNOWN_STATEMENT);
        let several = class.pins.intersects(RUNS_SEVERAL) || class.effects.contains(Effects::RUNS_OTHERS);
        let one = class.kind != TextKind::Multiple && !several;
        let on_writer = !self.target.on_reader && self.current.reader_life.is_none();
        let free = self.transaction.begun_with_statement || !self.state.is_bound();
        self.backends().splits && one && on_writer && free
    }

    /// What the client hears when no server has its position in time.
    pub(super) fn behind(&self) -> Failure {
        let message = "No server has reached the session's position in time";
        Failure::server(codes::CR_CONN_HOST_ERROR, message)
    }
}

/// Whether a read can have such an error on a replica alone, which has not heard yet of a database, a table, another thing or a right
/// that its writer has.
pub(super) fn may_come_of_lag(code: u16) -> bool {
    matches!(
        code,
        codes::ER_DBACCESS_DENIED_ERROR
            | codes::ER_NO_DB_ERROR
            | codes::ER_BAD_DB_ERROR
            | codes::ER_BAD_FIELD_ERROR
            | codes::ER_TABLEACCESS_DENIED_ERROR
            | codes::ER_COLUMNACCESS_DENIED_ERROR
            | codes::ER_NO_SUCH_TABLE
            | codes::ER_KEY_DOES_NOT_EXITS
            | codes::ER_FT_MATCHING_KEY_NOT_FOUND
            | codes::ER_SPECIFIC_ACCESS_DENIED_ERROR
            | codes::ER_SP_DOES_NOT_EXIST
            | codes::ER_VIEW_INVALID
            | codes::ER_PROCACCESS_DENIED_ERROR
            | codes::ER_NO_SUCH_USER
            | codes::ER_FUNC_INEXISTENT_NAME_COLLISION
            | codes::ER_UNKNOWN_PARTITION
            | codes::ER_UNKNOWN_SEQUENCES
    )
}
