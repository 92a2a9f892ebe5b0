//! The points of a record, grouped as a report shows them, and figures taken from a group.
//!
//! Must always hold: nothing is left out silently: each position and target of a group has a figure or a reason.

use super::format;
use super::metric::Metric;
use super::sections::hotrow;
use super::stats::{Figure, over_rounds, ratio};
use crate::record::{Point, Record, Run, Target};

/// The target without anything between clients and server.
pub(crate) const DIRECT: &str = "direct";
/// The proxy that others are compared with.
pub(crate) const HAPROXY: &str = "haproxy";
/// What this project is about.
pub(crate) const WEIR: &str = "weir";

/// All points of one workload with one kind of statements, over clients, or over a setting at one number of clients.
#[derive(Debug, Clone)]
pub(crate) struct Group<'a> {
    record: &'a Record,
    /// [`Point::workload`].
    pub workload: &'a str,
    /// [`Point::prepared`].
    pub prepared: Option<bool>,
    /// The number of clients, if it is a setting that varies.
    pub fixed_clients: Option<u32>,
    points: Vec<&'a Point>,
}

/// One place on the horizontal axis of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Position<'a> {
    /// Clients at the same time.
    pub clients: u32,
    /// [`Point::variant`].
    pub variant: Option<&'a str>,
}

/// What a ratio divides by what.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Against {
    /// The figure of the target in question.
    pub of: Metric,
    /// The key of the target that it is compared with.
    pub target: &'static str,
    /// That target's figure.
    pub by: Metric,
}

/// The groups in the order in which the record first names them.
pub(crate) fn groups(record: &Record) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for point in &record.points {
        let fixed_clients = point.variant.as_ref().map(|_| point.clients);
        let place = groups.iter().position(|group| {
            (group.workload, group.prepared, group.fixed_clients)
                == (point.workload.as_str(), point.prepared, fixed_clients)
        });
        match place {
            Some(place) => groups[place].points.push(point),
            None => groups.push(Group {
                record,
                workload: &point.workload,
                prepared: point.prepared,
                fixed_clients,
                points: vec![point],
            }),
        }
    }
    groups
}

/// A target's name for people; its key if the record does not know it.
pub(crate) fn label<'a>(record: &'a Record, key: &'a str) -> &'a str {
    record.targets.iter().find(|target| target.key == key).map_or(key, |target| &target.label)
}

impl<'a> Group<'a> {
    /// Points of all workloads together, for what depends on the clients alone.
    pub(crate) fn all(record: &'a Record, which: impl Fn(&Point) -> bool) -> Self {
        let points = record.points.iter().filter(|point| which(point)).collect();
        Self { record, workload: "all workloads", prepared: None, fixed_clients: None, points }
    }

    /// The most that a figure reached in any run at a position.
    pub(crate) fn most(&self, at: Position<'_>, target: &str, metric: Metric) -> Option<Figure> {
        let here = |point: &&&Point| {
            (point.clients, point.variant.as_deref(), &*point.target) == (at.clients, at.variant, target)
        };
        let values = self.points.iter().filter(here).flat_map(|point| &point.runs).filter_map(|run| metric.of(run));
        Figure::of(values.max_by(f64::total_cmp))
    }

    /// The record that it is of.
    pub(crate) fn record(&self) -> &'a Record {
        self.record
    }

    /// The positions, ascending; those with a setting by its number, if it has one.
    pub(crate) fn positions(&self) -> Vec<Position<'a>> {
        let mut positions: Vec<Position<'a>> = Vec::new();
        for point in &self.points {
            let position = Position { clients: point.clients, variant: point.variant.as_deref() };
            if !positions.contains(&position) {
                positions.push(position);
            }
        }
        positions.sort_by(|a, b| a.place().unwrap_or(f64::INFINITY).total_cmp(&b.place().unwrap_or(f64::INFINITY)));
        positions
    }

    /// The targets in the record's order. Where a setting is varied, only those that it was varied for; and only its own
    /// where a workload has some.
    pub(crate) fn targets(&self) -> Vec<&'a Target> {
        let varied = self.fixed_clients.is_some() || self.record.name == hotrow::NAME;
        let measured = |target: &&Target| self.points.iter().any(|point| point.target == target.key);
        self.record.targets.iter().filter(|target| !varied || measured(target)).collect()
    }

    /// The point, if the record has one.
    pub(crate) fn point(&self, at: Position<'_>, target: &str) -> Option<&'a Point> {
        self.points
            .iter()
            .copied()
            .find(|point| (point.clients, point.variant.as_deref(), &*point.target) == (at.clients, at.variant, target))
    }

    /// The runs of a point; none where there is no point.
    pub(crate) fn runs(&self, at: Position<'_>, target: &str) -> &'a [Run] {
        self.point(at, target).map_or(&[][..], |point| point.runs.as_slice())
    }

    /// A figure of a point; `None` where it was not measured.
    pub(crate) fn figure(&self, at: Position<'_>, target: &str, metric: Metric) -> Option<Figure> {
        over_rounds(&self.point(at, target)?.runs, |run| metric.of(run))
    }

    /// A ratio of two targets at the same position, by rounds.
    pub(crate) fn ratio(&self, at: Position<'_>, target: &str, against: Against) -> Option<Figure> {
        let (of, by) = (self.point(at, target)?, self.point(at, against.target)?);
        ratio(&of.runs, |run| against.of.of(run), &by.runs, |run| against.by.of(run))
    }

    /// Why a point has no figures, if it has none.
    pub(crate) fn missing(&self, at: Position<'_>, target: &str) -> Option<String> {
        match self.point(at, target) {
            Some(point) if !point.runs.is_empty() => None,
            Some(point) => Some(point.failure.clone().unwrap_or_else(|| "no round was run".to_owned())),
            None if self.record.complete => Some("not measured".to_owned()),
            None => Some("not reached before the run was stopped".to_owned()),
        }
    }

    /// The points that are missing or did not run all their rounds, as lines of text: where, and why.
    pub(crate) fn shortfalls(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for target in self.targets() {
            if !self.points.iter().any(|point| point.target == target.key) {
                lines.push(format!("{}: not measured.", target.label));
                continue;
            }
            let mut reasons: Vec<(String, Vec<String>)> = Vec::new();
            for at in self.positions() {
                let Some(reason) = self.shortfall(at, &target.key) else { continue };
                match reasons.iter_mut().find(|(known, _)| *known == reason) {
                    Some((_, places)) => places.push(at.value()),
                    None => reasons.push((reason, vec![at.value()])),
                }
            }
            let line = |(reason, places): (String, Vec<String>)| {
                let axis = if places == ["1"] && self.axis() == "clients" { "client" } else { self.axis() };
                let places = match self.fixed_clients {
                    None => format!("{} {axis}", places.join("; ")),
                    Some(_) => format!("{axis} {}", places.join("; ")),
                };
                format!("{} at {places}: {}.", target.label, reason.trim_end_matches('.'))
            };
            lines.extend(reasons.into_iter().map(line));
        }
        lines
    }

    fn shortfall(&self, at: Position<'_>, target: &str) -> Option<String> {
        let point = self.point(at, target);
        let failure = point.and_then(|point| point.failure.as_ref());
        self.missing(at, target).or_else(|| {
            let ran = point.map_or(0, |point| point.runs.len());
            failure.map(|failure| format!("stopped after {}: {failure}", rounds(ran)))
        })
    }

    /// The names of the status counters that changed in any of its runs.
    pub(crate) fn counters(&self) -> Vec<&'a str> {
        let changed = self.points.iter().flat_map(|point| &point.runs).flat_map(|run| &run.counters);
        let mut names: Vec<&str> = changed.filter(|(_, by)| **by != 0).map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// `text statements`, `prepared statements`, or nothing where that makes no difference.
    pub(crate) fn statements(&self) -> Option<&'static str> {
        self.prepared.map(|prepared| if prepared { "prepared statements" } else { "text statements" })
    }

    /// What the horizontal axis counts: `clients`, or the setting's name.
    pub(crate) fn axis(&self) -> &'a str {
        let variant = self.points.first().and_then(|point| point.variant.as_deref());
        variant
            .and_then(|variant| variant.split_once('='))
            .map_or(if variant.is_some() { "setting" } else { "clients" }, |(name, _)| name.trim())
    }

    /// The group in words: workload, statements, and the clients where a setting varies.
    pub(crate) fn name(&self) -> String {
        let mut name = self.workload.to_owned();
        for part in [self.statements().map(str::to_owned), self.fixed_clients.map(format::clients)] {
            name.extend(part.map(|part| format!(", {part}")));
        }
        name
    }
}

impl Position<'_> {
    /// Where it lies on the axis: the clients, or the number at the end of the setting.
    pub(crate) fn place(&self) -> Option<f64> {
        match self.variant {
            None => Some(f64::from(self.clients)),
            Some(_) => self.value().parse().ok(),
        }
    }

    /// What stands in a table's first column: `256`, or the setting's value.
    pub(crate) fn value(&self) -> String {
        match self.variant {
            None => format::whole(self.clients.into()),
            Some(variant) => variant.split_once('=').map_or(variant, |(_, value)| value).trim().to_owned(),
        }
    }

    /// In a sentence: `256 clients`, `pool.max_connections=64`.
    pub(crate) fn name(&self) -> String {
        self.variant.map_or_else(|| format::clients(self.clients), str::to_owned)
    }
}

fn rounds(number: usize) -> String {
    format!("{number} {}", if number == 1 { "round" } else { "rounds" })
}
