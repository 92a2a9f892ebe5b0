//! The engine's plan for a move: which physical tables are the sources, which the targets, and where a row goes.

use std::collections::BTreeSet;
use std::sync::Arc;

use weir_catalog::{Catalog, Move, MovedTable, Placed, Placement, ShardId, Table};
use weir_reshard::{CatalogPlacement, Plan, Site, TablePlan, key_of};
use weir_shards::Sharding;
use weir_wire::Failure;
use weir_wire::error::codes;

use crate::{Direction, layout};

/// The plan of a move, or of its way back.
///
/// # Errors
/// 1146 when a table is not in the catalog; why a table can't be moved.
pub(crate) fn plan(sharding: &Arc<Sharding>, known: &Move, direction: Direction) -> Result<Plan, Failure> {
    let catalog = sharding.catalog_now();
    let tables = known.tables.iter().map(|moved| table(sharding, &catalog, known, moved, direction));
    Ok(Plan { tables: tables.collect::<Result<_, _>>()? })
}

fn table(
    sharding: &Arc<Sharding>,
    catalog: &Catalog,
    known: &Move,
    moved: &MovedTable,
    direction: Direction,
) -> Result<TablePlan, Failure> {
    let name = moved.object.name.clone().unwrap_or_default();
    let found = catalog
        .database(moved.object.database.as_bytes())
        .zip(catalog.table(moved.object.database.as_bytes(), name.as_bytes()));
    let Some(((_, database), (_, found))) = found else {
        return Err(Failure::client(codes::ER_NO_SUCH_TABLE, format!("Table '{}' doesn't exist", moved.object)));
    };
    let (from, to, hidden) = match direction {
        Direction::Forward => ((&moved.from, &moved.from_shards), (&moved.to, &moved.to_shards), known.new_schema()),
        Direction::Back => ((&moved.to, &moved.to_shards), (&moved.from, &moved.from_shards), known.old_schema()),
    };
    let site = |shard: &ShardId, schema: &str| Site { shard: *shard, schema: schema.to_owned() };
    let sources = read_from(from.0, from.1).iter().map(|shard| site(shard, &moved.object.database)).collect();
    let targets = to.1.iter().map(|shard| site(shard, &hidden)).collect();
    let mut after = Table::clone(found);
    after.placement = to.0.placement.clone();
    let database = Arc::new(layout::of_side(known, database, direction));
    let placement = CatalogPlacement::new(sharding.clone(), database, Arc::new(after));
    Ok(TablePlan {
        key: key_of(&moved.object.to_string(), found).map_err(Failure::from)?,
        name,
        columns: found.columns.clone(),
        sources,
        targets,
        placement: Arc::new(placement),
    })
}

/// The shards that together have each row once.
fn read_from<'a>(placed: &Placed, shards: &'a [ShardId]) -> &'a [ShardId] {
    if placed.placement == Placement::Global { &shards[..shards.len().min(1)] } else { shards }
}

/// The shards whose tables are read.
pub(crate) fn sources(known: &Move, direction: Direction) -> Vec<ShardId> {
    let of = |moved: &MovedTable| match direction {
        Direction::Forward => read_from(&moved.from, &moved.from_shards).to_vec(),
        Direction::Back => read_from(&moved.to, &moved.to_shards).to_vec(),
    };
    let all: BTreeSet<ShardId> = known.tables.iter().flat_map(of).collect();
    all.into_iter().collect()
}
