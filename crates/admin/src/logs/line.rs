//! What is logged: one JSON object per line.

use std::time::{Duration, SystemTime};

use serde::Serialize;

use crate::digests::Digested;
use crate::shown::rfc3339;

/// The most bytes of a text.
const LONGEST: usize = 4096;

/// What has happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Event {
    /// A client has logged in.
    Connect,
    /// Its session has ended.
    Disconnect,
    /// A login was refused.
    FailedLogin,
    /// A command of Weir's own was given.
    Admin,
    /// A statement has ended.
    Statement,
}

/// Whose session it is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Who {
    /// Its connection id; 0 for the REST interface.
    pub session: u32,
    /// The user.
    pub user: String,
    /// The client's address.
    pub host: String,
    /// The default database.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub db: Option<String>,
}

/// A line.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LogLine {
    #[serde(serialize_with = "as_rfc3339")]
    time: SystemTime,
    event: Event,
    #[serde(flatten)]
    who: Who,
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    digest: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    duration_ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rows_sent: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rows_affected: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    place: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lane: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    batch: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    gathered_rows: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    gathered_bytes: Option<u64>,
}

fn as_rfc3339<S: serde::Serializer>(time: &SystemTime, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&rfc3339(*time))
}

/// How a statement ended, for its line.
#[derive(Debug, Clone)]
pub struct Ended<'a> {
    /// How long it took.
    pub time: Duration,
    /// Rows sent to the client.
    pub rows_sent: u64,
    /// Rows changed.
    pub rows_affected: u64,
    /// The error that the client was told.
    pub error: Option<u16>,
    /// The server that ran it.
    pub server: Option<&'a str>,
    /// What that server is.
    pub place: &'static str,
    /// It rode a lane.
    pub lane: bool,
    /// It was one of so many in a batch.
    pub batch: Option<usize>,
    /// The rows and bytes that it has gathered on one server.
    pub gathered: Option<(u64, u64)>,
}

impl LogLine {
    /// Something has happened just now.
    pub fn new(event: Event, who: Who) -> LogLine {
        LogLine {
            time: SystemTime::now(),
            event,
            who,
            kind: None,
            digest: None,
            text: None,
            duration_ms: None,
            rows_sent: None,
            rows_affected: None,
            error: None,
            server: None,
            place: None,
            lane: None,
            batch: None,
            gathered_rows: None,
            gathered_bytes: None,
        }
    }

    /// A statement has ended just now.
    pub fn statement(who: Who, entry: &Digested, text: String, ended: &Ended<'_>) -> LogLine {
        LogLine {
            kind: Some(entry.kind.name()),
            digest: Some(entry.digest.to_string()),
            text: Some(text),
            duration_ms: Some(ended.time.as_micros() as f64 / 1000.0),
            rows_sent: Some(ended.rows_sent),
            rows_affected: Some(ended.rows_affected),
            error: ended.error,
            server: ended.server.map(str::to_owned),
            place: Some(ended.place),
            lane: Some(ended.lane),
            batch: ended.batch,
            gathered_rows: ended.gathered.map(|(rows, _)| rows),
            gathered_bytes: ended.gathered.map(|(_, bytes)| bytes),
            ..LogLine::new(Event::Statement, who)
        }
    }

    /// The same, with an error.
    pub fn with_error(self, error: Option<u16>) -> LogLine {
        LogLine { error, ..self }
    }

    /// The same, with a text.
    pub fn with_text(self, text: String) -> LogLine {
        LogLine { text: Some(text), ..self }
    }

    /// Appends the line to a buffer.
    pub(super) fn put(&self, out: &mut Vec<u8>) {
        let before = out.len();
        match serde_json::to_writer(&mut *out, self) {
            Ok(()) => out.push(b'\n'),
            Err(_) => out.truncate(before),
        }
    }
}

/// What a line shows of a statement's text.
pub fn text_of(entry: &Digested, text: &[u8], literals: bool) -> String {
    if !literals || entry.secret {
        return entry.text.to_string();
    }
    let cut = &text[..text.len().min(LONGEST)];
    let mut shown = String::from_utf8_lossy(cut).into_owned();
    if cut.len() < text.len() {
        shown.push_str("...");
    }
    shown
}
