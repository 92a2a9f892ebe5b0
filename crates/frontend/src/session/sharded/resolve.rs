//! Writes that lack values: what the rows of INSERT … SELECT are, and what says on which shard a row is.
//!
//! What must always hold: values are found in two stages, each run at most once: a query's rows, then values of the rows that there are.
//! They are literals then, in a text of which nothing else has to be known.

use std::sync::Arc;

use weir_exec::write::{self, Resolved};
use weir_exec::{MultiShardResult, ShardLease, read};
use weir_plan::{Duplicates, Plan, Resolve, Returns, Route, RowSource, Write, WriteKind};
use weir_shards::Sharding;
use weir_sql::ast::{self, StatementKind};
use weir_wire::error::not_supported;

use super::super::Session;
use super::super::statement::Statement;
use super::super::stopped::Stopped;
use super::super::transaction::StatementLeases;
use super::waiting::{attend, failure_told, running};
use crate::backends::places;

/// What was found out for a statement, and put into its text.
pub(super) struct Changed<'s, 'a> {
    /// The first value that was generated for AUTO_INCREMENT.
    pub(super) insert_id: Option<u64>,
    /// As the client has asked it.
    pub(super) asked: &'s Statement<'a>,
    /// The rows that it returns.
    pub(super) returns: Option<Returns>,
    /// How many rows its query had, if it is an INSERT … SELECT.
    pub(super) rows: Option<u64>,
    /// Nothing was read for it: the text may be run again, in another transaction.
    pub(super) repeatable: bool,
}

impl Changed<'_, '_> {
    /// A server that was sent one row of values tells no info, and the client's statement has one.
    pub(super) fn add_info(&self, outcome: &mut MultiShardResult) {
        if self.rows != Some(1) || outcome.error.is_some() || !outcome.info.is_empty() {
            return;
        }
        let Some(ast::Statement { kind: StatementKind::Insert(insert), .. }) = self.asked.only() else { return };
        let duplicates = match (insert.ignore, insert.replace || !insert.on_duplicate.is_empty()) {
            (true, _) => Duplicates::Ignore,
            (false, true) => Duplicates::Change,
            (false, false) => Duplicates::Error,
        };
        outcome.info = write::info_of_one(outcome, duplicates);
    }
}

impl Session {
    /// Finds out the values that a write lacks, puts them into its text, and runs that as it is planned then.
    pub(super) async fn run_resolved(
        &mut self,
        sharding: &Arc<Sharding>,
        statement: &Statement<'_>,
        write: &Write,
        wanted: &Resolve,
    ) -> Result<(), Stopped> {
        let mut returns = write.returns.clone();
        // What is said of the next transaction alone is used up by what is read.
        let may_write = self.may_write();
        let mut found = self.resolve_values(sharding, write, wanted, statement).await?;
        if let Some(outcome) = found.nothing() {
            self.end_statement(true).await?;
            // The query's rows would have told it.
            if let Some(mistake) = self.mistake_in(sharding, statement).await? {
                return Err(mistake.into());
            }
            // Such a transaction may write to the session's temporary tables.
            if !self.inserts_into_temporary(sharding, statement) {
                may_write?;
            }
            if let Some((shard, text)) = wanted.none.clone() {
                let reason = "no row is written, and a server describes those that are returned".to_owned();
                let plan = Plan::Route(Route { shard, text: None, raise: None, reason });
                let changed =
                    Changed { insert_id: None, asked: statement, returns, rows: found.rows, repeatable: false };
                return self.run_final(sharding, &statement.resolved(&text), plan, Some(&changed)).await;
            }
            self.note_multi_shard(statement.class, &[], &outcome, &mut []).await;
            self.answer_write(&outcome);
            return Ok(());
        }
        let rows = found.rows;
        let mut plan = self.plan_resolved(sharding, &statement.resolved(&found.text)).await?;
        if wanted.rows.is_some()
            && let Plan::Write(write @ Write { kind: WriteKind::Resolve(values), .. }) = &plan
        {
            returns.clone_from(&write.returns);
            found = self.resolve_values(sharding, write, values, &statement.resolved(&found.text)).await?;
            plan = self.plan_resolved(sharding, &statement.resolved(&found.text)).await?;
        }
        if matches!(&plan, Plan::Write(Write { kind: WriteKind::Resolve(_), .. })) {
            let message =
                "The statement's values can't be written as literals: compute them first, and write them yourself";
            return Err(not_supported(message).into());
        }
        let repeatable = rows.is_none() && write.shards().is_empty();
        let changed = Changed { insert_id: found.insert_id, asked: statement, returns, rows, repeatable };
        self.run_final(sharding, &statement.resolved(&found.text), plan, Some(&changed)).await
    }

    async fn plan_resolved(&mut self, sharding: &Arc<Sharding>, statement: &Statement<'_>) -> Result<Plan, Stopped> {
        if let Some(catalog) = self.temporary_catalog.clone() {
            return self.plan_in(sharding, &catalog, statement).await;
        }
        match self.cached_plan(sharding, statement) {
            Some(plan) => Ok(plan),
            None => Ok(self.plan(sharding, statement).await?.plan),
        }
    }

    /// Finds out what a write's text needs, and puts it there.
    async fn resolve_values(
        &mut self,
        sharding: &Arc<Sharding>,
        write: &Write,
        wanted: &Resolve,
        asked: &Statement<'_>,
    ) -> Result<Resolved, Stopped> {
        let shards = places(&write.shards());
        if shards.is_empty() {
            return self.generate_values(sharding, wanted, asked).await;
        }
        self.have_permit_for_workbench(write.workbench()).await?;
        let mut leased = match write.is_transactional() {
            true => self.leases_to_begin(&shards).await?,
            false => self.leases_for(&shards, false).await?,
        };
        let timed = wanted.rows.as_ref().is_some_and(RowSource::pin_time);
        let resolved = match self.make_alike(asked.class, timed, &mut leased).await {
            Ok(()) => match self.lease_workbench(write.workbench()).await {
                Ok(bench) => self.run_resolve(sharding, &mut leased.parts, bench, wanted, asked).await,
                Err(stopped) => Err(stopped),
            },
            Err(failure) => Err(failure.into()),
        };
        let failed =
            resolved.as_ref().err().map(|stopped| stopped.failure().unwrap_or_else(Session::interrupted_failure));
        let done = self.end_leases(leased, failed).await;
        let resolved = resolved?;
        done.map(|()| resolved)
    }

    /// The same, of values that no server is asked for: sequences generate them.
    async fn generate_values(
        &mut self,
        sharding: &Arc<Sharding>,
        wanted: &Resolve,
        asked: &Statement<'_>,
    ) -> Result<Resolved, Stopped> {
        let keeper = wanted.generate.as_ref().map(|generate| usize::from(generate.keeper.0));
        let mut deadline = None;
        loop {
            let writer = keeper.map(|shard| (shard, self.shared.shards[shard].writer()));
            match (self.run_resolve(sharding, &mut [], None, wanted, asked).await, writer) {
                (Err(Stopped::Refused(failure)), Some(writer)) => {
                    self.wait_for_sequence(writer, failure, &mut deadline).await?;
                }
                (found, _) => return found,
            }
        }
    }

    async fn run_resolve(
        &mut self,
        sharding: &Arc<Sharding>,
        parts: &mut [ShardLease],
        mut bench: Option<StatementLeases>,
        wanted: &Resolve,
        asked: &Statement<'_>,
    ) -> Result<Resolved, Stopped> {
        let (class, text) = (asked.class, asked.text);
        let shared = self.shared.clone();
        let bench = bench.as_mut().and_then(|bench| bench.parts.first_mut());
        let running = running(parts.iter().chain(bench.as_deref()));
        let (killing, handle) = (self.killing(), self.handle.clone());
        let killer = killing.killer();
        let cancel = |target: read::Target| killer.killing(target.server, target.thread_id);
        let reading = self.reading(&shared.collations, &cancel);
        let gathering = self.gathering();
        let session = self.writing(class, &reading, &gathering, None);
        let resolving = write::resolve(parts, bench, wanted, text, &session, &sharding.sequences);
        let ended = attend(&handle, &running, &killer, Some(&mut self.client), resolving).await;
        self.note_gathered(&gathering);
        ended?.map_err(|failure| Stopped::Refused(failure_told(&handle, failure)))
    }
}
