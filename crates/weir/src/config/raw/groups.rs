//! The sections about groups of servers: which follow which, and how reads are spread over them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::units::DurationText;

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
    /// The group's name.
    #[schemars(example = &"main")]
    pub(crate) name: String,
    /// How fresh reads have to be, unless a user (`consistency` in `[[users]]`) or a session (`SET
    /// weir_consistency = …`) says otherwise.
    pub(crate) consistency: Consistency,
    /// A replica that may lack transactions acknowledged longer ago than this takes no reads. It comes back when it
    /// is within half of it.
    pub(crate) max_lag: DurationText,
    /// The longest that a read waits for a replica to have what its session must find there; then the writer answers.
    pub(crate) read_wait: DurationText,
    /// The longest that a statement waits for the writer while it is gone or being replaced, before it gets error 2003.
    /// May be zero.
    pub(crate) writer_wait: DurationText,
    /// The time between two looks at the servers' positions, if there are replicas; `monitor.interval` applies if it is shorter.
    pub(crate) position_interval: DurationText,
}

impl Default for RawGroup {
    fn default() -> Self {
        Self {
            name: "main".to_owned(),
            consistency: Consistency::default(),
            max_lag: "10s".into(),
            read_wait: "100ms".into(),
            writer_wait: "5s".into(),
            position_interval: "100ms".into(),
        }
    }
}
