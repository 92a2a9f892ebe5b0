//! How many members the next batch of a queue may have: a pure decision.
//!
//! A batch holds its rows until its COMMIT is sent. What members have taken so far says how many fit into the time that it should hold
//! them; one always does.

use std::time::Duration;

/// How fast the members of a queue are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pace {
    /// Seconds per member, as batches have shown it.
    per_member: f64,
}

impl Default for Pace {
    fn default() -> Pace {
        // Until something is known: a statement that finds its row at once.
        Pace { per_member: 0.000_3 }
    }
}

impl Pace {
    /// So many members have taken so long.
    pub fn ran(&mut self, members: usize, time: Duration) {
        // The slower pace counts at once, the faster one bit by bit.
        let seen = time.as_secs_f64() / members.max(1) as f64;
        self.per_member = if seen > self.per_member { seen } else { self.per_member * 0.75 + seen * 0.25 };
    }

    /// The most members of the next batch.
    pub fn most(&self, hold: Duration, max_batch: usize) -> usize {
        let fit = hold.as_secs_f64() / self.per_member.max(1e-9);
        (fit as usize).clamp(1, max_batch.max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_are_as_long_as_their_time_and_their_bound_allow() {
        let hold = Duration::from_millis(50);
        let mut pace = Pace::default();
        assert_eq!(pace.most(hold, 100), 100);
        // One member has waited for a lock: the next batch is a short one.
        pace.ran(10, Duration::from_secs(1));
        assert_eq!(pace.most(hold, 100), 1);
        for _ in 0..40 {
            pace.ran(1, Duration::from_micros(100));
        }
        assert_eq!(pace.most(hold, 100), 100);
        assert_eq!(pace.most(hold, 0), 1);
    }
}
