//! Routines, views, events and triggers stay as they are, wherever their database and their tables go.

use std::sync::atomic::{AtomicBool, Ordering};

use libtest_mimic::Failed;
use mysql::Row;
use mysql::prelude::Queryable;
use weir_local::{Flavor, Server};

use super::growth::{begin, end, is_right, whole};
use super::{BOUND, DATABASE, Shards, all, latest, placement, reaches, refuses};
use crate::Collector;
use crate::driver::{expect_equal, run, value};
use crate::lab::{Lab, Site, eventually};

/// Adds this module's tests.
pub(super) fn collect(tests: &mut Collector) {
    tests.add_for_weir("moves::programs::are_on_a_shard_that_comes", come);
    tests.add_for_weir("moves::programs::triggers_go_with_their_tables", triggers);
    tests.add_for_weir("moves::programs::triggers_run_once_under_load", under_load);
    tests.add_for_weir("moves::programs::weir_is_killed_while_triggers_move", killed);
    tests.add_for_weir("moves::programs::that_cannot_follow_are_refused", refused);
}

fn start(lab: &Lab, flavor: Flavor, names: &[&str]) -> Result<Shards, Failed> {
    let parent = lab.directory()?;
    let options = ["binlog-format=ROW", "innodb-lock-wait-timeout=20", "log-bin-trust-function-creators=1"];
    let sites = names.iter().map(|name| Shards::site_with(flavor, &parent, name, &options));
    let sites: Vec<Site> = sites.collect::<Result<_, _>>()?;
    let weir = Shards::weir(lab, &sites)?;
    Shards::with_database(sites, weir)
}

/// What a server tells of an object: all but when it was made.
fn shown(server: &Server, what: &str) -> Result<String, Failed> {
    let mut root = server.admin()?;
    root.query_drop(format!("USE {DATABASE}"))?;
    let row: Option<Row> =
        root.query_first(format!("SHOW CREATE {what}")).map_err(|error| format!("{what}: {error}"))?;
    let mut values = row.ok_or_else(|| format!("{what} is not there"))?.unwrap();
    values.truncate(if what.starts_with("TRIGGER") { 6 } else { 7 });
    Ok(format!("{values:?}"))
}

/// An account with rights of its own on what two shards have. Weir's account may give them on the third.
fn readers(shards: &Shards) -> Result<(), Failed> {
    for (at, site) in shards.sites.iter().enumerate() {
        site.server.execute("CREATE USER moves_reader IDENTIFIED BY 'secret-Pass-1'")?;
        let on = [
            "SELECT ON t",
            "SELECT (id), UPDATE (r) ON rates",
            "SELECT ON looks",
            "EXECUTE ON PROCEDURE adds",
            "EXECUTE ON FUNCTION rate",
        ];
        for right in on.iter().filter(|_| at < 2) {
            let (right, own) = right.rsplit_once(' ').ok_or("a right names what it is on")?;
            site.server.execute(&format!("GRANT {right} {DATABASE}.{own} TO moves_reader"))?;
        }
    }
    let weir = crate::lab::MONITOR.0;
    shards.sites[2].server.execute(&format!("GRANT ALL ON {DATABASE}.* TO '{weir}'@'%' WITH GRANT OPTION"))?;
    Ok(())
}

fn rights(shards: &Shards, at: usize) -> Result<Vec<String>, Failed> {
    let mut lines: Vec<String> = shards.sites[at].server.admin()?.query("SHOW GRANTS FOR moves_reader")?;
    lines.retain(|line| line.contains(DATABASE));
    lines.sort();
    Ok(lines)
}

/// How much of each kind a server has.
fn count(server: &Server) -> Result<String, Failed> {
    let of = |table: &str, column: &str| {
        format!("(SELECT COUNT(*) FROM information_schema.{table} WHERE {column} = '{DATABASE}')")
    };
    let sql = format!(
        "SELECT CONCAT_WS(' ', {}, {}, {}, {})",
        of("ROUTINES", "ROUTINE_SCHEMA"),
        of("VIEWS", "TABLE_SCHEMA"),
        of("EVENTS", "EVENT_SCHEMA"),
        of("TRIGGERS", "TRIGGER_SCHEMA")
    );
    Ok(server.query_value(&sql)?.unwrap_or_default())
}

const PROGRAMS: [&str; 8] = [
    "PROCEDURE adds",
    "FUNCTION ümlaut",
    "FUNCTION rate",
    "VIEW looks",
    "VIEW above",
    "EVENT ages",
    "TRIGGER first",
    "TRIGGER second",
];

fn come(lab: &Lab, flavor: Flavor) -> Result<(), Failed> {
    let shards = start(lab, flavor, &["s1", "s2", "s3"])?;
    let session = &mut shards.app()?;
    all(
        session,
        &[
            "CREATE TABLE t (id INT PRIMARY KEY, v INT, n VARCHAR(40)) SHARD BY HASH(id)",
            "CREATE TABLE rates (id INT PRIMARY KEY, r INT) GLOBAL",
            "CREATE TABLE own (id INT PRIMARY KEY) SINGLE ON SHARD 's1'",
            "INSERT INTO rates VALUES (1, 10)",
            "CREATE FUNCTION rate() RETURNS INT READS SQL DATA RETURN (SELECT r FROM rates WHERE id = 1)",
            "CREATE FUNCTION `ümlaut`(a VARCHAR(10)) RETURNS VARCHAR(20) DETERMINISTIC RETURN CONCAT(a, 'é€')",
            "SET sql_mode = 'ANSI_QUOTES,PIPES_AS_CONCAT', time_zone = '+03:00', collation_connection = 'utf8mb4_bin'",
            "CREATE PROCEDURE \"adds\"(a INT, b VARCHAR(9)) SQL SECURITY INVOKER COMMENT 'it''s' INSERT INTO t VALUES (a, a, b || 'x')",
            "CREATE TRIGGER \"first\" BEFORE INSERT ON t FOR EACH ROW SET NEW.v = NEW.v + rate()",
            "CREATE EVENT ages ON SCHEDULE EVERY 1 DAY STARTS '2037-01-02 03:04:05' ON COMPLETION PRESERVE DO UPDATE t SET v = v + 1",
            "SET sql_mode = DEFAULT, time_zone = DEFAULT, collation_connection = DEFAULT",
            "CREATE TRIGGER second BEFORE INSERT ON t FOR EACH ROW SET NEW.v = NEW.v * 2",
            "CREATE SQL SECURITY INVOKER VIEW looks AS SELECT id, v, rate() AS r FROM t WHERE n <> 'é'",
            "CREATE VIEW above (x) AS SELECT id FROM looks WHERE v > 3",
            "CREATE VIEW alone AS SELECT id FROM own",
            "CALL adds(1, 'é')",
            "INSERT INTO t VALUES (2, 2, 'b'), (3, 3, 'c'), (4, 4, 'd'), (5, 5, 'e'), (6, 6, 'f')",
        ],
    )?;
    readers(&shards)?;
    let before: Vec<String> =
        PROGRAMS.iter().map(|what| shown(&shards.sites[0].server, what)).collect::<Result<_, _>>()?;
    let on = |at: usize| -> Result<Vec<String>, Failed> {
        PROGRAMS.iter().map(|what| shown(&shards.sites[at].server, what)).collect()
    };
    let sums =
        "SELECT CONCAT_WS(' ', (SELECT SUM(v) FROM t), (SELECT COUNT(*) FROM above), (SELECT SUM(r) FROM looks))";
    let was = value(session, sums)?;
    let rebalance = format!("WEIR REBALANCE DATABASE {DATABASE}");
    begin(session, &rebalance)?;
    reaches(session, "reverse")?;
    eventually(BOUND, "events have begun", || count(&shards.sites[2].server).is_ok_and(|count| count == "3 2 1 2"))?;
    for at in 0..3 {
        expect_equal(&format!("programs of s{}", at + 1), on(at)?, before.clone())?;
    }
    expect_equal("no row has changed", value(session, sums)?, was.clone())?;
    expect_equal("rights", rights(&shards, 2)?, rights(&shards, 0)?)?;
    refuses(session, "REVOKE SELECT ON t FROM moves_reader", "Rights on")?;
    let ids: Vec<String> = (11..=40).map(|id| format!("({id}, 1, 'x')")).collect();
    run(session, &format!("INSERT INTO t VALUES {}", ids.join(", ")))?;
    all(session, &["CALL adds(50, 'y')"])?;
    expect_equal(
        "each trigger ran once",
        value(session, "SELECT SUM(v) FROM t WHERE id BETWEEN 11 AND 40")?,
        "660".to_owned(),
    )?;
    expect_equal("the procedure", value(session, "SELECT n FROM t WHERE id = 50")?, "yx".to_owned())?;
    let now = value(session, sums)?;
    end(session, "UNDO", "undone")?;
    expect_equal("all that was written is there", value(session, sums)?, now.clone())?;
    expect_equal("programs of s1", on(0)?, before.clone())?;
    expect_equal("programs of s2", on(1)?, before.clone())?;
    expect_equal("nothing is left", count(&shards.sites[2].server)?, "0 0 0 0".to_owned())?;
    is_right(session, &shards)?;
    for at in 0..2 {
        let server = &shards.sites[at].server;
        server.execute(&format!("REVOKE SELECT ON {DATABASE}.t FROM moves_reader"))?;
        server.execute(&format!("REVOKE EXECUTE ON PROCEDURE {DATABASE}.adds FROM moves_reader"))?;
    }
    whole(session, &rebalance)?;
    expect_equal("programs of s3", on(2)?, before.clone())?;
    expect_equal("rights that are left", rights(&shards, 2)?, rights(&shards, 0)?)?;
    is_right(session, &shards)?;
    // What is defined now is there, too.
    all(session, &["DROP PROCEDURE adds", "CREATE PROCEDURE other() SELECT 1", "DROP VIEW above", "CALL other()"])?;
    whole(session, "WEIR DRAIN SHARD s3")?;
    expect_equal("nothing is left", count(&shards.sites[2].server)?, "0 0 0 0".to_owned())?;
    expect_equal(
        "all is there",
        value(session, "SELECT SUM(v) FROM t")?,
        now.split(' ').next().unwrap_or_default().to_owned(),
    )?;
    is_right(session, &shards)
}

const COUNTED: [&str; 7] = [
    "CREATE TABLE a (id INT AUTO_INCREMENT PRIMARY KEY, v INT NOT NULL, n INT NOT NULL DEFAULT 0) SINGLE ON SHARD 's1'",
    "CREATE TABLE log (id INT AUTO_INCREMENT PRIMARY KEY, row_id INT NOT NULL, what VARCHAR(9)) SINGLE ON SHARD 's1'",
    "CREATE TABLE s (id INT PRIMARY KEY, v INT NOT NULL, n INT NOT NULL DEFAULT 0) SHARD BY HASH(id)",
    "CREATE TRIGGER made AFTER INSERT ON a FOR EACH ROW INSERT INTO log (row_id, what) VALUES (NEW.id, 'made')",
    "CREATE TRIGGER counted BEFORE UPDATE ON a FOR EACH ROW SET NEW.n = OLD.n + 1",
    "CREATE TRIGGER changed AFTER UPDATE ON a FOR EACH ROW INSERT INTO log (row_id, what) VALUES (NEW.id, 'changed')",
    "CREATE TRIGGER counts BEFORE UPDATE ON s FOR EACH ROW SET NEW.n = OLD.n + 1",
];

const AWAY: &str = "WEIR MOVE TABLES a, log TO SINGLE ON SHARD 's2'";
const HOME: &str = "WEIR MOVE TABLES a, log TO SINGLE ON SHARD 's1'";

/// What triggers have done, and should have: each is the same twice.
const SUMS: &str = "SELECT CONCAT_WS(' ', (SELECT COUNT(*) FROM a), (SELECT COUNT(*) FROM log WHERE what = 'made'), (SELECT SUM(v) FROM a), \
                    (SELECT SUM(n) FROM a), (SELECT COUNT(*) FROM log WHERE what = 'changed'), (SELECT SUM(v) FROM s), (SELECT SUM(n) FROM s))";

fn expect_counts(session: &mut mysql::Conn) -> Result<(), Failed> {
    let sums = value(session, SUMS)?;
    let parts: Vec<&str> = sums.split(' ').collect();
    let fine = parts.len() == 7
        && parts[0] == parts[1]
        && parts[2] == parts[3]
        && parts[3] == parts[4]
        && parts[5] == parts[6];
    if fine { Ok(()) } else { Err(format!("triggers ran too often, or not: {sums}").into()) }
}

fn triggers(lab: &Lab, flavor: Flavor) -> Result<(), Failed> {
    let shards = start(lab, flavor, &["s1", "s2"])?;
    let session = &mut shards.app()?;
    all(session, &COUNTED)?;
    all(
        session,
        &[
            "INSERT INTO a (v) VALUES (0), (0), (0)",
            "UPDATE a SET v = v + 1",
            "INSERT INTO s (id, v) VALUES (1, 0), (2, 0), (3, 0), (4, 0)",
            "UPDATE s SET v = v + 1",
        ],
    )?;
    refuses(session, "ALTER TABLE a SINGLE ON SHARD 's2'", "made")?;
    refuses(session, "ALTER TABLE log SHARD BY HASH(id)", "made")?;
    let write =
        ["INSERT INTO a (v) VALUES (0)", "UPDATE a SET v = v + 1 WHERE id < 3", "UPDATE s SET v = v + 1 WHERE id > 1"];
    let names = "SELECT GROUP_CONCAT(TRIGGER_NAME ORDER BY TRIGGER_NAME) FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = 't_moves'";
    run(session, AWAY)?;
    reaches(session, "reverse")?;
    all(session, &write)?;
    expect_counts(session)?;
    let there = |at: usize| -> Result<Option<String>, Failed> { Ok(shards.sites[at].server.query_value(names)?) };
    expect_equal("triggers of s1", there(0)?.as_deref(), Some("counts"))?;
    expect_equal("triggers of s2", there(1)?.as_deref(), Some("changed,counted,counts,made"))?;
    end(session, "UNDO", "undone")?;
    all(session, &write)?;
    expect_counts(session)?;
    expect_equal("triggers of s1", there(0)?.as_deref(), Some("changed,counted,counts,made"))?;
    expect_equal("triggers of s2", there(1)?.as_deref(), Some("counts"))?;
    for clause in ["GLOBAL", "SINGLE ON SHARD 's2'", "SHARD BY HASH(id)"] {
        run(session, &format!("ALTER TABLE s {clause}"))?;
        all(session, &write)?;
        expect_counts(session)?;
    }
    end(session, "FINISH", "finished")?;
    run(session, AWAY)?;
    reaches(session, "reverse")?;
    end(session, "FINISH", "finished")?;
    all(session, &write)?;
    all(session, &["DROP TRIGGER counts", "DROP TRIGGER made"])?;
    expect_equal("triggers that are left", value(session, names)?, "changed,counted".to_owned())?;
    is_right(session, &shards)
}

fn under_load(lab: &Lab, flavor: Flavor) -> Result<(), Failed> {
    let shards = start(lab, flavor, &["s1", "s2"])?;
    let session = &mut shards.app()?;
    all(session, &COUNTED)?;
    let rows: Vec<String> = (1..=50).map(|id| format!("({id}, 0)")).collect();
    all(session, &[&format!("INSERT INTO s (id, v) VALUES {}", rows.join(", "))])?;
    all(session, &["INSERT INTO a (v) VALUES (0), (0), (0), (0)", "UPDATE a SET v = v + 1"])?;
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..3)
            .map(|number| {
                scope.spawn({
                    let (shards, stop) = (&shards, &stop);
                    move || write_until(shards, stop, number)
                })
            })
            .collect();
        let moved = move_about(&shards, session);
        stop.store(true, Ordering::Relaxed);
        for writer in writers {
            writer.join().map_err(|_| "a writer panicked")??;
        }
        moved
    })?;
    expect_counts(session)?;
    is_right(session, &shards)
}

fn move_about(shards: &Shards, session: &mut mysql::Conn) -> Result<(), Failed> {
    for command in [AWAY, HOME, AWAY] {
        run(session, command)?;
        reaches(session, "reverse")?;
        run(session, "ALTER TABLE s GLOBAL")?;
        end(session, "UNDO", "undone")?;
        run(session, "ALTER TABLE s SINGLE ON SHARD 's2'")?;
        end(session, "FINISH", "finished")?;
        run(session, "ALTER TABLE s SHARD BY HASH(id)")?;
        end(session, "FINISH", "finished")?;
    }
    // That of the tables that have moved before.
    let moves: Vec<Row> = session.query("WEIR SHOW MOVES")?;
    for row in moves.iter().filter(|row| row.get::<String, _>("phase").is_some_and(|phase| phase == "reverse")) {
        run(session, &format!("WEIR MOVE FINISH {}", row.get::<u64, _>("id").unwrap_or_default()))?;
    }
    eventually(BOUND, "nothing is left", || shards.hidden().is_ok_and(|left| left.is_empty()))
}

fn write_until(shards: &Shards, stop: &AtomicBool, number: u64) -> Result<u64, Failed> {
    let mut session = shards.app()?;
    let mut turn = number * 7;
    while !stop.load(Ordering::Relaxed) {
        turn += 1;
        all(
            &mut session,
            &[
                "INSERT INTO a (v) VALUES (0)",
                &format!("UPDATE a SET v = v + 1 WHERE id = {}", turn % 4 + 1),
                &format!("UPDATE s SET v = v + 1 WHERE id = {}", turn % 50 + 1),
            ],
        )?;
    }
    Ok(turn)
}

const POINTS: [(&str, &str); 8] = [
    ("triggers-dropped", ""),
    ("triggers-missing", ""),
    ("recorded", ""),
    ("half-renamed", ""),
    ("renamed", ""),
    ("triggers-dropped", "UNDO"),
    ("triggers-missing", "UNDO"),
    ("half-renamed", "UNDO"),
];

fn killed(lab: &Lab, flavor: Flavor) -> Result<(), Failed> {
    let mut shards = start(lab, flavor, &["s1", "s2"])?;
    let session = &mut shards.app()?;
    all(session, &COUNTED)?;
    all(session, &["INSERT INTO s (id, v) VALUES (1, 0), (2, 0), (3, 0)", "INSERT INTO a (v) VALUES (0), (0)"])?;
    for (point, order) in POINTS {
        killed_at(&mut shards, point, order)
            .map_err(|failed| format!("{point} {order}: {}", failed.message().unwrap_or_default()))?;
    }
    Ok(())
}

fn killed_at(shards: &mut Shards, point: &str, order: &str) -> Result<(), Failed> {
    // An UNDO comes to the same points as a cutover: it is told apart by when Weir is told of the point.
    let spot = format!("move-{point}");
    let env: Vec<(&str, &str)> = if order.is_empty() { vec![("WEIR_CRASH_AT", &spot)] } else { Vec::new() };
    shards.weir.start_again(&env)?;
    eventually(BOUND, "Weir answers", || shards.app().is_ok())?;
    let mut session = shards.app()?;
    let write = ["UPDATE s SET v = v + 1", "INSERT INTO a (v) VALUES (0)", "UPDATE a SET v = v + 1"];
    all(&mut session, &write)?;
    let clause = if placement(&mut session, "s")? == "global" { "SHARD BY HASH(id)" } else { "GLOBAL" };
    // Weir may end before it can answer.
    let _ = session.query_drop(format!("WEIR MOVE TABLES s TO {clause}"));
    if !order.is_empty() {
        reaches(&mut session, "reverse")?;
        shards.weir.start_again(&[("WEIR_CRASH_AT", &spot)])?;
        eventually(BOUND, "Weir answers", || shards.app().is_ok())?;
        let mut session = shards.app()?;
        let id = latest(&mut session, "id")?;
        let _ = session.query_drop(format!("WEIR MOVE {order} {id}"));
    }
    shards.weir.wait_end(BOUND)?;
    shards.weir.start_again(&[])?;
    eventually(BOUND, "Weir answers again", || shards.app().is_ok())?;
    let mut session = shards.app()?;
    all(&mut session, &write)?;
    reaches(&mut session, if order.is_empty() { "reverse" } else { "undone" })?;
    all(&mut session, &write)?;
    expect_counts(&mut session)?;
    if order.is_empty() {
        end(&mut session, "FINISH", "finished")?;
    }
    is_right(&mut session, shards)
}

fn refused(lab: &Lab, flavor: Flavor) -> Result<(), Failed> {
    let shards = start(lab, flavor, &["s1", "s2", "s3"])?;
    let session = &mut shards.app()?;
    let rebalance = format!("WEIR REBALANCE DATABASE {DATABASE}");
    all(session, &["CREATE TABLE t (id INT PRIMARY KEY, v INT) SHARD BY HASH(id)", "CREATE PROCEDURE p() SELECT 1"])?;
    let third = &shards.sites[2].server;
    third.execute(&format!("CREATE DATABASE {DATABASE}"))?;
    third.execute(&format!("CREATE PROCEDURE {DATABASE}.theirs() SELECT 1"))?;
    refuses(session, &rebalance, "theirs")?;
    third.execute(&format!("DROP PROCEDURE {DATABASE}.theirs"))?;
    all(session, &["CREATE EVENT soon ON SCHEDULE AT '2037-01-01 00:00:00' DO UPDATE t SET v = 1"])?;
    refuses(session, &rebalance, "soon")?;
    all(session, &["DROP EVENT soon"])?;
    // A right that is missing is told before anything has changed, and the move can go on when it is there.
    let (take, give) = match flavor {
        Flavor::MariaDb => ("REVOKE SET USER ON *.* FROM", "GRANT SET USER ON *.* TO"),
        Flavor::MySql => ("REVOKE SET_ANY_DEFINER ON *.* FROM", "GRANT SET_ANY_DEFINER ON *.* TO"),
    };
    let weir = format!("'{}'@'%'", crate::lab::MONITOR.0);
    third.execute(&format!("{take} {weir}"))?;
    begin(session, &rebalance)?;
    eventually(BOUND, "the move has stopped", || latest(session, "error").is_ok_and(|error| error.contains("GRANT")))?;
    third.execute(&format!("{give} {weir}"))?;
    let id = latest(session, "id")?;
    // Weir's own connections may have logged in before.
    eventually(BOUND, "it goes on", || {
        let _ = session.query_drop(format!("WEIR MOVE RESUME {id}"));
        latest(session, "phase").is_ok_and(|phase| phase == "reverse")
    })?;
    end(session, "UNDO", "undone")?;
    expect_equal("nothing is left", count(third)?, "0 0 0 0".to_owned())?;
    is_right(session, &shards)
}
