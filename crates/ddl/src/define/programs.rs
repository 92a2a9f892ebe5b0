//! Routines and triggers.
//!
//! What must always hold: what a shard's server runs by itself (a trigger, a function within a statement) sees and changes the
//! rows of that shard alone; so it may name only tables of which that shard has all rows, and change only those that no other shard has.
//! A function that reads or changes SINGLE tables is on all shards, and fails on those that lack its tables: a statement that calls it is
//! planned for the shard that has them.

use weir_catalog::{Catalog, Change, DefinitionKind, Object, Placement, RoutineKind};
use weir_sql::LexMode;
use weir_sql::ast::{AlterRoutine, CreateRoutine, CreateTrigger, DropProgram, ObjectName, ProgramKind, RoutineBody};
use weir_wire::Failure;
use weir_wire::error::not_supported;

use super::asked::Asked;
use super::body_use::BodyUse;
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
    if let (true, RoutineBody::Statement(body)) = (routine.function, routine.body) {
        let reach = BodyUse::of(asked, catalog, body, &object.database);
        let apart = reach.single.as_ref().is_some_and(|all| all.iter().any(|shard| *shard != all[0]));
        let changes_others = reach.writes && (reach.single.is_none() || reach.calls_unknown || reach.opaque);
        if reach.sharded || apart || reach.writes_global || changes_others {
            return Err(not_supported(
                "A function in a sharded database can read GLOBAL tables, and read and change SINGLE tables of one shard, because each shard \
                 runs it on its own rows: use a procedure, or join the tables in the statement",
            ));
        }
    }
    let shards = shards::of_database(catalog, &object.database);
    let change = Change::RereadRoutine(object.clone(), kind(routine.function));
    Ok(Some(Intent::new(asked, definition, vec![object], shards).with(vec![change])))
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
    if !stays_alone(catalog, &table, &reach) {
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

/// Whether a table may have a trigger with this body, which is read in this mode.
pub fn may_have_trigger(catalog: &Catalog, table: &Object, body: &[u8], mode: LexMode) -> bool {
    stays_alone(catalog, table, &BodyUse::of_text(catalog, body, mode, &table.database))
}

/// Whether a table's trigger finds all rows that it uses where the table's row is, and changes none that others have too.
fn stays_alone(catalog: &Catalog, table: &Object, reach: &BodyUse) -> bool {
    match shards::table(catalog, table).map(|table| &table.placement) {
        Some(Placement::Single(shard)) => {
            !reach.sharded
                && reach.single.as_ref().is_none_or(|all| all.iter().all(|other| other == shard))
                && !reach.writes_global
        }
        Some(_) => !reach.sharded && reach.single.is_none() && !reach.writes,
        None => true,
    }
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
