//! Results of a gigabyte, clients that don't read them, and clients that vanish: bounded memory, nothing left behind.

use std::time::Duration;

use libtest_mimic::Failed;
use mysql::prelude::Queryable;
use weir_local::Flavor;

use crate::Collector;
use crate::client::{MAX_BODY, Packets, Stream};
use crate::driver::{connect, expect_equal, resident, run, serves};
use crate::lab::{APP, Endpoint, Lab, Site, eventually};
use crate::login::{self, Login, Opening};

const BOUND: Duration = Duration::from_secs(60);
/// 1,000 rows of a million bytes.
const GIGABYTE: &str = "SELECT REPEAT('x', 1000000) FROM ten a, ten b, ten c";
const ROWS: usize = 1_000;
/// How much a Weir may grow over the size that it has when idle.
const GROWTH: u64 = 96 << 20;
/// Clients that vanish, and how many of them at a time.
const VANISHING: usize = 1_000;
const AT_A_TIME: usize = 100;

/// Settings of Weir, and what must hold with them.
type Case = (&'static str, &'static [(&'static str, &'static str)], fn(&Site, &Endpoint) -> Result<(), Failed>);

/// Adds this module's tests.
pub(crate) fn collect(tests: &mut Collector) {
    let cases: [Case; 5] = [
        ("a_result_of_1_gb_passes_in_bounded_memory", &[], gigabyte_is_read),
        (
            "a_client_that_stops_reading_is_cut_and_its_connection_freed",
            &[("clients.write_timeout", "\"1s\""), ("pool.max_connections", "1"), ("workers.threads", "1")],
            reader_stops,
        ),
        ("a_client_that_vanishes_in_a_result_frees_its_connection", &[("pool.max_connections", "4")], reader_vanishes),
        (
            "1000_clients_that_vanish_in_a_transaction_leave_no_lock",
            &[("pool.max_connections", "100"), ("pool.queue_timeout", "\"60s\"")],
            transactions_vanish,
        ),
        (
            "a_client_whose_host_vanishes_with_a_reply_on_its_way_is_given_up",
            &[("clients.write_timeout", "\"1s\"")],
            host_vanishes,
        ),
    ];
    for (index, (word, settings, case)) in cases.into_iter().enumerate() {
        tests.add_for_weir(&format!("streams::{word}"), move |lab: &Lab, flavor: Flavor| {
            let site = lab.site(flavor)?;
            site.fill(&format!("t_streams{index}"), CONTENT)?;
            lab.with_endpoint(site, settings, |endpoint| case(site, endpoint))
        });
    }
}

const CONTENT: &[&str] = &[
    "DROP DATABASE IF EXISTS {db}",
    "CREATE DATABASE {db}",
    "CREATE TABLE {db}.ten (id INT PRIMARY KEY)",
    "INSERT INTO {db}.ten VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)",
    "CREATE TABLE {db}.accounts (id INT PRIMARY KEY, v INT)",
    "INSERT INTO {db}.accounts SELECT a.id + 10 * b.id + 100 * c.id, 0 FROM {db}.ten a, {db}.ten b, {db}.ten c",
];

/// A session whose answers the test reads itself.
fn packets(endpoint: &Endpoint, database: &str) -> Result<Packets, Failed> {
    let login = Login::new(APP.0, APP.1).database(database);
    match login::open(&endpoint.address, &login)? {
        (packets, Opening::Done(..)) => Ok(packets),
        (_, Opening::Refused(why)) => Err(format!("{why:?}").into()),
    }
}

/// Reads the answer to [`GIGABYTE`]; `watch` is called now and then.
fn read_gigabyte(packets: &mut Packets, mut watch: impl FnMut() -> Result<(), Failed>) -> Result<(), Failed> {
    expect_equal("columns", packets.read()?, vec![1])?;
    packets.read()?;
    for row in 0..ROWS {
        let length = packets.read()?.len();
        expect_equal("length of a row", length, 1_000_004)?;
        if row % 50 == 0 {
            watch()?;
        }
    }
    let end = packets.read()?;
    expect_equal("the packet after the rows", end.first().copied(), Some(0xfe))
}

fn expect_small(what: &str, pid: i32, before: u64) -> Result<(), Failed> {
    let now = resident(pid)?;
    if now > before + GROWTH {
        return Err(format!("{what}: {} MB resident, {} MB before", now >> 20, before >> 20).into());
    }
    Ok(())
}

fn gigabyte_is_read(_: &Site, endpoint: &Endpoint) -> Result<(), Failed> {
    let before = resident(endpoint.pid)?;
    let mut reader = packets(endpoint, "t_streams0")?;
    reader.command(0x03, GIGABYTE.as_bytes())?;
    read_gigabyte(&mut reader, || expect_small("while it streams", endpoint.pid, before))?;
    reader.command(0x0e, &[])?;
    expect_equal("a ping", reader.read()?.first().copied(), Some(0))
}

/// Whether the server still runs the long statement of this test.
fn is_running(site: &Site, database: &str) -> bool {
    let query = format!(
        "SELECT COUNT(*) FROM information_schema.processlist WHERE db = '{database}' AND info LIKE 'SELECT REPEAT%'"
    );
    site.server.query_value(&query).is_ok_and(|count| count.as_deref() != Some("0"))
}

fn reader_stops(site: &Site, endpoint: &Endpoint) -> Result<(), Failed> {
    let before = resident(endpoint.pid)?;
    let mut stopped = packets(endpoint, "t_streams1")?;
    stopped.command(0x03, GIGABYTE.as_bytes())?;
    stopped.read()?;
    let mut biggest = before;
    eventually(BOUND, "the server runs the statement no more", || {
        biggest = biggest.max(resident(endpoint.pid).unwrap_or(0));
        !is_running(site, "t_streams1")
    })?;
    if biggest > before + GROWTH {
        return Err(format!("{} MB resident, {} MB before", biggest >> 20, before >> 20).into());
    }
    // The pool has one connection: it is free, or replaced.
    eventually(BOUND, "others are served", || serves(endpoint.port, APP))?;
    // What had been sent may still be read; then the connection must end, before the result does.
    let read = (0..=ROWS).try_for_each(|_| stopped.read().map(drop));
    if read.is_ok() { Err("the client that had stopped got the whole result".into()) } else { Ok(()) }
}

fn reader_vanishes(site: &Site, endpoint: &Endpoint) -> Result<(), Failed> {
    let before = resident(endpoint.pid)?;
    for _ in 0..8 {
        let mut reader = packets(endpoint, "t_streams2")?;
        reader.command(0x03, GIGABYTE.as_bytes())?;
        reader.read()?;
        expect_equal("a column", reader.read()?.len() < MAX_BODY, true)?;
    }
    eventually(BOUND, "the server runs none of the statements", || !is_running(site, "t_streams2"))?;
    expect_small("after the last", endpoint.pid, before)?;
    let mut all = (0..4).map(|_| connect(endpoint.port, APP, None)).collect::<mysql::Result<Vec<_>>>()?;
    for connection in &mut all {
        connection.query_drop("BEGIN")?;
        run(connection, "SELECT COUNT(*) FROM t_streams2.ten")?;
    }
    Ok(())
}

fn transactions_vanish(site: &Site, endpoint: &Endpoint) -> Result<(), Failed> {
    let before = resident(endpoint.pid)?;
    for round in 0..VANISHING / AT_A_TIME {
        let mut clients = Vec::new();
        for number in 0..AT_A_TIME {
            let mut client = packets(endpoint, "t_streams3")?;
            client.command(0x03, b"BEGIN")?;
            expect_equal("BEGIN", client.read()?.first().copied(), Some(0))?;
            let id = round * AT_A_TIME + number;
            client.command(0x03, format!("UPDATE accounts SET v = v + 1 WHERE id = {id}").as_bytes())?;
            expect_equal("UPDATE", client.read()?.first().copied(), Some(0))?;
            clients.push(client);
        }
        // All at once, with no COM_QUIT.
        drop(clients);
    }
    let mut root = site.server.admin()?;
    eventually(BOUND, "no row is locked", || {
        let locked = run(&mut root, "SELECT id FROM t_streams3.accounts FOR UPDATE NOWAIT");
        locked.is_ok()
    })?;
    let changed = site.server.query_value("SELECT SUM(v) FROM t_streams3.accounts")?;
    expect_equal("changes that were never committed", changed.as_deref(), Some("0"))?;
    expect_small("after the last", endpoint.pid, before)?;
    // The pool is whole: as many transactions as it has connections, at the same time.
    let mut all = (0..AT_A_TIME).map(|_| connect(endpoint.port, APP, None)).collect::<mysql::Result<Vec<_>>>()?;
    for connection in &mut all {
        connection.query_drop("BEGIN")?;
        run(connection, "SELECT COUNT(*) FROM t_streams3.ten")?;
    }
    Ok(())
}

/// Weir keeps what a client holds whose host is gone no longer than the bound, though the reply to it is not acknowledged: the system itself
/// would go on sending for a quarter of an hour. One that pauses in a reply is left alone.
fn host_vanishes(_: &Site, endpoint: &Endpoint) -> Result<(), Failed> {
    let database = "t_streams4";
    let narrow =
        login::open_over(Stream::connect_narrow(endpoint.port, 4096)?, &Login::new(APP.0, APP.1).database(database))?;
    let mut paused = narrow.0;
    // Weir's system takes all of it, the client's does not.
    paused.command(0x03, b"SELECT REPEAT('x', 30000) FROM ten WHERE id < 2")?;
    let mut holder = connect(endpoint.port, APP, Some(database))?;
    holder.query_drop("BEGIN")?;
    holder.query_drop("UPDATE accounts SET v = v + 1 WHERE id = 1")?;
    let mut vanishing = packets(endpoint, database)?;
    vanishing.command(0x03, b"BEGIN")?;
    vanishing.read()?;
    let locking = "SELECT id AS locked_for_good FROM accounts WHERE id = 1 FOR UPDATE";
    vanishing.command(0x03, locking.as_bytes())?;
    let mut admin = connect(endpoint.port, APP, None)?;
    let running = format!("SELECT COUNT(*) FROM information_schema.processlist WHERE info = \"{locking}\"");
    eventually(BOUND, "it waits for the lock", || {
        admin.query_first(&running).is_ok_and(|n: Option<u64>| n == Some(1))
    })?;
    vanishing.stream().hear_nothing()?;
    holder.query_drop("COMMIT")?;
    holder.query_drop("SET innodb_lock_wait_timeout = 1")?;
    eventually(BOUND, "the lock of the client that vanished is free", || {
        holder.query_drop("UPDATE accounts SET v = v + 1 WHERE id = 1").is_ok()
    })?;
    // The number of columns, one of them, two rows, and the end.
    let reply = (0..5).map(|_| paused.read()).collect::<std::io::Result<Vec<_>>>()?;
    let rows = reply.iter().filter(|packet| packet.len() > 30_000).count();
    expect_equal("rows of the client that has paused", rows, 2)?;
    drop(vanishing);
    Ok(run(&mut holder, "UPDATE accounts SET v = 0")?)
}
