//! The figures that are read off a single run.
//!
//! Must always hold: what a run did not measure is `None`, never 0, so that it can't enter a median.

use super::format::Unit;
use crate::record::{Run, Usage};

/// The database server's key in [`Run::processes`]; figures of it are of the server, its replicas and the shards together.
pub(crate) const SERVER: &str = "server";
/// How the names of its replicas' processes and counters begin.
pub(crate) const REPLICA: &str = "replica";
/// The same of the shards.
pub(crate) const SHARD: &str = "shard";
/// The proxy's.
pub(crate) const PROXY: &str = "proxy";
/// The load tool's.
pub(crate) const CLIENT: &str = "client";

/// A figure of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Metric {
    /// Queries a second.
    Qps,
    /// Transactions a second.
    Tps,
    /// Median latency.
    P50,
    /// 95th percentile of latency.
    P95,
    /// 99th percentile of latency.
    P99,
    /// What was served: queries, connections or clients.
    Served,
    /// Errors that clients saw.
    Errors,
    /// CPU per query of one process.
    Cpu(&'static str),
    /// CPU per query of the server and, where there is one, the proxy.
    CpuTogether,
    /// The most resident memory of one process.
    PeakMemory(&'static str),
}

impl Metric {
    /// The figure, in the unit of [`Metric::unit`]'s measurement.
    pub(crate) fn of(self, run: &Run) -> Option<f64> {
        match self {
            Self::Qps => Some(run.qps),
            Self::Tps => (run.tps > 0.0).then_some(run.tps),
            Self::P50 => (run.p50_us > 0.0).then_some(run.p50_us),
            Self::P95 => (run.p95_us > 0.0).then_some(run.p95_us),
            Self::P99 => (run.p99_us > 0.0).then_some(run.p99_us),
            Self::Served => Some(run.queries as f64),
            Self::Errors => Some(run.errors as f64),
            Self::Cpu(process) => per_query(run, process),
            Self::CpuTogether => {
                let server = per_query(run, SERVER)?;
                Some(server + per_query(run, PROXY).unwrap_or(0.0))
            }
            Self::PeakMemory(process) => {
                sum(run, process, |usage| usage.peak_rss_bytes as f64).filter(|bytes| *bytes > 0.0)
            }
        }
    }

    /// How it is written.
    pub(crate) fn unit(self) -> Unit {
        match self {
            Self::Qps | Self::Tps | Self::Served | Self::Errors => Unit::Count,
            Self::P50 | Self::P95 | Self::P99 => Unit::Latency,
            Self::Cpu(_) | Self::CpuTogether => Unit::Micros,
            Self::PeakMemory(_) => Unit::Bytes,
        }
    }
}

fn per_query(run: &Run, process: &str) -> Option<f64> {
    let cpu_seconds = sum(run, process, |usage| usage.cpu_seconds)?;
    (run.queries > 0).then(|| cpu_seconds * 1e6 / run.queries as f64)
}

/// What a process used; for the server, with its replicas and the shards. `None` if it was not measured.
fn sum(run: &Run, process: &str, used: impl Fn(&Usage) -> f64) -> Option<f64> {
    let own = used(run.processes.get(process)?);
    let is_server = |name: &str| name.starts_with(REPLICA) || name.starts_with(SHARD);
    let others = run.processes.iter().filter(|(name, _)| process == SERVER && is_server(name));
    Some(own + others.map(|(_, usage)| used(usage)).sum::<f64>())
}

/// A status counter's difference per query.
pub(crate) fn counter_per_query(run: &Run, counter: &str) -> Option<f64> {
    let difference = *run.counters.get(counter)?;
    (run.queries > 0).then(|| difference as f64 / run.queries as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(queries: u64, processes: &[(&str, f64)]) -> Run {
        let usage = |cpu_seconds| Usage { cpu_seconds, ..Usage::default() };
        Run {
            queries,
            processes: processes.iter().map(|&(name, seconds)| (name.to_owned(), usage(seconds))).collect(),
            counters: [("Com_commit".to_owned(), 50)].into(),
            ..Run::default()
        }
    }

    #[test]
    fn cpu_is_microseconds_per_query() {
        let run = run(1_000_000, &[(SERVER, 20.0), (PROXY, 10.0)]);
        assert_eq!(Metric::Cpu(SERVER).of(&run), Some(20.0));
        assert_eq!(Metric::CpuTogether.of(&run), Some(30.0));
        assert_eq!(Metric::Cpu(CLIENT).of(&run), None);
    }

    #[test]
    fn without_a_proxy_together_is_the_server_alone() {
        assert_eq!(Metric::CpuTogether.of(&run(1_000_000, &[(SERVER, 20.0)])), Some(20.0));
        assert_eq!(Metric::CpuTogether.of(&run(1_000_000, &[(PROXY, 20.0)])), None);
    }

    #[test]
    fn the_replicas_cpu_is_the_servers() {
        let run = run(1_000_000, &[(SERVER, 20.0), ("replica1", 3.0), ("replica2", 4.0), (PROXY, 10.0)]);
        assert_eq!(Metric::Cpu(SERVER).of(&run), Some(27.0));
        assert_eq!(Metric::CpuTogether.of(&run), Some(37.0));
        assert_eq!(Metric::Cpu(PROXY).of(&run), Some(10.0));
    }

    #[test]
    fn a_run_without_queries_has_no_figure_per_query() {
        let run = run(0, &[(SERVER, 20.0)]);
        assert_eq!(Metric::Cpu(SERVER).of(&run), None);
        assert_eq!(counter_per_query(&run, "Com_commit"), None);
    }

    #[test]
    fn what_was_not_measured_is_missing_rather_than_zero() {
        let run = run(100, &[(PROXY, 1.0)]);
        assert_eq!(Metric::P99.of(&run), None);
        assert_eq!(Metric::PeakMemory(PROXY).of(&run), None);
        assert_eq!(counter_per_query(&run, "Com_commit"), Some(0.5));
        assert_eq!(counter_per_query(&run, "Com_insert"), None);
    }
}
