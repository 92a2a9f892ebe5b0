//! How many connections to a server may be open, in all and per user, over all workers together.
//!
//! A permit is held by each open connection and given back when it closes. The semaphores are fair: whoever waits
//! longest gets the next permit, on whichever worker it is. A limit can be changed while permits are out: a lower one is
//! reached as connections close.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

/// More permits than connections can be; small enough for a semaphore.
const NO_LIMIT: usize = 1 << 30;

/// A number of permits that can be changed.
#[derive(Debug)]
pub(crate) struct Bound {
    semaphore: Arc<Semaphore>,
    max: AtomicUsize,
    /// Permits that are out, and are to be none when they come back.
    excess: AtomicUsize,
}

impl Bound {
    pub(crate) fn new(max: usize) -> Arc<Bound> {
        let semaphore = Arc::new(Semaphore::new(max));
        Arc::new(Bound { semaphore, max: AtomicUsize::new(max), excess: AtomicUsize::new(0) })
    }

    pub(crate) fn max(&self) -> usize {
        self.max.load(Ordering::Relaxed)
    }

    /// Permits that are out.
    fn out(&self) -> usize {
        let all = self.max() + self.excess.load(Ordering::Relaxed);
        all.saturating_sub(self.semaphore.available_permits())
    }

    /// A permit, if one is free now.
    pub(crate) fn try_take(self: &Arc<Bound>) -> Option<Held> {
        let permit = self.semaphore.clone().try_acquire_owned().ok()?;
        Some(Held { bound: self.clone(), permit: Some(permit) })
    }

    /// A permit, as soon as one is free. Cancel-safe.
    pub(crate) async fn take(self: &Arc<Bound>) -> Held {
        let permit = self.semaphore.clone().acquire_owned().await.expect("limits are never closed");
        Held { bound: self.clone(), permit: Some(permit) }
    }

    /// To be called by one at a time.
    pub(crate) fn set_max(&self, max: usize) {
        let old = self.max.swap(max, Ordering::Relaxed);
        if max < old {
            let forgotten = self.semaphore.forget_permits(old - max);
            self.excess.fetch_add(old - max - forgotten, Ordering::Relaxed);
        } else {
            let kept = (0..max - old).take_while(|_| self.take_excess()).count();
            self.semaphore.add_permits(max - old - kept);
        }
    }

    /// Whether there was excess; it is one less now.
    fn take_excess(&self) -> bool {
        let less = |excess: usize| excess.checked_sub(1);
        self.excess.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok()
    }
}

/// A permit of a bound.
#[derive(Debug)]
pub(crate) struct Held {
    bound: Arc<Bound>,
    permit: Option<OwnedSemaphorePermit>,
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(permit) = self.permit.take()
            && self.bound.take_excess()
        {
            permit.forget();
        }
    }
}

/// The limits of one server.
#[derive(Debug)]
pub struct Limits {
    total: Arc<Bound>,
    /// The most connections of one user; 0: no limit.
    per_user: AtomicUsize,
    users: Mutex<Users>,
    /// Limits that servers have for users, where they are lower.
    of_accounts: Mutex<HashMap<Box<[u8]>, usize>>,
    /// Waiting statements, per worker.
    waiting: Vec<AtomicUsize>,
    /// Open connections, per worker.
    open_of: Vec<AtomicUsize>,
    /// Rung when another worker wants a connection that this one does not need.
    wanted: Vec<Notify>,
}

type Users = HashMap<Box<[u8]>, Arc<Bound>>;

/// The right to have one connection open.
#[derive(Debug)]
pub struct Permit {
    _total: Held,
    _user: Held,
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
            total: Bound::new(max),
            per_user: AtomicUsize::new(per_user),
            users: Mutex::default(),
            of_accounts: Mutex::default(),
            waiting: (0..workers).map(|_| AtomicUsize::new(0)).collect(),
            open_of: (0..workers).map(|_| AtomicUsize::new(0)).collect(),
            wanted: (0..workers).map(|_| Notify::new()).collect(),
        }
    }

    /// Changes the limits. Connections beyond stay until they close.
    pub fn set(&self, max: usize, per_user: usize) {
        let users = self.users();
        self.total.set_max(max);
        self.per_user.store(per_user, Ordering::Relaxed);
        users.iter().for_each(|(name, user)| user.set_max(self.bound_of(name)));
    }

    /// The server allows this user this number of connections; 0: no limit of its own.
    pub fn set_user(&self, user: &[u8], most: usize) {
        let mut of_accounts = self.of_accounts();
        let before = match most {
            0 => of_accounts.remove(user),
            _ => of_accounts.insert(user.into(), most),
        };
        drop(of_accounts);
        if before.unwrap_or(0) != most
            && let Some(bound) = self.users().get(user)
        {
            bound.set_max(self.bound_of(user));
        }
    }

    fn bound_of(&self, user: &[u8]) -> usize {
        let own = self.of_accounts().get(user).copied().unwrap_or(NO_LIMIT);
        own.min(self.user_bound())
    }

    fn of_accounts(&self) -> MutexGuard<'_, HashMap<Box<[u8]>, usize>> {
        self.of_accounts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn user_bound(&self) -> usize {
        let max = self.per_user.load(Ordering::Relaxed);
        if max == 0 { NO_LIMIT } else { max }
    }

    fn users(&self) -> MutexGuard<'_, Users> {
        self.users.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn user(&self, user: &[u8]) -> Arc<Bound> {
        let mut users = self.users();
        if let Some(bound) = users.get(user) {
            return bound.clone();
        }
        // Users come and go; an entry that nobody holds a permit of, or waits for, is as good as none.
        users.retain(|_, bound| Arc::strong_count(bound) > 1);
        let bound = Bound::new(self.bound_of(user));
        users.insert(user.into(), bound.clone());
        bound
    }

    /// A permit for `user`, if one is free now.
    pub fn try_permit(&self, user: &[u8]) -> Result<Permit, Full> {
        let user = self.user(user).try_take().ok_or(Full::User)?;
        Ok(Permit { _total: self.total.try_take().ok_or(Full::Server)?, _user: user })
    }

    /// A permit for `user`, as soon as one is free. Cancel-safe: a dropped future gives back what it got.
    pub async fn permit(&self, user: &[u8]) -> Permit {
        let user = self.user(user).take().await;
        Permit { _total: self.total.take().await, _user: user }
    }

    /// The most connections of all.
    pub fn max(&self) -> usize {
        self.total.max()
    }

    /// The most connections that one user may have.
    pub fn max_per_user(&self) -> usize {
        self.user_bound().min(self.max())
    }

    /// Connections open now.
    pub fn open(&self) -> usize {
        self.total.out()
    }

    /// A connection of `worker` is being made.
    pub(crate) fn opened(&self, worker: usize) {
        self.open_of[worker].fetch_add(1, Ordering::Relaxed);
    }

    /// It is closed.
    pub(crate) fn closed(&self, worker: usize) {
        self.open_of[worker].fetch_sub(1, Ordering::Relaxed);
    }

    /// Connections that `worker` has open.
    pub fn open_of(&self, worker: usize) -> usize {
        self.open_of[worker].load(Ordering::Relaxed)
    }

    /// Whether `worker` owes others a connection: it has more than its share of all; or it has `unused` ones, and statements wait on a
    /// worker that has less than its own share.
    pub fn owes(&self, worker: usize, unused: bool) -> bool {
        let (max, workers) = (self.max(), self.waiting.len().max(1));
        if self.open_of(worker) > max.div_ceil(workers) {
            return true;
        }
        let least = (max / workers).max(1);
        let is_poor = |other: usize| self.waiting[other].load(Ordering::Relaxed) > 0 && self.open_of(other) < least;
        unused && (0..self.waiting.len()).any(|other| other != worker && is_poor(other))
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

    /// This worker has something to spare, while others wait.
    pub fn has_spare(&self, worker: usize) {
        self.wanted[worker].notify_one();
    }

    /// Resolves when another worker wants a connection. Cancel-safe.
    pub async fn wanted(&self, worker: usize) {
        self.wanted[worker].notified().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_owes_what_is_more_than_its_share() {
        // Connections in all, those of two workers, statements that wait on the second, and whether the first owes something.
        let cases = [
            (100, [50, 50], 9, false),
            (100, [51, 49], 9, true),
            (100, [60, 40], 0, true),
            (100, [40, 40], 9, true),
            (100, [40, 40], 0, false),
            (3, [2, 1], 1, false),
            (3, [1, 2], 1, false),
            (1, [1, 0], 1, true),
            (1, [1, 0], 0, false),
        ];
        for (max, open, waiting, owes) in cases {
            let limits = Limits::new(max, 0, 2);
            (0..2).for_each(|worker| (0..open[worker]).for_each(|_| limits.opened(worker)));
            (0..waiting).for_each(|_| limits.begin_wait(1));
            assert_eq!(limits.owes(0, true), owes, "{max} {open:?} {waiting}");
            assert_eq!(limits.owes(0, false), open[0] > open[1] + 1, "{max} {open:?} {waiting}");
        }
    }

    fn full(limits: &Limits, user: &str) -> Option<Full> {
        limits.try_permit(user.as_bytes()).err()
    }

    #[test]
    fn a_lower_limit_is_reached_as_connections_close() {
        let limits = Limits::new(3, 0, 1);
        let mut held: Vec<_> = (0..3).map(|_| limits.try_permit(b"a").expect("free")).collect();
        assert_eq!((limits.open(), full(&limits, "a")), (3, Some(Full::Server)));
        limits.set(1, 0);
        assert_eq!((limits.max(), limits.open()), (1, 3));
        held.truncate(1);
        assert_eq!((limits.open(), full(&limits, "a")), (1, Some(Full::Server)));
        held.clear();
        assert_eq!((limits.open(), full(&limits, "a")), (0, None));
        // Lowered and raised again while permits are out.
        held.push(limits.try_permit(b"a").expect("free"));
        limits.set(4, 0);
        held.extend((0..3).map(|_| limits.try_permit(b"a").expect("free")));
        limits.set(2, 0);
        limits.set(3, 0);
        assert_eq!((limits.open(), full(&limits, "a")), (4, Some(Full::Server)));
        held.truncate(2);
        assert_eq!((limits.open(), full(&limits, "a")), (2, None));
    }

    #[test]
    fn a_users_limit_counts_what_is_open_already() {
        let limits = Limits::new(10, 0, 1);
        let held: Vec<_> = (0..3).map(|_| limits.try_permit(b"a").expect("free")).collect();
        limits.set(10, 2);
        assert_eq!((full(&limits, "a"), full(&limits, "b"), limits.max_per_user()), (Some(Full::User), None, 2));
        drop(held);
        let _one = limits.try_permit(b"a").expect("free");
        let _two = limits.try_permit(b"a").expect("free");
        assert_eq!(full(&limits, "a"), Some(Full::User));
        limits.set(10, 0);
        assert_eq!((full(&limits, "a"), limits.max_per_user()), (None, 10));
    }

    #[tokio::test]
    async fn whoever_waits_gets_a_permit_when_the_limit_rises() {
        let limits = Arc::new(Limits::new(1, 0, 1));
        let _held = limits.try_permit(b"a").expect("free");
        let waiting = tokio::spawn({
            let limits = limits.clone();
            async move { limits.permit(b"b").await }
        });
        tokio::task::yield_now().await;
        limits.set(2, 0);
        let _second = waiting.await.expect("no panic");
        assert_eq!(limits.open(), 2);
    }
}
