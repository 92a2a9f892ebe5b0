//! A writer and replicas that follow it: Weir replaces the writer.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use libtest_mimic::Failed;
use mysql::prelude::Queryable;
use weir_local::{Flavor, Server, failover_grants};

use super::Case;
use super::open::Open;
use super::replay::{self, REPLAYING, STAYING};
use crate::driver::{connect, expect_equal, expect_error, run, server_error, value};
use crate::lab::{APP, Endpoint, MONITOR, eventually};
use crate::reads::{BOUND, DATABASE, GroupSite};

pub(crate) type Settings = &'static [(&'static str, &'static str)];

pub(super) const CASES: &[(&str, Settings, Case)] = &[
    ("a_dead_writer_is_replaced_and_comes_back_as_a_replica", AUTOMATIC, dead_writer),
    ("with_lossless_semi_sync_nothing_acknowledged_is_lost", AUTOMATIC, lossless),
    ("a_switchover_costs_no_client_an_error", AUTOMATIC, switchover),
    ("a_switchover_that_cannot_be_leaves_the_writer_as_it_was", AUTOMATIC, vain_switchover),
    ("what_would_be_lost_is_bounded_and_what_only_the_old_writer_has_is_named", BOUNDED, bounded_loss),
    ("without_automatic_failover_a_command_replaces_the_writer", MANUAL, by_command),
    ("a_server_that_has_written_itself_becomes_the_writer", MANUAL, former_writer),
    ("replay::transactions_go_on_when_their_writer_dies", REPLAYING, replay::continued),
    ("replay::transactions_go_on_when_their_writer_restarts", STAYING, replay::after_a_restart),
    ("replay::what_cannot_be_repeated_is_told_with_the_reason", REPLAYING, replay::not_continued),
    ("replay::what_was_ended_on_purpose_or_has_lasted_is_not_repeated", REPLAYING, replay::ended_on_purpose),
    ("replay::clients_have_no_error_when_the_writer_dies_under_load", REPLAYING, replay::under_load),
    ("replay::clients_have_no_error_when_the_writer_hangs", REPLAYING, replay::from_a_hanging_writer),
];

pub(crate) const AUTOMATIC: Settings = &[
    ("pool.connect_timeout", "\"2s\""),
    ("monitor.timeout", "\"500ms\""),
    ("monitor.hang_timeout", "\"1s\""),
    ("groups.position_interval", "\"50ms\""),
    ("groups.writer_wait", "\"40s\""),
    ("groups.failover_after", "\"300ms\""),
    ("groups.failover_interval", "\"0s\""),
];
const BOUNDED: Settings = &[
    ("monitor.timeout", "\"500ms\""),
    ("groups.position_interval", "\"50ms\""),
    ("groups.writer_wait", "\"40s\""),
    ("groups.failover_after", "\"300ms\""),
    ("groups.max_lost", "0"),
];
const MANUAL: Settings = &[
    ("monitor.timeout", "\"500ms\""),
    ("groups.position_interval", "\"50ms\""),
    ("groups.writer_wait", "\"40s\""),
    ("groups.failover", "\"manual\""),
];

/// Gives Weir's account what docs/groups.md says, on all servers.
pub(super) fn prepare(site: &GroupSite) -> Result<(), Failed> {
    let writer = &site.writer.server;
    writer.execute(&format!("GRANT {} TO '{}'@'%'", failover_grants(site.flavor), MONITOR.0))?;
    writer.execute(&format!("CREATE TABLE {DATABASE}.kept (id BIGINT PRIMARY KEY)"))?;
    site.catch_up()
}

/// A column of the row of `WEIR SHOW GROUPS` about a server; NULL is empty.
pub(super) fn of_server(endpoint: &Endpoint, server: &str, column: &str) -> Result<String, Failed> {
    let mut admin = connect(endpoint.port, APP, None)?;
    let rows: Vec<mysql::Row> = admin.query("WEIR SHOW GROUPS")?;
    let row = rows.iter().find(|row| row.get::<String, _>("server").as_deref() == Some(server));
    let row = row.ok_or_else(|| format!("there is no {server}"))?;
    Ok(row.get::<Option<String>, _>(column).flatten().unwrap_or_default())
}

/// The actions of `WEIR SHOW FAILOVERS`, the latest first, each with its outcome and what it has lost.
fn actions(endpoint: &Endpoint) -> Result<Vec<(String, String, String)>, Failed> {
    let mut admin = connect(endpoint.port, APP, None)?;
    let rows: Vec<mysql::Row> = admin.query("WEIR SHOW FAILOVERS")?;
    let word = |row: &mysql::Row, column: &str| row.get::<Option<String>, _>(column).flatten().unwrap_or_default();
    Ok(rows.iter().map(|row| (word(row, "action"), word(row, "outcome"), word(row, "lost"))).collect())
}

fn until_writer(endpoint: &Endpoint, server: &str) -> Result<(), Failed> {
    eventually(BOUND, &format!("{server} is the writer"), || {
        of_server(endpoint, server, "role").is_ok_and(|role| role == "writer")
    })
}

pub(super) fn until_state(endpoint: &Endpoint, server: &str, state: &str) -> Result<(), Failed> {
    eventually(BOUND, &format!("{server} is {state}"), || {
        of_server(endpoint, server, "state").is_ok_and(|is| is == state)
    })
}

/// The name of the present writer, and its server.
pub(super) fn writer<'a>(site: &'a GroupSite, endpoint: &Endpoint) -> Result<&'a Server, Failed> {
    for server in site.servers() {
        if of_server(endpoint, server.name(), "role")? == "writer" {
            return Ok(server);
        }
    }
    Err("there is no writer".into())
}

/// What clients that insert have done.
#[derive(Default)]
pub(super) struct Ledger {
    /// Errors, beside 2013, that tell as little of an insert's fate.
    vague: &'static [u16],
    next: AtomicU64,
    /// Inserts that were acknowledged.
    kept: Mutex<Vec<u64>>,
    /// Inserts whose fate the client was told to be unknown.
    unknown: AtomicU64,
    stop: AtomicBool,
}

impl Ledger {
    fn count(&self) -> usize {
        self.kept.lock().map_or(0, |kept| kept.len())
    }

    /// Inserts, one after another, until told to stop. Only the loss of the server in the middle of a statement is an error that may be.
    fn insert(&self, endpoint: &Endpoint) -> Result<(), Failed> {
        let mut client = connect(endpoint.port, APP, Some(DATABASE))?;
        while !self.stop.load(Ordering::Relaxed) {
            let id = self.next.fetch_add(1, Ordering::Relaxed);
            match client.query_drop(format!("INSERT INTO kept VALUES ({id})")) {
                Ok(()) => self.kept.lock().map_err(|_| "a client panicked")?.push(id),
                Err(error) => {
                    let what = format!("an insert failed: {error}");
                    if server_error(&Err::<(), _>(error))
                        .is_none_or(|(code, _)| code != 2013 && !self.vague.contains(&code))
                    {
                        return Err(what.into());
                    }
                    self.unknown.fetch_add(1, Ordering::Relaxed);
                    let again = connect(endpoint.port, APP, Some(DATABASE));
                    client = again.map_err(|error| format!("a login failed: {error}"))?;
                }
            }
        }
        Ok(())
    }

    /// Inserts of which nobody knows whether they were done.
    pub(super) fn unknown(&self) -> u64 {
        self.unknown.load(Ordering::Relaxed)
    }

    /// Waits for so many more.
    pub(super) fn go_on(&self, more: usize) -> Result<(), Failed> {
        let goal = self.count() + more;
        eventually(BOUND, "inserts go on", || self.count() >= goal)
    }
}

/// Runs `work` while clients insert. Returns what they have done.
pub(super) fn while_inserting(
    endpoint: &Endpoint,
    work: impl FnOnce(&Ledger) -> Result<(), Failed>,
) -> Result<Ledger, Failed> {
    while_inserting_despite(&[], endpoint, work)
}

/// The same where clients may also get these errors.
pub(super) fn while_inserting_despite(
    vague: &'static [u16],
    endpoint: &Endpoint,
    work: impl FnOnce(&Ledger) -> Result<(), Failed>,
) -> Result<Ledger, Failed> {
    let ledger = Ledger { vague, ..Ledger::default() };
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..4).map(|_| scope.spawn(|| ledger.insert(endpoint))).collect();
        let result = ledger.go_on(20).and_then(|()| work(&ledger));
        ledger.stop.store(true, Ordering::Relaxed);
        for client in clients {
            client.join().map_err(|_| "a client panicked")??;
        }
        result
    })?;
    Ok(ledger)
}

/// Passes if a server has what was acknowledged, and beyond that only what is of unknown fate.
pub(super) fn expect_kept(server: &Server, ledger: &Ledger) -> Result<(), Failed> {
    let rows = server.query(&format!("SELECT id FROM {DATABASE}.kept"))?;
    let there: std::collections::HashSet<u64> =
        rows.into_iter().flatten().flatten().filter_map(|id| id.parse().ok()).collect();
    let kept = ledger.kept.lock().map_err(|_| "a client panicked")?;
    let missing: Vec<_> = kept.iter().filter(|id| !there.contains(id)).collect();
    expect_equal("acknowledged inserts that are missing", missing.len(), 0)?;
    let more = there.len() - kept.len();
    expect_equal("inserts beyond those of unknown fate", more as u64 <= ledger.unknown.load(Ordering::Relaxed), true)
}

fn dead_writer(site: &mut GroupSite, endpoint: &Endpoint) -> Result<(), Failed> {
    site.all_take_reads(endpoint)?;
    expect_equal("the kind", of_server(endpoint, "writer", "kind")?, "async".into())?;
    let mut idle = connect(endpoint.port, APP, Some(DATABASE))?;
    idle.query_drop("SET @kept = 'across'")?;
    idle.query_drop("SET SESSION sort_buffer_size = 262144")?;
    let prepared = idle.prep("SELECT v + ? FROM counters WHERE id = 3")?;
    let _first: Option<i64> = idle.exec_first(&prepared, (1,))?;
    let open = Open::begin(endpoint)?;
    while_inserting(endpoint, |ledger| {
        site.writer.server.kill()?;
        // The inserts can only go on elsewhere.
        ledger.go_on(50)
    })?;
    open.expect_lost()?;
    let new = writer(site, endpoint)?.name().to_owned();
    expect_equal("a replica took its place", ["replica1", "replica2"].contains(&new.as_str()), true)?;
    // What a session has is kept, and an idle one has noticed nothing.
    expect_equal("a variable", value(&mut idle, "SELECT @kept")?, "across".into())?;
    expect_equal("a setting", value(&mut idle, "SELECT @@sort_buffer_size")?, "262144".into())?;
    let sum: Option<i64> =
        idle.exec_first(&prepared, (40,)).map_err(|error| format!("an execution failed: {error}"))?;
    expect_equal("a prepared statement", sum, Some(40))?;
    run(&mut idle, "UPDATE counters SET v = 7 WHERE id = 3").map_err(|error| format!("its write failed: {error}"))?;
    expect_equal("its own write", value(&mut idle, "SELECT v FROM counters WHERE id = 3")?, "7".into())?;
    // It ends when the other replica follows, after the first writes.
    eventually(BOUND, "the failover is on record", || {
        let last = actions(endpoint).ok().and_then(|actions| actions.into_iter().last());
        last.is_some_and(|(action, outcome, _)| (action.as_str(), outcome.as_str()) == ("failover", "done"))
    })?;
    let other = if new == "replica1" { "replica2" } else { "replica1" };
    until_state(endpoint, other, "replicating")?;
    site.writer.server.restart()?;
    // With plain asynchronous replication it may have inserts that nobody has received: then it stays out, and says so.
    eventually(BOUND, "the old writer is judged", || {
        of_server(endpoint, "writer", "state")
            .is_ok_and(|state| ["replicating", "quarantined"].contains(&state.as_str()))
    })?;
    expect_equal("it refuses writes", site.writer.server.query_value("SELECT @@GLOBAL.read_only")?, Some("1".into()))?;
    until_writer(endpoint, &new)
}

/// Has the servers acknowledge commits to each other, so that nobody sees one that only one server has.
pub(super) fn be_lossless(site: &GroupSite) -> Result<(), Failed> {
    lossless_between(site.flavor, &site.writer.server, &site.replicas)
}

/// The same of a writer and its replicas.
pub(crate) fn lossless_between(flavor: Flavor, writer: &Server, replicas: &[Server]) -> Result<(), Failed> {
    let (source, replica) = match flavor {
        Flavor::MariaDb => ("master", "slave"),
        Flavor::MySql => ("source", "replica"),
    };
    for server in std::iter::once(writer).chain(replicas) {
        if flavor == Flavor::MySql {
            let was_read_only = server.query_value("SELECT @@GLOBAL.read_only")? == Some("1".into());
            server.set_read_only(false)?;
            server.execute("INSTALL PLUGIN rpl_semi_sync_source SONAME 'semisync_source.so'")?;
            server.execute("INSTALL PLUGIN rpl_semi_sync_replica SONAME 'semisync_replica.so'")?;
            server.set_read_only(was_read_only)?;
        }
        // Longer than the test takes: it never falls back.
        server.execute(&format!("SET GLOBAL rpl_semi_sync_{source}_timeout = 600000"))?;
        server.execute(&format!("SET GLOBAL rpl_semi_sync_{source}_wait_point = 'AFTER_SYNC'"))?;
    }
    for server in replicas {
        server.execute(&format!("SET GLOBAL rpl_semi_sync_{replica}_enabled = ON"))?;
        let noun = if flavor == Flavor::MariaDb { "SLAVE" } else { "REPLICA" };
        server.execute(&format!("STOP {noun} IO_THREAD"))?;
        server.execute(&format!("START {noun} IO_THREAD"))?;
    }
    Ok(writer.execute(&format!("SET GLOBAL rpl_semi_sync_{source}_enabled = ON"))?)
}

fn lossless(site: &mut GroupSite, endpoint: &Endpoint) -> Result<(), Failed> {
    be_lossless(site)?;
    site.all_take_reads(endpoint)?;
    eventually(BOUND, "replicas acknowledge", || {
        of_server(endpoint, "writer", "commits_wait_for").is_ok_and(|waits| waits == "lossless semi-sync")
    })?;
    let ledger = while_inserting(endpoint, |ledger| {
        site.writer.server.kill()?;
        ledger.go_on(50)?;
        site.writer.server.restart()?;
        // It has nothing that anybody was told of, and what it has more was never acknowledged: one of the two.
        eventually(BOUND, "the old writer is judged", || {
            of_server(endpoint, "writer", "state")
                .is_ok_and(|state| ["replicating", "quarantined"].contains(&state.as_str()))
        })?;
        ledger.go_on(20)
    })?;
    expect_kept(writer(site, endpoint)?, &ledger)?;
    let waits = of_server(endpoint, writer(site, endpoint)?.name(), "commits_wait_for")?;
    expect_equal("the new writer's commits wait too", waits, "lossless semi-sync".into())?;
    let servers = site.servers().into_iter().map(|server| (server.name(), server));
    super::advice::follow(endpoint, servers, "sync_binlog")
}

/// Changes rows 10 and 11 in transactions until `done`, without an error. Tells how many were committed.
pub(super) fn transact_until(endpoint: &Endpoint, done: &AtomicBool) -> Result<u64, Failed> {
    let mut client = connect(endpoint.port, APP, Some(DATABASE))?;
    let mut count = 0;
    while !done.load(Ordering::Relaxed) {
        for statement in [
            "BEGIN",
            "UPDATE counters SET v = v + 1 WHERE id = 10",
            "UPDATE counters SET v = v + 1 WHERE id = 11",
            "COMMIT",
        ] {
            run(&mut client, statement).map_err(|error| format!("{statement}: {error}"))?;
        }
        count += 1;
    }
    Ok(count)
}

fn switchover(site: &mut GroupSite, endpoint: &Endpoint) -> Result<(), Failed> {
    site.all_take_reads(endpoint)?;
    let done = AtomicBool::new(false);
    let (ledger, count) = std::thread::scope(|scope| {
        let transacting = scope.spawn(|| transact_until(endpoint, &done));
        let ledger = while_inserting(endpoint, |ledger| {
            let mut admin = connect(endpoint.port, APP, None)?;
            for server in ["replica1", "writer", "replica2"] {
                // A transaction that stays open on a machine that is slow just then makes it wait for the next try.
                eventually(BOUND, "the writer is changed", || {
                    run(&mut admin, &format!("WEIR SWITCHOVER TO {server}")).is_ok()
                })?;
                expect_equal("the writer", of_server(endpoint, server, "role")?, "writer".into())?;
                ledger.go_on(20)?;
                for other in ["writer", "replica1", "replica2"].iter().filter(|other| **other != server) {
                    until_state(endpoint, other, "replicating")?;
                }
            }
            Ok(())
        });
        done.store(true, Ordering::Relaxed);
        let count = transacting.join().map_err(|_| "a client panicked")??;
        Ok::<_, Failed>((ledger?, count))
    })?;
    expect_equal("inserts of unknown fate", ledger.unknown.load(Ordering::Relaxed), 0)?;
    let new = writer(site, endpoint)?;
    expect_kept(new, &ledger)?;
    for id in [10, 11] {
        let v = new.query_value(&format!("SELECT v FROM {DATABASE}.counters WHERE id = {id}"))?;
        expect_equal("committed transactions", v, Some(count.to_string()))?;
    }
    let is_wrong = |outcome: &str| outcome != "done" && !outcome.contains("still open");
    let wrong: Vec<_> = actions(endpoint)?.into_iter().filter(|(_, outcome, _)| is_wrong(outcome)).collect();
    expect_equal("what went wrong", wrong, Vec::new())
}

fn vain_switchover(site: &mut GroupSite, endpoint: &Endpoint) -> Result<(), Failed> {
    site.all_take_reads(endpoint)?;
    let mut admin = connect(endpoint.port, APP, None)?;
    expect_error("nobody", &run(&mut admin, "WEIR SWITCHOVER TO nobody"), 1210, "HY000")?;
    expect_error("the writer", &run(&mut admin, "WEIR SWITCHOVER TO writer"), 1235, "HY000")?;
    expect_error("of a writer that is there", &run(&mut admin, "WEIR FAILOVER"), 1235, "HY000")?;
    expect_error("no such group", &run(&mut admin, "WEIR FAILOVER GROUP other"), 1210, "HY000")?;
    expect_error("no start is needed", &run(&mut admin, "WEIR GROUP BOOT"), 1235, "HY000")?;
    let plain = run(&mut connect(endpoint.port, crate::lab::PLAIN, None)?, "WEIR SWITCHOVER TO replica1");
    expect_error("without the admin right", &plain, 1227, "42000")?;
    // A replica that does not apply never catches up.
    site.apply(0, false)?;
    admin.query_drop(format!("UPDATE {DATABASE}.counters SET v = 1 WHERE id = 20"))?;
    let refused = run(&mut admin, "WEIR SWITCHOVER TO replica1");
    expect_error("a replica that does not apply", &refused, 1235, "HY000")?;
    expect_equal("the writer stays", of_server(endpoint, "writer", "role")?, "writer".into())?;
    run(&mut admin, &format!("UPDATE {DATABASE}.counters SET v = 2 WHERE id = 20"))?;
    site.apply(0, true)?;
    site.replicas[1].kill()?;
    until_state(endpoint, "replica2", "down")?;
    expect_error("a dead server", &run(&mut admin, "WEIR SWITCHOVER TO replica2"), 1235, "HY000")
}

/// The writer commits what no replica receives, and dies.
fn die_with_more(site: &mut GroupSite, endpoint: &Endpoint) -> Result<(), Failed> {
    site.all_take_reads(endpoint)?;
    let noun = if site.flavor == Flavor::MariaDb { "SLAVE" } else { "REPLICA" };
    for replica in &site.replicas {
        replica.execute(&format!("STOP {noun} IO_THREAD"))?;
    }
    let mut client = connect(endpoint.port, APP, Some(DATABASE))?;
    client.query_drop("INSERT INTO kept VALUES (1)")?;
    // Weir has seen that it is there: the writer was asked since.
    let told = Instant::now();
    eventually(BOUND, "the writer was asked", || {
        // Taken before: else a slow answer makes an older look count.
        let since = told.elapsed().as_secs_f64();
        let age = of_server(endpoint, "writer", "lag_seconds").ok().and_then(|seconds| seconds.parse::<f64>().ok());
        age.is_some_and(|age| age < since)
    })?;
    Ok(site.writer.server.kill()?)
}

fn bounded_loss(site: &mut GroupSite, endpoint: &Endpoint) -> Result<(), Failed> {
    die_with_more(site, endpoint)?;
    eventually(BOUND, "the failover is refused", || {
        actions(endpoint).is_ok_and(|actions| {
            actions.first().is_some_and(|(action, outcome, _)| action == "failover" && outcome.contains("max_lost"))
        })
    })?;
    expect_equal("the writer stays", of_server(endpoint, "writer", "role")?, "writer".into())?;
    let mut admin = connect(endpoint.port, APP, None)?;
    eventually(BOUND, "it is replaced by hand", || run(&mut admin, "WEIR FAILOVER").is_ok())?;
    expect_equal("the new writer", of_server(endpoint, "replica1", "role")?, "writer".into())?;
    let lost = actions(endpoint)?.into_iter().find(|(action, outcome, _)| action == "failover" && outcome == "done");
    let (_, _, lost) = lost.ok_or("no failover is on record")?;
    expect_equal(&format!("what is lost: {lost}"), lost.starts_with("1: "), true)?;
    site.writer.server.restart()?;
    until_state(endpoint, "writer", "quarantined")?;
    let notice = of_server(endpoint, "writer", "notice")?;
    expect_equal(&format!("it says why: {notice}"), notice.contains("transactions that the group lacks"), true)?;
    expect_equal("it takes no reads", crate::reads::shown(endpoint, "writer")?.starts_with("no"), true)?;
    let mut client = connect(endpoint.port, APP, Some(DATABASE))?;
    for _ in 0..20 {
        expect_equal("what was lost is not shown", value(&mut client, "SELECT COUNT(*) FROM kept")?, "0".into())?;
    }
    until_state(endpoint, "replica2", "replicating")
}

fn by_command(site: &mut GroupSite, endpoint: &Endpoint) -> Result<(), Failed> {
    site.all_take_reads(endpoint)?;
    site.writer.server.kill()?;
    eventually(BOUND, "Weir says what it waits for", || {
        of_server(endpoint, "writer", "notice").is_ok_and(|notice| notice.contains("WEIR FAILOVER"))
    })?;
    let mut admin = connect(endpoint.port, APP, None)?;
    let refused = run(&mut admin, "WEIR SWITCHOVER TO replica1");
    expect_error("no switchover from a dead writer", &refused, 1235, "HY000")?;
    std::thread::scope(|scope| {
        let write = scope.spawn(|| {
            let mut client = connect(endpoint.port, APP, Some(DATABASE))?;
            client.query_drop("UPDATE counters SET v = 5 WHERE id = 30")
        });
        std::thread::sleep(Duration::from_millis(50));
        eventually(BOUND, "it is replaced", || run(&mut admin, "WEIR FAILOVER GROUP main TO replica2").is_ok())?;
        write.join().map_err(|_| "a client panicked")??;
        Ok::<(), Failed>(())
    })?;
    expect_equal("the new writer", of_server(endpoint, "replica2", "role")?, "writer".into())?;
    let v = writer(site, endpoint)?.query_value(&format!("SELECT v FROM {DATABASE}.counters WHERE id = 30"))?;
    expect_equal("the write that waited", v, Some("5".into()))
}

/// A former writer that follows nobody has what it wrote itself: nothing of it is to be waited for.
fn former_writer(site: &mut GroupSite, endpoint: &Endpoint) -> Result<(), Failed> {
    site.all_take_reads(endpoint)?;
    site.writer.server.kill()?;
    let former = site.servers().into_iter().find(|server| server.name() == "replica1").ok_or("there is no replica1")?;
    let alone: &[&str] = match site.flavor {
        Flavor::MariaDb => &["STOP SLAVE", "RESET SLAVE ALL"],
        Flavor::MySql => &["STOP REPLICA", "RESET REPLICA ALL", "SET GLOBAL super_read_only = 0"],
    };
    let written = format!("UPDATE {DATABASE}.counters SET v = 6 WHERE id = 31");
    // It stays read-only, which does not hold for the server's own account: Weir would take a server that is not for the new writer.
    for sql in alone.iter().chain([&&*written]) {
        former.execute(sql)?;
    }
    let mut admin = connect(endpoint.port, APP, None)?;
    eventually(BOUND, "it is replaced", || run(&mut admin, "WEIR FAILOVER GROUP main TO replica1").is_ok())?;
    expect_equal("the new writer", of_server(endpoint, "replica1", "role")?, "writer".into())?;
    until_state(endpoint, "replica2", "replicating")?;
    let mut client = connect(endpoint.port, APP, Some(DATABASE))?;
    client.query_drop("UPDATE counters SET v = v + 1 WHERE id = 31")?;
    let v = writer(site, endpoint)?.query_value(&format!("SELECT v FROM {DATABASE}.counters WHERE id = 31"))?;
    expect_equal("what it wrote, and what it has written since", v, Some("7".into()))
}
