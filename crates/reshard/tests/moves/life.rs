//! Whatever ends a move: it is said clearly, and where it can go on, it goes on without loss.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use weir_catalog::ShardId;
use weir_local::mysql::prelude::Queryable;
use weir_local::{Flavor, replicate, wait_for_replica};
use weir_reshard::{
    Checkpoint, Controls, Copied, Fixed, MoveError, Phase, Plan, Site, TablePlan, Trouble, VerifySettings, positions,
};

use crate::lab::{BOUND, ByRemainder, Lab, until};

const TABLE: &str = "CREATE TABLE t (id INT PRIMARY KEY, n INT, pad VARCHAR(100)) ENGINE=InnoDB";

/// Rows from an id on.
fn insert(lab: &Lab, shard: usize, ids: std::ops::Range<u32>) {
    let values: Vec<String> = ids.map(|id| format!("({id},{},REPEAT('x',{}))", id * 7, id % 90)).collect();
    lab.run(shard, &[&format!("INSERT INTO d.t VALUES {}", values.join(","))]);
}

fn plan(lab: &Lab) -> Plan {
    Plan { tables: vec![lab.table_plan("t", &[0], &[0, 1], ByRemainder::new(0, &[0, 1]))] }
}

/// A checkpoint as it would be kept.
fn kept(checkpoint: &Checkpoint) -> Checkpoint {
    let text = serde_json::to_string(checkpoint).expect("it can be written");
    serde_json::from_str(&text).expect("it can be read")
}

/// Rows per second that let a test do something in the middle of a copy.
fn slow() -> Controls {
    let controls = Controls::default();
    controls.set_rate(2_000);
    controls
}

fn begun(handle: &weir_reshard::Handle) {
    until("the first rows", || handle.progress().rows_copied > 500);
}

fn resumes(flavor: Flavor) {
    let lab = Lab::new(flavor, 2, &["sync-binlog=1", "innodb-flush-log-at-trx-commit=1"]);
    lab.create(TABLE, &[0], &[0, 1]);
    insert(&lab, 0, 0..6_000);
    let plan = plan(&lab);
    // It is stopped amid the copy; what changes meanwhile is found.
    let handle = lab.start_with(&plan, None, slow()).expect("it starts");
    begun(&handle);
    let stopped = kept(&lab.runtime.block_on(handle.stop()));
    let tables = &stopped.sources[&ShardId(0)].tables;
    assert!(matches!(tables["d.t"], Copied::UpTo(_)), "{tables:?}");
    lab.run(
        0,
        &[
            "UPDATE d.t SET id = id + 100000, n = 1 WHERE id < 50",
            "DELETE FROM d.t WHERE id BETWEEN 60 AND 70 OR id = 5500",
        ],
    );
    insert(&lab, 0, 200_000..200_010);
    // The source crashes.
    let handle = lab.start_with(&plan, Some(stopped.clone()), slow()).expect("it goes on");
    let before = stopped.sources[&ShardId(0)].rows;
    assert!(before > 500, "{before}");
    until("more rows", || handle.progress().rows_copied > before);
    lab.with(0, |server| server.kill().expect("a crash"));
    let error = lab.error(&handle);
    // It is a target, too: which connection is missed first is open.
    assert!(
        matches!(error.trouble, Trouble::Source(ShardId(0)) | Trouble::Target(ShardId(0))) && error.resumable,
        "{error}"
    );
    assert_eq!(handle.progress().phase, Phase::Ended);
    let crashed = kept(&handle.checkpoint());
    lab.with(0, |server| server.restart().expect("it recovers"));
    lab.run(0, &["UPDATE d.t SET pad = 'after the crash' WHERE id % 10 = 3"]);
    // A target crashes.
    let handle = lab.start_with(&plan, Some(crashed), slow()).expect("it goes on");
    lab.with(1, |server| server.kill().expect("a crash"));
    let error = lab.error(&handle);
    assert!(matches!(error.trouble, Trouble::Target(ShardId(1))) && error.resumable, "{error}");
    lab.with(1, |server| server.restart().expect("it recovers"));
    let handle = lab.start(&plan, Some(kept(&handle.checkpoint()))).expect("it goes on");
    lab.copied(&handle);
    lab.caught_up(&handle);
    lab.assert_equal("t", &[0], &[0, 1]);
    // From an old checkpoint, all is done again, and nothing changes.
    drop(handle);
    let handle = lab.start(&plan, Some(stopped)).expect("it goes on");
    lab.copied(&handle);
    lab.caught_up(&handle);
    lab.assert_equal("t", &[0], &[0, 1]);
}

#[test]
fn mariadb_a_move_goes_on_after_a_stop_and_after_crashes() {
    resumes(Flavor::MariaDb);
}

#[test]
fn mysql_a_move_goes_on_after_a_stop_and_after_crashes() {
    resumes(Flavor::MySql);
}

/// What cannot go on says so. Each of these ends a move of its own.
fn ends(flavor: Flavor) {
    let lab = Lab::new(flavor, 2, &[]);
    lab.create(TABLE, &[0], &[0, 1]);
    insert(&lab, 0, 0..100);
    let plan = plan(&lab);
    let ended_by = |statements: &[&str]| {
        let handle = lab.start(&plan, None).expect("it starts");
        lab.copied(&handle);
        lab.run(0, statements);
        lab.error(&handle)
    };
    let error = ended_by(&["SET SESSION binlog_format = 'STATEMENT'", "USE d", "UPDATE t SET n = 5 WHERE id = 1"]);
    assert!(error.trouble == Trouble::NotLoggedAsRows(ShardId(0)) && !error.resumable, "{error}");
    let error = ended_by(&["TRUNCATE TABLE d.t"]);
    assert!(error.trouble == Trouble::TableChanged(ShardId(0)) && !error.resumable, "{error}");
    let error = ended_by(&["ALTER TABLE d.t ADD COLUMN late INT", "ALTER TABLE d.t DROP COLUMN late"]);
    assert_eq!(error.trouble, Trouble::TableChanged(ShardId(0)), "{error}");
    // Other tables may change.
    let handle = lab.start(&plan, None).expect("it starts");
    lab.run(0, &["CREATE TABLE d.other (t INT)", "DROP TABLE d.other", "CREATE VIEW d.v AS SELECT * FROM d.t"]);
    insert(&lab, 0, 300..310);
    lab.caught_up(&handle);
    // The end of a log may have nothing behind its last transaction, or a new file without any.
    lab.run(0, &["FLUSH BINARY LOGS"]);
    lab.caught_up(&handle);
    // The logs that follow a checkpoint are gone.
    let checkpoint = lab.runtime.block_on(handle.stop());
    let flush = "FLUSH BINARY LOGS";
    lab.run(0, &[flush, "UPDATE d.t SET n = 1", flush, "DO SLEEP(0)"]);
    let newest = lab.runtime.block_on(positions(&*lab.connector(), &[ShardId(0)])).expect("positions");
    lab.run(0, &[&format!("PURGE BINARY LOGS TO '{}'", newest[&ShardId(0)].file)]);
    let error = match lab.start(&plan, Some(checkpoint)) {
        Ok(handle) => lab.error(&handle),
        Err(error) => error,
    };
    assert!(error.trouble == Trouble::LogsPurged(ShardId(0)) && !error.resumable, "{error}");
    // A row that is no row of any target.
    let mut nowhere = plan.clone();
    nowhere.tables[0].placement = Arc::new(Fixed::On(ShardId(7)));
    insert(&lab, 0, 400..401);
    let handle = lab.start(&nowhere, None).expect("it starts");
    assert_eq!(lab.error(&handle).trouble, Trouble::NoPlace);
    // A target without the table.
    lab.run(1, &["DROP TABLE weir_move_1.t"]);
    let error = lab.start(&plan, None).err().expect("it is refused");
    assert!(error.trouble == Trouble::Refused && error.failure.message.contains("weir_move_1.t"), "{error}");
}

#[test]
fn mariadb_what_ends_a_move_is_told() {
    ends(Flavor::MariaDb);
}

#[test]
fn mysql_what_ends_a_move_is_told() {
    ends(Flavor::MySql);
}

fn refused(lab: &Lab, plan: &Plan, words: &str) {
    let error: MoveError = lab.start(plan, None).err().expect("it is refused");
    assert!(error.trouble == Trouble::Refused && !error.resumable, "{error}");
    assert!(error.failure.message.contains(words), "{error}");
}

#[test]
fn mariadb_what_a_move_would_lose_is_refused_before() {
    let lab = Lab::new(Flavor::MariaDb, 1, &[]);
    lab.create(TABLE, &[0], &[0]);
    let plan = Plan { tables: vec![lab.table_plan("t", &[0], &[0], Arc::new(Fixed::On(ShardId(0))))] };
    lab.run(0, &["CREATE TABLE d.c (id INT PRIMARY KEY, CONSTRAINT parent FOREIGN KEY (id) REFERENCES d.t (id) ON DELETE CASCADE)"]);
    lab.run(0, &["CREATE TABLE weir_move_1.c (id INT PRIMARY KEY)"]);
    let child = Plan { tables: vec![lab.table_plan("c", &[0], &[0], Arc::new(Fixed::On(ShardId(0))))] };
    refused(&lab, &child, "'parent'");
    lab.run(0, &["CREATE TABLE d.k (a INT, b INT NOT NULL, KEY (b))"]);
    let error = weir_reshard::key_of("d.k", &lab.table(0, "k")).expect_err("it has no key");
    assert!(error.failure.message.contains("PRIMARY KEY"), "{error}");
    lab.create("CREATE TABLE history (id INT PRIMARY KEY) WITH SYSTEM VERSIONING", &[0], &[0]);
    let history = Plan { tables: vec![lab.table_plan("history", &[0], &[0], Arc::new(Fixed::On(ShardId(0))))] };
    refused(&lab, &history, "SYSTEM VERSIONING");
    lab.run(0, &["SET GLOBAL binlog_format = 'MIXED'"]);
    refused(&lab, &plan, "binlog_format=MIXED");
    lab.with(0, |server| {
        server.set_options(vec!["skip-log-bin".to_owned()]);
        server.restart().expect("it starts");
    });
    refused(&lab, &plan, "log_bin");
}

/// A replica becomes the writer: the move goes on by GTIDs.
fn fails_over(flavor: Flavor) {
    let lab = Lab::with_bare(flavor, 2, 1, &[]);
    lab.with(0, |writer| lab.with(2, |replica| replicate(writer, replica).expect("it replicates")));
    lab.create(TABLE, &[0], &[0, 1]);
    insert(&lab, 0, 0..2_000);
    let plan = Plan { tables: vec![lab.table_plan("t", &[0], &[1], Arc::new(Fixed::On(ShardId(1))))] };
    let handle = lab.start(&plan, None).expect("it starts");
    lab.copied(&handle);
    let checkpoint = lab.runtime.block_on(handle.stop());
    lab.run(0, &["UPDATE d.t SET n = 99 WHERE id < 100"]);
    lab.with(0, |writer| lab.with(2, |replica| wait_for_replica(writer, replica, BOUND).expect("it follows")));
    lab.with(0, |writer| writer.kill().expect("it is gone"));
    let stop = if flavor == Flavor::MariaDb { "STOP SLAVE" } else { "STOP REPLICA" };
    lab.with(2, |replica| replica.set_read_only(false).expect("it takes writes"));
    lab.run(2, &[stop, "UPDATE d.t SET pad = 'promoted' WHERE id > 1900"]);
    lab.replace(0, 2);
    let handle = lab.start(&plan, Some(checkpoint)).expect("it goes on");
    lab.caught_up(&handle);
    lab.assert_equal("t", &[2], &[1]);
    lab.run(2, &["DELETE FROM d.t WHERE id = 5"]);
    lab.caught_up(&handle);
    lab.assert_equal("t", &[2], &[1]);
}

#[test]
fn mariadb_a_move_goes_on_from_a_promoted_replica() {
    fails_over(Flavor::MariaDb);
}

#[test]
fn mysql_a_move_goes_on_from_a_promoted_replica() {
    fails_over(Flavor::MySql);
}

/// Transactions that are prepared before a move begins, or across its stop, are not lost; large ones are followed; the way back follows, too.
fn transactions(flavor: Flavor) {
    let lab = Lab::new(flavor, 2, &["max-allowed-packet=64M"]);
    lab.create(TABLE, &[0], &[0, 1]);
    insert(&lab, 0, 0..2_000);
    lab.create("CREATE TABLE big (id INT PRIMARY KEY, b LONGBLOB)", &[0], &[1]);
    lab.run(0, &["INSERT INTO d.big VALUES (1, REPEAT('first', 4000000))"]);
    let mut plan = plan(&lab);
    plan.tables.push(lab.table_plan("big", &[0], &[1], Arc::new(Fixed::On(ShardId(1)))));
    let mut early = lab.client(0);
    let mut run = |sql: &str| early.query_drop(sql).expect(sql);
    for sql in ["XA START 'early'", "UPDATE d.t SET n = 1000 WHERE id = 77", "XA END 'early'", "XA PREPARE 'early'"] {
        run(sql);
    }
    let handle = lab.start(&plan, None).expect("it starts");
    assert_eq!(handle.progress().phase, Phase::Starting);
    run("XA COMMIT 'early'");
    lab.copied(&handle);
    let late = "'late','b',7";
    run(&format!("XA START {late}"));
    run("UPDATE d.t SET n = 2000 WHERE id = 78");
    run(&format!("XA END {late}"));
    run(&format!("XA PREPARE {late}"));
    insert(&lab, 0, 5_000..5_001);
    lab.caught_up(&handle);
    let checkpoint = kept(&lab.runtime.block_on(handle.stop()));
    let handle = lab.start(&plan, Some(checkpoint)).expect("it goes on");
    run(&format!("XA COMMIT {late}"));
    // Rows and events of more than a frame of the protocol.
    lab.run(
        0,
        &[
            "INSERT INTO d.big VALUES (2, REPEAT('second', 3000000))",
            "UPDATE d.big SET b = CONCAT(b, 'x') WHERE id = 1",
        ],
    );
    // More keys than are kept in memory.
    let rows = "INSERT INTO d.t SELECT 100000 + a.id * 100 + b.id, 1, 'x' FROM d.t a JOIN d.t b ON b.id < 100 WHERE a.id < 500";
    lab.run(0, &[rows, "UPDATE d.t SET n = id % 9 WHERE id >= 100000"]);
    lab.caught_up(&handle);
    lab.assert_equal("t", &[0], &[0, 1]);
    lab.assert_equal("big", &[0], &[1]);
    let verified = lab.runtime.block_on(handle.verify(VerifySettings::default())).expect("it is compared");
    assert_eq!((verified.rows, &verified.differences[..]), (52_003, &[][..]));
    // The way back: the old copies follow the new ones.
    drop(handle);
    let table = &plan.tables[0];
    let site = |shard: u16, schema: &str| Site { shard: ShardId(shard), schema: schema.to_owned() };
    let back = TablePlan {
        sources: vec![site(0, "weir_move_1"), site(1, "weir_move_1")],
        targets: vec![site(0, "d")],
        placement: Arc::new(Fixed::On(ShardId(0))),
        ..table.clone()
    };
    let back = Plan { tables: vec![back] };
    let now = lab.runtime.block_on(positions(&*lab.connector(), &back.sources())).expect("positions");
    let handle = lab.start(&back, Some(Checkpoint::following(&back, &now))).expect("it starts");
    lab.run(0, &["UPDATE weir_move_1.t SET n = -1 WHERE id % 20 = 4", "DELETE FROM weir_move_1.t WHERE id = 8"]);
    lab.run(
        1,
        &[
            "UPDATE weir_move_1.t SET id = id + 2000000 WHERE id % 20 = 5",
            "INSERT INTO weir_move_1.t VALUES (3000001, 1, 'back')",
        ],
    );
    lab.caught_up(&handle);
    lab.assert_equal("t", &[0], &[0, 1]);
}

#[test]
fn mariadb_prepared_and_large_transactions_are_followed_and_so_is_the_way_back() {
    transactions(Flavor::MariaDb);
}

#[test]
fn mysql_prepared_and_large_transactions_are_followed_and_so_is_the_way_back() {
    transactions(Flavor::MySql);
}

#[test]
fn mariadb_copying_is_held_up_by_its_controls_and_following_is_not() {
    let lab = Lab::new(Flavor::MariaDb, 1, &[]);
    lab.create(TABLE, &[0], &[0]);
    insert(&lab, 0, 0..3_000);
    let plan = Plan { tables: vec![lab.table_plan("t", &[0], &[0], Arc::new(Fixed::On(ShardId(0))))] };
    let controls = Controls::default();
    controls.pause();
    let handle = lab.start_with(&plan, None, controls).expect("it starts");
    until("the pause", || handle.progress().held_up);
    insert(&lab, 0, 10_000..10_010);
    lab.caught_up(&handle);
    let progress = handle.progress();
    assert_eq!((progress.rows_copied, progress.changes_applied, progress.phase), (0, 10, Phase::Copying));
    // Replicas are behind; then, servers are busy.
    let lag = Arc::new(AtomicU64::new(5_000));
    let behind = lag.clone();
    let lag_of = move |_| Some(Duration::from_millis(behind.load(Relaxed)));
    handle.controls().set_lag(Arc::new(lag_of), Duration::from_secs(1));
    handle.controls().set_rate(4_000);
    handle.controls().resume();
    // Streams of binary logs are among them.
    let threads = "SELECT variable_value FROM information_schema.global_status WHERE variable_name = 'Threads_running'";
    handle.controls().set_most_threads_running(lab.value(0, threads).parse().expect("a number"));
    let busy = std::thread::scope(|scope| {
        let mut client = lab.client(0);
        let id: u64 = client.query_first("SELECT CONNECTION_ID()").expect("a query").expect("a row");
        scope.spawn(move || client.query_drop("SELECT SLEEP(60)"));
        let sleeping =
            format!("SELECT COUNT(*) FROM information_schema.processlist WHERE id = {id} AND state = 'User sleep'");
        until("a busy server", || lab.value(0, &sleeping) == "1");
        lag.store(0, Relaxed);
        lab.caught_up(&handle);
        let busy = handle.progress();
        lab.run(0, &[&format!("KILL {id}")]);
        busy
    });
    assert!(busy.held_up && busy.rows_copied == 0, "{busy:?}");
    until("rows", || handle.progress().rows_copied > 0);
    let progress = handle.progress();
    assert!(progress.rows_estimated >= progress.rows_copied && progress.bytes_copied > 0, "{progress:?}");
    lab.copied(&handle);
    lab.assert_equal("t", &[0], &[0]);
}
