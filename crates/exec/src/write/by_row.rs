//! UPDATE whose values depend on rows of several shards: each row that was found is assigned its own.
//!
//! What must always hold: a row is changed once, with the values of the first row that was found for it; all rows are changed, or none.

use std::collections::HashSet;

use weir_plan::{Gather, SharedValues};
use weir_wire::Failure;

use super::counts::total;
use super::rows_before::{CHARSET, put_key, rows_of};
use super::send::{Done, Order, Surroundings, Wanted, everywhere, undo};
use super::{WriteContext, internal, only_read, worst};
use crate::read::Row;
use crate::values::row::put_value;
use crate::{MultiShardResult, ShardLease};

/// Texts that are sent before their replies are read, on each shard.
const AT_ONCE: usize = 256;

/// Finds the rows and changes them. The outcome is that of an UPDATE.
///
/// # Errors
/// As [`super::run`].
pub(super) async fn run(
    parts: &mut [ShardLease],
    bench: Option<&mut ShardLease>,
    gather: &Gather,
    alike: SharedValues,
    session: &WriteContext<'_>,
) -> Result<MultiShardResult, Failure> {
    let mut changes = Changes::default();
    let found = rows_of(parts, bench, (&gather.rows, gather.ignore), session, |row| changes.put(row, gather)).await;
    if let Err(failure) = found {
        return only_read(parts, failure);
    }
    let places: Vec<usize> = (0..parts.len()).filter(|at| gather.shards.contains(&parts[*at].shard)).collect();
    let around = Surroundings::of(parts, alike, session, places.len()).await?;
    let all = |texts: std::ops::Range<usize>| -> Vec<Order<'_>> {
        let texts = &changes.texts[texts];
        texts.iter().flat_map(|text| places.iter().map(move |part| Order { part: *part, text })).collect()
    };
    let mut done: Vec<Vec<Done>> = vec![Vec::new(); places.len()];
    let mut first = 0;
    while first < changes.texts.len() {
        // The savepoint is set before the first text alone: setting it again would move it.
        let (count, around) = if first == 0 { (1, around.clone()) } else { (AT_ONCE, around.without_savepoint()) };
        let next = (first + count).min(changes.texts.len());
        let replies = everywhere(parts, &all(first..next), &around, Wanted::default()).await?;
        if let Some(failure) = worst(&replies) {
            return undone(parts, &all(0..1), session, failure).await;
        }
        for (at, reply) in replies.into_iter().flatten().enumerate() {
            done[at % places.len()].push(reply);
        }
        first = next;
    }
    if gather.global {
        let counts = |of: &Vec<Done>| of.iter().map(|done| (done.affected, done.info.clone())).collect::<Vec<_>>();
        if done.windows(2).any(|two| counts(&two[0]) != counts(&two[1])) {
            let failure = internal("The copies of a GLOBAL table differ: compare them with CHECKSUM TABLE");
            return undone(parts, &all(0..changes.texts.len().min(1)), session, failure).await;
        }
        done.truncate(1);
    }
    let done: Vec<&Done> = done.iter().flatten().collect();
    let mut outcome = total(&done, None);
    outcome.status = done.last().map(|done| done.status).unwrap_or_default();
    if outcome.info.is_empty() {
        outcome.info = format!("Rows matched: 0  Changed: 0  Warnings: {}", outcome.warnings).into_bytes();
    }
    Ok(outcome)
}

/// The statement has failed on a part, and leaves nothing.
async fn undone(
    parts: &mut [ShardLease],
    orders: &[Order<'_>],
    session: &WriteContext<'_>,
    failure: Failure,
) -> Result<MultiShardResult, Failure> {
    if session.in_transaction {
        undo(parts, orders, &Surroundings::of_savepoint()).await.map_err(|()| failure.clone())?;
    }
    Ok(MultiShardResult { error: Some(failure), ..MultiShardResult::default() })
}

/// The texts that change the rows.
#[derive(Default)]
struct Changes {
    texts: Vec<Vec<u8>>,
    keys: HashSet<Vec<u8>>,
    bytes: usize,
}

impl Changes {
    /// Takes a row: the values of the key, then those that are assigned. Returns how many bytes are kept.
    fn put(&mut self, row: &Row<'_>, gather: &Gather) -> Result<usize, Failure> {
        let mut key = Vec::new();
        put_key(&mut key, row, &gather.forms)?;
        if !self.keys.insert(key.clone()) {
            return Ok(self.bytes);
        }
        let mut text = gather.head.clone();
        let mut place = gather.forms.len();
        for (nth, assigned) in gather.assigned.iter().enumerate() {
            if nth > 0 {
                text.push(b',');
            }
            text.extend_from_slice(&assigned.column);
            match &assigned.fixed {
                Some(fixed) => text.extend_from_slice(fixed),
                None => {
                    let column =
                        row.columns().get(place).ok_or_else(|| internal("a row that was found lacks values"))?;
                    put_value(&mut text, row.field(place), column, Some(CHARSET))?;
                    place += 1;
                }
            }
        }
        text.extend_from_slice(&gather.tail);
        text.extend_from_slice(&key);
        self.bytes += 2 * key.len() + text.len();
        self.texts.push(text);
        Ok(self.bytes)
    }
}
