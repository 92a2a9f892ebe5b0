//! What a transaction with several shards is to its client: what it is on one server.

use std::time::Duration;

use libtest_mimic::Failed;
use mysql::Conn;
use mysql::prelude::Queryable;
use weir_local::Flavor;

use super::{BOUND, Shards, app, choose};
use crate::Collector;
use crate::driver::{expect_equal, expect_error, run, value};
use crate::lab::{Endpoint, Lab, eventually};

type Case = fn(&mut Shards, &Endpoint) -> Result<(), Failed>;

const FILL: [&str; 2] = [
    "CREATE TABLE t (id INT PRIMARY KEY, v INT NOT NULL) ENGINE=InnoDB",
    "INSERT INTO t VALUES (1, 10), (2, 20), (3, 30)",
];

pub(super) fn collect(tests: &mut Collector) {
    let cases: [(&str, Case); 11] = [
        ("commit_and_rollback_are_those_of_all_shards", commit_and_rollback),
        ("one_writer_needs_no_decision", one_writer),
        ("savepoints_hold_on_shards_that_join_later", savepoints),
        ("deadlock_on_one_shard_ends_all", deadlock),
        ("lock_timeout_undoes_the_statement_only", lock_timeout),
        ("read_only_transaction_reads_all_shards_and_writes_none", read_only),
        ("without_autocommit_commit_is_for_all_shards", no_autocommit),
        ("statements_that_commit_do_so_everywhere", implicit_commits),
        ("client_that_goes_leaves_nothing", disconnect),
        ("isolation_set_for_one_transaction_holds_on_all_shards", isolation),
        ("branches_of_a_dead_weir_are_ended_as_decided", recovered),
    ];
    for (word, case) in cases {
        tests.add_for_weir(&format!("transactions::{word}"), move |lab: &Lab, flavor: Flavor| {
            let mut shards = Shards::start(lab, flavor, 2, &FILL)?;
            let weir = shards.weir(lab)?;
            lab.judge(Endpoint::of(weir), |endpoint| case(&mut shards, endpoint))
        });
    }
}

/// Writes on both shards.
fn write_both(session: &mut Conn, id: u32, v: u32) -> mysql::Result<()> {
    for shard in [0, 1] {
        choose(session, shard)?;
        session.query_drop(format!("UPDATE t SET v = {v} WHERE id = {id}"))?;
    }
    Ok(())
}

fn both(shards: &Shards, query: &str) -> Result<[String; 2], Failed> {
    Ok([shards.value(0, query)?, shards.value(1, query)?])
}

fn expect_both(shards: &Shards, what: &str, id: u32, v: [&str; 2]) -> Result<(), Failed> {
    expect_equal(what, both(shards, &format!("SELECT v FROM t WHERE id = {id}"))?, v.map(str::to_owned))
}

fn commit_and_rollback(shards: &mut Shards, endpoint: &Endpoint) -> Result<(), Failed> {
    let mut session = app(endpoint.port)?;
    session.query_drop("BEGIN")?;
    write_both(&mut session, 1, 11)?;
    expect_both(shards, "before COMMIT", 1, ["10", "10"])?;
    session.query_drop("COMMIT")?;
    expect_both(shards, "after COMMIT", 1, ["11", "11"])?;
    session.query_drop("START TRANSACTION")?;
    write_both(&mut session, 1, 12)?;
    session.query_drop("ROLLBACK")?;
    expect_both(shards, "after ROLLBACK", 1, ["11", "11"])?;
    // A chain begins the next one at once.
    session.query_drop("BEGIN")?;
    write_both(&mut session, 1, 13)?;
    session.query_drop("COMMIT AND CHAIN")?;
    write_both(&mut session, 1, 14)?;
    session.query_drop("ROLLBACK")?;
    expect_both(shards, "after a chain", 1, ["13", "13"])?;
    // The next statement is in no transaction.
    session.query_drop("UPDATE t SET v = 15 WHERE id = 1")?;
    expect_both(shards, "outside", 1, ["13", "15"])?;
    expect_equal("decisions", shards.decisions(0)?, "2".to_owned())?;
    expect_equal("prepared", shards.prepared()?, 0)
}

fn one_writer(shards: &mut Shards, endpoint: &Endpoint) -> Result<(), Failed> {
    let mut session = app(endpoint.port)?;
    for writer in [0, 1] {
        session.query_drop("BEGIN")?;
        choose(&mut session, 0)?;
        value(&mut session, "SELECT v FROM t WHERE id = 2 FOR UPDATE")?;
        choose(&mut session, 1)?;
        value(&mut session, "SELECT v FROM t WHERE id = 2")?;
        choose(&mut session, writer)?;
        session.query_drop("UPDATE t SET v = v + 1 WHERE id = 2")?;
        session.query_drop("COMMIT")?;
    }
    expect_both(shards, "both have written alone", 2, ["21", "21"])?;
    expect_equal("decisions", [shards.decisions(0)?, shards.decisions(1)?], ["0".to_owned(), "0".to_owned()])
}

fn savepoints(shards: &mut Shards, endpoint: &Endpoint) -> Result<(), Failed> {
    let mut session = app(endpoint.port)?;
    session.query_drop("BEGIN")?;
    choose(&mut session, 0)?;
    session.query_drop("UPDATE t SET v = 100 WHERE id = 1")?;
    session.query_drop("SAVEPOINT a")?;
    session.query_drop("UPDATE t SET v = 200 WHERE id = 2")?;
    session.query_drop("SAVEPOINT b")?;
    choose(&mut session, 1)?;
    session.query_drop("UPDATE t SET v = 300 WHERE id = 3")?;
    session.query_drop("ROLLBACK TO SAVEPOINT a")?;
    expect_error("a savepoint that is gone", &run(&mut session, "ROLLBACK TO b"), 1305, "42000")?;
    session.query_drop("UPDATE t SET v = 101 WHERE id = 1")?;
    session.query_drop("RELEASE SAVEPOINT a")?;
    session.query_drop("COMMIT")?;
    expect_both(shards, "before the savepoint", 1, ["100", "101"])?;
    expect_both(shards, "behind it on the first", 2, ["20", "20"])?;
    expect_both(shards, "behind it on the second", 3, ["30", "30"])?;
    // One that is set before anything runs.
    session.query_drop("BEGIN")?;
    session.query_drop("SAVEPOINT start")?;
    write_both(&mut session, 3, 31)?;
    session.query_drop("ROLLBACK TO start")?;
    session.query_drop("COMMIT")?;
    expect_both(shards, "from the start", 3, ["30", "30"])
}

/// A session that holds a row of a shard.
fn holder(endpoint: &Endpoint, shard: usize, id: u32) -> mysql::Result<Conn> {
    let mut session = super::on(endpoint.port, shard)?;
    session.query_drop("BEGIN")?;
    session.query_drop(format!("UPDATE t SET v = v + 1000 WHERE id = {id}"))?;
    Ok(session)
}

fn deadlock(shards: &mut Shards, endpoint: &Endpoint) -> Result<(), Failed> {
    // The other one has written more, so that it is not the victim.
    let mut other = holder(endpoint, 1, 2)?;
    other.query_drop("SET innodb_lock_wait_timeout = 50")?;
    for id in 10..40 {
        other.query_drop(format!("INSERT INTO t VALUES ({id}, 0)"))?;
    }
    let mut session = app(endpoint.port)?;
    session.query_drop("BEGIN")?;
    write_both(&mut session, 1, 11)?;
    let (waited, ended) = std::thread::scope(|scope| {
        let waiting = scope.spawn(|| run(&mut other, "UPDATE t SET v = v + 1 WHERE id = 1"));
        let waits = "SELECT COUNT(*) FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'";
        let begun = eventually(BOUND, "the other one waits", || {
            // InnoDB renews this table only when nobody has read it for 0.1 s.
            std::thread::sleep(Duration::from_millis(150));
            shards.value(1, waits).is_ok_and(|count| count != "0")
        });
        let ended = run(&mut session, "UPDATE t SET v = 99 WHERE id = 2");
        (begun.and_then(|()| waiting.join().map_err(|_| Failed::from("panicked"))), ended)
    });
    waited??;
    expect_error("the victim", &ended, 1213, "40001")?;
    expect_both(shards, "rolled back everywhere", 1, ["10", "10"])?;
    // It is in no transaction any more.
    choose(&mut session, 0)?;
    session.query_drop("UPDATE t SET v = 12 WHERE id = 1")?;
    expect_equal("autocommit", shards.value(0, "SELECT v FROM t WHERE id = 1")?, "12".to_owned())?;
    other.query_drop("ROLLBACK")?;
    Ok(())
}

fn lock_timeout(shards: &mut Shards, endpoint: &Endpoint) -> Result<(), Failed> {
    let mut other = holder(endpoint, 1, 2)?;
    let mut session = app(endpoint.port)?;
    session.query_drop("BEGIN")?;
    write_both(&mut session, 1, 11)?;
    let late = run(&mut session, "UPDATE t SET v = 99 WHERE id = 2");
    expect_error("a lock that is held", &late, 1205, "HY000")?;
    other.query_drop("ROLLBACK")?;
    session.query_drop("UPDATE t SET v = 33 WHERE id = 3")?;
    session.query_drop("COMMIT")?;
    expect_both(shards, "the rest is there", 1, ["11", "11"])?;
    expect_both(shards, "the next statement too", 3, ["30", "33"])
}

fn read_only(shards: &mut Shards, endpoint: &Endpoint) -> Result<(), Failed> {
    let mut session = app(endpoint.port)?;
    session.query_drop("START TRANSACTION READ ONLY")?;
    for shard in [0, 1] {
        choose(&mut session, shard)?;
        expect_equal("a row", value(&mut session, "SELECT v FROM t WHERE id = 1")?, "10".to_owned())?;
        expect_error("a write", &run(&mut session, "UPDATE t SET v = 0"), 1792, "25006")?;
    }
    shards.sites[1].server.execute(&format!("UPDATE {}.t SET v = 11 WHERE id = 1", super::DATABASE))?;
    expect_equal("its snapshot", value(&mut session, "SELECT v FROM t WHERE id = 1")?, "10".to_owned())?;
    session.query_drop("COMMIT")?;
    expect_equal("afterwards", value(&mut session, "SELECT v FROM t WHERE id = 1")?, "11".to_owned())
}

fn no_autocommit(shards: &mut Shards, endpoint: &Endpoint) -> Result<(), Failed> {
    let mut session = app(endpoint.port)?;
    session.query_drop("SET autocommit = 0")?;
    write_both(&mut session, 1, 11)?;
    session.query_drop("ROLLBACK")?;
    write_both(&mut session, 2, 21)?;
    session.query_drop("COMMIT")?;
    write_both(&mut session, 3, 31)?;
    expect_both(shards, "rolled back", 1, ["10", "10"])?;
    expect_both(shards, "committed", 2, ["21", "21"])?;
    expect_both(shards, "open", 3, ["30", "30"])?;
    session.query_drop("SET autocommit = 1")?;
    expect_both(shards, "committed by autocommit", 3, ["31", "31"])
}

fn implicit_commits(shards: &mut Shards, endpoint: &Endpoint) -> Result<(), Failed> {
    let mut session = app(endpoint.port)?;
    for (v, statement) in [(11, "BEGIN"), (12, "CREATE TABLE made (id INT)"), (13, "LOCK TABLES t READ")] {
        session.query_drop("BEGIN")?;
        write_both(&mut session, 1, v)?;
        session.query_drop(statement)?;
        let v = v.to_string();
        expect_both(shards, statement, 1, [&v, &v])?;
    }
    session.query_drop("UNLOCK TABLES")?;
    Ok(())
}

fn disconnect(shards: &mut Shards, endpoint: &Endpoint) -> Result<(), Failed> {
    for way in ["dropped", "reset"] {
        let mut session = app(endpoint.port)?;
        session.query_drop("BEGIN")?;
        write_both(&mut session, 1, 11)?;
        match way {
            "dropped" => drop(session),
            _ => {
                session.reset()?;
                session.query_drop("SELECT 1")?;
            }
        }
        eventually(BOUND, "its locks are released", || {
            shards.sites.iter().all(|site| {
                let statement = format!("UPDATE {}.t SET v = 10 WHERE id = 1", super::DATABASE);
                site.server.execute(&statement).is_ok()
            })
        })?;
        expect_both(shards, way, 1, ["10", "10"])?;
    }
    // The connections that come back from such sessions are whole.
    let mut session = app(endpoint.port)?;
    session.query_drop("BEGIN")?;
    write_both(&mut session, 1, 12)?;
    session.query_drop("COMMIT")?;
    expect_both(shards, "afterwards", 1, ["12", "12"])
}

fn isolation(shards: &mut Shards, endpoint: &Endpoint) -> Result<(), Failed> {
    let mut session = app(endpoint.port)?;
    for (level, seen) in [("READ COMMITTED", "11"), ("REPEATABLE READ", "10")] {
        session.query_drop(format!("SET TRANSACTION ISOLATION LEVEL {level}"))?;
        session.query_drop("BEGIN")?;
        for shard in [0, 1] {
            choose(&mut session, shard)?;
            value(&mut session, "SELECT v FROM t WHERE id = 1")?;
        }
        for site in &shards.sites {
            site.server.execute(&format!("UPDATE {}.t SET v = 11 WHERE id = 1", super::DATABASE))?;
        }
        for shard in [0, 1] {
            choose(&mut session, shard)?;
            expect_equal(level, value(&mut session, "SELECT v FROM t WHERE id = 1")?, seen.to_owned())?;
        }
        session.query_drop("COMMIT")?;
        for site in &shards.sites {
            site.server.execute(&format!("UPDATE {}.t SET v = 10 WHERE id = 1", super::DATABASE))?;
        }
    }
    Ok(())
}

/// What a Weir leaves that dies between two steps, made by hand: a decided branch and one that is not.
fn recovered(shards: &mut Shards, _: &Endpoint) -> Result<(), Failed> {
    let decided = "weir1-0-00000000000000aa-1-65000000";
    let open = "weir1-0-00000000000000aa-2-65000000";
    let late = format!("INSERT INTO weir.decisions VALUES ('{open}', 'commit', UTC_TIMESTAMP(6), 1)");
    shards.sites[0]
        .server
        .execute(&format!("INSERT INTO weir.decisions VALUES ('{decided}', 'commit', UTC_TIMESTAMP(6), 1)"))?;
    for (id, v, name) in [(1, 77, decided), (2, 88, open)] {
        let mut dead = shards.sites[1].server.admin()?;
        let branch = format!("'{name}','1',1464158546");
        dead.query_drop(format!("XA START {branch}"))?;
        dead.query_drop(format!("UPDATE {}.t SET v = {v} WHERE id = {id}", super::DATABASE))?;
        dead.query_drop(format!("XA END {branch}"))?;
        dead.query_drop(format!("XA PREPARE {branch}"))?;
    }
    shards.all_ended("both are ended")?;
    expect_equal("the decided one", shards.value(1, "SELECT v FROM t WHERE id = 1")?, "77".to_owned())?;
    expect_equal("the other one", shards.value(1, "SELECT v FROM t WHERE id = 2")?, "20".to_owned())?;
    // Nobody can decide otherwise any more.
    match shards.sites[0].server.execute(&late) {
        Err(error) if error.to_string().contains("Duplicate") => Ok(()),
        other => Err(format!("a late decision was taken: {other:?}").into()),
    }
}
