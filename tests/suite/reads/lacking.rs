//! Reads on replicas that have not heard yet of what was defined or granted on their writer.

use libtest_mimic::Failed;
use mysql::Conn;
use mysql::prelude::Queryable;

use super::scattered::wait_for_second_shard;
use super::site::{BOUND, DATABASE, GroupSite, shown};
use super::{ScatteredCase, SharedCase};
use crate::driver::{connect, expect_equal, expect_error, run};
use crate::lab::{APP, Endpoint, Site, eventually};

type Settings = &'static [(&'static str, &'static str)];

pub(super) const CASES: &[(&str, Settings, SharedCase)] =
    &[("what_a_replica_has_not_heard_of_is_asked_of_the_writer", PATIENT, lacking)];

pub(super) const SCATTERED: &[(&str, Settings, ScatteredCase)] =
    &[("what_a_replica_has_not_heard_of_reads_of_several_shards_ask_of_writers", PATIENT, lacking_on_a_shard)];

/// Replicas stay in use however far behind they are.
const PATIENT: Settings =
    &[("groups.max_lag", "\"1h\""), ("groups.position_interval", "\"20ms\""), ("groups.read_wait", "\"200ms\"")];

/// Both replicas have to be met.
const ROUNDS: usize = 6;

/// A user whom only the writer knows.
const NEWCOMER: (&str, &str) = ("newcomer", "newcomer");

/// Replicas that apply nothing while they are locked; their reads go on.
struct Locked(Vec<Conn>);

impl Locked {
    fn all(site: &GroupSite) -> Result<Locked, Failed> {
        site.writer.server.execute("GRANT RELOAD ON *.* TO app@'%'")?;
        site.catch_up()?;
        let lock = |replica: &weir_local::Server| -> Result<Conn, Failed> {
            let mut connection = connect(replica.port(), APP, None)?;
            connection.query_drop("FLUSH TABLES WITH READ LOCK")?;
            Ok(connection)
        };
        Ok(Locked(site.replicas.iter().map(lock).collect::<Result<_, _>>()?))
    }

    fn end(self) -> Result<(), Failed> {
        self.0.into_iter().try_for_each(|mut connection| Ok(connection.query_drop("UNLOCK TABLES")?))
    }
}

fn rerouted(endpoint: &Endpoint) -> Result<u64, Failed> {
    endpoint.weir.as_ref().ok_or("Weir is the target")?.counter("weir_client_reads_rerouted")
}

fn fresh(endpoint: &Endpoint, database: &str) -> Result<Conn, Failed> {
    Ok(connect(endpoint.port, APP, Some(database)).map_err(|error| format!("login in {database}: {error}"))?)
}

fn expect_value(client: &mut Conn, text: &str, expected: &str) -> Result<(), Failed> {
    let got: Option<String> = client.query_first(text).map_err(|error| format!("{text}: {error}"))?;
    expect_equal(text, got.as_deref(), Some(expected))
}

fn lacking(site: &GroupSite, endpoint: &Endpoint) -> Result<(), Failed> {
    let cleanup = |endpoint: &Endpoint| -> Result<(), Failed> {
        let mut definer = fresh(endpoint, DATABASE)?;
        definer.query_drop("DROP DATABASE IF EXISTS t_lacking")?;
        site.writer.server.execute("DROP USER IF EXISTS newcomer")?;
        run(&mut definer, "ALTER TABLE counters DROP COLUMN extra").ok();
        site.catch_up()
    };
    let locked = Locked::all(site)?;
    let read = read_what_is_lacking(site, endpoint);
    locked.end()?;
    cleanup(endpoint)?;
    read
}

fn read_what_is_lacking(site: &GroupSite, endpoint: &Endpoint) -> Result<(), Failed> {
    let mut definer = fresh(endpoint, DATABASE)?;
    for statement in [
        "CREATE DATABASE t_lacking",
        "CREATE TABLE t_lacking.made (id INT PRIMARY KEY, v INT)",
        "INSERT INTO t_lacking.made VALUES (1, 10)",
        "CREATE VIEW t_lacking.seen AS SELECT v FROM t_lacking.made",
        "CREATE FUNCTION t_lacking.doubled(a INT) RETURNS INT DETERMINISTIC RETURN 2 * a",
        "ALTER TABLE counters ADD COLUMN extra INT NOT NULL DEFAULT 7",
    ] {
        definer.query_drop(statement)?;
    }
    site.writer.server.execute("CREATE USER newcomer IDENTIFIED BY 'newcomer'")?;
    site.writer.server.execute("GRANT SELECT ON t_lacking.* TO newcomer")?;
    let before = rerouted(endpoint)?;
    let texts = [
        ("SELECT v FROM t_lacking.made WHERE id = 1", "10"),
        ("SELECT v FROM t_lacking.seen", "10"),
        ("SELECT t_lacking.doubled(5)", "10"),
        ("SELECT extra FROM counters WHERE id = 1", "7"),
        ("SELECT /*+ WEIR_REPLICA */ v FROM t_lacking.made", "10"),
    ];
    for _ in 0..ROUNDS {
        for (text, expected) in texts {
            expect_value(&mut fresh(endpoint, DATABASE)?, text, expected)?;
            let prepared: Result<Option<i64>, _> = fresh(endpoint, DATABASE)?.exec_first(text, ());
            let prepared = prepared.map_err(|error| format!("prepared, {text}: {error}"))?;
            expect_equal(text, prepared.map(|v| v.to_string()), Some(expected.into()))?;
            let mut reader = fresh(endpoint, DATABASE)?;
            reader.query_drop("START TRANSACTION READ ONLY")?;
            expect_value(&mut reader, text, expected)?;
            expect_value(&mut reader, text, expected)?;
            reader.query_drop("COMMIT")?;
        }
        let mut there = fresh(endpoint, DATABASE)?;
        there.query_drop("SELECT v FROM counters WHERE id = 1")?;
        run(&mut there, "USE t_lacking").map_err(|error| format!("USE: {error}"))?;
        expect_value(&mut there, "SELECT DATABASE()", "t_lacking")?;
        expect_value(&mut there, "SELECT v FROM made", "10")?;
        expect_value(&mut fresh(endpoint, "t_lacking")?, "SELECT v FROM made", "10")?;
        let mut newcomer = connect(endpoint.port, NEWCOMER, Some("t_lacking"))?;
        expect_value(&mut newcomer, "SELECT v FROM made", "10")?;
        let mistake = run(&mut fresh(endpoint, DATABASE)?, "SELECT v FROM t_lacking.missing");
        expect_error("a mistake", &mistake, 1146, "42S02")?;
    }
    match rerouted(endpoint)? > before {
        true => Ok(()),
        false => Err("no read was on a replica that lacked anything".into()),
    }
}

fn lacking_on_a_shard(site: &mut GroupSite, _: &Site, endpoint: &Endpoint) -> Result<(), Failed> {
    wait_for_second_shard(endpoint)?;
    let mut definer = fresh(endpoint, DATABASE)?;
    definer.query_drop("CREATE DATABASE t_old")?;
    definer.query_drop("CREATE TABLE t_old.old (id INT PRIMARY KEY, v INT) SHARD BY HASH(id)")?;
    definer.query_drop("INSERT INTO t_old.old VALUES (1,1),(2,2),(3,3),(4,4),(5,5),(6,6),(7,7),(8,8)")?;
    site.catch_up()?;
    eventually(BOUND, "both replicas take reads", || {
        ["s1-replica1", "s1-replica2"].iter().all(|name| shown(endpoint, name).is_ok_and(|reads| reads == "yes"))
    })?;
    let locked = Locked::all(site)?;
    definer.query_drop("CREATE DATABASE t_lacking")?;
    definer.query_drop("CREATE TABLE t_lacking.made (id INT PRIMARY KEY, v INT) SHARD BY HASH(id)")?;
    definer.query_drop("INSERT INTO t_lacking.made SELECT id, v FROM t_old.old")?;
    definer.query_drop("ALTER TABLE t_old.old ADD COLUMN extra INT NOT NULL DEFAULT 7")?;
    let before = rerouted(endpoint)?;
    let texts = [
        ("SELECT SUM(v) FROM t_lacking.made", "36"),
        ("SELECT v FROM t_lacking.made ORDER BY id DESC LIMIT 1", "8"),
        ("SELECT SUM(extra) FROM t_old.old", "56"),
        ("SELECT COUNT(*) FROM t_lacking.made a JOIN t_old.old b ON a.v = b.extra", "8"),
        ("SELECT COUNT(*) FROM (SELECT id FROM t_lacking.made UNION SELECT extra FROM t_old.old) u", "8"),
    ];
    for _ in 0..ROUNDS {
        for (text, expected) in texts {
            expect_value(&mut fresh(endpoint, "t_old")?, text, expected)?;
        }
        expect_value(&mut fresh(endpoint, "t_lacking")?, "SELECT SUM(v) FROM made", "36")?;
        for id in 1..=8 {
            let text = format!("SELECT v FROM t_lacking.made WHERE id = {id}");
            expect_value(&mut fresh(endpoint, "t_old")?, &text, &id.to_string())?;
        }
        let mistake = run(&mut fresh(endpoint, "t_old")?, "SELECT SUM(missing) FROM t_lacking.made");
        expect_error("a mistake", &mistake, 1054, "42S22")?;
    }
    locked.end()?;
    match rerouted(endpoint)? > before {
        true => Ok(()),
        false => Err("no read was on a replica that lacked anything".into()),
    }
}
