//! What clients can be made to do.

use std::fmt;
use std::str::FromStr;

/// A kind of load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Workload {
    /// One row by its key.
    PointSelect,
    /// A transaction of 14 reads.
    ReadOnly,
    /// A transaction of 14 reads and 4 writes.
    ReadWrite,
    /// A transaction of 4 writes.
    WriteOnly,
    /// Four reads by key to one update by key, each a transaction of its own.
    Mixed,
    /// One row is added.
    Insert,
    /// Connect, one query, quit.
    Churn,
    /// All clients connect at once, and each sends query after query.
    Storm,
    /// Clients connect and stay; at the end each sends a query.
    Idle,
}

/// The program that makes a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tool {
    /// sysbench with a script: one of its own, or one of [`crate::load`]'s.
    Sysbench(&'static str),
    /// mariadb-slap or mysqlslap.
    Slap,
    /// `weir bench drive`: sysbench gives up when one of its clients is refused, and does not count.
    Storm,
    /// `weir bench drive`: no other tool waits.
    Idle,
}

impl Workload {
    /// All workloads, in the order in which they are measured: those that change what later ones find come last.
    pub const ALL: [Self; 9] = [
        Self::PointSelect,
        Self::ReadOnly,
        Self::Churn,
        Self::Storm,
        Self::Idle,
        Self::Mixed,
        Self::ReadWrite,
        Self::WriteOnly,
        Self::Insert,
    ];

    /// Its name on the command line and in records.
    pub fn key(self) -> &'static str {
        match self {
            Self::PointSelect => "oltp_point_select",
            Self::ReadOnly => "oltp_read_only",
            Self::ReadWrite => "oltp_read_write",
            Self::WriteOnly => "oltp_write_only",
            Self::Mixed => "read_write_4to1",
            Self::Insert => "oltp_insert",
            Self::Churn => "churn",
            Self::Storm => "storm",
            Self::Idle => "idle",
        }
    }

    /// What makes it.
    pub fn tool(self) -> Tool {
        match self {
            Self::Churn => Tool::Slap,
            Self::Storm => Tool::Storm,
            Self::Idle => Tool::Idle,
            _ => Tool::Sysbench(self.key()),
        }
    }

    /// Whether it changes the table.
    pub fn writes(self) -> bool {
        matches!(self, Self::ReadWrite | Self::WriteOnly | Self::Mixed | Self::Insert)
    }

    /// Whether prepared statements make a difference.
    pub fn can_prepare(self) -> bool {
        matches!(self.tool(), Tool::Sysbench(_))
    }
}

impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.key())
    }
}

impl FromStr for Workload {
    type Err = String;

    fn from_str(key: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|workload| workload.key() == key);
        found.ok_or_else(|| {
            format!("there is no workload of this name; there are {}", Self::ALL.map(Self::key).join(", "))
        })
    }
}
