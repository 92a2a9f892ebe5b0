//! Whether a server that is met on a new connection has been restarted since it was met before.
//!
//! No server tells which of its starts this is, so it is found out from how long it has been running and from the number of the connection.
//! What must always hold: where there is doubt (its clock was set back, its connections' numbers began anew, it does not tell its uptime), it
//! counts as restarted, since settings by hand end with a restart.

use std::time::{Duration, Instant};

/// What a server says when a connection to it is made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Seen {
    /// When it was asked.
    pub(super) asked: Instant,
    /// When the answer came: it was given at some time between.
    pub(super) answered: Instant,
    /// For how long it had been running then, in whole seconds.
    pub(super) uptime: Duration,
    /// The number that it has given to the connection: they count from the start.
    pub(super) connection: u32,
}

/// One start of a server.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Start {
    /// How many others were seen before.
    pub(super) number: u64,
    /// The last connection since.
    seen: Option<Seen>,
}

/// Up to which part of the time two clocks may run differently: one may be corrected slowly, the other not.
const DRIFT: u32 = 1000;

impl Start {
    /// The start that `seen` follows.
    pub(super) fn after(self, seen: Seen) -> Start {
        let restarted = self.seen.is_some_and(|last| last.is_of_another_start(seen));
        Start { number: self.number + u64::from(restarted), seen: Some(seen) }
    }
}

impl Seen {
    fn is_of_another_start(self, next: Seen) -> bool {
        let between = next.asked.saturating_duration_since(self.answered);
        // Both are told in whole seconds.
        let slack = Duration::from_secs(1) + between / DRIFT;
        next.connection <= self.connection || next.uptime + slack < self.uptime + between
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_was_restarted_has_been_running_for_less_time() {
        let met = Instant::now();
        let late = |asked: u64, answered: u64, uptime: u64, connection: u32| Seen {
            asked: met + Duration::from_secs(asked),
            answered: met + Duration::from_secs(answered),
            uptime: Duration::from_secs(uptime),
            connection,
        };
        let seen = |seconds: u64, uptime: u64, connection: u32| late(seconds, seconds, uptime, connection);
        let day = 86_400;
        let cases = [
            ("the next second", seen(0, 500, 80), seen(1, 501, 81), false),
            ("whole seconds", seen(0, 500, 80), seen(2, 501, 81), false),
            ("a late answer", seen(0, 500, 80), late(1, 9, 509, 81), false),
            ("the first answer was late", late(0, 9, 509, 80), seen(10, 510, 81), false),
            ("restarted after a late answer", late(0, 9, 509, 80), seen(10, 0, 81), true),
            ("its clock was set forward", seen(0, 500, 80), seen(1, 4_000, 81), false),
            ("its clock is slow", seen(0, 500, 80), seen(30 * day, 30 * day - 1_500, 81), false),
            ("restarted", seen(0, 500, 80), seen(9, 3, 81), true),
            ("restarted at once", seen(0, 500, 80), seen(1, 0, 81), true),
            ("restarted soon after a start", seen(0, 1, 9), seen(1, 0, 8), true),
            ("restarted after a month", seen(0, 500, 80), seen(30 * day, 2, 81), true),
            ("met again long after a restart", seen(0, 500, 80), seen(day, day - 600, 81), true),
            ("its clock was set back", seen(0, 500, 80), seen(1, 440, 81), true),
        ];
        for (what, first, next, restarted) in cases {
            let start = Start::default().after(first);
            assert_eq!(start.number, 0, "{what}");
            assert_eq!(start.after(next).number, u64::from(restarted), "{what}");
        }
    }
}
