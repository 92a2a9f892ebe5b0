//! Procedures that Weir runs statement by statement: KILL, clients that go, servers that die, and rights. Their variables are in a
//! temporary table, too.

use std::net::Shutdown;

use libtest_mimic::Failed;
use mysql::Conn;
use mysql::prelude::Queryable;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use weir_local::{Flavor, Server, wait_for_replica};

use super::kills::packets;
use super::rights::{refused, with};
use super::{BOUND, DATABASE, JOIN, JOINED, PrivateCase, Settings, Shards, SharedCase, app, fill, runs};
use crate::driver::{expect_equal, expect_error, run, server_error, value};
use crate::lab::{Endpoint, Lab, eventually};
use crate::weir::Weir;

pub(super) const CASES: &[(&str, Settings, SharedCase)] = &[
    ("kill_query_ends_a_procedure_whatever_it_handles", &[], kill_query),
    ("a_client_that_goes_ends_its_procedure", &[], goes),
    ("procedures_run_with_the_rights_that_they_are_to_have", &[], rights),
];

pub(super) const PRIVATE: &[(&str, Settings, PrivateCase)] = &[(
    "a_server_that_dies_ends_a_procedure",
    &[("pool.connect_timeout", "\"2s\""), ("monitor.timeout", "\"2s\""), ("monitor.hang_timeout", "\"10s\"")],
    dies,
)];

/// Says that it has begun, and computes until it is ended.
const ENDLESS: &str = "endless() BEGIN DECLARE n INT DEFAULT 0; DECLARE CONTINUE HANDLER FOR SQLEXCEPTION SET n = 0; \
    UPDATE few SET v = v + 1000; again: LOOP SET n = n + 1; IF n > 1000 THEN SET n = 0; END IF; END LOOP; END";
/// Needs no server while it runs.
const SPINNING: &str = "spinning() BEGIN UPDATE few SET v = v + 1000; again: LOOP ITERATE again; END LOOP; END";
/// Waits for rows that are locked.
const WAITING: &str = "waiting() BEGIN DECLARE n INT DEFAULT 0; DECLARE CONTINUE HANDLER FOR SQLEXCEPTION SET n = 1; \
    UPDATE few SET v = v + 1000; UPDATE orders SET v = v + 1; UPDATE few SET v = v + 5000; END";

fn make(endpoint: &Endpoint, procedures: &[&str]) -> Result<(), Failed> {
    let mut session = app(endpoint)?;
    for procedure in procedures {
        let name = procedure.split('(').next().unwrap_or_default();
        session.query_drop(format!("DROP PROCEDURE IF EXISTS {name}"))?;
        session.query_drop(format!("CREATE PROCEDURE {procedure}"))?;
    }
    session.query_drop("UPDATE few SET v = id")?;
    Ok(())
}

/// Waits until the procedure that has been called runs.
fn await_begun(shards: &Shards, endpoint: &Endpoint, waits: bool) -> Result<(), Failed> {
    let mut other = app(endpoint)?;
    eventually(BOUND, "the procedure has begun", || {
        let begun = value(&mut other, "SELECT COUNT(*) FROM few WHERE v >= 1000").is_ok_and(|count| count == "20");
        begun && (!waits || shards.sites.iter().any(|site| runs(&site.server, "UPDATE orders SET v = v")))
    })
}

/// A session that has all rows of the table that is waited for.
fn holder(endpoint: &Endpoint) -> Result<Conn, Failed> {
    let mut holder = app(endpoint)?;
    holder.query_drop("BEGIN")?;
    holder.query_drop("UPDATE orders SET v = v + 1")?;
    Ok(holder)
}

fn kill_query(shards: &Shards, endpoint: &Endpoint) -> Result<(), Failed> {
    for (procedure, waits) in [(ENDLESS, false), (SPINNING, false), (WAITING, true)] {
        make(endpoint, &[procedure])?;
        let mut holder = holder(endpoint)?;
        let mut session = app(endpoint)?;
        session.query_drop("SET innodb_lock_wait_timeout = 100")?;
        let id = session.connection_id();
        let call = format!("CALL {}()", procedure.split('(').next().unwrap_or_default());
        let (ended, mut session) = std::thread::scope(|scope| {
            let running = scope.spawn(move || (run(&mut session, &call), session));
            let met = await_begun(shards, endpoint, waits);
            app(endpoint)?.query_drop(format!("KILL QUERY {id}"))?;
            let ended = running.join().map_err(|_| Failed::from("the session panicked"))?;
            met.map(|()| ended)
        })?;
        expect_error(procedure, &ended, 1317, "70100")?;
        expect_equal("the session", value(&mut session, JOIN)?, JOINED.into())?;
        let later = "SELECT COUNT(*) FROM few WHERE v >= 5000";
        expect_equal("nothing of it runs on", value(&mut session, later)?, "0".into())?;
        holder.query_drop("ROLLBACK")?;
        shards.clean(endpoint)?;
    }
    Ok(())
}

fn goes(shards: &Shards, endpoint: &Endpoint) -> Result<(), Failed> {
    for (procedure, waits) in [(ENDLESS, false), (WAITING, true)] {
        make(endpoint, &[procedure])?;
        let mut holder = holder(endpoint)?;
        let mut client = packets(endpoint)?;
        client.command(0x03, b"SET innodb_lock_wait_timeout = 100")?;
        client.read()?;
        let call = format!("CALL {}()", procedure.split('(').next().unwrap_or_default());
        client.command(0x03, call.as_bytes())?;
        await_begun(shards, endpoint, waits)?;
        client.stream().shutdown(Shutdown::Both)?;
        drop(client);
        let ran = |site: &crate::lab::Site| {
            runs(&site.server, "weir stepwise") || runs(&site.server, "UPDATE orders SET v = v")
        };
        eventually(BOUND, "it runs no more", || !shards.sites.iter().any(ran))?;
        holder.query_drop("ROLLBACK")?;
        let later = "SELECT COUNT(*) FROM few WHERE v >= 5000";
        expect_equal("nothing of it runs on", value(&mut app(endpoint)?, later)?, "0".into())?;
        shards.clean(endpoint)?;
    }
    Ok(())
}

fn dies(shards: &mut Shards, endpoint: &Endpoint) -> Result<(), Failed> {
    for victim in [0, 1] {
        make(endpoint, &[WAITING])?;
        let mut holder = holder(endpoint)?;
        let mut session = app(endpoint)?;
        session.query_drop("SET innodb_lock_wait_timeout = 100")?;
        let pid = shards.sites[victim].server.pid().ok_or("the server has ended")?;
        let (ended, mut session) = std::thread::scope(|scope| {
            let running = scope.spawn(move || (run(&mut session, "CALL waiting()"), session));
            let met = await_begun(shards, endpoint, true);
            kill(Pid::from_raw(pid), Signal::SIGKILL)?;
            // The other shard's part of the statement waits no longer.
            let _over = holder.query_drop("ROLLBACK");
            let ended = running.join().map_err(|_| Failed::from("the session panicked"))?;
            met.map(|()| ended)
        })?;
        let code = server_error(&ended).map(|(code, _)| code);
        let lost = code.is_some_and(|code| [1317, 1927, 2003, 2013].contains(&code));
        expect_equal(&format!("server {victim}: {ended:?}"), lost, true)?;
        let server = &mut shards.sites[victim].server;
        server.kill()?;
        server.restart()?;
        eventually(BOUND, "statements work", || {
            app(endpoint).is_ok_and(|mut session| value(&mut session, JOIN).is_ok_and(|joined| joined == JOINED))
        })?;
        expect_equal("the session", value(&mut session, JOIN)?, JOINED.into())?;
        let later = "SELECT COUNT(*) FROM few WHERE v >= 5000";
        expect_equal("nothing of it runs on", value(&mut app(endpoint)?, later)?, "0".into())?;
        shards.clean(endpoint)?;
    }
    Ok(())
}

/// Adds to all rows that a query finds, one by one. Its argument, and each query, may be a replica's.
const SPENDING: &str = "spending(k INT) BEGIN DECLARE done INT DEFAULT 0; DECLARE i INT; DECLARE n INT DEFAULT 0; \
    DECLARE c CURSOR FOR SELECT id FROM few; DECLARE CONTINUE HANDLER FOR NOT FOUND SET done = 1; OPEN c; \
    l: LOOP FETCH c INTO i; IF done THEN LEAVE l; END IF; UPDATE few SET v = v + k WHERE id = i; \
    SELECT COUNT(*) INTO n FROM orders; END LOOP; CLOSE c; SELECT n; END";

pub(super) fn beside_replicas(lab: &Lab, flavor: Flavor) -> Result<(), Failed> {
    let parent = lab.directory()?;
    let shards = Shards::start(flavor, &parent)?;
    let replicas: Vec<Server> = (shards.sites.iter().zip(["r1", "r2"]))
        .map(|(site, name)| site.start_replica(&parent, name))
        .collect::<Result<_, _>>()?;
    for (site, replica) in shards.sites.iter().zip(&replicas) {
        wait_for_replica(&site.server, replica, BOUND)?;
    }
    let [first, second] = &shards.sites;
    let servers = [("s1", vec![&first.server, &replicas[0]]), ("s2", vec![&second.server, &replicas[1]])];
    let weir = Weir::start_shards(&lab.directory()?, &servers, &[])?;
    lab.judge(Endpoint::of(weir), |endpoint| {
        fill(endpoint)?;
        make(endpoint, &[SPENDING])?;
        let mut session = app(endpoint)?;
        for turn in 1..=3 {
            expect_equal("what is selected", value(&mut session, "CALL spending(1)")?, "200".to_owned())?;
            let mut spent = 0;
            for site in &shards.sites {
                let on_writer = site.server.query_value(&format!("SELECT SUM(v - id) FROM {DATABASE}.few"))?;
                spent += on_writer.ok_or("no sum")?.parse::<i32>()?;
            }
            expect_equal("each row is written once, by writers", spent, 20 * turn)?;
        }
        shards.clean(endpoint)
    })
}

fn rights(shards: &Shards, endpoint: &Endpoint) -> Result<(), Failed> {
    const BODY: &str = "BEGIN DECLARE n INT; SELECT COUNT(*) INTO n FROM orders; SELECT n; END";
    make(endpoint, &[&format!("by_definer() {BODY}"), &format!("by_invoker() SQL SECURITY INVOKER {BODY}")])?;
    expect_equal("its definer", value(&mut app(endpoint)?, "CALL by_definer()")?, "200".into())?;
    expect_equal("its invoker", value(&mut app(endpoint)?, "CALL by_invoker()")?, "200".into())?;
    let all = &["SELECT, EXECUTE, CREATE TEMPORARY TABLES ON `t\\_bench`.*"];
    let mut session = with(shards, endpoint, "b_calls", all)?;
    expect_equal("its invoker", value(&mut session, "CALL by_invoker()")?, "200".into())?;
    let (code, message) = refused(&mut session, "CALL by_definer()")?;
    expect_equal(&message, (code, message.contains("SQL SECURITY INVOKER")), (1235, true))?;
    for (name, grants, expected) in [
        ("b_may_not", "SELECT, CREATE TEMPORARY TABLES ON `t\\_bench`.*", 1370),
        ("b_no_rows", "EXECUTE, CREATE TEMPORARY TABLES ON `t\\_bench`.*", 1142),
        ("b_no_tables", "SELECT, EXECUTE ON `t\\_bench`.*", 1044),
    ] {
        let mut session = with(shards, endpoint, name, &[grants])?;
        let (code, message) = refused(&mut session, "CALL by_invoker()")?;
        expect_equal(&format!("{grants}: {message}"), code, expected)?;
    }
    for site in &shards.sites {
        site.server.execute("DROP USER b_calls, b_may_not, b_no_rows, b_no_tables")?;
    }
    shards.clean(endpoint)
}
