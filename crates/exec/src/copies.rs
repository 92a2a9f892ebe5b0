//! Copies of the catalog in the shards' `weir.catalog`.
//!
//! What must always hold: a version is there whole or not at all; two different texts never go by the same version.

use weir_catalog::ShardId;
use weir_meta::Document;
use weir_wire::Failure;
use weir_wire::Fault;
use weir_wire::error::codes;

use crate::own::{Own, number, quoted, text};

/// How many versions a shard keeps.
const KEPT: u64 = 20;
/// The most characters of a part: well below what servers take in one packet.
const PART: usize = 1 << 18;
/// Error 1062: somebody else has written this version.
const ER_DUP_ENTRY: u16 = 1062;

/// Writes a version to a shard, and forgets old ones. Nothing is done if it is there already.
///
/// # Errors
/// The server's; 1105 when the shard has another text under this version.
pub async fn write(own: &Own, shard: ShardId, document: &Document) -> Result<(), Failure> {
    let parts = parts(&document.text);
    let mut statements = vec!["BEGIN".to_owned()];
    for (at, part) in parts.iter().enumerate() {
        statements.push(format!(
            "INSERT INTO weir.catalog (version, part, parts, document) VALUES ({}, {at}, {}, {})",
            document.version,
            parts.len(),
            quoted(part)
        ));
    }
    let oldest = (document.version + 1).saturating_sub(KEPT);
    statements.push(format!("DELETE FROM weir.catalog WHERE version < {oldest}"));
    statements.push("COMMIT".to_owned());
    match own.run_all(shard, statements).await {
        Err(failure) if failure.code == ER_DUP_ENTRY => match read(own, shard, document.version).await? {
            Some(found) if found == *document => Ok(()),
            _ => Err(another(document.version)),
        },
        outcome => outcome.map(drop),
    }
}

fn another(version: u64) -> Failure {
    let message = format!(
        "the shard has another version {version} of the catalog: another Weir with a catalog of its own uses this shard, or this \
         Weir's catalog is an old copy. `weir catalog check` shows the copies"
    );
    Failure::new(Fault::Weir, codes::ER_UNKNOWN_ERROR, b"HY000", message)
}

/// The text in pieces that are not too large.
fn parts(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = text;
    while rest.len() > PART {
        let end = (0..=PART).rev().find(|end| rest.is_char_boundary(*end)).unwrap_or(PART);
        let (part, after) = rest.split_at(end);
        parts.push(part);
        rest = after;
    }
    parts.push(rest);
    parts
}

/// The newest version that a shard has whole; 0 if it has none.
///
/// # Errors
/// The server's; what has no schema `weir` has no version.
pub async fn newest(own: &Own, shard: ShardId) -> Result<u64, Failure> {
    let there = "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'weir' AND TABLE_NAME = 'catalog'";
    let reply = own.run(shard, there).await?;
    if reply.rows.first().is_some_and(|row| text(row.first()) == "0") {
        return Ok(0);
    }
    let sql = "SELECT MAX(version) FROM (SELECT version FROM weir.catalog GROUP BY version \
               HAVING COUNT(*) = MAX(parts)) AS whole";
    let reply = own.run(shard, sql).await?;
    Ok(reply.rows.first().and_then(|row| number(row.first())).unwrap_or(0))
}

/// A version, if the shard has it whole.
///
/// # Errors
/// The server's.
pub async fn read(own: &Own, shard: ShardId, version: u64) -> Result<Option<Document>, Failure> {
    let sql = format!("SELECT parts, document FROM weir.catalog WHERE version = {version} ORDER BY part");
    let reply = own.run(shard, sql).await?;
    let expected = reply.rows.first().and_then(|row| number(row.first())).unwrap_or(0);
    if reply.rows.is_empty() || expected != reply.rows.len() as u64 {
        return Ok(None);
    }
    let text: String = reply.rows.iter().map(|row| text(row.get(1))).collect();
    Ok(Some(Document { version, text }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_join_to_the_text_and_split_no_character() {
        for length in [0, 1, PART - 1, PART, PART + 1, 3 * PART] {
            let text = format!("{}ü", "ü".repeat(length / 2));
            let parts = parts(&text);
            assert_eq!(parts.concat(), text);
            assert!(parts.iter().all(|part| part.len() <= PART));
        }
    }
}
