//! Durations and sizes as the configuration writes them: a whole number and a unit.
//!
//! Must always hold: a number without a unit is refused (nobody should have to guess seconds or milliseconds), and no
//! text overflows: what does not fit is an error. The raw configuration keeps the text as written; the checked one
//! holds the parsed value.

use std::borrow::Cow;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// The longest duration accepted: 365 days, the maximum of MySQL's own `wait_timeout`.
pub(crate) const MAX_DURATION: Duration = Duration::from_secs(365 * 86_400);

/// Why a text is no duration or size.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum UnitError {
    /// The text isn't a whole number followed by a known unit of time.
    #[error("`{0}` is not a duration: write a whole number and a unit (ms, s, m, h, d), such as \"500ms\" or \"10s\"")]
    NotADuration(String),
    /// The duration is beyond [`MAX_DURATION`].
    #[error("`{0}` is too long: at most \"365d\"")]
    TooLong(String),
    /// The text isn't a whole number, alone or followed by a known unit of size.
    #[error("`{0}` is not a size: write a whole number and a unit (KiB, MiB, GiB), such as \"64MiB\"")]
    NotASize(String),
}

/// A duration as written, such as `10s`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct DurationText(pub(crate) String);

/// A size as written, such as `64MiB`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct SizeText(pub(crate) String);

/// Implements `From<&str>` and an inline schema of the given format for a text with a unit.
macro_rules! text_with_unit {
    ($name:ident, $format:literal) => {
        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.to_owned())
            }
        }

        impl JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "string", "format": $format })
            }
        }
    };
}

text_with_unit!(DurationText, "duration");
text_with_unit!(SizeText, "size");

/// Reads a duration: digits and one of `ms`, `s`, `m`, `h`, `d`, at most [`MAX_DURATION`].
pub(crate) fn parse_duration(text: &str) -> Result<Duration, UnitError> {
    let milliseconds_per_unit = |unit: &str| match unit {
        "ms" => Some(1),
        "s" => Some(1_000),
        "m" => Some(60_000),
        "h" => Some(3_600_000),
        "d" => Some(86_400_000),
        _ => None,
    };
    let Some((digits, factor)) = split_unit(text, milliseconds_per_unit) else {
        return Err(UnitError::NotADuration(text.to_owned()));
    };
    scaled(digits, factor)
        .map(Duration::from_millis)
        .filter(|duration| *duration <= MAX_DURATION)
        .ok_or_else(|| UnitError::TooLong(text.to_owned()))
}

/// Reads a size in bytes: digits, alone or with `KiB`, `MiB`, `GiB`, or the `K`, `M`, `G` of MySQL's option files
/// (powers of 1,024 too).
pub(crate) fn parse_size(text: &str) -> Result<u64, UnitError> {
    let bytes_per_unit = |unit: &str| match unit {
        "" => Some(1),
        "K" | "KiB" => Some(1 << 10),
        "M" | "MiB" => Some(1 << 20),
        "G" | "GiB" => Some(1 << 30),
        _ => None,
    };
    split_unit(text, bytes_per_unit)
        .and_then(|(digits, factor)| scaled(digits, factor))
        .ok_or_else(|| UnitError::NotASize(text.to_owned()))
}

/// Splits `text` into its leading digits (at least one) and the factor of the unit behind them.
fn split_unit(text: &str, factor_of: impl Fn(&str) -> Option<u64>) -> Option<(&str, u64)> {
    let end_of_digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(end_of_digits);
    if digits.is_empty() {
        return None;
    }
    factor_of(unit.trim_start()).map(|factor| (digits, factor))
}

/// `digits * factor`, or None when it does not fit.
fn scaled(digits: &str, factor: u64) -> Option<u64> {
    digits.parse::<u64>().ok()?.checked_mul(factor)
}
