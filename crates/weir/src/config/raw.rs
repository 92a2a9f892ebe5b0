//! The configuration file as it is written: the keys, their documentation and their defaults.
//!
//! This is the one place where a key is declared. The schema derived from these types drives the
//! check for unknown keys (`source`), `docs/configuration.md` and the example file (`docs`), so a
//! doc comment here is what a user reads. Must always hold: each key has a doc comment, and a
//! default or an example (`required` keys have an example). Values are kept as text where they need
//! parsing; `checked` does that.

mod groups;
mod hot_rows;
mod logs;
mod rules;
mod servers;
mod workbench;

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::secret::Secret;
use super::units::{DurationText, SizeText};
pub(crate) use groups::{Consistency, FailoverMode, GroupKind, RawGroup, RawSharding, RawTransactions, UNNAMED_GROUP};
pub(crate) use hot_rows::RawHotRows;
pub(crate) use logs::{AuditEvent, AuditFailure, RawAuditLog, RawSlowLog, StatementKind};
pub(crate) use rules::{RawRule, RuleAction, RuleKind, RuleTarget};
pub(crate) use servers::{Promotion, RawLanes, RawMonitor, RawPool, RawServer, RawServerTls, Role, ServerTlsMode};
pub(crate) use workbench::RawWorkbench;

/// The configuration of Weir: one TOML file, `weir.toml`.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct RawConfig {
    /// Where clients connect.
    pub(crate) listen: RawListen,
    /// The threads that serve clients.
    pub(crate) workers: RawWorkers,
    /// TLS between the clients and Weir. TLS 1.2 is the oldest version accepted.
    pub(crate) tls: RawTls,
    /// Limits and timeouts of client connections.
    pub(crate) clients: RawClients,
    /// How the clients' users are authenticated. Weir connects to the servers as the same user with
    /// the same password, so the servers' own grants apply; a grant for certain hosts must allow
    /// the host that Weir runs on.
    pub(crate) accounts: RawAccounts,
    /// Users that Weir knows in advance, one `[[users]]` section each. With `accounts.learn`, only
    /// users that need a setting of their own have to be listed.
    pub(crate) users: Vec<RawUser>,
    /// The MySQL or MariaDB servers behind Weir, one `[[servers]]` section each; exactly one of
    /// each group is its writer.
    pub(crate) servers: Vec<RawServer>,
    /// The shards. Each is a group of servers: one writer, and the replicas that follow it. With one shard a section is needed only
    /// to change a default; several have one `[[groups]]` section each, and each of the `[[servers]]` names its group. The first
    /// one is the home shard, where statements run that belong to no other shard.
    pub(crate) groups: Vec<RawGroup>,
    /// Where Weir keeps the catalog of sharded databases.
    pub(crate) sharding: RawSharding,
    /// TLS between Weir and the servers, by TCP; Unix sockets need none.
    pub(crate) server_tls: RawServerTls,
    /// The pools of connections to the servers.
    pub(crate) pool: RawPool,
    /// Lanes: server connections that the short reads of many sessions share, with several statements in flight.
    /// Statements that take long, change something or leave something behind have connections of their own.
    pub(crate) lanes: RawLanes,
    /// Hot rows: rows that many clients change at the same time, such as a counter or the stock of an item on sale. Weir runs their
    /// statements in batches, with one commit for each batch instead of one for each statement.
    pub(crate) hot_rows: RawHotRows,
    /// The workbench: a server on which Weir gathers the rows of a statement that needs rows of several shards in one place, such as a join
    /// on columns that are no shard keys. They go into temporary tables, which are gone when the statement ends.
    pub(crate) workbench: RawWorkbench,
    /// How Weir monitors the servers, and the account that it uses for this.
    pub(crate) monitor: RawMonitor,
    /// The HTTP endpoint for monitoring: Prometheus metrics at `/metrics`, and `/health`.
    pub(crate) metrics: RawMetrics,
    /// The REST interface: the `WEIR …` statements over HTTP, for `weir ctl` and for tools.
    pub(crate) api: RawApi,
    /// Weir's own log.
    pub(crate) log: RawLog,
    /// The slow log: statements that took long. It never delays statements: lines that come faster than the disk
    /// can write them are lost, and counted in a metric.
    pub(crate) slow_log: RawSlowLog,
    /// The audit log: who did what.
    pub(crate) audit_log: RawAuditLog,
    /// Rules about statements, one `[[rules]]` section each. Weir tries them in order, and only the first one that
    /// matches applies. A rule applies to statements that meet all of its conditions; a rule without conditions applies to all
    /// statements, and then must not block or rewrite.
    /// Rules do not apply to `WEIR` statements.
    #[schemars(extend("example_only" = true))]
    pub(crate) rules: Vec<RawRule>,
    /// How transactions over several shards end, and how Weir recovers transactions whose Weir or server died.
    pub(crate) transactions: RawTransactions,
    /// How Weir stops.
    pub(crate) shutdown: RawShutdown,
    /// How a new process takes over the listening sockets from this one (`weir serve --takeover`), for upgrades that refuse
    /// no client.
    pub(crate) takeover: RawTakeover,
}

/// `[listen]`
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct RawListen {
    /// The IP addresses and TCP ports to listen on, such as `"0.0.0.0:4406"` or `"[::]:4406"`.
    #[schemars(extend("format" = "IP address:port"))]
    pub(crate) address: Vec<String>,
    /// A Unix socket to listen on as well: an absolute path. Unset: none.
    #[schemars(extend("format" = "path"), example = "/run/weir/weir.sock")]
    pub(crate) socket: Option<PathBuf>,
    /// The permissions of the Unix socket, octal. Who may write to it may connect.
    #[schemars(extend("format" = "octal mode"))]
    pub(crate) socket_mode: String,
    /// How many connections may wait to be accepted (`back_log` in MySQL). The kernel lowers this
    /// to its own limit, `net.core.somaxconn`.
    #[schemars(range(min = 1, max = 65_535))]
    pub(crate) backlog: u32,
    /// The networks of load balancers that put a PROXY protocol header (version 1 or 2) before
    /// their clients' traffic: a connection from one of them must begin with the header, and counts
    /// as a connection from the address in it. No other connection may send one.
    #[schemars(extend("format" = "network"), example = ["10.0.0.0/8"])]
    pub(crate) proxy_protocol_networks: Vec<String>,
    /// The networks that clients may connect from, by the addresses in PROXY protocol headers where there are any; other
    /// clients get error 1130. Empty: from anywhere. Clients on the Unix socket may always connect.
    #[schemars(extend("format" = "network"), example = ["10.0.0.0/8"])]
    pub(crate) allow: Vec<String>,
    /// The number of this Weir among several over the same servers, such as those behind one load balancer; give each its own,
    /// from 1. It is the highest byte of connection ids: no two of them have a session of the same id, and a KILL that reaches
    /// the wrong one hits nobody (error 1094 names the right one). 0: there is one Weir.
    #[schemars(range(max = 255))]
    pub(crate) instance: u8,
}

impl Default for RawListen {
    fn default() -> Self {
        Self {
            address: vec!["127.0.0.1:4406".to_owned()],
            socket: None,
            socket_mode: "0777".to_owned(),
            backlog: 4_096,
            proxy_protocol_networks: Vec::new(),
            allow: Vec::new(),
            instance: 0,
        }
    }
}

/// How the system schedules worker threads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Scheduling {
    /// A worker that wakes up does not displace another thread from its processor (`SCHED_BATCH` of Linux): more
    /// throughput where servers or clients run on the same machine, and no difference where a processor is idle.
    #[default]
    Batch,
    /// Like other programs.
    Normal,
}

/// `[workers]`
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct RawWorkers {
    /// The number of worker threads. 0: one per CPU core that Weir may use.
    #[schemars(range(max = 1_024))]
    pub(crate) threads: u32,
    /// How the system schedules them.
    pub(crate) scheduling: Scheduling,
}

/// Where the certificate that clients see comes from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum TlsMode {
    /// Weir generates a self-signed certificate at each start; clients can encrypt, but not verify Weir.
    #[default]
    Generate,
    /// The certificate and its key are read from `certificate` and `key`.
    Files,
    /// Clients cannot use TLS.
    Off,
}

/// `[tls]`
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct RawTls {
    /// Where the certificate that clients see comes from.
    pub(crate) mode: TlsMode,
    /// The certificate, PEM, followed by its intermediates (`ssl_cert` in MySQL). With mode
    /// `"files"` only.
    #[schemars(extend("format" = "path"), example = "/etc/weir/server-cert.pem")]
    pub(crate) certificate: Option<PathBuf>,
    /// The private key of the certificate, PEM, not encrypted (`ssl_key` in MySQL). Only
    /// its owner and group may be able to read it. With mode `"files"` only.
    #[schemars(extend("format" = "path"), example = "/etc/weir/server-key.pem")]
    pub(crate) key: Option<PathBuf>,
    /// Refuse TCP connections that do not use TLS (`require_secure_transport` in MySQL). Unix
    /// sockets count as secure.
    pub(crate) require: bool,
}

/// A compression of the client protocol, named as in MySQL's `protocol_compression_algorithms`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Compression {
    /// Deflate.
    Zlib,
    /// Zstandard.
    Zstd,
    /// No compression.
    Uncompressed,
}

/// `[clients]`
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct RawClients {
    /// The maximum number of client connections in total; one more gets error 1040 (Too many
    /// connections).
    #[schemars(range(min = 1, max = 1_000_000))]
    pub(crate) max_connections: u32,
    /// The maximum number of client connections per user; one more gets error 1203. 0: no
    /// limit of its own. A user's own `max_connections` takes precedence.
    #[schemars(range(max = 1_000_000))]
    pub(crate) max_user_connections: u32,
    /// The maximum time from accepting a connection to the end of the client's part of its authentication
    /// (`connect_timeout` in MySQL). The servers get as long again to confirm it.
    pub(crate) handshake_timeout: DurationText,
    /// The time after which an idle client connection is closed.
    pub(crate) wait_timeout: DurationText,
    /// How long Weir waits for a client that does not read its reply, whose host acknowledges nothing of
    /// it, or that stops in the middle of a packet or of a file, before it closes the connection
    /// (`net_write_timeout` and `net_read_timeout` in MySQL). A session that sets one of these to more has
    /// that time.
    pub(crate) write_timeout: DurationText,
    /// The largest packet that a client may send; a larger one gets error 1153. The servers' own
    /// `max_allowed_packet` should be no smaller.
    pub(crate) max_allowed_packet: SizeText,
    /// The compressions that a client may choose from (`protocol_compression_algorithms` in MySQL).
    pub(crate) compression: Vec<Compression>,
    /// Refuse statements that change data with error 1290, like MySQL's `--read-only`. This includes statements that might change data
    /// without Weir seeing it, such as calls of stored routines. `WEIR SET READ_ONLY` changes it while Weir runs.
    pub(crate) read_only: bool,
}

impl Default for RawClients {
    fn default() -> Self {
        Self {
            max_connections: 10_000,
            max_user_connections: 0,
            handshake_timeout: "10s".into(),
            wait_timeout: "8h".into(),
            write_timeout: "60s".into(),
            max_allowed_packet: "64MiB".into(),
            compression: vec![Compression::Zlib, Compression::Zstd, Compression::Uncompressed],
            read_only: false,
        }
    }
}

/// An authentication method of the client protocol.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum AuthPlugin {
    /// The default of MySQL since 8.0.
    #[default]
    CachingSha2Password,
    /// The older method, for clients that support no other.
    MysqlNativePassword,
    /// MariaDB's signature method; for its clients only.
    #[serde(rename = "client_ed25519")]
    ClientEd25519,
}

/// `[accounts]`
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct RawAccounts {
    /// Accept users that are not listed: the client sends its password in a full authentication,
    /// Weir tries it on the writer, and keeps it in memory only.
    pub(crate) learn: bool,
    /// The authentication method offered to users that have no `plugin` of their own. Unset: the
    /// server's method, which is `caching_sha2_password` in front of MySQL; in front of MariaDB it is
    /// `mysql_native_password`, and `caching_sha2_password` for clients that ask for it and for users
    /// that are not listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = AuthPlugin::CachingSha2Password)]
    pub(crate) default_plugin: Option<AuthPlugin>,
}

impl Default for RawAccounts {
    fn default() -> Self {
        Self { learn: true, default_plugin: None }
    }
}

/// `[[users]]`
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawUser {
    /// The user's name, as on the servers.
    #[schemars(example = &"app")]
    pub(crate) name: String,
    /// The password, in plain text. Exactly one of `password`, `password_file` and `password_env`
    /// is set; a file with a password in it must be readable by its owner only.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = "change me")]
    pub(crate) password: Option<Secret>,
    /// A file that contains the password; a trailing line break is ignored. It must be readable
    /// by its owner only.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "path"), example = "/etc/weir/app.password")]
    pub(crate) password_file: Option<PathBuf>,
    /// The environment variable that holds the password.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "variable"), example = &"WEIR_APP_PASSWORD")]
    pub(crate) password_env: Option<String>,
    /// The authentication method offered to this user. Unset: `accounts.default_plugin`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = AuthPlugin::CachingSha2Password)]
    pub(crate) plugin: Option<AuthPlugin>,
    /// Allow the user to run the `WEIR …` statements.
    #[serde(default)]
    pub(crate) admin: bool,
    /// The number of client connections of this user. 0: `clients.max_user_connections` applies.
    #[serde(default)]
    #[schemars(range(max = 1_000_000))]
    pub(crate) max_connections: u32,
    /// The consistency of this user's reads, unless a session sets another level. Unset: the group's level.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = Consistency::Eventual)]
    pub(crate) consistency: Option<Consistency>,
    /// Run this user's open transactions again when their writer is lost. Unset: as the group's `transaction_replay` says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = true)]
    pub(crate) transaction_replay: Option<bool>,
    /// The networks that this user may log in from; a login from elsewhere fails as if the password were wrong. Empty:
    /// from anywhere that `listen.allow` permits.
    #[serde(default)]
    #[schemars(extend("format" = "network"), example = ["10.0.0.0/8"])]
    pub(crate) allow: Vec<String>,
}

/// `[metrics]`
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct RawMetrics {
    /// The IP address and TCP port of the HTTP endpoint. It requires no password: choose an
    /// address that only your monitoring can reach. Unset: no endpoint.
    #[schemars(extend("format" = "IP address:port"), example = "127.0.0.1:4407")]
    pub(crate) address: Option<String>,
}

/// `[api]`
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct RawApi {
    /// The IP address and TCP port of the REST interface. It uses plain HTTP: choose an address on loopback, or on
    /// a network that nobody can listen to. Unset: no interface.
    #[schemars(extend("format" = "IP address:port"), example = "127.0.0.1:4408")]
    pub(crate) address: Option<String>,
    /// The token that clients must send, 16 to 1,024 visible ASCII characters. It grants the admin right. Exactly one
    /// of `token`, `token_file` and `token_env` is set if there is an `address`; a file with a token in it must be
    /// readable by its owner only.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = "change me")]
    pub(crate) token: Option<Secret>,
    /// A file that contains the token; a trailing line break is ignored. It must be readable by its owner only.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "path"), example = "/etc/weir/api.token")]
    pub(crate) token_file: Option<PathBuf>,
    /// The environment variable that holds the token.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "variable"), example = &"WEIR_API_TOKEN")]
    pub(crate) token_env: Option<String>,
}

/// How much is logged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum LogLevel {
    /// Failures that need an operator.
    Error,
    /// Failures that Weir worked around.
    Warn,
    /// Changes: start, stop, servers that come and go.
    #[default]
    Info,
    /// Each connection.
    Debug,
    /// Each statement's path; not for production.
    Trace,
}

/// The form of a log line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum LogFormat {
    /// Text for people.
    #[default]
    Text,
    /// One JSON object per line.
    Json,
}

/// `[log]`
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct RawLog {
    /// How much is logged. The environment variable `WEIR_LOG` overrides it, and can set a level
    /// for each part of the program: `WEIR_LOG=info,weir_backend=debug`.
    pub(crate) level: LogLevel,
    /// The format of a log line.
    pub(crate) format: LogFormat,
    /// A file to append the log to. Unset: standard error.
    #[schemars(extend("format" = "path"), example = "/var/log/weir/weir.log")]
    pub(crate) file: Option<PathBuf>,
}

/// `[shutdown]`
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct RawShutdown {
    /// The time that open transactions have to end when Weir stops; transactions that are still open
    /// then are rolled back.
    pub(crate) grace: DurationText,
}

impl Default for RawShutdown {
    fn default() -> Self {
        Self { grace: "30s".into() }
    }
}

/// `[takeover]`
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct RawTakeover {
    /// The Unix socket where the new process asks the old one: an absolute path that only the user of Weir can write to.
    /// Unset: beside the configuration file, with its name and the ending `.takeover`, if Weir may write there.
    #[schemars(extend("format" = "path"), example = "/run/weir/takeover.sock")]
    pub(crate) socket: Option<PathBuf>,
    /// The time for which a session of the old process must be idle, outside transactions and with nothing that binds it to a
    /// server connection, before it gets error 1053 and is closed: its client then connects to the new process.
    pub(crate) idle: DurationText,
    /// The time that sessions of the old process have to leave; then it stops as at SIGTERM.
    pub(crate) grace: DurationText,
}

impl Default for RawTakeover {
    fn default() -> Self {
        Self { socket: None, idle: "1s".into(), grace: "10m".into() }
    }
}
