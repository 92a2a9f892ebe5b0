//! What is counted of runs.

use std::time::{Duration, Instant};

use crate::histogram::Histogram;

/// One run of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// When it ended.
    pub ended: Instant,
    /// How long it took, from its arrival to the end of its reply.
    pub time: Duration,
    /// Rows sent to the client.
    pub rows_sent: u64,
    /// Rows changed.
    pub rows_affected: u64,
    /// Bytes of the reply.
    pub bytes: u64,
    /// It ended in an error.
    pub failed: bool,
    /// A replica answered.
    pub on_replica: bool,
    /// It rode a lane.
    pub on_lane: bool,
}

/// See the module.
#[derive(Debug, Clone, Default)]
pub struct Counts {
    /// Runs.
    pub count: u64,
    /// Those that ended in an error.
    pub errors: u64,
    /// Rows sent to clients.
    pub rows_sent: u64,
    /// Rows changed.
    pub rows_affected: u64,
    /// Bytes of replies.
    pub bytes: u64,
    /// Runs on replicas.
    pub on_replicas: u64,
    /// Runs on lanes.
    pub on_lanes: u64,
    /// All the time, in nanoseconds.
    pub total: u64,
    /// The longest time, in nanoseconds.
    pub max: u64,
    /// The shortest time, in nanoseconds.
    min: u64,
    /// When the first and the last of them ended.
    seen: Option<(Instant, Instant)>,
    histogram: Histogram,
}

impl Counts {
    /// Counts a run.
    #[inline]
    pub fn note(&mut self, run: &Run) {
        let time = u64::try_from(run.time.as_nanos()).unwrap_or(u64::MAX);
        self.min = if self.count == 0 { time } else { self.min.min(time) };
        self.max = self.max.max(time);
        self.total = self.total.saturating_add(time);
        self.count += 1;
        self.errors += u64::from(run.failed);
        self.rows_sent += run.rows_sent;
        self.rows_affected = self.rows_affected.saturating_add(run.rows_affected);
        self.bytes += run.bytes;
        self.on_replicas += u64::from(run.on_replica);
        self.on_lanes += u64::from(run.on_lane);
        let first = self.seen.map_or(run.ended, |(first, _)| first);
        self.seen = Some((first, run.ended));
        self.histogram.note(time);
    }

    /// Adds what others have counted.
    pub fn add(&mut self, other: &Counts) {
        self.min = match (self.count, other.count) {
            (0, _) => other.min,
            (_, 0) => self.min,
            _ => self.min.min(other.min),
        };
        self.max = self.max.max(other.max);
        self.total = self.total.saturating_add(other.total);
        self.count += other.count;
        self.errors += other.errors;
        self.rows_sent += other.rows_sent;
        self.rows_affected = self.rows_affected.saturating_add(other.rows_affected);
        self.bytes += other.bytes;
        self.on_replicas += other.on_replicas;
        self.on_lanes += other.on_lanes;
        self.seen = match (self.seen, other.seen) {
            (Some(own), Some(others)) => Some((own.0.min(others.0), own.1.max(others.1))),
            (own, others) => own.or(others),
        };
        self.histogram.add(&other.histogram);
    }

    /// The shortest time, in nanoseconds.
    pub fn min(&self) -> u64 {
        self.min
    }

    /// When the first and the last run ended.
    pub fn seen(&self) -> Option<(Instant, Instant)> {
        self.seen
    }

    /// The time, in nanoseconds, that this share (0 to 1) of the runs was within: at most a quarter too long.
    pub fn percentile(&self, share: f64) -> u64 {
        let time = self.histogram.percentile(share).unwrap_or_default();
        u64::try_from(time.as_nanos()).unwrap_or(u64::MAX).clamp(self.min, self.max)
    }
}
