//! Definitions, and what else waits for a lock on several shards: they can be killed, and shards are left as they were.

use std::thread::JoinHandle;

use libtest_mimic::Failed;
use mysql::Conn;
use mysql::prelude::Queryable;
use weir_local::Flavor;

use super::{BOUND, DATABASE, Two, judged};
use crate::Collector;
use crate::client::Address;
use crate::driver::{connect, expect_equal, expect_error, is_running, run, server_error, value};
use crate::lab::{APP, Endpoint, Lab, eventually};
use crate::login::{self, Login};

const ALTER: &str = "ALTER TABLE t ADD COLUMN b INT";
const QUERY: u8 = 3;

/// Adds this module's tests.
pub(super) fn collect(tests: &mut Collector) {
    tests.add_for_weir("definitions::a_kill_ends_one_that_waits_for_a_lock", killed);
    tests.add_for_weir("definitions::what_is_irreversible_waits_for_all_shards_first", irreversible);
    tests.add_for_weir("definitions::a_second_kill_ends_what_takes_one_back", killed_twice);
    tests.add_for_weir("definitions::a_kill_ends_a_snapshot_that_waits_for_a_lock", snapshot_killed);
    tests.add_for_weir("definitions::one_of_a_client_that_is_gone_waits_only_on_mysql", client_gone);
    tests.add_for_weir("definitions::one_under_locks_does_not_wait_for_who_waits_for_these", under_locks);
    tests.add("definitions::an_unsharded_one_of_a_client_that_is_gone_waits_only_on_mysql", |lab, flavor| {
        let site = lab.site(flavor)?;
        site.fill("t_gone", &["CREATE DATABASE {db}", "CREATE TABLE {db}.t (id INT PRIMARY KEY)"])?;
        lab.with_endpoint(site, &[], |endpoint| unsharded_client_gone(endpoint, flavor))
    });
}

/// A statement of a client of its own, in a thread.
struct Waiting {
    id: u32,
    thread: JoinHandle<(mysql::Result<()>, Conn)>,
}

impl Waiting {
    fn begin(two: &Two, text: &'static str) -> Result<Waiting, Failed> {
        let mut session = two.app(Some(DATABASE))?;
        let id = session.connection_id();
        Ok(Waiting { id, thread: std::thread::spawn(move || (run(&mut session, text), session)) })
    }

    fn end(self) -> Result<(mysql::Result<()>, Conn), Failed> {
        self.thread.join().map_err(|_| "the client has panicked".into())
    }
}

impl Two {
    /// Reads the table on a shard, in a transaction that stays open.
    fn reading(&self, shard: usize) -> Result<Conn, Failed> {
        let mut root = self.sites[shard].server.admin()?;
        root.query_drop(format!("BEGIN; SELECT * FROM {DATABASE}.t"))?;
        Ok(root)
    }

    fn count_waiting(&self, shard: usize) -> Option<String> {
        let waiting = "SELECT COUNT(*) FROM information_schema.processlist WHERE state LIKE 'Waiting for%lock'";
        self.sites[shard].server.query_value(waiting).ok().flatten()
    }

    fn until_it_waits(&self, shard: usize) -> Result<(), Failed> {
        eventually(BOUND, "it waits for the lock", || self.count_waiting(shard).as_deref() == Some("1"))
    }

    fn expect_unchanged(&self) -> Result<(), Failed> {
        expect_equal("under way", self.under_way()?, vec![])?;
        for site in &self.sites {
            let columns = format!(
                "SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = '{DATABASE}' AND table_name = 't'"
            );
            expect_equal("columns", site.server.query_value(&columns)?, Some("2".to_owned()))?;
        }
        let mut session = self.app(Some(DATABASE))?;
        expect_equal("the table", value(&mut session, "SELECT COUNT(*) FROM t")?, "4".into())
    }
}

fn with_table(lab: &Lab, flavor: Flavor) -> Result<Two, Failed> {
    let two = Two::start(lab, flavor)?;
    let mut session = two.app(Some(DATABASE))?;
    session.query_drop("CREATE TABLE t (id INT PRIMARY KEY, a INT) SHARD BY HASH(id)")?;
    session.query_drop("INSERT INTO t VALUES (1, 1), (2, 2), (3, 3), (4, 4)")?;
    Ok(two)
}

fn killed(lab: &Lab, flavor: Flavor) -> Result<(), Failed> {
    judged(with_table(lab, flavor)?, |two| {
        let mut admin = two.app(None)?;
        // The first shard runs it alone; the other one when the first has done it.
        for shard in [0, 1] {
            let reading = two.reading(shard)?;
            let waiting = Waiting::begin(two, ALTER)?;
            two.until_it_waits(shard)?;
            admin.query_drop(format!("KILL QUERY {}", waiting.id))?;
            let (ended, mut session) = waiting.end()?;
            expect_error("KILL QUERY", &ended, 1317, "70100")?;
            two.expect_unchanged()?;
            expect_equal("the session goes on", value(&mut session, "SELECT COUNT(*) FROM t")?, "4".into())?;

            let waiting = Waiting::begin(two, ALTER)?;
            two.until_it_waits(shard)?;
            admin.query_drop(format!("KILL {}", waiting.id))?;
            let (ended, mut session) = waiting.end()?;
            expect_equal(&format!("KILL: {ended:?}"), ended.is_err(), true)?;
            expect_equal("the session", session.ping().is_err(), true)?;
            eventually(BOUND, "it is taken back", || two.under_way().is_ok_and(|rows| rows.is_empty()))?;
            two.expect_unchanged()?;

            // One waits for the server, the other one for the first.
            let first = Waiting::begin(two, ALTER)?;
            two.until_it_waits(shard)?;
            let second = Waiting::begin(two, "DROP TABLE t")?;
            // Before it has begun a KILL QUERY has nothing to end.
            eventually(BOUND, "the second one has begun", || is_running(&mut admin, second.id))?;
            for waiting in [second, first] {
                admin.query_drop(format!("KILL QUERY {}", waiting.id))?;
                expect_error("one of two", &waiting.end()?.0, 1317, "70100")?;
            }
            two.expect_unchanged()?;

            let waiting = Waiting::begin(two, "OPTIMIZE TABLE t")?;
            two.until_it_waits(shard)?;
            admin.query_drop(format!("KILL QUERY {}", waiting.id))?;
            // Servers tell of it in an error, or in a row.
            let (_, mut session) = waiting.end()?;
            expect_equal("the session goes on", value(&mut session, "SELECT COUNT(*) FROM t")?, "4".into())?;
            drop(reading);
        }
        Ok(admin.query_drop(ALTER.replace(" t ", &format!(" {DATABASE}.t ")))?)
    })
}

/// What can't be taken back begins on no shard before all are ready for it.
fn irreversible(lab: &Lab, flavor: Flavor) -> Result<(), Failed> {
    judged(with_table(lab, flavor)?, |two| {
        let mut admin = two.app(Some(DATABASE))?;
        for text in ["TRUNCATE t", "DROP TABLE t"] {
            for shard in [0, 1] {
                let reading = two.reading(shard)?;
                admin.query_drop("SET lock_wait_timeout = 2")?;
                expect_error(text, &run(&mut admin, text), 1205, "HY000")?;
                two.expect_unchanged()?;
                let waiting = Waiting::begin(two, text)?;
                two.until_it_waits(shard)?;
                admin.query_drop(format!("KILL QUERY {}", waiting.id))?;
                let (ended, mut session) = waiting.end()?;
                expect_error(text, &ended, 1317, "70100")?;
                two.expect_unchanged()?;
                expect_equal("the session goes on", value(&mut session, "SELECT COUNT(*) FROM t")?, "4".into())?;
                // The next one's connections wait for as long as it says.
                let waiting = Waiting::begin(two, text)?;
                two.until_it_waits(shard)?;
                std::thread::sleep(std::time::Duration::from_secs(2));
                drop(reading);
                waiting.end()?.0?;
                if text.starts_with("DROP") {
                    session.query_drop("CREATE TABLE t (id INT PRIMARY KEY, a INT) SHARD BY HASH(id)")?;
                }
                expect_equal("no rows are left", value(&mut session, "SELECT COUNT(*) FROM t")?, "0".into())?;
                session.query_drop("INSERT INTO t VALUES (1, 1), (2, 2), (3, 3), (4, 4)")?;
                let waits = value(&mut session, "SELECT @@lock_wait_timeout")?;
                expect_equal("its own", waits.as_str(), "600")?;
            }
        }
        Ok(())
    })
}

/// Taking a snapshot reads a table, for which it may have to wait.
fn snapshot_killed(lab: &Lab, flavor: Flavor) -> Result<(), Failed> {
    judged(with_table(lab, flavor)?, |two| {
        let mut admin = two.app(None)?;
        let mut holder = two.sites[1].server.admin()?;
        holder.query_drop(format!("LOCK TABLES {DATABASE}.b WRITE, {DATABASE}.t WRITE"))?;
        let waiting = Waiting::begin(two, "START TRANSACTION WITH CONSISTENT SNAPSHOT")?;
        two.until_it_waits(1)?;
        admin.query_drop(format!("KILL QUERY {}", waiting.id))?;
        let (ended, mut session) = waiting.end()?;
        expect_error("the snapshot", &ended, 1317, "70100")?;
        drop(holder);
        expect_equal("the session goes on", value(&mut session, "SELECT COUNT(*) FROM t")?, "4".into())?;
        Ok(session.query_drop("START TRANSACTION WITH CONSISTENT SNAPSHOT")?)
    })
}

/// What takes it back may have to wait too. Then the definition stays under way, and can be ended later.
fn killed_twice(lab: &Lab, flavor: Flavor) -> Result<(), Failed> {
    judged(with_table(lab, flavor)?, |two| {
        let mut admin = two.app(Some(DATABASE))?;
        let second = two.reading(1)?;
        let waiting = Waiting::begin(two, ALTER)?;
        two.until_it_waits(1)?;
        let first = two.reading(0)?;
        admin.query_drop(format!("KILL QUERY {}", waiting.id))?;
        two.until_it_waits(0)?;
        admin.query_drop(format!("KILL QUERY {}", waiting.id))?;
        let (ended, mut session) = waiting.end()?;
        expect_error("half done", &ended, 1105, "HY000")?;
        expect_equal("the session goes on", value(&mut session, "SELECT COUNT(*) FROM t")?, "4".into())?;
        let rows = two.under_way()?;
        expect_equal("done", rows.iter().map(|row| row.done.as_str()).collect::<Vec<_>>(), vec!["s1"])?;
        drop((first, second));
        admin.query_drop(format!("WEIR RESUME DDL {}", rows[0].id))?;
        admin.query_drop("ALTER TABLE t DROP COLUMN b")?;
        two.expect_unchanged()
    })
}

fn under_locks(lab: &Lab, flavor: Flavor) -> Result<(), Failed> {
    judged(with_table(lab, flavor)?, |two| {
        let mut session = two.app(Some(DATABASE))?;
        session.query_drop("LOCK TABLES t WRITE")?;
        let waiting = Waiting::begin(two, ALTER)?;
        two.until_it_waits(0)?;
        for text in ["ALTER TABLE t ADD COLUMN c INT", "DROP TABLE t"] {
            expect_error(text, &run(&mut session, text), 1205, "HY000")?;
        }
        expect_equal("the locks are still there", value(&mut session, "SELECT COUNT(*) FROM t")?, "4".into())?;
        session.query_drop("UNLOCK TABLES")?;
        waiting.end()?.0?;
        let (mut admin, id) = (two.app(None)?, session.connection_id());
        session.query_drop("LOCK TABLES t WRITE")?;
        let waiting = Waiting::begin(two, "ALTER TABLE t ADD COLUMN c INT")?;
        two.until_it_waits(0)?;
        let killed = std::thread::scope(|scope| -> Result<_, Failed> {
            // It does not wait for ever: it may have ended before it is killed.
            let killed = scope.spawn(|| {
                loop {
                    let ended = run(&mut session, "ALTER TABLE t ADD COLUMN d INT");
                    if server_error(&ended).is_none_or(|(code, _)| code != 1205) {
                        return ended;
                    }
                }
            });
            let done = eventually(BOUND, "it is killed", || {
                let _ = admin.query_drop(format!("KILL QUERY {id}"));
                killed.is_finished()
            });
            done.and(killed.join().map_err(|_| "the client has panicked".into()))
        })?;
        expect_error("a killed one", &killed, 1317, "70100")?;
        // Its connections are gone, and so are the locks: nothing is written without them.
        expect_equal("the session", run(&mut session, "INSERT INTO t (id) VALUES (9)").is_err(), true)?;
        waiting.end()?.0?;
        let mut session = two.app(Some(DATABASE))?;
        session.query_drop("ALTER TABLE t DROP COLUMN c")?;
        session.query_drop("LOCK TABLES t WRITE")?;
        session.query_drop("ALTER TABLE t DROP COLUMN b")?;
        session.query_drop("UNLOCK TABLES")?;
        two.expect_unchanged()
    })
}

fn client_gone(lab: &Lab, flavor: Flavor) -> Result<(), Failed> {
    judged(with_table(lab, flavor)?, |two| {
        let reading = two.reading(1)?;
        let login = Login::new(APP.0, APP.1).database(DATABASE);
        let (mut client, _) = login::open(&Address::Tcp(two.weir.port), &login)?;
        client.command(QUERY, ALTER.as_bytes())?;
        two.until_it_waits(1)?;
        drop(client);
        if flavor == Flavor::MariaDb {
            eventually(BOUND, "it is taken back", || two.under_way().is_ok_and(|rows| rows.is_empty()))?;
            return two.expect_unchanged();
        }
        drop(reading);
        let added =
            "SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = 't_half' AND column_name = 'b'";
        let both = |two: &Two| {
            two.sites.iter().all(|site| site.server.query_value(added).is_ok_and(|count| count.as_deref() == Some("1")))
        };
        eventually(BOUND, "it is done", || both(two) && two.under_way().is_ok_and(|rows| rows.is_empty()))
    })
}

/// The same at the server.
fn unsharded_client_gone(endpoint: &Endpoint, flavor: Flavor) -> Result<(), Failed> {
    const DATABASE: &str = "t_gone";
    let (mut reading, mut admin) =
        (connect(endpoint.port, APP, Some(DATABASE))?, connect(endpoint.port, APP, Some(DATABASE))?);
    reading.query_drop("BEGIN")?;
    reading.query_drop("SELECT * FROM t FOR UPDATE")?;
    let (mut client, _) = login::open(&Address::Tcp(endpoint.port), &Login::new(APP.0, APP.1).database(DATABASE))?;
    client.command(QUERY, b"SET lock_wait_timeout = 600")?;
    client.read()?;
    client.command(QUERY, ALTER.as_bytes())?;
    // Who comes later waits behind it.
    let blocked = |admin: &mut Conn| {
        admin.query_drop("SET lock_wait_timeout = 1")?;
        Ok::<_, Failed>(server_error(&run(admin, "SELECT * FROM t")).is_some_and(|(code, _)| code == 1205))
    };
    eventually(BOUND, "others wait behind it", || blocked(&mut admin).unwrap_or(false))?;
    drop(client);
    if flavor == Flavor::MariaDb {
        return eventually(BOUND, "nobody waits any more", || !blocked(&mut admin).unwrap_or(true));
    }
    reading.query_drop("ROLLBACK")?;
    eventually(BOUND, "it is done", || run(&mut admin, "SELECT b FROM t").is_ok())
}
