//! Where the writer has been, and when: how old what a reader shows can be at most.
//!
//! What must always hold: a reader that covers the position of an entry has every commit that was acknowledged before the
//! entry's time. So a reader's age is bounded by Weir's own clock alone, whatever its replication threads say.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use weir_backend::Position;

/// Entries that are kept. At ten observations a second, more than a minute of steady writing; a reader that is further behind is out of
/// every rotation.
const MOST: usize = 1024;

/// The writer's positions, oldest first.
#[derive(Debug, Clone, Default)]
pub struct History(VecDeque<(Instant, Arc<Position>)>);

impl History {
    /// The writer was at `position` when it was asked at `asked`.
    pub fn record(&mut self, asked: Instant, position: &Arc<Position>) {
        if let Some((last, at)) = self.0.back_mut() {
            if *last >= asked {
                return;
            }
            if **at == **position {
                *last = asked;
                return;
            }
        }
        if self.0.len() == MOST {
            self.0.pop_front();
        }
        self.0.push_back((asked, position.clone()));
    }

    /// The latest time before which a server at `applied` has every acknowledged commit. `None`: longer ago than is known.
    pub fn as_of(&self, applied: &Position) -> Option<Instant> {
        self.0.iter().rev().find(|(_, position)| applied.covers(position)).map(|(asked, _)| *asked)
    }

    /// Forgets all: another server writes now.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn at(sequence: u64) -> Arc<Position> {
        Arc::new(Position::parse(true, &format!("0-1-{sequence}")).expect("a position"))
    }

    #[test]
    fn a_reader_is_as_old_as_the_newest_entry_that_it_covers() {
        let start = Instant::now();
        let second = |n| start + Duration::from_secs(n);
        let mut history = History::default();
        assert_eq!(history.as_of(&at(1)), None);
        history.record(second(1), &at(10));
        history.record(second(2), &at(20));
        history.record(second(3), &at(30));
        assert_eq!(history.as_of(&at(9)), None);
        assert_eq!(history.as_of(&at(10)), Some(second(1)));
        assert_eq!(history.as_of(&at(29)), Some(second(2)));
        assert_eq!(history.as_of(&at(31)), Some(second(3)));
    }

    #[test]
    fn a_writer_that_stands_still_makes_no_new_entries() {
        let start = Instant::now();
        let mut history = History::default();
        for n in 0..10 {
            history.record(start + Duration::from_secs(n), &at(10));
        }
        // Asked earlier, told later.
        history.record(start, &at(9));
        assert_eq!(history.0.len(), 1);
        assert_eq!(history.as_of(&at(10)), Some(start + Duration::from_secs(9)));
    }

    #[test]
    fn old_entries_make_room() {
        let start = Instant::now();
        let mut history = History::default();
        for n in 0..2 * MOST as u64 {
            history.record(start + Duration::from_millis(n + 1), &at(n));
        }
        assert_eq!(history.0.len(), MOST);
        assert_eq!(history.as_of(&at(0)), None);
    }
}
