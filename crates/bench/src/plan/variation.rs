//! What a bench varies: settings of Weir and of the server, and the machine's troubles.

use std::fmt;

/// What differs from point to point.
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
    /// Shards of the tables of TPC-C. Not a setting of the process either.
    Shards(u32),
    /// What happens beside the run.
    Trouble(Trouble),
    /// What the server does at each commit.
    Durability(Durability),
}

/// What the server does at each commit, and about deadlocks: the two modes of the published flash-sale test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// Both logs reach the disk before a commit is acknowledged; deadlocks are looked for.
    Durable,
    /// Neither does, and deadlocks are not looked for.
    Optimised,
}

impl Durability {
    /// Both modes.
    pub const ALL: [Self; 2] = [Self::Durable, Self::Optimised];

    /// Its name in records.
    pub fn key(self) -> &'static str {
        match self {
            Self::Durable => "durable",
            Self::Optimised => "optimised",
        }
    }

    /// The server's settings.
    pub(crate) fn settings(self) -> [(&'static str, &'static str); 3] {
        let names = ["innodb_flush_log_at_trx_commit", "sync_binlog", "innodb_deadlock_detect"];
        let values = match self {
            Self::Durable => ["1", "1", "ON"],
            Self::Optimised => ["2", "0", "OFF"],
        };
        std::array::from_fn(|place| (names[place], values[place]))
    }
}

/// What happens beside a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    /// Nothing.
    None,
    /// So many processes are busy.
    Busy(u32),
    /// The server gets this percentage of the machine's processor time.
    Slow(u32),
    /// The server stops for two seconds in mid-run.
    Stop,
}

impl Trouble {
    /// All that `--contended` measures.
    pub(crate) const ALL: [Self; 4] = [Self::None, Self::Busy(4), Self::Slow(34), Self::Stop];
    /// Weir's `pool.max_connections` meanwhile.
    pub(crate) const POOL: u32 = 500;
}

/// As records say it, behind `machine=`.
impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("quiet"),
            Self::Busy(processes) => write!(f, "{processes} busy processes"),
            Self::Slow(percent) => write!(f, "server gets {percent}% of the CPU"),
            Self::Stop => f.write_str("server stops for 2 s"),
        }
    }
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
    /// What happens beside the run.
    pub(crate) fn trouble(self) -> Option<Trouble> {
        match self {
            Self::Trouble(trouble) => Some(trouble),
            Self::PoolLimit(_)
            | Self::Splitting { .. }
            | Self::Sharding { .. }
            | Self::Shards(_)
            | Self::Durability(_) => None,
        }
    }

    /// What the server does at each commit, where that is varied.
    pub(crate) fn durability(self) -> Option<Durability> {
        if let Self::Durability(durability) = self { Some(durability) } else { None }
    }

    /// The limit of the pool, if it is not the usual one.
    pub(crate) fn pool_limit(self) -> Option<u32> {
        match self {
            Self::PoolLimit(limit) => Some(limit),
            Self::Trouble(_) => Some(Trouble::POOL),
            Self::Splitting { .. } | Self::Sharding { .. } | Self::Shards(_) | Self::Durability(_) => None,
        }
    }

    /// How many replicas Weir reads from.
    pub(crate) fn replicas(self) -> u32 {
        match self {
            Self::PoolLimit(_) | Self::Sharding { .. } | Self::Shards(_) | Self::Trouble(_) | Self::Durability(_) => 0,
            Self::Splitting { replicas, .. } => replicas,
        }
    }

    /// How many shards the tables are on.
    pub(crate) fn shards(self) -> u32 {
        match self {
            Self::Sharding { shards, .. } | Self::Shards(shards) => shards,
            Self::PoolLimit(_) | Self::Splitting { .. } | Self::Trouble(_) | Self::Durability(_) => 0,
        }
    }

    /// The database of its tables, where it has one.
    pub(crate) fn database(self, of_account: &str) -> Option<String> {
        match self {
            Self::Sharding { shards, partitions } => Some(format!("{of_account}_{shards}x{partitions}")),
            Self::Shards(shards) => Some(format!("{of_account}_{shards}")),
            Self::PoolLimit(_) | Self::Splitting { .. } | Self::Trouble(_) | Self::Durability(_) => None,
        }
    }

    /// What of it Weir has to be started with.
    pub(crate) fn of_process(self) -> Option<Self> {
        match self {
            Self::PoolLimit(_) | Self::Splitting { .. } | Self::Trouble(_) => Some(self),
            Self::Sharding { .. } | Self::Shards(_) | Self::Durability(_) => None,
        }
    }

    /// As a part of a file's name.
    pub(crate) fn file_part(self) -> String {
        match self {
            Self::PoolLimit(limit) => format!("pool{limit}"),
            Self::Splitting { replicas, level } => format!("replicas{replicas}-{}", level.key()),
            Self::Sharding { shards, partitions } => format!("shards{shards}-partitions{partitions}"),
            Self::Trouble(Trouble::None) => "quiet".to_owned(),
            Self::Trouble(Trouble::Busy(processes)) => format!("busy{processes}"),
            Self::Trouble(Trouble::Slow(percent)) => format!("slow{percent}"),
            Self::Trouble(Trouble::Stop) => "stop".to_owned(),
            Self::Durability(durability) => durability.key().to_owned(),
            Self::Shards(shards) => format!("shards{shards}"),
        }
    }
}

/// As records say it: `machine=quiet`, `shards=2`, `mode=durable`, `pool.max_connections=16`, `replicas=3, session`, `shards=2, partitions=64`.
impl fmt::Display for Variation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PoolLimit(limit) => write!(f, "pool.max_connections={limit}"),
            Self::Splitting { replicas, level } => write!(f, "replicas={replicas}, {}", level.key()),
            Self::Sharding { shards, partitions } => write!(f, "shards={shards}, partitions={partitions}"),
            Self::Trouble(trouble) => write!(f, "machine={trouble}"),
            Self::Shards(shards) => write!(f, "shards={shards}"),
            Self::Durability(durability) => write!(f, "mode={}", durability.key()),
        }
    }
}
