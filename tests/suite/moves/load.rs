//! A load that never pauses, while its tables move: no error, no row lost or doubled, no sum wrong.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use libtest_mimic::Failed;
use mysql::prelude::Queryable;
use weir_local::Flavor;

use super::{BOUND, Shards, all, latest, placement, reaches};
use crate::Collector;
use crate::driver::{expect_equal, value};
use crate::lab::{Lab, eventually};

const ACCOUNTS: u64 = 40;
const BALANCE: u64 = 1_000;
const WRITERS: u64 = 3;

pub(super) fn collect(tests: &mut Collector) {
    tests.add_for_weir("moves::a_load_that_never_pauses_sees_no_error", unpaused);
}

/// What the clients share.
#[derive(Default)]
pub(super) struct World {
    stop: AtomicBool,
    done: AtomicU64,
    deadlocks: AtomicU64,
    /// The longest statement, in microseconds.
    longest: AtomicU64,
    /// Values of AUTO_INCREMENT that were acknowledged.
    given: Mutex<Vec<u64>>,
    errors: Mutex<Vec<String>>,
}

impl World {
    /// Waits until the clients have gone on for a while.
    pub(super) fn go_on(&self) -> Result<(), Failed> {
        let before = self.done.load(Ordering::Relaxed);
        eventually(BOUND, "the clients go on", || self.done.load(Ordering::Relaxed) > before + 200)
    }

    /// Does something over and over, and notes its errors.
    fn repeat(&self, what: &str, mut step: impl FnMut(u64) -> Result<(), Failed>) {
        let mut turn = 0;
        while !self.stop.load(Ordering::Relaxed) {
            let begun = Instant::now();
            match step(turn) {
                Ok(()) => {}
                // Of two transactions that change a GLOBAL table on both shards in different orders one ends so, also without a move.
                Err(failed) if failed.message().is_some_and(|text| text.contains("ERROR 1213")) => {
                    self.deadlocks.fetch_add(1, Ordering::Relaxed);
                }
                Err(failed) => {
                    let text = format!("{what}: {}", failed.message().unwrap_or_default());
                    self.errors.lock().expect("nobody panics").push(text);
                }
            }
            let took = u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX);
            self.longest.fetch_max(took, Ordering::Relaxed);
            self.done.fetch_add(1, Ordering::Relaxed);
            turn += 1;
        }
    }
}

/// Numbers that look random.
fn mixed(turn: u64, salt: u64) -> u64 {
    (turn.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(salt.wrapping_mul(1_442_695_040_888_963_407))) >> 33
}

fn transfers(shards: &Shards, world: &World, salt: u64) -> Result<(), Failed> {
    let mut session = shards.app()?;
    world.repeat("a transfer", |turn| {
        let (from, to) = (mixed(turn, salt) % ACCOUNTS, mixed(turn, salt + 77) % ACCOUNTS);
        let amount = 1 + mixed(turn, salt + 5) % 9;
        // In one order, so that no two wait for each other.
        let (first, second) = if from < to { ((from, -1), (to, 1)) } else { ((to, 1), (from, -1)) };
        let amount = i64::try_from(amount)?;
        session.query_drop("BEGIN")?;
        session.query_drop(format!(
            "UPDATE accounts SET balance = balance + {} WHERE id = {}",
            first.1 * amount,
            first.0
        ))?;
        session.query_drop(format!(
            "UPDATE accounts SET balance = balance + {} WHERE id = {}",
            second.1 * amount,
            second.0
        ))?;
        session.query_drop("COMMIT")?;
        Ok(())
    });
    Ok(())
}

fn inserts(shards: &Shards, world: &World) -> Result<(), Failed> {
    let mut session = shards.app()?;
    world.repeat("an insert", |turn| {
        if turn % 2 == 0 {
            session.exec_drop("INSERT INTO log (what) VALUES (?)", (turn,))?;
        } else {
            session.query_drop(format!("INSERT INTO log (what) VALUES ({turn})"))?;
        }
        let id = session.last_insert_id();
        world.given.lock().expect("nobody panics").push(id);
        Ok(())
    });
    Ok(())
}

fn touches(shards: &Shards, world: &World) -> Result<(), Failed> {
    let mut session = shards.app()?;
    world.repeat("a write by itself", |turn| {
        let id = mixed(turn, 3) % ACCOUNTS;
        session.exec_drop("UPDATE accounts SET touched = touched + 1 WHERE id = ?", (id,))?;
        session.query_drop(format!("UPDATE beside SET v = v + 1 WHERE id = {}", turn % 4))?;
        Ok(())
    });
    Ok(())
}

fn reads(shards: &Shards, world: &World) -> Result<(), Failed> {
    let mut session = shards.app()?;
    world.repeat("a read", |turn| {
        let id = mixed(turn, 9) % ACCOUNTS;
        let found: Option<i64> = match turn % 3 {
            0 => session.exec_first("SELECT balance FROM accounts WHERE id = ?", (id,))?,
            1 => session.query_first(format!("SELECT balance FROM accounts WHERE id = {id}"))?,
            _ => session.query_first("SELECT COUNT(*) FROM accounts")?,
        };
        match (turn % 3, found) {
            (0 | 1, Some(_)) => Ok(()),
            (2, Some(count)) if u64::try_from(count) == Ok(ACCOUNTS) => Ok(()),
            (_, other) => Err(format!("{other:?} was read").into()),
        }
    });
    Ok(())
}

fn unpaused(lab: &Lab, flavor: Flavor) -> Result<(), Failed> {
    loaded(&Shards::start(lab, flavor)?, ["SINGLE"; 3], there_and_back)
}

/// Clients that never pause, while something is done with their tables: accounts, log and beside, placed so.
pub(super) fn loaded(
    shards: &Shards,
    [accounts, log, beside]: [&str; 3],
    done: impl FnOnce(&mut mysql::Conn, &World) -> Result<(), Failed>,
) -> Result<(), Failed> {
    let session = &mut shards.app()?;
    all(
        session,
        &[
            &format!(
                "CREATE TABLE accounts (id INT PRIMARY KEY, balance BIGINT NOT NULL, touched BIGINT NOT NULL DEFAULT 0) {accounts}"
            ),
            &format!("CREATE TABLE log (id BIGINT AUTO_INCREMENT PRIMARY KEY, what BIGINT NOT NULL) {log}"),
            &format!("CREATE TABLE beside (id INT PRIMARY KEY, v BIGINT NOT NULL) {beside}"),
            "INSERT INTO beside VALUES (0, 0), (1, 0), (2, 0), (3, 0)",
        ],
    )?;
    let rows: Vec<String> = (0..ACCOUNTS).map(|id| format!("({id}, {BALANCE}, 0)")).collect();
    all(session, &[&format!("INSERT INTO accounts VALUES {}", rows.join(", "))])?;
    let world = World::default();
    let moved = std::thread::scope(|scope| {
        let mut clients = Vec::new();
        for salt in 0..WRITERS {
            let world = &world;
            clients.push(scope.spawn(move || transfers(shards, world, salt)));
        }
        clients.push(scope.spawn(|| inserts(shards, &world)));
        clients.push(scope.spawn(|| touches(shards, &world)));
        clients.push(scope.spawn(|| reads(shards, &world)));
        let moved = done(session, &world);
        world.stop.store(true, Ordering::Relaxed);
        for client in clients {
            client.join().map_err(|_| "a client panicked")??;
        }
        moved
    });
    let (done, longest) = (world.done.load(Ordering::Relaxed), world.longest.load(Ordering::Relaxed));
    let deadlocks = world.deadlocks.load(Ordering::Relaxed);
    println!("moves under {done} steps of clients, {deadlocks} deadlocks, the longest step of {} ms", longest / 1000);
    let errors = world.errors.into_inner().expect("nobody panics");
    if !errors.is_empty() {
        return Err(format!("{} errors, the first: {}", errors.len(), errors[0]).into());
    }
    moved?;
    let total = value(session, "SELECT SUM(balance) FROM accounts")?;
    expect_equal("no money is lost", total, (ACCOUNTS * BALANCE).to_string())?;
    let mut given = world.given.into_inner().expect("nobody panics");
    let count = given.len();
    given.sort_unstable();
    given.dedup();
    expect_equal("no value was given twice", given.len(), count)?;
    let mut there: Vec<u64> = session.query("SELECT id FROM log ORDER BY id")?;
    there.sort_unstable();
    expect_equal("each insert is there once", there == given, true)?;
    Ok(())
}

/// The moves, each under load.
fn there_and_back(session: &mut mysql::Conn, world: &World) -> Result<(), Failed> {
    for (clause, expected) in
        [("SHARD BY HASH(id)", "sharded"), ("GLOBAL", "global"), ("SINGLE ON SHARD 's2'", "single")]
    {
        world.go_on()?;
        all(session, &[&format!("WEIR MOVE TABLES accounts, log TO {clause}")])?;
        reaches(session, "reverse")?;
        for table in ["accounts", "log"] {
            expect_equal(table, placement(session, table)?, expected.to_owned())?;
        }
        world.go_on()?;
        if expected == "sharded" {
            let id = latest(session, "id")?;
            all(session, &[&format!("WEIR MOVE UNDO {id}")])?;
            reaches(session, "undone")?;
            world.go_on()?;
            all(session, &["ALTER TABLE accounts SHARD BY HASH(id)", "ALTER TABLE log SHARD BY HASH(id)"])?;
        }
    }
    world.go_on()
}
