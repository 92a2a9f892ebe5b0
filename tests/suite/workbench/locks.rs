//! LOCK TABLES on several shards: who waits for whom, and that locks end with whatever ends them.

use libtest_mimic::Failed;
use mysql::Conn;
use mysql::prelude::Queryable;

use super::{BOUND, JOIN, JOINED, Moment, Settings, Shards, SharedCase, app, runs};
use crate::driver::{expect_equal, expect_error, run, value};
use crate::lab::{Endpoint, eventually};

pub(super) const CASES: &[(&str, Settings, SharedCase)] = &[
    ("table_locks_bind_the_session_until_they_end", &[], bind),
    ("a_wait_for_table_locks_is_killed_and_leaves_none", &[], killed_waiting),
    ("locks_and_a_transaction_over_shards_never_wait_for_each_other_for_ever", &[], crossed),
    ("a_kill_of_a_statement_leaves_the_table_locks", &[], killed_statement),
    ("a_client_that_goes_leaves_no_table_locks", &[], goes),
];

/// Whether others may write what is locked: on both shards.
fn is_free(endpoint: &Endpoint) -> Result<bool, Failed> {
    let mut other = app(endpoint)?;
    other.query_drop("SET lock_wait_timeout = 1")?;
    let mut free = true;
    for shard in ["s1", "s2"] {
        other.query_drop(format!("SET weir_shard = '{shard}'"))?;
        free &= other.query_drop("UPDATE few SET v = v").is_ok();
    }
    Ok(free)
}

fn bind(_: &Shards, endpoint: &Endpoint) -> Result<(), Failed> {
    let mut session = app(endpoint)?;
    let id = session.connection_id();
    session.query_drop("LOCK TABLES few WRITE")?;
    let sessions: Vec<mysql::Row> = session.query("WEIR SHOW SESSIONS")?;
    let own = sessions.iter().find(|row| row.get::<u32, _>("id") == Some(id)).ok_or("the session is not shown")?;
    expect_equal("what binds it", own.get::<String, _>("pins"), Some("LOCK TABLES".to_owned()))?;
    expect_equal("others wait", is_free(endpoint)?, false)?;
    expect_equal("rows", value(&mut session, "SELECT COUNT(*) FROM few")?, "20".into())?;
    session.query_drop("UNLOCK TABLES")?;
    expect_equal("free", is_free(endpoint)?, true)?;
    // What is no statement ends them too.
    session.query_drop("LOCK TABLES few WRITE")?;
    session.reset()?;
    expect_equal("free after a reset", is_free(endpoint)?, true)?;
    expect_equal("it goes on", value(&mut session, JOIN)?, JOINED.into())
}

/// The first shard is locked when the second is waited for.
fn killed_waiting(shards: &Shards, endpoint: &Endpoint) -> Result<(), Failed> {
    let mut holder = app(endpoint)?;
    holder.query_drop("SET weir_shard = 's2'")?;
    holder.query_drop("BEGIN")?;
    holder.query_drop("SELECT COUNT(*) FROM few")?;
    let mut session = app(endpoint)?;
    let id = session.connection_id();
    let mut killer = app(endpoint)?;
    let (waited, ended, mut session) = std::thread::scope(|scope| {
        let locking = scope.spawn(move || (run(&mut session, "LOCK TABLES few WRITE"), session));
        let waits = eventually(BOUND, "it waits", || runs(&shards.sites[1].server, "LOCK TABLES `few`"));
        let killed = killer.query_drop(format!("KILL QUERY {id}"));
        let joined = locking.join().map_err(|_| Failed::from("the session panicked"))?;
        Ok::<_, Failed>((waits.and(killed.map_err(Failed::from)), joined.0, joined.1))
    })?;
    waited?;
    expect_error("killed", &ended, 1317, "70100")?;
    holder.query_drop("COMMIT")?;
    expect_equal("nothing is locked", is_free(endpoint)?, true)?;
    expect_equal("the session goes on", value(&mut session, JOIN)?, JOINED.into())
}

/// The transaction has the second shard's table when the locks of the first are taken, which it wants next: each server has one of them
/// wait for the other.
fn crossed(shards: &Shards, endpoint: &Endpoint) -> Result<(), Failed> {
    let (mut transaction, mut session) = (app(endpoint)?, app(endpoint)?);
    for one in [&mut transaction, &mut session] {
        // The servers of these tests give up after a second.
        one.query_drop("SET lock_wait_timeout = 1000")?;
    }
    transaction.query_drop("BEGIN")?;
    let second = row_of(&mut transaction, "s2")?;
    let first = row_of(&mut transaction, "s1")?;
    transaction.query_drop(format!("UPDATE few SET v = v + 1 WHERE id = {second}"))?;
    std::thread::scope(|scope| {
        let locking = scope.spawn(move || (run(&mut session, "LOCK TABLES few WRITE"), session));
        let waits = eventually(BOUND, "it waits", || runs(&shards.sites[1].server, "LOCK TABLES `few`"));
        let updated = transaction.query_drop(format!("UPDATE few SET v = v + 1 WHERE id = {first}"));
        let committed = transaction.query_drop("COMMIT");
        let (locked, mut session) = locking.join().map_err(|_| Failed::from("the session panicked"))?;
        waits?;
        updated?;
        committed?;
        locked?;
        expect_equal("it has the locks", is_free(endpoint)?, false)?;
        session.query_drop("UNLOCK TABLES")?;
        Ok(())
    })
}

/// A row of a shard, outside of the session's transaction.
pub(super) fn row_of(session: &mut Conn, shard: &str) -> Result<String, Failed> {
    value(session, &format!("SELECT /*+ WEIR_SHARD({shard}) */ MIN(id) FROM orders"))
}

fn killed_statement(shards: &Shards, endpoint: &Endpoint) -> Result<(), Failed> {
    let mut session = app(endpoint)?;
    let id = session.connection_id();
    let names: Vec<String> = ('a'..='i').map(|alias| format!("few AS {alias} READ")).collect();
    session.query_drop(format!("LOCK TABLES few READ, {}", names.join(", ")))?;
    let mut killer = app(endpoint)?;
    let kill = || Ok(killer.query_drop(format!("KILL QUERY {id}"))?);
    let (ended, mut session) = Moment::Running.meet(shards, endpoint, session, kill)?;
    expect_error("killed", &ended, 1317, "70100")?;
    expect_equal("others wait", is_free(endpoint)?, false)?;
    expect_equal("rows", value(&mut session, "SELECT COUNT(*) FROM few")?, "20".into())?;
    expect_error("not locked", &run(&mut session, JOIN), 1100, "HY000")?;
    session.query_drop("UNLOCK TABLES")?;
    expect_equal("free", is_free(endpoint)?, true)
}

fn goes(shards: &Shards, endpoint: &Endpoint) -> Result<(), Failed> {
    let mut session = app(endpoint)?;
    session.query_drop("LOCK TABLES few WRITE, orders READ")?;
    expect_equal("others wait", is_free(endpoint)?, false)?;
    drop(session);
    eventually(BOUND, "nothing is locked", || is_free(endpoint).unwrap_or(false))?;
    shards.clean(endpoint)
}
