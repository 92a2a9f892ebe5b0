//! A move that cuts over at a time: the time outlives Weir, can be changed and taken back, and is the session's.

use std::time::{SystemTime, UNIX_EPOCH};

use libtest_mimic::Failed;
use mysql::Conn;
use mysql::prelude::Queryable;
use weir_local::{Flavor, PortChoice, Server, free_port};

use super::{BOUND, Shards, all, latest, reaches};
use crate::Collector;
use crate::driver::{expect_equal, expect_error, value};
use crate::lab::{Lab, eventually};
use crate::weir::{Weir, command};

/// Adds this module's tests.
pub(super) fn collect(tests: &mut Collector) {
    tests.add_for_weir("moves::a_move_cuts_over_at_its_time", at_its_time);
}

const TOKEN: &str = "a-token-of-the-suite";
const FAR: &str = "2037-05-06 07:08:09";

fn at_its_time(lab: &Lab, flavor: Flavor) -> Result<(), Failed> {
    let sites = Shards::sites(flavor, &lab.directory()?)?;
    let servers: Vec<&Server> = sites.iter().map(|site| &site.server).collect();
    let place = format!("127.0.0.1:{}", free_port(PortChoice::Any)?);
    let (address, token) = (format!("\"{place}\""), format!("\"{TOKEN}\""));
    let settings = [("api.address", address.as_str()), ("api.token", token.as_str())];
    let two = [("s1", vec![servers[0]]), ("s2", vec![servers[1]])];
    let weir = Weir::start_shards(&lab.directory()?, &two, &settings)?;
    let mut shards = Shards::with_database(sites, weir)?;
    let session = &mut shards.app()?;
    all(
        session,
        &["CREATE TABLE t (id INT PRIMARY KEY, v INT) SINGLE", "INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)"],
    )?;
    begin_for_later(&shards, session)?;
    refused(session)?;
    by_zone(session)?;
    by_ctl(session, &place)?;

    all(session, &[&format!("WEIR MOVE CUTOVER 1 AT '{FAR}Z'")])?;
    shards.weir.start_again(&[])?;
    eventually(BOUND, "Weir answers again", || shards.app().is_ok())?;
    let session = &mut shards.app()?;
    reaches(session, "follow")?;
    is_to_be(session, FAR)?;
    eventually(BOUND, "it follows", || {
        latest(session, "state").is_ok_and(|state| state == format!("following until {FAR} UTC"))
    })?;
    all(session, &["INSERT INTO t VALUES (4, 4)", "WEIR MOVE PAUSE 1"])?;

    // Another time, which also ends the pause. It comes a moment later than it was, but never before.
    let soon: u64 = value(session, "SELECT FLOOR(UNIX_TIMESTAMP()) + 2")?.parse()?;
    all(session, &[&format!("SET time_zone = '-11:30', @soon = FROM_UNIXTIME({soon})")])?;
    let text = value(session, &format!("SELECT DATE_FORMAT(FROM_UNIXTIME({soon}), '%Y-%m-%dT%H:%i:%s')"))?;
    all(session, &[&format!("WEIR MOVE CUTOVER 1 AT '{text}'")])?;
    reaches(session, "reverse")?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
    expect_equal("it did not cut over before its time", now >= soon, true)?;
    is_to_be(session, "")?;
    expect_equal("all is there", value(session, "SELECT SUM(v) FROM t")?, "10".to_owned())?;
    let late = session.query_drop(format!("WEIR MOVE CUTOVER 1 AT '{FAR}Z'"));
    expect_error("a move that has cut over", &late, 1105, "HY000")?;

    // The time is taken back.
    all(session, &["WEIR MOVE FINISH 1"])?;
    reaches(session, "finished")?;
    begin_for_later(&shards, session)?;
    all(session, &[&format!("WEIR MOVE CUTOVER 2 AT '{FAR}'"), "WEIR MOVE CUTOVER 2"])?;
    reaches(session, "reverse")
}

/// Begins a move that can't cut over before it has a time.
fn begin_for_later(shards: &Shards, session: &mut Conn) -> Result<(), Failed> {
    let holder = &mut shards.app()?;
    all(holder, &["BEGIN", "UPDATE t SET v = v WHERE id = 1"])?;
    let sharded = super::placement(session, "t")? == "sharded";
    let clause = if sharded { "SINGLE" } else { "SHARD BY HASH(id)" };
    all(session, &[&format!("WEIR MOVE TABLES t TO {clause}")])?;
    reaches(session, "follow")?;
    let id = latest(session, "id")?;
    all(session, &[&format!("WEIR MOVE CUTOVER {id} AT '{FAR}+00:00'")])?;
    all(holder, &["COMMIT"])
}

fn is_to_be(session: &mut Conn, expected: &str) -> Result<(), Failed> {
    expect_equal("the time of the cutover", latest(session, "cutover_at")?, expected.to_owned())
}

fn refused(session: &mut Conn) -> Result<(), Failed> {
    for (time, code) in [
        ("tomorrow", 1525),
        ("2037-02-29", 1525),
        ("2037-05-06 07:08:09 CET", 1525),
        ("", 1525),
        ("2001-01-01", 1210),
        ("2001-01-01T00:00:00Z", 1210),
        ("2038-01-01", 1210),
    ] {
        let answer = session.query_drop(format!("WEIR MOVE CUTOVER 1 AT '{time}'"));
        expect_error(time, &answer, code, "HY000")?;
    }
    let nothing = session.query_drop("WEIR MOVE CUTOVER 1 AT");
    expect_error("no time", &nothing, 1064, "42000")?;
    let unknown = session.query_drop(format!("WEIR MOVE CUTOVER 99 AT '{FAR}'"));
    expect_error("no move", &unknown, 1105, "HY000")?;
    is_to_be(session, FAR)
}

fn by_zone(session: &mut Conn) -> Result<(), Failed> {
    for (zone, time, expected) in [
        ("+05:30", "2037-01-01 02:00:00", "2036-12-31 20:30:00"),
        ("-03:00", "2037-01-01 02:00", "2037-01-01 05:00:00"),
        ("-03:00", "2037-01-01 02:00:00+01:00", "2037-01-01 01:00:00"),
        ("+05:30", "2037-01-01", "2036-12-31 18:30:00"),
    ] {
        all(session, &[&format!("SET time_zone = '{zone}'"), &format!("WEIR MOVE CUTOVER 1 AT '{time}'")])?;
        is_to_be(session, expected)?;
    }
    // The server's own zone, which only it knows.
    all(session, &["SET time_zone = 'SYSTEM'", "WEIR MOVE CUTOVER 1 AT '2037-07-01 12:00:00'"])?;
    let expected = value(session, "SELECT CONVERT_TZ('2037-07-01 12:00:00', 'SYSTEM', '+00:00')")?;
    is_to_be(session, &expected)
}

fn by_ctl(session: &mut Conn, place: &str) -> Result<(), Failed> {
    let ctl = |words: &[&str]| command(&[&["ctl", "--address", place], words].concat(), &[("WEIR_TOKEN", TOKEN)]);
    let done = (Some(0), "OK\n".to_owned(), String::new());
    expect_equal("a time", ctl(&["move", "cutover", "1", "at", "2037-05-06T09:08:09+02:00"])?, done)?;
    is_to_be(session, FAR)?;
    let (code, _, told) = ctl(&["move", "cutover", "1", "at", FAR])?;
    expect_equal(&told, (code, told.contains("has no offset")), (Some(1), true))?;
    let (code, _, told) = ctl(&["move", "cutover", "1", "at", "noon"])?;
    expect_equal(&told, (code, told.contains("ERROR 1525 (HY000): Incorrect AT value: 'noon'")), (Some(1), true))?;
    is_to_be(session, FAR)
}
