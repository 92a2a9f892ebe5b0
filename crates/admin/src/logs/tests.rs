//! Files, queues and lines, on a real file system.

use std::path::Path;

use serde_json::Value as Json;

use super::file::LogFile;
use super::*;
use crate::digests::Table;

fn settings(path: &Path, max_size: u64, keep: u32) -> FileSettings {
    FileSettings { path: path.to_owned(), max_size, keep }
}

fn line(user: &str) -> LogLine {
    LogLine::new(Event::Connect, Who { session: 7, user: user.into(), host: "10.0.0.1:5000".into(), db: None })
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).expect("the file is there")
}

#[test]
fn a_file_is_begun_anew_when_it_gets_large_and_old_ones_go() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("slow.log");
    let mut file = LogFile::open(settings(&path, 10, 2)).expect("it can be opened");
    for text in ["aaaa\n", "bbbb\n", "cccc\n", "dddd\n", "eeee\n", "ffff\n", "gggg\n"] {
        file.write(text.as_bytes()).expect("it can be written");
    }
    let numbered = |number: &str| dir.path().join(format!("slow.log.{number}"));
    assert_eq!(
        (read(&path), read(&numbered("1")), read(&numbered("2"))),
        ("gggg\n".into(), "eeee\nffff\n".into(), "cccc\ndddd\n".into())
    );
    assert!(!numbered("3").exists());

    // One that was renamed by somebody else is left alone, and a new one begun.
    std::fs::rename(&path, dir.path().join("taken")).expect("it can be renamed");
    file.rotate().expect("it can be opened");
    file.write(b"hhhh\n").expect("it can be written");
    assert_eq!((read(&path), read(&numbered("1"))), ("hhhh\n".into(), "eeee\nffff\n".into()));
    drop(file);
    let mut again = LogFile::open(settings(&path, 10, 0)).expect("it can be opened");
    again.write(b"iiii\n").expect("it can be written");
    assert_eq!(read(&path), "hhhh\niiii\n");
    again.write(b"jjjj\n").expect("it can be written");
    assert_eq!(read(&path), "jjjj\n");
}

#[test]
fn lines_are_json_objects_with_the_time_first() {
    let mut out = Vec::new();
    line("app").with_error(Some(1045)).put(&mut out);
    let text = String::from_utf8(out).expect("UTF-8");
    assert!(text.starts_with("{\"time\":\"20") && text.ends_with("}\n"), "{text}");
    let json: Json = serde_json::from_str(&text).expect("JSON");
    let expected = ("connect", 7, "app", "10.0.0.1:5000", 1045);
    let got = (&json["event"], &json["session"], &json["user"], &json["host"], &json["error"]);
    assert_eq!(got.0, expected.0);
    assert_eq!((got.1.as_u64(), got.4.as_u64()), (Some(expected.1), Some(expected.4)));
    assert_eq!((got.2.as_str(), got.3.as_str()), (Some(expected.2), Some(expected.3)));
    assert!(json.get("db").is_none());
}

#[test]
fn literals_are_shown_only_if_asked_for_and_never_passwords() {
    let shown = |text: &str, literals: bool| {
        let mode = weir_sql::LexMode::default();
        let entry = Table::default().entry(text.as_bytes(), mode, &weir_sql::classify(text.as_bytes(), mode));
        text_of(&entry, text.as_bytes(), literals)
    };
    assert_eq!(shown("SELECT 'x'", false), "SELECT ?");
    assert_eq!(shown("SELECT 'x'", true), "SELECT 'x'");
    assert_eq!(shown("SET PASSWORD = 'hunter2'", true), "SET PASSWORD = ?");
    let long = format!("SELECT '{}'", "x".repeat(10_000));
    assert_eq!(shown(&long, true).len(), 4096 + 3);
}

#[test]
fn what_can_not_be_written_is_counted_or_kept_until_it_can() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("log");
    let disk_full = settings(Path::new("/dev/full"), 1 << 20, 1);
    let losing = Writer::start("slow", disk_full.clone(), false).expect("it can be opened");
    losing.log(line("one"));
    assert!(losing.close(Duration::from_secs(30)), "nothing is left");
    assert_eq!((losing.lines(), losing.lost()), (0, 1));
    assert!(losing.failing().expect("it fails").contains("space"));

    let keeping = Writer::start("audit", disk_full, true).expect("it can be opened");
    let slot = keeping.reserve().expect("there is room");
    keeping.fill(slot, line("two"));
    let begun = std::time::Instant::now();
    while keeping.failing().is_none() {
        assert!(begun.elapsed() < Duration::from_secs(30), "the failure is told");
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(keeping.reserve().expect_err("no more").contains("space"));
    assert!(!keeping.close(Duration::from_secs(30)), "a line is left");
    assert_eq!(keeping.lost(), 0);

    let good = Writer::start("audit", settings(&path, 1 << 20, 1), true).expect("it can be opened");
    for _ in 0..1000 {
        good.log(line("three"));
    }
    assert!(good.close(Duration::from_secs(30)));
    assert_eq!((good.lines(), good.lost(), read(&path).lines().count()), (1000, 0, 1000));
}

#[test]
fn a_full_queue_takes_no_line() {
    let keeping = Writer::start("audit", settings(Path::new("/dev/full"), 1 << 20, 1), true).expect("opened");
    let mut slots = Vec::new();
    while let Ok(slot) = keeping.reserve() {
        slots.push(slot);
        assert!(slots.len() < 1_000_000, "the queue is bounded");
    }
    keeping.log(line("one"));
    assert_eq!(keeping.lost(), 1);
    slots.pop();
    assert!(keeping.reserve().is_ok(), "a place that was given back can be had");
}
