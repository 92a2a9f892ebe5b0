//! Queries that run on a workbench, over rows gathered from several shards.
//!
//! What must always hold: what is gathered from one shard is of one state of its rows; in a transaction, of the transaction's. The
//! workbench's connection is the statement's own, and goes back to its pool without what was gathered, or is closed.

use weir_catalog::ShardId;
use weir_exec::workbench::{self, Gathering};
use weir_exec::{MultiShardResult, read};
use weir_plan::Workbench;
use weir_sql::{Effects, TextKind};
use weir_wire::{Failure, StatusFlags};

use super::super::Session;
use super::super::latest::{Diagnostics, Left};
use super::super::release::only_number;
use super::super::statement::Statement;
use super::super::stopped::{SessionEnd, Stopped};
use super::super::transaction::StatementLeases;
use super::sink::ClientSink;
use super::waiting::running;
use crate::backends::{place, places};

impl Session {
    /// What a statement gathers, within the bounds that hold now.
    pub(super) fn gathering(&self) -> Gathering {
        Gathering::new(self.endpoint.settings.load().gathering)
    }

    /// Counts what a statement has gathered, however it has ended.
    pub(super) fn note_gathered(&mut self, gathering: &Gathering) {
        let Some(gathered) = gathering.gathered() else { return };
        let metrics = &self.endpoint.metrics;
        metrics.workbench_statements.inc();
        metrics.workbench_rows.inc_by(gathered.rows);
        metrics.workbench_bytes.inc_by(gathered.bytes);
        self.ran.note_gathered(gathered);
    }

    /// A workbench's connection is waited for while the session has others.
    pub(super) async fn have_permit_for_workbench(&mut self, home: Option<ShardId>) -> Result<(), Stopped> {
        match home {
            Some(_) => self.have_multi_shard_permit().await,
            None => Ok(()),
        }
    }

    /// The connection to a statement's workbench, if it takes one.
    pub(super) async fn lease_workbench(&mut self, home: Option<ShardId>) -> Result<Option<StatementLeases>, Stopped> {
        match home {
            Some(home) => self.additional_lease(place(home)).await.map(Some),
            None => Ok(None),
        }
    }

    /// Runs a query on the workbench, and answers the client.
    pub(super) async fn read_on_workbench(
        &mut self,
        statement: &Statement<'_>,
        plan: &Workbench,
    ) -> Result<(), Stopped> {
        let shards = places(&plan.shards());
        self.have_permit_for_workbench(Some(plan.home)).await?;
        let own = (plan.asks_again() || self.temporary_catalog.is_some())
            && !self.is_or_begins_transaction()
            && !self.has_table_locks();
        let mut leased = match (own, plan.locks()) {
            (false, _) => self.leases_for(&shards, false).await?,
            (true, false) => self.leases_to_look(&shards).await?,
            (true, true) => self.leases_to_begin(&shards).await?,
        };
        let mut bench = match self.lease_workbench(Some(plan.home)).await {
            Ok(Some(bench)) => bench,
            Ok(None) => return self.read_done(statement.class, &shards, leased, Err(no_workbench().into())).await,
            Err(stopped) => return self.read_done(statement.class, &shards, leased, Err(stopped)).await,
        };
        let ran = self.run_on_workbench(statement, plan, own, &mut leased, &mut bench).await;
        if !plan.returns && matches!(&ran, Ok(outcome) if outcome.error.is_none()) {
            // Its OK comes at the end.
            self.client.awaits_answer();
        }
        let ran = match ran {
            Ok(outcome) => self.note_workbench(statement, plan, &shards, &outcome, &mut bench).await.map(|()| outcome),
            Err(stopped) => Err(stopped),
        };
        if let [bench] = &mut bench.parts[..] {
            workbench::clear(bench, plan).await;
        }
        drop(bench);
        match ran {
            Ok(outcome) => match (self.end_leases(leased, outcome.error.clone()).await, &outcome.error) {
                // The client has been told already.
                (Err(Stopped::Refused(_)), Some(_)) => Ok(()),
                (Ok(()), None) if !plan.returns => {
                    self.answer_write(&outcome);
                    Ok(())
                }
                (done, _) => done,
            },
            Err(stopped) => self.read_done(statement.class, &shards, leased, Err(stopped)).await,
        }
    }

    /// Follows what a statement has left on the workbench. The shards' own replies have left nothing that is the session's.
    async fn note_workbench(
        &mut self,
        statement: &Statement<'_>,
        plan: &Workbench,
        shards: &[usize],
        outcome: &MultiShardResult,
        bench: &mut StatementLeases,
    ) -> Result<(), Stopped> {
        let class = statement.class;
        let found_rows = self.state.latest.found_rows;
        let assigns = class.effects.contains(Effects::SETS_USER_VARIABLES);
        // A connection that is retired is asked nothing; while it answers, it is closed by whatever ends the statement.
        bench.parts.iter_mut().for_each(|bench| bench.lease.retired = false);
        self.note_multi_shard(class, shards, outcome, &mut bench.parts).await;
        if let Diagnostics::Learnt(conditions) = &mut self.state.latest.diagnostics {
            for condition in conditions {
                let told = workbench::with_tables(&String::from_utf8_lossy(&condition.message), &plan.fragments);
                condition.message = told.map_or_else(|| std::mem::take(&mut condition.message), String::into_bytes);
            }
        }
        let [bench] = &mut bench.parts[..] else { return Ok(()) };
        if outcome.error.is_some() {
            // What was assigned before the error stays.
            if assigns && bench.lease.is_clean() {
                self.take_assigned(statement, bench).await?;
            }
            return Ok(());
        }
        if !plan.returns {
            self.state.latest.row_count = i64::try_from(outcome.affected).unwrap_or(i64::MAX);
            self.state.latest.found_rows =
                if class.kind == TextKind::Select { Left::Known(outcome.affected) } else { found_rows };
        }
        if class.effects.contains(Effects::CALC_FOUND_ROWS) {
            let counted = only_number(bench.lease.ask("SELECT FOUND_ROWS() LIMIT 1").await?);
            self.state.latest.found_rows = counted.map_or(Left::OnConnection, Left::Known);
        }
        if assigns && let Err(failure) = self.take_assigned(statement, bench).await {
            // Its rows have been sent: the session can't go on with other values than the client takes for granted.
            return Err(if plan.returns { Stopped::Ended(SessionEnd::Told(failure)) } else { failure.into() });
        }
        Ok(())
    }

    async fn run_on_workbench(
        &mut self,
        statement: &Statement<'_>,
        plan: &Workbench,
        own: bool,
        leased: &mut StatementLeases,
        bench: &mut StatementLeases,
    ) -> Result<MultiShardResult, Stopped> {
        self.make_alike(statement.class, false, leased).await?;
        self.make_alike(statement.class, false, bench).await?;
        let [bench] = &mut bench.parts[..] else { return Err(no_workbench().into()) };
        let parts = &mut leased.parts[..];
        let all = running(parts.iter().chain([&*bench]));
        let request = statement.request();
        // A transaction of the statement's own is none of the client's.
        let transaction = Some(if own { StatusFlags::AUTOCOMMIT } else { self.state.own_status() });
        let gathering = self.gathering();
        let reading = async |session: &read::ReadContext<'_>, sink: &mut ClientSink<'_>| {
            let session = read::ReadContext { transaction, ..*session };
            workbench::run(parts, bench, plan, &request, &session, &gathering, sink).await
        };
        let ran = self.run_reading(all, false, reading).await;
        self.note_gathered(&gathering);
        ran
    }
}

fn no_workbench() -> Failure {
    Failure::weir(weir_wire::error::codes::ER_UNKNOWN_ERROR, "a query on the workbench was given no connection to it")
}
