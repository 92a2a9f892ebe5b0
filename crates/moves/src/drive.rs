//! One move, from phase to phase.
//!
//! What must always hold: what is done follows from the record alone. An error that another attempt may get over is tried again; any other
//! pauses the move, with the error in its record.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use weir_catalog::{Move, MovePhase, ShardId};
use weir_reshard::{Checkpoint, Engine, Handle, LagOf, MoveError, Trouble, Verification, VerifySettings};
use weir_shards::Sharding;
use weir_wire::Failure;
use weir_wire::error::codes;

use crate::carry::{self, Sides};
use crate::cutover::{Attempt, attempt, raise_floors, recover};
use crate::mover::{Mover, Running};
use crate::{Direction, checkpoints, crash, engine, moment, sequences, tables};

/// Between two looks at the engine.
const LOOK: Duration = Duration::from_millis(250);
/// Between two checkpoints that are kept.
const KEEP: Duration = Duration::from_secs(1);
/// The first and the longest pause between two attempts.
const BACKOFF: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(20));

/// Copying waits while replicas are further behind.
const MOST_LAG: Duration = Duration::from_secs(3);

/// Why a phase has not come to its end.
pub(crate) enum Broken {
    /// It is tried again.
    Again(Failure),
    /// Somebody has to look at it.
    Stuck(Failure),
    /// What is missing can't be had any more: the copy has to begin anew, if it still can.
    Lost(Failure),
}

impl From<MoveError> for Broken {
    fn from(error: MoveError) -> Broken {
        let again = error.resumable || error.trouble == Trouble::Stopped;
        // A full disk needs somebody, although the engine could go on.
        let again = again && !matches!(error.trouble, Trouble::Full(_));
        match error.trouble {
            _ if again => Broken::Again(error.failure),
            Trouble::LogsPurged(_) => Broken::Lost(error.failure),
            _ => Broken::Stuck(error.failure),
        }
    }
}

impl From<Failure> for Broken {
    fn from(failure: Failure) -> Broken {
        // What a server says that is down, goes down, has just been replaced as the writer, or is busy with others.
        const LOST: [u16; 9] = [
            codes::CR_CONN_HOST_ERROR,
            codes::CR_SERVER_LOST,
            codes::ER_SERVER_SHUTDOWN,
            codes::ER_CONNECTION_KILLED,
            codes::ER_CON_COUNT_ERROR,
            codes::ER_LOCK_WAIT_TIMEOUT,
            codes::ER_LOCK_DEADLOCK,
            codes::ER_OPTION_PREVENTS_STATEMENT,
            codes::ER_READ_ONLY_MODE,
        ];
        if LOST.contains(&failure.code) { Broken::Again(failure) } else { Broken::Stuck(failure) }
    }
}

/// Does what the record of a move says, until the move has ended.
pub(crate) async fn drive(mover: &Arc<Mover>, id: u64, running: &Running) {
    let mut changes = mover.changes();
    let mut pause = BACKOFF.0;
    loop {
        changes.borrow_and_update();
        let catalog = mover.sharding.catalog_now();
        let Some(known) = catalog.move_by_id(id).filter(|known| !known.phase.has_ended()) else { return };
        if mover.is_stopping() {
            return;
        }
        if known.paused && known.error.is_some() && !known.phase.is_renaming() {
            running.says("paused by an error");
            if changes.changed().await.is_err() {
                return;
            }
            continue;
        }
        let stepped = step(mover, known, running).await;
        if let Ok(_turn) = mover.cutting.try_lock() {
            mover.settle_gate();
        }
        let renaming = mover.sharding.catalog().move_by_id(id).is_some_and(|known| known.phase.is_renaming());
        let stepped = match stepped {
            // It has to be ended, whatever is in the way.
            Err(Broken::Stuck(failure) | Broken::Lost(failure)) if renaming => Err(Broken::Again(failure)),
            stepped => stepped,
        };
        match stepped {
            Ok(()) => pause = BACKOFF.0,
            Err(Broken::Again(failure)) => {
                tracing::warn!(id, %failure, "a move is tried again");
                running.says(format!("trying again: {failure}"));
                let woken = tokio::time::timeout(pause, changes.changed());
                if let Ok(Err(_)) = woken.await {
                    return;
                }
                pause = (pause * 2).min(BACKOFF.1);
            }
            Err(broken @ (Broken::Stuck(_) | Broken::Lost(_))) => {
                let (failure, anew) = match broken {
                    Broken::Lost(failure) => (cannot_follow(known, failure), true),
                    Broken::Stuck(failure) | Broken::Again(failure) => (failure, false),
                };
                tracing::error!(id, %failure, "a move is paused");
                let (error, awaited) = (failure.to_string(), known.awaited);
                let noted = mover.change_move(id, move |known| {
                    known.error = Some(error);
                    match known.phase {
                        // A statement has failed, and takes back what it has begun.
                        MovePhase::Prepare | MovePhase::Copy | MovePhase::Follow if awaited => {
                            known.phase = MovePhase::Cancel;
                        }
                        // Its tables are made anew, with no checkpoint.
                        MovePhase::Copy | MovePhase::Follow if anew => {
                            (known.phase, known.paused) = (MovePhase::Prepare, true);
                        }
                        _ => known.paused = true,
                    }
                    Ok(())
                });
                if noted.await.is_err() {
                    tokio::time::sleep(BACKOFF.1).await;
                }
            }
        }
    }
}

/// Binary logs that are to be read are gone.
fn cannot_follow(known: &Move, failure: Failure) -> Failure {
    let id = known.id;
    let way_on = match known.phase {
        MovePhase::Reverse => format!(
            "The old tables can't follow the new ones any more, so that there is no way back: WEIR MOVE FINISH {id} drops them; another move \
             gives the tables another placement"
        ),
        _ => format!("WEIR MOVE RESUME {id} copies all rows anew; WEIR MOVE CANCEL {id} gives the move up"),
    };
    let message = format!(
        "The changes since the last checkpoint are no longer in the binary logs ({}). {way_on}",
        failure.message
    );
    Failure { message, ..failure }
}

async fn step(mover: &Arc<Mover>, known: &Move, running: &Running) -> Result<(), Broken> {
    let (sharding, id) = (&mover.sharding, known.id);
    match known.phase {
        MovePhase::Prepare => {
            running.says("making the new tables");
            crash::here("begun").await;
            tables::make(sharding, known).await?;
            crash::here("made").await;
            to_phase(mover, id, MovePhase::Prepare, MovePhase::Copy).await
        }
        MovePhase::Copy | MovePhase::Follow => follow(mover, known, running, Direction::Forward).await,
        MovePhase::Reverse => {
            carry::begin_events(sharding, &Sides::of(sharding, known)).await?;
            follow(mover, known, running, Direction::Back).await
        }
        MovePhase::Rename => Ok(recover(mover, known, Direction::Forward).await?),
        MovePhase::RenameBack => Ok(recover(mover, known, Direction::Back).await?),
        MovePhase::Finish => {
            running.says("dropping the old tables");
            crash::here("finishing").await;
            carry::take(sharding, known, Direction::Forward).await?;
            tables::drop_all(sharding, known).await?;
            sequences::forget(sharding, known, Direction::Forward).await?;
            to_phase(mover, id, MovePhase::Finish, MovePhase::Finished).await
        }
        MovePhase::Cancel => {
            running.says("dropping the new tables");
            crash::here("cancelling").await;
            carry::take(sharding, known, Direction::Back).await?;
            tables::drop_all(sharding, known).await?;
            to_phase(mover, id, MovePhase::Cancel, MovePhase::Cancelled).await
        }
        MovePhase::CancelUndone => {
            running.says("dropping the new tables");
            carry::take(sharding, known, Direction::Back).await?;
            tables::drop_all(sharding, known).await?;
            sequences::forget(sharding, known, Direction::Back).await?;
            to_phase(mover, id, MovePhase::CancelUndone, MovePhase::Undone).await
        }
        MovePhase::Finished | MovePhase::Cancelled | MovePhase::Undone => Ok(()),
    }
}

/// The next phase, unless somebody has said another one meanwhile.
async fn to_phase(mover: &Arc<Mover>, id: u64, from: MovePhase, to: MovePhase) -> Result<(), Broken> {
    mover
        .change_move(id, move |known| {
            if known.phase == from {
                known.phase = to;
            }
            Ok(())
        })
        .await?;
    Ok(())
}

/// Copies and follows, until the record says something else or the move has cut over.
async fn follow(mover: &Arc<Mover>, known: &Move, running: &Running, direction: Direction) -> Result<(), Broken> {
    let sharding = &mover.sharding;
    running.says("starting");
    if direction == Direction::Back {
        // A process that has just begun knows nothing of what replicas must have.
        raise_floors(sharding, known).await?;
    }
    let asked = first_checkpoint(mover, known, direction).await;
    let checkpoint = asked.map_err(|broken| match broken {
        Broken::Stuck(failure) => Broken::Stuck(tables::with_grants(sharding, known, failure)),
        broken => broken,
    })?;
    let plan = engine::plan(sharding, known, direction)?;
    heed(known, running);
    running.controls.set_lag(lag_of_replicas(sharding), MOST_LAG);
    let started = Engine::start(plan, Arc::new(sharding.own.clone()), Some(checkpoint), running.controls.clone()).await;
    let handle = started
        .map_err(|error| MoveError { failure: tables::with_grants(sharding, known, error.failure.clone()), ..error })?;
    let followed = watch(mover, known, running, handle, direction).await;
    running.seen.lock().unwrap_or_else(PoisonError::into_inner).progress = None;
    followed
}

/// The checkpoint to go on from. Before the first row is copied, one is kept: what is deleted while the engine is started again would be left
/// where its first run has copied it to.
async fn first_checkpoint(mover: &Mover, known: &Move, direction: Direction) -> Result<Checkpoint, Broken> {
    let sharding = &mover.sharding;
    if let Some(last) = checkpoints::last(sharding, known, direction).await? {
        return Ok(last);
    }
    let positions = weir_reshard::positions(&sharding.own, &engine::sources(known, direction)).await?;
    let first = Checkpoint::beginning(&positions);
    checkpoints::keep(sharding, known, direction, &first).await?;
    Ok(first)
}

/// How far the replicas of a shard that take reads are behind.
fn lag_of_replicas(sharding: &Arc<Sharding>) -> LagOf {
    let sharding = sharding.clone();
    Arc::new(move |shard| {
        let now = std::time::Instant::now();
        sharding.group(shard).with_view(|view| {
            let replicas = (0..view.members.len()).filter(|index| *index != view.writer && view.takes_reads(*index));
            replicas.filter_map(|index| view.age(index, now)).max()
        })
    })
}

/// What the record says of the engine's speed.
fn heed(known: &Move, running: &Running) {
    running.controls.set_rate(known.throttle);
    match known.paused {
        true => running.controls.pause(),
        false => running.controls.resume(),
    }
}

/// How far the engine's work has been seen to be.
struct Watched {
    copied: bool,
    verified: bool,
    kept: Instant,
    next: Instant,
    pause: Duration,
}

async fn watch(
    mover: &Arc<Mover>,
    known: &Move,
    running: &Running,
    mut handle: Handle,
    direction: Direction,
) -> Result<(), Broken> {
    let (id, phase) = (known.id, known.phase);
    let back = direction == Direction::Back;
    let now = Instant::now();
    let mut seen = Watched { copied: back, verified: back, kept: now, next: now, pause: BACKOFF.0 };
    let mut changes = mover.changes();
    loop {
        changes.borrow_and_update();
        let catalog = mover.sharding.catalog_now();
        let Some(record) = catalog.move_by_id(id) else { return Ok(()) };
        let forward = [MovePhase::Copy, MovePhase::Follow];
        let same = record.phase == phase || forward.contains(&record.phase) && forward.contains(&phase);
        if mover.is_stopping() || !same || record.paused && record.error.is_some() {
            let checkpoint = handle.stop().await;
            if !record.phase.has_ended() && record.phase != MovePhase::Cancel && record.phase != MovePhase::Finish {
                checkpoints::keep(&mover.sharding, record, direction, &checkpoint).await?;
            }
            return Ok(());
        }
        if let Some(shard) = another_writer(&mover.sharding, &handle) {
            // The engine would go on with the old one. What it has done since its last checkpoint is done again.
            drop(handle);
            let message = format!("Shard {} has another writer", shard.0);
            return Err(Broken::Again(Failure::weir(codes::CR_SERVER_LOST, message)));
        }
        heed(record, running);
        show(running, &handle, record, &seen, direction);
        let asked = running.compare.load(Ordering::Relaxed);
        if seen.copied && (!seen.verified && !record.paused || asked) {
            if let Some(found) = verify(mover, record, running, &handle, &mut changes).await? {
                if let Some(failure) = differs(&found) {
                    handle.stop().await;
                    return Err(Broken::Stuck(failure));
                }
                seen.verified = true;
            }
            continue;
        }
        let wanted = record.may_cut_over(moment::now());
        if wanted && seen.verified && Instant::now() >= seen.next && !mover.is_elsewhere() {
            match attempt(mover, running, record, handle, direction).await? {
                Attempt::Done | Attempt::Withdrawn => return Ok(()),
                Attempt::Stopped(why) => return Err(Broken::Again(why)),
                Attempt::NotNow(engine, why, held) => {
                    tracing::info!(id, why, held, "a cutover is tried again later");
                    handle = *engine;
                    running.says(format!("cutover again soon: {why}"));
                    // What has held nobody up may be tried again at once.
                    seen.next = Instant::now() + if held { seen.pause } else { BACKOFF.0 };
                    if held {
                        seen.pause = (seen.pause * 2).min(BACKOFF.1);
                    }
                }
            }
        }
        tokio::select! {
            error = handle.failed() => return Err(error.into()),
            copied = handle.wait_until_copied(), if !seen.copied => {
                copied?;
                seen.copied = true;
                all_copied(mover, record).await?;
            }
            // Cancel-safe: it says that there is something to look at.
            changed = changes.changed() => {
                if changed.is_err() {
                    return Ok(());
                }
            }
            () = tokio::time::sleep(LOOK) => {}
        }
        if seen.kept.elapsed() >= KEEP {
            seen.kept = Instant::now();
            checkpoints::keep(&mover.sharding, known, direction, &handle.checkpoint()).await?;
        }
    }
}

/// A shard of the engine's that is served by another server since the engine was started.
pub(crate) fn another_writer(sharding: &Sharding, handle: &Handle) -> Option<ShardId> {
    let mut servers = handle.servers().iter();
    servers.find(|(shard, server)| !Arc::ptr_eq(server, &sharding.group(**shard).writer())).map(|(shard, _)| *shard)
}

/// All rows are there: from now on it is noted who uses the tables, if they are to change their places by themselves.
async fn all_copied(mover: &Arc<Mover>, record: &Move) -> Result<(), Broken> {
    let will_follow = Move { phase: MovePhase::Follow, ..record.clone() };
    if let Ok(_turn) = mover.cutting.try_lock()
        && will_follow.may_cut_over(moment::now())
    {
        mover.approach();
    }
    crash::here("copied").await;
    to_phase(mover, record.id, MovePhase::Copy, MovePhase::Follow).await
}

/// Compares both sides, unless the record says something else meanwhile.
async fn verify(
    mover: &Mover,
    record: &Move,
    running: &Running,
    handle: &Handle,
    changes: &mut tokio::sync::watch::Receiver<u64>,
) -> Result<Option<Verification>, Broken> {
    running.says("comparing");
    let comparing = handle.verify(VerifySettings::default());
    let mut comparing = std::pin::pin!(comparing);
    loop {
        // Cancel-safe: what compares is polled on, and `changed` says that there is something to look at.
        tokio::select! {
            found = &mut comparing => {
                let found = found?;
                running.compare.store(false, Ordering::Relaxed);
                running.seen.lock().unwrap_or_else(PoisonError::into_inner).compared = Some(told(&found));
                return Ok(Some(found));
            }
            changed = changes.changed() => {
                let catalog = mover.sharding.catalog();
                let known = catalog.move_by_id(record.id);
                let same = known.is_some_and(|known| (known.phase, known.paused) == (record.phase, record.paused));
                if changed.is_err() || !same || mover.is_stopping() {
                    return Ok(None);
                }
            }
        }
    }
}

/// A comparison, in a few words.
fn told(found: &Verification) -> String {
    match found.differences.len() {
        0 => format!("{} rows are equal", found.rows),
        count => format!("{count}{} of {} rows differ", if found.more { " or more" } else { "" }, found.rows),
    }
}

/// What is said of a comparison that has found differences.
fn differs(found: &Verification) -> Option<Failure> {
    let first = found.differences.first()?;
    let count = found.differences.len();
    let more = if found.more { " or more" } else { "" };
    let message = format!(
        "{count}{more} rows differ between the old and the new tables, first {} with {} ({:?}): a unique key that the new placement enforces, or \
         a column that is not stored exactly, may be the reason. WEIR MOVE CANCEL gives the move up; WEIR MOVE RESUME compares again",
        first.table, first.key, first.kind
    );
    Some(Failure::weir(codes::ER_UNKNOWN_ERROR, message))
}

fn show(running: &Running, handle: &Handle, record: &Move, seen: &Watched, direction: Direction) {
    let mut shown = running.seen.lock().unwrap_or_else(PoisonError::into_inner);
    shown.progress = Some(handle.progress());
    let waits = Instant::now() < seen.next;
    shown.state = match (direction, seen.copied) {
        _ if record.paused => "paused".to_owned(),
        _ if waits => return,
        (Direction::Back, _) => "following back".to_owned(),
        (_, false) => "copying".to_owned(),
        (_, true) if !record.automatic => "following; WEIR MOVE CUTOVER lets it cut over".to_owned(),
        (_, true) => match record.cut_over_at.filter(|at| *at > moment::now()) {
            Some(at) => format!("following until {} UTC", moment::utc(at)),
            None => "following".to_owned(),
        },
    };
}
