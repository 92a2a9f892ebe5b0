//! BATCH: a large write in parts does what the whole does, each part once, whoever is killed meanwhile.

use std::time::Duration;

use libtest_mimic::Failed;
use mysql::prelude::Queryable;
use mysql::{Conn, Row};
use weir_local::{Flavor, Server};

use crate::Collector;
use crate::driver::{connect, expect_equal, expect_error, run, value};
use crate::lab::{APP, Lab, PLAIN, Site, eventually};
use crate::weir::Weir;

const BOUND: Duration = Duration::from_secs(60);
const DATABASE: &str = "t_batches";
const ROWS: u32 = 100;
/// Of all rows, with how often each was changed.
const ALL: &str = "SELECT GROUP_CONCAT(CONCAT_WS(':', id, g, v) ORDER BY id) FROM";

/// Adds this module's tests.
pub(crate) fn collect(tests: &mut Collector) {
    tests.add_for_weir("batches::parts_do_what_the_whole_does", one_server);
    tests.add_for_weir("batches::parts_do_what_the_whole_does_over_shards", two_shards);
    tests.add_for_weir("batches::what_is_killed_paused_or_cancelled_goes_on_where_it_was", commanded);
    tests.add_for_weir("batches::a_server_or_a_weir_that_dies_has_done_no_part_twice", deaths);
}

/// Weir over one server, or over two shards.
struct Servers {
    sites: Vec<Site>,
    weir: Weir,
}

impl Servers {
    fn start(lab: &Lab, flavor: Flavor, shards: usize) -> Result<Servers, Failed> {
        let parent = lab.directory()?;
        let names = ["s1", "s2"];
        let options = &["group-concat-max-len=1000000"];
        let sites: Result<Vec<Site>, Failed> =
            names[..shards].iter().map(|name| Site::start(flavor, &parent, name, options)).collect();
        let sites = sites?;
        let servers: Vec<(&str, Vec<&Server>)> =
            names.iter().copied().zip(sites.iter().map(|site| vec![&site.server])).collect();
        let weir = match shards {
            1 => Weir::start(&lab.directory()?, &sites[0].server, &[])?,
            _ => Weir::start_shards(&lab.directory()?, &servers, &[])?,
        };
        let clause = if shards > 1 { "/*weir: shards (s1, s2) */" } else { "" };
        let servers = Servers { sites, weir };
        eventually(BOUND, "the database can be made", || {
            connect(servers.weir.port, APP, None)
                .and_then(|mut session| {
                    run(&mut session, &format!("CREATE DATABASE IF NOT EXISTS {DATABASE} {clause}"))
                })
                .is_ok()
        })?;
        Ok(servers)
    }

    fn session(&self, account: (&str, &str)) -> Result<Conn, Failed> {
        Ok(connect(self.weir.port, account, Some(DATABASE))?)
    }

    /// Returns once a transaction waits for a row's lock on one of the servers.
    fn somebody_waits(&self) -> Result<(), Failed> {
        let waiting = "SELECT COUNT(*) FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'";
        eventually(BOUND, "a transaction waits for a lock", || {
            // InnoDB renews this table only when nobody has read it for 0.1 s.
            std::thread::sleep(Duration::from_millis(150));
            self.sites.iter().any(|site| {
                let count = site.server.admin().ok().and_then(|mut root| value(&mut root, waiting).ok());
                count.is_some_and(|count| count != "0")
            })
        })
    }
}

/// Makes a table of rows with gaps between their ids.
fn table(session: &mut Conn, name: &str, clause: &str) -> Result<(), Failed> {
    let columns = "id INT NOT NULL, g INT NOT NULL, v INT NOT NULL, at DATETIME(6) NULL, PRIMARY KEY (id), KEY g (g)";
    run(session, &format!("CREATE TABLE {name} ({columns}) {clause}"))?;
    let rows: Vec<String> = (0..ROWS).map(|row| format!("({}, {}, 0, NULL)", row * 3, row % 7)).collect();
    Ok(run(session, &format!("INSERT INTO {name} VALUES {}", rows.join(", ")))?)
}

/// Runs a BATCH, and returns its number of jobs.
fn batch(session: &mut Conn, statement: &str) -> Result<u64, Failed> {
    let row: Option<Row> = session.query_first(statement).map_err(|error| format!("{statement}: {error}"))?;
    let row = row.ok_or_else(|| format!("{statement}: no row"))?;
    expect_equal(statement, row.get::<String, _>("job status"), Some("all succeeded".to_owned()))?;
    row.get("number of jobs").ok_or_else(|| "number of jobs".into())
}

/// Each statement leaves the same rows in parts and as a whole.
fn same(session: &mut Conn, clause: &str, every: usize) -> Result<(), Failed> {
    let cases = [
        ("ON id LIMIT 7", "DELETE FROM {} WHERE g IN (1, 5)", 5),
        ("LIMIT 10", "DELETE FROM {}", 10),
        ("LIMIT 30", "UPDATE {} SET v = v + id WHERE g <> 3 OR id < 10", 3),
        ("ON g LIMIT 5", "UPDATE {} SET v = v + 1", 7),
        ("LIMIT 1000", "UPDATE {} SET v = 1 WHERE id > 50", 1),
        ("LIMIT 5", "DELETE FROM {} WHERE id < 0", 0),
        (
            "LIMIT 20",
            "INSERT INTO {} (id, g, v) SELECT id + 1, g, 5 FROM source WHERE g < 3 ON DUPLICATE KEY UPDATE v = 9",
            3,
        ),
        ("LIMIT 20", "INSERT IGNORE INTO {} (id, g, v) SELECT id + id MOD 2, g, 7 FROM source", 5),
        ("LIMIT 20", "REPLACE INTO {} SELECT id, g, 8, NULL FROM source AS s WHERE s.g = 4 OR id > 150", 3),
        ("LIMIT 25", "UPDATE {} SET v = 3 WHERE v = 0 AND g < 4", 3),
    ];
    for (at, (options, statement, jobs)) in cases.iter().enumerate().step_by(every) {
        let (parts, whole) = (format!("parts{at}"), format!("whole{at}"));
        table(session, &parts, clause)?;
        table(session, &whole, clause)?;
        let text = format!("BATCH {options} {}", statement.replace("{}", &parts));
        expect_equal(&text, batch(session, &text)?, *jobs)?;
        run(session, &statement.replace("{}", &whole))?;
        let rows = |session: &mut Conn, table: &str| value(session, &format!("{ALL} {table}"));
        expect_equal(&text, rows(session, &parts)?, rows(session, &whole)?)?;
        run(session, &format!("DROP TABLE {parts}, {whole}"))?;
    }
    Ok(())
}

fn one_server(lab: &Lab, flavor: Flavor) -> Result<(), Failed> {
    let servers = Servers::start(lab, flavor, 1)?;
    let session = &mut servers.session(APP)?;
    table(session, "source", "")?;
    same(session, "", 1)?;
    shown(session)?;
    refused(session)?;
    // A table of the same name in another database, and the first rows of it: the published form.
    run(session, "CREATE DATABASE t_batches_other")?;
    run(session, "CREATE TABLE t_batches_other.source LIKE source")?;
    run(session, "USE t_batches_other")?;
    let text = "BATCH LIMIT 10 insert into source select * from t_batches.source limit 35";
    expect_equal(text, batch(session, text)?, 4)?;
    expect_equal(text, value(session, "SELECT CONCAT(COUNT(*), ':', MAX(id)) FROM source")?, "35:102".to_owned())?;
    let text = "BATCH LIMIT 10 DELETE FROM source LIMIT 15";
    expect_equal(text, batch(session, text)?, 2)?;
    expect_equal(text, value(session, "SELECT COUNT(*) FROM source")?, "20".to_owned())?;
    // The time is one.
    let text = "BATCH LIMIT 5 UPDATE source SET at = NOW(6)";
    expect_equal(text, batch(session, text)?, 4)?;
    expect_equal(text, value(session, "SELECT COUNT(DISTINCT at) FROM source")?, "1".to_owned())?;
    let later = "SELECT MAX(at) < NOW(6) FROM source";
    expect_equal("the clock goes on", value(session, later)?, "1".to_owned())?;
    Ok(run(session, "DROP DATABASE t_batches_other")?)
}

fn two_shards(lab: &Lab, flavor: Flavor) -> Result<(), Failed> {
    let servers = Servers::start(lab, flavor, 2)?;
    let session = &mut servers.session(APP)?;
    table(session, "source", "PARTITION BY HASH(id)")?;
    for (clause, every) in [("PARTITION BY HASH(id)", 1), ("SINGLE ON SHARD 's2'", 3), ("GLOBAL", 4)] {
        same(session, clause, every).map_err(|failed| format!("{clause}: {}", failed.message().unwrap_or_default()))?;
    }
    shown(session)?;
    refused(session)?;
    let hinted = run(session, "/* s1 */ BATCH LIMIT 5 DELETE FROM source");
    expect_error("a comment that names a shard", &hinted, 1235, "42000")?;
    expect_equal("another one", batch(session, "/* nightly */ BATCH LIMIT 5 DELETE FROM source WHERE id < 0")?, 0)?;
    // The other way round: rows of one shard go to both.
    run(session, "CREATE TABLE single (id INT PRIMARY KEY, g INT, v INT, at DATETIME(6)) SINGLE ON SHARD 's2'")?;
    expect_equal("to one shard", batch(session, "BATCH LIMIT 30 INSERT INTO single SELECT * FROM source")?, 4)?;
    run(session, "CREATE TABLE spread (id INT PRIMARY KEY, g INT, v INT, at DATETIME(6)) PARTITION BY HASH(id)")?;
    expect_equal("to both", batch(session, "BATCH LIMIT 30 INSERT INTO spread SELECT * FROM single")?, 4)?;
    let rows = |session: &mut Conn, table: &str| value(session, &format!("{ALL} {table}"));
    expect_equal("the same rows", rows(session, "spread")?, rows(session, "source")?)?;
    let differences: Vec<Row> = session.query("WEIR CATALOG CHECK")?;
    expect_equal("the catalog is right", format!("{differences:?}"), "[]".to_owned())
}

/// DRY RUN shows the parts, and changes nothing.
fn shown(session: &mut Conn) -> Result<(), Failed> {
    let before = value(session, &format!("{ALL} source"))?;
    let texts: Vec<String> = session.query("BATCH LIMIT 30 DRY RUN DELETE FROM source WHERE g < 7")?;
    let first = "DELETE FROM source WHERE `id` <= 87 AND (g < 7)";
    let last = "DELETE FROM source WHERE `id` > 267 AND `id` <= 297 AND (g < 7)";
    expect_equal("DRY RUN", texts, vec![first.to_owned(), last.to_owned()])?;
    let texts: Vec<String> = session.query("BATCH LIMIT 30 DRY RUN QUERY DELETE FROM source WHERE g < 7")?;
    expect_equal("the query", texts, vec!["SELECT `id` FROM source WHERE (g < 7) ORDER BY `id`".to_owned()])?;
    expect_equal("nothing has changed", value(session, &format!("{ALL} source"))?, before)
}

fn refused(session: &mut Conn) -> Result<(), Failed> {
    run(session, "CREATE TABLE keyless (a INT, b VARCHAR(5) NOT NULL, c INT NOT NULL, KEY b (b), KEY a (a))")?;
    run(session, "CREATE VIEW seen AS SELECT id, g, v, at FROM source")?;
    for statement in [
        "BATCH LIMIT 5 DELETE FROM keyless",
        "BATCH ON a LIMIT 5 DELETE FROM keyless",
        "BATCH ON b LIMIT 5 DELETE FROM keyless",
        "BATCH ON c LIMIT 5 DELETE FROM keyless",
        "BATCH LIMIT 5 DELETE FROM seen",
        "BATCH LIMIT 5 INSERT INTO seen SELECT id + 1000, g, v, at FROM source",
        "BATCH LIMIT 5 INSERT INTO source SELECT id + 1000, g, v, at FROM source",
        "BATCH LIMIT 5 UPDATE source SET id = id + 1000",
        "BATCH ON g LIMIT 5 DELETE FROM source LIMIT 10",
        "BATCH LIMIT 5 DELETE FROM source WHERE v = RAND()",
        "WEIR EXPLAIN BATCH LIMIT 5 DELETE FROM source",
    ] {
        expect_error(statement, &run(session, statement), 1235, "42000")?;
    }
    run(session, "DROP VIEW seen")?;
    run(session, "DROP TABLE keyless")?;
    let delete = "BATCH LIMIT 5 DELETE FROM source";
    run(session, "BEGIN")?;
    expect_error("in a transaction", &run(session, delete), 1235, "42000")?;
    run(session, "ROLLBACK")?;
    run(session, "SET autocommit = 0")?;
    expect_error("without autocommit", &run(session, delete), 1235, "42000")?;
    run(session, "SET autocommit = 1")?;
    expect_error("prepared", &session.prep(delete).map(drop), 1295, "HY000")?;
    expect_error("of no rows", &run(session, "BATCH LIMIT 0 DELETE FROM source"), 1210, "HY000")?;
    expect_equal("all rows", value(session, "SELECT COUNT(*) FROM source")?, ROWS.to_string())
}

/// A column of the latest batch.
fn latest(session: &mut Conn, column: &str) -> Result<String, Failed> {
    let rows: Vec<Row> = session.query("WEIR SHOW BATCHES")?;
    let row = rows.last().ok_or("there is no batch")?;
    Ok(row.get::<Option<String>, _>(column).flatten().unwrap_or_default())
}

fn becomes(session: &mut Conn, column: &str, wanted: &str) -> Result<(), Failed> {
    let mut last = String::new();
    let met = eventually(BOUND, &format!("{column} is {wanted}"), || {
        last = latest(session, column).unwrap_or_default();
        last == wanted
    });
    met.map_err(|failed| format!("{}: {last:?}", failed.message().unwrap_or_default()).into())
}

/// Begins a batch whose fifth part waits for a row, and calls `then` meanwhile. Returns how the batch has ended.
fn interrupted(
    servers: &mut Servers,
    then: impl FnOnce(&mut Servers, u32, &mut Conn, &mut Conn) -> Result<(), Failed>,
) -> Result<mysql::Result<()>, Failed> {
    let mut holder = servers.session(APP)?;
    let mut watcher = servers.session(APP)?;
    let mut busy = servers.session(APP)?;
    run(&mut holder, "DROP TABLE IF EXISTS t")?;
    table(&mut holder, "t", "")?;
    run(&mut holder, "BEGIN")?;
    // The part's last row: a server also locks the first one behind a range.
    run(&mut holder, "UPDATE t SET v = v WHERE id = 147")?;
    run(&mut busy, "SET SESSION innodb_lock_wait_timeout = 100")?;
    let id = busy.connection_id();
    std::thread::scope(|scope| {
        let batch = scope.spawn(move || run(&mut busy, "BATCH LIMIT 10 UPDATE t SET v = v + 1"));
        becomes(&mut watcher, "parts", "4")?;
        servers.somebody_waits()?;
        then(servers, id, &mut watcher, &mut holder)?;
        batch.join().map_err(|_| "the session panicked".into())
    })
}

/// All rows were changed once.
fn once(session: &mut Conn) -> Result<(), Failed> {
    expect_equal(
        "changed",
        value(session, "SELECT CONCAT(COUNT(*), ':', SUM(v), ':', MAX(v)) FROM t")?,
        "100:100:1".to_owned(),
    )
}

fn resume(session: &mut Conn) -> Result<(), Failed> {
    let text = format!("WEIR BATCH RESUME {}", latest(session, "id")?);
    expect_equal(&text, batch(session, &text)?, 10)?;
    expect_equal("state", latest(session, "state")?, "finished".to_owned())?;
    once(session)?;
    expect_error("it has ended", &run(session, &text), 1105, "HY000")
}

fn commanded(lab: &Lab, flavor: Flavor) -> Result<(), Failed> {
    for shards in [1, 2] {
        commanded_over(&mut Servers::start(lab, flavor, shards)?)?;
    }
    Ok(())
}

fn commanded_over(servers: &mut Servers) -> Result<(), Failed> {
    // Killed.
    let killed = interrupted(servers, |_, id, watcher, _| Ok(run(watcher, &format!("KILL QUERY {id}"))?))?;
    expect_error("the KILL", &killed, 1317, "70100")?;
    let told = killed.map_or_else(|error| error.to_string(), |()| String::new());
    expect_equal(&told, told.contains("has done 4 parts, all rows with `id` <= 117"), true)?;
    let session = &mut servers.session(APP)?;
    expect_equal("state", latest(session, "state")?, "failed".to_owned())?;
    // Others see nothing of it.
    let other = &mut servers.session(PLAIN)?;
    let seen: Vec<Row> = other.query("WEIR SHOW BATCHES")?;
    expect_equal("of others", seen.len(), 0)?;
    let id = latest(session, "id")?;
    for order in ["RESUME", "CANCEL", "PAUSE"] {
        expect_error(order, &run(other, &format!("WEIR BATCH {order} {id}")), 1105, "HY000")?;
    }
    run(session, "SET sql_mode = 'ANSI_QUOTES'")?;
    expect_error("other settings", &run(session, &format!("WEIR BATCH RESUME {id}")), 1210, "HY000")?;
    run(session, "SET sql_mode = DEFAULT")?;
    resume(&mut servers.session(APP)?)?;
    // Paused, and resumed.
    let paused = interrupted(servers, |_, _, watcher, holder| {
        let id = latest(watcher, "id")?;
        run(watcher, &format!("WEIR BATCH PAUSE {id}"))?;
        run(holder, "ROLLBACK")?;
        becomes(watcher, "parts", "5")?;
        expect_equal("state", latest(watcher, "state")?, "paused".to_owned())?;
        Ok(run(watcher, &format!("WEIR BATCH RESUME {id}"))?)
    })?;
    paused?;
    once(session)?;
    // Cancelled.
    let cancelled = interrupted(servers, |_, _, watcher, holder| {
        let id = latest(watcher, "id")?;
        run(watcher, &format!("WEIR BATCH CANCEL {id}"))?;
        Ok(run(holder, "ROLLBACK")?)
    })?;
    expect_error("the CANCEL", &cancelled, 1317, "70100")?;
    expect_equal("state", latest(session, "state")?, "cancelled".to_owned())?;
    expect_equal("what is done stays", value(session, "SELECT SUM(v) FROM t")?, "50".to_owned())?;
    let again = format!("WEIR BATCH RESUME {}", latest(session, "id")?);
    expect_error("it has ended", &run(session, &again), 1105, "HY000")
}

fn deaths(lab: &Lab, flavor: Flavor) -> Result<(), Failed> {
    let servers = &mut Servers::start(lab, flavor, 1)?;
    // The server.
    let lost = interrupted(servers, |servers, _, _, _| {
        servers.sites[0].server.kill()?;
        Ok(servers.sites[0].server.restart()?)
    })?;
    expect_equal(&format!("{lost:?}"), lost.is_err(), true)?;
    eventually(BOUND, "the server is there again", || {
        servers.session(APP).is_ok_and(|mut session| run(&mut session, "UPDATE t SET g = g").is_ok())
    })?;
    resume(&mut servers.session(APP)?)?;
    // Weir.
    let lost = interrupted(servers, |servers, _, _, _| {
        servers.weir.signal(nix::sys::signal::Signal::SIGKILL)?;
        servers.weir.wait_end(BOUND)?;
        servers.weir.start_again(&[])
    })?;
    expect_equal(&format!("{lost:?}"), lost.is_err(), true)?;
    let session = &mut servers.session(APP)?;
    expect_equal("state", latest(session, "state")?, "interrupted".to_owned())?;
    resume(session)
}
