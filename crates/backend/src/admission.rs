//! Admission for sessions that keep a connection to one shard while they may come to want another, to it or to another shard.
//!
//! Pools alone would let them wait for each other: two transactions that have all of a shard's connections each, and want one of the
//! other shard's. So whoever begins a transaction takes a place first, another kind of place before a second shard takes part, and one
//! more before it takes a second connection to a shard.
//!
//! What must always hold: whoever has a place for several shards finds a connection on each of them, sooner or later, and waits for no
//! place any more but one for additional connections; whoever has that one waits for no place at all. For that, the places of all kinds
//! together stand for no more connections than each shard has. Places are waited for in one order (a user's before all users', those for
//! one shard before those for several, before those for additional connections), so nobody waits for one who waits for him. Statements
//! outside of transactions end by themselves, and need no place unless they ask several shards.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::limits::{Bound, Held};

/// How many connections to a shard a place for additional ones stands for: a procedure's workbench, and that of its statement.
const ADDITIONAL_CONNECTIONS: usize = 2;
/// One place for additional connections per so many connections.
const CONNECTIONS_PER_ADDITIONAL: usize = 16;

/// How many places of each kind there are, with a number of connections to each server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Shares {
    first: usize,
    multi_shard: usize,
    additional: usize,
}

impl Shares {
    fn of(max: usize) -> Shares {
        let additional = max.div_ceil(CONNECTIONS_PER_ADDITIONAL).max(1);
        let rest = max.saturating_sub(ADDITIONAL_CONNECTIONS * additional);
        let multi_shard = rest.div_ceil(2).max(1);
        Shares { first: rest.saturating_sub(multi_shard), multi_shard, additional }
    }
}

/// Admission within one limit of connections to each server.
#[derive(Debug)]
struct Room {
    /// For transactions that have one shard, per shard.
    first: Vec<Arc<Bound>>,
    multi_shard: Arc<Bound>,
    additional: Arc<Bound>,
}

impl Room {
    fn new(max: usize, shards: usize) -> Room {
        let shares = Shares::of(max);
        Room {
            first: (0..shards).map(|_| Bound::new(shares.first)).collect(),
            multi_shard: Bound::new(shares.multi_shard),
            additional: Bound::new(shares.additional),
        }
    }

    fn set_max(&self, max: usize) {
        let shares = Shares::of(max);
        self.first.iter().for_each(|bound| bound.set_max(shares.first));
        self.multi_shard.set_max(shares.multi_shard);
        self.additional.set_max(shares.additional);
    }

    fn bound(&self, kind: Kind) -> &Arc<Bound> {
        match kind {
            Kind::First(shard) => &self.first[shard],
            Kind::MultiShard => &self.multi_shard,
            Kind::Additional => &self.additional,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    First(usize),
    MultiShard,
    Additional,
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
    users: Mutex<Users>,
}

#[derive(Debug, Default)]
struct Users {
    rooms: HashMap<Box<[u8]>, Arc<Room>>,
    /// Limits that servers have for users, where they have some.
    of_accounts: HashMap<Box<[u8]>, usize>,
}

impl Admission {
    /// Admission for shards whose servers take `max` connections each, `per_user` of one user (0: no limit).
    pub fn new(max: usize, per_user: usize, shards: usize) -> Admission {
        Admission { shards, all: Room::new(max, shards), per_user: AtomicUsize::new(per_user), users: Mutex::default() }
    }

    /// Changes the limits. Places beyond stay until they are free again.
    pub fn set(&self, max: usize, per_user: usize) {
        let mut users = self.users();
        self.all.set_max(max);
        self.per_user.store(per_user, Ordering::Relaxed);
        let Users { rooms, of_accounts } = &mut *users;
        rooms.retain(|user, room| self.follow(room, of_accounts.get(user).copied()));
    }

    /// The servers allow this user this number of connections; 0: no limit of their own.
    pub fn set_user(&self, user: &[u8], most: usize) {
        let mut users = self.users();
        let before = match most {
            0 => users.of_accounts.remove(user),
            _ => users.of_accounts.insert(user.into(), most),
        };
        if before.unwrap_or(0) == most {
            return;
        }
        let limited = users.rooms.get(user).is_none_or(|room| self.follow(room, Some(most).filter(|most| *most > 0)));
        if !limited {
            users.rooms.remove(user);
        }
    }

    /// Gives a user's room the limit that holds now; whether there is one.
    fn follow(&self, room: &Room, of_account: Option<usize>) -> bool {
        let max = self.limit_of(of_account);
        max.inspect(|max| room.set_max(*max)).is_some()
    }

    fn limit_of(&self, of_account: Option<usize>) -> Option<usize> {
        let configured = Some(self.per_user.load(Ordering::Relaxed)).filter(|max| *max > 0);
        configured.into_iter().chain(of_account).min()
    }

    fn users(&self) -> MutexGuard<'_, Users> {
        self.users.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn room_of(&self, user: &[u8]) -> Option<Arc<Room>> {
        let mut users = self.users();
        let max = self.limit_of(users.of_accounts.get(user).copied())?;
        if let Some(room) = users.rooms.get(user) {
            return Some(room.clone());
        }
        users.rooms.retain(|_, room| Arc::strong_count(room) > 1);
        let room = Arc::new(Room::new(max, self.shards));
        users.rooms.insert(user.into(), room.clone());
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

    /// A place for additional connections to shards, for a session that has one for several shards, if one is free now.
    pub fn try_additional(&self, user: &[u8]) -> Option<AdmissionPermit> {
        self.try_take(self.room_of(user).as_ref(), Kind::Additional)
    }

    /// The same, as soon as one is free. Cancel-safe.
    pub async fn additional(&self, user: &[u8]) -> AdmissionPermit {
        self.take(self.room_of(user).as_ref(), Kind::Additional).await
    }

    /// How many sessions of this user can have several shards at once.
    pub fn most_multi_shard(&self, user: &[u8]) -> usize {
        let all = self.all.multi_shard.max();
        self.room_of(user).map_or(all, |room| all.min(room.multi_shard.max()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_stand_for_no_more_connections_than_there_are() {
        for max in 4..500 {
            let Shares { first, multi_shard, additional } = Shares::of(max);
            assert!(first > 0 && multi_shard > 0 && additional > 0, "{max}");
            assert_eq!(first + multi_shard + ADDITIONAL_CONNECTIONS * additional, max);
        }
    }

    #[test]
    fn transactions_with_one_shard_leave_room_for_those_with_several() {
        let places = Admission::new(7, 0, 2);
        // Two for one shard, and three that may have several.
        let mut held: Vec<_> = std::iter::from_fn(|| places.try_first(b"a", 0)).collect();
        let multi_shard = held.iter().filter(|place| place.is_multi_shard()).count();
        assert_eq!((held.len(), multi_shard, places.most_multi_shard(b"a")), (5, 3, 3));
        // The other shard's own are free still.
        assert!(places.try_first(b"b", 1).is_some_and(|place| !place.is_multi_shard()));
        assert!(places.try_multi_shard(b"a").is_none());
        // And so is one for additional connections.
        assert!(places.try_additional(b"a").is_some());
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
        let places = Admission::new(100, 4, 2);
        let _held = [places.try_first(b"a", 0).expect("free"), places.try_multi_shard(b"a").expect("free")];
        assert!(places.try_multi_shard(b"a").is_none() && places.try_first(b"a", 0).is_none());
        assert!(places.try_multi_shard(b"b").is_some());
        places.set(100, 0);
        assert!(places.try_multi_shard(b"a").is_some());
    }

    #[test]
    fn an_accounts_limit_holds_for_places() {
        let places = Admission::new(100, 0, 2);
        places.set_user(b"a", 4);
        let held = places.try_multi_shard(b"a").expect("free");
        assert!(places.try_multi_shard(b"a").is_none() && places.try_multi_shard(b"b").is_some());
        // The lower limit holds, and a limit that is gone does not.
        places.set(100, 8);
        let more: Vec<_> = std::iter::from_fn(|| places.try_multi_shard(b"a")).collect();
        assert_eq!(more.len(), 0);
        places.set_user(b"a", 0);
        assert_eq!(places.most_multi_shard(b"a"), Shares::of(8).multi_shard);
        assert!(places.try_multi_shard(b"a").is_some());
        drop(held);
    }

    #[tokio::test]
    async fn a_place_that_is_waited_for_comes_when_one_is_free() {
        let places = Admission::new(4, 0, 2);
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
