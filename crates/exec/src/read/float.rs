//! Approximate numbers as MySQL and MariaDB write them.
//!
//! What must always hold: the digits are the fewest that read back as the same number.

/// Beyond so many digits before the point, or zeros behind it, the exponent is written, unless there are digits behind the point too.
/// Source: both servers' `my_gcvt` (DBL_DIG).
const MOST_DIGITS: i32 = 15;

/// A number with a fixed number of decimals, or with as many as it needs.
pub(super) fn text(value: f64, decimals: Option<usize>) -> String {
    match decimals {
        Some(decimals) => format!("{value:.decimals$}"),
        None => shortest(value),
    }
}

fn shortest(value: f64) -> String {
    if value == 0.0 {
        return if value.is_sign_negative() { "-0".to_owned() } else { "0".to_owned() };
    }
    // `d.ddde±n`: the fewest digits.
    let scientific = format!("{value:e}");
    let exponent: i32 = scientific.split_once('e').and_then(|(_, exponent)| exponent.parse().ok()).unwrap_or(0);
    // The place of the point, counted from the first digit.
    let point = exponent + 1;
    let digits = scientific.bytes().take_while(|byte| *byte != b'e').filter(u8::is_ascii_digit).count();
    let in_place = point > -MOST_DIGITS && (point <= MOST_DIGITS || digits as i32 > point);
    if in_place { format!("{value}") } else { scientific }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_the_servers_write_them() {
        // What both servers have answered.
        for (value, expected) in [
            (0.0, "0"),
            (1.5, "1.5"),
            (-2.25, "-2.25"),
            (1e14, "100000000000000"),
            (999_999_999_999_999.0, "999999999999999"),
            (1e15, "1e15"),
            (123_456_789_012_345_680.0, "1.2345678901234568e17"),
            (0.00001, "0.00001"),
            (1e-15, "0.000000000000001"),
            (1e-16, "1e-16"),
            (1e300, "1e300"),
            (-1e-300, "-1e-300"),
            (1.0 / 3.0, "0.3333333333333333"),
            (1e16 / 3.0, "3333333333333333.5"),
            (9_999_999_999_999_999.0, "1e16"),
            (1e-14 / 3.0, "0.0000000000000033333333333333332"),
            (1e-15 / 3.0, "3.3333333333333336e-16"),
            (5e-324, "5e-324"),
            (f64::MAX, "1.7976931348623157e308"),
        ] {
            assert_eq!(text(value, None), expected);
        }
        assert_eq!(
            (text(1.0 / 3.0, Some(4)), text(2.5, Some(0)), text(0.125, Some(2))),
            ("0.3333".into(), "2".into(), "0.12".into())
        );
    }
}
