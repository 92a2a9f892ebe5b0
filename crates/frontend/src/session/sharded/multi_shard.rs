//! Running a plan on the connections of several shards, and what follows from it for the session.
//!
//! What must always hold: while several shards run a statement, a kill reaches all of them, and the client's end ends it; afterwards
//! the session knows what the statement left (counts, insert id, warnings), as if one server had run it.

use std::sync::Arc;
use std::time::Instant;

use weir_admin::sessions::Interrupt;
use weir_backend::kill::Kill;
use weir_exec::read::{self, Cancel, Collations};
use weir_exec::workbench::Gathering;
use weir_exec::{LeftId, MultiShardResult, Request, ShardLease, write};
use weir_plan::{Computed, Read, Union, Write, WriteKind};
use weir_shards::Sharding;
use weir_sql::{Class, Effects};
use weir_wire::error::codes;
use weir_wire::packets::OkPacket;
use weir_wire::{Capabilities, Failure};

use super::super::Session;
use super::super::again::may_come_of_lag;
use super::super::condition::Condition;
use super::super::latest::{Diagnostics, Left};
use super::super::outcome::ReplyOutcome;
use super::super::relay::says_read_only;
use super::super::release::only_number;
use super::super::state::needs_insert_id;
use super::super::statement::Statement;
use super::super::stopped::{SessionEnd, Stopped};
use super::super::transaction::StatementLeases;
use super::mistakes::is_of_part;
use super::reading::Reading;
use super::resolve::Changed;
use super::returning;
use super::sink::{ClientFile, ClientSink};
use super::waiting::{Killing, Running, as_told, attend, conditions_of, running};
use crate::backends::places;
use crate::client::ClientError;

/// A statement that is a transaction by itself is run so often again after a deadlock before its client hears of it.
const DEADLOCKS: usize = 3;

impl Session {
    /// Runs a read of several shards, and answers the client.
    pub(super) async fn read_shards(&mut self, statement: &Statement<'_>, read: &Read) -> Result<(), Stopped> {
        self.read_as(statement, read, Reading::Of(read)).await
    }

    /// Runs expressions over the groups of several shards, and answers the client.
    pub(super) async fn read_computed(&mut self, statement: &Statement<'_>, read: &Computed) -> Result<(), Stopped> {
        self.read_as(statement, &read.groups, Reading::Computed(read)).await
    }

    /// Runs what reads the shards of `read`.
    async fn read_as(&mut self, statement: &Statement<'_>, read: &Read, what: Reading<'_>) -> Result<(), Stopped> {
        let shards = places(&read.shards);
        if !read.locks && self.read_on_replicas(statement, &shards, read.pin_time, what).await? {
            return Ok(());
        }
        let leased = self.leases_for(&shards, false).await?;
        self.read_leased(statement, &shards, read.pin_time, what, leased).await
    }

    /// Runs queries that are each read alone, and answers the client. What is asked of one shard in several queries is asked in one
    /// transaction, as one server looks at one state of its rows.
    pub(super) async fn read_union(&mut self, statement: &Statement<'_>, union: &Union) -> Result<(), Stopped> {
        let shards = places(&union.shards());
        let own = (union.asks_again() || self.temporary_catalog.is_some())
            && !self.is_or_begins_transaction()
            && !self.has_table_locks();
        let locks = union.parts.iter().any(|part| part.read.locks);
        let what = Reading::Union { union, own };
        if !own && !locks && self.read_on_replicas(statement, &shards, union.pin_time, what).await? {
            return Ok(());
        }
        let leased = match (own, locks) {
            (false, _) => self.leases_for(&shards, false).await?,
            (true, false) => self.leases_to_look(&shards).await?,
            (true, true) => self.leases_to_begin(&shards).await?,
        };
        self.read_leased(statement, &shards, union.pin_time, what, leased).await
    }

    /// Runs a read on replicas of its shards, as far as they may have it. False if it may not go there, or if before the client was told
    /// anything a server was lost, or one had no such table, say: then the writers are asked.
    async fn read_on_replicas(
        &mut self,
        statement: &Statement<'_>,
        shards: &[usize],
        timed: bool,
        what: Reading<'_>,
    ) -> Result<bool, Stopped> {
        if !self.is_outside_transactions() || self.transaction.unsent() {
            return Ok(false);
        }
        let Some(servers) = self.servers_of_read(statement.class, statement.hint, shards).await else {
            return Ok(false);
        };
        let leased = self.leases_of(servers).await?;
        match self.read_leased(statement, shards, timed, what, leased).await {
            Err(Stopped::Refused(failure))
                if self.may_ask_writers(shards, failure.code) && !self.handle.has(Interrupt::Query) =>
            {
                self.endpoint.metrics.reads_rerouted.inc();
                Ok(false)
            }
            read => read.map(|()| true),
        }
    }

    /// Whether a read that has failed on a replica is to be run on writers.
    fn may_ask_writers(&self, shards: &[usize], code: u16) -> bool {
        code == codes::CR_SERVER_LOST || may_come_of_lag(code) && self.has_writers(shards)
    }

    async fn read_leased(
        &mut self,
        statement: &Statement<'_>,
        shards: &[usize],
        timed: bool,
        what: Reading<'_>,
        mut leased: StatementLeases,
    ) -> Result<(), Stopped> {
        let ran = match self.make_alike(statement.class, timed, &mut leased).await {
            Ok(()) => self.run_read(&mut leased, what, &statement.request()).await,
            Err(failure) => Err(failure.into()),
        };
        self.read_done(statement.class, shards, leased, ran).await
    }

    /// The end of a read whose rows, or whose error, have been put out for the client.
    pub(super) async fn read_done(
        &mut self,
        class: &Class,
        shards: &[usize],
        mut leased: StatementLeases,
        ran: Result<MultiShardResult, Stopped>,
    ) -> Result<(), Stopped> {
        match ran {
            Ok(outcome) => {
                let failed = outcome.error.clone();
                let readers = std::mem::take(&mut leased.readers);
                let is_read_on = |shard: &usize| readers.iter().any(|(read, _)| read == shard);
                let writers: Vec<usize> = shards.iter().copied().filter(|shard| !is_read_on(shard)).collect();
                self.note_multi_shard(class, &writers, &outcome, &mut leased.parts).await;
                readers.iter().for_each(|(shard, reader)| self.note_read_on(*shard, reader));
                match (self.end_leases(leased, failed.clone()).await, failed) {
                    // The client has been told already.
                    (Err(Stopped::Refused(_)), Some(_)) => Ok(()),
                    (done, _) => done,
                }
            }
            Err(stopped) => {
                let failure = stopped.failure().unwrap_or_else(Session::interrupted_failure);
                // What was wrong is told by what has stopped it.
                let _ = self.end_leases(leased, Some(failure)).await;
                Err(stopped)
            }
        }
    }

    /// Runs a write of several shards, and answers the client.
    pub(super) async fn write_shards(
        &mut self,
        sharding: &Arc<Sharding>,
        asked: &Statement<'_>,
        write: &Write,
        changed: Option<&Changed<'_, '_>>,
    ) -> Result<(), Stopped> {
        let (class, binary) = match changed {
            None => (asked.class, asked.execution().is_some()),
            Some(changed) => (changed.asked.class, changed.asked.execution().is_some()),
        };
        let generated = changed.and_then(|changed| changed.insert_id);
        if let Some((shard, text)) = returning::of_one(write) {
            return match changed {
                None => self.return_of_one(asked, shard, text, generated).await,
                Some(changed) => self.return_of_one(changed.asked, shard, text, generated).await,
            };
        }
        let shards = places(&write.shards());
        self.have_permit_for_workbench(write.workbench()).await?;
        let (mut deadline, mut deadlocks) = (None, 0);
        let (leased, ran) = loop {
            let mut leased = self.leases_for(&shards, true).await?;
            let within = leased.are_within_transaction();
            let ran = match &write.kind {
                WriteKind::Load(_) => self.run_load(sharding, class, &mut leased.parts, write, within).await,
                _ => match self.lease_workbench(write.workbench()).await {
                    Ok(bench) => {
                        self.run_write(class, &mut leased.parts, bench, write, generated, within, binary).await
                    }
                    Err(stopped) => Err(stopped),
                },
            };
            // What a file or other statements told is not to be had again, and only its own transaction takes back what it has done.
            let once = changed.is_some_and(|changed| !changed.repeatable)
                || matches!(write.kind, WriteKind::Load(_))
                || !leased.are_in_own_transaction();
            let refused = match &ran {
                Ok(outcome) => outcome.error.as_ref(),
                Err(Stopped::Refused(failure)) => Some(failure),
                Err(_) => None,
            };
            let Some(refusal) = refused.filter(|_| !once).cloned() else { break (leased, ran) };
            // One server runs through the rows of such a statement in one order; the shards do at once.
            let killed = self.handle.has(Interrupt::Query);
            if refusal.code == codes::ER_LOCK_DEADLOCK && deadlocks < DEADLOCKS && !killed {
                deadlocks += 1;
                let _ = self.abandon_leases(leased, refusal).await;
                self.handle.clear(Interrupt::Deadlock);
                continue;
            }
            if !says_read_only(refusal.code, refusal.message.as_bytes()) {
                break (leased, ran);
            }
            let Some(writers) = self.writers_to_wait_for(&mut leased.parts).await else { break (leased, ran) };
            let _ = self.abandon_leases(leased, refusal.clone()).await;
            self.wait_for_writes(&writers, &refusal, &mut deadline).await?;
        };
        let mut outcome = match ran {
            Ok(outcome) => outcome,
            Err(stopped) => {
                let failure = stopped.failure().unwrap_or_else(Session::interrupted_failure);
                let _ = self.abandon_leases(leased, failure).await;
                return Err(stopped);
            }
        };
        if let Some(changed) = changed {
            changed.add_info(&mut outcome);
        }
        self.write_ended(class, &shards, leased, write, outcome).await
    }

    /// What a write leaves, and its answer to the client.
    async fn write_ended(
        &mut self,
        class: &Class,
        shards: &[usize],
        mut leased: StatementLeases,
        write: &Write,
        outcome: MultiShardResult,
    ) -> Result<(), Stopped> {
        // All copies of a GLOBAL table warn of the same.
        let copies = match &write.kind {
            WriteKind::Global(..) => true,
            WriteKind::Load(file) => file.copies,
            _ => false,
        };
        let warned = if copies { 1 } else { leased.parts.len() };
        self.note_multi_shard(class, shards, &outcome, &mut leased.parts[..warned]).await;
        if let WriteKind::Load(file) = &write.kind
            && let Err(failure) = self.take_variables(file, &outcome, &mut leased.parts).await
        {
            let _ = self.abandon_leases(leased, failure.clone()).await;
            return Err(failure.into());
        }
        self.end_leases(leased, outcome.error.clone()).await?;
        match &outcome.returned {
            Some(returned) => self.tell_returned(returned, &outcome).await?,
            None => self.answer_write(&outcome),
        }
        Ok(())
    }

    /// The OK of a statement that several shards have run.
    pub(super) fn answer_write(&mut self, outcome: &MultiShardResult) {
        let ok = OkPacket {
            affected_rows: outcome.affected,
            last_insert_id: outcome.insert_id,
            warnings: outcome.warnings,
            info: &outcome.info,
            ..OkPacket::plain(self.state.own_status())
        };
        self.client.put_ok(&ok);
    }

    #[expect(clippy::too_many_arguments, reason = "it is what a write runs with")]
    async fn run_write(
        &mut self,
        class: &Class,
        parts: &mut [ShardLease],
        mut bench: Option<StatementLeases>,
        write: &Write,
        generated: Option<u64>,
        within: bool,
        binary: bool,
    ) -> Result<MultiShardResult, Stopped> {
        let shared = self.shared.clone();
        let bench = bench.as_mut().and_then(|bench| bench.parts.first_mut());
        let running = running(parts.iter().chain(bench.as_deref()));
        let (killing, handle) = (self.killing(), self.handle.clone());
        let killer = killing.killer();
        let cancel = |target: read::Target| killer.killing(target.server, target.thread_id);
        let reading = self.reading(&shared.collations, &cancel);
        let sharding = self.endpoint.sharding.clone();
        let gathering = self.gathering();
        let own = self.writing(class, &reading, &gathering, generated);
        let session = write::WriteContext { in_transaction: within, binary, sharding: sharding.as_deref(), ..own };
        let client = Some(&mut self.client);
        let ended = attend(&handle, &running, &killer, client, write::run(parts, bench, write, &session)).await;
        self.note_gathered(&gathering);
        as_told(&handle, ended?).map_err(Stopped::Refused)
    }

    /// Takes the client's file, and sends its lines to their shards.
    async fn run_load(
        &mut self,
        sharding: &Arc<Sharding>,
        class: &Class,
        parts: &mut [ShardLease],
        write: &Write,
        within: bool,
    ) -> Result<MultiShardResult, Stopped> {
        if !self.client.capabilities.contains(Capabilities::LOCAL_FILES) {
            let message = "Loading local data is disabled; this must be enabled on both the client and server sides";
            return Err(Failure::client(codes::ER_CLIENT_LOCAL_FILES_DISABLED, message).into());
        }
        let shared = self.shared.clone();
        let (killing, running, handle) = (self.killing(), running(&*parts), self.handle.clone());
        let killer = killing.killer();
        let cancel = |target: read::Target| killer.killing(target.server, target.thread_id);
        let reading = self.reading(&shared.collations, &cancel);
        let gathering = self.gathering();
        let session = write::WriteContext { in_transaction: within, ..self.writing(class, &reading, &gathering, None) };
        let mut source = ClientFile::new(&mut self.client);
        let loading = write::load(parts, write, &session, sharding, &mut source);
        let ended = attend(&handle, &running, &killer, None, loading).await;
        match (source.into_error(), ended) {
            (Err(error), _) => Err(Stopped::Ended(error.into())),
            (Ok(true), ended) => as_told(&handle, ended?).map_err(Stopped::Refused),
            // The client still sends its file, and would take an answer for something else.
            (Ok(false), Ok(Err(failure)) | Err(Stopped::Refused(failure))) => {
                Err(Stopped::Ended(SessionEnd::Client(ClientError::Io(std::io::Error::other(failure.to_string())))))
            }
            (Ok(false), ended) => ended?.map_err(Stopped::Refused),
        }
    }

    pub(super) fn killing(&self) -> Killing {
        Killing { endpoint: self.endpoint.clone(), key: self.key.clone(), password: self.password.clone() }
    }

    pub(super) fn reading<'a>(&self, collations: &'a Collations, cancel: &'a Cancel<'a>) -> read::ReadContext<'a> {
        read::ReadContext {
            capabilities: self.client.capabilities,
            collations,
            cancel,
            transaction: self.told_of_own_transaction(),
        }
    }

    pub(super) fn writing<'a>(
        &self,
        class: &Class,
        reading: &'a read::ReadContext<'a>,
        gathering: &'a Gathering,
        generated: Option<u64>,
    ) -> write::WriteContext<'a> {
        let insert_id = match self.state.latest.last_insert_id {
            // What is generated by one shard beside others is told from what was there before.
            Left::Known(id) if needs_insert_id(class) || class.effects.contains(Effects::GENERATES_INSERT_ID) => {
                Some(id)
            }
            _ => None,
        };
        let sets_id = class.effects.contains(Effects::SETS_LAST_INSERT_ID);
        write::WriteContext {
            reading,
            in_transaction: false,
            insert_id,
            sets_id,
            generated,
            binary: false,
            sharding: None,
            gathering,
        }
    }

    pub(super) async fn run_read(
        &mut self,
        leased: &mut StatementLeases,
        what: Reading<'_>,
        request: &Request<'_>,
    ) -> Result<MultiShardResult, Stopped> {
        let (parts, on_replicas) = (&mut leased.parts[..], !leased.readers.is_empty());
        let running = running(&*parts);
        let reading = async |session: &read::ReadContext<'_>, sink: &mut ClientSink<'_>| match what {
            Reading::Of(read) => read::run(parts, read, request, session, sink).await,
            Reading::Computed(computed) => read::run_computed(parts, computed, request, session, sink).await,
            Reading::Union { union, own } => read::run_union(parts, union, request, session, own, sink).await,
        };
        self.run_reading(running, on_replicas, reading).await
    }

    /// Runs what puts a result out for the client, on these connections.
    pub(super) async fn run_reading(
        &mut self,
        running: Vec<Running>,
        on_replicas: bool,
        reading: impl AsyncFnOnce(&read::ReadContext<'_>, &mut ClientSink<'_>) -> Result<MultiShardResult, Failure>,
    ) -> Result<MultiShardResult, Stopped> {
        let shared = self.shared.clone();
        let (killing, handle) = (self.killing(), self.handle.clone());
        let killer = killing.killer();
        let cancel = |target: read::Target| killer.killing(target.server, target.thread_id);
        let session = self.reading(&shared.collations, &cancel);
        let mut sink = ClientSink::new(&mut self.client, &handle);
        // The sink sees that the client has gone.
        let ended = attend(&handle, &running, &killer, None, reading(&session, &mut sink)).await;
        match ended.map(|ended| as_told(&handle, ended)) {
            // The client has not seen it: the writers are asked.
            Ok(Ok(MultiShardResult { error: Some(lost), .. }))
                if on_replicas
                    && (lost.code == codes::CR_SERVER_LOST || may_come_of_lag(lost.code))
                    && sink.take_back() =>
            {
                Err(Stopped::Refused(lost))
            }
            // A server is asked what it says of the whole statement.
            Ok(Ok(MultiShardResult { error: Some(denied), .. })) if is_of_part(denied.code) && sink.take_back() => {
                Err(Stopped::Refused(denied))
            }
            Ok(Ok(outcome)) => {
                self.client.is_answered();
                Ok(outcome)
            }
            Ok(Err(failure)) => Err(match sink.into_error() {
                Some(error) => {
                    // Nobody waits for what still runs.
                    running.iter().for_each(|(server, thread)| killer.kill(server, *thread, Kill::Connection));
                    Stopped::Ended(error.into())
                }
                None => Stopped::Refused(failure),
            }),
            Err(Stopped::Refused(failure)) if !sink.take_back() => {
                Err(Stopped::Ended(SessionEnd::Client(ClientError::Io(std::io::Error::other(failure.to_string())))))
            }
            // An error would stand within the reply.
            Err(Stopped::Ended(SessionEnd::Told(_))) if !sink.take_back() => Err(Stopped::Ended(SessionEnd::Killed)),
            Err(stopped) => Err(stopped),
        }
    }

    /// Follows what a statement did that several shards have run.
    pub(super) async fn note_multi_shard(
        &mut self,
        class: &Class,
        shards: &[usize],
        outcome: &MultiShardResult,
        parts: &mut [ShardLease],
    ) {
        let now = Instant::now();
        for shard in shards {
            self.seen.of_mut(*shard).saw_writer(now);
        }
        let only_reads = class.effects.contains(Effects::READS) && !class.effects.contains(Effects::WRITES);
        let reads = only_reads || outcome.returned.is_some();
        let error = outcome.error.as_ref().map(|failure| (failure.code, failure.sqlstate));
        let said =
            ReplyOutcome { rows_sent: outcome.sent, rows_affected: outcome.affected, error, ..ReplyOutcome::default() };
        self.ran.note(self.target.place(), &said);
        let state = &mut self.state;
        state.latest.row_count = match (error, reads) {
            (Some(_), _) | (None, true) => -1,
            (None, false) => i64::try_from(outcome.affected).unwrap_or(i64::MAX),
        };
        if error.is_none() {
            if only_reads {
                state.latest.found_rows = Left::Known(outcome.sent);
                // What the session's own connection has counted is of a statement before.
                self.current.lease.iter_mut().for_each(|lease| lease.has_found_rows = false);
            }
            if let LeftId::Known(id) = outcome.left_id {
                state.latest.last_insert_id = Left::Known(id);
            }
        }
        state.latest.warnings = if error.is_some() { outcome.warnings.max(1) } else { outcome.warnings };
        if let Some(failure) = &outcome.error {
            state.latest.error = error;
            state.failed_here(failure);
            if class.effects.contains(Effects::GENERATES_INSERT_ID) {
                // A shard may have generated one for rows before the one that failed.
                parts.iter_mut().for_each(|part| part.lease.insert_id = None);
            }
            return;
        }
        state.latest.leaves_none_elsewhere();
        if outcome.warnings > 0 {
            let conditions = match &outcome.conditions {
                Some(rows) => rows.iter().cloned().filter_map(Condition::of_row).collect(),
                None => conditions_of(parts).await,
            };
            if !conditions.is_empty() {
                self.state.latest.diagnostics = Diagnostics::Learnt(conditions);
            }
        }
        if let (LeftId::OnPart, [part]) = (outcome.left_id, parts) {
            self.learn_id_of(part).await;
        }
    }

    /// One shard may have generated a value beside others: what LAST_INSERT_ID() is there is the session's.
    async fn learn_id_of(&mut self, part: &mut ShardLease) {
        let Ok(reply) = part.lease.ask("SELECT LAST_INSERT_ID() LIMIT 1").await else { return };
        let id = only_number(reply);
        part.lease.insert_id = id;
        if let Some(id) = id {
            self.state.latest.last_insert_id = Left::Known(id);
        }
    }
}
