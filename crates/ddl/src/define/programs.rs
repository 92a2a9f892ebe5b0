//! Routines, triggers and events.
//!
//! What must always hold: what a shard's server runs by itself (a trigger, an event, a function within a statement) sees and changes the
//! rows of that shard alone; so it may name only tables of which that shard has all rows, and change only those that no other shard has.
//! A function that reads SINGLE tables is on all shards, and fails on those that lack its tables: a statement that calls it is planned for
//! the shard that has them.

use weir_catalog::{Catalog, Change, DefinitionKind, Object, Placement, Routine, RoutineKind};
use weir_plan::routines::KnownPrograms;
use weir_sql::ast::{
    AlterRoutine, CreateRoutine, CreateTrigger, DropProgram, ObjectName, ProgramKind, RoutineBody, Span,
};
use weir_sql::{Effects, LexMode, Lexer, TokenKind};
use weir_wire::Failure;
use weir_wire::error::not_supported;

use super::asked::Asked;
use super::intent::{Intent, whole_database};
use super::{names, shards};

/// CREATE PROCEDURE, CREATE FUNCTION.
pub(super) fn create_routine(
    asked: &Asked<'_>,
    catalog: &Catalog,
    routine: &CreateRoutine<'_>,
    definition: DefinitionKind,
) -> Result<Option<Intent>, Failure> {
    let Some(object) = names::object(asked, catalog, &routine.name)? else { return Ok(None) };
    if let (true, RoutineBody::Statement(body)) = (routine.function, routine.body)
        && !function_stays(asked, catalog, body, &object.database)
    {
        return Err(not_supported(
            "A function in a sharded database can read GLOBAL tables, and SINGLE tables of one shard, because each shard runs it on its \
             own rows: use a procedure, or join the tables in the statement",
        ));
    }
    let shards = shards::of_database(catalog, &object.database);
    let change = Change::RereadRoutine(object.clone(), kind(routine.function));
    Ok(Some(Intent::new(asked, definition, vec![object], shards).with(vec![change])))
}

/// Whether a function changes nothing, and reads only tables of which one shard has all rows.
fn function_stays(asked: &Asked<'_>, catalog: &Catalog, body: Span, database: &str) -> bool {
    let setting = |name: &str| asked.settings.get(name).cloned().unwrap_or_default();
    let text = String::from_utf8_lossy(asked.text).into_owned();
    let collation = setting("collation_connection");
    let routine = Routine { text, sql_mode: setting("sql_mode"), database_collation: collation.clone(), collation };
    let known = KnownPrograms::new(catalog, Some(database.as_bytes()), asked.mode.dialect, false, false);
    if let Ok(understood) = known.understand(database, &routine) {
        let changes = understood.changes || understood.effects.contains(Effects::WRITES);
        return !changes && !understood.sharded && understood.singles.len() < 2;
    }
    let reach = BodyUse::of(asked, catalog, body, database);
    let apart = reach.single.as_ref().is_some_and(|all| all.iter().any(|shard| *shard != all[0]));
    reach.sharded.is_none() && !apart && !reach.writes
}

fn kind(function: bool) -> RoutineKind {
    if function { RoutineKind::Function } else { RoutineKind::Procedure }
}

/// ALTER PROCEDURE, ALTER FUNCTION, ALTER LIBRARY.
pub(super) fn alter_routine(
    asked: &Asked<'_>,
    catalog: &Catalog,
    alter: &AlterRoutine<'_>,
) -> Result<Option<Intent>, Failure> {
    let intent = whole_database(asked, catalog, &alter.name, DefinitionKind::Again)?;
    Ok(intent.map(|intent| about_routine(intent, alter.kind, Change::RereadRoutine)))
}

/// DROP of anything but a trigger.
pub(super) fn drop_routine(
    asked: &Asked<'_>,
    catalog: &Catalog,
    drop: &DropProgram<'_>,
) -> Result<Option<Intent>, Failure> {
    let intent = whole_database(asked, catalog, &drop.name, DefinitionKind::Drop)?;
    Ok(intent.map(|intent| about_routine(intent, drop.kind, Change::DropRoutine)))
}

fn about_routine(intent: Intent, kind: ProgramKind, change: fn(Object, RoutineKind) -> Change) -> Intent {
    let kind = match kind {
        ProgramKind::Procedure => RoutineKind::Procedure,
        ProgramKind::Function => RoutineKind::Function,
        _ => return intent,
    };
    let changes = intent.objects.iter().map(|object| change(object.clone(), kind)).collect();
    intent.with(changes)
}

/// CREATE TRIGGER: on its table's shards.
pub(super) fn create_trigger(
    asked: &Asked<'_>,
    catalog: &Catalog,
    trigger: &CreateTrigger<'_>,
) -> Result<Option<Intent>, Failure> {
    let Some(table) = names::object(asked, catalog, &trigger.table)? else { return Ok(None) };
    let reach = BodyUse::of(asked, catalog, trigger.body, &table.database);
    let alone = match shards::table(catalog, &table).map(|table| &table.placement) {
        Some(Placement::Single(shard)) => {
            reach.sharded.is_none()
                && reach.single.as_ref().is_none_or(|all| all.iter().all(|other| other == shard))
                && !(reach.writes && reach.global)
        }
        Some(_) => reach.sharded.is_none() && reach.single.is_none() && !reach.writes,
        None => true,
    };
    if !alone {
        return Err(not_supported(
            "A trigger in a sharded database can change the row that it runs for, and read GLOBAL tables (of a SINGLE table: use \
             tables of the same shard): write the other rows from the application, in the same transaction",
        ));
    }
    let object = names::object(asked, catalog, &trigger.name)?.unwrap_or_else(|| table.clone());
    let shards = shards::of_object(catalog, &table);
    let kind = if trigger.or_replace { DefinitionKind::Again } else { DefinitionKind::Create };
    let changes = vec![Change::PutTrigger(object.clone(), table.clone()), Change::RereadTable(table.clone())];
    Ok(Some(Intent::new(asked, kind, vec![object, table], shards).with(changes)))
}

/// DROP TRIGGER: on its table's shards, if the table is known.
pub(super) fn drop_trigger(
    asked: &Asked<'_>,
    catalog: &Catalog,
    name: &ObjectName<'_>,
) -> Result<Option<Intent>, Failure> {
    let Some(object) = names::object(asked, catalog, name)? else { return Ok(None) };
    let known = catalog.triggers.iter().find(|(trigger, _)| *trigger == object);
    let table = known.map(|(_, table)| table.clone());
    let shards = shards::of_object(catalog, table.as_ref().unwrap_or(&object));
    let mut changes = vec![Change::DropTrigger(object.clone())];
    changes.extend(table.map(Change::RereadTable));
    Ok(Some(Intent::new(asked, DefinitionKind::Drop, vec![object], shards).with(changes)))
}

/// CREATE EVENT, ALTER EVENT: on all shards, which is right only for what touches no table.
pub(super) fn event(
    asked: &Asked<'_>,
    catalog: &Catalog,
    name: &ObjectName<'_>,
    body: Option<Span>,
    kind: DefinitionKind,
) -> Result<Option<Intent>, Failure> {
    let Some(object) = names::object(asked, catalog, name)? else { return Ok(None) };
    if let Some(body) = body {
        let reach = BodyUse::of(asked, catalog, body, &object.database);
        if reach.sharded.is_some() || reach.single.is_some() || reach.global || reach.writes {
            return Err(not_supported(
                "An event in a sharded database can't use tables, because each shard would run it by itself: have a scheduler run \
                 the statement through Weir",
            ));
        }
    }
    let shards = shards::of_database(catalog, &object.database);
    Ok(Some(Intent::new(asked, kind, vec![object], shards)))
}

/// What the body of a program may use. More than it does use: any name counts that is a table's.
#[derive(Default)]
struct BodyUse {
    sharded: Option<String>,
    single: Option<Vec<weir_catalog::ShardId>>,
    global: bool,
    /// It changes rows of tables, or calls what may.
    writes: bool,
}

impl BodyUse {
    fn of(asked: &Asked<'_>, catalog: &Catalog, body: Span, database: &str) -> BodyUse {
        const WRITES: [&str; 9] =
            ["insert", "update", "delete", "replace", "call", "load", "truncate", "execute", "handler"];
        let mut reach = BodyUse::default();
        let names = names_in(body.text(asked.text), asked.mode);
        let writes = |name: &[u8]| WRITES.iter().any(|write| name.eq_ignore_ascii_case(write.as_bytes()));
        reach.writes = names.iter().any(|name| name.statement && writes(name.text));
        for home in homes(catalog, &names, database) {
            for Named { text: name, .. } in &names {
                if let Some((found, table)) = catalog.table(home.as_bytes(), name) {
                    match table.placement {
                        Placement::Global => reach.global = true,
                        Placement::Single(shard) => reach.single.get_or_insert_default().push(shard),
                        Placement::Sharded(_) => reach.sharded = Some(found.to_owned()),
                    }
                }
                let view = std::str::from_utf8(name).ok();
                let is_view =
                    |view: &&str| catalog.databases.get(home).is_some_and(|all| all.views.contains_key(*view));
                if let Some(view) = view.filter(is_view) {
                    match weir_plan::views::shards(catalog, home, view)[..] {
                        [shard] => reach.single.get_or_insert_default().push(shard),
                        _ => reach.sharded = Some(view.to_owned()),
                    }
                }
            }
        }
        reach
    }
}

/// The tables that a body may mean: those whose names are words in it.
pub(super) fn tables_in(asked: &Asked<'_>, catalog: &Catalog, body: Span, database: &str) -> Vec<Object> {
    let names = names_in(body.text(asked.text), asked.mode);
    let in_home = |home: &str| -> Vec<Object> {
        let known = names.iter().filter_map(|name| catalog.table(home.as_bytes(), name.text));
        known.map(|(table, _)| Object::within(home, table)).collect()
    };
    homes(catalog, &names, database).into_iter().flat_map(in_home).collect()
}

/// A name in a body, or any other word.
struct Named<'a> {
    text: &'a [u8],
    /// It may be the word that a statement begins with: neither quoted nor a function (`REPLACE(s, 'a', 'b')`), nor that of a handler for
    /// conditions (`DECLARE EXIT HANDLER FOR`).
    statement: bool,
}

/// The words of a body and its quoted names.
fn names_in(text: &[u8], mode: LexMode) -> Vec<Named<'_>> {
    let mut names: Vec<Named<'_>> = Vec::new();
    let mut lexer = Lexer::new(text, mode);
    // Whether the token before is the last one of the names.
    let mut follows = false;
    loop {
        let token = lexer.next_token();
        let last = names.last_mut().filter(|_| follows);
        follows = true;
        match token.kind {
            TokenKind::End => break,
            TokenKind::Word => {
                let text = token.text(text);
                let declares = |last: &Named<'_>| {
                    ["continue", "exit", "undo"].iter().any(|kind| last.text.eq_ignore_ascii_case(kind.as_bytes()))
                };
                let condition = text.eq_ignore_ascii_case(b"handler") && last.is_some_and(|last| declares(last));
                names.push(Named { text, statement: !condition });
            }
            TokenKind::QuotedIdent => names.push(Named { text: unquoted(token.text(text)), statement: false }),
            TokenKind::Punct(b'(') => {
                if let Some(last) = last {
                    last.statement = false;
                }
                follows = false;
            }
            _ => follows = false,
        }
    }
    names
}

/// The databases that names in a body can be in: its own, and those that it names.
fn homes<'a>(catalog: &'a Catalog, names: &[Named<'_>], database: &'a str) -> Vec<&'a str> {
    let named = names.iter().filter_map(|name| catalog.database(name.text)).map(|(name, _)| name);
    let mut homes: Vec<&str> = std::iter::once(database).chain(named).collect();
    homes.sort_unstable();
    homes.dedup();
    homes
}

fn unquoted(name: &[u8]) -> &[u8] {
    name.get(1..name.len().saturating_sub(1)).unwrap_or(name)
}
