//! The hidden tables of a move: made, and dropped.
//!
//! What must always hold: they are made anew as often as that is begun; what is dropped is in schemas of the move alone.

use std::sync::Arc;

use weir_catalog::{Move, ShardId};
use weir_shards::Sharding;
use weir_shards::own::name;
use weir_wire::Failure;
use weir_wire::error::codes;

use crate::carry::{self, Sides};
use crate::{checkpoints, definition, layout, request, triggers};

/// Makes the new tables, empty, in the hidden schema of each of their shards, and the schema for the old ones.
///
/// # Errors
/// The servers'; with what to GRANT if Weir's own account lacks a right.
pub(crate) async fn make(sharding: &Arc<Sharding>, known: &Move) -> Result<(), Failure> {
    let made = make_all(sharding, known).await;
    made.map_err(|failure| with_grants(sharding, known, failure))
}

async fn make_all(sharding: &Arc<Sharding>, known: &Move) -> Result<(), Failure> {
    let (new, old) = (known.new_schema(), known.old_schema());
    let mut definitions = Vec::new();
    for table in &known.tables {
        let shard = table.from_shards.first().copied().unwrap_or(ShardId(0));
        let create = request::create_text(sharding, shard, &table.object).await?;
        let mode = request::mode(sharding, shard);
        let moves = |other: &weir_catalog::Object| known.tables.iter().any(|table| table.object == *other);
        definitions.push(definition::in_schema(&create, mode, &table.object, &new, moves)?);
    }
    if let Some(change) = &known.layout {
        layout::make_database(sharding, change).await?;
    }
    for shard in known.shards() {
        let mut statements = vec![
            "SET SESSION foreign_key_checks = 0, SESSION sql_mode = ''".to_owned(),
            format!("DROP DATABASE IF EXISTS {}", name(&new)),
            format!("CREATE DATABASE {} DEFAULT CHARACTER SET utf8mb4", name(&new)),
            format!("CREATE DATABASE IF NOT EXISTS {} DEFAULT CHARACTER SET utf8mb4", name(&old)),
        ];
        let here = known.tables.iter().zip(&definitions).filter(|(table, _)| table.to_shards.contains(&shard));
        statements.extend(here.map(|(_, text)| text.clone()));
        statements.push("SET SESSION foreign_key_checks = 1, SESSION sql_mode = 'STRICT_ALL_TABLES'".to_owned());
        sharding.own.run_long(shard, statements).await?;
    }
    for shard in known.shards() {
        carry::drop_shapes(sharding, known, shard).await?;
    }
    carry::give(sharding, &Sides::of(sharding, known), Some(known)).await?;
    triggers::try_out(sharding, known).await?;
    checkpoints::make(sharding, known).await
}

/// Drops the hidden schemas with all that is in them.
///
/// # Errors
/// The servers'.
pub(crate) async fn drop_all(sharding: &Arc<Sharding>, known: &Move) -> Result<(), Failure> {
    for shard in known.shards() {
        let statements = vec![
            "SET SESSION foreign_key_checks = 0".to_owned(),
            format!("DROP DATABASE IF EXISTS {}", name(&known.new_schema())),
            format!("DROP DATABASE IF EXISTS {}", name(&known.old_schema())),
            "SET SESSION foreign_key_checks = 1".to_owned(),
        ];
        sharding.own.run_long(shard, statements).await?;
    }
    Ok(())
}

/// What Weir's own account needs for a move, beyond what several shards take.
fn grants(known: &Move, mariadb: bool) -> String {
    let logs = if mariadb { "REPLICATION SLAVE, BINLOG MONITOR" } else { "REPLICATION SLAVE, REPLICATION CLIENT" };
    let definers = if mariadb { "SET USER" } else { "SET_ANY_DEFINER, ALLOW_NONEXISTENT_DEFINER" };
    let database = known.tables.first().map_or("", |moved| &moved.object.database).replace('_', "\\_");
    [
        format!("GRANT {logs}, EVENT, TRIGGER, {definers} ON *.*"),
        format!("GRANT INSERT, CREATE, DROP, ALTER, REFERENCES, LOCK TABLES, CREATE VIEW, CREATE ROUTINE, ALTER ROUTINE ON {}.*", name(&database)),
        "GRANT ALL ON `weir\\_move\\_%`.*".to_owned(),
        "GRANT ALL ON `weir\\_old\\_%`.*".to_owned(),
    ]
    .join("; ")
}

/// An error for a missing right, with what to GRANT.
pub(crate) fn with_grants(sharding: &Sharding, known: &Move, failure: Failure) -> Failure {
    const RIGHTS: [u16; 5] = [
        codes::ER_DBACCESS_DENIED_ERROR,
        codes::ER_SPECIFIC_ACCESS_DENIED_ERROR,
        codes::ER_TABLEACCESS_DENIED_ERROR,
        codes::ER_COLUMNACCESS_DENIED_ERROR,
        codes::ER_PROCACCESS_DENIED_ERROR,
    ];
    if !RIGHTS.contains(&failure.code) {
        return failure;
    }
    let facts = sharding.groups().first().map(|group| group.writer().facts());
    let mariadb = facts.is_some_and(|facts| facts.identity.as_ref().is_some_and(|identity| identity.mariadb));
    let message = format!(
        "Weir's own account '{}' lacks rights that a move requires ({}). Run on each shard's writer, each with TO that account: {}",
        sharding.own.user(),
        failure.message,
        grants(known, mariadb)
    );
    Failure { message, ..failure }
}
