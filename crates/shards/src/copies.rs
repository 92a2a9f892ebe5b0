//! Copies of the catalog in the shards' `weir.catalog`.
//!
//! What must always hold: a version is there whole or not at all; two different texts never go by the same version. A version is an entry
//! of a [`Chain`]: what a change costs does not depend on how much the catalog holds.

use weir_catalog::ShardId;
use weir_meta::{Chain, Document, DocumentError, delta};
use weir_wire::Failure;
use weir_wire::error::codes;

use crate::own::{Own, number, quoted, text};

/// The most characters of a part: well below what servers take in one packet.
const PART: usize = 1 << 18;

/// Writes a version to a shard: as the change of the newest one there, `known` if it was written before, or whole. Nothing is done if it is
/// there already. The result is what the next one is a change of.
///
/// # Errors
/// The server's; 1105 when the shard has another text under this version.
pub async fn write(
    own: &Own,
    shard: ShardId,
    known: Option<Chain>,
    document: &Document,
) -> Result<Option<Chain>, Failure> {
    let ours = known.is_some();
    let mut chain = known;
    if !ours {
        let newest = newest(own, shard).await?;
        // What does not fit together is written whole, over all that was there.
        chain =
            if newest == 0 { None } else { entries(own, shard, newest).await?.and_then(|found| Some(found.ok()?.1)) };
    }
    if let Some(there) = chain.as_ref().filter(|chain| chain.version() < document.version)
        && let Some((entry, grown)) = there.next(document).filter(|(entry, _)| entry.len() <= PART)
    {
        // Only behind what it is a change of: the shard may have been emptied, or restored, meanwhile.
        let sql = format!(
            "INSERT INTO weir.catalog SELECT {},0,1,{} FROM (SELECT MAX(version) n FROM weir.catalog) c WHERE n={}",
            document.version,
            quoted(&entry),
            there.version()
        );
        match own.run(shard, sql).await {
            Ok(reply) if reply.affected == 1 => return Ok(Some(grown)),
            Err(failure) if failure.code != codes::ER_DUP_ENTRY => return Err(failure),
            _ => chain = None,
        }
    }
    if let Some(there) = chain.as_ref().filter(|chain| chain.version() > document.version) {
        // Written by this process, a moment ago; or by whom?
        return if ours { Ok(chain) } else { Err(another(there.version())) };
    }
    whole(own, shard, document, chain.map(|chain| chain.base())).await
}

/// Writes a version whole. What is older than `before` is forgotten: versions from there on are of use until the next whole one.
async fn whole(own: &Own, shard: ShardId, document: &Document, before: Option<u64>) -> Result<Option<Chain>, Failure> {
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
    let oldest = before.unwrap_or(document.version);
    statements.push(format!("DELETE FROM weir.catalog WHERE version < {oldest}"));
    statements.push("COMMIT".to_owned());
    match own.run_all(shard, statements).await {
        // Another writer has written this version.
        Err(failure) if failure.code == codes::ER_DUP_ENTRY => match read(own, shard, document.version).await? {
            Some(found) if found == *document => Ok(None),
            _ => Err(another(document.version)),
        },
        Err(failure) => Err(failure),
        Ok(_) => Ok(Some(Chain::begin(document))),
    }
}

fn another(version: u64) -> Failure {
    let message = format!(
        "the shard has another version {version} of the catalog: another Weir with a catalog of its own uses this shard, or this \
         Weir's catalog is an old copy. `weir catalog check` shows the copies"
    );
    Failure::weir(codes::ER_UNKNOWN_ERROR, message)
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

/// The newest version that a shard has, asked in the cheapest way; 0 if it has none, or no schema `weir`.
///
/// # Errors
/// The server's.
pub async fn last(own: &Own, shard: ShardId) -> Result<u64, Failure> {
    /// No such database, no such table.
    const GONE: [u16; 2] = [codes::ER_BAD_DB_ERROR, codes::ER_NO_SUCH_TABLE];
    match own.run(shard, "SELECT MAX(version) FROM weir.catalog").await {
        Ok(reply) => Ok(reply.rows.first().and_then(|row| number(row.first())).unwrap_or(0)),
        Err(failure) if GONE.contains(&failure.code) => Ok(0),
        Err(failure) => Err(failure),
    }
}

/// A version, if the shard has it whole.
///
/// # Errors
/// The server's; 1105 when its entries don't fit together.
pub async fn read(own: &Own, shard: ShardId, version: u64) -> Result<Option<Document>, Failure> {
    let broken = |error: DocumentError| {
        let message = format!("the shard's copies of the catalog are inconsistent: {error}");
        Failure::weir(codes::ER_UNKNOWN_ERROR, message)
    };
    let found = entries(own, shard, version).await?.transpose().map_err(broken)?;
    Ok(found.map(|(document, _)| document))
}

type Found = Result<(Document, Chain), DocumentError>;

/// The same, with what the next one is a change of.
async fn entries(own: &Own, shard: ShardId, version: u64) -> Result<Option<Found>, Failure> {
    let Some(first) = texts(own, shard, (version, version)).await?.pop() else { return Ok(None) };
    let all = match delta::base(&first.1) {
        Some(base) => texts(own, shard, (base, version)).await?,
        None => vec![first],
    };
    Ok(Some(Chain::read(all)))
}

/// The entries of these versions.
async fn texts(own: &Own, shard: ShardId, (from, to): (u64, u64)) -> Result<Vec<(u64, String)>, Failure> {
    let sql = format!(
        "SELECT version, parts, document FROM weir.catalog WHERE version BETWEEN {from} AND {to} ORDER BY version, part"
    );
    let mut all: Vec<(u64, u64, u64, String)> = Vec::new();
    for row in own.run(shard, sql).await?.rows {
        let version = number(row.first()).unwrap_or(0);
        match all.last_mut().filter(|(known, ..)| *known == version) {
            Some((_, _, count, entry)) => {
                *count += 1;
                entry.push_str(&text(row.get(2)));
            }
            None => all.push((version, number(row.get(1)).unwrap_or(0), 1, text(row.get(2)))),
        }
    }
    let whole = all.into_iter().filter(|(_, parts, count, _)| parts == count);
    Ok(whole.map(|(version, _, _, entry)| (version, entry)).collect())
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
