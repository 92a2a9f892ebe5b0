//! What to see: Weir against direct connections and against HAProxy, for every workload and number of clients.

use super::super::document::{Block, Section};
use super::super::group::{Against, DIRECT, Group, HAPROXY, WEIR, groups, label};
use super::super::metric::{Metric, PROXY};
use super::super::table::{Cell, Table};
use super::load;
use crate::record::Record;

/// The ratios that decide: of what, against what, and whether a higher one is better.
const RATIOS: [(Against, bool); 4] = [
    (Against { of: Metric::Qps, target: DIRECT, by: Metric::Qps }, true),
    (Against { of: Metric::Qps, target: HAPROXY, by: Metric::Qps }, true),
    (Against { of: Metric::Cpu(PROXY), target: HAPROXY, by: Metric::Cpu(PROXY) }, false),
    (Against { of: Metric::CpuTogether, target: DIRECT, by: Metric::CpuTogether }, false),
];

/// The table of ratios; `None` if the record does not have Weir and something to compare it with.
pub(crate) fn section(record: &Record) -> Option<Section> {
    let has = |key: &str| record.targets.iter().any(|target| target.key == key);
    if !has(WEIR) {
        return None;
    }
    let ratios: Vec<_> = RATIOS.into_iter().filter(|(against, _)| has(against.target)).collect();
    if ratios.is_empty() {
        return None;
    }
    let columns = ratios.iter().map(|(against, _)| column(record, *against));
    let mut table = Table::new("Ratios", &["workload", "clients"], columns);
    for group in groups(record) {
        // Only Weir has a setting to vary; how many were served is in a table of its own.
        let is_compared = group.targets().iter().any(|target| [DIRECT, HAPROXY].contains(&&*target.key));
        if is_compared && group.fixed_clients.is_none() && !load::counts_served(group.workload) {
            add_rows(&mut table, &group, &ratios);
        }
    }
    if table.rows.is_empty() {
        return None;
    }
    let mut section = Section::new("What to see");
    section.blocks.push(Block::Text(format!(
        "{} against what stands beside it. QPS: above 1 is better. CPU per query: below 1 is better.",
        label(record, WEIR)
    )));
    section.blocks.push(Block::Table(table));
    Some(section)
}

fn column(record: &Record, against: Against) -> String {
    let other = label(record, against.target);
    match against.of {
        Metric::Cpu(_) => format!("proxy CPU / {other}"),
        Metric::CpuTogether => format!("server + proxy CPU / {other}"),
        _ => format!("QPS / {other}"),
    }
}

fn add_rows(table: &mut Table, group: &Group<'_>, ratios: &[(Against, bool)]) {
    for at in group.positions() {
        let cells = match group.missing(at, WEIR) {
            Some(reason) => Err(reason),
            None => Ok(ratios
                .iter()
                .map(|(against, higher)| Cell::ratio(group.ratio(at, WEIR, *against), *higher))
                .collect()),
        };
        table.push_grouped(group.name(), [group.name(), at.value()], cells);
    }
}
