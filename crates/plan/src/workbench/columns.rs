//! How columns of tables are gathered on a workbench: their types there, and the form in which values are passed.
//!
//! What must always hold: a value that has been passed is the value that it was: no digit, byte or bit is lost, whatever the session's
//! `sql_mode`, time zone and character sets are. A type for which that is not known is not passed. (A DECIMAL or a date within MySQL's
//! JSON becomes what its text says: a DOUBLE, a string.)

use weir_catalog::Column;

use crate::model::Passed;

/// How a column of a table is gathered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Gathered {
    /// What CREATE TABLE says of it behind its name.
    pub definition: String,
    /// The form of its values.
    pub passed: Passed,
    /// What a fragment's query selects: `CAST(`a` AS BINARY)`.
    pub expression: String,
}

/// The longest text, in characters, and the longest binary string, in bytes, that an index is made over: four columns of these fit into
/// InnoDB's longest key.
const LONGEST_KEY: (u64, u64) = (191, 767);

/// How a column is gathered; `None` if its type can't be passed exactly. `quoted_name` is the column in the fragment's query.
pub(crate) fn gathered(column: &Column, quoted_name: &str, mariadb: bool) -> Option<Gathered> {
    let (passed, expression) = passed(column, quoted_name, mariadb)?;
    Some(Gathered { definition: definition(column)?, passed, expression })
}

/// In which form a column's values are passed from server to server, and the expression that gives them so; `None` if its type can't be
/// passed exactly. `quoted_name` is the column in the query.
pub fn passed(column: &Column, quoted_name: &str, mariadb: bool) -> Option<(Passed, String)> {
    Some(match &*column.kind.base {
        "tinyint" | "smallint" | "mediumint" | "int" | "bigint" | "decimal" | "double" => {
            (Passed::Number, quoted_name.to_owned())
        }
        // Of a FLOAT itself a server shows six digits.
        "float" => (Passed::Number, format!("CAST({quoted_name} AS DOUBLE)")),
        // The number of a member, the bits of members: `+0` would make a DOUBLE of it, which does not have 64 bits.
        "year" | "bit" | "enum" | "set" => (Passed::Number, format!("CAST({quoted_name} AS UNSIGNED)")),
        // Not in the character set of results, which may not have all of its characters.
        "char" | "varchar" | "tinytext" | "text" | "mediumtext" | "longtext" => {
            (Passed::Bytes, format!("CAST({quoted_name} AS BINARY)"))
        }
        "binary" | "varbinary" | "tinyblob" | "blob" | "mediumblob" | "longblob" => {
            (Passed::Bytes, quoted_name.to_owned())
        }
        "geometry" | "point" | "linestring" | "polygon" | "multipoint" | "multilinestring" | "multipolygon"
        | "geometrycollection" | "geomcollection" => (Passed::Bytes, quoted_name.to_owned()),
        "vector" if !mariadb => (Passed::Bytes, quoted_name.to_owned()),
        // A binary string would become a JSON string.
        "json" if !mariadb => {
            (Passed::Utf8, format!("CAST(CAST({quoted_name} AS CHAR CHARACTER SET utf8mb4) AS BINARY)"))
        }
        "uuid" | "inet4" | "inet6" if mariadb => (Passed::Bytes, format!("CAST({quoted_name} AS BINARY)")),
        "date" | "datetime" | "time" => (Passed::Ascii, quoted_name.to_owned()),
        "timestamp" => (Passed::Epoch, format!("UNIX_TIMESTAMP({quoted_name})")),
        _ => return None,
    })
}

/// Whether an index over it can be made in a temporary table without a prefix: it is a number, a date or a short text.
pub(crate) fn can_be_key(column: &Column) -> bool {
    let length = column.kind.length.unwrap_or(u64::MAX);
    match &*column.kind.base {
        "tinyint" | "smallint" | "mediumint" | "int" | "bigint" | "decimal" | "double" | "float" | "year" | "bit"
        | "enum" | "set" | "date" | "datetime" | "time" | "timestamp" | "uuid" | "inet4" | "inet6" => true,
        "char" | "varchar" => length <= LONGEST_KEY.0,
        "binary" | "varbinary" => length <= LONGEST_KEY.1,
        _ => false,
    }
}

/// The column's type, whether it may be NULL, and nothing else: it is generated from others no more, and has no default.
fn definition(column: &Column) -> Option<String> {
    let mut text = plain_type(column)?.to_owned();
    if is_text(&column.kind.base) {
        let collation = column.kind.collation.as_deref()?;
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        // `binary` is the collation of an ENUM whose members are no characters: their bytes can't be told from the type's text.
        if collation == "binary" || !collation.bytes().all(plain) {
            return None;
        }
        text.push_str(" COLLATE ");
        text.push_str(collation);
    }
    text.push_str(if column.nullable { " NULL" } else { " NOT NULL" });
    if column.kind.base == "timestamp" && !column.nullable {
        // Without a default of its own, it may get one that follows the time.
        text.push_str(" DEFAULT 0");
    }
    Some(text)
}

/// A definition with a default: MariaDB wants one of an invisible column that can't be NULL (4108). It takes an expression of any type,
/// which no row needs.
pub(super) fn with_default(definition: String) -> String {
    match definition.ends_with(" NOT NULL") {
        true => definition + " DEFAULT (UUID())",
        false => definition,
    }
}

/// The type without what a server says of its storage in comments (`/*!100301 COMPRESSED*/`, `/* mariadb-5.3 */`).
fn plain_type(column: &Column) -> Option<&str> {
    let full = &*column.kind.full;
    match &*column.kind.base {
        "enum" | "set" => Some(full),
        _ => full.split("/*").next().map(str::trim_end).filter(|text| !text.is_empty()),
    }
}

fn is_text(base: &str) -> bool {
    matches!(base, "char" | "varchar" | "tinytext" | "text" | "mediumtext" | "longtext" | "enum" | "set")
}

#[cfg(test)]
mod tests {
    use weir_catalog::ColumnType;

    use super::*;

    fn column(full: &str, collation: Option<&str>, nullable: bool) -> Column {
        let base = full.split(['(', ' ']).next().unwrap_or(full).to_owned();
        let length = full.split(['(', ')', ',']).nth(1).and_then(|length| length.parse().ok());
        let kind = ColumnType {
            base,
            full: full.to_owned(),
            unsigned: full.contains("unsigned"),
            length,
            scale: None,
            collation: collation.map(str::to_owned),
        };
        Column {
            name: "c".to_owned(),
            kind,
            nullable,
            default: None,
            generated: false,
            required: false,
            invisible: false,
        }
    }

    #[test]
    fn types_keep_all_but_where_their_values_come_from() {
        let latin1 = Some("latin1_swedish_ci");
        for (full, collation, nullable, expected) in [
            ("int(10) unsigned zerofill", None, false, "int(10) unsigned zerofill NOT NULL"),
            ("decimal(65,30)", None, true, "decimal(65,30) NULL"),
            ("varchar(20)", latin1, false, "varchar(20) COLLATE latin1_swedish_ci NOT NULL"),
            ("enum('a','/*b')", latin1, true, "enum('a','/*b') COLLATE latin1_swedish_ci NULL"),
            ("varchar(20) /*!100301 COMPRESSED*/", latin1, true, "varchar(20) COLLATE latin1_swedish_ci NULL"),
            ("blob /*!100301 COMPRESSED*/", None, true, "blob NULL"),
            ("datetime(6) /* mariadb-5.3 */", None, true, "datetime(6) NULL"),
            ("timestamp(6)", None, false, "timestamp(6) NOT NULL DEFAULT 0"),
            ("timestamp", None, true, "timestamp NULL"),
        ] {
            let gathered = gathered(&column(full, collation, nullable), "`c`", true);
            assert_eq!(gathered.map(|gathered| gathered.definition).as_deref(), Some(expected));
        }
    }

    #[test]
    fn values_are_selected_in_a_form_that_loses_nothing() {
        let utf8 = Some("utf8mb4_bin");
        for (full, collation, mariadb, passed, expected) in [
            ("bigint unsigned", None, false, Passed::Number, "t.`c`"),
            ("float", None, false, Passed::Number, "CAST(t.`c` AS DOUBLE)"),
            ("set('a')", utf8, true, Passed::Number, "CAST(t.`c` AS UNSIGNED)"),
            ("text", utf8, true, Passed::Bytes, "CAST(t.`c` AS BINARY)"),
            ("varbinary(3)", None, true, Passed::Bytes, "t.`c`"),
            ("time(3)", None, true, Passed::Ascii, "t.`c`"),
            ("timestamp", None, true, Passed::Epoch, "UNIX_TIMESTAMP(t.`c`)"),
            ("uuid", None, true, Passed::Bytes, "CAST(t.`c` AS BINARY)"),
            ("json", None, false, Passed::Utf8, "CAST(CAST(t.`c` AS CHAR CHARACTER SET utf8mb4) AS BINARY)"),
        ] {
            let gathered = gathered(&column(full, collation, true), "t.`c`", mariadb);
            let found = gathered.map(|gathered| (gathered.passed, gathered.expression));
            assert_eq!(found, Some((passed, expected.to_owned())), "{full}");
        }
    }

    #[test]
    fn what_is_not_known_to_be_exact_is_not_passed() {
        for (full, collation, mariadb) in [
            ("xmltype", None, true),
            ("uuid", None, false),
            ("enum('?')", Some("binary"), true),
            ("varchar(3)", Some("a b"), true),
            ("varchar(3)", None, true),
        ] {
            assert_eq!(gathered(&column(full, collation, true), "`c`", mariadb), None, "{full}");
        }
    }

    #[test]
    fn keys_are_short() {
        for (full, expected) in [
            ("bigint", true),
            ("varchar(191)", true),
            ("varchar(192)", false),
            ("varbinary(767)", true),
            ("text", false),
            ("json", false),
            ("point", false),
        ] {
            assert_eq!(can_be_key(&column(full, Some("utf8mb4_bin"), true)), expected, "{full}");
        }
    }
}
