//! Where the statements of one hot row meet.
//!
//! What must always hold: a row has at most one queue that takes members, whichever workers they come from; a queue that has a member has
//! a runner, or its first member is about to start one; the oldest members come first. Locks are held for no longer than it takes to
//! look something up: first that of a part of the rows, then that of a queue.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use weir_backend::{PoolKey, Profile};

use super::HotRows;
use super::member::{Member, Verdict};
use super::merged::Merging;

/// The rows are kept in so many parts, each with a lock.
const PARTS: usize = 16;

/// By what members of one queue are alike.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RowKey {
    /// A hash of the statement's shape and of what names its row: by it the row's statements in flight are counted.
    pub row: u64,
    /// The shard.
    pub shard: usize,
    /// The index of the shard's writer.
    pub index: usize,
    /// A hash of the settings that its batches run with.
    pub settings: u64,
    /// Whose connections run it.
    pub pool: PoolKey,
}

/// What members of one queue have in common, as people see it.
#[derive(Debug)]
pub struct About {
    /// The database and the table.
    pub table: (String, String),
    /// The first member's statement, without its new values.
    pub shape: String,
    /// The values that name the row.
    pub values: String,
    /// The members' user.
    pub user: String,
    /// The server.
    pub server: String,
}

#[derive(Debug, Default)]
struct QueueState {
    waiting: VecDeque<Arc<Member>>,
    /// It takes no more.
    closed: bool,
}

/// The members of one hot row that wait for their batch.
#[derive(Debug)]
pub struct Queue {
    /// By what it is found.
    pub key: RowKey,
    /// The settings that its batches run with.
    pub profile: Profile,
    /// What it is about, for display.
    pub about: About,
    /// Its members are INSERTs.
    pub inserts: bool,
    /// Since when the row is hot.
    pub since: SystemTime,
    /// Batches that were committed.
    pub batches: AtomicU64,
    /// Statements in them.
    pub statements: AtomicU64,
    /// Members of the batch at hand.
    pub running: AtomicU64,
    /// What is known of making its members' moves together.
    pub(super) merging: Merging,
    /// Its members warn or fail: what SHOW WARNINGS shows is asked behind each.
    pub(super) asks_warnings: AtomicBool,
    /// What becomes of LAST_INSERT_ID() is asked behind each member.
    pub(super) asks_insert_id: AtomicBool,
    state: Mutex<QueueState>,
}

impl Queue {
    /// An empty one.
    pub fn new(key: RowKey, profile: Profile, about: About, inserts: bool) -> Queue {
        Queue {
            key,
            profile,
            about,
            inserts,
            since: SystemTime::now(),
            batches: AtomicU64::new(0),
            statements: AtomicU64::new(0),
            running: AtomicU64::new(0),
            merging: Merging::default(),
            asks_warnings: AtomicBool::new(false),
            asks_insert_id: AtomicBool::new(false),
            state: Mutex::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Members that wait.
    pub fn waiting(&self) -> usize {
        self.state().waiting.len()
    }

    /// Takes the oldest members for a batch.
    pub(super) fn take(&self, most: usize) -> Vec<Arc<Member>> {
        let mut state = self.state();
        let mut taken = Vec::with_capacity(most.min(state.waiting.len()));
        while taken.len() < most {
            let Some(member) = state.waiting.pop_front() else { break };
            if member.take() {
                taken.push(member);
            }
        }
        taken
    }

    /// Members whose batch was rolled back come first again, in their order.
    pub(super) fn put_back(&self, members: Vec<Arc<Member>>) {
        let mut state = self.state();
        if state.closed {
            drop(state);
            members.iter().for_each(|member| member.end(Verdict::Alone));
            return;
        }
        members.into_iter().rev().for_each(|member| state.waiting.push_front(member));
    }

    /// Counts a batch that was committed.
    pub(super) fn count(&self, members: usize) {
        self.batches.fetch_add(1, Ordering::Relaxed);
        self.statements.fetch_add(members as u64, Ordering::Relaxed);
    }
}

/// A member has joined.
#[derive(Debug)]
pub enum Joined {
    /// A queue that has a runner.
    Queue,
    /// A queue that is new: whoever has joined starts its runner.
    New(Arc<Queue>),
    /// No queue: it is full, or that of others with the same key but other settings.
    Refused,
}

type Part = HashMap<RowKey, Arc<Queue>>;

/// The queues of all hot rows.
#[derive(Debug, Default)]
pub struct Queues {
    parts: [Mutex<Part>; PARTS],
    /// What has gone, for display: the rows that were hot last.
    gone: Mutex<VecDeque<Arc<Queue>>>,
}

/// Rows that are shown although they are not hot any more.
const SHOWN: usize = 32;

impl Queues {
    fn part(&self, row: u64) -> MutexGuard<'_, Part> {
        self.parts[(row >> 33) as usize % PARTS].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets a member join the queue of its row. `queue` makes one if there is none.
    pub fn join(
        rows: &HotRows,
        key: &RowKey,
        profile: &Profile,
        member: &Arc<Member>,
        most: usize,
        queue: impl FnOnce() -> Queue,
    ) -> Joined {
        let mut part = rows.queues.part(key.row);
        if let Some(queue) = part.get(key) {
            let mut state = queue.state();
            if state.closed || queue.profile != *profile || state.waiting.len() >= most {
                return Joined::Refused;
            }
            state.waiting.push_back(member.clone());
            return Joined::Queue;
        }
        let queue = Arc::new(queue());
        queue.state().waiting.push_back(member.clone());
        rows.heat.queue_begins(queue.key.row);
        part.insert(key.clone(), queue.clone());
        Joined::New(queue)
    }

    /// Ends a queue that has no members. False: it has some.
    pub(super) fn end_empty(rows: &HotRows, queue: &Arc<Queue>) -> bool {
        let mut part = rows.queues.part(queue.key.row);
        let mut state = queue.state();
        if !state.waiting.is_empty() {
            return false;
        }
        state.closed = true;
        drop(state);
        part.remove(&queue.key);
        drop(part);
        rows.queues.has_ended(rows, queue);
        true
    }

    /// Ends a queue, and returns the members that it has.
    pub(super) fn end(rows: &HotRows, queue: &Arc<Queue>) -> Vec<Arc<Member>> {
        let mut part = rows.queues.part(queue.key.row);
        let mut state = queue.state();
        if std::mem::replace(&mut state.closed, true) {
            return Vec::new();
        }
        let waiting = state.waiting.drain(..).collect();
        drop(state);
        part.remove(&queue.key);
        drop(part);
        rows.queues.has_ended(rows, queue);
        waiting
    }

    fn has_ended(&self, rows: &HotRows, queue: &Arc<Queue>) {
        rows.heat.queue_ends(queue.key.row);
        if queue.batches.load(Ordering::Relaxed) == 0 {
            return;
        }
        let mut gone = self.gone.lock().unwrap_or_else(PoisonError::into_inner);
        gone.push_back(queue.clone());
        if gone.len() > SHOWN {
            gone.pop_front();
        }
    }

    /// The rows that are hot now.
    pub fn hot(&self) -> Vec<Arc<Queue>> {
        let all = self.parts.iter().map(|part| part.lock().unwrap_or_else(PoisonError::into_inner));
        all.flat_map(|part| part.values().cloned().collect::<Vec<_>>()).collect()
    }

    /// The rows that were hot last, the latest at the end.
    pub fn cooled(&self) -> Vec<Arc<Queue>> {
        self.gone.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }
}
