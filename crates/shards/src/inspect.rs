//! What the servers themselves say of a database's tables.
//!
//! What must always hold: it is read with Weir's own account, so that it does not depend on who asks; a table that the account can't see
//! is told as missing, and never guessed.

use std::collections::BTreeMap;

use weir_catalog::moves::is_schema_of_move;
use weir_catalog::{Placed, ShardId, Table, reading};
use weir_wire::Failure;

use crate::own::{Own, quoted, text};

/// Databases that belong to the servers, or to Weir.
const NOT_USERS: [&str; 5] = ["mysql", "information_schema", "performance_schema", "sys", crate::schema::SCHEMA];

/// Whether a database of this name is the servers' own, or Weir's.
pub fn is_own(database: &str) -> bool {
    NOT_USERS.iter().any(|own| own.eq_ignore_ascii_case(database)) || is_schema_of_move(database)
}

/// The name of a database as a shard has it, if it has one that is called so.
///
/// # Errors
/// The server's.
pub async fn database(own: &Own, shard: ShardId, name: &str) -> Result<Option<String>, Failure> {
    let sql = format!("SELECT SCHEMA_NAME FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = {}", quoted(name));
    let reply = own.run(shard, sql).await?;
    Ok(reply.rows.first().map(|row| text(row.first())))
}

/// The tables of a database on a shard. `placed` says where a table's rows are: what it does not know is read as if it were on this shard
/// alone.
///
/// # Errors
/// The server's.
pub async fn tables(
    own: &Own,
    shard: ShardId,
    database: &str,
    placed: impl Fn(&str) -> Option<Placed>,
) -> Result<BTreeMap<String, Table>, Failure> {
    let queries = [reading::COLUMNS, reading::KEYS, reading::FOREIGN_KEYS, reading::TRIGGERS];
    let queries = queries.iter().map(|query| reading::of_database(query, database)).collect();
    let mut replies = own.run_all(shard, queries).await?.into_iter().map(|reply| rows(reply.rows));
    let mut next = || replies.next().unwrap_or_default();
    let rows = reading::Rows { columns: next(), keys: next(), foreign_keys: next(), triggers: next() };
    let name = own.groups()[usize::from(shard.0)].settings().name.clone();
    reading::tables(&rows, &|table| Some(placed(table).unwrap_or_else(|| reading::adopted(shard, &name))))
}

fn rows(rows: Vec<Vec<Option<Vec<u8>>>>) -> Vec<reading::TextRow> {
    let cell = |cell: Option<Vec<u8>>| cell.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    rows.into_iter().map(|row| row.into_iter().map(cell).collect()).collect()
}
