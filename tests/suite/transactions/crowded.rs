//! More transactions over several shards than a pool has connections: they wait for each other's end, and never for each other.

use libtest_mimic::Failed;
use mysql::prelude::Queryable;
use weir_local::Flavor;

use super::{QUICK, Shards, app, choose};
use crate::Collector;
use crate::driver::{expect_equal, expect_error, run, value};
use crate::lab::{Endpoint, Lab};

const CLIENTS: u64 = 12;
const ROUNDS: u64 = 8;

/// Each client has a row of its own.
const FILL: [&str; 2] = [
    "CREATE TABLE t (id INT PRIMARY KEY, v INT NOT NULL) ENGINE=InnoDB",
    "INSERT INTO t VALUES (0, 0), (1, 0), (2, 0), (3, 0), (4, 0), (5, 0), (6, 0), (7, 0), (8, 0), (9, 0), (10, 0), (11, 0)",
];
const SHARDED: [&str; 3] = [
    "CREATE DATABASE t_crowded",
    "CREATE TABLE t_crowded.t (id INT PRIMARY KEY, v INT NOT NULL) SHARD BY HASH(id)",
    "INSERT INTO t_crowded.t VALUES (0, 0), (1, 0), (2, 0), (3, 0), (4, 0), (5, 0), (6, 0), (7, 0), (8, 0), (9, 0), (10, 0), (11, 0), \
     (100, 0), (101, 0), (102, 0), (103, 0), (104, 0), (105, 0), (106, 0), (107, 0), (108, 0), (109, 0), (110, 0), (111, 0)",
];

pub(super) fn collect(tests: &mut Collector) {
    // With less than four, only one transaction at a time has a place.
    for most in [1, 4, 7] {
        let name = format!("transactions::{CLIENTS}_clients_share_{most}_connections_to_each_shard");
        tests.add_for_weir(&name, move |lab: &Lab, flavor: Flavor| {
            let (shards, endpoint) = start(lab, flavor, most, "60s")?;
            lab.judge(endpoint, |endpoint| crowd(&shards, endpoint))
        });
    }
    tests.add_for_weir("transactions::wait_for_a_place_has_an_end", |lab: &Lab, flavor: Flavor| {
        let (shards, endpoint) = start(lab, flavor, 4, "300ms")?;
        lab.judge(endpoint, |endpoint| no_place(&shards, endpoint))
    });
}

fn start(lab: &Lab, flavor: Flavor, most: usize, wait: &str) -> Result<(Shards, Endpoint), Failed> {
    let shards = Shards::start(lab, flavor, 2, &FILL)?;
    let (most, wait) = (most.to_string(), format!("\"{wait}\""));
    let settings = [QUICK, &[("pool.max_connections", &most[..]), ("pool.queue_timeout", &wait[..])]].concat();
    let weir = shards.weir_with(lab, &settings)?;
    let mut session = app(weir.port)?;
    SHARDED.iter().try_for_each(|text| session.query_drop(text))?;
    Ok((shards, Endpoint::of(weir)))
}

fn crowd(shards: &Shards, endpoint: &Endpoint) -> Result<(), Failed> {
    let port = endpoint.port;
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS).map(|client| scope.spawn(move || of_one_client(port, client))).collect();
        clients.into_iter().try_for_each(|client| client.join().map_err(|_| "a client has panicked")?)
    })?;
    let all = |rounds: u64| (CLIENTS * rounds).to_string();
    for shard in [0, 1] {
        expect_equal("chosen shard", shards.value(shard, "SELECT SUM(v) FROM t")?, all(ROUNDS))?;
    }
    let mut session = app(port)?;
    expect_equal("sharded", value(&mut session, "SELECT SUM(v) FROM t_crowded.t")?, all(2 * ROUNDS))
}

/// Transactions that begin on one shard and go on to the other, in both directions, and statements of several shards.
fn of_one_client(port: u16, client: u64) -> Result<(), Failed> {
    let mut session = app(port)?;
    for round in 0..ROUNDS {
        let first = usize::from((client + round) % 2 == 1);
        session.query_drop("BEGIN")?;
        for shard in [first, 1 - first] {
            choose(&mut session, shard)?;
            session.query_drop(format!("UPDATE t SET v = v + 1 WHERE id = {client}"))?;
        }
        session.query_drop("COMMIT")?;
        session.query_drop("SET weir_shard = DEFAULT")?;
        let both = format!("UPDATE t_crowded.t SET v = v + 1 WHERE id IN ({client}, {})", client + 100);
        session.query_drop(both)?;
        value(&mut session, "SELECT SUM(v) FROM t_crowded.t")?;
    }
    Ok(())
}

/// Whoever gets no place is told so, has what it had, and can go on when there is one.
fn no_place(shards: &Shards, endpoint: &Endpoint) -> Result<(), Failed> {
    let update = "UPDATE t SET v = v + 1 WHERE id = 1";
    let (mut one, mut other) = (app(endpoint.port)?, app(endpoint.port)?);
    for session in [&mut one, &mut other] {
        session.query_drop("BEGIN")?;
    }
    choose(&mut one, 0)?;
    one.query_drop(update)?;
    choose(&mut one, 1)?;
    one.query_drop(update)?;
    choose(&mut other, 0)?;
    other.query_drop("UPDATE t SET v = v + 1 WHERE id = 2")?;
    choose(&mut other, 1)?;
    let refused = run(&mut other, "UPDATE t SET v = v + 1 WHERE id = 2");
    expect_error("no place", &refused, 1040, "08004")?;
    one.query_drop("COMMIT")?;
    other.query_drop("UPDATE t SET v = v + 1 WHERE id = 2")?;
    other.query_drop("COMMIT")?;
    for shard in [0, 1] {
        expect_equal("both", shards.value(shard, "SELECT SUM(v) FROM t")?, "2".to_owned())?;
    }
    Ok(())
}
