//! Reads of several shards: all shards are asked at once, and their rows become one result.
//!
//! A row passes through [`link`] (bytes of a connection), [`feed`] (packets of one shard's result), [`merge`] (the next row of all shards,
//! by the sort keys of [`key`]), [`rows`] (OFFSET and LIMIT) and [`run`] (the client's packets). [`run_union`] reads several queries and
//! converts their rows to rows of one result ([`convert`]). [`run_computed`] folds groups and has a server compute expressions over them.
//!
//! What must always hold:
//! - rows are read in place, in the connections' buffers, and copied once, into the client's; memory is bounded by one buffer per shard;
//! - when a shard fails, the result ends with one error, and nothing follows it;
//! - when [`run`] returns, each connection is clean or retired. When its future is dropped, connections in mid-reply are not clean, and
//!   close when they are given back.

mod collations;
pub(crate) mod columns;
mod computed;
mod convert;
mod decimal;
mod drain;
pub(crate) mod failure;
mod feed;
mod float;
mod fold;
mod groups;
mod heads;
mod key;
mod link;
mod memory;
mod merge;
mod row;
mod rows;
mod start;
mod telling;
#[cfg(test)]
mod testing;
mod union;
pub(crate) mod value;

use weir_plan::Read;
use weir_wire::codec::put_lenenc;
use weir_wire::packets::{EofPacket, OkPacket, encode_failure};
use weir_wire::{Capabilities, Failure, StatusFlags};

pub use collations::{Collations, Space, Weights};
pub use columns::{ANY_DECIMALS, Column, ColumnKind};
pub use computed::run as run_computed;
pub use feed::{FeedEnd, FeedStep};
pub(crate) use heads::{ask_heads, heads};
pub use link::{Cancel, Link, Target};
pub use memory::Memory;
pub use row::Format;
pub use rows::{MergeSettings, Row, Rows};

pub(crate) use telling::those;
pub use union::run as run_union;

use crate::{MultiShardResult, Request, ShardLease, Sink};

/// What a read needs to know of its session.
#[derive(Clone, Copy)]
pub struct ReadContext<'a> {
    /// What was negotiated with the client.
    pub capabilities: Capabilities,
    /// What is known of the servers' collations.
    pub collations: &'a Collations,
    /// Has a statement killed whose rest is not wanted.
    pub cancel: &'a Cancel<'a>,
    /// What the client is told of its transaction, where the connection that answers has no part in it.
    pub transaction: Option<StatusFlags>,
}

/// Status flags about a session's transaction.
const OF_TRANSACTION: StatusFlags =
    StatusFlags::AUTOCOMMIT.union(StatusFlags::IN_TRANS).union(StatusFlags::IN_TRANS_READONLY);

impl ReadContext<'_> {
    /// The status that the client is told, in place of a connection's.
    fn told(&self, status: StatusFlags) -> StatusFlags {
        self.transaction.map_or(status, |own| (status - OF_TRANSACTION) | (own & OF_TRANSACTION))
    }
}

/// How many bytes of folded rows are sorted in memory.
pub const SORT_LIMIT: usize = 64 * 1024 * 1024;

/// Runs a read on parts that have the session's state (what is queued for that goes out with the statement), and hands its result to the
/// client. A server's error is handed on too, and is in the outcome.
///
/// Dropping the future leaves parts in mid-reply, which close when they are given back.
///
/// # Errors
/// When the client is gone, or does not read.
pub async fn run(
    parts: &mut [ShardLease],
    read: &Read,
    request: &Request<'_>,
    session: &ReadContext<'_>,
    sink: &mut impl Sink,
) -> Result<MultiShardResult, Failure> {
    let mut outcome = MultiShardResult::default();
    let mut rows = match open(parts, read, request, session.collations).await {
        Ok(rows) => rows,
        Err(failure) => {
            sink.put(&encode_failure(&failure));
            outcome.error = Some(failure);
            return Ok(outcome);
        }
    };
    let ended = pump(&mut rows, session, sink, &mut outcome).await;
    rows.drain(session.cancel).await;
    let end = rows.end();
    (outcome.status, outcome.warnings) = (session.told(end.status), end.warnings);
    put_end(ended, outcome, session.capabilities, sink)
}

/// What comes behind the rows: the end of the result, or the error that ended it.
fn put_end(
    ended: Result<(), ReadError>,
    mut outcome: MultiShardResult,
    capabilities: Capabilities,
    sink: &mut impl Sink,
) -> Result<MultiShardResult, Failure> {
    match ended {
        Ok(()) if capabilities.contains(Capabilities::DEPRECATE_EOF) => {
            let ok = OkPacket { header: 0xfe, warnings: outcome.warnings, ..OkPacket::plain(outcome.status) };
            sink.put(&ok.encode(capabilities));
        }
        Ok(()) => sink.put(&EofPacket { warnings: outcome.warnings, status: outcome.status }.encode()),
        Err(ReadError::Failed(failure)) => {
            sink.put(&encode_failure(&failure));
            outcome.error = Some(failure);
        }
        Err(ReadError::Client(failure)) => return Err(failure),
    }
    Ok(outcome)
}

/// Asks those of the parts whose shards the read names. The rows can be read from what it returns.
///
/// # Errors
/// The loss of a connection; a server's refusal to prepare the text. Parts that were asked are retired then.
pub async fn open<'p>(
    parts: &'p mut [ShardLease],
    read: &Read,
    request: &Request<'_>,
    collations: &Collations,
) -> Result<Rows<&'p mut ShardLease>, Failure> {
    open_on(those(parts, read), read, request, collations).await
}

/// Asks these parts, which may be some of all.
pub(crate) async fn open_on<'p>(
    mut parts: Vec<&'p mut ShardLease>,
    read: &Read,
    request: &Request<'_>,
    collations: &Collations,
) -> Result<Rows<&'p mut ShardLease>, Failure> {
    let asked = async {
        let Some(first) = parts.first_mut() else { return Err(failure::internal("the plan names no shard")) };
        let weights = collations.needed(read, &mut first.lease).await?;
        let mariadb = first.lease.is_mariadb();
        let known = MergeSettings { weights, sort_limit: SORT_LIMIT, mariadb };
        Ok((start::send(&mut parts, read, request).await?, known))
    };
    match asked.await {
        Ok((format, known)) => Rows::new(parts, read, format, &known),
        Err(failure) => {
            for part in parts.iter_mut().filter(|part| !part.lease.is_clean()) {
                part.lease.retired = true;
            }
            Err(failure)
        }
    }
}

/// Why a result was not handed on to its end.
pub(crate) enum ReadError {
    /// A shard failed; the client is to be told.
    Failed(Failure),
    /// The client can't be told anything.
    Client(Failure),
}

/// Puts the head and the rows into the sink.
async fn pump<L: Link>(
    rows: &mut Rows<L>,
    session: &ReadContext<'_>,
    sink: &mut impl Sink,
    outcome: &mut MultiShardResult,
) -> Result<(), ReadError> {
    let mut begun = false;
    loop {
        let step = rows.step().map_err(ReadError::Failed)?;
        if step != FeedStep::Wait && !begun {
            begun = true;
            put_head(rows, session, sink);
        }
        match step {
            FeedStep::Row => {
                sink.put(rows.payload());
                outcome.sent += 1;
                if sink.is_full() {
                    sink.flush().await.map_err(ReadError::Client)?;
                }
            }
            FeedStep::Wait => {
                sink.flush().await.map_err(ReadError::Client)?;
                // Cancel-safe, both of them.
                tokio::select! {
                    biased;
                    filled = rows.fill() => filled.map_err(ReadError::Failed)?,
                    failure = sink.gone() => return Err(ReadError::Client(failure)),
                }
            }
            FeedStep::End => return Ok(()),
        }
    }
}

/// Puts the column count, the definitions and the packet that ends them.
fn put_head<L: Link>(rows: &Rows<L>, session: &ReadContext<'_>, sink: &mut impl Sink) {
    let Some((definitions, status)) = rows.head() else { return };
    put_definitions(definitions, session.told(status), session.capabilities, sink);
}

fn put_definitions(definitions: &[Vec<u8>], status: StatusFlags, capabilities: Capabilities, sink: &mut impl Sink) {
    let mut count = Vec::with_capacity(3);
    put_lenenc(&mut count, definitions.len() as u64);
    sink.put(&count);
    for definition in definitions {
        sink.put(definition);
    }
    if !capabilities.contains(Capabilities::DEPRECATE_EOF) {
        sink.put(&EofPacket { warnings: 0, status }.encode());
    }
}
