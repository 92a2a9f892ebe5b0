//! What will be run, in which order, and how long that will take: decided before anything is started.
//!
//! Must always hold: of a point, round n of all targets runs one after another, before round n + 1 of any (A B C A B C), so
//! that a ratio compares neighbours in time. Plans are pure: no clock, no machine.

mod hotrow;
mod kingshard;
mod overhead;
mod polardb;
mod radon;
#[cfg(test)]
mod tests;
mod tpcc;
mod variation;
pub(crate) mod workload;

use std::time::Duration;

pub use variation::{Durability, Level, Trouble, Variation};
pub(crate) use workload::HOT_TABLES;
pub use workload::{Tool, Workload};

use crate::catalogue::Bench;
use crate::error::BenchError;
use crate::selection::{Length, Selection};
use crate::target::TargetKind;
use crate::tpcc::{LEAST_ITEMS, Scale};

/// `max_connections` of a server that nobody has configured.
pub(crate) const STOCK_MAX_CONNECTIONS: u32 = 151;
/// Connections that the server takes beyond the clients': those of Weir's pool, which stay between its turns, and the bench's
/// own.
const SPARE_CONNECTIONS: u32 = 150;
/// `--quick` stops beginning new runs after this time, so that it ends within three minutes on a slow machine too.
const QUICK_BUDGET: Duration = Duration::from_secs(150);

/// All that a run of a bench does.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// Rows of a table; of TPC-C, items.
    pub rows: u32,
    /// Tables on the server, `sbtest1` and so on; 0 for TPC-C, which has its own.
    pub tables: u32,
    /// Sharded databases that Weir makes besides.
    pub datasets: Vec<Dataset>,
    /// What is measured, in order.
    pub points: Vec<PointPlan>,
    /// No run is begun later than this after the start.
    pub budget: Option<Duration>,
}

/// Sharded tables, which are made through Weir.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dataset {
    /// Shards and partitions.
    pub sharding: Variation,
    /// Tables, `sbtest1` and so on.
    pub tables: u32,
    /// Rows of each.
    pub rows: u32,
}

/// A point, for all targets that it is measured on.
#[derive(Debug, Clone, PartialEq)]
pub struct PointPlan {
    /// What the clients do.
    pub workload: Workload,
    /// With prepared statements; `None` where that makes no difference.
    pub prepared: Option<bool>,
    /// Clients at the same time.
    pub clients: u32,
    /// Weir's setting that is varied, if one is.
    pub variation: Option<Variation>,
    /// On what, in this order.
    pub targets: Vec<TargetKind>,
    /// Length of a run.
    pub seconds: u32,
    /// Runs on each target.
    pub rounds: u32,
    /// The server's `max_connections` meanwhile.
    pub server_connections: u32,
}

/// One run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Job {
    /// Index in [`Plan::points`].
    pub point: usize,
    /// From 0.
    pub round: u32,
    /// On what.
    pub target: TargetKind,
}

impl Plan {
    /// The plan of a bench.
    ///
    /// Errors: a selection that leaves nothing, or asks for a workload that the bench does not have.
    pub fn make(bench: Bench, length: Length, selection: &Selection) -> Result<Self, BenchError> {
        let plan = match bench {
            Bench::Overhead if selection.contended => overhead::contended(length, selection),
            Bench::Overhead => overhead::plan(length, selection),
            _ if selection.contended => {
                return Err(BenchError::Options("--contended is a form of the bench overhead".to_owned()));
            }
            Bench::Kingshard => kingshard::plan(length, selection),
            Bench::PolarDb => polardb::plan(length, selection),
            Bench::Radon => radon::plan(length, selection),
            Bench::HotRow => hotrow::plan(length, selection),
            Bench::Tpcc => tpcc::plan(length, selection),
        };
        if let Some(other) = selection.workloads.iter().find(|workload| !plan.has(**workload)) {
            return Err(BenchError::Options(format!("{} does not have the workload {other}", bench.name())));
        }
        if let Some(other) = selection.targets.iter().find(|target| target.is_special() && bench != Bench::HotRow) {
            return Err(BenchError::Options(format!("{} does not have the target {other}", bench.name())));
        }
        if plan.points.is_empty() {
            return Err(BenchError::Options("nothing is left to measure".to_owned()));
        }
        Ok(plan)
    }

    fn has(&self, workload: Workload) -> bool {
        self.points.iter().any(|point| point.workload == workload)
    }

    /// All runs, in order.
    pub fn jobs(&self) -> Vec<Job> {
        let indexed: Vec<(usize, &PointPlan)> = self.points.iter().enumerate().collect();
        let compared = indexed.chunk_by(|(_, one), (_, next)| next.takes_turns_with(one));
        compared.flat_map(jobs_in_turn).collect()
    }

    /// The targets of all points, in the order of their first appearance.
    pub fn targets(&self) -> Vec<TargetKind> {
        let mut targets = Vec::new();
        for target in self.points.iter().flat_map(|point| &point.targets) {
            if !targets.contains(target) {
                targets.push(*target);
            }
        }
        targets
    }

    /// How long all runs will take, the start of the server and the making of the table included; in seconds, roughly.
    pub fn expected_seconds(&self) -> f64 {
        let runs: f64 = self.jobs().iter().map(|job| self.points[job.point].expected_seconds()).sum();
        self.setup_seconds() + runs
    }

    /// How long it takes until the first run.
    pub(crate) fn setup_seconds(&self) -> f64 {
        let rows = |tables: u32, rows: u32| f64::from(tables) * f64::from(rows);
        let sharded: f64 = self.datasets.iter().map(|dataset| rows(dataset.tables, dataset.rows)).sum();
        let servers = f64::from(self.replicas() + self.shards());
        let tpcc = self.tpcc().map_or(0.0, |scale| scale.rows() as f64);
        4.0 + 2.0 * servers + tpcc / 12_000.0 + rows(self.tables, self.rows) / 40_000.0 + sharded / 25_000.0
    }

    /// The most connections that the server is to take at any time.
    pub(crate) fn largest_server_connections(&self) -> u32 {
        self.points.iter().map(|point| point.server_connections).max().unwrap_or(STOCK_MAX_CONNECTIONS)
    }

    /// The most replicas that any point reads from.
    pub(crate) fn replicas(&self) -> u32 {
        self.points.iter().filter_map(|point| point.variation).map(Variation::replicas).max().unwrap_or(0)
    }

    /// The most shards that any point has.
    pub(crate) fn shards(&self) -> u32 {
        self.points.iter().filter_map(|point| point.variation).map(Variation::shards).max().unwrap_or(0)
    }

    /// Whether any point changes one row with all clients.
    pub(crate) fn has_hot_rows(&self) -> bool {
        self.points.iter().any(|point| point.workload.hot_table().is_some())
    }

    /// The settings of shards that its points have.
    pub(crate) fn shardings(&self) -> Vec<Variation> {
        let mut all: Vec<Variation> = Vec::new();
        for setting in self.points.iter().filter_map(|point| point.variation).filter(|setting| setting.shards() > 0) {
            if !all.contains(&setting) {
                all.push(setting);
            }
        }
        all
    }

    /// The population of TPC-C, if any point is of it.
    pub(crate) fn tpcc(&self) -> Option<Scale> {
        self.has(Workload::Tpcc).then(|| Scale { items: self.rows.max(LEAST_ITEMS) })
    }

    /// Why a server that was given can't be measured, if so.
    pub(crate) fn needs_own_server(&self) -> Option<&'static str> {
        let varies = |point: &PointPlan| point.variation.and_then(Variation::durability).is_some();
        if self.replicas() + self.shards() > 0 {
            Some("needs several servers")
        } else {
            self.points.iter().any(varies).then_some("changes the server's settings")
        }
    }

    /// How many rounds the most often repeated point has.
    pub(crate) fn largest_rounds(&self) -> u32 {
        self.points.iter().map(|point| point.rounds).max().unwrap_or(0)
    }
}

impl PointPlan {
    /// How long one run takes, its start and end included: as measured on two cores.
    pub(crate) fn expected_seconds(&self) -> f64 {
        let (seconds, clients) = (f64::from(self.seconds), f64::from(self.clients));
        let restart = match self.variation {
            // Weir looks at the replicas before it sends them reads.
            Some(Variation::Splitting { .. }) => 0.9,
            _ if self.is_exclusive() => 0.3,
            _ => 0.0,
        };
        restart
            + match self.workload.tool() {
                Tool::Sysbench(_) => seconds + 0.1 + clients * 0.001,
                Tool::Slap | Tool::SlapText(_) => seconds + 0.4,
                // The last answers come when all clients had their turn once more.
                Tool::Transaction(_) | Tool::Tpcc => seconds + 0.2 + clients * 0.002,
                Tool::Storm | Tool::Query(_) => seconds + 0.5 + clients * 0.000_6,
                Tool::Idle => seconds + 0.5 + clients * 0.000_2,
                Tool::Freshness => seconds + 0.2,
            }
    }

    /// What is varied, as the record says it.
    pub(crate) fn variant(&self) -> Option<String> {
        self.variation.map(|variation| variation.to_string())
    }

    /// For people: `oltp_point_select, prepared, 16 clients`.
    pub(crate) fn describe(&self) -> String {
        let prepared = if self.prepared == Some(true) { ", prepared" } else { "" };
        let variant = self.variant().map_or(String::new(), |variant| format!(", {variant}"));
        format!("{}{prepared}, {} clients{variant}", self.workload, self.clients)
    }

    /// Weir's `pool.max_connections`, where it is varied.
    pub(crate) fn pool_limit(&self) -> Option<u32> {
        self.variation.and_then(Variation::pool_limit)
    }

    /// Whether its rounds alternate with those of the point before it, because the two are compared with each other.
    fn takes_turns_with(&self, before: &Self) -> bool {
        let load = |point: &Self| (point.workload.compared_with(), point.prepared, point.clients);
        let is_compared = match self.variation {
            Some(Variation::Splitting { .. } | Variation::Sharding { .. } | Variation::Shards(_)) => true,
            Some(Variation::Durability(_)) => self.variation == before.variation,
            _ => false,
        };
        is_compared && load(self) == load(before)
    }

    /// Whether no other proxy may run meanwhile, and the target's own is started anew: where the server takes so few
    /// connections that another's pool would be missed, where memory is a result, and where several Weirs are compared.
    pub(crate) fn is_exclusive(&self) -> bool {
        let is_tight = self.server_connections < self.clients + SPARE_CONNECTIONS;
        let is_about_memory = matches!(self.workload, Workload::Idle | Workload::Merge | Workload::MergeText);
        let has_several = self.variation.and_then(Variation::durability).is_some();
        is_tight || self.pool_limit().is_some() || is_about_memory || has_several
    }
}

/// The runs of points whose rounds alternate.
fn jobs_in_turn(points: &[(usize, &PointPlan)]) -> Vec<Job> {
    let rounds = points.iter().map(|(_, plan)| plan.rounds).max().unwrap_or(0);
    let of_round = |round| {
        let run = points.iter().filter(move |(_, plan)| round < plan.rounds);
        run.flat_map(move |(point, plan)| {
            plan.targets.iter().map(move |target| Job { point: *point, round, target: *target })
        })
    };
    (0..rounds).flat_map(of_round).collect()
}

/// What a bench does at a length: in full, quickly, or just to see that it works.
fn by_length<T>(length: Length, [full, quick, smoke]: [T; 3]) -> T {
    match length {
        Length::Full => full,
        Length::Quick => quick,
        Length::Smoke => smoke,
    }
}

fn budget(length: Length) -> Option<Duration> {
    (length == Length::Quick).then_some(QUICK_BUDGET)
}

/// A user's choice, or else the bench's own list.
fn chosen<T: Copy>(choice: &[T], own: &[T]) -> Vec<T> {
    if choice.is_empty() { own.to_vec() } else { choice.to_vec() }
}

/// The user's targets, or all that every bench has.
fn targets(selection: &Selection) -> Vec<TargetKind> {
    let mut targets = chosen(&selection.targets, &TargetKind::STANDARD);
    let mut seen = Vec::new();
    targets.retain(|target| {
        !seen.contains(target) && {
            seen.push(*target);
            true
        }
    });
    targets
}
