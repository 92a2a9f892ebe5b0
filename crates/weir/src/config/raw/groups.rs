//! The sections about groups of servers: which shards there are, how reads are spread over each, and what Weir keeps of them.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::units::DurationText;

/// The name of a group that is given none.
pub(crate) const UNNAMED_GROUP: &str = "main";

/// How fresh a read has to be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Consistency {
    /// A replica that is not further behind than `max_lag`.
    Eventual,
    /// A session reads what it has written, and never older data than it has read before.
    #[default]
    Session,
    /// Every read sees all that anybody was told to be committed before it.
    Strong,
    /// All reads go to the writer.
    Primary,
}

/// `[[groups]]`
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct RawGroup {
    /// The group's name, which is the shard's name too. It stays: what is kept of the shards names them.
    #[schemars(example = &"main")]
    pub(crate) name: String,
    /// How fresh reads have to be, unless a user (`consistency` in `[[users]]`) or a session (`SET
    /// weir_consistency = …`) says otherwise. Of several groups, what the first one says is for the reads of all.
    pub(crate) consistency: Consistency,
    /// A replica that may lack transactions acknowledged longer ago than this takes no reads. It comes back when it
    /// is within half of it.
    pub(crate) max_lag: DurationText,
    /// The longest that a read waits for a replica to have what its session must find there; then the writer answers.
    pub(crate) read_wait: DurationText,
    /// The longest that a statement waits for the writer while it is gone or being replaced, before it gets error 2003.
    /// May be zero.
    pub(crate) writer_wait: DurationText,
    /// The time between two looks at the servers' positions, if there are replicas; `monitor.interval` applies if it is shorter. Of
    /// several groups with replicas, the shortest is for all.
    pub(crate) position_interval: DurationText,
}

impl Default for RawGroup {
    fn default() -> Self {
        Self {
            name: UNNAMED_GROUP.to_owned(),
            consistency: Consistency::default(),
            max_lag: "10s".into(),
            read_wait: "100ms".into(),
            writer_wait: "5s".into(),
            position_interval: "100ms".into(),
        }
    }
}

/// `[sharding]`
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct RawSharding {
    /// The directory where Weir keeps the catalog: which databases and tables are sharded, and how. Only Weir's user needs access to
    /// it; it is made when it is needed first. Unset: `weir-catalog`, in the directory of the configuration file. Set with one group, it
    /// lets databases be sharded from the beginning, so that other shards can be added later.
    #[schemars(extend("format" = "path"), example = "/var/lib/weir/catalog")]
    pub(crate) directory: Option<PathBuf>,
}

/// `[transactions]`
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct RawTransactions {
    /// The time between two looks for transactions that were left prepared. With several shards only.
    pub(crate) recovery_interval: DurationText,
    /// A branch that has been seen prepared for this time is committed or rolled back, as its transaction was decided. Longer than any
    /// commit should take: one that takes longer is rolled back.
    pub(crate) recovery_grace: DurationText,
    /// The longest that a client waits to learn what was decided, when its transaction's deciding server was lost in the middle of
    /// COMMIT. Then it is told that the outcome is unknown.
    pub(crate) outcome_timeout: DurationText,
    /// Decisions stay in `weir.decisions` for this time. No replica may become a writer that is further behind.
    pub(crate) keep_decisions: DurationText,
    /// The time between two looks for deadlocks over several shards, which no server sees: one of the transactions ends with error 1213.
    /// Servers are asked only while transactions over several shards wait. 0: deadlocks end by the servers' `innodb_lock_wait_timeout`.
    pub(crate) deadlock_interval: DurationText,
}

impl Default for RawTransactions {
    fn default() -> Self {
        Self {
            recovery_interval: "5s".into(),
            recovery_grace: "10s".into(),
            outcome_timeout: "10s".into(),
            keep_decisions: "24h".into(),
            deadlock_interval: "500ms".into(),
        }
    }
}
