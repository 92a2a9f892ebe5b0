//! The benches there are.

use std::str::FromStr;

/// A bench.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bench {
    /// Weir against direct connections and other proxies.
    Overhead,
    /// The form of kingshard's published report.
    Kingshard,
    /// The form of PolarDB's published report on read/write splitting.
    PolarDb,
    /// The form of RadonDB's published test of sharded tables.
    Radon,
    /// The form of the published flash-sale test: all clients change one row.
    HotRow,
    /// TPC-C's mix over shards.
    Tpcc,
}

impl Bench {
    /// All benches.
    pub const ALL: [Self; 6] = [Self::Overhead, Self::Kingshard, Self::PolarDb, Self::Radon, Self::HotRow, Self::Tpcc];

    /// Its name on the command line, and of its files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Overhead => "overhead",
            Self::Kingshard => "kingshard",
            Self::PolarDb => "polardb",
            Self::Radon => "radon",
            Self::HotRow => "hotrow",
            Self::Tpcc => "tpcc",
        }
    }

    /// What it asks, in one sentence.
    pub fn title(self) -> &'static str {
        match self {
            Self::Overhead => {
                "What does it cost to go through Weir, compared with direct connections, HAProxy and MySQL Router?"
            }
            Self::Kingshard => {
                "How do throughput and the limit of the pool behave with more clients than the server takes? \
                 (the form of kingshard's published report)"
            }
            Self::PolarDb => {
                "How are reads split over a writer and its replicas, and how fresh are they? \
                 (the form of PolarDB's published report on read/write splitting)"
            }
            Self::Radon => {
                "What do shards and partitions cost, and what does a scatter or a merge of rows cost Weir? \
                 (the form of RadonDB's published test)"
            }
            Self::HotRow => {
                "What does a flash sale get, where all clients change one row? (the form of the published test of \
                 patched servers)"
            }
            Self::Tpcc => "What do two shards make of TPC-C's transactions, beside one server on the same machine?",
        }
    }

    /// What it measures, in a few words.
    pub(crate) fn about(self) -> &'static str {
        match self {
            Self::Overhead => "sysbench's OLTP workloads at 1 to 1,000 clients, churn, a storm of 5,000, 10,000 idle",
            Self::Kingshard => "select, insert, read/write 4:1 at 16 to 512 clients, and pool limits of 16 to 512",
            Self::PolarDb => "reads and writes at 1 to 32 clients with 0 to 3 replicas, by level; stale reads counted",
            Self::Radon => {
                "10 tables over 2 and 3 shards at 8, 32, 64 partitions, 16 to 900 clients; scatter and merge"
            }
            Self::HotRow => "one row changed by 36 to 256 clients, durable and not, in five forms; cold rows beside it",
            Self::Tpcc => "TPC-C's mix on 4 warehouses, 8 and 64 clients: one server, and two shards through Weir",
        }
    }
}

impl FromStr for Bench {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|bench| bench.name() == name);
        found.ok_or_else(|| format!("unknown bench; the benches are {}", Self::ALL.map(Self::name).join(", ")))
    }
}
