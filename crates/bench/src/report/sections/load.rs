//! Connection loads: churn, a storm of clients, idle clients. What counts is whether all were served, and at what price.

use super::super::chart::{Chart, SegmentAbout, Shade, Size, bars};
use super::super::document::{Block, Section};
use super::super::group::Group;
use super::super::metric::{Metric, PROXY, SERVER};
use super::super::table::Table;
use super::sweep::{CPU, counters, figures};

/// Clients that connect, ask once and quit.
const CHURN: &str = "churn";
/// More clients at once than the server takes.
const STORM: &str = "storm";
/// Clients that are connected and do nothing.
const IDLE: &str = "idle";

/// Clients that were served, and errors.
const SERVED: [SegmentAbout; 2] = [
    SegmentAbout { label: "served", shade: Shade::Target, metric: Metric::Served },
    SegmentAbout { label: "errors", shade: Shade::Error, metric: Metric::Errors },
];

/// Whether a workload is of this kind.
pub(crate) fn is_load(workload: &str) -> bool {
    workload == CHURN || counts_served(workload)
}

/// Whether it has a number of clients to serve rather than a rate.
pub(crate) fn counts_served(workload: &str) -> bool {
    [STORM, IDLE].contains(&workload)
}

/// The section of a group of this kind.
pub(crate) fn section(group: &Group<'_>) -> Section {
    let (title, explanation) = match group.workload {
        CHURN => ("Connection churn", "Each client connects, sends one query and quits, again and again."),
        STORM => ("Connection storm", "Many more clients at once than the server takes connections."),
        _ => ("Idle clients", "Clients that stay connected and ask little or nothing."),
    };
    let mut section = Section::new(group.statements().map_or(title.to_owned(), |kind| format!("{title}, {kind}")));
    section.blocks.push(Block::Text(explanation.to_owned()));
    section.charts(charts(group));
    section.missing(group.shortfalls());
    section.blocks.push(Block::Table(all_figures(group)));
    section.blocks.extend(counters(group).map(Block::Table));
    section
}

fn charts(group: &Group<'_>) -> Vec<Chart> {
    let only = |metric| [SegmentAbout { label: "", shade: Shade::Target, metric }];
    let memory = || bars(group, "Memory of the proxy", "MB at most, less is better", &only(Metric::PeakMemory(PROXY)));
    let charts = match group.workload {
        CHURN => vec![
            bars(group, "Rate", "connections per second, more is better", &only(Metric::Qps)),
            bars(group, "CPU per connection", "microseconds, less is better", &CPU),
        ],
        // Errors are counted by client, queries by the thousand: they don't go into one bar.
        STORM => vec![
            bars(group, "Errors", "that clients saw, less is better", &only(Metric::Errors)),
            bars(group, "Throughput", "queries per second, more is better", &only(Metric::Qps)),
            memory(),
        ],
        _ => vec![bars(group, "Clients", "served, and errors that they saw", &SERVED), memory()],
    };
    let size = if charts.len() > 2 { Size::Small } else { Size::Large };
    charts.into_iter().flatten().map(|chart| Chart { size, ..chart }).collect()
}

fn all_figures(group: &Group<'_>) -> Table {
    let (served, per) = match group.workload {
        CHURN => ("connections", "connection"),
        STORM => ("queries", "query"),
        _ => ("served", "client"),
    };
    let columns = vec![
        (served.to_owned(), Metric::Served),
        ("errors".to_owned(), Metric::Errors),
        ("per second".to_owned(), Metric::Qps),
        ("p50 ms".to_owned(), Metric::P50),
        ("p95 ms".to_owned(), Metric::P95),
        ("p99 ms".to_owned(), Metric::P99),
        (format!("server µs/{per}"), Metric::Cpu(SERVER)),
        (format!("proxy µs/{per}"), Metric::Cpu(PROXY)),
        ("server MB".to_owned(), Metric::PeakMemory(SERVER)),
        ("proxy MB".to_owned(), Metric::PeakMemory(PROXY)),
    ];
    figures(group, format!("All figures: {}", group.name()), columns)
}
