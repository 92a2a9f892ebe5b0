//! How fast a move may be: changed at any time, by anyone.
//!
//! What must always hold: only copying and comparing are held up. Following goes on, so that the position stays near the end of the logs.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use weir_catalog::ShardId;

/// How long the replicas of a shard are behind, if that is known.
pub type LagOf = Arc<dyn Fn(ShardId) -> Option<Duration> + Send + Sync>;

/// See the module.
pub struct Controls {
    paused: AtomicBool,
    /// Rows per second; 0: no bound.
    rate: AtomicU64,
    /// Most running threads of a server; 0: no bound.
    threads: AtomicU64,
    /// Milliseconds that a chunk should take.
    chunk: AtomicU64,
    /// Most rows of a chunk.
    rows: AtomicU64,
    lag: Mutex<Option<(LagOf, Duration)>>,
    changed: Notify,
}

impl Default for Controls {
    fn default() -> Controls {
        Controls {
            paused: AtomicBool::new(false),
            rate: AtomicU64::new(0),
            threads: AtomicU64::new(0),
            chunk: AtomicU64::new(50),
            rows: AtomicU64::new(20_000),
            lag: Mutex::new(None),
            changed: Notify::new(),
        }
    }
}

impl std::fmt::Debug for Controls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Controls").field("paused", &self.paused).field("rate", &self.rate).finish_non_exhaustive()
    }
}

impl Controls {
    /// Copying stands still until [`Controls::resume`].
    pub fn pause(&self) {
        self.paused.store(true, Relaxed);
        self.changed.notify_waiters();
    }

    /// Copying goes on.
    pub fn resume(&self) {
        self.paused.store(false, Relaxed);
        self.changed.notify_waiters();
    }

    /// Whether it is paused.
    pub fn is_paused(&self) -> bool {
        self.paused.load(Relaxed)
    }

    /// Bounds the rows that each source's copy reads per second; 0 is no bound.
    pub fn set_rate(&self, rows_per_second: u64) {
        self.rate.store(rows_per_second, Relaxed);
        self.changed.notify_waiters();
    }

    /// The bound on rows per second, if there is one.
    pub fn rate(&self) -> Option<u64> {
        Some(self.rate.load(Relaxed)).filter(|rate| *rate > 0)
    }

    /// Copying waits while a source or a target has more running threads than these (`Threads_running`, among which are those that send
    /// binary logs); 0 is no bound.
    pub fn set_most_threads_running(&self, threads: u64) {
        self.threads.store(threads, Relaxed);
    }

    pub(crate) fn most_threads_running(&self) -> Option<u64> {
        Some(self.threads.load(Relaxed)).filter(|threads| *threads > 0)
    }

    /// Copying waits while the replicas of a target or a source are further behind than `most`.
    pub fn set_lag(&self, lag: LagOf, most: Duration) {
        *self.lag.lock().unwrap_or_else(PoisonError::into_inner) = Some((lag, most));
    }

    /// Whether a shard's replicas are too far behind.
    pub(crate) fn lags(&self, shard: ShardId) -> bool {
        let lag = self.lag.lock().unwrap_or_else(PoisonError::into_inner).clone();
        lag.is_some_and(|(lag, most)| lag(shard).is_some_and(|behind| behind > most))
    }

    /// How long the reading and writing of one chunk should take: it is made larger or smaller accordingly.
    pub fn set_chunk_time(&self, time: Duration) {
        self.chunk.store(u64::try_from(time.as_millis()).unwrap_or(u64::MAX).max(1), Relaxed);
    }

    /// Bounds the rows of a chunk, however little time they take. A long chunk holds up what follows the source's changes.
    pub fn set_most_rows_per_chunk(&self, rows: u64) {
        self.rows.store(rows.max(1), Relaxed);
    }

    /// The most rows of a chunk, also by the rate: four of them make a second.
    pub(crate) fn most_rows_per_chunk(&self) -> u64 {
        let most = self.rows.load(Relaxed);
        self.rate().map_or(most, |rate| most.min((rate / 4).max(1)))
    }

    pub(crate) fn chunk_time(&self) -> Duration {
        Duration::from_millis(self.chunk.load(Relaxed))
    }

    /// Waits for a change, `most` at most.
    pub(crate) async fn changed(&self, most: Duration) {
        // Either way, one looks again.
        let _ = tokio::time::timeout(most, self.changed.notified()).await;
    }
}
