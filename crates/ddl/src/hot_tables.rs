//! `WEIR ALTER TABLE … HOT`: what the catalog says of changes of a table's hot rows.
//!
//! What must always hold: no server hears of it; it goes with the table when that is altered or renamed, and ends with it.

use std::sync::Arc;

use weir_catalog::{Catalog, Table};
use weir_shards::sharding::Sharding;
use weir_wire::error::codes;
use weir_wire::{Failure, Fault};

/// Says whether moves of a table's counters may be made by one statement for several clients. `table`: `database.table`.
///
/// # Errors
/// 1146 when the catalog has no such table, 1210 when no database is named.
pub async fn alter(sharding: &Arc<Sharding>, table: &str, merge: bool) -> Result<(), Failure> {
    let Some((database, name)) = table.split_once('.') else {
        let message = "Incorrect arguments to WEIR ALTER TABLE: name the table with its database, as in shop.stock";
        return Err(Failure::new(Fault::Client, codes::ER_WRONG_ARGUMENTS, b"HY000", message));
    };
    let unquoted = |name: &str| name.trim().trim_matches('`').to_owned();
    let (database, name) = (unquoted(database), unquoted(name));
    sharding.change(move |now| altered(now, &database, &name, merge)).await?;
    tracing::info!(table, merge, "how hot rows of a table are changed was chosen");
    Ok(())
}

fn altered(now: &Catalog, database: &str, name: &str, merge: bool) -> Result<Catalog, Failure> {
    let found = now.table(database.as_bytes(), name.as_bytes()).map(|(name, _)| name.to_owned());
    let known = now.database(database.as_bytes()).map(|(database, _)| database.to_owned());
    let Some((database, name)) = known.zip(found) else {
        let message = format!(
            "Table '{database}.{name}' is not in the catalog of sharded databases; for a table of one group use hot_rows.merge in the \
             configuration"
        );
        return Err(Failure::new(Fault::Client, codes::ER_NO_SUCH_TABLE, b"42S02", message));
    };
    let mut next = now.clone();
    if let Some(tables) = next.databases.get_mut(&database)
        && let Some(table) = Arc::make_mut(tables).tables.get_mut(&name)
    {
        let before = Table::clone(table);
        *table = Arc::new(Table { hot_merge: merge, ..before });
    }
    Ok(next)
}
