//! The slow log and the audit log.

use std::os::unix::fs::symlink;
use std::path::Path;

use libtest_mimic::Failed;
use mysql::Row;
use mysql::prelude::Queryable;
use serde_json::Value as Json;
use weir_local::Flavor;

use super::{BOUND, Case, DATABASE, app, fill};
use crate::driver::{connect, expect_equal, expect_error, run};
use crate::lab::{APP, Endpoint, Lab, PLAIN, Site, eventually};

pub(super) const CASES: &[Case] = &[
    ("slow_statements_are_logged", &[("slow_log.file", "\"slow.log\""), ("slow_log.min_time", "\"100ms\"")], slow),
    ("what_happens_is_audited", &[("audit_log.file", "\"audit.log\""), ("audit_log.literals", "true")], audited),
    (
        "the_audit_log_takes_what_it_is_asked_to",
        &[
            ("audit_log.file", "\"audit.log\""),
            ("audit_log.events", "[\"statements\"]"),
            ("audit_log.users", "[\"plain\"]"),
            ("audit_log.kinds", "[\"delete\", \"transaction\"]"),
        ],
        chosen,
    ),
];

/// The lines of a log, once there are so many; they are written shortly after what they tell of.
fn lines(file: &Path, count: usize) -> Result<Vec<Json>, Failed> {
    let mut text = String::new();
    eventually(BOUND, "the lines are written", || {
        text = std::fs::read_to_string(file).unwrap_or_default();
        text.lines().count() >= count
    })
    .map_err(|_| Failed::from(format!("{count} lines expected: {text}")))?;
    text.lines().map(|line| serde_json::from_str(line).map_err(|error| format!("{line}: {error}").into())).collect()
}

fn texts<'a>(lines: &'a [Json], event: &str) -> Vec<&'a str> {
    let of_event = lines.iter().filter(|line| line["event"] == event);
    of_event.filter_map(|line| line["text"].as_str()).collect()
}

fn slow(_: &Site, endpoint: &mut Endpoint) -> Result<(), Failed> {
    let file = endpoint.weir.as_ref().ok_or("no Weir")?.directory().join("slow.log");
    let mut client = app(endpoint)?;
    client.query_drop("REPLACE INTO items VALUES (1, 'one')")?;
    client.query_drop("SELECT SLEEP(0.2), name FROM items WHERE id = 1")?;
    let _: Vec<Row> = client.exec("SELECT SLEEP(?), name FROM items WHERE id = 1", (0.2,))?;
    expect_error(
        "slow and wrong",
        &run(&mut client, "SELECT SLEEP(0.2) FROM items WHERE id = 1 AND (SELECT 1 UNION SELECT SLEEP(0.2))"),
        1242,
        "21000",
    )?;
    let logged = lines(&file, 3)?;
    expect_equal("lines", logged.len(), 3)?;
    let text = "SELECT SLEEP(?), name FROM items WHERE id = ?";
    for line in &logged[..2] {
        expect_equal("text", line["text"].as_str(), Some(text))?;
        expect_equal("user", line["user"].as_str(), Some(APP.0))?;
        expect_equal("database", line["db"].as_str(), Some(DATABASE))?;
        expect_equal("session", line["session"].as_u64(), Some(client.connection_id().into()))?;
        expect_equal("rows", line["rows_sent"].as_u64(), Some(1))?;
        expect_equal("server", (line["server"].as_str(), line["place"].as_str()), (Some("writer"), Some("writer")))?;
        expect_equal("long enough", line["duration_ms"].as_f64() >= Some(100.0), true)?;
        expect_equal("time", line["time"].as_str().is_some_and(|time| time.ends_with('Z')), true)?;
        let digest = weir_sql::digest(text.as_bytes(), weir_sql::LexMode::default()).to_string();
        expect_equal("digest", line["digest"].as_str(), Some(digest.as_str()))?;
    }
    expect_equal("error", logged[2]["error"].as_u64(), Some(1242))?;

    client.query_drop("WEIR ROTATE LOGS")?;
    expect_equal("the new file", std::fs::read_to_string(&file)?, String::new())?;
    expect_equal("the old file", lines(&file.with_extension("log.1"), 3)?.len(), 3)?;
    // As a program that rotates logs does it.
    std::fs::rename(&file, file.with_extension("taken"))?;
    client.query_drop("WEIR ROTATE LOGS")?;
    client.query_drop("SELECT SLEEP(0.2)")?;
    expect_equal("lines after it", lines(&file, 1)?.len(), 1)?;
    let metrics = endpoint.weir.as_ref().ok_or("no Weir")?.metrics()?;
    expect_equal("the metric", metrics.contains("weir_log_lines_total{log=\"slow\"} 4"), true)
}

fn audited(_: &Site, endpoint: &mut Endpoint) -> Result<(), Failed> {
    let file = endpoint.weir.as_ref().ok_or("no Weir")?.directory().join("audit.log");
    let mut client = app(endpoint)?;
    client.query_drop("SELECT 'shown'")?;
    let _: Vec<Row> = client.exec("SELECT ?", ("a value",))?;
    run(&mut client, "SET PASSWORD FOR nobody = 'hunter2'").expect_err("there is no such user");
    run(&mut client, "ALTER USER nobody IDENTIFIED BY hunter2").expect_err("no quotes");
    client.query_drop("WEIR STATUS")?;
    expect_error("WEIR", &client.query_drop("WEIR NONSENSE"), 1064, "42000")?;
    drop(client);
    expect_error("a wrong password", &connect(endpoint.port, (APP.0, "wrong"), None), 1045, "28000")?;
    let logged = lines(&file, 9)?;
    let of = |event: &str| logged.iter().filter(|line| line["event"] == event).collect::<Vec<_>>();
    expect_equal("connects", of("connect").len(), 1)?;
    expect_equal("disconnects", of("disconnect").len(), 1)?;
    expect_equal("failed logins", of("failed-login").len(), 1)?;
    expect_equal("code", of("failed-login")[0]["error"].as_u64(), Some(1045))?;
    expect_equal("commands", texts(&logged, "admin"), vec!["WEIR STATUS", "WEIR NONSENSE"])?;
    expect_equal("code", of("admin")[1]["error"].as_u64(), Some(1064))?;
    let statements = texts(&logged, "statement");
    expect_equal("statements", statements[..2].to_vec(), vec!["SELECT 'shown'", "SELECT ?"])?;
    let text = std::fs::read_to_string(&file)?;
    expect_equal(&text, text.contains("hunter2") || text.contains("wrong"), false)
}

fn chosen(_: &Site, endpoint: &mut Endpoint) -> Result<(), Failed> {
    let file = endpoint.weir.as_ref().ok_or("no Weir")?.directory().join("audit.log");
    for account in [APP, PLAIN] {
        let mut client = connect(endpoint.port, account, Some(DATABASE))?;
        client.query_drop("SELECT 1")?;
        client.query_drop("DELETE FROM items WHERE id = 99")?;
        client.query_drop("COMMIT")?;
    }
    let logged = lines(&file, 2)?;
    expect_equal("texts", texts(&logged, "statement"), vec!["DELETE FROM items WHERE id = ?", "COMMIT"])?;
    expect_equal("lines", logged.len(), 2)?;
    expect_equal("user", logged[0]["user"].as_str(), Some(PLAIN.0))
}

/// A disk that is full, and then is not: a name that leads to /dev/full, and then to a file.
pub(super) fn full_disk(lab: &Lab, flavor: Flavor, refuses: bool) -> Result<(), Failed> {
    let site = lab.site(flavor)?;
    fill(site)?;
    let file = lab.directory()?.join("audit.log");
    symlink("/dev/full", &file)?;
    let path = format!("\"{}\"", file.display());
    let settings = [
        ("audit_log.file", path.as_str()),
        ("audit_log.events", "[\"statements\"]"),
        ("audit_log.on_failure", if refuses { "\"refuse\"" } else { "\"drop\"" }),
    ];
    lab.with_endpoint(site, &settings, |endpoint| {
        let mut client = app(endpoint)?;
        if !refuses {
            for _ in 0..20 {
                client.query_drop("SELECT 1")?;
            }
            let metric = "weir_log_lost_total{log=\"audit\"} 20";
            let weir = endpoint.weir.as_ref().ok_or("no Weir")?;
            return eventually(BOUND, "the lines are counted", || {
                weir.metrics().is_ok_and(|text| text.contains(metric))
            });
        }
        let mut ran = 0;
        eventually(BOUND, "statements are refused", || {
            let outcome = client.query_drop("SELECT 1");
            ran += usize::from(outcome.is_ok());
            crate::driver::server_error(&outcome) == Some((3164, "HY000".into()))
        })?;
        let prepared: mysql::Result<Vec<Row>> = client.exec("SELECT ?", (1,));
        expect_error("prepared", &prepared, 3164, "HY000")?;
        client.query_drop("WEIR STATUS")?;
        std::fs::remove_file(&file)?;
        eventually(BOUND, "statements run again", || client.query_drop("SELECT 2").is_ok())?;
        eventually(BOUND, "its line is there", || {
            lines(&file, 1).is_ok_and(|logged| logged.last().is_some_and(|line| line["error"].is_null()))
        })?;
        // The refusals are there too.
        let logged = lines(&file, ran + 3)?;
        let with = |error: Option<u64>| logged.iter().filter(|line| line["error"].as_u64() == error).count();
        expect_equal("what has run is there", with(None), ran + 1)?;
        expect_equal("and what was refused", with(Some(3164)) >= 2, true)
    })
}
