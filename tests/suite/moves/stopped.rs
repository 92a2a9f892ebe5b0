//! What stops a move, or is done to its tables meanwhile: it is said, nothing is lost, and there is a way on.

use libtest_mimic::Failed;
use mysql::prelude::Queryable;
use mysql::{Conn, Row};
use weir_local::Flavor;

use super::servers::{Holds, finish, kill, order, revive};
use super::{BOUND, DATABASE, OPTIONS, Shards, all, latest, placement, reaches, refuses};
use crate::Collector;
use crate::driver::{connect, expect_equal, expect_error, run, value};
use crate::lab::{APP, Lab, eventually};

pub(super) fn collect(tests: &mut Collector) {
    tests.add_for_weir("moves::what_stops_a_move_is_said_and_there_is_a_way_on", all_of_them);
}

/// The second shard has no room for more than these.
const SMALL: [&str; 2] = ["innodb-file-per-table=OFF", "innodb-data-file-path=ibdata1:12M:autoextend:max:36M"];

const MOVE: &str = "WEIR MOVE TABLES t TO SINGLE ON SHARD 's2'";

/// One of what is done to moves, on a cluster that all share.
type Case = fn(&mut Shards, &Holds) -> Result<(), Failed>;

fn all_of_them(lab: &Lab, flavor: Flavor) -> Result<(), Failed> {
    let parent = lab.directory()?;
    let small: Vec<&str> = OPTIONS.iter().chain(&SMALL).copied().collect();
    let sites = vec![Shards::site(flavor, &parent, "s1")?, Shards::site_with(flavor, &parent, "s2", &small)?];
    let weir = Shards::weir(lab, &sites)?;
    let mut shards = Shards::with_database(sites, weir)?;
    let holds = Holds::start(lab, &mut shards)?;
    all(&mut shards.app()?, &["CREATE TABLE t (id INT PRIMARY KEY, v INT) SINGLE ON SHARD 's1'", ROWS])?;
    let cases: [(&str, Case); 5] = [
        ("cancelled at each step", cancelled),
        ("locks and long reads", locks),
        ("a definition on the server", definition),
        ("binary logs that are gone", purged),
        ("a shard without room", full),
    ];
    for (what, case) in cases {
        case(&mut shards, &holds).map_err(|failed| {
            format!("{what}: {}\n{}", failed.message().unwrap_or_default(), shards.weir.log_tail())
        })?;
    }
    Ok(())
}

/// All rows are on this shard, and nothing else is anywhere.
fn is_whole(shards: &Shards, session: &mut Conn, place: &str, sum: &str) -> Result<(), Failed> {
    expect_equal("the rows", value(session, "SELECT CONCAT_WS(' ', COUNT(*), SUM(v)) FROM t")?, sum.to_owned())?;
    let row: Option<Row> = session.query_first("WEIR SHOW TABLES LIKE 't'")?;
    let shown = row.map(|row| format!("{row:?}")).unwrap_or_default();
    if !shown.contains(place) || placement(session, "t")? != "single" {
        return Err(format!("{place} expected in {shown}").into());
    }
    expect_equal("nothing is left", shards.hidden()?, Vec::new())
}

const ROWS: &str = "INSERT INTO t WITH RECURSIVE n AS (SELECT 1 AS id UNION ALL SELECT id + 1 FROM n WHERE id < 900) SELECT id, id FROM n";
const WHOLE: &str = "900 405450";

/// Tables of another database are others, whatever their names.
fn beside(session: &mut Conn) -> Result<(), Failed> {
    let own =
        ["USE t_moves_beside", "ALTER TABLE t ADD w INT", "CREATE VIEW seen AS SELECT w FROM t", "DROP VIEW seen"];
    all(session, &own)?;
    refuses(session, "CREATE VIEW seen AS SELECT id FROM t_moves.t", "in progress")?;
    all(session, &["ALTER TABLE t DROP w", "USE t_moves"])
}

fn cancelled(shards: &mut Shards, holds: &Holds) -> Result<(), Failed> {
    let session = &mut shards.app()?;
    all(session, &["CREATE DATABASE t_moves_beside", "CREATE TABLE t_moves_beside.t (id INT PRIMARY KEY)"])?;
    for point in ["begun", "made", "copied", "sealed"] {
        holds.at(point)?;
        all(session, &[MOVE])?;
        holds.reached(point)?;
        // At the last point, they wait for its end.
        if point != "sealed" {
            for definition in [
                "ALTER TABLE t ADD COLUMN w INT",
                "CREATE INDEX more ON t (v)",
                "TRUNCATE TABLE t",
                "RENAME TABLE t TO other",
                "DROP TABLE t",
                "CREATE VIEW seen AS SELECT id FROM t",
                "CREATE TRIGGER notes BEFORE INSERT ON t FOR EACH ROW SET NEW.v = 1",
            ] {
                refuses(session, definition, "in progress")?;
            }
            beside(session)?;
        }
        order(session, "CANCEL")?;
        holds.go_on(point)?;
        reaches(session, "cancelled").map_err(|failed| format!("{point}: {}", failed.message().unwrap_or_default()))?;
        is_whole(shards, session, "s1", WHOLE)?;
    }
    // Too late: it says so, and the way back is another one.
    holds.at("recorded")?;
    all(session, &[MOVE])?;
    holds.reached("recorded")?;
    let id = latest(session, "id")?;
    expect_error("a late CANCEL", &session.query_drop(format!("WEIR MOVE CANCEL {id}")), 1105, "HY000")?;
    holds.go_on("recorded")?;
    reaches(session, "reverse")?;
    order(session, "UNDO")?;
    reaches(session, "undone")?;
    is_whole(shards, session, "s1", WHOLE)
}

fn waits(session: &mut Conn) -> Result<(), Failed> {
    eventually(BOUND, "the cutover waits", || {
        latest(session, "state").is_ok_and(|state| state.contains("open transactions"))
    })
}

fn locks(shards: &mut Shards, holds: &Holds) -> Result<(), Failed> {
    let (session, holder) = (&mut shards.app()?, &mut shards.app()?);
    for lock in ["LOCK TABLES t WRITE", "HANDLER t OPEN", "LOCK TABLES t READ"] {
        let placed = placement(session, "t")?;
        holds.at("copied")?;
        all(session, &[MOVE])?;
        holds.reached("copied")?;
        run(holder, lock).map_err(|error| format!("{lock}: {error}"))?;
        holds.go_on("copied")?;
        let waited = match lock {
            // What is compared is read under the lock of its holder.
            "LOCK TABLES t WRITE" => eventually(BOUND, "the move waits for the lock", || {
                let waiting =
                    "SELECT COUNT(*) FROM information_schema.processlist WHERE state LIKE 'Waiting for table%'";
                shards.sites[0].server.query_value(waiting).is_ok_and(|count| count.is_some_and(|count| count != "0"))
            }),
            _ => waits(session),
        };
        waited.map_err(|failed| format!("{lock}: {}", failed.message().unwrap_or_default()))?;
        match lock {
            "LOCK TABLES t WRITE" => all(
                holder,
                &["UPDATE t SET v = v + 1 WHERE id = 1", "UPDATE t SET v = v - 1 WHERE id = 1", "UNLOCK TABLES"],
            )?,
            "HANDLER t OPEN" => {
                all(holder, &["HANDLER t READ FIRST", "HANDLER t CLOSE"])?;
                // Whether another one is open is not known before its session ends.
                *holder = shards.app()?;
            }
            _ => all(holder, &["SELECT * FROM t WHERE id = 1", "UNLOCK TABLES"])?,
        }
        reaches(session, "reverse").map_err(|failed| format!("{lock}: {}", failed.message().unwrap_or_default()))?;
        order(session, "UNDO")?;
        reaches(session, "undone")?;
        expect_equal(lock, placement(session, "t")?, placed)?;
        is_whole(shards, session, "s1", WHOLE)?;
    }
    // A read that takes longer than a cutover waits sees all rows as they were.
    let port = shards.weir.port;
    let reading = std::thread::spawn(move || -> mysql::Result<Vec<(i32, i32)>> {
        connect(port, APP, Some(DATABASE))?.query("SELECT id, IF(id % 300 = 0, v + SLEEP(0.5), v) FROM t")
    });
    all(session, &[MOVE])?;
    reaches(session, "reverse")?;
    let read = reading.join().map_err(|_| "it panicked")??;
    expect_equal("a long read", read.iter().map(|row| row.1).sum::<i32>(), 405_450)?;
    order(session, "UNDO")?;
    reaches(session, "undone")?;
    is_whole(shards, session, "s1", WHOLE)
}

/// Waits until the latest move is paused by an error with these words.
fn is_told(session: &mut Conn, words: &str) -> Result<(), Failed> {
    let mut last = String::new();
    let told = eventually(BOUND, words, || {
        last = latest(session, "error").unwrap_or_default();
        last.contains(words)
    });
    told.map_err(|_| format!("{words:?} expected in {last:?}").into())
}

fn definition(shards: &mut Shards, holds: &Holds) -> Result<(), Failed> {
    let session = &mut shards.app()?;
    for statement in ["ALTER TABLE t COMMENT 'by others'", "RENAME TABLE t TO away, away TO t", "TRUNCATE TABLE t"] {
        holds.at("copied")?;
        all(session, &[MOVE])?;
        holds.reached("copied")?;
        let mut root = shards.sites[0].server.admin()?;
        all(&mut root, &[&format!("USE {DATABASE}"), statement])?;
        order(session, "PAUSE")?;
        holds.go_on("copied")?;
        is_told(session, "was changed by a definition")
            .map_err(|failed| format!("{statement}: {}", failed.message().unwrap_or_default()))?;
        order(session, "CANCEL")?;
        reaches(session, "cancelled")?;
    }
    is_whole(shards, session, "s1", "0")?;
    all(session, &[ROWS])?;
    is_whole(shards, session, "s1", WHOLE)
}

/// Purges a server's binary logs, but the last.
fn purge(shards: &Shards, shard: usize) -> Result<(), Failed> {
    let server = &shards.sites[shard].server;
    eventually(BOUND, "the logs are gone", || {
        // A log that is being sent is not purged.
        let purged = server
            .execute("FLUSH BINARY LOGS")
            .and_then(|()| server.execute("PURGE BINARY LOGS BEFORE NOW() + INTERVAL 1 DAY"));
        purged.is_ok() && server.query("SHOW BINARY LOGS").is_ok_and(|logs| logs.len() == 1)
    })
}

fn purged(shards: &mut Shards, holds: &Holds) -> Result<(), Failed> {
    let session = &mut shards.app()?;
    holds.at("made")?;
    all(session, &[MOVE])?;
    holds.reached("made")?;
    order(session, "THROTTLE ROWS 40")?;
    holds.go_on("made")?;
    eventually(BOUND, "rows are copied", || latest(session, "rows_copied").is_ok_and(|rows| rows != "0"))?;
    kill(shards, 1)?;
    all(session, &["DELETE FROM t WHERE id <= 10", "UPDATE t SET v = v + 55 WHERE id = 11"])?;
    purge(shards, 0)?;
    revive(shards, 1)?;
    is_told(session, "WEIR MOVE RESUME")?;
    order(session, "THROTTLE ROWS 0")?;
    order(session, "RESUME")?;
    reaches(session, "reverse")?;
    let sum = "890 405450";
    expect_equal("the rows", value(session, "SELECT CONCAT_WS(' ', COUNT(*), SUM(v)) FROM t")?, sum.to_owned())?;
    // The same on the way back, which there is no more.
    kill(shards, 0)?;
    all(session, &["INSERT INTO t VALUES (1, 0)"])?;
    purge(shards, 1)?;
    revive(shards, 0)?;
    is_told(session, "WEIR MOVE FINISH")?;
    order(session, "UNDO")?;
    is_told(session, "WEIR MOVE FINISH")?;
    order(session, "FINISH")?;
    reaches(session, "finished")?;
    is_whole(shards, session, "s2", "891 405450")?;
    all(session, &["WEIR MOVE TABLES t TO SINGLE ON SHARD 's1'"])?;
    finish(session)?;
    is_whole(shards, session, "s1", "891 405450")
}

fn full(shards: &mut Shards, _: &Holds) -> Result<(), Failed> {
    let session = &mut shards.app()?;
    all(
        session,
        &[
            "CREATE TABLE ballast (id INT AUTO_INCREMENT PRIMARY KEY, pad VARCHAR(8000) CHARACTER SET latin1) SINGLE ON SHARD 's2'",
            "ALTER TABLE t ADD COLUMN pad VARCHAR(4000) CHARACTER SET latin1",
            "UPDATE t SET pad = REPEAT('x', 4000)",
        ],
    )?;
    let fill = "INSERT INTO ballast (pad) SELECT REPEAT('y', 8000) FROM (WITH RECURSIVE n AS (SELECT 1 AS id UNION ALL \
                SELECT id + 1 FROM n WHERE id < 100) SELECT id FROM n) many";
    let mut filled = Ok(());
    eventually(BOUND, "the shard is full", || {
        filled = run(session, fill);
        filled.is_err()
    })?;
    expect_error("a full shard", &filled, 1114, "HY000")?;
    all(session, &[MOVE])?;
    is_told(session, "is full")?;
    // The source goes on.
    all(
        session,
        &["UPDATE t SET v = v + 1 WHERE id = 20", "UPDATE t SET v = v - 1 WHERE id = 20", "DROP TABLE ballast"],
    )?;
    // A server gives the room free some time after the DROP.
    eventually(BOUND, "there is room again", || {
        if latest(session, "error").is_ok_and(|error| !error.is_empty()) {
            let _until_it_holds = order(session, "RESUME");
        }
        latest(session, "phase").is_ok_and(|phase| phase == "reverse")
    })?;
    finish(session)?;
    is_whole(shards, session, "s2", "891 405450")
}
