//! The form of RadonDB's published test: transactions per second by shards and partitions, what each statement costs the servers and
//! Weir, and what a scatter and a merge cost Weir.

use super::super::document::Section;
use super::super::format::{self, Unit};
use super::super::group::{self, Against, Group, HAPROXY, Position, WEIR, groups};
use super::super::metric::{Metric, PROXY, SERVER, SHARD, counter_per_query};
use super::super::stats::{Figure, over_rounds};
use super::super::table::{Cell, Table};
use super::sweep::each_point;
use super::{settings_as_targets, tables_section};
use crate::record::{Point, Record, Run, Target};

/// The bench that is reported in this form.
pub(crate) const NAME: &str = "radon";
/// The workload of a few rows from each shard.
const SCATTER: &str = "scatter";
/// How the names of the workloads begin that read all rows in order.
const MERGE: &str = "merge";
/// Statements, as servers count them.
const STATEMENTS: &str = "Questions";
/// What the issue of sharding asks for.
const MOST_SCATTER_MICROS: f64 = 25.0;
const LEAST_MERGED_ROWS: f64 = 500_000.0;
const MOST_MERGE_BYTES: f64 = 64.0 * 1024.0 * 1024.0;

/// Shards and partitions of a point's setting: `shards=2, partitions=64`.
fn sharding(variant: &str) -> Option<(u32, u32)> {
    let (shards, partitions) = variant.strip_prefix("shards=")?.split_once(", partitions=")?;
    Some((shards.parse().ok()?, partitions.parse().ok()?))
}

fn is_cost(point: &Point) -> bool {
    point.workload == SCATTER || point.workload.starts_with(MERGE)
}

/// The record with a target for each number of shards and partitions, for the loads that are compared with one server.
pub(crate) fn by_sharding(record: &Record) -> Record {
    let weir = group::label(record, WEIR).to_owned();
    settings_as_targets(record, record.points.iter().filter(|point| !is_cost(point)), |variant| {
        let (shards, partitions) = sharding(variant)?;
        Some((format!("{shards}x{partitions}"), format!("{weir}, {shards} shards, {partitions} partitions")))
    })
}

/// The report's own tables, before the sections that all benches have.
pub(crate) fn sections(record: &Record) -> Vec<Section> {
    let loads = by_sharding(record);
    let loads = groups(&loads);
    let costs = groups(record);
    let costs = || costs.iter().filter(|group| group.fixed_clients.is_some());
    [
        tables_section("Transactions per second", ABOUT_TPS, loads.iter().map(throughput).collect()),
        tables_section("Compared with one server", ABOUT_RATIO, loads.iter().map(ratios).collect()),
        tables_section("What a statement costs", ABOUT_COST, loads.iter().map(cost).collect()),
        tables_section(
            "A scatter",
            ABOUT_SCATTER,
            costs().filter(|group| group.workload == SCATTER).map(scatter).collect(),
        ),
        tables_section(
            "A merge",
            ABOUT_MERGE,
            costs().filter(|group| group.workload.starts_with(MERGE)).map(merge).collect(),
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}

const ABOUT_TPS: &str = "Ten tables. RadonDB's published figures, on machines of its own: 5,533 at 8 partitions, 5,564 at 32 and 5,581 at 64 for \
    points; 2,127, 972 and 631 for the mix of points, simple, sum, order and distinct ranges and writes. What is to be seen here is that the \
    number of partitions makes no difference: a table is one physical table on each shard. All servers, Weir and the load tool share \
    this machine, so that more shards can't give more transactions here.";
const ABOUT_RATIO: &str = "Queries per second against HAProxy in front of one server with the same rows, round by round. Aims, at 16 clients and 2 \
    shards: 0.9 for points, 0.6 for the mix.";
const ABOUT_COST: &str = "CPU in microseconds per statement of a client; the servers' is that of all of them together. Server statements: what all \
    servers counted (Questions) per statement of a client, Weir's own small questions included. A range is asked of each shard once, never of \
    each partition.";
const ABOUT_SCATTER: &str = "Eight rows by a range of keys with ORDER BY, the same text again and again: each shard is asked. Weir's CPU, its clients' \
    and servers' input and output included, per shard asked. The aim is 25.";
const ABOUT_MERGE: &str = "All rows of a table in the order of a number (merge) or of a text by its collation (merge_text), read by one client from a Weir \
    that was just started. Rows per second of Weir's CPU; the aims are 500,000 and 64 MiB.";

/// TPS: a row for each number of clients, a column for each target.
fn throughput(group: &Group<'_>) -> Table {
    by_target(group, "transactions per second", |at, target| {
        Cell::figure(group.figure(at, target, Metric::Tps), Unit::Count)
    })
}

/// QPS against HAProxy's.
fn ratios(group: &Group<'_>) -> Table {
    let against = Against { of: Metric::Qps, target: HAPROXY, by: Metric::Qps };
    by_target(group, "queries per second, against HAProxy", |at, target| {
        Cell::ratio(group.ratio(at, target, against), true)
    })
}

fn by_target(group: &Group<'_>, what: &str, cell: impl Fn(Position<'_>, &str) -> Cell) -> Table {
    let targets = group.targets();
    let names = targets.iter().map(|target| target.label.clone());
    let mut table = Table::new(format!("{}: {what}", group.name()), &[group.axis()], names);
    for at in group.positions() {
        let cell = |target: &&Target| match group.missing(at, &target.key) {
            Some(reason) => Cell::alarm(reason),
            None => cell(at, &target.key),
        };
        table.push(at.value(), Ok(targets.iter().map(cell).collect()));
    }
    table
}

/// Latency, CPU and statements: a row for each number of clients and target.
fn cost(group: &Group<'_>) -> Table {
    let metrics = [
        ("QPS", Metric::Qps),
        ("p50 ms", Metric::P50),
        ("p95 ms", Metric::P95),
        ("proxy CPU µs", Metric::Cpu(PROXY)),
        ("servers' CPU µs", Metric::Cpu(SERVER)),
    ];
    let names =
        metrics.iter().map(|(name, _)| (*name).to_owned()).chain(["server statements", "errors"].map(str::to_owned));
    let mut table = Table::new(group.name(), &[group.axis(), "through"], names);
    each_point(group, &mut table, |at, target| {
        let mut cells: Vec<Cell> =
            metrics.iter().map(|(_, metric)| Cell::figure(group.figure(at, target, *metric), metric.unit())).collect();
        let runs = group.runs(at, target);
        cells.push(Cell::figure(over_rounds(runs, |run| statements(run, target)), Unit::Ratio));
        cells.push(Cell::errors(group.figure(at, target, Metric::Errors)));
        cells
    });
    table
}

/// Weir's CPU per shard asked.
fn scatter(group: &Group<'_>) -> Table {
    let columns = ["QPS", "p50 ms", "Weir's CPU µs per query", "per shard asked", "server statements"];
    let mut table = Table::new(named(group), &["tables"], columns.map(str::to_owned));
    for (at, runs, shards) in measured(group) {
        let cpu = group.figure(at, WEIR, Metric::Cpu(PROXY));
        let per_shard = over_rounds(runs, |run| Some(Metric::Cpu(PROXY).of(run)? / shards));
        table.push(
            at.name(),
            Ok(vec![
                Cell::figure(group.figure(at, WEIR, Metric::Qps), Unit::Count),
                Cell::figure(group.figure(at, WEIR, Metric::P50), Unit::Latency),
                Cell::figure(cpu, Unit::Micros),
                aimed(per_shard, Unit::Micros, |micros| micros <= MOST_SCATTER_MICROS),
                Cell::figure(over_rounds(runs, |run| statements(run, WEIR)), Unit::Ratio),
            ]),
        );
    }
    table
}

/// Rows per second of Weir's CPU, and its memory.
fn merge(group: &Group<'_>) -> Table {
    let columns = ["rows", "rows per second", "rows per CPU second of Weir", "peak MB of Weir"];
    let mut table = Table::new(named(group), &["tables"], columns.map(str::to_owned));
    for (at, runs, _) in measured(group) {
        let rows =
            at.variant.and_then(|variant| group.record().settings.get(&format!("rows, {variant}"))?.parse().ok());
        let rows: Option<f64> = rows.filter(|rows| *rows > 0.0);
        let per_cpu = |run: &Run| Some(rows? * run.queries as f64 / run.processes.get(PROXY)?.cpu_seconds);
        let peak = group.figure(at, WEIR, Metric::PeakMemory(PROXY));
        table.push(
            at.name(),
            Ok(vec![
                Cell::figure(Figure::of(rows), Unit::Count),
                Cell::figure(over_rounds(runs, |run| Some(rows? * run.qps)), Unit::Count),
                aimed(over_rounds(runs, per_cpu), Unit::Count, |rows| rows >= LEAST_MERGED_ROWS),
                aimed(peak, Unit::Bytes, |bytes| bytes <= MOST_MERGE_BYTES),
            ]),
        );
    }
    table
}

fn named(group: &Group<'_>) -> String {
    format!("{}, {}", group.workload, format::clients(group.fixed_clients.unwrap_or_default()))
}

/// The positions that were measured, with their runs and the number of shards.
fn measured<'a>(group: &Group<'a>) -> Vec<(Position<'a>, &'a [Run], f64)> {
    let all = group.positions().into_iter().filter(|at| group.missing(*at, WEIR).is_none());
    all.filter_map(|at| Some((at, group.runs(at, WEIR), f64::from(at.variant.and_then(sharding)?.0)))).collect()
}

/// A figure that misses its aim stands out.
fn aimed(figure: Option<Figure>, unit: Unit, holds: impl Fn(f64) -> bool) -> Cell {
    match figure {
        Some(figure) if !holds(figure.median) => {
            Cell { tone: super::super::table::Tone::Worse, ..Cell::figure(Some(figure), unit) }
        }
        figure => Cell::figure(figure, unit),
    }
}

/// Statements that the servers behind a target were sent, per statement of a client.
pub(super) fn statements(run: &Run, target: &str) -> Option<f64> {
    if !target.starts_with(WEIR) {
        return counter_per_query(run, STATEMENTS);
    }
    let of_shards = (1..).map_while(|number| counter_per_query(run, &format!("{SHARD}{number}.{STATEMENTS}")));
    let all: Vec<f64> = of_shards.collect();
    (!all.is_empty()).then(|| all.iter().sum())
}
