//! How many statements may run, over all workers.
//!
//! What must always hold: a limit per second lets no more through than its rate and one second's worth at once; who has to
//! wait is told at once how long, or that it would be too long.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// See the module.
#[derive(Debug)]
pub struct Limit {
    /// What is limited.
    pub by: LimitBy,
    /// The longest that a statement waits for its turn; may be zero.
    pub wait: Duration,
}

/// What is limited.
#[derive(Debug)]
pub enum LimitBy {
    /// Statements per second.
    Rate(Rate),
    /// Statements at a time.
    Concurrency(Arc<Semaphore>),
}

/// Statements per second: the time at which all that was let through would have come at an even pace.
#[derive(Debug)]
pub struct Rate {
    per_second: u32,
    begun: Instant,
    even: AtomicU64,
}

impl Limit {
    /// So many per second.
    pub fn rate(per_second: u32, wait: Duration) -> Limit {
        let rate = Rate { per_second: per_second.max(1), begun: Instant::now(), even: AtomicU64::new(0) };
        Limit { by: LimitBy::Rate(rate), wait }
    }

    /// So many at a time.
    pub fn concurrency(most: usize, wait: Duration) -> Limit {
        Limit { by: LimitBy::Concurrency(Arc::new(Semaphore::new(most.min(Semaphore::MAX_PERMITS)))), wait }
    }

    /// Waits for a turn; it ends when what is returned is dropped. `None`: it would take too long. Cancel-safe, but a turn
    /// of a rate is used up.
    pub async fn turn(&self) -> Option<Turn> {
        match &self.by {
            LimitBy::Rate(rate) => {
                let delay = rate.take(rate.begun.elapsed(), self.wait)?;
                if !delay.is_zero() {
                    tokio::time::sleep(delay).await;
                }
                Some(Turn(None))
            }
            LimitBy::Concurrency(places) => {
                if let Ok(place) = places.clone().try_acquire_owned() {
                    return Some(Turn(Some(place)));
                }
                let place = tokio::time::timeout(self.wait, places.clone().acquire_owned()).await;
                place.ok()?.ok().map(|place| Turn(Some(place)))
            }
        }
    }
}

/// A statement's turn.
#[derive(Debug)]
pub struct Turn(#[expect(dead_code, reason = "its place is given back with it")] Option<OwnedSemaphorePermit>);

impl Rate {
    /// Takes a turn at time `now` since the beginning: how long to wait for it, if that is not longer than `wait`.
    fn take(&self, now: Duration, wait: Duration) -> Option<Duration> {
        let nanoseconds = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let (now, wait) = (nanoseconds(now), nanoseconds(wait));
        let pace = 1_000_000_000 / u64::from(self.per_second);
        let at_once = pace * u64::from(self.per_second - 1);
        let mut even = self.even.load(Ordering::Relaxed);
        loop {
            let turn = even.max(now);
            let delay = turn.saturating_sub(at_once).saturating_sub(now);
            if delay > wait {
                return None;
            }
            match self.even.compare_exchange_weak(even, turn + pace, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return Some(Duration::from_nanos(delay)),
                Err(others) => even = others,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    fn rate(per_second: u32) -> Rate {
        let LimitBy::Rate(rate) = Limit::rate(per_second, Duration::ZERO).by else { unreachable!("a rate") };
        rate
    }

    #[test]
    fn a_second_of_turns_at_once_and_then_an_even_pace() {
        let rate = rate(10);
        for _ in 0..10 {
            assert_eq!(rate.take(MS(5000), MS(0)), Some(MS(0)));
        }
        assert_eq!(rate.take(MS(5000), MS(0)), None);
        assert_eq!(rate.take(MS(5000), MS(250)), Some(MS(100)));
        assert_eq!(rate.take(MS(5000), MS(250)), Some(MS(200)));
        assert_eq!(rate.take(MS(5000), MS(250)), None, "it would take 300 ms");
        assert_eq!(rate.take(MS(5100), MS(250)), Some(MS(200)));
        for _ in 0..10 {
            assert_eq!(rate.take(MS(60_000), MS(0)), Some(MS(0)));
        }
        assert_eq!(rate.take(MS(60_000), MS(0)), None);
    }

    #[tokio::test]
    async fn places_are_given_back() {
        let limit = Limit::concurrency(2, MS(1));
        let (first, second) = (limit.turn().await, limit.turn().await);
        assert!(first.is_some() && second.is_some());
        assert!(limit.turn().await.is_none());
        drop(first);
        assert!(limit.turn().await.is_some());
    }
}
