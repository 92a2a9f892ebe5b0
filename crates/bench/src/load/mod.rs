//! Makes loads with real tools, and reads what they print.
//!
//! Must always hold: what a tool printed is kept as it was, in the raw file; a figure that it did not print is a failure
//! with its own words, never a zero that looks measured. Passwords go to tools in files or in the environment, never on a
//! command line, which every user of the machine could read.

mod child;
mod clients;
mod slap;
mod sysbench;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use weir_local::Cancel;

pub(crate) use child::ClientUse;
use child::{Child, Finished};

use crate::driver::Freshness;
use crate::error::BenchError;
use crate::files::write_private;
use crate::options::{DRIVER_ARGUMENTS, DRIVER_STARTED};
use crate::plan::{Dataset, PointPlan, Tool, Variation};
use crate::record::Kind;
use crate::target::{Target, Upstream};

/// How much longer than planned a tool may take before it is taken for hung.
const PATIENCE: Duration = Duration::from_secs(90);
/// The script that makes the tables.
const TABLES: &str = "oltp_read_write";
/// Tables that are filled at the same time.
const PREPARING_THREADS: u32 = 4;
/// How much of what a tool said a failure carries.
const REASON_LENGTH: usize = 300;

/// What a load tool counted.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Counted {
    /// Measured seconds.
    pub(crate) seconds: f64,
    pub(crate) queries: u64,
    /// Events: transactions, connections, or queries where those are one.
    pub(crate) events: u64,
    pub(crate) errors: u64,
    /// Of an event, in µs; 0 where the tool does not tell.
    pub(crate) p50_us: f64,
    pub(crate) p95_us: f64,
    pub(crate) p99_us: f64,
    /// Queries of each second, if they were asked for.
    pub(crate) qps_by_second: Vec<f64>,
    /// What the clients counted who look for stale reads.
    pub(crate) freshness: Option<Freshness>,
    /// Rows that acknowledged transactions have changed, where the tool tells; with those of a run before the measured one.
    pub(crate) changed: Option<u64>,
    /// Events by their type, where there are several.
    pub(crate) kinds: BTreeMap<String, Kind>,
    /// Errors by their number, where the tool tells.
    pub(crate) errors_by_code: BTreeMap<String, u64>,
}

/// How a load ended: what was counted, or why it can't be known.
pub(crate) type Outcome = Result<(Counted, ClientUse), String>;

/// Tables `sbtest1` and so on of a database.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tables {
    /// How many.
    pub(crate) count: u32,
    /// Rows of each.
    pub(crate) rows: u32,
}

/// A load to make.
#[derive(Debug)]
pub(crate) struct Load<'a> {
    /// Which.
    pub(crate) point: &'a PointPlan,
    /// On what.
    pub(crate) target: &'a Target,
    /// Where the tool's output goes.
    pub(crate) raw: &'a Path,
}

/// The load tools of a run.
#[derive(Debug)]
pub(crate) struct Loads {
    upstream: Upstream,
    tables: Tables,
    sysbench: Option<PathBuf>,
    slap: Option<PathBuf>,
    driver: PathBuf,
    /// Holds the option files with the password, and scripts.
    dir: PathBuf,
    cancel: Cancel,
}

impl Loads {
    /// Writes what the tools read into the run's private directory.
    pub(crate) fn new(
        upstream: &Upstream,
        tables: Tables,
        driver: &Path,
        dir: &Path,
        cancel: &Cancel,
    ) -> Result<Self, BenchError> {
        sysbench::write_files(dir, upstream)?;
        write_private(&dir.join(slap::OPTION_FILE), &slap::option_file(upstream))?;
        Ok(Self {
            upstream: upstream.clone(),
            tables,
            sysbench: crate::tools::sysbench(),
            slap: crate::tools::slap(),
            driver: driver.to_path_buf(),
            dir: dir.to_path_buf(),
            cancel: cancel.clone(),
        })
    }

    /// Makes the table with its rows, through `target`.
    pub(crate) fn prepare_table(&self, target: &Target, raw: &Path) -> Result<(), BenchError> {
        self.table(target, raw, TABLES, (&self.upstream.database, self.tables), "prepare", &[])
    }

    /// Makes the tables of `dataset` in its own database, which must be there, through `target`.
    pub(crate) fn prepare_dataset(&self, target: &Target, dataset: &Dataset, raw: &Path) -> Result<(), BenchError> {
        let Variation::Sharding { partitions, .. } = dataset.sharding else { return Ok(()) };
        let database = dataset.sharding.database(&self.upstream.database).unwrap_or_default();
        let tables = Tables { count: dataset.tables, rows: dataset.rows };
        let script = sysbench::script_of_clause(&self.dir, &format!("PARTITION BY HASH(id) PARTITIONS {partitions}"))?;
        let threads = format!("--threads={}", dataset.tables.min(PREPARING_THREADS));
        self.table(target, raw, &script, (&database, tables), "prepare", &[threads])
    }

    /// Drops the table.
    pub(crate) fn drop_table(&self, target: &Target, raw: &Path) -> Result<(), BenchError> {
        self.table(target, raw, TABLES, (&self.upstream.database, self.tables), "cleanup", &[])
    }

    fn table(
        &self,
        target: &Target,
        raw: &Path,
        script: &str,
        (database, tables): (&str, Tables),
        action: &str,
        options: &[String],
    ) -> Result<(), BenchError> {
        let failed = |reason: String| BenchError::Tool { tool: format!("sysbench {action}"), reason };
        let program = self.sysbench.as_ref().ok_or_else(|| failed("it is gone".to_owned()))?;
        let mut arguments = self.sysbench_arguments(target, script, (database, tables));
        arguments.extend(options.iter().cloned());
        arguments.push(action.to_owned());
        let bound = PATIENCE + Duration::from_millis(1) * tables.rows * tables.count;
        let finished = Child { bound, ..Child::new(program, arguments, raw) }.run(&self.cancel, || ())?;
        if finished.success { Ok(()) } else { Err(failed(reason(&finished))) }
    }

    fn sysbench_arguments(&self, target: &Target, script: &str, tables: (&str, Tables)) -> Vec<String> {
        sysbench::connection(&self.dir, script, (&target.host, target.port), &self.upstream.account.name, tables)
    }

    /// The database of a load.
    fn database(&self, load: &Load<'_>) -> String {
        let own = load.point.variation.and_then(|variation| variation.database(&self.upstream.database));
        own.unwrap_or_else(|| self.upstream.database.clone())
    }

    /// Runs a load to its end; `at_start` is called when its measured seconds begin.
    pub(crate) fn run(&self, load: &Load<'_>, at_start: impl FnOnce()) -> Result<Outcome, BenchError> {
        match load.point.workload.tool() {
            Tool::Sysbench(script) => self.run_sysbench(script, load, at_start),
            Tool::Slap => self.run_slap(&self.churn(), load, at_start),
            Tool::SlapText(text) => self.run_slap(&slap::Queries::kept(text), load, at_start),
            Tool::Storm | Tool::Query(_) => self.run_clients("storm", load, at_start),
            Tool::Idle => self.run_clients("idle", load, at_start),
            Tool::Freshness => self.run_clients("freshness", load, at_start),
            Tool::Transaction(_) => self.run_clients("transaction", load, at_start),
            Tool::Tpcc => self.run_clients("tpcc", load, at_start),
        }
    }

    fn run_sysbench(&self, script: &str, load: &Load<'_>, at_start: impl FnOnce()) -> Result<Outcome, BenchError> {
        let Some(program) = &self.sysbench else { return Ok(Err("sysbench is not installed".to_owned())) };
        let is_prepared = load.point.prepared == Some(true);
        let script = sysbench::script(&self.dir, script, is_prepared);
        let database = self.database(load);
        let mut arguments = self.sysbench_arguments(load.target, &script, (&database, self.tables));
        arguments.extend(load.point.workload.script_options().iter().map(|option| (*option).to_owned()));
        if !self.upstream.shards.is_empty() {
            // sysbench's own choice is a hundredth of the rows: many clients would measure their waits for each other.
            arguments.push("--rand-type=uniform".to_owned());
        }
        if load.point.variation.and_then(Variation::trouble).is_some() {
            arguments.push(sysbench::BY_SECOND.to_owned());
        }
        arguments.extend(sysbench::run_options(load.point.clients, load.point.seconds, is_prepared));
        let child = Child { starts_with: Some(sysbench::STARTED), ..load.child(program, arguments) };
        child.run(&self.cancel, at_start).map(|finished| outcome(&finished, sysbench::parse))
    }

    /// mariadb-slap counts queries, not seconds: a short run first tells how many to order.
    fn run_slap(
        &self,
        queries: &slap::Queries,
        load: &Load<'_>,
        at_start: impl FnOnce(),
    ) -> Result<Outcome, BenchError> {
        let Some(program) = &self.slap else { return Ok(Err("mariadb-slap is not installed".to_owned())) };
        let Load { point, target, .. } = load;
        let child = |number: u64| {
            let address = (&*target.host, target.port);
            load.child(program, slap::options(&self.dir, address, &self.upstream, (point.clients, number), queries))
        };
        let trial = child(u64::from(point.clients) * slap::TRIAL_QUERIES).run(&self.cancel, || ())?;
        let trial = match outcome(&trial, slap::parse) {
            Ok((trial, _)) => trial,
            Err(failure) => return Ok(Err(failure)),
        };
        let ordered = slap::queries_for(point.seconds, point.clients, &trial);
        let outcome = child(ordered).run(&self.cancel, at_start).map(|finished| outcome(&finished, slap::parse))?;
        Ok(outcome.map(|(counted, used)| {
            let changed = counted.changed.map(|changed| changed + trial.queries);
            (Counted { changed, ..counted }, used)
        }))
    }

    /// Connections that come and go.
    fn churn(&self) -> slap::Queries {
        slap::Queries::churning(format!("SELECT c FROM sbtest1 WHERE id={}", self.tables.rows / 2 + 1))
    }

    fn run_clients(&self, kind: &str, load: &Load<'_>, at_start: impl FnOnce()) -> Result<Outcome, BenchError> {
        let Load { point, target, .. } = load;
        let mut arguments = DRIVER_ARGUMENTS.map(str::to_owned).to_vec();
        let (user, database) = (&*self.upstream.account.name, &*self.database(load));
        let address = (&*target.host, target.port);
        arguments.extend(clients::options(kind, address, (user, database), point, self.tables.rows));
        let environment = vec![clients::password(&self.upstream)];
        let starts_with = matches!(point.workload.tool(), Tool::Transaction(_) | Tool::Tpcc).then_some(DRIVER_STARTED);
        let child = Child { environment, starts_with, ..load.child(&self.driver, arguments) };
        child.run(&self.cancel, at_start).map(|finished| outcome(&finished, clients::parse))
    }
}

impl Load<'_> {
    fn child<'a>(&'a self, program: &'a Path, arguments: Vec<String>) -> Child<'a> {
        let bound = Duration::from_secs(u64::from(self.point.seconds)) + PATIENCE;
        Child { bound, ..Child::new(program, arguments, self.raw) }
    }
}

/// What a tool that has ended counted.
fn outcome(finished: &Finished, parse: impl FnOnce(&str) -> Result<Counted, String>) -> Outcome {
    if !finished.success {
        return Err(reason(finished));
    }
    parse(&finished.output).map(|counted| (counted, finished.client))
}

/// Why a tool failed, in its own words: what it says about an error, else the end of what it printed.
fn reason(finished: &Finished) -> String {
    if finished.is_late {
        return "it did not end in time, and was stopped".to_owned();
    }
    let lines: Vec<&str> = finished.output.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let says_why = |line: &&&str| line.contains("error ") || line.contains("ERROR") || line.contains("Error");
    let line = lines.iter().find(says_why).or(lines.last()).copied().unwrap_or("it printed nothing");
    let line = line.strip_prefix("FATAL: ").unwrap_or(line);
    line.chars().take(REASON_LENGTH).collect()
}

#[cfg(test)]
mod tests;
