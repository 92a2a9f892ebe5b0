//! Limits: of clients, of users, of the pool and its queue.

use std::collections::BTreeSet;
use std::time::Duration;

use libtest_mimic::Failed;
use mysql::prelude::Queryable;

use crate::Collector;
use crate::driver::{connect, expect_equal, expect_error, run, server_error, serves, value};
use crate::lab::{APP, Endpoint, Lab, PLAIN, eventually};
use crate::login::{self, Login, Opening};
use crate::reply::Set;

const BOUND: Duration = Duration::from_secs(20);

/// Settings of Weir, and what must hold with them.
type Case = (&'static str, &'static [(&'static str, &'static str)], fn(&Endpoint) -> Result<(), Failed>);

const CASES: [Case; 12] = [
    ("idle_connections_to_clients_and_servers_are_probed", &[], probed),
    ("a_client_that_was_idle_for_too_long_is_told_so_by_its_driver", &[], idle_for_too_long),
    ("one_client_too_many_is_1040", &[("clients.max_connections", "3")], too_many_clients),
    ("one_session_of_a_user_too_many_is_1203", &[("users.plain.max_connections", "2")], too_many_of_a_user),
    (
        "a_full_pool_answers_after_its_queue_timeout",
        &[("pool.max_connections", "1"), ("pool.queue_timeout", "\"500ms\"")],
        full_pool,
    ),
    (
        "what_a_statement_left_outlives_its_connection",
        &[("pool.max_connections", "1"), ("pool.queue_timeout", "\"60s\"")],
        left_behind,
    ),
    (
        "a_prepared_statement_outlives_the_reset_of_its_connection",
        &[("pool.max_connections", "1"), ("pool.queue_timeout", "\"60s\""), ("workers.threads", "1")],
        prepared_before_a_reset,
    ),
    (
        "an_insert_id_outlives_the_reset_of_its_connection",
        &[("pool.max_connections", "1"), ("pool.queue_timeout", "\"60s\""), ("workers.threads", "1")],
        insert_id_before_a_reset,
    ),
    ("texts_that_one_session_has_prepared_are_bounded", &[("clients.max_allowed_packet", "\"64KiB\"")], prepared_texts),
    ("a_full_queue_answers_at_once", &[("pool.max_connections", "1"), ("pool.max_queue", "0")], full_pool),
    (
        "a_queued_statement_gets_its_turn",
        &[("pool.max_connections", "1"), ("pool.queue_timeout", "\"60s\"")],
        queued_statement,
    ),
    (
        "a_queued_statement_can_be_killed",
        &[("pool.max_connections", "1"), ("pool.queue_timeout", "\"600s\"")],
        killed_in_the_queue,
    ),
];

/// Adds this module's tests.
pub(crate) fn collect(tests: &mut Collector) {
    for (word, settings, case) in CASES {
        tests.add_for_weir(&format!("limits::{word}"), move |lab: &Lab, flavor| {
            let site = lab.site(flavor)?;
            lab.with_endpoint(site, settings, |endpoint| case(endpoint))
        });
    }
}

/// Of a peer that vanished without a word the system finds out only by keepalive probes: each of Weir's TCP connections has their timer running
/// (the `tr` of proc(5)'s `/proc/net/tcp`).
fn probed(endpoint: &Endpoint) -> Result<(), Failed> {
    const ESTABLISHED: &str = "01";
    const KEEPALIVE: &str = "02";
    let mut session = connect(endpoint.port, APP, None)?;
    run(&mut session, "BEGIN")?;
    value(&mut session, "SELECT 1")?;
    let own: BTreeSet<String> = std::fs::read_dir(format!("/proc/{}/fd", endpoint.pid))?
        .filter_map(|file| std::fs::read_link(file.ok()?.path()).ok()?.to_str().map(str::to_owned))
        .filter_map(|link| Some(link.strip_prefix("socket:[")?.strip_suffix(']')?.to_owned()))
        .collect();
    let timers = || -> Vec<String> {
        let table = std::fs::read_to_string(format!("/proc/{}/net/tcp", endpoint.pid)).unwrap_or_default();
        let lines = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        let mine = lines.filter(|fields| fields.len() > 9 && fields[3] == ESTABLISHED && own.contains(fields[9]));
        mine.map(|fields| fields[5].to_owned()).collect()
    };
    // The client's connection, and a server's. While data is under way another timer takes the place of this one.
    eventually(BOUND, "every connection is probed", || {
        let timers = timers();
        timers.len() >= 2 && timers.iter().all(|timer| timer.starts_with(KEEPALIVE))
    })
}

/// The driver reads what it was told before as the answer to its next command.
fn idle_for_too_long(endpoint: &Endpoint) -> Result<(), Failed> {
    let (mut idle, mut other) = (connect(endpoint.port, APP, None)?, connect(endpoint.port, APP, None)?);
    idle.query_drop("SET wait_timeout = 1")?;
    let id = idle.connection_id();
    eventually(BOUND, "it was disconnected", || {
        let rows: mysql::Result<Vec<mysql::Row>> = other.query("SHOW PROCESSLIST");
        rows.is_ok_and(|rows| rows.iter().all(|row| row.get::<u32, _>(0) != Some(id)))
    })?;
    expect_error("the next statement", &run(&mut idle, "SELECT 1"), 4031, "HY000")
}

/// How a login is refused, byte for byte.
fn refusal(endpoint: &Endpoint, account: (&str, &str)) -> Result<(u16, String), Failed> {
    match login::open(&endpoint.address, &Login::new(account.0, account.1))?.1 {
        Opening::Refused(Set::Error(code, state, _)) => Ok((code, state)),
        Opening::Refused(other) => Err(format!("refused with {other:?}").into()),
        Opening::Done(..) => Err("let in".into()),
    }
}

fn too_many_clients(endpoint: &Endpoint) -> Result<(), Failed> {
    let mut inside = (0..3).map(|_| connect(endpoint.port, APP, None)).collect::<mysql::Result<Vec<_>>>()?;
    // A server says 1040 with SQLSTATE 08004, or with none when it comes in place of the greeting.
    let (code, state) = refusal(endpoint, APP)?;
    expect_equal("code", code, 1040)?;
    if !["08004", ""].contains(&state.as_str()) {
        return Err(format!("SQLSTATE {state}").into());
    }
    inside.pop();
    eventually(BOUND, "a place is free again", || serves(endpoint.port, APP))
}

fn too_many_of_a_user(endpoint: &Endpoint) -> Result<(), Failed> {
    let mut inside = (0..2).map(|_| connect(endpoint.port, PLAIN, None)).collect::<mysql::Result<Vec<_>>>()?;
    expect_equal("refusal", refusal(endpoint, PLAIN)?, (1203, "42000".into()))?;
    connect(endpoint.port, APP, None)?;
    inside.pop();
    eventually(BOUND, "a place is free again", || serves(endpoint.port, PLAIN))
}

/// A session that keeps the pool's only connection.
fn holder(endpoint: &Endpoint) -> Result<mysql::Conn, Failed> {
    let mut holder = connect(endpoint.port, APP, None)?;
    holder.query_drop("BEGIN")?;
    holder.query_drop("SELECT COUNT(*) FROM information_schema.engines")?;
    holder.query_drop("SELECT GET_LOCK('t_holder', 0)")?;
    Ok(holder)
}

/// A session that has logged in while the pool's only connection is kept.
fn second(endpoint: &Endpoint) -> Result<mysql::Conn, Failed> {
    connect(endpoint.port, APP, None).map_err(|error| format!("login while the pool is full: {error}").into())
}

fn full_pool(endpoint: &Endpoint) -> Result<(), Failed> {
    let mut holder = holder(endpoint)?;
    let mut other = second(endpoint)?;
    let refused = run(&mut other, "SELECT @@port");
    match server_error(&refused) {
        Some((1040, state)) if state == "08004" => {}
        Some((1203, state)) if state == "42000" => {}
        _ => return Err(format!("1040 (08004) or 1203 (42000) expected, got {refused:?}").into()),
    }
    holder.reset()?;
    eventually(BOUND, "the connection is free again", || run(&mut other, "SELECT @@port").is_ok())
}

fn queued_statement(endpoint: &Endpoint) -> Result<(), Failed> {
    let mut holder = holder(endpoint)?;
    let mut other = second(endpoint)?;
    let mut admin = second(endpoint)?;
    std::thread::scope(|scope| {
        let waiting = scope.spawn(move || value(&mut other, "SELECT 'served'"));
        let queued = eventually(BOUND, "a statement waits", || waiting_statements(&mut admin) == "1");
        holder.reset()?;
        let served = waiting.join().map_err(|_| Failed::from("the session panicked"))??;
        queued?;
        expect_equal("the queued statement", served, "served".into())
    })
}

/// With one connection for two sessions, each statement of one takes it from the other.
fn left_behind(endpoint: &Endpoint) -> Result<(), Failed> {
    let mut one = connect(endpoint.port, APP, None)?;
    let mut other = connect(endpoint.port, APP, None)?;
    let mut between =
        || run(&mut other, "SELECT 'other'").and_then(|()| run(&mut other, "SELECT 1/0 FROM (SELECT 1) t"));
    run(&mut one, "SELECT LAST_INSERT_ID(77), CAST('1x' AS SIGNED)")?;
    between()?;
    let warnings: Vec<(String, u32, String)> = one.query("SHOW WARNINGS")?;
    expect_equal(
        "warnings",
        warnings.iter().map(|(level, code, _)| (level.as_str(), *code)).collect(),
        vec![("Warning", 1292)],
    )?;
    between()?;
    expect_equal("LAST_INSERT_ID()", value(&mut one, "SELECT LAST_INSERT_ID()")?, "77".into())?;
    between()?;
    expect_equal("ROW_COUNT()", value(&mut one, "SELECT ROW_COUNT()")?, "-1".into())?;
    let failed = run(&mut one, "SELECT nothing FROM nowhere.nothing");
    let (code, _) = server_error(&failed).ok_or("an error was expected")?;
    between()?;
    let errors: Vec<(String, u16, String)> = one.query("SHOW ERRORS")?;
    expect_equal("errors", errors.iter().map(|(_, code, _)| *code).collect(), vec![code])?;
    between()?;
    run(&mut one, "SET @kept = 5, @word = 'abc'")?;
    between()?;
    expect_equal("user variables", value(&mut one, "SELECT CONCAT(@kept, @word)")?, "5abc".into())?;
    between()?;
    let rows: Vec<u32> =
        one.query("SELECT SQL_CALC_FOUND_ROWS a FROM (SELECT 1 a UNION SELECT 2 UNION SELECT 3) t LIMIT 1")?;
    expect_equal("rows", rows.len(), 1)?;
    between()?;
    expect_equal("FOUND_ROWS()", value(&mut one, "SELECT FOUND_ROWS()")?, "3".into())
}

/// A user variable that a session left on the connection is taken away from it by a reset, and with it all statements.
fn prepared_before_a_reset(endpoint: &Endpoint) -> Result<(), Failed> {
    let mut one = connect(endpoint.port, APP, None)?;
    let mut other = connect(endpoint.port, APP, None)?;
    let statement = other.prep("SELECT 1 + ?")?;
    run(&mut one, "SET @kept = 5")?;
    for _ in 0..3 {
        expect_equal("prepared", other.exec_first(&statement, (1,))?, Some(2))?;
        expect_equal("the user variable", value(&mut one, "SELECT @kept")?, "5".into())?;
    }
    Ok(())
}

/// Weir keeps the text of each prepared statement: a client that closes none would fill its memory.
fn prepared_texts(endpoint: &Endpoint) -> Result<(), Failed> {
    const LENGTH: usize = 60 << 10;
    let long = |n: usize| format!("SELECT {n} + ? /* {} */", "x".repeat(LENGTH));
    let mut session = connect(endpoint.port, APP, None)?;
    let kept = (0..4).map(|n| session.prep(long(n))).collect::<Result<Vec<_>, _>>()?;
    expect_error("one more", &session.prep(long(4)).map(drop), 1461, "42000")?;
    let short = session.prep("SELECT 7 + ?")?;
    expect_equal("a short one", session.exec_first(&short, (1,))?, Some(8))?;
    expect_equal("one that is kept", session.exec_first(&kept[3], (1,))?, Some(4))?;
    for statement in kept {
        session.close(statement)?;
    }
    let again = session.prep(long(5))?;
    expect_equal("after they were closed", session.exec_first(&again, (1,))?, Some(6))
}

/// The reset takes LAST_INSERT_ID() away too, also where it was the right one.
fn insert_id_before_a_reset(endpoint: &Endpoint) -> Result<(), Failed> {
    let mut one = connect(endpoint.port, APP, None)?;
    let mut other = connect(endpoint.port, APP, None)?;
    run(&mut one, "SELECT LAST_INSERT_ID(77)")?;
    run(&mut other, "SET @kept = 5")?;
    for _ in 0..3 {
        expect_equal("LAST_INSERT_ID()", value(&mut one, "SELECT LAST_INSERT_ID()")?, "77".into())?;
        expect_equal("of the other", value(&mut other, "SELECT CONCAT(@kept, LAST_INSERT_ID())")?, "50".into())?;
        run(&mut other, "SELECT @kept")?;
    }
    Ok(())
}

/// As `WEIR STATUS` counts them.
fn waiting_statements(admin: &mut mysql::Conn) -> String {
    let rows: Vec<(String, String)> = admin.query("WEIR STATUS").unwrap_or_default();
    rows.into_iter().find(|(name, _)| name == "waiting_statements").map(|(_, value)| value).unwrap_or_default()
}

fn killed_in_the_queue(endpoint: &Endpoint) -> Result<(), Failed> {
    let mut holder = holder(endpoint)?;
    let mut other = second(endpoint)?;
    let mut admin = second(endpoint)?;
    let id = other.connection_id();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(move || {
            let ended = run(&mut other, "SELECT @@port");
            (ended, other)
        });
        let queued = eventually(BOUND, "a statement waits", || waiting_statements(&mut admin) == "1");
        admin.query_drop(format!("KILL QUERY {id}"))?;
        let (ended, mut other) = waiting.join().map_err(|_| Failed::from("the session panicked"))?;
        queued?;
        expect_error("the queued statement", &ended, 1317, "70100")?;
        holder.reset()?;
        expect_equal("the session", value(&mut other, "SELECT 'alive'")?, "alive".into())
    })
}
