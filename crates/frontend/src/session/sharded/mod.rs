//! Statements about sharded databases: planned, and run on one shard as any other, or on several at once.
//!
//! What must always hold: a statement is planned and run with one snapshot of the catalog; one that names a table of a sharded database
//! runs nowhere without a plan, unless the session has chosen its shard itself (`weir_shard`).

mod cached;
pub(super) mod definitions;
mod explain;
mod filled;
mod locks;
mod mistakes;
mod moving;
mod multi_shard;
mod multi_statement;
mod placement;
pub(super) mod planning;
mod programs;
mod questions;
mod reading;
mod resolve;
mod returning;
mod select_limit;
mod sequences;
mod sink;
mod stepwise;
mod stopping;
mod temporary;
mod variables;
mod views;
mod waiting;
mod workbench;

use std::sync::Arc;

use weir_catalog::ShardId;
use weir_plan::{Plan, Route, SharedValues, Write, WriteKind};
use weir_shards::Sharding;
use weir_sql::ast::StatementKind;
use weir_sql::{Class, Effects, Lexer, Pins, TextKind};
use weir_wire::Failure;
use weir_wire::error::{codes, not_supported};

use super::Session;
use super::statement::Statement;
use super::statement::decide::OneServer;
use super::stopped::Stopped;
use resolve::Changed;

impl Session {
    /// What is known of shards, if there are several and the session has not chosen one for all that it runs.
    pub(super) fn sharding(&self) -> Option<Arc<Sharding>> {
        self.endpoint.sharding.clone().filter(|_| self.chosen_shard.is_none())
    }

    /// The plan of a statement that may be about several shards.
    pub(super) async fn plan_statement(&mut self, statement: &Statement<'_>) -> Result<Plan, Stopped> {
        self.temporary_catalog = None;
        let Some(sharding) = self.sharding() else { return Ok(Plan::Home) };
        if sharding.catalog().databases.is_empty() && !may_define(statement.class) {
            return Ok(Plan::Home);
        }
        self.heed_moves(&sharding, statement.text).await?;
        if !self.needs_more_than_plan(statement)
            && let Some(plan) = self.cached_plan(&sharding, statement)
        {
            return Ok(plan);
        }
        match Box::pin(self.plan_anew(&sharding, statement)).await {
            Err(refused) => Err(Box::pin(self.or_its_mistake(&sharding, statement, refused)).await),
            planned => planned,
        }
    }

    /// Has the values at hand that a plan may need, and makes it.
    async fn plan_anew(&mut self, sharding: &Arc<Sharding>, statement: &Statement<'_>) -> Result<Plan, Stopped> {
        self.learn_values_for(statement).await?;
        match self.plan_with_temporary(sharding, statement).await? {
            Some(plan) => Ok(plan),
            None => Ok(self.plan(sharding, statement).await?.plan),
        }
    }

    /// Runs a plan on several shards, and ends the transaction that it may have begun for the statement alone.
    pub(super) async fn run_plan(&mut self, statement: &Statement<'_>, plan: Plan) -> Result<(), Stopped> {
        let Some(sharding) = self.sharding() else { return Err(not_supported("There are no shards").into()) };
        let said = (!self.state.in_transaction()).then(|| self.said_of_transaction());
        let ran = self.run_limited(&sharding, statement, plan).await;
        self.temporary_catalog = None;
        self.end_statement(false).await?;
        if let (Err(Stopped::Refused(failure)), Some(said)) = (&ran, said)
            && failure.code == codes::ER_CANT_EXECUTE_IN_READ_ONLY
        {
            // A server would have begun no transaction for it.
            self.say_again(said);
        }
        match ran {
            Err(refused) => Err(Box::pin(self.or_its_mistake(&sharding, statement, refused)).await),
            Ok(()) => Ok(()),
        }
    }

    /// Runs a plan, after what has to be known for it.
    async fn run_planned(
        &mut self,
        sharding: &Arc<Sharding>,
        statement: &Statement<'_>,
        plan: Plan,
    ) -> Result<(), Stopped> {
        if spells_views_out(&plan) {
            Box::pin(self.may_use_views(sharding, statement)).await?;
        }
        match &plan {
            Plan::Write(write @ Write { kind: WriteKind::Resolve(wanted), .. }) => {
                self.run_resolved(sharding, statement, write, wanted).await
            }
            _ => self.run_final(sharding, statement, plan, None).await,
        }
    }

    /// Runs a plan that needs nothing else to be known. `changed`: its text is no longer the client's.
    async fn run_final(
        &mut self,
        sharding: &Arc<Sharding>,
        statement: &Statement<'_>,
        plan: Plan,
        changed: Option<&Changed<'_, '_>>,
    ) -> Result<(), Stopped> {
        if statement.values().is_some()
            && let Some(refusal) = not_by_sql_prepare(&plan)
        {
            return Err(not_supported(refusal).into());
        }
        self.refuse_last_row(statement)?;
        self.refuse_unsafe_write(statement, &plan)?;
        match self.limit_lifted(statement, plan)? {
            Plan::Home => self.run_on_server(statement, OneServer::default()).await,
            Plan::Route(Route { shard, text, reason, raise }) => {
                let text = text.unwrap_or_else(|| statement.text.to_vec());
                let kind = WriteKind::Everywhere(vec![shard], text);
                let returns = changed.and_then(|changed| changed.returns.clone());
                let write = Write { kind, alike: SharedValues::default(), raise, returns, reason };
                self.write_shards(sharding, statement, &write, changed).await
            }
            Plan::Read(read) => self.read_shards(statement, &read).await,
            Plan::Union(union) => self.read_union(statement, &union).await,
            Plan::Computed(computed) => self.read_computed(statement, &computed).await,
            Plan::Workbench(workbench) => self.read_on_workbench(statement, &workbench).await,
            Plan::Write(write) => {
                if let Some(raise) = &write.raise {
                    self.raise_sequence(sharding, raise).await?;
                }
                self.write_shards(sharding, statement, &write, changed).await
            }
            Plan::Define => self.define(sharding, statement).await,
            Plan::Lock(locks) => self.lock_tables(statement, &locks).await,
            Plan::Show => self.run_show(sharding, statement).await,
            Plan::Stepwise(call) => Box::pin(self.run_stepwise(statement, &call)).await,
            Plan::InformationSchema(inform) => self.run_information_schema(sharding, statement, &inform).await,
        }
    }

    /// With `sql_auto_is_null`, `column IS NULL` finds the row that the session has inserted last: a server does not know which one that is if
    /// Weir has generated its number.
    fn refuse_last_row(&self, statement: &Statement<'_>) -> Result<(), Failure> {
        let on = self.state.profile.variable("sql_auto_is_null").is_some_and(|value| matches!(value, "1" | "ON"));
        if !on || !is_null_asked(statement) {
            return Ok(());
        }
        Err(not_supported(
            "IS NULL with sql_auto_is_null = 1 on several shards is not supported: SET sql_auto_is_null = 0, and compare with LAST_INSERT_ID()",
        ))
    }

    /// With `sql_safe_updates`, a server refuses an UPDATE or DELETE that finds its rows without a key, and has no LIMIT (a DELETE: no LIMIT
    /// and WHERE). Rows that are found first are changed by their keys, so no server would look at how they were found.
    fn refuse_unsafe_write(&self, statement: &Statement<'_>, plan: &Plan) -> Result<(), Failure> {
        let Plan::Write(Write { kind: WriteKind::Gather(_) | WriteKind::Move(_), .. }) = plan else { return Ok(()) };
        let limited = match statement.only().map(|only| only.kind) {
            Some(StatementKind::Update(update)) => update.limit.is_some(),
            Some(StatementKind::Delete(delete)) => delete.limit.is_some() && delete.condition.is_some(),
            _ => return Ok(()),
        };
        let safe = self.state.profile.variable("sql_safe_updates").is_some_and(|value| matches!(value, "1" | "ON"));
        if !safe || limited {
            return Ok(());
        }
        Err(not_supported(
            "UPDATE or DELETE of rows that are found over several shards, with sql_safe_updates = 1: no server would check that they are found \
             by a key. SET sql_safe_updates = 0 to run it",
        ))
    }

    /// Whether the session is bound to another shard than this one, and can't leave it.
    fn is_bound_elsewhere(&self, shard: ShardId) -> bool {
        let bound = self.current.lease.is_some() && self.state.is_bound();
        bound && self.current.server.shard != usize::from(shard.0) && !self.may_change_shard()
    }

    /// A statement is to be prepared: on a shard that has its tables. In a transaction that shard joins it, as it does for the execution.
    ///
    /// # Errors
    /// No shard has all of them.
    pub(super) async fn aim_preparation(&mut self, statement: &Statement<'_>) -> Result<(), Stopped> {
        let Some(sharding) = self.sharding() else { return Ok(()) };
        self.heed_moves(&sharding, statement.text).await?;
        if self.transaction.is_multi_shard() && statement.class.pins.contains(Pins::TEMPORARY_TABLE) {
            self.set_shard(self.place_for_temporary());
            return Ok(());
        }
        let bound = |session: &Session| session.current.lease.is_some() && session.state.is_bound();
        let here = bound(self).then(|| self.home());
        let Some(shard) = self.shard_with_tables(&sharding.catalog(), statement, here)? else {
            self.aim_at_default_database(bound(self));
            return Ok(());
        };
        if self.is_bound_elsewhere(shard) {
            // Values that can be taken along bind it no longer.
            self.learn_values_for(statement).await?;
        }
        if here.is_some_and(|here| here != shard) && self.names_temporary(statement, &sharding.catalog()) {
            let message = "A statement is prepared on one shard, and the session's temporary tables are on another one than its SINGLE tables: \
                           send it as text";
            return Err(not_supported(message).into());
        }
        self.set_shard(usize::from(shard.0));
        Ok(())
    }
}

/// Whether servers may get the queries of views in place of their names.
fn spells_views_out(plan: &Plan) -> bool {
    match plan {
        Plan::Workbench(_) => true,
        Plan::Write(write) => write.workbench().is_some(),
        _ => false,
    }
}

/// Whether a statement has the words IS NULL.
fn is_null_asked(statement: &Statement<'_>) -> bool {
    let text = statement.text;
    let mut before_is = false;
    Lexer::new(text, statement.mode()).any(|token| {
        let is_word = |word: &[u8]| token.text(text).eq_ignore_ascii_case(word);
        let found = before_is && is_word(b"NULL");
        before_is = is_word(b"IS");
        found
    })
}

/// Why a plan can't be run for EXECUTE … USING.
fn not_by_sql_prepare(plan: &Plan) -> Option<&'static str> {
    match plan {
        Plan::Union(_) => {
            Some("EXECUTE … USING of a UNION whose queries are read one by one: send it as a text of its own")
        }
        Plan::Computed(_) => {
            Some("EXECUTE … USING of expressions over the groups of several shards: send it as a text of its own")
        }
        Plan::Define | Plan::Lock(_) => Some("EXECUTE … USING of such a statement: send it as a text of its own"),
        _ => None,
    }
}

/// A statement that may make a database or a table sharded, or is about accounts, which all shards have.
fn may_define(class: &Class) -> bool {
    class.effects.intersects(Effects::IMPLICIT_COMMIT | Effects::CHANGES_ACCOUNTS) || class.kind == TextKind::Multiple
}
