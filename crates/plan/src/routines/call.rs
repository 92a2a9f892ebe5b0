//! On which shard a CALL does all that its procedure's body can do, or a stored function all that its own can.
//!
//! What must always hold: each statement of the body is planned as if it were a client's, with the arguments' values where the body reads
//! parameters that nothing in it assigns, and with values that nobody knows for all other variables. Only if each of them is for one shard
//! alone, and for the same one, the CALL is sent there: so a body writes no row and reads none that another shard should have.

use std::collections::BTreeMap;
use std::ops::Range;

use weir_catalog::{Constant, Placement, RoutineKind, ShardId};
use weir_sql::ast::{CallProcedure, Expr, ExprKind, Limit, ObjectName, QueryBody, SelectItemKind, StatementKind};
use weir_sql::facts::{Varies, facts_with};
use weir_sql::resolve::{Context, Roles, Table};
use weir_sql::visit::{Flow, Node, walk};
use weir_sql::{Bump, parse, splice};
use weir_wire::error::codes;

use super::body::{Body, BodyStatement, lower, mode_of, shown};
use super::stepwise;
use super::value::{Charsets, as_parameter};
use super::{DEEPEST, KnownPrograms, UNKNOWN};
use crate::constant::Folder;
use crate::place::Shards;
use crate::planner::{Planner, programs, to_shard};
use crate::statement::plan_within;
use crate::{Need, Plan, Raise, Refusal, Route, Running, SessionFacts};

/// Something that nobody knows the value of.
const ANYTHING: &str = "@`weir: a variable`";

/// Why a statement with such a value has no shard.
const UNTOLD: &str = "its rows depend on a variable of the body. Compare the shard key with a parameter that the body does \
                      not assign, and give a value of the parameter's type";

/// Where a body's statements have to run.
pub(super) struct CallNeeds {
    /// What the body is one of.
    pub(super) kind: RoutineKind,
    /// Each shard that one of them needs, with the statement.
    pub(super) needed: Vec<(ShardId, String)>,
    /// The shards that have all tables of which any shard has all rows.
    pub(super) able: Shards,
    pub(super) raise: Option<Raise>,
    /// Where statements run that name temporary tables, the body's own or the session's.
    pub(super) temporary_on: Option<ShardId>,
    /// The routines that are being looked at, the outermost first.
    pub(super) around: Vec<Looked>,
}

/// A routine that is being looked at.
#[derive(Clone, PartialEq)]
pub(super) struct Looked {
    database: String,
    name: String,
    /// Whatever its arguments are.
    any: bool,
}

/// The plan of a CALL: the shard that can run all of it, or its statements one by one.
pub(crate) fn plan_call(planner: &Planner<'_>, call: &CallProcedure<'_>) -> Result<Plan, Refusal> {
    let beside = !planner.session.temporary.is_empty();
    let stepwise = |need, message| stepwise::plan(planner, call, need, message);
    match to_one_shard(planner, call, false) {
        Err(Refusal::NotSupported { need, message }) => match stepwise(need, message) {
            refused @ Err(Refusal::NotSupported { .. }) if beside => match to_one_shard(planner, call, true) {
                Err(Refusal::NotSupported { .. }) => refused,
                planned => planned,
            },
            planned => planned,
        },
        // In autocommit each statement of the body is a transaction of its own, which the session's connection does not take part in.
        Ok(Plan::Route(route)) if beside && !planner.session.in_transaction && route.shard != planner.home() => {
            let message = "the session's temporary tables are on another shard".to_owned();
            stepwise(Need::OneServer, message).or(Ok(Plan::Route(route)))
        }
        planned => planned,
    }
}

/// The shard of a CALL. `bound`: it may leave things with the session's connection, to which temporary tables bind the session.
fn to_one_shard(planner: &Planner<'_>, call: &CallProcedure<'_>, bound: bool) -> Result<Plan, Refusal> {
    let session = planner.session;
    let database = call.name.database.map(|database| database.name).or(session.database);
    let Some((_, database)) = database.and_then(|database| planner.catalog.database(database)) else {
        return Ok(Plan::Home);
    };
    if let [shard] = database.shards[..] {
        return Ok(to_shard(shard, "its database is on one shard"));
    }
    let known = planner.programs();
    let kind = RoutineKind::Procedure;
    let understood = known.procedure(&call.name).map_err(|why| refusal(kind, &call.name, &why))?;
    let runs = |one: &Running| understood.procedures.contains(&(one.database.clone(), one.name.clone()));
    if session.running.iter().any(runs) {
        // A shard would count it as the first.
        return Err(refusal(kind, &call.name, "calls a procedure again whose statements run one by one"));
    }
    if understood.defines {
        return Err(refusal(
            kind,
            &call.name,
            "makes, changes or drops tables, which are to be the same on all shards",
        ));
    }
    if understood.dynamic {
        return Err(refusal(kind, &call.name, "prepares texts, which are known only when it runs (PREPARE)"));
    }
    if understood.tells {
        let why = "tells about tables, or looks after them, of which each shard has only its part";
        return Err(refusal(kind, &call.name, why));
    }
    if let Some(why) = &understood.missing {
        return Err(refusal(kind, &call.name, why));
    }
    let assigns = call.arguments.iter().any(assigns_variables);
    let folder = Folder { text: planner.text, session, assigns, trace: None };
    let arguments: Vec<Option<Constant>> =
        call.arguments.iter().map(|argument| folder.fold(argument).map(|known| known.constant)).collect();
    let bound = (bound && understood.sets_session || understood.of_session).then(|| planner.home());
    let place = |on: Option<ShardId>| {
        let able = Shards::of(&database.shards);
        let needed = bound.map(|shard| (shard, "the session's temporary tables".to_owned()));
        let needed = needed.into_iter().collect();
        let mut place = CallNeeds { kind, needed, able, raise: None, temporary_on: on, around: Vec::new() };
        place.look(planner, &known, (kind, &call.name), &arguments, 0)?;
        place.plan(planner, &call.name)
    };
    if bound.is_some() {
        return place(bound);
    }
    if understood.sets_session {
        return Err(refusal(kind, &call.name, "sets variables of the session, which would stay on one connection"));
    }
    if !understood.temporary {
        return place(None);
    }
    // Its temporary tables can be anywhere, but all in one place.
    let home = planner.home();
    let others = database.shards.iter().copied().filter(|shard| *shard != home);
    let at_home = place(Some(home));
    match at_home {
        Err(Refusal::NotSupported { .. }) => {
            others.map(|shard| place(Some(shard))).find(Result::is_ok).unwrap_or(at_home)
        }
        _ => at_home,
    }
}

pub(super) fn refusal(kind: RoutineKind, name: &ObjectName<'_>, why: &str) -> Refusal {
    let what = match kind {
        RoutineKind::Procedure => "CALL in a database of several shards: the procedure",
        RoutineKind::Function => "In a database of several shards: the function",
    };
    Need::OneServer.refused(format!(
        "{what} {} {why}. To run it on the rows of one shard, name the shard in a hint: /*+ WEIR_SHARD(name) */",
        String::from_utf8_lossy(name.name.name)
    ))
}

/// Whether the value of a user variable may change while arguments are computed.
pub(super) fn assigns_variables(argument: &Expr<'_>) -> bool {
    let mut found = false;
    walk(Node::Expr(argument), &mut |node: Node<'_>| {
        let assigns = |expr: &Expr<'_>| matches!(expr.kind, ExprKind::Assign(_) | ExprKind::Call(_));
        found |= matches!(node, Node::Expr(expr) if assigns(expr));
        Flow::Descend
    });
    found
}

impl CallNeeds {
    fn plan(self, planner: &Planner<'_>, name: &ObjectName<'_>) -> Result<Plan, Refusal> {
        let mut needed: Vec<ShardId> = self.needed.iter().map(|(shard, _)| *shard).collect();
        needed.sort_unstable();
        needed.dedup();
        let home = planner.home();
        let (shard, reason) = match needed[..] {
            [] if self.able.has(home) => (home, "its body uses no tables, or GLOBAL ones only".to_owned()),
            [] => match self.able.list().first() {
                Some(shard) => (*shard, "its body uses no tables, or GLOBAL ones only".to_owned()),
                None => return Err(refusal(self.kind, name, "reads GLOBAL tables that no shard has all of")),
            },
            [shard] if self.able.has(shard) => {
                (shard, format!("all that its body does is on {}", planner.catalog.shard_name(shard)))
            }
            _ => {
                let on =
                    |(shard, what): &(ShardId, String)| format!("{what} on {}", planner.catalog.shard_name(*shard));
                let all: Vec<String> = self.needed.iter().map(on).collect();
                return Err(refusal(self.kind, name, &format!("uses several shards ({})", all.join("; "))));
            }
        };
        Ok(Plan::Route(Route { shard, text: None, raise: self.raise, reason }))
    }

    /// Looks where the body of a routine can run with these arguments.
    pub(super) fn look(
        &mut self,
        planner: &Planner<'_>,
        known: &KnownPrograms<'_>,
        (kind, name): (RoutineKind, &ObjectName<'_>),
        arguments: &[Option<Constant>],
        depth: usize,
    ) -> Result<(), Refusal> {
        let Some((database, routine)) = known.find(kind, name).filter(|_| depth < DEEPEST) else {
            return Err(refusal(self.kind, name, UNKNOWN));
        };
        let mut looked = Looked { database: database.to_owned(), name: lower(name.name.name), any: false };
        if self.around.contains(&Looked { any: true, ..looked.clone() }) {
            return Ok(());
        }
        // What calls itself is looked at once more, for all that it may be called with.
        looked.any = self.around.contains(&looked);
        let arguments = if looked.any { &[] } else { arguments };
        self.around.push(looked);
        let arena = Bump::new();
        let body = known.body(&arena, database, routine).map_err(|why| refusal(self.kind, name, &why))?;
        let charsets =
            Charsets { database: &routine.database_collation, default_of: planner.session.default_collation };
        let mut values = BTreeMap::new();
        for (parameter, argument) in body.parameters.iter().zip(arguments) {
            if let Some(argument) = argument
                && parameter.only_in
                && !body.assigned.contains(&parameter.name)
                && let Some(value) = as_parameter(argument.clone(), parameter.data_type, body.text, &charsets)
            {
                values.insert(parameter.name.clone(), value);
            }
        }
        let around = SessionFacts {
            database: Some(database.as_bytes()),
            mode: mode_of(routine, known.dialect),
            sql_mode: &routine.sql_mode,
            charset: "utf8mb4",
            collation: &routine.collation,
            parameters: None,
            variable: &|_| None,
            hinted: None,
            home: self.temporary_on.unwrap_or(planner.session.home),
            ..*planner.session
        };
        for part in &body.parts {
            self.part(planner, &around, &substituted(part, &body, &values), part.text, name)?;
        }
        let within = KnownPrograms { database: Some(database.as_bytes()), ..*known };
        for called in &body.calls {
            let given: Vec<Option<Constant>> =
                called.arguments.iter().map(|part| folded(&around, &substituted(part, &body, &values))).collect();
            self.look(planner, &within, (RoutineKind::Procedure, &called.name), &given, depth + 1)?;
        }
        self.around.pop();
        Ok(())
    }

    /// Notes a value up to which a table's sequence has to be raised; not that of another table than before.
    fn raises(&mut self, raise: Raise) -> bool {
        let before = self.raise.get_or_insert_with(|| raise.clone());
        before.value = before.value.max(raise.value);
        (&before.database, &before.table) == (&raise.database, &raise.table)
    }

    /// Looks where a statement of a body has to run.
    fn part(
        &mut self,
        planner: &Planner<'_>,
        around: &SessionFacts<'_>,
        (text, constants): &(Vec<u8>, Vec<Constant>),
        own: &[u8],
        name: &ObjectName<'_>,
    ) -> Result<(), Refusal> {
        let kind = self.kind;
        let refuse = |why: &str| {
            let why = if why.contains(ANYTHING.trim_matches(['@', '`'])) { UNTOLD } else { why };
            Err(refusal(kind, name, &format!("has a statement that does not run on one shard ({}): {why}", shown(own))))
        };
        let arena = Bump::new();
        let parsed = parse(&arena, text, around.mode);
        let Ok([statement]) = parsed.as_ref().map(|parsed| parsed.statements) else {
            return refuse("it can't be read with values for the body's variables");
        };
        let context = Context {
            database: around.database,
            dialect: around.mode.dialect,
            fold_case: planner.catalog.fold_case,
            columns: &(),
        };
        let facts = facts_with(statement, text, around.mode, &context, &programs(planner.catalog, around));
        let mut tables = facts.names.tables().map(|(_, table)| table).peekable();
        let placed = facts.varies.contains(Varies::STORED);
        if tables.peek().is_none() && !placed {
            return Ok(());
        }
        if matches!(statement.kind, StatementKind::Query(_))
            && !placed
            && let Some(copies) = tables.map(|table| copies_read(planner, table)).collect::<Option<Vec<Shards>>>()
        {
            // Which of the shards that have copies does not matter.
            copies.iter().for_each(|copies| self.able.keep(copies));
            return Ok(());
        }
        let session = SessionFacts { parameters: Some(constants), ..*around };
        match plan_within(text, statement, planner.catalog, planner.weights, &session, planner.effort) {
            Ok(Plan::Route(route)) => {
                if let Some(raise) = route.raise
                    && !self.raises(raise)
                {
                    return refuse("it gives explicit values to AUTO_INCREMENT columns of several tables");
                }
                self.needed.push((route.shard, shown(own)));
                Ok(())
            }
            // Tables of databases that are not sharded are there only; others are the body's temporary ones.
            Ok(Plan::Home) => {
                let unsharded = |table: &Table<'_>| {
                    table.database.is_none_or(|database| planner.catalog.database(database).is_none())
                };
                let home = ShardId(0);
                let on = if facts.names.tables().any(|(_, table)| unsharded(table)) {
                    home
                } else {
                    self.temporary_on.unwrap_or(home)
                };
                self.needed.push((on, shown(own)));
                Ok(())
            }
            Ok(Plan::Read(read)) => refuse(&read.reason),
            Ok(Plan::Union(union)) => refuse(&union.reason),
            Ok(Plan::Write(write)) => refuse(&write.reason),
            Ok(Plan::Workbench(_)) => refuse("it needs rows of several shards in one place"),
            Ok(_) => refuse("it shows definitions of several shards"),
            Err(Refusal::NeedsWorkbench(message) | Refusal::NotSupported { message, .. }) => refuse(&message),
            Err(Refusal::Failure(failure))
                if failure.code == codes::ER_NO_SUCH_TABLE && self.temporary_on.is_some() =>
            {
                refuse("it puts rows of several shards into a temporary table")
            }
            Err(Refusal::Failure(failure)) => refuse(&failure.message),
            Err(weights @ Refusal::NeedsWeights(..)) => Err(weights),
        }
    }
}

/// The shards with copies of a table, if it is GLOBAL and only read.
fn copies_read(planner: &Planner<'_>, table: &Table<'_>) -> Option<Shards> {
    let (_, known) = planner.catalog.table(table.database?, table.name)?;
    let (_, database) = planner.catalog.database(table.database?)?;
    let only_read = known.placement == Placement::Global && (table.roles - Roles::READ).is_empty();
    only_read.then(|| Shards::of(&database.shards))
}

/// A part's text with values for the routine's own variables, and without INTO; and the values of its parameters.
fn substituted(
    part: &BodyStatement<'_>,
    body: &Body<'_>,
    values: &BTreeMap<String, Constant>,
) -> (Vec<u8>, Vec<Constant>) {
    let mut edits: Vec<(Range<usize>, &[u8], Option<Constant>)> = Vec::new();
    let mut limits = Vec::new();
    walk(Node::Statement(part.statement), &mut |node: Node<'_>| {
        match node {
            Node::Into(into) => {
                edits.push((into.span.range(), b" ", None));
                return Flow::Skip;
            }
            Node::Limit(Limit { count, offset, rows_examined, .. }) => {
                limits.extend([count, offset, rows_examined].into_iter().flatten().map(|expr| expr.span));
            }
            Node::Expr(expr) => {
                if let Some(name) = body.local(expr) {
                    // How many rows are taken says nothing of where they are; only a parameter may stand there.
                    let of_limit = limits.contains(&expr.span).then_some(Constant::Integer(1));
                    match values.get(&name).cloned().or(of_limit) {
                        Some(value) => edits.push((expr.span.range(), b"?", Some(value))),
                        None => edits.push((expr.span.range(), ANYTHING.as_bytes(), None)),
                    }
                }
            }
            _ => {}
        }
        Flow::Descend
    });
    edits.sort_by_key(|(range, ..)| range.start);
    let constants = edits.iter().filter_map(|(.., constant)| constant.clone()).collect();
    let edits: Vec<(Range<usize>, &[u8])> = edits.into_iter().map(|(range, text, _)| (range, text)).collect();
    (splice(part.text, &edits), constants)
}

/// The value of an expression that stands in a query of its own.
fn folded(around: &SessionFacts<'_>, (text, constants): &(Vec<u8>, Vec<Constant>)) -> Option<Constant> {
    let arena = Bump::new();
    let parsed = parse(&arena, text, around.mode).ok()?;
    let [statement] = parsed.statements else { return None };
    let StatementKind::Query(query) = statement.kind else { return None };
    let QueryBody::Select(select) = &query.body else { return None };
    let [item] = select.items else { return None };
    let SelectItemKind::Expr(expr, _) = &item.kind else { return None };
    let session = SessionFacts { parameters: Some(constants), ..*around };
    let folder = Folder { text, session: &session, assigns: false, trace: None };
    folder.fold(expr).map(|known| known.constant)
}
