//! A worker's pool of connections to one server.
//!
//! What must always hold: a connection in the pool is clean (every reply read) and carries nothing of a session but
//! its profile; a waiting statement gets a connection, an error or a timeout, never nothing. Waiting is first come,
//! first served within a worker; between workers the fair semaphore of [`crate::limits`] decides. A worker that holds more
//! than its share gives way at once, another one gives to who has its share what it has not used for a while: workers' statements come and go in bursts,
//! and a connection that is closed in one and made again in the next costs more than either has waited.

mod prove;
mod sharing;
mod statements;

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::num::NonZeroUsize;
use std::ops::{Deref, DerefMut};
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;
use weir_wire::auth::Password;
use weir_wire::{Failure, Fault, error::codes};

use crate::Replaceable;
use crate::connection::{Connection, ConnectionSlot, Opening};
use crate::counts::{LaneCounts, PoolCounts};
use crate::limits::{Full, Permit};
use crate::metrics::Metrics;
use crate::patience::within;
use crate::pool_key::PoolKey;
use crate::profile::Profile;
use crate::server::Server;

pub use prove::is_full;
use sharing::Holder;
pub use sharing::{GivesWay, HoldBell};

/// How many idle connections are checked for one whose profile already matches.
const LOOK_FOR_MATCH: usize = 16;

/// Bounds of a pool.
#[derive(Debug, Clone)]
pub struct PoolSettings {
    /// The most statements that wait for a connection to this server, on all workers together.
    pub max_queue: usize,
    /// The longest that one waits.
    pub queue_timeout: Duration,
    /// An idle connection is closed after this time.
    pub idle_timeout: Duration,
    /// Prepared statements kept on a connection.
    pub prepared_statements: NonZeroUsize,
}

type Idle = HashMap<PoolKey, Vec<Box<Connection>>>;

#[derive(Debug)]
struct Waiter {
    key: PoolKey,
    profile: Profile,
    may_lack_database: bool,
    give: oneshot::Sender<Box<Connection>>,
}

impl Waiter {
    fn wants(&self, connection: &Connection) -> bool {
        self.key == connection.key && connection.suits(&self.profile, self.may_lack_database).0
    }
}

#[derive(Debug, Default)]
struct PoolState {
    idle: Idle,
    waiters: VecDeque<Waiter>,
    /// Longest first.
    holders: VecDeque<Holder>,
}

/// A worker's connections to one server.
pub struct Pool {
    /// The server.
    pub server: Arc<Server>,
    worker: usize,
    settings: Replaceable<PoolSettings>,
    metrics: Metrics,
    state: RefCell<PoolState>,
    next_id: Cell<u64>,
    lanes: RefCell<Option<Weak<dyn GivesWay>>>,
}

/// Who asks for a connection, and for what.
pub struct Request<'a> {
    /// Which connections will do.
    pub key: &'a PoolKey,
    /// The password to open one with.
    pub password: &'a Password,
    /// The profile that the session will want.
    pub profile: &'a Profile,
    /// Wait for what becomes free by itself: nobody is asked to give anything up.
    pub patient: bool,
    /// The server may lack the profile's database: a connection that is in another one will not do, as it can't leave that.
    pub may_lack_database: bool,
}

impl Pool {
    /// An empty pool for `worker`.
    pub fn new(server: Arc<Server>, worker: usize, settings: Replaceable<PoolSettings>, metrics: Metrics) -> Rc<Pool> {
        Rc::new(Pool {
            server,
            worker,
            settings,
            metrics,
            state: RefCell::default(),
            next_id: Cell::new(worker as u64 + 1),
            lanes: RefCell::default(),
        })
    }

    /// The longest that a statement waits for a connection.
    pub fn queue_timeout(&self) -> Duration {
        self.settings.load().queue_timeout
    }

    /// Numbers for display.
    pub fn counts(&self) -> PoolCounts {
        let state = self.state.borrow();
        PoolCounts {
            open: self.open(),
            idle: state.idle.values().map(Vec::len).sum(),
            waiting: state.waiters.len(),
            held: state.holders.len(),
            lanes: LaneCounts::default(),
        }
    }

    /// Connections of this worker.
    fn open(&self) -> usize {
        self.server.limits.open_of(self.worker)
    }

    /// Connections of this worker that are in use.
    pub fn busy(&self) -> usize {
        let idle: usize = self.state.borrow().idle.values().map(Vec::len).sum();
        self.open().saturating_sub(idle)
    }

    /// Lends a connection, waiting for one up to the bound. Dropping the future gives up the place in the queue.
    ///
    /// # Errors
    /// 2003 when the server is down; 1040 or 1203 when the queue is full or the wait was too long; the server's own
    /// error when it refuses the login.
    pub async fn lend(self: &Rc<Self>, request: Request<'_>) -> Result<Lease, Failure> {
        if let Some(held) = self.server.held() {
            return Err(held);
        }
        if let Some(lease) = self.lend_idle(&request) {
            return Ok(lease);
        }
        if let Some(refusal) = self.server.refusal() {
            return Err(refusal);
        }
        let full = match self.server.limits.try_permit(&request.key.user) {
            Ok(permit) => return self.make(request, permit).await,
            Err(full) => full,
        };
        if full == Full::Server
            && self.close_an_idle_one()
            && let Ok(permit) = self.server.limits.try_permit(&request.key.user)
        {
            return self.make(request, permit).await;
        }
        let begun = Instant::now();
        let queue_timeout = self.settings.load().queue_timeout;
        let lent = match tokio::time::timeout(queue_timeout, self.wait(&request, full)).await {
            Ok(lent) => lent?,
            Err(_) => {
                self.metrics.queue_timeouts.inc();
                return Err(self.too_busy(full, &format!("no connection became free within {queue_timeout:?}")));
            }
        };
        self.metrics.queue_seconds.inc_by(begun.elapsed().as_secs_f64());
        match lent {
            Ok(connection) => Ok(self.lease(connection)),
            Err(permit) => self.make(request, permit).await,
        }
    }

    /// Lends a connection that is idle, if there is one. Those of a server that answers nothing are of no use; one that can't be connected to
    /// may still answer on those that it has.
    pub fn lend_idle(self: &Rc<Self>, request: &Request<'_>) -> Option<Lease> {
        if self.server.is_hung() {
            return None;
        }
        self.take_idle(request).map(|connection| self.lease(connection))
    }

    /// Whether a statement waits for a connection, on this worker or another.
    pub fn is_waited_for(&self) -> bool {
        self.server.limits.waiting() > 0
    }

    /// Whether connections are short: a statement waits for one, or the next would have to.
    pub fn is_short(&self) -> bool {
        let limits = &self.server.limits;
        limits.waiting() > 0 || limits.open() >= limits.max()
    }

    /// An idle connection of the same key that can be brought to the profile; one that already has it if possible.
    fn take_idle(&self, request: &Request<'_>) -> Option<Box<Connection>> {
        let mut state = self.state.borrow_mut();
        let list = state.idle.get_mut(request.key)?;
        while !list.is_empty() {
            let recent = list.len().saturating_sub(LOOK_FOR_MATCH);
            let mut usable = None;
            for at in (recent..list.len()).rev() {
                match list[at].suits(request.profile, request.may_lack_database) {
                    (_, true) => {
                        usable = Some(at);
                        break;
                    }
                    (true, _) => usable = usable.or(Some(at)),
                    _ => {}
                }
            }
            let at =
                usable.or_else(|| list.iter().position(|c| c.suits(request.profile, request.may_lack_database).0))?;
            let connection = list.swap_remove(at);
            // A look that costs no system call unless the runtime has heard from the socket.
            if connection.is_current() && !connection.is_stale() {
                return Some(connection);
            }
        }
        None
    }

    /// Closes the idle connection that was used longest ago. Returns whether there was one.
    pub fn close_an_idle_one(&self) -> bool {
        let mut state = self.state.borrow_mut();
        let oldest = state.idle.iter_mut().filter(|(_, list)| !list.is_empty());
        let Some((_, list)) = oldest.min_by_key(|(_, list)| list[0].idle_since) else { return false };
        drop(list.remove(0));
        true
    }

    async fn make(self: &Rc<Self>, request: Request<'_>, permit: Permit) -> Result<Lease, Failure> {
        let id = self.next_id.get();
        self.next_id.set(id + 1024);
        let opening = Opening {
            id,
            server: self.server.clone(),
            key: request.key.clone(),
            database: request
                .profile
                .database
                .clone()
                .filter(|_| !request.may_lack_database && !request.profile.has_role()),
            statements: self.settings.load().prepared_statements,
            slot: ConnectionSlot::take(permit, &self.server, self.worker),
        };
        match Box::pin(Connection::open(opening, request.password)).await {
            Ok(mut connection) => {
                self.metrics.connects.inc();
                // Whether its server lets it in is to be found out.
                connection.lacks_database |= connection.profile().database != request.profile.database;
                Ok(self.lease(Box::new(connection)))
            }
            Err(failure) => {
                self.metrics.connect_errors.inc();
                Err(failure)
            }
        }
    }

    fn lease(self: &Rc<Self>, connection: Box<Connection>) -> Lease {
        Lease { connection: Some(connection), pool: self.clone() }
    }

    /// Waits for a connection of the same key, or for a permit to open one.
    async fn wait(&self, request: &Request<'_>, full: Full) -> Result<Result<Box<Connection>, Permit>, Failure> {
        if self.server.limits.waiting() >= self.settings.load().max_queue {
            self.metrics.queue_refusals.inc();
            return Err(self.too_busy(full, "too many statements are waiting for a connection already"));
        }
        let (give, mut given) = oneshot::channel();
        let Request { key, profile, may_lack_database, .. } = *request;
        let waiter = Waiter { key: key.clone(), profile: profile.clone(), may_lack_database, give };
        self.state.borrow_mut().waiters.push_back(waiter);
        let _waiting = (!request.patient).then(|| {
            self.metrics.queued.inc();
            self.server.limits.begin_wait(self.worker);
            self.ask_to_give_way();
            Waiting { pool: self }
        });
        // Cancel-safe: a permit that arrives with the connection goes back when it is dropped; a connection that
        // arrives with the permit is taken below; one that arrives after the future is dropped closes.
        tokio::select! {
            biased;
            Ok(connection) = &mut given => Ok(Ok(connection)),
            permit = self.server.limits.permit(&request.key.user) => {
                given.close();
                Ok(given.try_recv().map_or(Err(permit), Ok))
            }
        }
    }

    fn too_busy(&self, full: Full, why: &str) -> Failure {
        let name = &self.server.settings.name;
        match full {
            Full::Server => Failure::new(
                Fault::Weir,
                codes::ER_CON_COUNT_ERROR,
                b"08004",
                format!(
                    "Too many connections: server '{name}' has its limit of {} in use, and {why}",
                    self.server.limits.max()
                ),
            ),
            Full::User => Failure::new(
                Fault::Weir,
                codes::ER_TOO_MANY_USER_CONNECTIONS,
                b"42000",
                format!(
                    "The user already has more than 'max_user_connections' active connections to server '{name}', and {why}"
                ),
            ),
        }
    }

    /// Takes a connection back, or closes it; then its permit goes to whoever waits longest.
    fn give_back(&self, mut connection: Box<Connection>) {
        if !connection.is_clean() {
            self.metrics.broken.inc();
            return;
        }
        if !connection.is_current() {
            return;
        }
        connection.idle_since = Instant::now();
        connection.is_left();
        let mut state = self.state.borrow_mut();
        // Those that gave up behind the first are found when they come first: there may be thousands.
        while state.waiters.front().is_some_and(|waiter| waiter.give.is_closed()) {
            state.waiters.pop_front();
        }
        let elsewhere = self.is_waited_for_elsewhere();
        if elsewhere && self.server.limits.owes(self.worker, state.waiters.is_empty()) {
            return;
        }
        match state.waiters.front() {
            Some(waiter) if waiter.wants(&connection) => {
                if let Some(waiter) = state.waiters.pop_front() {
                    // Checked above to be waiting still: nothing has run in between.
                    let _ = waiter.give.send(connection);
                }
            }
            Some(_) => {}
            None => {
                state.idle.entry(connection.key.clone()).or_default().push(connection);
                if elsewhere {
                    self.server.limits.has_spare(self.worker);
                }
            }
        }
    }

    /// Closes what has been idle for too long, what is older than a change of the server's globals or of the user's rights, and what is
    /// beyond a limit that was lowered.
    pub fn close_expired(&self) {
        let limit = self.settings.load().idle_timeout;
        let mut state = self.state.borrow_mut();
        for list in state.idle.values_mut() {
            list.retain(|c| c.is_current() && c.idle_since.elapsed() < limit);
        }
        state.idle.retain(|_, list| !list.is_empty());
        drop(state);
        let limits = &self.server.limits;
        while limits.open() > limits.max() && self.close_an_idle_one() {}
    }

    /// Closes all idle connections: of a server that has died, or of a user whose password has changed.
    pub fn close_idle_of(&self, user: Option<&[u8]>) {
        let mut state = self.state.borrow_mut();
        state.idle.retain(|key, _| user.is_some_and(|user| *key.user != *user));
    }
}

impl std::fmt::Debug for Pool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pool").field("worker", &self.worker).field("counts", &self.counts()).finish_non_exhaustive()
    }
}

struct Waiting<'a> {
    pool: &'a Pool,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.pool.server.limits.end_wait(self.pool.worker);
    }
}

/// A connection on loan. Dropped while a reply is unread, the connection is closed; else it goes back.
#[derive(Debug)]
pub struct Lease {
    connection: Option<Box<Connection>>,
    pool: Rc<Pool>,
}

impl Lease {
    /// The pool that it came from.
    pub fn pool(&self) -> &Rc<Pool> {
        &self.pool
    }

    /// Closes the connection: what a session has left there can't be cleared away.
    pub fn close(mut self) {
        self.connection = None;
    }

    /// Clears away a session's transaction, locks, temporary tables and variables before the connection goes back;
    /// closes it if that fails or takes longer than `bound`.
    pub async fn reset_and_return(mut self, bound: Duration) {
        if self.reset_within(bound).await
            && let Some(connection) = self.connection.take()
        {
            self.pool.metrics.resets.inc();
            self.pool.give_back(connection);
        }
        self.close();
    }

    /// The same, and closes the connection, on which something may be left that a reset does not end. Its locks are gone by then: a
    /// server that finds a connection closed releases them later.
    pub async fn reset_and_close(mut self, bound: Duration) {
        self.reset_within(bound).await;
        self.close();
    }

    async fn reset_within(&mut self, bound: Duration) -> bool {
        self.is_clean() && matches!(within(bound, Box::pin(self.reset())).await, Some(Ok(())))
    }
}

impl Deref for Lease {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        self.connection.as_deref().expect("a lease has its connection until it is dropped")
    }
}

impl DerefMut for Lease {
    fn deref_mut(&mut self) -> &mut Connection {
        self.connection.as_deref_mut().expect("a lease has its connection until it is dropped")
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take() {
            self.pool.give_back(connection);
        }
    }
}
