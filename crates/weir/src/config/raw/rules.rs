//! The section about rules.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::units::DurationText;

/// What a rule does with the statements that it is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum RuleAction {
    /// Refuse the statements with error 1148.
    Block,
    /// Limit them to `rate` per second or `concurrency` at a time; beyond that, error 1226.
    Limit,
    /// Run them on the server that `to` names, where possible.
    Route,
    /// Run the text of `replace` instead.
    Rewrite,
    /// Kill them after `timeout`, with error 3024.
    Timeout,
}

/// Where a rule sends statements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum RuleTarget {
    /// The writer.
    Primary,
    /// A replica, for reads outside transactions that write; others stay on the writer.
    Replica,
}

/// A kind of statement, as rules name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum RuleKind {
    /// Statements that change nothing.
    Read,
    /// Statements that may change something, including DDL, locking reads and calls of stored routines.
    Write,
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

/// `[[rules]]`
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawRule {
    /// The rule's name, which the client of a refused statement sees.
    #[schemars(example = &"no-table-dumps")]
    pub(crate) name: String,
    /// What it does.
    #[schemars(example = RuleAction::Block)]
    pub(crate) action: RuleAction,
    /// Only statements of this digest, as `WEIR SHOW DIGESTS` shows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "32 hexadecimal digits"), example = &"0123456789abcdef0123456789abcdef")]
    pub(crate) digest: Option<String>,
    /// Only statements whose text without literals has a match of this regular expression: `?` stands for each literal
    /// and `(...)` for lists of them, as `WEIR SHOW DIGESTS` shows the text. Only its first 1,024 bytes count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "regular expression"), example = &"^SELECT \\* FROM items$")]
    pub(crate) pattern: Option<String>,
    /// Only statements of one of these kinds.
    #[serde(default)]
    pub(crate) kinds: Vec<RuleKind>,
    /// Only statements of one of these users.
    #[serde(default)]
    #[schemars(extend("format" = "user"), example = ["app"])]
    pub(crate) users: Vec<String>,
    /// Only statements of clients in one of these networks. Clients on a Unix socket are in none.
    #[serde(default)]
    #[schemars(extend("format" = "network"), example = ["10.0.0.0/8"])]
    pub(crate) clients: Vec<String>,
    /// Only statements of sessions with one of these default databases.
    #[serde(default)]
    #[schemars(extend("format" = "database"), example = ["shop"])]
    pub(crate) databases: Vec<String>,
    /// The reason, shown to clients whose statements are refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = &"ask for a page, not for the table")]
    pub(crate) reason: Option<String>,
    /// With action `"limit"`: statements per second, over all clients. Up to one second's worth may come at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000_000), example = 100)]
    pub(crate) rate: Option<u32>,
    /// With action `"limit"`: statements at a time, over all clients.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000_000), example = 4)]
    pub(crate) concurrency: Option<u32>,
    /// With action `"limit"`: the maximum time that a statement waits for its turn before it is refused. Unset: it does not wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = "500ms")]
    pub(crate) wait: Option<DurationText>,
    /// With action `"route"`: the destination.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = RuleTarget::Replica)]
    pub(crate) to: Option<RuleTarget>,
    /// With action `"rewrite"`: the statement to run. `$1` stands for the first literal of the client's statement, and so on;
    /// the parameters of a prepared statement must stay in their order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "SQL"), example = &"SELECT * FROM items LIMIT 100")]
    pub(crate) replace: Option<String>,
    /// With action `"timeout"`: how long a statement may take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = "10s")]
    pub(crate) timeout: Option<DurationText>,
}
