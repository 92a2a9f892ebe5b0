//! A server behind Weir: how to reach it, what it is, and whether it answers.
//!
//! The facts are immutable snapshots that the monitor replaces and the workers read without locks.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use arc_swap::{ArcSwap, ArcSwapOption};
use rustls::ClientConfig;
use weir_wire::{Capabilities, Failure, error::codes};

use crate::address::Address;
use crate::counts::PoolCounts;
use crate::gtid::Position;
use crate::limits::Limits;
use crate::pulse::Pulse;
use crate::rights::Rights;
use crate::standing::Standing;
use crate::tables::Tables;

/// How often whoever waits for a server looks whether it has stopped answering.
const LOOK: Duration = Duration::from_millis(250);

/// Bits of [`Server::kept_away`].
const HELD: u8 = 1;
const FENCED: u8 = 2;

/// Whether connections to a server use TLS.
#[derive(Debug, Clone)]
pub enum Tls {
    /// Never.
    Off,
    /// If the server offers it.
    Preferred(Arc<ClientConfig>),
    /// Always; a server that does not offer it is refused. How certificates are checked is in the configuration.
    Required(Arc<ClientConfig>),
}

/// How connections to a server are made. It can be replaced: connections made from then on follow it.
#[derive(Debug, Clone)]
pub struct ConnectSettings {
    /// TLS.
    pub tls: Tls,
    /// Bound on making a connection, login included.
    pub connect_timeout: Duration,
}

/// Where a server is and how much of it may be used.
#[derive(Debug, Clone)]
pub struct ServerSettings {
    /// Its name.
    pub name: String,
    /// Its address.
    pub address: Address,
    /// The most connections to it, of all workers together.
    pub max_connections: usize,
    /// The most connections to it of one user; 0 is no limit.
    pub max_user_connections: usize,
    /// Whether the GTIDs of what is written through its connections are wanted: there are readers that follow it.
    pub track_gtids: bool,
}

/// What a server says of itself: what a client's greeting is made from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The version string of its greeting.
    pub version: Vec<u8>,
    /// Whether it is MariaDB.
    pub mariadb: bool,
    /// What it can do.
    pub capabilities: Capabilities,
    /// The default collation's id, as its greeting has it.
    pub collation: u8,
    /// The global sql_mode when it was asked.
    pub sql_mode: String,
    /// The collations that a handshake may ask for, by id.
    pub collations: HashMap<u16, String>,
    /// The value of `session_track_system_variables` with which Weir learns every change of a session variable.
    pub tracked_variables: String,
    /// MariaDB: the same as a list, without `last_gtid`, which changes with each commit.
    pub tracked_but_gtid: Option<String>,
    /// The variables whose changes are reported to a client unless it asks for others.
    pub client_tracked: Vec<String>,
    /// Whether GTIDs are reported to a client unless it asks for something else.
    pub client_tracks_gtids: bool,
}

impl Identity {
    /// The name of the collation that a handshake asks for, if the server has it.
    pub fn handshake_collation(&self, id: u16) -> Option<&str> {
        self.collations.get(&id).map(String::as_str)
    }
}

/// Whether a server answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Health {
    /// Not asked yet.
    Unknown,
    /// It answers.
    Up,
    /// It can't be reached, or refuses Weir's own account.
    Down(String),
    /// It accepts connections but has not answered for the bound.
    Hung,
}

impl Health {
    /// One word for tables and metrics.
    pub fn name(&self) -> &'static str {
        match self {
            Health::Unknown => "unknown",
            Health::Up => "up",
            Health::Down(_) => "down",
            Health::Hung => "hung",
        }
    }
}

/// What is known of a server at one time.
#[derive(Debug, Clone)]
pub struct Facts {
    /// Whether it answers.
    pub health: Health,
    /// Since when.
    pub since: Instant,
    /// What it is; `None` until it has answered once.
    pub identity: Option<Arc<Identity>>,
}

/// What a server has said of itself as a member of a group, at one time.
#[derive(Debug, Clone)]
pub struct Observation {
    /// When it was asked.
    pub asked: Instant,
    /// Which of its lives this is: it may have lost something in between. One ends with each connection of the monitor.
    pub life: u64,
    /// Which of its starts this follows: what was set by hand since then holds. One that is not known to be the same is another.
    pub start: u64,
    /// Whether it refuses writes.
    pub read_only: bool,
    /// Whether it has GTIDs at all.
    pub has_gtids: bool,
    /// Everything at this position is visible to who asks it from now on, if it is a replica.
    pub applied: Arc<Position>,
    /// Nothing beyond this position was visible to anybody before it was asked.
    pub visible: Arc<Position>,
}

/// A server, shared by all workers.
#[derive(Debug)]
pub struct Server {
    /// How it is reached.
    pub settings: ServerSettings,
    /// Its connection limits.
    pub limits: Limits,
    /// What trivial statements take there.
    pub pulse: Pulse,
    /// Changes of its accounts.
    pub rights: Rights,
    /// Tables that sessions insert into.
    pub tables: Tables,
    reach: ArcSwap<ConnectSettings>,
    facts: ArcSwap<Facts>,
    observation: ArcSwapOption<Observation>,
    standing: ArcSwapOption<Standing>,
    held: ArcSwapOption<String>,
    fenced: ArcSwapOption<String>,
    /// [`HELD`] and [`FENCED`]: every statement asks, and seldom is there a reason.
    kept_away: AtomicU8,
    generation: AtomicU64,
    takes_little: AtomicBool,
    received: AtomicU64,
    sent: AtomicU64,
    pool_counts: Mutex<Vec<PoolCounts>>,
}

impl Server {
    /// A server of which nothing is known yet; `workers` threads will have pools of it.
    pub fn new(settings: ServerSettings, reach: ConnectSettings, workers: usize) -> Server {
        let limits = Limits::new(settings.max_connections, settings.max_user_connections, workers);
        let facts = Facts { health: Health::Unknown, since: Instant::now(), identity: None };
        Server {
            settings,
            limits,
            pulse: Pulse::default(),
            rights: Rights::default(),
            tables: Tables::default(),
            reach: ArcSwap::from_pointee(reach),
            facts: ArcSwap::from_pointee(facts),
            observation: ArcSwapOption::empty(),
            standing: ArcSwapOption::empty(),
            held: ArcSwapOption::empty(),
            fenced: ArcSwapOption::empty(),
            kept_away: AtomicU8::new(0),
            generation: AtomicU64::new(0),
            takes_little: AtomicBool::new(false),
            received: AtomicU64::new(0),
            sent: AtomicU64::new(0),
            pool_counts: Mutex::new(vec![PoolCounts::default(); workers]),
        }
    }

    /// How connections to it are made now.
    pub fn reach(&self) -> Arc<ConnectSettings> {
        self.reach.load_full()
    }

    /// From now on connections are made so.
    pub fn set_reach(&self, reach: ConnectSettings) {
        self.reach.store(Arc::new(reach));
    }

    /// Bytes have come from it.
    pub(crate) fn note_received(&self, bytes: usize) {
        self.received.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Bytes have gone to it.
    pub(crate) fn note_sent(&self, bytes: usize) {
        self.sent.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Bytes received from it and sent to it, over connections that were logged in.
    pub fn traffic(&self) -> (u64, u64) {
        (self.received.load(Ordering::Relaxed), self.sent.load(Ordering::Relaxed))
    }

    /// What is known of it now.
    pub fn facts(&self) -> Arc<Facts> {
        self.facts.load_full()
    }

    /// Records its health; an identity replaces the one known.
    pub fn set_facts(&self, health: Health, identity: Option<Arc<Identity>>) {
        let old = self.facts.load();
        let since = if old.health == health { old.since } else { Instant::now() };
        let identity = identity.or_else(|| old.identity.clone());
        self.facts.store(Arc::new(Facts { health, since, identity }));
    }

    /// What it last said of itself as a member of a group; `None` until it has.
    pub fn observation(&self) -> Option<Arc<Observation>> {
        self.observation.load_full()
    }

    /// Records what it has said.
    pub fn set_observation(&self, observation: Observation) {
        self.observation.store(Some(Arc::new(observation)));
    }

    /// What it last said of its part in a group of several servers; `None` until it has, and for a server alone.
    pub fn standing(&self) -> Option<Arc<Standing>> {
        self.standing.load_full()
    }

    /// Records what it has said, unless something that it was asked later is known.
    pub fn set_standing(&self, standing: Standing) {
        let standing = Arc::new(standing);
        self.standing.rcu(|known| {
            let later = known.as_ref().filter(|known| known.asked > standing.asked);
            Some(later.unwrap_or(&standing).clone())
        });
    }

    /// Connections made before the generation changed are not lent again: their session defaults are out of date, or they are dead.
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::Relaxed)
    }

    /// Global variables were changed, or connections from before are dead: see [`Server::generation`].
    pub fn retire_connections(&self) {
        self.generation.fetch_add(1, Ordering::Relaxed);
        self.takes_little.store(false, Ordering::Relaxed);
    }

    /// Whether its `max_allowed_packet` is so small that Weir has to be brief, as far as it is known.
    pub fn takes_little(&self) -> bool {
        self.takes_little.load(Ordering::Relaxed)
    }

    /// It has refused a usual text of Weir's as too large.
    pub(crate) fn note_takes_little(&self) {
        self.takes_little.store(true, Ordering::Relaxed);
    }

    /// A worker tells the numbers of its pool.
    pub fn publish_counts(&self, worker: usize, counts: PoolCounts) {
        let mut all = self.pool_counts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(slot) = all.get_mut(worker) {
            *slot = counts;
        }
    }

    /// The numbers of the workers' pools, by worker, as they last told them.
    pub fn pool_counts(&self) -> Vec<PoolCounts> {
        self.pool_counts.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// From now on no session gets a connection to it, and why; `None`: they do again. What runs there goes on.
    pub fn hold(&self, why: Option<String>) {
        let is_held = why.is_some();
        self.held.store(why.map(Arc::new));
        self.keep_away(HELD, is_held);
    }

    /// From now on it counts as one that does not answer, and why; `None`: it is what it is.
    pub fn fence(&self, why: Option<String>) {
        if self.fenced.load().as_deref() != why.as_ref() {
            let is_fenced = why.is_some();
            self.fenced.store(why.map(Arc::new));
            self.keep_away(FENCED, is_fenced);
        }
    }

    fn keep_away(&self, reason: u8, on: bool) {
        match on {
            true => self.kept_away.fetch_or(reason, Ordering::Release),
            false => self.kept_away.fetch_and(!reason, Ordering::Release),
        };
    }

    /// Why no session gets a connection to it now, although it may answer.
    pub fn held(&self) -> Option<Failure> {
        if self.kept_away.load(Ordering::Acquire) == 0 {
            return None;
        }
        let held = self.held.load();
        let why = held.as_deref().cloned().or_else(|| self.fenced.load().as_deref().cloned())?;
        Some(self.unreachable(&why))
    }

    /// Whether it has stopped answering.
    pub fn is_hung(&self) -> bool {
        self.facts.load().health == Health::Hung
    }

    /// Ends when it is found to have stopped answering.
    pub async fn hung(&self) {
        while !self.is_hung() {
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Why it can't be used now, if it can't.
    pub fn refusal(&self) -> Option<Failure> {
        if let Some(why) = self.fenced.load().as_deref() {
            return Some(self.unreachable(why));
        }
        let facts = self.facts.load();
        let why = match &facts.health {
            Health::Up | Health::Unknown => return None,
            Health::Down(why) => why.clone(),
            Health::Hung => "it has stopped answering".to_owned(),
        };
        Some(self.unreachable(&why))
    }

    /// The failure of not reaching it.
    pub fn unreachable(&self, why: &str) -> Failure {
        let ServerSettings { name, address, .. } = &self.settings;
        let what = format!("Can't connect to MySQL server '{name}' on '{address}': ");
        // What a server is down for may be the text of such a failure.
        let why = why.strip_prefix(&what).unwrap_or(why);
        Failure::server(codes::CR_CONN_HOST_ERROR, format!("{what}{why}"))
    }

    /// The failure of losing it in the middle of a statement, which may have been done.
    pub fn lost(&self, why: &str) -> Failure {
        let name = &self.settings.name;
        let message = format!("Lost connection to MySQL server during query (server '{name}': {why})");
        Failure::server(codes::CR_SERVER_LOST, message).maybe_done()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_to_reach_a_server_tells_of_it_once() {
        let settings = ServerSettings {
            name: "s".to_owned(),
            address: Address::Tcp { host: "127.0.0.1".to_owned(), port: 1 },
            max_connections: 1,
            max_user_connections: 0,
            track_gtids: false,
        };
        let connect = ConnectSettings { tls: Tls::Off, connect_timeout: Duration::from_secs(600) };
        let server = Server::new(settings, connect, 1);
        let first = server.unreachable("Connection refused");
        assert_eq!(first.message, "Can't connect to MySQL server 's' on '127.0.0.1:1': Connection refused");
        assert_eq!(server.unreachable(&first.message).message, first.message);
    }
}
