//! What has been counted of statements, as tables.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Instant, SystemTime};

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use weir_exec::hot_rows::HotRows;

use crate::StatementKind;
use crate::answer::{Table, Value};
use crate::columns;
use crate::digests::Row;
use crate::like::Pattern;
use crate::rules::Rule;

/// How many digests are shown unless more are asked for.
const DIGESTS: u64 = 100;

/// A time as RFC 3339 writes it, in UTC, to the millisecond.
pub(crate) fn rfc3339(time: SystemTime) -> String {
    let time = OffsetDateTime::from(time);
    let whole = time.replace_millisecond(time.millisecond()).unwrap_or(time);
    whole.format(&Rfc3339).unwrap_or_default()
}

/// The time of day at which the clock that only goes forward showed this.
fn wall_clock(at: Instant) -> String {
    rfc3339(SystemTime::now() - at.elapsed())
}

fn milliseconds(nanoseconds: u64) -> Value {
    ((nanoseconds / 1000) as f64 / 1000.0).into()
}

/// `SHOW DIGESTS`
pub(crate) fn digests(rows: Vec<Row>, like: Option<Pattern>, limit: Option<u64>) -> Table {
    let limit = usize::try_from(limit.unwrap_or(DIGESTS)).unwrap_or(usize::MAX);
    let wanted = |row: &Row| like.as_ref().is_none_or(|pattern| pattern.matches(row.text.as_bytes()));
    let mut table = Table::new(columns::DIGESTS);
    for row in rows.into_iter().filter(wanted).take(limit) {
        let counts = &row.counts;
        let seen = counts.seen();
        table.push(vec![
            row.digest.map_or_else(|| "other".to_owned(), |digest| digest.to_string()).into(),
            row.text.into(),
            row.kind.map_or("", StatementKind::name).into(),
            counts.count.into(),
            counts.errors.into(),
            milliseconds(counts.total),
            milliseconds(counts.min()),
            milliseconds(counts.max),
            milliseconds(counts.percentile(0.5)),
            milliseconds(counts.percentile(0.95)),
            milliseconds(counts.percentile(0.99)),
            counts.rows_sent.into(),
            counts.rows_affected.into(),
            counts.bytes.into(),
            counts.on_replicas.into(),
            counts.on_lanes.into(),
            seen.map(|(first, _)| wall_clock(first)).into(),
            seen.map(|(_, last)| wall_clock(last)).into(),
        ]);
    }
    table
}

/// `SHOW HOT ROWS`
pub(crate) fn hot_rows(rows: Option<&Arc<HotRows>>) -> Table {
    let mut table = Table::new(columns::HOT_ROWS);
    let Some(rows) = rows else { return table };
    let hot = rows.queues.hot().into_iter().map(|queue| (queue, "hot"));
    let cooled = rows.queues.cooled().into_iter().rev().map(|queue| (queue, "cooled"));
    for (queue, state) in hot.chain(cooled) {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let (batches, statements) = (count(&queue.batches), count(&queue.statements));
        table.push(vec![
            queue.about.table.0.as_str().into(),
            queue.about.table.1.as_str().into(),
            queue.about.shape.as_str().into(),
            queue.about.values.as_str().into(),
            queue.about.user.as_str().into(),
            queue.about.server.as_str().into(),
            state.into(),
            queue.waiting().into(),
            count(&queue.running).into(),
            batches.into(),
            statements.into(),
            ((statements as f64 * 10.0 / batches.max(1) as f64).round() / 10.0).into(),
            statements.saturating_sub(batches).into(),
            rfc3339(queue.since).into(),
        ]);
    }
    table
}

/// `SHOW RULES`
pub(crate) fn rules(rules: &[Arc<Rule>]) -> Table {
    let mut table = Table::new(columns::RULES);
    for rule in rules {
        table.push(vec![
            rule.name.as_str().into(),
            rule.action.name().into(),
            rule.matches.to_string().into(),
            rule.hits().into(),
            rule.refusals().into(),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn times_are_utc_with_milliseconds() {
        let time = SystemTime::UNIX_EPOCH + Duration::from_micros(1_700_000_000_123_456);
        assert_eq!(rfc3339(time), "2023-11-14T22:13:20.123Z");
    }
}
