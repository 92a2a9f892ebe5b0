//! Numbers as people read them, the same in Markdown and HTML.
//!
//! Must always hold: rounding happens here and nowhere else; a figure keeps two to three significant digits at least.

/// What a figure measures, which says how it is written and which way is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Unit {
    /// Events a second, or a plain number.
    Count,
    /// Latency: measured in microseconds, written in milliseconds.
    Latency,
    /// CPU microseconds per query.
    Micros,
    /// One figure divided by another.
    Ratio,
    /// Bytes, written in MB (1,000,000 bytes).
    Bytes,
}

impl Unit {
    /// The figure without its unit, which the column's or the axis's title names.
    pub(crate) fn write(self, value: f64) -> String {
        match self {
            Self::Count => significant(value),
            Self::Latency => significant(value / 1e3),
            Self::Micros => fixed(value, if value.abs() < 100.0 { 1 } else { 0 }),
            Self::Ratio => fixed(value, 2),
            Self::Bytes => significant(value / 1e6),
        }
    }
}

/// With thousands separators: whole from 100 on, three significant digits below, and no needless zeros.
pub(crate) fn significant(value: f64) -> String {
    let decimals = match value.abs() {
        size if size >= 100.0 => 0,
        size if size >= 10.0 => 1,
        size if size >= 1.0 => 2,
        size if size > 0.0 => (2 - size.log10().floor() as i32).clamp(3, 6) as usize,
        _ => 0,
    };
    let text = fixed(value, decimals);
    if !text.contains('.') {
        return text;
    }
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// With thousands separators and this many decimals.
fn fixed(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    let (sign, digits) = text.strip_prefix('-').map_or(("", text.as_str()), |digits| ("-", digits));
    let (whole, rest) = digits.split_at(digits.find('.').unwrap_or(digits.len()));
    let mut grouped = String::from(sign);
    for (place, digit) in whole.chars().enumerate() {
        if place > 0 && (whole.len() - place) % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped + rest
}

/// A whole number with thousands separators.
pub(crate) fn whole(value: u64) -> String {
    // Exact up to 2^53, far above any number of clients, queries or errors.
    fixed(value as f64, 0)
}

/// A share as a percentage: `8%`.
pub(crate) fn percent(share: f64) -> String {
    format!("{}%", fixed(share * 100.0, 0))
}

/// `3 s`, `12 min`, `1 h 40 min`.
pub(crate) fn duration(seconds: f64) -> String {
    if seconds < 100.0 {
        return format!("{} s", significant(seconds.round()));
    }
    let minutes = (seconds / 60.0).round() as u64;
    match (minutes / 60, minutes % 60) {
        (0, minutes) => format!("{minutes} min"),
        (hours, 0) => format!("{hours} h"),
        (hours, minutes) => format!("{hours} h {minutes} min"),
    }
}

/// `16 clients`, `1 client`.
pub(crate) fn clients(number: u32) -> String {
    format!("{} {}", whole(number.into()), if number == 1 { "client" } else { "clients" })
}

/// Memory of a machine, in GiB as its makers count it.
pub(crate) fn memory(bytes: u64) -> String {
    format!("{} GiB", significant((bytes as f64 / f64::from(1 << 30) * 10.0).round() / 10.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_separators_and_three_significant_digits() {
        let cases = [
            (1_234_567.8, "1,234,568"),
            (123.4, "123"),
            (12.34, "12.3"),
            (1.5, "1.5"),
            (0.0351, "0.0351"),
            (0.000_123_4, "0.000123"),
            (0.000_000_1, "0"),
            (0.0, "0"),
            (100.0, "100"),
            (-1234.5, "-1,234"),
        ];
        for (value, text) in cases {
            assert_eq!(significant(value), text, "{value}");
        }
    }

    #[test]
    fn each_unit_is_written_its_way() {
        let cases = [
            (Unit::Count, 87_194.2, "87,194"),
            (Unit::Latency, 350.0, "0.35"),
            (Unit::Latency, 733_000.0, "733"),
            (Unit::Micros, 9.94, "9.9"),
            (Unit::Micros, 235.2, "235"),
            (Unit::Ratio, 0.9, "0.90"),
            (Unit::Bytes, 16_400_000.0, "16.4"),
        ];
        for (unit, value, text) in cases {
            assert_eq!(unit.write(value), text, "{unit:?} {value}");
        }
    }

    #[test]
    fn durations_and_amounts() {
        assert_eq!(duration(3.2), "3 s");
        assert_eq!(duration(720.0), "12 min");
        assert_eq!(duration(6000.0), "1 h 40 min");
        assert_eq!(duration(7200.0), "2 h");
        assert_eq!(percent(0.083), "8%");
        assert_eq!(clients(1), "1 client");
        assert_eq!(clients(1000), "1,000 clients");
        assert_eq!(memory(24 << 30), "24 GiB");
    }
}
