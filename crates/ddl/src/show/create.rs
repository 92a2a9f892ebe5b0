//! SHOW CREATE TABLE and SHOW CREATE DATABASE of what is sharded.
//!
//! What must always hold: the text makes the same table with the same placement when Weir runs it, and a plain server reads it too.

use weir_catalog::{Catalog, Object, Placement, Table};
use weir_shards::ask::Reply;
use weir_wire::Failure;

use crate::define::Records;

const AUTO_INCREMENT: &[u8] = b" AUTO_INCREMENT=";

/// Adds Weir's clause, and the sequence's next value in place of the shard's.
///
/// # Errors
/// When the sequence can't be asked for.
pub async fn complete<R: Records>(
    reply: &mut Reply,
    catalog: &Catalog,
    object: &Object,
    records: &R,
) -> Result<(), Failure> {
    let name = object.name.as_deref().unwrap_or_default();
    let Some((_, table)) = catalog.table(object.database.as_bytes(), name.as_bytes()) else { return Ok(()) };
    let next = match table.placement {
        Placement::Single(_) => None,
        _ if table.auto_increment.is_none() => None,
        _ => Some(records.sequence(object).await?),
    };
    // The second column: `Create Table`.
    if let Some(Some(create)) = reply.rows.first_mut().and_then(|row| row.get_mut(1)) {
        *create = completed(create, table, next);
    }
    Ok(())
}

/// The text with the clause, and with this next value if there is a sequence.
pub fn completed(create: &[u8], table: &Table, next: Option<u64>) -> Vec<u8> {
    let mut text = match next {
        Some(next) => with_next(create, next),
        None => create.to_vec(),
    };
    let mut clause = table.clause.clone();
    // A name that would end the comment can't be told: the key has to be made UNIQUE UNCHECKED by hand then.
    let unchecked: Vec<String> = table.unchecked.iter().map(|name| format!("`{}`", name.replace('`', "``"))).collect();
    if !unchecked.is_empty() && !unchecked.iter().any(|name| name.contains("*/")) {
        clause.push_str(&format!(" unique unchecked ({})", unchecked.join(", ")));
    }
    text.extend_from_slice(format!(" /*weir: {clause} */").as_bytes());
    text
}

/// A table's options begin behind the last parenthesis that begins a line.
fn with_next(create: &[u8], next: u64) -> Vec<u8> {
    let Some(options) = create.windows(2).rposition(|pair| pair == b"\n)") else { return create.to_vec() };
    let shown = if next > 1 { format!(" AUTO_INCREMENT={next}").into_bytes() } else { Vec::new() };
    let rest = &create[options..];
    let found = rest.windows(AUTO_INCREMENT.len()).position(|window| window == AUTO_INCREMENT);
    let (start, end) = match found {
        Some(at) => {
            let digits = rest[at + AUTO_INCREMENT.len()..].iter().take_while(|byte| byte.is_ascii_digit()).count();
            (at, at + AUTO_INCREMENT.len() + digits)
        }
        None => {
            // Behind ENGINE, as servers show it.
            let engine = rest.windows(8).position(|window| window == b" ENGINE=").map_or(2, |at| at + 8);
            let word = rest[engine..].iter().take_while(|byte| !byte.is_ascii_whitespace()).count();
            (engine + word, engine + word)
        }
    };
    [&create[..options + start], &shown, &create[options + end..]].concat()
}

/// Names the shards of a database that is not on all of them.
pub fn complete_database(reply: &mut Reply, catalog: &Catalog, name: &str) {
    let Some((_, database)) = catalog.database(name.as_bytes()) else { return };
    let mut clauses = Vec::new();
    if database.shards.len() != catalog.shards.len() {
        let names: Vec<&str> = database.shards.iter().map(|shard| catalog.shard_name(*shard)).collect();
        clauses.push(format!("shards ({})", names.join(", ")));
    }
    if database.default_single {
        clauses.push("default single".to_owned());
    }
    if clauses.is_empty() {
        return;
    }
    if let Some(Some(create)) = reply.rows.first_mut().and_then(|row| row.get_mut(1)) {
        create.extend_from_slice(format!(" /*weir: {} */", clauses.join(" ")).as_bytes());
    }
}
