//! The Markdown report and the terminal's summary.

use std::path::Path;

use weir_bench::record::Record;
use weir_bench::report;

use crate::sample;

/// The whole Markdown of a record.
fn markdown(record: &Record) -> String {
    let dir = tempfile::tempdir().expect("a directory");
    let written = report::write(record, dir.path()).expect("the report is written");
    let names: Vec<_> = written.iter().filter_map(|path| path.file_name()?.to_str()).collect();
    assert_eq!(names, [format!("{}.md", record.name), format!("{}.html", record.name)]);
    std::fs::read_to_string(&written[0]).expect("the Markdown is there")
}

/// Compares with the file kept beside this one; with WEIR_BLESS set, writes it.
fn same_as_kept(name: &str, text: &str) {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/report/kept").join(name);
    if std::env::var_os("WEIR_BLESS").is_some() {
        std::fs::write(&kept, text).expect("the kept file can be written");
    }
    let expected = std::fs::read_to_string(&kept).expect("the kept file is there");
    let now = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&now, text).expect("the target directory can be written");
    assert!(text == expected, "{} differs from {}; WEIR_BLESS=1 keeps the new one", now.display(), kept.display());
}

/// The line that begins so.
fn line<'a>(text: &'a str, beginning: &str) -> &'a str {
    text.lines().find(|line| line.starts_with(beginning)).unwrap_or_else(|| panic!("{beginning:?} is not in:\n{text}"))
}

#[test]
fn the_markdown_of_a_small_record_is_the_kept_one() {
    same_as_kept("small.md", &markdown(&sample::small()));
}

#[test]
fn the_summary_of_a_small_record_is_the_kept_one() {
    same_as_kept("small-summary.md", &report::summary(&sample::small()));
}

#[test]
fn the_summary_of_a_kingshard_record_is_the_kept_one() {
    same_as_kept("kingshard-summary.md", &report::summary(&sample::kingshard()));
}

#[test]
fn the_summary_of_a_polardb_record_is_the_kept_one() {
    same_as_kept("polardb-summary.md", &report::summary(&sample::polardb()));
}

#[test]
fn the_summary_of_a_radon_record_is_the_kept_one() {
    same_as_kept("radon-summary.md", &report::summary(&sample::radon()));
}

#[test]
fn each_number_of_shards_and_partitions_is_compared_with_one_server() {
    let text = markdown(&sample::radon());
    let sections: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("## ")).collect();
    let expected =
        ["Transactions per second", "Compared with one server", "What a statement costs", "A scatter", "A merge"];
    assert_eq!(sections[1..6], expected, "{sections:?}");
    assert!(text.contains("Weir, 2 shards, 64 partitions"), "{text}");
    assert!(!text.contains("not measured"), "points that the plan does not have are not missing: {text}");
}

#[test]
fn each_number_of_replicas_is_compared_with_direct_in_the_full_report() {
    let text = markdown(&sample::polardb());
    let sections: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("## ")).collect();
    let expected =
        ["Queries per second by replicas", "Levels", "Where the reads ran", "Stale reads", "oltp_point_select"];
    assert_eq!(sections[1..6], expected, "{sections:?}");
    assert!(
        text.contains("- Weir, 2 replicas at 1 client: not all of its 2 replicas take reads after 60 s."),
        "{text}"
    );
    assert!(!text.contains("not measured"), "points that the plan does not have are not missing: {text}");
}

#[test]
fn ratios_are_taken_round_by_round() {
    let mut record = sample::small();
    record.points.retain(|point| point.clients == 16 && ["direct", "weir"].contains(&&*point.target));
    record.targets.retain(|target| target.key != "haproxy");
    for (point, rounds) in record.points.iter_mut().zip([[5.0, 40.0, 30.0], [10.0, 20.0, 90.0]]) {
        point.runs.iter_mut().zip(rounds).for_each(|(run, qps)| run.qps = qps);
    }
    // The medians are 30 and 20, their ratio 0.67; the rounds' ratios are 2, 0.5 and 3.
    let summary = report::summary(&record);
    assert!(line(&summary, "| oltp_point_select").contains("| 2.00 (125%!) |"), "{summary}");
}

#[test]
fn a_stopped_run_says_so_before_anything_else() {
    let record = Record { complete: false, ..sample::small() };
    let warning = "**This run was stopped before its end: it holds what was measured until then.**";
    assert_eq!(markdown(&record).lines().nth(2), Some(warning));
    assert_eq!(report::summary(&record).lines().next(), Some(warning));
}

#[test]
fn a_point_that_a_stopped_run_did_not_reach_is_named() {
    let mut record = Record { complete: false, ..sample::small() };
    record.points.retain(|point| (point.clients, &*point.target) != (256, "weir"));
    assert!(markdown(&record).contains("- Weir at 256 clients: not reached before the run was stopped."));
}

#[test]
fn single_rounds_are_reported_without_spreads_and_with_a_warning() {
    let mut record = sample::small();
    record.points.iter_mut().for_each(|point| point.runs.truncate(1));
    let text = markdown(&record);
    assert!(text.contains("**Each point was run once"), "{text}");
    let figures = line(&text, "| 16      | Weir");
    assert!(!figures.contains('%'), "{figures}");
}

#[test]
fn a_record_without_points_says_that_nothing_was_measured() {
    let text = markdown(&sample::empty("overhead", "Nothing?"));
    assert!(text.contains("**Nothing was measured.**"), "{text}");
}

#[test]
fn without_weir_the_summary_shows_the_figures_themselves() {
    let mut record = sample::small();
    record.targets.retain(|target| target.key != "weir");
    record.points.retain(|point| point.target != "weir");
    let summary = report::summary(&record);
    assert!(!summary.contains("What to see"), "{summary}");
    assert!(summary.contains("queries per second"), "{summary}");
}
