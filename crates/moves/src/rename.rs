//! The names change: on each shard that has tables of a move, in one statement.
//!
//! What must always hold: it is known of each shard whether its names have changed, before anything follows from that. What a lost
//! connection may still do has ended before it is looked at.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use weir_catalog::{Move, MovedTable, ShardId};
use weir_shards::Sharding;
use weir_shards::own::{OwnSession, name, number, quoted, text};
use weir_wire::Failure;
use weir_wire::error::codes;

use crate::cutover::PAUSE;
use crate::{Direction, crash, triggers};

/// How long a rename is awaited to stand in the line for the tables that are locked.
const IN_LINE: Duration = Duration::from_secs(1);

/// A connection, and its id on the server.
pub(crate) struct Renamer {
    session: OwnSession,
    thread: u64,
}

impl Renamer {
    /// A connection for a rename on a shard.
    pub(crate) async fn new(sharding: &Sharding, shard: ShardId) -> Result<Renamer, Failure> {
        let mut session = sharding.own.session(shard).await?;
        let reply = session.run("SELECT CONNECTION_ID()").await?;
        let thread = reply.rows.first().and_then(|row| number(row.first())).unwrap_or(0);
        session.run("SET SESSION lock_wait_timeout = 2, SESSION foreign_key_checks = 1").await?;
        Ok(Renamer { session, thread })
    }
}

/// The statement that changes the names on a shard; none for a shard that has no table of the move.
pub(crate) fn statement(known: &Move, shard: ShardId, direction: Direction) -> Option<String> {
    let (new, old) = (known.new_schema(), known.old_schema());
    let (mut away, mut back) = (Vec::new(), Vec::new());
    for moved in &known.tables {
        let table = name(moved.object.name.as_deref().unwrap_or_default());
        let at = format!("{}.{table}", name(&moved.object.database));
        let (before, after) = (moved.from_shards.contains(&shard), moved.to_shards.contains(&shard));
        let (leaves, comes, away_to, from) = match direction {
            Direction::Forward => (before, after, &old, &new),
            Direction::Back => (after, before, &new, &old),
        };
        if leaves {
            away.push(format!("{at} TO {}.{table}", name(away_to)));
        }
        if comes {
            back.push(format!("{}.{table} TO {at}", name(from)));
        }
    }
    away.append(&mut back);
    (!away.is_empty()).then(|| format!("RENAME TABLE {}", away.join(", ")))
}

/// Whether the names have changed on a shard.
///
/// # Errors
/// The server's.
pub(crate) async fn is_done(
    sharding: &Sharding,
    known: &Move,
    shard: ShardId,
    direction: Direction,
) -> Result<bool, Failure> {
    let (comes_from, goes_to) = match direction {
        Direction::Forward => (known.new_schema(), known.old_schema()),
        Direction::Back => (known.old_schema(), known.new_schema()),
    };
    let here =
        |moved: &&weir_catalog::MovedTable| moved.from_shards.contains(&shard) || moved.to_shards.contains(&shard);
    // One statement changes all names of a shard, or none: one table tells.
    let Some(moved) = known.tables.iter().find(here) else { return Ok(true) };
    let leaves = match direction {
        Direction::Forward => moved.from_shards.contains(&shard),
        Direction::Back => moved.to_shards.contains(&shard),
    };
    let (schema, means_done) = if leaves { (goes_to, true) } else { (comes_from, false) };
    let sql = format!(
        "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = {} AND TABLE_NAME = {}",
        quoted(&schema),
        quoted(moved.object.name.as_deref().unwrap_or_default())
    );
    let reply = sharding.own.run(shard, sql).await?;
    let is_there = reply.rows.first().is_some_and(|row| text(row.first()) != "0");
    Ok(is_there == means_done)
}

/// Changes the names on all shards, while these connections have locked the tables that leave. The locks go with the connections.
///
/// # Errors
/// The first failure: on some shards the names may have changed all the same.
pub(crate) async fn everywhere(
    sharding: &Arc<Sharding>,
    known: &Move,
    direction: Direction,
    mut renamers: BTreeMap<ShardId, Renamer>,
    mut lockers: BTreeMap<ShardId, OwnSession>,
) -> Result<(), Failure> {
    let mut tasks = Vec::new();
    for shard in known.shards() {
        let (Some(sql), Some(mut renamer)) = (statement(known, shard, direction), renamers.remove(&shard)) else {
            continue;
        };
        let (sharding, mut locker) = (sharding.clone(), lockers.remove(&shard));
        let (known, drops) = (known.clone(), triggers::drops(known, shard, direction));
        let task = tokio::spawn(async move {
            if !drops.is_empty() {
                let lock = write_locks(&known, shard, direction);
                locker = Some(without_triggers(&sharding, shard, (&lock, &drops), locker).await?);
                crash::here("triggers-dropped").await;
            }
            let thread = renamer.thread;
            let renamed = in_turn(&sharding, shard, (&mut renamer.session, thread), &sql, locker).await;
            settle(&sharding, shard, &known, renamed).await?;
            crash::here("triggers-missing").await;
            triggers::ensure(&sharding, &known, shard, direction).await
        });
        tasks.push((shard, task));
    }
    let mut failed = None;
    for (shard, task) in tasks {
        let ended = |_| Err(Failure::weir(codes::ER_SERVER_SHUTDOWN, "Weir is ending"));
        match task.await.unwrap_or_else(ended) {
            Ok(()) => crash::here("half-renamed").await,
            Err(failure) => {
                let is_done = is_done_for_sure(sharding, known, shard, direction).await;
                if !is_done || triggers::ensure(sharding, known, shard, direction).await.is_err() {
                    failed = failed.or(Some(failure));
                }
            }
        }
    }
    failed.map_or(Ok(()), Err)
}

/// Runs a statement that waits for tables which others have locked: they are unlocked when it stands in the line, so that nobody comes before
/// it.
async fn in_turn(
    sharding: &Sharding,
    shard: ShardId,
    (session, thread): (&mut OwnSession, u64),
    sql: &str,
    locker: Option<OwnSession>,
) -> Result<(), Failure> {
    let mut run = std::pin::pin!(session.run_long(sql));
    let Some(mut locker) = locker else { return run.await.map(drop) };
    let mut in_line = std::pin::pin!(wait_in_line(sharding, shard, thread));
    tokio::select! {
        biased;
        done = &mut run => return done.map(drop),
        () = &mut in_line => {}
    }
    // If it fails, the lock ends with the connection.
    let unlock = async { drop(locker.run("UNLOCK TABLES").await) };
    let (done, ()) = futures_util::future::join(&mut run, unlock).await;
    done.map(drop)
}

/// What locks the tables of a shard that get out of use against everybody.
fn write_locks(known: &Move, shard: ShardId, direction: Direction) -> String {
    let before = |moved: &&MovedTable| match direction {
        Direction::Forward => moved.from_shards.contains(&shard),
        Direction::Back => moved.to_shards.contains(&shard),
    };
    let table = |moved: &MovedTable| {
        format!("{}.{} WRITE", name(&moved.object.database), name(moved.object.name.as_deref().unwrap_or_default()))
    };
    let tables: Vec<String> = known.tables.iter().filter(before).map(table).collect();
    format!("LOCK TABLES {}", tables.join(", "))
}

/// Drops the triggers of the tables that get out of use. Nobody writes to these before they have other names: who has locked them is relieved
/// by the connection that is returned.
async fn without_triggers(
    sharding: &Sharding,
    shard: ShardId,
    (lock, drops): (&str, &[String]),
    locker: Option<OwnSession>,
) -> Result<OwnSession, Failure> {
    let Renamer { mut session, thread } = Renamer::new(sharding, shard).await?;
    in_turn(sharding, shard, (&mut session, thread), lock, locker).await?;
    for sql in drops {
        session.run(sql).await?;
    }
    Ok(session)
}

/// The same, for as long as it takes to know it: to take the names of others back, or not, would be wrong where it is not known.
async fn is_done_for_sure(sharding: &Sharding, known: &Move, shard: ShardId, direction: Direction) -> bool {
    loop {
        match is_done(sharding, known, shard, direction).await {
            Ok(done) => return done,
            Err(failure) => {
                tracing::warn!(id = known.id, shard = shard.0, %failure, "a cutover waits for a shard to tell how far it is");
                tokio::time::sleep(PAUSE * 50).await;
            }
        }
    }
}

/// After an answer that may have been lost: the statement has ended.
async fn settle<T>(
    sharding: &Sharding,
    shard: ShardId,
    known: &Move,
    renamed: Result<T, Failure>,
) -> Result<(), Failure> {
    match renamed {
        Ok(_) => Ok(()),
        Err(failure) if failure.code == codes::CR_SERVER_LOST => {
            // By what it does, not by its number: a server that has started again gives the numbers anew.
            while wait_for_others(sharding, known, shard).await.is_err() {
                tokio::time::sleep(PAUSE * 10).await;
            }
            Err(failure)
        }
        Err(failure) => Err(failure),
    }
}

/// Waits until a thread waits for a lock, within a bound.
async fn wait_in_line(sharding: &Sharding, shard: ShardId, thread: u64) {
    let begun = Instant::now();
    while begun.elapsed() < IN_LINE {
        if let Ok(Some(state)) = state_of(sharding, shard, thread).await
            && state.contains("lock")
        {
            return;
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// What a thread of a server does. None: there is no such thread.
async fn state_of(sharding: &Sharding, shard: ShardId, thread: u64) -> Result<Option<String>, Failure> {
    let reply = sharding.own.run(shard, "SHOW FULL PROCESSLIST").await?;
    Ok(reply.rows.iter().find(|row| number(row.first()) == Some(thread)).map(|row| text(row.get(6))))
}

/// Waits until no connection that was lost changes names for this move, or triggers.
///
/// # Errors
/// The server's.
pub(crate) async fn wait_for_others(sharding: &Sharding, known: &Move, shard: ShardId) -> Result<(), Failure> {
    // As it stands in the statement: that of move 1 is no part of that of move 12.
    let schema = name(&known.new_schema());
    let triggers: Vec<String> =
        known.tables.iter().flat_map(|moved| &moved.triggers).map(|trigger| name(&trigger.name)).collect();
    let is_ours = |info: String| {
        let of_trigger = info.starts_with("DROP TRIGGER") || info.starts_with("CREATE ") && info.contains(" TRIGGER ");
        info.starts_with("RENAME TABLE") && info.contains(&schema)
            || of_trigger && triggers.iter().any(|trigger| info.contains(trigger))
    };
    loop {
        let reply = sharding.own.run(shard, "SHOW FULL PROCESSLIST").await?;
        if !reply.rows.iter().any(|row| is_ours(text(row.get(7)))) {
            return Ok(());
        }
        tokio::time::sleep(PAUSE * 10).await;
    }
}

/// Changes the names on one shard, without anybody's locks.
///
/// # Errors
/// The server's.
pub(crate) async fn on_one(
    sharding: &Arc<Sharding>,
    known: &Move,
    shard: ShardId,
    direction: Direction,
) -> Result<(), Failure> {
    if !is_done(sharding, known, shard, direction).await?
        && let Some(sql) = statement(known, shard, direction)
    {
        let mut renamer = Renamer::new(sharding, shard).await?;
        for drop in triggers::drops(known, shard, direction) {
            renamer.session.run(&drop).await?;
        }
        let renamed = renamer.session.run_long(&sql).await;
        settle(sharding, shard, known, renamed).await?;
    }
    triggers::ensure(sharding, known, shard, direction).await
}

#[cfg(test)]
mod tests {
    use weir_catalog::{MovePhase, Object, Placed, Placement};

    use super::*;

    fn moved(name: &str, from: &[u16], to: &[u16]) -> MovedTable {
        let shards = |of: &[u16]| of.iter().map(|shard| ShardId(*shard)).collect();
        let placed = Placed::new(Placement::Global, Vec::new(), "global");
        MovedTable {
            object: Object::within("shop", name),
            from: placed.clone(),
            from_shards: shards(from),
            to: placed,
            to_shards: shards(to),
            triggers: Vec::new(),
        }
    }

    #[test]
    fn each_shard_gets_its_part() {
        let known = Move {
            id: 7,
            tables: vec![moved("a", &[0], &[0, 1]), moved("b", &[0], &[1])],
            phase: MovePhase::Rename,
            paused: false,
            automatic: true,
            cut_over_at: None,
            awaited: false,
            throttle: 0,
            error: None,
            undo: false,
            begun: 0,
            by: String::new(),
            layout: None,
        };
        let text = |shard, direction| statement(&known, ShardId(shard), direction);
        assert_eq!(
            text(0, Direction::Forward).as_deref(),
            Some(
                "RENAME TABLE `shop`.`a` TO `weir_old_7`.`a`, `shop`.`b` TO `weir_old_7`.`b`, `weir_move_7`.`a` TO `shop`.`a`"
            )
        );
        assert_eq!(
            text(1, Direction::Forward).as_deref(),
            Some("RENAME TABLE `weir_move_7`.`a` TO `shop`.`a`, `weir_move_7`.`b` TO `shop`.`b`")
        );
        assert_eq!(
            text(1, Direction::Back).as_deref(),
            Some("RENAME TABLE `shop`.`a` TO `weir_move_7`.`a`, `shop`.`b` TO `weir_move_7`.`b`")
        );
        assert_eq!(text(2, Direction::Forward), None);
    }
}
