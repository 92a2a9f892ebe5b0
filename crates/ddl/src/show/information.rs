//! A query over `information_schema`, with what other shards tell put into its text.
//!
//! What must always hold: a table that takes the place of one of `information_schema` has the same columns, in the same order.

use weir_catalog::Object;
use weir_exec::ShardLease;
use weir_exec::read::ColumnKind;
use weir_exec::values::{self, MOST_STATEMENT};
use weir_plan::{InformationEdit, InformationQuery, InformationTable};
use weir_shards::ask::{Reply, Row};
use weir_sql::splice;
use weir_wire::error::not_supported;
use weir_wire::{Capabilities, Failure};

use super::{binary, merge};
use crate::define::Records;

/// What makes two rows tell of the same.
const IDENTITY: [&str; 4] = ["TABLE_SCHEMA", "TABLE_NAME", "PARTITION_NAME", "SUBPARTITION_NAME"];
const COUNTS: merge::Counts<'static> = merge::Counts {
    summed: &["TABLE_ROWS", "DATA_LENGTH", "INDEX_LENGTH", "DATA_FREE"],
    latest: "UPDATE_TIME",
    average: "AVG_ROW_LENGTH",
    length: "DATA_LENGTH",
    rows: "TABLE_ROWS",
};

/// Asks for what is missing, and returns the text that the query runs with. `parts`: connections to all shards that are asked.
///
/// # Errors
/// A shard's refusal or loss; 1235 when there is too much to be told.
pub async fn complete<R: Records>(
    inform: &InformationQuery,
    text: &[u8],
    capabilities: Capabilities,
    records: &R,
    parts: &mut [ShardLease],
) -> Result<Vec<u8>, Failure> {
    let mut queries = Vec::with_capacity(inform.tables.len());
    let mariadb = parts.first().is_some_and(|part| part.lease.is_mariadb());
    for table in &inform.tables {
        let mut replies = Vec::with_capacity(table.asks.len());
        for (shard, ask) in &table.asks {
            replies.extend(super::replies(ask, &[*shard], parts).await?);
        }
        let mut reply = merged(table, replies);
        for known in &table.sequences {
            let next = records.sequence(&Object::within(known.database.clone(), known.table.clone())).await?;
            put_next(&mut reply, (&known.database, &known.table), next);
        }
        queries.push(query(table, &reply, capabilities, mariadb)?);
    }
    let edits: Vec<(std::ops::Range<usize>, Vec<u8>)> =
        inform.edits.iter().map(|(range, edit)| (range.clone(), replacement(edit, &queries))).collect();
    let edits: Vec<(std::ops::Range<usize>, &[u8])> =
        edits.iter().map(|(range, edit)| (range.clone(), &edit[..])).collect();
    let text = splice(text, &edits);
    if text.len() > MOST_STATEMENT {
        return Err(not_supported(
            "The result over all shards is too large: select fewer columns, or SET weir_shard = 'name' to ask one shard",
        ));
    }
    Ok(text)
}

fn replacement(edit: &InformationEdit, queries: &[Vec<u8>]) -> Vec<u8> {
    match edit {
        InformationEdit::Text(text) => text.clone(),
        InformationEdit::Table(table, alias) => {
            let query = queries.get(*table).map_or(&[][..], Vec::as_slice);
            let alias = alias.as_ref().map(|alias| [b" AS ", &alias[..]].concat()).unwrap_or_default();
            [b"(", query, b")", &alias[..]].concat()
        }
    }
}

/// The rows of all shards, each thing once.
fn merged(table: &InformationTable, replies: Vec<Reply>) -> Reply {
    if table.adds {
        let identity = |reply: &Reply| IDENTITY.iter().filter_map(|name| reply.column(name)).collect();
        return merge::counted(replies, identity, &COUNTS, |_| true);
    }
    let mut replies = replies.into_iter();
    let mut whole = replies.next().unwrap_or_default();
    whole.rows.extend(replies.flat_map(|reply| reply.rows));
    whole
}

fn put_next(reply: &mut Reply, of: (&str, &str), next: u64) {
    let columns = (reply.column("TABLE_SCHEMA"), reply.column("TABLE_NAME"), reply.column("AUTO_INCREMENT"));
    let (Some(schema), Some(name), Some(value)) = columns else { return };
    let is =
        |row: &Row, at: usize, name: &str| row.get(at).is_some_and(|cell| cell.as_deref() == Some(name.as_bytes()));
    for row in reply.rows.iter_mut().filter(|row| is(row, schema, of.0) && is(row, name, of.1)) {
        if let Some(cell) = row.get_mut(value) {
            *cell = Some(next.to_string().into_bytes());
        }
    }
}

/// The table's own rows but those that are replaced, and these.
fn query(
    table: &InformationTable,
    reply: &Reply,
    capabilities: Capabilities,
    mariadb: bool,
) -> Result<Vec<u8>, Failure> {
    let mut query = format!("SELECT * FROM information_schema.{}", table.name);
    if let Some(replaced) = &table.replaced {
        query.push_str(&format!(" WHERE NOT ({replaced})"));
    }
    if reply.rows.is_empty() {
        return Ok(query.into_bytes());
    }
    let kinds = binary::kinds(&reply.columns, capabilities)?;
    for row in &reply.rows {
        let cells: Vec<String> =
            row.iter().zip(&kinds).map(|(cell, kind)| values::in_union(cell.as_deref(), *kind)).collect();
        query.push_str(&format!(" UNION ALL SELECT {}", cells.join(", ")));
    }
    if mariadb {
        let columns: Vec<String> = kinds.iter().enumerate().map(|(at, kind)| column(reply, at, *kind)).collect();
        query = format!("SELECT {} FROM ({query}) AS weir_rows", columns.join(", "));
    }
    Ok(query.into_bytes())
}

/// MariaDB makes DECIMAL of unsigned integers in a UNION: they become what they were.
fn column(reply: &Reply, at: usize, kind: ColumnKind) -> String {
    let name = String::from_utf8_lossy(reply.column_name(at).unwrap_or_default()).into_owned();
    match kind {
        ColumnKind::Integer { unsigned: true, .. } => format!("CAST(`{name}` AS UNSIGNED) AS `{name}`"),
        _ => format!("`{name}`"),
    }
}
