//! Changes of rows that are found first, of several tables too, and UPDATE whose values depend on rows of several shards: each row that was
//! found is assigned its own.
//!
//! What must always hold: a row is changed once, with the values of the first row that was found for it; all rows are changed, or none.

use std::collections::{BTreeSet, HashSet};

use weir_catalog::lead_shard;
use weir_plan::{ByKey, Gather, SharedValues};
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

/// Finds the rows of all tables, and then changes them, table by table. The outcome is that of one statement.
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
    let mut found: Vec<Found<'_>> = gather.changes.iter().map(Found::of).collect();
    let keep = |row: &Row<'_>| {
        let kept: Result<Vec<usize>, Failure> = found.iter_mut().map(|found| found.put(row)).collect();
        Ok(kept?.into_iter().sum())
    };
    if let Err(failure) = rows_of(parts, bench, (&gather.rows, gather.ignore), session, keep).await {
        return only_read(parts, failure);
    }
    let changing = |part: &ShardLease| gather.changes.iter().any(|change| change.shards.contains(&part.shard));
    let around = Surroundings::of(parts, alike, session, parts.iter().filter(|part| changing(part)).count()).await?;
    let mut run = Run { parts, around, begun: BTreeSet::new(), done: Vec::new() };
    for found in found {
        let (change, before) = (found.change, run.done.len());
        let mut refused = run.change(change, &found.into_texts()).await?;
        if change.global && refused.is_none() {
            refused = run.one_copy(before);
        }
        if let Some(failure) = refused {
            return run.undo(session, failure).await;
        }
    }
    Ok(run.outcome(gather.update))
}

/// The changes on their way.
struct Run<'r> {
    parts: &'r mut [ShardLease],
    around: Surroundings,
    /// The parts that have run something, and have the savepoint.
    begun: BTreeSet<usize>,
    /// What they said that counts: the part, and the reply.
    done: Vec<(usize, Done)>,
}

impl Run<'_> {
    /// Changes the rows of one table; what a server refuses.
    async fn change(&mut self, change: &ByKey, texts: &[Vec<u8>]) -> Result<Option<Failure>, Failure> {
        // A row of a GLOBAL table is locked on one shard first.
        let lead = lead_shard(&change.shards).filter(|_| change.global);
        let places = (0..self.parts.len()).filter(|at| change.shards.contains(&self.parts[*at].shard));
        let (lead, others): (Vec<usize>, Vec<usize>) = places.partition(|at| Some(self.parts[*at].shard) == lead);
        let refused = self.change_on(texts, &lead).await?;
        if refused.is_some() { Ok(refused) } else { self.change_on(texts, &others).await }
    }

    async fn change_on(&mut self, texts: &[Vec<u8>], places: &[usize]) -> Result<Option<Failure>, Failure> {
        let Some((first, rest)) = texts.split_first() else { return Ok(None) };
        // The savepoint is set before the first text of a part alone: setting it again would move it.
        let (old, new): (Vec<usize>, Vec<usize>) = places.iter().partition(|at| self.begun.contains(at));
        let (with, without) = (self.around.clone(), self.around.without_savepoint());
        let mut refused = self.send(std::slice::from_ref(first), &new, &with).await?;
        if refused.is_none() {
            refused = self.send(std::slice::from_ref(first), &old, &without).await?;
        }
        for texts in rest.chunks(AT_ONCE) {
            if refused.is_none() {
                refused = self.send(texts, places, &without).await?;
            }
        }
        Ok(refused)
    }

    async fn send(
        &mut self,
        texts: &[Vec<u8>],
        places: &[usize],
        around: &Surroundings,
    ) -> Result<Option<Failure>, Failure> {
        let orders: Vec<Order<'_>> =
            texts.iter().flat_map(|text| places.iter().map(move |part| Order { part: *part, text })).collect();
        if orders.is_empty() {
            return Ok(None);
        }
        let replies = everywhere(self.parts, &orders, around, Wanted::default()).await?;
        self.begun.extend(places);
        let refused = worst(&replies);
        self.done.extend(
            orders.iter().map(|order| order.part).zip(replies).filter_map(|(part, reply)| Some((part, reply.ok()?))),
        );
        Ok(refused)
    }

    /// Of a GLOBAL table's change, which `before` others came before: all shards must have said the same, and one of them is counted.
    fn one_copy(&mut self, before: usize) -> Option<Failure> {
        let copies = self.done.split_off(before);
        let first = copies.first()?.0;
        let said =
            |part: usize| copies.iter().filter(move |(of, _)| *of == part).map(|(_, done)| (done.affected, &done.info));
        let parts: BTreeSet<usize> = copies.iter().map(|(part, _)| *part).collect();
        if parts.into_iter().any(|part| !said(part).eq(said(first))) {
            return Some(internal("The copies of a GLOBAL table differ: compare them with CHECKSUM TABLE"));
        }
        self.done.extend(copies.into_iter().filter(|(part, _)| *part == first));
        None
    }

    fn outcome(&self, update: bool) -> MultiShardResult {
        let done: Vec<&Done> = self.done.iter().map(|(_, done)| done).collect();
        let mut outcome = total(&done, None);
        outcome.status = done.last().map(|done| done.status).unwrap_or_default();
        if outcome.info.is_empty() && update {
            outcome.info = format!("Rows matched: 0  Changed: 0  Warnings: {}", outcome.warnings).into_bytes();
        }
        outcome
    }

    /// The statement has failed on a part, and leaves nothing.
    async fn undo(self, session: &WriteContext<'_>, failure: Failure) -> Result<MultiShardResult, Failure> {
        if session.in_transaction {
            undo(self.parts, &self.begun, &Surroundings::of_savepoint()).await.map_err(|()| failure.clone())?;
        }
        Ok(MultiShardResult { error: Some(failure), ..MultiShardResult::default() })
    }
}

/// The rows of a table that were found.
struct Found<'g> {
    change: &'g ByKey,
    keys: HashSet<Vec<u8>>,
    /// What changes them, if each has a text of its own; else their keys, separated by commas.
    texts: Vec<Vec<u8>>,
    bytes: usize,
}

impl<'g> Found<'g> {
    fn of(change: &'g ByKey) -> Found<'g> {
        Found { change, keys: HashSet::new(), texts: Vec::new(), bytes: 0 }
    }

    /// Takes a row: the values of the key, then those that are assigned. Returns how many bytes are kept.
    fn put(&mut self, row: &Row<'_>) -> Result<usize, Failure> {
        let change = self.change;
        // The inner side of an outer join has no row there.
        if row.field(change.place).is_none() {
            return Ok(self.bytes);
        }
        let mut key = Vec::new();
        put_key(&mut key, row, change.place, &change.forms)?;
        if self.keys.contains(&key) {
            return Ok(self.bytes);
        }
        self.bytes += 2 * key.len();
        if !change.assigned.is_empty() {
            let text = text_of(row, change, &key)?;
            self.bytes += text.len();
            self.texts.push(text);
        }
        self.keys.insert(key);
        Ok(self.bytes)
    }

    fn into_texts(self) -> Vec<Vec<u8>> {
        if !self.change.assigned.is_empty() || self.keys.is_empty() {
            return self.texts;
        }
        let mut keys: Vec<Vec<u8>> = self.keys.into_iter().collect();
        keys.sort_unstable();
        vec![[&self.change.head[..], &keys.join(&b','), &self.change.tail].concat()]
    }
}

/// The text that changes one row.
fn text_of(row: &Row<'_>, change: &ByKey, key: &[u8]) -> Result<Vec<u8>, Failure> {
    let mut text = change.head.clone();
    let mut place = change.place + change.forms.len();
    for (nth, assigned) in change.assigned.iter().enumerate() {
        if nth > 0 {
            text.push(b',');
        }
        text.extend_from_slice(&assigned.column);
        match &assigned.fixed {
            Some(fixed) => text.extend_from_slice(fixed),
            None => {
                let column = row.columns().get(place).ok_or_else(|| internal("a row that was found lacks values"))?;
                put_value(&mut text, row.field(place), column, Some(CHARSET))?;
                place += 1;
            }
        }
    }
    text.extend_from_slice(&change.tail);
    text.extend_from_slice(key);
    Ok(text)
}
