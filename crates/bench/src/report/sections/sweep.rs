//! One workload over clients, or over a setting: throughput, latency, CPU per query, ratios, and all figures.

use super::super::chart::{Chart, LinesAbout, SegmentAbout, Shade, Size, bars, metric_lines, ratio_lines, share_range};
use super::super::document::{Block, Section};
use super::super::format::Unit;
use super::super::group::{Against, DIRECT, Group, HAPROXY, Position, label};
use super::super::metric::{CLIENT, Metric, PROXY, SERVER, counter_per_query};
use super::super::stats::over_rounds;
use super::super::table::{Cell, Table};

/// CPU per query, stacked by process.
pub(crate) const CPU: [SegmentAbout; 3] = [
    SegmentAbout { label: "server", shade: Shade::Server, metric: Metric::Cpu(SERVER) },
    SegmentAbout { label: "proxy", shade: Shade::Target, metric: Metric::Cpu(PROXY) },
    SegmentAbout { label: "client", shade: Shade::Client, metric: Metric::Cpu(CLIENT) },
];

/// The section of a group, as a part of its workload's.
pub(crate) fn section(group: &Group<'_>) -> Section {
    let mut section = Section::nested(title(group));
    section.charts(Vec::from_iter([throughput(group), cpu(group)].into_iter().flatten()));
    section.charts(latency(group));
    section.charts(ratios(group));
    section.missing(group.shortfalls());
    section.blocks.push(Block::Table(medians(group)));
    section.blocks.extend(counters(group).map(Block::Table));
    section
}

fn title(group: &Group<'_>) -> String {
    let name = group.name();
    let rest = name.strip_prefix(group.workload).unwrap_or(&name).trim_start_matches(", ").to_owned();
    let over = format!("over {}", group.axis());
    if rest.is_empty() {
        over
    } else if group.fixed_clients.is_some() {
        format!("{rest}, {over}")
    } else {
        rest
    }
}

/// Queries a second.
fn throughput(group: &Group<'_>) -> Option<Chart> {
    let about = LinesAbout {
        title: "Throughput",
        subtitle: "queries per second, more is better",
        unit: Unit::Count,
        y_log: false,
        ratio: None,
        size: Size::Large,
    };
    metric_lines(group, &about, Metric::Qps)
}

fn cpu(group: &Group<'_>) -> Option<Chart> {
    bars(group, "CPU per query", "microseconds, less is better", &CPU)
}

fn latency(group: &Group<'_>) -> Vec<Chart> {
    let percentiles = [("Latency p50", Metric::P50), ("Latency p95", Metric::P95), ("Latency p99", Metric::P99)];
    let chart = |(title, metric)| {
        let about = LinesAbout {
            title,
            subtitle: "milliseconds, less is better",
            unit: Unit::Latency,
            y_log: true,
            ratio: None,
            size: Size::Small,
        };
        metric_lines(group, &about, metric)
    };
    let mut charts: Vec<Chart> = percentiles.into_iter().filter_map(chart).collect();
    share_range(&mut charts);
    charts
}

fn ratios(group: &Group<'_>) -> Vec<Chart> {
    let direct = label(group.record(), DIRECT);
    let haproxy = label(group.record(), HAPROXY);
    let against = |of, target| Against { of, target, by: of };
    let both = [DIRECT, HAPROXY];
    let kinds = [
        (format!("QPS against {direct}"), true, against(Metric::Qps, DIRECT), &both[..1]),
        (format!("QPS against {haproxy}"), true, against(Metric::Qps, HAPROXY), &both[..]),
        (format!("Proxy CPU against {haproxy}"), false, against(Metric::Cpu(PROXY), HAPROXY), &both[..]),
        (format!("Server + proxy CPU against {direct}"), false, against(Metric::CpuTogether, DIRECT), &both[..1]),
    ];
    let chart = |(title, higher, against, skip): (String, bool, Against, &[&str])| {
        let about = LinesAbout {
            title: &title,
            subtitle: if higher { "ratio, above 1 is better" } else { "ratio, below 1 is better" },
            unit: Unit::Ratio,
            y_log: false,
            ratio: Some(higher),
            size: Size::Small,
        };
        ratio_lines(group, &about, against, skip)
    };
    kinds.into_iter().filter_map(chart).collect()
}

/// All medians, with spreads.
fn medians(group: &Group<'_>) -> Table {
    let columns = [
        ("QPS", Metric::Qps),
        ("TPS", Metric::Tps),
        ("p50 ms", Metric::P50),
        ("p95 ms", Metric::P95),
        ("p99 ms", Metric::P99),
        ("server µs", Metric::Cpu(SERVER)),
        ("proxy µs", Metric::Cpu(PROXY)),
        ("client µs", Metric::Cpu(CLIENT)),
        ("server + proxy µs", Metric::CpuTogether),
        ("server MB", Metric::PeakMemory(SERVER)),
        ("proxy MB", Metric::PeakMemory(PROXY)),
        ("client MB", Metric::PeakMemory(CLIENT)),
        ("errors", Metric::Errors),
    ];
    let caption = format!("All figures: {}. µs are CPU per query, MB the most resident memory", group.name());
    figures(group, caption, columns.map(|(name, metric)| (name.to_owned(), metric)).into()).folded()
}

/// A row for each position and target, a column for each of these metrics that was measured at all.
pub(crate) fn figures(group: &Group<'_>, caption: String, columns: Vec<(String, Metric)>) -> Table {
    let (names, metrics): (Vec<_>, Vec<_>) =
        columns.into_iter().filter(|(_, metric)| is_measured(group, *metric)).unzip();
    let mut table = Table::new(caption, &[group.axis(), "target"], names);
    each_point(group, &mut table, |at, target| {
        let cell = |metric: &Metric| match (*metric, group.figure(at, target, *metric)) {
            (Metric::Errors, figure) => Cell::errors(figure),
            (metric, figure) => Cell::figure(figure, metric.unit()),
        };
        metrics.iter().map(cell).collect()
    });
    table
}

fn is_measured(group: &Group<'_>, metric: Metric) -> bool {
    let positions = group.positions();
    let targets = group.targets();
    positions.iter().any(|at| targets.iter().any(|target| group.figure(*at, &target.key, metric).is_some()))
}

/// Differences of the database's status counters per query; `None` if none changed.
pub(crate) fn counters(group: &Group<'_>) -> Option<Table> {
    let counters = group.counters();
    if counters.is_empty() {
        return None;
    }
    let caption = format!("The database's status counters per query: {}", group.name());
    let names = counters.iter().map(|counter| (*counter).to_owned());
    let mut table = Table::new(caption, &[group.axis(), "target"], names).folded();
    each_point(group, &mut table, |at, target| {
        let runs = group.point(at, target).map(|point| point.runs.as_slice()).unwrap_or_default();
        let figure = |counter: &&str| over_rounds(runs, |run| counter_per_query(run, counter));
        counters.iter().map(|counter| Cell::figure(figure(counter), Unit::Count)).collect()
    });
    Some(table)
}

/// A row for each position and target: its cells, or why there are none.
pub(crate) fn each_point<'a>(group: &Group<'a>, table: &mut Table, cells: impl Fn(Position<'a>, &str) -> Vec<Cell>) {
    for at in group.positions() {
        for target in group.targets() {
            let row = match group.missing(at, &target.key) {
                Some(reason) => Err(reason),
                None => Ok(cells(at, &target.key)),
            };
            table.push_grouped(at.name(), [at.value(), target.label.clone()], row);
        }
    }
}
