//! What is shown of shards and of the catalog.

use std::sync::Arc;

use weir_catalog::{Catalog, Database, Method, Placement, ShardId, Table as Known};
use weir_ddl::check;
use weir_ddl::define::{self, WithOwnAccount};
use weir_shards::Sharding;
use weir_wire::Failure;
use weir_wire::error::codes;

use crate::answer::Table;
use crate::columns;
use crate::growth;

/// The refusal of a Weir that has one shard and no catalog.
pub(crate) fn none() -> Failure {
    let message = "There is one shard and no catalog: see `[[groups]]` and `sharding.directory` in the configuration";
    Failure::client(codes::ER_NOT_SUPPORTED_YET, message)
}

/// `SHOW SHARDS`
pub(crate) fn shards(sharding: &Sharding) -> Table {
    let catalog = sharding.catalog();
    let mut table = Table::new(columns::SHARDS);
    for shard in sharding.own.shards() {
        let (group, state) = (sharding.group(shard), sharding.shard(shard));
        let writer = group.writer();
        let schema = match (state.ready, state.trouble) {
            (_, Some(trouble)) => trouble,
            (true, None) => "ready".to_owned(),
            (false, None) => "not asked yet".to_owned(),
        };
        let held = catalog.databases.values().filter(|database| database.shards.contains(&shard)).count();
        let slots: usize = catalog.databases.values().map(|database| database.slots.count(shard)).sum();
        let tables = catalog.databases.values().flat_map(|database| database.tables.values());
        let single = tables.filter(|table| table.placement == Placement::Single(shard)).count();
        table.push(vec![
            group.settings().name.as_str().into(),
            u64::from(shard.0).into(),
            writer.settings.name.as_str().into(),
            writer.facts().health.name().into(),
            schema.into(),
            state.copied.into(),
            held.into(),
            single.into(),
            slots.into(),
            growth::state(&catalog, shard).into(),
        ]);
    }
    table
}

/// `SHOW DDL`
pub(crate) fn definitions(catalog: &Catalog) -> Table {
    let mut table = Table::new(columns::DEFINITIONS);
    for definition in &catalog.definitions {
        let (done, not_done) = definition.sides(catalog);
        table.push(vec![
            definition.id.into(),
            definition.statement.shown.as_str().into(),
            definition.statement.database.as_deref().into(),
            done.join(", ").into(),
            not_done.join(", ").into(),
        ]);
    }
    table
}

/// `RESUME DDL`: with Weir's own account, and on its own: it goes on if the caller goes away.
///
/// # Errors
/// As [`define::resume`].
pub(crate) async fn resume(sharding: &Arc<Sharding>, id: u64) -> Result<(), Failure> {
    let catalog = sharding.catalog_now();
    let definition = catalog.definition(id).ok_or_else(|| {
        let message = format!("There is no definition {id} in progress: see WEIR SHOW DDL");
        Failure::client(codes::ER_UNKNOWN_ERROR, message)
    })?;
    let mut shards = WithOwnAccount::new(&sharding.own, definition)?;
    define::resume(sharding, &sharding.definitions, id, &mut shards).await
}

/// `CANCEL DDL`: likewise.
///
/// # Errors
/// As [`define::cancel`].
pub(crate) async fn cancel(sharding: &Arc<Sharding>, id: u64) -> Result<Table, Failure> {
    let catalog = sharding.catalog_now();
    let mut shards = WithOwnAccount::to_undo(&sharding.own, catalog.definition(id));
    let mut table = Table::new(columns::CANCELLED);
    for cancelled in define::cancel(sharding, &sharding.definitions, id, &mut shards).await? {
        let state = cancelled.state.err().unwrap_or_else(|| "does not have it".to_owned());
        table.push(vec![catalog.shard_name(cancelled.shard).into(), state.into()]);
    }
    Ok(table)
}

/// `SHOW TABLES`
pub(crate) fn tables(catalog: &Catalog) -> Table {
    let mut table = Table::new(columns::TABLES);
    for (name, database) in &catalog.databases {
        for (of, known) in &database.tables {
            table.push(vec![
                name.as_str().into(),
                of.as_str().into(),
                placement(known).into(),
                shard_key(known).into(),
                names(catalog, database, known).into(),
                known.clause.as_str().into(),
            ]);
        }
    }
    table
}

fn placement(table: &Known) -> &'static str {
    match table.placement {
        Placement::Sharded(_) => "sharded",
        Placement::Global => "global",
        Placement::Single(_) => "single",
    }
}

fn shard_key(table: &Known) -> Option<String> {
    let of = |at: &usize| table.columns.get(*at).map_or("?", |column| column.name.as_str());
    table.shard_key().map(|key| key.columns.iter().map(of).collect::<Vec<_>>().join(", "))
}

fn names(catalog: &Catalog, database: &Database, table: &Known) -> String {
    let mut shards: Vec<ShardId> = match &table.placement {
        Placement::Single(shard) => vec![*shard],
        Placement::Global => database.shards.clone(),
        Placement::Sharded(key) => match &key.method {
            Method::Range(parts) => parts.iter().map(|(_, shard)| *shard).collect(),
            Method::List(parts, others) => parts.iter().map(|(_, shard)| *shard).chain(*others).collect(),
            Method::Hash | Method::Year | Method::Month | Method::Day => database.slots.0.clone(),
        },
    };
    shards.sort_unstable();
    shards.dedup();
    shards.iter().map(|shard| catalog.shard_name(*shard)).collect::<Vec<_>>().join(", ")
}

/// `CATALOG CHECK`
pub(crate) async fn differences(sharding: &Arc<Sharding>) -> Result<Table, Failure> {
    let (own, catalog) = (sharding.own.clone(), sharding.catalog_now());
    let found = sharding.own.apart(async move { Ok(check::check(&own, &catalog).await) }).await?;
    let mut table = Table::new(columns::DIFFERENCES);
    for difference in found {
        table.push(vec![difference.shard.into(), difference.object.into(), difference.what.into()]);
    }
    Ok(table)
}
