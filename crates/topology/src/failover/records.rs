//! What was done to groups, when and why: for `WEIR SHOW FAILOVERS`, and told to the log as it happens.

use std::collections::VecDeque;
use std::fmt::Display;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

/// Actions that are kept.
const MOST: usize = 100;

/// What was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// A dead writer was replaced.
    Failover,
    /// The writer was changed while it was there.
    Switchover,
    /// A server was made to follow the writer.
    Rejoin,
    /// A server was made read-only.
    Fence,
    /// The writer takes writes again.
    Resume,
    /// A group was started after all of it was down.
    Boot,
    /// The group has chosen another writer by itself.
    Elected,
}

impl Action {
    /// One word for tables.
    pub fn name(self) -> &'static str {
        match self {
            Action::Failover => "failover",
            Action::Switchover => "switchover",
            Action::Rejoin => "rejoin",
            Action::Fence => "fence",
            Action::Resume => "resume",
            Action::Boot => "boot",
            Action::Elected => "elected",
        }
    }
}

/// An action, from its beginning to its end.
#[derive(Debug, Clone)]
pub struct Record {
    /// What was done.
    pub action: Action,
    /// The server that was the writer, or that was worked on.
    pub from: String,
    /// The server that became the writer, or is followed.
    pub to: String,
    /// When it began.
    pub began: SystemTime,
    /// How long it took.
    pub took: Duration,
    /// `done`, or why it failed.
    pub outcome: String,
    /// Transactions that the old writer had and the new one has not, as far as is known.
    pub lost: Option<String>,
    /// What was seen, decided and done, each with the time since the beginning.
    pub timeline: Vec<(Duration, String)>,
}

/// The latest actions on a group, oldest first.
#[derive(Debug, Default)]
pub struct Records(Mutex<VecDeque<Arc<Record>>>);

impl Records {
    /// Adds one; the oldest makes room.
    pub(crate) fn add(&self, record: Record) {
        let mut records = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if records.len() == MOST {
            records.pop_front();
        }
        records.push_back(Arc::new(record));
    }

    /// All of them.
    pub fn all(&self) -> Vec<Arc<Record>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }
}

/// A record in the making.
#[derive(Debug)]
pub(crate) struct Progress {
    group: String,
    start: Instant,
    record: Record,
}

impl Progress {
    /// Something begins.
    pub(crate) fn begin(group: &str, action: Action, from: &str) -> Progress {
        let record = Record {
            action,
            from: from.to_owned(),
            to: String::new(),
            began: SystemTime::now(),
            took: Duration::ZERO,
            outcome: String::new(),
            lost: None,
            timeline: Vec::new(),
        };
        Progress { group: group.to_owned(), start: Instant::now(), record }
    }

    /// Something was seen, decided or done.
    pub(crate) fn note(&mut self, what: impl Into<String>) {
        let what = what.into();
        tracing::info!(group = %self.group, action = self.record.action.name(), "{what}");
        self.record.timeline.push((self.start.elapsed(), what));
    }

    /// Which server it leads to.
    pub(crate) fn to(&mut self, server: &str) {
        server.clone_into(&mut self.record.to);
    }

    /// What is lost, as far as is known.
    pub(crate) fn lost(&mut self, what: String) {
        tracing::error!(group = %self.group, transactions = %what, "transactions of the old writer are lost");
        self.record.lost = Some(what);
    }

    /// It has ended.
    pub(crate) fn end<E: Display>(mut self, records: &Records, outcome: &Result<(), E>) {
        self.record.took = self.start.elapsed();
        let (group, action) = (&self.group, self.record.action.name());
        self.record.outcome = match outcome {
            Ok(()) => {
                tracing::warn!(%group, action, from = %self.record.from, to = %self.record.to, "done");
                "done".to_owned()
            }
            Err(why) => {
                tracing::error!(%group, action, from = %self.record.from, %why, "failed");
                why.to_string()
            }
        };
        records.add(self.record);
    }
}
