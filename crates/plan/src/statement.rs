//! What is done with which kind of statement.

use std::sync::Arc;

use weir_catalog::{Catalog, Constant, Database, Located, OWN_SCHEMA, Placement, ShardId, Table, Weights};
use weir_sql::ast::{
    CreateTable, DropTables, Explain, ExplainTarget, Expr, Flush, FlushWhat, Ident, Insert, ObjectName, SetStatement,
    Show, ShowCreate, ShowKind, Statement, StatementKind,
};
use weir_sql::facts::{Varies, facts_with};
use weir_sql::resolve::Context;
use weir_sql::{Bump, LeadBytes};

use crate::analysis::InstanceKind;
use crate::analysis::values::Values;
use crate::constant::charset_of;
use crate::effort::Effort;
use crate::known::KnownValue;
use crate::planner::{ON_ONE_SHARD, Planner, programs, to_shard};
use crate::route::{self, Meeting};
use crate::routines::{allow_changes, calls_placed, function_needs, plan_call};
use crate::set_statement::{only_limits, only_steers};
use crate::trace::Trace;
use crate::write::{Input, Reads, plan_write, with_written_views};
use crate::{Merge, Need, Plan, Read, Refusal, Route, SessionFacts, block, information, scatter, workbench};

/// What is done with a statement.
///
/// # Errors
/// What can't be done, or what has to be known first.
pub fn plan(
    text: &[u8],
    statement: &Statement<'_>,
    catalog: &Catalog,
    weights: &Weights,
    session: &SessionFacts<'_>,
) -> Result<Plan, Refusal> {
    plan_within(text, statement, catalog, weights, session, &Effort::of(text))
}

/// The same, with what it takes counted: statements of one text share an effort.
///
/// # Errors
/// What can't be done, or what has to be known first.
pub fn plan_within(
    text: &[u8],
    statement: &Statement<'_>,
    catalog: &Catalog,
    weights: &Weights,
    session: &SessionFacts<'_>,
    effort: &Effort,
) -> Result<Plan, Refusal> {
    planned(text, statement, catalog, weights, session, effort, None, true)
}

/// The same of a text that expressions over aggregates were taken out of.
fn plan_groups(
    text: &[u8],
    statement: &Statement<'_>,
    catalog: &Catalog,
    weights: &Weights,
    session: &SessionFacts<'_>,
    effort: &Effort,
) -> Result<Plan, Refusal> {
    planned(text, statement, catalog, weights, session, effort, None, false)
}

/// The same, with what it depends on taken down. `computes`: expressions over aggregates may be computed by a server.
#[expect(clippy::too_many_arguments, reason = "it is what a plan depends on")]
pub(crate) fn planned(
    text: &[u8],
    statement: &Statement<'_>,
    catalog: &Catalog,
    weights: &Weights,
    session: &SessionFacts<'_>,
    effort: &Effort,
    trace: Option<&Trace<'_>>,
    computes: bool,
) -> Result<Plan, Refusal> {
    if catalog.databases.is_empty() && catalog.shards.len() < 2 {
        return Ok(Plan::Home);
    }
    let context = Context {
        database: session.database,
        dialect: session.mode.dialect,
        fold_case: catalog.fold_case,
        columns: &(),
    };
    let programs = programs(catalog, session);
    let facts = facts_with(statement, text, session.mode, &context, &programs);
    let shown = with_written_views(catalog, statement, &facts.names);
    let catalog = shown.as_ref().unwrap_or(catalog);
    let arena = Bump::new();
    let planner = Planner {
        text,
        statement,
        catalog,
        weights,
        session,
        facts: &facts,
        arena: &arena,
        effort,
        trace,
        computes,
        plan_whole: plan_within,
        plan_groups,
    };
    let plan = planner.plan().and_then(|plan| in_letters_of_swe7(plan, session));
    let plan = plan.and_then(|plan| planner.in_known_names(plan));
    if effort.is_spent() { Err(too_complex()) } else { plan }
}

/// What is put together of several shards passes through Weir in values and literals, in which bytes of ASCII have to be ASCII.
fn in_letters_of_swe7(plan: Plan, session: &SessionFacts<'_>) -> Result<Plan, Refusal> {
    let as_it_is = matches!(plan, Plan::Home | Plan::Route(_) | Plan::Define | Plan::Show | Plan::Lock(_));
    let is_swe7 = session.mode.lead_bytes == LeadBytes::Swe7 || charset_of(session.collation) == "swe7";
    match !as_it_is && is_swe7 {
        true => Err(Need::OtherForm.refused("Rows of several shards in character set swe7: SET NAMES utf8mb4")),
        false => Ok(plan),
    }
}

/// A statement that takes more than [`Effort`] allows.
fn too_complex() -> Refusal {
    Need::OtherForm.refused(
        "The statement takes too many steps to plan over shards: it is too long for what it compares with what. Send it in parts, or to one \
         shard (SET weir_shard)",
    )
}

impl<'a> Planner<'a> {
    fn plan(self) -> Result<Plan, Refusal> {
        use StatementKind as Kind;
        let rows = matches!(
            self.statement.kind,
            Kind::Query(_) | Kind::Insert(_) | Kind::Update(_) | Kind::Delete(_) | Kind::Explain(_) | Kind::Call(_)
        );
        match self.session.hinted {
            Some(shard) if rows => self.hinted(shard),
            _ => match information::wanted(&self)? {
                Some(inform) => Ok(Plan::InformationSchema(inform)),
                None => self.of_kind(),
            },
        }
    }

    fn of_kind(self) -> Result<Plan, Refusal> {
        allow_changes(&self, self.by_kind()?)
    }

    fn by_kind(self) -> Result<Plan, Refusal> {
        use StatementKind as Kind;
        match self.statement.kind {
            Kind::Query(_) => self.query(),
            Kind::Insert(insert) => self.insert(insert),
            Kind::Update(_) | Kind::Delete(_) => self.change(),
            Kind::Explain(explain) => self.explain(explain),
            Kind::SetStatement(set) => self.set_statement(set),
            Kind::Compound(_) => self.block(),
            Kind::Show(show) => Ok(self.show(show)),
            Kind::DescribeTable(describe) => Ok(self.telling(&describe.table)),
            Kind::AlterTable(alter) if alter.partition_upkeep().is_some() => Ok(self.telling(&alter.table)),
            Kind::TableUpkeep(_) => Ok(if self.names_sharded() { Plan::Show } else { Plan::Home }),
            Kind::CreateTable(CreateTable { temporary: true, .. }) => self.on_one_shard("CREATE TEMPORARY TABLE"),
            Kind::DropTables(DropTables { temporary: true, .. }) => Ok(Plan::Home),
            Kind::CreateDatabase(_) => Ok(self.defining(self.catalog.shards.len() > 1)),
            Kind::AlterDatabase(alter) => Ok(self.defining(self.is_sharded(alter.name))),
            Kind::DropDatabase(drop) => Ok(self.defining(self.is_kept(Some(drop.name)))),
            Kind::CreateTable(_)
            | Kind::AlterTable(_)
            | Kind::DropTables(_)
            | Kind::Truncate(_)
            | Kind::RenameTables(_)
            | Kind::CreateIndex(_)
            | Kind::DropIndex(_)
            | Kind::CreateView(_)
            | Kind::DefineSequence(_)
            | Kind::CreateRoutine(_)
            | Kind::CreateLibrary(_)
            | Kind::CreateTrigger(_)
            | Kind::CreateEvent(_)
            | Kind::AlterRoutine(_)
            | Kind::AlterEvent(_)
            | Kind::DropProgram(_) => Ok(self.defining(self.defines_in_sharded())),
            Kind::CreateUser(_)
            | Kind::AlterUser(_)
            | Kind::RenameUser(_)
            | Kind::CreateRole(_)
            | Kind::DropAccounts(_)
            | Kind::Grant(_)
            | Kind::Revoke(_)
            | Kind::ServerObject(_)
            | Kind::CreateLoadableFunction(_) => Ok(self.defining(self.catalog.shards.len() > 1)),
            Kind::Set(set) if set.items.iter().any(|item| item.kind.is_of_account()) => {
                Ok(self.defining(self.catalog.shards.len() > 1))
            }
            Kind::Call(call) => plan_call(&self, call),
            Kind::Load(load) => self.load(&load.table),
            Kind::LockTables(lock) => self.lock_tables(lock),
            Kind::Flush(Flush { what: FlushWhat::Tables(flush), .. }) => self.flush_tables(*flush),
            Kind::Handler(_) => self.on_one_shard("HANDLER"),
            _ if workbench::assigns(self.statement) => match self.on_one_shard("This statement") {
                Err(refusal) => workbench::plan(&self, refusal),
                planned => planned,
            },
            _ => self.on_one_shard("This statement"),
        }
    }

    // --- Reads and writes ---

    fn query(self) -> Result<Plan, Refusal> {
        let analysis = self.analysis()?;
        match route::meeting(&analysis, &self)? {
            Meeting::NoTables => Ok(Plan::Home),
            Meeting::On(shard, reason) => Ok(to_shard(shard, reason)),
            Meeting::Apart(reason) => scatter::plan_read(&self, &analysis, reason),
        }
    }

    fn insert(self, insert: &'a Insert<'a>) -> Result<Plan, Refusal> {
        let analysis = self.analysis()?;
        // What is not on one shard alone goes by the keys of its rows.
        if let Some(InstanceKind::Base(base)) = analysis.instances.first().map(|instance| &instance.kind)
            && !matches!(base.table.placement, Placement::Single(_))
            && base.database.shards.len() > 1
        {
            return self.write();
        }
        match route::meeting_of_insert(&analysis, &self, insert)? {
            Meeting::NoTables => Ok(Plan::Home),
            Meeting::On(shard, reason) => Ok(to_shard(shard, reason)),
            Meeting::Apart(_) => self.write(),
        }
    }

    fn change(self) -> Result<Plan, Refusal> {
        let analysis = self.analysis()?;
        match route::meeting(&analysis, &self)? {
            Meeting::NoTables => Ok(Plan::Home),
            Meeting::On(shard, reason) if !self.writes_beyond(&analysis) => Ok(to_shard(shard, reason)),
            Meeting::On(..) | Meeting::Apart(_) => self.write(),
        }
    }

    fn write(self) -> Result<Plan, Refusal> {
        let (statement, text, catalog, session) = (self.statement, self.text, self.catalog, self.session);
        let plan = plan_write(&Input { statement, text, catalog, weights: self.weights, session, reads: &self })?;
        match function_needs(&self)? {
            Some(functions) if !functions.allow(&plan) => Err(Need::Value.refused(
                "A write that uses a sequence, or calls a stored function which reads tables of one shard, and whose rows are not on that \
                 shard alone: compute the value first and write it as a literal",
            )),
            _ => Ok(plan),
        }
    }

    fn explain(self, explain: &'a Explain<'a>) -> Result<Plan, Refusal> {
        let ExplainTarget::Statement(statement) = explain.target else { return Ok(Plan::Home) };
        match (Planner { statement, ..self }).of_kind() {
            Ok(Plan::Home) => Ok(Plan::Home),
            Ok(Plan::Route(route)) => Ok(Plan::Route(Route { text: None, ..route })),
            Err(weights @ Refusal::NeedsWeights(..)) => Err(weights),
            Ok(Plan::Read(read)) if explain.into.is_none() && explain.database.is_none() => {
                // The text begins with EXPLAIN: the answers are each server's plan of what it would be asked.
                let merge = Merge::Concatenate;
                let plain = Read { columns: None, hidden: 0, merge, skip: 0, take: None, ..read };
                Ok(Plan::Read(Read { locks: false, pin_time: false, ..plain }))
            }
            Ok(Plan::Union(_) | Plan::Computed(_) | Plan::Workbench(_)) if !explain.analyze => self.explain_alone(),
            _ => Err(Need::OneServer
                .refused("EXPLAIN shows the plan of one server, and several run this statement: use WEIR EXPLAIN")),
        }
    }

    /// What a server that has all of the tables would do with a query, of whose rows it has a part.
    fn explain_alone(self) -> Result<Plan, Refusal> {
        let shard = route::any_shard(&self.analysis()?, &self).ok_or_else(|| {
            Need::OneServer
                .refused("EXPLAIN shows the plan of one server, and none has all of the tables: use WEIR EXPLAIN")
        })?;
        Ok(to_shard(
            shard,
            "EXPLAIN shows the plan that this shard's server has for the whole; WEIR EXPLAIN shows what runs",
        ))
    }

    /// LOAD DATA: one server can do it for a table that only it has.
    fn load(self, name: &ObjectName<'_>) -> Result<Plan, Refusal> {
        let database = name.database.map(|database| database.name).or(self.session.database).unwrap_or_default();
        let Some((_, table)) = self.catalog.table(database, name.name.name) else {
            return self.on_one_shard("LOAD DATA");
        };
        match table.placement {
            Placement::Single(shard) => Ok(to_shard(shard, "the table is SINGLE, on this shard")),
            Placement::Global | Placement::Sharded(_) => self.write(),
        }
    }

    /// What SET STATEMENT stands before goes the way that it goes without it, or on one shard.
    fn set_statement(self, set: &'a SetStatement<'a>) -> Result<Plan, Refusal> {
        use StatementKind as Kind;
        let statement = set.statement;
        if let (Kind::Query(query), Some(limit)) = (statement.kind, only_limits(set)) {
            let plan = (Planner { statement, ..self }).of_kind()?;
            return self.cut(plan, query.limit.is_none(), limit);
        }
        match statement.kind {
            // Each server gets the variables with its part of the statement.
            Kind::Query(_) | Kind::Insert(_) | Kind::Update(_) | Kind::Delete(_) if only_steers(set) => {
                (Planner { statement, ..self }).of_kind()
            }
            Kind::Query(_) | Kind::Insert(_) | Kind::Update(_) | Kind::Delete(_) | Kind::Explain(_) | Kind::Call(_) => {
                self.on_one_shard("SET STATEMENT")
            }
            _ => match (Planner { statement, ..self }).of_kind() {
                Ok(Plan::Show) => Err(Need::OtherForm.refused(
                    "SET STATEMENT before SHOW and the like in a sharded database is not supported: leave SET STATEMENT out",
                )),
                Ok(plan @ (Plan::Home | Plan::Route(_) | Plan::Define)) => Ok(plan),
                Ok(_) => self.on_one_shard("SET STATEMENT"),
                Err(refusal) => Err(refusal),
            },
        }
    }

    /// A query of several shards under a limit that SET STATEMENT gives it: each shard cuts its part, and the merge the whole. Where a shard
    /// would cut off what belongs to the result, one shard alone can run it. A LIMIT of the query's own goes before it.
    fn cut(self, plan: Plan, bare: bool, limit: &Expr<'_>) -> Result<Plan, Refusal> {
        match plan {
            Plan::Home | Plan::Route(_) => Ok(plan),
            Plan::Read(read) if !matches!(read.merge, Merge::Grouped(_)) => match self.folder().count(limit) {
                Some(most) => Ok(Plan::Read(if bare { Read { take: Some(most), ..read } } else { read })),
                None => self.on_one_shard("SET STATEMENT"),
            },
            _ => self.on_one_shard("SET STATEMENT"),
        }
    }

    /// A block runs on one server: where its tables are, if it defines nothing that others have too.
    fn block(self) -> Result<Plan, Refusal> {
        match block::passes_by(self.text, self.session.mode, self.catalog, self.session.database) {
            Some(word) => Err(Need::OtherForm.refused(format!(
                "{word} within a block of statements would be done by one shard alone: give it as a statement of its own"
            ))),
            None => self.where_block_runs(),
        }
    }

    fn where_block_runs(self) -> Result<Plan, Refusal> {
        let found = block::shards_of(self.text, self.session.mode, self.catalog, self.session.database);
        let shards = found.map_err(|name| {
            Need::OneServer.refused(format!(
                "A block of statements that may use {name}, whose rows are on several shards, {ON_ONE_SHARD}, or make it a procedure"
            ))
        })?;
        match (shards.first(), shards.len()) {
            (Some(shard), 1) => Ok(to_shard(*shard, "all tables that it may use are SINGLE, on this shard")),
            (None, _) => self.on_one_shard("This statement"),
            _ => Err(Need::OneServer
                .refused(format!("A block of statements that may use tables of several shards, {ON_ONE_SHARD}"))),
        }
    }

    // --- Definitions, and what tells about them ---

    fn defining(self, sharded: bool) -> Plan {
        if sharded { Plan::Define } else { Plan::Home }
    }

    fn is_sharded(self, database: Option<Ident<'_>>) -> bool {
        let database = database.map(|database| database.name).or(self.session.database);
        database.is_some_and(|database| self.catalog.database(database).is_some())
    }

    /// Whether it is a sharded database, or Weir's own.
    fn is_kept(self, database: Option<Ident<'_>>) -> bool {
        let name = database.map(|database| database.name).or(self.session.database);
        self.is_sharded(database) || name.is_some_and(|name| name.eq_ignore_ascii_case(OWN_SCHEMA.as_bytes()))
    }

    /// Whether any of the names that it defines is in such a database.
    fn defines_in_sharded(self) -> bool {
        use weir_sql::visit::{Flow, NameRole, Node, walk};
        let mut found = false;
        walk(Node::Statement(self.statement), &mut |node: Node<'_>| {
            if let Node::Name(name, role) = node
                && !matches!(role, NameRole::Routine | NameRole::Star)
            {
                found |= self.is_kept(name.database);
            }
            if found { Flow::Stop } else { Flow::Descend }
        });
        found
    }

    fn telling(self, name: &ObjectName<'_>) -> Plan {
        if self.is_sharded(name.database) { Plan::Show } else { Plan::Home }
    }

    fn show(self, show: &Show<'_>) -> Plan {
        let of_database = |name| if self.is_sharded(name) { Plan::Show } else { Plan::Home };
        match show.kind {
            ShowKind::Tables(name)
            | ShowKind::TableStatus(name)
            | ShowKind::OpenTables(name)
            | ShowKind::Triggers(name)
            | ShowKind::Events(name) => of_database(name),
            ShowKind::Columns(table) | ShowKind::Index(table) => of_database(table.database.or(table.table.database)),
            ShowKind::Create(create) => match create {
                ShowCreate::Table(name)
                | ShowCreate::View(name)
                | ShowCreate::Sequence(name)
                | ShowCreate::Routine(_, name)
                | ShowCreate::Trigger(name)
                | ShowCreate::Event(name) => of_database(name.database),
                ShowCreate::Database(name) => of_database(Some(*name)),
                ShowCreate::User(_) => Plan::Home,
            },
            // Rights to what is not on the first shard are known where it is.
            ShowKind::Grants(_) | ShowKind::Databases if self.has_tables_elsewhere() => Plan::Show,
            _ => Plan::Home,
        }
    }

    fn has_tables_elsewhere(self) -> bool {
        let is_elsewhere =
            |table: &Arc<Table>| matches!(table.placement, Placement::Single(shard) if shard != ShardId(0));
        let is_away = |database: &Arc<Database>| {
            !database.shards.contains(&ShardId(0)) || database.tables.values().any(is_elsewhere)
        };
        self.catalog.databases.values().any(is_away)
    }

    // --- All else ---
}

impl Reads for Planner<'_> {
    fn constant(&self, expr: &Expr<'_>) -> Option<Constant> {
        self.folder().fold(expr).map(|known| known.constant)
    }

    fn is_constant(&self, expr: &Expr<'_>) -> bool {
        self.folder().fold_unread(expr).is_some()
    }

    fn explicit(&self, expr: &Expr<'_>) -> Option<Constant> {
        let known = self.folder().fold_unread(expr)?;
        if let Some(trace) = self.trace {
            trace.explicit(&known);
        }
        Some(known.constant)
    }

    fn calls_placed(&self, expr: &Expr<'_>) -> bool {
        self.facts.varies.contains(Varies::STORED) && calls_placed(&self.programs(), expr)
    }

    fn stored(&self, database: &Arc<Database>, table: &Arc<Table>, values: &[&Expr<'_>]) -> Option<Located> {
        let values: Option<Vec<KnownValue>> = values.iter().map(|value| self.folder().fold_unread(value)).collect();
        Some(self.places().of_stored(database, table, values?))
    }

    fn alone(&self) -> Result<Vec<ShardId>, Refusal> {
        let analysis = self.analysis()?;
        let reason = match route::meeting(&analysis, self)? {
            Meeting::NoTables => return Ok(Vec::new()),
            Meeting::On(shard, _) => return Ok(vec![shard]),
            Meeting::Apart(reason) => reason,
        };
        let values = Values::of(&analysis);
        scatter::alone(self, &analysis, &values).map_err(|why| Refusal::NeedsWorkbench(format!("{reason}; {why}")))
    }

    fn has_outer_aggregate(&self) -> bool {
        self.analysis().is_ok_and(|analysis| analysis.outer_aggregate)
    }

    fn query(&self, text: &[u8]) -> Result<Plan, Refusal> {
        if let Some(trace) = self.trace {
            trace.depends_on_more();
        }
        let arena = Bump::new();
        let parsed = weir_sql::parse(&arena, text, self.session.mode);
        match parsed.as_ref().map(|parsed| parsed.statements) {
            Ok([statement]) => plan(text, statement, self.catalog, self.weights, self.session),
            _ => Err(Need::Nothing.refused("A query of Weir's own can't be read")),
        }
    }

    fn rows(&self, text: &[u8]) -> Result<Plan, Refusal> {
        let session = &SessionFacts { for_write: true, ..*self.session };
        Reads::query(&Planner { session, ..*self }, text)
    }
}
