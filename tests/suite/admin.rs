//! The `WEIR …` statements and the metrics endpoint.

use std::time::Duration;

use libtest_mimic::Failed;
use mysql::consts::ColumnType;
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
    let cases: [Case; 9] = [
        ("show_sessions_says_what_pins_each_session", pins),
        ("show_pools_and_servers_count_connections", pools),
        ("status_and_help_answer", status),
        ("unknown_statement_is_1064", unknown),
        ("like_chooses_rows_and_columns_are_typed", like),
        ("kill_ends_a_statement_or_a_session", kill),
        ("the_log_level_can_be_changed", log_level),
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
    expect_equal("pins after settings", pins_of(&mut admin, session.connection_id())?, String::new())?;
    tracks(&mut admin, session, endpoint)
}

/// As MariaDB Connector/J names the variables that it wants to be told of: the session alone has them, and no connection.
fn tracks(admin: &mut Conn, mut session: Conn, endpoint: &Endpoint) -> Result<(), Failed> {
    const TRACKED: &str =
        "SELECT @@session_track_system_variables, @@GLOBAL.session_track_system_variables, @@sql_mode";
    session.query_drop(
        "SET sql_mode = CONCAT(@@sql_mode, ',HIGH_NOT_PRECEDENCE'), \
         session_track_system_variables = CONCAT(@@GLOBAL.session_track_system_variables, ',sql_mode'), NAMES utf8mb4",
    )?;
    for _ in 0..3 {
        expect_equal("pins of who tracks", pins_of(admin, session.connection_id())?, String::new())?;
        let (own, global, mode): (String, String, String) = session.query_first(TRACKED)?.ok_or("no row")?;
        // MariaDB sorts them.
        let sorted = |names: &str| names.split(',').map(str::to_owned).collect::<std::collections::BTreeSet<_>>();
        expect_equal("what it tracks", sorted(&own), sorted(&format!("{global},sql_mode")))?;
        expect_equal("its sql_mode", mode.contains("ANSI") && mode.contains("HIGH_NOT_PRECEDENCE"), true)?;
        let (own, global, _): (String, String, String) = app(endpoint)?.query_first(TRACKED)?.ok_or("no row")?;
        expect_equal("what another session tracks", own, global)?;
    }
    Ok(())
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
    match admin.query_drop("WEIR SHOW SERVRES") {
        Err(mysql::Error::MySqlError(error)) if error.message.contains("did you mean SERVERS?") => {}
        other => return Err(format!("no suggestion: {other:?}").into()),
    }
    admin.query_drop("SELECT 1")?;
    Ok(())
}

fn like(_: &Site, endpoint: &Endpoint) -> Result<(), Failed> {
    let mut admin = app(endpoint)?;
    let settings: Vec<(String, Option<String>, String)> = admin.query("WEIR SHOW CONFIG LIKE 'pool.max\\_%'")?;
    let queue = ("pool.max_queue".into(), Some("10000".into()), "default".into());
    expect_equal("max_queue", settings.contains(&queue), true)?;
    expect_equal("keys of the pool only", settings.iter().all(|(key, ..)| key.starts_with("pool.max_")), true)?;
    let all: Vec<(String, Option<String>, String)> = admin.query("WEIR SHOW CONFIG")?;
    let secret = |text: &str| text.contains(APP.1) || text.contains("monitor secret");
    expect_equal("secrets", all.iter().any(|(_, value, _)| value.as_deref().is_some_and(secret)), false)?;
    let password = ("users.app.password".into(), Some("***".into()), "file".into());
    expect_equal("a masked password", all.contains(&password), true)?;
    let servers: Vec<Row> = admin.query("WEIR SHOW SERVERS LIKE 'WRI%'")?;
    expect_equal("servers", servers.len(), 1)?;
    expect_equal("servers", admin.query::<Row, _>("WEIR SHOW SERVERS LIKE 'no%'")?.len(), 0)?;
    let pools = admin.query_iter("WEIR SHOW POOLS")?;
    let kinds: Vec<_> = pools.columns().as_ref().iter().map(|column| column.column_type()).collect();
    let (text, integer, number) =
        (ColumnType::MYSQL_TYPE_VAR_STRING, ColumnType::MYSQL_TYPE_LONGLONG, ColumnType::MYSQL_TYPE_DOUBLE);
    expect_equal("server, worker, depth", [kinds[0], kinds[1], kinds[9]], [text, integer, number])
}

fn kill(_: &Site, endpoint: &Endpoint) -> Result<(), Failed> {
    let mut admin = app(endpoint)?;
    let mut victim = app(endpoint)?;
    let id = victim.connection_id();
    std::thread::scope(|scope| -> Result<(), Failed> {
        let running =
            scope.spawn(|| crate::driver::run(&mut victim, "SELECT SLEEP(60) FROM information_schema.schemata"));
        eventually(BOUND, "the statement runs", || {
            let rows: Vec<Row> = admin.query("WEIR SHOW SESSIONS").unwrap_or_default();
            cell(&rows, "id", &id.to_string(), "statement").is_ok_and(|text| text.contains("SLEEP"))
        })?;
        admin.query_drop(format!("WEIR KILL QUERY {id}"))?;
        expect_error("the killed statement", &running.join().expect("no panic"), 1317, "70100")
    })?;
    victim.query_drop("SELECT 1")?;
    admin.query_drop(format!("WEIR KILL {id};"))?;
    eventually(BOUND, "the session has ended", || victim.ping().is_err())?;
    eventually(BOUND, "the id is unknown", || {
        crate::driver::server_error(&admin.query_drop(format!("WEIR KILL CONNECTION {id}")))
            == Some((1094, "HY000".into()))
    })
}

fn log_level(_: &Site, endpoint: &Endpoint) -> Result<(), Failed> {
    let mut admin = app(endpoint)?;
    let weir = endpoint.weir.as_ref().ok_or("no Weir")?;
    let setting = |admin: &mut Conn| -> Result<Option<(String, String, String)>, Failed> {
        Ok(admin.query_first("WEIR SHOW CONFIG LIKE 'log.level'")?)
    };
    expect_equal("level", setting(&mut admin)?, Some(("log.level".into(), "info".into(), "default".into())))?;
    expect_error("no level", &admin.query_drop("WEIR SET LOG LEVEL loud"), 1231, "42000")?;
    let broken_login = || std::net::TcpStream::connect(("127.0.0.1", endpoint.port)).map(drop);
    broken_login()?;
    expect_equal("debug lines", weir.log_tail().contains("DEBUG"), false)?;
    admin.query_drop("WEIR SET LOG LEVEL = 'info,weir_frontend=debug'")?;
    let expected = ("log.level".into(), "info,weir_frontend=debug".into(), "SET LOG LEVEL".into());
    expect_equal("level", setting(&mut admin)?, Some(expected))?;
    eventually(BOUND, "a debug line comes", || broken_login().is_ok() && weir.log_tail().contains("login broken off"))
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
