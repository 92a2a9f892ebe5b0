//! The sessions that Weir serves: what each of them does, and how to stop one.
//!
//! The registry is shared by all workers. A session writes its own [`SessionHandle`]; everybody else reads it, or
//! interrupts it: the interruption is a flag and a bell, and the session acts on it at its next wait.

use std::collections::{BTreeMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use weir_backend::Server;

use crate::bell::Bell;

/// The most bytes of a statement that are kept for display.
const SHOWN_STATEMENT: usize = 1024;

/// The low bits of a session's id, which one instance counts; the high ones are the instance's number.
const COUNTED_BITS: u32 = 24;

/// Where an instance begins to count. Servers begin at 1 with their own threads: what somebody has read in a server's tables and gives to
/// KILL should be nobody's session, rather than a stranger's.
const FIRST_COUNTED: u32 = 1 << (COUNTED_BITS - 1) | 1;

/// The instance of Weir whose session has this id.
pub fn instance_of(id: u32) -> u8 {
    id.to_be_bytes()[0]
}

/// Why a session should stop what it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Interrupt {
    /// `KILL QUERY`: the running statement ends with error 1317.
    Query = 1,
    /// `KILL`: the session ends.
    Connection = 2,
    /// Weir stops: the session ends as soon as it has no open transaction.
    Shutdown = 4,
    /// Weir stops, and the time for open transactions is over.
    ShutdownNow = 8,
    /// The server that the session waits for has stopped answering.
    ServerLost = 16,
    /// Another process has taken over: the session ends when it has been idle for a while with nothing left to keep.
    Leave = 32,
    /// It waits in a circle with others over several shards: its statement ends with error 1213, and its transaction.
    Deadlock = 64,
}

/// What a session does, for display.
#[derive(Debug, Clone, Default)]
pub struct SessionInfo {
    /// The user, once authenticated.
    pub user: String,
    /// The client's address.
    pub host: String,
    /// The default database.
    pub database: Option<String>,
    /// The command, as `SHOW PROCESSLIST` names it.
    pub command: &'static str,
    /// What the command is doing.
    pub state: &'static str,
    /// The statement, shortened; empty when there is none. A session that has been idle for a while keeps no memory here.
    pub statement: Vec<u8>,
    /// What binds the session to a server connection.
    pub pins: String,
    /// Whether its open transaction is kept to be run again, and if not, why; empty if it is not to be.
    pub replay: String,
    /// How fresh its reads have to be.
    pub consistency: &'static str,
    /// The server whose connection the session has, and the connection's id there.
    pub server: Option<(Arc<Server>, u32)>,
    /// The connections that its statement has beside that one, and their ids.
    pub parts: Vec<(Arc<Server>, u32)>,
    /// Since when it is in this command.
    pub since: Option<Instant>,
}

impl SessionInfo {
    /// All server connections that the session has, and their ids.
    pub fn connections(&self) -> impl Iterator<Item = &(Arc<Server>, u32)> {
        self.server.iter().chain(&self.parts)
    }
}

/// A session, as others see it.
#[derive(Debug)]
pub struct SessionHandle {
    /// Its connection id.
    pub id: u32,
    /// Rung when there is an interrupt.
    pub bell: Bell,
    interrupts: AtomicU8,
    in_transaction: AtomicBool,
    info: Mutex<SessionInfo>,
}

impl SessionHandle {
    /// Asks the session to stop.
    pub fn interrupt(&self, why: Interrupt) {
        self.interrupts.fetch_or(why as u8, Ordering::SeqCst);
        self.bell.ring();
    }

    /// Whether it has been asked so.
    #[inline]
    pub fn has(&self, why: Interrupt) -> bool {
        self.interrupts.load(Ordering::Relaxed) & why as u8 != 0
    }

    /// A new statement begins: what was meant for the one before is void.
    #[inline]
    pub fn clear(&self, why: Interrupt) {
        if self.has(why) {
            self.interrupts.fetch_and(!(why as u8), Ordering::SeqCst);
        }
    }

    /// Reads or changes what is displayed.
    pub fn info(&self) -> MutexGuard<'_, SessionInfo> {
        self.info.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A command begins.
    pub fn begin(&self, command: &'static str, statement: &[u8], now: Instant) {
        let mut info = self.info();
        info.command = command;
        info.state = "";
        info.since = Some(now);
        info.statement.clear();
        info.statement.extend_from_slice(&statement[..statement.len().min(SHOWN_STATEMENT)]);
    }

    /// What the running command waits for.
    pub fn set_state(&self, state: &'static str) {
        self.info().state = state;
    }

    /// The command has ended. `on_server`: the session still has a server connection.
    pub fn end(&self, now: Instant, on_server: bool) {
        let mut info = self.info();
        info.command = "Sleep";
        info.state = "";
        info.since = Some(now);
        info.statement.clear();
        if !on_server {
            info.server = None;
        }
    }

    /// Frees memory: the session has been idle for a while.
    pub fn rest(&self) {
        let mut info = self.info();
        info.statement = Vec::new();
        info.parts.shrink_to_fit();
    }

    /// Whether it has an open transaction.
    pub fn in_transaction(&self) -> bool {
        self.in_transaction.load(Ordering::Relaxed)
    }

    /// It has one now, or not.
    pub fn set_in_transaction(&self, open: bool) {
        self.in_transaction.store(open, Ordering::Relaxed);
    }
}

/// All sessions, and the limits on their number.
#[derive(Debug)]
pub struct Registry {
    instance: u8,
    /// Counts in [`COUNTED_BITS`].
    next_id: AtomicU32,
    max: AtomicUsize,
    max_per_user: AtomicUsize,
    sessions: Mutex<BTreeMap<u32, Arc<SessionHandle>>>,
    users: Mutex<BTreeMap<String, usize>>,
}

/// Which limit on clients is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooMany;

impl Registry {
    /// A registry of at most `max` sessions, `max_per_user` of one user (0: no limit). `instance`: what their ids begin with.
    pub fn new(instance: u8, max: usize, max_per_user: usize) -> Registry {
        Registry {
            instance,
            next_id: AtomicU32::new(FIRST_COUNTED),
            max: AtomicUsize::new(max),
            max_per_user: AtomicUsize::new(max_per_user),
            sessions: Mutex::default(),
            users: Mutex::default(),
        }
    }

    fn sessions(&self) -> MutexGuard<'_, BTreeMap<u32, Arc<SessionHandle>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the limits for new sessions.
    pub fn set_limits(&self, max: usize, max_per_user: usize) {
        self.max.store(max, Ordering::Relaxed);
        self.max_per_user.store(max_per_user, Ordering::Relaxed);
    }

    /// What the ids of its sessions begin with.
    pub fn instance(&self) -> u8 {
        self.instance
    }

    /// The id that the next session gets, as far as is known.
    pub fn next_id(&self) -> u32 {
        self.next_id.load(Ordering::Relaxed)
    }

    /// Sessions get ids from here on: those before are another process's.
    pub fn set_next_id(&self, id: u32) {
        self.next_id.store(id, Ordering::Relaxed);
    }

    /// Enters a new session.
    ///
    /// # Errors
    /// When there are as many as may be.
    pub fn enter(&self, host: String) -> Result<Arc<SessionHandle>, TooMany> {
        let mut sessions = self.sessions();
        if sessions.len() >= self.max.load(Ordering::Relaxed) {
            return Err(TooMany);
        }
        let mut id = self.count_id();
        while id.trailing_zeros() >= COUNTED_BITS || sessions.contains_key(&id) {
            id = self.count_id();
        }
        let info = SessionInfo { host, command: "Connect", since: Some(Instant::now()), ..SessionInfo::default() };
        let handle = Arc::new(SessionHandle {
            id,
            bell: Bell::default(),
            interrupts: AtomicU8::new(0),
            in_transaction: AtomicBool::new(false),
            info: Mutex::new(info),
        });
        sessions.insert(id, handle.clone());
        Ok(handle)
    }

    fn count_id(&self) -> u32 {
        let counted = self.next_id.fetch_add(1, Ordering::Relaxed) & ((1 << COUNTED_BITS) - 1);
        u32::from(self.instance) << COUNTED_BITS | counted
    }

    /// A session has ended.
    pub fn leave(&self, handle: &SessionHandle) {
        self.sessions().remove(&handle.id);
    }

    /// Counts a session as `user`'s, for as long as the entry lives. `own_limit`: the account's own limit, 0 for the
    /// general one.
    ///
    /// # Errors
    /// When the user has as many as may be.
    pub fn enter_user(self: &Arc<Self>, user: &str, own_limit: usize) -> Result<UserEntry, TooMany> {
        let limit = if own_limit > 0 { own_limit } else { self.max_per_user.load(Ordering::Relaxed) };
        let mut users = self.users.lock().unwrap_or_else(PoisonError::into_inner);
        let count = users.entry(user.to_owned()).or_default();
        if limit > 0 && *count >= limit {
            return Err(TooMany);
        }
        *count += 1;
        Ok(UserEntry { registry: self.clone(), user: user.to_owned() })
    }

    /// The sessions of a user.
    pub fn sessions_of(&self, user: &str) -> usize {
        self.users.lock().unwrap_or_else(PoisonError::into_inner).get(user).copied().unwrap_or(0)
    }

    /// The session with this id.
    pub fn get(&self, id: u32) -> Option<Arc<SessionHandle>> {
        self.sessions().get(&id).cloned()
    }

    /// All sessions, by id.
    pub fn all(&self) -> Vec<Arc<SessionHandle>> {
        self.sessions().values().cloned().collect()
    }

    /// Number of sessions.
    pub fn len(&self) -> usize {
        self.sessions().len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Interrupts all sessions.
    pub fn interrupt_all(&self, why: Interrupt) {
        for handle in self.sessions().values() {
            handle.interrupt(why);
        }
    }

    /// Interrupts the sessions that have a connection to `server`.
    pub fn server_lost(&self, server: &str) {
        let sessions = self.all();
        let on_it = |handle: &&Arc<SessionHandle>| {
            let info = handle.info();
            info.connections().any(|(on, _)| on.settings.name == server)
        };
        for handle in sessions.iter().filter(on_it) {
            handle.interrupt(Interrupt::ServerLost);
        }
    }

    /// The users that have sessions.
    pub fn users(&self) -> HashSet<String> {
        self.users.lock().unwrap_or_else(PoisonError::into_inner).keys().cloned().collect()
    }
}

/// One session's place in its user's count.
#[derive(Debug)]
pub struct UserEntry {
    registry: Arc<Registry>,
    user: String,
}

impl Drop for UserEntry {
    fn drop(&mut self) {
        let mut users = self.registry.users.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = users.get_mut(&self.user) {
            *count -= 1;
            if *count == 0 {
                users.remove(&self.user);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn enter(registry: &Registry) -> Arc<SessionHandle> {
        registry.enter("localhost".to_owned()).expect("there is room")
    }

    #[test]
    fn ids_begin_with_the_instance() {
        for (instance, first) in [(0, 0x80_0001), (1, 0x0180_0001), (255, 0xff80_0001)] {
            let handle = enter(&Registry::new(instance, 10, 0));
            assert_eq!((handle.id, instance_of(handle.id)), (first, instance));
        }
    }

    /// When all ids have been given, those begin anew that no session has; none is ever another instance's.
    #[test]
    fn ids_wrap_within_the_instance() {
        let registry = Registry::new(7, 10, 0);
        let (one, two) = (enter(&registry), enter(&registry));
        registry.leave(&one);
        registry.set_next_id((1 << COUNTED_BITS) - 1);
        let ids = [enter(&registry).id, enter(&registry).id, enter(&registry).id];
        registry.set_next_id(FIRST_COUNTED);
        let others = [enter(&registry).id, enter(&registry).id];
        assert_eq!((two.id, ids), (0x0780_0002, [0x07ff_ffff, 0x0700_0001, 0x0700_0002]));
        assert_eq!(others, [0x0780_0001, 0x0780_0003]);
    }
}
