//! The page in a real browser: `scripts/look-at-report` opens it on a phone and on a desktop, light and dark.

use std::path::{Path, PathBuf};
use std::process::Command;

use weir_bench::record::Record;
use weir_bench::report;

use crate::{page, sample};

/// Writes the reports and looks at them; pictures stay in the target directory.
fn look_at(name: &str, record: &Record) {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("report").join(name);
    std::fs::create_dir_all(&dir).expect("the target directory can be written");
    let written = report::write(record, &dir).expect("the report is written");
    let script: PathBuf = [env!("CARGO_MANIFEST_DIR"), "..", "..", "scripts", "look-at-report"].iter().collect();
    let looked = Command::new(script).arg("--out").arg(&dir).arg(&written[1]).output().expect("the script starts");
    assert!(
        looked.status.success(),
        "{}\n{}",
        String::from_utf8_lossy(&looked.stdout),
        String::from_utf8_lossy(&looked.stderr)
    );
}

#[test]
fn the_full_report_is_drawn_and_readable_everywhere() {
    look_at("overhead", &sample::overhead());
}

#[test]
fn the_kingshard_report_is_drawn_and_readable_everywhere() {
    look_at("kingshard", &sample::kingshard());
}

#[test]
fn the_polardb_report_is_drawn_and_readable_everywhere() {
    look_at("polardb", &sample::polardb());
}

#[test]
fn a_single_round_at_one_number_of_clients_is_drawn() {
    let mut record = Record { complete: false, ..sample::small() };
    record.points.retain(|point| point.clients != 256);
    record.points.iter_mut().for_each(|point| point.runs.truncate(1));
    look_at("single", &record);
}

#[test]
fn hostile_text_is_shown_and_does_nothing() {
    look_at("hostile", &page::hostile());
}
