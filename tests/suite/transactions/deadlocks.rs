//! Deadlocks over several shards, which no server sees: one session ends with 1213, the others go on.

use std::time::Duration;

use libtest_mimic::Failed;
use mysql::Conn;
use mysql::prelude::Queryable;
use weir_local::Flavor;

use super::{BOUND, Shards, app, choose};
use crate::Collector;
use crate::driver::{expect_equal, expect_error, is_running, run, value};
use crate::lab::{Endpoint, Lab, eventually};

const FILL: [&str; 2] =
    ["CREATE TABLE t (id INT PRIMARY KEY, v INT NOT NULL) ENGINE=InnoDB", "INSERT INTO t VALUES (1, 0), (2, 0)"];
const SHARDED: [&str; 3] = [
    "CREATE DATABASE t_deadlocks",
    "CREATE TABLE t_deadlocks.t (id INT PRIMARY KEY, v INT NOT NULL) SHARD BY HASH(id)",
    "INSERT INTO t_deadlocks.t VALUES (1, 0), (2, 0), (3, 0), (4, 0), (5, 0), (6, 0), (7, 0), (8, 0), (9, 0), (10, 0)",
];

/// What the session that is to end waits in.
type Waits = fn(&mut Conn, u32, u32) -> mysql::Result<()>;

pub(super) fn collect(tests: &mut Collector) {
    let cases: [(&str, Waits); 4] = [
        ("statement_of_one_shard", |session, theirs, _| run(session, &update(theirs))),
        ("prepared_statement", |session, theirs, _| {
            session.exec_drop("UPDATE t_deadlocks.t SET v = v + 1 WHERE id = ?", (theirs,))
        }),
        ("write_of_several_shards", |session, theirs, own| {
            run(session, &format!("UPDATE t_deadlocks.t SET v = v + 1 WHERE id IN ({theirs}, {own})"))
        }),
        ("read_of_several_shards", |session, theirs, own| {
            run(session, &format!("SELECT * FROM t_deadlocks.t WHERE id IN ({theirs}, {own}) ORDER BY id FOR UPDATE"))
        }),
    ];
    for (word, waits) in cases {
        tests.add_for_weir(&format!("transactions::deadlock_over_shards_ends_{word}"), move |lab, flavor| {
            let (shards, endpoint) = start(lab, flavor)?;
            lab.judge(endpoint, |endpoint| deadlock(&shards, endpoint, waits))
        });
    }
    tests.add_for_weir("transactions::who_waits_on_several_shards_is_shown_so", |lab, flavor| {
        let (shards, endpoint) = start(lab, flavor)?;
        lab.judge(endpoint, |endpoint| waits_and_is_shown(&shards, endpoint))
    });
    tests.add_for_weir("transactions::deadlock_over_shards_through_another_client_ends", |lab, flavor| {
        let (shards, endpoint) = start(lab, flavor)?;
        lab.judge(endpoint, |endpoint| through_another(&shards, endpoint))
    });
}

/// Deadlocks are looked for among the sessions that are shown to wait: one that has given a connection back within its statement is one of them.
fn waits_and_is_shown(shards: &Shards, endpoint: &Endpoint) -> Result<(), Failed> {
    let (mut session, mut admin) = (app(endpoint.port)?, app(endpoint.port)?);
    let mut other = shards.sites[1].server.admin()?;
    let [first, second] = rows_of_shards(&mut session, "t_deadlocks.t")?;
    other.query_drop("BEGIN")?;
    other.query_drop(update(second))?;
    // Its warning stays on the connection, which is held for it.
    session.query_drop("SELECT 1 / 0")?;
    session.query_drop("BEGIN")?;
    let (id, both) = (session.connection_id(), format!("id IN ({first}, {second})"));
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| run(&mut session, &format!("SELECT * FROM t_deadlocks.t WHERE {both} FOR UPDATE")));
        let waiting = eventually(BOUND, "it waits", || locks_waited_for(shards, 1) == Ok(1));
        let shown = eventually(BOUND, "it is shown to run its statement", || is_running(&mut admin, id));
        other.query_drop("ROLLBACK")?;
        waits.join().map_err(|_| "the client has panicked")??;
        waiting.and(shown)
    })
}

/// Two sessions wait for each other by way of a third transaction, on the second shard's server, of which no session knows: that of a client
/// of the server itself.
fn through_another(shards: &Shards, endpoint: &Endpoint) -> Result<(), Failed> {
    let (mut one, mut two, mut other) = (app(endpoint.port)?, app(endpoint.port)?, shards.sites[1].server.admin()?);
    let [first, second] = rows_of_shards(&mut one, "t_deadlocks.t")?;
    let next = shards.value(1, &format!("SELECT MIN(id) FROM t_deadlocks.t WHERE id > {second}"))?.parse()?;
    for (session, row) in [(&mut other, next), (&mut one, first), (&mut two, second)] {
        session.query_drop("BEGIN")?;
        session.query_drop(update(row))?;
    }
    // Whoever gets its lock lets the next one go on.
    let last = |session: &mut Conn, row| {
        let outcome = run(session, &update(row));
        session.query_drop("ROLLBACK").and(outcome)
    };
    let (one, two, other) = std::thread::scope(|scope| -> Result<_, Failed> {
        let other = scope.spawn(move || last(&mut other, second));
        let waiting = eventually(BOUND, "the other waits", || locks_waited_for(shards, 1) == Ok(1));
        let one = scope.spawn(move || last(&mut one, next));
        let both = eventually(BOUND, "so does a session", || locks_waited_for(shards, 1) == Ok(2));
        let two = last(&mut two, first);
        let joined = |_| Failed::from("a client has panicked");
        let (one, other) = (one.join().map_err(joined)?, other.join().map_err(joined)?);
        waiting.and(both).map(|()| (one, two, other))
    })?;
    other?;
    let ended: Vec<_> = [one, two].into_iter().filter(Result::is_err).collect();
    expect_equal("sessions that end", ended.len(), 1)?;
    expect_error("deadlock", &ended[0], 1213, "40001")
}

pub(super) fn start(lab: &Lab, flavor: Flavor) -> Result<(Shards, Endpoint), Failed> {
    // MySQL shows its lock waits there.
    let shards = Shards::start_with(lab, flavor, 2, &FILL, &["innodb-lock-wait-timeout=50"])?;
    let weir = shards.weir(lab)?;
    let mut session = app(weir.port)?;
    SHARDED.iter().try_for_each(|text| session.query_drop(text))?;
    Ok((shards, Endpoint::of(weir)))
}

pub(super) fn update(id: u32) -> String {
    format!("UPDATE t_deadlocks.t SET v = v + 1 WHERE id = {id}")
}

/// A row of each shard.
pub(super) fn rows_of_shards(session: &mut Conn, table: &str) -> Result<[u32; 2], Failed> {
    let mut ids = [0; 2];
    for (shard, id) in ids.iter_mut().enumerate() {
        choose(session, shard)?;
        *id = value(session, &format!("SELECT MIN(id) FROM {table}"))?.parse()?;
    }
    session.query_drop("SET weir_shard = DEFAULT")?;
    Ok(ids)
}

/// Begins a transaction that does much on the second shard, and has a row of the first.
pub(super) fn begin_strong(strong: &mut Conn, first: u32) -> mysql::Result<()> {
    strong.query_drop("BEGIN")?;
    choose(strong, 1)?;
    let many: Vec<String> = (100..150).map(|id| format!("({id}, 0)")).collect();
    strong.query_drop(format!("INSERT INTO t VALUES {}", many.join(", ")))?;
    strong.query_drop("SET weir_shard = DEFAULT")?;
    strong.query_drop(update(first))
}

/// The strong one has done more where it waits, so the other one ends, whatever it waits in.
fn deadlock(shards: &Shards, endpoint: &Endpoint, waits: Waits) -> Result<(), Failed> {
    let (mut strong, mut weak) = (app(endpoint.port)?, app(endpoint.port)?);
    let [first, second] = rows_of_shards(&mut strong, "t_deadlocks.t")?;
    begin_strong(&mut strong, first)?;
    weak.query_drop("BEGIN")?;
    weak.query_drop(update(second))?;
    let waited = std::thread::scope(|scope| {
        let weak = scope.spawn(move || (waits(&mut weak, first, second), weak));
        let waiting = eventually(BOUND, "the first waits", || locks_waited_for(shards, 0) == Ok(1));
        // It waits for the one that waits for it.
        let strong = strong.query_drop(update(second));
        waiting.map(|()| (strong, weak.join()))
    })?;
    let (strong_ended, weak_ended) = waited;
    let (weak_ended, mut weak) = weak_ended.map_err(|_| "the client has panicked")?;
    expect_error("deadlock", &weak_ended, 1213, "40001")?;
    strong_ended?;
    strong.query_drop("COMMIT")?;
    // Of the one nothing is left, of the other all is there.
    let sum = format!("SELECT GROUP_CONCAT(v ORDER BY id) FROM t_deadlocks.t WHERE id IN ({first}, {second})");
    expect_equal("rows", value(&mut strong, &sum)?, "1,1".to_owned())?;
    expect_equal("inserted", shards.value(1, "SELECT COUNT(*) FROM t WHERE id >= 100")?, "50".to_owned())?;
    // It is in no transaction any more, and goes on.
    weak.query_drop(update(first))?;
    weak.query_drop(update(second))?;
    expect_equal("rows after", value(&mut strong, &sum)?, "2,2".to_owned())?;
    expect_equal("prepared", shards.prepared()?, 0)
}

/// Transactions on a shard's server that wait for a lock.
pub(super) fn locks_waited_for(shards: &Shards, shard: usize) -> Result<u32, String> {
    // Older answers than this are not asked for again.
    std::thread::sleep(Duration::from_millis(150));
    let waiting = "SELECT COUNT(*) FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'";
    let count = shards.value(shard, waiting).map_err(|_| "not asked".to_owned())?;
    count.parse().map_err(|_| count)
}
