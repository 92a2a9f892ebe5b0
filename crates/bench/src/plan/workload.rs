//! The workloads of clients.

use std::fmt;
use std::str::FromStr;

/// A kind of load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Workload {
    /// One row by its key.
    PointSelect,
    /// A transaction of 14 reads.
    ReadOnly,
    /// 14 reads, each of its own.
    Reads,
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
    /// A few rows by a range of keys, the same again and again: from all shards.
    Scatter,
    /// All rows in the order of a number.
    Merge,
    /// All rows in the order of a text.
    MergeText,
    /// Clients write counters and read their own and others', and count what they read too late.
    Freshness,
    /// One row's column without an index is changed, by its key.
    UpdateNonIndex,
    /// A column with an index is changed in one row.
    UpdateIndex,
    /// All clients take from one row: a transaction of three statements in one text.
    Seckill,
    /// The same, by the tool of the published test.
    SeckillSlap,
    /// The same as one statement in autocommit.
    SeckillAutocommit,
    /// The same on a table with a primary key.
    SeckillKey,
    /// BEGIN, UPDATE and COMMIT, each sent when the one before was answered.
    SeckillPackets,
    /// The same with hints that let Weir commit behind the update.
    SeckillHints,
    /// TPC-C's mix of transactions.
    Tpcc,
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
    /// `weir bench drive` with this query, again and again: sysbench has no script for it.
    Query(&'static str),
    /// `weir bench drive`: no other tool waits.
    Idle,
    /// `weir bench drive`: no other tool looks at how old the data is that it reads.
    Freshness,
    /// `weir bench drive` with these commands, one on each line, as one transaction again and again: no other tool tells
    /// the latency of a text of several statements, and which of them changed a row.
    Transaction(&'static str),
    /// `weir bench drive`: terminals of TPC-C.
    Tpcc,
    /// mariadb-slap or mysqlslap with this text, on connections that stay.
    SlapText(&'static str),
}

/// The tables of which one row is changed by all clients: as published, without a key, and with one.
pub(crate) const HOT_TABLES: [&str; 2] = ["seckill", "seckill_key"];

/// The text of the published flash-sale test.
const SECKILL: &str = "begin;update seckill set num=num-1 where id=1 and num>1;commit;";

impl Workload {
    /// All workloads, in the order in which they are measured: those that change what later ones find come last.
    pub const ALL: [Self; 23] = [
        Self::PointSelect,
        Self::ReadOnly,
        Self::Reads,
        Self::Churn,
        Self::Storm,
        Self::Idle,
        Self::Freshness,
        Self::Scatter,
        Self::Merge,
        Self::MergeText,
        Self::Mixed,
        Self::ReadWrite,
        Self::WriteOnly,
        Self::UpdateIndex,
        Self::UpdateNonIndex,
        Self::Seckill,
        Self::SeckillSlap,
        Self::SeckillAutocommit,
        Self::SeckillKey,
        Self::SeckillPackets,
        Self::SeckillHints,
        Self::Tpcc,
        Self::Insert,
    ];

    /// Its name on the command line and in records.
    pub fn key(self) -> &'static str {
        match self {
            Self::PointSelect => "oltp_point_select",
            Self::ReadOnly => "oltp_read_only",
            Self::Reads => "oltp_read_only_skip_trx",
            Self::ReadWrite => "oltp_read_write",
            Self::WriteOnly => "oltp_write_only",
            Self::Mixed => "read_write_4to1",
            Self::Insert => "oltp_insert",
            Self::Churn => "churn",
            Self::Storm => "storm",
            Self::Idle => "idle",
            Self::Freshness => "freshness",
            Self::Scatter => "scatter",
            Self::Merge => "merge",
            Self::MergeText => "merge_text",
            Self::UpdateNonIndex => "oltp_update_non_index",
            Self::UpdateIndex => "oltp_update_index",
            Self::Seckill => "seckill",
            Self::SeckillSlap => "seckill_slap",
            Self::SeckillAutocommit => "seckill_autocommit",
            Self::SeckillKey => "seckill_key",
            Self::SeckillPackets => "seckill_packets",
            Self::SeckillHints => "seckill_hints",
            Self::Tpcc => "tpcc",
        }
    }

    /// What makes it.
    pub fn tool(self) -> Tool {
        match self {
            Self::Churn => Tool::Slap,
            Self::Storm => Tool::Storm,
            Self::Idle => Tool::Idle,
            Self::Freshness => Tool::Freshness,
            Self::Scatter => Tool::Query("SELECT c FROM sbtest1 WHERE id BETWEEN 1 AND 8 ORDER BY id"),
            Self::Merge => Tool::Query("SELECT id, k, c FROM sbtest1 ORDER BY id"),
            Self::MergeText => Tool::Query("SELECT id, k, c FROM sbtest1 ORDER BY c"),
            Self::Reads => Tool::Sysbench("oltp_read_only"),
            Self::Tpcc => Tool::Tpcc,
            Self::Seckill => Tool::Transaction(SECKILL),
            Self::SeckillSlap => Tool::SlapText(SECKILL),
            Self::SeckillAutocommit => Tool::Transaction("update seckill set num=num-1 where id=1 and num>1"),
            Self::SeckillKey => Tool::Transaction("update seckill_key set num=num-1 where id=1 and num>1"),
            Self::SeckillPackets => {
                Tool::Transaction("begin\nupdate seckill set num=num-1 where id=1 and num>1\ncommit")
            }
            Self::SeckillHints => Tool::Transaction(
                "begin\nupdate /*+ COMMIT_ON_SUCCESS ROLLBACK_ON_FAIL TARGET_AFFECT_ROW(1) */ seckill set num=num-1 \
                 where id=1 and num>1\ncommit",
            ),
            _ => Tool::Sysbench(self.key()),
        }
    }

    /// Options of its script in sysbench.
    pub(crate) fn script_options(self) -> &'static [&'static str] {
        match self {
            // In a transaction reads would stay on the writer.
            Self::Reads => &["--skip_trx=on"],
            // Rows that are cold: sysbench's own choice is a hundredth of them.
            Self::UpdateNonIndex => &["--rand-type=uniform"],
            _ => &[],
        }
    }

    /// Whether it changes a table.
    pub fn writes(self) -> bool {
        let has_table = matches!(
            self,
            Self::ReadWrite
                | Self::WriteOnly
                | Self::Mixed
                | Self::Insert
                | Self::Freshness
                | Self::UpdateIndex
                | Self::UpdateNonIndex
                | Self::Tpcc
        );
        has_table || self.hot_table().is_some()
    }

    /// The table of which all clients change the same row.
    pub fn hot_table(self) -> Option<&'static str> {
        match self {
            Self::SeckillKey => Some(HOT_TABLES[1]),
            Self::Seckill | Self::SeckillSlap | Self::SeckillAutocommit | Self::SeckillPackets | Self::SeckillHints => {
                Some(HOT_TABLES[0])
            }
            _ => None,
        }
    }

    /// The workload whose figures its own are compared with: itself, unless only Weir has it.
    pub fn compared_with(self) -> Self {
        match self {
            Self::SeckillHints => Self::SeckillPackets,
            own => own,
        }
    }

    /// Whether prepared statements make a difference.
    pub fn can_prepare(self) -> bool {
        matches!(self.tool(), Tool::Sysbench(_) | Tool::Freshness | Tool::Tpcc)
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
        found.ok_or_else(|| format!("unknown workload; the workloads are {}", Self::ALL.map(Self::key).join(", ")))
    }
}
