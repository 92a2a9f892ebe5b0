//! What is left of a definition that not all shards have: done now, or forgotten.
//!
//! What must always hold: a shard that has it already is not changed once more, unless doing it twice is the same; a definition is done
//! only when all of its shards have the same table.

use std::sync::Arc;

use weir_catalog::{Catalog, Change, Definition, DefinitionKind, Object, Progress, ShardId, Undo};
use weir_shards::Locks;
use weir_shards::ask::ServerAnswer;
use weir_wire::Failure;
use weir_wire::error::codes;

use super::already::{Verdict, comparable, verdict};
use super::multi_object::{drop_rest, renames_on};
use super::names::quoted;
use super::progress::{compares, finish, forget, half_done, note};
use super::reach::{Reach, exists};
use super::records::Records;
use super::undo;

/// Goes on with a definition. `shards`: the way to its shards, with its default database and settings.
///
/// # Errors
/// 1105 when there is no such definition, or when shards still don't have it: the record says which.
pub async fn resume<R: Records>(
    records: &R,
    locks: &Locks,
    id: u64,
    shards: &mut (impl Reach + ?Sized),
) -> Result<(), Failure> {
    let definition = known(&records.catalog(), id)?;
    let _taken = locks.take(&definition.objects).await;
    // The one who had the objects may have been this definition itself.
    let definition = known(&records.catalog(), id)?;
    if definition.statement.text.is_none() {
        return Err(failure(format!(
            "Definition {id} contains a password, which Weir does not keep: run the statement again on the shards that don't have it, or \
             through Weir in a form that may be repeated (IF NOT EXISTS, ALTER USER), then WEIR CANCEL DDL {id}"
        )));
    }
    let catalog = records.catalog();
    let mut left: Vec<ShardId> = definition.shards.iter().map(|(shard, _)| *shard).collect();
    left.retain(|shard| !is_done(&definition, *shard));
    // One after another: a definition is resumed by hand, and what one shard says decides what the next one's state means.
    for shard in left {
        let progress = one(&definition, &catalog, shard, shards).await;
        let news = [(shard, progress)];
        records.change(move |catalog| note(catalog, id, &news)).await?;
    }
    let catalog = records.catalog();
    if !catalog.definition(id).is_some_and(Definition::is_done) {
        return Err(half_done(&catalog, id));
    }
    same_everywhere(&definition, &catalog, shards).await?;
    finish(records, id, &[]).await
}

/// What a shard is left with by [`cancel`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cancelled {
    /// Which.
    pub shard: ShardId,
    /// `Ok`: it does not have the definition. Else what it has, and how that is ended.
    pub state: Result<(), String>,
}

/// Takes a definition back where it was done, as far as it can be, and forgets it.
///
/// # Errors
/// 1105 when there is no such definition.
pub async fn cancel<R: Records>(
    records: &R,
    locks: &Locks,
    id: u64,
    shards: &mut (impl Reach + ?Sized),
) -> Result<Vec<Cancelled>, Failure> {
    let definition = known(&records.catalog(), id)?;
    let _taken = locks.take(&definition.objects).await;
    let definition = known(&records.catalog(), id)?;
    let catalog = records.catalog();
    let mut all = Vec::new();
    for (shard, progress) in &definition.shards {
        let state = match progress {
            Progress::Failed(_) => Ok(()),
            _ => taken_back(&definition, &catalog, *shard, *progress == Progress::Done, shards).await,
        };
        all.push(Cancelled { shard: *shard, state });
    }
    let end = records.change(move |catalog| {
        let changes = catalog.definition(id).map(|definition| definition.changes.clone()).unwrap_or_default();
        // What shards have of a routine now is for its next definition to say.
        catalog.forget_routines(&changes);
        forget(catalog, id)
    });
    end.await.map(|_| all)
}

/// Takes a definition back on a shard that has it, or may have it.
async fn taken_back(
    definition: &Definition,
    catalog: &Catalog,
    shard: ShardId,
    has_it: bool,
    shards: &mut (impl Reach + ?Sized),
) -> Result<(), String> {
    let way_on = match definition.kind {
        DefinitionKind::Drop => "DROP … IF EXISTS through Weir drops it on the others too",
        DefinitionKind::Again => "run the statement again through Weir",
        _ => "undo it there by hand",
    };
    let accounts = definition.objects.iter().all(|object| object.database.is_empty());
    if !has_it && (accounts || definition.undo.is_impossible()) {
        return Err(format!("whether the shard has it is unknown; if so, {way_on}"));
    }
    if definition.kind == DefinitionKind::Rename && !has_it && !is_renamed(definition, catalog, shard, shards).await {
        return Ok(());
    }
    // What the shard said of it is not recorded.
    match undo::undo(&definition.undo, catalog, &definition.changes, (shard, false), shards).await {
        Ok(()) => Ok(()),
        Err(failure) if is_not_there(definition, &failure) => Ok(()),
        Err(failure) => Err(format!(
            "{} ({failure}); {way_on}",
            if has_it { "the shard still has it" } else { "the shard may have it" }
        )),
    }
}

/// Whether a refusal to take something back means that there is nothing.
fn is_not_there(definition: &Definition, failure: &Failure) -> bool {
    match definition.undo {
        Undo::Send(_) => verdict(DefinitionKind::Drop, failure) == Verdict::Done,
        Undo::DropEmpty(_) => matches!(
            failure.code,
            codes::ER_DB_DROP_EXISTS | codes::ER_BAD_DB_ERROR | codes::ER_BAD_TABLE_ERROR | codes::ER_NO_SUCH_TABLE
        ),
        _ => false,
    }
}

fn known(catalog: &Arc<Catalog>, id: u64) -> Result<Definition, Failure> {
    let message = || format!("There is no definition {id} in progress: see WEIR SHOW DDL");
    catalog.definition(id).cloned().ok_or_else(|| failure(message()))
}

fn failure(message: String) -> Failure {
    Failure::client(codes::ER_UNKNOWN_ERROR, message)
}

fn is_done(definition: &Definition, shard: ShardId) -> bool {
    definition.shards.contains(&(shard, Progress::Done))
}

/// Does it on one shard, if that does not have it.
async fn one(
    definition: &Definition,
    catalog: &Catalog,
    shard: ShardId,
    shards: &mut (impl Reach + ?Sized),
) -> Progress {
    if definition.kind == DefinitionKind::ChangeTable && has_change(definition, shard, shards).await {
        return Progress::Done;
    }
    let text = definition.statement.text_for(shard).unwrap_or_default();
    let refusal = match shards.ask(shard, text).await {
        ServerAnswer::Reply(_) => return Progress::Done,
        ServerAnswer::Lost(failure) => return Progress::Lost(failure.to_string()),
        ServerAnswer::Refused(failure) => failure,
    };
    let done = match verdict(definition.kind, &refusal) {
        Verdict::Done if definition.kind == DefinitionKind::Drop => drop_rest(definition, shard, shards).await,
        Verdict::Done => true,
        Verdict::DoneIfSame if definition.kind == DefinitionKind::Rename => {
            is_renamed(definition, catalog, shard, shards).await
        }
        // Compared with the others at the end.
        Verdict::DoneIfSame => definition.kind == DefinitionKind::CreateTable,
        Verdict::Refused => false,
    };
    if done { Progress::Done } else { Progress::Failed(refusal.to_string()) }
}

/// The table that a definition makes or changes, by the name that it has at the end.
fn table(definition: &Definition) -> Option<Object> {
    let of = |change: &Change| match change {
        Change::AddTable(object, _) | Change::RereadTable(object) => Some(object.clone()),
        _ => None,
    };
    definition.changes.iter().find_map(of)
}

/// Whether a shard's table is changed already: it is as that of a shard that has the definition; or no shard is known to have it, and
/// the first one, which is asked alone, differs from the others.
pub(super) async fn has_change(definition: &Definition, shard: ShardId, shards: &mut (impl Reach + ?Sized)) -> bool {
    let Some(table) = table(definition) else { return false };
    let Some(own) = shown(&table, shard, shards).await else { return false };
    let model = definition.shards.iter().find(|(_, progress)| *progress == Progress::Done).map(|(model, _)| *model);
    if let Some(model) = model {
        return shown(&table, model, shards).await.is_some_and(|model| model == own);
    }
    let first = definition.shards.first().map(|(first, _)| *first) == Some(shard);
    let Some((other, _)) = definition.shards.get(1).filter(|_| first) else { return false };
    shown(&table, *other, shards).await.is_some_and(|other| other != own)
}

/// A shard's SHOW CREATE TABLE, as far as it must be the same everywhere.
async fn shown(table: &Object, shard: ShardId, shards: &mut (impl Reach + ?Sized)) -> Option<Vec<u8>> {
    let text = format!("SHOW CREATE TABLE {}", quoted(table));
    let reply = shards.ask(shard, &text).await.ok().ok()?;
    let create = reply.rows.into_iter().next()?.into_iter().nth(1)??;
    Some(comparable(&create))
}

/// Whether the last name is there and the first one is not.
pub(super) async fn is_renamed(
    definition: &Definition,
    catalog: &Catalog,
    shard: ShardId,
    shards: &mut (impl Reach + ?Sized),
) -> bool {
    // Of several, the names may go round: what is there then says nothing.
    let [(from, to)] = renames_on(catalog, &definition.changes, shard)[..] else { return false };
    let gone = exists(from, shard, shards).await == Some(false);
    gone && exists(to, shard, shards).await == Some(true)
}

/// Refuses to call a definition done whose shards have different tables.
async fn same_everywhere(
    definition: &Definition,
    catalog: &Catalog,
    shards: &mut (impl Reach + ?Sized),
) -> Result<(), Failure> {
    let Some(table) = table(definition).filter(|_| compares(definition.kind)) else { return Ok(()) };
    let mut first: Option<(ShardId, Vec<u8>)> = None;
    for (shard, _) in &definition.shards {
        let Some(own) = shown(&table, *shard, shards).await else {
            return Err(failure(format!("Shard {} doesn't show table {table}", catalog.shard_name(*shard))));
        };
        match &first {
            None => first = Some((*shard, own)),
            Some((_, model)) if *model == own => {}
            Some((model, _)) => {
                return Err(failure(format!(
                    "Table {table} is not the same on shards {} and {}: compare SHOW CREATE TABLE of both, make them the same, and \
                     resume definition {} again",
                    catalog.shard_name(*model),
                    catalog.shard_name(*shard),
                    definition.id
                )));
            }
        }
    }
    Ok(())
}
