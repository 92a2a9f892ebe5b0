//! Admission for sessions that keep a connection to one shard while they may come to want one to another.
//!
//! Pools alone would let them wait for each other: two transactions that have all of a shard's connections each, and want one of the
//! other shard's. So whoever begins a transaction takes a place first, and another kind of place before a second shard takes part.
//!
//! What must always hold: whoever has a place for several shards finds a connection on each of them, sooner or later, and waits for no
//! place any more. For that, transactions that may have one shard only leave half of each shard's connections to the others. Admission
//! are waited for in one order (a user's before all users', those for one shard before those for several), so nobody waits for one who
//! waits for him. Statements outside of transactions end by themselves, and need no place unless they ask several shards.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::limits::{Bound, Held};

/// Admission within one limit of connections to each server.
#[derive(Debug)]
struct Room {
    /// For transactions that have one shard, per shard.
    first: Vec<Arc<Bound>>,
    multi_shard: Arc<Bound>,
}

/// How many of this number of connections to each server are for sessions with several shards.
fn for_multi_shard(max: usize) -> usize {
    max.div_ceil(2)
}

impl Room {
    fn new(max: usize, shards: usize) -> Room {
        let multi_shard = for_multi_shard(max);
        Room {
            first: (0..shards).map(|_| Bound::new(max - multi_shard)).collect(),
            multi_shard: Bound::new(multi_shard),
        }
    }

    fn set_max(&self, max: usize) {
        let multi_shard = for_multi_shard(max);
        self.first.iter().for_each(|bound| bound.set_max(max - multi_shard));
        self.multi_shard.set_max(multi_shard);
    }

    fn bound(&self, kind: Kind) -> &Arc<Bound> {
        match kind {
            Kind::First(shard) => &self.first[shard],
            Kind::MultiShard => &self.multi_shard,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    First(usize),
    MultiShard,
}

/// A session's place. Free again when it is dropped.
#[derive(Debug)]
pub struct AdmissionPermit {
    kind: Kind,
    _all: Held,
    _user: Option<(Held, Arc<Room>)>,
}

impl AdmissionPermit {
    /// Whether several shards may take part.
    pub fn is_multi_shard(&self) -> bool {
        self.kind == Kind::MultiShard
    }
}

/// The places of all sessions.
#[derive(Debug)]
pub struct Admission {
    shards: usize,
    all: Room,
    /// The most connections of one user to a server; 0: no limit.
    per_user: AtomicUsize,
    users: Mutex<HashMap<Box<[u8]>, Arc<Room>>>,
}

impl Admission {
    /// Admission for shards whose servers take `max` connections each, `per_user` of one user (0: no limit).
    pub fn new(max: usize, per_user: usize, shards: usize) -> Admission {
        Admission { shards, all: Room::new(max, shards), per_user: AtomicUsize::new(per_user), users: Mutex::default() }
    }

    /// Changes the limits. Admission beyond stay until they are free again.
    pub fn set(&self, max: usize, per_user: usize) {
        let mut users = self.users();
        self.all.set_max(max);
        self.per_user.store(per_user, Ordering::Relaxed);
        match per_user {
            0 => users.clear(),
            _ => users.values().for_each(|room| room.set_max(per_user)),
        }
    }

    fn users(&self) -> MutexGuard<'_, HashMap<Box<[u8]>, Arc<Room>>> {
        self.users.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn room_of(&self, user: &[u8]) -> Option<Arc<Room>> {
        let max = self.per_user.load(Ordering::Relaxed);
        if max == 0 {
            return None;
        }
        let mut users = self.users();
        if let Some(room) = users.get(user) {
            return Some(room.clone());
        }
        users.retain(|_, room| Arc::strong_count(room) > 1);
        let room = Arc::new(Room::new(max, self.shards));
        users.insert(user.into(), room.clone());
        Some(room)
    }

    fn try_take(&self, user: Option<&Arc<Room>>, kind: Kind) -> Option<AdmissionPermit> {
        let of_user = match user {
            Some(room) => Some((room.bound(kind).try_take()?, room.clone())),
            None => None,
        };
        Some(AdmissionPermit { kind, _all: self.all.bound(kind).try_take()?, _user: of_user })
    }

    async fn take(&self, user: Option<&Arc<Room>>, kind: Kind) -> AdmissionPermit {
        let of_user = match user {
            Some(room) => Some((room.bound(kind).take().await, room.clone())),
            None => None,
        };
        AdmissionPermit { kind, _all: self.all.bound(kind).take().await, _user: of_user }
    }

    /// A place for a transaction that begins on a shard, if one is free now.
    pub fn try_first(&self, user: &[u8], shard: usize) -> Option<AdmissionPermit> {
        let room = self.room_of(user);
        self.try_take(room.as_ref(), Kind::First(shard)).or_else(|| self.try_take(room.as_ref(), Kind::MultiShard))
    }

    /// A place for a transaction that begins on a shard, as soon as one is free. Cancel-safe.
    pub async fn first(&self, user: &[u8], shard: usize) -> AdmissionPermit {
        let room = self.room_of(user);
        tokio::select! {
            biased;
            place = self.take(room.as_ref(), Kind::First(shard)) => place,
            place = self.take(room.as_ref(), Kind::MultiShard) => place,
        }
    }

    /// A place for several shards, if one is free now.
    pub fn try_multi_shard(&self, user: &[u8]) -> Option<AdmissionPermit> {
        self.try_take(self.room_of(user).as_ref(), Kind::MultiShard)
    }

    /// A place for several shards, as soon as one is free. Cancel-safe.
    pub async fn multi_shard(&self, user: &[u8]) -> AdmissionPermit {
        self.take(self.room_of(user).as_ref(), Kind::MultiShard).await
    }

    /// How many sessions can have several shards at once.
    pub fn most_multi_shard(&self) -> usize {
        let per_user = self.per_user.load(Ordering::Relaxed);
        let all = self.all.multi_shard.max();
        if per_user == 0 { all } else { all.min(for_multi_shard(per_user)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transactions_with_one_shard_leave_room_for_those_with_several() {
        let places = Admission::new(5, 0, 2);
        // Two for one shard, and three that may have several.
        let mut held: Vec<_> = std::iter::from_fn(|| places.try_first(b"a", 0)).collect();
        let multi_shard = held.iter().filter(|place| place.is_multi_shard()).count();
        assert_eq!((held.len(), multi_shard, places.most_multi_shard()), (5, 3, 3));
        // The other shard's own are free still.
        assert!(places.try_first(b"b", 1).is_some_and(|place| !place.is_multi_shard()));
        assert!(places.try_multi_shard(b"a").is_none());
        held.retain(|place| !place.is_multi_shard());
        assert!(places.try_multi_shard(b"a").is_some());
    }

    #[test]
    fn one_connection_to_each_server_is_enough() {
        let places = Admission::new(1, 0, 2);
        let place = places.try_first(b"a", 0).expect("free");
        assert!(place.is_multi_shard() && places.try_first(b"a", 1).is_none());
    }

    #[test]
    fn a_users_limit_holds_for_places() {
        let places = Admission::new(100, 2, 2);
        let _held = [places.try_first(b"a", 0).expect("free"), places.try_multi_shard(b"a").expect("free")];
        assert!(places.try_multi_shard(b"a").is_none() && places.try_first(b"a", 0).is_none());
        assert!(places.try_multi_shard(b"b").is_some());
        places.set(100, 0);
        assert!(places.try_multi_shard(b"a").is_some());
    }

    #[tokio::test]
    async fn a_place_that_is_waited_for_comes_when_one_is_free() {
        let places = Admission::new(2, 0, 2);
        let several = places.try_multi_shard(b"a").expect("free");
        let first = places.try_first(b"a", 0).expect("free");
        let waits = async { (places.first(b"a", 0).await.is_multi_shard(), places.multi_shard(b"a").await) };
        let frees = async {
            tokio::task::yield_now().await;
            drop(first);
            tokio::task::yield_now().await;
            drop(several);
        };
        let ((has_several, last), ()) = tokio::join!(waits, frees);
        assert!(!has_several && last.is_multi_shard());
    }
}
