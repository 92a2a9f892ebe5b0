//! What all sessions share: settings, accounts, the servers, the registry, keys and counters.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use arc_swap::{ArcSwap, ArcSwapOption};
use rustls::ServerConfig;
use weir_admin::network::Network;
use weir_admin::sessions::Registry;
use weir_admin::{Commands, Oversight};
use weir_backend::monitor::MonitorSettings;
use weir_backend::server::Identity;
use weir_backend::{Admission, Replaceable, Server};
use weir_exec::hot_rows::HotRows;
use weir_exec::workbench::Bounds;
use weir_topology::{Group, Level};
use weir_txn::Coordinator;
use weir_wire::auth::RsaKeyPair;

use crate::accounts::Accounts;
use crate::backends::HOME;
use crate::metrics::Metrics;

/// A compression that clients may choose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Compression {
    /// zlib.
    pub zlib: bool,
    /// zstd.
    pub zstd: bool,
}

/// Bounds and choices of the client side.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Bound on login, from the first byte to the OK.
    pub handshake_timeout: Duration,
    /// An idle client is disconnected after this time, unless it has set `wait_timeout` itself.
    pub wait_timeout: Duration,
    /// A client that does not read for so long is cut off.
    pub write_timeout: Duration,
    /// The largest packet that a client may send, in bytes.
    pub max_allowed_packet: usize,
    /// Compressions offered.
    pub compression: Compression,
    /// Whether clients must compress.
    pub require_compression: bool,
    /// Where clients may come from; empty: from anywhere.
    pub allow: Vec<Network>,
    /// Whether clients on TCP must use TLS.
    pub require_tls: bool,
    /// The path of Weir's own Unix socket; empty if it has none.
    pub socket: Box<str>,
    /// Bound on clearing a connection after its session.
    pub reset_timeout: Duration,
    /// How long a session must be idle to leave when another process has taken over.
    pub leave_after: Duration,
    /// The most that a statement gathers on a workbench.
    pub gathering: Bounds,
}

/// What all sessions of all workers share.
#[derive(Debug)]
pub struct Endpoint {
    /// Bounds and choices.
    pub settings: ArcSwap<Settings>,
    /// Who may log in.
    pub accounts: Accounts,
    /// The shards: a group of servers each. There is one at least.
    pub groups: Vec<Arc<Group>>,
    /// What is known of databases over several shards; `None` if there is one shard.
    pub sharding: Option<Arc<weir_shards::Sharding>>,
    /// How they are watched, and with which account.
    pub monitor: Replaceable<MonitorSettings>,
    /// Who may have connections to several shards.
    pub admission: Arc<Admission>,
    /// Ends transactions that have parts on several shards.
    pub transactions: Arc<Coordinator>,
    /// The sessions.
    pub registry: Arc<Registry>,
    /// The WEIR statements.
    pub commands: Arc<Commands>,
    /// TLS for clients, if offered.
    pub tls: ArcSwapOption<ServerConfig>,
    /// What is counted of statements.
    pub oversight: Arc<Oversight>,
    /// Rows that many clients change at once.
    pub hot_rows: Arc<HotRows>,
    /// Counters of the client side.
    pub metrics: Metrics,
    /// Counters of the server side.
    pub backend_metrics: weir_backend::Metrics,
    /// The key with which a client without TLS encrypts its password; made when the first one needs it.
    pub rsa: OnceLock<Option<Arc<RsaKeyPair>>>,
}

impl Endpoint {
    /// The home shard: where statements run for which nothing says another one.
    pub fn home(&self) -> &Arc<Group> {
        &self.groups[HOME]
    }

    /// All servers of all shards, in the configuration's order.
    pub fn servers(&self) -> impl Iterator<Item = &Arc<Server>> {
        self.groups.iter().flat_map(|group| &group.servers)
    }

    /// What clients are told that the servers are: the identity of the home shard's writer, or, when it has never answered,
    /// another server's.
    pub fn identity(&self) -> Option<Arc<Identity>> {
        let of = |server: &Arc<Server>| server.facts().identity.clone();
        of(&self.home().writer()).or_else(|| self.servers().find_map(of))
    }

    /// How fresh a user's reads have to be, unless a session says otherwise.
    pub fn level_of(&self, user: &str) -> Level {
        self.accounts.configured(user).and_then(|user| user.level).unwrap_or(self.home().settings().level)
    }

    /// The RSA key, made on first use (it takes some tenths of a second). `None` when it can't be made.
    pub fn rsa_key(&self) -> Option<Arc<RsaKeyPair>> {
        let make = || match RsaKeyPair::generate() {
            Ok(key) => Some(Arc::new(key)),
            Err(error) => {
                tracing::error!(%error, "no RSA key: clients without TLS can't tell their passwords");
                None
            }
        };
        self.rsa.get_or_init(make).clone()
    }
}
