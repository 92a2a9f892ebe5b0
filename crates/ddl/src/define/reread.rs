//! Reads from the servers what a definition has changed: tables, views, routines, sequences.

use std::collections::BTreeMap;

use weir_catalog::{Change, Definition, Object, Placement, Routine, RoutineKind, ShardId, Table};
use weir_shards::own::name;
use weir_wire::Failure;

use super::records::Records;
use super::{collations, read_table, shards};
use crate::{routine, view};

/// What servers say of the tables that these changes add or change, with their placements.
///
/// # Errors
/// When a server can't be asked, or a table is not there.
pub(super) async fn tables<R: Records>(records: &R, changes: &[Change]) -> Result<BTreeMap<Object, Table>, Failure> {
    let catalog = records.catalog();
    let mut learnt = BTreeMap::new();
    // The names that tables have now: those that a definition renames are known by other ones.
    let mut old_names: BTreeMap<&Object, &Object> = BTreeMap::new();
    for change in changes {
        let (object, model) = match change {
            Change::Rename(from, to) => {
                let origin = old_names.remove(from).unwrap_or(from);
                old_names.insert(to, origin);
                continue;
            }
            Change::AddTable(object, placed) => (object, read_table::Model::New(placed)),
            Change::RereadTable(object) => {
                let known = old_names.get(object).copied().unwrap_or(object);
                match shards::table(&catalog, known) {
                    Some(table) => (object, read_table::Model::Known(table)),
                    // A view, or nothing: there is nothing to be known of it.
                    None => continue,
                }
            }
            _ => continue,
        };
        let of_database = shards::of_database(&catalog, &object.database);
        let on = shards::of_placement(&of_database, model.placement());
        let shard = on.first().copied().unwrap_or(ShardId(0));
        let mut replies = Vec::new();
        for question in read_table::questions(object) {
            replies.push(records.ask(shard, question).await?);
        }
        let table = read_table::table(object, &model, replies)?;
        collations::check_key(records, &table).await?;
        if matches!(model, read_table::Model::Known(known) if known.auto_increment.is_none()) {
            number_behind(records, object, &table, &on).await?;
        }
        learnt.insert(object.clone(), table);
    }
    Ok(learnt)
}

/// A column that has become AUTO_INCREMENT goes on behind the values that the table has.
async fn number_behind<R: Records>(records: &R, object: &Object, table: &Table, on: &[ShardId]) -> Result<(), Failure> {
    let column = table.auto_increment.and_then(|at| table.columns.get(at));
    let Some(column) = column.filter(|_| !matches!(table.placement, Placement::Single(_))) else { return Ok(()) };
    let table = name(object.name.as_deref().unwrap_or_default());
    let sql = format!("SELECT MAX({}) FROM {}.{table}", name(&column.name), name(&object.database));
    let mut next = records.sequence(object).await?;
    for shard in on {
        let rows = records.ask(*shard, sql.clone()).await?;
        let greatest = collations::first_text(&rows).and_then(|text| text.parse::<u64>().ok());
        next = next.max(greatest.map_or(1, |greatest| greatest.saturating_add(1)));
    }
    records.set_sequence(object, Some(next)).await
}

/// What servers say of the routines that these changes make, as far as all shards say the same.
///
/// # Errors
/// When a server can't be asked.
pub(super) async fn routines<R: Records>(
    records: &R,
    changes: &[Change],
) -> Result<BTreeMap<(Object, RoutineKind), Routine>, Failure> {
    let catalog = records.catalog();
    let mut known = BTreeMap::new();
    for change in changes {
        let Change::RereadRoutine(object, kind) = change else { continue };
        let mut answers = Vec::new();
        for shard in shards::of_database(&catalog, &object.database) {
            answers.push(routine::told(records.ask(shard, routine::question(object, *kind)).await)?);
        }
        if let Some(routine) = routine::agreed(answers) {
            known.insert((object.clone(), *kind), routine);
        }
    }
    Ok(known)
}

/// What servers say of the views that a definition makes. One that they do not tell is kept as it was sent.
///
/// # Errors
/// When a server can't be asked.
pub(super) async fn views<R: Records>(
    records: &R,
    definition: &Definition,
) -> Result<BTreeMap<Object, String>, Failure> {
    let mut known = BTreeMap::new();
    for change in &definition.changes {
        let Change::PutView(object, _) = change else { continue };
        for (shard, _) in &definition.shards {
            let text = records.ask(*shard, view::question(object)).await?;
            // It is on some of them only, if it has replaced one of other tables.
            if text.is_empty() {
                continue;
            }
            let create = view::told(records.ask(*shard, view::columns_question(object)).await)?;
            known.extend(view::query(object, &text, &create).map(|query| (object.clone(), query)));
            break;
        }
    }
    Ok(known)
}

/// What becomes of sequences.
///
/// # Errors
/// When the shard that keeps them can't be asked.
pub(super) async fn sequences<R: Records>(records: &R, changes: &[Change]) -> Result<(), Failure> {
    for change in changes {
        match change {
            // Never backwards: a value that was given to somebody may not have become a row yet.
            Change::StartSequence(table, next) => {
                let now = records.sequence(table).await?;
                records.set_sequence(table, Some(now.max(*next))).await?;
            }
            Change::DropDatabase(name) => {
                let catalog = records.catalog();
                let Some((_, database)) = catalog.database(name.as_bytes()) else { continue };
                for (table, _) in database.tables.iter().filter(|(_, table)| table.auto_increment.is_some()) {
                    records.set_sequence(&Object::within(name.clone(), table.clone()), None).await?;
                }
            }
            Change::ResetSequence(table) => records.set_sequence(table, Some(1)).await?,
            Change::DropTable(table) => records.set_sequence(table, None).await?,
            Change::Rename(from, to) => records.rename_sequence(from, to).await?,
            _ => {}
        }
    }
    Ok(())
}
