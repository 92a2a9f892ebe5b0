//! Dates and times in texts.
//!
//! What must always hold: a text is read only if both kinds of server read it the same way in every sql_mode; for all others the result is
//! `None`. Two-digit years, unusual delimiters, time zone offsets, days that the month does not have and dates with zero parts are therefore
//! left to the servers.

/// A date and a time of it, to the microsecond.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment {
    pub(crate) year: u16,
    pub(crate) month: u8,
    pub(crate) day: u8,
    /// Microseconds since midnight.
    pub(crate) micros: u64,
}

impl Moment {
    /// `Y-M-D`, or that with a blank or `T` and `h:m:s[.f]`.
    pub(crate) fn parse(text: &str) -> Option<Moment> {
        let (date, time) = match text.find([' ', 'T']) {
            Some(at) => (&text[..at], Some(&text[at + 1..])),
            None => (text, None),
        };
        let mut parts = date.split('-');
        let year = parts.next().filter(|year| year.len() == 4)?;
        let (year, month, day) = (digits(year, 4)?, digits(parts.next()?, 2)?, digits(parts.next()?, 2)?);
        if parts.next().is_some() {
            return None;
        }
        let zero = year == 0 && month == 0 && day == 0;
        if !zero && (year == 0 || !(1..=days_of(year, month)).contains(&day)) {
            return None;
        }
        let micros = time.map_or(Some(0), clock)?;
        if micros >= 86_400_000_000 || zero && micros != 0 {
            return None;
        }
        Some(Moment { year: year as u16, month: month as u8, day: day as u8, micros })
    }

    pub(crate) fn packed(self) -> u64 {
        ((u64::from(self.year) * 13 + u64::from(self.month)) * 32 + u64::from(self.day)) << 37 | self.micros
    }

    /// The day after; of the zero date none.
    pub(crate) fn next_day(self) -> Moment {
        let (year, month, day) = (u32::from(self.year), u32::from(self.month), u32::from(self.day));
        let (year, month, day) = match () {
            () if day < days_of(year, month) => (year, month, day + 1),
            () if month < 12 => (year, month + 1, 1),
            () => (year + 1, 1, 1),
        };
        Moment { year: year as u16, month: month as u8, day: day as u8, micros: 0 }
    }
}

/// A time of TIME columns, `[-]h:m:s[.f]`, in microseconds.
pub(crate) fn time(text: &str) -> Option<i64> {
    let (negative, rest) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let micros = clock(rest)?;
    if micros >= 839 * 3_600_000_000 {
        return None;
    }
    let micros = micros as i64;
    Some(if negative { -micros } else { micros })
}

/// `h:m:s[.f]` in microseconds, with at most six digits after the point and three of hours.
fn clock(text: &str) -> Option<u64> {
    let (text, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let mut parts = text.split(':');
    let (hours, minutes, seconds) = (digits(parts.next()?, 3)?, digits(parts.next()?, 2)?, digits(parts.next()?, 2)?);
    if parts.next().is_some() || minutes > 59 || seconds > 59 {
        return None;
    }
    let scale = 10u64.pow(6 - fraction.len().min(6) as u32);
    let micros = u64::from(digits(fraction, 6)?) * scale;
    Some((u64::from(hours) * 3600 + u64::from(minutes) * 60 + u64::from(seconds)) * 1_000_000 + micros)
}

/// A number of one to `most` digits.
fn digits(text: &str, most: usize) -> Option<u32> {
    let fine = (1..=most).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    fine.then(|| text.parse().ok()).flatten()
}

fn days_of(year: u32, month: u32) -> u32 {
    match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => 29,
        2 => 28,
        _ => 0,
    }
}
