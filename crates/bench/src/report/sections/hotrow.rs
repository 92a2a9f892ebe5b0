//! The form of the published flash-sale test: transactions per second of all clients on one row, beside direct connections, in
//! each of its modes; and what the same Weir gets where all rows are cold.

use super::super::document::Section;
use super::super::format::{self, Unit};
use super::super::group::{Against, DIRECT, Group, Position, WEIR, groups};
use super::super::metric::{Metric, PROXY, SERVER};
use super::super::table::{Cell, Table};
use super::sweep::each_point;
use super::tables_section;
use crate::disk::P50_SETTING;
use crate::plan::Workload;
use crate::record::{Point, Record, Target};

/// The bench that is reported in this form.
pub(crate) const NAME: &str = "hotrow";
/// How a point's setting begins: the server's mode.
const MODE: &str = "mode=";
/// The target that is as Weir without hot rows.
const OFF: &str = "weir-off";

/// The record with a workload for each mode, which the sections that all benches have then show over clients. Where only Weir
/// has a workload, what it is compared with stands beside it.
pub(crate) fn by_mode(record: &Record) -> Record {
    let mut points = Vec::new();
    for point in &record.points {
        let workload = named(&point.workload, point);
        points.push(Point { workload, variant: None, ..point.clone() });
        if point.target == WEIR {
            points.extend(compared(record, point));
        }
    }
    Record { points, ..record.clone() }
}

fn named(workload: &str, point: &Point) -> String {
    let mode = point.variant.as_deref().and_then(|variant| variant.strip_prefix(MODE));
    mode.map_or_else(|| workload.to_owned(), |mode| format!("{workload}, {mode}"))
}

/// What direct connections did with the workload that `point`'s own is compared with.
fn compared(record: &Record, point: &Point) -> Option<Point> {
    let own: Workload = point.workload.parse().ok()?;
    let other = own.compared_with();
    let is_compared = |candidate: &&Point| {
        (&*candidate.workload, &*candidate.target) == (other.key(), DIRECT)
            && (&candidate.variant, candidate.clients) == (&point.variant, point.clients)
    };
    let found = record.points.iter().filter(|_| other != own).find(is_compared)?;
    Some(Point { workload: named(own.key(), point), variant: None, ..found.clone() })
}

/// The report's own tables, before the sections that all benches have.
pub(crate) fn sections(record: &Record) -> Vec<Section> {
    let shown = by_mode(record);
    let groups = groups(&shown);
    let is_cold = |group: &&Group<'_>| group.workload.starts_with(Workload::UpdateNonIndex.key());
    let hot: Vec<_> = groups.iter().filter(|group| !is_cold(group)).collect();
    let cold = groups.iter().filter(is_cold).map(cold).collect();
    let sync = record.settings.get(P50_SETTING).and_then(|text| text.parse().ok());
    let sync =
        sync.map_or_else(|| "an unknown time".to_owned(), |micros: f64| format!("{} ms", Unit::Latency.write(micros)));
    let about = format!("{ABOUT} A write of 4 KiB with fdatasync takes {sync} on this disk (median of 200).");
    [
        tables_section("Transactions on one row", &about, hot.iter().map(|group| against_direct(group)).collect()),
        tables_section("What a transaction takes", ABOUT_COST, hot.iter().map(|group| cost(group)).collect()),
        tables_section("Rows that are cold", ABOUT_COLD, cold),
    ]
    .into_iter()
    .flatten()
    .collect()
}

const ABOUT: &str = "All clients take from the same row: “update seckill set num=num-1 where id=1 and num>1”. seckill: with begin and \
    commit in one text, as published (seckill_slap: by the published tool); seckill_autocommit: the update alone; seckill_key: on a table \
    with a primary key; seckill_packets: begin, update and commit one after another; seckill_hints: the same with hints that commit behind the \
    update, against direct connections' seckill_packets. durable: innodb_flush_log_at_trx_commit=1, sync_binlog=1, deadlocks looked for; \
    optimised: 2, 0, not looked for. After each run the row was short of exactly what clients were told to have taken, or the run does not count. \
    Transactions per second, and their ratio and that of the 99th percentile of latency to direct connections'.";
const ABOUT_COST: &str = "Latency of a transaction, and CPU in microseconds per transaction. Memory is the most that was resident: the proxy was \
    started anew for each run.";
const ABOUT_COLD: &str = "Each client changes rows that are chosen uniformly: no row is hot. Ratios are those of Weir as it is by default to Weir \
    with hot rows switched off, round by round. The aim is 0.98 of its queries per second.";

/// TPS: a row for each number of clients; of each target the rate, and what it is of the direct one's.
fn against_direct(group: &Group<'_>) -> Table {
    let targets = group.targets();
    let has_direct = targets.iter().any(|target| target.key == DIRECT);
    let others = |target: &&&Target| has_direct && target.key != DIRECT;
    let mut names: Vec<String> = targets.iter().map(|target| target.label.clone()).collect();
    names.extend(targets.iter().filter(others).map(|target| format!("{} / direct", target.label)));
    names.extend(targets.iter().filter(others).map(|target| format!("p99: {} / direct", target.label)));
    let mut table = Table::new(format!("{}: transactions per second", group.name()), &[group.axis()], names);
    for at in group.positions() {
        let rate = |target: &&Target| match group.missing(at, &target.key) {
            Some(reason) => Cell::alarm(reason),
            None => Cell::figure(group.figure(at, &target.key, Metric::Tps), Unit::Count),
        };
        let mut cells: Vec<Cell> = targets.iter().map(rate).collect();
        cells.extend(targets.iter().filter(others).map(|target| ratio(group, at, &target.key, Metric::Tps, true)));
        cells.extend(targets.iter().filter(others).map(|target| ratio(group, at, &target.key, Metric::P99, false)));
        table.push(at.value(), Ok(cells));
    }
    table
}

fn ratio(group: &Group<'_>, at: Position<'_>, target: &str, of: Metric, higher_is_better: bool) -> Cell {
    Cell::ratio(group.ratio(at, target, Against { of, target: DIRECT, by: of }), higher_is_better)
}

fn cost(group: &Group<'_>) -> Table {
    let metrics = [
        ("p50 ms", Metric::P50),
        ("p99 ms", Metric::P99),
        ("server µs", Metric::Cpu(SERVER)),
        ("proxy µs", Metric::Cpu(PROXY)),
        ("proxy MB", Metric::PeakMemory(PROXY)),
    ];
    let names = metrics.iter().map(|(name, _)| (*name).to_owned()).chain(["errors".to_owned()]);
    let mut table = Table::new(group.name(), &[group.axis(), "through"], names);
    each_point(group, &mut table, |at, target| {
        let figures = metrics.iter().map(|(_, metric)| Cell::figure(group.figure(at, target, *metric), metric.unit()));
        figures.chain([Cell::errors(group.figure(at, target, Metric::Errors))]).collect()
    });
    table
}

/// QPS and CPU of Weir beside those of Weir without hot rows.
fn cold(group: &Group<'_>) -> Table {
    let columns = ["QPS", "QPS, hot rows off", "ratio of QPS", "ratio of Weir's CPU"].map(str::to_owned);
    let caption = format!("{}: queries per second", group.name());
    let mut table = Table::new(caption, &[group.axis()], columns);
    let against = |of| Against { of, target: OFF, by: of };
    for at in group.positions() {
        let missing = [OFF, WEIR].into_iter().find_map(|target| group.missing(at, target));
        let cells = || {
            vec![
                Cell::figure(group.figure(at, WEIR, Metric::Qps), Unit::Count),
                Cell::figure(group.figure(at, OFF, Metric::Qps), Unit::Count),
                Cell::ratio(group.ratio(at, WEIR, against(Metric::Qps)), true),
                Cell::ratio(group.ratio(at, WEIR, against(Metric::Cpu(PROXY))), false),
            ]
        };
        table.push(format::whole(at.clients.into()), missing.map_or_else(|| Ok(cells()), Err));
    }
    table
}
