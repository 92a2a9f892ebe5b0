//! Reads of several shards, one of which has replicas.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use libtest_mimic::Failed;
use mysql::Conn;
use mysql::prelude::Queryable;
use weir_local::Flavor;

use super::ScatteredCase;
use super::failures::{WATCHFUL, acknowledge_twice, go_on, while_clients_work};
use super::levels::on_readers;
use super::site::{BOUND, GroupSite, shown};
use crate::driver::{connect, expect_equal, value};
use crate::lab::{APP, Endpoint, Site, eventually};

type Case = (&'static str, &'static [(&'static str, &'static str)], ScatteredCase);

pub(super) const CASES: &[Case] = &[
    ("what_a_replica_has_shown_reads_of_several_shards_show_too", WATCHFUL, ahead_of_the_writer),
    ("reads_of_several_shards_keep_their_level_on_replicas", WATCHFUL, levels),
    ("a_replica_that_dies_costs_no_read_of_several_shards", WATCHFUL, dead_replica),
];

const SESSIONS: i64 = 6;
/// Rows of each session: both shards have some.
const ROWS: i64 = 8;
/// Writes of each session in a round, with two reads each.
const PAIRS: i64 = 25;
/// Reads of a round on the shard that has replicas.
const READS: u64 = (SESSIONS * PAIRS * 2).unsigned_abs();

pub(super) fn wait_for_second_shard(endpoint: &Endpoint) -> Result<(), Failed> {
    let second = || -> Result<(), Failed> {
        let mut client = connect(endpoint.port, APP, None)?;
        client.query_drop("SET weir_shard = 's2'")?;
        Ok(client.query_drop("SELECT 1 FROM dual")?)
    };
    eventually(BOUND, "the second shard answers", || second().is_ok())
}

/// Makes a sharded table of counters, which is on the replicas when this returns.
fn make_counters(site: &GroupSite, other: &Site, endpoint: &Endpoint, database: &str) -> Result<(), Failed> {
    wait_for_second_shard(endpoint)?;
    let mut client = connect(endpoint.port, APP, None)?;
    client.query_drop(format!("CREATE DATABASE {database}"))?;
    client.query_drop(format!(
        "CREATE TABLE {database}.counters (id INT PRIMARY KEY, v INT NOT NULL) SHARD BY HASH(id)"
    ))?;
    let rows: Vec<String> = (0..SESSIONS * ROWS).map(|id| format!("({id},0)")).collect();
    client.query_drop(format!("INSERT INTO {database}.counters VALUES {}", rows.join(",")))?;
    let some = format!("SELECT COUNT(*) > 0 FROM {database}.counters");
    for server in [&site.writer.server, &other.server] {
        expect_equal("rows of both shards", there(server, &some)?, "1".into())?;
    }
    site.catch_up()?;
    eventually(BOUND, "both replicas take reads", || {
        ["s1-replica1", "s1-replica2"].iter().all(|name| shown(endpoint, name).is_ok_and(|reads| reads == "yes"))
    })
}

fn there(server: &weir_local::Server, query: &str) -> Result<String, Failed> {
    server.query_value(query)?.ok_or_else(|| "no value".into())
}

/// A client that writes and reads rows of both shards.
struct Client {
    connection: Conn,
    prepared: bool,
}

impl Client {
    fn write(&mut self, session: i64, v: i64) -> Result<(), Failed> {
        let (first, last) = rows_of(session);
        // Row by row: a small table is scanned for several at once, and all of it locked.
        self.connection.query_drop("BEGIN")?;
        for id in first..=last {
            self.connection.query_drop(format!("UPDATE counters SET v = {v} WHERE id = {id}"))?;
        }
        Ok(self.connection.query_drop("COMMIT")?)
    }

    /// The least and the greatest value of a session's rows, and how many there are.
    fn read(&mut self, session: i64) -> Result<(i64, i64, i64), Failed> {
        let (first, last) = rows_of(session);
        let sql = "SELECT MIN(v), MAX(v), COUNT(*) FROM counters WHERE id BETWEEN";
        let row = match self.prepared {
            true => self.connection.exec_first(format!("{sql} ? AND ?"), (first, last))?,
            false => self.connection.query_first(format!("{sql} {first} AND {last}"))?,
        };
        row.ok_or_else(|| "no row".into())
    }
}

fn rows_of(session: i64) -> (i64, i64) {
    (session * ROWS, session * ROWS + ROWS - 1)
}

/// Sessions write and read rows of both shards, while replicas are delayed.
fn levels(site: &mut GroupSite, other: &Site, endpoint: &Endpoint) -> Result<(), Failed> {
    make_counters(site, other, endpoint, "t_scattered")?;
    for level in ["session", "strong", "primary"] {
        let before = on_readers(endpoint)?;
        let (began, mut round) = (Instant::now(), 0);
        let acknowledged: Vec<AtomicI64> = (0..SESSIONS).map(|_| AtomicI64::new(0)).collect();
        let of = |session: i64| &acknowledged[session.unsigned_abs() as usize];
        let clients = (0..SESSIONS).map(|session| {
            let mut connection = connect(endpoint.port, APP, Some("t_scattered"))?;
            connection.query_drop(format!("SET weir_consistency = '{level}'"))?;
            Ok(Client { connection, prepared: session % 2 == 0 })
        });
        let mut clients: Vec<Client> = clients.collect::<Result<_, Failed>>()?;
        clients.iter_mut().zip(0..).try_for_each(|(client, session)| client.write(session, 0))?;
        // How many replicas take depends on how fast the machine is, what they may answer does not.
        while round == 0 || level != "primary" && (on_readers(endpoint)? - before) * 10 < round * READS {
            if began.elapsed() > BOUND {
                return Err(
                    format!("{} reads of {round} rounds were on replicas", on_readers(endpoint)? - before).into()
                );
            }
            let first = i64::try_from(round)? * PAIRS;
            round += 1;
            let one = |client: &mut Client, session: i64| {
                let neighbour = (session + 1) % SESSIONS;
                for n in first + 1..=first + PAIRS {
                    client.write(session, n)?;
                    of(session).store(n, Ordering::SeqCst);
                    expect_equal("what the session has written", client.read(session)?, (n, n, ROWS))?;
                    let known = of(neighbour).load(Ordering::SeqCst);
                    let (least, ..) = client.read(neighbour)?;
                    if least < known && level == "strong" {
                        return Err(format!("{least} was read after {known} had been acknowledged").into());
                    }
                }
                Ok::<(), Failed>(())
            };
            site.with_delays(Duration::from_millis(60), || {
                std::thread::scope(|scope| {
                    let one = &one;
                    let running: Vec<_> = clients
                        .iter_mut()
                        .zip(0..)
                        .map(|(client, own)| scope.spawn(move || one(client, own)))
                        .collect();
                    running.into_iter().try_for_each(|session| session.join().map_err(|_| "a session panicked")?)
                })
            })?;
        }
        if level == "primary" {
            expect_equal("reads on replicas at primary", on_readers(endpoint)?, before)?;
        }
    }
    Ok(())
}

fn dead_replica(site: &mut GroupSite, other: &Site, endpoint: &Endpoint) -> Result<(), Failed> {
    make_counters(site, other, endpoint, "t_dies")?;
    let reads = ["SELECT COUNT(*) FROM counters", "SELECT id, v FROM counters ORDER BY v, id LIMIT 7"];
    while_clients_work(endpoint, "t_dies", &reads, |load| {
        let before = on_readers(endpoint)?;
        go_on(load, 200)?;
        if on_readers(endpoint)? == before {
            return Err("no read was on a replica".into());
        }
        site.replicas[0].kill()?;
        go_on(load, 500)?;
        eventually(BOUND, "it takes no reads", || shown(endpoint, "s1-replica1").is_ok_and(|reads| reads != "yes"))?;
        site.replicas[0].restart()?;
        eventually(BOUND, "it takes reads again", || shown(endpoint, "s1-replica1").is_ok_and(|reads| reads == "yes"))
    })
}

fn ahead_of_the_writer(site: &mut GroupSite, other: &Site, endpoint: &Endpoint) -> Result<(), Failed> {
    if site.flavor == Flavor::MariaDb {
        // Its writer can't be asked to wait: docs/reads.md.
        return Ok(());
    }
    make_counters(site, other, endpoint, "t_ahead")?;
    let id = there(&site.writer.server, "SELECT MIN(id) FROM t_ahead.counters")?;
    acknowledge_twice(site)?;
    site.replicas[1].execute("STOP REPLICA IO_THREAD")?;
    let mut reader = connect(endpoint.port, APP, Some("t_ahead"))?;
    let mut in_transaction = connect(endpoint.port, APP, Some("t_ahead"))?;
    let sum = "SELECT SUM(v) FROM counters";
    std::thread::scope(|scope| {
        let written = scope.spawn(|| {
            let mut client = connect(endpoint.port, APP, Some("t_ahead"))?;
            Ok::<_, Failed>(client.query_drop(format!("UPDATE counters SET v = 77 WHERE id = {id}"))?)
        });
        let read = format!("SELECT v FROM counters WHERE id = {id}");
        for client in [&mut reader, &mut in_transaction] {
            eventually(BOUND, "a replica shows it", || value(client, &read).is_ok_and(|v| v == "77"))?;
        }
        expect_equal(
            "the writer is still at it",
            there(&site.writer.server, &format!("SELECT v FROM t_ahead.counters WHERE id = {id}"))?,
            "0".to_owned(),
        )?;
        let replica = &site.replicas[1];
        let acknowledged = scope.spawn(move || {
            // The reads are to have come meanwhile.
            std::thread::sleep(Duration::from_secs(1));
            replica.execute("START REPLICA IO_THREAD")
        });
        in_transaction.query_drop("BEGIN")?;
        let within = scope.spawn(|| value(&mut in_transaction, sum));
        expect_equal("what both shards show after that", value(&mut reader, sum)?, "77".into())?;
        let within = within.join().map_err(|_| "the client in a transaction panicked")??;
        expect_equal("in a transaction", within, "77".into())?;
        acknowledged.join().map_err(|_| "the replica's thread panicked")??;
        written.join().map_err(|_| "the writing client panicked")?
    })
}
