//! Rows whose shard key changes: deleted where they are, and inserted on the shards of their new keys.
//!
//! What must always hold: as many rows are inserted as were deleted, all in the write's transaction.

use std::collections::BTreeMap;
use weir_wire::charset::is_wide;

use weir_catalog::{Constant, Located, ShardId, converted, locate_stored, no_part};
use weir_plan::Move;
use weir_plan::write::literal::is_quoted;
use weir_wire::error::codes;
use weir_wire::{Capabilities, Failure};

use super::rows_before::{CHARSET, put_key, rows};
use super::send::{Order, Surroundings, Wanted, everywhere, undo};
use super::{WriteContext, internal, only_read, worst};
use crate::read::Row;
use crate::values::row::{constant_of, put_value};
use crate::{MultiShardResult, ShardLease};
use weir_shards::ask::ask;

/// How often weights are learnt for one key: once for each collation that it has, and not for ever.
const MOST_LESSONS: usize = 16;

/// What was read of the rows.
#[derive(Default)]
struct Found {
    /// Their old primary keys.
    keys: Vec<u8>,
    /// The rows' new keys, and all their new values.
    rows: Vec<(Vec<Constant>, Vec<u8>)>,
    /// How many bytes these values have.
    bytes: usize,
    changed: u64,
}

/// Moves the rows. The outcome is that of an UPDATE.
///
/// # Errors
/// As [`super::run`].
pub(super) async fn run(
    parts: &mut [ShardLease],
    moved: &Move,
    around: Surroundings,
    session: &WriteContext<'_>,
) -> Result<MultiShardResult, Failure> {
    if let Err(failure) = refuse_on_update(parts, moved).await {
        return only_read(parts, failure);
    }
    let mut found = Found::default();
    // Those that are read from come first for that time.
    let is_read = |part: &ShardLease| moved.rows.shards.contains(&part.shard);
    parts.sort_by_key(|part| !is_read(part));
    let read = parts.iter().filter(|part| is_read(part)).count();
    let wide = parts.first().and_then(|part| {
        let collation = part.lease.profile().variable("collation_connection").filter(|collation| is_wide(collation));
        collation.map(str::to_owned)
    });
    let put = |row: &Row<'_>| put(&mut found, row, moved, wide.as_deref());
    let matched = rows(&mut parts[..read], &moved.rows, session, put).await;
    parts.sort_by_key(|part| part.shard);
    let matched = match matched {
        Ok(matched) => matched.rows,
        Err(failure) => return only_read(parts, failure),
    };
    let values = match placed(&found.rows, moved, session).await {
        Ok(values) => values,
        Err(failure) => return only_read(parts, failure),
    };
    let mut warnings = 0_u16;
    if matched > 0 {
        let delete = [&moved.delete[..], &found.keys, b")"].concat();
        let all: Vec<Order<'_>> = (0..parts.len()).map(|part| Order { part, text: &delete }).collect();
        let replies = everywhere(parts, &all, &around, Wanted::default()).await?;
        let taken: u64 = replies.iter().flatten().map(|done| done.affected).sum();
        let mut failure = worst(&replies);
        if failure.is_none() && taken != matched {
            failure = Some(internal("rows were not found again that were to be moved"));
        }
        if failure.is_none() {
            let texts: Vec<(ShardId, Vec<u8>)> =
                values.iter().map(|(shard, rows)| (*shard, [&moved.insert[..], rows].concat())).collect();
            let place = |shard| parts.iter().position(|part| part.shard == shard);
            let orders: Option<Vec<Order<'_>>> =
                texts.iter().map(|(shard, text)| Some(Order { part: place(*shard)?, text })).collect();
            let orders = orders.ok_or_else(|| internal("a write was given no connection to one of its shards"))?;
            let replies = everywhere(parts, &orders, &around.without_savepoint(), Wanted::default()).await?;
            warnings = replies.iter().flatten().fold(0, |sum: u16, done| sum.saturating_add(done.warnings));
            failure = worst(&replies);
        }
        if let Some(failure) = failure {
            undo(parts, &all, &around).await.map_err(|()| failure.clone())?;
            return Ok(MultiShardResult { error: Some(failure), ..MultiShardResult::default() });
        }
    }
    let finds = parts.iter().any(|part| part.lease.capabilities.contains(Capabilities::FOUND_ROWS));
    let info = format!("Rows matched: {matched}  Changed: {}  Warnings: {warnings}", found.changed).into_bytes();
    Ok(MultiShardResult {
        affected: if finds { matched } else { found.changed },
        warnings,
        info,
        ..MultiShardResult::default()
    })
}

/// Keeps a row's old key, and its new values.
/// `wide`: the collation to whose character set the servers convert a literal in quotes, if ASCII has other bytes there.
fn put(found: &mut Found, row: &Row<'_>, moved: &Move, wide: Option<&str>) -> Result<usize, Failure> {
    if !found.keys.is_empty() {
        found.keys.push(b',');
    }
    put_key(&mut found.keys, row, 0, &moved.forms)?;
    let columns = row.columns();
    let first = moved.forms.len() + 1;
    found.changed += u64::from(row.field(first - 1) != Some(b"0"));
    let mut key = Vec::with_capacity(moved.key.len());
    for (nth, place) in moved.key.iter().enumerate() {
        let column = columns.get(*place).ok_or_else(|| internal("a moved row lacks its key"))?;
        if moved.strict && row.field(*place).is_none() {
            refuse_null(moved, nth)?;
        }
        key.push(match (constant_of(row.field(*place), column)?, wide) {
            (Constant::Text { bytes, explicit, .. }, Some(wide)) if is_quoted(&bytes) => {
                let bytes = converted(&bytes, CHARSET, wide).ok_or_else(unsure)?;
                Constant::Text { bytes, collation: wide.to_owned(), explicit }
            }
            (constant, _) => constant,
        });
    }
    let mut values = b"(".to_vec();
    for (place, column) in columns.iter().enumerate().skip(first) {
        if place > first {
            values.push(b',');
        }
        put_value(&mut values, row.field(place), column, Some(CHARSET))?;
    }
    values.push(b')');
    found.bytes += values.len() + 1;
    found.rows.push((key, values));
    Ok(found.keys.len() + found.bytes)
}

/// The rows' values by the shards of their new keys, each shard's in the order in which they were read.
async fn placed(
    rows: &[(Vec<Constant>, Vec<u8>)],
    moved: &Move,
    session: &WriteContext<'_>,
) -> Result<BTreeMap<ShardId, Vec<u8>>, Failure> {
    let mut by_shard: BTreeMap<ShardId, Vec<u8>> = BTreeMap::new();
    for (key, values) in rows {
        let all = by_shard.entry(locate(key, moved, session).await?).or_default();
        if !all.is_empty() {
            all.push(b',');
        }
        all.extend_from_slice(values);
    }
    Ok(by_shard)
}

/// The shard of a key. What has to be learnt first is.
async fn locate(key: &[Constant], moved: &Move, session: &WriteContext<'_>) -> Result<ShardId, Failure> {
    for _ in 0..MOST_LESSONS {
        let learnt = session.sharding.map(|sharding| sharding.weights().clone());
        let weights = learnt.as_deref().unwrap_or(&moved.weights);
        match (locate_stored(&moved.database, &moved.table, key, weights), session.sharding) {
            (Located::Shard(shard), _) => return Ok(shard),
            (Located::Nowhere, _) => return Err(no_part("of the new key")),
            (Located::NeedsWeights(collation, chars), Some(sharding)) => sharding.learn(&collation, &chars).await?,
            (Located::Unsure | Located::NeedsWeights(..), _) => break,
        }
    }
    Err(unsure())
}

/// A column of the shard key gets NULL.
fn refuse_null(moved: &Move, nth: usize) -> Result<(), Failure> {
    let column =
        moved.table.shard_key().and_then(|key| key.columns.get(nth)).and_then(|at| moved.table.columns.get(*at));
    match column.filter(|column| !column.nullable) {
        Some(column) => {
            let message = format!("Column '{}' cannot be null", column.name);
            Err(Failure::client(codes::ER_BAD_NULL_ERROR, message))
        }
        None => Ok(()),
    }
}

fn unsure() -> Failure {
    let message = "Where a row belongs with its new shard key can't be told from the value: DELETE and INSERT the row in a transaction";
    Failure::client(codes::ER_NOT_SUPPORTED_YET, message)
}

/// A column that changes by itself at an UPDATE would not at DELETE and INSERT.
async fn refuse_on_update(parts: &mut [ShardLease], moved: &Move) -> Result<(), Failure> {
    let (Some(check), Some(part)) = (&moved.check, parts.first_mut()) else { return Ok(()) };
    super::send::confirm(part).await?;
    match ask(&mut part.lease, check).await.ok()?.rows.first() {
        None => Ok(()),
        Some(row) => {
            let column = row.first().cloned().flatten().unwrap_or_default();
            let message = format!(
                "A change of a shard key moves rows, and '{}' would not get its ON UPDATE value: DELETE and INSERT the rows in a transaction",
                String::from_utf8_lossy(&column)
            );
            Err(Failure::client(codes::ER_NOT_SUPPORTED_YET, message))
        }
    }
}
