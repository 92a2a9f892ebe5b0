//! The form of PolarDB's published report on read/write splitting: queries per second by the number of replicas and by
//! level, where the reads ran, and how fresh they were.

use super::super::document::Section;
use super::super::format::{self, Unit};
use super::super::group::{self, Group, Position, WEIR, groups};
use super::super::metric::{Metric, REPLICA};
use super::super::stats::{Figure, over_rounds};
use super::super::table::{Cell, Table};
use super::sweep::each_point;
use super::{settings_as_targets, tables_section};
use crate::record::{Point, Record, Run, Target};

/// The bench that is reported in this form.
pub(crate) const NAME: &str = "polardb";
/// The workload that looks for stale reads.
const FRESHNESS: &str = "freshness";
/// The workload without reads.
const WRITES: &str = "oltp_write_only";
/// The level of the main line.
const SESSION: &str = "session";
/// Statements that read, as servers count them.
const SELECTS: &str = "Com_select";

/// Replicas and level of a point's setting: `replicas=3, session`.
fn splitting(variant: &str) -> Option<(u32, &str)> {
    let (replicas, level) = variant.strip_prefix("replicas=")?.split_once(", ")?;
    Some((replicas.parse().ok()?, level))
}

fn level_of(point: &Point) -> Option<&str> {
    splitting(point.variant.as_deref()?).map(|(_, level)| level)
}

/// The record with a target for each number of replicas at level `session`, which the sections that all benches have then
/// compare over clients.
pub(crate) fn by_replicas(record: &Record) -> Record {
    let is_session = |point: &&Point| point.variant.is_none() || level_of(point) == Some(SESSION);
    let shown = record.points.iter().filter(|point| point.workload != FRESHNESS).filter(is_session);
    as_targets(record, shown, |replicas, _| format!("{}, {}", group::label(record, WEIR), count(replicas)))
}

/// The record with a target for each level, at the points where there are others than `session`.
pub(crate) fn by_level(record: &Record) -> Record {
    let is_compared = |point: &&Point| {
        let alike = |other: &&Point| {
            (&other.workload, other.prepared, other.clients) == (&point.workload, point.prepared, point.clients)
        };
        let replicas = |point: &Point| point.variant.as_deref().and_then(splitting).map(|(replicas, _)| replicas);
        let others =
            record.points.iter().filter(alike).filter(|other| level_of(other).is_some_and(|level| level != SESSION));
        others.map(replicas).any(|others| others.is_some() && others == replicas(point))
    };
    let shown = record.points.iter().filter(is_compared);
    as_targets(record, shown, |_, level| level.to_owned())
}

fn count(replicas: u32) -> String {
    format!("{replicas} {}", if replicas == 1 { "replica" } else { "replicas" })
}

/// The record with these points, a target for each number of replicas and level.
fn as_targets<'a>(
    record: &Record,
    points: impl Iterator<Item = &'a Point>,
    label: impl Fn(u32, &str) -> String,
) -> Record {
    settings_as_targets(record, points, |variant| {
        let (replicas, level) = splitting(variant)?;
        Some((format!("{replicas}-{level}"), label(replicas, level)))
    })
}

/// The report's own tables, before the sections that all benches have.
pub(crate) fn sections(record: &Record) -> Vec<Section> {
    let (replicas, levels) = (by_replicas(record), by_level(record));
    let (fresh, levels): (Vec<_>, Vec<_>) = groups(&levels).into_iter().partition(|group| group.workload == FRESHNESS);
    let replicas = groups(&replicas);
    let throughput = replicas.iter().map(|group| throughput(group, "by the number of replicas, at level session"));
    let by_level = levels.iter().map(|group| figures(group, "by level, with all replicas"));
    let reading = replicas.iter().filter(|group| group.workload != WRITES);
    let mut shares: Vec<_> = reading.map(|group| shares_of(group, "by the number of replicas")).collect();
    shares.extend(levels.iter().map(|group| shares_of(group, "by level")));
    [
        tables_section("Queries per second by replicas", &about_machine(record), throughput.collect()),
        tables_section("Levels", ABOUT_LEVELS, by_level.collect()),
        tables_section("Where the reads ran", ABOUT_SHARES, shares),
        tables_section("Stale reads", ABOUT_STALE, fresh.iter().map(stale_reads).collect()),
    ]
    .into_iter()
    .flatten()
    .collect()
}

const ABOUT_LEVELS: &str = "The same load at each level of consistency. Reads of the level primary stay on the writer; those \
    of strong ask it for its position before they go to a replica.";
const ABOUT_SHARES: &str = "The share of each server in all SELECTs that the servers counted during the run (Com_select), and \
    statements that Weir itself counted on replicas, per query of the load. At level session a client that never pauses \
    stays with its replica: the shares of a few clients are uneven. The servers' counts hold Weir's own small \
    questions, too: probes of the monitor, positions of the writer (at level strong many reads share one), and waits for a \
    position on a replica. Late: the replica was not there in time, and another server answered. Rerouted: late or failed, \
    answered by another.";
const ABOUT_STALE: &str = "Each client writes a counter, reads it back, and reads another client's counter. Stale: the client's own \
    acknowledged write is missing. Step back: older than what the client had read before. Behind others: what had been acknowledged \
    to the other client before the read was sent is missing, which only strong and primary exclude. At session and above there must be \
    neither a stale read nor a step back.";

/// What a reader must know before the first figure.
fn about_machine(record: &Record) -> String {
    let replicas = record.settings.get("replicas").map_or("0", String::as_str);
    format!(
        "The writer, {replicas} of its replicas, Weir and the load tool share {} cores here: more replicas can't give more queries per \
         second on one machine. What the figures show is what splitting costs; where each server has a machine of its own, the \
         shares below say what each of them would be spared. All replicas run and \
         replicate at every point, whether Weir reads from them or not; CPU and memory of the server are those of all of them together.",
        record.machine.cores
    )
}

/// QPS: a row for each number of clients, a column for each target.
fn throughput(group: &Group<'_>, what: &str) -> Table {
    let targets = group.targets();
    let names = targets.iter().map(|target| target.label.clone());
    let mut table = Table::new(format!("{}: queries per second {what}", group.name()), &[group.axis()], names);
    for at in group.positions() {
        let cell = |target: &&Target| match group.missing(at, &target.key) {
            Some(reason) => Cell::alarm(reason),
            None => Cell::figure(group.figure(at, &target.key, Metric::Qps), Unit::Count),
        };
        table.push(at.value(), Ok(targets.iter().map(cell).collect()));
    }
    table
}

/// QPS and latency: a row for each number of clients and target.
fn figures(group: &Group<'_>, what: &str) -> Table {
    let metrics = [("QPS", Metric::Qps), ("p50 ms", Metric::P50), ("p95 ms", Metric::P95), ("errors", Metric::Errors)];
    let names = metrics.map(|(name, _)| name.to_owned());
    let mut table = Table::new(format!("{}, {what}", group.name()), &[group.axis(), "level"], names);
    each_point(group, &mut table, |at, target| {
        let cell = |(_, metric)| match (metric, group.figure(at, target, metric)) {
            (Metric::Errors, figure) => Cell::errors(figure),
            (metric, figure) => Cell::figure(figure, metric.unit()),
        };
        metrics.map(cell).into()
    });
    table
}

/// Each server's share of the SELECTs, and what Weir counted.
fn shares_of(group: &Group<'_>, what: &str) -> Table {
    let runs = |at: Position<'_>, target: &str| group.point(at, target).map_or(&[][..], |point| point.runs.as_slice());
    let all = group.positions().into_iter().flat_map(|at| group.targets().into_iter().map(move |target| (at, target)));
    let replicas = all.flat_map(|(at, target)| runs(at, &target.key)).map(replicas_of).max().unwrap_or(0);
    let mut names = vec!["writer".to_owned()];
    names.extend((1..=replicas).map(|number| format!("{REPLICA}{number}")));
    names.extend(["on replicas", "late", "rerouted"].map(str::to_owned));
    let mut table =
        Table::new(format!("{}: share of the reads {what}", group.name()), &[group.axis(), "through"], names);
    each_point(group, &mut table, |at, target| {
        let runs = runs(at, target);
        let share = |counter: String| percent(over_rounds(runs, |run| share(run, &counter)));
        let of_replica = |number| share(format!("{REPLICA}{number}.{SELECTS}"));
        let mut cells = vec![share(SELECTS.to_owned())];
        cells.extend((1..=replicas).map(of_replica));
        cells.push(percent(over_rounds(runs, |run| Some(counter(run, "weir.reads_on_readers")? / run.queries as f64))));
        let counted = |name| Cell::figure(over_rounds(runs, |run| counter(run, name)), Unit::Count);
        cells.extend(["weir.reads_late", "weir.reads_rerouted"].map(counted));
        cells
    });
    table
}

/// What the clients found who looked for stale reads.
fn stale_reads(group: &Group<'_>) -> Table {
    let columns = ["reads", "stale", "steps back", "behind others", "on replicas", "late", "errors"];
    let mut table = Table::new(group.name(), &[group.axis(), "level"], columns.map(str::to_owned));
    each_point(group, &mut table, |at, target| {
        let runs = group.point(at, target).map_or(&[][..], |point| point.runs.as_slice());
        let sum = |name: &str| runs.iter().filter_map(|run| run.counters.get(name)).sum::<i64>();
        let whole = |name: &str| format::whole(sum(name).unsigned_abs());
        let promised = |name: &str, is_promised: bool| match is_promised && sum(name) > 0 {
            true => Cell::alarm(whole(name)),
            false => Cell::plain(whole(name)),
        };
        let reads = sum("freshness.reads");
        let is_eventual = target.ends_with("eventual");
        let is_current = ["strong", "primary"].iter().any(|level| target.ends_with(level));
        vec![
            Cell::plain(whole("freshness.reads")),
            promised("freshness.stale_own", !is_eventual),
            promised("freshness.steps_back", !is_eventual),
            promised("freshness.behind_others", is_current),
            percent(Figure::of((reads > 0).then(|| sum("weir.reads_on_readers") as f64 / reads as f64))),
            Cell::plain(whole("weir.reads_late")),
            Cell::errors(group.figure(at, target, Metric::Errors)),
        ]
    });
    table
}

fn counter(run: &Run, name: &str) -> Option<f64> {
    run.counters.get(name).map(|count| *count as f64)
}

/// How many replicas' counters a run has.
fn replicas_of(run: &Run) -> usize {
    (1..).take_while(|number| run.counters.contains_key(&format!("{REPLICA}{number}.{SELECTS}"))).count()
}

/// A server's share of what all have counted.
fn share(run: &Run, name: &str) -> Option<f64> {
    let replicas = (1..=replicas_of(run)).filter_map(|number| counter(run, &format!("{REPLICA}{number}.{SELECTS}")));
    let all = counter(run, SELECTS)? + replicas.sum::<f64>();
    (all > 0.0).then_some(counter(run, name)? / all)
}

fn percent(share: Option<Figure>) -> Cell {
    share.map_or_else(|| Cell::plain("–"), |share| Cell::plain(format::percent(share.median)))
}
