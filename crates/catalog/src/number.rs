//! Exact numbers: the values of integers and decimals.
//!
//! What must always hold: equal values have one form, whatever their type or spelling: `5`, `5.0`, `+05.00` and `5e0` are
//! [`Number::Integer`], and other numbers have no needless zeros.

use std::cmp::Ordering;

/// An exact number in its only form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Number {
    /// An integer whose magnitude fits. Zero is never negative.
    Integer { negative: bool, magnitude: u64 },
    /// Any other: its digits before the point without leading zeros, and those after it without trailing zeros.
    Decimal { negative: bool, whole: String, fraction: String },
}

impl Number {
    pub(crate) fn integer(value: i128) -> Number {
        match u64::try_from(value.unsigned_abs()) {
            Ok(magnitude) => Number::Integer { negative: value < 0, magnitude },
            Err(_) => Number::Decimal {
                negative: value < 0,
                whole: value.unsigned_abs().to_string(),
                fraction: String::new(),
            },
        }
    }

    /// From digits before and after the point.
    fn of_digits(negative: bool, whole: &str, fraction: &str) -> Number {
        let whole = whole.trim_start_matches('0');
        let fraction = fraction.trim_end_matches('0');
        if fraction.is_empty() {
            if whole.is_empty() {
                return Number::Integer { negative: false, magnitude: 0 };
            }
            if let Ok(magnitude) = whole.parse() {
                return Number::Integer { negative, magnitude };
            }
        }
        Number::Decimal { negative, whole: whole.to_owned(), fraction: fraction.to_owned() }
    }

    /// `[+-]digits[.digits]`, with a digit at least; nothing before or after.
    pub(crate) fn parse(text: &str) -> Option<Number> {
        let (negative, rest) = match text.as_bytes().first()? {
            b'-' => (true, &text[1..]),
            b'+' => (false, &text[1..]),
            _ => (false, text),
        };
        let (whole, fraction) = rest.split_once('.').unwrap_or((rest, ""));
        let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        let any = !whole.is_empty() || !fraction.is_empty();
        (any && digits(whole) && digits(fraction)).then(|| Number::of_digits(negative, whole, fraction))
    }

    pub(crate) fn as_integer(&self) -> Option<i128> {
        match self {
            Number::Integer { negative, magnitude } => {
                Some(if *negative { -i128::from(*magnitude) } else { i128::from(*magnitude) })
            }
            Number::Decimal { .. } => None,
        }
    }

    /// The digits of its parts, and whether it is negative.
    fn parts(&self) -> (bool, String, &str) {
        match self {
            Number::Integer { negative, magnitude: 0 } => (*negative, String::new(), ""),
            Number::Integer { negative, magnitude } => (*negative, magnitude.to_string(), ""),
            Number::Decimal { negative, whole, fraction } => (*negative, whole.clone(), fraction),
        }
    }

    /// How many digits there are before the point, and after it.
    pub(crate) fn digits(&self) -> (usize, usize) {
        let (_, whole, fraction) = self.parts();
        (whole.len(), fraction.len())
    }

    pub(crate) fn is_negative(&self) -> bool {
        matches!(self, Number::Integer { negative: true, .. } | Number::Decimal { negative: true, .. })
    }

    /// Rounded to so many digits after the point, halves away from zero, as the servers store exact numbers.
    pub(crate) fn rounded(&self, scale: usize) -> Number {
        let (negative, whole, fraction) = self.parts();
        if fraction.len() <= scale {
            return self.clone();
        }
        let up = fraction.as_bytes()[scale] >= b'5';
        let mut digits: Vec<u8> = [b"0", whole.as_bytes(), &fraction.as_bytes()[..scale]].concat();
        if up {
            for digit in digits.iter_mut().rev() {
                if *digit < b'9' {
                    *digit += 1;
                    break;
                }
                *digit = b'0';
            }
        }
        let text: String = digits.iter().map(|digit| char::from(*digit)).collect();
        let (whole, fraction) = text.split_at(text.len() - scale);
        Number::of_digits(negative, whole, fraction)
    }

    pub(crate) fn compare(&self, other: &Number) -> Ordering {
        if let (Some(one), Some(two)) = (self.as_integer(), other.as_integer()) {
            return one.cmp(&two);
        }
        let ((minus, whole, fraction), (other_minus, other_whole, other_fraction)) = (self.parts(), other.parts());
        let magnitude =
            whole.len().cmp(&other_whole.len()).then(whole.cmp(&other_whole)).then(fraction.cmp(other_fraction));
        match (minus, other_minus) {
            (false, false) => magnitude,
            (true, true) => magnitude.reverse(),
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
        }
    }
}
