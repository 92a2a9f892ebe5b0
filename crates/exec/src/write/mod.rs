//! Writes on several shards: each shard runs its text, and their replies become one answer.
//!
//! The connections are in a transaction already and stay in it: the caller that leased them commits or rolls back. What must always hold:
//! - a statement that fails leaves nothing on any shard. Within a client's transaction all shards return to a savepoint before the
//!   statement, as one server does; where that is impossible, [`run`] says so, and the whole transaction has to be rolled back;
//! - the statement's time and its `LAST_INSERT_ID()` are the same on all shards;
//! - if copies of a GLOBAL table turn out to differ, the statement fails.
//!
//! * `send`: sends to shards and reads their replies; `counts`: affected rows and infos of all shards as one.
//! * `returned`: rows of RETURNING.
//! * `resolve`: values that a text needs before it can be planned; `rows_before`: rows that are read before the write; `load`: the client's
//!   file, whose `lines` go to their shards; `moving`: rows whose shard key changes.

mod by_row;
mod counts;
mod lines;
mod load;
mod moving;
mod resolve;
mod returned;
mod rows_before;
mod send;

use std::collections::BTreeSet;

use weir_catalog::{ShardId, lead_shard};
use weir_plan::{ByKey, Duplicates, Gather, Returns, Write, WriteKind};
use weir_wire::Failure;
use weir_wire::error::codes;

pub use load::{Source, load};
pub use resolve::{Generator, Resolved, resolve};
pub use returned::Returned;

use crate::workbench::Gathering;
use crate::{LeftId, MultiShardResult, ShardLease, read};
use counts::total;
pub use counts::{info_of_one, infos_added};
use send::{Order, Replied, Surroundings, Wanted, in_turn};
use weir_shards::Sharding;

/// Errors after which a server has rolled back the transaction: a deadlock, and that of an XA branch.
const ENDS_TRANSACTION: [u16; 2] = [codes::ER_LOCK_DEADLOCK, codes::ER_XA_RBDEADLOCK];

/// What a write needs to know of its session.
#[derive(Clone, Copy)]
pub struct WriteContext<'a> {
    /// What reads need.
    pub reading: &'a read::ReadContext<'a>,
    /// The transaction is the client's: a statement that fails must leave what came before it. If it is not, the caller rolls the
    /// whole transaction back when there is an error.
    pub in_transaction: bool,
    /// What `LAST_INSERT_ID()` is, if the client's statement may read it, whatever its text has become.
    pub insert_id: Option<u64>,
    /// The statement calls `LAST_INSERT_ID(expr)`.
    pub sets_id: bool,
    /// The first value that was generated for the statement ([`Resolved::insert_id`]).
    pub generated: Option<u64>,
    /// Rows that are returned are to be in the binary format: the client has prepared the statement.
    pub binary: bool,
    /// Where characters' weights are learnt; without it nothing is known but what the plan brings.
    pub sharding: Option<&'a Sharding>,
    /// What is gathered on a workbench.
    pub gathering: &'a Gathering,
}

/// Runs a write on the parts of its shards ([`Write::shards`]), which are in the order of these; `bench`: a connection of the statement's own
/// to the workbench that it takes ([`Write::workbench`]).
///
/// A server's error is in the outcome: then the statement has left nothing, and a client's transaction goes on.
///
/// Dropping the future leaves parts in mid-reply, which close when they are given back: their transaction is rolled back.
///
/// # Errors
/// What the whole transaction has to be rolled back for: a part was lost, or could not undo the statement (its server has rolled the
/// transaction back already: after a deadlock, say).
pub async fn run(
    parts: &mut [ShardLease],
    bench: Option<&mut ShardLease>,
    write: &Write,
    session: &WriteContext<'_>,
) -> Result<MultiShardResult, Failure> {
    let gathered;
    let kind = match &write.kind {
        WriteKind::Gather(gather) => {
            let Some(change) = gather.of_one_text() else {
                return by_row::run(parts, bench, gather, write.alike, session).await;
            };
            match rows_before::changing(parts, bench, (gather, change), session).await {
                Ok(texts) => {
                    gathered = of_texts(texts, change);
                    &gathered
                }
                Err(failure) => return only_read(parts, failure),
            }
        }
        kind => kind,
    };
    if let WriteKind::Move(moved) = kind {
        let around = Surroundings::of(parts, write.alike, session, parts.len()).await?;
        return moving::run(parts, moved, around, session).await;
    }
    let orders = orders(parts, kind)?;
    let surroundings = Surroundings::of(parts, write.alike, session, orders.len()).await?;
    let wanted = Wanted { returns: write.returns.as_ref(), binary: session.binary, returned: false };
    let mut begun = BTreeSet::new();
    let mut replies = in_turn(parts, &orders, (lead(parts, kind), &mut begun), &surroundings, wanted).await?;
    let outcome = match outcome(parts, kind, &mut replies, wanted.returns, session) {
        Ok(mut outcome) => {
            // Some servers tell nothing when they see that no row can match.
            if matches!(&write.kind, WriteKind::Gather(gather) if gather.update) && outcome.info.is_empty() {
                outcome.info = format!("Rows matched: 0  Changed: 0  Warnings: {}", outcome.warnings).into_bytes();
            }
            if let WriteKind::Gather(Gather { describes: Some(text), .. }) = &write.kind
                && outcome.returned.is_none()
            {
                let around = surroundings.without_savepoint();
                let replied =
                    in_turn(parts, &[Order { part: 0, text }], (None, &mut begun), &around, wanted).await?.pop();
                outcome.returned = replied.transpose()?.map(|done| done.returned);
            }
            return Ok(outcome);
        }
        Err(failure) => MultiShardResult { error: Some(failure.clone()), ..MultiShardResult::default() },
    };
    if session.in_transaction
        && let Some(failure) = outcome.error.clone()
    {
        send::undo(parts, &begun, &surroundings).await.map_err(|()| failure)?;
    }
    Ok(outcome)
}

/// What changes the rows that were found, by a text for all or one for each.
fn of_texts(mut texts: Vec<Vec<u8>>, change: &ByKey) -> WriteKind {
    let shards = change.shards.clone();
    match (texts.pop(), change.global) {
        (Some(text), true) if texts.is_empty() => WriteKind::Global(shards, text),
        (Some(text), false) if texts.is_empty() => WriteKind::Everywhere(shards, text),
        (last, _) => {
            let each = texts.into_iter().chain(last);
            let texts = each.flat_map(|text| shards.iter().map(move |shard| (*shard, text.clone())));
            WriteKind::Split(texts.collect(), Duplicates::Error)
        }
    }
}

/// A read before the write has failed: nothing was changed, unless the server has ended the transaction.
fn only_read(parts: &[ShardLease], failure: Failure) -> Result<MultiShardResult, Failure> {
    let whole = parts.iter().all(|part| part.lease.is_clean()) && !ENDS_TRANSACTION.contains(&failure.code);
    if whole { Ok(MultiShardResult { error: Some(failure), ..MultiShardResult::default() }) } else { Err(failure) }
}

/// The part that a change of a GLOBAL table locks rows on before it does on others ([`lead_shard`]).
fn lead(parts: &[ShardLease], kind: &WriteKind) -> Option<usize> {
    let WriteKind::Global(shards, _) = kind else { return None };
    let lead = lead_shard(shards)?;
    parts.iter().position(|part| part.shard == lead)
}

/// What each part is sent.
fn orders<'w>(parts: &[ShardLease], kind: &'w WriteKind) -> Result<Vec<Order<'w>>, Failure> {
    let part = |shard: ShardId| {
        let found = parts.iter().position(|part| part.shard == shard);
        found.ok_or_else(|| internal("a write was given no connection to one of its shards"))
    };
    match kind {
        WriteKind::Split(texts, _) => {
            texts.iter().map(|(shard, text)| Ok(Order { part: part(*shard)?, text })).collect()
        }
        WriteKind::Everywhere(shards, text) | WriteKind::Global(shards, text) => {
            shards.iter().map(|shard| Ok(Order { part: part(*shard)?, text })).collect()
        }
        WriteKind::Resolve(_) | WriteKind::Gather(_) | WriteKind::Move(_) | WriteKind::Load(_) => {
            Err(internal("a text was run that is not there yet"))
        }
    }
}

fn internal(message: &str) -> Failure {
    Failure::weir(codes::ER_UNKNOWN_ERROR, message)
}

/// What the parts' replies are together.
fn outcome(
    parts: &[ShardLease],
    kind: &WriteKind,
    replies: &mut [Replied],
    returns: Option<&Returns>,
    session: &WriteContext<'_>,
) -> Result<MultiShardResult, Failure> {
    if let Some(failure) = worst(replies) {
        return Err(failure);
    }
    let results =
        replies.iter_mut().filter_map(|reply| reply.as_mut().ok()).map(|done| std::mem::take(&mut done.returned));
    let returned = returns.map(|returns| returned::together(returns, results.collect())).transpose()?;
    // A server that sees at once that no row is meant answers as if no rows were asked for.
    let returned = returned.filter(|returned| !returned.columns.is_empty());
    let done: Vec<_> = replies.iter().filter_map(|reply| reply.as_ref().ok()).collect();
    let mut outcome = match kind {
        WriteKind::Global(shards, _) => {
            let copies: Vec<_> = done.iter().map(|done| (done.affected, &done.info[..])).collect();
            if copies.windows(2).any(|pair| pair[0] != pair[1]) {
                return Err(copies_differ(parts, shards, &copies));
            }
            let [first, ..] = done[..] else { return Err(internal("a write had no part")) };
            let (affected, info) = (first.affected, first.info.clone());
            let conditions = first.conditions.clone();
            MultiShardResult { affected, info, warnings: first.warnings, conditions, ..MultiShardResult::default() }
        }
        WriteKind::Split(_, duplicates) => total(&done, Some(*duplicates)),
        _ => total(&done, None),
    };
    let told = done.iter().map(|done| done.insert_id).max().unwrap_or(0);
    let generated = session.generated.filter(|id| match &returned {
        Some(returned) => !returned.rows.is_empty(),
        None => is_there(*id, kind, &done, outcome.affected),
    });
    outcome.insert_id = generated.unwrap_or(told);
    outcome.left_id = match (kind, generated) {
        (_, Some(generated)) => LeftId::Known(generated),
        _ if outcome.insert_id == 0 => LeftId::Unchanged,
        _ if session.sets_id => LeftId::Known(outcome.insert_id),
        // Its server may have generated it.
        (WriteKind::Everywhere(shards, _), None) if shards.len() == 1 => LeftId::OnPart,
        _ => LeftId::Unchanged,
    };
    outcome.status = done.last().map(|done| done.status).unwrap_or_default();
    outcome.sent = returned.as_ref().map(|returned| returned.rows.len() as u64).unwrap_or_default();
    outcome.returned = returned;
    Ok(outcome)
}

/// Whether the row of the first generated value was written: of a single row the server tells, of several only that none was.
fn is_there(generated: u64, kind: &WriteKind, done: &[&send::Done], affected: u64) -> bool {
    let alone = done.len() == 1 || matches!(kind, WriteKind::Global(..));
    match done.first() {
        Some(one) if alone && one.info.is_empty() => one.insert_id == generated,
        _ => affected > 0,
    }
}

/// The error that the client is told: one that has ended a transaction before others, else the first shard's.
fn worst(replies: &[Replied]) -> Option<Failure> {
    let ends = [&ENDS_TRANSACTION[..], &[codes::ER_LOCK_WAIT_TIMEOUT]].concat();
    let failures = || replies.iter().filter_map(|reply| reply.as_ref().err());
    failures().find(|failure| ends.contains(&failure.code)).or_else(|| failures().next()).cloned()
}

fn copies_differ(parts: &[ShardLease], shards: &[ShardId], copies: &[(u64, &[u8])]) -> Failure {
    let name = |shard: &ShardId| {
        let part = parts.iter().find(|part| part.shard == *shard);
        part.map_or_else(String::new, |part| part.lease.server.settings.name.clone())
    };
    let counts: Vec<String> =
        shards.iter().zip(copies).map(|(shard, (affected, _))| format!("{affected} on {}", name(shard))).collect();
    let message = format!(
        "The copies of a GLOBAL table differ: the statement affected other rows on each ({}), and was undone. Compare them with CHECKSUM \
         TABLE",
        counts.join(", ")
    );
    Failure::server(codes::ER_UNKNOWN_ERROR, message)
}
