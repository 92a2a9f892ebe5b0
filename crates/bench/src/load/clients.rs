//! The bench's own load tool, [`crate::driver`], as seen from outside: its options and its report.

use super::Counted;
use crate::driver::DriverReport;
use crate::options::DRIVER_PASSWORD;
use crate::plan::{PointPlan, Tool};
use crate::target::Upstream;

pub(super) fn options(
    kind: &str,
    (host, port): (&str, u16),
    (user, database): (&str, &str),
    point: &PointPlan,
    rows: u32,
) -> Vec<String> {
    let mut options = vec![
        kind.to_owned(),
        format!("--host={host}"),
        format!("--port={port}"),
        format!("--user={user}"),
        format!("--database={database}"),
        format!("--clients={}", point.clients),
        format!("--seconds={}", point.seconds),
    ];
    match point.workload.tool() {
        Tool::Freshness => options.extend((point.prepared == Some(true)).then(|| "--prepared".to_owned())),
        Tool::Tpcc => {
            options.push(format!("--items={rows}"));
            options.extend((point.prepared == Some(true)).then(|| "--prepared".to_owned()));
        }
        Tool::Query(query) | Tool::Transaction(query) => options.push(format!("--query={query}")),
        _ => options.push(format!("--query=SELECT c FROM sbtest1 WHERE id={}", rows / 2 + 1)),
    }
    options
}

pub(super) fn password(upstream: &Upstream) -> (String, String) {
    (DRIVER_PASSWORD.to_owned(), upstream.account.password.clone())
}

/// Reads the last line that it prints.
pub(super) fn parse(output: &str) -> Result<Counted, String> {
    let line = output.lines().last().unwrap_or_default();
    let report: DriverReport =
        serde_json::from_str(line).map_err(|error| format!("the report of the clients can't be read: {error}"))?;
    Ok(Counted {
        seconds: report.seconds,
        queries: report.queries,
        events: report.events,
        errors: report.errors,
        p50_us: report.p50_us,
        p95_us: report.p95_us,
        p99_us: report.p99_us,
        freshness: report.freshness,
        changed: Some(report.changed),
        kinds: report.kinds,
        errors_by_code: report.errors_by_code,
        ..Counted::default()
    })
}
