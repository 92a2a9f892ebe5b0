//! Settings of Weir that a bench varies.

use std::fmt;

/// A setting of Weir that differs from point to point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Variation {
    /// `pool.max_connections`.
    PoolLimit(u32),
    /// How many replicas Weir has beside the writer, and how fresh reads have to be.
    Splitting {
        /// Replicas in Weir's configuration.
        replicas: u32,
        /// The group's `consistency`.
        level: Level,
    },
    /// What Weir's tables were made with. Not a setting of the process: each has a database of its own.
    Sharding {
        /// Shards of the database.
        shards: u32,
        /// The number in `PARTITIONS`.
        partitions: u32,
    },
}

/// How fresh reads have to be: the values of `consistency` in `[[groups]]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// Within the bound of the lag.
    Eventual,
    /// A session reads what it has written, and never older data than it has read before.
    Session,
    /// Every read sees all that was acknowledged before it.
    Strong,
    /// On the writer.
    Primary,
}

impl Level {
    /// All levels, the loosest first.
    pub const ALL: [Self; 4] = [Self::Eventual, Self::Session, Self::Strong, Self::Primary];

    /// Its name in configurations and records.
    pub fn key(self) -> &'static str {
        match self {
            Self::Eventual => "eventual",
            Self::Session => "session",
            Self::Strong => "strong",
            Self::Primary => "primary",
        }
    }
}

impl Variation {
    /// The limit of the pool, if it is what is varied.
    pub(crate) fn pool_limit(self) -> Option<u32> {
        match self {
            Self::PoolLimit(limit) => Some(limit),
            Self::Splitting { .. } | Self::Sharding { .. } => None,
        }
    }

    /// How many replicas Weir reads from.
    pub(crate) fn replicas(self) -> u32 {
        match self {
            Self::PoolLimit(_) | Self::Sharding { .. } => 0,
            Self::Splitting { replicas, .. } => replicas,
        }
    }

    /// How many shards the tables are on.
    pub(crate) fn shards(self) -> u32 {
        match self {
            Self::Sharding { shards, .. } => shards,
            Self::PoolLimit(_) | Self::Splitting { .. } => 0,
        }
    }

    /// The database of its tables, where it has one.
    pub(crate) fn database(self, of_account: &str) -> Option<String> {
        match self {
            Self::Sharding { shards, partitions } => Some(format!("{of_account}_{shards}x{partitions}")),
            Self::PoolLimit(_) | Self::Splitting { .. } => None,
        }
    }

    /// What of it Weir has to be started with.
    pub(crate) fn of_process(self) -> Option<Self> {
        match self {
            Self::PoolLimit(_) | Self::Splitting { .. } => Some(self),
            Self::Sharding { .. } => None,
        }
    }

    /// As a part of a file's name.
    pub(crate) fn file_part(self) -> String {
        match self {
            Self::PoolLimit(limit) => format!("pool{limit}"),
            Self::Splitting { replicas, level } => format!("replicas{replicas}-{}", level.key()),
            Self::Sharding { shards, partitions } => format!("shards{shards}-partitions{partitions}"),
        }
    }
}

/// As records say it: `pool.max_connections=16`, `replicas=3, session`, `shards=2, partitions=64`.
impl fmt::Display for Variation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PoolLimit(limit) => write!(f, "pool.max_connections={limit}"),
            Self::Splitting { replicas, level } => write!(f, "replicas={replicas}, {}", level.key()),
            Self::Sharding { shards, partitions } => write!(f, "shards={shards}, partitions={partitions}"),
        }
    }
}
