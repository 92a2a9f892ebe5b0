//! Reads from a server's `information_schema` a table that a definition creates or changes.
//!
//! What must always hold: columns of the shard key are found by their names again, whatever their positions are now.

use weir_catalog::reading::{self, Rows, TextRow};
use weir_catalog::{Object, Placed, Placement, Table};
use weir_shards::ask::Row;
use weir_wire::Failure;
use weir_wire::error::codes;

/// What is known of a table beside what servers say.
pub(super) enum Model<'a> {
    /// It is new.
    New(&'a Placed),
    /// It was so.
    Known(&'a Table),
}

impl Model<'_> {
    pub(super) fn placement(&self) -> &Placement {
        match self {
            Model::New(placed) => &placed.placement,
            Model::Known(table) => &table.placement,
        }
    }

    fn placed(&self) -> Placed {
        match self {
            Model::New(placed) => (*placed).clone(),
            Model::Known(table) => Placed::of(table),
        }
    }
}

/// The questions whose replies [`table`] reads, in order.
pub(super) fn questions(object: &Object) -> [String; 4] {
    let table = object.name.as_deref().unwrap_or_default();
    [reading::COLUMNS, reading::KEYS, reading::FOREIGN_KEYS, reading::TRIGGERS]
        .map(|query| reading::of_table(query, &object.database, table))
}

/// The table, from the replies to [`questions`].
///
/// # Errors
/// 1146 when servers don't show it; 1072 when a column of its shard key is not there.
pub(super) fn table(object: &Object, model: &Model<'_>, replies: Vec<Vec<Row>>) -> Result<Table, Failure> {
    let mut replies = replies.into_iter().map(texts);
    let mut next = || replies.next().unwrap_or_default();
    let rows = Rows { columns: next(), keys: next(), foreign_keys: next(), triggers: next() };
    let placed = model.placed();
    let found = reading::tables(&rows, &|_| Some(placed.clone()))?.into_values().next();
    let mut table = found.ok_or_else(|| {
        let message =
            format!("Table '{object}' doesn't exist, or Weir's own account may not see it (it needs SELECT on it)");
        Failure::server(codes::ER_NO_SUCH_TABLE, message)
    })?;
    if let Model::Known(old) = model {
        refind_key(&mut table, old)?;
    }
    let (unique_keys, odd_unique) = (&table.unique_keys, &table.odd_unique);
    let primary = !table.primary_key.is_empty();
    table.unchecked.retain(|name| {
        name == "PRIMARY" && primary || odd_unique.contains(name) || unique_keys.iter().any(|(known, _)| known == name)
    });
    note_unchecked(&mut table);
    Ok(table)
}

/// Unique keys without the shard key are there only because they were allowed.
fn note_unchecked(table: &mut Table) {
    let Some(key) = table.shard_key().map(|key| key.columns.clone()) else { return };
    let lacks = |columns: &[usize]| !key.iter().all(|column| columns.contains(column));
    let primary = (!table.primary_key.is_empty()).then(|| ("PRIMARY".to_owned(), table.primary_key.clone()));
    for (name, columns) in primary.iter().chain(&table.unique_keys) {
        if lacks(columns) && !table.unchecked.contains(name) {
            table.unchecked.push(name.clone());
        }
    }
}

fn texts(rows: Vec<Row>) -> Vec<TextRow> {
    let text = |cell: Option<Vec<u8>>| cell.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    rows.into_iter().map(|row| row.into_iter().map(text).collect()).collect()
}

/// The shard key's columns stand elsewhere when others come or go before them.
fn refind_key(table: &mut Table, old: &Table) -> Result<(), Failure> {
    let Placement::Sharded(key) = &old.placement else { return Ok(()) };
    let mut key = key.clone();
    for at in &mut key.columns {
        let name = &old.columns[*at].name;
        *at = table.column(name.as_bytes()).ok_or_else(|| {
            let message = format!("Key column '{name}' doesn't exist in table");
            Failure::server(codes::ER_KEY_COLUMN_DOES_NOT_EXIST, message)
        })?;
    }
    table.placement = Placement::Sharded(key);
    Ok(())
}
