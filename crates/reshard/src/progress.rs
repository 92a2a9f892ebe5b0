//! What a move has done so far.
//!
//! What must always hold: counting takes no lock; a snapshot may be read at any time.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use weir_catalog::ShardId;

/// What a move does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// It waits for transactions that were prepared before it began.
    Starting,
    /// Rows are copied, changes are followed.
    Copying,
    /// All rows are copied, changes are followed.
    Following,
    /// It has failed, or was stopped.
    Ended,
}

impl Phase {
    /// One word for tables.
    pub fn name(self) -> &'static str {
        match self {
            Phase::Starting => "starting",
            Phase::Copying => "copying",
            Phase::Following => "following",
            Phase::Ended => "ended",
        }
    }
}

/// How far a move is.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    /// What it does.
    pub phase: Phase,
    /// Rows that were copied, by this engine and those before it that it goes on from.
    pub rows_copied: u64,
    /// Rows that there are to copy in all, as the sources estimate.
    pub rows_estimated: u64,
    /// Bytes of rows that were copied, as statements.
    pub bytes_copied: u64,
    /// Rows per second, over the last seconds.
    pub rate: f64,
    /// The time that the copy will still take.
    pub remaining: Option<Duration>,
    /// Keys of changed rows that were applied.
    pub changes_applied: u64,
    /// The age of the latest event that was applied, when it was; none when there is nothing to apply.
    pub lag: Duration,
    /// Copying waits: it is paused, or the servers are busy.
    pub held_up: bool,
    /// Rows and bytes by source.
    pub sources: BTreeMap<ShardId, SourceProgress>,
}

/// How far a source is.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SourceProgress {
    /// Rows copied.
    pub rows_copied: u64,
    /// Rows estimated.
    pub rows_estimated: u64,
    /// It is copied.
    pub copied: bool,
    /// The lag, as in [`Progress`].
    pub lag: Duration,
}

/// The counters of a source.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) rows: AtomicU64,
    pub(crate) bytes: AtomicU64,
    pub(crate) estimated: AtomicU64,
    pub(crate) changes: AtomicU64,
    pub(crate) started: AtomicBool,
    pub(crate) copied: AtomicBool,
    pub(crate) held_up: AtomicBool,
    /// Milliseconds.
    pub(crate) lag: AtomicU64,
}

impl Counters {
    /// Notes the lag of an event of this second.
    pub(crate) fn note_lag(&self, timestamp: u32) {
        if timestamp == 0 {
            return;
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        // An event's second is when its statement began: within it, there is no lag to speak of.
        let then = (u128::from(timestamp) + 1) * 1000;
        self.lag.store(u64::try_from(now.saturating_sub(then)).unwrap_or(0), Relaxed);
    }
}

/// The rate of the last seconds.
#[derive(Debug)]
pub(crate) struct Meter {
    last: Mutex<(Instant, u64, f64)>,
}

impl Meter {
    pub(crate) fn new() -> Meter {
        Meter { last: Mutex::new((Instant::now(), 0, 0.0)) }
    }

    /// The rate, when the count is this now.
    fn rate(&self, rows: u64) -> f64 {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let (since, before, rate) = *last;
        let time = since.elapsed().as_secs_f64();
        if time < 0.5 {
            return if rate > 0.0 || time == 0.0 { rate } else { rows.saturating_sub(before) as f64 / time };
        }
        let newest = rows.saturating_sub(before) as f64 / time;
        let smooth = if rate > 0.0 { 0.5 * rate + 0.5 * newest } else { newest };
        *last = (Instant::now(), rows, smooth);
        smooth
    }
}

/// A snapshot of these counters.
pub(crate) fn snapshot(counters: &BTreeMap<ShardId, std::sync::Arc<Counters>>, meter: &Meter, ended: bool) -> Progress {
    let sum = |of: fn(&Counters) -> &AtomicU64| counters.values().map(|one| of(one).load(Relaxed)).sum::<u64>();
    let all = |of: fn(&Counters) -> &AtomicBool| counters.values().all(|one| of(one).load(Relaxed));
    let phase = match (ended, all(|one| &one.started), all(|one| &one.copied)) {
        (true, ..) => Phase::Ended,
        (_, false, _) => Phase::Starting,
        (_, _, false) => Phase::Copying,
        _ => Phase::Following,
    };
    let (rows_copied, rows_estimated) = (sum(|one| &one.rows), sum(|one| &one.estimated));
    let rate = meter.rate(rows_copied);
    let left = rows_estimated.saturating_sub(rows_copied) as f64;
    let remaining = (phase == Phase::Copying && rate > 0.0).then(|| Duration::from_secs_f64((left / rate).min(1e9)));
    let lag = counters.values().map(|one| one.lag.load(Relaxed)).max().unwrap_or(0);
    let of = |one: &Counters| SourceProgress {
        rows_copied: one.rows.load(Relaxed),
        rows_estimated: one.estimated.load(Relaxed),
        copied: one.copied.load(Relaxed),
        lag: Duration::from_millis(one.lag.load(Relaxed)),
    };
    Progress {
        phase,
        rows_copied,
        rows_estimated: rows_estimated.max(rows_copied),
        bytes_copied: sum(|one| &one.bytes),
        rate,
        remaining,
        changes_applied: sum(|one| &one.changes),
        lag: Duration::from_millis(lag),
        held_up: counters.values().any(|one| one.held_up.load(Relaxed)),
        sources: counters.iter().map(|(shard, one)| (*shard, of(one))).collect(),
    }
}
