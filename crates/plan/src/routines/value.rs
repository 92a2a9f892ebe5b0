//! What an argument is as a parameter of a routine.
//!
//! What must always hold: a value that is given is the one that the body sees, with its type and collation; all else is `None`.

use weir_catalog::Constant;
use weir_sql::ast::{DataType, DeclaredType, Expr};

/// What else decides what a text is.
pub(super) struct Charsets<'a> {
    /// The collation where the type names none.
    pub(super) database: &'a str,
    /// The collation that a charset has where none is named.
    pub(super) default_of: &'a dyn Fn(&str) -> Option<String>,
}

/// The value of a parameter of this type. `text`: what the type's spans are of.
pub(super) fn as_parameter(
    constant: Constant,
    data_type: &DeclaredType<'_>,
    text: &[u8],
    charsets: &Charsets<'_>,
) -> Option<Constant> {
    let DeclaredType::Type(data_type) = data_type else { return None };
    if constant == Constant::Null {
        return Some(constant);
    }
    let name = String::from_utf8_lossy(data_type.name.text(text)).to_ascii_uppercase();
    match (name.as_str(), constant) {
        (_, Constant::Integer(value)) => {
            let (low, high) = integers(&name, data_type)?;
            (low..=high).contains(&value).then_some(Constant::Integer(value))
        }
        ("CHAR" | "VARCHAR" | "CHARACTER" | "CHARACTER VARYING", Constant::Text { bytes, collation, .. }) => {
            let own = collation_of(data_type, charsets)?;
            let fits = length(data_type.arguments, text)? >= characters(&bytes)? && !bytes.ends_with(b" ");
            let same = bytes.is_ascii() && is_ascii_superset(&own) && is_ascii_superset(&collation)
                || own.starts_with("utf8mb4_") && collation.starts_with("utf8mb4_");
            // As strong as a column's.
            (fits && same).then_some(Constant::Text { bytes, collation: own, explicit: true })
        }
        ("DATE", Constant::Text { bytes, .. }) => {
            let value = String::from_utf8(bytes).ok()?;
            is_plain_date(&value).then_some(Constant::Temporal(value))
        }
        ("DATE", Constant::Temporal(value)) => is_plain_date(&value).then_some(Constant::Temporal(value)),
        _ => None,
    }
}

/// The least and the greatest value of an integer type.
fn integers(name: &str, data_type: &DataType<'_>) -> Option<(i128, i128)> {
    let bits = match name {
        "BOOL" | "BOOLEAN" => 8,
        "TINYINT" => 8,
        "SMALLINT" => 16,
        "MEDIUMINT" => 24,
        "INT" | "INTEGER" => 32,
        "BIGINT" => 64,
        _ => return None,
    };
    if data_type.unsigned || data_type.zerofill {
        return Some((0, (1 << bits) - 1));
    }
    Some((-(1 << (bits - 1)), (1 << (bits - 1)) - 1))
}

fn collation_of(data_type: &DataType<'_>, charsets: &Charsets<'_>) -> Option<String> {
    let name = |name: &[u8]| String::from_utf8_lossy(name).to_ascii_lowercase();
    match (data_type.collation, data_type.charset, data_type.binary) {
        (Some(collation), _, false) => Some(name(collation.name)),
        (None, Some(charset), false) => (charsets.default_of)(&name(charset.name)),
        (None, None, false) => Some(charsets.database.to_owned()),
        _ => None,
    }
}

fn is_ascii_superset(collation: &str) -> bool {
    ["utf8mb4_", "utf8mb3_", "utf8_", "latin1_", "ascii_"].iter().any(|charset| collation.starts_with(charset))
}

/// How many characters a type has room for.
fn length(arguments: &[Expr<'_>], text: &[u8]) -> Option<usize> {
    match arguments {
        [] => Some(1),
        [length] => std::str::from_utf8(length.span.text(text)).ok()?.parse().ok(),
        _ => None,
    }
}

fn characters(bytes: &[u8]) -> Option<usize> {
    std::str::from_utf8(bytes).ok().map(|text| text.chars().count())
}

/// `YYYY-MM-DD`, of a day that every month has.
fn is_plain_date(value: &str) -> bool {
    let bytes = value.as_bytes();
    let digits = |range: std::ops::Range<usize>| -> Option<u32> {
        let part = value.get(range)?;
        part.bytes().all(|byte| byte.is_ascii_digit()).then(|| part.parse().ok())?
    };
    bytes.len() == 10
        && bytes[4] == b'-'
        && bytes[7] == b'-'
        && digits(0..4).is_some_and(|year| year >= 1000)
        && digits(5..7).is_some_and(|month| (1..=12).contains(&month))
        && digits(8..10).is_some_and(|day| (1..=28).contains(&day))
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_sql::ast::StatementKind;
    use weir_sql::{Bump, Dialect, LexMode, parse};

    fn text(value: &str, collation: &str, explicit: bool) -> Constant {
        Constant::Text { bytes: value.as_bytes().to_vec(), collation: collation.to_owned(), explicit }
    }

    fn of(data_type: &str, constant: Constant) -> Option<Constant> {
        let sql = format!("CREATE PROCEDURE p(a {data_type}) SELECT 1");
        let arena = Bump::new();
        let mode = LexMode { dialect: Dialect::MySql, ..LexMode::default() };
        let parsed = parse(&arena, sql.as_bytes(), mode).expect("it is SQL");
        let StatementKind::CreateRoutine(create) = parsed.statements[0].kind else { panic!("{sql}") };
        let default_of = |charset: &str| Some(format!("{charset}_general_ci"));
        let charsets = Charsets { database: "utf8mb4_bin", default_of: &default_of };
        as_parameter(constant, &create.parameters[0].data_type, sql.as_bytes(), &charsets)
    }

    #[test]
    fn integers_are_themselves_where_there_is_room() {
        assert_eq!(of("INT", Constant::Integer(5)), Some(Constant::Integer(5)));
        assert_eq!(of("TINYINT", Constant::Integer(128)), None);
        assert_eq!(of("TINYINT UNSIGNED", Constant::Integer(128)), Some(Constant::Integer(128)));
        assert_eq!(of("INT UNSIGNED", Constant::Integer(-1)), None);
        assert_eq!(of("VARCHAR(10)", Constant::Integer(5)), None);
        assert_eq!(of("DECIMAL(5,2)", Constant::Integer(5)), None);
        assert_eq!(of("INT", Constant::Null), Some(Constant::Null));
        assert_eq!(of("INT", text("5", "utf8mb4_bin", false)), None);
    }

    #[test]
    fn texts_have_the_collation_of_their_parameter() {
        let given = || text("ab", "utf8mb4_general_ci", false);
        assert_eq!(of("VARCHAR(2)", given()), Some(text("ab", "utf8mb4_bin", true)));
        assert_eq!(of("VARCHAR(1)", given()), None);
        assert_eq!(of("VARCHAR(2) CHARACTER SET latin1", given()), Some(text("ab", "latin1_general_ci", true)));
        assert_eq!(of("VARCHAR(2) CHARACTER SET ucs2", given()), None);
        assert_eq!(of("CHAR(3)", text("ab ", "utf8mb4_bin", false)), None);
        assert_eq!(of("VARCHAR(9) CHARACTER SET latin1", text("é", "utf8mb4_bin", false)), None);
    }

    #[test]
    fn dates_are_those_that_every_month_has() {
        assert_eq!(of("DATE", text("2024-02-05", "utf8mb4_bin", false)), Some(Constant::Temporal("2024-02-05".into())));
        assert_eq!(of("DATE", text("2024-02-30", "utf8mb4_bin", false)), None);
        assert_eq!(of("DATE", text("2024-2-5", "utf8mb4_bin", false)), None);
        assert_eq!(of("DATETIME", text("2024-02-05", "utf8mb4_bin", false)), None);
    }
}
