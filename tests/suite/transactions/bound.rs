//! Transactions over several shards in sessions that have temporary tables and user locks: these stay with the session, whatever ends the
//! transaction, and go with it.

use libtest_mimic::Failed;
use mysql::Conn;
use mysql::prelude::Queryable;
use weir_local::Flavor;

use super::deadlocks::rows_of_shards;
use super::{BOUND, Shards, app, choose};
use crate::Collector;
use crate::driver::{expect_equal, expect_error, run, value};
use crate::lab::{Endpoint, Lab, eventually};

type Case = fn(&mut Shards, &Endpoint) -> Result<(), Failed>;

const TABLE: &str = "t_bound.t";
const SHARDED: [&str; 3] = [
    "CREATE DATABASE t_bound",
    "CREATE TABLE t_bound.t (id INT PRIMARY KEY, v INT NOT NULL) SHARD BY HASH(id)",
    "INSERT INTO t_bound.t VALUES (1, 0), (2, 0), (3, 0), (4, 0), (5, 0), (6, 0), (7, 0), (8, 0)",
];

pub(super) fn collect(tests: &mut Collector) {
    let cases: [(&str, Case); 10] = [
        ("temporary_table_and_lock_outlast_transactions", outlast),
        ("killed_statement_leaves_temporary_table_and_lock", killed),
        ("deadlock_leaves_temporary_table_and_lock", deadlock),
        ("lost_connection_with_a_temporary_table_ends_the_session", lost),
        ("reset_clears_temporary_table_and_lock_of_a_transaction", reset),
        ("reset_with_a_role_ends_what_is_open_on_all_shards", reset_with_role),
        ("shard_cannot_be_chosen_away_from_a_temporary_table", chosen),
        ("second_connection_is_never_bound", bound_once),
        ("killed_join_with_a_temporary_table_leaves_it", killed_join),
        ("temporary_tables_of_sessions_are_apart", apart),
    ];
    for (word, case) in cases {
        tests.add_for_weir(&format!("transactions::{word}"), move |lab: &Lab, flavor: Flavor| {
            let mut shards = Shards::start_with(lab, flavor, 2, &[], &["innodb-lock-wait-timeout=50"])?;
            let weir = shards.weir(lab)?;
            let mut session = app(weir.port)?;
            SHARDED.iter().try_for_each(|text| session.query_drop(text))?;
            lab.judge(Endpoint::of(weir), |endpoint| case(&mut shards, endpoint))
        });
    }
}

/// A session with a temporary table that has one row, and a user lock.
fn bound(endpoint: &Endpoint) -> Result<Conn, Failed> {
    let mut session = app(endpoint.port)?;
    session.query_drop("USE t_bound")?;
    session.query_drop("CREATE TEMPORARY TABLE tmp (id INT PRIMARY KEY)")?;
    session.query_drop("INSERT INTO tmp VALUES (1)")?;
    expect_equal("the lock", value(&mut session, "SELECT GET_LOCK('bound', 5)")?, "1".to_owned())?;
    Ok(session)
}

/// The session still has both, and nobody else can have the lock.
fn still_has_both(session: &mut Conn, endpoint: &Endpoint) -> Result<(), Failed> {
    expect_equal("the temporary table", value(session, "SELECT id FROM tmp")?, "1".to_owned())?;
    let own = value(session, "SELECT IS_USED_LOCK('bound') = CONNECTION_ID()")?;
    expect_equal("the lock", own, "1".to_owned())?;
    let mut other = app(endpoint.port)?;
    expect_equal("another's lock", value(&mut other, "SELECT GET_LOCK('bound', 0)")?, "0".to_owned())
}

/// Sessions that come later see neither, on any connection.
fn left_nothing(endpoint: &Endpoint) -> Result<(), Failed> {
    let mut later = app(endpoint.port)?;
    eventually(BOUND, "the lock is free", || {
        value(&mut later, "SELECT GET_LOCK('bound', 0)").is_ok_and(|got| got == "1")
    })?;
    later.query_drop("SELECT RELEASE_ALL_LOCKS()")?;
    for shard in [0, 1] {
        choose(&mut later, shard)?;
        expect_error("its table", &run(&mut later, "SELECT * FROM t_bound.tmp"), 1146, "42S02")?;
    }
    Ok(())
}

fn outlast(shards: &mut Shards, endpoint: &Endpoint) -> Result<(), Failed> {
    let mut session = bound(endpoint)?;
    for end in ["COMMIT", "ROLLBACK", "BEGIN", "CREATE TABLE t_bound.made (id INT PRIMARY KEY)"] {
        session.query_drop("BEGIN")?;
        session.query_drop("UPDATE t SET v = v + 1")?;
        still_has_both(&mut session, endpoint)?;
        // What it ends on is not the connection that it began on.
        for id in 1..=8 {
            session.query_drop(format!("UPDATE t SET v = v + 1 WHERE id = {id}"))?;
        }
        session.query_drop(end)?;
        still_has_both(&mut session, endpoint)?;
    }
    expect_equal("committed", value(&mut session, "SELECT SUM(v) FROM t")?, "48".to_owned())?;
    expect_equal("prepared", shards.prepared()?, 0)?;
    drop(session);
    left_nothing(endpoint)
}

fn killed(shards: &mut Shards, endpoint: &Endpoint) -> Result<(), Failed> {
    let mut holder = shards.sites[1].server.admin()?;
    holder.query_drop("BEGIN")?;
    holder.query_drop("UPDATE t_bound.t SET v = v + 1000")?;
    let mut session = bound(endpoint)?;
    let id = session.connection_id();
    session.query_drop("BEGIN")?;
    let ended = std::thread::scope(|scope| {
        let waiting = scope.spawn(|| run(&mut session, "UPDATE t SET v = v + 1"));
        let waits = waits(shards, 1).and_then(|()| Ok(app(endpoint.port)?.query_drop(format!("KILL QUERY {id}"))?));
        waits.and_then(|()| waiting.join().map_err(|_| Failed::from("panicked")))
    })?;
    expect_error("killed", &ended, 1317, "70100")?;
    still_has_both(&mut session, endpoint)?;
    holder.query_drop("ROLLBACK")?;
    session.query_drop("UPDATE t SET v = v + 1")?;
    session.query_drop("COMMIT")?;
    still_has_both(&mut session, endpoint)?;
    expect_equal("committed", value(&mut session, "SELECT SUM(v) FROM t")?, "8".to_owned())?;
    // KILL of the session clears both away.
    session.query_drop("BEGIN")?;
    session.query_drop("UPDATE t SET v = v + 1")?;
    app(endpoint.port)?.query_drop(format!("KILL {id}"))?;
    left_nothing(endpoint)
}

fn waits(shards: &Shards, shard: usize) -> Result<(), Failed> {
    let waiting = "SELECT COUNT(*) FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'";
    eventually(BOUND, "it waits", || {
        // InnoDB renews this table only when nobody has read it for 0.1 s.
        std::thread::sleep(std::time::Duration::from_millis(150));
        shards.value(shard, waiting).is_ok_and(|count| count != "0")
    })
}

/// The session waits on the shard that has not its temporary table, for one that waits for it there where it has it.
fn deadlock(shards: &mut Shards, endpoint: &Endpoint) -> Result<(), Failed> {
    let (mut strong, mut session) = (app(endpoint.port)?, bound(endpoint)?);
    let [first, second] = rows_of_shards(&mut strong, TABLE)?;
    let update = |id: u32| format!("UPDATE t_bound.t SET v = v + 1 WHERE id = {id}");
    strong.query_drop("BEGIN")?;
    for id in 100..150 {
        strong.query_drop(format!("INSERT INTO t_bound.t VALUES ({id}, 0)"))?;
    }
    strong.query_drop(update(second))?;
    session.query_drop("BEGIN")?;
    session.query_drop(update(first))?;
    let (strong_ended, ended) = std::thread::scope(|scope| {
        let waiting = scope.spawn(|| run(&mut strong, &update(first)));
        let waits = waits(shards, 0);
        let ended = run(&mut session, &update(second));
        waits.and_then(|()| Ok((waiting.join().map_err(|_| "panicked")?, ended)))
    })?;
    expect_error("deadlock", &ended, 1213, "40001")?;
    strong_ended?;
    still_has_both(&mut session, endpoint)?;
    strong.query_drop("COMMIT")?;
    session.query_drop("BEGIN")?;
    session.query_drop("UPDATE t SET v = v + 1 WHERE id < 9")?;
    session.query_drop("COMMIT")?;
    still_has_both(&mut session, endpoint)?;
    expect_equal("committed", value(&mut session, "SELECT SUM(v) FROM t WHERE id < 9")?, "10".to_owned())
}

/// The connection with the temporary table is cut while another one is the session's.
fn lost(shards: &mut Shards, endpoint: &Endpoint) -> Result<(), Failed> {
    for end in ["COMMIT", "ROLLBACK"] {
        let mut session = bound(endpoint)?;
        let [_, second] = rows_of_shards(&mut app(endpoint.port)?, TABLE)?;
        let thread = shards.value(0, "SELECT IS_USED_LOCK('bound')")?;
        session.query_drop("BEGIN")?;
        session.query_drop("UPDATE t SET v = v + 1")?;
        session.query_drop(format!("UPDATE t SET v = v + 1 WHERE id = {second}"))?;
        shards.sites[0].server.execute(&format!("KILL {thread}"))?;
        eventually(BOUND, "it is gone", || {
            shards.value(0, "SELECT IS_FREE_LOCK('bound')").is_ok_and(|free| free == "1")
        })?;
        let ended = run(&mut session, end);
        if end == "COMMIT" && ended.is_ok() {
            return Err("half of it was lost, and COMMIT says OK".into());
        }
        if run(&mut session, "SELECT * FROM tmp").is_ok() || run(&mut session, "SELECT 1").is_ok() {
            return Err("the session goes on without its temporary table".into());
        }
        expect_equal("rolled back", value(&mut app(endpoint.port)?, "SELECT SUM(v) FROM t_bound.t")?, "0".to_owned())?;
    }
    expect_equal("prepared", shards.prepared()?, 0)?;
    left_nothing(endpoint)
}

fn reset(_: &mut Shards, endpoint: &Endpoint) -> Result<(), Failed> {
    let mut session = bound(endpoint)?;
    session.query_drop("BEGIN")?;
    session.query_drop("UPDATE t SET v = v + 1")?;
    session.reset()?;
    expect_error("its table", &run(&mut session, "SELECT * FROM t_bound.tmp"), 1146, "42S02")?;
    expect_equal("rolled back", value(&mut session, "SELECT SUM(v) FROM t_bound.t")?, "0".to_owned())?;
    left_nothing(endpoint)
}

/// A reset keeps the role, and with it the session's connection; what is open on the others ends all the same.
fn reset_with_role(_: &mut Shards, endpoint: &Endpoint) -> Result<(), Failed> {
    let mut other = app(endpoint.port)?;
    other.query_drop("SET innodb_lock_wait_timeout = 5, lock_wait_timeout = 5")?;
    const UPDATE: &str = "UPDATE t_bound.t SET v = v + 1";
    for open in [&["BEGIN", UPDATE][..], &["SET autocommit = 0", UPDATE], &["LOCK TABLES t_bound.t WRITE"]] {
        let mut session = app(endpoint.port)?;
        open.iter().try_for_each(|text| session.query_drop(text))?;
        let open = open[0];
        session.query_drop("SET ROLE NONE")?;
        session.reset()?;
        other.query_drop("UPDATE t_bound.t SET v = 0").map_err(|error| format!("{open}: {error}"))?;
        expect_equal(open, value(&mut session, "SELECT SUM(v) FROM t_bound.t")?, "0".to_owned())?;
    }
    Ok(())
}

fn chosen(_: &mut Shards, endpoint: &Endpoint) -> Result<(), Failed> {
    let mut session = bound(endpoint)?;
    session.query_drop("BEGIN")?;
    session.query_drop("UPDATE t SET v = v + 1")?;
    expect_error("another shard", &run(&mut session, "SET weir_shard = 's1'"), 1235, "42000")?;
    choose(&mut session, 0)?;
    session.query_drop("SET weir_shard = DEFAULT")?;
    session.query_drop("COMMIT")?;
    still_has_both(&mut session, endpoint)
}

/// A lock that would be taken on another shard than the one that is there.
fn bound_once(_: &mut Shards, endpoint: &Endpoint) -> Result<(), Failed> {
    let mut session = bound(endpoint)?;
    let [first, second] = rows_of_shards(&mut app(endpoint.port)?, TABLE)?;
    session.query_drop("BEGIN")?;
    session.query_drop("UPDATE t SET v = v + 1")?;
    let lock = |id: u32| format!("SELECT GET_LOCK('other', 0) FROM t WHERE id = {id}");
    expect_error("a lock elsewhere", &run(&mut session, &lock(second)), 1235, "42000")?;
    session.query_drop(lock(first))?;
    session.query_drop("COMMIT")?;
    still_has_both(&mut session, endpoint)
}

/// Outside of transactions, where the statement is one of its own on the session's connection.
fn killed_join(shards: &mut Shards, endpoint: &Endpoint) -> Result<(), Failed> {
    let mut session = bound(endpoint)?;
    let id = session.connection_id();
    session.query_drop("INSERT INTO tmp VALUES (2), (3), (4), (5), (6), (7), (8)")?;
    let join = "UPDATE t JOIN tmp USING (id) SET v = v + 1";
    for statement in [join, "INSERT INTO t SELECT id + 10, id FROM tmp ON DUPLICATE KEY UPDATE v = t.v + 1"] {
        session.query_drop(statement)?;
        let mut holder = shards.sites[1].server.admin()?;
        holder.query_drop("BEGIN")?;
        holder.query_drop("UPDATE t_bound.t SET v = v + 1000")?;
        let sum = value(&mut app(endpoint.port)?, "SELECT SUM(v) FROM t_bound.t")?;
        let ended = std::thread::scope(|scope| {
            let waiting = scope.spawn(|| run(&mut session, statement));
            let waits = waits(shards, 1).and_then(|()| Ok(app(endpoint.port)?.query_drop(format!("KILL QUERY {id}"))?));
            waits.and_then(|()| waiting.join().map_err(|_| Failed::from("panicked")))
        })?;
        expect_error("killed", &ended, 1317, "70100")?;
        holder.query_drop("ROLLBACK")?;
        expect_equal("undone", value(&mut session, "SELECT SUM(v) FROM t")?, sum)?;
        session.query_drop("DELETE FROM tmp WHERE id = 9")?;
        let own = value(&mut session, "SELECT IS_USED_LOCK('bound') = CONNECTION_ID()")?;
        expect_equal("the lock", own, "1".to_owned())?;
        session.query_drop(join)?;
    }
    expect_equal("the temporary table", value(&mut session, "SELECT COUNT(*) FROM tmp")?, "8".to_owned())?;
    expect_equal("prepared", shards.prepared()?, 0)?;
    drop(session);
    left_nothing(endpoint)
}

/// Sessions with temporary tables of one name, on connections of one pool.
fn apart(_: &mut Shards, endpoint: &Endpoint) -> Result<(), Failed> {
    let mut sessions = Vec::new();
    for number in 1..=4 {
        let mut session = app(endpoint.port)?;
        session.query_drop("USE t_bound")?;
        session
            .query_drop(format!("CREATE TEMPORARY TABLE tmp (PRIMARY KEY (id)) AS SELECT id, {number} AS n FROM t"))?;
        sessions.push((number, session));
    }
    for (number, session) in &mut sessions {
        let sum = format!("SELECT SUM(n) FROM t JOIN tmp USING (id) WHERE n = {number}");
        expect_equal("its own rows", value(session, &sum)?, (8 * *number).to_string())?;
        session.query_drop("BEGIN")?;
        session.query_drop("DELETE FROM tmp WHERE id IN (SELECT id FROM t)")?;
        session.query_drop("ROLLBACK")?;
        expect_equal("rolled back", value(session, "SELECT COUNT(*) FROM t JOIN tmp USING (id)")?, "8".to_owned())?;
    }
    drop(sessions);
    left_nothing(endpoint)
}
