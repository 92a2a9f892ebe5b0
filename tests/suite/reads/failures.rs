//! Servers of a group that lag, die, come back, or are replaced.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use libtest_mimic::Failed;
use mysql::prelude::Queryable;
use weir_local::{Flavor, replicate, wait_for_replica};

use super::PrivateCase;
use super::site::{BOUND, DATABASE, GroupSite, column_of, shown};
use crate::driver::{connect, expect_equal, expect_error, run, server_error, value};
use crate::lab::{APP, Endpoint, eventually};

type Case = (&'static str, &'static [(&'static str, &'static str)], PrivateCase);

/// After so many looks at the writer every other server was looked at.
const LOOKS: usize = 5;

pub(super) const CASES: &[Case] = &[
    ("a_replica_that_dies_costs_no_read_and_comes_back", WATCHFUL, dead_replica),
    ("a_replica_that_lags_leaves_the_rotation_and_comes_back", SHORT_OF_LAG, lagging_replica),
    ("a_replica_with_other_defaults_takes_no_reads", WATCHFUL, other_defaults),
    ("without_a_writer_reads_go_on_and_writes_wait", WATCHFUL, dead_writer),
    ("a_writer_replaced_by_hand_is_followed_without_an_error", WATCHFUL, replaced_writer),
    ("a_writer_that_takes_no_writes_for_a_while_is_waited_for", WATCHFUL, resting_writer),
    ("last_insert_id_survives_a_change_of_the_writer", WATCHFUL, insert_id_over_a_change),
    ("what_a_replica_has_shown_the_writer_shows_too", WATCHFUL, ahead_of_the_writer),
    ("set_writer_refuses_what_would_lose_writes", WATCHFUL, set_writer),
];

pub(super) const WATCHFUL: &[(&str, &str)] = &[
    ("pool.connect_timeout", "\"2s\""),
    ("monitor.timeout", "\"500ms\""),
    // No server hangs in these tests: a slow machine is not to look like that.
    ("monitor.hang_timeout", "\"20s\""),
    ("groups.position_interval", "\"50ms\""),
    ("groups.writer_wait", "\"20s\""),
    ("groups.failover", "\"manual\""),
];

/// The same where a replica is to lag. Elsewhere it does so on a slow machine alone.
const SHORT_OF_LAG: &[(&str, &str)] =
    &[WATCHFUL[0], WATCHFUL[1], WATCHFUL[2], WATCHFUL[3], WATCHFUL[4], WATCHFUL[5], ("groups.max_lag", "\"2s\"")];

fn read_only() -> Option<(u16, String)> {
    Some((1290, "HY000".to_owned()))
}

/// What clients do while a test works.
#[derive(Default)]
pub(super) struct Load {
    /// Statements done.
    count: AtomicU64,
    /// They pause, so that a replica, which applies with one thread, can catch up with them.
    gentle: AtomicBool,
}

/// Clients that read, or write, until they are told to stop: how often they did, and the first error of any.
pub(super) fn while_clients_work(
    endpoint: &Endpoint,
    database: &str,
    statements: &[&str],
    work: impl FnOnce(&Load) -> Result<(), Failed>,
) -> Result<(), Failed> {
    let (done, load) = (AtomicBool::new(false), Load::default());
    let one = |number: usize| {
        let mut client = connect(endpoint.port, APP, Some(database))?;
        while !done.load(Ordering::Relaxed) {
            for statement in statements {
                let statement = statement.replace("{c}", &(number + 1).to_string());
                let done = run(&mut client, &statement);
                // What was open when the writer was made read-only can't be committed: MySQL says so at the COMMIT.
                if statement == "COMMIT" && server_error(&done) == read_only() {
                    run(&mut client, "ROLLBACK")?;
                    continue;
                }
                done.map_err(|error| format!("{statement}: {error}"))?;
                load.count.fetch_add(1, Ordering::Relaxed);
            }
            if load.gentle.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(20));
            }
        }
        Ok::<(), Failed>(())
    };
    let one = &one;
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..6).map(|number| scope.spawn(move || one(number))).collect();
        let result = work(&load);
        done.store(true, Ordering::Relaxed);
        for client in clients {
            client.join().map_err(|_| "a client panicked")??;
        }
        result
    })
}

/// Waits until the clients have done `more` more.
pub(super) fn go_on(load: &Load, more: u64) -> Result<(), Failed> {
    let goal = load.count.load(Ordering::Relaxed) + more;
    eventually(BOUND, "the clients go on", || load.count.load(Ordering::Relaxed) >= goal)
}

fn dead_replica(site: &mut GroupSite, endpoint: &Endpoint) -> Result<(), Failed> {
    site.all_take_reads(endpoint)?;
    let reads = ["SELECT v FROM counters WHERE id = {c}", "SELECT COUNT(*) FROM counters"];
    while_clients_work(endpoint, DATABASE, &reads, |load| {
        for _ in 0..2 {
            go_on(load, 200)?;
            site.replicas[0].kill()?;
            go_on(load, 500)?;
            eventually(BOUND, "it takes no reads", || shown(endpoint, "replica1").is_ok_and(|reads| reads != "yes"))?;
            site.replicas[0].restart()?;
            eventually(BOUND, "it takes reads again", || {
                shown(endpoint, "replica1").is_ok_and(|reads| reads == "yes")
            })?;
        }
        go_on(load, 200)
    })
}

fn lagging_replica(site: &mut GroupSite, endpoint: &Endpoint) -> Result<(), Failed> {
    site.all_take_reads(endpoint)?;
    site.apply(0, false)?;
    let work = ["UPDATE counters SET v = v + 1 WHERE id = {c}", "SELECT v FROM counters WHERE id = {c}"];
    while_clients_work(endpoint, DATABASE, &work, |load| {
        eventually(BOUND, "it is out for its lag", || {
            shown(endpoint, "replica1").is_ok_and(|reads| reads.contains("behind"))
        })?;
        expect_equal("the other one", shown(endpoint, "replica2")?, "yes".into())?;
        go_on(load, 200)?;
        load.gentle.store(true, Ordering::Relaxed);
        site.apply(0, true)?;
        eventually(BOUND, "it has caught up", || shown(endpoint, "replica1").is_ok_and(|reads| reads == "yes"))?;
        go_on(load, 200)
    })
}

fn other_defaults(site: &mut GroupSite, endpoint: &Endpoint) -> Result<(), Failed> {
    site.all_take_reads(endpoint)?;
    let mode = site.replicas[0].query_value("SELECT @@GLOBAL.sql_mode")?.unwrap_or_default();
    site.replicas[0].execute("SET GLOBAL sql_mode = 'ANSI'")?;
    eventually(BOUND, "it is out for its defaults", || {
        shown(endpoint, "replica1")
            .is_ok_and(|reads| reads.contains("its sessions begin with sql_mode = 'REAL_AS_FLOAT,"))
    })?;
    expect_equal("the other one", shown(endpoint, "replica2")?, "yes".into())?;
    let mut client = connect(endpoint.port, APP, Some(DATABASE))?;
    expect_equal("a string", value(&mut client, "SELECT \"v\" FROM counters WHERE id = 1")?, "v".into())?;
    site.replicas[0].execute(&format!("SET GLOBAL sql_mode = '{mode}'"))?;
    eventually(BOUND, "it is back", || shown(endpoint, "replica1").is_ok_and(|reads| reads == "yes"))
}

fn dead_writer(site: &mut GroupSite, endpoint: &Endpoint) -> Result<(), Failed> {
    site.all_take_reads(endpoint)?;
    let mut client = connect(endpoint.port, APP, Some(DATABASE))?;
    client.query_drop("UPDATE counters SET v = 41 WHERE id = 1")?;
    site.catch_up()?;
    site.writer.server.kill()?;
    for _ in 0..50 {
        expect_equal("an old session's read", value(&mut client, "SELECT v FROM counters WHERE id = 1")?, "41".into())?;
    }
    eventually(BOUND, "the writer is seen to be down", || {
        column_of(endpoint, "writer", "health").is_ok_and(|health| health == "down")
    })?;
    let mut newcomer = connect(endpoint.port, APP, Some(DATABASE))?;
    expect_equal("a new session's read", value(&mut newcomer, "SELECT v FROM counters WHERE id = 1")?, "41".into())?;
    let prepared: Option<i64> = newcomer.exec_first("SELECT v FROM counters WHERE id = ?", (1,))?;
    expect_equal("a prepared read", prepared, Some(41))?;
    // A write waits; the writer is back within the bound.
    std::thread::scope(|scope| {
        let write = scope.spawn(|| run(&mut client, "UPDATE counters SET v = 42 WHERE id = 1"));
        let waits = eventually(BOUND, "the write waits", || {
            column_of_sessions(endpoint, "state").is_ok_and(|states| states.contains("Waiting for the writer"))
        });
        site.writer.server.restart()?;
        write.join().map_err(|_| "the writing client panicked")??;
        waits
    })?;
    expect_equal("what was written", value(&mut client, "SELECT v FROM counters WHERE id = 1")?, "42".into())?;
    // And one that waits in vain.
    site.writer.server.kill()?;
    let mut client = connect(endpoint.port, APP, Some(DATABASE))?;
    client.query_drop("DO SLEEP(0)").map_or_else(
        |error| expect_error("no writer", &Err::<(), _>(error), 2003, "HY000"),
        |()| Err("a statement of the writer's was answered without it".into()),
    )?;
    expect_equal("reads go on", value(&mut client, "SELECT v FROM counters WHERE id = 2")?, "0".into())
}

fn column_of_sessions(endpoint: &Endpoint, column: &str) -> Result<String, Failed> {
    let mut client = connect(endpoint.port, APP, None)?;
    let rows: Vec<mysql::Row> = client.query("WEIR SHOW SESSIONS")?;
    Ok(rows.iter().filter_map(|row| row.get::<String, _>(column)).collect::<Vec<_>>().join("\n"))
}

/// Has the old writer refuse writes, and another server take them once it has all.
fn promote(old: &weir_local::Server, new: &weir_local::Server) -> Result<(), Failed> {
    old.set_read_only(true)?;
    wait_for_replica(old, new, BOUND)?;
    let noun = if new.installation().flavor() == Flavor::MariaDb { "SLAVE" } else { "REPLICA" };
    new.execute(&format!("STOP {noun}"))?;
    new.set_read_only(false)?;
    Ok(())
}

/// As a server is that was elected and has not been told yet.
fn resting_writer(site: &mut GroupSite, endpoint: &Endpoint) -> Result<(), Failed> {
    site.all_take_reads(endpoint)?;
    let mut client = connect(endpoint.port, APP, Some(DATABASE))?;
    for statement in ["UPDATE counters SET v = v + 1 WHERE id = 1", "BEGIN"] {
        site.writer.server.set_read_only(true)?;
        std::thread::scope(|scope| {
            let write = scope.spawn(|| {
                run(&mut client, statement).and_then(|_| run(&mut client, "UPDATE counters SET v = v + 1 WHERE id = 1"))
            });
            let waits = eventually(BOUND, "the write waits", || {
                column_of_sessions(endpoint, "state").is_ok_and(|states| states.contains("Waiting for the writer"))
            });
            site.writer.server.set_read_only(false)?;
            write.join().map_err(|_| "the writing client panicked")??;
            waits
        })?;
    }
    client.query_drop("COMMIT")?;
    expect_equal("each once", value(&mut client, "SELECT v FROM counters WHERE id = 1")?, "3".into())
}

fn replaced_writer(site: &mut GroupSite, endpoint: &Endpoint) -> Result<(), Failed> {
    site.all_take_reads(endpoint)?;
    let work = [
        "UPDATE counters SET v = v + 1 WHERE id = {c}",
        "SELECT v FROM counters WHERE id = {c}",
        "BEGIN",
        "UPDATE counters SET v = v + 1 WHERE id = 1{c}",
        "COMMIT",
    ];
    let total = || format!("SELECT SUM(v) FROM {DATABASE}.counters");
    let mut written = 0;
    while_clients_work(endpoint, DATABASE, &work[..2], |load| {
        go_on(load, 200)?;
        // Seen by read_only.
        promote(&site.writer.server, &site.replicas[0])?;
        eventually(BOUND, "the new writer is seen", || {
            column_of(endpoint, "replica1", "role").is_ok_and(|role| role == "writer")
        })?;
        go_on(load, 200)?;
        replicate(&site.replicas[0], &site.writer.server)?;
        replicate(&site.replicas[0], &site.replicas[1])?;
        eventually(BOUND, "the old writer takes reads", || {
            shown(endpoint, "writer").is_ok_and(|reads| reads == "yes")
        })?;
        go_on(load, 200)?;
        written = load.count.load(Ordering::Relaxed) / 2;
        Ok(())
    })?;
    let sum: u64 = site.replicas[0].query_value(&total())?.unwrap_or_default().parse()?;
    expect_equal("no write was lost", sum >= written, true)?;
    // By hand, the other way round, with transactions whose first statement writes.
    while_clients_work(endpoint, DATABASE, &work, |load| {
        go_on(load, 200)?;
        site.replicas[0].set_read_only(true)?;
        wait_for_replica(&site.replicas[0], &site.writer.server, BOUND)?;
        // Only what is asked for on the new writer decides.
        let mut admin = connect(endpoint.port, APP, None)?;
        let early = run(&mut admin, "WEIR SET WRITER writer");
        expect_error("a server that is read-only", &early, 1235, "HY000")?;
        promote(&site.replicas[0], &site.writer.server)?;
        eventually(BOUND, "it is made the writer", || run(&mut admin, "WEIR SET WRITER = writer").is_ok())?;
        go_on(load, 200)
    })?;
    expect_equal("the writer", column_of(endpoint, "writer", "role")?, "writer".into())
}

fn set_writer(site: &mut GroupSite, endpoint: &Endpoint) -> Result<(), Failed> {
    site.all_take_reads(endpoint)?;
    let mut admin = connect(endpoint.port, APP, None)?;
    expect_error("an unknown server", &run(&mut admin, "WEIR SET WRITER nobody"), 1210, "HY000")?;
    expect_error("a read-only server", &run(&mut admin, "WEIR SET WRITER replica1"), 1235, "HY000")?;
    site.apply(0, false)?;
    admin.query_drop(format!("UPDATE {DATABASE}.counters SET v = 1 WHERE id = 5"))?;
    site.replicas[0].set_read_only(false)?;
    eventually(BOUND, "two that take writes are told apart", || {
        run(&mut admin, "WEIR SET WRITER replica1").is_err_and(|error| error.to_string().contains("takes writes"))
    })?;
    // Once the writer was asked after it and still took writes, nobody takes the other one for promoted. What told them apart asked the
    // other one itself: its own turn to be looked at comes between some of the writer's.
    for _ in 0..LOOKS {
        let told = Instant::now();
        eventually(BOUND, "the writer was asked again", || {
            // Taken before: else a slow answer makes an older look count.
            let since = told.elapsed().as_secs_f64();
            let age = column_of(endpoint, "writer", "lag_seconds").ok().and_then(|seconds| seconds.parse::<f64>().ok());
            age.is_some_and(|age| age < since)
        })?;
    }
    site.writer.server.set_read_only(true)?;
    eventually(BOUND, "what it lacks is seen", || {
        run(&mut admin, "WEIR SET WRITER replica1")
            .is_err_and(|error| error.to_string().contains("has not applied all"))
    })?;
    expect_equal("the writer stays", column_of(endpoint, "writer", "role")?, "writer".into())?;
    site.replicas[0].kill()?;
    eventually(BOUND, "a dead server is refused", || {
        run(&mut admin, "WEIR SET WRITER replica1").is_err_and(|error| error.to_string().contains("does not answer"))
    })
}

/// Semi-synchronous replication sends a transaction to the replicas before the writer itself has committed it: here the writer waits
/// for two acknowledgements and gets one.
/// From now on a commit on the writer waits for both replicas to have it. MySQL.
pub(super) fn acknowledge_twice(site: &GroupSite) -> Result<(), Failed> {
    let writer = &site.writer.server;
    writer.execute("INSTALL PLUGIN rpl_semi_sync_source SONAME 'semisync_source.so'")?;
    for replica in &site.replicas {
        replica.set_read_only(false)?;
        replica.execute("INSTALL PLUGIN rpl_semi_sync_replica SONAME 'semisync_replica.so'")?;
        replica.set_read_only(true)?;
        replica.execute("SET GLOBAL rpl_semi_sync_replica_enabled = ON")?;
        replica.execute("STOP REPLICA IO_THREAD")?;
        replica.execute("START REPLICA IO_THREAD")?;
    }
    writer.execute("SET GLOBAL rpl_semi_sync_source_wait_for_replica_count = 2")?;
    // Longer than the test takes: what ends the writer's wait is the second acknowledgement, whatever the machine's speed.
    writer.execute("SET GLOBAL rpl_semi_sync_source_timeout = 120000")?;
    writer.execute("SET GLOBAL rpl_semi_sync_source_enabled = ON")?;
    eventually(BOUND, "both replicas acknowledge", || {
        let clients = writer.query("SHOW STATUS LIKE 'Rpl_semi_sync_source_clients'");
        clients.is_ok_and(|rows| rows.first().and_then(|row| row.get(1)?.clone()).as_deref() == Some("2"))
    })
}

fn ahead_of_the_writer(site: &mut GroupSite, endpoint: &Endpoint) -> Result<(), Failed> {
    if site.flavor == Flavor::MariaDb {
        // Its writer can't be asked to wait: docs/reads.md.
        return Ok(());
    }
    site.all_take_reads(endpoint)?;
    acknowledge_twice(site)?;
    site.replicas[1].execute("STOP REPLICA IO_THREAD")?;
    let mut reader = connect(endpoint.port, APP, Some(DATABASE))?;
    let mut in_transaction = connect(endpoint.port, APP, Some(DATABASE))?;
    std::thread::scope(|scope| {
        let written = scope.spawn(|| {
            let mut client = connect(endpoint.port, APP, Some(DATABASE))?;
            Ok::<_, Failed>(client.query_drop("UPDATE counters SET v = 77 WHERE id = 7")?)
        });
        let read = "SELECT v FROM counters WHERE id = 7";
        let seen = |client: &mut mysql::Conn| {
            eventually(BOUND, "a replica shows it", || value(client, read).is_ok_and(|v| v == "77"))
        };
        seen(&mut reader)?;
        seen(&mut in_transaction)?;
        expect_equal(
            "the writer is still at it",
            site.writer.server.query_value(&format!("SELECT v FROM {DATABASE}.counters WHERE id = 7"))?,
            Some("0".to_owned()),
        )?;
        let replica = &site.replicas[1];
        let acknowledged = scope.spawn(move || {
            // The read is to have come meanwhile.
            std::thread::sleep(Duration::from_secs(1));
            replica.execute("START REPLICA IO_THREAD")
        });
        let there = value(&mut reader, "SELECT /*+ WEIR_PRIMARY */ v FROM counters WHERE id = 7")?;
        expect_equal("what the writer shows after that", there, "77".into())?;
        acknowledged.join().map_err(|_| "the replica's thread panicked")??;
        in_transaction.query_drop("BEGIN")?;
        expect_equal("in a transaction", value(&mut in_transaction, read)?, "77".into())?;
        in_transaction.query_drop("COMMIT")?;
        written.join().map_err(|_| "the writing client panicked")?
    })
}

fn insert_id_over_a_change(site: &mut GroupSite, endpoint: &Endpoint) -> Result<(), Failed> {
    site.all_take_reads(endpoint)?;
    let mut client = connect(endpoint.port, APP, Some(DATABASE))?;
    client.query_drop("INSERT INTO log (who) VALUES (1), (2), (3)")?;
    client.query_drop("INSERT INTO log (who) VALUES (4)")?;
    let id = client.last_insert_id();
    site.writer.server.set_read_only(true)?;
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| run(&mut client, "UPDATE counters SET v = LAST_INSERT_ID() WHERE id = 9"));
        promote(&site.writer.server, &site.replicas[0])?;
        waits.join().map_err(|_| "the client panicked")??;
        Ok::<(), Failed>(())
    })?;
    let sql = format!("SELECT v FROM {DATABASE}.counters WHERE id = 9");
    expect_equal("the id, on the new writer", site.replicas[0].query_value(&sql)?, Some(id.to_string()))?;
    // A text of several statements is told as it went, and run once.
    site.replicas[0].set_read_only(true)?;
    let mut client = connect(endpoint.port, APP, Some(DATABASE))?;
    let mut results = client.query_iter("SELECT 7; UPDATE counters SET v = 1 WHERE id = 8")?;
    let first: Vec<mysql::Result<mysql::Row>> = results.iter().into_iter().flatten().collect();
    expect_equal("the first result", first.len(), 1)?;
    drop(results);
    expect_equal("the session goes on", value(&mut client, "SELECT 8")?, "8".into())
}
