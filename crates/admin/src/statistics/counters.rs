//! One worker's numbers for metrics.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::kind::StatementKind;

const KINDS: usize = StatementKind::ALL.len();
const PLACES: usize = AnsweredBy::ALL.len();

/// The upper bounds of the latency histogram's buckets, in nanoseconds.
pub const BOUNDS: [u64; 16] = [
    100_000,
    250_000,
    500_000,
    1_000_000,
    2_500_000,
    5_000_000,
    10_000_000,
    25_000_000,
    50_000_000,
    100_000_000,
    250_000_000,
    500_000_000,
    1_000_000_000,
    2_500_000_000,
    5_000_000_000,
    10_000_000_000,
];

/// Who answered a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnsweredBy {
    /// The writer.
    Writer,
    /// A replica.
    Replica,
    /// Weir itself: no server has heard of it.
    Weir,
}

impl AnsweredBy {
    /// All places, in the order of their numbers.
    pub const ALL: [AnsweredBy; 3] = [AnsweredBy::Writer, AnsweredBy::Replica, AnsweredBy::Weir];

    /// Its name in metrics and logs.
    pub fn name(self) -> &'static str {
        match self {
            AnsweredBy::Writer => "writer",
            AnsweredBy::Replica => "replica",
            AnsweredBy::Weir => "weir",
        }
    }
}

/// A number that one thread writes and any reads.
#[derive(Debug, Default)]
struct Number(AtomicU64);

impl Number {
    #[inline]
    fn add(&self, n: u64) {
        // No other thread writes: this needs no atomic addition, which would cost ten times as much.
        self.0.store(self.0.load(Ordering::Relaxed).wrapping_add(n), Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

#[derive(Debug, Default)]
struct OfKind {
    /// By place, and whether it rode a lane.
    places: [[Number; 2]; PLACES],
    nanoseconds: Number,
    buckets: [Number; BOUNDS.len() + 1],
}

/// See the module. What is noted here must be noted by one thread only.
#[derive(Debug, Default)]
pub struct Counters {
    kinds: [OfKind; KINDS],
    /// Bytes from clients.
    received: Number,
    /// Bytes to clients.
    sent: Number,
}

impl Counters {
    /// Counts a statement.
    #[inline]
    pub fn note(&self, kind: StatementKind, place: AnsweredBy, on_lane: bool, time: Duration) {
        let own = &self.kinds[kind.index()];
        let time = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        own.places[place as usize][usize::from(on_lane)].add(1);
        own.nanoseconds.add(time);
        own.buckets[BOUNDS.partition_point(|bound| *bound < time)].add(1);
    }

    /// Counts the bytes of an exchange with a client.
    #[inline]
    pub fn note_bytes(&self, received: u64, sent: u64) {
        self.received.add(received);
        self.sent.add(sent);
    }

    /// Bytes from clients.
    pub fn received(&self) -> u64 {
        self.received.get()
    }

    /// Bytes to clients.
    pub fn sent(&self) -> u64 {
        self.sent.get()
    }
}

/// The numbers of one kind of statement.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Totals {
    /// Statements.
    pub count: u64,
    /// Statements by place, and whether they rode a lane.
    pub places: [[u64; 2]; PLACES],
    /// All their time, in seconds.
    pub seconds: f64,
    /// Statements in each bucket of the histogram; the last one has those beyond all bounds.
    pub buckets: [u64; BOUNDS.len() + 1],
}

impl Totals {
    /// Adds what a worker has counted.
    pub fn add(&mut self, counters: &Counters, kind: StatementKind) {
        let own = &counters.kinds[kind.index()];
        for (sum, numbers) in self.places.iter_mut().zip(&own.places) {
            sum.iter_mut().zip(numbers).for_each(|(sum, number)| *sum += number.get());
        }
        self.seconds += own.nanoseconds.get() as f64 / 1e9;
        self.buckets.iter_mut().zip(&own.buckets).for_each(|(sum, number)| *sum += number.get());
        self.count = self.buckets.iter().sum();
    }
}
