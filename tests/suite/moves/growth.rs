//! Shards that come and go while the database is used.

use libtest_mimic::Failed;
use mysql::prelude::Queryable;
use mysql::{Conn, Row};
use nix::sys::signal::Signal;
use weir_local::Flavor;

use super::load::loaded;
use super::{BOUND, DATABASE, Shards, all, latest, reaches, refuses};
use crate::Collector;
use crate::driver::{connect, expect_equal, expect_error, run, value};
use crate::lab::{APP, Lab, Site, eventually};
use crate::takeover::take_over;

pub(super) fn collect(tests: &mut Collector) {
    tests.add_for_weir("moves::a_database_grows_and_shrinks_under_load", under_load);
    tests.add_for_weir("moves::a_shard_comes_by_takeover_and_goes_by_restart", comes_and_goes);
    tests.add_for_weir("moves::all_kinds_of_tables_leave_a_shard", leave);
    tests.add_for_weir("moves::weir_is_killed_at_each_step_of_growing", killed);
    tests.add_for_weir("moves::what_cannot_grow_is_refused", refused);
}

fn three(lab: &Lab, flavor: Flavor) -> Result<Vec<Site>, Failed> {
    let parent = lab.directory()?;
    ["s1", "s2", "s3"].iter().map(|name| Shards::site(flavor, &parent, name)).collect()
}

/// Three shards, and a database on two of them.
fn start(lab: &Lab, flavor: Flavor) -> Result<Shards, Failed> {
    let sites = three(lab, flavor)?;
    let weir = Shards::weir(lab, &sites)?;
    Shards::with_database(sites, weir)
}

/// What SHOW SHARDS tells of a shard: its slots and its state.
fn shard(session: &mut Conn, name: &str) -> Result<(u64, String), Failed> {
    let rows: Vec<Row> = session.query("WEIR SHOW SHARDS")?;
    let row = rows.iter().find(|row| row.get::<String, _>("shard").is_some_and(|shard| shard == name));
    let row = row.ok_or("there is no such shard")?;
    Ok((row.get("slots").unwrap_or_default(), row.get("state").unwrap_or_default()))
}

pub(super) fn begin(session: &mut Conn, command: &str) -> Result<u64, Failed> {
    let rows: Vec<Row> = session.query(command).map_err(|error| format!("{command}: {error}"))?;
    let row = rows.first().ok_or_else(|| format!("{command}: there is nothing to move"))?;
    row.get::<Option<u64>, _>("move").flatten().ok_or_else(|| format!("{command}: no move was begun").into())
}

/// A command's move to its cutover, and to its end.
pub(super) fn whole(session: &mut Conn, command: &str) -> Result<(), Failed> {
    begin(session, command)?;
    reaches(session, "reverse")?;
    end(session, "FINISH", "finished")
}

pub(super) fn end(session: &mut Conn, order: &str, phase: &str) -> Result<(), Failed> {
    let id = latest(session, "id")?;
    all(session, &[&format!("WEIR MOVE {order} {id}")])?;
    reaches(session, phase)
}

pub(super) fn is_right(session: &mut Conn, shards: &Shards) -> Result<(), Failed> {
    let differences: Vec<Row> = session.query("WEIR CATALOG CHECK")?;
    expect_equal("the catalog is right", format!("{differences:?}"), "[]".to_owned())?;
    expect_equal("nothing is left", shards.hidden()?, Vec::new())
}

fn under_load(lab: &Lab, flavor: Flavor) -> Result<(), Failed> {
    let shards = start(lab, flavor)?;
    loaded(&shards, ["SHARD BY HASH(id)", "SHARD BY HASH(id)", "GLOBAL"], |session, world| {
        let rebalance = format!("WEIR REBALANCE DATABASE {DATABASE}");
        let planned: Vec<Row> = session.query(format!("{rebalance} DRY RUN"))?;
        expect_equal("the fewest slots", planned[0].get::<u64, _>("slots_moved"), Some(1365))?;
        expect_equal("a dry run begins nothing", session.query::<Row, _>("WEIR SHOW MOVES")?.len(), 0)?;
        world.go_on()?;
        begin(session, &rebalance)?;
        reaches(session, "reverse")?;
        expect_equal("slots of the shard that came", shard(session, "s3")?, (1365, "in use".to_owned()))?;
        world.go_on()?;
        end(session, "UNDO", "undone")?;
        expect_equal("slots after the undo", shard(session, "s3")?.0, 0)?;
        world.go_on()?;
        whole(session, &rebalance)?;
        world.go_on()?;
        whole(session, "WEIR DRAIN SHARD s3")?;
        expect_equal("the shard that left", shard(session, "s3")?, (0, "drained".to_owned()))?;
        world.go_on()?;
        // The first shard of a database keeps its sequences: they go over, too.
        all(session, &["WEIR ADD SHARD s3"])?;
        whole(session, &rebalance)?;
        whole(session, &format!("WEIR MOVE SLOTS 0-99 OF DATABASE {DATABASE} TO SHARD s3"))?;
        expect_equal("slots that were moved", shard(session, "s3")?.0, 1465)?;
        world.go_on()
    })?;
    is_right(&mut shards.app()?, &shards)
}

fn leave(lab: &Lab, flavor: Flavor) -> Result<(), Failed> {
    let shards = start(lab, flavor)?;
    let session = &mut shards.app()?;
    all(session, &["CREATE TABLE hashed (id INT AUTO_INCREMENT PRIMARY KEY, v INT) SHARD BY HASH(id)"])?;
    all(session, &["INSERT INTO hashed (v) VALUES (1), (2), (3), (4), (5), (6), (7), (8)"])?;
    whole(session, &format!("WEIR REBALANCE DATABASE {DATABASE}"))?;
    all(
        session,
        &[
            "CREATE TABLE products (id INT PRIMARY KEY) GLOBAL",
            "CREATE TABLE ranged (id INT PRIMARY KEY, v VARCHAR(9)) /*weir: shard by range(id) (s1 values less than (10), s3 values less than \
             maxvalue) */",
            "CREATE TABLE listed (id VARCHAR(9) COLLATE utf8mb4_bin PRIMARY KEY, v INT) /*weir: shard by list(id) (s3 values in ('a', 'b'), s2 default) */",
            "CREATE TABLE parents (id INT AUTO_INCREMENT PRIMARY KEY, product INT, FOREIGN KEY (product) REFERENCES products (id)) SINGLE ON SHARD 's3'",
            "CREATE TABLE children (id INT PRIMARY KEY, parent INT, FOREIGN KEY (parent) REFERENCES parents (id)) SINGLE ON SHARD 's3'",
            "CREATE TABLE elsewhere (id INT PRIMARY KEY, product INT, FOREIGN KEY (product) REFERENCES products (id)) SINGLE ON SHARD 's2'",
            "INSERT INTO products VALUES (1), (2)",
            "INSERT INTO ranged VALUES (1, 'x'), (20, 'y')",
            "INSERT INTO listed VALUES ('a', 1), ('b', 2), ('c', 3)",
            "INSERT INTO parents (product) VALUES (1), (2)",
            "INSERT INTO children VALUES (1, 1), (2, 2)",
            "INSERT INTO elsewhere VALUES (1, 2)",
        ],
    )?;
    let sums = "SELECT CONCAT_WS(' ', (SELECT SUM(v) FROM hashed), (SELECT GROUP_CONCAT(v ORDER BY id) FROM ranged), \
                (SELECT SUM(v) FROM listed), (SELECT COUNT(*) FROM products), (SELECT COUNT(*) FROM parents p JOIN children c ON c.parent = p.id), \
                (SELECT COUNT(*) FROM elsewhere e JOIN products p ON p.id = e.product))";
    let before = value(session, sums)?;
    refuses(session, "WEIR DRAIN SHARD s1", "home shard")?;
    begin(session, "WEIR DRAIN SHARD s3")?;
    reaches(session, "reverse")?;
    expect_equal("all rows are there", value(session, sums)?, before.clone())?;
    let made = session.query_drop("CREATE TABLE more (id INT PRIMARY KEY)");
    expect_error("a definition while the database changes its shards", &made, 1235, "42000")?;
    let state = shard(session, "s3")?.1;
    expect_equal("it still has the way back", state.starts_with("draining: holds tables of move"), true)?;
    end(session, "UNDO", "undone")?;
    expect_equal("all rows are back", value(session, sums)?, before.clone())?;
    whole(session, "WEIR DRAIN SHARD s3")?;
    expect_equal("all rows are there", value(session, sums)?, before)?;
    expect_equal("it is empty", shard(session, "s3")?, (0, "drained".to_owned()))?;
    let gone = session.query_drop("INSERT INTO children VALUES (3, 99)");
    expect_error("a row that refers to none", &gone, 1452, "23000")?;
    all(session, &["INSERT INTO parents (product) VALUES (1)", "INSERT INTO hashed (v) VALUES (9)"])?;
    expect_equal("the next value", value(session, "SELECT MAX(id) FROM parents")?, "3".to_owned())?;
    for table in ["ranged", "listed", "parents"] {
        let row: Option<(String, String)> = session.query_first(format!("SHOW CREATE TABLE {table}"))?;
        expect_equal(table, row.is_some_and(|(_, text)| text.contains("s3")), false)?;
    }
    is_right(session, &shards)?;
    // A database that is made now is not there; one that is left on its only shard comes to another.
    all(session, &["WEIR ADD SHARD s3", "WEIR DRAIN SHARD s2"])?;
    reaches(session, "reverse")?;
    end(session, "FINISH", "finished")?;
    expect_equal("slots of the only shard", shard(session, "s1")?.0, 4096)?;
    is_right(session, &shards)
}

fn comes_and_goes(lab: &Lab, flavor: Flavor) -> Result<(), Failed> {
    let mut sites = three(lab, flavor)?;
    let third = sites.pop().ok_or("three were started")?;
    let weir = Shards::weir(lab, &sites)?;
    let mut shards = Shards::with_database(sites, weir)?;
    let mut session = shards.app()?;
    all(
        &mut session,
        &[
            "CREATE TABLE t (id INT PRIMARY KEY, v INT) SHARD BY HASH(id)",
            "INSERT INTO t VALUES (1, 1), (2, 2), (3, 3), (4, 4), (5, 5), (6, 6)",
            "BEGIN",
            "UPDATE t SET v = v + 10 WHERE id = 1",
        ],
    )?;
    let two = std::fs::read_to_string(&shards.weir.config)?;
    let port = third.server.port();
    let three = format!(
        "{two}\n[[groups]]\nname = \"s3\"\n\n[[servers]]\nname = \"s3-a\"\naddress = \"127.0.0.1:{port}\"\nrole = \"writer\"\ngroup = \
         \"s3\"\n"
    );
    crate::weir::write_config(&shards.weir.config, &three)?;
    let new = take_over(&shards.weir)?;
    let mut old = std::mem::replace(&mut shards.weir, new);
    let mut fresh = shards.app()?;
    let ready = |session: &mut Conn| {
        let rows: Vec<Row> = session.query("WEIR SHOW SHARDS LIKE 's3'").unwrap_or_default();
        let tells =
            |column, text: &str| rows.iter().any(|row| row.get::<String, _>(column).is_some_and(|told| told == text));
        tells("state", "in use") && tells("schema", "ready")
    };
    // The old process, which can't reach the shard, still has a transaction.
    expect_equal("the shard", shard(&mut fresh, "s3")?.1, "not added yet".to_owned())?;
    all(&mut session, &["UPDATE t SET v = v + 10 WHERE id = 2", "COMMIT"])?;
    drop(session);
    old.wait_end(BOUND)?;
    eventually(BOUND, "the shard is known", || ready(&mut fresh))
        .map_err(|failed| format!("{}: {}", failed.message().unwrap_or_default(), shards.weir.log_tail()))?;
    all(&mut connect(shards.weir.port, APP, None)?, &["CREATE DATABASE t_moves_of_three"])?;
    begin(&mut fresh, &format!("WEIR REBALANCE DATABASE {DATABASE}"))?;
    reaches(&mut fresh, "reverse")?;
    end(&mut fresh, "FINISH", "finished")?;
    expect_equal("all is there", value(&mut fresh, "SELECT SUM(v) FROM t")?, "41".to_owned())?;
    expect_equal("its slots, of both databases", shard(&mut fresh, "s3")?.0 > 1365, true)?;
    // Without it Weir does not start.
    drop(fresh);
    shards.weir.signal(Signal::SIGTERM)?;
    shards.weir.wait_end(BOUND)?;
    let (_, why) = crate::weir::serve_refused(shards.weir.directory(), &two)?;
    expect_equal(&why, why.contains("WEIR DRAIN SHARD s3"), true)?;
    crate::weir::write_config(&shards.weir.config, &three)?;
    shards.weir.start_again(&[])?;
    let session = &mut shards.app()?;
    eventually(BOUND, "the shard is drained", || {
        let _ = session.query_drop("WEIR DRAIN SHARD s3");
        let ids: Vec<Row> = session.query("WEIR SHOW MOVES").unwrap_or_default();
        for id in ids.iter().filter(|row| row.get::<String, _>("phase").is_some_and(|phase| phase == "reverse")) {
            let _ = session.query_drop(format!("WEIR MOVE FINISH {}", id.get::<u64, _>("id").unwrap_or_default()));
        }
        shard(session, "s3").is_ok_and(|(_, state)| state == "drained")
    })?;
    shards.weir.signal(Signal::SIGTERM)?;
    shards.weir.wait_end(BOUND)?;
    drop(third);
    crate::weir::write_config(&shards.weir.config, &two)?;
    shards.weir.start_again(&[])?;
    let session = &mut shards.app()?;
    expect_equal("two shards", session.query::<Row, _>("WEIR SHOW SHARDS")?.len(), 2)?;
    expect_equal("all is there", value(session, "SELECT SUM(v) FROM t")?, "41".to_owned())?;
    all(session, &["INSERT INTO t VALUES (7, 7)"])?;
    is_right(session, &shards)
}

const POINTS: [(&str, &str); 9] = [
    ("begun", ""),
    ("made", ""),
    ("copied", ""),
    ("sealed", ""),
    ("recorded", ""),
    ("half-renamed", ""),
    ("renamed", ""),
    ("placed", ""),
    ("undoing", "UNDO"),
];

fn killed(lab: &Lab, flavor: Flavor) -> Result<(), Failed> {
    let mut shards = start(lab, flavor)?;
    all(
        &mut shards.app()?,
        &[
            "CREATE TABLE t (id BIGINT AUTO_INCREMENT PRIMARY KEY, v BIGINT NOT NULL) SHARD BY HASH(id)",
            "CREATE TABLE g (id INT PRIMARY KEY, v BIGINT NOT NULL) GLOBAL",
            "INSERT INTO g VALUES (1, 1), (2, 2)",
        ],
    )?;
    for (turn, (point, order)) in POINTS.iter().enumerate() {
        let (command, slots) = if turn % 2 == 0 {
            (format!("WEIR REBALANCE DATABASE {DATABASE}"), 1365)
        } else {
            ("WEIR DRAIN SHARD s3".to_owned(), 0)
        };
        killed_at(&mut shards, point, order, &command, slots)
            .map_err(|failed| format!("{point}: {}", failed.message().unwrap_or_default()))?;
    }
    Ok(())
}

fn killed_at(shards: &mut Shards, point: &str, order: &str, command: &str, slots: u64) -> Result<(), Failed> {
    shards.weir.start_again(&[("WEIR_CRASH_AT", &format!("move-{point}"))])?;
    eventually(BOUND, "Weir answers", || shards.app().is_ok())?;
    let mut session = shards.app()?;
    eventually(BOUND, "the shards are ready", || run(&mut session, "WEIR ADD SHARD s3").is_ok())?;
    all(&mut session, &["INSERT INTO t (v) VALUES (1), (2), (3), (4), (5)", "UPDATE g SET v = v + 1"])?;
    let before = value(&mut session, "SELECT CONCAT(COUNT(*), ' ', SUM(v), ' ', MAX(id)) FROM t")?;
    // Weir may end before it can answer.
    let _ = session.query_drop(command);
    if !order.is_empty() {
        reaches(&mut session, "reverse")?;
        let id = latest(&mut session, "id")?;
        let _ = session.query_drop(format!("WEIR MOVE {order} {id}"));
    }
    shards.weir.wait_end(BOUND)?;
    shards.weir.start_again(&[])?;
    eventually(BOUND, "Weir answers again", || shards.app().is_ok())?;
    let mut session = shards.app()?;
    if order.is_empty() {
        reaches(&mut session, "reverse")?;
    } else {
        reaches(&mut session, "undone")?;
        begin(&mut session, command)?;
        reaches(&mut session, "reverse")?;
    }
    expect_equal(
        "no row is lost",
        value(&mut session, "SELECT CONCAT(COUNT(*), ' ', SUM(v), ' ', MAX(id)) FROM t")?,
        before,
    )?;
    all(&mut session, &["INSERT INTO t (v) VALUES (6)", "UPDATE g SET v = v + 1"])?;
    end(&mut session, "FINISH", "finished")?;
    expect_equal("its slots", shard(&mut session, "s3")?.0, slots)?;
    is_right(&mut session, shards)
}

fn refused(lab: &Lab, flavor: Flavor) -> Result<(), Failed> {
    let shards = start(lab, flavor)?;
    let session = &mut shards.app()?;
    all(session, &["CREATE TABLE t (id INT PRIMARY KEY, v INT) SHARD BY HASH(id)"])?;
    let unknown = session.query_drop("WEIR REBALANCE DATABASE nowhere");
    expect_error("an unknown database", &unknown, 1049, "42000")?;
    let unknown = session.query_drop("WEIR DRAIN SHARD s9");
    expect_error("an unknown shard", &unknown, 1105, "HY000")?;
    for slots in ["0-4096", "7-3"] {
        let wrong = session.query_drop(format!("WEIR MOVE SLOTS {slots} OF DATABASE {DATABASE} TO SHARD s2"));
        expect_error(slots, &wrong, 1210, "HY000")?;
    }
    refuses(session, &format!("WEIR MOVE SLOTS 3 OF DATABASE {DATABASE} TO SHARD s3"), "s3")?;
    let moves: Vec<Row> = session.query("WEIR SHOW MOVES")?;
    expect_equal("no move was begun", moves.len(), 0)?;
    // A database without tables moves at once.
    let port = shards.weir.port;
    let mut other = connect(port, APP, None)?;
    all(&mut other, &["CREATE DATABASE t_moves_empty /*weir: shards (s1, s2) */"])?;
    for site in &shards.sites {
        let grants = weir_local::move_grants("t_moves_empty");
        site.server.execute(&format!("GRANT {grants} TO '{}'@'%'", crate::lab::MONITOR.0))?;
    }
    all(&mut other, &["WEIR REBALANCE DATABASE t_moves_empty"])?;
    all(
        &mut other,
        &["CREATE TABLE t_moves_empty.t (id INT PRIMARY KEY) GLOBAL", "INSERT INTO t_moves_empty.t VALUES (1)"],
    )?;
    let there = shards.sites[2].server.query_value("SELECT COUNT(*) FROM t_moves_empty.t")?;
    expect_equal("the table on the shard that came", there.as_deref(), Some("1"))?;
    Ok(())
}
