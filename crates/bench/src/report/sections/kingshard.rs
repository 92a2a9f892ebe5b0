//! The form of the published kingshard report: clients down, targets across, then the limit of the pool.

use super::super::document::{Block, Section};
use super::super::format::{self, Unit};
use super::super::group::{Group, Position, groups};
use super::super::metric::Metric;
use super::super::table::{Cell, Table};
use crate::record::Record;

/// The bench that is reported in this form.
pub(crate) const NAME: &str = "kingshard";

/// The report's own tables, before the sections that all benches have.
pub(crate) fn sections(record: &Record) -> Vec<Section> {
    let (varied, plain): (Vec<_>, Vec<_>) = groups(record).into_iter().partition(|group| group.fixed_clients.is_some());
    let section = |title, text: &str, tables: Vec<Table>| {
        let mut section = Section::new(title);
        section.blocks.push(Block::Text(text.to_owned()));
        section.blocks.extend(tables.into_iter().map(Block::Table));
        (section.blocks.len() > 1).then_some(section)
    };
    let by_clients = plain.iter().map(by_clients).collect();
    let mut clients: Vec<_> = varied.iter().filter_map(|group| group.fixed_clients).collect();
    clients.dedup();
    let at = |number| varied.iter().filter(|group| group.fixed_clients == Some(number)).collect::<Vec<_>>();
    let by_limit = clients.iter().map(|number| by_limit(*number, &at(*number))).collect();
    let sections = [
        section("Queries per second", "A row for each number of clients.", by_clients),
        section("The limit of the pool", "Queries per second with more and more server connections allowed.", by_limit),
    ];
    sections.into_iter().flatten().collect()
}

/// QPS of a workload: a row for each number of clients, a column for each target. A point that failed says why.
fn by_clients(group: &Group<'_>) -> Table {
    let targets = group.targets();
    let names = targets.iter().map(|target| target.label.clone());
    let mut table = Table::new(format!("{}: queries per second", group.name()), &[group.axis()], names);
    for at in group.positions() {
        table.push(at.value(), Ok(targets.iter().map(|target| qps(group, at, &target.key)).collect()));
    }
    table
}

/// QPS at one number of clients: a row for each limit, a column for each workload and target.
fn by_limit(clients: u32, groups: &[&Group<'_>]) -> Table {
    let columns: Vec<_> =
        groups.iter().flat_map(|group| group.targets().into_iter().map(move |target| (*group, target))).collect();
    let both = |group: &Group<'_>| {
        groups.iter().any(|other| other.workload == group.workload && other.prepared != group.prepared)
    };
    let names = columns.iter().map(|(group, target)| {
        let statements = group.statements().filter(|_| both(group)).map_or(String::new(), |kind| format!(", {kind}"));
        format!("{}: {}{statements}", target.label, group.workload)
    });
    let caption = format!("{}: queries per second", format::clients(clients));
    let axis = groups.first().map_or("", |group| group.axis());
    let mut table = Table::new(caption, &[axis], names);
    let mut positions: Vec<Position<'_>> = Vec::new();
    for at in groups.iter().flat_map(|group| group.positions()) {
        if !positions.contains(&at) {
            positions.push(at);
        }
    }
    for at in positions {
        table.push(at.value(), Ok(columns.iter().map(|(group, target)| qps(group, at, &target.key)).collect()));
    }
    table
}

fn qps(group: &Group<'_>, at: Position<'_>, target: &str) -> Cell {
    match group.missing(at, target) {
        Some(reason) => Cell::alarm(reason),
        None => Cell::figure(group.figure(at, target, Metric::Qps), Unit::Count),
    }
}
