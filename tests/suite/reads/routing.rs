//! Where statements run: by their class, hints, users' defaults, and in transactions.

use libtest_mimic::Failed;
use mysql::Conn;
use mysql::prelude::Queryable;
use weir_local::Flavor;

use super::SharedCase;
use super::site::{DATABASE, GroupSite};
use crate::driver::{connect, expect_equal, expect_error, run, value};
use crate::lab::{APP, Endpoint, PLAIN};

type Case = (&'static str, &'static [(&'static str, &'static str)], SharedCase);

pub(super) const CASES: &[Case] = &[
    ("statements_run_where_they_belong", &[], places),
    ("hints_are_followed_and_not_sent_on", &[], hints),
    ("weir_consistency_is_set_read_and_reset", &[], variable),
    ("a_users_default_counts", &[("users.plain.consistency", "\"primary\"")], user_default),
    ("read_only_transactions_stay_on_their_reader", &[], read_only_transactions),
    ("nothing_makes_a_session_forget_its_writes", &[("groups.read_wait", "\"50ms\"")], not_forgotten),
    ("what_a_write_left_survives_reads_elsewhere", &[], left_over),
    ("what_a_read_has_assigned_binds_to_no_reader", &[], assigned_by_read),
    ("what_a_statement_left_is_asked_after_reads_elsewhere", &[], asked_after_reads),
    (
        "weights_share_the_reads",
        &[("servers.replica1.weight", "3"), ("users.app.consistency", "\"eventual\"")],
        weights,
    ),
];

fn client(endpoint: &Endpoint, account: (&str, &str)) -> Result<Conn, Failed> {
    Ok(connect(endpoint.port, account, Some(DATABASE))?)
}

/// Where each statement is run, by how the counter of reads on replicas moves.
struct Watch<'e>(&'e Endpoint);

impl Watch<'_> {
    fn reads(&self) -> Result<u64, Failed> {
        self.0.weir.as_ref().ok_or("Weir is the target")?.counter("weir_client_reads_on_readers")
    }

    /// Passes if the statement runs on a replica, or does not.
    fn expect(&self, client: &mut Conn, statement: &str, on_replica: bool) -> Result<(), Failed> {
        let before = self.reads()?;
        let rows: Vec<mysql::Row> = client.query(statement).map_err(|error| format!("{statement}: {error}"))?;
        drop(rows);
        expect_equal(&format!("{statement}: on a replica"), self.reads()? > before, on_replica)
    }
}

fn places(_: &GroupSite, endpoint: &Endpoint) -> Result<(), Failed> {
    let watch = Watch(endpoint);
    let on_replicas = [
        "SELECT v FROM counters WHERE id = 1",
        "SELECT COUNT(*) FROM counters",
        "WITH c AS (SELECT v FROM counters) SELECT SUM(v) FROM c",
        "(SELECT v FROM counters LIMIT 1) UNION (SELECT 5)",
        "SELECT 1",
    ];
    let on_writer = [
        "SELECT v FROM counters WHERE id = 1 FOR UPDATE",
        "SELECT v FROM counters WHERE id = 1 LOCK IN SHARE MODE",
        "SELECT @@port",
        "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE()",
        "SHOW TABLES",
        "SELECT GET_LOCK('reads', 1)",
        "SELECT RELEASE_LOCK('reads')",
        "UPDATE counters SET v = 0 WHERE id = 62",
        "SELECT LAST_INSERT_ID()",
    ];
    for statement in on_replicas {
        watch.expect(&mut client(endpoint, APP)?, statement, true)?;
    }
    for statement in on_writer {
        watch.expect(&mut client(endpoint, APP)?, statement, false)?;
    }
    // In a transaction, with autocommit off, with a temporary table: on the writer.
    for before in ["BEGIN", "SET autocommit = 0", "CREATE TEMPORARY TABLE mine (a INT)", "SET @a = RAND()"] {
        let mut client = client(endpoint, APP)?;
        client.query_drop(before)?;
        watch.expect(&mut client, "SELECT v FROM counters WHERE id = 1", false)?;
    }
    // A literal in a user variable goes along.
    let mut client = client(endpoint, APP)?;
    client.query_drop("SET @id = 1")?;
    watch.expect(&mut client, "SELECT v FROM counters WHERE id = @id", true)
}

fn hints(site: &GroupSite, endpoint: &Endpoint) -> Result<(), Failed> {
    let watch = Watch(endpoint);
    let mut client = client(endpoint, APP)?;
    watch.expect(&mut client, "SELECT /*+ WEIR_PRIMARY */ v FROM counters WHERE id = 1", false)?;
    watch.expect(&mut client, "SELECT /*+ weir_replica */ @@port", true)?;
    let port = value(&mut client, "SELECT /*+ WEIR_REPLICA */ @@port")?;
    let of_a_replica = site.replicas.iter().any(|replica| replica.port().to_string() == port);
    expect_equal("a replica's port", of_a_replica, true)?;
    client.query_drop("SELECT /*+ WEIR_REPLICA */ 1")?;
    expect_equal("warnings of the hint", client.warnings(), 0)?;
    // Prepared, too.
    let before = watch.reads()?;
    for _ in 0..3 {
        let v: Option<i64> = client.exec_first("SELECT /*+ WEIR_PRIMARY */ v FROM counters WHERE id = ?", (1,))?;
        expect_equal("a value", v.is_some(), true)?;
    }
    expect_equal("prepared with WEIR_PRIMARY: on replicas", watch.reads()? - before, 0)?;
    for _ in 0..3 {
        let port: Option<u16> = client.exec_first("SELECT /*+ WEIR_REPLICA */ @@port", ())?;
        let of_a_replica = site.replicas.iter().any(|replica| Some(replica.port()) == port);
        expect_equal("prepared with WEIR_REPLICA: a replica's port", of_a_replica, true)?;
    }
    Ok(())
}

fn variable(_: &GroupSite, endpoint: &Endpoint) -> Result<(), Failed> {
    let watch = Watch(endpoint);
    let mut client = client(endpoint, APP)?;
    let level = |client: &mut Conn| value(client, "SELECT @@weir_consistency");
    expect_equal("the default", level(&mut client)?, "session".into())?;
    client.query_drop("SET SESSION weir_consistency = primary")?;
    expect_equal("set", level(&mut client)?, "primary".into())?;
    watch.expect(&mut client, "SELECT v FROM counters WHERE id = 1", false)?;
    let shown = value(&mut client, "SELECT 1").and_then(|_| {
        let rows: Vec<mysql::Row> = client.query("WEIR SHOW SESSIONS LIKE 'app'")?;
        let words: Vec<String> = rows.iter().filter_map(|row| row.get("consistency")).collect();
        Ok(words)
    })?;
    expect_equal("shown", shown.contains(&"primary".to_owned()), true)?;
    let wrong = run(&mut client, "SET weir_consistency = 'sometimes'");
    expect_error("a wrong value", &wrong, 1231, "42000")?;
    let mixed = run(&mut client, "SET autocommit = 0, weir_consistency = 'strong'");
    expect_error("together with others", &mixed, 1235, "42000")?;
    expect_equal("nothing of that was set", value(&mut client, "SELECT @@autocommit")?, "1".into())?;
    expect_error("another one", &run(&mut client, "SET weir_nonsense = 1"), 1193, "HY000")?;
    expect_equal("it stays", level(&mut client)?, "primary".into())?;
    client.reset()?;
    expect_equal("after a reset", level(&mut client)?, "session".into())?;
    client.query_drop("SET weir_consistency = 'eventual'")?;
    client.query_drop("SET @@session.weir_consistency = DEFAULT")?;
    expect_equal("the default again", level(&mut client)?, "session".into())
}

fn user_default(_: &GroupSite, endpoint: &Endpoint) -> Result<(), Failed> {
    let watch = Watch(endpoint);
    let mut plain = client(endpoint, PLAIN)?;
    watch.expect(&mut plain, "SELECT v FROM counters WHERE id = 1", false)?;
    watch.expect(&mut plain, "SELECT /*+ WEIR_REPLICA */ v FROM counters WHERE id = 1", true)?;
    plain.query_drop("SET weir_consistency = 'session'")?;
    // What was seen on the writer may not be on a replica yet: another connection has seen nothing.
    let mut plain = client(endpoint, PLAIN)?;
    plain.query_drop("SET weir_consistency = 'session'")?;
    watch.expect(&mut plain, "SELECT v FROM counters WHERE id = 1", true)?;
    watch.expect(&mut client(endpoint, APP)?, "SELECT v FROM counters WHERE id = 1", true)
}

fn read_only_transactions(site: &GroupSite, endpoint: &Endpoint) -> Result<(), Failed> {
    let watch = Watch(endpoint);
    let mut client = client(endpoint, APP)?;
    client.query_drop("START TRANSACTION READ ONLY")?;
    watch.expect(&mut client, "SELECT v FROM counters WHERE id = 1", true)?;
    let port = value(&mut client, "SELECT @@port")?;
    let of_a_replica = site.replicas.iter().any(|replica| replica.port().to_string() == port);
    expect_equal("the transaction is on a replica", of_a_replica, true)?;
    expect_error("a write", &run(&mut client, "UPDATE counters SET v = 1 WHERE id = 1"), 1792, "25006")?;
    expect_error("a lock", &run(&mut client, "SELECT GET_LOCK('reads', 1)"), 1235, "42000")?;
    let locking = run(&mut client, "SELECT v FROM counters WHERE id = 1 FOR UPDATE");
    expect_error("a locking read", &locking, 1235, "42000")?;
    expect_equal("the same server still", value(&mut client, "SELECT @@port")?, port)?;
    // What would keep the session there is refused, too.
    let kept = run(&mut client, "SELECT v INTO @v FROM counters WHERE id = 1");
    expect_error("a computed user variable", &kept, 1235, "42000")?;
    // Another transaction ends it, as on one server.
    client.query_drop("START TRANSACTION")?;
    client.query_drop("UPDATE counters SET v = v + 1 WHERE id = 61")?;
    client.query_drop("COMMIT")?;
    client.query_drop("START TRANSACTION READ ONLY")?;
    watch.expect(&mut client, "SELECT v FROM counters WHERE id = 1", true)?;
    client.query_drop("COMMIT")?;
    client.query_drop("UPDATE counters SET v = v + 1 WHERE id = 61")?;
    // A transaction that says nothing of READ ONLY is the writer's.
    client.query_drop("START TRANSACTION")?;
    let port = value(&mut client, "SELECT @@port")?;
    expect_equal("the writer", port, site.writer.server.port().to_string())?;
    client.query_drop("ROLLBACK")?;
    Ok(())
}

/// The replicas apply nothing: whatever a session does between its write and its read, it reads what it has written.
fn not_forgotten(site: &GroupSite, endpoint: &Endpoint) -> Result<(), Failed> {
    let between: [&[&str]; 7] = [
        &[],
        &["SELECT 1"],
        &["SELECT /*+ WEIR_REPLICA */ @@port"],
        &["START TRANSACTION READ ONLY", "SELECT 1"],
        &["SELECT 1 / 0 FROM counters WHERE id = 1", "SHOW WARNINGS"],
        &["SET weir_consistency = 'eventual'", "SELECT COUNT(*) FROM counters", "SET weir_consistency = 'session'"],
        &["SET weir_consistency = 'primary'", "SELECT COUNT(*) FROM counters", "SET weir_consistency = 'session'"],
    ];
    (0..2).try_for_each(|replica| site.apply(replica, false))?;
    let mut n = 1000;
    let mut checked = || {
        for statements in between {
            for prepared in [false, true] {
                n += 1;
                let mut client = client(endpoint, APP)?;
                client.query_drop(format!("UPDATE counters SET v = {n} WHERE id = 60"))?;
                if prepared {
                    client.prep("SELECT 5")?;
                }
                for statement in statements {
                    let rows: Vec<mysql::Row> = client.query(statement)?;
                    drop(rows);
                }
                let read: Option<i64> = match prepared {
                    true => client.exec_first("SELECT v FROM counters WHERE id = ?", (60,))?,
                    false => client.query_first("SELECT v FROM counters WHERE id = 60")?,
                };
                expect_equal(&format!("after {statements:?}, prepared: {prepared}"), read, Some(n))?;
            }
        }
        Ok(())
    };
    let result = checked();
    (0..2).try_for_each(|replica| site.apply(replica, true))?;
    result
}

fn left_over(site: &GroupSite, endpoint: &Endpoint) -> Result<(), Failed> {
    let watch = Watch(endpoint);
    let mut client = client(endpoint, APP)?;
    for round in 0..5 {
        client.query_drop("INSERT INTO log (who) VALUES (99)")?;
        let id = client.last_insert_id();
        watch.expect(&mut client, "SELECT COUNT(*) FROM log WHERE who = 99", true)?;
        let told = value(&mut client, "SELECT LAST_INSERT_ID()")?;
        expect_equal(&format!("LAST_INSERT_ID() after a read elsewhere, round {round}"), told, id.to_string())?;
    }
    client.query_drop("INSERT INTO log (who) VALUES (98)")?;
    let rows: Vec<i64> = client.query("SELECT id FROM counters WHERE id < 7")?;
    expect_equal("rows", rows.len(), 7)?;
    expect_equal("FOUND_ROWS() of the read elsewhere", value(&mut client, "SELECT FOUND_ROWS()")?, "7".into())?;
    // A warning of a read on a replica.
    client.query_drop("INSERT INTO log (who) VALUES (97)")?;
    client.query_drop("SELECT 1 / 0 FROM counters WHERE id = 1")?;
    let warnings: Vec<mysql::Row> = client.query("SHOW WARNINGS")?;
    let expected = usize::from(value(&mut client, "SELECT @@sql_mode")?.contains("ERROR_FOR_DIVISION_BY_ZERO"));
    expect_equal("warnings", warnings.len(), expected)?;
    if site.flavor == Flavor::MySql {
        expect_equal("the mode warns", expected, 1)?;
    }
    Ok(())
}

/// A function behind a view, which no text shows, sets a variable.
fn assigned_by_read(site: &GroupSite, endpoint: &Endpoint) -> Result<(), Failed> {
    if site.flavor != Flavor::MariaDb {
        return Ok(());
    }
    let definitions = [
        "CREATE OR REPLACE FUNCTION {db}.assigns() RETURNS INT BEGIN SET @assigned = 41 + 1; RETURN 1; END",
        "CREATE OR REPLACE VIEW {db}.assigning AS SELECT {db}.assigns() AS f",
        "CREATE TABLE IF NOT EXISTS {db}.taken (v INT PRIMARY KEY)",
    ];
    site.writer.fill(DATABASE, &definitions)?;
    site.catch_up()?;
    let watch = Watch(endpoint);
    let mut session = client(endpoint, APP)?;
    session.query_drop("SET @own = 7")?;
    watch.expect(&mut session, "SELECT f FROM assigning", true)?;
    expect_equal("both variables", value(&mut session, "SELECT @assigned + @own")?, "49".into())?;
    watch.expect(&mut session, "INSERT INTO taken VALUES (@assigned)", false)?;
    let on_writer = site.writer.server.query_value(&format!("SELECT SUM(v) FROM {DATABASE}.taken"))?;
    expect_equal("what was written", on_writer.as_deref(), Some("42"))
}

/// A session that has read on a replica waits for the writer's commits before it reads there, but not between a statement and what asks
/// for its warnings.
fn asked_after_reads(_: &GroupSite, endpoint: &Endpoint) -> Result<(), Failed> {
    let watch = Watch(endpoint);
    let mut client = client(endpoint, APP)?;
    let read = "SELECT /*+ WEIR_REPLICA */ v FROM counters WHERE id = 1";
    // Warned of, and nothing is committed.
    let warned = ["DROP PROCEDURE IF EXISTS nothing", "CREATE TABLE IF NOT EXISTS counters (id INT)"];
    let asked = [("SHOW WARNINGS", "Note"), ("SHOW COUNT(*) WARNINGS", "1"), ("SELECT @@warning_count", "1")];
    for statement in warned {
        for (question, answer) in asked {
            for bound in [false, true] {
                if bound {
                    client.query_drop("SET @bound = RAND()")?;
                }
                watch.expect(&mut client, read, !bound)?;
                client.query_drop(statement)?;
                let row: Option<mysql::Row> = client.query_first(question)?;
                let told: Option<String> = row.and_then(|row| row.get(0));
                expect_equal(&format!("{statement}, {question}, bound: {bound}"), told, Some(answer.to_owned()))?;
            }
            client.reset()?;
        }
    }
    watch.expect(&mut client, read, true)?;
    client.query_drop("SELECT SQL_CALC_FOUND_ROWS id FROM counters WHERE id < 7 LIMIT 2 FOR UPDATE")?;
    let found = "SELECT /*+ WEIR_PRIMARY */ FOUND_ROWS() FROM counters WHERE id = 1";
    expect_equal("FOUND_ROWS() of a locking read", value(&mut client, found)?, "7".into())
}

fn weights(site: &GroupSite, endpoint: &Endpoint) -> Result<(), Failed> {
    let mut client = client(endpoint, APP)?;
    let heavy = site.replicas[0].port().to_string();
    let mut there = 0;
    for _ in 0..400 {
        there += u32::from(value(&mut client, "SELECT /*+ WEIR_REPLICA */ @@port")? == heavy);
    }
    // Three quarters of them, but for what chance does.
    expect_equal(&format!("{there} of 400 reads on the one with weight 3"), (240..=360).contains(&there), true)
}
