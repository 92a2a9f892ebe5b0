//! Records on disk: `DIR/NAME.json`.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use crate::error::BenchError;
use crate::record::{FORMAT, Record};
use crate::report;

/// Writes a record into `dir`, which must exist; either all of it is there afterwards, or what was there before.
pub(crate) fn write(record: &Record, dir: &Path) -> Result<PathBuf, BenchError> {
    let path = dir.join(format!("{}.json", record.name));
    let partial = path.with_extension("json.partial");
    let json = serde_json::to_string_pretty(record).map_err(|error| no_record(&path, error.to_string()))?;
    fs::write(&partial, json + "\n").map_err(BenchError::io("write", &partial))?;
    fs::rename(&partial, &path).map_err(BenchError::io("write", &path))?;
    Ok(path)
}

/// Reads a record.
///
/// Errors: the file is none, or a later version's.
pub fn read(path: &Path) -> Result<Record, BenchError> {
    let text = fs::read_to_string(path).map_err(BenchError::io("read", path))?;
    let value: serde_json::Value = serde_json::from_str(&text).map_err(|error| no_record(path, error.to_string()))?;
    let format = value.get("format").and_then(serde_json::Value::as_u64);
    if format > Some(u64::from(FORMAT)) {
        return Err(no_record(path, "it was written by a later version of Weir".to_owned()));
    }
    serde_json::from_value(value).map_err(|error| no_record(path, format!("it is not the record of a bench ({error})")))
}

/// Makes the reports of all records in `dir` again; tells which files were written.
///
/// Errors: there is no record, or one can't be read.
pub fn report_again(dir: &Path) -> Result<Vec<PathBuf>, BenchError> {
    let entries = fs::read_dir(dir).map_err(BenchError::io("read", dir))?;
    let mut records: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    records.retain(|path| path.extension() == Some(OsStr::new("json")));
    records.sort();
    if records.is_empty() {
        return Err(no_record(dir, "there is no record (*.json) in this directory".to_owned()));
    }
    let mut written = Vec::new();
    for path in records {
        written.extend(report::write(&read(&path)?, dir)?);
    }
    Ok(written)
}

fn no_record(path: &Path, reason: String) -> BenchError {
    BenchError::NoRecord { path: path.to_path_buf(), reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> Record {
        serde_json::from_value(serde_json::json!({
            "format": FORMAT, "name": "overhead", "title": "?", "started": "2026-01-02T03:04:05Z", "seconds": 1.5,
            "complete": true, "command": "weir bench run overhead",
            "machine": {"cpu": "", "cores": 2, "memory_bytes": 0, "kernel": "", "os": ""},
            "versions": {}, "settings": {}, "targets": [], "points": [], "notes": []
        }))
        .expect("a record")
    }

    #[test]
    fn a_record_is_read_back_as_it_was_written() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = write(&record(), dir.path()).expect("written");
        assert_eq!(path, dir.path().join("overhead.json"));
        assert_eq!(read(&path).expect("read"), record());
        assert_eq!(fs::read_dir(dir.path()).expect("a directory").count(), 1, "nothing else is left");
    }

    #[test]
    fn what_is_no_record_is_refused_with_the_reason() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("x.json");
        for (text, reason) in [
            ("{}", "not the record of a bench"),
            ("not JSON", "expected"),
            (r#"{"format": 2, "points": "unknown"}"#, "later version"),
        ] {
            fs::write(&path, text).expect("written");
            let error = report_again(dir.path()).expect_err(text).to_string();
            assert!(error.contains(reason), "{error}");
        }
        fs::remove_file(&path).expect("removed");
        let error = report_again(dir.path()).expect_err("an empty directory").to_string();
        assert!(error.contains("there is no record"), "{error}");
    }
}
