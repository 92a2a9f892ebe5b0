//! A whole run of a bench: look, start, measure in turn, stop, record, report.
//!
//! Must always hold: whatever happens after the server was started, it is ended, its directory is gone, and what was
//! measured until then is in the record, which says that it is not complete.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime};

use weir_local::Progress;

use crate::console::{Console, duration};
use crate::disk::{self, SyncLatency};
use crate::error::BenchError;
use crate::load::{Loads, Tables};
use crate::options::Options;
use crate::plan::{Job, Plan, PointPlan};
use crate::preflight::{self, Found};
use crate::record::{FORMAT, Point, Record, Run, Target as RecordedTarget};
use crate::site::Site;
use crate::target::{Launcher, TargetKind};
use crate::turn::Bench;
use crate::{machine, report, store};

/// What a run has left.
#[derive(Debug)]
pub struct Finished {
    /// The record, as written.
    pub record: Record,
    /// The record's file, and the report's.
    pub files: Vec<PathBuf>,
    /// Why the run ended early, if it did.
    pub error: Option<BenchError>,
}

/// Runs a bench to its end, or until `options.cancel` is set.
///
/// Errors: what prevented that anything was measured. What ends it later is in [`Finished::error`].
pub fn run(options: &Options) -> Result<Finished, BenchError> {
    let mut plan = Plan::make(options.bench, options.length, &options.selection)?;
    let found = preflight::look(options, &plan)?;
    plan.points.iter_mut().for_each(|point| point.targets.retain(|target| found.targets.contains(target)));
    plan.points.retain(|point| !point.targets.is_empty());
    let raw = options.out.join("raw").join(options.bench.name());
    make_raw_dir(&raw)?;
    let mut console = Console::new();
    found.notes.iter().for_each(|note| console.note(note));
    console.note(&format!(
        "{}: {} runs on {}, about {}; results go to {}",
        options.bench.name(),
        plan.jobs().len(),
        plan.targets().iter().map(|target| target.label()).collect::<Vec<_>>().join(", "),
        duration(plan.expected_seconds()),
        options.out.display(),
    ));
    let mut session = Session::new(options, plan, found, raw);
    let error = session.measure_all(&mut console).err();
    console.runs_end();
    session.finish(error)
}

/// A bench being run, and what it has recorded.
struct Session<'a> {
    options: &'a Options,
    plan: Plan,
    found: Found,
    raw: PathBuf,
    begun: Instant,
    record: Record,
}

impl<'a> Session<'a> {
    fn new(options: &'a Options, plan: Plan, found: Found, raw: PathBuf) -> Self {
        let target = |kind: TargetKind| RecordedTarget { key: kind.key().to_owned(), label: kind.label().to_owned() };
        let record = Record {
            format: FORMAT,
            name: options.bench.name().to_owned(),
            title: options.bench.title().to_owned(),
            started: machine::rfc3339(SystemTime::now()),
            seconds: 0.0,
            complete: false,
            command: options.command.clone(),
            machine: machine::this(),
            versions: found.versions.clone(),
            settings: settings(options, &plan),
            targets: plan.targets().into_iter().map(target).collect(),
            points: plan.points.iter().flat_map(recorded_points).collect(),
            notes: found.notes.clone(),
        };
        Self { options, plan, found, raw, begun: Instant::now(), record }
    }

    fn measure_all(&mut self, console: &mut Console) -> Result<(), BenchError> {
        let site = Site::start(self.options, &self.plan, console)?;
        let measured = self.measure_at(site, console);
        self.record.seconds = self.begun.elapsed().as_secs_f64();
        measured
    }

    fn measure_at(&mut self, site: Site, console: &mut Console) -> Result<(), BenchError> {
        let cancel = &self.options.cancel;
        let launcher = Launcher {
            dir: site.dir().to_path_buf(),
            upstream: site.upstream.clone(),
            weir: self.options.weir.clone(),
            cores: machine::cores(),
            files: preflight::open_files(),
            cancel: cancel.clone(),
        };
        self.record.versions.insert("database server".to_owned(), site.version()?);
        self.record.settings.extend(site.settings()?);
        if self.plan.has_hot_rows() {
            self.look_at_disk(site.dir(), console)?;
            site.prepare_stock()?;
        }
        for kind in self.plan.targets() {
            self.record.settings.extend(launcher.settings(kind));
        }
        let tables = Tables { count: self.plan.tables, rows: self.plan.rows };
        let loads = Loads::new(&site.upstream, tables, &self.options.driver, site.dir(), cancel)?;
        let mut bench = Bench::new(site, launcher, loads, cancel);
        let is_given = self.options.given.is_some();
        let measured = self.prepare(&mut bench, console).and_then(|()| self.run_jobs(&mut bench, console));
        let cleaned = if is_given { bench.drop_table(&self.raw.join("cleanup.txt")) } else { Ok(()) };
        let stopped = bench.stop(&self.raw);
        measured.and(cleaned).and(stopped)
    }

    /// Measures what the commits of a hot row wait for.
    fn look_at_disk(&mut self, dir: &Path, console: &mut Console) -> Result<(), BenchError> {
        let SyncLatency { p50_us, p99_us } = disk::sync_latency(dir)?;
        console.note(&format!(
            "A write of 4 KiB with fdatasync takes {p50_us} µs here (median; 99th percentile {p99_us} µs)"
        ));
        self.record.settings.insert(disk::P50_SETTING.to_owned(), p50_us.to_string());
        self.record.settings.insert(disk::P99_SETTING.to_owned(), p99_us.to_string());
        Ok(())
    }

    /// Makes the table, and sees that every target answers.
    fn prepare(&mut self, bench: &mut Bench, console: &mut Console) -> Result<(), BenchError> {
        for kind in self.plan.targets() {
            console.step(&format!("Starting {}", kind.label()));
            bench.start(kind)?;
            console.done("");
        }
        let of_rows = |tables: u32, rows: u32| match tables {
            1 => format!("the table of {rows} rows"),
            tables => format!("{tables} tables of {rows} rows"),
        };
        if self.plan.tables > 0 {
            console.step(&format!("Making {}", of_rows(self.plan.tables, self.plan.rows)));
            bench.prepare_table(&self.raw.join("prepare.txt"))?;
            console.done("");
        }
        if let Some(scale) = self.plan.tpcc() {
            console.step(&format!("Making TPC-C's tables with {} rows", scale.rows()));
            bench.prepare_tpcc(scale, &self.plan.shardings())?;
            console.done("");
        }
        for dataset in &self.plan.datasets {
            console.step(&format!("Making {}, {}", of_rows(dataset.tables, dataset.rows), dataset.sharding));
            bench.prepare_dataset(dataset, &self.raw.join(format!("prepare-{}.txt", dataset.sharding.file_part())))?;
            console.done("");
        }
        Ok(())
    }

    fn run_jobs(&mut self, bench: &mut Bench, console: &mut Console) -> Result<(), BenchError> {
        let jobs = self.plan.jobs();
        let expected: f64 = jobs.iter().map(|job| self.plan.points[job.point].expected_seconds()).sum();
        console.runs_begin(jobs.len(), expected);
        for (index, job) in jobs.iter().enumerate() {
            self.options.cancel.check()?;
            let what = format!(
                "{} on {}, round {}",
                self.plan.points[job.point].describe(),
                job.target.label(),
                job.round + 1
            );
            console.run_begins(&what);
            let outcome = self.run_job(*job, bench)?;
            console.run_ended(&what, &outcome, self.plan.points[job.point].expected_seconds());
            let ends_point = jobs.get(index + 1).is_none_or(|next| next.point != job.point);
            if ends_point {
                self.record.seconds = self.begun.elapsed().as_secs_f64();
                store::write(&self.recorded(), &self.options.out)?;
            }
        }
        self.record.complete = true;
        Ok(())
    }

    /// Runs one job, unless something speaks against it; tells what came of it.
    fn run_job(&mut self, job: Job, bench: &mut Bench) -> Result<String, BenchError> {
        let plan = &self.plan.points[job.point];
        let index = self.recorded_index(job);
        let known = self.record.points[index].failure.clone();
        let obstacle = known.or_else(|| self.found.obstacle(plan, job.target)).or_else(|| self.out_of_time());
        if let Some(obstacle) = obstacle {
            let told = format!("left out: {obstacle}");
            self.record.points[index].failure = Some(obstacle);
            return Ok(told);
        }
        let raw = self.raw.join(raw_name(plan, job));
        let outcome = bench.run(plan, job.target, job.round, &raw)?;
        let point = &mut self.record.points[index];
        match outcome {
            Ok(mut run) => {
                run.raw = raw.strip_prefix(&self.options.out).ok().map(|raw| raw.display().to_string());
                let told = told(&run);
                point.runs.push(run);
                Ok(told)
            }
            Err(failure) => {
                let told = format!("failed: {failure}");
                point.failure = Some(failure);
                Ok(told)
            }
        }
    }

    fn out_of_time(&self) -> Option<String> {
        let is_over = self.plan.budget.is_some_and(|budget| self.begun.elapsed() > budget);
        is_over.then(|| "the time of --quick was over".to_owned())
    }

    /// Where a job's point is in the record: points are recorded per target, in the plan's order.
    fn recorded_index(&self, job: Job) -> usize {
        let before: usize = self.plan.points[..job.point].iter().map(|point| point.targets.len()).sum();
        let own = self.plan.points[job.point].targets.iter().position(|target| *target == job.target);
        before + own.expect("a job's target is one of its point's")
    }

    /// The record without the points that were not reached.
    fn recorded(&self) -> Record {
        let mut record = self.record.clone();
        record.points.retain(|point| !point.runs.is_empty() || point.failure.is_some());
        record
    }

    /// Writes record and report. Without a single run there is none to write, and an earlier one is left alone.
    fn finish(mut self, error: Option<BenchError>) -> Result<Finished, BenchError> {
        let error = match error {
            Some(error) if self.record.points.iter().all(|point| point.runs.is_empty()) => return Err(error),
            other => other,
        };
        if let Some(error) = &error {
            let end =
                if error.is_interrupt() { "interrupted by the user".to_owned() } else { format!("ended by: {error}") };
            self.record.notes.push(format!("The run was {end}, after {}.", duration(self.record.seconds)));
        }
        let record = self.recorded();
        let mut files = vec![store::write(&record, &self.options.out)?];
        files.extend(report::write(&record, &self.options.out)?);
        Ok(Finished { record, files, error })
    }
}

/// A directory of this run's raw outputs alone: an earlier run's would be taken for this one's.
fn make_raw_dir(raw: &Path) -> Result<(), BenchError> {
    match fs::remove_dir_all(raw) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(BenchError::io("remove", raw)(error)),
        _ => {}
    }
    fs::create_dir_all(raw).map_err(BenchError::io("create", raw))
}

fn recorded_points(plan: &PointPlan) -> impl Iterator<Item = Point> + '_ {
    plan.targets.iter().map(|target| Point {
        workload: plan.workload.key().to_owned(),
        prepared: plan.prepared,
        clients: plan.clients,
        variant: plan.variant(),
        target: target.key().to_owned(),
        runs: Vec::new(),
        failure: None,
    })
}

fn raw_name(plan: &PointPlan, job: Job) -> String {
    let mode = match plan.prepared {
        None => "",
        Some(true) => "-prepared",
        Some(false) => "-text",
    };
    let variation = plan.variation.map_or(String::new(), |variation| format!("-{}", variation.file_part()));
    format!("{}{mode}-{}{variation}-{}-{}.txt", plan.workload, plan.clients, job.target, job.round + 1)
}

fn told(run: &Run) -> String {
    let errors = if run.errors > 0 { format!(", {} errors", run.errors) } else { String::new() };
    format!("{:.0} queries/s{errors}", run.qps)
}

fn settings(options: &Options, plan: &Plan) -> BTreeMap<String, String> {
    let rounds = plan.largest_rounds().to_string();
    let server = match &options.given {
        Some(given) => format!("given, {}:{}", given.host, given.port),
        None => format!("{}, started for this run", options.flavor),
    };
    let connections: BTreeSet<u32> = plan.points.iter().map(|point| point.server_connections).collect();
    let connections: Vec<String> = connections.iter().map(u32::to_string).collect();
    let mut settings = BTreeMap::from(
        [("rows", plan.rows.to_string()), ("rounds", rounds), ("server", server)]
            .map(|(name, value)| (name.to_owned(), value)),
    );
    if plan.shards() > 0 {
        settings.insert("tables".to_owned(), plan.tables.to_string());
        settings.insert("shards".to_owned(), plan.shards().to_string());
        let rows =
            plan.datasets.iter().map(|dataset| (format!("rows, {}", dataset.sharding), dataset.rows.to_string()));
        settings.extend(rows);
    }
    if plan.replicas() > 0 {
        settings.insert("replicas".to_owned(), plan.replicas().to_string());
    }
    if options.given.is_none() {
        settings.insert("server.max_connections".to_owned(), connections.join(", "));
    }
    settings
}
