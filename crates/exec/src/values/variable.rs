//! Values of user variables as literals.

use weir_backend::profile::charset_of;

use super::MOST_LITERAL;
use crate::read::Kind;

/// The value of a user variable as a literal that makes it again elsewhere, from its value, its collation and its bytes in hexadecimal digits. `None`: it is
/// too long.
pub(crate) fn of_variable(
    kind: Kind,
    value: Option<&str>,
    collation: Option<&str>,
    digits: Option<&str>,
) -> Option<String> {
    let Some(value) = value else { return Some("NULL".to_owned()) };
    // What is longer than the server's own limit of a function's result has no digits.
    let digits = digits?;
    match kind {
        Kind::Integer { unsigned: true, .. } => Some(format!("CAST({value} AS UNSIGNED)")),
        Kind::Integer { .. } => Some(value.to_owned()),
        // What has no point or exponent would be an integer.
        Kind::Decimal if !value.contains('.') => Some(format!("{value}.")),
        Kind::Decimal => Some(value.to_owned()),
        Kind::Double | Kind::Float if value.contains(['e', 'E']) => Some(value.to_owned()),
        Kind::Double | Kind::Float => Some(format!("{value}e0")),
        _ if digits.len() > MOST_LITERAL => None,
        _ => match collation {
            Some("binary") | None => Some(format!("_binary x'{digits}'")),
            Some(collation) => Some(format!("_{} x'{digits}' COLLATE {collation}", charset_of(collation))),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_become_literals_of_their_types() {
        let integer = |unsigned| Kind::Integer { width: 8, unsigned };
        let cases = [
            (integer(false), "-3", "binary", "FF", "-3"),
            (integer(true), "3", "binary", "3", "CAST(3 AS UNSIGNED)"),
            (Kind::Decimal, "1.50", "binary", "2", "1.50"),
            (Kind::Decimal, "12", "binary", "C", "12."),
            (Kind::Double, "0.1", "binary", "0", "0.1e0"),
            (Kind::Double, "1e100", "binary", "0", "1e100"),
            (Kind::Bytes, "ab", "utf8mb4_bin", "6162", "_utf8mb4 x'6162' COLLATE utf8mb4_bin"),
            (Kind::Bytes, "", "latin1_swedish_ci", "", "_latin1 x'' COLLATE latin1_swedish_ci"),
            (Kind::Bytes, "", "binary", "00FF", "_binary x'00FF'"),
        ];
        for (kind, value, collation, digits, wanted) in cases {
            assert_eq!(of_variable(kind, Some(value), Some(collation), Some(digits)).as_deref(), Some(wanted));
        }
        assert_eq!(of_variable(Kind::Bytes, None, Some("utf8mb4_bin"), None).as_deref(), Some("NULL"));
        assert_eq!(of_variable(Kind::Bytes, Some(""), Some("binary"), Some(&"0".repeat(MOST_LITERAL + 2))), None);
    }
}
