//! Several shards behind one Weir: which of them answers, and that one which is gone harms no other.

use std::time::Duration;

use libtest_mimic::Failed;
use mysql::prelude::Queryable;
use mysql::{Conn, Row};
use weir_local::{Flavor, Server, wait_for_replica};

use crate::Collector;
use crate::driver::{connect, expect_equal, expect_error, run, server_error, value};
use crate::lab::{APP, Endpoint, Lab, Site, eventually};
use crate::packets;
use crate::weir::{Weir, servers_of_shard, text_with, write_config};

const BOUND: Duration = Duration::from_secs(60);
const DATABASE: &str = "t_shards";

/// The case whose groups wait for their writers.
const WAITS: &str = "writes_of_several_shards_wait_for_a_writer_of_each";

/// Two shards: the first has a replica, the second one server.
struct Shards {
    first: Site,
    replica: Server,
    second: Site,
}

type Case = fn(&mut Shards, &Endpoint) -> Result<(), Failed>;

/// Adds this module's tests.
pub(crate) fn collect(tests: &mut Collector) {
    let cases: [(&str, Case); 7] = [
        ("statements_run_where_they_are_meant_to", everywhere),
        ("what_is_set_globally_is_set_on_all_servers", globally),
        ("definitions_of_many_sessions_end_all", defining),
        ("a_shard_that_is_gone_harms_no_other", gone),
        ("a_reload_and_a_new_writer_find_their_group", changed),
        (WAITS, waiting),
        ("statements_of_a_text_are_counted_once", counted),
    ];
    for (word, case) in cases {
        tests.add_for_weir(&format!("shards::{word}"), move |lab: &Lab, flavor| {
            let mut shards = Shards::start(flavor, lab)?;
            let bound = if word == WAITS { "\"60s\"" } else { "\"0s\"" };
            let settings = [("groups.s1.writer_wait", bound), ("groups.s2.writer_wait", bound)];
            let weir = Weir::start_shards(&lab.directory()?, &shards.servers(), &settings)?;
            lab.judge(Endpoint::of(weir), |endpoint| {
                eventually(BOUND, "all servers answer", || {
                    servers(endpoint).is_ok_and(|rows| rows.iter().all(|row| text(row, "health") == "up"))
                })?;
                case(&mut shards, endpoint)
            })
        });
    }
}

impl Shards {
    fn start(flavor: Flavor, lab: &Lab) -> Result<Self, Failed> {
        let parent = lab.directory()?;
        let first = Site::start(flavor, &parent, "s1", &[])?;
        let second = Site::start(flavor, &parent, "s2", &[])?;
        let replica = first.start_replica(&parent, "s1r")?;
        let shards = Shards { first, replica, second };
        for (name, site) in [("s1", &shards.first), ("s2", &shards.second)] {
            let fill = format!("INSERT INTO {{db}}.own VALUES ('{name}')");
            let table = "CREATE TABLE {db}.own (shard VARCHAR(10) PRIMARY KEY)";
            let numbers = "CREATE TABLE {db}.numbers (id INT AUTO_INCREMENT PRIMARY KEY, v INT NOT NULL)";
            // For limits of servers, which are set through Weir too.
            let all = format!("GRANT ALL ON *.* TO '{}'@'%'", APP.0);
            site.fill(DATABASE, &["CREATE DATABASE {db}", table, numbers, &fill, &all])?;
        }
        wait_for_replica(&shards.first.server, &shards.replica, BOUND)?;
        Ok(shards)
    }

    fn servers(&self) -> [(&'static str, Vec<&Server>); 2] {
        [("s1", vec![&self.first.server, &self.replica]), ("s2", vec![&self.second.server])]
    }
}

fn app(endpoint: &Endpoint) -> mysql::Result<Conn> {
    connect(endpoint.port, APP, Some(DATABASE))
}

fn on(endpoint: &Endpoint, shard: &str) -> mysql::Result<Conn> {
    let mut session = app(endpoint)?;
    session.query_drop(format!("SET weir_shard = '{shard}'"))?;
    Ok(session)
}

fn servers(endpoint: &Endpoint) -> mysql::Result<Vec<Row>> {
    app(endpoint)?.query("WEIR SHOW SERVERS")
}

fn text(row: &Row, column: &str) -> String {
    row.get::<Option<String>, _>(column).flatten().unwrap_or_default()
}

const WHICH: &str = "SELECT shard FROM own";

fn everywhere(shards: &mut Shards, endpoint: &Endpoint) -> Result<(), Failed> {
    let rows = servers(endpoint)?;
    let shown: Vec<_> = rows.iter().map(|row| (text(row, "server"), text(row, "group"), text(row, "role"))).collect();
    let row = |server: &str, group: &str, role: &str| (server.to_owned(), group.to_owned(), role.to_owned());
    let expected =
        vec![row("s1-writer", "s1", "writer"), row("s1-replica1", "s1", "replica"), row("s2-writer", "s2", "writer")];
    expect_equal("servers", shown, expected)?;
    let mut plain = app(endpoint)?;
    expect_equal("the home shard", value(&mut plain, WHICH)?, "s1".into())?;
    expect_equal("prepared", plain.exec_first::<String, _, _>(WHICH, ())?, Some("s1".into()))?;
    expect_equal("no shard is chosen", plain.query_first::<Option<String>, _>("SELECT @@weir_shard")?, Some(None))?;
    one_session_on_both(&mut plain)?;
    bound(endpoint)?;
    residue(endpoint)?;
    riding(endpoint)?;
    packets::limits_of_servers(endpoint)?;
    let second: u64 =
        shards.second.server.query_value("SELECT COUNT(*) FROM t_shards.numbers")?.ok_or("a count")?.parse()?;
    let first: u64 =
        shards.first.server.query_value("SELECT COUNT(*) FROM t_shards.numbers")?.ok_or("a count")?.parse()?;
    expect_equal("rows on the shards", (first, second), (1, 4))?;
    // Who has all rights can't take Weir's records away by mistake.
    let mut session = app(endpoint)?;
    let own = ["DROP DATABASE weir", "DROP TABLE IF EXISTS weir.none, weir.decisions", "TRUNCATE weir.sequences"];
    for statement in
        own.into_iter().chain(["ALTER TABLE weir.catalog ADD c INT", "RENAME TABLE weir.catalog TO t_shards.c"])
    {
        expect_error(statement, &run(&mut session, statement), 1044, "42000")?;
    }
    session.query_drop("USE weir")?;
    expect_error("the default database", &run(&mut session, "DROP TABLE catalog"), 1044, "42000")
}

/// Each statement runs on the shard that is chosen, text and prepared, with the session's own settings.
fn one_session_on_both(session: &mut Conn) -> Result<(), Failed> {
    let prepared = session.prep("SELECT CONCAT(shard, @@sort_buffer_size) FROM own")?;
    session.query_drop("SET sort_buffer_size = 262144")?;
    session.query_drop("SET @mine = 'kept'")?;
    for _ in 0..3 {
        for shard in ["s2", "s1", "S2"] {
            session.query_drop(format!("SET weir_shard = {shard}"))?;
            let lower = shard.to_lowercase();
            expect_equal("text", value(session, WHICH)?, lower.clone())?;
            expect_equal("told", value(session, "SELECT @@session.weir_shard")?, lower.clone())?;
            let found: Option<String> = session.exec_first(&prepared, ())?;
            expect_equal("prepared", found, Some(format!("{lower}262144")))?;
            expect_equal(
                "a user variable",
                value(session, "SELECT CONCAT(@mine, shard) FROM own")?,
                format!("kept{lower}"),
            )?;
        }
    }
    expect_error("no such shard", &run(session, "SET weir_shard = 's3'"), 1231, "42000")?;
    expect_error("two at once", &run(session, "SET weir_shard = 's1', autocommit = 1"), 1235, "42000")?;
    expect_error("unknown", &run(session, "SET weir_shards = 's1'"), 1193, "HY000")?;
    expect_equal("still", value(session, WHICH)?, "s2".into())?;
    session.query_drop("SET weir_shard = DEFAULT")?;
    expect_equal("home", value(session, WHICH)?, "s1".into())?;
    session.query_drop("SET weir_shard = 's2'")?;
    session.reset()?;
    expect_equal("home after a reset", value(session, WHICH)?, "s1".into())
}

/// A transaction and whatever else binds a session stay on their shard.
fn bound(endpoint: &Endpoint) -> Result<(), Failed> {
    let mut session = on(endpoint, "s2")?;
    session.query_drop("BEGIN")?;
    session.query_drop("INSERT INTO numbers (v) VALUES (1)")?;
    session.query_drop("SET weir_shard = 's1'")?;
    expect_equal("another shard joins the transaction", value(&mut session, WHICH)?, "s1".into())?;
    session.query_drop("SET weir_shard = 's2'")?;
    expect_equal("back on the first one", value(&mut session, WHICH)?, "s2".into())?;
    session.query_drop("SET weir_shard = DEFAULT")?;
    expect_equal("in the transaction", value(&mut session, WHICH)?, "s2".into())?;
    expect_equal("prepared there", session.exec_first::<String, _, _>(WHICH, ())?, Some("s2".into()))?;
    session.query_drop("INSERT INTO numbers (v) VALUES (2)")?;
    session.query_drop("COMMIT")?;
    expect_equal("after it", value(&mut session, WHICH)?, "s1".into())?;
    session.query_drop("CREATE TEMPORARY TABLE mine AS SELECT 1 AS one")?;
    expect_error("a temporary table", &run(&mut session, "SET weir_shard = 's2'"), 1235, "42000")?;
    session.query_drop("INSERT INTO numbers (v) SELECT one FROM mine")?;
    session.reset()?;
    session.query_drop("SET weir_shard = 's2'")?;
    Ok(())
}

/// What a statement left is the session's, wherever the next one runs.
fn residue(endpoint: &Endpoint) -> Result<(), Failed> {
    let mut session = on(endpoint, "s2")?;
    session.query_drop("INSERT INTO numbers (v) VALUES (3), (4)")?;
    let id: u64 = value(&mut session, "SELECT MIN(id) FROM numbers WHERE v = 3")?.parse()?;
    session.query_drop("SET weir_shard = 's1'")?;
    expect_equal(
        "the insert id",
        value(&mut session, "SELECT CONCAT(LAST_INSERT_ID(), shard) FROM own")?,
        format!("{id}s1"),
    )?;
    session.query_drop("SET weir_shard = 's2'")?;
    session.query_drop("SELECT 1/0 FROM own WHERE CAST('x' AS SIGNED) = 0")?;
    let warned: Vec<Row> = session.query("SHOW WARNINGS")?;
    expect_equal("warnings", warned.is_empty(), false)
}

/// Reads that ride lanes ride those of their shard.
fn riding(endpoint: &Endpoint) -> Result<(), Failed> {
    let mut sessions = [(on(endpoint, "s1")?, "s1"), (on(endpoint, "s2")?, "s2")];
    for _ in 0..50 {
        for (session, shard) in &mut sessions {
            expect_equal("a short read", value(session, WHICH)?, (*shard).into())?;
        }
    }
    Ok(())
}

/// A text whose statements are of several places is run one by one, and so it is counted.
fn counted(_: &mut Shards, endpoint: &Endpoint) -> Result<(), Failed> {
    let mut client = connect(endpoint.port, APP, None)?;
    for statement in [
        "CREATE DATABASE t_counted",
        "USE t_counted",
        "CREATE TABLE counted (id INT PRIMARY KEY) SHARD BY HASH(id)",
        "WEIR RESET DIGESTS",
        "INSERT INTO counted VALUES (1); SELECT COUNT(*) FROM counted; \
         DELETE FROM counted WHERE id = 3; SELECT COUNT(*) FROM counted",
    ] {
        client.query_drop(statement)?;
    }
    let rows: Vec<Row> = client.query("WEIR SHOW DIGESTS")?;
    let told = |row: &Row| Some(format!("{} {}", row.get::<u64, _>("count")?, row.get::<String, _>("text")?));
    let mut told: Vec<String> = rows.iter().filter_map(told).filter(|row| row.contains("counted")).collect();
    told.sort();
    let expected =
        ["1 DELETE FROM counted WHERE id = ?", "1 INSERT INTO counted VALUES (?)", "2 SELECT COUNT(*) FROM counted"];
    expect_equal("statements", told, expected.map(str::to_owned).to_vec())
}

fn gone(shards: &mut Shards, endpoint: &Endpoint) -> Result<(), Failed> {
    let weir = endpoint.weir.as_ref().ok_or("no Weir")?;
    let (mut first, mut second) = (on(endpoint, "s1")?, on(endpoint, "s2")?);
    expect_equal("there", value(&mut second, WHICH)?, "s2".into())?;
    shards.second.server.kill()?;
    eventually(BOUND, "it is known to be gone", || {
        servers(endpoint).is_ok_and(|rows| rows.iter().any(|row| text(row, "health") == "down"))
    })?;
    for _ in 0..20 {
        expect_equal("the other shard", value(&mut first, WHICH)?, "s1".into())?;
        first.query_drop("INSERT INTO numbers (v) VALUES (5)")?;
    }
    expect_equal("a new client", value(&mut app(endpoint)?, WHICH)?, "s1".into())?;
    let refused = run(&mut second, WHICH);
    expect_equal("the one that is gone", server_error(&refused).map(|(code, _)| code), Some(2003))?;
    second.query_drop("SET weir_shard = 's1'")?;
    expect_equal("the same session elsewhere", value(&mut second, WHICH)?, "s1".into())?;
    let status: Vec<(String, String)> = first.query("WEIR STATUS")?;
    for (name, count) in [("groups", "2"), ("writers_up", "1"), ("servers", "3"), ("servers_up", "2")] {
        expect_equal(&format!("{name} in {status:?}"), status.contains(&(name.into(), count.into())), true)?;
    }
    let health = weir.health()?;
    expect_equal(&health, health.contains("200 OK") && health.contains("shard s2: "), true)?;
    shards.second.server.restart()?;
    eventually(BOUND, "it is back", || {
        on(endpoint, "s2").is_ok_and(|mut session| value(&mut session, WHICH).is_ok_and(|shard| shard == "s2"))
    })
}

fn changed(shards: &mut Shards, endpoint: &Endpoint) -> Result<(), Failed> {
    let weir = endpoint.weir.as_ref().ok_or("no Weir")?;
    let mut admin = app(endpoint)?;
    expect_error("unknown", &run(&mut admin, "WEIR SET WRITER nobody"), 1210, "HY000")?;
    expect_error("read-only", &run(&mut admin, "WEIR SET WRITER `s1-replica1`"), 1235, "HY000")?;
    admin.query_drop("WEIR SET WRITER `s2-writer`")?;
    shards.first.server.set_read_only(true)?;
    shards.replica.set_read_only(false)?;
    eventually(BOUND, "the replica becomes the writer of its group", || {
        run(&mut admin, "WEIR SET WRITER `s1-replica1`").is_ok()
    })?;
    let writers: Vec<_> =
        servers(endpoint)?.iter().filter(|row| text(row, "role") == "writer").map(|row| text(row, "server")).collect();
    expect_equal("writers", writers, vec!["s1-replica1".to_owned(), "s2-writer".to_owned()])?;
    let port: u64 = value(&mut admin, "SELECT /*+ WEIR_PRIMARY */ @@port")?.parse()?;
    expect_equal("the new writer", port, u64::from(shards.replica.port()))?;

    let entries: Vec<_> =
        shards.servers().iter().flat_map(|(group, servers)| servers_of_shard(group, servers)).collect();
    let settings = [("groups.s2.consistency", "\"primary\""), ("groups.s2.max_lag", "\"7s\"")];
    let new = text_with(weir.port, weir.metrics_port, &weir.socket, &entries, &settings);
    let renamed = new.replace("name = \"s1\"", "name = \"s9\"").replace("group = \"s1\"", "group = \"s9\"");
    write_config(&weir.config, &new)?;
    let changes: Vec<(String, String, Option<String>, Option<String>)> = admin.query("WEIR RELOAD")?;
    let said = |key: &str, outcome: &str| changes.iter().any(|change| change.0 == key && change.1 == outcome);
    let told = said("groups.s2.max_lag", "applied") && said("groups.s1.writer_wait", "applied");
    expect_equal(&format!("{changes:?}"), told, true)?;
    write_config(&weir.config, &renamed)?;
    let changes: Vec<(String, String, Option<String>, Option<String>)> = admin.query("WEIR RELOAD")?;
    let waits = changes.iter().all(|change| change.1 == "needs restart");
    expect_equal(&format!("{changes:?}"), waits && changes.len() > 4, true)?;
    let groups: Vec<_> = servers(endpoint)?.iter().map(|row| text(row, "group")).collect();
    expect_equal("groups", groups, vec!["s1".to_owned(), "s1".to_owned(), "s2".to_owned()])
}

/// Writes that meet a writer of another shard that is read-only are run once it is replaced, or writes again.
fn waiting(shards: &mut Shards, endpoint: &Endpoint) -> Result<(), Failed> {
    if shards.first.flavor == Flavor::MariaDb {
        let mortal = format!("REVOKE READ_ONLY ADMIN ON *.* FROM '{}'@'%'", APP.0);
        shards.first.server.execute(&mortal)?;
        wait_for_replica(&shards.first.server, &shards.replica, BOUND)?;
    }
    let mut admin = app(endpoint)?;
    admin.query_drop("CREATE DATABASE t_wait")?;
    admin.query_drop("CREATE TABLE t_wait.t (id INT PRIMARY KEY, v INT)")?;
    admin.query_drop("CREATE TABLE t_wait.n (id INT AUTO_INCREMENT PRIMARY KEY, v INT)")?;
    let port = endpoint.port;
    let insert = |from: u32| {
        let rows: Vec<String> = (from..from + 20).map(|id| format!("({id}, 0)")).collect();
        connect(port, APP, None)?.query_drop(format!("INSERT INTO t_wait.t VALUES {}", rows.join(",")))
    };
    let waits = |admin: &mut Conn| -> mysql::Result<bool> {
        let states: Vec<String> = admin.query_map("SHOW PROCESSLIST", |row: Row| text(&row, "State"))?;
        Ok(states.iter().any(|state| state == "Waiting for the writer"))
    };
    shards.first.server.set_read_only(true)?;
    std::thread::scope(|scope| {
        let written = scope.spawn(|| insert(0));
        eventually(BOUND, "the write waits", || waits(&mut admin).unwrap_or(false))?;
        shards.first.server.set_read_only(false)?;
        written.join().map_err(|_| "the client has panicked")?.map_err(Failed::from)
    })?;
    // Ids that the sequence gives, and one that it has to be told of.
    shards.first.server.set_read_only(true)?;
    std::thread::scope(|scope| {
        const OF_SEQUENCE: &str = "INSERT INTO t_wait.n (v) VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)";
        let generated = scope.spawn(|| connect(port, APP, None)?.query_drop(OF_SEQUENCE));
        eventually(BOUND, "the write waits", || waits(&mut admin).unwrap_or(false))?;
        let told = scope.spawn(|| connect(port, APP, None)?.query_drop("INSERT INTO t_wait.n VALUES (100000, 0)"));
        shards.first.server.set_read_only(false)?;
        let joined = |_| Failed::from("the client has panicked");
        generated.join().map_err(joined)??;
        told.join().map_err(joined)?.map_err(Failed::from)
    })?;
    shards.first.server.set_read_only(true)?;
    std::thread::scope(|scope| {
        let written = scope.spawn(|| insert(100));
        eventually(BOUND, "the write waits", || waits(&mut admin).unwrap_or(false))?;
        shards.replica.set_read_only(false)?;
        eventually(BOUND, "the replica becomes the writer of its group", || {
            run(&mut app(endpoint).expect("a client"), "WEIR SET WRITER `s1-replica1`").is_ok()
        })?;
        written.join().map_err(|_| "the client has panicked")?.map_err(Failed::from)
    })?;
    expect_equal("ids", value(&mut admin, "SELECT COUNT(DISTINCT id) FROM t_wait.n")?, "11".into())?;
    expect_equal("rows", value(&mut admin, "SELECT COUNT(*) FROM t_wait.t")?, "40".into())
}

/// Sessions that define things of their own at the same time.
const DEFINING: usize = 8;

/// None of them is refused because of the others.
fn defining(_: &mut Shards, endpoint: &Endpoint) -> Result<(), Failed> {
    app(endpoint)?.query_drop("CREATE DATABASE t_many")?;
    let port = endpoint.port;
    let define = |session: usize| -> mysql::Result<()> {
        let mut conn = connect(port, APP, Some("t_many"))?;
        for round in 0..2 {
            let table = format!("t_{session}_{round}");
            conn.query_drop(format!("CREATE TABLE {table} (id INT PRIMARY KEY, k INT)"))?;
            conn.query_drop(format!("CREATE INDEX by_k ON {table} (k)"))?;
            conn.query_drop(format!("DROP TABLE {table}"))?;
            conn.query_drop(format!("CREATE TABLE {table} (id INT PRIMARY KEY)"))?;
        }
        Ok(())
    };
    let ended: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..DEFINING).map(|session| scope.spawn(move || define(session))).collect();
        threads.into_iter().map(|thread| thread.join().expect("a session's thread panics nowhere")).collect()
    });
    for (session, ended) in ended.into_iter().enumerate() {
        ended.map_err(|error| format!("session {session}: {error}"))?;
    }
    let mut conn = connect(port, APP, Some("t_many"))?;
    expect_equal("tables", conn.query::<String, _>("SHOW TABLES")?.len(), DEFINING * 2)?;
    expect_equal("nothing is under way", conn.query::<Row, _>("WEIR SHOW DDL")?.len(), 0)
}

/// What all servers have of variables: of the first shard's writer, its replica, and the second shard's writer.
fn on_servers(shards: &Shards, variable: &str) -> Result<Vec<String>, Failed> {
    let asked = |server: &Server| server.query_value(&format!("SELECT @@GLOBAL.{variable}"));
    let servers = [&shards.first.server, &shards.replica, &shards.second.server];
    servers.into_iter().map(|server| Ok(asked(server)?.unwrap_or_default())).collect()
}

/// New sessions begin alike wherever they run; a server's identity stays its own; a chosen shard is set alone.
fn globally(shards: &mut Shards, endpoint: &Endpoint) -> Result<(), Failed> {
    let own = on_servers(shards, "server_id")?;
    let mut session = app(endpoint)?;
    session.query_drop("SET @digits = 5 + 2")?;
    session
        .query_drop("SET @before = 1, GLOBAL div_precision_increment = @digits, @@GLOBAL.lc_time_names = 'de_DE'")?;
    expect_equal("by a user variable", on_servers(shards, "div_precision_increment")?, vec!["7".into(); 3])?;
    expect_equal("with a scope", on_servers(shards, "lc_time_names")?, vec!["de_DE".into(); 3])?;
    expect_equal("what is the session's", value(&mut session, "SELECT @before")?, "1".into())?;
    session.exec_drop("SET GLOBAL div_precision_increment = ?", (6,))?;
    expect_equal("prepared", on_servers(shards, "div_precision_increment")?, vec!["6".into(); 3])?;
    expect_equal("a new session", value(&mut app(endpoint)?, "SELECT @@div_precision_increment")?, "6".into())?;
    let begun =
        session.query_drop("START TRANSACTION").and_then(|()| session.query_drop("INSERT INTO numbers (v) VALUES (1)"));
    begun.and_then(|()| session.query_drop("SET GLOBAL group_concat_max_len = 2048"))?;
    expect_equal("in a transaction", on_servers(shards, "group_concat_max_len")?, vec!["2048".into(); 3])?;
    session.query_drop("ROLLBACK")?;
    expect_equal("no commit", value(&mut session, "SELECT COUNT(*) FROM numbers")?, "0".into())?;
    expect_error("a mistake", &session.query_drop("SET GLOBAL no_such_variable = 1"), 1193, "HY000")?;
    on(endpoint, "s2")?.query_drop("SET GLOBAL group_concat_max_len = 4096")?;
    let one = ["2048", "2048", "4096"].map(str::to_owned).to_vec();
    expect_equal("a chosen shard", on_servers(shards, "group_concat_max_len")?, one)?;
    session.query_drop("SET GLOBAL server_id = 4711")?;
    let identified = on_servers(shards, "server_id")?;
    expect_equal("the home shard's identity", &identified[0], &"4711".to_owned())?;
    expect_equal("other servers'", &identified[1..], &own[1..])
}
