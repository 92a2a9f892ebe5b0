//! Lanes: what rides them, and that nobody can tell.
//!
//! Must always hold: a test that is about riding statements checks by Weir's own counters that statements did ride; else
//! it would pass with lanes turned off.

mod faults;
mod kills;
mod limits;
mod load;
mod replies;
mod state;

use std::time::Duration;

use libtest_mimic::Failed;
use mysql::prelude::Queryable;
use mysql::{Conn, Row};

use crate::Collector;
use crate::client::Packets;
use crate::driver::connect;
use crate::lab::{APP, Endpoint, Lab, Site, eventually};
use crate::login::{self, Login, Opening};
use crate::reply::{Rows, Set, read_reply};

const BOUND: Duration = Duration::from_secs(30);

/// One worker: all sessions share the same lanes, and nothing else does.
const ONE_WORKER: &[(&str, &str)] = &[("workers.threads", "1")];

type Settings = &'static [(&'static str, &'static str)];
/// A name, settings of Weir, and what must hold with them on a database of the test's own.
type Case = (&'static str, Settings, fn(&Site, &Endpoint, &str) -> Result<(), Failed>);

/// Adds the tests of all parts.
pub(crate) fn collect(tests: &mut Collector) {
    let cases = [faults::CASES, replies::CASES, kills::CASES, state::CASES, limits::CASES].concat();
    for (number, (word, settings, case)) in cases.into_iter().enumerate() {
        tests.add_for_weir(&format!("lanes::{word}"), move |lab: &Lab, flavor| {
            let site = lab.site(flavor)?;
            let database = format!("t_lanes{number}");
            site.fill(&database, CONTENT)?;
            lab.with_endpoint(site, settings, |endpoint| case(site, endpoint, &database))
        });
    }
    faults::collect(tests);
}

/// A thousand numbers, and two tables that tests lock.
const CONTENT: &[&str] = &[
    "DROP DATABASE IF EXISTS {db}",
    "CREATE DATABASE {db} CHARACTER SET utf8mb4",
    "CREATE TABLE {db}.ten (id INT PRIMARY KEY)",
    "INSERT INTO {db}.ten VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)",
    "CREATE TABLE {db}.numbers (id INT PRIMARY KEY, v INT NOT NULL)",
    "INSERT INTO {db}.numbers SELECT a.id + 10 * b.id + 100 * c.id, 7 * (a.id + 10 * b.id + 100 * c.id) + 1 \
     FROM {db}.ten a, {db}.ten b, {db}.ten c",
    "CREATE TABLE {db}.held (id INT PRIMARY KEY, v INT NOT NULL)",
    "INSERT INTO {db}.held VALUES (1, 11), (2, 22)",
];

/// A session in the test's database.
fn app(endpoint: &Endpoint, database: &str) -> mysql::Result<Conn> {
    connect(endpoint.port, APP, Some(database))
}

/// A session whose packets a test writes and reads itself.
struct Raw {
    packets: Packets,
    capabilities: u32,
}

impl Raw {
    fn open(endpoint: &Endpoint, database: &str) -> Result<Self, Failed> {
        match login::open(&endpoint.address, &Login::new(APP.0, APP.1).database(database))? {
            (packets, Opening::Done(_, capabilities, _)) => Ok(Self { packets, capabilities }),
            (_, Opening::Refused(why)) => Err(format!("{why:?}").into()),
        }
    }

    /// Reads the answer to a text that was sent.
    fn answer(&mut self) -> Result<Vec<Set>, Failed> {
        self.packets.sequence = 1;
        Ok(read_reply(&mut self.packets, self.capabilities, Rows::Text, &[])?)
    }

    fn ask(&mut self, text: &str) -> Result<Vec<Set>, Failed> {
        self.packets.command(0x03, text.as_bytes())?;
        self.answer()
    }
}

/// A counter of lanes.
fn counter(endpoint: &Endpoint, name: &str) -> Result<u64, Failed> {
    endpoint.weir.as_ref().ok_or("no Weir")?.counter(&format!("weir_backend_{name}"))
}

/// Waits until a counter has come to `least`.
fn counter_reaches(endpoint: &Endpoint, name: &str, least: u64) -> Result<(), Failed> {
    let mut seen = 0;
    let reached = eventually(BOUND, "a counter grows", || {
        seen = counter(endpoint, name).unwrap_or(seen);
        seen >= least
    });
    reached.map_err(|_| format!("{name} is {seen}, and should have come to {least}").into())
}

/// A column of `WEIR SHOW POOLS`, summed over the workers.
fn pools(admin: &mut Conn, column: &str) -> u64 {
    let rows: Vec<Row> = admin.query("WEIR SHOW POOLS").unwrap_or_default();
    rows.iter().filter_map(|row| row.get::<u64, _>(column)).sum()
}

/// Runs `ask` again and again until statements have been put on lanes: what it asks rides. Only for endpoints without other
/// clients.
fn until_it_rides(endpoint: &Endpoint, mut ask: impl FnMut() -> Result<(), Failed>) -> Result<(), Failed> {
    let before = counter(endpoint, "lane_rides")?;
    let mut failed = Ok(());
    let riding = eventually(BOUND, "statements ride", || {
        failed = (0..10).try_for_each(|_| ask());
        failed.is_err() || counter(endpoint, "lane_rides").is_ok_and(|now| now >= before + 10)
    });
    failed.and(riding)
}
