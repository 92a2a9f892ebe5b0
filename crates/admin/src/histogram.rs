//! A histogram of times on a logarithmic scale: four buckets for each doubling, so that a percentile read from it is at
//! most a quarter too long, whatever its size.
//!
//! What must always hold: noting a time allocates nothing and takes the same few steps for each time; two histograms can be
//! added up.

use std::time::Duration;

/// Buckets: up to 256 ns · 2³³, which is some 36 minutes; the last one takes all that is longer.
const BUCKETS: usize = 128;
/// The shortest time that is distinguished from 0 is 2 to this power, in nanoseconds.
const UNIT_BITS: u32 = 8;

/// See the module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Histogram([u64; BUCKETS]);

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram([0; BUCKETS])
    }
}

/// The bucket of a time in nanoseconds.
fn bucket(nanoseconds: u64) -> usize {
    let units = nanoseconds >> UNIT_BITS;
    if units < 4 {
        return units as usize;
    }
    let doublings = units.ilog2();
    let quarter = (units >> (doublings - 2)) & 3;
    ((doublings as usize - 1) * 4 + quarter as usize).min(BUCKETS - 1)
}

/// Every time in a bucket is shorter than this, in nanoseconds.
fn end_of(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    let units = if bucket < 4 { bucket + 1 } else { (4 + bucket % 4 + 1) << (bucket / 4 - 1) };
    units << UNIT_BITS
}

impl Histogram {
    /// Notes a time.
    pub fn note(&mut self, nanoseconds: u64) {
        self.0[bucket(nanoseconds)] += 1;
    }

    /// Adds what another one has noted.
    pub fn add(&mut self, other: &Histogram) {
        self.0.iter_mut().zip(&other.0).for_each(|(own, others)| *own += others);
    }

    /// The time that `share` (0 to 1) of all times are within. `None` when there are none.
    pub fn percentile(&self, share: f64) -> Option<Duration> {
        let count: u64 = self.0.iter().sum();
        if count == 0 {
            return None;
        }
        let rank = ((count as f64 * share).ceil() as u64).clamp(1, count);
        let mut seen = 0;
        let at = self.0.iter().position(|times| {
            seen += times;
            seen >= rank
        });
        at.map(|bucket| Duration::from_nanos(end_of(bucket)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_time_is_in_the_bucket_that_ends_next_after_it() {
        let mut time = 1_u64;
        while time < 1 << 41 {
            for near in [time - 1, time, time + 1, time + time / 3] {
                let at = bucket(near);
                assert!(near < end_of(at) || at == BUCKETS - 1, "{near} is in the bucket up to {}", end_of(at));
                if at > 0 {
                    assert!(near >= end_of(at - 1), "{near} is beyond the bucket up to {}", end_of(at - 1));
                }
            }
            time *= 2;
        }
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn percentiles_are_at_most_a_quarter_too_long() {
        let mut histogram = Histogram::default();
        assert_eq!(histogram.percentile(0.5), None);
        for time in 1..=1000_u64 {
            histogram.note(time * 10_000);
        }
        for (share, exact) in [(0.5, 5_000_000), (0.95, 9_500_000), (0.99, 9_900_000), (1.0, 10_000_000)] {
            let told = histogram.percentile(share).expect("there are times").as_nanos() as u64;
            assert!(told >= exact && told <= exact + exact / 4, "{share}: {told}");
        }
        let mut twice = histogram.clone();
        twice.add(&histogram);
        assert_eq!(twice.percentile(0.95), histogram.percentile(0.95));
    }
}
