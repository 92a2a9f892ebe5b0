//! What the log writes, and what it leaves out.

use serde_json::Value;
use tracing::subscriber::with_default;

use super::*;

/// The lines that `events` writes through a log of this form, read back from its file.
fn logged(format: LogFormat, (_, filter): (Level, EnvFilter), events: impl FnOnce()) -> Vec<String> {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("weir.log");
    let log = Log { level: LogLevel::Info, format, file: Some(path.clone()) };
    let (filter, _) = reload::Layer::new(filter);
    with_default(tracing_subscriber::registry().with(filter).with(output(&log).expect("a new file")), events);
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

#[test]
fn level_form_and_file_can_be_changed_while_events_come() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = |name: &str| directory.path().join(name);
    let log = |format, name| Log { level: LogLevel::Info, format, file: Some(file(name)) };
    let new = |log: &Log| {
        let (level, filter) = filter(log.level, None).expect("a filter");
        NewLog { level, filter, output: output(log).expect("a new file") }
    };
    let (control, filter, output) = control(new(&log(LogFormat::Text, "one")));
    with_default(tracing_subscriber::registry().with(filter).with(output), || {
        tracing::debug!("before");
        control.set_level("warn,weir::logging=debug").expect("levels");
        tracing::debug!("after");
        control.set_level("loud=quiet").expect_err("no level");
        control.set_level("loud").expect_err("no level");
        tracing::debug!("still");
        let expected = Level { text: "warn,weir::logging=debug".to_owned(), overridden_by: Some("SET LOG LEVEL") };
        assert_eq!(control.level(), expected);
        control.configure(new(&log(LogFormat::Json, "two")));
        tracing::debug!("too much");
        tracing::info!("elsewhere");
        // Rotated: renamed, and opened anew.
        std::fs::rename(file("two"), file("three")).expect("renamed");
        tracing::info!("to the old file");
        control.configure(new(&log(LogFormat::Json, "two")));
        tracing::info!("to the new file");
    });
    let text = |name: &str| std::fs::read_to_string(file(name)).expect("the log");
    let (one, two, three) = (text("one"), text("two"), text("three"));
    assert!(
        !one.contains("before") && one.contains("after") && one.contains("still") && !one.contains("else"),
        "{one}"
    );
    assert_eq!(three.lines().count(), 2, "{three}");
    let event: Value = serde_json::from_str(&two).expect("one line of JSON");
    assert_eq!(event["message"], "to the new file");
    assert_eq!(control.level().overridden_by, None);
}
