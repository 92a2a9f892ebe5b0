//! A batch that a session runs.
//!
//! What must always hold: while this is there, no other session of the process runs the batch; it is gone when the session is.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use weir_shards::own::quoted;

use crate::batches::Batches;
use crate::record::{self, Record};

/// Whether parts may go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Course {
    /// They may.
    #[default]
    Runs,
    /// Not until it is resumed.
    Paused,
    /// No more.
    Cancelled,
}

/// What is seen of a run from outside, and what it is told.
#[derive(Debug, Default)]
pub(crate) struct Live {
    seen: Mutex<Seen>,
}

#[derive(Debug, Default, Clone, Copy)]
struct Seen {
    course: Course,
    waits: bool,
    changed: u64,
}

impl Live {
    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn tell(&self, course: Course) {
        self.seen().course = course;
    }

    pub(crate) fn changed(&self) -> u64 {
        self.seen().changed
    }

    pub(crate) fn state(&self) -> &'static str {
        match *self.seen() {
            Seen { course: Course::Cancelled, .. } => "cancelling",
            Seen { course: Course::Paused, .. } => "paused",
            Seen { waits: true, .. } => "waiting for replicas",
            _ => "running",
        }
    }
}

/// See the module.
#[derive(Debug)]
pub struct Run {
    /// What is known of the batch; the session keeps it up.
    pub record: Record,
    token: String,
    live: Arc<Live>,
    batches: Arc<Batches>,
}

impl Run {
    pub(crate) fn new(record: Record, token: String, live: Arc<Live>, batches: Arc<Batches>) -> Run {
        live.seen().changed = record.changed;
        Run { record, token, live, batches }
    }

    /// What is recorded when it begins.
    pub(crate) fn begins_with(&mut self, record: Record) {
        self.live.seen().changed = record.changed;
        self.record = record;
    }

    /// What it has been told.
    pub fn course(&self) -> Course {
        self.live.seen().course
    }

    /// Whether it has to wait for replicas that take reads and are far behind.
    pub fn waits_for_replicas(&self) -> bool {
        let waits = self.batches.lags();
        self.live.seen().waits = waits;
        waits
    }

    /// The statement that records a part, with which the part's transaction begins: no other shard has joined that yet.
    pub fn done_statement(&self, key: &str) -> String {
        record::done(self.record.id, &self.token, key, self.record.changed)
    }

    /// A part has been committed.
    pub fn note_done(&mut self, key: String, changed: u64) {
        self.record.done = Some(key);
        self.record.parts += 1;
        self.record.changed += changed;
        self.live.seen().changed = self.record.changed;
    }

    /// All parts are done, or it was cancelled, or a part has failed with this error. That the record can't be written is told to the log:
    /// whoever resumes the batch finds what is done.
    pub async fn end(self, error: Option<&str>) {
        let state = match (error, self.course()) {
            (None, _) => "finished",
            (Some(_), Course::Cancelled) => "cancelled",
            (Some(_), _) => "failed",
        };
        self.batches.write_end(record::end(self.record.id, &self.token, self.record.changed, state, error)).await;
        tracing::info!(batch = self.record.id, state, parts = self.record.parts, error, "a batch has ended");
    }

    /// A user's account may record parts from now on.
    ///
    /// # Errors
    /// The server's.
    pub async fn allow(&self, current_user: &str) -> Result<(), weir_wire::Failure> {
        tracing::info!(account = quoted(current_user), "may record the parts of batches");
        self.batches.write(record::allow(current_user)).await
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        self.batches.leave(self.record.id);
    }
}
