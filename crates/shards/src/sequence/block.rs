//! The values of a sequence that this process may give away without asking.
//!
//! What must always hold: what was taken from a block is never in it again; a block that follows another without a gap continues it.

use std::time::{Duration, Instant};

/// The size of a sequence's first block.
const FIRST: u64 = 1_000;
/// The smallest block.
const SMALLEST: u64 = 100;
/// The largest block.
const LARGEST: u64 = 100_000;
/// Blocks that last less grow.
const SHORT: Duration = Duration::from_secs(1);
/// Blocks that last longer shrink.
const LONG: Duration = Duration::from_secs(60);

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Block {
    next: u64,
    /// Behind the last value.
    end: u64,
    /// No block below this is taken: it was given away, or a client wrote such values.
    floor: u64,
    size: u64,
    since: Option<Instant>,
}

impl Block {
    /// The first of `count` consecutive values, if that many are left.
    pub(super) fn take(&mut self, count: u64) -> Option<u64> {
        let behind = self.next.checked_add(count).filter(|behind| *behind <= self.end)?;
        let first = self.next;
        self.next = behind;
        Some(first)
    }

    /// Skips all values up to this one. False: the shard must be updated.
    pub(super) fn pass(&mut self, value: u64) -> bool {
        if value >= self.end {
            return false;
        }
        self.next = self.next.max(value + 1);
        true
    }

    /// Where the next block may begin at the earliest.
    pub(super) fn floor(&self) -> u64 {
        self.floor
    }

    /// How large the next block should be.
    pub(super) fn size_at(&mut self, now: Instant) -> u64 {
        self.size = match self.since.map(|since| now.saturating_duration_since(since)) {
            None => FIRST,
            Some(lasted) if lasted < SHORT => (self.size * 2).min(LARGEST),
            Some(lasted) if lasted > LONG => (self.size / 2).max(SMALLEST),
            Some(_) => self.size,
        };
        self.since = Some(now);
        self.size
    }

    /// A block that the shard has given.
    pub(super) fn extend(&mut self, start: u64, size: u64) {
        if start != self.end || self.next >= self.end {
            self.next = start;
        }
        self.end = start + size;
        self.floor = self.end;
    }

    /// The next value, if there is one.
    pub(super) fn next(&self) -> Option<u64> {
        (self.next < self.end).then_some(self.next)
    }

    /// The next value, if the shard's next block begins behind this one.
    pub(super) fn rest_before(&self, stored: u64) -> Option<u64> {
        self.next().filter(|_| stored == self.end)
    }

    /// Forgets the values that are left.
    pub(super) fn clear(&mut self) {
        self.next = self.end;
    }

    /// Discards everything: the sequence restarts.
    pub(super) fn reset(&mut self) {
        *self = Block { size: self.size, since: self.since, ..Block::default() };
    }

    /// Forgets the values that are left, and says which they were: the next one, and what is behind the last.
    pub(super) fn give_up(&mut self) -> Option<(u64, u64)> {
        let rest = self.next().map(|next| (next, self.end));
        self.reset();
        rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_in_a_row_and_once() {
        let mut block = Block::default();
        assert_eq!(block.take(1), None);
        block.extend(1, 10);
        assert_eq!((block.take(1), block.take(3), block.take(7)), (Some(1), Some(2), None));
        // The next block follows without a gap: what is left goes on.
        block.extend(11, 10);
        assert_eq!((block.take(7), block.take(1)), (Some(5), Some(12)));
        // Another process has taken the one between: what is left is a gap.
        block.extend(100, 10);
        assert_eq!((block.take(1), block.floor()), (Some(100), 110));
    }

    #[test]
    fn a_value_that_was_written_is_passed() {
        let mut block = Block::default();
        assert!(!block.pass(5), "nothing is known: the shard has to be told");
        block.extend(1, 10);
        assert!(block.pass(4));
        assert_eq!(block.take(1), Some(5));
        assert!(block.pass(2));
        assert_eq!(block.take(1), Some(6));
        assert!(block.pass(10));
        assert_eq!(block.take(1), None);
        assert!(!block.pass(11), "it is beyond the block");
        assert!(!block.pass(u64::MAX));
    }

    #[test]
    fn blocks_grow_when_they_are_used_up_fast_and_shrink_when_not() {
        let (mut block, mut now) = (Block::default(), Instant::now());
        assert_eq!(block.size_at(now), FIRST);
        for _ in 0..10 {
            now += Duration::from_millis(10);
            block.size_at(now);
        }
        assert_eq!(block.size, LARGEST);
        now += Duration::from_secs(30);
        assert_eq!(block.size_at(now), LARGEST);
        for _ in 0..12 {
            now += Duration::from_secs(100);
            block.size_at(now);
        }
        assert_eq!(block.size, SMALLEST);
    }

    #[test]
    fn what_is_given_up_is_the_rest() {
        let mut block = Block::default();
        assert_eq!(block.give_up(), None);
        block.extend(1, 10);
        block.take(4);
        assert_eq!(block.rest_before(11), Some(5));
        assert_eq!(block.rest_before(12), None);
        assert_eq!(block.give_up(), Some((5, 11)));
        assert_eq!((block.take(1), block.floor()), (None, 0));
    }
}
