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
