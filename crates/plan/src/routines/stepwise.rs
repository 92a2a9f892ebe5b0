//! A CALL that no shard can run as a whole: whether Weir can run the statements of its procedure one by one.
//!
//! What must always hold: all that could be refused is refused here, before the first statement runs: each statement and each expression of
//! the body is planned with values of the variables' types. The body is read, planned and run in the settings that it was made with, as
//! servers run it, whatever the session's are. A body that changes definitions is the exception: what it can't have ends the CALL when it is
//! reached, as for texts of EXECUTE.

use std::ops::Range;

use weir_catalog::RoutineKind;
use weir_program::{Kind, Program, Role, Routine, Template, compile, tells};
use weir_sql::ast::{CallProcedure, Expr, ExprKind, QueryBody, SetItemKind, Statement, StatementKind};
use weir_sql::facts::{Facts, Varies, facts_with};
use weir_sql::resolve::Context;
use weir_sql::visit::{Flow, Node, walk};
use weir_sql::{Bump, Effects, Pins, parse, splice};

use super::KnownPrograms;
use super::body::{lower, mode_of, shown};
use crate::constant::is_ascii_superset;
use crate::planner::{Planner, programs};
use crate::statement::plan_within;
use crate::write::literal::parameter;
use crate::{Need, Plan, Refusal, Running, SessionFacts, Stepwise};

/// Plans a CALL. `message`: why no shard can run it.
pub(super) fn plan(
    planner: &Planner<'_>,
    call: &CallProcedure<'_>,
    need: Need,
    message: String,
) -> Result<Plan, Refusal> {
    let known = planner.programs();
    // What is not understood as a whole could leave something on a connection.
    if known.procedure(&call.name).map_or(true, |understood| understood.of_session) {
        return Err(Refusal::NotSupported { need, message });
    }
    match stepwise(planner, &known, call) {
        Ok(plan) => Ok(Plan::Stepwise(Box::new(Stepwise { reason: message, ..plan }))),
        Err(Refusal::NotSupported { message: why, .. }) => {
            Err(need.refused(format!("{message}. Weir can't run its statements one by one: it {why}")))
        }
        Err(refusal) => Err(refusal),
    }
}

fn refused(why: impl Into<String>) -> Refusal {
    Need::OneServer.refused(why.into())
}

fn stepwise(planner: &Planner<'_>, known: &KnownPrograms<'_>, call: &CallProcedure<'_>) -> Result<Stepwise, Refusal> {
    let Some((database, routine)) = known.find(RoutineKind::Procedure, &call.name) else {
        return Err(refused("is not known"));
    };
    let session = planner.session;
    let mode = mode_of(routine, known.dialect);
    let understood = known.procedure(&call.name).map_err(refused)?;
    // A connection that has a database can't be without one again: it must be free when the body ends.
    let stays = session.in_transaction || understood.controls || understood.dynamic || understood.sets_session;
    if session.database.is_none() && stays {
        return Err(refused(format!(
            "has to do with transactions or settings, and the session is in no database, as which its connection can't be left: USE {database}"
        )));
    }
    if mode.no_backslash_escapes {
        return Err(refused("was made with sql_mode NO_BACKSLASH_ESCAPES"));
    }
    if !is_ascii_superset(&routine.collation) {
        let own = &routine.collation;
        return Err(refused(format!(
            "was made with collation_connection {own}: SET NAMES utf8mb4, DROP it, and CREATE it again"
        )));
    }
    if routine.database_collation == "binary" {
        return Err(refused("has texts without a character set"));
    }
    let mut program = compile(&Routine { text: routine.text.as_bytes(), mode }).map_err(refused)?;
    let arguments = arguments(planner, &program, call)?;
    let itself = Running { database: database.to_owned(), name: lower(call.name.name.name) };
    let mut running = session.running.to_vec();
    if !running.contains(&itself) {
        running.push(itself);
    }
    let around = SessionFacts {
        database: Some(database.as_bytes()),
        mode,
        sql_mode: &routine.sql_mode,
        charset: "utf8mb4",
        collation: &routine.collation,
        parameters: None,
        hinted: None,
        running: &running,
        ..*session
    };
    let look = Look { planner, around, defines: understood.defines };
    look.all(&mut program)?;
    Ok(Stepwise {
        program,
        database: database.to_owned(),
        name: String::from_utf8_lossy(call.name.name.name).into_owned(),
        arguments,
        sql_mode: routine.sql_mode.clone(),
        connection_collation: routine.collation.clone(),
        collation: routine.database_collation.clone(),
        home: planner.home(),
        reason: String::new(),
    })
}

/// The texts of the arguments, in which the values of parameters stand.
fn arguments(planner: &Planner<'_>, program: &Program, call: &CallProcedure<'_>) -> Result<Vec<Vec<u8>>, Refusal> {
    let text = |(place, argument): (usize, &Expr<'_>)| {
        let gives = program.parameters.get(place).is_some_and(|parameter| parameter.gives);
        let mut values: Vec<(Range<usize>, Vec<u8>)> = Vec::new();
        let mut unknown = false;
        walk(Node::Expr(argument), &mut |node: Node<'_>| {
            if let Node::Expr(Expr { kind: ExprKind::Parameter(place), span, .. }) = node {
                match planner.session.parameters.and_then(|values| values.get(*place as usize)) {
                    Some(value) if !gives => values.push((span.range(), parameter(value, planner.session.mode))),
                    _ => unknown = true,
                }
            }
            Flow::Descend
        });
        if unknown {
            return Err(refused(
                "gives a value to a parameter of a prepared statement: send the CALL as text, with user variables",
            ));
        }
        let start = argument.span.range().start;
        let moved = |(range, text): &(Range<usize>, Vec<u8>)| (range.start - start..range.end - start, text.clone());
        let moved: Vec<(Range<usize>, Vec<u8>)> = values.iter().map(moved).collect();
        let edits: Vec<(Range<usize>, &[u8])> = moved.iter().map(|(range, text)| (range.clone(), &text[..])).collect();
        Ok(splice(argument.span.text(planner.text), &edits))
    };
    call.arguments.iter().enumerate().map(text).collect()
}

/// What a value of a kind looks like.
fn sample(kind: Kind) -> &'static [u8] {
    match kind {
        Kind::Integer => b"1",
        Kind::Decimal => b"1.5",
        Kind::Double => b"1e0",
        Kind::Text => b"'a'",
        Kind::Date => b"DATE'2000-01-01'",
        Kind::DateTime => b"TIMESTAMP'2000-01-01 00:00:00'",
        Kind::Time => b"TIME'00:00:00'",
        Kind::Binary => b"CAST('a' AS BINARY)",
        Kind::Bits => b"b'1'",
        Kind::Json => b"CAST('[]' AS JSON)",
        Kind::Field => b"1",
    }
}

struct Look<'a> {
    planner: &'a Planner<'a>,
    around: SessionFacts<'a>,
    /// The body changes definitions: what a statement is about is known when it runs, and it may be refused then.
    defines: bool,
}

impl Look<'_> {
    fn all(&self, program: &mut Program) -> Result<(), Refusal> {
        let kinds: Vec<Kind> = program.variables.iter().map(|variable| variable.kind).collect();
        for (role, template) in program.texts_mut() {
            let fields = template.variables().any(|variable| kinds[variable] == Kind::Field);
            let looked = |field: &'static [u8]| {
                let value =
                    |variable: usize| if kinds[variable] == Kind::Field { field } else { sample(kinds[variable]) };
                self.one(role, template, &template.render(value), fields)
            };
            // The type of a field is known when it is there: that there is one with which it can be planned is enough.
            let beside = match looked(sample(Kind::Field)) {
                Err(Refusal::NotSupported { .. }) if fields => looked(sample(Kind::Text))?,
                looked => looked?,
            };
            template.beside = beside;
        }
        Ok(())
    }

    /// Looks at a text with such values. Returns whether it needs nothing but them.
    fn one(&self, role: Role, template: &Template, text: &[u8], fields: bool) -> Result<bool, Refusal> {
        let text = match role {
            Role::Expression => [b"SELECT (", text, b")"].concat(),
            Role::Query | Role::Statement => text.to_vec(),
        };
        let cannot =
            |why: &str| refused(format!("has a statement ({}) that is not run so: {why}", shown(&template.text)));
        let arena = Bump::new();
        let parsed = parse(&arena, &text, self.around.mode);
        let Ok([statement]) = parsed.as_ref().map(|parsed| parsed.statements) else {
            return Err(cannot("it can't be read with values of the variables"));
        };
        let catalog = self.planner.catalog;
        let context = Context {
            database: self.around.database,
            dialect: self.around.mode.dialect,
            fold_case: catalog.fold_case,
            columns: &(),
        };
        let facts = facts_with(statement, &text, self.around.mode, &context, &programs(catalog, &self.around));
        // The length of GROUP_CONCAT is the session's.
        let concatenates = text.to_ascii_lowercase().windows(12).any(|window| window == b"group_concat");
        if fields && role == Role::Statement && has_result(statement) && template.selects_variables {
            return Err(cannot("it selects a field of a loop's row: SELECT variables that have its value"));
        }
        if is_items_alone(statement) && is_beside(&facts) && !concatenates {
            return Ok(role == Role::Expression || role == Role::Statement);
        }
        if role == Role::Statement && has_result(statement) && template.selects_variables {
            return Err(cannot("it selects a variable beside rows; SELECT … INTO variables, and select these"));
        }
        match statement.kind {
            StatementKind::Transaction(_) | StatementKind::Deallocate(_) => return Ok(false),
            StatementKind::Set(set) if set.items.iter().any(|item| matches!(item.kind, SetItemKind::Variable(_))) => {
                return match facts.class.pins.contains(Pins::UNKNOWN_FUNCTION) || facts.names.tables().next().is_some()
                {
                    true => Err(cannot("a variable of the session gets a value of a query or a function")),
                    false => Ok(false),
                };
            }
            // The texts themselves are judged when they run.
            StatementKind::Prepare(_) | StatementKind::Execute(_) => {
                let own = Pins::TEXT_PREPARE | Pins::UNKNOWN_STATEMENT;
                return match (facts.class.pins - own).is_empty() {
                    true => Ok(false),
                    false => {
                        Err(cannot("its text calls functions or assigns variables; SET a user variable to it before"))
                    }
                };
            }
            _ => {}
        }
        if let StatementKind::Call(called) = statement.kind {
            self.called(called)?;
            if self.is_running(called) {
                return Ok(false);
            }
        }
        // A server says so when it comes there.
        if self.is_about_missing(&facts) {
            return Ok(false);
        }
        let stepwise = matches!(statement.kind, StatementKind::Call(_));
        match plan_within(&text, statement, catalog, self.planner.weights, &self.around, self.planner.effort) {
            Ok(Plan::Stepwise(_)) if stepwise => Ok(false),
            Ok(Plan::Show) if tells(statement) => Ok(false),
            _ if self.defines => Ok(false),
            Ok(Plan::Define | Plan::Show | Plan::Lock(_) | Plan::Stepwise(_)) => Err(cannot("it is about definitions")),
            Ok(_) => Ok(false),
            Err(Refusal::NeedsWorkbench(why) | Refusal::NotSupported { message: why, .. }) => Err(cannot(&why)),
            // An error of servers' own is for handlers when the statement is reached.
            Err(Refusal::Failure(_)) => Ok(false),
            Err(refusal) => Err(refusal),
        }
    }
}

impl Look<'_> {
    /// Whether a statement names a table of a sharded database that is not there.
    fn is_about_missing(&self, facts: &Facts<'_>) -> bool {
        let known = programs(self.planner.catalog, &self.around);
        facts.names.tables().any(|(_, table)| known.check_table(table.database, table.name).is_err())
    }

    /// Whether a procedure is one of those whose bodies are being looked at.
    fn is_running(&self, called: &CallProcedure<'_>) -> bool {
        let known = programs(self.planner.catalog, &self.around);
        let name = lower(called.name.name.name);
        let found = known.find(RoutineKind::Procedure, &called.name);
        found.is_some_and(|(database, _)| {
            self.around.running.iter().any(|one| one.database == database && one.name == name)
        })
    }

    /// A procedure that the body calls may give values to nothing but user variables.
    fn called(&self, called: &CallProcedure<'_>) -> Result<(), Refusal> {
        let known = programs(self.planner.catalog, &self.around);
        let name = shown(called.name.name.name);
        let assigns = |(place, argument): (usize, &Expr<'_>)| {
            !matches!(argument.bare().kind, ExprKind::UserVariable(_)) && known.may_assign(&called.name, place)
        };
        match called.arguments.iter().enumerate().any(assigns) {
            true => Err(refused(format!("calls {name} for a value in one of its own variables: pass a user variable"))),
            false => Ok(()),
        }
    }
}

/// Whether the client gets a statement's rows.
fn has_result(statement: &Statement<'_>) -> bool {
    let StatementKind::Query(query) = &statement.kind else { return false };
    let within = matches!(query.body, QueryBody::Select(select) if select.into.is_some());
    query.into.is_none() && !within
}

/// Whether a statement is SELECT with nothing but items, in which there is no other query: FROM can follow.
fn is_items_alone(statement: &Statement<'_>) -> bool {
    let mut end = 0;
    let mut selects = 0;
    walk(Node::Statement(statement), &mut |node: Node<'_>| {
        match node {
            Node::Select(_) => selects += 1,
            Node::SelectItem(item) => end = end.max(item.span.range().end),
            _ => {}
        }
        Flow::Descend
    });
    has_result(statement) && selects == 1 && end == statement.span.range().end
}

/// Whether a query needs no rows and nothing of its session.
fn is_beside(facts: &Facts<'_>) -> bool {
    facts.names.tables().next().is_none()
        && facts.class.pins.is_empty()
        && (facts.class.effects - Effects::READS).is_empty()
        && !facts.varies.contains(Varies::STORED)
}
