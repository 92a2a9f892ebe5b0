//! What a plan has to know of the session: character sets, parameters, user variables.
//!
//! What must always hold: what is not known for certain is not said. A plan then asks more shards than it might, or is refused.

use weir_backend::Identity;
use weir_backend::profile::{Profile, charset_of};
use weir_catalog::Constant;
use weir_wire::params::Parameter;

/// The character sets and collations of a session, as far as they decide what literals are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Literals {
    /// The charset of the text.
    pub(super) charset: String,
    /// The collation of its literals.
    pub(super) collation: String,
    mariadb: bool,
}

impl Literals {
    /// Those of a session with this profile.
    pub(super) fn of(profile: &Profile, identity: &Identity) -> Literals {
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
    pub(super) fn default_of(&self, charset: &str) -> Option<String> {
        default_collation(charset, self.mariadb).map(str::to_owned)
    }

    /// A parameter's value.
    pub(super) fn constant(&self, parameter: &Parameter<'_>) -> Constant {
        match *parameter {
            Parameter::Null => Constant::Null,
            Parameter::Signed(value) => Constant::Integer(i128::from(value)),
            Parameter::Unsigned(value) => Constant::Integer(i128::from(value)),
            Parameter::Float(value) => Constant::Float(value),
            Parameter::Decimal(text) => match std::str::from_utf8(text) {
                Ok(text) => Constant::Decimal(text.to_owned()),
                Err(_) => Constant::Binary(text.to_vec()),
            },
            Parameter::Text(bytes) => Constant::Text {
                bytes: bytes.to_vec(),
                // What is converted on its way to the connection's charset is not told here.
                collation: match charset_of(&self.collation) == self.charset || bytes.is_ascii() {
                    true => self.collation.clone(),
                    false => String::new(),
                },
                explicit: false,
            },
            Parameter::Bytes(bytes) => Constant::Binary(bytes.to_vec()),
            Parameter::Date(fields, length) => Constant::Temporal(date_text(fields, length)),
            Parameter::Time(negative, [days, hours, minutes, seconds, micros]) => {
                let sign = if negative { "-" } else { "" };
                let hours = days * 24 + hours;
                Constant::Temporal(format!("{sign}{hours:02}:{minutes:02}:{seconds:02}{}", fraction(micros)))
            }
        }
    }
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

/// A known user variable's value: a number, NULL, or a string in the form in which profiles keep them.
pub(super) fn variable(literal: &str) -> Option<Constant> {
    if literal.eq_ignore_ascii_case("NULL") {
        return Some(Constant::Null);
    }
    if let Ok(number) = literal.parse::<i128>() {
        return Some(Constant::Integer(number));
    }
    let rest = literal.strip_prefix('_')?;
    let (_, rest) = rest.split_once('\'')?;
    let (text, collation) = rest.split_once("' COLLATE ")?;
    (!text.contains(['\'', '\\'])).then(|| Constant::Text {
        bytes: text.as_bytes().to_vec(),
        collation: collation.to_owned(),
        // As strong as a column's.
        explicit: true,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn literals(collation: &str) -> Literals {
        Literals { charset: "utf8mb4".into(), collation: collation.into(), mariadb: true }
    }

    #[test]
    fn parameters_become_constants() {
        let of = |parameter| literals("utf8mb4_bin").constant(&parameter);
        assert_eq!(of(Parameter::Unsigned(u64::MAX)), Constant::Integer(i128::from(u64::MAX)));
        assert_eq!(of(Parameter::Decimal(b"1.50")), Constant::Decimal("1.50".into()));
        assert_eq!(of(Parameter::Date([2024, 1, 2, 0, 0, 0, 0], 4)), Constant::Temporal("2024-01-02".into()));
        let day = Parameter::Date([2024, 1, 2, 3, 4, 5, 60], 11);
        assert_eq!(of(day), Constant::Temporal("2024-01-02 03:04:05.000060".into()));
        assert_eq!(of(Parameter::Time(true, [1, 2, 3, 4, 0])), Constant::Temporal("-26:03:04".into()));
    }

    #[test]
    fn a_text_that_is_converted_has_no_collation_that_is_known() {
        let collation = |bytes: &[u8]| match literals("latin1_swedish_ci").constant(&Parameter::Text(bytes)) {
            Constant::Text { collation, .. } => collation,
            other => format!("{other:?}"),
        };
        assert_eq!(collation(b"abc"), "latin1_swedish_ci");
        assert_eq!(collation("ä".as_bytes()), "");
    }

    #[test]
    fn known_variables_are_read() {
        assert_eq!(variable("5"), Some(Constant::Integer(5)));
        assert_eq!(variable("null"), Some(Constant::Null));
        assert_eq!(variable("1.5"), None);
        let text = Constant::Text { bytes: b"ab".to_vec(), collation: "utf8mb4_bin".into(), explicit: true };
        assert_eq!(variable("_utf8mb4'ab' COLLATE utf8mb4_bin"), Some(text));
        assert_eq!(variable("_utf8mb4'a\\'b' COLLATE utf8mb4_bin"), None);
    }
}
