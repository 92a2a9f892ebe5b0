//! What tells about logical tables, and what looks after them: SHOW, DESCRIBE, ANALYZE, CHECKSUM and the like.
//!
//! What must always hold: an answer is that of one server with all of the tables: each table once, counts over all shards. What can't be
//! put together exactly is refused.
//!
//! * [`plan`]: which shards are asked, and how their replies become one; a pure function.
//! * [`merge`]: the replies as one.
//! * [`create`]: SHOW CREATE TABLE with Weir's clause.
//! * [`mod@information`][]: `information_schema`.
//! * [`binary`]: rows for clients that have prepared the statement.

pub mod binary;
pub mod create;
pub mod information;
pub mod merge;
pub mod plan;
#[cfg(test)]
mod tests;

use futures_util::future::join_all;
use weir_catalog::ShardId;
use weir_exec::{MultiShardResult, ShardLease, Sink};
use weir_shards::ask::{Reply, Row, ServerAnswer, ask};
use weir_sql::ast::{ShowKind, StatementKind, UpkeepVerb};
use weir_wire::codec::{put_lenenc, put_lenenc_bytes};
use weir_wire::error::codes;
use weir_wire::packets::{EofPacket, OkPacket, encode_failure};
use weir_wire::{Capabilities, Failure};

use crate::define::{Asked, Records};
pub use plan::{Telling, plan, shards};

/// Whether a statement tells about objects, or looks after tables.
pub fn shows(kind: &StatementKind<'_>) -> bool {
    matches!(kind, StatementKind::Show(_) | StatementKind::DescribeTable(_) | StatementKind::Flush(_))
        || upkeep(kind).is_some()
}

/// What a statement does to look after tables, or after partitions of one.
pub fn upkeep(kind: &StatementKind<'_>) -> Option<UpkeepVerb> {
    match kind {
        StatementKind::TableUpkeep(upkeep) => Some(upkeep.verb),
        StatementKind::AlterTable(alter) => alter.partition_upkeep(),
        _ => None,
    }
}

/// How the client wants its rows.
#[derive(Debug, Clone, Copy)]
pub struct Client {
    /// What was negotiated with it, and with the servers for it.
    pub capabilities: Capabilities,
    /// It has prepared the statement: rows are binary.
    pub binary: bool,
}

/// Answers a statement about something sharded. `parts`: connections to the shards that [`shards`] names, at least. A server's refusal is
/// handed to the client, and is in the outcome.
///
/// # Errors
/// When the client is gone, or does not read.
pub async fn answer<R: Records>(
    asked: &Asked<'_>,
    records: &R,
    client: Client,
    parts: &mut [ShardLease],
    sink: &mut impl Sink,
) -> Result<MultiShardResult, Failure> {
    let answer = match whole_reply(asked, records, parts).await {
        Ok(reply) => packets(&reply, client).map(|packets| (reply, packets)),
        Err(failure) => Err(failure),
    };
    match answer {
        Ok((reply, packets)) => {
            for packet in &packets {
                sink.put(packet);
                if sink.is_full() {
                    sink.flush().await?;
                }
            }
            let (warnings, status) = (reply.warnings, reply.status);
            Ok(MultiShardResult { sent: reply.rows.len() as u64, warnings, status, ..MultiShardResult::default() })
        }
        Err(failure) => {
            sink.put(&encode_failure(&failure));
            Ok(MultiShardResult { error: Some(failure), ..MultiShardResult::default() })
        }
    }
}

/// The whole answer.
async fn whole_reply<R: Records>(asked: &Asked<'_>, records: &R, parts: &mut [ShardLease]) -> Result<Reply, Failure> {
    let catalog = records.catalog();
    match plan(asked, &catalog)? {
        Telling::One(shard) => {
            let replies = replies(asked.text, &[shard], parts).await?;
            first(replies)
        }
        Telling::CreateTable(shard, object) => {
            let mut reply = first(replies(asked.text, &[shard], parts).await?)?;
            create::complete(&mut reply, &catalog, &object, records).await?;
            Ok(reply)
        }
        Telling::Databases(shards) => Ok(merge::databases(those_there(asked.text, &shards, parts).await?, &catalog)),
        Telling::Grants(shards) => Ok(merge::grants(those_there(asked.text, &shards, parts).await?, &catalog)),
        Telling::CreateDatabase(shards, name) => {
            let mut reply = first(told(asked.text, &shards, parts).await?)?;
            create::complete_database(&mut reply, &catalog, &name);
            Ok(reply)
        }
        Telling::Names(shards) => Ok(merge::names(told(asked.text, &shards, parts).await?)),
        Telling::Status(shards, database) => {
            let mut reply = merge::status(told(asked.text, &shards, parts).await?, &catalog, &database);
            merge::auto_increments(&mut reply, &catalog, &database, records).await?;
            Ok(reply)
        }
        Telling::Flush(tables) => {
            let mut last = None;
            for (text, shards) in tables {
                last = replies(&text, &shards, parts).await?.into_iter().next();
            }
            last.ok_or_else(nobody)
        }
        Telling::Upkeep(tables) => {
            let mut whole: Option<Reply> = None;
            for table in tables {
                let replies = replies(&table.text, &table.shards, parts).await?;
                let reply = merge::upkeep(replies, &table);
                whole = Some(match whole {
                    None => reply,
                    Some(before) => merge::appended(before, reply),
                });
            }
            whole.ok_or_else(nobody)
        }
    }
}

fn first(replies: Vec<Reply>) -> Result<Reply, Failure> {
    replies.into_iter().next().ok_or_else(nobody)
}

fn nobody() -> Failure {
    Failure::weir(codes::ER_UNKNOWN_ERROR, "no shard was asked")
}

/// What the shards tell of a database of which each has some objects. A user whose rights are to single objects is let into the database on
/// the shards of these alone, and for him the others have nothing.
async fn told(text: &[u8], shards: &[ShardId], parts: &mut [ShardLease]) -> Result<Vec<Reply>, Failure> {
    const NOT_LET_IN: [u16; 2] = [codes::ER_DBACCESS_DENIED_ERROR, codes::ER_NO_DB_ERROR];
    let (mut told, mut outside) = (Vec::new(), None);
    for answer in answers(text, shards, parts).await {
        match answer {
            ServerAnswer::Refused(failure) if NOT_LET_IN.contains(&failure.code) => outside = outside.or(Some(failure)),
            answer => told.push(answer.ok()?),
        }
    }
    match outside {
        Some(failure) if told.is_empty() => Err(failure),
        _ => Ok(told),
    }
}

/// What the first shard tells, and those others that answer: of a shard that is gone, or has no such user, nothing is told.
async fn those_there(
    text: &[u8],
    shards: &[ShardId],
    parts: &mut [ShardLease],
) -> Result<Vec<(ShardId, Reply)>, Failure> {
    let is_there = |shard: &ShardId| parts.iter().any(|part| part.shard == *shard);
    let there: Vec<ShardId> = shards.iter().copied().filter(is_there).collect();
    let mut told = Vec::with_capacity(there.len());
    for (shard, answer) in there.iter().zip(answers(text, &there, parts).await) {
        match answer.ok() {
            Ok(reply) => told.push((*shard, reply)),
            Err(failure) if told.is_empty() => return Err(failure),
            Err(_) => {}
        }
    }
    Ok(told)
}

/// Whether shards other than the first only add to what is told: those that are gone need not be asked.
pub fn may_lack_shards(kind: &StatementKind<'_>) -> bool {
    matches!(kind, StatementKind::Show(show) if matches!(show.kind, ShowKind::Databases | ShowKind::Grants(_)))
}

/// Asks these shards at once; their replies in their order.
async fn replies(text: &[u8], shards: &[ShardId], parts: &mut [ShardLease]) -> Result<Vec<Reply>, Failure> {
    answers(text, shards, parts).await.into_iter().map(ServerAnswer::ok).collect()
}

async fn answers(text: &[u8], shards: &[ShardId], parts: &mut [ShardLease]) -> Vec<ServerAnswer> {
    let mut asked: Vec<&mut ShardLease> = parts.iter_mut().filter(|part| shards.contains(&part.shard)).collect();
    asked.sort_by_key(|part| shards.iter().position(|shard| *shard == part.shard));
    let questions: Vec<_> = asked
        .into_iter()
        .map(|part| -> std::pin::Pin<Box<dyn Future<Output = ServerAnswer> + '_>> {
            Box::pin(ask(&mut part.lease, text))
        })
        .collect();
    join_all(questions).await
}

/// A reply as the client's packets, the end included.
fn packets(reply: &Reply, client: Client) -> Result<Vec<Vec<u8>>, Failure> {
    let Client { capabilities, binary } = client;
    let status = reply.status;
    if reply.columns.is_empty() {
        let ok = OkPacket { affected_rows: reply.affected, warnings: reply.warnings, ..OkPacket::plain(status) };
        return Ok(vec![ok.encode(capabilities)]);
    }
    let deprecates_eof = capabilities.contains(Capabilities::DEPRECATE_EOF);
    let mut count = Vec::with_capacity(3);
    put_lenenc(&mut count, reply.columns.len() as u64);
    let mut packets = vec![count];
    packets.extend(reply.columns.iter().map(|definition| definition.to_vec()));
    if !deprecates_eof {
        packets.push(EofPacket { warnings: 0, status }.encode().to_vec());
    }
    let kinds = binary.then(|| binary::kinds(&reply.columns, capabilities)).transpose()?;
    for row in &reply.rows {
        packets.push(match &kinds {
            Some(kinds) => binary::row(row, kinds)?,
            None => text_row(row),
        });
    }
    packets.push(if deprecates_eof {
        OkPacket { header: 0xfe, warnings: reply.warnings, ..OkPacket::plain(status) }.encode(capabilities)
    } else {
        EofPacket { warnings: reply.warnings, status }.encode().to_vec()
    });
    Ok(packets)
}

fn text_row(row: &Row) -> Vec<u8> {
    let mut payload = Vec::new();
    for cell in row {
        match cell {
            Some(bytes) => put_lenenc_bytes(&mut payload, bytes),
            None => payload.push(0xfb),
        }
    }
    payload
}
