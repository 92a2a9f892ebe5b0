//! What the log writes, and what it leaves out.

use std::sync::Mutex;

use serde_json::Value;
use tracing::subscriber::with_default;

use super::*;

/// The lines that `events` writes through a log of this form, read back from its file.
fn logged(format: LogFormat, filter: EnvFilter, events: impl FnOnce()) -> Vec<String> {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("weir.log");
    let file = Mutex::new(open(&path).expect("a new file"));
    with_default(subscriber(filter, format, file, false), events);
    let text = std::fs::read_to_string(&path).expect("the log");
    text.lines().map(str::to_owned).collect()
}

#[test]
fn a_json_log_is_one_object_per_line_with_the_fields_of_the_event() {
    let filter = filter(LogLevel::Info, None).expect("a filter");
    let lines = logged(LogFormat::Json, filter, || {
        tracing::info!(server = "db1", "up\nagain");
        tracing::debug!("not at this level");
    });
    assert_eq!(lines.len(), 1);
    let event: Value = serde_json::from_str(&lines[0]).expect("JSON");
    assert_eq!(event["message"], "up\nagain");
    assert_eq!(event["server"], "db1");
    assert_eq!(event["level"], "INFO");
}

#[test]
fn a_text_log_has_no_colours_in_a_file() {
    let filter = filter(LogLevel::Warn, None).expect("a filter");
    let lines = logged(LogFormat::Text, filter, || tracing::warn!("slow"));
    assert_eq!(lines.len(), 1);
    assert!(lines[0].ends_with("slow") && lines[0].contains("WARN"));
    assert!(!lines[0].contains('\u{1b}'));
}

#[test]
fn the_variable_overrides_the_level_and_an_empty_one_does_not() {
    let both = || {
        tracing::debug!("fine");
        tracing::error!("bad");
    };
    let override_with = |value: &str| filter(LogLevel::Error, Some(value.to_owned()));
    let debug = override_with("debug").expect("a filter");
    assert_eq!(logged(LogFormat::Text, debug, both).len(), 2);
    let empty = override_with("").expect("a filter");
    assert_eq!(logged(LogFormat::Text, empty, both).len(), 1);
    let error = override_with("weir=loud").expect_err("no such level");
    assert!(error.to_string().starts_with("WEIR_LOG=`weir=loud` is not a level"));
}
