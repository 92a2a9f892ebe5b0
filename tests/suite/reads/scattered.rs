//! Reads of several shards, one of which has replicas.

use std::time::Duration;

use libtest_mimic::Failed;
use mysql::prelude::Queryable;
use weir_local::Flavor;

use super::failures::acknowledge_twice;
use super::site::{BOUND, GroupSite, shown};
use crate::driver::{connect, expect_equal, value};
use crate::lab::{APP, Endpoint, Site, eventually};

/// Of a group, and of the server that is the second shard.
type Case = fn(&GroupSite, &Site, &Endpoint) -> Result<(), Failed>;

pub(super) const CASES: &[(&str, Case)] =
    &[("what_a_replica_has_shown_reads_of_several_shards_show_too", ahead_of_the_writer)];

fn ahead_of_the_writer(site: &GroupSite, other: &Site, endpoint: &Endpoint) -> Result<(), Failed> {
    if site.flavor == Flavor::MariaDb {
        // Its writer can't be asked to wait: docs/reads.md.
        return Ok(());
    }
    let second = || -> Result<(), Failed> {
        let mut client = connect(endpoint.port, APP, None)?;
        client.query_drop("SET weir_shard = 's2'")?;
        Ok(client.query_drop("SELECT 1 FROM dual")?)
    };
    eventually(BOUND, "the second shard answers", || second().is_ok())?;
    let mut client = connect(endpoint.port, APP, None)?;
    for statement in [
        "CREATE DATABASE t_ahead",
        "USE t_ahead",
        "CREATE TABLE counters (id INT PRIMARY KEY, v INT NOT NULL) SHARD BY HASH(id)",
        "INSERT INTO counters VALUES (1,0),(2,0),(3,0),(4,0),(5,0),(6,0),(7,0),(8,0),(9,0),(10,0),(11,0),(12,0)",
    ] {
        client.query_drop(statement)?;
    }
    let there = |server: &weir_local::Server, query: &str| -> Result<String, Failed> {
        server.query_value(query)?.ok_or_else(|| "no value".into())
    };
    expect_equal(
        "rows of both shards",
        there(&other.server, "SELECT COUNT(*) > 0 FROM t_ahead.counters")?,
        "1".into(),
    )?;
    let id = there(&site.writer.server, "SELECT MIN(id) FROM t_ahead.counters")?;
    site.catch_up()?;
    eventually(BOUND, "both replicas take reads", || {
        ["s1-replica1", "s1-replica2"].iter().all(|name| shown(endpoint, name).is_ok_and(|reads| reads == "yes"))
    })?;
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
