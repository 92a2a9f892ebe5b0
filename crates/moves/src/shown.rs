//! What SHOW MOVES tells.

use std::sync::{Arc, PoisonError};

use weir_catalog::Move;

use crate::Mover;

/// A move, for display.
#[derive(Debug, Clone, PartialEq)]
pub struct Shown {
    /// Its record.
    pub record: Move,
    /// What it does, or waits for.
    pub state: String,
    /// What came of the latest comparison of both sides.
    pub compared: Option<String>,
    /// Rows that were copied.
    pub rows: u64,
    /// Rows that there are to copy, as far as is known.
    pub of: u64,
    /// Bytes that were copied.
    pub bytes: u64,
    /// Rows per second.
    pub rate: f64,
    /// Seconds that the copy will still take.
    pub remaining: Option<u64>,
    /// How far it is behind, in seconds.
    pub lag: f64,
    /// Changes that were applied.
    pub changes: u64,
}

impl Mover {
    /// All moves that the catalog knows.
    pub fn shown(self: &Arc<Self>) -> Vec<Shown> {
        let catalog = self.sharding.catalog();
        catalog.moves.iter().map(|record| self.show(record)).collect()
    }

    fn show(&self, record: &Move) -> Shown {
        let seen =
            self.running(record.id).map(|running| running.seen.lock().unwrap_or_else(PoisonError::into_inner).clone());
        let seen = seen.unwrap_or_default();
        let progress = seen.progress.as_ref();
        Shown {
            record: record.clone(),
            state: seen.state.clone(),
            compared: seen.compared.clone(),
            rows: progress.map_or(0, |progress| progress.rows_copied),
            of: progress.map_or(0, |progress| progress.rows_estimated),
            bytes: progress.map_or(0, |progress| progress.bytes_copied),
            rate: progress.map_or(0.0, |progress| progress.rate),
            remaining: progress.and_then(|progress| progress.remaining).map(|time| time.as_secs()),
            lag: progress.map_or(0.0, |progress| progress.lag.as_secs_f64()),
            changes: progress.map_or(0, |progress| progress.changes_applied),
        }
    }
}
