//! Events that use tables: who runs them, and that their tables stay where they find all rows.

use libtest_mimic::Failed;
use mysql::prelude::Queryable;
use weir_local::Flavor;

use super::{BOUND, Shards, all, refuses};
use crate::Collector;
use crate::driver::{expect_equal, run, value};
use crate::lab::{Lab, eventually};

/// Adds this module's tests.
pub(super) fn collect(tests: &mut Collector) {
    tests.add_for_weir("moves::events_run_where_their_rows_are", run_where_rows_are);
}

fn run_where_rows_are(lab: &Lab, flavor: Flavor) -> Result<(), Failed> {
    let shards = Shards::start(lab, flavor)?;
    for server in shards.servers() {
        server.execute("SET GLOBAL event_scheduler = ON")?;
    }
    let session = &mut shards.app()?;
    let rows: Vec<String> = (1..=200).map(|id| format!("({id}, {})", id % 2)).collect();
    all(
        session,
        &[
            "CREATE TABLE logs (id INT PRIMARY KEY, old INT NOT NULL) /*weir: shard by hash(id) */",
            "CREATE TABLE runs (id INT AUTO_INCREMENT PRIMARY KEY, n INT) /*weir: single on shard 's2' */",
            "CREATE TABLE kinds (id INT PRIMARY KEY) /*weir: global */",
            "INSERT INTO kinds VALUES (1), (2), (3)",
            &format!("INSERT INTO logs VALUES {}", rows.join(", ")),
            "CREATE EVENT wipe ON SCHEDULE EVERY 1 SECOND DO DELETE FROM logs WHERE old = 1",
            "CREATE EVENT once ON SCHEDULE AT NOW() + INTERVAL 9 SECOND DO INSERT INTO runs (n) SELECT COUNT(*) FROM kinds",
        ],
    )?;
    let mut other = shards.app()?;
    eventually(BOUND, "the events run", || {
        let left = value(&mut other, "SELECT CONCAT(COUNT(*), ' ', SUM(old)) FROM logs").ok();
        let ran = value(&mut other, "SELECT COUNT(*) FROM runs").ok();
        left.as_deref() == Some("100 0") && ran.as_deref() == Some("1")
    })?;
    expect_equal("once, on one shard", value(session, "SELECT GROUP_CONCAT(n) FROM runs")?, "3".to_owned())?;

    refuses(session, "ALTER TABLE logs GLOBAL", "Event t_moves.wipe may use 't_moves.logs'")?;
    refuses(session, "ALTER TABLE runs SHARD BY HASH(id)", "Event t_moves.once may use 't_moves.runs'")?;
    run(session, "ALTER TABLE logs SINGLE ON SHARD 's1'")?;
    run(session, "INSERT INTO logs VALUES (1001, 1), (1002, 0)")?;
    eventually(BOUND, "the event runs where the rows went", || {
        value(&mut other, "SELECT CONCAT(COUNT(*), ' ', SUM(old)) FROM logs").ok().as_deref() == Some("101 0")
    })?;
    refuses(session, "WEIR DRAIN SHARD s2", "Event t_moves.once runs on a shard that the database would leave")?;
    run(session, "WEIR ADD SHARD s2")?;
    // It is gone from its server since it ran.
    session.query_drop("DROP EVENT IF EXISTS once")?;
    run(session, "ALTER TABLE runs SHARD BY HASH(id)")?;
    Ok(())
}
