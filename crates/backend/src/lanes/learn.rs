//! Which digests may ride lanes: learnt from how their statements have run.
//!
//! A pure state machine per digest. What must always hold: a digest rides only after several short runs in a row on
//! connections of their own; each time that it turns out to be unfit it has to show more of them than the time before
//! (hysteresis), so that a digest whose cost depends on its literals does not swing back and forth.

use std::time::Duration;

/// A run no longer than this is short, and so is a reply no larger than [`SHORT_BYTES`].
pub const SHORT_TIME: Duration = Duration::from_millis(10);
/// See [`SHORT_TIME`]; in bytes.
pub const SHORT_BYTES: u64 = 16 * 1024;
/// Short runs in a row that a new digest has to show.
const FIRST_PROOF: u32 = 3;
/// The most that is ever asked of a digest.
const LONGEST_PROOF: u32 = 3 << 12;
/// Rides in a row after which half of the proof is forgiven.
const FORGIVEN_AFTER: u32 = 10_000;
/// Long rides, not made good by [`GOOD_FOR_STRIKE`] short ones each, that end a digest's riding.
const MOST_STRIKES: u32 = 3;
/// See [`MOST_STRIKES`].
const GOOD_FOR_STRIKE: u32 = 64;

/// How a statement ran on a connection of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// From the command's last byte to the reply's.
    pub time: Duration,
    /// Bytes of its reply.
    pub bytes: u64,
    /// It ended well, and left no warnings, changes of state or anything else behind.
    pub clean: bool,
}

/// Why a statement that rode a lane had to be run elsewhere in the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unfit {
    /// Its reply outgrew the bound.
    Large,
    /// It ended with an error, warned, or changed the session's state: what it left must be on a connection of its own.
    Unclean,
    /// It held its lane up for longer than the bound.
    Slow,
}

/// What is known of one digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Learnt {
    rides: bool,
    /// Short runs (or rides) in a row.
    good: u32,
    /// Runs in a row that it takes to ride.
    proof: u32,
    strikes: u32,
}

impl Default for Learnt {
    fn default() -> Self {
        Learnt { rides: false, good: 0, proof: FIRST_PROOF, strikes: 0 }
    }
}

impl Learnt {
    /// Whether its statements may ride.
    pub fn rides(&self) -> bool {
        self.rides
    }

    /// A statement has run on a connection of its own.
    pub fn ran(&mut self, run: Run) {
        if self.rides {
            return;
        }
        if !run.clean || run.time > SHORT_TIME || run.bytes > SHORT_BYTES {
            self.good = 0;
            return;
        }
        self.good += 1;
        if self.good >= self.proof {
            *self = Learnt { rides: true, good: 0, strikes: 0, proof: self.proof };
        }
    }

    /// A statement has ridden a lane, and occupied it for `time` with a reply of `bytes`.
    pub fn rode(&mut self, time: Duration, bytes: u64) {
        if !self.rides {
            return;
        }
        if time > SHORT_TIME || bytes > SHORT_BYTES {
            self.strikes += 1;
            self.good = 0;
            if self.strikes >= MOST_STRIKES {
                self.must_prove(2);
            }
            return;
        }
        self.good += 1;
        if self.good.is_multiple_of(GOOD_FOR_STRIKE) {
            self.strikes = self.strikes.saturating_sub(1);
        }
        if self.good >= FORGIVEN_AFTER {
            self.good = 0;
            self.proof = (self.proof / 2).max(FIRST_PROOF);
        }
    }

    /// A statement had to be run elsewhere.
    pub fn unfit(&mut self, why: Unfit) {
        self.must_prove(match why {
            Unfit::Slow | Unfit::Large => 4,
            Unfit::Unclean => 8,
        });
    }

    fn must_prove(&mut self, times_more: u32) {
        let proof = self.proof.saturating_mul(times_more).min(LONGEST_PROOF);
        *self = Learnt { rides: false, good: 0, strikes: 0, proof };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: Run = Run { time: Duration::from_micros(100), bytes: 200, clean: true };

    fn runs_until_it_rides(learnt: &mut Learnt) -> u32 {
        (1..=LONGEST_PROOF)
            .find(|_| {
                learnt.ran(SHORT);
                learnt.rides()
            })
            .expect("it rides in the end")
    }

    #[test]
    fn a_digest_rides_after_a_few_short_runs_in_a_row() {
        let mut learnt = Learnt::default();
        learnt.ran(SHORT);
        learnt.ran(SHORT);
        learnt.ran(Run { time: SHORT_TIME * 2, ..SHORT });
        assert!(!learnt.rides());
        assert_eq!(runs_until_it_rides(&mut learnt), 3);
    }

    #[test]
    fn long_large_and_unclean_runs_prove_nothing() {
        for bad in [
            Run { time: SHORT_TIME * 2, ..SHORT },
            Run { bytes: SHORT_BYTES + 1, ..SHORT },
            Run { clean: false, ..SHORT },
        ] {
            let mut learnt = Learnt::default();
            (0..100).for_each(|_| learnt.ran(bad));
            assert!(!learnt.rides(), "{bad:?}");
        }
    }

    #[test]
    fn each_failure_asks_for_a_longer_proof_up_to_a_bound() {
        let mut learnt = Learnt::default();
        let mut asked = Vec::new();
        for _ in 0..8 {
            asked.push(runs_until_it_rides(&mut learnt));
            learnt.unfit(Unfit::Slow);
            assert!(!learnt.rides());
        }
        assert_eq!(asked, [3, 12, 48, 192, 768, 3072, LONGEST_PROOF, LONGEST_PROOF]);
    }

    #[test]
    fn a_few_long_rides_among_many_short_ones_are_borne_and_several_close_together_are_not() {
        let mut learnt = Learnt::default();
        runs_until_it_rides(&mut learnt);
        for _ in 0..20 {
            learnt.rode(SHORT_TIME * 2, 100);
            (0..GOOD_FOR_STRIKE).for_each(|_| learnt.rode(SHORT.time, 100));
        }
        assert!(learnt.rides());
        (0..MOST_STRIKES).for_each(|_| learnt.rode(SHORT_TIME * 2, 100));
        assert!(!learnt.rides());
    }

    #[test]
    fn a_long_time_of_good_rides_is_rewarded() {
        let mut learnt = Learnt::default();
        learnt.unfit(Unfit::Unclean);
        assert_eq!(runs_until_it_rides(&mut learnt), 24);
        (0..FORGIVEN_AFTER).for_each(|_| learnt.rode(SHORT.time, 100));
        learnt.unfit(Unfit::Large);
        assert_eq!(runs_until_it_rides(&mut learnt), 48);
    }
}
