//! Tables as SHOW tells of them: `information_schema` has no temporary tables on MySQL.

use super::{Rows, TextRow};

/// What `information_schema` would tell of a table, from the rows of SHOW FULL COLUMNS and SHOW INDEX, as far as plans of SINGLE tables need it:
/// not the defaults, which SHOW does not tell apart from expressions.
pub fn shown(table: &str, columns: &[TextRow], keys: &[TextRow]) -> Rows {
    let cell = |row: &TextRow, at: usize| row.get(at).cloned().flatten();
    let column = |row: &TextRow| {
        let full = cell(row, 1);
        let kind = Declared::of(full.as_deref().unwrap_or_default());
        vec![
            Some(table.to_owned()),
            cell(row, 0),
            Some(kind.base.to_owned()),
            full.clone(),
            kind.characters(),
            kind.digits(0),
            kind.digits(1),
            kind.fraction(),
            cell(row, 2),
            cell(row, 3),
            cell(row, 5),
            cell(row, 6),
        ]
    };
    let key = |row: &TextRow| vec![Some(table.to_owned()), cell(row, 2), cell(row, 4), cell(row, 7)];
    let is_unique = |row: &&TextRow| row.get(1).and_then(Option::as_deref) == Some("0");
    Rows {
        columns: columns.iter().map(column).collect(),
        keys: keys.iter().filter(is_unique).map(key).collect(),
        ..Rows::default()
    }
}

/// A type in its parts: `decimal(10,2) unsigned`.
struct Declared<'a> {
    base: &'a str,
    numbers: Vec<&'a str>,
}

impl<'a> Declared<'a> {
    fn of(full: &'a str) -> Declared<'a> {
        let end = full.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(full.len());
        let (base, rest) = full.split_at(end);
        let within = rest.strip_prefix('(').and_then(|rest| rest.split_once(')')).map(|(within, _)| within);
        let numbers = within.unwrap_or_default().split(',').filter(|part| part.parse::<u64>().is_ok()).collect();
        Declared { base, numbers }
    }

    fn number(&self, at: usize) -> Option<String> {
        self.numbers.get(at).map(|number| (*number).to_owned())
    }

    /// Characters of text, bytes of binary strings.
    fn characters(&self) -> Option<String> {
        let most = match self.base {
            "char" | "varchar" | "binary" | "varbinary" => return self.number(0),
            "tinytext" | "tinyblob" => "255",
            "text" | "blob" => "65535",
            "mediumtext" | "mediumblob" => "16777215",
            "longtext" | "longblob" => "4294967295",
            _ => return None,
        };
        Some(most.to_owned())
    }

    fn digits(&self, at: usize) -> Option<String> {
        self.number(at).filter(|_| matches!(self.base, "decimal" | "bit"))
    }

    /// Digits of the second.
    fn fraction(&self) -> Option<String> {
        let temporal = matches!(self.base, "datetime" | "time" | "timestamp");
        temporal.then(|| self.number(0).unwrap_or_else(|| "0".to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{adopted, tables};
    use super::*;
    use crate::placement::ShardId;

    fn row(cells: &[&str]) -> TextRow {
        cells.iter().map(|cell| (*cell != "-").then(|| (*cell).to_owned())).collect()
    }

    #[test]
    fn a_table_is_read_from_what_show_tells() {
        let columns = [
            row(&["id", "int(10) unsigned", "-", "NO", "PRI", "-", "auto_increment"]),
            row(&["Name", "varchar(20)", "utf8mb4_bin", "YES", "", "-", ""]),
            row(&["price", "decimal(10,2)", "-", "NO", "", "0.00", ""]),
            row(&["at", "datetime(3)", "-", "NO", "", "CURRENT_TIMESTAMP(3)", "DEFAULT_GENERATED"]),
            row(&["sum", "double", "-", "YES", "", "-", "VIRTUAL GENERATED INVISIBLE"]),
            row(&["kind", "enum('a','1,2')", "utf8mb4_bin", "NO", "", "-", ""]),
        ];
        let keys = [
            row(&["tmp", "0", "PRIMARY", "1", "id", "A", "0", "-"]),
            row(&["tmp", "0", "name", "1", "Name", "A", "0", "-"]),
            row(&["tmp", "0", "part", "1", "Name", "A", "0", "5"]),
            row(&["tmp", "1", "plain", "1", "price", "A", "0", "-"]),
        ];
        let rows = shown("tmp", &columns, &keys);
        let found = tables(&rows, &|_| Some(adopted(ShardId(1), "s2"))).expect("it is read");
        let table = &found["tmp"];
        let told: Vec<_> = table
            .columns
            .iter()
            .map(|column| {
                let kind = &column.kind;
                (&*column.name, &*kind.base, kind.length, kind.scale, column.generated)
            })
            .collect();
        assert_eq!(
            told,
            [
                ("id", "int", None, None, false),
                ("Name", "varchar", Some(20), None, false),
                ("price", "decimal", Some(10), Some(2), false),
                ("at", "datetime", None, Some(3), false),
                ("sum", "double", None, None, true),
                ("kind", "enum", None, None, false),
            ]
        );
        assert!(table.columns[0].kind.unsigned && table.columns[4].invisible);
        assert_eq!((table.auto_increment, &table.primary_key[..]), (Some(0), &[0][..]));
        assert_eq!(table.unique_keys, [("name".to_owned(), vec![1])]);
        assert_eq!(table.odd_unique, ["part"]);
    }
}
