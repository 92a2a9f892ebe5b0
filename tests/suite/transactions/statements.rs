//! Statements on several shards that are ended in the middle: all shards end alike, and the connections are whole afterwards.

use libtest_mimic::Failed;
use mysql::Conn;
use mysql::prelude::Queryable;
use weir_local::Flavor;

use super::{BOUND, DATABASE, Shards, app, choose};
use crate::Collector;
use crate::driver::{expect_equal, expect_error, run, value};
use crate::lab::{APP, Endpoint, Lab, eventually};
use crate::login::{self, Login, Opening, caps};
use crate::reply::{Rows, Set, read_reply};

type Case = fn(&mut Shards, &Endpoint) -> Result<(), Failed>;

/// A database over both shards.
const SPREAD: &str = "t_spread";
/// "COM_QUERY".
const QUERY: u8 = 3;

pub(super) fn collect(tests: &mut Collector) {
    let cases: [(&str, Case); 7] = [
        ("statement_that_is_killed_is_undone_on_all_shards", killed),
        ("statement_that_is_killed_leaves_its_transaction", killed_in_transaction),
        ("read_that_is_killed_ends_on_all_shards", killed_read),
        ("statement_whose_client_goes_is_undone_on_all_shards", gone),
        ("routines_that_commit_do_not_split_a_transaction", routines),
        ("texts_of_several_statements_run_one_by_one", texts),
        ("texts_of_several_statements_are_wrong_for_clients_that_send_one", one_too_many),
    ];
    for (word, case) in cases {
        tests.add_for_weir(&format!("transactions::{word}"), move |lab: &Lab, flavor: Flavor| {
            let fill = [
                "CREATE TABLE t (id INT PRIMARY KEY, v INT NOT NULL)",
                "INSERT INTO t VALUES (1, 10), (2, 20), (3, 30)",
            ];
            let mut shards = Shards::start(lab, flavor, 2, &fill)?;
            for site in &shards.sites {
                site.server.execute("SET GLOBAL innodb_lock_wait_timeout = 50")?;
            }
            let weir = shards.weir(lab)?;
            lab.judge(Endpoint::of(weir), |endpoint| case(&mut shards, endpoint))
        });
    }
}

/// A session in the sharded database, whose table has 40 rows that are 0.
fn spread(endpoint: &Endpoint) -> Result<Conn, Failed> {
    let mut session = app(endpoint.port)?;
    session.query_drop(format!("CREATE DATABASE {SPREAD}"))?;
    session.query_drop(format!("USE {SPREAD}"))?;
    session.query_drop("CREATE TABLE t (id INT PRIMARY KEY, v INT) /*weir: shard by hash(id) */")?;
    let rows: Vec<String> = (0..40).map(|id| format!("({id}, 0)")).collect();
    session.query_drop(format!("INSERT INTO t VALUES {}", rows.join(",")))?;
    Ok(session)
}

/// One that holds all rows of the second shard.
fn holder(shards: &Shards) -> Result<Conn, Failed> {
    let mut root = shards.sites[1].server.admin()?;
    root.query_drop("BEGIN")?;
    root.query_drop(format!("UPDATE {SPREAD}.t SET v = v + 1000"))?;
    Ok(root)
}

fn waits(shards: &Shards) -> Result<(), Failed> {
    let waiting = "SELECT COUNT(*) FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'";
    eventually(BOUND, "it waits on the second shard", || {
        // InnoDB renews this table only when nobody has read it for 0.1 s.
        std::thread::sleep(std::time::Duration::from_millis(150));
        shards.value(1, waiting).is_ok_and(|count| count != "0")
    })
}

/// Kills what a session runs once it waits; returns the session, and how its statement ended.
fn kill(
    shards: &Shards,
    endpoint: &Endpoint,
    mut session: Conn,
    statement: &str,
) -> Result<(Conn, mysql::Result<()>), Failed> {
    let id = session.connection_id();
    std::thread::scope(|scope| {
        let running = scope.spawn(move || {
            let ended = run(&mut session, statement);
            (session, ended)
        });
        let begun = waits(shards);
        app(endpoint.port)?.query_drop(format!("KILL QUERY {id}"))?;
        let ended = running.join().map_err(|_| Failed::from("the session panicked"))?;
        begun.map(|()| ended)
    })
}

/// No shard has an open transaction of anybody.
fn all_is_free(shards: &Shards) -> Result<(), Failed> {
    for shard in [0, 1] {
        eventually(BOUND, "no transaction is open", || {
            std::thread::sleep(std::time::Duration::from_millis(150));
            shards.value(shard, "SELECT COUNT(*) FROM information_schema.innodb_trx").is_ok_and(|count| count == "0")
        })?;
    }
    expect_equal("prepared", shards.prepared()?, 0)
}

fn killed(shards: &mut Shards, endpoint: &Endpoint) -> Result<(), Failed> {
    let session = spread(endpoint)?;
    let mut holder = holder(shards)?;
    let (mut session, ended) = kill(shards, endpoint, session, "UPDATE t SET v = v + 1")?;
    expect_error("killed", &ended, 1317, "70100")?;
    holder.query_drop("ROLLBACK")?;
    all_is_free(shards)?;
    expect_equal("undone", value(&mut session, "SELECT SUM(v) FROM t")?, "0".to_owned())?;
    session.query_drop("UPDATE t SET v = v + 1")?;
    expect_equal("the next one", value(&mut session, "SELECT SUM(v) FROM t")?, "40".to_owned())
}

fn killed_in_transaction(shards: &mut Shards, endpoint: &Endpoint) -> Result<(), Failed> {
    let mut session = spread(endpoint)?;
    session.query_drop("INSERT INTO t VALUES (100, 0), (101, 0), (102, 0), (103, 0)")?;
    let mut holder = shards.sites[1].server.admin()?;
    // Without locks between rows.
    holder.query_drop("SET TRANSACTION ISOLATION LEVEL READ COMMITTED")?;
    holder.query_drop("BEGIN")?;
    holder.query_drop(format!("UPDATE {SPREAD}.t SET v = v + 1000 WHERE id < 100"))?;
    session.query_drop("BEGIN")?;
    session.query_drop("UPDATE t SET v = 7 WHERE id IN (100, 101, 102, 103)")?;
    let (mut session, ended) = kill(shards, endpoint, session, "UPDATE t SET v = v + 1 WHERE id < 100")?;
    expect_error("killed", &ended, 1317, "70100")?;
    holder.query_drop("ROLLBACK")?;
    session.query_drop("COMMIT")?;
    all_is_free(shards)?;
    expect_equal("what came before it", value(&mut session, "SELECT SUM(v) FROM t")?, "28".to_owned())
}

fn killed_read(shards: &mut Shards, endpoint: &Endpoint) -> Result<(), Failed> {
    let session = spread(endpoint)?;
    let mut holder = holder(shards)?;
    let (mut session, ended) = kill(shards, endpoint, session, "SELECT * FROM t WHERE v >= 0 FOR UPDATE")?;
    expect_error("killed", &ended, 1317, "70100")?;
    holder.query_drop("ROLLBACK")?;
    all_is_free(shards)?;
    expect_equal("the next one", value(&mut session, "SELECT COUNT(*) FROM t")?, "40".to_owned())
}

fn gone(shards: &mut Shards, endpoint: &Endpoint) -> Result<(), Failed> {
    let mut other = spread(endpoint)?;
    for statement in ["UPDATE t SET v = v + 1", "SELECT * FROM t WHERE v >= 0 FOR UPDATE"] {
        let holder = holder(shards)?;
        let address = &endpoint.address;
        let (mut client, _) = login::open(address, &Login::new(APP.0, APP.1).database(SPREAD))?;
        client.command(QUERY, statement.as_bytes())?;
        waits(shards)?;
        drop(client);
        // It ends while the row is still held.
        let running = "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE '%SET v = v + 1' OR info LIKE '% v >= 0 FOR UPDATE'";
        for shard in [0, 1] {
            eventually(BOUND, "it runs no more", || shards.value(shard, running).is_ok_and(|count| count == "0"))?;
        }
        drop(holder);
        all_is_free(shards)?;
        expect_equal("undone", value(&mut other, "SELECT SUM(v) FROM t")?, "0".to_owned())?;
    }
    Ok(())
}

fn routines(shards: &mut Shards, endpoint: &Endpoint) -> Result<(), Failed> {
    for site in &shards.sites {
        let mut root = site.server.admin()?;
        root.query_drop(format!("USE {DATABASE}"))?;
        root.query_drop("CREATE PROCEDURE commits() BEGIN UPDATE t SET v = v + 1 WHERE id = 1; COMMIT; END")?;
    }
    let mut session = app(endpoint.port)?;
    let both = |id: u32| -> Result<[String; 2], Failed> {
        let query = format!("SELECT v FROM t WHERE id = {id}");
        Ok([shards.value(0, &query)?, shards.value(1, &query)?])
    };
    session.query_drop("CALL commits()")?;
    expect_equal("in autocommit", both(1)?, ["11", "10"].map(str::to_owned))?;
    session.query_drop("BEGIN")?;
    session.query_drop("UPDATE t SET v = 21 WHERE id = 2")?;
    session.query_drop("CALL commits()")?;
    session.query_drop("ROLLBACK")?;
    expect_equal("in a transaction of one shard", both(1)?, ["12", "10"].map(str::to_owned))?;
    expect_equal("which it has committed", both(2)?, ["21", "20"].map(str::to_owned))?;
    session.reset()?;
    session.query_drop("BEGIN")?;
    for shard in [0, 1] {
        choose(&mut session, shard)?;
        session.query_drop("UPDATE t SET v = 31 WHERE id = 3")?;
    }
    for shard in [0, 1] {
        choose(&mut session, shard)?;
        expect_error("a CALL among several", &run(&mut session, "CALL commits()"), 1235, "42000")?;
    }
    expect_equal("not committed", both(3)?, ["30", "30"].map(str::to_owned))?;
    session.query_drop("COMMIT")?;
    expect_equal("committed", both(3)?, ["31", "31"].map(str::to_owned))?;
    expect_equal("not called", both(1)?, ["12", "10"].map(str::to_owned))
}

/// Texts of several statements, whose tables are on several shards.
fn texts(_: &mut Shards, endpoint: &Endpoint) -> Result<(), Failed> {
    let mut session = spread(endpoint)?;
    let all = |session: &mut Conn, text: &str| -> mysql::Result<Vec<String>> {
        let mut answers = Vec::new();
        let mut sets = session.query_iter(text)?;
        while let Some(set) = sets.iter() {
            let affected = set.affected_rows();
            let rows: Vec<mysql::Row> = set.collect::<mysql::Result<_>>()?;
            let cells = rows.iter().map(|row| format!("{:?}", row.as_ref(0).map(|value| value.as_sql(true))));
            answers.push(if rows.is_empty() { affected.to_string() } else { cells.collect::<Vec<_>>().join(",") });
        }
        Ok(answers)
    };
    let text = "UPDATE t SET v = 1; SELECT SUM(v) FROM t; BEGIN; UPDATE t SET v = v + 1; SELECT SUM(v) FROM t; ROLLBACK; \
                SELECT SUM(v) FROM t; SELECT id FROM t WHERE id < 3 ORDER BY id";
    let text_of = |number: &str| format!("Some(\"'{number}'\")");
    let rows = ["0", "1", "2"].map(text_of).join(",");
    let wanted =
        ["40", &text_of("40"), "0", "40", &text_of("80"), "0", &text_of("40"), &rows].map(str::to_owned).to_vec();
    expect_equal("the replies", all(&mut session, text)?, wanted)?;
    // Up to the first error.
    let failed = all(&mut session, "UPDATE t SET v = 2; UPDATE t SET nothing = 3; UPDATE t SET v = 4").map(drop);
    expect_error("the second", &failed, 1054, "42S22")?;
    expect_equal("what ran before", value(&mut session, "SELECT SUM(v) FROM t")?, "80".to_owned())?;
    // Read as each statement leaves the session, on all shards.
    let hidden = [
        "SET sql_mode = 'NO_BACKSLASH_ESCAPES'; SELECT '\\'; UPDATE t SET v = 5 -- '",
        "SET sql_mode = CONCAT('ANSI_', 'QUOTES'); SELECT 1 AS \"\\\"; UPDATE t SET v = 6 -- \"",
        "SET sql_mode = ''; SET NAMES gbk; SELECT '中\\'; UPDATE t SET v = 7 -- '",
        "SET NAMES utf8mb4; PREPARE m FROM 'SET sql_mode = ''NO_BACKSLASH_ESCAPES'''; EXECUTE m; SELECT '\\'; UPDATE t SET v = 8 -- '",
    ];
    for (nth, text) in hidden.into_iter().enumerate() {
        all(&mut session, text)?;
        let everywhere = ((nth + 5) * 40).to_string();
        expect_equal(text, value(&mut session, "SELECT SUM(v) FROM t")?, everywhere)?;
    }
    session.query_drop("SET sql_mode = DEFAULT")?;
    // What stands before what can't be read runs.
    let failed = all(&mut session, "UPDATE t SET v = 2; xyzzy; UPDATE t SET v = 4").map(drop);
    expect_error("no statement", &failed, 1064, "42000")?;
    expect_equal("what ran before", value(&mut session, "SELECT SUM(v) FROM t")?, "80".to_owned())?;
    // Larger than what is sent at once.
    let large = "SELECT REPEAT('x', 30000) FROM t; SELECT COUNT(*) FROM t; SELECT REPEAT('y', 40000) FROM t; SELECT 1";
    let answers = all(&mut session, large)?;
    let lengths: Vec<bool> = answers.iter().map(|answer| answer.len() > 1_000_000).collect();
    expect_equal("large replies", lengths, vec![true, false, true, false])
}

fn one_too_many(_: &mut Shards, endpoint: &Endpoint) -> Result<(), Failed> {
    let _keeper = spread(endpoint)?;
    let capabilities = (caps::BASE | caps::DEPRECATE_EOF) & !caps::MULTI_STATEMENTS;
    let login = Login { capabilities, ..Login::new(APP.0, APP.1) }.database(SPREAD);
    let (mut client, opening) = login::open(&endpoint.address, &login)?;
    let Opening::Done(_, capabilities, _) = opening else { return Err("not logged in".into()) };
    let mut all = |text: &str| -> Result<Vec<Set>, Failed> {
        client.command(QUERY, text.as_bytes())?;
        Ok(read_reply(&mut client, capabilities, Rows::Text, &[])?)
    };
    // What a session holds on all shards stays.
    all("BEGIN")?;
    all("UPDATE t SET v = 1")?;
    let texts = [
        "SET @a = 1; SELECT COUNT(*) FROM t",
        "UPDATE t SET v = 2; UPDATE t SET v = 3",
        "SELECT * FROM t WHERE id = 1; SELECT * FROM t WHERE id = 2",
        "SELECT 1; UPDATE t SET id = id + 100",
        "CREATE TABLE u (id INT PRIMARY KEY); DROP TABLE u",
        "SELECT COUNT(*) FROM t; TRUNCATE TABLE t",
        "LOCK TABLES t WRITE; SELECT 1",
        "COMMIT; SELECT COUNT(*) FROM t",
        "XA START 'a'; SELECT 1",
        "SET @a = 1; KILL 1",
        "UPDATE t SET id = id + 100; SELECT 1",
    ];
    for text in texts {
        let codes: Vec<Option<u16>> = all(text)?.iter().map(Set::error_code).collect();
        expect_equal(text, codes, vec![Some(1064)])?;
    }
    let sum = all("SELECT SUM(v) FROM t;")?.iter().map(Set::rows).collect::<Vec<_>>();
    expect_equal("what is held", sum, vec![vec![vec![Some(b"40".to_vec())]]])?;
    all("ROLLBACK")?;
    let sum = all("SELECT SUM(v) FROM t")?.iter().map(Set::rows).collect::<Vec<_>>();
    expect_equal("what is undone", sum, vec![vec![vec![Some(b"0".to_vec())]]])
}
