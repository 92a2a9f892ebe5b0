//! The `WEIR …` statements and the metrics endpoint.

use std::time::Duration;

use libtest_mimic::Failed;
use mysql::prelude::Queryable;
use mysql::{Conn, Row};
use weir_local::Flavor;

use crate::Collector;
use crate::driver::{connect, expect_equal, expect_error};
use crate::lab::{APP, Endpoint, Lab, PLAIN, Site, eventually};

const BOUND: Duration = Duration::from_secs(20);

type Case = (&'static str, fn(&Site, &Endpoint) -> Result<(), Failed>);

/// Adds this module's tests.
pub(crate) fn collect(tests: &mut Collector) {
    let cases: [Case; 6] = [
        ("show_sessions_says_what_pins_each_session", pins),
        ("show_pools_and_servers_count_connections", pools),
        ("status_and_help_answer", status),
        ("unknown_statement_is_1064", unknown),
        ("without_the_admin_right_is_1227", denied),
        ("metrics_are_served_without_passwords", metrics),
    ];
    for (word, case) in cases {
        tests.add_for_weir(&format!("admin::{word}"), move |lab: &Lab, flavor: Flavor| {
            let site = lab.site(flavor)?;
            site.fill("t_admin", &["CREATE DATABASE IF NOT EXISTS {db}"])?;
            lab.with_endpoint(site, &[], |endpoint| case(site, endpoint))
        });
    }
}

fn app(endpoint: &Endpoint) -> mysql::Result<Conn> {
    connect(endpoint.port, APP, Some("t_admin"))
}

/// A column of the row whose column `key` is `wanted`.
fn cell(rows: &[Row], key: &str, wanted: &str, column: &str) -> Result<String, Failed> {
    let text = |row: &Row, name: &str| row.get::<Option<String>, _>(name).flatten().unwrap_or_default();
    let row = rows.iter().find(|row| text(row, key) == wanted);
    row.map(|row| text(row, column)).ok_or_else(|| format!("no row with {key} = {wanted}: {rows:?}").into())
}

/// The pins of a session, as `WEIR SHOW SESSIONS` says them.
pub(crate) fn pins_of(admin: &mut Conn, id: u32) -> Result<String, Failed> {
    let rows: Vec<Row> = admin.query("WEIR SHOW SESSIONS")?;
    cell(&rows, "id", &id.to_string(), "pins")
}

fn pins(_: &Site, endpoint: &Endpoint) -> Result<(), Failed> {
    let mut admin = app(endpoint)?;
    let cases = [
        (
            vec!["BEGIN", "CREATE TABLE IF NOT EXISTS pinned (id INT)", "BEGIN", "INSERT INTO pinned VALUES (1)"],
            "transaction",
        ),
        (vec!["CREATE TEMPORARY TABLE mine (id INT)"], "temporary"),
        (vec!["SELECT GET_LOCK('t_admin', 0)"], "lock"),
        (vec!["CREATE TABLE IF NOT EXISTS pinned (id INT)", "LOCK TABLES pinned READ"], "lock"),
        (vec!["PREPARE p FROM 'SELECT 1'"], "prepare"),
    ];
    for (statements, word) in cases {
        let mut session = app(endpoint)?;
        expect_equal("pins of a new session", pins_of(&mut admin, session.connection_id())?, String::new())?;
        for statement in &statements {
            session.query_drop(statement)?;
        }
        let said = pins_of(&mut admin, session.connection_id())?;
        if !said.to_lowercase().contains(word) {
            return Err(format!("after {statements:?} the pins are {said:?}, without {word:?}").into());
        }
        session.reset()?;
        eventually(BOUND, "a session that was reset has no pins", || {
            pins_of(&mut admin, session.connection_id()).is_ok_and(|pins| pins.is_empty())
        })?;
    }
    let mut session = app(endpoint)?;
    session.query_drop("SET @a = 1, @b = 'text'")?;
    session.query_drop("SET sql_mode = 'ANSI', time_zone = '+01:00'")?;
    session.query_drop("SELECT @a")?;
    expect_equal("pins after settings", pins_of(&mut admin, session.connection_id())?, String::new())
}

fn pools(_: &Site, endpoint: &Endpoint) -> Result<(), Failed> {
    let mut admin = app(endpoint)?;
    admin.query_drop("SELECT @@port")?;
    eventually(BOUND, "a connection is open after a statement", || {
        let rows: Vec<Row> = admin.query("WEIR SHOW POOLS").unwrap_or_default();
        rows.iter().filter_map(|row| row.get::<u64, _>("open")).sum::<u64>() > 0
    })?;
    let servers: Vec<Row> = admin.query("WEIR SHOW SERVERS")?;
    expect_equal("health", cell(&servers, "server", "writer", "health")?, "up".into())
}

fn status(_: &Site, endpoint: &Endpoint) -> Result<(), Failed> {
    let mut admin = app(endpoint)?;
    let rows: Vec<Row> = admin.query("WEIR STATUS")?;
    expect_equal("sessions", cell(&rows, "name", "sessions", "value")?, "1".into())?;
    expect_equal("servers up", cell(&rows, "name", "servers_up", "value")?, "1".into())?;
    let help: Vec<Row> = admin.query("weir help")?;
    if help.len() < 3 {
        return Err("WEIR HELP lists nothing".into());
    }
    expect_error("WEIR STATUS prepared", &admin.prep("WEIR STATUS"), 1295, "HY000")
}

fn unknown(_: &Site, endpoint: &Endpoint) -> Result<(), Failed> {
    let mut admin = app(endpoint)?;
    expect_error("WEIR NONSENSE", &admin.query_drop("WEIR NONSENSE"), 1064, "42000")?;
    admin.query_drop("SELECT 1")?;
    Ok(())
}

fn denied(_: &Site, endpoint: &Endpoint) -> Result<(), Failed> {
    let mut plain = connect(endpoint.port, PLAIN, None)?;
    for statement in ["WEIR STATUS", "WEIR SHOW SESSIONS", "WEIR SHOW POOLS", "WEIR NONSENSE"] {
        expect_error(statement, &plain.query_drop(statement), 1227, "42000")?;
    }
    plain.query_drop("SELECT 1")?;
    Ok(())
}

fn metrics(_: &Site, endpoint: &Endpoint) -> Result<(), Failed> {
    app(endpoint)?.query_drop("SELECT 1 FROM DUAL")?;
    let text = endpoint.weir.as_ref().ok_or("no Weir")?.metrics()?;
    if !text.starts_with("HTTP/1.1 200") || !text.contains("\nweir_") {
        return Err(format!("no metrics: {text}").into());
    }
    for name in ["weir_lanes{", "weir_lanes_riding{", "weir_pool_waiting{", "weir_backend_queue_seconds_total "] {
        if !text.contains(name) {
            return Err(format!("{name} is not in the metrics: {text}").into());
        }
    }
    if text.contains(APP.1) || text.contains("monitor secret") {
        return Err("a password is in the metrics".into());
    }
    Ok(())
}
