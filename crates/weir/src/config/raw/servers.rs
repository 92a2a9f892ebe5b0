//! The sections about the servers and the connections to them.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::secret::Secret;
use super::super::units::DurationText;

/// What a server is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Role {
    /// Takes all writes of its group, and the reads that no replica can take.
    Writer,
    /// Replicates from its group's writer with GTIDs, and takes reads.
    Replica,
}

/// How willingly a server is made the writer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Promotion {
    /// Rather than the others.
    Prefer,
    /// Like the others.
    #[default]
    Neutral,
    /// Only if a command names it.
    Never,
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
    /// The name of its group, one of the `[[groups]]`. Required if there are several; the default is the only group, or `main`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = &"main")]
    pub(crate) group: Option<String>,
    /// Its share of the reads, relative to the other servers' shares; 0 for none. Unset: 1 for a replica, 0 for the writer, which
    /// takes all reads that no replica can take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 1_000), example = 1)]
    pub(crate) weight: Option<u32>,
    /// How willingly it is made the writer when the writer dies.
    #[serde(default)]
    pub(crate) promotion: Promotion,
}

/// How connections to the servers are encrypted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ServerTlsMode {
    /// Never.
    Off,
    /// If the server offers it, without verifying the server.
    #[default]
    Preferred,
    /// Always, without verifying the server.
    Required,
    /// Always, and the server's certificate must be signed by `ca`.
    VerifyCa,
    /// Like `verify-ca`, and the certificate must be for the host in the server's `address`.
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
    /// The private key of `certificate`, PEM, not encrypted. Only its owner and group may
    /// be able to read it.
    #[schemars(extend("format" = "path"), example = "/etc/weir/client-key.pem")]
    pub(crate) key: Option<PathBuf>,
}

/// `[pool]`
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct RawPool {
    /// The maximum number of connections that Weir opens to each server, over all users. Leave the
    /// server some of its own `max_connections` for monitoring and administration.
    #[schemars(range(min = 1, max = 100_000))]
    pub(crate) max_connections: u32,
    /// The maximum number of connections per server and user. 0: no limit of its own.
    #[schemars(range(max = 100_000))]
    pub(crate) max_user_connections: u32,
    /// The maximum number of statements that wait for a connection to a server; one more gets error
    /// 1040 at once.
    #[schemars(range(max = 1_000_000))]
    pub(crate) max_queue: u32,
    /// The maximum time that a statement waits for a connection before it gets error 1040.
    pub(crate) queue_timeout: DurationText,
    /// The time after which an unused connection to a server is closed. It should be shorter than
    /// the servers' own `wait_timeout`.
    pub(crate) idle_timeout: DurationText,
    /// The maximum time to connect to a server, including authentication.
    pub(crate) connect_timeout: DurationText,
    /// The maximum number of prepared statements kept on each server connection; the least recently
    /// used one is closed first.
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
    /// Whether statements use lanes at all. Without lanes, each statement takes a connection of its own.
    pub(crate) enabled: bool,
    /// The maximum number of lanes to each server, over all users. Lanes count towards `pool.max_connections`
    /// and never take more than half of them; each worker has an equal share.
    #[schemars(range(min = 1, max = 10_000))]
    pub(crate) max_lanes: u32,
    /// The maximum number of statements in flight on one lane.
    #[schemars(range(min = 1, max = 100_000))]
    pub(crate) max_depth: u32,
    /// How long a statement may occupy its lane while the server answers others. After that, the
    /// statements behind it are sent again on other connections.
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
    /// A file that contains the password; a trailing line break is ignored. It must be readable
    /// by its owner only.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "path"), example = "/etc/weir/monitor.password")]
    pub(crate) password_file: Option<PathBuf>,
    /// The environment variable that holds the password.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "variable"), example = &"WEIR_MONITOR_PASSWORD")]
    pub(crate) password_env: Option<String>,
    /// How often Weir probes a server.
    pub(crate) interval: DurationText,
    /// The time after which a probe that was not answered is sent again on another connection.
    pub(crate) timeout: DurationText,
    /// The time after which a server that answers no probe is considered hung: statements that wait
    /// for it get an error. Time in which Weir itself did not get to run is not counted. At least `timeout`.
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
