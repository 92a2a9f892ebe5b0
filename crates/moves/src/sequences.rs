//! AUTO_INCREMENT goes over to the new placement.
//!
//! What must always hold: while nobody inserts, the next value is carried from the server's counter to the sequence or back, so that it is
//! greater than all that were given before.

use std::sync::Arc;

use weir_catalog::{Move, MovedTable, Placement, ShardId};
use weir_shards::own::name;
use weir_shards::{SequenceName, Sharding};
use weir_wire::Failure;

use crate::{Direction, definition, layout, request};

/// Carries the next values of all tables.
///
/// # Errors
/// The servers'.
pub(crate) async fn carry(sharding: &Arc<Sharding>, known: &Move, direction: Direction) -> Result<(), Failure> {
    for moved in &known.tables {
        let Some((before, after)) = sequences(sharding, known, moved) else { continue };
        let (from, to, hidden) = match direction {
            Direction::Forward => ((&moved.from, before), (&moved.to, after), known.new_schema()),
            Direction::Back => ((&moved.to, after), (&moved.from, before), known.old_schema()),
        };
        let was_single = matches!(from.0.placement, Placement::Single(_));
        let next = match &from.0.placement {
            Placement::Single(shard) => counter(sharding, *shard, moved).await?,
            _ => sharding.sequences.position(&from.1).await?,
        };
        match &to.0.placement {
            Placement::Single(shard) => {
                let table = format!("{}.{}", name(&hidden), name(moved.object.name.as_deref().unwrap_or_default()));
                let sql = format!("ALTER TABLE {table} AUTO_INCREMENT = {next}");
                sharding.own.run(*shard, sql).await?;
            }
            _ if was_single || from.1 != to.1 => {
                let known = sharding.sequences.position(&to.1).await?;
                sharding.sequences.set(&to.1, next.max(known)).await?;
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
        let Some((before, after)) = sequences(sharding, known, moved) else { continue };
        let (now, used) = match direction {
            Direction::Forward => (&moved.to, after.clone()),
            Direction::Back => (&moved.from, before.clone()),
        };
        let used = Some(used).filter(|_| !matches!(now.placement, Placement::Single(_)));
        for sequence in [before, after].into_iter().filter(|sequence| Some(sequence) != used.as_ref()) {
            sharding.sequences.remove(&sequence).await?;
        }
    }
    Ok(())
}

/// The sequences of a table that has AUTO_INCREMENT: before the move, and after it.
fn sequences(sharding: &Sharding, known: &Move, moved: &MovedTable) -> Option<(SequenceName, SequenceName)> {
    let (database, table) = (moved.object.database.as_bytes(), moved.object.name.as_deref()?);
    let catalog = sharding.catalog();
    let (name, found) = catalog.database(database)?;
    let (table, definition) = catalog.table(database, table.as_bytes())?;
    definition.auto_increment?;
    let of = |direction| SequenceName::new(name, &layout::of_side(known, found, direction), table);
    Some((of(Direction::Back), of(Direction::Forward)))
}

/// The server's own next value.
async fn counter(sharding: &Sharding, shard: ShardId, moved: &MovedTable) -> Result<u64, Failure> {
    let create = request::create_text(sharding, shard, &moved.object).await?;
    Ok(definition::next_value(&create).unwrap_or(1))
}
