//! A limit on the planner's work for one statement.
//!
//! What must always hold: whatever is planned beyond the limit is discarded. Functions that count may therefore return anything then (they
//! return at once), and [`crate::plan`] refuses the statement.

use std::cell::Cell;

/// What any statement may take.
const LEAST: u64 = 20_000_000;
/// What each byte of the text adds: passes that are linear take some tens of steps for a byte.
const PER_BYTE: u64 = 64;
/// What no statement may take more of.
const MOST: u64 = 500_000_000;

/// The steps that planning one statement has taken, and may take. A step is about one comparison of two names.
#[derive(Debug)]
pub struct Effort {
    most: u64,
    spent: Cell<u64>,
}

impl Effort {
    /// What a text of this length may take.
    pub fn of(text: &[u8]) -> Self {
        let more = PER_BYTE.saturating_mul(text.len() as u64);
        Effort { most: LEAST.saturating_add(more).min(MOST), spent: Cell::new(0) }
    }

    /// The steps so far.
    pub fn spent(&self) -> u64 {
        self.spent.get()
    }

    /// Counts steps that are about to be taken. False: they must not be, as the effort is spent.
    pub(crate) fn spend(&self, steps: usize) -> bool {
        self.spent.set(self.spent.get().saturating_add(steps as u64));
        !self.is_spent()
    }

    pub(crate) fn is_spent(&self) -> bool {
        self.spent.get() > self.most
    }
}
