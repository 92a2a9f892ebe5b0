//! What a bench run leaves behind: the contents of `DIR/NAME.json`.
//!
//! Must always hold: everything that a report shows is computed from a [`Record`] alone, so that `weir bench report` can be
//! repeated years later from the file. Figures are as measured, never rounded; units are in the names.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The form of the file; a reader refuses a newer one.
pub const FORMAT: u32 = 1;

/// One run of a bench.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// [`FORMAT`].
    pub format: u32,
    /// The bench: `overhead`, `kingshard`, `polardb`, `radon`, `hotrow`, `tpcc`.
    pub name: String,
    /// What it asks, in one sentence.
    pub title: String,
    /// When it began, UTC, RFC 3339.
    pub started: String,
    /// How long it took.
    pub seconds: f64,
    /// Whether all points were run; false after an interrupt.
    pub complete: bool,
    /// The command line that repeats it.
    pub command: String,
    /// The machine.
    pub machine: Machine,
    /// Program to version, as the programs print it: `weir`, `mariadbd`, `haproxy`, `mysqlrouter`, `sysbench`, …
    pub versions: BTreeMap<String, String>,
    /// Settings of the run and of each target: `server.max_connections`, `haproxy.nbthread`, …
    pub settings: BTreeMap<String, String>,
    /// The targets in the order in which they take turns; the first two are what ratios are taken against.
    pub targets: Vec<Target>,
    /// The measured points, grouped by workload, then clients, then target.
    pub points: Vec<Point>,
    /// What a reader must know: tools that were missing, points that were left out and why.
    pub notes: Vec<String>,
}

/// The machine that everything ran on.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// The processor's model name.
    pub cpu: String,
    /// Processors that the run may use.
    pub cores: u32,
    /// Memory in bytes.
    pub memory_bytes: u64,
    /// Kernel name and release.
    pub kernel: String,
    /// The distribution's pretty name.
    pub os: String,
}

/// What clients connect to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Target {
    /// Short: `direct`, `haproxy`, `router`, `weir`.
    pub key: String,
    /// For people: `direct`, `HAProxy`, `MySQL Router`, `Weir`.
    pub label: String,
}

/// One workload at one number of clients against one target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// The workload's key: `oltp_point_select`, `churn`, `storm`, `idle`, …
    pub workload: String,
    /// With server-side prepared statements; `None` where that makes no difference.
    pub prepared: Option<bool>,
    /// Clients at the same time.
    pub clients: u32,
    /// A further setting that is varied, for benches that vary one: `pool.max_connections=16`, `replicas=3, session`,
    /// `shards=2, partitions=64`, `mode=durable`, …
    pub variant: Option<String>,
    /// [`Target::key`].
    pub target: String,
    /// The single runs, in the order of rounds. Round n of all targets of a point ran one after another.
    pub runs: Vec<Run>,
    /// Why it could not be measured, if so: `runs` is then empty or short.
    pub failure: Option<String>,
}

/// One run of a point.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// The round, from 0.
    pub round: u32,
    /// Measured seconds.
    pub seconds: f64,
    /// Queries that were answered (for `churn`: connections; for `idle`: clients that were served; for `seckill…`:
    /// transactions).
    pub queries: u64,
    /// Queries a second.
    pub qps: f64,
    /// Transactions a second, as the load tool counts its events.
    pub tps: f64,
    /// Median latency of an event; 0 where the load tool does not tell (`churn`).
    pub p50_us: f64,
    /// 95th percentile.
    pub p95_us: f64,
    /// 99th percentile.
    pub p99_us: f64,
    /// Transactions by their type, where the workload has several.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub kinds: BTreeMap<String, Kind>,
    /// Queries of each second, where the run met trouble on the machine.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub qps_by_second: Vec<f64>,
    /// Errors by the server's number for them, where the load tool tells.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub errors_by_code: BTreeMap<String, u64>,
    /// Errors that clients saw (for `storm` and `idle`: clients that saw one).
    pub errors: u64,
    /// Process (`server`, `proxy`, `client`, and `replica1`, …, `shard1`, … where there are any) to what it used.
    pub processes: BTreeMap<String, Usage>,
    /// Differences over the run: of the database's status counters (`Questions`, `Com_commit`, `Innodb_data_fsyncs`, …), of
    /// its replicas' (`replica1.Com_select`, …), of shards (`shard1.Questions`, …), and of Weir's own (`weir.reads_on_readers`, …); and what the clients of
    /// `freshness` counted (`freshness.stale_own`, …).
    pub counters: BTreeMap<String, i64>,
    /// The raw output of the load tool, relative to the record.
    pub raw: Option<String>,
}

/// What became of the transactions of one type.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Kind {
    /// How many were completed.
    pub count: u64,
    /// Median of their latency.
    pub p50_us: f64,
    /// 95th percentile.
    pub p95_us: f64,
    /// 99th percentile.
    pub p99_us: f64,
}

/// What a process used during a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    /// User and system time.
    pub cpu_seconds: f64,
    /// The most resident memory during the run, in bytes; where the system does not let that be reset, since its start.
    pub peak_rss_bytes: u64,
    /// Resident memory at the end of the run, in bytes.
    pub rss_bytes: u64,
}
