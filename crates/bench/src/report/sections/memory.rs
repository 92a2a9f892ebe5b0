//! The most memory that each proxy used, by workload and clients.

use super::super::chart::{LinesAbout, Size, lines};
use super::super::document::{Block, Section};
use super::super::format::Unit;
use super::super::group::{Group, groups};
use super::super::metric::{Metric, PROXY};
use super::super::table::{Cell, Table};
use super::load;
use crate::record::Record;

/// The section; `None` if no memory of a proxy was measured.
pub(crate) fn section(record: &Record) -> Option<Section> {
    let groups = groups(record);
    let metric = Metric::PeakMemory(PROXY);
    let about = LinesAbout {
        title: "Memory of the proxy",
        subtitle: "MB at most over all runs with that many clients, less is better",
        unit: Unit::Bytes,
        y_log: false,
        ratio: None,
        size: Size::Large,
    };
    let all = Group::all(record, |point| !load::is_load(&point.workload) && point.variant.is_none());
    let chart = lines(&all, &about, |at, target| all.most(at, target, metric));
    let proxies: Vec<_> =
        record.targets.iter().filter(|target| groups.iter().any(|group| peak(group, &target.key).is_some())).collect();
    if proxies.is_empty() {
        return None;
    }
    let names = proxies.iter().map(|target| target.label.clone());
    let mut table = Table::new("The most resident memory of each proxy, MB", &["workload"], names);
    for group in &groups {
        let cells = proxies.iter().map(|target| Cell::figure(peak(group, &target.key), Unit::Bytes)).collect();
        table.push(group.name(), Ok(cells));
    }
    let mut section = Section::new("Memory");
    section.charts(chart.into_iter().collect());
    section.blocks.push(Block::Table(table));
    Some(section)
}

/// The most over all positions of a group.
fn peak(group: &Group<'_>, target: &str) -> Option<super::super::stats::Figure> {
    let positions = group.positions();
    let peaks = positions.iter().filter_map(|at| group.most(*at, target, Metric::PeakMemory(PROXY)));
    peaks.max_by(|a, b| a.median.total_cmp(&b.median))
}
