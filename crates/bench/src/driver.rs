//! The bench's own load tool, for what no other tool does: clients that wait, clients of which some are refused, clients that
//! look for stale reads, and clients that count the rows that each of their transactions has changed.
//!
//! It runs as a process of its own (`weir bench drive`), so that its CPU time, its memory and its open files are its own. Each
//! client is a thread with a small stack and a synchronous connection. A client that meets an error has ended, and counts
//! as one error; those of transactions roll back and go on.

mod freshness;
mod tpcc;
mod transaction;

use std::collections::BTreeMap;
use std::sync::atomic::AtomicI64;
use std::sync::{Arc, Barrier, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use mysql::Conn;
use mysql::prelude::Queryable;
use serde::{Deserialize, Serialize};

use crate::record::Kind;
use crate::sql;

pub use freshness::{Freshness, TABLE as FRESHNESS_TABLE};

/// Stack of a client's thread.
const STACK_BYTES: usize = 256 * 1024;
/// In the place of an error's number, of errors that no server has sent.
const NO_CODE: &str = "connection";
/// Threads that connect idle clients; each holds its share of them.
const CONNECTING_THREADS: u32 = 64;

/// What the clients do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DriverKind {
    /// Connect at the same moment, then send query after query until the time is over; at least one.
    Storm,
    /// Connect, stay for the time, then send one query each.
    Idle,
    /// Write counters and read them, until the time is over.
    Freshness,
    /// Run the same transaction again and again, until the time is over.
    Transaction,
    /// Run TPC-C's mix of transactions, until the time is over.
    Tpcc,
}

/// Whom the clients connect to, and what they do there.
#[derive(Debug, Clone)]
pub struct DriverOptions {
    /// What the clients do.
    pub kind: DriverKind,
    /// Host name or IP address.
    pub host: String,
    /// TCP port.
    pub port: u16,
    /// User name.
    pub user: String,
    /// Password.
    pub password: String,
    /// Default database.
    pub database: String,
    /// How many clients.
    pub clients: u32,
    /// How long, after the start.
    pub seconds: u32,
    /// What they ask; nothing for [`DriverKind::Freshness`], and for [`DriverKind::Transaction`] a command on each line.
    pub query: String,
    /// Whether [`DriverKind::Freshness`] and [`DriverKind::Tpcc`] use prepared statements.
    pub prepared: bool,
    /// Items of the population of [`DriverKind::Tpcc`].
    pub items: u32,
}

/// What became of the clients.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct DriverReport {
    /// Clients that met no error.
    pub served: u64,
    /// Clients that met one.
    pub errors: u64,
    /// Queries that were answered; for [`DriverKind::Transaction`], transactions.
    pub queries: u64,
    /// Events: queries, or transactions.
    pub events: u64,
    /// Rows that acknowledged transactions have changed.
    #[serde(default)]
    pub changed: u64,
    /// From the first connection attempt to the last answer; for transactions, from the moment when all are connected.
    pub seconds: f64,
    /// Latency of an event: median.
    pub p50_us: f64,
    /// Latency of an event: 95th percentile.
    pub p95_us: f64,
    /// Latency of an event: 99th percentile.
    pub p99_us: f64,
    /// The time that a connection took, authentication included: 99th percentile.
    pub connect_p99_us: f64,
    /// Events by their type, where there are several.
    #[serde(default)]
    pub kinds: BTreeMap<String, Kind>,
    /// Error texts, and how often they were met.
    pub error_texts: BTreeMap<String, u64>,
    /// Errors by the server's number for them.
    #[serde(default)]
    pub errors_by_code: BTreeMap<String, u64>,
    /// What [`DriverKind::Freshness`] has counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub freshness: Option<Freshness>,
}

/// What one client, or the clients of one thread, have met.
#[derive(Debug, Default)]
struct Tally {
    served: u64,
    errors: Vec<String>,
    errors_by_code: BTreeMap<String, u64>,
    changed: u64,
    /// Latencies by the type of a transaction.
    kinds: BTreeMap<&'static str, Vec<u32>>,
    /// Statements, where an event has several.
    statements: Option<u64>,
    /// When the measured seconds began, if not with the first connection.
    begun: Option<Instant>,
    connects_us: Vec<u32>,
    latencies_us: Vec<u32>,
    freshness: Option<Freshness>,
}

/// The moment when all clients are connected.
struct Start<'a> {
    barrier: &'a Barrier,
    told: &'a (dyn Fn() + Send + Sync),
}

impl Start<'_> {
    /// Waits until each client, also one that could not connect, is here; this is the moment then, and somebody has told so.
    fn wait(&self) -> Instant {
        if self.barrier.wait().is_leader() {
            (self.told)();
        }
        Instant::now()
    }
}

/// Runs the load to its end. `told` is called when the measured seconds of transactions begin.
pub fn drive(options: &DriverOptions, told: impl Fn() + Send + Sync + 'static) -> DriverReport {
    let begun = Instant::now();
    let tally = Arc::new(Mutex::new(Tally::default()));
    let shares: Vec<u32> = match options.kind {
        DriverKind::Idle => shares(options.clients, CONNECTING_THREADS),
        _ => vec![1; options.clients as usize],
    };
    let barrier = Arc::new(Barrier::new(shares.len()));
    let acknowledged: Arc<Vec<AtomicI64>> = Arc::new(shares.iter().map(|_| AtomicI64::new(0)).collect());
    let options = Arc::new(options.clone());
    let told: Arc<dyn Fn() + Send + Sync> = Arc::new(told);
    let spawn = |(client, share): (usize, u32)| {
        let (options, barrier, tally) = (options.clone(), barrier.clone(), tally.clone());
        let (acknowledged, told) = (acknowledged.clone(), told.clone());
        thread::Builder::new().stack_size(STACK_BYTES).spawn(move || {
            let own = match options.kind {
                DriverKind::Storm => storm(&options, &barrier),
                DriverKind::Idle => idle(&options, share, &barrier),
                DriverKind::Freshness => {
                    barrier.wait();
                    freshness::client(&options, client, &acknowledged, end(&options))
                }
                DriverKind::Transaction => transaction::client(&options, &Start { barrier: &barrier, told: &*told }),
                DriverKind::Tpcc => tpcc::client(&options, client, &Start { barrier: &barrier, told: &*told }),
            };
            tally.lock().unwrap_or_else(PoisonError::into_inner).add(own);
        })
    };
    let threads: Vec<_> = shares.into_iter().enumerate().map(spawn).collect();
    for thread in threads {
        match thread {
            Ok(thread) => drop(thread.join()),
            // The others would wait for it for ever.
            Err(error) => {
                return DriverReport {
                    errors: 1,
                    error_texts: [(error.to_string(), 1)].into(),
                    ..DriverReport::default()
                };
            }
        }
    }
    let tally = std::mem::take(&mut *tally.lock().unwrap_or_else(PoisonError::into_inner));
    tally.report(begun)
}

/// Splits clients over at most this many threads.
fn shares(clients: u32, threads: u32) -> Vec<u32> {
    let threads = threads.min(clients).max(1);
    (0..threads).map(|index| clients / threads + u32::from(index < clients % threads)).collect()
}

fn connect(options: &DriverOptions, tally: &mut Tally) -> Result<Conn, mysql::Error> {
    let begun = Instant::now();
    let connection =
        Conn::new(sql::options(&options.host, options.port, &options.user, &options.password, &options.database))?;
    tally.connects_us.push(micros(begun));
    Ok(connection)
}

fn ask(options: &DriverOptions, connection: &mut Conn, tally: &mut Tally) -> Result<(), mysql::Error> {
    let begun = Instant::now();
    connection.query_drop(&options.query)?;
    tally.latencies_us.push(micros(begun));
    Ok(())
}

/// When the clients' time is over, if it begins now.
fn end(options: &DriverOptions) -> Instant {
    Instant::now() + Duration::from_secs(u64::from(options.seconds))
}

fn storm(options: &DriverOptions, barrier: &Barrier) -> Tally {
    let mut tally = Tally::default();
    barrier.wait();
    let end = end(options);
    let mut run = || -> Result<(), mysql::Error> {
        let mut connection = connect(options, &mut tally)?;
        ask(options, &mut connection, &mut tally)?;
        while Instant::now() < end {
            ask(options, &mut connection, &mut tally)?;
        }
        Ok(())
    };
    let outcome = run();
    tally.end(outcome);
    tally
}

fn idle(options: &DriverOptions, share: u32, barrier: &Barrier) -> Tally {
    let mut tally = Tally::default();
    let mut connections = Vec::new();
    for _ in 0..share {
        match connect(options, &mut tally) {
            Ok(connection) => connections.push(connection),
            Err(error) => tally.end(Err(error)),
        }
    }
    barrier.wait();
    // Being idle is the load.
    thread::sleep(Duration::from_secs(u64::from(options.seconds)));
    barrier.wait();
    for connection in &mut connections {
        let outcome = ask(options, connection, &mut tally);
        tally.end(outcome);
    }
    tally
}

impl Tally {
    fn end(&mut self, outcome: Result<(), mysql::Error>) {
        match outcome {
            Ok(()) => self.served += 1,
            Err(error) => self.fail(&error),
        }
    }

    fn fail(&mut self, error: &mysql::Error) {
        let code = match error {
            mysql::Error::MySqlError(error) => error.code.to_string(),
            _ => NO_CODE.to_owned(),
        };
        self.count_error(&code, error.to_string());
    }

    fn count_error(&mut self, code: &str, text: String) {
        *self.errors_by_code.entry(code.to_owned()).or_default() += 1;
        self.errors.push(text);
    }

    fn add(&mut self, other: Self) {
        self.served += other.served;
        self.errors.extend(other.errors);
        for (code, count) in other.errors_by_code {
            *self.errors_by_code.entry(code).or_default() += count;
        }
        self.changed += other.changed;
        for (kind, latencies) in other.kinds {
            self.kinds.entry(kind).or_default().extend(latencies);
        }
        self.statements = self.statements.into_iter().chain(other.statements).reduce(|sum, more| sum + more);
        self.begun = self.begun.into_iter().chain(other.begun).min();
        self.connects_us.extend(other.connects_us);
        self.latencies_us.extend(other.latencies_us);
        if let Some(other) = other.freshness {
            self.freshness.get_or_insert_default().add(other);
        }
    }

    fn report(mut self, begun: Instant) -> DriverReport {
        let elapsed = self.begun.unwrap_or(begun).elapsed();
        self.latencies_us.sort_unstable();
        self.connects_us.sort_unstable();
        let latency = |share| percentile(&self.latencies_us, share);
        let mut error_texts = BTreeMap::new();
        for text in &self.errors {
            *error_texts.entry(text.clone()).or_default() += 1;
        }
        DriverReport {
            served: self.served,
            errors: self.errors.len() as u64,
            queries: self.statements.unwrap_or(self.latencies_us.len() as u64),
            events: self.latencies_us.len() as u64,
            kinds: self.kinds.into_iter().map(|(kind, latencies)| (kind.to_owned(), figures(latencies))).collect(),
            changed: self.changed,
            seconds: elapsed.as_secs_f64(),
            p50_us: latency(0.50),
            p95_us: latency(0.95),
            p99_us: latency(0.99),
            connect_p99_us: percentile(&self.connects_us, 0.99),
            error_texts,
            errors_by_code: self.errors_by_code,
            freshness: self.freshness,
        }
    }
}

fn micros(begun: Instant) -> u32 {
    u32::try_from(begun.elapsed().as_micros()).unwrap_or(u32::MAX)
}

/// The figures of a type of transactions.
fn figures(mut latencies: Vec<u32>) -> Kind {
    latencies.sort_unstable();
    let latency = |share| percentile(&latencies, share);
    Kind { count: latencies.len() as u64, p50_us: latency(0.50), p95_us: latency(0.95), p99_us: latency(0.99) }
}

/// The value below or at which this share is; 0 when there are none.
fn percentile(sorted: &[u32], share: f64) -> f64 {
    let index = (sorted.len() as f64 * share).ceil() as usize;
    sorted.get(index.saturating_sub(1)).map_or(0.0, |value| f64::from(*value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_client_has_a_thread() {
        for (clients, threads) in [(10_000, 64), (3, 64), (64, 64), (65, 64), (1, 1)] {
            let shares = shares(clients, threads);
            assert_eq!(shares.iter().sum::<u32>(), clients);
            assert!(shares.len() <= threads as usize && !shares.contains(&0), "{shares:?}");
        }
    }

    #[test]
    fn percentiles_are_values_that_occurred() {
        let sorted: Vec<u32> = (1..=200).collect();
        assert_eq!([0.5, 0.95, 0.99, 1.0].map(|share| percentile(&sorted, share)), [100.0, 190.0, 198.0, 200.0]);
        assert_eq!(percentile(&[], 0.5), 0.0);
        assert_eq!(percentile(&[7], 0.01), 7.0);
    }
}
