//! Locks on rows that are not on one shard alone: copies of GLOBAL tables, and rows of statements that are transactions by themselves.

use libtest_mimic::Failed;
use mysql::prelude::Queryable;
use weir_local::Flavor;

use super::deadlocks::{begin_strong, locks_waited_for, rows_of_shards, start, update};
use super::{BOUND, Shards, app};
use crate::Collector;
use crate::driver::{expect_equal, expect_error, run, value};
use crate::lab::{Endpoint, eventually};

const COPIED: [&str; 2] = [
    "CREATE TABLE t_deadlocks.g (id INT PRIMARY KEY, v INT NOT NULL) GLOBAL",
    "INSERT INTO t_deadlocks.g VALUES (1, 0), (2, 0)",
];

type Run = fn(&Shards, &Endpoint, Flavor) -> Result<(), Failed>;

pub(super) fn collect(tests: &mut Collector) {
    let cases: [(&str, Run); 3] = [
        ("copies_are_locked_on_one_shard_first", written),
        ("locks_of_copies_keep_out_sessions_of_other_shards", read),
        ("a_statement_alone_is_run_again_after_a_deadlock", again),
    ];
    for (name, case) in cases {
        tests.add_for_weir(&format!("transactions::{name}"), move |lab, flavor| {
            let (shards, endpoint) = start(lab, flavor)?;
            let mut session = app(endpoint.port)?;
            COPIED.iter().try_for_each(|text| session.query_drop(text))?;
            lab.judge(endpoint, |endpoint| case(&shards, endpoint, flavor))
        });
    }
}

/// Two writers of a row wait for each other on no two shards: who does not have it on the first has it nowhere.
fn written(shards: &Shards, endpoint: &Endpoint, _: Flavor) -> Result<(), Failed> {
    const HELD: &str = "SELECT v FROM t_deadlocks.g WHERE id = 1 FOR UPDATE";
    let (mut session, mut first, mut second) =
        (app(endpoint.port)?, shards.sites[0].server.admin()?, shards.sites[1].server.admin()?);
    first.query_drop("BEGIN")?;
    first.query_drop(HELD)?;
    let free = std::thread::scope(|scope| {
        let writes = scope.spawn(|| {
            session.query_drop("BEGIN")?;
            run(&mut session, "UPDATE t_deadlocks.g SET v = v + 1 WHERE id = 1")?;
            session.query_drop("COMMIT")
        });
        let waiting = eventually(BOUND, "it waits", || locks_waited_for(shards, 0) == Ok(1));
        second.query_drop("BEGIN")?;
        let free = run(&mut second, &format!("{HELD} NOWAIT"));
        second.query_drop("ROLLBACK")?;
        first.query_drop("ROLLBACK")?;
        writes.join().map_err(|_| "the client has panicked")??;
        waiting.map(|()| free)
    })?;
    free?;
    for shard in 0..2 {
        expect_equal("a copy", shards.value(shard, "SELECT SUM(v) FROM t_deadlocks.g")?, "1".to_owned())?;
    }
    // What the first copy refuses reaches no other; the transaction goes on.
    let mut session = app(endpoint.port)?;
    session.query_drop("BEGIN")?;
    run(&mut session, "INSERT INTO t_deadlocks.g VALUES (3, 0)")?;
    let refused = run(&mut session, "INSERT INTO t_deadlocks.g VALUES (4, 0), (1, 0)");
    expect_error("a row that is there", &refused, 1062, "23000")?;
    session.query_drop("COMMIT")?;
    for shard in 0..2 {
        expect_equal("rows", shards.value(shard, "SELECT COUNT(*) FROM t_deadlocks.g")?, "3".to_owned())?;
    }
    Ok(())
}

fn read(_: &Shards, endpoint: &Endpoint, flavor: Flavor) -> Result<(), Failed> {
    let (mut one, mut two) = (app(endpoint.port)?, app(endpoint.port)?);
    let [first, second] = rows_of_shards(&mut one, "t_deadlocks.t")?;
    for (session, row) in [(&mut one, first), (&mut two, second)] {
        session.query_drop("BEGIN")?;
        session.query_drop(update(row))?;
    }
    let (code, state) = match flavor {
        Flavor::MariaDb => (1205, "HY000"),
        Flavor::MySql => (3572, "HY000"),
    };
    let alone = "SELECT v FROM t_deadlocks.g WHERE id = 1 FOR UPDATE";
    run(&mut one, alone)?;
    expect_error(alone, &run(&mut two, &format!("{alone} NOWAIT")), code, state)?;
    one.query_drop("COMMIT")?;
    run(&mut two, alone)?;
    expect_error(alone, &run(&mut one, &format!("{alone} NOWAIT")), code, state)?;
    two.query_drop("COMMIT")?;
    Ok(())
}

/// It has told its client nothing, and all that it did was undone.
fn again(shards: &Shards, endpoint: &Endpoint, _: Flavor) -> Result<(), Failed> {
    let (mut strong, mut weak) = (app(endpoint.port)?, app(endpoint.port)?);
    let [first, second] = rows_of_shards(&mut strong, "t_deadlocks.t")?;
    begin_strong(&mut strong, first)?;
    std::thread::scope(|scope| -> Result<(), Failed> {
        let weak = scope
            .spawn(|| run(&mut weak, &format!("UPDATE t_deadlocks.t SET v = v + 10 WHERE id IN ({first}, {second})")));
        let waiting = eventually(BOUND, "it waits", || locks_waited_for(shards, 0) == Ok(1));
        // It waits for the one that waits for it, which ends for that, and begins again.
        let strong_ended = strong.query_drop(update(second)).and_then(|()| strong.query_drop("COMMIT"));
        let weak = weak.join().map_err(|_| "the client has panicked")?;
        waiting?;
        strong_ended?;
        Ok(weak?)
    })?;
    let sum = format!("SELECT GROUP_CONCAT(v ORDER BY id) FROM t_deadlocks.t WHERE id IN ({first}, {second})");
    expect_equal("rows", value(&mut strong, &sum)?, "11,11".to_owned())?;
    shards.all_ended("nothing is left")
}
