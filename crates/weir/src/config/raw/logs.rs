//! The sections about the logs of statements: the slow log and the audit log.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::units::{DurationText, SizeText};

/// A kind of statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum StatementKind {
    /// SELECT, WITH … SELECT, VALUES, TABLE.
    Select,
    /// INSERT, REPLACE, LOAD.
    Insert,
    /// UPDATE.
    Update,
    /// DELETE.
    Delete,
    /// CREATE, ALTER, DROP, RENAME, TRUNCATE.
    Ddl,
    /// BEGIN, COMMIT, ROLLBACK, savepoints, XA.
    Transaction,
    /// Everything else, and several statements in one text.
    Other,
}

/// `[slow_log]`
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct RawSlowLog {
    /// The file to append to, one JSON object per line. Unset: no slow log.
    #[schemars(extend("format" = "path"), example = "/var/log/weir/slow.log")]
    pub(crate) file: Option<PathBuf>,
    /// Statements that take at least this long, from arrival to the end of the reply, are logged
    /// (`long_query_time` in MySQL). Zero logs all statements.
    pub(crate) min_time: DurationText,
    /// Show literals too. A statement that mentions passwords never shows them.
    pub(crate) literals: bool,
    /// The size at which the file is renamed to `file.1` and a new one is started.
    pub(crate) max_size: SizeText,
    /// How many renamed files are kept.
    #[schemars(range(max = 1_000))]
    pub(crate) keep: u32,
}

impl Default for RawSlowLog {
    fn default() -> Self {
        Self { file: None, min_time: "1s".into(), literals: false, max_size: "100MiB".into(), keep: 10 }
    }
}

/// What the audit log takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum AuditEvent {
    /// Logins.
    Connect,
    /// Ends of sessions.
    Disconnect,
    /// Logins that were refused.
    FailedLogin,
    /// Weir's own commands, by SQL and REST.
    Admin,
    /// Statements, when they have ended.
    Statements,
}

/// What becomes of statements that can't be logged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum AuditFailure {
    /// The statements run; their lines are lost and counted.
    #[default]
    Drop,
    /// They are refused with error 3164 before they run. Lines of statements that have run are written as soon as possible.
    Refuse,
}

/// `[audit_log]`
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct RawAuditLog {
    /// The file to append to, one JSON object per line. Unset: no audit log.
    #[schemars(extend("format" = "path"), example = "/var/log/weir/audit.log")]
    pub(crate) file: Option<PathBuf>,
    /// What is logged.
    pub(crate) events: Vec<AuditEvent>,
    /// Only actions of these users are logged. Empty: of all users.
    #[schemars(extend("format" = "user"), example = ["app"])]
    pub(crate) users: Vec<String>,
    /// Only statements of these kinds are logged. Empty: all kinds.
    pub(crate) kinds: Vec<StatementKind>,
    /// Show literals too. A statement that mentions passwords never shows them.
    pub(crate) literals: bool,
    /// What happens to statements while their lines cannot be written because the disk is full or too slow.
    pub(crate) on_failure: AuditFailure,
    /// The size at which the file is renamed to `file.1` and a new one is started.
    pub(crate) max_size: SizeText,
    /// How many renamed files are kept.
    #[schemars(range(max = 1_000))]
    pub(crate) keep: u32,
}

impl Default for RawAuditLog {
    fn default() -> Self {
        Self {
            file: None,
            events: vec![
                AuditEvent::Connect,
                AuditEvent::Disconnect,
                AuditEvent::FailedLogin,
                AuditEvent::Admin,
                AuditEvent::Statements,
            ],
            users: Vec::new(),
            kinds: Vec::new(),
            literals: false,
            on_failure: AuditFailure::default(),
            max_size: "100MiB".into(),
            keep: 10,
        }
    }
}
