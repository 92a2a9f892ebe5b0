//! `sql_select_limit` where a statement runs on several shards: it cuts the result of the client's query, and nothing that is read for it.
//!
//! What must always hold: it is in force on a shard only where what the shard cuts off could not be in the result, and the session has it
//! again when the statement has ended.

use std::rc::Rc;
use std::sync::Arc;

use weir_plan::{Merge, Plan, Read, Write, WriteKind, sets_select_limit};
use weir_shards::Sharding;
use weir_sql::Effects;
use weir_sql::ast::{self, ShowKind, StatementKind};
use weir_wire::Failure;
use weir_wire::error::not_supported;

use super::super::Session;
use super::super::statement::Statement;
use super::super::stopped::Stopped;

const NAME: &str = "sql_select_limit";

impl Session {
    /// Runs a plan of several shards, with the limit lifted from the shards where it would cut what is read of them.
    pub(super) async fn run_limited(
        &mut self,
        sharding: &Arc<Sharding>,
        statement: &Statement<'_>,
        plan: Plan,
    ) -> Result<(), Stopped> {
        let limit = self.state.profile.variable(NAME).map(str::to_owned);
        let Some((limit, most)) = limit.and_then(|limit| bound(&limit).map(|most| (limit, most))) else {
            return self.run_planned(sharding, statement, plan).await;
        };
        if cuts_alike(&plan) || most == 0 && matches!(plan, Plan::Read(_)) {
            return self.run_planned(sharding, statement, limited(statement, plan, most)?).await;
        }
        self.lifted_limit = Some(most);
        self.state.profile = Rc::new(self.state.profile.without_variable(NAME));
        let ran = self.run_planned(sharding, statement, plan).await;
        self.lifted_limit = None;
        self.state.profile = Rc::new(self.state.profile.with_variables([(NAME, limit.as_str())]));
        ran
    }

    /// The plan, cut by a limit that the shards do not have.
    pub(super) fn limit_lifted(&self, statement: &Statement<'_>, plan: Plan) -> Result<Plan, Failure> {
        match self.lifted_limit {
            Some(most) => limited(statement, plan, most),
            None => Ok(plan),
        }
    }
}

/// The most rows, if it is a bound at all.
fn bound(limit: &str) -> Option<u64> {
    limit.parse().ok().filter(|limit| *limit < u64::MAX)
}

/// Whether the limit may be in force on the shards: they cut nothing, or the rows that they cut are beyond the result's end.
fn cuts_alike(plan: &Plan) -> bool {
    match plan {
        Plan::Read(read) => !matches!(read.merge, Merge::Grouped(_)),
        Plan::Write(write) => {
            matches!(write.kind, WriteKind::Split(..) | WriteKind::Everywhere(..) | WriteKind::Global(..))
        }
        Plan::Home | Plan::Route(_) | Plan::Lock(_) => true,
        _ => false,
    }
}

/// Whether the session's limit is about a statement: about a query that has none of its own, also behind SET STATEMENT.
fn is_cut(statement: &ast::Statement<'_>) -> bool {
    match statement.kind {
        StatementKind::Query(query) => query.limit.is_none(),
        StatementKind::SetStatement(set) => !sets_select_limit(set) && is_cut(set.statement),
        _ => false,
    }
}

/// Whether servers answer a statement about tables with all it has to tell. Of other SHOW statements and of DESCRIBE they cut the rows, as of a query.
fn is_told_whole(statement: &ast::Statement<'_>) -> bool {
    match statement.kind {
        StatementKind::Show(show) => matches!(show.kind, ShowKind::Create(_) | ShowKind::Grants(_)),
        StatementKind::TableUpkeep(_) | StatementKind::AlterTable(_) | StatementKind::Flush(_) => true,
        _ => false,
    }
}

/// The plan of a query without a LIMIT of its own gives so many rows at most.
fn limited(statement: &Statement<'_>, plan: Plan, most: u64) -> Result<Plan, Failure> {
    let cut = statement.only().is_none_or(is_cut);
    let counted = statement.class.effects.contains(Effects::CALC_FOUND_ROWS);
    match plan {
        Plan::Read(read) if !counted || !matches!(read.merge, Merge::Grouped(_)) => {
            Ok(Plan::Read(if cut { Read { take: Some(most), ..read } } else { read }))
        }
        Plan::Union(mut union) if !counted => {
            union.take = if cut { Some(most) } else { union.take };
            Ok(Plan::Union(union))
        }
        Plan::Computed(mut computed) if !counted => {
            computed.take = if cut { Some(most) } else { computed.take };
            Ok(Plan::Computed(computed))
        }
        Plan::Write(Write { .. }) | Plan::Home | Plan::Route(_) | Plan::Define | Plan::Lock(_) => Ok(plan),
        Plan::Show if statement.only().is_some_and(is_told_whole) => Ok(plan),
        _ => Err(not_supported(
            "sql_select_limit with such a statement of several shards is not supported: SET sql_select_limit = DEFAULT, and use LIMIT",
        )),
    }
}
