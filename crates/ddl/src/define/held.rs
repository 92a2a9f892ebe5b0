//! Locks on the tables that a definition drops or empties, on all shards before the first one does so.
//!
//! What must always hold: what can't be taken back begins only when no shard has to wait for its table any more, so that a wait that ends
//! in vain leaves all shards as they were. Where a server does not run it under such locks, it runs without.

use std::time::{Duration, Instant};

use weir_catalog::{Catalog, Object, ShardId};
use weir_exec::ShardLease;
use weir_shards::ask::{ServerAnswer, ask};
use weir_sql::ast::{DropKind, StatementKind};
use weir_wire::Failure;
use weir_wire::error::codes;

use super::asked::Asked;
use super::collations::first_text;
use super::intent::Intent;
use super::names::quoted;
use super::reach::part_of;
use super::{shards, single};

/// How long who has locks on one shard waits for those of another, in seconds; then it begins again without any. No server sees a circle of
/// such locks with those of a transaction.
const WAIT: u64 = 1;

/// Whether a definition is of tables alone, can't be taken back, and is more than one shard's. Tables with foreign keys are left out: MySQL 9.7
/// drops a parent and its child under LOCK TABLES, and then says that the child is not there.
pub(super) fn wanted(asked: &Asked<'_>, catalog: &Catalog, intent: &Intent) -> bool {
    let of_tables = match asked.statement.kind {
        // Of a view, or a sequence, it does nothing to tables that it names, and says so only without locks.
        StatementKind::DropTables(drop) => drop.kind == DropKind::Table,
        StatementKind::Truncate(_) => true,
        _ => false,
    };
    of_tables
        && !asked.under_locks
        && intent.shards.len() > 1
        && intent.objects.iter().all(|object| is_alone(catalog, object))
}

fn is_alone(catalog: &Catalog, object: &Object) -> bool {
    shards::table(catalog, object).is_some_and(|table| table.foreign_keys.is_empty())
        && single::referring(catalog, object).next().is_none()
}

/// Whether a server refuses what it does not do under LOCK TABLES.
pub(super) fn is_because_of_locks(failure: &Failure) -> bool {
    matches!(failure.code, codes::ER_TABLE_NOT_LOCKED | codes::ER_TABLE_NOT_LOCKED_FOR_WRITE)
}

/// What has to be set back: each shard's own `lock_wait_timeout`.
pub(super) type Held = Vec<(ShardId, String)>;

/// Takes the locks, or none if a server refuses them for another reason than that somebody has them: the definition's own refusal says more.
/// Cancel-safe in that the connections of a dropped one are not used again.
///
/// # Errors
/// They can't be had within `lock_wait_timeout`; it was killed meanwhile; or a shard is lost. None is held then.
pub(super) async fn take(
    catalog: &Catalog,
    intent: &Intent,
    parts: &mut [ShardLease],
    held: &mut Held,
) -> Result<(), Failure> {
    let begun = Instant::now();
    loop {
        let mut refused = None;
        for (at, shard) in intent.shards.iter().enumerate() {
            let tables = on_shard(catalog, intent, *shard);
            let Some(part) = part_of(parts, *shard).filter(|_| !tables.is_empty()) else { continue };
            let own = own_wait(part).await?;
            part.lease.retired = true;
            held.push((*shard, own.clone()));
            if at > 0 && own.parse::<u64>().is_ok_and(|own| own > WAIT) {
                ask(&mut part.lease, format!("SET SESSION lock_wait_timeout = {WAIT}").as_bytes()).await.ok()?;
            }
            match ask(&mut part.lease, format!("LOCK TABLES {}", tables.join(", ")).as_bytes()).await {
                ServerAnswer::Reply(_) => {}
                ServerAnswer::Lost(failure) => return Err(failure),
                ServerAnswer::Refused(failure) => {
                    refused = Some((at, failure, own));
                    break;
                }
            }
        }
        let Some((at, failure, own)) = refused else { return Ok(()) };
        release(held, parts).await;
        let bound = Duration::from_secs(own.parse().unwrap_or(0));
        match failure.code {
            codes::ER_LOCK_WAIT_TIMEOUT if at > 0 && begun.elapsed() < bound => {}
            codes::ER_LOCK_WAIT_TIMEOUT | codes::ER_QUERY_INTERRUPTED | codes::ER_LOCK_DEADLOCK => return Err(failure),
            _ => return Ok(()),
        }
    }
}

/// Gives the locks up. A connection that can't do so is closed instead.
pub(super) async fn release(held: &mut Held, parts: &mut [ShardLease]) {
    for (shard, wait) in held.drain(..) {
        let Some(part) = part_of(parts, shard) else { continue };
        let restored = async {
            ask(&mut part.lease, b"UNLOCK TABLES").await.ok()?;
            ask(&mut part.lease, format!("SET SESSION lock_wait_timeout = {wait}").as_bytes()).await.ok()
        };
        let restored = restored.await.is_ok();
        part.lease.retired = !restored;
    }
}

/// The connection's `lock_wait_timeout`, in seconds.
pub(super) async fn own_wait(part: &mut ShardLease) -> Result<String, Failure> {
    let wait = ask(&mut part.lease, b"SELECT @@SESSION.lock_wait_timeout").await.ok()?;
    Ok(first_text(&wait.rows).unwrap_or_default())
}

fn on_shard(catalog: &Catalog, intent: &Intent, shard: ShardId) -> Vec<String> {
    let is_there = |object: &&Object| shards::of_object(catalog, object).contains(&shard);
    intent.objects.iter().filter(is_there).map(|object| format!("{} WRITE", quoted(object))).collect()
}
