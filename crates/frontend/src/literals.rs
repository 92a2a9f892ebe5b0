//! What a plan has to know of the session: character sets, parameters, user variables.
//!
//! What must always hold: what is not known for certain is not said. A plan then asks more shards than it might, or is refused.

use weir_backend::Identity;
use weir_backend::profile::{Profile, charset_of};
use weir_catalog::{Constant, converted};
use weir_wire::Malformed;
use weir_wire::charset::has_ascii;
use weir_wire::params::Parameter;

/// The character sets and collations of a session, as far as they decide what literals are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Literals {
    /// The charset of the text.
    pub(crate) charset: String,
    /// The collation of its literals.
    pub(crate) collation: String,
    mariadb: bool,
}

impl Literals {
    /// Those of a session with this profile.
    pub(crate) fn of(profile: &Profile, identity: &Identity) -> Literals {
        let mariadb = identity.mariadb;
        let charset = charset_of(profile.variable("character_set_client").unwrap_or_default()).to_owned();
        let connection =
            profile.variable("collation_connection").or_else(|| profile.variable("character_set_connection"));
        let connection = connection.unwrap_or_default();
        // The name of a charset stands for its default collation.
        let collation = match connection.contains('_') || connection == "binary" {
            true => connection.to_owned(),
            false => default_collation(connection, mariadb).unwrap_or_default().to_owned(),
        };
        Literals { charset, collation, mariadb }
    }

    /// The collation that literals with a charset's introducer have.
    pub(crate) fn default_of(&self, charset: &str) -> Option<String> {
        default_collation(charset, self.mariadb).map(str::to_owned)
    }

    /// A parameter's value.
    ///
    /// # Errors
    /// The client has sent a number that is none: no literal could say what it is.
    pub(crate) fn constant(&self, parameter: &Parameter<'_>) -> Result<Constant, Malformed> {
        Ok(match *parameter {
            Parameter::Null => Constant::Null,
            Parameter::Signed(value) => Constant::Integer(i128::from(value)),
            Parameter::Unsigned(value) => Constant::Integer(i128::from(value)),
            Parameter::Float(value) if value.is_finite() => Constant::Float(value),
            Parameter::Float(_) => return Err(Malformed("floating-point number")),
            Parameter::Decimal(text) => Constant::Decimal(decimal(text).ok_or(Malformed("decimal"))?),
            Parameter::Text(bytes) => {
                let ascii = bytes.is_ascii() && has_ascii(&self.charset) && has_ascii(&self.collation);
                let same = charset_of(&self.collation) == self.charset || ascii;
                let known = if same { Some(bytes.to_vec()) } else { converted(bytes, &self.charset, &self.collation) };
                // What is converted in another way is not told here.
                let collation = if known.is_some() { self.collation.clone() } else { String::new() };
                Constant::Text { bytes: known.unwrap_or_else(|| bytes.to_vec()), collation, explicit: false }
            }
            Parameter::Bytes(bytes) => Constant::Binary(bytes.to_vec()),
            Parameter::Date(fields, length) => Constant::Temporal(date_text(fields, length)),
            Parameter::Time(negative, [days, hours, minutes, seconds, micros]) => {
                let sign = if negative { "-" } else { "" };
                // A client may send more days than there are hours in 32 bits.
                let hours = u64::from(days) * 24 + u64::from(hours);
                Constant::Temporal(format!("{sign}{hours:02}:{minutes:02}:{seconds:02}{}", fraction(micros)))
            }
        })
    }
}

/// A DECIMAL's text as the literal of that number. It goes into texts as it is: nothing but digits, a sign and a point may be in it.
fn decimal(text: &[u8]) -> Option<String> {
    /// More digits than a decimal has are not made of an exponent.
    const MOST_SHIFTED: i32 = 80;
    let text = std::str::from_utf8(text).ok()?.trim_ascii();
    let (number, exponent) = match text.split_once(['e', 'E']) {
        Some((number, exponent)) => (number, exponent.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let unsigned = number.strip_prefix(['+', '-']).unwrap_or(number);
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let digits = [whole, fraction].concat();
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    if exponent == 0 {
        return Some(number.to_owned());
    }
    if !(-MOST_SHIFTED..=MOST_SHIFTED).contains(&exponent) {
        return None;
    }
    let sign = if number.starts_with('-') { "-" } else { "" };
    let zeros = "0".repeat(MOST_SHIFTED as usize);
    let point = MOST_SHIFTED as usize + whole.len();
    let padded = format!("{zeros}{digits}{zeros}");
    let (whole, fraction) = padded.split_at(point.checked_add_signed(exponent as isize)?);
    let (whole, fraction) = (whole.trim_start_matches('0'), fraction.trim_end_matches('0'));
    Some(format!("{sign}0{whole}.{fraction}0"))
}

fn date_text([year, month, day, hour, minute, second, micros]: [u32; 7], length: u8) -> String {
    let date = format!("{year:04}-{month:02}-{day:02}");
    match length {
        0..=4 => date,
        _ => format!("{date} {hour:02}:{minute:02}:{second:02}{}", fraction(micros)),
    }
}

fn fraction(micros: u32) -> String {
    if micros == 0 { String::new() } else { format!(".{micros:06}") }
}

/// Whether a charset's name stands for this collation of it.
pub(crate) fn is_default(collation: &str, mariadb: bool) -> bool {
    default_collation(charset_of(collation), mariadb) == Some(collation)
}

/// A charset's default collation, for those charsets for which it is the same on all servers of a kind.
fn default_collation(charset: &str, mariadb: bool) -> Option<&'static str> {
    Some(match charset {
        "utf8mb4" if mariadb => "utf8mb4_general_ci",
        "utf8mb4" => "utf8mb4_0900_ai_ci",
        "utf8mb3" | "utf8" => "utf8mb3_general_ci",
        "latin1" => "latin1_swedish_ci",
        "ascii" => "ascii_general_ci",
        "binary" => "binary",
        _ => return None,
    })
}

/// A known user variable's value: a number, NULL, or a string in one of the forms in which profiles keep them.
pub(crate) fn variable(literal: &str) -> Option<Constant> {
    if literal.eq_ignore_ascii_case("NULL") {
        return Some(Constant::Null);
    }
    let unsigned = literal.strip_prefix("CAST(").and_then(|rest| rest.strip_suffix(" AS UNSIGNED)"));
    if let Ok(number) = unsigned.unwrap_or(literal).parse::<i128>() {
        return Some(Constant::Integer(number));
    }
    if literal.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.')) {
        let number: f64 = literal.parse().ok()?;
        let exact = !literal.contains(['e', 'E']);
        return Some(if exact { Constant::Decimal(literal.to_owned()) } else { Constant::Float(number) });
    }
    let (charset, rest) = literal.strip_prefix('_')?.split_once('\'')?;
    let (content, rest) = rest.split_once('\'')?;
    let bytes = match charset.strip_suffix(" x") {
        Some(_) => bytes_of(content)?,
        None if rest.contains('\'') || content.contains('\\') => return None,
        None => content.as_bytes().to_vec(),
    };
    match rest.strip_prefix(" COLLATE ") {
        None if charset == "_binary x" || charset == "binary x" => Some(Constant::Binary(bytes)),
        None => None,
        // As strong as a column's.
        Some(collation) => Some(Constant::Text { bytes, collation: collation.to_owned(), explicit: true }),
    }
}

fn bytes_of(digits: &str) -> Option<Vec<u8>> {
    let pair = |at: usize| u8::from_str_radix(digits.get(at..at + 2)?, 16).ok();
    (0..digits.len()).step_by(2).map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn literals(collation: &str) -> Literals {
        Literals { charset: "utf8mb4".into(), collation: collation.into(), mariadb: true }
    }

    #[test]
    fn parameters_become_constants() {
        let of = |parameter| literals("utf8mb4_bin").constant(&parameter).expect("a value");
        assert_eq!(of(Parameter::Unsigned(u64::MAX)), Constant::Integer(i128::from(u64::MAX)));
        assert_eq!(of(Parameter::Decimal(b"1.50")), Constant::Decimal("1.50".into()));
        assert_eq!(of(Parameter::Date([2024, 1, 2, 0, 0, 0, 0], 4)), Constant::Temporal("2024-01-02".into()));
        let day = Parameter::Date([2024, 1, 2, 3, 4, 5, 60], 11);
        assert_eq!(of(day), Constant::Temporal("2024-01-02 03:04:05.000060".into()));
        assert_eq!(of(Parameter::Time(true, [1, 2, 3, 4, 0])), Constant::Temporal("-26:03:04".into()));
        let most = Parameter::Time(false, [u32::MAX, 255, 255, 255, u32::MAX]);
        assert_eq!(of(most), Constant::Temporal("103079215335:255:255.4294967295".into()));
    }

    #[test]
    fn a_number_is_nothing_but_a_number() {
        let of = |parameter| literals("utf8mb4_bin").constant(&parameter).ok();
        let exact = |text: &str| Some(Constant::Decimal(text.to_owned()));
        for (text, expected) in [
            ("1.50", exact("1.50")),
            ("-.5", exact("-.5")),
            ("+7.", exact("+7.")),
            (" 12 ", exact("12")),
            ("1.5e2", exact("0150.0")),
            ("-15E-3", exact("-0.0150")),
            ("1e80", exact(&format!("01{}.0", "0".repeat(80)))),
            ("12e-80", exact(&format!("0.{}120", "0".repeat(78)))),
            ("1e81", None),
            ("1e", None),
            ("1e99999999999", None),
            ("", None),
            ("-", None),
            (".", None),
            ("1.2.3", None),
            ("--1", None),
            ("0 OR 1=1", None),
            ("1) OR (1=1", None),
            ("zzzz", None),
            ("0x10", None),
            ("NaN", None),
        ] {
            assert_eq!(of(Parameter::Decimal(text.as_bytes())), expected, "{text}");
        }
        assert_eq!(of(Parameter::Decimal(b"1\xff")), None);
        for none in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(of(Parameter::Float(none)), None);
        }
    }

    #[test]
    fn a_text_is_converted_where_it_is_known_how() {
        let text = |of: &str, text: &str| match literals(of).constant(&Parameter::Text(text.as_bytes())) {
            Ok(Constant::Text { bytes, collation, .. }) => (bytes, collation),
            other => panic!("{other:?}"),
        };
        assert_eq!(text("latin1_swedish_ci", "abc"), (b"abc".to_vec(), "latin1_swedish_ci".to_owned()));
        assert_eq!(text("latin1_swedish_ci", "ä"), (vec![0xe4], "latin1_swedish_ci".to_owned()));
        assert_eq!(text("utf16_general_ci", "ä"), (vec![0, 0xe4], "utf16_general_ci".to_owned()));
        // Not in it, or in what order its bytes are is not told here: no collation that is known.
        assert_eq!(text("latin1_swedish_ci", "か").1, "");
        assert_eq!(text("sjis_japanese_ci", "か").1, "");
    }

    #[test]
    fn known_variables_are_read() {
        assert_eq!(variable("5"), Some(Constant::Integer(5)));
        assert_eq!(variable("null"), Some(Constant::Null));
        assert_eq!(variable("CAST(5 AS UNSIGNED)"), Some(Constant::Integer(5)));
        assert_eq!(variable("-1.5"), Some(Constant::Decimal("-1.5".into())));
        assert_eq!(variable("1.5e0"), Some(Constant::Float(1.5)));
        assert_eq!(variable("_binary x'00FF'"), Some(Constant::Binary(vec![0, 255])));
        let text = Constant::Text { bytes: b"ab".to_vec(), collation: "utf8mb4_bin".into(), explicit: true };
        assert_eq!(variable("_utf8mb4'ab' COLLATE utf8mb4_bin").as_ref(), Some(&text));
        assert_eq!(variable("_utf8mb4 x'6162' COLLATE utf8mb4_bin"), Some(text));
        assert_eq!(variable("_utf8mb4'a\\'b' COLLATE utf8mb4_bin"), None);
        let text = Constant::Text { bytes: vec![0x95, b'\\'], collation: "sjis_bin".into(), explicit: true };
        assert_eq!(variable("_sjis x'955C' COLLATE sjis_bin"), Some(text));
    }
}
