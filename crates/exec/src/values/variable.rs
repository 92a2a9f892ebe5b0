//! Values of user variables as literals.

use weir_backend::profile::charset_of;
use weir_wire::charset::is_well_formed;

use super::MOST_LITERAL;
use crate::read::ColumnKind;

/// The value of a user variable as a literal that makes it again elsewhere, from its value, its collation and its bytes in hexadecimal digits. `None`: it is
/// too long, or its bytes are no characters of its character set, for which there is no literal.
pub(crate) fn of_variable(
    kind: ColumnKind,
    value: Option<&str>,
    collation: Option<&str>,
    digits: Option<&str>,
) -> Option<String> {
    let Some(value) = value else { return Some("NULL".to_owned()) };
    // What is longer than the server's own limit of a function's result has no digits.
    let digits = digits?;
    match kind {
        ColumnKind::Integer { unsigned: true, .. } => Some(format!("CAST({value} AS UNSIGNED)")),
        ColumnKind::Integer { .. } => Some(value.to_owned()),
        // What has no point or exponent would be an integer.
        ColumnKind::Decimal if !value.contains('.') => Some(format!("{value}.")),
        ColumnKind::Decimal => Some(value.to_owned()),
        ColumnKind::Double | ColumnKind::Float if value.contains(['e', 'E']) => Some(value.to_owned()),
        ColumnKind::Double | ColumnKind::Float => Some(format!("{value}e0")),
        _ if digits.len() > MOST_LITERAL => None,
        _ => match collation {
            Some("binary") | None => Some(format!("_binary x'{digits}'")),
            Some(collation) => {
                let charset = charset_of(collation);
                let literal = || format!("_{charset} x'{digits}' COLLATE {collation}");
                is_well_formed(&bytes_of(digits)?, charset).then(literal)
            }
        },
    }
}

fn bytes_of(digits: &str) -> Option<Vec<u8>> {
    let pair = |at: usize| u8::from_str_radix(digits.get(at..at + 2)?, 16).ok();
    (0..digits.len()).step_by(2).map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_become_literals_of_their_types() {
        let integer = |unsigned| ColumnKind::Integer { width: 8, unsigned };
        let cases = [
            (integer(false), "-3", "binary", "FF", "-3"),
            (integer(true), "3", "binary", "3", "CAST(3 AS UNSIGNED)"),
            (ColumnKind::Decimal, "1.50", "binary", "2", "1.50"),
            (ColumnKind::Decimal, "12", "binary", "C", "12."),
            (ColumnKind::Double, "0.1", "binary", "0", "0.1e0"),
            (ColumnKind::Double, "1e100", "binary", "0", "1e100"),
            (ColumnKind::Bytes, "ab", "utf8mb4_bin", "6162", "_utf8mb4 x'6162' COLLATE utf8mb4_bin"),
            (ColumnKind::Bytes, "", "latin1_swedish_ci", "", "_latin1 x'' COLLATE latin1_swedish_ci"),
            (ColumnKind::Bytes, "", "binary", "00FF", "_binary x'00FF'"),
        ];
        for (kind, value, collation, digits, wanted) in cases {
            assert_eq!(of_variable(kind, Some(value), Some(collation), Some(digits)).as_deref(), Some(wanted));
        }
        assert_eq!(of_variable(ColumnKind::Bytes, Some(""), Some("utf8mb4_bin"), Some("61FF")), None);
        assert_eq!(of_variable(ColumnKind::Bytes, None, Some("utf8mb4_bin"), None).as_deref(), Some("NULL"));
        assert_eq!(of_variable(ColumnKind::Bytes, Some(""), Some("binary"), Some(&"0".repeat(MOST_LITERAL + 2))), None);
    }
}
