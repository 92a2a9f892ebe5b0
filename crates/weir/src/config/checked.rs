//! The configuration as the program uses it: everything parsed, resolved and found consistent.
//!
//! Must always hold: a [`CheckedConfig`] comes from `check` only, so whoever holds one may rely on
//! what the docs of its fields say. Nothing of it is bound, connected or started yet.

use std::net::SocketAddr;
use std::num::{NonZeroU32, NonZeroU64, NonZeroUsize};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::CertificateDer;

use weir_admin::logs::{AuditSettings, FileSettings};
use weir_admin::network::Network;
use weir_admin::rules::{Matches, Rewrite};
use weir_backend::Address;
use weir_sql::RoutingHint;

pub(crate) use super::files::Identity;
pub(crate) use super::raw::{
    AuthPlugin, Compression, Consistency, FailoverMode, GroupKind, LogFormat, LogLevel, Promotion, Role, Scheduling,
    ServerTlsMode,
};
use super::secret::Secret;

/// A configuration that was found to be right.
#[derive(Debug, Clone)]
pub(crate) struct CheckedConfig {
    /// Where clients connect.
    pub(crate) listen: Listen,
    /// The number of worker threads; one per core is counted already.
    pub(crate) worker_threads: NonZeroUsize,
    /// How they are scheduled.
    pub(crate) scheduling: Scheduling,
    /// TLS towards the clients.
    pub(crate) tls: ClientTls,
    /// Limits and timeouts of client connections.
    pub(crate) clients: Clients,
    /// Who may log in, and how.
    pub(crate) accounts: Accounts,
    /// The shards, in the file's order; there is one at least, and their names differ.
    pub(crate) groups: Vec<Group>,
    /// What is kept of sharded databases.
    pub(crate) sharding: Sharding,
    /// TLS towards the servers.
    pub(crate) server_tls: ServerTls,
    /// The pools of server connections.
    pub(crate) pool: Pool,
    /// Connections that the short reads of many sessions share.
    pub(crate) lanes: Lanes,
    /// Batches of changes of one row.
    pub(crate) hot_rows: HotRows,
    /// What statements gather on one server.
    pub(crate) workbench: Workbench,
    /// How the servers are watched.
    pub(crate) monitor: Monitor,
    /// Where the HTTP endpoint for monitoring listens, if at all.
    pub(crate) metrics_address: Option<SocketAddr>,
    /// The REST interface, if there is one.
    pub(crate) api: Option<Api>,
    /// Weir's own log.
    pub(crate) log: Log,
    /// The slow log, if there is one.
    pub(crate) slow_log: Option<SlowLog>,
    /// The audit log, if there is one.
    pub(crate) audit_log: Option<AuditLog>,
    /// The rules, in their order; their names differ.
    pub(crate) rules: Vec<Rule>,
    /// The time that open transactions have to end at a stop; may be zero.
    pub(crate) shutdown_grace: Duration,
    /// How a new process takes over.
    pub(crate) takeover: Takeover,
    /// How transactions with several shards end.
    pub(crate) transactions: Transactions,
}

/// `[listen]`: at least one address or a socket.
#[derive(Debug, Clone)]
pub(crate) struct Listen {
    /// TCP addresses, all different; port 0 stands for any free port.
    pub(crate) addresses: Vec<SocketAddr>,
    /// A Unix socket.
    pub(crate) socket: Option<ListenSocket>,
    /// The length of the kernel's queue of connections to accept.
    pub(crate) backlog: u32,
    /// Where connections begin with a PROXY protocol header.
    pub(crate) proxy_protocol_networks: Vec<Network>,
    /// Where clients may come from; empty: from anywhere.
    pub(crate) allow: Vec<Network>,
    /// What the ids of sessions begin with.
    pub(crate) instance: u8,
}

/// A Unix socket to listen on.
#[derive(Debug, Clone)]
pub(crate) struct ListenSocket {
    /// An absolute path, short enough for a socket address.
    pub(crate) path: PathBuf,
    /// Its permission bits, such as 0o777.
    pub(crate) mode: u32,
}

/// `[tls]`
#[derive(Debug, Clone)]
pub(crate) struct ClientTls {
    /// The certificate that clients see.
    pub(crate) certificate: ClientTlsCertificate,
    /// Refuse TCP connections without TLS. Never true when TLS is off.
    pub(crate) require: bool,
}

/// The certificate that clients see.
#[derive(Debug, Clone)]
pub(crate) enum ClientTlsCertificate {
    /// None: TLS is not offered.
    Off,
    /// One that is generated at start, self-signed.
    Generate,
    /// This one; certificate and key match.
    Files(Identity),
}

/// `[clients]`
#[derive(Debug, Clone)]
pub(crate) struct Clients {
    /// Client connections in all; error 1040 beyond.
    pub(crate) max_connections: NonZeroU32,
    /// Client connections per user, if limited; error 1203 beyond.
    pub(crate) max_user_connections: Option<NonZeroU32>,
    /// From accepting a connection to the end of its authentication.
    pub(crate) handshake_timeout: Duration,
    /// How long a client may be idle.
    pub(crate) wait_timeout: Duration,
    /// How long a client that doesn't read is waited for.
    pub(crate) write_timeout: Duration,
    /// The largest packet from a client, 1 KiB to 1 GiB, in bytes; error 1153 beyond.
    pub(crate) max_allowed_packet: usize,
    /// The compressions offered; not empty.
    pub(crate) compression: Vec<Compression>,
    /// Statements that change data are refused.
    pub(crate) read_only: bool,
}

/// `[accounts]` and `[[users]]`
#[derive(Debug, Clone)]
pub(crate) struct Accounts {
    /// Accept users that aren't listed, if a server accepts them.
    pub(crate) learn: bool,
    /// The authentication method for the greeting and for users with no other; None: as the server does.
    pub(crate) default_plugin: Option<AuthPlugin>,
    /// The listed users; their names differ.
    pub(crate) users: Vec<User>,
}

/// A listed user.
#[derive(Debug, Clone)]
pub(crate) struct User {
    /// The name, not empty.
    pub(crate) name: String,
    /// The password; empty only where the file says so in plain text.
    pub(crate) password: Secret,
    /// The authentication method; the default is applied already. None: as the server does.
    pub(crate) plugin: Option<AuthPlugin>,
    /// May run the `WEIR …` statements.
    pub(crate) admin: bool,
    /// Client connections of this user, if limited; the default of `[clients]` is applied already.
    pub(crate) max_connections: Option<NonZeroU32>,
    /// How fresh this user's reads have to be, if not as the group says.
    pub(crate) consistency: Option<Consistency>,
    /// Whether this user's lost transactions are run again, if not as the group says.
    pub(crate) transaction_replay: Option<bool>,
    /// Where the user may log in from; empty: from anywhere.
    pub(crate) allow: Vec<Network>,
}

/// A server behind Weir.
#[derive(Debug, Clone)]
pub(crate) struct Server {
    /// A name that no other server has: ASCII letters, digits, `.`, `_` and `-`.
    pub(crate) name: String,
    /// An address that no other server has.
    pub(crate) address: Address,
    /// What it is for.
    pub(crate) role: Role,
    /// Its share of the reads, if not the usual one of its role.
    pub(crate) weight: Option<u32>,
    /// How willingly it is made the writer.
    pub(crate) promotion: Promotion,
}

/// `[[groups]]`, and the `[[servers]]` that name it: a shard.
#[derive(Debug, Clone)]
pub(crate) struct Group {
    /// Its name, not empty.
    pub(crate) name: String,
    /// Its servers, in the file's order; exactly one is the writer.
    pub(crate) servers: Vec<Server>,
    /// How fresh reads have to be.
    pub(crate) consistency: Consistency,
    /// How far behind a replica may be.
    pub(crate) max_lag: Duration,
    /// How long a read waits for a replica.
    pub(crate) read_wait: Duration,
    /// How long a statement waits for the writer; may be zero.
    pub(crate) writer_wait: Duration,
    /// Whether lost transactions are run again.
    pub(crate) transaction_replay: bool,
    /// So many bytes of a transaction are kept for that.
    pub(crate) transaction_replay_size: usize,
    /// Between two looks at positions.
    pub(crate) position_interval: Duration,
    /// Whether members that the group knows of are used as well.
    pub(crate) discover: bool,
    /// How its servers replicate.
    pub(crate) kind: GroupKind,
    /// Who replaces a dead writer.
    pub(crate) failover: FailoverMode,
    /// How long the writer must be gone.
    pub(crate) failover_after: Duration,
    /// Between two failovers.
    pub(crate) failover_interval: Duration,
    /// How many transactions may be lost.
    pub(crate) max_lost: Option<u64>,
}

/// `[sharding]`
#[derive(Debug, Clone)]
pub(crate) struct Sharding {
    /// Where the catalog is kept; it need not be there yet.
    pub(crate) directory: PathBuf,
    /// It was said where: databases may be sharded although there is one shard so far.
    pub(crate) wanted: bool,
}

/// `[server_tls]`
#[derive(Debug, Clone)]
pub(crate) struct ServerTls {
    /// When TLS is used, and what is verified.
    pub(crate) mode: ServerTlsMode,
    /// The authorities to verify with: not empty in the two verifying modes, empty in the others.
    pub(crate) authorities: Vec<CertificateDer<'static>>,
    /// The certificate to show to the servers.
    pub(crate) identity: Option<Identity>,
}

/// `[pool]`
#[derive(Debug, Clone)]
pub(crate) struct Pool {
    /// Connections per server.
    pub(crate) max_connections: NonZeroU32,
    /// Connections per server and user, if limited.
    pub(crate) max_user_connections: Option<NonZeroU32>,
    /// Statements that may wait per server.
    pub(crate) max_queue: usize,
    /// How long a statement waits for a connection.
    pub(crate) queue_timeout: Duration,
    /// How long an unused connection is kept.
    pub(crate) idle_timeout: Duration,
    /// How long connecting and authenticating may take.
    pub(crate) connect_timeout: Duration,
    /// Prepared statements per connection.
    pub(crate) prepared_statements: NonZeroUsize,
}

/// `[lanes]`
#[derive(Debug, Clone)]
pub(crate) struct Lanes {
    /// Whether statements ride lanes at all.
    pub(crate) enabled: bool,
    /// Lanes per server.
    pub(crate) max_lanes: NonZeroU32,
    /// Statements in flight per lane.
    pub(crate) max_depth: NonZeroU32,
    /// How long a statement may occupy its lane.
    pub(crate) stall_timeout: Duration,
}

/// `[hot_rows]`
#[derive(Debug, Clone)]
pub(crate) struct HotRows {
    /// Whether there are batches at all.
    pub(crate) enabled: bool,
    /// Statements in flight that make a row hot.
    pub(crate) threshold: NonZeroU32,
    /// Statements per batch.
    pub(crate) max_batch: NonZeroU32,
    /// Tables whose counters may be moved together: database and name.
    pub(crate) merge: Vec<(String, String)>,
    /// How long a batch should hold its rows.
    pub(crate) max_hold: Duration,
    /// Statements of open transactions that may wait on the server for one row.
    pub(crate) admission: NonZeroU32,
}

/// `[workbench]`
#[derive(Debug, Clone, Copy)]
pub(crate) struct Workbench {
    /// The most bytes of rows that a statement gathers.
    pub(crate) max_bytes: u64,
    /// The most rows that it gathers.
    pub(crate) max_rows: Option<NonZeroU64>,
}

/// `[monitor]`
#[derive(Debug, Clone)]
pub(crate) struct Monitor {
    /// Weir's own account.
    pub(crate) user: String,
    /// Its password.
    pub(crate) password: Secret,
    /// Between two probes.
    pub(crate) interval: Duration,
    /// For one probe.
    pub(crate) timeout: Duration,
    /// Until a server without answers is taken for hung; at least `timeout`.
    pub(crate) hang_timeout: Duration,
}

/// `[transactions]`
#[derive(Debug, Clone, Copy)]
pub(crate) struct Transactions {
    /// Between two looks for prepared branches.
    pub(crate) recovery_interval: Duration,
    /// A prepared branch is left alone for so long.
    pub(crate) recovery_grace: Duration,
    /// For learning what was decided.
    pub(crate) outcome_timeout: Duration,
    /// Decisions stay for so long.
    pub(crate) keep_decisions: Duration,
    /// Between two looks for deadlocks; zero: none.
    pub(crate) deadlock_interval: Duration,
}

/// `[api]` with an address.
#[derive(Debug, Clone)]
pub(crate) struct Api {
    /// Where it listens.
    pub(crate) address: SocketAddr,
    /// The token that opens it, long enough not to be guessed.
    pub(crate) token: Secret,
}

/// A rule.
#[derive(Debug, Clone)]
pub(crate) struct Rule {
    /// Its name, not empty.
    pub(crate) name: String,
    /// Which statements it is for.
    pub(crate) matches: Matches,
    /// What it does.
    pub(crate) action: RuleAction,
    /// Why.
    pub(crate) reason: Option<String>,
}

/// What a rule does.
#[derive(Debug, Clone)]
pub(crate) enum RuleAction {
    /// Refuses.
    Block,
    /// So many per second.
    Rate {
        /// At least 1.
        per_second: u32,
        /// For how long a statement waits; may be zero.
        wait: Duration,
    },
    /// So many at a time.
    Concurrency {
        /// At least 1.
        most: u32,
        /// For how long a statement waits; may be zero.
        wait: Duration,
    },
    /// Sends elsewhere.
    Route(RoutingHint),
    /// Runs another text.
    Rewrite(Arc<Rewrite>),
    /// Ends after this time, which is not zero.
    Timeout(Duration),
}

/// `[slow_log]` with a file.
#[derive(Debug, Clone)]
pub(crate) struct SlowLog {
    /// Statements that took at least so long; may be zero.
    pub(crate) min_time: Duration,
    /// Literals are shown.
    pub(crate) literals: bool,
    /// Where.
    pub(crate) file: FileSettings,
}

/// `[audit_log]` with a file.
#[derive(Debug, Clone)]
pub(crate) struct AuditLog {
    /// What it takes.
    pub(crate) settings: AuditSettings,
    /// Where.
    pub(crate) file: FileSettings,
}

/// `[log]`
#[derive(Debug, Clone)]
pub(crate) struct Log {
    /// How much is logged, unless the environment says otherwise.
    pub(crate) level: LogLevel,
    /// The form of a line.
    pub(crate) format: LogFormat,
    /// The file to append to; None for standard error.
    pub(crate) file: Option<PathBuf>,
}

/// `[takeover]`
#[derive(Debug, Clone)]
pub(crate) struct Takeover {
    /// Where the new process asks.
    pub(crate) socket: PathBuf,
    /// Whether the file names the socket: then it must be there, else it may be missing.
    pub(crate) named: bool,
    /// How long a session must be idle to be closed.
    pub(crate) idle: Duration,
    /// How long sessions have to leave; may be zero.
    pub(crate) grace: Duration,
}
