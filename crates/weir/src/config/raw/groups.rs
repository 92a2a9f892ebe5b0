//! The sections about groups of servers: which shards there are, how reads are spread over each, and what Weir keeps of them.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::units::{DurationText, SizeText};

/// The name of a group that is given none.
pub(crate) const UNNAMED_GROUP: &str = "main";

/// How fresh a read has to be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Consistency {
    /// A replica that is not further behind than `max_lag`.
    Eventual,
    /// A session reads its own writes, and never older data than it has read before.
    #[default]
    Session,
    /// Every read sees all commits that were acknowledged to anybody before it.
    Strong,
    /// All reads go to the writer.
    Primary,
}

/// How a group's servers replicate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum GroupKind {
    /// Weir finds out from the servers.
    #[default]
    Auto,
    /// The writer is changed by hand, or by another tool: Weir follows.
    Static,
    /// One writer, and replicas that follow it by GTIDs, also semi-synchronously. Weir replaces the writer.
    Async,
    /// MySQL Group Replication: the group elects its writer.
    GroupReplication,
    /// A Galera cluster: Weir sends all writes to one node.
    Galera,
}

/// Who replaces a dead writer, and puts servers that come back in their place.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum FailoverMode {
    /// Weir, by itself.
    #[default]
    Automatic,
    /// Whoever says `WEIR FAILOVER`, or another tool.
    Manual,
}

/// `[[groups]]`
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct RawGroup {
    /// The group's name, which is also the shard's name. It cannot change: Weir's records of the shards use it.
    #[schemars(example = &"main")]
    pub(crate) name: String,
    /// The consistency of reads, unless a user (`consistency` in `[[users]]`) or a session (`SET
    /// weir_consistency = …`) sets another level. With several groups, the first one's setting applies to all.
    pub(crate) consistency: Consistency,
    /// A replica that may lack transactions acknowledged longer ago than this takes no reads. It returns when its lag
    /// is below half of it.
    pub(crate) max_lag: DurationText,
    /// The maximum time that a read waits for a replica to have what its session must find there; then the writer answers.
    pub(crate) read_wait: DurationText,
    /// The maximum time that a statement waits for the writer while it is gone or being replaced, before it gets error 2003.
    /// May be zero.
    pub(crate) writer_wait: DurationText,
    /// Run an open transaction again on the new writer when its writer is lost ([groups](groups.md#transaction-replay)), unless a user
    /// (`transaction_replay` in `[[users]]`) says otherwise. A session with transactions on several shards uses the setting of the
    /// shard where they begin.
    pub(crate) transaction_replay: bool,
    /// The maximum size of a transaction's statements that Weir keeps for `transaction_replay`. A transaction with more is not run
    /// again. Each session with an open transaction may take so much memory.
    pub(crate) transaction_replay_size: SizeText,
    /// How often Weir reads the servers' positions, if there are replicas; `monitor.interval` applies if it is shorter. With
    /// several groups with replicas, the shortest applies to all.
    pub(crate) position_interval: DurationText,
    /// Use the members that the group itself knows of as well, beside those in `[[servers]]` ([groups](groups.md#members-that-are-not-in-the-configuration)).
    pub(crate) discover: bool,
    /// How the group's servers replicate ([groups](groups.md)).
    pub(crate) kind: GroupKind,
    /// Who replaces a dead writer of a group of kind `"async"`, and has servers that come back follow the new one. It takes rights of
    /// Weir's own account ([groups](groups.md#rights)).
    pub(crate) failover: FailoverMode,
    /// How long the writer must be gone, for Weir and for its replicas, before Weir replaces it by itself.
    pub(crate) failover_after: DurationText,
    /// The minimum time between two failovers that Weir makes by itself.
    pub(crate) failover_interval: DurationText,
    /// How many transactions may be lost, as far as Weir knows, by a failover that it makes by itself. More: it waits for the old writer, or
    /// for `WEIR FAILOVER`. Unset: any number.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = 0)]
    pub(crate) max_lost: Option<u64>,
}

impl Default for RawGroup {
    fn default() -> Self {
        Self {
            name: UNNAMED_GROUP.to_owned(),
            consistency: Consistency::default(),
            max_lag: "10s".into(),
            read_wait: "100ms".into(),
            writer_wait: "5s".into(),
            transaction_replay: false,
            transaction_replay_size: "1MiB".into(),
            position_interval: "100ms".into(),
            discover: false,
            kind: GroupKind::default(),
            failover: FailoverMode::default(),
            failover_after: "1s".into(),
            failover_interval: "30s".into(),
            max_lost: None,
        }
    }
}

/// `[sharding]`
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct RawSharding {
    /// The directory where Weir keeps the catalog: which databases and tables are sharded, and how. Only Weir's user needs access to
    /// it; Weir creates it on first use. Unset: `weir-catalog`, in the directory of the configuration file. If it is set with one group,
    /// databases can be sharded from the beginning, so that other shards can be added later.
    #[schemars(extend("format" = "path"), example = "/var/lib/weir/catalog")]
    pub(crate) directory: Option<PathBuf>,
}

/// `[transactions]`
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct RawTransactions {
    /// How often Weir looks for transactions that were left prepared. With several shards only.
    pub(crate) recovery_interval: DurationText,
    /// Weir commits or rolls back a branch that it has seen prepared for this time, according to the transaction's decision. Choose it longer than any
    /// commit should take: a commit that takes longer is rolled back.
    pub(crate) recovery_grace: DurationText,
    /// The maximum time that a client waits for the outcome if its transaction's deciding server was lost in the middle of
    /// COMMIT. After that it gets an error that says that the outcome is unknown. A COMMIT whose branches recovery has to end
    /// waits for them as long again at most.
    pub(crate) outcome_timeout: DurationText,
    /// Decisions stay in `weir.decisions` for this time. A replica that is further behind must not become a writer.
    pub(crate) keep_decisions: DurationText,
    /// How often Weir looks for deadlocks over several shards, which no server can see: one of the transactions ends with error 1213.
    /// Weir asks the servers only while transactions over several shards wait. 0: deadlocks end by the servers' `innodb_lock_wait_timeout`.
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
