//! What is chosen for a group and its servers.

use std::time::Duration;

use crate::level::Level;
use crate::view::Role;

/// A server's part in its group.
#[derive(Debug, Clone)]
pub struct MemberSettings {
    /// What it is at the start.
    pub role: Role,
    /// Its share of the reads; 0 for none. `None`: 1 as a replica, none as the writer.
    pub weight: Option<u32>,
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
}

impl Default for GroupSettings {
    fn default() -> GroupSettings {
        GroupSettings {
            name: "main".to_owned(),
            level: Level::default(),
            max_lag: Duration::from_secs(10),
            read_wait: Duration::from_millis(100),
            writer_wait: Duration::from_secs(5),
        }
    }
}
