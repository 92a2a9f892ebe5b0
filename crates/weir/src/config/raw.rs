//! The configuration file as it is written: the keys, their documentation and their defaults.
//!
//! This is the one place where a key is declared. The schema derived from these types drives the
//! check for unknown keys (`source`), `docs/configuration.md` and the example file (`docs`), so a
//! doc comment here is what a user reads. Must always hold: each key has a doc comment, and a
//! default or an example (`required` keys have an example). Values are kept as text where they need
//! parsing; `checked` does that.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::secret::Secret;
use super::units::{DurationText, SizeText};

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
    /// them is the writer.
    pub(crate) servers: Vec<RawServer>,
    /// TLS between Weir and the servers, by TCP; Unix sockets need none.
    pub(crate) server_tls: RawServerTls,
    /// The pools of connections to the servers.
    pub(crate) pool: RawPool,
    /// Lanes: server connections that the short reads of many sessions share, with several statements in flight.
    /// Statements that take long, change something or leave something behind have connections of their own.
    pub(crate) lanes: RawLanes,
    /// How Weir watches the servers, and the account that it does this with.
    pub(crate) monitor: RawMonitor,
    /// The HTTP endpoint for monitoring: Prometheus metrics at `/metrics`, and `/health`.
    pub(crate) metrics: RawMetrics,
    /// Weir's own log.
    pub(crate) log: RawLog,
    /// How Weir stops.
    pub(crate) shutdown: RawShutdown,
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
}

impl Default for RawListen {
    fn default() -> Self {
        Self {
            address: vec!["127.0.0.1:4406".to_owned()],
            socket: None,
            socket_mode: "0777".to_owned(),
            backlog: 4_096,
            proxy_protocol_networks: Vec::new(),
        }
    }
}

/// How the system schedules worker threads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Scheduling {
    /// A worker that wakes up does not push another thread from its processor (`SCHED_BATCH` of Linux): more
    /// throughput where servers or clients run on the same machine, and no difference where a processor is idle.
    #[default]
    Batch,
    /// As other programs.
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
    /// A self-signed certificate is made at each start; clients can encrypt, but not verify Weir.
    #[default]
    Generate,
    /// The certificate and its key are read from `certificate` and `key`.
    Files,
    /// Clients can't use TLS.
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
    /// The private key of the certificate, PEM, not encrypted (`ssl_key` in MySQL). Others than
    /// its owner and group must not be able to read it. With mode `"files"` only.
    #[schemars(extend("format" = "path"), example = "/etc/weir/server-key.pem")]
    pub(crate) key: Option<PathBuf>,
    /// Refuse TCP connections that don't use TLS (`require_secure_transport` in MySQL). Unix
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
    /// The number of client connections in all; one more is refused with error 1040 (Too many
    /// connections).
    #[schemars(range(min = 1, max = 1_000_000))]
    pub(crate) max_connections: u32,
    /// The number of client connections per user; one more is refused with error 1203. 0: no
    /// limit of its own. A user's own `max_connections` takes precedence.
    #[schemars(range(max = 1_000_000))]
    pub(crate) max_user_connections: u32,
    /// The time from accepting a connection to the end of its authentication (`connect_timeout` in
    /// MySQL).
    pub(crate) handshake_timeout: DurationText,
    /// The time after which an idle client connection is closed.
    pub(crate) wait_timeout: DurationText,
    /// The time that a client which does not read its reply is waited for before its connection is
    /// closed (`net_write_timeout` in MySQL).
    pub(crate) write_timeout: DurationText,
    /// The largest packet that a client may send; a larger one gets error 1153. The servers' own
    /// `max_allowed_packet` should be no smaller.
    pub(crate) max_allowed_packet: SizeText,
    /// The compressions that a client may choose from (`protocol_compression_algorithms` in MySQL).
    pub(crate) compression: Vec<Compression>,
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
    /// The older method, for clients that know no other.
    MysqlNativePassword,
    /// MariaDB's signature method; its clients only.
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
    /// The authentication method offered to users that have no `plugin` of their own.
    pub(crate) default_plugin: AuthPlugin,
}

impl Default for RawAccounts {
    fn default() -> Self {
        Self { learn: true, default_plugin: AuthPlugin::default() }
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
    /// A file that holds the password; a line break at its end does not count. It must be readable
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
}

/// What a server is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Role {
    /// Takes all writes, and reads.
    Writer,
    /// Replicates from the writer, and takes reads.
    Replica,
}

/// `[[servers]]`
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawServer {
    /// A name for logs, metrics and the `WEIR …` statements.
    #[schemars(example = &"db1")]
    pub(crate) name: String,
    /// `"host:port"` (port 3306 if left out), or the absolute path of the server's Unix socket.
    #[schemars(extend("format" = "address"), example = "127.0.0.1:3306")]
    pub(crate) address: String,
    /// What the server is for.
    #[schemars(example = Role::Writer)]
    pub(crate) role: Role,
}

/// How connections to the servers are encrypted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ServerTlsMode {
    /// Never.
    Off,
    /// Where the server offers it, without verifying the server.
    #[default]
    Preferred,
    /// Always, without verifying the server.
    Required,
    /// Always, and the server's certificate must be signed by `ca`.
    VerifyCa,
    /// As `verify-ca`, and the certificate must be for the host in the server's `address`.
    VerifyIdentity,
}

/// `[server_tls]`
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct RawServerTls {
    /// How connections to the servers are encrypted (`--ssl-mode` of MySQL's clients, where `"off"`
    /// is called DISABLED).
    pub(crate) mode: ServerTlsMode,
    /// The certificate authorities that may sign the servers' certificates, PEM (`--ssl-ca` in
    /// MySQL). With modes `"verify-ca"` and `"verify-identity"` only, which need it.
    #[schemars(extend("format" = "path"), example = "/etc/weir/ca.pem")]
    pub(crate) ca: Option<PathBuf>,
    /// A certificate that Weir shows to the servers, PEM, for accounts that `REQUIRE X509`.
    #[schemars(extend("format" = "path"), example = "/etc/weir/client-cert.pem")]
    pub(crate) certificate: Option<PathBuf>,
    /// The private key of `certificate`, PEM, not encrypted. Others than its owner and group must
    /// not be able to read it.
    #[schemars(extend("format" = "path"), example = "/etc/weir/client-key.pem")]
    pub(crate) key: Option<PathBuf>,
}

/// `[pool]`
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct RawPool {
    /// The number of connections that Weir opens to each server, all users together. Leave the
    /// server some of its own `max_connections` for monitoring and for people.
    #[schemars(range(min = 1, max = 100_000))]
    pub(crate) max_connections: u32,
    /// The number of connections per server and user. 0: no limit of its own.
    #[schemars(range(max = 100_000))]
    pub(crate) max_user_connections: u32,
    /// The number of statements that may wait for a connection to a server; one more gets error
    /// 1040 at once.
    #[schemars(range(max = 1_000_000))]
    pub(crate) max_queue: u32,
    /// The time that a statement waits for a connection before it gets error 1040.
    pub(crate) queue_timeout: DurationText,
    /// The time after which an unused connection to a server is closed. It should be shorter than
    /// the servers' own `wait_timeout`.
    pub(crate) idle_timeout: DurationText,
    /// The time to connect to a server, authentication included.
    pub(crate) connect_timeout: DurationText,
    /// The number of prepared statements kept on each server connection; the one unused for
    /// longest gives way.
    #[schemars(range(min = 1, max = 16_384))]
    pub(crate) prepared_statements: u32,
}

impl Default for RawPool {
    fn default() -> Self {
        Self {
            max_connections: 100,
            max_user_connections: 0,
            max_queue: 10_000,
            queue_timeout: "10s".into(),
            idle_timeout: "5m".into(),
            connect_timeout: "5s".into(),
            prepared_statements: 256,
        }
    }
}

/// `[lanes]`
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct RawLanes {
    /// Whether statements ride lanes at all. Without, each statement takes a connection of its own.
    pub(crate) enabled: bool,
    /// The number of lanes to each server, all users together. Lanes are among `pool.max_connections`
    /// and never take more than half of them; each worker has an equal share.
    #[schemars(range(min = 1, max = 10_000))]
    pub(crate) max_lanes: u32,
    /// The number of statements in flight on one lane.
    #[schemars(range(min = 1, max = 100_000))]
    pub(crate) max_depth: u32,
    /// The time that a statement may occupy its lane; then the statements behind it are sent again on
    /// other connections.
    pub(crate) stall_timeout: DurationText,
}

impl Default for RawLanes {
    fn default() -> Self {
        Self { enabled: true, max_lanes: 64, max_depth: 512, stall_timeout: "100ms".into() }
    }
}

/// `[monitor]`
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct RawMonitor {
    /// Weir's own account on the servers.
    pub(crate) user: String,
    /// The account's password, in plain text. Exactly one of `password`, `password_file` and
    /// `password_env` is set; a file with a password in it must be readable by its owner only.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = "change me")]
    pub(crate) password: Option<Secret>,
    /// A file that holds the password; a line break at its end does not count. It must be readable
    /// by its owner only.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "path"), example = "/etc/weir/monitor.password")]
    pub(crate) password_file: Option<PathBuf>,
    /// The environment variable that holds the password.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "variable"), example = &"WEIR_MONITOR_PASSWORD")]
    pub(crate) password_env: Option<String>,
    /// The time between two probes of a server.
    pub(crate) interval: DurationText,
    /// The time that a probe may take before it counts as failed.
    pub(crate) timeout: DurationText,
    /// The time after which a server that answers no probe is taken for hung: statements that wait
    /// for it get an error. At least `timeout`.
    pub(crate) hang_timeout: DurationText,
}

impl Default for RawMonitor {
    fn default() -> Self {
        Self {
            user: "weir".to_owned(),
            password: None,
            password_file: None,
            password_env: None,
            interval: "1s".into(),
            timeout: "2s".into(),
            hang_timeout: "10s".into(),
        }
    }
}

/// `[metrics]`
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct RawMetrics {
    /// The IP address and TCP port of the HTTP endpoint. It asks for no password: choose an
    /// address that only your monitoring can reach. Unset: no endpoint.
    #[schemars(extend("format" = "IP address:port"), example = "127.0.0.1:4407")]
    pub(crate) address: Option<String>,
}

/// How much is logged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum LogLevel {
    /// What failed and needs a person.
    Error,
    /// What failed and was worked around.
    Warn,
    /// What changed: start, stop, servers that come and go.
    #[default]
    Info,
    /// Each connection.
    Debug,
    /// Each statement's way; not for production.
    Trace,
}

/// The form of a log line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object per line.
    Json,
}

/// `[log]`
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct RawLog {
    /// How much is logged. The environment variable `WEIR_LOG` overrides it, and can choose a level
    /// per part of the program: `WEIR_LOG=info,weir_backend=debug`.
    pub(crate) level: LogLevel,
    /// The form of a log line.
    pub(crate) format: LogFormat,
    /// A file to append the log to. Unset: standard error.
    #[schemars(extend("format" = "path"), example = "/var/log/weir/weir.log")]
    pub(crate) file: Option<PathBuf>,
}

/// `[shutdown]`
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct RawShutdown {
    /// The time that open transactions have to end after Weir was told to stop; what is still open
    /// then is rolled back.
    pub(crate) grace: DurationText,
}

impl Default for RawShutdown {
    fn default() -> Self {
        Self { grace: "30s".into() }
    }
}
