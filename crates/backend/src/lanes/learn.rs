//! Which digests may ride lanes: learnt from how their statements have run, measured by what trivial ones take.
//!
//! A pure state machine per digest, told the time. What must always hold:
//! - Being slow along with everything else is no fault: on a connection of its own, where it competes with all others, a
//!   digest is judged by the least of its recent runs; on a lane by what it occupied the lane for, less the time in which
//!   the server or Weir answered nobody; and "long" is what a hundred trivial statements take there and then.
//! - What a digest costs the others is bounded by its own cost: long rides add to its debt, short ones pay off a little
//!   of it, and beyond a bound it leaves the lanes for a while: half a second at first, twice as long each time that it
//!   fails again soon. A digest whose cost depends on its literals so spends next to all of its time elsewhere.
//! - What leaves errors or warnings behind, or replies too large, has to show more clean runs in a row each time.

use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// A run no longer than this is short on any machine.
pub const SHORT_TIME: Duration = Duration::from_millis(10);
/// A run no longer than this number of trivial statements is short too.
const TRIVIALS: u32 = 100;
/// The largest reply that is not large, in bytes.
pub const SHORT_BYTES: u64 = 16 * 1024;
/// Clean runs in a row that a new digest has to show.
const FIRST_PROOF: u32 = 3;
/// The most that is ever asked of a digest.
const LONGEST_PROOF: u32 = 3 << 12;
/// Rides in a row after which half of the proof is forgiven.
const FORGIVEN_AFTER: u32 = 10_000;
/// Rides with large replies, not made good by [`GOOD_FOR_STRIKE`] others each, that end a digest's riding.
const MOST_STRIKES: u32 = 3;
/// See [`MOST_STRIKES`].
const GOOD_FOR_STRIKE: u32 = 64;
/// The part of the bound that a short ride pays off.
const PAID_PER_RIDE: u32 = 16;
/// The debt that ends a digest's riding, in bounds.
const MOST_DEBT: u32 = 8;
/// For how long a digest stays away the first time.
const FIRST_REST: Duration = Duration::from_millis(500);
/// How often that is doubled, at most: to a minute.
const MOST_DOUBLINGS: u32 = 7;
/// Riding for so many times its last rest, a digest is forgiven one doubling.
const FORGIVEN_RESTS: u32 = 4;
/// Statements beside which one runs as long as alone, as far as anybody can tell.
const FEW: usize = 8;
/// Runs that the least is taken of, at least; and the shortest time that they are gathered over.
const SPAN_RUNS: u32 = 8;
/// See [`SPAN_RUNS`].
const SPAN: Duration = Duration::from_millis(250);

/// By what runs are judged at this moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scale {
    /// A longer run is long.
    pub long: Duration,
    /// A ride that works for longer holds its lane up.
    pub stall: Duration,
}

impl Scale {
    /// The scale of a server on which a trivial statement takes at least `trivial`, where lanes are held up after `stall`.
    /// On a slow server more is short, but nothing that would hold a lane up, unless trivial statements nearly do.
    pub fn new(trivial: Duration, stall: Duration) -> Scale {
        let long = (trivial * TRIVIALS).min(stall / 2).max(trivial * 4).max(SHORT_TIME);
        Scale { long, stall: stall.max(long) }
    }
}

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

impl Run {
    /// The run as it might have been alone: it shared the server with `others` that Weir knows of. That may be too little
    /// for what sleeps instead of working; then its first rides tell.
    #[must_use]
    pub fn among(self, others: usize) -> Run {
        let share = u32::try_from(others / FEW).unwrap_or(u32::MAX).max(1);
        Run { time: self.time / share, ..self }
    }

    /// Whether it tells for its digest, but for the time that it took.
    pub fn is_fit(&self) -> bool {
        self.clean && self.bytes <= SHORT_BYTES
    }
}

/// How a statement rode a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rode {
    /// For how long it occupied the lane, less the time in which the server or Weir answered nobody.
    pub work: Duration,
    /// Bytes of its reply.
    pub bytes: u64,
}

/// Why a statement that rode a lane had to be run elsewhere in the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unfit {
    /// Its reply outgrew the bound.
    Large,
    /// It ended with an error, warned, or changed the session's state: what it left must be on a connection of its own.
    Unclean,
}

/// The least of recent runs: of the present span and the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Least {
    since: Option<Instant>,
    runs: u32,
    now: Option<Duration>,
    before: Option<Duration>,
}

impl Least {
    fn add(&mut self, time: Duration, at: Instant) {
        let since = *self.since.get_or_insert(at);
        if self.runs >= SPAN_RUNS && at.saturating_duration_since(since) >= SPAN {
            *self = Least { since: Some(at), runs: 0, now: None, before: self.now };
        }
        self.runs += 1;
        self.now = Some(self.now.map_or(time, |least| least.min(time)));
    }

    fn get(&self) -> Option<Duration> {
        self.now.into_iter().chain(self.before).min()
    }
}

/// What is known of one digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DigestRecord {
    /// Since when its statements ride, as far as that counts for being forgiven.
    rides: Option<Instant>,
    /// Clean runs (or rides) in a row.
    good: u32,
    /// Runs in a row that it takes to ride.
    proof: u32,
    /// See [`MOST_STRIKES`].
    strikes: u32,
    least: Least,
    debt: Duration,
    /// It stays away until then.
    rest_until: Option<Instant>,
    /// How often it has left for its time, as far as that is not forgiven.
    failures: u32,
}

impl Default for DigestRecord {
    fn default() -> Self {
        DigestRecord {
            rides: None,
            good: 0,
            proof: FIRST_PROOF,
            strikes: 0,
            least: Least::default(),
            debt: Duration::ZERO,
            rest_until: None,
            failures: 0,
        }
    }
}

impl DigestRecord {
    /// Whether its statements may ride.
    pub fn rides(&self) -> bool {
        self.rides.is_some()
    }

    /// A statement has run on a connection of its own.
    pub fn ran(&mut self, run: Run, scale: Scale, now: Instant) {
        if self.rides() {
            return;
        }
        if !run.is_fit() {
            self.good = 0;
            return;
        }
        self.good = self.good.saturating_add(1);
        self.least.add(run.time, now);
        let rested = self.rest_until.is_none_or(|until| now >= until);
        if rested && self.good >= self.proof && self.least.get().is_some_and(|least| least <= scale.long) {
            *self =
                DigestRecord { rides: Some(now), good: 0, strikes: 0, debt: Duration::ZERO, rest_until: None, ..*self };
        }
    }

    /// A statement has ridden a lane.
    pub fn rode(&mut self, rode: Rode, scale: Scale, now: Instant) {
        let Some(since) = self.rides else { return };
        if rode.work > scale.stall {
            return self.held_up_others(now);
        }
        if rode.work > scale.long {
            self.debt += rode.work - scale.long;
            if self.debt > scale.long * MOST_DEBT {
                return self.leave(1, now);
            }
        } else {
            self.debt = self.debt.saturating_sub(scale.long / PAID_PER_RIDE);
        }
        if rode.bytes > SHORT_BYTES {
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
        if self.failures > 0 && now.saturating_duration_since(since) >= rest(self.failures) * FORGIVEN_RESTS {
            self.failures -= 1;
            self.rides = Some(now);
        }
    }

    /// A statement holds its lane up.
    pub fn held_up_others(&mut self, now: Instant) {
        if self.rides() {
            self.leave(2, now);
        }
    }

    /// A statement had to be run elsewhere.
    pub fn unfit(&mut self, why: Unfit) {
        self.must_prove(match why {
            Unfit::Large => 4,
            Unfit::Unclean => 8,
        });
    }

    fn must_prove(&mut self, times_more: u32) {
        let proof = self.proof.saturating_mul(times_more).min(LONGEST_PROOF);
        *self = DigestRecord { rides: None, good: 0, strikes: 0, proof, ..*self };
    }

    /// Its statements take too long: it stays away for a while.
    fn leave(&mut self, weight: u32, now: Instant) {
        self.failures = if self.failures == 0 { 1 } else { (self.failures + weight).min(MOST_DOUBLINGS + 1) };
        let rest_until = Some(now + rest(self.failures));
        let least = Least::default();
        *self = DigestRecord { rides: None, good: 0, strikes: 0, debt: Duration::ZERO, rest_until, least, ..*self };
    }
}

fn rest(failures: u32) -> Duration {
    FIRST_REST * (1 << failures.saturating_sub(1).min(MOST_DOUBLINGS))
}

/// The fitness of one digest, shared by the statements of one group that have it.
pub type SharedLearnt = Rc<Cell<DigestRecord>>;

#[cfg(test)]
mod tests;
