//! A server's pulse: how long a trivial statement takes there at this moment, and whether the server answers at all.
//!
//! The monitor sends a COM_PING on its own connection when somebody has asked for a beat, and times its own probes too.
//! By this measure a worker judges the statements of its clients: what takes as long as a hundred trivial ones, and what
//! waits while nobody is answered, is not slow by its own doing. What must always hold: a beat that is still awaited
//! counts with what it has waited so far, so that a server that has stopped is known to have stopped before it goes on.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

/// For how long a beat tells what a trivial statement takes.
const MEMORY: Duration = Duration::from_secs(3);
/// After a beat that took longer, another is sent at once: what held up the first may be over, and a server that works
/// only by turns should not be met outside of them every time.
pub(crate) const SLOW_BEAT: Duration = Duration::from_millis(5);
/// The most beats that are kept.
const MOST_BEATS: usize = 256;

/// Delays of the recent past: when each ended, and how long it was. They don't overlap.
#[derive(Debug, Default)]
pub struct Delays {
    ended: VecDeque<(Instant, Duration)>,
    /// Since when the present one lasts.
    begun: Option<Instant>,
}

impl Delays {
    /// One begins, unless one has begun already.
    pub fn begin(&mut self, at: Instant) {
        self.begun.get_or_insert(at);
    }

    /// The present one ends. Returns when it had begun.
    pub fn end(&mut self, at: Instant) -> Option<Instant> {
        let begun = self.begun.take()?;
        self.ended.push_back((at, at.saturating_duration_since(begun)));
        while self.ended.len() > MOST_BEATS || self.ended.front().is_some_and(|(end, _)| *end + MEMORY < at) {
            self.ended.pop_front();
        }
        Some(begun)
    }

    /// The present one is not one after all.
    pub fn forget(&mut self) {
        self.begun = None;
    }

    /// How much of the time from `since` to `now` they fill.
    pub fn within(&self, since: Instant, now: Instant) -> Duration {
        let overlap = |begin: Instant, end: Instant| end.min(now).saturating_duration_since(begin.max(since));
        let ended = self.ended.iter().rev().take_while(|(end, _)| *end > since);
        let ended: Duration = ended.map(|(end, took)| overlap(end.checked_sub(*took).unwrap_or(*end), *end)).sum();
        ended + self.begun.map_or(Duration::ZERO, |begun| overlap(begun, now))
    }

    /// The shortest.
    pub fn least(&self) -> Option<Duration> {
        self.ended.iter().map(|(_, took)| *took).min()
    }
}

#[derive(Debug, Default)]
struct Beats {
    delays: Delays,
    /// When the last beat that was answered had been sent.
    answered: Option<Instant>,
}

/// See the module.
#[derive(Debug, Default)]
pub struct Pulse {
    beats: Mutex<Beats>,
    wanted: Notify,
}

impl Pulse {
    fn with<T>(&self, look: impl FnOnce(&mut Beats) -> T) -> T {
        look(&mut self.beats.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Asks for a beat soon.
    pub fn ask(&self) {
        self.wanted.notify_one();
    }

    /// Resolves when somebody has asked. Cancel-safe.
    pub(crate) async fn wanted(&self) {
        self.wanted.notified().await;
    }

    /// A beat is sent.
    pub(crate) fn sent(&self, at: Instant) {
        self.with(|beats| beats.delays.begin(at));
    }

    /// It was answered.
    pub(crate) fn answered(&self, at: Instant) {
        self.with(|beats| {
            if let Some(sent) = beats.delays.end(at) {
                beats.answered = Some(sent);
            }
        });
    }

    /// It will not be answered: the server was not reached, or has refused to.
    pub(crate) fn lost(&self) {
        self.with(|beats| beats.delays.forget());
    }

    /// What a trivial statement takes at least; zero if that is not known.
    pub fn least(&self) -> Duration {
        self.with(|beats| beats.delays.least()).unwrap_or_default()
    }

    /// How much of the time from `since` to `now` trivial statements have waited for an answer.
    pub fn waited(&self, since: Instant, now: Instant) -> Duration {
        self.with(|beats| beats.delays.within(since, now))
    }

    /// Whether the server has answered something trivial that it was sent after `since`; `None` if nobody has heard of
    /// it for long, nor waits for an answer.
    pub fn has_answered(&self, since: Instant, now: Instant) -> Option<bool> {
        self.with(|beats| {
            let answered = beats.answered.is_some_and(|sent| sent >= since);
            let heard = beats.answered.is_some_and(|sent| now.saturating_duration_since(sent) < MEMORY);
            (answered || heard || beats.delays.begun.is_some()).then_some(answered)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn what_is_still_awaited_counts() {
        let start = Instant::now();
        let pulse = Pulse::default();
        pulse.sent(start);
        pulse.answered(start + MS);
        assert_eq!(pulse.has_answered(start, start + MS), Some(true));
        pulse.sent(start + 10 * MS);
        assert_eq!(pulse.waited(start + 5 * MS, start + 60 * MS), 50 * MS);
        assert_eq!(pulse.has_answered(start + 5 * MS, start + 60 * MS), Some(false));
        pulse.sent(start + 40 * MS);
        pulse.answered(start + 70 * MS);
        assert_eq!(pulse.waited(start, start + 80 * MS), 61 * MS);
        assert_eq!(pulse.waited(start + 65 * MS, start + 80 * MS), 5 * MS);
        assert_eq!(pulse.least(), MS);
    }

    #[test]
    fn a_server_of_which_nothing_is_heard_has_no_say() {
        let start = Instant::now();
        let pulse = Pulse::default();
        assert_eq!(pulse.has_answered(start, start), None);
        pulse.sent(start);
        assert_eq!(pulse.has_answered(start, start + 60_000 * MS), Some(false));
        pulse.lost();
        assert_eq!(pulse.has_answered(start, start + 60_000 * MS), None);
        assert_eq!((pulse.least(), pulse.waited(start, start + MS)), (Duration::ZERO, Duration::ZERO));
    }
}
