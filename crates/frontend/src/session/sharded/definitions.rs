//! Definitions of logical tables, and the replies to them.
//!
//! What must always hold: a definition commits what is open before it, as on one server, and runs outside of any transaction, on
//! connections of its own, or on those that have the session's table locks.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use weir_backend::Defining;
use weir_ddl::define::{NotDefined, replacing};
use weir_ddl::{define, show};
use weir_exec::{MultiShardResult, ShardLease};
use weir_plan::InformationQuery;
use weir_shards::Sharding;
use weir_sql::ast::{self, StatementKind, UpkeepVerb};
use weir_sql::{Class, Dialect, LexMode, Pins};
use weir_wire::Failure;
use weir_wire::error::{codes, not_supported};

use super::super::Session;
use super::super::condition::Condition;
use super::super::latest::Diagnostics;
use super::super::statement::Statement;
use super::super::statement::decide::OneServer;
use super::super::stopped::{SessionEnd, Stopped};
use super::questions::of_new_table;
use super::sink::ClientSink;
use super::stopping::Attending;
use super::waiting::{attend, conditions_of, failure_told, running};
use crate::backends::places;

/// What of a session decides what a definition means.
pub(super) struct Surroundings {
    database: Option<Box<[u8]>>,
    mode: LexMode,
    settings: BTreeMap<String, String>,
    under_locks: bool,
}

impl Surroundings {
    pub(super) fn asked<'a>(&'a self, text: &'a [u8], statement: &'a ast::Statement<'a>) -> define::Asked<'a> {
        define::Asked {
            text,
            statement,
            database: self.database.as_deref(),
            mode: self.mode,
            settings: &self.settings,
            under_locks: self.under_locks,
        }
    }
}

impl Session {
    pub(super) fn surroundings(&self) -> Surroundings {
        let profile = &self.state.profile;
        Surroundings {
            database: profile.database.clone(),
            mode: self.state.lex,
            settings: profile.parsing_variables(),
            under_locks: self.has_table_locks(),
        }
    }

    /// Runs a definition on all shards that it concerns.
    pub(super) async fn define(&mut self, sharding: &Arc<Sharding>, asked: &Statement<'_>) -> Result<(), Stopped> {
        // Settings for its time alone stay in the text that servers are sent.
        let statement = match self.only_statement(asked)? {
            ast::Statement { kind: StatementKind::SetStatement(set), .. } => set.statement,
            statement => statement,
        };
        takes_no_lock(asked.class)?;
        if Box::pin(self.place_table(sharding, asked, statement)).await? {
            return Ok(());
        }
        let surroundings = self.surroundings();
        let wanted = surroundings.asked(asked.text, statement);
        match statement.kind {
            StatementKind::CreateTable(create) if create.temporary => {
                return Box::pin(self.make_temporary(sharding, asked, &wanted, create)).await;
            }
            StatementKind::DropTables(drop) if self.drops_temporary_too(sharding, drop) => {
                return Box::pin(self.drop_with_temporary(sharding, drop)).await;
            }
            _ => {}
        }
        let intent = match define::intend(&wanted, &sharding.catalog()) {
            Ok(intent) => intent,
            Err(failure) => match replacing::before(&wanted, &sharding.catalog()) {
                Some(before) => {
                    self.drop_replaced(sharding, asked, &wanted, &before).await?;
                    return Box::pin(self.define(sharding, asked)).await;
                }
                None if self.has_table_locks() && matches!(statement.kind, StatementKind::CreateTable(_)) => {
                    self.commit_for_definition().await?;
                    self.may_define_locked(statement, &[])?;
                    return Err(under_locks().into());
                }
                None => return Box::pin(self.define_filled(sharding, asked, &wanted, failure)).await,
            },
        };
        if let Some(intent) = intent.as_ref().filter(|_| self.has_table_locks()) {
            self.commit_for_definition().await?;
            self.may_define_locked(statement, &places(&intent.reached(&sharding.catalog())))?;
        }
        let outcome = match intent {
            Some(intent) => self.define_as_intended(sharding, asked, &wanted, intent).await?,
            None => None,
        };
        let Some(outcome) = outcome else {
            return Box::pin(self.run_on_server(asked, OneServer::default())).await;
        };
        self.follow_definition(statement);
        self.follow_locked_names(statement).await;
        self.answer_write(&outcome);
        Ok(())
    }

    /// Drops the table that another one is to replace, unless the user may not make that.
    async fn drop_replaced(
        &mut self,
        sharding: &Arc<Sharding>,
        asked: &Statement<'_>,
        wanted: &define::Asked<'_>,
        before: &replacing::Before,
    ) -> Result<(), Stopped> {
        if self.has_table_locks() {
            return Err(under_locks().into());
        }
        if before.filled.is_some() {
            self.may_be_filled(asked, false)?;
        }
        self.commit_for_definition().await?;
        let told = self.told_by(before.shard, &of_new_table(asked, wanted.statement)).await?;
        if let Some(failure) = told {
            return Err(failure.into());
        }
        if let Some(filled) = &before.filled {
            self.ask_definition(filled).await?;
        }
        self.define_text(sharding, before.drop.as_bytes()).await?;
        Ok(())
    }

    /// Runs a definition, without an answer to the client. `None`: it is about nothing that is sharded.
    pub(super) async fn define_as_intended(
        &mut self,
        sharding: &Arc<Sharding>,
        asked: &Statement<'_>,
        wanted: &define::Asked<'_>,
        intent: define::Intent,
    ) -> Result<Option<MultiShardResult>, Stopped> {
        self.commit_for_definition().await?;
        let shards = places(&intent.reached(&sharding.catalog()));
        let defined = match self.define_once(sharding, asked, (wanted, &shards), None).await? {
            Err(NotDefined::HasRows { tables, note, failure }) => {
                Box::pin(self.gather(tables, failure)).await?;
                self.define_once(sharding, asked, (wanted, &shards), Some(note)).await?
            }
            defined => defined,
        };
        Ok(defined.map_err(Failure::from)?)
    }

    /// The same, if no table has to be moved before. What the session knows of it is noted; `moved`: what is to be told of tables that were.
    async fn define_once(
        &mut self,
        sharding: &Arc<Sharding>,
        asked: &Statement<'_>,
        (wanted, shards): (&define::Asked<'_>, &[usize]),
        moved: Option<String>,
    ) -> Result<Result<Option<MultiShardResult>, NotDefined>, Stopped> {
        let statement = wanted.statement;
        let mut leased = match self.has_table_locks() {
            true => self.leases_locked(shards, false).await?,
            false => self.leases_outside(shards).await?,
        };
        leased.note_class(asked.class);
        let own = dropped_database(statement).and_then(|database| self.swap_own(database, &mut leased.parts));
        let (defined, stopped) = match self.attend_definition(sharding, wanted, &mut leased.parts).await {
            Ok(attended) => attended,
            Err(stopped) => {
                self.lose_locked(leased);
                return Err(stopped);
            }
        };
        let done = matches!(defined, Ok(Some(_)));
        if let Some(database) = dropped_database(statement).filter(|_| done) {
            leave_database(&mut leased.parts, database, true);
        }
        self.swap_back(own, &mut leased.parts)?;
        if let Some(database) = dropped_database(statement).filter(|_| !done) {
            leave_database(&mut leased.parts, database, false);
        }
        let outcome = match defined {
            Ok(Some(mut outcome)) => {
                outcome.warnings += u16::from(outcome.note.is_none() && moved.is_some());
                outcome.note = match (moved, outcome.note) {
                    (Some(moved), Some(note)) => Some(format!("{moved}. {note}")),
                    (moved, note) => moved.or(note),
                };
                outcome
            }
            Ok(None) => {
                self.end_leases(leased, None).await?;
                return Ok(Ok(None));
            }
            Err(not @ NotDefined::HasRows { .. }) => {
                self.end_leases(leased, None).await?;
                return Ok(Err(not));
            }
            Err(NotDefined::Failed(failure)) => {
                MultiShardResult { error: Some(failure), ..MultiShardResult::default() }
            }
        };
        self.note_multi_shard(asked.class, shards, &outcome, &mut []).await;
        self.note_warnings_alike(&outcome, &mut leased.parts).await;
        self.end_leases(leased, outcome.error.clone()).await?;
        if let Some(stopped) = stopped {
            return Err(stopped);
        }
        Ok(match outcome.error {
            Some(failure) => Err(failure.into()),
            None => Ok(Some(outcome)),
        })
    }

    /// Waits for a definition, or until it has been stopped. With its end: that of the session, if it has come meanwhile.
    async fn attend_definition(
        &mut self,
        sharding: &Arc<Sharding>,
        wanted: &define::Asked<'_>,
        parts: &mut [ShardLease],
    ) -> Result<(Result<Option<MultiShardResult>, NotDefined>, Option<Stopped>), Stopped> {
        let (killing, running, handle) = (self.killing(), running(&*parts), self.handle.clone());
        let stage = define::Stage::default();
        let mariadb = self.state.lex.dialect == Dialect::MariaDb;
        let killer = killing.killer();
        let attending = Attending { handle: &handle, running: &running, killer, stage: &stage, mariadb };
        let _defining: Vec<Defining> = parts.iter().map(|part| Defining::on(&part.lease.server)).collect();
        let what = Box::pin(define::define(wanted, sharding, &sharding.definitions, parts, &stage));
        let (defined, stopped) = attending.attend(&mut self.client, what).await?;
        let defined = defined.map_err(|not| match not {
            NotDefined::Failed(failure) => NotDefined::Failed(failure_told(&handle, failure)),
            has_rows => has_rows,
        });
        Ok((defined, stopped))
    }

    /// A session that something binds drops its own default database: the connection that it is bound to runs that on its shard. It would
    /// have that database for ever, as there is no other way to leave one. Returns the part that has it now.
    fn swap_own(&mut self, database: &[u8], parts: &mut [ShardLease]) -> Option<usize> {
        let bound = self.state.is_bound();
        let (at, lease) = (self.current.server, self.current.lease.as_mut().filter(|lease| bound && lease.is_clean())?);
        if lease.profile().database.as_deref() != Some(database) {
            return None;
        }
        let is_there = |part: &ShardLease| usize::from(part.shard.0) == at.shard && part.index == at.index;
        let own = parts.iter().position(is_there)?;
        std::mem::swap(lease, &mut parts[own].lease);
        Some(own)
    }

    /// The session's connection is its own again.
    ///
    /// # Errors
    /// The session's end: the connection has been lost, and what was bound to it.
    fn swap_back(&mut self, own: Option<usize>, parts: &mut [ShardLease]) -> Result<(), Stopped> {
        let (Some(part), Some(lease)) = (own.and_then(|own| parts.get_mut(own)), self.current.lease.as_mut()) else {
            return Ok(());
        };
        std::mem::swap(lease, &mut part.lease);
        if lease.is_clean() {
            return Ok(());
        }
        let failure = lease.server.lost("the connection to which the session was bound broke");
        self.lose_lease();
        Err(Stopped::Ended(SessionEnd::Told(failure)))
    }

    /// Of a statement that shards run alike: what several of them warn of is told once.
    pub(super) async fn note_warnings_alike(&mut self, outcome: &MultiShardResult, parts: &mut [ShardLease]) {
        if let Some(failure) = &outcome.error {
            return self.note_beside_error(failure, parts).await;
        }
        if outcome.warnings == 0 {
            return;
        }
        let mut told: Vec<Condition> = Vec::new();
        // Where servers have no warning a connection that was not needed may still have an older one.
        let asked = if outcome.warnings > u16::from(outcome.note.is_some()) { parts } else { &mut [] };
        for part in asked {
            let mut known = told.clone();
            for condition in conditions_of(std::slice::from_mut(part)).await {
                match known.iter().position(|other| *other == condition) {
                    Some(at) => drop(known.swap_remove(at)),
                    None => told.push(condition),
                }
            }
        }
        told.extend(outcome.note.as_deref().map(Condition::note));
        if !told.is_empty() {
            self.state.latest.diagnostics = Diagnostics::Learnt(told);
        }
    }

    /// What a server has said beside the error that a statement ended with there: InnoDB tells in this way why a foreign key can't be.
    async fn note_beside_error(&mut self, failure: &Failure, parts: &mut [ShardLease]) {
        let error = Condition::error(failure);
        for part in parts {
            let conditions = conditions_of(std::slice::from_mut(part)).await;
            if !conditions.contains(&error) {
                continue;
            }
            // Of an error alone more is known: its SQLSTATE.
            if conditions.len() > 1 {
                self.state.latest.told = conditions;
            }
            return;
        }
    }

    /// What a definition does to the session: a database that is dropped is nobody's default any more.
    fn follow_definition(&mut self, statement: &ast::Statement<'_>) {
        let Some(database) = dropped_database(statement) else { return };
        if self.state.profile.database.as_deref() == Some(database) {
            self.state.profile = Rc::new(self.state.profile.with_database(None));
            self.handle.info().database = None;
        }
    }

    /// Answers a statement about logical tables.
    pub(super) async fn run_show(&mut self, sharding: &Arc<Sharding>, asked: &Statement<'_>) -> Result<(), Stopped> {
        let binary = asked.execution().is_some();
        match self.text_with_values(asked)? {
            Some(text) => self.show(sharding, &asked.resolved(&text), binary).await,
            None => self.show(sharding, asked, binary).await,
        }
    }

    /// The same, of a text without parameters. `binary`: the client wants rows as for a prepared statement.
    async fn show(&mut self, sharding: &Arc<Sharding>, asked: &Statement<'_>, binary: bool) -> Result<(), Stopped> {
        let statement = self.only_statement(asked)?;
        takes_no_lock(asked.class)?;
        let surroundings = self.surroundings();
        let wanted = surroundings.asked(asked.text, statement);
        let mut shards = places(&show::shards(&wanted, &sharding.catalog())?);
        if show::may_lack_shards(&statement.kind) {
            let first = shards.first().copied();
            shards.retain(|shard| Some(*shard) == first || self.has_writers(&[*shard]));
        }
        let upkeep = show::upkeep(&statement.kind);
        let works = upkeep.is_some() || matches!(statement.kind, StatementKind::Flush(_));
        let mut leased = if upkeep == Some(UpkeepVerb::Checksum) {
            // It reads rows, as the session's transaction sees them.
            self.leases_for(&shards, false).await?
        } else {
            let locked = works && self.has_table_locks();
            if locked && !self.has_locks_on(&shards) {
                return Err(under_locks().into());
            }
            if works {
                self.commit_for_definition().await?;
            }
            match locked {
                true => self.leases_locked(&shards, false).await?,
                false => self.leases_outside(&shards).await?,
            }
        };
        leased.note_class(asked.class);
        let client = show::Client { capabilities: self.client.capabilities, binary };
        let (killing, running, handle) = (self.killing(), running(&leased.parts), self.handle.clone());
        let mut sink = ClientSink::new(&mut self.client, &handle);
        let answer = show::answer(&wanted, sharding, client, &mut leased.parts, &mut sink);
        let told = match attend(&handle, &running, &killing.killer(), None, answer).await {
            Err(stopped) => Err(stopped),
            // The client is told why the shard has not let the session into its database.
            Ok(Ok(MultiShardResult { error: Some(outside), .. }))
                if outside.code == codes::ER_NO_DB_ERROR && sink.take_back() =>
            {
                Err(Stopped::Refused(outside))
            }
            Ok(Ok(outcome)) => {
                self.client.is_answered();
                Ok(outcome)
            }
            Ok(Err(failure)) => Err(match sink.into_error() {
                Some(error) => Stopped::Ended(error.into()),
                None => Stopped::Refused(failure),
            }),
        };
        self.read_done(asked.class, &shards, leased, told).await?;
        Ok(())
    }

    /// Puts into the text of a query over `information_schema` what other shards tell. These are asked outside of the session's transaction,
    /// to which their answers would not belong.
    pub(super) async fn run_information_schema(
        &mut self,
        sharding: &Arc<Sharding>,
        asked: &Statement<'_>,
        inform: &InformationQuery,
    ) -> Result<(), Stopped> {
        let shards = places(&inform.shards());
        let mut leased = self.leases_outside(&shards).await?;
        let capabilities = self.client.capabilities;
        let completed =
            show::information::complete(inform, asked.text, capabilities, sharding, &mut leased.parts).await;
        let failed = completed.as_ref().err().cloned();
        self.end_leases(leased, failed).await?;
        let home = usize::from(inform.home.0);
        let course = OneServer { shard: Some(home), text: Some(completed?), raise: None };
        Box::pin(self.run_on_server(asked, course)).await
    }

    /// The statement of a text that has one.
    pub(super) fn only_statement<'a>(&self, asked: &Statement<'a>) -> Result<&'a ast::Statement<'a>, Failure> {
        let parsed = asked.parsed().map_err(|error| self.syntax_error(error))?;
        match parsed.statements {
            [statement] => Ok(statement),
            _ => Err(not_supported(
                "Definitions of sharded databases can't be combined with other statements: send each in a text of its own",
            )),
        }
    }
}

/// What runs on connections of its own would wait there for the session's locks.
pub(in crate::session) fn under_locks() -> Failure {
    not_supported(
        "This statement about sharded tables while the session has locked tables: it runs on connections of its own, which would wait for \
         these locks. UNLOCK TABLES first; to load a dump, SET weir_lock_tables = 'ignore'",
    )
}

/// # Errors
/// It calls `GET_LOCK()`: the lock would be that of a connection of the statement's own.
fn takes_no_lock(class: &Class) -> Result<(), Failure> {
    match class.pins.contains(Pins::USER_LOCK) {
        true => Err(not_supported("GET_LOCK() in a definition or SHOW of a sharded database: SELECT it before")),
        false => Ok(()),
    }
}

/// The database that a statement drops. MariaDB's CREATE OR REPLACE DATABASE does too.
fn dropped_database<'a>(statement: &ast::Statement<'a>) -> Option<&'a [u8]> {
    match statement.kind {
        StatementKind::DropDatabase(drop) => Some(drop.name.name),
        StatementKind::CreateDatabase(create) if create.or_replace => Some(create.name.name),
        _ => None,
    }
}

/// A connection that drops its default database has none afterwards, and is not to be taken for one that has.
fn leave_database(parts: &mut [ShardLease], database: &[u8], dropped: bool) {
    for part in parts {
        let default = part.lease.profile().database.as_deref();
        if dropped && default == Some(database) {
            let profile = part.lease.profile().with_database(None);
            part.lease.set_profile(Rc::new(profile));
        } else if default.is_some_and(|default| default.eq_ignore_ascii_case(database)) {
            // Whether it is this one, or was dropped there, is not known.
            part.lease.retired = true;
        }
    }
}
