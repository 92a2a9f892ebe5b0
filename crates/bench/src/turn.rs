//! One run of one point on one target: everything is brought into the state that the point wants, the load runs, and what
//! was used meanwhile is read.

use std::collections::BTreeMap;
use std::path::Path;

use weir_local::Cancel;

use crate::counters::{self, Counters};
use crate::driver::Freshness;
use crate::error::BenchError;
use crate::load::{ClientUse, Counted, Load, Loads};
use crate::plan::{Dataset, PointPlan, Variation, Workload};
use crate::procfs;
use crate::record::{Run, Usage};
use crate::site::Site;
use crate::stock;
use crate::target::{Launcher, Target, TargetKind};
use crate::tpcc::{self, Scale};
use crate::trouble::Troublemaker;

/// Connections that may be open when a run begins: those of Weir's pool and monitor, from its last turn.
const CONNECTIONS_BETWEEN_TURNS: u32 = 120;
/// The same where only the target in turn runs, and was just started.
const CONNECTIONS_OF_A_NEW_PROXY: u32 = 20;

/// Rows that inserts may add before the table is made anew: more would not fit into the server's memory one day. Never within
/// a point, whose targets are to find alike tables; and never an empty one, in which hundreds of clients fight for a page.
const MOST_GROWTH: u64 = 500_000;

/// The server, the proxies that run, and the tools.
pub(crate) struct Bench {
    // Ended first: they are connected to the server.
    targets: BTreeMap<TargetKind, Target>,
    pub(crate) site: Site,
    pub(crate) launcher: Launcher,
    pub(crate) loads: Loads,
    cancel: Cancel,
    /// Rows that were inserted since the table was made.
    grown: u64,
}

/// CPU seconds of the servers and the proxy at a moment.
type Sample = Vec<Option<f64>>;

impl Bench {
    pub(crate) fn new(site: Site, launcher: Launcher, loads: Loads, cancel: &Cancel) -> Self {
        Self { targets: BTreeMap::new(), site, launcher, loads, cancel: cancel.clone(), grown: 0 }
    }

    /// Starts a target, unless it runs.
    pub(crate) fn start(&mut self, kind: TargetKind) -> Result<(), BenchError> {
        if !self.targets.contains_key(&kind) {
            self.targets.insert(kind, self.launcher.start(kind, None)?);
        }
        Ok(())
    }

    /// Makes the table, directly on the server.
    pub(crate) fn prepare_table(&self, raw: &Path) -> Result<(), BenchError> {
        let direct = self.launcher.start(TargetKind::Direct, None)?;
        self.loads.prepare_table(&direct, raw)
    }

    /// Makes TPC-C's tables with their rows: on the one server, and for each of these settings on shards, through Weir.
    pub(crate) fn prepare_tpcc(&mut self, scale: Scale, sharded: &[Variation]) -> Result<(), BenchError> {
        let direct = self.launcher.start(TargetKind::Direct, None)?;
        tpcc::populate(|| self.launcher.connect(&direct, None), scale, false, &self.cancel)?;
        for setting in sharded {
            self.start(TargetKind::Weir)?;
            let weir = &self.targets[&TargetKind::Weir];
            self.launcher.create_database(weir, *setting)?;
            tpcc::populate(|| self.launcher.connect(weir, Some(*setting)), scale, true, &self.cancel)?;
        }
        Ok(())
    }

    /// Why a run does not count, if its tables are not as its transactions must have left them.
    fn inconsistency(&self, point: &PointPlan, kind: TargetKind) -> Option<String> {
        let target = self.targets.get(&kind).filter(|_| point.workload == Workload::Tpcc)?;
        let connected = self.launcher.connect(target, point.variation);
        let looked = connected.and_then(|mut connection| tpcc::check(&mut connection));
        looked.unwrap_or_else(|error| Some(format!("the tables' consistency can't be looked at: {error}")))
    }

    /// Makes sharded tables, in a database of their own, through Weir.
    pub(crate) fn prepare_dataset(&mut self, dataset: &Dataset, raw: &Path) -> Result<(), BenchError> {
        self.start(TargetKind::Weir)?;
        let weir = &self.targets[&TargetKind::Weir];
        self.launcher.create_database(weir, dataset.sharding)?;
        self.loads.prepare_dataset(weir, dataset, raw)?;
        self.launcher.warm(weir, dataset.sharding)
    }

    /// Drops the table.
    pub(crate) fn drop_table(&self, raw: &Path) -> Result<(), BenchError> {
        let direct = self.launcher.start(TargetKind::Direct, None)?;
        self.loads.drop_table(&direct, raw)
    }

    /// Runs `point` once on `kind`: what came of it, or why it could not be measured.
    pub(crate) fn run(
        &mut self,
        point: &PointPlan,
        kind: TargetKind,
        round: u32,
        raw: &Path,
    ) -> Result<Result<Run, String>, BenchError> {
        let target = match self.make_ready(point, kind) {
            Ok(target) => target,
            Err(error) if error.is_interrupt() => return Err(error),
            Err(error) => return Ok(Err(error.to_string())),
        };
        if round == 0 && point.targets.first() == Some(&kind) {
            self.renew_table(raw)?;
        }
        self.prepare_server(point)?;
        match self.launcher.wait_for_readers(&target) {
            Err(error) if !error.is_interrupt() => return self.put_back(target, Ok(Err(error.to_string()))),
            waited => waited?,
        }
        let mut processes = self.site.processes();
        processes.push(("proxy".to_owned(), target.pid()));
        processes.iter().filter_map(|(_, pid)| *pid).for_each(procfs::reset_peak);
        let sample = || -> Sample { processes.iter().map(|(_, pid)| pid.and_then(procfs::cpu_seconds)).collect() };
        let hot_table = point.workload.hot_table();
        let stock_before = hot_table.map(|table| self.site.stock(table)).transpose()?;
        let counters_before = self.counters(&target)?;
        let mut begin = Sample::new();
        let server = self.site.processes().into_iter().find_map(|(name, pid)| pid.filter(|_| name == "server"));
        let mut trouble = Ok(None);
        let outcome = self.loads.run(&Load { point, target: &target, raw }, || {
            begin = sample();
            let beside = point.variation.and_then(Variation::trouble);
            trouble = beside.map(|beside| Troublemaker::begin(beside, point.seconds, server)).transpose();
        });
        let end = sample();
        let outcome = match trouble {
            Ok(ended) => {
                drop(ended);
                outcome
            }
            Err(error) => outcome.map(|_| Err(error.to_string())),
        };
        let counters_after = self.counters(&target);
        let outcome = self.put_back(target, outcome)?;
        let (counted, client) = match outcome {
            Ok(outcome) => outcome,
            Err(failure) => return Ok(Err(failure)),
        };
        if let (Some(table), Some(before)) = (hot_table, stock_before)
            && let Some(failure) = stock::difference(before, self.site.stock(table)?, &counted)
        {
            return Ok(Err(failure));
        }
        if let Some(failure) = self.inconsistency(point, kind) {
            return Ok(Err(failure));
        }
        if point.workload == Workload::Insert {
            self.grown += counted.queries;
        }
        let mut run =
            Run { round, counters: counters::difference(&counters_before, &counters_after?), ..run_of(&counted) };
        run.counters.extend(counted.freshness.into_iter().flat_map(freshness_counters));
        let samples = begin.into_iter().zip(end);
        for ((name, pid), (begin, end)) in processes.iter().zip(samples) {
            run.processes.extend(used(name, *pid, begin, end));
        }
        let ClientUse { cpu_seconds, peak_rss_bytes, rss_bytes } = client;
        run.processes.insert("client".to_owned(), Usage { cpu_seconds, peak_rss_bytes, rss_bytes });
        Ok(Ok(run))
    }

    /// Recreates the table if it has grown much.
    fn renew_table(&mut self, raw: &Path) -> Result<(), BenchError> {
        if self.grown > MOST_GROWTH {
            self.drop_table(raw)?;
            self.prepare_table(raw)?;
            self.grown = 0;
        }
        Ok(())
    }

    /// The target as the point wants it; taken out of the running ones meanwhile.
    fn make_ready(&mut self, point: &PointPlan, kind: TargetKind) -> Result<Target, BenchError> {
        let is_exclusive = point.is_exclusive();
        if is_exclusive {
            self.stop_targets()?;
        }
        let running = self.targets.remove(&kind);
        let wanted = point.variation.and_then(Variation::of_process);
        match running {
            Some(target) if target.is_alive() && target.variation == wanted => Ok(target),
            other => {
                other.map_or(Ok(()), Target::stop)?;
                self.launcher.start(kind, wanted)
            }
        }
    }

    /// Counters of the servers, and of the target itself where it has any.
    fn counters(&self, target: &Target) -> Result<Counters, BenchError> {
        let mut counters = self.site.counters()?;
        counters.extend(target.counters()?);
        Ok(counters)
    }

    fn prepare_server(&mut self, point: &PointPlan) -> Result<(), BenchError> {
        if point.workload.writes() {
            self.site.purge_binary_logs()?;
        }
        let left = if point.is_exclusive() { CONNECTIONS_OF_A_NEW_PROXY } else { CONNECTIONS_BETWEEN_TURNS };
        self.site.drain(left, &self.cancel)?;
        self.site.set_max_connections(point.server_connections)?;
        if let Some(durability) = point.variation.and_then(Variation::durability) {
            self.site.set_durability(durability)?;
        }
        if point.workload == Workload::Freshness {
            self.site.prepare_freshness(point.clients)?;
        }
        self.site.catch_up()
    }

    /// Keeps a target for its next turn, unless its process has ended during this one: that is the run's result.
    fn put_back<T>(
        &mut self,
        target: Target,
        outcome: Result<Result<T, String>, BenchError>,
    ) -> Result<Result<T, String>, BenchError> {
        let label = target.kind.label();
        let has_ended = !target.is_alive();
        if !has_ended {
            self.targets.insert(target.kind, target);
        }
        let outcome = outcome?;
        if !has_ended {
            return Ok(outcome);
        }
        let failure = outcome.err().map_or(String::new(), |failure| format!(": {failure}"));
        Ok(Err(format!("{label} ended during the run{failure}")))
    }

    fn stop_targets(&mut self) -> Result<(), BenchError> {
        std::mem::take(&mut self.targets).into_values().try_for_each(Target::stop)
    }

    /// Ends everything, and keeps the proxies' logs in `logs`.
    pub(crate) fn stop(mut self, logs: &Path) -> Result<(), BenchError> {
        let stopped = self.stop_targets();
        let kept = keep_logs(self.site.dir(), logs);
        let ended = self.site.stop();
        stopped.and(kept).and(ended)
    }
}

/// What the load tool knows of a run.
fn run_of(counted: &Counted) -> Run {
    let per_second = |count: u64| count as f64 / counted.seconds.max(f64::EPSILON);
    Run {
        seconds: counted.seconds,
        queries: counted.queries,
        qps: per_second(counted.queries),
        tps: per_second(counted.events),
        p50_us: counted.p50_us,
        p95_us: counted.p95_us,
        p99_us: counted.p99_us,
        errors: counted.errors,
        errors_by_code: counted.errors_by_code.clone(),
        kinds: counted.kinds.clone(),
        qps_by_second: counted.qps_by_second.clone(),
        ..Run::default()
    }
}

/// What clients counted who look for stale reads, as the record names it.
fn freshness_counters(counted: Freshness) -> [(String, i64); 5] {
    let Freshness { pairs, reads, stale_own, steps_back, behind_others } = counted;
    let named = [
        ("pairs", pairs),
        ("reads", reads),
        ("stale_own", stale_own),
        ("steps_back", steps_back),
        ("behind_others", behind_others),
    ];
    named.map(|(name, count)| (format!("freshness.{name}"), i64::try_from(count).unwrap_or(i64::MAX)))
}

/// What a process used between two moments, under its name in the record; nothing if it was not there all the time.
fn used(name: &str, pid: Option<i32>, begin: Option<f64>, end: Option<f64>) -> Option<(String, Usage)> {
    let memory = procfs::memory(pid?)?;
    let usage = Usage { cpu_seconds: end? - begin?, peak_rss_bytes: memory.peak, rss_bytes: memory.resident };
    Some((name.to_owned(), usage))
}

fn keep_logs(from: &Path, to: &Path) -> Result<(), BenchError> {
    let entries = std::fs::read_dir(from).map_err(BenchError::io("read", from))?;
    for entry in entries.filter_map(Result::ok) {
        let path = entry.path();
        if path.extension().is_some_and(|extension| extension == "log") {
            std::fs::copy(&path, to.join(entry.file_name())).map_err(BenchError::io("copy", &path))?;
        }
    }
    Ok(())
}
