//! Waiting for a condition: with a bound, and open to cancellation.
//!
//! Nothing in this crate sleeps for a fixed time and hopes: each wait probes until the condition holds, the bound
//! has passed, or the caller's [`Cancel`] is set.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::LocalError;

const FIRST_PAUSE: Duration = Duration::from_millis(2);
const LONGEST_PAUSE: Duration = Duration::from_millis(40);

/// A flag that ends all waits which were given a clone of it; set from a signal handler's thread, for example.
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Ends the waits; can't be undone.
    pub fn set(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    /// Whether [`Cancel::set`] was called.
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }

    /// [`LocalError::Cancelled`] once the flag is set.
    pub fn check(&self) -> Result<(), LocalError> {
        if self.is_set() { Err(LocalError::Cancelled) } else { Ok(()) }
    }
}

/// Calls `probe` until it returns `Some`, at growing intervals of at most 40 ms; `None` when `bound` has passed.
///
/// The probe runs at least once. Its error ends the wait, as does `cancel` (with [`LocalError::Cancelled`]).
pub fn wait_until<T>(
    bound: Duration,
    cancel: &Cancel,
    mut probe: impl FnMut() -> Result<Option<T>, LocalError>,
) -> Result<Option<T>, LocalError> {
    let started = Instant::now();
    let mut pause = FIRST_PAUSE;
    loop {
        cancel.check()?;
        if let Some(found) = probe()? {
            return Ok(Some(found));
        }
        let left = bound.saturating_sub(started.elapsed());
        if left.is_zero() {
            return Ok(None);
        }
        std::thread::sleep(pause.min(left));
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// How many bounds something may take that shows signs of life.
const MOST_BOUNDS: u32 = 4;

/// When something that starts is given up: after a bound without a sign of life, its growing log, and after [`MOST_BOUNDS`] of them in any
/// case. A server on a busy machine takes long to start, and says where it is.
#[derive(Debug)]
pub struct SignsOfLife {
    bound: Duration,
    begun: Instant,
    heard: Instant,
    log: u64,
}

impl SignsOfLife {
    /// It has begun at `now`, with so many bytes in its log.
    pub fn new(bound: Duration, log: u64, now: Instant) -> Self {
        Self { bound, begun: now, heard: now, log }
    }

    /// Whether it is to be given up, with so many bytes in its log.
    pub fn are_over(&mut self, log: u64, now: Instant) -> bool {
        if log != self.log {
            (self.log, self.heard) = (log, now);
        }
        now.duration_since(self.heard) >= self.bound || now.duration_since(self.begun) >= MOST_BOUNDS * self.bound
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_shows_signs_of_life_may_take_longer() {
        let (bound, begun) = (Duration::from_secs(10), Instant::now());
        let after = |seconds| begun + Duration::from_secs(seconds);
        let mut silent = SignsOfLife::new(bound, 7, begun);
        assert!(!silent.are_over(7, after(9)));
        assert!(silent.are_over(7, after(10)));
        let mut slow = SignsOfLife::new(bound, 0, begun);
        assert!(!slow.are_over(1, after(9)));
        assert!(!slow.are_over(1, after(18)));
        assert!(slow.are_over(1, after(19)));
        let mut endless = SignsOfLife::new(bound, 0, begun);
        assert!((1..40).all(|seconds| !endless.are_over(seconds, after(seconds))));
        assert!(endless.are_over(40, after(40)));
    }
}
