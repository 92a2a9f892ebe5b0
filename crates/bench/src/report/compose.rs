//! Composes the report of a record from its sections.

use super::document::{Block, Document, Section};
use super::format;
use super::group::{self, groups};
use super::sections::{self, load, memory, overview, sweep};
use super::stats::WIDE_SPREAD;
use crate::record::Record;

impl Document {
    /// The report of a record.
    pub(crate) fn of(record: &Record) -> Self {
        let mut sections = sections::own(record);
        let common = sections::common(record);
        sections.extend(overview::section(&common));
        let mut last_workload = None;
        for group in groups(&common) {
            let nested = last_workload == Some(group.workload);
            last_workload = Some(group.workload);
            if load::is_load(group.workload) {
                sections.push(load::section(&group));
                continue;
            }
            if !nested {
                sections.push(Section { title: group.workload.to_owned(), nested: false, blocks: Vec::new() });
            }
            sections.push(sweep::section(&group));
        }
        sections.extend(memory::section(&common));
        number_charts(&mut sections);
        Self {
            name: record.name.clone(),
            title: record.title.clone(),
            warnings: warnings(record),
            facts: facts(record),
            command: record.command.clone(),
            notes: record.notes.clone(),
            reading: reading(record),
            versions: record.versions.clone().into_iter().collect(),
            settings: record.settings.clone().into_iter().collect(),
            sections,
        }
    }
}

fn number_charts(sections: &mut [Section]) {
    let charts = sections.iter_mut().flat_map(|section| &mut section.blocks).filter_map(|block| match block {
        Block::Charts(charts) => Some(charts),
        Block::Text(_) | Block::Missing(_) | Block::Table(_) => None,
    });
    for (number, chart) in charts.flatten().enumerate() {
        chart.id = format!("chart-{}", number + 1);
    }
}

fn warnings(record: &Record) -> Vec<String> {
    let mut warnings = Vec::new();
    if !record.complete {
        warnings.push("This run was stopped before its end: it holds what was measured until then.".to_owned());
    }
    if record.points.is_empty() {
        warnings.push("Nothing was measured.".to_owned());
    } else if most_rounds(record) < 2 {
        warnings.push("Each point was run once: how far rounds lie apart is not known.".to_owned());
    }
    warnings
}

fn most_rounds(record: &Record) -> usize {
    record.points.iter().map(|point| point.runs.len()).max().unwrap_or(0)
}

fn facts(record: &Record) -> Vec<(String, String)> {
    let machine = &record.machine;
    let rounds = most_rounds(record);
    let labels: Vec<&str> = record.targets.iter().map(|target| target.label.as_str()).collect();
    let facts = [
        ("Date", format!("{} UTC", record.started.trim_end_matches('Z').replace('T', " "))),
        ("Duration", format::duration(record.seconds)),
        ("Targets", format!("{}, in turn", labels.join(", "))),
        ("Rounds", format!("{rounds}")),
        ("Machine", format!("{}, {} cores, {}", machine.cpu, machine.cores, format::memory(machine.memory_bytes))),
        ("System", format!("{}, {}", machine.os, machine.kernel)),
    ];
    facts.map(|(name, value)| (name.to_owned(), value)).into()
}

fn reading(record: &Record) -> Vec<String> {
    let mut reading = vec![
        format!(
            "Figures are medians over the rounds. The percentage beside a figure is the spread: (largest round - smallest \
             round) / median. Where it is over {}, it carries an exclamation mark, and the chart a hollow marker or “≈”: \
             do not rely on that figure. On narrow screens some tables show wide spreads only.",
            format::percent(WIDE_SPREAD)
        ),
        "Ratios are medians of the rounds' ratios: round n of a target against round n of the other, which ran one after \
         another."
            .to_owned(),
        "CPU is user and system time of a process, divided by the queries of the run. Latency is that of an event as the load \
         tool counts it: a query, or a whole transaction. Memory is the \
         most since the process was started; MB are 1,000,000 bytes."
            .to_owned(),
    ];
    let direct = group::label(record, group::DIRECT);
    reading.push(format!("“server + proxy” is what a query costs in all; for {direct} it is the server alone."));
    reading
}
