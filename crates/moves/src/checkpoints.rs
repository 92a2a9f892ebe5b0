//! Where the engine's checkpoints are kept: too many for the catalog, they are a row in the move's hidden schema.
//!
//! What must always hold: a checkpoint that is found again may be an older one, and never one of the other direction.

use std::sync::Arc;

use weir_catalog::{Move, ShardId};
use weir_reshard::Checkpoint;
use weir_shards::Sharding;
use weir_shards::own::{name, quoted, text};
use weir_wire::Failure;
use weir_wire::error::codes;

use crate::Direction;

/// The table's name. No table of this name can move.
pub(crate) const TABLE: &str = "weir_checkpoints";

/// The shard that keeps them: the first that has a new table.
fn place(known: &Move) -> ShardId {
    known.tables.first().and_then(|table| table.to_shards.first().copied()).unwrap_or(ShardId(0))
}

fn table(known: &Move) -> String {
    format!("{}.{TABLE}", name(&known.new_schema()))
}

fn word(direction: Direction) -> &'static str {
    match direction {
        Direction::Forward => "forward",
        Direction::Back => "back",
    }
}

/// Makes the table.
pub(crate) async fn make(sharding: &Arc<Sharding>, known: &Move) -> Result<(), Failure> {
    let sql = format!(
        "CREATE TABLE {} (direction VARCHAR(10) NOT NULL PRIMARY KEY, document LONGTEXT NOT NULL) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4",
        table(known)
    );
    sharding.own.run(place(known), sql).await.map(drop)
}

/// Keeps a checkpoint.
pub(crate) async fn keep(
    sharding: &Arc<Sharding>,
    known: &Move,
    direction: Direction,
    checkpoint: &Checkpoint,
) -> Result<(), Failure> {
    let document = serde_json::to_string(checkpoint).map_err(|error| broken(&error))?;
    let sql = format!("REPLACE INTO {} VALUES ('{}', {})", table(known), word(direction), quoted(&document));
    sharding.own.run(place(known), sql).await.map(drop)
}

/// The last one that was kept.
pub(crate) async fn last(
    sharding: &Arc<Sharding>,
    known: &Move,
    direction: Direction,
) -> Result<Option<Checkpoint>, Failure> {
    let sql = format!("SELECT document FROM {} WHERE direction = '{}'", table(known), word(direction));
    let reply = sharding.own.run(place(known), sql).await?;
    let document = reply.rows.first().map(|row| text(row.first()));
    document.map(|document| serde_json::from_str(&document).map_err(|error| broken(&error))).transpose()
}

fn broken(error: &dyn std::fmt::Display) -> Failure {
    Failure::weir(codes::ER_UNKNOWN_ERROR, format!("A checkpoint of a move can't be read or written: {error}"))
}
