//! Charts: what the page's script draws, and the table of the same data.
//!
//! Must always hold: every chart has its data as a table and a text that stands for it; a target has the same colour, dash
//! and marker in all charts of all reports; values in the data are as measured.

use serde::Serialize;

use super::format::Unit;
use super::group::{Against, DIRECT, Group, HAPROXY, Position, WEIR};
use super::metric::Metric;
use super::stats::Figure;
use super::table::{Cell, Table};
use crate::record::Record;

/// How many colours the style sheet has for targets.
const SLOTS: usize = 8;
/// How many markers; beyond them colour and dash tell targets apart.
const MARKERS: usize = 4;

/// A chart.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Chart {
    /// The figure's id in the page.
    pub id: String,
    /// What it shows, in a few words.
    #[serde(skip)]
    pub title: String,
    /// The unit, and which way is better.
    #[serde(skip)]
    pub subtitle: String,
    /// The description for readers who can't see the chart.
    #[serde(skip)]
    pub description: String,
    /// How its numbers are written.
    pub unit: Unit,
    /// What is drawn.
    #[serde(flatten)]
    pub drawing: Drawing,
    /// Its data.
    #[serde(skip)]
    pub table: Table,
    /// The room it wants.
    #[serde(skip)]
    pub size: Size,
}

/// The room that a chart wants on a wide screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Size {
    /// Half of the width.
    Large,
    /// A third or less.
    Small,
}

/// The two kinds of charts.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum Drawing {
    /// One line per target.
    Lines(Lines),
    /// Horizontal bars, each of one or more segments.
    Bars(Bars),
}

/// One line per target over clients or over a setting.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Lines {
    /// What the horizontal axis counts.
    pub axis: String,
    /// The places on it.
    pub x: Vec<f64>,
    /// What to write there.
    pub x_names: Vec<String>,
    /// Whether it is logarithmic.
    pub x_log: bool,
    /// Whether the vertical axis is logarithmic; otherwise it begins at 0.
    pub y_log: bool,
    /// The vertical range, where several charts share one.
    pub y_range: Option<(f64, f64)>,
    /// A line to compare with.
    pub reference: Option<f64>,
    /// The lines.
    pub series: Vec<Series>,
}

/// The line of a target.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Series {
    /// The target's label.
    pub label: String,
    /// Its colour.
    pub slot: usize,
    /// One per place.
    pub points: Vec<Option<Mark>>,
}

/// A point of a line.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Mark {
    /// The median.
    pub y: f64,
    /// The smallest round.
    pub low: f64,
    /// The largest.
    pub high: f64,
    /// Whether they are too far apart.
    pub wide: bool,
}

/// Horizontal bars.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Bars {
    /// The bars and the headings between them, from top to bottom.
    pub rows: Vec<BarRow>,
    /// The segments of all bars, from left to right.
    pub segments: Vec<Segment>,
}

/// A bar, or a heading above several.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct BarRow {
    /// What stands beside it.
    pub label: String,
    /// The target's colour; `None` for a heading.
    pub slot: Option<usize>,
    /// Whether the rounds of a segment are too far apart.
    pub wide: bool,
}

/// One segment of all bars.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Segment {
    /// What it is.
    pub label: String,
    /// Its colour.
    pub shade: Shade,
    /// One per row; `None` for headings and for what is missing.
    pub values: Vec<Option<f64>>,
}

/// How a segment is coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Shade {
    /// The target's own colour.
    Target,
    /// The database server.
    Server,
    /// The load tool.
    Client,
    /// Errors.
    Error,
}

/// A line in the legend.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Key {
    /// What it stands for.
    pub label: String,
    /// The style's name: `line-3`, `bar-server`.
    pub class: String,
    /// A line's marker; `None` for bars.
    pub mark: Option<usize>,
}

/// The colour of a target: fixed for those that benches know, by order for others.
pub(crate) fn slot(record: &Record, key: &str) -> usize {
    const KNOWN: [&str; 4] = [DIRECT, HAPROXY, "router", WEIR];
    if let Some(slot) = KNOWN.iter().position(|known| *known == key) {
        return slot;
    }
    let others = record.targets.iter().filter(|target| !KNOWN.contains(&&*target.key));
    KNOWN.len() + others.take_while(|target| target.key != key).count() % (SLOTS - KNOWN.len())
}

impl Chart {
    /// What the legend lists. A line's shows its colour, dash and marker.
    pub(crate) fn legend(&self) -> Vec<Key> {
        match &self.drawing {
            Drawing::Lines(lines) => lines
                .series
                .iter()
                .map(|series| Key {
                    label: series.label.clone(),
                    class: format!("line-{}", series.slot),
                    mark: Some(series.slot % MARKERS),
                })
                .collect(),
            Drawing::Bars(bars) => bars.segments.iter().filter_map(Segment::key).collect(),
        }
    }

    /// Whether any of its figures is uncertain.
    pub(crate) fn has_wide(&self) -> bool {
        match &self.drawing {
            Drawing::Lines(lines) => {
                lines.series.iter().flat_map(|series| &series.points).flatten().any(|mark| mark.wide)
            }
            Drawing::Bars(bars) => bars.rows.iter().any(|row| row.wide),
        }
    }

    /// Rows of bars, which say how tall it has to be; `None` for lines.
    pub(crate) fn bar_rows(&self) -> Option<usize> {
        match &self.drawing {
            Drawing::Lines(_) => None,
            Drawing::Bars(bars) => Some(bars.rows.len()),
        }
    }
}

impl Segment {
    /// Bars of the targets' own colours with a label beside each need no legend, unless they are one segment of several.
    fn key(&self) -> Option<Key> {
        let class = match self.shade {
            Shade::Target => "bar-target",
            Shade::Server => "bar-server",
            Shade::Client => "bar-client",
            Shade::Error => "bar-error",
        };
        (!self.label.is_empty()).then(|| Key { label: self.label.clone(), class: class.to_owned(), mark: None })
    }
}

impl Mark {
    fn of(figure: Figure) -> Self {
        Self { y: figure.median, low: figure.low, high: figure.high, wide: figure.is_wide() }
    }
}

/// What a chart of lines is about.
#[derive(Debug, Clone)]
pub(crate) struct LinesAbout<'t> {
    /// In a few words.
    pub title: &'t str,
    /// The unit, and which way is better.
    pub subtitle: &'t str,
    /// How figures are written.
    pub unit: Unit,
    /// Whether the vertical axis is logarithmic.
    pub y_log: bool,
    /// Whether a ratio above 1 is better; `None` if it is no ratio.
    pub ratio: Option<bool>,
    /// The room it wants.
    pub size: Size,
}

/// A line for each target of which `figure` knows anything; `None` if there is none.
pub(crate) fn lines(
    group: &Group<'_>,
    about: &LinesAbout<'_>,
    figure: impl Fn(Position<'_>, &str) -> Option<Figure>,
) -> Option<Chart> {
    let positions = group.positions();
    let mut series = Vec::new();
    let mut columns: Vec<Vec<Option<Figure>>> = Vec::new();
    for target in group.targets() {
        let figures: Vec<_> = positions.iter().map(|at| figure(*at, &target.key)).collect();
        if figures.iter().all(Option::is_none) {
            continue;
        }
        series.push(Series {
            label: target.label.clone(),
            slot: slot(group.record(), &target.key),
            points: figures.iter().map(|figure| figure.map(Mark::of)).collect(),
        });
        columns.push(figures);
    }
    if series.is_empty() {
        return None;
    }
    let caption = format!("{}, {}: {}", about.title, group.name(), about.subtitle);
    let mut table = Table::new(caption, &[group.axis()], series.iter().map(|line| line.label.clone())).folded();
    for (row, at) in positions.iter().enumerate() {
        let cell = |column: &Vec<Option<Figure>>| match about.ratio {
            Some(higher_is_better) => Cell::ratio(column[row], higher_is_better),
            None => Cell::figure(column[row], about.unit),
        };
        table.push(at.value(), Ok(columns.iter().map(cell).collect()));
    }
    Some(Chart {
        id: String::new(),
        title: about.title.to_owned(),
        subtitle: about.subtitle.to_owned(),
        description: describe_lines(group, about, &series),
        unit: about.unit,
        drawing: Drawing::Lines(axes(group, about, &positions, series)),
        table,
        size: about.size,
    })
}

fn axes(group: &Group<'_>, about: &LinesAbout<'_>, positions: &[Position<'_>], series: Vec<Series>) -> Lines {
    let places: Option<Vec<f64>> = positions.iter().map(|at| at.place().filter(|place| *place > 0.0)).collect();
    Lines {
        axis: group.axis().to_owned(),
        x_log: places.is_some(),
        x: places.unwrap_or_else(|| (1..=positions.len()).map(|place| place as f64).collect()),
        x_names: positions.iter().map(Position::value).collect(),
        y_log: about.y_log,
        y_range: None,
        reference: about.ratio.map(|_| 1.0),
        series,
    }
}

fn describe_lines(group: &Group<'_>, about: &LinesAbout<'_>, series: &[Series]) -> String {
    let names: Vec<&str> = series.iter().map(|line| line.label.as_str()).collect();
    format!(
        "Line chart: {} over {}, {}; {}. A line for each of: {}. The table below has the data.",
        about.title.to_lowercase(),
        group.axis(),
        group.name(),
        about.subtitle,
        names.join(", ")
    )
}

/// Gives charts that are to be compared the same logarithmic vertical axis.
pub(crate) fn share_range(charts: &mut [Chart]) {
    let marks = charts.iter().filter_map(|chart| match &chart.drawing {
        Drawing::Lines(lines) => Some(lines),
        Drawing::Bars(_) => None,
    });
    let marks = marks.flat_map(|lines| &lines.series).flat_map(|series| &series.points).flatten();
    let Some(range) = Figure::of(marks.map(|mark| mark.y)) else { return };
    for chart in charts {
        if let Drawing::Lines(lines) = &mut chart.drawing {
            lines.y_range = Some((range.low, range.high));
        }
    }
}

/// One of the segments of [`bars`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct SegmentAbout {
    /// What it is; empty if it is the only one.
    pub label: &'static str,
    /// Its colour.
    pub shade: Shade,
    /// What is measured.
    pub metric: Metric,
}

/// Bars of each position and target; `None` if nothing was measured.
pub(crate) fn bars(group: &Group<'_>, title: &str, subtitle: &str, segments: &[SegmentAbout]) -> Option<Chart> {
    let unit = segments.first()?.metric.unit();
    let positions = group.positions();
    let mut table = Table::new(
        format!("{title}, {}: {subtitle}", group.name()),
        &[group.axis(), "target"],
        segments.iter().map(|segment| if segment.label.is_empty() { title } else { segment.label }.to_owned()),
    )
    .folded();
    let mut rows = Vec::new();
    let mut values: Vec<Vec<Option<f64>>> = vec![Vec::new(); segments.len()];
    for at in &positions {
        if positions.len() > 1 {
            rows.push(BarRow { label: at.name(), slot: None, wide: false });
            values.iter_mut().for_each(|column| column.push(None));
        }
        for target in group.targets() {
            let figures: Vec<_> =
                segments.iter().map(|segment| group.figure(*at, &target.key, segment.metric)).collect();
            if figures.iter().all(Option::is_none) {
                continue;
            }
            let wide = figures.iter().flatten().any(Figure::is_wide);
            rows.push(BarRow { label: target.label.clone(), slot: Some(slot(group.record(), &target.key)), wide });
            for (column, figure) in values.iter_mut().zip(&figures) {
                column.push(figure.map(|figure| figure.median));
            }
            let cells = figures.iter().map(|figure| Cell::figure(*figure, unit)).collect();
            table.push_grouped(at.name(), [at.value(), target.label.clone()], Ok(cells));
        }
    }
    if table.rows.is_empty() {
        return None;
    }
    let segments = segments.iter().zip(values).map(|(segment, values)| Segment {
        label: segment.label.to_owned(),
        shade: segment.shade,
        values,
    });
    Some(Chart {
        id: String::new(),
        title: title.to_owned(),
        subtitle: subtitle.to_owned(),
        description: format!(
            "Bar chart: {}, {}; {subtitle}. A bar for each target. The table below has the data.",
            title.to_lowercase(),
            group.name()
        ),
        unit,
        drawing: Drawing::Bars(Bars { rows, segments: segments.collect() }),
        table,
        size: Size::Large,
    })
}

/// A chart of lines of one metric.
pub(crate) fn metric_lines(group: &Group<'_>, about: &LinesAbout<'_>, metric: Metric) -> Option<Chart> {
    lines(group, about, |at, target| group.figure(at, target, metric))
}

/// A chart of lines of ratios, without the target that it is against.
pub(crate) fn ratio_lines(group: &Group<'_>, about: &LinesAbout<'_>, against: Against, skip: &[&str]) -> Option<Chart> {
    lines(group, about, |at, target| if skip.contains(&target) { None } else { group.ratio(at, target, against) })
}
