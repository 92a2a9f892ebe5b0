//! What statements cost, counted by the workers that run them.
//!
//! What must always hold: counting takes no lock. A worker's table of digests is its own; who wants to see it asks, and the
//! worker answers between two statements. Numbers for metrics are atomics that only their worker writes.

mod counters;
mod errors;

use std::rc::Rc;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use weir_wire::Failure;
use weir_wire::error::codes;

use crate::digests::{self, Digested, Row, Run, Table};
use crate::kind::StatementKind;
pub use counters::{AnsweredBy, BOUNDS, Counters, Totals};
pub use errors::ErrorCounts;

/// A worker answers within this time, or something is very wrong.
const PATIENCE: Duration = Duration::from_secs(5);

/// What a worker is asked.
#[derive(Debug)]
enum Ask {
    Rows(oneshot::Sender<Vec<Row>>),
    Reset(oneshot::Sender<()>),
}

#[derive(Debug, Default)]
struct Share {
    counters: Arc<Counters>,
    asks: OnceLock<mpsc::UnboundedSender<Ask>>,
}

/// What all workers have counted.
#[derive(Debug)]
pub struct Statistics {
    shares: Vec<Share>,
    /// Errors that clients were told.
    pub errors: ErrorCounts,
}

impl Statistics {
    /// For this number of workers.
    pub fn new(workers: usize) -> Statistics {
        Statistics { shares: (0..workers).map(|_| Share::default()).collect(), errors: ErrorCounts::default() }
    }

    /// What the workers have counted for metrics.
    pub fn counters(&self) -> impl Iterator<Item = &Counters> {
        self.shares.iter().map(|share| &*share.counters)
    }

    /// The digests of all workers, by total time.
    ///
    /// # Errors
    /// When a worker does not answer.
    pub async fn digests(&self) -> Result<Vec<Row>, Failure> {
        let answers = self.ask(Ask::Rows).await?;
        Ok(digests::merged(answers.into_iter().flatten()))
    }

    /// Forgets what has been counted of digests.
    ///
    /// # Errors
    /// When a worker does not answer.
    pub async fn reset_digests(&self) -> Result<(), Failure> {
        self.ask(Ask::Reset).await.map(drop)
    }

    /// Asks all workers; those that have ended have nothing to say.
    async fn ask<T>(&self, ask: fn(oneshot::Sender<T>) -> Ask) -> Result<Vec<T>, Failure> {
        let asked = self.shares.iter().filter_map(|share| {
            let (answer, answered) = oneshot::channel();
            share.asks.get()?.send(ask(answer)).ok()?;
            Some(answered)
        });
        let mut answers = Vec::new();
        for answered in asked.collect::<Vec<_>>() {
            match tokio::time::timeout(PATIENCE, answered).await {
                Ok(answer) => answers.extend(answer),
                Err(_) => {
                    let message = format!("A worker has not answered for {} s", PATIENCE.as_secs());
                    return Err(Failure::weir(codes::ER_UNKNOWN_ERROR, message));
                }
            }
        }
        Ok(answers)
    }
}

/// A worker's own part.
#[derive(Debug)]
pub struct WorkerStatistics {
    /// What it knows of digests.
    pub table: Table,
    /// What it counts for metrics.
    pub counters: Arc<Counters>,
    all: Arc<Statistics>,
}

/// What others ask a worker; [`WorkerStatistics::answer`] takes it.
#[derive(Debug)]
pub struct Asks(mpsc::UnboundedReceiver<Ask>);

impl WorkerStatistics {
    /// The part of the worker with this number. Each worker takes its part once.
    pub fn of(all: &Arc<Statistics>, worker: usize) -> (Rc<WorkerStatistics>, Asks) {
        let (sender, asks) = mpsc::unbounded_channel();
        let counters = match all.shares.get(worker) {
            Some(share) => {
                let taken = share.asks.set(sender).is_err();
                debug_assert!(!taken, "each worker takes its part once");
                share.counters.clone()
            }
            None => Arc::default(),
        };
        (Rc::new(WorkerStatistics { table: Table::default(), counters, all: all.clone() }), Asks(asks))
    }

    /// Counts a run of a statement.
    #[inline]
    pub fn note(&self, entry: &Rc<Digested>, run: &Run, place: AnsweredBy) {
        self.table.note(entry, run);
        self.counters.note(entry.kind, place, run.on_lane, run.time);
    }

    /// Counts an error that a client was told.
    #[inline]
    pub fn note_error(&self, code: u16) {
        self.all.errors.note(code);
    }

    /// Answers the requests of others, for as long as it is polled.
    pub async fn answer(self: Rc<Self>, mut asks: Asks) {
        while let Some(ask) = asks.0.recv().await {
            match ask {
                // Who has asked may have gone.
                Ask::Rows(answer) => drop(answer.send(self.table.rows())),
                Ask::Reset(answer) => {
                    self.table.reset();
                    let _ = answer.send(());
                }
            }
        }
    }
}

/// The numbers of one kind of statement, over all workers.
pub fn total(all: &Statistics, kind: StatementKind) -> Totals {
    let mut totals = Totals::default();
    all.counters().for_each(|counters| totals.add(counters, kind));
    totals
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use weir_sql::LexMode;

    use super::*;

    fn run(microseconds: u64) -> Run {
        Run {
            ended: Instant::now(),
            time: Duration::from_micros(microseconds),
            rows_sent: 1,
            rows_affected: 0,
            bytes: 10,
            failed: false,
            on_replica: false,
            on_lane: true,
        }
    }

    fn note(worker: &WorkerStatistics, text: &[u8], run: &Run) {
        let mode = LexMode::default();
        let entry = worker.table.entry(text, mode, &weir_sql::classify(text, mode));
        worker.note(&entry, run, AnsweredBy::Writer);
    }

    #[tokio::test]
    async fn workers_answer_with_what_they_have_counted() {
        let local = tokio::task::LocalSet::new();
        let all = Arc::new(Statistics::new(3));
        // The third worker has not begun.
        let workers = [0, 1].map(|number| WorkerStatistics::of(&all, number));
        for (worker, asks) in workers {
            note(&worker, b"SELECT 1", &run(10));
            local.spawn_local(worker.answer(asks));
        }
        local
            .run_until(async {
                let rows = all.digests().await.expect("workers answer");
                assert_eq!((rows.len(), rows[0].counts.count), (1, 2));
                all.reset_digests().await.expect("workers answer");
                assert_eq!(all.digests().await.expect("workers answer").len(), 0);
            })
            .await;
        let totals = total(&all, StatementKind::Select);
        assert_eq!(totals.count, 2, "metrics are not reset");
        assert_eq!(totals.places[AnsweredBy::Writer as usize][1], 2);
    }
}
