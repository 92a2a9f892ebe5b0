//! Statements about sharded databases: planned, and run on one shard as any other, or on several at once.
//!
//! What must always hold: a statement is planned and run with one snapshot of the catalog; one that names a table of a sharded database
//! runs nowhere without a plan, unless the session has chosen its shard itself (`weir_shard`).

mod cached;
mod defining;
mod explain;
mod locks;
mod named;
pub(super) mod planning;
mod programs;
mod returning;
mod several;
mod sink;
mod temporary;
mod texts;
mod variables;

use std::sync::Arc;

use weir_catalog::ShardId;
use weir_exec::write::{Generator, Settled};
use weir_exec::{Request, Sharding};
use weir_plan::{Alike, Plan, Read, Returns, Route, Write, WriteKind};
use weir_sql::ast::StatementKind;
use weir_sql::{Bump, Class, Effects, Kind, LexMode};
use weir_wire::error::codes;
use weir_wire::stmt::Execute;
use weir_wire::{Failure, Fault, StatusFlags};

use super::Session;
use super::server::Stopped;
pub(super) use named::Named;
use named::Values;
pub(super) use planning::shard_id;
pub(super) use temporary::TableName;

/// How often something is found out for one statement.
const MOST_STEPS: usize = 8;

/// What is left to do with a statement that was planned.
pub(super) enum Dispatched {
    /// It runs as any other, on the target's shard, with this text if there is one.
    Here(Option<Vec<u8>>),
    /// It was run, and the client was answered.
    Done,
}

/// A statement in whichever protocol.
#[derive(Clone, Copy)]
pub(super) struct Asked<'a> {
    /// What it does.
    pub(super) class: &'a Class,
    /// Its text.
    pub(super) text: &'a [u8],
    /// Its execution, if it is prepared, and the types of its parameters.
    pub(super) execution: Option<Execution<'a>>,
    /// The values of its parameters, if it was prepared by a text.
    pub(super) values: Option<&'a Values>,
}

impl<'a> Asked<'a> {
    /// As it is asked of shards.
    fn request(&self, mode: LexMode) -> Request<'a> {
        match (self.execution, self.values) {
            (None, None) => Request::Text,
            (None, Some(values)) => {
                Request::Named { variables: &values.names, backslashes: !mode.no_backslash_escapes }
            }
            (Some(Execution { execute, types, parsing, session, .. }), _) => {
                Request::Execute { parsing, execute, types, session }
            }
        }
    }

    /// How many parameters it has.
    fn parameters(&self) -> u16 {
        let values = self.values.map_or(0, |values| u16::try_from(values.names.len()).unwrap_or(u16::MAX));
        self.execution.map_or(values, |execution| execution.params)
    }
}

/// What was found out for a statement, and put into its text.
#[derive(Clone)]
pub(super) struct Changed<'a> {
    /// The first value that was generated for AUTO_INCREMENT.
    insert_id: Option<u64>,
    /// As the client has asked it.
    asked: Asked<'a>,
    /// The rows that it returns.
    returns: Option<Returns>,
}

/// An execution of a prepared statement.
#[derive(Clone, Copy)]
pub(super) struct Execution<'a> {
    pub(super) execute: &'a Execute<'a>,
    pub(super) types: Option<&'a std::rc::Rc<[u8]>>,
    pub(super) parsing: &'a weir_backend::profile::SharedProfile,
    pub(super) params: u16,
    /// The session.
    pub(super) session: u32,
    /// Values of parameters have been sent in pieces: they are not in the execution.
    pub(super) long_data: bool,
}

impl Session {
    /// What is known of shards, if there are several and the session has not chosen one for all that it runs.
    pub(super) fn sharding(&self) -> Option<Arc<Sharding>> {
        self.endpoint.sharding.clone().filter(|_| self.chosen_shard.is_none())
    }

    /// Plans a statement if it may be about several shards, and runs it if it is.
    pub(super) async fn dispatch(&mut self, asked: Asked<'_>) -> Result<Dispatched, Stopped> {
        let Some(sharding) = self.sharding() else { return Ok(Dispatched::Here(None)) };
        if sharding.catalog().databases.is_empty() && !self.may_define(asked.class) {
            return Ok(Dispatched::Here(None));
        }
        if self.ignores_locks && self.ignore_locks(&sharding.catalog(), asked).await? {
            return Ok(Dispatched::Done);
        }
        let known = if self.needs_more_than_plan(asked) { None } else { self.cached_plan(&sharding, asked) };
        match &known {
            Some(Plan::Home) => return Ok(Dispatched::Here(None)),
            Some(Plan::Route(route)) if route.raise.is_none() && !self.is_bound_elsewhere(route.shard) => {
                self.set_shard(usize::from(route.shard.0));
                return Ok(Dispatched::Here(None));
            }
            _ => {}
        }
        Box::pin(self.dispatch_planned(&sharding, asked, known)).await
    }

    /// `known`: the statement's plan, if there is one already.
    async fn dispatch_planned(
        &mut self,
        sharding: &Arc<Sharding>,
        asked: Asked<'_>,
        known: Option<Plan>,
    ) -> Result<Dispatched, Stopped> {
        let dispatched = self.dispatch_settled(sharding, asked, known).await;
        self.end_statement(false).await?;
        dispatched
    }

    /// Plans, finds out what is missing, and plans again, until all is known.
    async fn dispatch_settled(
        &mut self,
        sharding: &Arc<Sharding>,
        asked: Asked<'_>,
        mut known: Option<Plan>,
    ) -> Result<Dispatched, Stopped> {
        self.learn_values_for(asked).await?;
        if let Some(dispatched) = self.dispatch_temporary(sharding, asked).await? {
            return Ok(dispatched);
        }
        let mut settled: Option<Settled> = None;
        let mut returns = None;
        for _ in 0..MOST_STEPS {
            let now = match &settled {
                Some(settled) => Asked { text: &settled.text, execution: None, values: None, ..asked },
                None => asked,
            };
            let plan = match known.take() {
                Some(plan) => plan,
                None => self.plan(sharding, now).await?.plan,
            };
            let Plan::Write(write @ Write { kind: WriteKind::Settle(wanted), .. }) = &plan else {
                let settled = settled.as_ref().map(|settled| Changed { insert_id: settled.insert_id, asked, returns });
                return self.run_plan(sharding, now, plan, settled).await;
            };
            returns.clone_from(&write.returns);
            let found = self.settle_write(sharding, write, wanted, now).await?;
            if let Some(outcome) = found.nothing() {
                self.end_statement(true).await?;
                self.note_several(asked.class, &[], &outcome, &mut []).await;
                self.answer_write(&outcome);
                return Ok(Dispatched::Done);
            }
            known = self.cached_plan(sharding, Asked { text: &found.text, execution: None, values: None, ..asked });
            settled = Some(found);
        }
        Err(not_supported("The statement's values can't be found out, as it needs too many steps: compute them first, and write them as literals").into())
    }

    /// Runs a plan that needs nothing else to be known. `changed`: its text is no longer the client's.
    async fn run_plan(
        &mut self,
        sharding: &Arc<Sharding>,
        asked: Asked<'_>,
        plan: Plan,
        changed: Option<Changed<'_>>,
    ) -> Result<Dispatched, Stopped> {
        match plan {
            Plan::Home => return Ok(Dispatched::Here(None)),
            Plan::Route(route) if changed.is_none() => {
                if let Some(raise) = &route.raise {
                    sharding.sequences.raise(raise).await?;
                }
                return self.route_to(asked, route).await;
            }
            Plan::Route(Route { shard, text, reason, .. }) => {
                let text = text.unwrap_or_else(|| asked.text.to_vec());
                let kind = WriteKind::Everywhere(vec![shard], text);
                let returns = changed.as_ref().and_then(|changed| changed.returns.clone());
                let write = Write { kind, alike: Alike::default(), raise: None, returns, reason };
                self.write_several(sharding, asked, &write, changed.as_ref()).await?;
            }
            Plan::Read(read) => self.read_several(asked.class, &read, &asked.request(self.state.lex)).await?,
            Plan::Union(_) if asked.values.is_some() => {
                let message =
                    "EXECUTE … USING of a UNION whose queries are read one by one: send it as a text of its own";
                return Err(not_supported(message).into());
            }
            Plan::Union(union) => self.read_union(asked.class, &union, &asked.request(self.state.lex)).await?,
            Plan::Computed(_) if asked.values.is_some() => {
                let message =
                    "EXECUTE … USING of expressions over the groups of several shards: send it as a text of its own";
                return Err(not_supported(message).into());
            }
            Plan::Computed(computed) => {
                self.read_computed(asked.class, &computed, &asked.request(self.state.lex)).await?;
            }
            Plan::Write(write) => {
                if let Some(raise) = &write.raise {
                    sharding.sequences.raise(raise).await?;
                }
                self.write_several(sharding, asked, &write, changed.as_ref()).await?;
            }
            Plan::Define | Plan::Tell if asked.values.is_some() => {
                return Err(not_supported("EXECUTE … USING of such a statement: send it as a text of its own").into());
            }
            Plan::Define => return self.define(sharding, asked).await,
            Plan::Tell => return self.tell(sharding, asked).await,
            Plan::Inform(inform) => return self.inform(sharding, asked, &inform).await,
        }
        Ok(Dispatched::Done)
    }

    /// Sends a statement to its shard. In a transaction that shard joins it.
    async fn route_to(&mut self, asked: Asked<'_>, route: Route) -> Result<Dispatched, Stopped> {
        let shard = usize::from(route.shard.0);
        if self.is_bound_elsewhere(route.shard) {
            return self.run_beside(asked, route).await;
        }
        self.set_shard(shard);
        Ok(Dispatched::Here(route.text))
    }

    /// Whether the session is bound to another shard than this one, and can't leave it.
    fn is_bound_elsewhere(&self, shard: ShardId) -> bool {
        let bound = self.lease.is_some() && self.state.is_bound();
        bound && self.at.shard != usize::from(shard.0) && !self.may_change_shard()
    }

    /// Runs a statement of one shard beside the connection that the session is bound to.
    async fn run_beside(&mut self, asked: Asked<'_>, route: Route) -> Result<Dispatched, Stopped> {
        let leaves = !asked.class.pins.is_empty() || asked.class.effects.contains(Effects::USES_WARNINGS);
        let alone = !leaves && !self.state.in_transaction();
        let writes = asked.class.effects.contains(Effects::WRITES);
        if alone
            && writes
            && let Some(returns) = self.may_write_beside(asked)
        {
            let text = route.text.unwrap_or_else(|| asked.text.to_vec());
            let kind = WriteKind::Everywhere(vec![route.shard], text);
            let returns = returns.then_some(Returns::All);
            let write = Write { kind, alike: Alike::default(), raise: None, returns, reason: route.reason };
            let sharding = self.sharding().ok_or_else(|| not_supported("There are no shards"))?;
            self.write_several(&sharding, asked, &write, None).await?;
            return Ok(Dispatched::Done);
        }
        if !alone || writes {
            self.set_shard(usize::from(route.shard.0));
            return self.stay_on_shard().map(|()| Dispatched::Here(None)).map_err(Stopped::from);
        }
        let text = route.text.unwrap_or_else(|| asked.text.to_vec());
        let params = asked.parameters();
        let read = Read::of_one(route.shard, text, (0..u32::from(params)).collect(), route.reason);
        self.read_several(asked.class, &read, &asked.request(self.state.lex)).await?;
        Ok(Dispatched::Done)
    }

    /// Whether a change of one shard can run on another connection than that to which the session is bound: it is a transaction of its
    /// own there. And whether it returns rows then.
    fn may_write_beside(&self, asked: Asked<'_>) -> Option<bool> {
        let arena = Bump::new();
        let parsed = weir_sql::parse(&arena, asked.text, self.state.lex).ok()?;
        let [statement] = parsed.statements else { return None };
        let returning = match statement.kind {
            StatementKind::Insert(insert) => insert.returning,
            StatementKind::Update(update) => update.returning,
            StatementKind::Delete(delete) => delete.returning,
            _ => return None,
        };
        let may = asked.parameters() == 0 && self.state.status.contains(StatusFlags::AUTOCOMMIT);
        may.then_some(!returning.is_empty())
    }

    /// A statement is to be prepared: on a shard that has its tables. In a transaction that shard joins it, as it does for the execution.
    ///
    /// # Errors
    /// No shard has all of them.
    pub(super) async fn aim_preparation(&mut self, class: &Class, text: &[u8]) -> Result<(), Stopped> {
        let Some(sharding) = self.sharding() else { return Ok(()) };
        let bound = |session: &Session| session.lease.is_some() && session.state.is_bound();
        let here = bound(self).then(|| shard_id(self.at.shard));
        let Some(shard) = self.shard_with_tables(&sharding.catalog(), text, here)? else { return Ok(()) };
        if self.is_bound_elsewhere(shard) {
            // Values that can be taken along bind it no longer.
            self.learn_values_for(Asked { class, text, execution: None, values: None }).await?;
        }
        // Temporary tables are where the session is. Whatever else binds it: there it would only be said that a table does not exist.
        if !self.is_bound_elsewhere(shard) || self.state.temporary.is_empty() {
            self.set_shard(usize::from(shard.0));
        }
        Ok(())
    }

    /// A statement that may make a database or a table sharded, or is about accounts, which all shards have.
    fn may_define(&self, class: &Class) -> bool {
        class.effects.intersects(Effects::IMPLICIT_COMMIT | Effects::CHANGES_ACCOUNTS) || class.kind == Kind::Multiple
    }
}

/// What Weir does not do.
pub(super) fn not_supported(message: impl Into<String>) -> Failure {
    Failure::new(Fault::Client, codes::ER_NOT_SUPPORTED_YET, b"42000", message)
}
