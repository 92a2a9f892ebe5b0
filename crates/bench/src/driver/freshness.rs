//! Clients that look for stale reads. Each has a counter of its own in a table: it writes the counter, reads it back, and
//! reads the counter that another client writes.
//!
//! Must always hold: a read is called stale only by what was known before it was sent: the value that the client itself, or
//! another one, had been told to be written by then.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Instant;

use mysql::prelude::Queryable;
use mysql::{Conn, Statement};
use serde::{Deserialize, Serialize};

use super::{DriverOptions, Tally, connect, micros};

/// The table of counters; it must have a row of value 0 for each client, numbered from 0.
pub const TABLE: &str = "weir_bench_freshness";

/// What was counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Freshness {
    /// Writes that were acknowledged, each with a read of the same counter after it.
    pub pairs: u64,
    /// All reads.
    pub reads: u64,
    /// Reads of the own counter that lacked the client's own last write.
    pub stale_own: u64,
    /// Reads of a value older than one that the client had read before.
    pub steps_back: u64,
    /// Reads of another client's counter that lacked what that client had been told to be written.
    pub behind_others: u64,
}

impl Freshness {
    /// Adds what other clients have counted.
    pub(super) fn add(&mut self, other: Self) {
        self.pairs += other.pairs;
        self.reads += other.reads;
        self.stale_own += other.stale_own;
        self.steps_back += other.steps_back;
        self.behind_others += other.behind_others;
    }
}

/// What one client has read, and what it makes of it. A counter that is gone is older than any value.
#[derive(Debug, Default)]
struct Watch {
    seen_own: Option<i64>,
    seen_other: Option<i64>,
    counted: Freshness,
}

impl Watch {
    /// The client has read its own counter after it had written `written`.
    fn own(&mut self, read: Option<i64>, written: i64) {
        self.counted.pairs += 1;
        self.counted.reads += 1;
        self.counted.stale_own += u64::from(read < Some(written));
        self.counted.steps_back += u64::from(read < self.seen_own);
        self.seen_own = self.seen_own.max(read);
    }

    /// It has read another client's counter; `acknowledged` was there before.
    fn other(&mut self, read: Option<i64>, acknowledged: i64) {
        self.counted.reads += 1;
        self.counted.behind_others += u64::from(read < Some(acknowledged));
        self.counted.steps_back += u64::from(read < self.seen_other);
        self.seen_other = self.seen_other.max(read);
    }
}

/// The statements of a client.
struct Counters {
    connection: Conn,
    /// Write and read, if they are prepared.
    prepared: Option<(Statement, Statement)>,
}

impl Counters {
    fn new(mut connection: Conn, prepared: bool) -> Result<Self, mysql::Error> {
        let prepared = match prepared {
            true => Some((
                connection.prep(format!("UPDATE {TABLE} SET v = ? WHERE id = ?"))?,
                connection.prep(format!("SELECT v FROM {TABLE} WHERE id = ?"))?,
            )),
            false => None,
        };
        Ok(Self { connection, prepared })
    }

    fn write(&mut self, id: usize, value: i64) -> Result<(), mysql::Error> {
        match &self.prepared {
            Some((write, _)) => self.connection.exec_drop(write, (value, id)),
            None => self.connection.query_drop(format!("UPDATE {TABLE} SET v = {value} WHERE id = {id}")),
        }
    }

    fn read(&mut self, id: usize) -> Result<Option<i64>, mysql::Error> {
        match &self.prepared {
            Some((_, read)) => self.connection.exec_first(read, (id,)),
            None => self.connection.query_first(format!("SELECT v FROM {TABLE} WHERE id = {id}")),
        }
    }
}

/// One client, until `end`. `acknowledged` holds what each client was told to be written.
pub(super) fn client(options: &DriverOptions, client: usize, acknowledged: &[AtomicI64], end: Instant) -> Tally {
    let mut tally = Tally::default();
    let mut watch = Watch::default();
    let outcome = count(options, client, acknowledged, end, &mut tally, &mut watch);
    tally.end(outcome);
    tally.freshness = Some(watch.counted);
    tally
}

fn count(
    options: &DriverOptions,
    client: usize,
    acknowledged: &[AtomicI64],
    end: Instant,
    tally: &mut Tally,
    watch: &mut Watch,
) -> Result<(), mysql::Error> {
    let connection = connect(options, tally)?;
    let mut counters = Counters::new(connection, options.prepared)?;
    let neighbour = (client + 1) % acknowledged.len();
    let mut value = 0;
    while Instant::now() < end {
        value += 1;
        tally.timed(|| counters.write(client, value))?;
        acknowledged[client].store(value, Ordering::SeqCst);
        let own = tally.timed(|| counters.read(client))?;
        watch.own(own, value);
        let known = acknowledged[neighbour].load(Ordering::SeqCst);
        let others = tally.timed(|| counters.read(neighbour))?;
        watch.other(others, known);
    }
    Ok(())
}

impl Tally {
    fn timed<T>(&mut self, work: impl FnOnce() -> Result<T, mysql::Error>) -> Result<T, mysql::Error> {
        let begun = Instant::now();
        let result = work()?;
        self.latencies_us.push(micros(begun));
        Ok(result)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fresh_reads_are_counted_and_nothing_else() {
        let mut watch = Watch::default();
        for value in 1..=3 {
            watch.own(Some(value), value);
            watch.other(Some(value + 1), value);
        }
        assert_eq!(watch.counted, Freshness { pairs: 3, reads: 6, ..Freshness::default() });
    }

    #[test]
    fn a_read_without_the_own_write_is_stale_and_one_of_an_older_value_a_step_back() {
        let mut watch = Watch::default();
        watch.own(Some(5), 5);
        watch.own(Some(5), 6);
        assert_eq!((watch.counted.stale_own, watch.counted.steps_back), (1, 0));
        watch.own(Some(4), 7);
        assert_eq!((watch.counted.stale_own, watch.counted.steps_back), (2, 1));
        watch.own(None, 8);
        assert_eq!((watch.counted.stale_own, watch.counted.steps_back), (3, 2));
        assert_eq!(watch.counted.behind_others, 0);
    }

    #[test]
    fn a_read_is_behind_others_only_by_what_was_acknowledged_before_it() {
        let mut watch = Watch::default();
        watch.other(Some(10), 10);
        watch.other(Some(10), 12);
        watch.other(Some(9), 9);
        assert_eq!((watch.counted.behind_others, watch.counted.steps_back), (1, 1));
        assert_eq!((watch.counted.stale_own, watch.counted.pairs), (0, 0));
    }
}
