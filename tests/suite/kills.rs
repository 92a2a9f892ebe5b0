//! KILL and SHOW PROCESSLIST by the ids that clients know. All of this holds for a server as well as for Weir.

use std::io::Write;
use std::sync::mpsc::channel;
use std::time::Duration;

use libtest_mimic::Failed;
use mysql::prelude::Queryable;
use mysql::{Conn, LocalInfileHandler, Row};
use weir_local::Flavor;

use crate::Collector;
use crate::driver::{connect, expect_equal, expect_error, run, server_error, value};
use crate::lab::{APP, Endpoint, Lab, PLAIN, eventually};
use crate::login::{self, Login, Opening};

const BOUND: Duration = Duration::from_secs(20);
/// Busy until it is killed.
const ENDLESS: &str = "SELECT COUNT(*) FROM many a, many b, many c, many d, many e, many f, many g, many h, many i \
    WHERE a.id + b.id + c.id + d.id + e.id + f.id + g.id + h.id + i.id < 0";

type Case = (&'static str, fn(&Endpoint) -> Result<(), Failed>);

/// Adds this module's tests.
pub(crate) fn collect(tests: &mut Collector) {
    let cases: [Case; 14] = [
        ("query_of_a_transactions_first_statement_leaves_the_transaction", first_statement),
        ("query_ends_the_running_statement_with_1317", running_statement),
        ("query_of_an_idle_session_changes_nothing", idle_statement),
        ("connection_ends_an_idle_session", idle_connection),
        ("connection_ends_a_busy_session", busy_connection),
        ("connection_in_the_middle_of_a_reply_puts_no_packet_out_of_its_place", half_read),
        ("connection_ends_a_load_whose_file_does_not_come", silent_load),
        ("connection_ends_a_block_that_goes_on_after_a_statement", endless_block),
        ("connection_in_a_transaction_frees_its_locks", locks_of_the_killed),
        ("of_the_own_session_is_told_as_by_the_server", own_session),
        ("of_an_unknown_id_is_1094", unknown_id),
        ("of_another_users_session_is_1095", foreign_session),
        ("ids_are_those_of_the_process_list", process_list),
        ("names_its_session_by_an_expression", by_expression),
    ];
    // On the servers themselves it would end the sessions of other tests.
    tests.add_for_weir("kill::user_ends_all_of_the_users_sessions", |lab: &Lab, flavor| {
        with_fixture(lab, flavor, if flavor == Flavor::MariaDb { all_of_a_user } else { no_kill_user })
    });
    tests.add_for_weir("kill::at_the_wrong_instance_hits_nobody", |lab: &Lab, flavor| {
        let site = lab.site(flavor)?;
        lab.with_endpoint(site, &[("listen.instance", "1")], |one| {
            lab.with_endpoint(site, &[("listen.instance", "2")], |two| at_the_wrong_instance(one, two))
        })
    });
    tests.add("reset::frees_locks_before_it_is_answered", |lab, flavor| with_fixture(lab, flavor, locks_of_the_reset));
    for (word, case) in cases {
        tests.add(&format!("kill::{word}"), move |lab, flavor| with_fixture(lab, flavor, case));
    }
}

/// Also where the connection can't be used again: what a text does that is not known may outlast the reset.
fn locks_of_the_reset(endpoint: &Endpoint) -> Result<(), Failed> {
    let (mut holder, mut other) = (connect(endpoint.port, APP, None)?, connect(endpoint.port, APP, None)?);
    for nth in 0..100 {
        expect_equal("the lock", value(&mut holder, "SELECT GET_LOCK('t_reset', 0)")?, "1".to_owned())?;
        if nth % 2 == 0 {
            expect_error("it may have run", &run(&mut holder, "EXECUTE t_reset_none"), 1243, "HY000")?;
        }
        holder.reset()?;
        expect_equal("free again", value(&mut other, "SELECT IS_FREE_LOCK('t_reset')")?, "1".to_owned())?;
    }
    Ok(())
}

/// The first sessions of two Weirs differ by the highest byte of their ids.
fn at_the_wrong_instance(one: &Endpoint, two: &Endpoint) -> Result<(), Failed> {
    let open = |endpoint: &Endpoint| connect(endpoint.port, APP, None);
    let (mut own, mut other) = (open(one)?, open(two)?);
    let (own_id, other_id) = (own.connection_id(), other.connection_id());
    expect_equal("the instances", (own_id >> 24, other_id >> 24), (1, 2))?;
    expect_equal("CONNECTION_ID()", value(&mut own, "SELECT CONNECTION_ID()")?, own_id.to_string())?;
    let refused = run(&mut own, &format!("KILL {other_id}"));
    expect_error("the KILL", &refused, 1094, "HY000")?;
    let told = refused.expect_err("it is an error").to_string();
    expect_equal("it names the instance", told.contains("of instance 2"), true)?;
    expect_equal("nobody was hit", value(&mut other, "SELECT 1")?, "1".to_owned())?;
    run(&mut open(two)?, &format!("KILL {other_id}"))?;
    eventually(BOUND, "the right one ends it", || run(&mut other, "SELECT 1").is_err())
}

fn with_fixture(lab: &Lab, flavor: Flavor, case: fn(&Endpoint) -> Result<(), Failed>) -> Result<(), Failed> {
    let site = lab.site(flavor)?;
    site.fill(
        "t_kill",
        &[
            "CREATE DATABASE IF NOT EXISTS {db}",
            "CREATE TABLE IF NOT EXISTS {db}.locked (id INT PRIMARY KEY, v INT)",
            "CREATE TABLE IF NOT EXISTS {db}.many (id INT PRIMARY KEY)",
            "INSERT IGNORE INTO {db}.many VALUES (1),(2),(3),(4),(5),(6),(7),(8),(9),(10),(11),(12),(13),(14),(15)",
        ],
    )?;
    lab.with_endpoint(site, &[], |endpoint| {
        case(endpoint)?;
        // A session that is killed is gone at once; so must be, soon, what it ran.
        eventually(BOUND, "the server has ended it too", || {
            let running =
                "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE 'SELECT COUNT(*) FROM many a%'";
            site.server.query_value(running).is_ok_and(|count| count.as_deref() == Some("0"))
        })
    })
}

fn app(endpoint: &Endpoint) -> mysql::Result<Conn> {
    connect(endpoint.port, APP, Some("t_kill"))
}

/// Runs the endless statement in a thread, sends `kill` once it runs, and returns how it ended.
fn killed_by(endpoint: &Endpoint, kill: &str) -> Result<(mysql::Result<()>, Conn), Failed> {
    let mut victim = app(endpoint)?;
    let id = victim.connection_id();
    let mut killer = app(endpoint)?;
    std::thread::scope(|scope| {
        let running = scope.spawn(move || {
            let ended = run(&mut victim, ENDLESS);
            (ended, victim)
        });
        let seen = eventually(BOUND, "the statement runs", || statement_of(&mut killer, id).contains("COUNT"));
        killer.query_drop(kill.replace("{id}", &id.to_string()))?;
        let ended = running.join().map_err(|_| Failed::from("the session panicked"))?;
        seen.map(|()| ended)
    })
}

/// What the process list says that a session does.
fn statement_of(connection: &mut Conn, id: u32) -> String {
    let rows: Vec<Row> = connection.query("SHOW FULL PROCESSLIST").unwrap_or_default();
    let found = rows.into_iter().find(|row| row.get::<u32, _>(0) == Some(id));
    found.and_then(|row| row.get::<Option<String>, _>(7).flatten()).unwrap_or_default()
}

fn running_statement(endpoint: &Endpoint) -> Result<(), Failed> {
    let (ended, mut victim) = killed_by(endpoint, "KILL QUERY {id}")?;
    expect_error("the killed statement", &ended, 1317, "70100")?;
    expect_equal("the session goes on", value(&mut victim, "SELECT 'alive'")?, "alive".into())
}

fn busy_connection(endpoint: &Endpoint) -> Result<(), Failed> {
    let (ended, mut victim) = killed_by(endpoint, "KILL {id}")?;
    // Servers answer with 1317 (MariaDB: 1927), or just close.
    let known = server_error(&ended).is_none_or(|(code, _)| code == 1317 || code == 1927);
    if ended.is_ok() || !known {
        return Err(format!("the killed session's statement ended with {ended:?}").into());
    }
    if victim.ping().is_ok() {
        return Err("the killed session goes on".into());
    }
    Ok(())
}

/// A client that has read a part of its rows gets more of them, then an error that has its number, or the end of the connection.
fn half_read(endpoint: &Endpoint) -> Result<(), Failed> {
    const ROWS: &str = "SELECT REPEAT('x', 20000) FROM many a, many b, many c, many d";
    /// What a row says of its length.
    const LENGTH: usize = 3;
    /// Less than all rows.
    const MOST: usize = 500 << 20;
    for _ in 0..5 {
        let login = Login::new(APP.0, APP.1).database("t_kill");
        let (mut victim, Opening::Done(greeting, ..)) = login::open(&endpoint.address, &login)? else {
            return Err("not let in".into());
        };
        victim.command(0x03, ROWS.as_bytes())?;
        for _ in 0..10 {
            victim.read()?;
        }
        app(endpoint)?.query_drop(format!("KILL {}", greeting.connection_id))?;
        let mut rest = &victim.read_to_close(MOST)?[..];
        while let Some((header, behind)) = rest.split_at_checked(4) {
            let length = usize::from(header[0]) | usize::from(header[1]) << 8 | usize::from(header[2]) << 16;
            expect_equal("the number of a packet", header[3], victim.sequence)?;
            victim.sequence = victim.sequence.wrapping_add(1);
            // The last one may lack its end.
            let (packet, behind) = behind.split_at(length.min(behind.len()));
            let is_row = packet.iter().skip(LENGTH).all(|byte| *byte == b'x');
            let is_error = packet.first() == Some(&0xff) && packet.len() == length && behind.is_empty();
            expect_equal(&String::from_utf8_lossy(&packet[..packet.len().min(100)]), is_row || is_error, true)?;
            rest = behind;
        }
    }
    Ok(())
}

/// The client has begun with its file, and sends no more of it.
fn silent_load(endpoint: &Endpoint) -> Result<(), Failed> {
    let (mut victim, mut killer) = (app(endpoint)?, app(endpoint)?);
    let id = victim.connection_id();
    let (begun, begins) = channel();
    let (go_on, goes_on) = channel::<()>();
    victim.set_local_infile_handler(Some(LocalInfileHandler::new(move |_, file| {
        file.write_all(b"1\t1\n")?;
        file.flush()?;
        let _ = begun.send(());
        // Nobody sends anything: it ends when the sender is dropped.
        let _ = goes_on.recv();
        Ok(())
    })));
    std::thread::scope(|scope| {
        let loading = scope.spawn(move || run(&mut victim, "LOAD DATA LOCAL INFILE 'f' INTO TABLE locked"));
        let outcome = begins.recv().map_err(|_| Failed::from("no file was asked for")).and_then(|()| {
            killer.query_drop(format!("KILL {id}"))?;
            eventually(BOUND, "the session has gone", || statement_of(&mut killer, id).is_empty())
        });
        drop(go_on);
        let loaded = loading.join().map_err(|_| Failed::from("the session panicked"))?;
        outcome?;
        expect_equal(&format!("it fails: {loaded:?}"), loaded.is_err(), true)
    })?;
    expect_equal("rows", value(&mut killer, "SELECT COUNT(*) FROM locked WHERE id = 10")?, "0".to_owned())
}

/// KILL QUERY may end a statement of it only.
fn endless_block(endpoint: &Endpoint) -> Result<(), Failed> {
    let mut victim = app(endpoint)?;
    if !value(&mut victim, "SELECT VERSION()")?.contains("MariaDB") {
        return Ok(());
    }
    let id = victim.connection_id();
    let mut killer = app(endpoint)?;
    std::thread::scope(|scope| {
        let running = scope.spawn(move || run(&mut victim, "LOOP DO SLEEP(0.1); END LOOP"));
        eventually(BOUND, "the block runs", || statement_of(&mut killer, id).contains("LOOP"))?;
        killer.query_drop(format!("KILL {id}"))?;
        eventually(BOUND, "the session has gone", || running.is_finished())?;
        let ended = running.join().map_err(|_| Failed::from("the session panicked"))?;
        if ended.is_ok() { Err("an endless block has ended well".into()) } else { Ok(()) }
    })
}

fn idle_statement(endpoint: &Endpoint) -> Result<(), Failed> {
    let mut idle = app(endpoint)?;
    idle.query_drop("SET @kept = 'kept'")?;
    let mut killer = app(endpoint)?;
    killer.query_drop(format!("KILL QUERY {}", idle.connection_id()))?;
    expect_equal("a user variable", value(&mut idle, "SELECT @kept")?, "kept".into())
}

fn idle_connection(endpoint: &Endpoint) -> Result<(), Failed> {
    let mut idle = app(endpoint)?;
    idle.query_drop("SET @a = 1")?;
    let mut killer = app(endpoint)?;
    killer.query_drop(format!("KILL CONNECTION {}", idle.connection_id()))?;
    if idle.ping().is_ok() {
        return Err("the killed session answers".into());
    }
    expect_equal("the killer", value(&mut killer, "SELECT 'alive'")?, "alive".into())
}

fn locks_of_the_killed(endpoint: &Endpoint) -> Result<(), Failed> {
    let mut holder = app(endpoint)?;
    holder.query_drop("REPLACE INTO locked VALUES (1, 1)")?;
    holder.query_drop("BEGIN")?;
    holder.query_drop("UPDATE locked SET v = 2 WHERE id = 1")?;
    let mut other = app(endpoint)?;
    let id = holder.connection_id();
    other.query_drop(format!("KILL {id}"))?;
    eventually(BOUND, "the row is free", || {
        run(&mut other, "SELECT * FROM locked WHERE id = 1 FOR UPDATE NOWAIT").is_ok()
    })?;
    expect_equal("the update is undone", value(&mut other, "SELECT v FROM locked WHERE id = 1")?, "1".into())
}

/// A statement that waits for a lock and is its transaction's first.
fn first_statement(endpoint: &Endpoint) -> Result<(), Failed> {
    let mut holder = app(endpoint)?;
    holder.query_drop("REPLACE INTO locked VALUES (2, 1), (3, 1)")?;
    holder.query_drop("BEGIN")?;
    holder.query_drop("UPDATE locked SET v = 2 WHERE id = 2")?;
    let mut victim = app(endpoint)?;
    let id = victim.connection_id();
    victim.query_drop("BEGIN")?;
    let (ended, mut victim) = std::thread::scope(|scope| {
        let waiting = scope.spawn(move || (run(&mut victim, "UPDATE locked SET v = 3 WHERE id = 2"), victim));
        let mut killer = app(endpoint)?;
        eventually(BOUND, "the statement waits", || statement_of(&mut killer, id).contains("v = 3"))?;
        killer.query_drop(format!("KILL QUERY {id}"))?;
        waiting.join().map_err(|_| Failed::from("the session panicked"))
    })?;
    expect_error("the killed statement", &ended, 1317, "70100")?;
    victim.query_drop("UPDATE locked SET v = 4 WHERE id = 3")?;
    victim.query_drop("ROLLBACK")?;
    expect_equal("what was rolled back", value(&mut victim, "SELECT v FROM locked WHERE id = 3")?, "1".into())
}

fn own_session(endpoint: &Endpoint) -> Result<(), Failed> {
    let mut session = app(endpoint)?;
    let id = session.connection_id();
    expect_error("KILL QUERY of oneself", &session.query_drop(format!("KILL QUERY {id}")), 1317, "70100")?;
    expect_equal("the session", value(&mut session, "SELECT 'alive'")?, "alive".into())?;
    let ended = session.query_drop(format!("KILL {id}"));
    if ended.is_ok() && session.ping().is_ok() {
        return Err("a session that killed itself goes on".into());
    }
    // MySQL may close the connection before it answers.
    let code = if value(&mut app(endpoint)?, "SELECT VERSION()")?.contains("MariaDB") { 1927 } else { 1317 };
    if server_error(&ended).is_some_and(|(told, _)| told != code) {
        return Err(format!("a session that killed itself was told {ended:?}").into());
    }
    Ok(())
}

fn unknown_id(endpoint: &Endpoint) -> Result<(), Failed> {
    let mut session = app(endpoint)?;
    for statement in ["KILL 4000000000", "KILL QUERY 4000000000", "KILL CONNECTION 4000000000"] {
        expect_error(statement, &session.query_drop(statement), 1094, "HY000")?;
    }
    Ok(())
}

fn foreign_session(endpoint: &Endpoint) -> Result<(), Failed> {
    let mut victim = app(endpoint)?;
    let mut other = connect(endpoint.port, PLAIN, None)?;
    for statement in ["KILL", "KILL QUERY"] {
        let statement = format!("{statement} {}", victim.connection_id());
        expect_error(&statement, &other.query_drop(&statement), 1095, "HY000")?;
    }
    expect_equal("the victim", value(&mut victim, "SELECT 'alive'")?, "alive".into())
}

fn process_list(endpoint: &Endpoint) -> Result<(), Failed> {
    // A Weir's admin sees all sessions, as a user with PROCESS does; this one has neither.
    let mut first = connect(endpoint.port, PLAIN, None)?;
    let second = connect(endpoint.port, PLAIN, None)?;
    let foreign = app(endpoint)?;
    let rows: Vec<Row> = first.query("SHOW PROCESSLIST")?;
    let ids: Vec<u32> = rows.iter().filter_map(|row| row.get(0)).collect();
    for own in [first.connection_id(), second.connection_id()] {
        if !ids.contains(&own) {
            return Err(format!("{own} is not in the process list: {ids:?}").into());
        }
    }
    if ids.contains(&foreign.connection_id()) {
        return Err("another user's session is in the list of a user without PROCESS".into());
    }
    let names: Vec<String> =
        rows[0].columns_ref().iter().map(|column| column.name_str().into_owned()).take(8).collect();
    expect_equal("columns", names.join(" "), "Id User Host db Command Time State Info".into())?;
    let own = first.connection_id().to_string();
    expect_equal("CONNECTION_ID()", value(&mut first, "SELECT CONNECTION_ID()")?, own.clone())?;
    let mut last = String::new();
    let mut results = first.query_iter("SELECT 1; SELECT CONNECTION_ID()")?;
    while let Some(result) = results.iter() {
        for row in result {
            last = row?.get::<String, _>(0).unwrap_or_default();
        }
    }
    drop(results);
    expect_equal("CONNECTION_ID() in a second statement", last, own)
}

/// As a text, prepared, and among other statements.
fn by_expression(endpoint: &Endpoint) -> Result<(), Failed> {
    let mut killer = app(endpoint)?;
    let mut idle = app(endpoint)?;
    let id = idle.connection_id();
    killer.query_drop(format!("SET @victim = {id}"))?;
    killer.query_drop("KILL QUERY @victim")?;
    killer.query_drop(format!("KILL QUERY {id} + 0"))?;
    expect_equal("only a statement was meant", value(&mut idle, "SELECT 'alive'")?, "alive".into())?;
    expect_error("oneself", &run(&mut killer, "KILL QUERY CONNECTION_ID()"), 1317, "70100")?;
    expect_error("nobody", &run(&mut killer, "KILL QUERY 4000000000 + 1"), 1094, "HY000")?;
    for kill in ["KILL @victim", "KILL CONNECTION 1 * {id}", "SELECT 1; KILL {id}"] {
        let mut idle = app(endpoint)?;
        killer.query_drop(format!("SET @victim = {}", idle.connection_id()))?;
        killer.query_drop(kill.replace("{id}", &idle.connection_id().to_string()))?;
        eventually(BOUND, kill, || idle.ping().is_err())?;
    }
    let prepared = killer.exec_drop("KILL ?", (idle.connection_id(),));
    // MySQL prepares no KILL of a parameter.
    if server_error(&prepared).map(|(code, _)| code) != Some(6413) {
        prepared?;
        eventually(BOUND, "a parameter names it", || idle.ping().is_err())?;
    }
    expect_equal("the killer", value(&mut killer, "SELECT 'alive'")?, "alive".into())
}

fn all_of_a_user(endpoint: &Endpoint) -> Result<(), Failed> {
    let mut admin = app(endpoint)?;
    let mut others = [
        connect(endpoint.port, PLAIN, None)?,
        connect(endpoint.port, PLAIN, None)?,
        connect(endpoint.port, PLAIN, None)?,
    ];
    admin.query_drop("KILL QUERY USER plain")?;
    expect_equal("how many", admin.affected_rows(), 3)?;
    for other in &mut others {
        expect_equal("only a statement was meant", value(other, "SELECT 'alive'")?, "alive".into())?;
    }
    expect_error("another user's", &run(&mut others[0], "KILL USER app"), 1095, "HY000")?;
    admin.query_drop("KILL USER plain@'192.0.2.1'")?;
    expect_equal("from elsewhere", admin.affected_rows(), 0)?;
    admin.query_drop("KILL USER 'plain'@'127.0.0.1'")?;
    expect_equal("all of them", admin.affected_rows(), 3)?;
    for other in &mut others {
        eventually(BOUND, "it has ended", || other.ping().is_err())?;
    }
    expect_equal("the killer", value(&mut admin, "SELECT 'alive'")?, "alive".into())
}

/// MySQL has no such statement.
fn no_kill_user(endpoint: &Endpoint) -> Result<(), Failed> {
    expect_error("KILL USER", &run(&mut app(endpoint)?, "KILL USER plain"), 1064, "42000")
}
