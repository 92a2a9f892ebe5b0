//! The default of a column as a text of SQL.
//!
//! What must always hold: the text means the same in every session, whatever its character set and `sql_mode`. A default of which that is not
//! certain is left out.

/// The default, from what `information_schema.columns` says of it: MariaDB writes an expression, MySQL the bare value of a literal.
///
/// `expression`: MySQL says that it is one (`DEFAULT_GENERATED`).
pub(super) fn default_text(value: &str, base: &str, mariadb: bool, expression: bool) -> Option<String> {
    let unescaped = if expression && !mariadb { unescaped(value)? } else { value.to_owned() };
    let value = &*unescaped;
    if (mariadb || !expression) && matches!(base, "char" | "varchar") && !value.is_ascii() {
        return of_other_characters(value, mariadb);
    }
    // A TIMESTAMP is told in the time zone of the session that asks.
    let certain = value.is_ascii() && !value.contains('\\') && base != "timestamp";
    if !certain || value.eq_ignore_ascii_case("null") && (mariadb || expression) {
        return None;
    }
    Some(match base {
        _ if mariadb || expression => value.to_owned(),
        "binary" | "varbinary" => format!("x'{}'", value.strip_prefix("0x")?),
        "bit" => value.to_owned(),
        "char" | "varchar" | "enum" | "set" | "date" | "time" | "datetime" | "year" => {
            format!("'{}'", value.replace('\'', "''"))
        }
        // A number. Other types have no literal defaults.
        _ => value.parse::<f64>().is_ok().then(|| value.to_owned())?,
    })
}

/// A literal that is not of ASCII, as one whose bytes are told.
fn of_other_characters(value: &str, mariadb: bool) -> Option<String> {
    let text = match mariadb {
        false => value.to_owned(),
        true => {
            let inner = value.strip_prefix('\'')?.strip_suffix('\'')?;
            let alone = inner.replace("''", "").contains('\'');
            (!alone && !inner.contains('\\')).then(|| inner.replace("''", "'"))?
        }
    };
    let digits: String = text.bytes().map(|byte| format!("{byte:02x}")).collect();
    Some(format!("_utf8mb4 x'{digits}'"))
}

/// MySQL puts a backslash before the quotes and backslashes of an expression, in whose literals it has put one before a quote already:
/// that becomes two quotes, which mean the same in every `sql_mode`.
fn unescaped(value: &str) -> Option<String> {
    let once = without_backslashes(value, &[('\'', "'"), ('\\', "\\")])?;
    without_backslashes(&once, &[('\'', "''")])
}

/// With a text for each pair of a backslash and a character; `None` if there are other pairs.
fn without_backslashes(value: &str, pairs: &[(char, &str)]) -> Option<String> {
    let mut text = String::with_capacity(value.len());
    let mut rest = value.chars();
    while let Some(character) = rest.next() {
        if character == '\\' {
            let escaped = rest.next()?;
            text.push_str(pairs.iter().find(|(known, _)| *known == escaped)?.1);
        } else {
            text.push(character);
        }
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_of_both_kinds_of_server_become_the_same_text() {
        let mysql = |value, base| default_text(value, base, false, false);
        let mariadb = |value, base| default_text(value, base, true, false);
        for (of_mysql, of_mariadb, base, text) in [
            ("ger", "'ger'", "char", "'ger'"),
            ("", "''", "varchar", "''"),
            ("it's", "'it''s'", "varchar", "'it''s'"),
            ("3", "3", "int", "3"),
            ("-1.50", "-1.50", "decimal", "-1.50"),
            ("b'101'", "b'101'", "bit", "b'101'"),
            ("2020-01-02", "'2020-01-02'", "date", "'2020-01-02'"),
        ] {
            assert_eq!(mysql(of_mysql, base).as_deref(), Some(text));
            assert_eq!(mariadb(of_mariadb, base).as_deref(), Some(text));
        }
        assert_eq!(mysql("\u{e4}'", "char").as_deref(), Some("_utf8mb4 x'c3a427'"));
        assert_eq!(mariadb("'\u{e4}'''", "char").as_deref(), Some("_utf8mb4 x'c3a427'"));
        assert_eq!(mysql("0x61", "binary").as_deref(), Some("x'61'"));
        assert_eq!(mysql("NULL", "varchar").as_deref(), Some("'NULL'"));
        let expression = |value| default_text(value, "char", false, true);
        assert_eq!(expression("uuid()").as_deref(), Some("uuid()"));
        assert_eq!(
            expression(r"replace(uuid(),_utf8mb4\'-\',_utf8mb4\'\')").as_deref(),
            Some("replace(uuid(),_utf8mb4'-',_utf8mb4'')")
        );
        let quote = r"concat(_utf8mb4\'it\\\'s\')";
        assert_eq!(expression(quote).as_deref(), Some("concat(_utf8mb4'it''s')"));
        assert_eq!(expression(r"concat(_utf8mb4\'\\\\\')"), None, "with NO_BACKSLASH_ESCAPES, two backslashes are two");
    }

    #[test]
    fn what_depends_on_the_session_is_left_out() {
        for (value, base, mariadb) in [
            ("NULL", "char", true),
            ("concat('\u{e4}')", "char", true),
            ("'\u{e4}',lower('\u{e4}')", "char", true),
            ("'\u{e4}\\n'", "char", true),
            ("'a\\b'", "char", true),
            ("'2020-01-02 03:04:05'", "timestamp", true),
            ("strange", "int", false),
        ] {
            assert_eq!(default_text(value, base, mariadb, false), None, "{value}");
        }
    }
}
