//! Servers die at each step of a move, under load: the move goes on when they are back, no answer is wrong, and nothing is lost.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use libtest_mimic::Failed;
use mysql::prelude::Queryable;
use mysql::{Conn, Row};
use weir_local::{Flavor, Server};

use super::{BOUND, DATABASE, Shards, all, latest, placement, reaches};
use crate::Collector;
use crate::driver::{connect, expect_equal, run, value};
use crate::lab::{APP, Lab, eventually};

pub(super) fn collect(tests: &mut Collector) {
    tests.add_for_weir("moves::a_server_is_killed_at_each_step", each_step);
}

/// Rows that were there before the load; theirs are the numbers below zero.
const OLD: usize = 3000;

/// Where a server dies. `copy` and `follow` are phases, the others points of the process.
/// `true`: that of the source.
const POINTS: [(&str, bool); 8] = [
    ("copy", true),
    ("copy", false),
    ("follow", true),
    ("sealed", true),
    ("recorded", false),
    ("half-renamed", true),
    ("half-renamed", false),
    ("renamed", false),
];

/// Holds moves up at points (see `crates/moves/src/crash.rs`).
pub(super) struct Holds(PathBuf);

impl Holds {
    /// Starts Weir anew, so that its moves can be held up.
    pub(super) fn start(lab: &Lab, shards: &mut Shards) -> Result<Holds, Failed> {
        let directory = lab.directory()?;
        shards.weir.start_again(&[("WEIR_HOLD_IN", &directory.to_string_lossy())])?;
        eventually(BOUND, "Weir answers again", || shards.app().is_ok())?;
        Ok(Holds(directory))
    }

    /// A move that comes to this point waits there.
    pub(super) fn at(&self, point: &str) -> Result<(), Failed> {
        Ok(std::fs::write(self.0.join(point), "")?)
    }

    /// Waits until one does.
    pub(super) fn reached(&self, point: &str) -> Result<(), Failed> {
        let reached = self.0.join(format!("{point}.reached"));
        eventually(BOUND, &format!("a move comes to {point}"), || reached.exists())
    }

    /// It goes on.
    pub(super) fn go_on(&self, point: &str) -> Result<(), Failed> {
        Ok(std::fs::remove_file(self.0.join(format!("{point}.reached")))?)
    }
}

/// What clients that write to `t` know of it.
#[derive(Default)]
pub(super) struct Ledger {
    next: AtomicU64,
    /// Rows whose insert was acknowledged, and whose delete was not begun.
    there: Mutex<BTreeSet<i64>>,
    /// Rows whose delete was acknowledged.
    gone: Mutex<BTreeSet<i64>>,
    /// The counter in row 0: increments that were begun, and those that were acknowledged.
    begun: AtomicU64,
    counted: AtomicU64,
    reads: AtomicU64,
    stop: AtomicBool,
    wrong: Mutex<Vec<String>>,
}

impl Ledger {
    /// Makes the table.
    pub(super) fn make(session: &mut Conn) -> Result<(), Failed> {
        all(
            session,
            &[
                "CREATE TABLE t (id BIGINT PRIMARY KEY, v BIGINT NOT NULL, pad CHAR(100) NOT NULL DEFAULT '') SINGLE ON SHARD 's1'",
                "INSERT INTO t (id, v) VALUES (0, 0)",
            ],
        )?;
        let numbers: Vec<String> = (1..=OLD).map(|number| format!("(-{number}, {number})")).collect();
        Ok(session.query_drop(format!("INSERT INTO t (id, v) VALUES {}", numbers.join(",")))?)
    }

    fn lock<T>(of: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
        of.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does something over and over, on a new connection after each error: while a server is dead, any error may be.
    fn repeat(&self, port: u16, mut step: impl FnMut(&mut Conn) -> mysql::Result<()>) {
        let mut session = None;
        while !self.stop.load(Ordering::Relaxed) {
            let Some(open) = &mut session else {
                session = strict(port).ok();
                std::thread::yield_now();
                continue;
            };
            if step(open).is_err() {
                session = None;
            }
        }
    }

    fn write(&self, session: &mut Conn) -> mysql::Result<()> {
        let id = self.next.fetch_add(1, Ordering::Relaxed).cast_signed() + 1;
        session.query_drop(format!("INSERT INTO t (id, v) VALUES ({id}, {id})"))?;
        Ledger::lock(&self.there).insert(id);
        self.begun.fetch_add(1, Ordering::SeqCst);
        session.query_drop("UPDATE t SET v = v + 1 WHERE id = 0")?;
        self.counted.fetch_add(1, Ordering::SeqCst);
        let oldest = {
            let mut there = Ledger::lock(&self.there);
            if there.len() > 100 { there.pop_first() } else { None }
        };
        if let Some(id) = oldest {
            session.query_drop(format!("DELETE FROM t WHERE id = {id}"))?;
            Ledger::lock(&self.gone).insert(id);
        }
        Ok(())
    }

    fn read(&self, session: &mut Conn) -> mysql::Result<()> {
        let (there, gone) = (Ledger::lock(&self.there).clone(), Ledger::lock(&self.gone).clone());
        let least = self.counted.load(Ordering::SeqCst);
        let rows: Vec<(i64, i64)> = session.query("SELECT id, v FROM t")?;
        let most = self.begun.load(Ordering::SeqCst);
        let found: BTreeSet<i64> = rows.iter().map(|row| row.0).collect();
        let counter = rows.iter().find(|row| row.0 == 0).map_or(-1, |row| row.1);
        let mut wrong = Ledger::lock(&self.wrong);
        if found.len() != rows.len() {
            wrong.push(format!("{} rows twice", rows.len() - found.len()));
        }
        if rows.iter().filter(|row| row.0 < 0 && row.1 == -row.0).count() != OLD {
            wrong.push(format!("not all old rows, of {} rows", rows.len()));
        }
        let still = Ledger::lock(&self.there);
        let missing: Vec<&i64> = there.iter().filter(|id| !found.contains(id) && still.contains(id)).collect();
        if !missing.is_empty() {
            wrong.push(format!("missing: {missing:?}"));
        }
        let back: Vec<&i64> = gone.intersection(&found).collect();
        if !back.is_empty() {
            wrong.push(format!("deleted rows: {back:?}"));
        }
        if !(least.cast_signed()..=most.cast_signed()).contains(&counter) {
            wrong.push(format!("the counter is {counter}, and {least} to {most} is right"));
        }
        self.reads.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }

    /// Runs `work` while clients write and read.
    pub(super) fn during<T>(&self, port: u16, work: impl FnOnce() -> Result<T, Failed>) -> Result<T, Failed> {
        self.stop.store(false, Ordering::Relaxed);
        std::thread::scope(|scope| {
            let clients = [
                scope.spawn(|| self.repeat(port, |session| self.write(session))),
                scope.spawn(|| self.repeat(port, |session| self.read(session))),
            ];
            let done = work();
            self.stop.store(true, Ordering::Relaxed);
            for client in clients {
                client.join().map_err(|_| "a client panicked")?;
            }
            done
        })
    }

    /// Waits until clients have written and read what was begun after this.
    pub(super) fn go_on(&self) -> Result<(), Failed> {
        let (counted, reads) = (self.counted.load(Ordering::SeqCst), self.reads.load(Ordering::SeqCst));
        eventually(BOUND, "the clients go on", || {
            self.counted.load(Ordering::SeqCst) > counted + 5 && self.reads.load(Ordering::SeqCst) > reads + 2
        })
    }

    /// Passes if no answer was wrong, and all is where it should be.
    pub(super) fn judge(&self, shards: &Shards, writers: &[&Server], place: &str) -> Result<(), Failed> {
        let session = &mut strict(shards.weir.port)?;
        self.read(session)?;
        expect_equal("wrong answers", Ledger::lock(&self.wrong).join("; "), String::new())?;
        expect_equal("where it is", placement(session, "t")?, place.to_owned())?;
        // A shard that was down gets its copy a moment later.
        eventually(BOUND, "the catalog is right", || {
            session.query::<Row, _>("WEIR CATALOG CHECK").is_ok_and(|differences| differences.is_empty())
        })?;
        expect_equal("nothing is left", Shards::hidden_on(writers)?, Vec::new())?;
        // No shard has a row that belongs to another one.
        let told: usize = value(session, "SELECT COUNT(*) FROM t")?.parse()?;
        let sql = format!("SELECT COUNT(*) FROM {DATABASE}.t");
        eventually(BOUND, "no shard has rows that belong to another", || {
            // A shard without rows has no table.
            let stored = writers.iter().map(|server| {
                let rows = server.query_value(&sql).ok().flatten();
                rows.and_then(|rows| rows.parse::<usize>().ok()).unwrap_or(0)
            });
            stored.sum::<usize>() == told
        })
    }
}

/// A client that no replica answers with what was before.
fn strict(port: u16) -> mysql::Result<Conn> {
    let mut session = connect(port, APP, Some(DATABASE))?;
    session.query_drop("SET weir_consistency = 'strong'")?;
    Ok(session)
}

/// Kills a shard's server.
pub(super) fn kill(shards: &mut Shards, victim: usize) -> Result<(), Failed> {
    Ok(shards.sites[victim].server.kill()?)
}

/// Starts it again.
pub(super) fn revive(shards: &mut Shards, victim: usize) -> Result<(), Failed> {
    shards.sites[victim].server.restart()?;
    shards.sites[victim].prime()
}

/// Finishes the latest move when it has cut over.
pub(super) fn finish(session: &mut Conn) -> Result<(), Failed> {
    reaches(session, "reverse")?;
    order(session, "FINISH")?;
    reaches(session, "finished")
}

/// Gives the latest move a command.
pub(super) fn order(session: &mut Conn, command: &str) -> Result<(), Failed> {
    let id = latest(session, "id")?;
    let (verb, rest) = command.split_once(' ').unwrap_or((command, ""));
    let sql = format!("WEIR MOVE {verb} {id} {rest}");
    run(session, sql.trim()).map_err(|error| format!("{sql}: {error}").into())
}

fn each_step(lab: &Lab, flavor: Flavor) -> Result<(), Failed> {
    let mut shards = Shards::start(lab, flavor)?;
    let holds = Holds::start(lab, &mut shards)?;
    Ledger::make(&mut shards.app()?)?;
    let (ledger, mut at) = (Ledger::default(), 0);
    for (point, is_source) in POINTS {
        let (source, target) = (at, 1 - at);
        let victim = if is_source { source } else { target };
        let port = shards.weir.port;
        let outcome = ledger
            .during(port, || killed_at(&mut shards, &holds, &ledger, point, victim, target))
            .and_then(|()| ledger.judge(&shards, &shards.servers(), "single"));
        let role = if is_source { "source" } else { "target" };
        outcome.map_err(|failed| {
            let log = shards.weir.log_tail();
            format!("{role}, {point}: {}\n{log}", failed.message().unwrap_or_default())
        })?;
        at = target;
    }
    Ok(())
}

/// A move during which a server dies once.
fn killed_at(
    shards: &mut Shards,
    holds: &Holds,
    ledger: &Ledger,
    point: &str,
    victim: usize,
    target: usize,
) -> Result<(), Failed> {
    let session = &mut shards.app()?;
    let held = match point {
        "copy" => "made",
        "follow" => "copied",
        point => point,
    };
    holds.at(held)?;
    all(session, &[&format!("WEIR MOVE TABLES t TO SINGLE ON SHARD 's{}'", target + 1)])?;
    holds.reached(held)?;
    match point {
        "copy" => {
            order(session, "THROTTLE ROWS 1000")?;
            holds.go_on(held)?;
            eventually(BOUND, "rows are copied", || latest(session, "rows").is_ok_and(|rows| rows != "0"))?;
            kill(shards, victim)?;
        }
        "follow" => {
            order(session, "PAUSE")?;
            holds.go_on(held)?;
            reaches(session, "follow")?;
            ledger.go_on()?;
            kill(shards, victim)?;
        }
        _ => {
            kill(shards, victim)?;
            holds.go_on(held)?;
        }
    }
    revive(shards, victim)?;
    match point {
        "copy" => order(session, "THROTTLE ROWS 0")?,
        "follow" => {
            ledger.go_on()?;
            order(session, "RESUME")?;
        }
        _ => {}
    }
    finish(session)?;
    ledger.go_on()
}
