//! A server behind Weir: how to reach it, what it is, and whether it answers.
//!
//! The facts are immutable snapshots that the monitor replaces and the workers read without locks.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use rustls::ClientConfig;
use weir_wire::{Capabilities, Failure, Fault, error::codes};

use crate::address::Address;
use crate::limits::Limits;
use crate::pool::PoolCounts;

/// What a server is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// It takes writes.
    Writer,
    /// It follows a writer.
    Replica,
}

impl Role {
    /// The word of the configuration and of `WEIR SHOW SERVERS`.
    pub fn name(self) -> &'static str {
        match self {
            Role::Writer => "writer",
            Role::Replica => "replica",
        }
    }
}

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

/// How a server is reached and how much of it may be used.
#[derive(Debug, Clone)]
pub struct ServerSettings {
    /// Its name.
    pub name: String,
    /// Its address.
    pub address: Address,
    /// What it is for.
    pub role: Role,
    /// TLS.
    pub tls: Tls,
    /// The most connections to it, of all workers together.
    pub max_connections: usize,
    /// The most connections to it of one user; 0 is no limit.
    pub max_user_connections: usize,
    /// Bound on making a connection, login included.
    pub connect_timeout: Duration,
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
    /// Collations by id: character set and collation name.
    pub collations: HashMap<u16, (String, String)>,
    /// The value of `session_track_system_variables` with which Weir learns every change of a session variable.
    pub tracked_variables: String,
    /// The variables whose changes a client is told of unless it asks for others.
    pub client_tracked: Vec<String>,
}

impl Identity {
    /// The id and name of the collation that a handshake asks for, if the server has it.
    pub fn handshake_collation(&self, id: u16) -> Option<(u16, &str)> {
        self.collations.get(&id).map(|(_, name)| (id, name.as_str()))
    }

    /// The name of a character set variable's value, which may be a collation's id.
    pub fn charset_name<'a>(&'a self, value: &'a str) -> &'a str {
        let by_id = value.parse().ok().and_then(|id: u16| self.collations.get(&id));
        by_id.map_or(value, |(charset, _)| charset.as_str())
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

/// A server, shared by all workers.
#[derive(Debug)]
pub struct Server {
    /// How it is reached.
    pub settings: ServerSettings,
    /// Its connection limits.
    pub limits: Limits,
    facts: ArcSwap<Facts>,
    generation: AtomicU64,
    pool_counts: Mutex<Vec<PoolCounts>>,
}

impl Server {
    /// A server of which nothing is known yet; `workers` threads will have pools of it.
    pub fn new(settings: ServerSettings, workers: usize) -> Server {
        let limits = Limits::new(settings.max_connections, settings.max_user_connections, workers);
        let facts = Facts { health: Health::Unknown, since: Instant::now(), identity: None };
        Server {
            settings,
            limits,
            facts: ArcSwap::from_pointee(facts),
            generation: AtomicU64::new(0),
            pool_counts: Mutex::new(vec![PoolCounts::default(); workers]),
        }
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

    /// Connections made before the generation changed are not used again: their session defaults are out of date.
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::Relaxed)
    }

    /// Global variables were changed: see [`Server::generation`].
    pub fn retire_connections(&self) {
        self.generation.fetch_add(1, Ordering::Relaxed);
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

    /// Why it can't be used now, if it can't.
    pub fn refusal(&self) -> Option<Failure> {
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
        let message = format!("Can't connect to MySQL server '{name}' on '{address}': {why}");
        Failure::new(Fault::Server, codes::CR_CONN_HOST_ERROR, b"HY000", message)
    }

    /// The failure of losing it in the middle of a statement, which may have been done.
    pub fn lost(&self, why: &str) -> Failure {
        let name = &self.settings.name;
        let message = format!("Lost connection to MySQL server during query (server '{name}': {why})");
        Failure::new(Fault::Server, codes::CR_SERVER_LOST, b"HY000", message).maybe_done()
    }
}
