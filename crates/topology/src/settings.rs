//! What is chosen for a group and its servers.

use std::time::Duration;

use crate::kind::GroupKind;
use crate::level::Level;
use crate::view::Role;

/// How willingly a server is made the writer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Promotion {
    /// Rather than others.
    Prefer,
    /// Like others.
    #[default]
    Neutral,
    /// Never by itself.
    Never,
}

impl Promotion {
    /// Whether it may be made the writer without being asked for by name.
    pub fn allows(self) -> bool {
        self != Promotion::Never
    }
}

/// A server's part in its group.
#[derive(Debug, Clone)]
pub struct MemberSettings {
    /// What it is at the start.
    pub role: Role,
    /// Its share of the reads; 0 for none. `None`: 1 as a replica, none as the writer.
    pub weight: Option<u32>,
    /// Whether it may become the writer.
    pub promotion: Promotion,
}

/// Choices of a group.
#[derive(Debug, Clone)]
pub struct GroupSettings {
    /// Its name.
    pub name: String,
    /// How fresh reads are unless a user or a session says otherwise.
    pub level: Level,
    /// A reader that may be further behind than this takes no reads.
    pub max_lag: Duration,
    /// The longest that a read waits for a reader to reach a position.
    pub read_wait: Duration,
    /// The longest that a statement waits for a writer to be there.
    pub writer_wait: Duration,
    /// Open transactions are run again when their server is lost, unless a user says otherwise.
    pub transaction_replay: bool,
    /// So many bytes of a transaction are kept for that.
    pub transaction_replay_size: usize,
    /// What the group is; `None`: what its servers say.
    pub kind: Option<GroupKind>,
    /// Weir replaces a dead writer by itself, and puts servers that come back in their place.
    pub automatic_failover: bool,
    /// How long the writer must be gone before it is replaced.
    pub failover_after: Duration,
    /// The shortest time between two failovers that nobody has asked for.
    pub failover_interval: Duration,
    /// No other Weir decides about this group: what this one remembers is all there is to know.
    pub is_only_weir: bool,
    /// How many transactions a failover that nobody has asked for may lose, as far as is known; `None`: any number.
    pub max_lost: Option<u64>,
}

impl Default for GroupSettings {
    fn default() -> GroupSettings {
        GroupSettings {
            name: "main".to_owned(),
            level: Level::default(),
            max_lag: Duration::from_secs(10),
            read_wait: Duration::from_millis(100),
            writer_wait: Duration::from_secs(5),
            transaction_replay: false,
            transaction_replay_size: 1024 * 1024,
            kind: None,
            automatic_failover: true,
            failover_after: Duration::from_secs(1),
            failover_interval: Duration::from_secs(30),
            is_only_weir: true,
            max_lost: None,
        }
    }
}
