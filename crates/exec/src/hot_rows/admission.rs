//! Admission to hot rows: of the open transactions that are about to change one, only some wait on the server.
//!
//! A server looks for deadlocks among all that wait for a row, each time that one more does. What must always hold: only transactions
//! that hold nothing yet wait here, so that no cycle of waits goes through Weir; the oldest is let in first.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;

/// Gates above which those that nobody waits at are looked for.
const FEW: usize = 64;
/// How long a server's own bound on waits for locks is taken for known.
const AGE: Duration = Duration::from_secs(30);

/// The gates before hot rows.
#[derive(Debug, Default)]
pub struct Gates {
    gates: Mutex<HashMap<u64, Weak<Semaphore>>>,
    lock_waits: Mutex<HashMap<String, (Instant, Duration)>>,
}

impl Gates {
    /// The gate before a row, through which so many may be at once.
    pub fn of(&self, row: u64, permits: usize) -> Arc<Semaphore> {
        let mut gates = self.gates.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(gate) = gates.get(&row).and_then(Weak::upgrade) {
            return gate;
        }
        if gates.len() >= FEW {
            gates.retain(|_, gate| gate.strong_count() > 0);
        }
        let gate = Arc::new(Semaphore::new(permits.max(1)));
        gates.insert(row, Arc::downgrade(&gate));
        gate
    }

    /// How long a server lets statements wait for a lock, if it was asked a short while ago.
    pub fn lock_wait(&self, server: &str) -> Option<Duration> {
        let waits = self.lock_waits.lock().unwrap_or_else(PoisonError::into_inner);
        waits.get(server).filter(|(since, _)| since.elapsed() < AGE).map(|(_, wait)| *wait)
    }

    /// A server has told it.
    pub fn learn_lock_wait(&self, server: &str, wait: Duration) {
        let mut waits = self.lock_waits.lock().unwrap_or_else(PoisonError::into_inner);
        waits.insert(server.to_owned(), (Instant::now(), wait));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_wait_for_a_row_share_its_gate() {
        let gates = Gates::default();
        let gate = gates.of(1, 2);
        assert!(Arc::ptr_eq(&gate, &gates.of(1, 2)) && !Arc::ptr_eq(&gate, &gates.of(2, 2)));
        let permits = [gate.clone().try_acquire_owned(), gate.clone().try_acquire_owned()];
        assert!(permits.iter().all(Result::is_ok) && gate.clone().try_acquire_owned().is_err());
        drop((permits, gate));
        for row in 0..10 * FEW as u64 {
            gates.of(row, 1);
        }
        assert!(gates.gates.lock().expect("nobody has panicked").len() <= FEW + 1, "gates that nobody has stay");
    }
}
