//! The record of a definition: what is noted of shards, and how it ends.

use std::sync::Arc;

use weir_catalog::{Catalog, Definition, DefinitionKind, Progress, ShardId, Told};
use weir_wire::Failure;
use weir_wire::error::codes;

use super::records::Records;
use super::reread;

/// All shards have it: the record ends, and the catalog becomes what it says, in one change.
pub(super) async fn finish<R: Records>(records: &R, id: u64, news: &[(ShardId, Progress)]) -> Result<(), Failure> {
    let catalog = records.catalog();
    let Some(definition) = catalog.definition(id) else { return Ok(()) };
    let changes = definition.changes.clone();
    let (shared, owned) = (changes.clone(), news.to_vec());
    let told = match told(records, definition).await {
        Ok(told) => told,
        Err(failure) => {
            keep(records, id, move |catalog| note(catalog, id, &owned)).await?;
            let message = format!(
                "All shards have it, but the catalog could not be updated: {}; {}",
                failure.message,
                way_on(id)
            );
            return Err(Failure { message, ..failure }.maybe_done());
        }
    };
    let end = keep(records, id, move |catalog| {
        catalog.forget_definition(id);
        catalog.forget_dropped(&shared);
        catalog.apply_changes(&shared, &told)
    });
    end.await.map(|_| ())
}

/// What servers say of what has changed.
async fn told<R: Records>(records: &R, definition: &Definition) -> Result<Told, Failure> {
    let changes = &definition.changes;
    reread::sequences(records, changes).await?;
    let tables = reread::tables(records, changes).await?;
    let routines = reread::routines(records, changes).await?;
    Ok(Told { tables, routines, views: reread::views(records, definition).await? })
}

pub(super) fn forget(catalog: &mut Catalog, id: u64) -> Result<(), Failure> {
    catalog.forget_definition(id);
    Ok(())
}

pub(super) fn note(catalog: &mut Catalog, id: u64, news: &[(ShardId, Progress)]) -> Result<(), Failure> {
    catalog.note_progress(id, news);
    Ok(())
}

/// Changes the record of a definition that has begun. If that can't be stored, the client hears that there is one, and of the way on.
pub(super) async fn keep<R: Records>(
    records: &R,
    id: u64,
    change: impl FnOnce(&mut Catalog) -> Result<(), Failure> + Send + 'static,
) -> Result<Arc<Catalog>, Failure> {
    records.change(change).await.map_err(|failure| {
        let message = format!(
            "{}. Definition {id} has begun, and may have run on some of its shards: {}",
            failure.message,
            way_on(id)
        );
        Failure { message, ..failure }.maybe_done()
    })
}

pub(super) fn way_on(id: u64) -> String {
    format!("WEIR RESUME DDL {id} resumes it, WEIR CANCEL DDL {id} cancels it")
}

pub(super) fn listed(names: &[String]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

/// The client's error for a definition that not all shards have.
pub(super) fn half_done(catalog: &Arc<Catalog>, id: u64) -> Failure {
    let (with, without) = catalog.definition(id).map(|found| found.sides(catalog)).unwrap_or_default();
    let message = format!(
        "Definition {id} did not run on all shards: shards with it: {}; without it: {}. Until it does, its objects can't be defined again: {}",
        listed(&with),
        listed(&without),
        way_on(id)
    );
    Failure::server(codes::ER_UNKNOWN_ERROR, message).maybe_done()
}

/// Whether a definition only makes a table known again, and may be left out when all shards are equal.
pub(super) fn compares(kind: DefinitionKind) -> bool {
    matches!(kind, DefinitionKind::CreateTable | DefinitionKind::ChangeTable)
}
