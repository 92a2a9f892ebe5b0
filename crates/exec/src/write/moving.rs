//! Rows whose shard key changes: deleted where they are, and inserted on the shards of their new keys.
//!
//! What must always hold: as many rows are inserted as were deleted, all in the write's transaction; a key that two rows have, one after the
//! other, is an error exactly if it is one on a server that changes one row after another.

use std::collections::HashSet;
use weir_wire::charset::is_wide;

use weir_catalog::{Constant, Located, ShardId, converted, locate_stored, no_part};
use weir_plan::write::literal::is_quoted;
use weir_plan::{Form, Move};
use weir_wire::error::codes;
use weir_wire::{Capabilities, Failure};

use super::rows_before::{CHARSET, put_key, refuse_strictly, rows};
use super::send::{Order, Surroundings, Wanted, everywhere, undo};
use super::{WriteContext, internal, only_read, worst};
use crate::hot_rows::member::WarningRow;
use crate::read::Row;
use crate::values::row::{constant_of, put_value};
use crate::{MultiShardResult, ShardLease};
use weir_shards::ask::ask;

/// How often weights are learnt for one key: once for each collation that it has, and not for ever.
const MOST_LESSONS: usize = 16;

/// Texts that are sent before their replies are read, on each shard.
const AT_ONCE: usize = 256;

/// What was read of the rows.
#[derive(Default)]
struct Found {
    rows: Vec<Moving>,
    /// How many bytes of them are kept.
    bytes: usize,
    changed: u64,
}

/// A row that moves.
struct Moving {
    /// Its old primary key, as a literal.
    old: Vec<u8>,
    /// Its old shard key, as far as that is whole numbers.
    was: Vec<Option<i128>>,
    /// Its new shard key.
    key: Vec<Constant>,
    /// All its new values.
    values: Vec<u8>,
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
    let matched = match rows(&mut parts[..read], &moved.rows, session, put).await {
        Ok(read_rows) => refuse_strictly(&mut parts[..read], read_rows.warnings, false).await.map(|()| read_rows.rows),
        Err(failure) => Err(failure),
    };
    parts.sort_by_key(|part| part.shard);
    let matched = match matched {
        Ok(matched) => matched,
        Err(failure) => return only_read(parts, failure),
    };
    let places = match placed(&found.rows, moved, session).await {
        Ok(places) => places,
        Err(failure) => return only_read(parts, failure),
    };
    let (mut warnings, mut conditions) = (0_u16, None);
    if matched > 0 {
        let texts = Texts::of(parts, &found.rows, &places, moved);
        let sent = send(parts, moved, &texts, &around).await?;
        let mut failure = sent.refused;
        if failure.is_none() && sent.taken != matched {
            failure = Some(internal("rows were not found again that were to be moved"));
        }
        if let Some(failure) = failure {
            undo(parts, &(0..parts.len()).collect(), &around).await.map_err(|()| failure.clone())?;
            return Ok(MultiShardResult { error: Some(failure), ..MultiShardResult::default() });
        }
        (warnings, conditions) = (sent.warnings, sent.conditions);
    }
    let finds = parts.iter().any(|part| part.lease.capabilities.contains(Capabilities::FOUND_ROWS));
    let info = format!("Rows matched: {matched}  Changed: {}  Warnings: {warnings}", found.changed).into_bytes();
    Ok(MultiShardResult {
        affected: if finds { matched } else { found.changed },
        warnings,
        conditions,
        info,
        ..MultiShardResult::default()
    })
}

/// What the shards run.
struct Texts {
    /// The first text of all of them.
    all: Option<Vec<u8>>,
    /// Those of each part, in their order.
    each: Vec<Vec<Vec<u8>>>,
}

impl Texts {
    /// Where no row can get the key of another one that moves, all are taken away at first.
    fn of(parts: &[ShardLease], rows: &[Moving], places: &[ShardId], moved: &Move) -> Texts {
        let apart = keys_are_apart(rows, moved);
        let all = apart.then(|| {
            let mut steps = Steps { moved, texts: Vec::new(), inserts: false };
            rows.iter().for_each(|row| steps.add(false, &row.old));
            steps.end();
            steps.texts.pop().unwrap_or_default()
        });
        let each = parts.iter().map(|part| texts_of(part.shard, rows, places, (moved, !apart))).collect();
        Texts { all, each }
    }

    fn rounds(&self) -> usize {
        usize::from(self.all.is_some()) + self.each.iter().map(Vec::len).max().unwrap_or_default()
    }

    /// The text of a part in a round.
    fn get(&self, part: usize, round: usize) -> Option<&[u8]> {
        match &self.all {
            Some(all) if round == 0 => Some(all),
            all => self.each.get(part)?.get(round - usize::from(all.is_some())).map(Vec::as_slice),
        }
    }
}

/// What a shard runs, in this order: it takes each row away, wherever that is, before its new one comes, and before the next row. So a row that
/// gets the key of one whose turn is still to come fails as on one server. `takes`: rows are still to be taken away.
fn texts_of(shard: ShardId, rows: &[Moving], places: &[ShardId], (moved, takes): (&Move, bool)) -> Vec<Vec<u8>> {
    let mut steps = Steps { moved, texts: Vec::new(), inserts: false };
    for (row, place) in rows.iter().zip(places) {
        if takes {
            steps.add(false, &row.old);
        }
        if *place == shard {
            steps.add(true, &row.values);
        }
    }
    steps.end();
    steps.texts
}

/// The texts of a shard as they grow.
struct Steps<'m> {
    moved: &'m Move,
    texts: Vec<Vec<u8>>,
    /// The last of them inserts.
    inserts: bool,
}

impl Steps<'_> {
    /// Inserts a row of values, or takes the row with a key away, by the last text if that does the same.
    fn add(&mut self, inserts: bool, row: &[u8]) {
        match self.texts.last_mut().filter(|_| self.inserts == inserts) {
            Some(text) => text.push(b','),
            None => {
                self.end();
                let head = if inserts { &self.moved.insert } else { &self.moved.delete };
                self.texts.push(head.clone());
                self.inserts = inserts;
            }
        }
        if let Some(text) = self.texts.last_mut() {
            text.extend_from_slice(row);
        }
    }

    /// A DELETE has a parenthesis open.
    fn end(&mut self) {
        if let Some(text) = self.texts.last_mut().filter(|_| !self.inserts) {
            text.push(b')');
        }
    }
}

/// Whether it is certain that no row gets the key of another one that moves: every unique key has the shard key in it.
fn keys_are_apart(rows: &[Moving], moved: &Move) -> bool {
    let apart = |nth: usize| {
        let old: Option<HashSet<i128>> = rows.iter().map(|row| row.was.get(nth).copied().flatten()).collect();
        let is_new = |old: &HashSet<i128>, row: &Moving| match row.key.get(nth) {
            Some(Constant::Integer(new)) => !old.contains(new),
            _ => false,
        };
        old.is_some_and(|old| rows.iter().all(|row| is_new(&old, row)))
    };
    moved.table.unchecked.is_empty() && (0..moved.key.len()).any(apart)
}

/// What the shards said.
#[derive(Default)]
struct Sent {
    /// How many rows were taken away.
    taken: u64,
    warnings: u16,
    /// What they warn of, if it was asked.
    conditions: Option<Vec<WarningRow>>,
    refused: Option<Failure>,
}

/// Runs the texts of all parts, on each in their order, up to an error.
async fn send(parts: &mut [ShardLease], moved: &Move, texts: &Texts, around: &Surroundings) -> Result<Sent, Failure> {
    let (mut sent, rounds, mut from) = (Sent::default(), texts.rounds(), 0);
    while from < rounds && sent.refused.is_none() {
        // The savepoint is set before the first text of each part alone: setting it again would move it.
        let (to, around) = match from {
            0 => (1, around.clone()),
            from => (rounds.min(from + AT_ONCE), around.without_savepoint()),
        };
        let count = parts.len();
        let orders: Vec<Order<'_>> = (from..to)
            .flat_map(|round| (0..count).filter_map(move |part| Some(Order { part, text: texts.get(part, round)? })))
            .collect();
        let replies = everywhere(parts, &orders, &around, Wanted::default()).await?;
        for (order, done) in
            orders.iter().zip(&replies).filter_map(|(order, reply)| Some((order, reply.as_ref().ok()?)))
        {
            match order.text.starts_with(&moved.delete) {
                true => sent.taken += done.affected,
                false => {
                    sent.warnings = sent.warnings.saturating_add(done.warnings);
                    if let Some(conditions) = &done.conditions {
                        sent.conditions.get_or_insert_default().extend_from_slice(conditions);
                    }
                }
            }
        }
        sent.refused = worst(&replies);
        from = to;
    }
    Ok(sent)
}

/// Keeps a row's old key, and its new values.
/// `wide`: the collation to whose character set the servers convert a literal in quotes, if ASCII has other bytes there.
fn put(found: &mut Found, row: &Row<'_>, moved: &Move, wide: Option<&str>) -> Result<usize, Failure> {
    let mut old = Vec::new();
    put_key(&mut old, row, 0, &moved.forms)?;
    let columns = row.columns();
    let was = old_key(row, moved)?;
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
    found.bytes += old.len() + values.len() + 2;
    found.rows.push(Moving { old, was, key, values });
    Ok(found.bytes)
}

/// The old values of the shard key that are whole numbers.
fn old_key(row: &Row<'_>, moved: &Move) -> Result<Vec<Option<i128>>, Failure> {
    let key = moved.table.shard_key().map_or(&[][..], |key| &key.columns);
    let place = |column: &usize| moved.table.primary_key.iter().position(|of| of == column);
    let number = |place: Option<usize>| {
        let Some((place, column)) = place.and_then(|place| Some((place, row.columns().get(place)?))) else {
            return Ok(None);
        };
        if moved.forms.get(place) != Some(&Form::Plain) {
            return Ok(None);
        }
        Ok(match constant_of(row.field(place), column)? {
            Constant::Integer(number) => Some(number),
            _ => None,
        })
    };
    key.iter().map(place).map(number).collect()
}

/// The shards of the rows' new keys.
async fn placed(rows: &[Moving], moved: &Move, session: &WriteContext<'_>) -> Result<Vec<ShardId>, Failure> {
    let mut places = Vec::with_capacity(rows.len());
    for row in rows {
        places.push(locate(&row.key, moved, session).await?);
    }
    Ok(places)
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
