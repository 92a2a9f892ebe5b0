//! What everything about one statement is planned with.

use weir_catalog::{Catalog, Placement, ShardId, Weights};
use weir_sql::Bump;
use weir_sql::ast::Statement;
use weir_sql::facts::{Facts, Varies};
use weir_wire::Failure;
use weir_wire::error::codes;

use crate::analysis::{Analysis, MOST_JOINED, Surroundings, gather};
use crate::constant::Folder;
use crate::effort::Effort;
use crate::place::Places;
use crate::refusal::{Need, Refusal};
use crate::routines::{KnownPrograms, function_needs};
use crate::trace::Trace;
use crate::{Plan, Route, SessionFacts};

/// The way out for what only a server can do, with all rows.
pub(crate) const ON_ONE_SHARD: &str = "and only a server with all rows could do it: give it for SINGLE or GLOBAL tables, or on one shard with SET weir_shard = 'name'";

/// How a text of Weir's own is planned, in the course of planning another.
pub(crate) type PlanText =
    fn(&[u8], &Statement<'_>, &Catalog, &Weights, &SessionFacts<'_>, &Effort) -> Result<Plan, Refusal>;

/// What everything about one statement is planned with.
#[derive(Clone, Copy)]
pub(crate) struct Planner<'a> {
    pub(crate) text: &'a [u8],
    pub(crate) statement: &'a Statement<'a>,
    pub(crate) catalog: &'a Catalog,
    pub(crate) weights: &'a Weights,
    pub(crate) session: &'a SessionFacts<'a>,
    pub(crate) facts: &'a Facts<'a>,
    pub(crate) arena: &'a Bump,
    pub(crate) effort: &'a Effort,
    /// Who takes down what the plan depends on.
    pub(crate) trace: Option<&'a Trace<'a>>,
    /// Expressions over aggregates may be computed behind what shards give: not again of what was made for that.
    pub(crate) computes: bool,
    /// As a statement of the client's.
    pub(crate) plan_whole: PlanText,
    /// Without expressions over aggregates behind what shards give.
    pub(crate) plan_groups: PlanText,
}

impl<'a> Planner<'a> {
    pub(crate) fn names_sharded(self) -> bool {
        self.facts
            .names
            .tables()
            .any(|(_, table)| table.database.is_some_and(|database| self.catalog.table(database, table.name).is_some()))
    }

    /// A plan, if all names that it depends on were found by their bytes, which are those of UTF-8 in the catalog: in another character set a
    /// table would be taken for one that is not sharded, and a shard key for another column.
    pub(crate) fn in_known_names(self, plan: Plan) -> Result<Plan, Refusal> {
        let tells = matches!(plan, Plan::Define | Plan::Show | Plan::InformationSchema(_));
        // Nothing is converted from `binary`.
        let is_utf8 = matches!(self.session.charset, "utf8mb4" | "utf8mb3" | "utf8" | "binary");
        if tells || is_utf8 || self.session.hinted.is_some() || self.text.is_ascii() {
            return Ok(plan);
        }
        let misread = self
            .facts
            .names
            .tables()
            .any(|(_, table)| table.database.is_some_and(|database| self.is_misread(database, table.name)));
        match misread {
            true => {
                let message = "Names of sharded tables and of their keys must be UTF-8: run SET NAMES utf8mb4 first";
                Err(Need::OtherForm.refused(message))
            }
            false => Ok(plan),
        }
    }

    /// Whether a name in the session's character set is that of a table, or a table has a shard key, that its bytes do not find.
    fn is_misread(self, database: &[u8], name: &[u8]) -> bool {
        let in_utf8 = |name: &[u8]| match name.is_ascii() {
            true => Some(name.to_vec()),
            false => weir_catalog::converted(name, self.session.charset, "utf8mb4"),
        };
        let (own, Some(table)) = (in_utf8(database), in_utf8(name)) else {
            return self.catalog.database(database).is_some();
        };
        // The default database's name is known as the server tells it.
        let found = name.is_ascii() && self.catalog.table(database, name).is_some();
        [Some(database.to_vec()), own].into_iter().flatten().any(|database| {
            let Some((_, known)) = self.catalog.table(&database, &table) else { return false };
            match &known.placement {
                Placement::Sharded(key) => {
                    !found || key.columns.iter().any(|column| !known.columns[*column].name.is_ascii())
                }
                Placement::Global => !found,
                Placement::Single(shard) => !found && *shard != self.home(),
            }
        })
    }

    /// Statements that one shard can do if it has all of their tables.
    pub(crate) fn on_one_shard(self, what: &str) -> Result<Plan, Refusal> {
        let mut shards: Vec<ShardId> = Vec::new();
        for (_, table) in self.facts.names.tables() {
            let Some(database) = table.database else { continue };
            let Some((name, found)) = self.catalog.table(database, table.name) else { continue };
            let Some((_, database)) = self.catalog.database(database) else { continue };
            match (&found.placement, &database.shards[..]) {
                (Placement::Single(shard), _) | (_, [shard]) => shards.push(*shard),
                _ => {
                    return Err(Need::OneServer
                        .refused(format!("{what}: the rows of {name} are on several shards, {ON_ONE_SHARD}")));
                }
            }
        }
        if let Some(functions) = function_needs(&self)? {
            shards.extend(functions.needed.iter().map(|(shard, _)| *shard));
        }
        shards.sort_unstable();
        shards.dedup();
        match shards[..] {
            [] => Ok(Plan::Home),
            [shard] => Ok(to_shard(shard, "all its tables are SINGLE, on this shard")),
            _ => Err(Need::OneServer.refused(format!("{what}: its tables are on several shards, {ON_ONE_SHARD}"))),
        }
    }

    pub(crate) fn analysis(self) -> Result<Analysis<'a>, Refusal> {
        let varies = self.facts.varies;
        let folder = self.folder();
        let assigns = folder.assigns;
        let around = Surroundings {
            catalog: self.catalog,
            session: self.session,
            folder,
            pushes: !assigns && !varies.contains(Varies::STORED),
            arena: self.arena,
            effort: self.effort,
        };
        let analysis = gather(self.statement, around);
        if analysis.too_many_joined {
            return Err(Refusal::Failure(Failure::client(
                codes::ER_TOO_MANY_TABLES,
                format!(
                    "Too many tables; {} can only use {MOST_JOINED} tables in a join",
                    if self.session.mariadb { "MariaDB" } else { "MySQL" }
                ),
            )));
        }
        if analysis.too_large {
            return Err(Need::OtherForm.refused(
                "The statement has too many tables, or queries within queries, to be planned: send it in parts, or to one shard (SET weir_shard)",
            ));
        }
        Ok(analysis)
    }

    pub(crate) fn folder(self) -> Folder<'a> {
        let assigns = self.facts.class.effects.contains(weir_sql::Effects::SETS_USER_VARIABLES);
        Folder { text: self.text, session: self.session, assigns, trace: self.trace }
    }

    /// See [`SessionFacts::home`].
    pub(crate) fn home(self) -> ShardId {
        self.folder().home()
    }

    /// See [`KnownPrograms`].
    pub(crate) fn programs(self) -> KnownPrograms<'a> {
        programs(self.catalog, self.session)
    }

    pub(crate) fn places(self) -> Places<'a> {
        Places { weights: self.weights, trace: self.trace }
    }
}

/// What is known of the stored programs that a session's statements call.
pub(crate) fn programs<'a>(catalog: &'a Catalog, session: &SessionFacts<'a>) -> KnownPrograms<'a> {
    KnownPrograms::new(catalog, session.database, session.mode.dialect, session.temporary, session.in_transaction)
}

pub(crate) fn to_shard(shard: ShardId, reason: impl Into<String>) -> Plan {
    Plan::Route(Route { shard, text: None, raise: None, reason: reason.into() })
}
