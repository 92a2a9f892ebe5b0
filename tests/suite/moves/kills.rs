//! Weir dies at each step of a move, under load: the move goes on or is undone, and nothing is lost.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use libtest_mimic::Failed;
use mysql::prelude::Queryable;
use nix::sys::signal::Signal;
use weir_local::Flavor;

use super::{BOUND, DATABASE, Shards, all, latest, placement};
use crate::Collector;
use crate::driver::{connect, expect_equal, run, value};
use crate::lab::{APP, Lab, eventually};

pub(super) fn collect(tests: &mut Collector) {
    tests.add_for_weir("moves::weir_is_killed_at_each_step", each_step);
}

/// Where the process ends, and what the move is told before.
const POINTS: [(&str, &str); 11] = [
    ("begun", "forward"),
    ("made", "forward"),
    ("copied", "forward"),
    ("sealed", "forward"),
    ("recorded", "forward"),
    ("half-renamed", "forward"),
    ("renamed", "forward"),
    ("placed", "forward"),
    ("undoing", "UNDO"),
    ("finishing", "FINISH"),
    ("cancelling", "CANCEL"),
];

/// Writes rows, one after the other, whatever becomes of Weir. What was acknowledged is counted.
fn write(port: u16, from: u64, stop: &AtomicBool, acknowledged: &AtomicU64) {
    let mut id = from;
    let mut session = None;
    while !stop.load(Ordering::Relaxed) {
        let Some(open) = &mut session else {
            session = connect(port, APP, Some(DATABASE)).ok();
            std::thread::yield_now();
            continue;
        };
        match run(open, &format!("INSERT INTO t (id, v) VALUES ({id}, {id})")) {
            Ok(()) => {
                acknowledged.store(id, Ordering::Relaxed);
                id += 1;
            }
            // Whether it is there is not known: another one follows.
            Err(_) => {
                session = None;
                id += 1;
            }
        }
    }
}

fn each_step(lab: &Lab, flavor: Flavor) -> Result<(), Failed> {
    let mut shards = Shards::start(lab, flavor)?;
    all(&mut shards.app()?, &["CREATE TABLE t (id BIGINT PRIMARY KEY, v BIGINT NOT NULL) SINGLE"])?;
    let mut from = 0;
    for (turn, (point, order)) in POINTS.iter().enumerate() {
        let clause = if turn % 2 == 0 { "SHARD BY HASH(id)" } else { "SINGLE ON SHARD 's1'" };
        let place = if turn % 2 == 0 { "sharded" } else { "single" };
        let crash = format!("move-{point}");
        shards.weir.signal(Signal::SIGKILL)?;
        shards.weir.wait_end(BOUND)?;
        shards.weir.start_again(&[("WEIR_CRASH_AT", &crash)])?;
        let failed = |what: &str, error: String| format!("{point}: {what}: {error}");
        let (stop, acknowledged) = (AtomicBool::new(false), AtomicU64::new(from));
        let port = shards.weir.port;
        let outcome = std::thread::scope(|scope| {
            let writer = scope.spawn(|| write(port, from, &stop, &acknowledged));
            let outcome = killed_once(&mut shards, clause, order);
            stop.store(true, Ordering::Relaxed);
            writer.join().map_err(|_| "the writer panicked")?;
            outcome
        });
        outcome.map_err(|error| failed("the move", error.message().unwrap_or_default().to_owned()))?;
        let session = &mut shards.app()?;
        let last = acknowledged.load(Ordering::Relaxed);
        let sums = "SELECT CONCAT(COUNT(*), ' ', COUNT(DISTINCT id), ' ', MAX(id) >= (SELECT 0)) FROM t";
        let told = value(session, sums)?;
        let parts: Vec<&str> = told.split(' ').collect();
        expect_equal(&failed("no row twice", told.clone()), parts[0], parts[1])?;
        let there: Vec<u64> = session.query("SELECT id FROM t ORDER BY id")?;
        // Rows whose acknowledgement was lost may be there or not; the last one that was acknowledged must be.
        if last > from && !there.contains(&last) {
            return Err(failed("an acknowledged row", format!("{last} is not there")).into());
        }
        expect_equal(&failed("where it is", String::new()), placement(session, "t")?, place.to_owned())?;
        let differences: Vec<mysql::Row> = session.query("WEIR CATALOG CHECK")?;
        expect_equal(&failed("the catalog", String::new()), format!("{differences:?}"), "[]".to_owned())?;
        expect_equal(&failed("nothing is left", String::new()), shards.hidden()?, Vec::new())?;
        from = there.last().copied().unwrap_or(0) + 1000;
    }
    Ok(())
}

/// A move during which Weir dies once: it goes on afterwards, to its end.
fn killed_once(shards: &mut Shards, clause: &str, order: &str) -> Result<(), Failed> {
    let mut session = shards.app()?;
    // Weir may end before it can answer.
    let begun = session.query_drop(format!("WEIR MOVE TABLES t TO {clause}"));
    if order != "forward" {
        begun?;
        let wanted = if order == "CANCEL" { "copy" } else { "reverse" };
        if order == "CANCEL" {
            let id = latest(&mut session, "id")?;
            let _ = session.query_drop(format!("WEIR MOVE CANCEL {id}"));
        } else {
            super::reaches(&mut session, wanted)?;
            let id = latest(&mut session, "id")?;
            let _ = session.query_drop(format!("WEIR MOVE {order} {id}"));
        }
    }
    shards.weir.wait_end(Duration::from_secs(60))?;
    shards.weir.start_again(&[])?;
    eventually(BOUND, "Weir answers again", || shards.app().is_ok())?;
    let mut session = shards.app()?;
    let mut last = String::new();
    let goes_back = order == "UNDO";
    eventually(BOUND, "the move goes on", || {
        last = latest(&mut session, "phase").unwrap_or_default();
        [if goes_back { "undone" } else { "reverse" }, "undone", "finished", "cancelled"].contains(&last.as_str())
    })?;
    let rows: Vec<mysql::Row> = session.query("WEIR SHOW MOVES")?;
    if last == "undone" || last == "cancelled" || rows.is_empty() {
        // The next turn expects the other placement.
        all(&mut session, &[&format!("ALTER TABLE t {clause}")])?;
    }
    if latest(&mut session, "phase")? == "reverse" {
        let id = latest(&mut session, "id")?;
        all(&mut session, &[&format!("WEIR MOVE FINISH {id}")])?;
        super::reaches(&mut session, "finished")?;
    }
    Ok(())
}
