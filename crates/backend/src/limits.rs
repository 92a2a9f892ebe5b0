//! How many connections to a server may be open, in all and per user, over all workers together.
//!
//! A permit is held by each open connection and given back when it closes. The semaphores are fair: whoever waits
//! longest gets the next permit, on whichever worker it is.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

/// The limits of one server.
#[derive(Debug)]
pub struct Limits {
    total: Arc<Semaphore>,
    /// The most connections of all.
    pub max: usize,
    per_user: usize,
    users: Mutex<HashMap<Box<[u8]>, Arc<Semaphore>>>,
    /// Waiting statements, per worker.
    waiting: Vec<AtomicUsize>,
    /// Rung when another worker wants a connection that this one does not need.
    wanted: Vec<Notify>,
}

/// The right to have one connection open.
#[derive(Debug)]
pub struct Permit {
    _total: OwnedSemaphorePermit,
    _user: Option<OwnedSemaphorePermit>,
}

/// Which limit is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Full {
    /// The server's.
    Server,
    /// The user's.
    User,
}

impl Limits {
    /// Limits of `max` connections, `per_user` of one user (0: no limit), for `workers` threads.
    pub fn new(max: usize, per_user: usize, workers: usize) -> Limits {
        Limits {
            total: Arc::new(Semaphore::new(max)),
            max,
            per_user,
            users: Mutex::default(),
            waiting: (0..workers).map(|_| AtomicUsize::new(0)).collect(),
            wanted: (0..workers).map(|_| Notify::new()).collect(),
        }
    }

    fn user(&self, user: &[u8]) -> Option<Arc<Semaphore>> {
        if self.per_user == 0 {
            return None;
        }
        let mut users = self.users.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(semaphore) = users.get(user) {
            return Some(semaphore.clone());
        }
        // Users come and go; an entry that nobody holds a permit of is as good as none.
        users.retain(|_, semaphore| semaphore.available_permits() < self.per_user || Arc::strong_count(semaphore) > 1);
        let semaphore = Arc::new(Semaphore::new(self.per_user));
        users.insert(user.into(), semaphore.clone());
        Some(semaphore)
    }

    /// A permit for `user`, if one is free now.
    pub fn try_permit(&self, user: &[u8]) -> Result<Permit, Full> {
        let user = match self.user(user) {
            Some(semaphore) => Some(semaphore.try_acquire_owned().map_err(|_| Full::User)?),
            None => None,
        };
        let total = self.total.clone().try_acquire_owned().map_err(|_| Full::Server)?;
        Ok(Permit { _total: total, _user: user })
    }

    /// A permit for `user`, as soon as one is free. Cancel-safe: a dropped future gives back what it got.
    pub async fn permit(&self, user: &[u8]) -> Permit {
        const NEVER_CLOSED: &str = "limits are never closed";
        let user = match self.user(user) {
            Some(semaphore) => Some(semaphore.acquire_owned().await.expect(NEVER_CLOSED)),
            None => None,
        };
        let total = self.total.clone().acquire_owned().await.expect(NEVER_CLOSED);
        Permit { _total: total, _user: user }
    }

    /// The most connections that one user may have.
    pub fn max_per_user(&self) -> usize {
        if self.per_user == 0 { self.max } else { self.per_user.min(self.max) }
    }

    /// Connections open now.
    pub fn open(&self) -> usize {
        self.max.saturating_sub(self.total.available_permits())
    }

    /// A worker's fair share of the connections.
    pub fn share(&self) -> usize {
        self.max / self.waiting.len().max(1)
    }

    /// A statement of `worker` begins to wait: the other workers are asked for a connection that they do not need.
    pub fn begin_wait(&self, worker: usize) {
        self.waiting[worker].fetch_add(1, Ordering::Relaxed);
        for (other, bell) in self.wanted.iter().enumerate() {
            if other != worker {
                bell.notify_one();
            }
        }
    }

    /// A statement of `worker` has what it waited for, or has given up.
    pub fn end_wait(&self, worker: usize) {
        self.waiting[worker].fetch_sub(1, Ordering::Relaxed);
    }

    /// Statements that wait on other workers than this one.
    pub fn waiting_elsewhere(&self, worker: usize) -> usize {
        let all = self.waiting.iter().enumerate();
        all.filter(|(other, _)| *other != worker).map(|(_, n)| n.load(Ordering::Relaxed)).sum()
    }

    /// Statements that wait, on all workers.
    pub fn waiting(&self) -> usize {
        self.waiting.iter().map(|n| n.load(Ordering::Relaxed)).sum()
    }

    /// Resolves when another worker wants a connection. Cancel-safe.
    pub async fn wanted(&self, worker: usize) {
        self.wanted[worker].notified().await;
    }
}
