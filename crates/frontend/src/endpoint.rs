//! What all sessions share: settings, accounts, the server, the registry, keys and counters.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rustls::ServerConfig;
use weir_admin::Commands;
use weir_admin::sessions::Registry;
use weir_backend::Server;
use weir_wire::auth::RsaKeyPair;

use crate::accounts::Accounts;
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
    /// Whether clients on TCP must use TLS.
    pub require_tls: bool,
    /// Bound on clearing a connection after its session.
    pub reset_timeout: Duration,
}

/// What all sessions of all workers share.
#[derive(Debug)]
pub struct Endpoint {
    /// Bounds and choices.
    pub settings: Settings,
    /// Who may log in.
    pub accounts: Accounts,
    /// The server that answers.
    pub server: Arc<Server>,
    /// The sessions.
    pub registry: Arc<Registry>,
    /// The WEIR statements.
    pub commands: Commands,
    /// TLS for clients, if offered.
    pub tls: Option<Arc<ServerConfig>>,
    /// Counters of the client side.
    pub metrics: Metrics,
    /// Counters of the server side.
    pub backend_metrics: weir_backend::Metrics,
    /// The key with which a client without TLS encrypts its password; made when the first one needs it.
    pub rsa: OnceLock<Option<Arc<RsaKeyPair>>>,
}

impl Endpoint {
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
