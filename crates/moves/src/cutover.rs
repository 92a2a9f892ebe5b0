//! The cutover: for a moment nobody uses the tables, what is left is applied, the names change, and the catalog says so.
//!
//! What must always hold: no statement runs on a table of the move between the last position that the engine reaches and the catalog's
//! version with the other placement. Whatever is in the way (an open transaction, a lock, a late engine) is waited for within a bound; then
//! all is as before, and it is tried again later.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use weir_backend::Position;
use weir_catalog::{Move, MovePhase, ShardId};
use weir_reshard::{Checkpoint, Handle, Trouble};
use weir_shards::own::{OwnSession, name, text};
use weir_shards::{Gate, Sharding, Stage};
use weir_wire::Failure;
use weir_wire::error::codes;

use crate::drive::{Broken, another_writer};
use crate::mover::{Mover, Running};
use crate::rename::{self, Renamer};
use crate::{Direction, checkpoints, crash, engine, moment, sequences, tables};

/// Between two looks at what is waited for.
pub(crate) const PAUSE: Duration = Duration::from_millis(2);
/// A transaction that has used the tables for so long is not waited for while others are held.
const LONG: Duration = Duration::from_millis(250);
/// How long transactions that have not used the tables may take before they are no longer waited for.
const SOFT: Duration = Duration::from_millis(200);
/// How long statements are held for those that use the tables.
const HOLD: Duration = Duration::from_millis(800);
/// How long the engine may take for what is left.
const LAST: Duration = Duration::from_secs(2);
/// How long all of that may take that comes before the record of the rename.
const READY: Duration = Duration::from_secs(4);
/// How long branches that were prepared before may take.
const BRANCHES: Duration = Duration::from_secs(1);

/// What came of an attempt.
pub(crate) enum Attempt {
    /// The other placement is in effect.
    Done,
    /// Not now: why, and whether others were held meanwhile. The engine goes on.
    NotNow(Box<Handle>, String, bool),
    /// Not now: why. The engine was stopped.
    Stopped(Failure),
    /// Nobody wants it any more: the record says something else. The engine was stopped.
    Withdrawn,
}

/// When it goes, nobody waits at the gate any more. It stays near: another attempt follows, or the mover opens it.
struct Closed<'a>(&'a Gate);

impl Drop for Closed<'_> {
    fn drop(&mut self) {
        self.0.turn_to(Stage::Near);
    }
}

/// Tries to cut over.
///
/// # Errors
/// What another attempt would not change; the engine was stopped.
pub(crate) async fn attempt(
    mover: &Arc<Mover>,
    running: &Running,
    known: &Move,
    handle: Handle,
    direction: Direction,
) -> Result<Attempt, Broken> {
    let _one_at_a_time = mover.cutting.lock().await;
    let sharding = &mover.sharding;
    let begun = Instant::now();
    mover.approach();
    let closed = Closed(&sharding.gate);
    running.says("waiting for transactions on the tables");
    if let Err(why) = nobody_takes_long(&sharding.gate).await {
        return Ok(Attempt::NotNow(Box::new(handle), why, false));
    }
    let prepared = prepare(sharding, known, direction).await;
    let (mut lockers, renamers) = match prepared {
        Ok(prepared) => prepared,
        Err(failure) => return not_now((sharding, known), handle, failure.into(), false).await,
    };
    let held = match hold(&sharding.gate).await {
        Ok(held) => held,
        Err(why) => return Ok(Attempt::NotNow(Box::new(handle), why, true)),
    };
    running.says("cutting over");
    let ready = async {
        lock(sharding, known, direction, &mut lockers).await?;
        if let Some(shard) = another_writer(sharding, &handle) {
            return Err(later(&format!("shard {} has another writer", shard.0)));
        }
        let last = handle.positions().await?;
        handle.catch_up(&last, LAST).await.map_err(|error| match error.trouble {
            Trouble::Late => later("the engine is behind"),
            _ => error.into(),
        })?;
        Ok(sequences::carry(sharding, known, direction).await?)
    };
    let ready = tokio::time::timeout(READY, ready).await.unwrap_or_else(|_| Err(later("a server is slow")));
    if let Err(broken) = ready {
        return not_now((sharding, known), handle, broken, true).await;
    }
    crash::here("sealed").await;
    let checkpoint = handle.stop().await;
    if let Err(failure) = checkpoints::keep(sharding, known, direction, &checkpoint).await {
        return Ok(Attempt::Stopped(failure));
    }
    let (phase, before) = match direction {
        Direction::Forward => (MovePhase::Rename, MovePhase::Follow),
        Direction::Back => (MovePhase::RenameBack, MovePhase::Reverse),
    };
    let recorded = mover.change_move(known.id, move |known| {
        if is_wanted(known, direction) {
            known.phase = phase;
        }
        Ok(())
    });
    if recorded.await?.move_by_id(known.id).is_none_or(|known| known.phase != phase) {
        return Ok(Attempt::Withdrawn);
    }
    // From here on the gate is opened only by what is recorded.
    std::mem::forget(closed);
    crash::here(if direction == Direction::Forward { "recorded" } else { "undoing" }).await;
    if let Err(failure) = rename::everywhere(sharding, known, direction, renamers, lockers).await {
        take_back(sharding, known, direction).await;
        mover.change_move(known.id, move |known| set(known, before)).await?;
        mover.settle_gate();
        return Ok(Attempt::Stopped(failure));
    }
    crash::here("renamed").await;
    conclude(mover, known, direction).await?;
    crash::here("placed").await;
    mover.settle_gate();
    tracing::info!(id = known.id, ?direction, held = ?held.elapsed(), took = ?begun.elapsed(), "a move has cut over");
    Ok(Attempt::Done)
}

fn later(why: &str) -> Broken {
    Broken::Again(Failure::weir(codes::ER_LOCK_WAIT_TIMEOUT, why))
}

/// What comes of an attempt that has failed before anything was renamed.
///
/// # Errors
/// What another attempt would not change; the engine was stopped.
async fn not_now(
    (sharding, known): (&Sharding, &Move),
    handle: Handle,
    broken: Broken,
    held: bool,
) -> Result<Attempt, Broken> {
    match broken {
        Broken::Again(failure) => Ok(Attempt::NotNow(Box::new(handle), failure.to_string(), held)),
        Broken::Stuck(failure) => {
            handle.stop().await;
            Err(Broken::Stuck(tables::with_grants(sharding, known, failure)))
        }
        Broken::Lost(_) => {
            handle.stop().await;
            Err(broken)
        }
    }
}

/// Whether the record still lets it cut over: a command may have changed it meanwhile.
fn is_wanted(known: &Move, direction: Direction) -> bool {
    let from = if direction == Direction::Forward { MovePhase::Follow } else { MovePhase::Reverse };
    known.phase == from && known.may_cut_over(moment::now())
}

fn set(known: &mut Move, phase: MovePhase) -> Result<(), Failure> {
    known.phase = phase;
    Ok(())
}

/// What is in effect once all shards have the other names: positions from where the way back begins, what replicas must have, the catalog.
///
/// # Errors
/// When a server can't be asked, or the catalog can't be stored: to be done again.
pub(crate) async fn conclude(mover: &Arc<Mover>, known: &Move, direction: Direction) -> Result<(), Failure> {
    let sharding = &mover.sharding;
    if direction == Direction::Forward {
        let plan = engine::plan(sharding, known, Direction::Back)?;
        let shards = engine::sources(known, Direction::Back);
        let positions = weir_reshard::positions(&sharding.own, &shards).await.map_err(Failure::from)?;
        let checkpoint = Checkpoint::following(&plan, &positions);
        checkpoints::keep(sharding, known, Direction::Back, &checkpoint).await?;
    }
    raise_floors(sharding, known).await?;
    let (id, forward) = (known.id, direction == Direction::Forward);
    let placed = mover.change(move |catalog| {
        catalog.place_moved(id, forward);
        if let Some(known) = catalog.move_by_id_mut(id) {
            known.phase = if forward { MovePhase::Reverse } else { MovePhase::CancelUndone };
            (known.awaited, known.undo, known.error, known.paused) = (false, false, None, false);
            known.cut_over_at = None;
        }
        Ok(())
    });
    placed.await.map(drop)
}

/// No replica answers with what it had before the names changed.
///
/// # Errors
/// When a writer does not tell its position.
pub(crate) async fn raise_floors(sharding: &Sharding, known: &Move) -> Result<(), Failure> {
    for shard in known.shards() {
        let group = sharding.group(shard);
        if group.may_split() {
            let position: Arc<Position> = sharding.own.position(shard).await?;
            group.raise_floor(&position);
        }
    }
    Ok(())
}

/// Connections are made before anybody is held.
async fn prepare(
    sharding: &Arc<Sharding>,
    known: &Move,
    direction: Direction,
) -> Result<(BTreeMap<ShardId, OwnSession>, BTreeMap<ShardId, Renamer>), Failure> {
    let (mut lockers, mut renamers) = (BTreeMap::new(), BTreeMap::new());
    for shard in leaving(known, direction) {
        let mut session = sharding.own.session(shard).await?;
        session.run("SET SESSION lock_wait_timeout = 1").await?;
        lockers.insert(shard, session);
    }
    for shard in known.shards() {
        renamers.insert(shard, Renamer::new(sharding, shard).await?);
    }
    Ok((lockers, renamers))
}

/// The shards whose tables get out of use.
fn leaving(known: &Move, direction: Direction) -> BTreeSet<ShardId> {
    let of = |moved: &weir_catalog::MovedTable| match direction {
        Direction::Forward => moved.from_shards.clone(),
        Direction::Back => moved.to_shards.clone(),
    };
    known.tables.iter().flat_map(of).collect()
}

/// Whoever takes long would have all others wait for nothing.
async fn nobody_takes_long(gate: &Gate) -> Result<(), String> {
    let mark = gate.mark();
    let begun = Instant::now();
    while gate.inside_before(mark) > 0 {
        if begun.elapsed() > LONG {
            return Err(open(gate.inside_before(mark)));
        }
        tokio::time::sleep(PAUSE).await;
    }
    Ok(())
}

/// Holds statements until nobody uses the tables. Returns since when.
async fn hold(gate: &Gate) -> Result<Instant, String> {
    let held = Instant::now();
    gate.turn_to(Stage::Holding);
    let mark = gate.mark();
    while gate.inside() > 0 || held.elapsed() < SOFT && gate.open_before(mark) > 0 {
        if held.elapsed() > HOLD {
            return Err(open(gate.inside()));
        }
        tokio::time::sleep(PAUSE).await;
    }
    gate.turn_to(Stage::Sealed);
    while gate.inside() > 0 {
        if held.elapsed() > HOLD + SOFT {
            return Err(open(gate.inside()));
        }
        tokio::time::sleep(PAUSE).await;
    }
    Ok(held)
}

fn open(count: usize) -> String {
    format!("waiting for {count} open transactions or statements that use the tables")
}

/// Locks the tables that leave against writes of whoever does not come through Weir, and waits for branches that were prepared before. The
/// engine still reads them: no WRITE lock.
async fn lock(
    sharding: &Sharding,
    known: &Move,
    direction: Direction,
    lockers: &mut BTreeMap<ShardId, OwnSession>,
) -> Result<(), Failure> {
    let locking = lockers.iter_mut().map(|(shard, session)| {
        let here = |moved: &&weir_catalog::MovedTable| match direction {
            Direction::Forward => moved.from_shards.contains(shard),
            Direction::Back => moved.to_shards.contains(shard),
        };
        let tables = known.tables.iter().filter(here).map(|moved| {
            let table = moved.object.name.as_deref().unwrap_or_default();
            format!("{}.{} READ", name(&moved.object.database), name(table))
        });
        let sql = format!("LOCK TABLES {}", tables.collect::<Vec<_>>().join(", "));
        async move { session.run(&sql).await }
    });
    futures_util::future::join_all(locking).await.into_iter().collect::<Result<Vec<_>, _>>()?;
    let branches = lockers.keys().map(|shard| branches_ended(sharding, *shard));
    futures_util::future::join_all(branches).await.into_iter().collect()
}

/// Waits until the branches that are prepared now have ended: their changes are not visible yet.
async fn branches_ended(sharding: &Sharding, shard: ShardId) -> Result<(), Failure> {
    let begun = Instant::now();
    let mut waited: Option<BTreeSet<String>> = None;
    loop {
        let reply = sharding.own.run(shard, "XA RECOVER").await?;
        let now: BTreeSet<String> = reply.rows.iter().map(|row| text(row.get(3))).collect();
        let left = match waited {
            None => now,
            Some(before) => before.intersection(&now).cloned().collect(),
        };
        if left.is_empty() {
            return Ok(());
        }
        if begun.elapsed() > BRANCHES {
            let message = format!("{} prepared branches of transactions have not ended", left.len());
            return Err(Failure::weir(codes::ER_UNKNOWN_ERROR, message));
        }
        waited = Some(left);
        tokio::time::sleep(PAUSE * 5).await;
    }
}

fn other(direction: Direction) -> Direction {
    match direction {
        Direction::Forward => Direction::Back,
        Direction::Back => Direction::Forward,
    }
}

/// Some shards have changed their names and others could not: those that have change them back, and all have their triggers again.
async fn take_back(sharding: &Arc<Sharding>, known: &Move, direction: Direction) {
    for shard in known.shards() {
        // Statements are held until it is done: there is nothing else to do.
        while let Err(failure) = rename::on_one(sharding, known, shard, other(direction)).await {
            tracing::error!(id = known.id, shard = shard.0, %failure, "a cutover can't be taken back yet");
            tokio::time::sleep(PAUSE * 250).await;
        }
    }
}

/// What the process before has left in the middle of a cutover: where no shard has changed its names, all is as before it; else the others
/// change them too.
///
/// # Errors
/// When a server can't be asked: to be done again. Statements are held until then.
pub(crate) async fn recover(mover: &Arc<Mover>, known: &Move, direction: Direction) -> Result<(), Failure> {
    let sharding = &mover.sharding;
    let _one_at_a_time = mover.cutting.lock().await;
    let mut done = Vec::new();
    for shard in known.shards() {
        rename::wait_for_others(sharding, known, shard).await?;
        if rename::is_done(sharding, known, shard, direction).await? {
            done.push(shard);
        }
    }
    if done.is_empty() {
        let before = if direction == Direction::Forward { MovePhase::Follow } else { MovePhase::Reverse };
        for shard in known.shards() {
            rename::on_one(sharding, known, shard, other(direction)).await?;
        }
        mover.change_move(known.id, move |known| set(known, before)).await?;
    } else {
        for shard in known.shards() {
            rename::on_one(sharding, known, shard, direction).await?;
        }
        // Next values of AUTO_INCREMENT were carried over before the record of the rename.
        conclude(mover, known, direction).await?;
    }
    mover.settle_gate();
    tracing::info!(id = known.id, ?direction, renamed = done.len(), "a cutover that was broken off has been ended");
    Ok(())
}
