//! Runs that met trouble on the machine: throughput beside that of direct connections, and second by second.

use super::super::document::{Block, Section};
use super::super::format::Unit;
use super::super::group::{Against, DIRECT, Group, Position, WEIR, groups};
use super::super::metric::Metric;
use super::super::stats::Figure;
use super::super::table::{Cell, Table};
use crate::record::Record;

/// What the setting is called whose values are the troubles.
const AXIS: &str = "machine";
const QPS: Against = Against { of: Metric::Qps, target: DIRECT, by: Metric::Qps };

/// The report's own tables; none for a record without such runs.
pub(crate) fn sections(record: &Record) -> Vec<Section> {
    let troubled: Vec<_> = groups(record).into_iter().filter(|group| group.axis() == AXIS).collect();
    if troubled.is_empty() {
        return Vec::new();
    }
    let mut all = Section::new("On a machine with other work, and on a server that is slow or stops");
    all.blocks.push(Block::Text(
        "Queries per second. A server that gets 34% of the CPU may use as much of each 100 ms of all processors, and stops when \
         it has, as under a quota of the kernel's; one that stops does so in the middle of the run."
            .to_owned(),
    ));
    all.blocks.extend(troubled.iter().map(|group| Block::Table(by_trouble(group))));
    let mut seconds = Section::nested("Second by second");
    seconds.blocks.extend(troubled.iter().map(|group| Block::Table(by_second(group))));
    vec![all, seconds]
}

/// A row for each trouble: the targets' figures, and Weir's ratio to direct connections.
fn by_trouble(group: &Group<'_>) -> Table {
    let targets = group.targets();
    let has_ratio = [DIRECT, WEIR].iter().all(|key| targets.iter().any(|target| target.key == *key));
    let ratio = has_ratio.then(|| "Weir / direct".to_owned());
    let names = targets.iter().map(|target| target.label.clone()).chain(ratio);
    let mut table = Table::new(format!("{}: queries per second", group.name()), &[AXIS], names);
    for at in group.positions() {
        let mut cells: Vec<Cell> = targets
            .iter()
            .map(|target| match group.missing(at, &target.key) {
                Some(reason) => Cell::alarm(reason),
                None => Cell::figure(group.figure(at, &target.key, Metric::Qps), Unit::Count),
            })
            .collect();
        if has_ratio {
            cells.push(Cell::ratio(group.ratio(at, WEIR, QPS), true));
        }
        table.push(at.value(), Ok(cells));
    }
    table
}

/// A row for each trouble and target: the median of the rounds in each second.
fn by_second(group: &Group<'_>) -> Table {
    let runs = |at: Position<'_>, target: &str| group.point(at, target).map_or(&[][..], |point| &point.runs);
    let places: Vec<_> = group
        .positions()
        .into_iter()
        .flat_map(|at| group.targets().into_iter().map(move |target| (at, target)))
        .filter(|(at, target)| !runs(*at, &target.key).is_empty())
        .collect();
    let seconds = places.iter().flat_map(|(at, target)| runs(*at, &target.key)).map(|run| run.qps_by_second.len());
    let seconds = seconds.max().unwrap_or(0);
    let names = (1..=seconds).map(|second| format!("{second} s"));
    let mut table = Table::new(format!("{}: queries in each second", group.name()), &[AXIS, "target"], names);
    for (at, target) in places {
        let runs = runs(at, &target.key);
        let of_second = |second: usize| runs.iter().filter_map(move |run| run.qps_by_second.get(second).copied());
        let cell =
            |second| Figure::of(of_second(second)).map_or_else(|| "–".to_owned(), |qps| Unit::Count.write(qps.median));
        let cells = (0..seconds).map(|second| Cell::plain(cell(second))).collect();
        table.push_grouped(at.value(), [at.value(), target.label.clone()], Ok(cells));
    }
    table
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::record::{Point, Run, Target};

    #[test]
    fn each_second_of_each_target_is_shown_and_the_ratio() {
        let run = |qps: f64, by_second: &[f64]| Run { qps, qps_by_second: by_second.to_vec(), ..Run::default() };
        let point = |target: &str, run| Point {
            workload: "oltp_point_select".to_owned(),
            prepared: Some(false),
            clients: 256,
            variant: Some("machine=server stops for 2 s".to_owned()),
            target: target.to_owned(),
            runs: vec![run],
            failure: None,
        };
        let target = |key: &str| Target { key: key.to_owned(), label: key.to_owned() };
        let record = Record {
            format: crate::record::FORMAT,
            name: "overhead".to_owned(),
            title: String::new(),
            started: String::new(),
            seconds: 1.0,
            complete: true,
            command: String::new(),
            machine: crate::record::Machine::default(),
            versions: BTreeMap::new(),
            settings: BTreeMap::new(),
            notes: Vec::new(),
            targets: vec![target(DIRECT), target(WEIR)],
            points: vec![point(DIRECT, run(100.0, &[150.0, 0.0])), point(WEIR, run(120.0, &[200.0, 0.0, 40.0]))],
        };
        let sections = sections(&record);
        let tables: Vec<&Table> = sections
            .iter()
            .flat_map(|section| &section.blocks)
            .filter_map(|block| if let Block::Table(table) = block { Some(table) } else { None })
            .collect();
        let texts = |row: usize, table: &Table| -> Vec<String> {
            table.rows[row].cells.iter().flatten().map(|cell| cell.text.clone()).collect()
        };
        assert_eq!(tables[0].columns, ["machine", "direct", "weir", "Weir / direct"]);
        assert_eq!(texts(0, tables[0]), ["100", "120", "1.20"]);
        assert_eq!(tables[1].columns, ["machine", "target", "1 s", "2 s", "3 s"]);
        assert_eq!(texts(0, tables[1]), ["150", "0", "–"]);
        assert_eq!(texts(1, tables[1]), ["200", "0", "40"]);
    }
}
