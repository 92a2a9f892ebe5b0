//! The time of a cutover, as users write it.
//!
//! What must always hold: a text that is no time, or none that is the same for all who read it, is refused; it is never taken for another one.

use std::time::{SystemTime, UNIX_EPOCH};

use time::{Date, Month, OffsetDateTime, PrimitiveDateTime, Time, UtcOffset};
use weir_catalog::ShardId;
use weir_shards::Sharding;
use weir_shards::own::{number, quoted};
use weir_wire::Failure;
use weir_wire::error::codes;

/// Servers convert no time of a later year between their time zones.
const LAST_YEAR: i32 = 2037;

/// Seconds since 1970.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// Seconds since 1970 as a date and a time, UTC.
pub fn utc(seconds: u64) -> String {
    let time = i64::try_from(seconds).ok().and_then(|seconds| OffsetDateTime::from_unix_timestamp(seconds).ok());
    time.map_or_else(
        || seconds.to_string(),
        |time| {
            let (year, month, day) = (time.year(), u8::from(time.month()), time.day());
            format!("{year:04}-{month:02}-{day:02} {:02}:{:02}:{:02}", time.hour(), time.minute(), time.second())
        },
    )
}

/// The seconds since 1970 of a text, which is read in this time zone if it has no offset. A server knows the zones that have names.
///
/// # Errors
/// 1525 for what is not a time; 1210 for one that is too late, and for one without an offset if there is no zone; the server's.
pub(crate) async fn read(sharding: &Sharding, text: &str, zone: Option<&str>) -> Result<u64, Failure> {
    let wrong = || Failure::client(codes::ER_WRONG_VALUE, format!("Incorrect AT value: '{text}'"));
    let refused =
        |why: &str| Failure::client(codes::ER_WRONG_ARGUMENTS, format!("Incorrect arguments to WEIR: {text} {why}"));
    let (local, offset) = written(text).ok_or_else(wrong)?;
    if local.year() > LAST_YEAR {
        return Err(refused(&format!("is after {LAST_YEAR}")));
    }
    let seconds = match (offset, zone) {
        (Some(offset), _) => Some(local.assume_offset(offset).unix_timestamp()),
        (None, None) => return Err(refused("has no offset, as in 2027-03-01T01:30:00Z or 2027-03-01T02:30:00+01:00")),
        (None, Some(zone)) => match self::offset(zone) {
            Some(offset) => Some(local.assume_offset(offset).unix_timestamp()),
            None => in_zone(sharding, local, zone).await?,
        },
    };
    seconds.and_then(|seconds| u64::try_from(seconds).ok()).ok_or_else(wrong)
}

/// A time of a zone that a server knows by its name. `None`: it does not.
async fn in_zone(sharding: &Sharding, local: PrimitiveDateTime, zone: &str) -> Result<Option<i64>, Failure> {
    let local = u64::try_from(local.assume_utc().unix_timestamp()).map(utc).unwrap_or_default();
    let sql = format!(
        "SELECT TIMESTAMPDIFF(SECOND, '1970-01-01 00:00:00', CONVERT_TZ('{local}', {}, '+00:00'))",
        quoted(zone)
    );
    let reply = sharding.own.run(ShardId(0), sql).await?;
    Ok(reply.rows.first().and_then(|row| number(row.first())).and_then(|seconds| i64::try_from(seconds).ok()))
}

/// `Y-M-D[ h:m[:s[.f]]][Z | ±h:m]`: the time as it is written, and its offset. Fractions count as the second after.
fn written(text: &str) -> Option<(PrimitiveDateTime, Option<UtcOffset>)> {
    let (date, rest) = text.trim().split_at_checked("YYYY-MM-DD".len())?;
    let [year, month, day] = numbers(date, '-', [4, 2, 2])?;
    let month = Month::try_from(u8::try_from(month).ok()?).ok()?;
    let date = Date::from_calendar_date(i32::try_from(year).ok()?, month, u8::try_from(day).ok()?).ok()?;
    let Some(rest) = rest.strip_prefix([' ', 'T', 't']) else {
        return rest.is_empty().then_some((PrimitiveDateTime::new(date, Time::MIDNIGHT), None));
    };
    let (clock, offset) = match (rest.strip_suffix(['Z', 'z']), rest.find(['+', '-'])) {
        (Some(clock), _) => (clock, Some(UtcOffset::UTC)),
        (None, Some(at)) => (&rest[..at], Some(self::offset(&rest[at..])?)),
        (None, None) => (rest, None),
    };
    let (clock, fraction) = clock.trim_end().split_once('.').unwrap_or((clock.trim_end(), "0"));
    let [hour, minute, second] = numbers(clock, ':', [2; 3]).or_else(|| {
        let [hour, minute] = numbers(clock, ':', [2; 2])?;
        Some([hour, minute, 0])
    })?;
    let narrow = |number: u32| u8::try_from(number).ok();
    let time = Time::from_hms(narrow(hour)?, narrow(minute)?, narrow(second)?).ok()?;
    let [fraction] = numbers(fraction, '.', [fraction.len().clamp(1, 9)])?;
    let whole = PrimitiveDateTime::new(date, time);
    let rounded = whole.checked_add(time::Duration::seconds(i64::from(fraction > 0)))?;
    Some((rounded, offset))
}

/// `±h:m`, as in texts and as a `time_zone`.
fn offset(text: &str) -> Option<UtcOffset> {
    let sign = if text.starts_with('-') { -1 } else { 1 };
    let [hours, minutes] = numbers(text.strip_prefix(['+', '-'])?, ':', [2; 2])?;
    let fine = hours * 60 + minutes <= 14 * 60 && minutes < 60;
    let part = |number: u32| i8::try_from(number).ok().map(|number| number * sign);
    fine.then_some(())?;
    UtcOffset::from_hms(part(hours)?, part(minutes)?, 0).ok()
}

/// Numbers of these lengths.
fn numbers<const N: usize>(text: &str, between: char, lengths: [usize; N]) -> Option<[u32; N]> {
    let mut parts = text.split(between);
    let mut all = [0; N];
    for (number, length) in all.iter_mut().zip(lengths) {
        let part = parts.next().filter(|part| part.len() == length)?;
        *number = part.bytes().all(|byte| byte.is_ascii_digit()).then(|| part.parse().ok()).flatten()?;
    }
    parts.next().is_none().then_some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_they_are_written() {
        let seconds = |text: &str| {
            let (local, offset) = written(text)?;
            Some((local.assume_offset(offset.unwrap_or(UtcOffset::UTC)).unix_timestamp(), offset.is_some()))
        };
        let noon = 1_804_075_200;
        for (text, expected) in [
            ("2027-03-03 12:00:00", Some((noon, false))),
            (" 2027-03-03T12:00 ", Some((noon, false))),
            ("2027-03-03", Some((noon - 12 * 3600, false))),
            ("2027-03-03 12:00:00Z", Some((noon, true))),
            ("2027-03-03T12:00:00.000Z", Some((noon, true))),
            ("2027-03-03T12:00:00.001z", Some((noon + 1, true))),
            ("2027-03-03 12:00:00+02:00", Some((noon - 7200, true))),
            ("2027-03-03 12:00 -05:30", Some((noon + 5 * 3600 + 1800, true))),
            ("2028-02-29", Some((noon + 362 * 86_400 + 12 * 3600, false))),
        ] {
            assert_eq!(seconds(text), expected, "{text}");
        }
        for text in [
            "",
            "tomorrow",
            "2027-02-29",
            "2027-13-01",
            "27-03-03",
            "2027-3-3",
            "2027-03-03 24:00",
            "2027-03-03 12",
            "2027-03-03 12:00:60",
            "2027-03-03 12:00:00 CET",
            "2027-03-03 12:00:00+15:00",
            "2027-03-03 12:00:00+2:00",
            "2027-03-03 12:00:00.",
            "2027-03-03 12:00:00.1234567890",
            "2027-03-03Z",
            "0000-00-00 00:00:00",
            "２０２７-03-03",
        ] {
            assert_eq!(seconds(text), None, "{text}");
        }
        assert_eq!(utc(1_804_075_200), "2027-03-03 12:00:00");
    }
}
