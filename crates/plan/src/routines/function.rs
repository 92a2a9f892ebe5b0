//! On which shard a statement can call the stored functions that it calls, and use the sequences that it names.
//!
//! What must always hold: a function that reads tables which not every shard has all rows of runs where it reads all rows that it would
//! read on one server; a statement that calls it runs there, or not at all. So does one that uses a sequence. A statement that calls a function
//! which changes rows is sent to one shard as it is: nothing of it is computed apart, where it could run twice, or outside its transaction.

use std::cell::RefCell;

use weir_catalog::{Constant, Placement, RoutineKind, ShardId};
use weir_sql::Effects;
use weir_sql::ast::{Call, CallProcedure, Expr, ExprKind, ObjectName};
use weir_sql::facts::{Programs, Varies, facts_with};
use weir_sql::resolve::Context;
use weir_sql::visit::{Flow, Node, walk};

use super::KnownPrograms;
use super::call::{CallNeeds, assigns_variables, refusal};
use crate::constant::Folder;
use crate::place::Shards;
use crate::planner::Planner;
use crate::{Need, Plan, Refusal, WriteKind};

/// Where a statement's stored functions have to run, and its sequences are.
pub(crate) struct FunctionNeeds {
    /// Each shard that one of them needs, and why.
    pub(crate) needed: Vec<(ShardId, String)>,
    /// The shards that have what else they read.
    pub(crate) able: Shards,
    /// It uses a sequence: LASTVAL tells of the session's connection what came last.
    sequence: bool,
}

impl FunctionNeeds {
    fn on(able: Shards) -> FunctionNeeds {
        FunctionNeeds { needed: Vec::new(), able, sequence: false }
    }

    /// Whether a write that is planned so calls them only where they can run: values that are found first are planned by themselves.
    pub(crate) fn allow(&self, plan: &Plan) -> bool {
        match plan {
            Plan::Route(route) => {
                self.able.has(route.shard) && self.needed.iter().all(|(shard, _)| *shard == route.shard)
            }
            Plan::Write(write) => matches!(write.kind, WriteKind::Resolve(_)) && !self.sequence,
            _ => false,
        }
    }
}

/// Where the stored functions of a statement have to run; `None` if that does not matter, or if nothing is known of them.
///
/// # Errors
/// One of them can't run on one shard.
pub(crate) fn function_needs(planner: &Planner<'_>) -> Result<Option<FunctionNeeds>, Refusal> {
    if !planner.facts.varies.intersects(Varies::STORED | Varies::SEQUENCE) {
        return Ok(None);
    }
    if let Some(trace) = planner.trace {
        trace.depends_on_more();
    }
    let session = planner.session;
    let context = Context {
        database: session.database,
        dialect: session.mode.dialect,
        fold_case: planner.catalog.fold_case,
        columns: &(),
    };
    let placing = Placing { planner, known: planner.programs(), found: RefCell::new(Ok(None)) };
    facts_with(planner.statement, planner.text, session.mode, &context, &placing);
    let mut found = placing.found.into_inner()?;
    walk(Node::Statement(planner.statement), &mut |node: Node<'_>| {
        if let Node::Expr(Expr { kind: ExprKind::Sequence(call), .. }) = node
            && let Some((shard, all)) = shard_of(&placing.known, &call.sequence)
        {
            let found = found.get_or_insert_with(|| FunctionNeeds::on(Shards::of(all)));
            found.sequence = true;
            let name = String::from_utf8_lossy(call.sequence.name.name);
            let why = format!("the sequence {name} is on {}", planner.catalog.shard_name(shard));
            found.needed.push((shard, why));
        }
        Flow::Descend
    });
    Ok(found)
}

/// The shard of a sequence, and those of its database.
fn shard_of<'a>(known: &KnownPrograms<'a>, sequence: &ObjectName<'_>) -> Option<(ShardId, &'a [ShardId])> {
    let database = sequence.database.map(|database| database.name).or(known.database)?;
    let (_, found) = known.catalog.table(database, sequence.name.name)?;
    let (_, database) = known.catalog.database(database)?;
    match found.placement {
        Placement::Single(shard) => Some((shard, &database.shards)),
        _ => None,
    }
}

/// Looks at each function that a statement calls.
struct Placing<'a, 'p> {
    planner: &'a Planner<'p>,
    known: KnownPrograms<'p>,
    found: RefCell<Result<Option<FunctionNeeds>, Refusal>>,
}

impl Placing<'_, '_> {
    fn place(&self, call: &Call<'_>) -> Result<(), Refusal> {
        let (planner, session) = (self.planner, self.planner.session);
        let database = call.name.database.map(|database| database.name).or(session.database);
        let Some((_, database)) = database.and_then(|database| planner.catalog.database(database)) else {
            return Ok(());
        };
        let assigns = call.arguments.iter().any(assigns_variables);
        let folder = Folder { text: planner.text, session, assigns, trace: None };
        let arguments: Vec<Option<Constant>> =
            call.arguments.iter().map(|argument| folder.fold(argument).map(|known| known.constant)).collect();
        let kind = RoutineKind::Function;
        let mut needs = CallNeeds {
            kind,
            needed: Vec::new(),
            able: Shards::of(&database.shards),
            raise: None,
            temporary_on: None,
            around: Vec::new(),
        };
        needs.look(planner, &self.known, (kind, &call.name), &arguments, 0)?;
        if needs.raise.is_some() {
            return Err(refusal(kind, &call.name, "gives explicit values to an AUTO_INCREMENT column"));
        }
        let name = String::from_utf8_lossy(call.name.name.name);
        let why = |shard| format!("{name}() reads tables of {}", planner.catalog.shard_name(shard));
        let mut needed: Vec<(ShardId, String)> =
            needs.needed.into_iter().map(|(shard, _)| (shard, why(shard))).collect();
        needed.dedup();
        if let Ok(found) = &mut *self.found.borrow_mut() {
            let found = found.get_or_insert_with(|| FunctionNeeds::on(needs.able.clone()));
            found.needed.extend(needed);
            found.able.keep(&needs.able);
        }
        Ok(())
    }
}

impl Programs for Placing<'_, '_> {
    fn function(&self, call: &Call<'_>) -> Option<Varies> {
        let varies = self.known.function(call)?;
        if varies.contains(Varies::STORED)
            && let Err(refusal) = self.place(call)
        {
            *self.found.borrow_mut() = Err(refusal);
        }
        Some(varies)
    }

    fn procedure(&self, _: &CallProcedure<'_>) -> Option<Effects> {
        None
    }
}

/// Whether a plan has the functions of its statement change rows once, within the statement.
///
/// # Errors
/// Its refusal.
pub(crate) fn allow_changes(planner: &Planner<'_>, plan: Plan) -> Result<Plan, Refusal> {
    let changes = planner.facts.varies.contains(Varies::CHANGES);
    if changes && !matches!(plan, Plan::Route(_)) {
        return Err(Need::Value.refused(
            "A statement that calls a stored function which changes rows, and does not run on one shard as a whole: call the function in a \
             statement of its own (SELECT)",
        ));
    }
    Ok(plan)
}

/// Whether an expression calls a stored function that has to run on certain shards, and reads no column itself.
pub(crate) fn calls_placed(known: &KnownPrograms<'_>, expr: &Expr<'_>) -> bool {
    let (mut placed, mut column) = (false, false);
    walk(Node::Expr(expr), &mut |node: Node<'_>| {
        match node {
            Node::Expr(Expr { kind: ExprKind::Call(call), .. }) => {
                placed |= known.function(call).is_some_and(|varies| varies.contains(Varies::STORED));
            }
            Node::Expr(Expr { kind: ExprKind::Column(_), .. }) => column = true,
            _ => {}
        }
        Flow::Descend
    });
    placed && !column
}
