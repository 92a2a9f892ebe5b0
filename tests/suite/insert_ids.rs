//! LAST_INSERT_ID() of sessions that share one connection: what an INSERT's OK says of it, and what is asked.

use std::io::Write;
use std::time::Duration;

use libtest_mimic::Failed;
use mysql::prelude::Queryable;
use mysql::{Conn, LocalInfileHandler};

use crate::Collector;
use crate::driver::{connect, expect_equal, run, server_error, value};
use crate::lab::{APP, Endpoint, Lab, Site, eventually};
use crate::script::for_flavor;
use crate::weir::Weir;

const BOUND: Duration = Duration::from_secs(60);

/// One connection for two sessions: each statement of one takes it from the other.
const SETTINGS: [(&str, &str); 3] =
    [("pool.max_connections", "1"), ("pool.queue_timeout", "\"60s\""), ("workers.threads", "1")];

/// In the database of each side.
const TABLES: [&str; 16] = [
    "DROP DATABASE IF EXISTS {db}",
    "CREATE DATABASE {db}",
    "CREATE TABLE {db}.noise (id BIGINT AUTO_INCREMENT PRIMARY KEY, v INT) AUTO_INCREMENT = 1000000",
    "CREATE TABLE {db}.plain (id INT AUTO_INCREMENT PRIMARY KEY, a INT UNIQUE, b VARCHAR(30))",
    "CREATE TABLE {db}.none (id INT PRIMARY KEY, a INT)",
    "CREATE TABLE {db}.within (a INT, id SMALLINT UNSIGNED AUTO_INCREMENT, KEY (id))",
    "CREATE TABLE {db}.before_it (id INT AUTO_INCREMENT PRIMARY KEY, a INT)",
    "CREATE TRIGGER {db}.gives BEFORE INSERT ON {db}.before_it FOR EACH ROW SET NEW.id = NEW.id + 70 + NEW.a",
    "CREATE TABLE {db}.after_it (id INT AUTO_INCREMENT PRIMARY KEY, a INT)",
    "CREATE TRIGGER {db}.adds AFTER INSERT ON {db}.after_it FOR EACH ROW INSERT INTO {db}.noise (v) VALUES (1), (2)",
    "CREATE VIEW {db}.seen AS SELECT id, a FROM {db}.plain",
    "CREATE VIEW {db}.seen_before AS SELECT id, a FROM {db}.before_it",
    "CREATE TABLE {db}.changing (id INT AUTO_INCREMENT PRIMARY KEY, a INT) AUTO_INCREMENT = 500",
    "CREATE TABLE {db}.other (id INT AUTO_INCREMENT PRIMARY KEY, a INT) AUTO_INCREMENT = 500",
    "CREATE TRIGGER {db}.gives_too BEFORE INSERT ON {db}.other FOR EACH ROW SET NEW.id = 7000 + NEW.a",
    "CREATE TABLE {db}.moved (id INT)",
];

/// Of each the OK and LAST_INSERT_ID() behind it are those of a direct connection.
const STATEMENTS: [&str; 47] = [
    "INSERT INTO plain (id, a) VALUES (0, 1)",
    "INSERT INTO plain (a) VALUES (2)",
    "INSERT INTO plain (id, a, b) VALUES (NULL, 3, 'x'), (DEFAULT, 4, 'y')",
    "INSERT INTO plain (id, a) VALUES (50, 5)",
    "INSERT INTO plain (a, id) VALUES (6, 60), (7, 61)",
    "INSERT INTO plain (id, a) VALUES (0, 8), (90, 9)",
    "INSERT INTO plain (id, a) VALUES (100, 10), (0, 11)",
    "INSERT INTO plain VALUES (0, 12, 'no columns')",
    "INSERT INTO plain SET id = 0, a = 13",
    "INSERT INTO plain (id, a) VALUES ('0', 14)",
    "INSERT INTO plain (id, a) VALUES (1 - 1, 15)",
    "INSERT INTO plain (id, a) VALUES (200 + 1, 16)",
    "INSERT INTO plain (id, a) VALUES (0, 1)",
    "INSERT INTO plain (id, a) VALUES (300, 17)",
    "INSERT IGNORE INTO plain (id, a) VALUES (0, 1)",
    "INSERT IGNORE INTO plain (id, a) VALUES (0, 1), (0, 18)",
    "INSERT INTO plain (id, a) VALUES (0, 1) ON DUPLICATE KEY UPDATE b = 'again'",
    "INSERT INTO plain (id, a) VALUES (0, 1) ON DUPLICATE KEY UPDATE id = LAST_INSERT_ID(id), b = 'asked'",
    "INSERT INTO plain (id, a) VALUES (0, 19) ON DUPLICATE KEY UPDATE b = 'new'",
    "REPLACE INTO plain (id, a) VALUES (0, 1)",
    "REPLACE INTO plain (id, a) VALUES (400, 1)",
    "INSERT INTO plain (id, a) VALUES (0, LAST_INSERT_ID(1234))",
    "INSERT INTO plain (id, a) VALUES (3000, LAST_INSERT_ID(1235))",
    "INSERT INTO plain (id, a) VALUES (0, LAST_INSERT_ID())",
    "INSERT INTO plain (a) SELECT 20",
    "INSERT INTO none (id, a) VALUES (1, 1)",
    "INSERT INTO none (id, a) VALUES (2, LAST_INSERT_ID(99))",
    "INSERT INTO within (a, id) VALUES (1, 0)",
    "INSERT INTO within (a, id) VALUES (1, 40)",
    "INSERT INTO before_it (id, a) VALUES (0, 1)",
    "INSERT INTO before_it (id, a) VALUES (5, 4)",
    "INSERT INTO before_it (a) VALUES (30)",
    "INSERT INTO after_it (id, a) VALUES (0, 1)",
    "INSERT INTO after_it (id, a) VALUES (60, 1)",
    "INSERT INTO seen (id, a) VALUES (0, 21)",
    "INSERT INTO seen_before (id, a) VALUES (0, 101)",
    "SET sql_mode = ''",
    "INSERT INTO plain (id, a) VALUES ('x', 22)",
    "INSERT INTO plain (id, a) VALUES (0, 'x')",
    "INSERT INTO within (a, id) VALUES (1, 99999999999)",
    "SET sql_mode = 'NO_AUTO_VALUE_ON_ZERO'",
    "INSERT INTO plain (id, a) VALUES (0, 23)",
    "INSERT INTO within (a, id) VALUES (1, 0)",
    "INSERT INTO plain (id, a) VALUES (NULL, 24)",
    "SET sql_mode = DEFAULT",
    "UPDATE none SET a = LAST_INSERT_ID(77) WHERE id = 1",
    "INSERT INTO plain (id, a) VALUES (0, 25)",
];

/// Adds this module's tests.
pub(crate) fn collect(tests: &mut Collector) {
    tests.add_for_weir("insert_ids::last_insert_id_is_that_of_a_direct_connection", |lab: &Lab, flavor| {
        let site = lab.site(flavor)?;
        lab.with_endpoint(site, &SETTINGS, |endpoint| as_directly(site, endpoint))
    });
    tests.add_for_weir("insert_ids::what_no_ok_tells_is_not_another_sessions", |lab: &Lab, flavor| {
        let site = lab.site(flavor)?;
        lab.with_endpoint(site, &SETTINGS, |endpoint| untold(site, endpoint))
    });
    tests.add_for_weir("insert_ids::a_new_trigger_counts_at_once_or_soon", |lab: &Lab, flavor| {
        let site = lab.site(flavor)?;
        lab.with_endpoint(site, &SETTINGS, |endpoint| new_trigger(site, endpoint))
    });
}

/// Another session that uses the connection, and inserts too.
fn between(other: &mut Conn) -> Result<(), Failed> {
    run(other, "SELECT 1/0 FROM (SELECT 1) AS t")?;
    Ok(run(other, "INSERT INTO noise (v) VALUES (1)")?)
}

/// Waits until the id in the OK of an INSERT says what LAST_INSERT_ID() is.
fn wait_until_told(weir: &Weir, one: &mut Conn, other: &mut Conn, statement: &str) -> Result<(), Failed> {
    eventually(BOUND, &format!("told: {statement}"), || {
        let counted = || weir.counter("weir_backend_insert_ids_told").unwrap_or_default();
        let before = counted();
        run(one, statement).is_ok() && counted() > before && between(other).is_ok()
    })
}

/// What a statement answers, and LAST_INSERT_ID() when others have run theirs.
fn outcome(one: &mut Conn, other: Option<&mut Conn>, statement: &str) -> Result<String, Failed> {
    let ran = run(one, statement);
    let told = match server_error(&ran) {
        Some((code, _)) => format!("error {code}"),
        None => {
            ran?;
            format!("{} rows, id {}, {} warnings", one.affected_rows(), one.last_insert_id(), one.warnings())
        }
    };
    other.map_or(Ok(()), between)?;
    Ok(format!("{told}, LAST_INSERT_ID() {}", value(one, "SELECT LAST_INSERT_ID()")?))
}

fn as_directly(site: &Site, endpoint: &Endpoint) -> Result<(), Failed> {
    let weir = endpoint.weir.as_ref().ok_or("there is no Weir")?;
    let (directly, through) = ("t_ids_directly", "t_ids_through");
    site.fill(directly, &TABLES)?;
    site.fill(through, &TABLES)?;
    let mut direct = connect(site.server.port(), APP, Some(directly))?;
    let mut one = connect(endpoint.port, APP, Some(through))?;
    let mut other = connect(endpoint.port, APP, Some(through))?;
    let add = |conn: &mut Conn, text: &str| conn.query_drop(text);
    // The same rows on both sides, and all tables asked for that it is about.
    for table in ["plain", "within", "after_it"] {
        wait_until_told(weir, &mut one, &mut other, &format!("INSERT INTO {table} (id) VALUES (0)"))?;
    }
    site.fill(through, &TABLES)?;
    add(&mut one, "SET @@last_insert_id = 12")?;
    add(&mut direct, "SET @@last_insert_id = 12")?;
    let told = weir.counter("weir_backend_insert_ids_told")?;
    for statement in STATEMENTS {
        let expected = outcome(&mut direct, None, statement)?;
        expect_equal(statement, outcome(&mut one, Some(&mut other), statement)?, expected)?;
    }
    if weir.counter("weir_backend_insert_ids_told")? == told {
        return Err("no id was told".into());
    }
    let text = "INSERT INTO plain (a, id) VALUES (?, ?)";
    let (here, there) = (direct.prep(text)?, one.prep(text)?);
    for (a, id) in [(31, Some(0)), (32, Some(6000)), (33, None), (34, Some(0))] {
        let mut ids = Vec::new();
        for (conn, statement) in [(&mut direct, &here), (&mut one, &there)] {
            conn.exec_drop(statement, (a, id))?;
            let own = conn.last_insert_id();
            between(&mut other)?;
            ids.push((own, value(conn, "SELECT LAST_INSERT_ID()")?));
        }
        expect_equal(&format!("executed with {id:?}"), &ids[1], &ids[0])?;
    }
    Ok(())
}

/// What may generate a value of which no OK tells. (CALL and EXECUTE bind their session to its connection.)
const UNTOLD: [&str; 5] = [
    "INSERT INTO plain (a) VALUES (1001), (1)",
    "LOAD DATA LOCAL INFILE 'any' INTO TABLE plain (a)",
    "LOAD DATA LOCAL INFILE 'any' INTO TABLE within (a)",
    "INSERT INTO plain (a) VALUES (1003); INSERT INTO plain (a) VALUES (1)",
    "mariadb|INSERT INTO plain (a) VALUES (1007) RETURNING id; SELECT 1",
];

fn untold(site: &Site, endpoint: &Endpoint) -> Result<(), Failed> {
    let (directly, through) = ("t_ids_untold_directly", "t_ids_untold_through");
    let mut conns = Vec::new();
    for (database, port) in [(directly, site.server.port()), (through, endpoint.port)] {
        site.fill(database, &TABLES)?;
        site.fill(database, &["INSERT INTO {db}.plain (a) VALUES (1)"])?;
        let mut conn = connect(port, APP, Some(database))?;
        conn.set_local_infile_handler(Some(LocalInfileHandler::new(|_, file| file.write_all(b"2001\n2002\n"))));
        conns.push(conn);
    }
    let mut other = connect(endpoint.port, APP, Some(through))?;
    for statement in UNTOLD.iter().filter_map(|statement| for_flavor(statement, site.flavor)) {
        let mut seen = Vec::new();
        for conn in &mut conns {
            let ran = run(conn, statement);
            let code = server_error(&ran).map(|(code, _)| code);
            // Whatever the failure has left goes, and the connection is given back.
            run(conn, "SELECT a FROM none")?;
            expect_equal("of another session", value(&mut other, "SELECT LAST_INSERT_ID()")?, "0".to_owned())?;
            seen.push(format!("{code:?}, LAST_INSERT_ID() {}", value(conn, "SELECT LAST_INSERT_ID()")?));
        }
        expect_equal(statement, &seen[1], &seen[0])?;
    }
    Ok(())
}

fn new_trigger(site: &Site, endpoint: &Endpoint) -> Result<(), Failed> {
    let weir = endpoint.weir.as_ref().ok_or("there is no Weir")?;
    let database = "t_ids_changing";
    site.fill(database, &TABLES)?;
    let mut one = connect(endpoint.port, APP, Some(database))?;
    let mut other = connect(endpoint.port, APP, Some(database))?;
    let insert = "INSERT INTO changing (a) VALUES (1)";
    wait_until_told(weir, &mut one, &mut other, insert)?;
    run(&mut one, "SELECT LAST_INSERT_ID(77)")?;
    // The table has a trigger from now on, and its ids are not generated.
    run(&mut other, "RENAME TABLE changing TO was, other TO changing")?;
    let unchanged = |one: &mut Conn, other: &mut Conn, a: u32| -> Result<bool, Failed> {
        run(one, &format!("INSERT INTO changing (a) VALUES ({a})"))?;
        expect_equal("the trigger's id", one.last_insert_id(), u64::from(7000 + a))?;
        between(other)?;
        Ok(value(one, "SELECT LAST_INSERT_ID()")? == "77")
    };
    for a in 1..4 {
        expect_equal("unchanged at once", unchanged(&mut one, &mut other, a)?, true)?;
    }
    run(&mut other, "RENAME TABLE changing TO other, was TO changing")?;
    wait_until_told(weir, &mut one, &mut other, insert)?;
    // The same behind Weir's back.
    site.fill(database, &["RENAME TABLE {db}.changing TO {db}.was, {db}.other TO {db}.changing"])?;
    let mut next = 10;
    let mut failed = None;
    eventually(BOUND, "a definition made elsewhere counts", || {
        next += 1;
        let reset = run(&mut one, "SELECT LAST_INSERT_ID(77)");
        match reset.map_err(Failed::from).and_then(|()| unchanged(&mut one, &mut other, next)) {
            Ok(unchanged) => unchanged,
            Err(error) => {
                failed = Some(error);
                true
            }
        }
    })?;
    failed.map_or(Ok(()), Err)?;
    for a in 5000..5003 {
        expect_equal("unchanged from then on", unchanged(&mut one, &mut other, a)?, true)?;
    }
    Ok(())
}
