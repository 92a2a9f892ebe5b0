//! The bounds on what a statement gathers, and that connections are used again.

use libtest_mimic::Failed;
use mysql::prelude::Queryable;
use nix::sys::signal::Signal;

use super::locks::row_of;
use super::{BOUND, JOIN, JOINED, LARGE, Settings, Shards, SharedCase, app};
use crate::driver::{expect_equal, expect_error, run, value};
use crate::lab::{Endpoint, eventually};

pub(super) const CASES: &[(&str, Settings, SharedCase)] = &[
    ("more_rows_than_the_bound_are_refused", &[("workbench.max_rows", "1000")], rows),
    ("more_bytes_than_the_bound_are_refused", &[("workbench.max_bytes", "\"64KiB\"")], bytes),
    ("bounds_are_applied_by_a_reload", &[("workbench.max_rows", "10")], reloaded),
    ("what_is_gathered_is_counted", &[], counted),
    ("connections_are_used_again", &[], again),
    ("sessions_gather_at_the_same_time", &[("pool.max_connections", "8")], together),
    ("transactions_that_gather_do_not_wait_for_each_other", &[("pool.max_connections", "8")], within_transactions),
];

fn rows(shards: &Shards, endpoint: &Endpoint) -> Result<(), Failed> {
    refused(shards, endpoint, "1000 rows (workbench.max_rows)")
}

fn bytes(shards: &Shards, endpoint: &Endpoint) -> Result<(), Failed> {
    refused(shards, endpoint, "65536 bytes (workbench.max_bytes)")
}

/// Reads, and writes that find their rows so: the session goes on, and its transaction.
fn refused(shards: &Shards, endpoint: &Endpoint, bound: &str) -> Result<(), Failed> {
    let mut session = app(endpoint)?;
    let statements = [
        LARGE,
        "DELETE o FROM orders o JOIN large l ON o.v <> l.k",
        "UPDATE orders SET v = 7 WHERE id IN (SELECT k FROM large)",
        "INSERT INTO few SELECT a.id + 1000, 1 FROM large a JOIN large b ON a.k = b.k",
        "SET @many = (SELECT COUNT(*) FROM large a JOIN large b ON a.k = b.k)",
    ];
    for within in [false, true] {
        if within {
            session.query_drop("BEGIN")?;
            session.query_drop("UPDATE people SET name = CONCAT(name, 'x')")?;
        }
        for statement in statements {
            let ended = run(&mut session, statement);
            expect_error(statement, &ended, 1038, "HY001")?;
            let message = format!("{ended:?}");
            let told = message.contains(bound) && message.contains("'t_bench.large'");
            expect_equal(&format!("{statement}: {message}"), told, true)?;
            expect_equal("the session goes on", value(&mut session, JOIN)?, JOINED.into())?;
        }
    }
    let changed = "SELECT COUNT(*) FROM people WHERE name LIKE '%x'";
    expect_equal("its transaction, too", value(&mut session, changed)?, "50".into())?;
    session.query_drop("ROLLBACK")?;
    expect_equal("rolled back", value(&mut session, changed)?, "0".into())?;
    let all = "SELECT COUNT(*) FROM orders WHERE v <> 7";
    expect_equal("nothing was changed", value(&mut session, all)?, "200".into())?;
    shards.clean(endpoint)
}

fn reloaded(_: &Shards, endpoint: &Endpoint) -> Result<(), Failed> {
    let mut session = app(endpoint)?;
    expect_error("before", &run(&mut session, JOIN), 1038, "HY001")?;
    let weir = endpoint.weir.as_ref().ok_or("no Weir")?;
    let text = std::fs::read_to_string(&weir.config)?.replace("max_rows = 10", "max_rows = 0");
    crate::weir::write_config(&weir.config, &text)?;
    weir.signal(Signal::SIGHUP)?;
    eventually(BOUND, "the bound is gone", || value(&mut session, JOIN).is_ok_and(|joined| joined == JOINED))
}

fn counted(_: &Shards, endpoint: &Endpoint) -> Result<(), Failed> {
    let weir = endpoint.weir.as_ref().ok_or("no Weir")?;
    let all = || -> Result<[u64; 3], Failed> {
        Ok([
            weir.counter("weir_workbench_statements")?,
            weir.counter("weir_workbench_rows")?,
            weir.counter("weir_workbench_bytes")?,
        ])
    };
    let before = all()?;
    let mut session = app(endpoint)?;
    run(&mut session, JOIN)?;
    run(&mut session, "SELECT COUNT(*) FROM orders")?;
    let after = all()?;
    expect_equal("statements", after[0] - before[0], 1)?;
    // 200 orders, 50 people.
    expect_equal("rows", after[1] - before[1], 250)?;
    expect_equal("bytes", after[2] > before[2], true)?;
    session.query_drop("UPDATE orders o JOIN people p ON o.person = p.id SET o.v = 0 WHERE p.id = 7")?;
    let written = all()?;
    expect_equal("a write", (written[0] - after[0], written[1] > after[1]), (1, true))
}

/// Connections that a server has taken so far.
fn taken(shards: &Shards) -> Result<u64, Failed> {
    let mut all = 0;
    for site in &shards.sites {
        let rows = site.server.query("SHOW GLOBAL STATUS LIKE 'Connections'")?;
        let count = rows.first().and_then(|row| row.get(1)?.clone()).ok_or("no count")?;
        all += count.parse::<u64>()?;
    }
    Ok(all)
}

fn again(shards: &Shards, endpoint: &Endpoint) -> Result<(), Failed> {
    let mut session = app(endpoint)?;
    // What the look at the connections would find: a table is there, and is gone with its session.
    let mut leaver = app(endpoint)?;
    leaver.query_drop("SET weir_shard = 's1'")?;
    leaver.query_drop("CREATE TEMPORARY TABLE `weir fragment 1` (id INT)")?;
    run(&mut leaver, super::TABLES[0])?;
    drop(leaver);
    let before = taken(shards)?;
    for nth in 0..150 {
        expect_equal("joined", value(&mut session, JOIN)?, JOINED.into())?;
        let prepared: Option<u64> = session.exec_first(format!("{JOIN} AND o.id >= ?"), (0,))?;
        expect_equal("prepared", prepared, Some(200))?;
        if nth % 10 == 0 {
            expect_error("an error", &run(&mut session, &format!("{JOIN} AND nothing = 1")), 1054, "42S22")?;
            let late = "SELECT (SELECT p.id FROM people p WHERE p.id <> o.person) FROM orders o";
            expect_error("an error of the query", &run(&mut session, late), 1242, "21000")?;
        }
    }
    shards.clean(endpoint)?;
    // Looks at the servers are connections, too: one for each question.
    let new = taken(shards)? - before;
    expect_equal(&format!("{new} new connections for 330 statements"), new < 40, true)
}

/// More sessions than connections: each statement has one to each shard and one to the workbench.
fn together(shards: &Shards, endpoint: &Endpoint) -> Result<(), Failed> {
    let one = |nth: usize| -> Result<(), Failed> {
        let mut session = app(endpoint)?;
        for _ in 0..20 {
            expect_equal("joined", value(&mut session, JOIN)?, JOINED.into())?;
            if nth.is_multiple_of(2) {
                session.query_drop("BEGIN")?;
                session.query_drop(format!("UPDATE few SET v = v WHERE id = {nth}"))?;
                expect_equal("in a transaction", value(&mut session, JOIN)?, JOINED.into())?;
                session.query_drop("COMMIT")?;
            }
        }
        Ok(())
    };
    at_once(10, &one)?;
    shards.clean(endpoint)
}

/// All that is on a shard are transactions that want another connection to it, or to others.
fn within_transactions(shards: &Shards, endpoint: &Endpoint) -> Result<(), Failed> {
    let first = row_of(&mut app(endpoint)?, "s1")?;
    let begins = [format!("SELECT v FROM few WHERE id = {first}"), "SELECT COUNT(*) FROM few".to_owned()];
    let one = |nth: usize| -> Result<(), Failed> {
        let mut session = app(endpoint)?;
        for _ in 0..3 {
            session.query_drop("BEGIN")?;
            session.query_drop(&begins[nth % 2])?;
            session.query_drop("DO SLEEP(0.2)")?;
            expect_equal("joined", value(&mut session, JOIN)?, JOINED.into())?;
            session.query_drop("COMMIT")?;
        }
        Ok(())
    };
    at_once(12, &one)?;
    shards.clean(endpoint)
}

/// Runs so many sessions at the same time.
fn at_once(sessions: usize, one: &(impl Fn(usize) -> Result<(), Failed> + Sync)) -> Result<(), Failed> {
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..sessions).map(|nth| scope.spawn(move || one(nth))).collect();
        all.into_iter().try_for_each(|session| session.join().map_err(|_| "a session panicked")?)
    })
}
