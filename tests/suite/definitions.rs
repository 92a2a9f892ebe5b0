//! Definitions that end half done, because a shard or Weir dies in the middle of them: it is told which shards have them, they can be gone on
//! with, and nothing is lost by a restart.

mod stopped;

use std::time::Duration;

use libtest_mimic::Failed;
use mysql::Conn;
use mysql::prelude::Queryable;
use weir_local::Flavor;

use crate::Collector;
use crate::driver::{connect, expect_equal, expect_error, run, server_error};
use crate::lab::{APP, Lab, MONITOR, Site, eventually};
use crate::weir::Weir;

const BOUND: Duration = Duration::from_secs(90);
const DATABASE: &str = "t_half";

/// Servers that are gone are found soon.
const QUICK: &[(&str, &str)] = &[
    ("monitor.interval", "\"200ms\""),
    ("monitor.timeout", "\"500ms\""),
    ("monitor.hang_timeout", "\"5s\""),
    ("groups.s1.writer_wait", "\"0s\""),
    ("groups.s2.writer_wait", "\"0s\""),
];

/// A definition, and a query that a shard answers with 1 if it has it.
struct Half {
    text: &'static str,
    done: &'static str,
    /// What is given again in its place, if it can't be gone on with.
    again: Option<&'static str>,
}

const fn half(text: &'static str, done: &'static str) -> Half {
    Half { text, done, again: None }
}

/// Each goes on from what the one before it has left.
const HALVES: [Half; 8] = [
    half(
        "CREATE TABLE t (id INT PRIMARY KEY, a INT) SHARD BY HASH(id)",
        "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = 't_half' AND table_name = 't'",
    ),
    half(
        "ALTER TABLE t ADD COLUMN b INT NOT NULL DEFAULT 7",
        "SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = 't_half' AND table_name = 't' AND column_name = 'b'",
    ),
    half(
        "CREATE INDEX by_a ON t (a)",
        "SELECT COUNT(*) FROM information_schema.statistics WHERE table_schema = 't_half' AND index_name = 'by_a'",
    ),
    half(
        "CREATE DEFINER = 'app'@'%' VIEW v AS SELECT id FROM t",
        "SELECT COUNT(*) FROM information_schema.views WHERE table_schema = 't_half' AND table_name = 'v'",
    ),
    Half {
        text: "CREATE VIEW w AS SELECT a FROM t",
        done: "SELECT COUNT(*) FROM information_schema.views WHERE table_schema = 't_half' AND table_name = 'w'",
        again: Some("CREATE OR REPLACE VIEW w AS SELECT a FROM t"),
    },
    Half {
        text: "CREATE USER half@'%' IDENTIFIED BY 'a secret'",
        done: "SELECT COUNT(*) FROM mysql.user WHERE user = 'half'",
        again: Some("CREATE USER IF NOT EXISTS half@'%' IDENTIFIED BY 'a secret'"),
    },
    // Each shard has one of these tables, and is sent its part of the text.
    half(
        "RENAME TABLE a TO c, b TO d",
        "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = 't_half' AND table_name IN ('c', 'd')",
    ),
    half(
        "DROP TABLE c, t, d",
        "SELECT COUNT(*) = 0 FROM information_schema.tables WHERE table_schema = 't_half' AND table_name IN ('c', 'd', 't')",
    ),
];

/// Adds this module's tests.
pub(crate) fn collect(tests: &mut Collector) {
    tests.add_for_weir("definitions::a_shard_that_dies_in_the_middle_is_gone_on_with", shard_dies);
    tests.add_for_weir("definitions::a_dropped_database_is_no_connections_default", dropped_database);
    tests.add_for_weir("definitions::a_killed_weir_knows_them_after_its_restart", weir_dies);
    tests.add_for_weir("definitions::a_view_is_again_what_it_was_when_its_change_is_cancelled", view_taken_back);
    stopped::collect(tests);
}

struct Two {
    sites: [Site; 2],
    weir: Weir,
}

impl Two {
    fn start(lab: &Lab, flavor: Flavor) -> Result<Two, Failed> {
        let parent = lab.directory()?;
        let site = |name| -> Result<Site, Failed> {
            let site = Site::start(flavor, &parent, name, &["lock-wait-timeout=600"])?;
            for account in [APP, MONITOR] {
                site.server.execute(&format!("GRANT ALL ON *.* TO '{}'@'%' WITH GRANT OPTION", account.0))?;
            }
            Ok(site)
        };
        let sites = [site("s1")?, site("s2")?];
        let servers = [("s1", vec![&sites[0].server]), ("s2", vec![&sites[1].server])];
        let weir = Weir::start_shards(&lab.directory()?, &servers, QUICK)?;
        let two = Two { sites, weir };
        eventually(BOUND, "a sharded database can be made", || {
            two.app(None).is_ok_and(|mut session| session.query_drop(format!("CREATE DATABASE {DATABASE}")).is_ok())
        })?;
        let mut session = two.app(Some(DATABASE))?;
        for (table, shard) in [("a", "s1"), ("b", "s2")] {
            session.query_drop(format!("CREATE TABLE {table} (id INT PRIMARY KEY) SINGLE ON SHARD '{shard}'"))?;
        }
        Ok(two)
    }

    fn app(&self, database: Option<&str>) -> mysql::Result<Conn> {
        connect(self.weir.port, APP, database)
    }

    /// Whoever may lock tables drops them on all shards or on none: others may still end half way.
    fn take_right_to_lock(&self) -> Result<(), Failed> {
        for site in &self.sites {
            for level in ["*.*", "`t\\_%`.*"] {
                site.server.execute(&format!("REVOKE LOCK TABLES ON {level} FROM '{}'@'%'", APP.0))?;
            }
        }
        Ok(())
    }

    /// `WEIR SHOW DDL`
    fn under_way(&self) -> Result<Vec<UnderWay>, Failed> {
        let rows: Vec<(u64, String, Option<String>, String, String)> = self.app(None)?.query("WEIR SHOW DDL")?;
        Ok(rows.into_iter().map(|(id, text, _, done, not_done)| UnderWay { id, text, done, not_done }).collect())
    }

    /// Keeps the second shard from doing this, as long as the connection lives.
    fn hold(&self, half: &Half) -> Result<Conn, Failed> {
        let mut root = self.sites[1].server.admin()?;
        let statements: &[&str] = match self.sites[1].flavor {
            Flavor::MySql => &["LOCK INSTANCE FOR BACKUP"],
            Flavor::MariaDb if half.text.starts_with("CREATE USER") => &["LOCK TABLES mysql.global_priv READ"],
            Flavor::MariaDb => &["BACKUP STAGE START", "BACKUP STAGE BLOCK_DDL"],
        };
        statements.iter().try_for_each(|statement| root.query_drop(statement))?;
        Ok(root)
    }

    /// Gives a definition, and calls `fault` when the first shard has it and the second has not: what the client got of it.
    fn interrupted(
        &mut self,
        half: &Half,
        fault: impl FnOnce(&mut Two) -> Result<(), Failed>,
    ) -> Result<mysql::Result<()>, Failed> {
        let held = self.hold(half)?;
        let mut session = self.app(Some(DATABASE))?;
        let text = half.text;
        let client = std::thread::spawn(move || session.query_drop(text));
        let on_the_way = eventually(BOUND, &format!("the first shard has it: {text}"), || {
            self.under_way().is_ok_and(|rows| rows.iter().any(|row| row.done == "s1"))
        });
        let faulted = on_the_way.and_then(|()| fault(self));
        drop(held);
        let told = client.join().map_err(|_| "the client has panicked")?;
        faulted.map(|()| told)
    }

    fn restart_second(&mut self) -> Result<(), Failed> {
        self.sites[1].server.restart()?;
        self.sites[1].prime()
    }

    fn has(&self, shard: usize, half: &Half) -> Result<bool, Failed> {
        Ok(self.sites[shard].server.query_value(half.done)?.as_deref() == Some("1"))
    }

    /// The only definition under way, which must be this one, with the first shard's part done.
    fn half_done(&self, half: &Half) -> Result<UnderWay, Failed> {
        let mut rows = self.under_way()?;
        expect_equal(&format!("definitions under way ({})", half.text), rows.len(), 1)?;
        let row = rows.remove(0);
        expect_equal("done", row.done.as_str(), "s1")?;
        expect_equal(&format!("not done: {}", row.not_done), row.not_done.starts_with("s2"), true)?;
        let begins = half.text.split_whitespace().take(2).collect::<Vec<_>>().join(" ");
        expect_equal(&format!("its text: {}", row.text), row.text.starts_with(&begins), true)?;
        expect_equal("its password", row.text.contains("secret"), false)?;
        Ok(row)
    }

    /// Goes on with it until it is done, in the way that its kind has.
    fn end(&self, half: &Half, id: u64) -> Result<(), Failed> {
        let mut session = self.app(Some(DATABASE))?;
        let resume = format!("WEIR RESUME DDL {id}");
        if let Some(again) = half.again {
            let refused = run(&mut session, &resume);
            let refused = server_error(&refused).ok_or_else(|| format!("{} is gone on with", half.text))?;
            expect_equal("the refusal", [1235, 1105].contains(&refused.0), true)?;
            // A definition that can't be gone on with stands in nobody's way once it is forgotten.
            session.query_drop(format!("WEIR CANCEL DDL {id}"))?;
            eventually(BOUND, again, || run(&mut session, again).is_ok())?;
        } else {
            let mut told = Ok(());
            let ended = eventually(BOUND, &resume, || {
                std::thread::sleep(Duration::from_millis(200));
                told = run(&mut session, &resume);
                told.is_ok()
            });
            ended.map_err(|_| format!("{}: {told:?}, {:?}", half.text, self.under_way()))?;
        }
        expect_equal(&format!("under way after {}", half.text), self.under_way()?, vec![])?;
        for shard in 0..2 {
            expect_equal(&format!("shard {shard} has {}", half.text), self.has(shard, half)?, true)?;
        }
        expect_error("it has ended", &run(&mut session, &resume), 1105, "HY000")?;
        self.no_differences(half.text)
    }

    fn no_differences(&self, text: &str) -> Result<(), Failed> {
        let mut session = self.app(Some(DATABASE))?;
        // A shard that was gone gets its copy of the catalog a little later.
        let mut differences = None;
        let none = eventually(BOUND, "no differences", || {
            differences = session.query::<(String, String, String), _>("WEIR CATALOG CHECK").ok();
            differences.as_ref().is_some_and(Vec::is_empty)
        });
        none.map_err(|_| format!("differences after {text}: {differences:?}").into())
    }
}

#[derive(Debug, PartialEq)]
struct UnderWay {
    id: u64,
    text: String,
    done: String,
    not_done: String,
}

fn judged(mut two: Two, test: impl FnOnce(&mut Two) -> Result<(), Failed>) -> Result<(), Failed> {
    test(&mut two).map_err(|failed| {
        let message = failed.message().unwrap_or("failed").to_owned();
        Failed::from(format!("{message}\n---- end of Weir's log ----\n{}", two.weir.log_tail()))
    })
}

fn shard_dies(lab: &Lab, flavor: Flavor) -> Result<(), Failed> {
    judged(Two::start(lab, flavor)?, |two| {
        two.take_right_to_lock()?;
        for half in &HALVES {
            let told = two.interrupted(half, |two| Ok(two.sites[1].server.kill()?))?;
            expect_error(half.text, &told, 1105, "HY000")?;
            let row = two.half_done(half)?;
            let message = format!("{told:?}");
            for part in ["shards with it: s1; without it: s2", &format!("WEIR RESUME DDL {}", row.id)] {
                expect_equal(&format!("{part} in {message}"), message.contains(part), true)?;
            }
            expect_equal("the second shard's error is told", row.not_done.starts_with("s2 ("), true)?;
            let mut session = two.app(Some(DATABASE))?;
            let resumed = run(&mut session, &format!("WEIR RESUME DDL {}", row.id));
            expect_equal(&format!("the shard is down: {resumed:?}"), server_error(&resumed).is_some(), true)?;
            let row = two.half_done(half)?;
            two.restart_second()?;
            expect_equal("the second shard has it", two.has(1, half)?, false)?;
            if half.text.contains(" t ") {
                let refused = eventually(BOUND, "its table can't be defined again", || {
                    let other = run(&mut session, "ALTER TABLE t COMMENT = 'other'");
                    format!("{other:?}").contains("has not ended")
                });
                refused?;
            }
            two.end(half, row.id)?;
        }
        Ok(())
    })
}

fn weir_dies(lab: &Lab, flavor: Flavor) -> Result<(), Failed> {
    judged(Two::start(lab, flavor)?, |two| {
        two.take_right_to_lock()?;
        for (number, half) in HALVES.iter().enumerate() {
            let told = two.interrupted(half, |two| {
                two.weir.signal(nix::sys::signal::Signal::SIGKILL)?;
                two.weir.wait_end(BOUND)?;
                // Else what was sent to the shard is done there when nobody holds it any more.
                if number % 2 == 0 { Ok(two.sites[1].server.kill()?) } else { Ok(()) }
            })?;
            expect_equal(&format!("{} is not acknowledged: {told:?}", half.text), told.is_err(), true)?;
            if number % 2 == 0 {
                two.restart_second()?;
            }
            two.weir.start_again(&[])?;
            let row = two.half_done(half)?;
            expect_equal("nothing is known of the second shard", row.not_done.as_str(), "s2")?;
            two.end(half, row.id)?;
        }
        Ok(())
    })
}

fn view_taken_back(lab: &Lab, flavor: Flavor) -> Result<(), Failed> {
    const CHANGED: Half = half(
        "CREATE OR REPLACE VIEW v AS SELECT id, a FROM t",
        "SELECT COUNT(*) = 2 FROM information_schema.columns WHERE table_schema = 't_half' AND table_name = 'v'",
    );
    judged(Two::start(lab, flavor)?, |two| {
        let mut session = two.app(Some(DATABASE))?;
        for text in [HALVES[0].text, "CREATE VIEW v AS SELECT id FROM t", "INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)"]
        {
            session.query_drop(text)?;
        }
        let told = two.interrupted(&CHANGED, |two| Ok(two.sites[1].server.kill()?))?;
        expect_error(CHANGED.text, &told, 1105, "HY000")?;
        let row = two.half_done(&CHANGED)?;
        two.restart_second()?;
        eventually(BOUND, "both shards answer", || session.query_drop("SELECT COUNT(*) FROM t").is_ok())?;
        // What a shard says beside the refusal is not waited for when it has stopped answering.
        two.sites[1].server.pause();
        let refused = run(&mut session, CHANGED.text);
        two.sites[1].server.resume();
        expect_error("it has not ended", &refused, 1105, "HY000")?;
        eventually(BOUND, "both shards answer again", || session.query_drop("SELECT COUNT(*) FROM t").is_ok())?;
        let left: Vec<(String, String)> = session.query(format!("WEIR CANCEL DDL {}", row.id))?;
        let nowhere = ["s1", "s2"].map(|shard| (shard.to_owned(), "does not have it".to_owned()));
        expect_equal("what the shards are left with", left, nowhere.to_vec())?;
        expect_equal("the first shard has the change", two.has(0, &CHANGED)?, false)?;
        expect_equal("rows of the view", session.query_first("SELECT COUNT(*) FROM v")?, Some(3))?;
        two.no_differences(CHANGED.text)
    })
}

fn dropped_database(lab: &Lab, flavor: Flavor) -> Result<(), Failed> {
    judged(Two::start(lab, flavor)?, |two| {
        let mut again = vec![format!("DROP DATABASE {DATABASE}; CREATE DATABASE {DATABASE}")];
        if flavor == Flavor::MariaDb {
            again.push(format!("CREATE OR REPLACE DATABASE {DATABASE}"));
        }
        // Several times: whose connections the next sessions get is a matter of chance.
        for round in 0..6 {
            let mut session = two.app(Some(DATABASE))?;
            session.query_drop("SELECT 1")?;
            for text in again[round % again.len()].split("; ") {
                session.query_drop(text)?;
                let default: Option<String> = session.query_first("SELECT DATABASE()")?.flatten();
                expect_equal(&format!("the default after {text}"), default, None)?;
            }
            for _ in 0..3 {
                let mut other = two.app(Some(DATABASE))?;
                let default: Option<String> = other.query_first("SELECT DATABASE()")?.flatten();
                expect_equal("the default of a session that asked for it", default.as_deref(), Some(DATABASE))?;
                other.query_drop("CREATE TABLE IF NOT EXISTS u (id INT PRIMARY KEY) SHARD BY HASH(id)")?;
                other.query_drop("REPLACE INTO u VALUES (1), (2), (3), (4)")?;
                expect_equal("rows", other.query_first("SELECT COUNT(*) FROM u")?, Some(4))?;
            }
        }
        Ok(())
    })
}
