//! Which rows are hot: statements in flight, by row.
//!
//! What must always hold: a statement on a row that is not hot costs two additions to a counter that hardly anybody else looks at. Two
//! rows may share a counter: then one may be taken for hot because the other is, which costs time and never an answer.

use std::ops::Deref;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::HotRows;

/// Counters, of four bytes each.
const SLOTS: usize = 1 << 14;
/// What a queue adds to its row's counter: the statements in flight are below it.
const QUEUE: u32 = 1 << 20;

/// See the module.
#[derive(Debug)]
pub struct Heat(Box<[AtomicU32]>);

impl Default for Heat {
    fn default() -> Heat {
        Heat((0..SLOTS).map(|_| AtomicU32::new(0)).collect())
    }
}

impl Heat {
    fn slot(&self, row: u64) -> &AtomicU32 {
        // The low bits of a multiplied hash are its weakest.
        &self.0[(row >> 40) as usize % SLOTS]
    }

    /// Whether a row is hot, if so many statements in flight make it so: also as long as it has a queue.
    pub fn is_hot(&self, row: u64, threshold: u32) -> bool {
        self.slot(row).load(Ordering::Relaxed) >= threshold
    }

    /// A queue for a row has come.
    pub(super) fn queue_begins(&self, row: u64) {
        self.slot(row).fetch_add(QUEUE, Ordering::Relaxed);
    }

    /// A queue has gone.
    pub(super) fn queue_ends(&self, row: u64) {
        self.slot(row).fetch_sub(QUEUE, Ordering::Relaxed);
    }
}

/// What all workers know, as one worker refers to it: the counter of references is the worker's own, and no other touches it.
#[derive(Debug)]
pub struct RowsOfWorker(Arc<HotRows>);

impl RowsOfWorker {
    /// A worker's references to this.
    pub fn new(rows: Arc<HotRows>) -> Rc<RowsOfWorker> {
        Rc::new(RowsOfWorker(rows))
    }
}

impl Deref for RowsOfWorker {
    type Target = HotRows;

    fn deref(&self) -> &HotRows {
        &self.0
    }
}

/// A statement that is in flight on a connection of its own, until this is dropped.
#[derive(Debug)]
pub struct InFlight {
    rows: Rc<RowsOfWorker>,
    row: u64,
}

impl InFlight {
    /// A statement of this row begins.
    pub fn begin(rows: &Rc<RowsOfWorker>, row: u64) -> InFlight {
        rows.heat.slot(row).fetch_add(1, Ordering::Relaxed);
        InFlight { rows: rows.clone(), row }
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.rows.heat.slot(self.row).fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_hot_while_many_statements_are_in_flight_or_it_has_a_queue() {
        let rows = RowsOfWorker::new(HotRows::new(Default::default()));
        let row = 7 << 40;
        let first = InFlight::begin(&rows, row);
        assert!(!rows.heat.is_hot(row, 2) && !rows.heat.is_hot(8 << 40, 1));
        let second = InFlight::begin(&rows, row);
        assert!(rows.heat.is_hot(row, 2));
        drop((first, second));
        assert!(!rows.heat.is_hot(row, 1));
        rows.heat.queue_begins(row);
        assert!(rows.heat.is_hot(row, 1000));
        rows.heat.queue_ends(row);
        assert!(!rows.heat.is_hot(row, 1));
    }
}
