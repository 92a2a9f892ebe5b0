//! TPC-C over shards beside one server: new orders per minute, what a transaction costs, its latency by type, and errors.

use std::collections::BTreeSet;

use super::super::document::Section;
use super::super::format::Unit;
use super::super::group::{self, Against, DIRECT, Group, WEIR, groups};
use super::super::metric::{Metric, PROXY, SERVER};
use super::super::stats::over_rounds;
use super::super::table::{Cell, Table};
use super::sweep::each_point;
use super::{radon, settings_as_targets, tables_section};
use crate::record::{Kind, Record, Run};
use crate::tpcc::NEW_ORDER;

/// The bench that is reported in this form.
pub(crate) const NAME: &str = "tpcc";

/// The record with a target for each number of shards.
pub(crate) fn by_shards(record: &Record) -> Record {
    let weir = group::label(record, WEIR).to_owned();
    settings_as_targets(record, record.points.iter(), |variant| {
        let shards = variant.strip_prefix("shards=")?;
        Some((shards.to_owned(), format!("{weir}, {shards} shards")))
    })
}

/// The report's own tables, before the sections that all benches have.
pub(crate) fn sections(record: &Record) -> Vec<Section> {
    let shown = by_shards(record);
    let groups = groups(&shown);
    [
        tables_section("Transactions", ABOUT, groups.iter().map(throughput).collect()),
        tables_section("What a transaction takes", ABOUT_COST, groups.iter().map(cost).collect()),
        tables_section("Latency by type", ABOUT_LATENCY, groups.iter().map(latency).collect()),
        tables_section("Errors", ABOUT_ERRORS, groups.iter().map(errors).collect()),
    ]
    .into_iter()
    .flatten()
    .collect()
}

const ABOUT: &str = "TPC-C's five transactions in its mix on 4 warehouses, without keying and think times: no results in the sense of TPC. \
    Directly and through HAProxy on one server; through Weir on shards, tables sharded by warehouse, item on each shard. After each run the \
    conditions of consistency 1 to 4, 8 and 9 held, or the run does not count. Ratios are those of transactions to one server's, round by \
    round; the aim is 0.7 on two shards. All servers, Weir and the load tool share this machine.";
const ABOUT_COST: &str = "CPU in microseconds per transaction; the servers' is that of all of them together. Server statements: what all servers \
    counted (Questions) per transaction.";
const ABOUT_LATENCY: &str = "Milliseconds, median and 99th percentile.";
const ABOUT_ERRORS: &str = "Errors by the server's number for them, per 1,000 transactions. The transaction was rolled back, and is not counted.";

/// Transactions in a run.
fn transactions(run: &Run) -> Option<f64> {
    Some(run.tps * run.seconds).filter(|number| *number > 0.0)
}

fn new_orders_per_minute(run: &Run) -> Option<f64> {
    Some(run.kinds.get(NEW_ORDER)?.count as f64 * 60.0 / run.seconds)
}

fn throughput(group: &Group<'_>) -> Table {
    let columns = ["new orders per minute", "transactions per second", "ratio to one server", "errors"];
    let mut table = Table::new(group.name(), &[group.axis(), "through"], columns.map(str::to_owned));
    let against = Against { of: Metric::Tps, target: DIRECT, by: Metric::Tps };
    each_point(group, &mut table, |at, target| {
        vec![
            Cell::figure(over_rounds(group.runs(at, target), new_orders_per_minute), Unit::Count),
            Cell::figure(group.figure(at, target, Metric::Tps), Unit::Count),
            Cell::ratio(group.ratio(at, target, against), true),
            Cell::errors(group.figure(at, target, Metric::Errors)),
        ]
    });
    table
}

fn cost(group: &Group<'_>) -> Table {
    let columns = ["client statements", "server statements", "servers' CPU µs", "proxy CPU µs", "proxy MB"];
    let mut table = Table::new(group.name(), &[group.axis(), "through"], columns.map(str::to_owned));
    each_point(group, &mut table, |at, target| {
        let runs = group.runs(at, target);
        let statements = |run: &Run| Some(run.queries as f64 / transactions(run)?);
        let each = |of: Metric| over_rounds(runs, |run| Some(of.of(run)? * statements(run)?));
        let of_servers = over_rounds(runs, |run| Some(radon::statements(run, target)? * statements(run)?));
        vec![
            Cell::figure(over_rounds(runs, statements), Unit::Count),
            Cell::figure(of_servers, Unit::Count),
            Cell::figure(each(Metric::Cpu(SERVER)), Unit::Count),
            Cell::figure(each(Metric::Cpu(PROXY)), Unit::Count),
            Cell::figure(group.figure(at, target, Metric::PeakMemory(PROXY)), Unit::Bytes),
        ]
    });
    table
}

/// What differs between the runs of a group: types of transactions, numbers of errors.
fn names<'a, T: Iterator<Item = &'a String>>(group: &Group<'a>, of: impl Fn(&'a Run) -> T) -> Vec<&'a str> {
    let mut all = BTreeSet::new();
    for at in group.positions() {
        for target in group.targets() {
            all.extend(group.runs(at, &target.key).iter().flat_map(&of).map(String::as_str));
        }
    }
    all.into_iter().collect()
}

fn latency(group: &Group<'_>) -> Table {
    let kinds = names(group, |run| run.kinds.keys());
    let columns = kinds.iter().flat_map(|kind| [format!("{kind} p50"), format!("{kind} p99")]);
    let mut table = Table::new(group.name(), &[group.axis(), "through"], columns);
    each_point(group, &mut table, |at, target| {
        let figure = |kind: &str, of: fn(&Kind) -> f64| {
            over_rounds(group.runs(at, target), |run| run.kinds.get(kind).filter(|kind| kind.count > 0).map(of))
        };
        let both = |kind: &&str| [figure(kind, |kind| kind.p50_us), figure(kind, |kind| kind.p99_us)];
        kinds.iter().flat_map(both).map(|figure| Cell::figure(figure, Unit::Latency)).collect()
    });
    table
}

fn errors(group: &Group<'_>) -> Table {
    let codes = names(group, |run| run.errors_by_code.keys());
    let columns = codes.iter().map(|code| (*code).to_owned());
    let mut table = Table::new(group.name(), &[group.axis(), "through"], columns);
    if codes.is_empty() {
        return table;
    }
    each_point(group, &mut table, |at, target| {
        let per_thousand = |code: &str, run: &Run| {
            let count = run.errors_by_code.get(code).copied().unwrap_or_default();
            Some(count as f64 * 1_000.0 / transactions(run)?)
        };
        let figure = |code: &&str| over_rounds(group.runs(at, target), |run| per_thousand(code, run));
        codes.iter().map(|code| Cell::figure(figure(code), Unit::Count)).collect()
    });
    table
}
