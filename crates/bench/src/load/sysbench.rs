//! sysbench: its options, its output, and the scripts that it lacks.

use std::path::Path;

use super::{Counted, Tables};
use crate::error::BenchError;
use crate::files::write_private;
use crate::target::Upstream;

/// What it prints when all clients are connected and the measured seconds begin.
pub(super) const STARTED: &str = "Threads started!";
/// Has it print the queries of each second.
pub(super) const BY_SECOND: &str = "--report-interval=1";
/// The file with the password.
const OPTION_FILE: &str = "sysbench.cnf";
/// Scripts that are written into the run's private directory: workload, whether it is for prepared statements only, file,
/// text.
const SCRIPTS: [(&str, bool, &str, &str); 2] = [
    ("read_write_4to1", false, "read_write_4to1.lua", include_str!("read_write_4to1.lua")),
    ("oltp_insert", true, "insert_prepared.lua", include_str!("insert_prepared.lua")),
];

/// Writes the option file and the scripts.
pub(super) fn write_files(dir: &Path, upstream: &Upstream) -> Result<(), BenchError> {
    write_private(&dir.join(OPTION_FILE), &format!("mysql-password={}\n", upstream.account.password))?;
    SCRIPTS.iter().try_for_each(|(_, _, file, text)| write_private(&dir.join(file), text))
}

/// What to run for a workload: a script of ours, or one of sysbench's own.
pub(super) fn script(dir: &Path, workload: &str, is_prepared: bool) -> String {
    let ours = SCRIPTS.iter().find(|(name, needs_prepared, ..)| *name == workload && (is_prepared || !needs_prepared));
    ours.map_or_else(|| workload.to_owned(), |(_, _, file, _)| dir.join(file).display().to_string())
}

/// A script, written into `dir`, that makes sysbench's tables with `clause` behind their definitions: sysbench has no option for it, but
/// its own library looks at a variable.
pub(super) fn script_of_clause(dir: &Path, clause: &str) -> Result<String, BenchError> {
    let path = dir.join("tables_with_clause.lua");
    write_private(&path, &format!("require(\"oltp_common\")\nmysql_table_options = \"{clause}\"\n"))?;
    Ok(path.display().to_string())
}

/// Script, address and tables.
pub(super) fn connection(
    dir: &Path,
    script: &str,
    (host, port): (&str, u16),
    user: &str,
    (database, tables): (&str, Tables),
) -> Vec<String> {
    let option_file = dir.join(OPTION_FILE);
    vec![
        script.to_owned(),
        format!("--config-file={}", option_file.display()),
        "--db-driver=mysql".to_owned(),
        format!("--mysql-host={host}"),
        format!("--mysql-port={port}"),
        format!("--mysql-user={user}"),
        format!("--mysql-db={database}"),
        format!("--tables={}", tables.count),
        format!("--table-size={}", tables.rows),
    ]
}

/// A run.
pub(super) fn run_options(clients: u32, seconds: u32, is_prepared: bool) -> Vec<String> {
    vec![
        format!("--threads={clients}"),
        format!("--time={seconds}"),
        format!("--db-ps-mode={}", if is_prepared { "auto" } else { "disable" }),
        // An error ends one transaction, not the run; it is counted.
        "--mysql-ignore-errors=all".to_owned(),
        "--histogram".to_owned(),
        "run".to_owned(),
    ]
}

/// Reads what a run with [`run_options`] prints.
pub(super) fn parse(output: &str) -> Result<Counted, String> {
    let value = |name: &str| -> Result<&str, String> {
        let found = output.lines().find_map(|line| line.trim().strip_prefix(name));
        found.and_then(|rest| rest.split_whitespace().next()).ok_or_else(|| format!("sysbench did not print {name:?}"))
    };
    let number = |name: &str| value(name)?.parse::<u64>().map_err(|error| format!("sysbench's {name:?}: {error}"));
    let seconds = value("total time:")?.trim_end_matches('s').parse::<f64>();
    let histogram = histogram(output);
    Ok(Counted {
        seconds: seconds.map_err(|error| format!("sysbench's \"total time:\": {error}"))?,
        queries: number("queries:")?,
        events: number("total number of events:")?,
        errors: number("ignored errors:")? + number("reconnects:")?,
        p50_us: percentile(&histogram, 0.50),
        p95_us: percentile(&histogram, 0.95),
        p99_us: percentile(&histogram, 0.99),
        qps_by_second: by_second(output),
        ..Counted::default()
    })
}

/// The lines `[ 3s ] thds: 256 tps: 15041.97 qps: 15041.97 (r/w/o: …`.
fn by_second(output: &str) -> Vec<f64> {
    let lines = output.lines().filter(|line| line.starts_with("[ "));
    let read = |line: &str| line.split_once(" qps: ")?.1.split_whitespace().next()?.parse().ok();
    lines.filter_map(read).collect()
}

/// The histogram's lines `   0.014 |**     4`: upper bound in ms, and count.
fn histogram(output: &str) -> Vec<(f64, u64)> {
    let lines = output.lines().skip_while(|line| !line.starts_with("Latency histogram")).skip(2);
    let read = |line: &str| {
        let (value, rest) = line.split_once('|')?;
        Some((value.trim().parse().ok()?, rest.split_whitespace().next_back()?.parse().ok()?))
    };
    lines.map_while(read).collect()
}

/// The value below or at which this share of the events is, in µs; 0 when there were none.
fn percentile(histogram: &[(f64, u64)], share: f64) -> f64 {
    let total: u64 = histogram.iter().map(|(_, count)| count).sum();
    let wanted = (total as f64 * share).ceil().max(1.0) as u64;
    let mut passed = 0;
    let bucket = histogram.iter().find(|(_, count)| {
        passed += count;
        passed >= wanted
    });
    bucket.map_or(0.0, |(milliseconds, _)| milliseconds * 1_000.0)
}
