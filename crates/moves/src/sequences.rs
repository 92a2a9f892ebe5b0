//! AUTO_INCREMENT goes over to the new placement.
//!
//! What must always hold: while nobody inserts, the next value is carried from the server's counter to the sequence or back, so that it is
//! greater than all that were given before.

use std::sync::Arc;

use weir_catalog::{Move, MovedTable, Placement, ShardId};
use weir_shards::own::name;
use weir_shards::{SequenceName, Sharding};
use weir_wire::Failure;

use crate::{Direction, definition, request};

/// Carries the next values of all tables.
///
/// # Errors
/// The servers'.
pub(crate) async fn carry(sharding: &Arc<Sharding>, known: &Move, direction: Direction) -> Result<(), Failure> {
    for moved in &known.tables {
        let (from, to, hidden) = match direction {
            Direction::Forward => (&moved.from, &moved.to, known.new_schema()),
            Direction::Back => (&moved.to, &moved.from, known.old_schema()),
        };
        let Some(sequence) = sequence(sharding, moved) else { continue };
        let next = match &from.placement {
            Placement::Single(shard) => counter(sharding, *shard, moved).await?,
            _ => sharding.sequences.position(&sequence).await?,
        };
        match &to.placement {
            Placement::Single(shard) => {
                let table = format!("{}.{}", name(&hidden), name(moved.object.name.as_deref().unwrap_or_default()));
                let sql = format!("ALTER TABLE {table} AUTO_INCREMENT = {next}");
                sharding.own.run(*shard, sql).await?;
            }
            _ if matches!(from.placement, Placement::Single(_)) => {
                let known = sharding.sequences.position(&sequence).await?;
                sharding.sequences.set(&sequence, next.max(known)).await?;
            }
            _ => {}
        }
    }
    Ok(())
}

/// Sequences that no table has any more.
///
/// # Errors
/// The servers'.
pub(crate) async fn forget(sharding: &Arc<Sharding>, known: &Move, direction: Direction) -> Result<(), Failure> {
    for moved in &known.tables {
        let now = if direction == Direction::Forward { &moved.to } else { &moved.from };
        if let (Placement::Single(_), Some(sequence)) = (&now.placement, sequence(sharding, moved)) {
            sharding.sequences.remove(&sequence).await?;
        }
    }
    Ok(())
}

/// The sequence of a table that has AUTO_INCREMENT.
fn sequence(sharding: &Sharding, moved: &MovedTable) -> Option<SequenceName> {
    let (database, table) = (moved.object.database.as_bytes(), moved.object.name.as_deref()?);
    let catalog = sharding.catalog();
    let (name, found) = catalog.database(database)?;
    let (table, known) = catalog.table(database, table.as_bytes())?;
    known.auto_increment?;
    Some(SequenceName::new(name, found, table))
}

/// The server's own next value.
async fn counter(sharding: &Sharding, shard: ShardId, moved: &MovedTable) -> Result<u64, Failure> {
    let create = request::create_text(sharding, shard, &moved.object).await?;
    Ok(definition::next_value(&create).unwrap_or(1))
}
