//! Which connections are older than the last change of their user's rights.
//!
//! A server looks at an account when somebody logs in, at the rights on a database when a connection changes to it: a connection
//! keeps what it was given then. So whoever is to get what a login would give now must not get an older connection.
//! What must always hold: a connection whose login began before a change was noted does not hold after it. Asking costs
//! one comparison while nothing changes.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Users of whom changes are kept apart; beyond, a change counts for all.
const MOST_USERS: usize = 10_000;

/// The changes of accounts that are known of one server.
#[derive(Debug, Default)]
pub struct Rights {
    /// How many there were.
    changes: AtomicU64,
    last: Mutex<Last>,
}

/// The numbers of the last changes.
#[derive(Debug, Default)]
struct Last {
    of_all: u64,
    of_users: HashMap<Box<[u8]>, u64>,
}

impl Rights {
    /// The number of the last change: to be asked before a login begins.
    pub fn now(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }

    /// The accounts of all users may have changed.
    pub fn changed(&self) {
        let mut last = self.last();
        last.of_users.clear();
        last.of_all = self.next();
    }

    /// The accounts of these users have changed.
    pub fn changed_of<'a>(&self, users: impl IntoIterator<Item = &'a [u8]>) {
        let mut last = self.last();
        let next = self.next();
        for user in users {
            last.of_users.insert(user.into(), next);
        }
        if last.of_users.len() > MOST_USERS {
            last.of_users.clear();
            last.of_all = next;
        }
    }

    /// Whether what was given to `user` when the last change had the number `since` still is what a login gives.
    pub fn holds(&self, user: &[u8], since: u64) -> bool {
        if self.now() == since {
            return true;
        }
        let last = self.last();
        since >= last.of_all && last.of_users.get(user).is_none_or(|change| since >= *change)
    }

    /// To be called with the lock held: whoever sees the new number finds the change under the lock.
    fn next(&self) -> u64 {
        self.changes.fetch_add(1, Ordering::AcqRel) + 1
    }

    fn last(&self) -> MutexGuard<'_, Last> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_counts_for_its_users_only() {
        let rights = Rights::default();
        let before = rights.now();
        assert!(rights.holds(b"a", before));
        rights.changed_of([&b"a"[..]]);
        assert!(!rights.holds(b"a", before));
        assert!(rights.holds(b"b", before));
        let after = rights.now();
        assert!(rights.holds(b"a", after));
        rights.changed();
        assert!(!rights.holds(b"a", after) && !rights.holds(b"b", before));
        assert!(rights.holds(b"a", rights.now()));
    }

    #[test]
    fn more_users_than_are_kept_count_for_all() {
        let rights = Rights::default();
        let before = rights.now();
        let names: Vec<String> = (0..=MOST_USERS).map(|number| number.to_string()).collect();
        rights.changed_of(names.iter().map(|name| name.as_bytes()));
        assert!(!rights.holds(b"another", before));
        assert!(rights.holds(b"another", rights.now()));
    }
}
