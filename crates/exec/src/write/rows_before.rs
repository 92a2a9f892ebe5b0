//! Rows that are read before a write: keys of rows that will be changed, and rows of INSERT … SELECT.
//!
//! What must always hold: they are read in the write's own transaction; every value becomes a literal that is that value exactly; memory
//! is bounded.

use weir_backend::Profile;
use weir_backend::profile::set_texts;
use weir_plan::write::literal::{put_binary_hex, put_text_hex};
use weir_plan::{ByKey, Form, Gather, Read, RowSource};
use weir_wire::Failure;
use weir_wire::error::codes;

use super::WriteContext;
use super::send::confirm;
use crate::read::{self, ColumnKind, Row};
use crate::values::row::{put_value, put_value_after};
use crate::values::{MOST_STATEMENT, results_charset};
use crate::{Request, ShardLease, workbench};

/// What texts come in while rows are read that are written again: it has all characters.
pub(super) const CHARSET: &str = "utf8mb4";

/// The text that changes the rows that were found, or one for each, in the order of the rows, if that is asked for.
pub(super) async fn changing(
    parts: &mut [ShardLease],
    bench: Option<&mut ShardLease>,
    (gather, change): (&Gather, &ByKey),
    session: &WriteContext<'_>,
) -> Result<Vec<Vec<u8>>, Failure> {
    let one_by_one = gather.returns_in_order && !change.global;
    let (mut keys, mut bytes): (Vec<Vec<u8>>, usize) = (vec![Vec::new()], 0);
    let put = |row: &Row<'_>| {
        let mut key = Vec::new();
        put_key(&mut key, row, change.place, &change.forms)?;
        bytes += match one_by_one {
            true => (change.head.len() + key.len() + change.tail.len()) * change.shards.len(),
            false => key.len() + 1,
        };
        match keys.last_mut() {
            Some(last) if last.is_empty() => *last = key,
            Some(last) if !one_by_one => {
                last.push(b',');
                last.extend_from_slice(&key);
            }
            _ => keys.push(key),
        }
        Ok(bytes)
    };
    let found = rows_of(parts, bench, (&gather.rows, gather.ignore), session, put).await?;
    if found.rows == 0 {
        // No row is meant; the server still says what is wrong with the statement.
        keys = vec![format!("({})", vec!["NULL"; change.forms.len()].join(",")).into_bytes()];
    }
    Ok(keys.iter().map(|keys| [&change.head[..], keys, &change.tail].concat()).collect())
}

/// The values of a row's primary key, which begin at `place`, in parentheses.
pub(super) fn put_key(out: &mut Vec<u8>, row: &Row<'_>, place: usize, forms: &[Form]) -> Result<(), Failure> {
    out.push(b'(');
    for (nth, form) in (place..).zip(forms) {
        if nth > place {
            out.push(b',');
        }
        match (form, row.field(nth)) {
            (_, None) => out.extend_from_slice(b"NULL"),
            (Form::Plain, Some(date)) if row.columns()[nth].kind == ColumnKind::Date && is_incomplete(date) => {
                out.extend(date.iter().filter(|byte| byte.is_ascii_digit() || **byte == b'.'));
            }
            (Form::Plain, field @ Some(_)) => put_value(out, field, &row.columns()[nth], None)?,
            (Form::Hex(Some(charset)), Some(digits)) => put_text_hex(out, digits, charset),
            (Form::Hex(None), Some(digits)) => put_binary_hex(out, digits),
        }
    }
    out.push(b')');
    Ok(())
}

/// Whether a date has no month or no day. As a string, MySQL refuses it where it is only compared with, too, in a strict `sql_mode` with
/// NO_ZERO_DATE or NO_ZERO_IN_DATE; as a number it finds the row.
fn is_incomplete(date: &[u8]) -> bool {
    date.get(5..7) == Some(b"00") || date.get(8..10) == Some(b"00")
}

/// All rows of a query, as rows of literals, and what was found.
pub(super) async fn values(
    parts: &mut [ShardLease],
    bench: Option<&mut ShardLease>,
    source: (&RowSource, bool),
    session: &WriteContext<'_>,
) -> Result<(Vec<u8>, Found), Failure> {
    let introducer = introducer(parts, bench.as_deref());
    let mut text = Vec::new();
    let put = |row: &Row<'_>| {
        text.extend_from_slice(if text.is_empty() { b"(" } else { b",(" });
        for (nth, (field, column)) in row.fields().zip(row.columns()).enumerate() {
            if nth > 0 {
                text.push(b',');
            }
            put_value_after(&mut text, introducer, field, column, Some(CHARSET))?;
        }
        text.push(b')');
        Ok(text.len())
    };
    let found = rows_of(parts, bench, source, session, put).await?;
    Ok((text, found))
}

/// What literals need before them in the session's character set.
fn introducer(parts: &[ShardLease], bench: Option<&ShardLease>) -> &'static str {
    parts.first().or(bench).map_or("", |part| part.lease.profile().introducer())
}

/// The values of the one row that a query has, as literals.
pub(super) async fn one(
    parts: &mut [ShardLease],
    bench: Option<&mut ShardLease>,
    source: (&RowSource, bool),
    session: &WriteContext<'_>,
) -> Result<Vec<Vec<u8>>, Failure> {
    let introducer = introducer(parts, bench.as_deref());
    let mut values: Vec<Vec<u8>> = Vec::new();
    let put = |row: &Row<'_>| {
        values.clear();
        for (field, column) in row.fields().zip(row.columns()) {
            let mut literal = Vec::new();
            put_value_after(&mut literal, introducer, field, column, Some(CHARSET))?;
            values.push(literal);
        }
        Ok(values.iter().map(Vec::len).sum())
    };
    rows_of(parts, bench, source, session, put).await?;
    Ok(values)
}

/// As [`rows`], of the shards or of a workbench, whose connection `bench` is. What a server warns of while it reads is an error of the
/// write in a strict sql_mode, as it is on one server, but with IGNORE, which is said beside the source.
pub(super) async fn rows_of(
    parts: &mut [ShardLease],
    bench: Option<&mut ShardLease>,
    (source, ignore): (&RowSource, bool),
    session: &WriteContext<'_>,
    keep: impl FnMut(&Row<'_>) -> Result<usize, Failure>,
) -> Result<Found, Failure> {
    let plan = match source {
        RowSource::Shards(read) => {
            let found = rows(parts, read, session, keep).await?;
            refuse_strictly(parts, found.warnings, ignore).await?;
            return Ok(found);
        }
        RowSource::Workbench(plan) => plan,
    };
    let bench = bench.ok_or_else(|| super::internal("a write was given no connection to its workbench"))?;
    for part in parts.iter_mut() {
        confirm(part).await?;
    }
    let found = match workbench::gather(parts, bench, plan, session.reading, session.gathering).await {
        Ok(()) => {
            // What is in mid-reply closes when it is given back; what is not is asked on.
            bench.lease.retired = false;
            rows(std::slice::from_mut(bench), &plan.query, session, keep).await
        }
        Err(failure) => Err(failure),
    };
    let found = match found {
        Ok(found) => refuse_strictly(std::slice::from_mut(bench), found.warnings, ignore).await.map(|()| found),
        Err(failure) => Err(failure),
    };
    workbench::clear(bench, plan).await;
    found.map_err(|failure| workbench::of_tables(failure, &plan.fragments))
}

/// Warnings that a strict sql_mode makes errors of. Source: MySQL, `Strict_error_handler`.
pub(super) const STRICT: [u16; 8] = [
    codes::ER_CUT_VALUE_GROUP_CONCAT,
    codes::ER_WARN_DATA_OUT_OF_RANGE,
    codes::WARN_DATA_TRUNCATED,
    codes::ER_TRUNCATED_WRONG_VALUE,
    codes::ER_DIVISION_BY_ZERO,
    codes::ER_TRUNCATED_WRONG_VALUE_FOR_FIELD,
    codes::ER_WRONG_VALUE_FOR_TYPE,
    codes::ER_DATETIME_FUNCTION_OVERFLOW,
];

/// A strict sql_mode refuses values that a server has warned of while they were read, right before this.
pub(super) async fn refuse_strictly(parts: &mut [ShardLease], warnings: u16, ignore: bool) -> Result<(), Failure> {
    if warnings == 0 || ignore {
        return Ok(());
    }
    let text = |cell: &Option<Vec<u8>>| String::from_utf8_lossy(cell.as_deref().unwrap_or_default()).into_owned();
    for part in parts.iter_mut() {
        let warned = part.lease.ask("SHOW WARNINGS").await?;
        let wrong = warned.rows.iter().find_map(|row| {
            let [level, code, message] = &row[..] else { return None };
            let code: u16 = text(code).parse().ok()?;
            (text(level) == "Warning" && STRICT.contains(&code)).then(|| (code, text(message)))
        });
        let Some((code, message)) = wrong else { continue };
        let modes = part.lease.ask("SELECT @@sql_mode LIMIT 1").await?;
        if modes.rows.iter().flatten().any(|modes| text(modes).contains("STRICT_")) {
            return Err(Failure::server(code, message));
        }
    }
    Ok(())
}

/// What was read.
pub(super) struct Found {
    pub(super) rows: u64,
    /// How many columns the rows have, if a server has told it.
    pub(super) columns: Option<usize>,
    pub(super) warnings: u16,
}

/// Reads rows, their texts in [`CHARSET`], and has each kept. `keep` says how much is kept by now.
pub(super) async fn rows(
    parts: &mut [ShardLease],
    read: &Read,
    session: &WriteContext<'_>,
    mut keep: impl FnMut(&Row<'_>) -> Result<usize, Failure>,
) -> Result<Found, Failure> {
    let mut back = Vec::new();
    for (at, part) in parts.iter_mut().enumerate() {
        confirm(part).await?;
        let own = part.lease.profile().clone();
        if results_charset(&part.lease).as_deref() == Some(CHARSET) {
            continue;
        }
        let reading = own.with_variables([("character_set_results", CHARSET)]);
        let set =
            |from: &Profile, to: &Profile| set_texts(&from.difference(to, &Profile::default()).set, usize::MAX).pop();
        if let (Some(there), Some(again)) = (set(&own, &reading), set(&reading, &own)) {
            part.lease.query(&there).await?;
            back.push((at, again));
        }
    }
    let mut rows = read::open(parts, read, &Request::Text, session.reading.collations).await?;
    let mut found = 0;
    let ended = loop {
        let kept = match rows.next_row().await {
            Ok(Some(row)) => keep(&row),
            Ok(None) => break Ok(found),
            Err(failure) => break Err(failure),
        };
        found += 1;
        match kept {
            Ok(bytes) if bytes <= MOST_STATEMENT => {}
            Ok(_) => break Err(too_many()),
            Err(failure) => break Err(failure),
        }
    };
    rows.drain(session.reading.cancel).await;
    let warnings = rows.end().warnings;
    let columns = rows.columns().map(<[_]>::len);
    drop(rows);
    for (at, again) in back {
        if parts[at].lease.is_clean() {
            parts[at].lease.query(&again).await?;
        }
    }
    ended.map(|rows| Found { rows, columns, warnings })
}

fn too_many() -> Failure {
    let message = format!(
        "The rows that this statement reads and writes are more than {} MiB of text: write them in several statements, by ranges of the key",
        MOST_STATEMENT >> 20
    );
    Failure::client(codes::ER_NOT_SUPPORTED_YET, message)
}
