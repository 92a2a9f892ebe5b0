//! Plans that are used again.
//!
//! What must always hold: the facts that a plan depends on are the ones that the planner gets.

use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use weir_catalog::{Catalog, ShardId, Weights};
use weir_plan::Plan;
use weir_shards::Sharding;
use weir_sql::Pins;
use weir_wire::params::{Parameter, parameters};
use weir_wire::{Capabilities, Malformed};

use super::super::Session;
use super::super::statement::{Execution, Statement};
use crate::backends::{HOME, shard_id};
use crate::literals::Literals;
use crate::plans::{Circumstances, Wanted};

impl Session {
    /// Whether something has to be done or looked at before a plan is the statement's.
    pub(super) fn needs_more_than_plan(&self, asked: &Statement<'_>) -> bool {
        let temporary = !self.state.temporary.is_empty() || asked.class.pins.contains(Pins::TEMPORARY_TABLE);
        temporary || self.lacks_values_for(asked)
    }

    /// The plan of a statement like one that was planned before, without its reason.
    pub(super) fn cached_plan(&mut self, sharding: &Sharding, asked: &Statement<'_>) -> Option<Plan> {
        if asked.values().is_some() || asked.execution().is_some_and(|execution| execution.long_data) {
            return None;
        }
        let circumstances = self.circumstances();
        let (catalog, weights) = (sharding.catalog(), sharding.weights());
        let wanted = self.wanted(asked.text, &circumstances, &catalog, &weights);
        let literals = &circumstances.literals;
        self.shared.plans.plan(&wanted, |constants| {
            let Some(execution) = asked.execution() else { return true };
            self.parameters(execution).all(|value| {
                let constant = value.and_then(|value| literals.constant(&value));
                constant.map(|constant| constants.push(constant)).is_ok()
            })
        })
    }

    /// A plan that is wanted, or would be kept, for a text of the session's.
    pub(super) fn wanted<'a>(
        &self,
        text: &'a [u8],
        circumstances: &'a Rc<Circumstances>,
        catalog: &'a Arc<Catalog>,
        weights: &'a Weights,
    ) -> Wanted<'a> {
        Wanted { text, mode: self.state.lex, circumstances, catalog, weights, home: self.home() }
    }

    /// Where the literals of a statement stand that is planned now, if the plan is worth keeping.
    pub(super) fn learns(&self, wanted: Option<&Wanted<'_>>, asked: &Statement<'_>) -> Option<Vec<Range<usize>>> {
        let in_pieces = asked.execution().is_some_and(|execution| execution.long_data);
        wanted.filter(|_| !in_pieces && asked.values().is_none()).and_then(|wanted| self.shared.plans.may_learn(wanted))
    }

    /// What plans depend on besides the statement and the catalog.
    pub(super) fn circumstances(&mut self) -> Rc<Circumstances> {
        let profile = &self.state.profile;
        if let Some((of, known)) = &self.circumstances
            && Rc::ptr_eq(of, profile)
        {
            return known.clone();
        }
        let shared = self.shared.plans.share(Circumstances {
            database: profile.database.clone(),
            sql_mode: profile.variable("sql_mode").unwrap_or(&self.identity.sql_mode).to_owned(),
            literals: Literals::of(profile, &self.identity),
        });
        self.circumstances = Some((profile.clone(), shared.clone()));
        shared
    }

    /// Where statements run that name no sharded table.
    pub(super) fn home(&self) -> ShardId {
        let bound = self.current.lease.is_some() && self.state.is_bound();
        shard_id(if bound { self.anchor().unwrap_or(self.current.server.shard) } else { HOME })
    }

    /// The values of an execution's parameters.
    pub(in crate::session) fn parameters<'a>(
        &self,
        execution: &Execution<'a>,
    ) -> impl Iterator<Item = Result<Parameter<'a>, Malformed>> + use<'a> {
        let named = self.client.capabilities.contains(Capabilities::QUERY_ATTRIBUTES);
        let types: &'a [u8] = execution.types.map_or(&[][..], |types| types);
        parameters(execution.execute, types, named, usize::from(execution.params))
    }
}
