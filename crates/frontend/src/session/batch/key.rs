//! The column along which a statement is split.
//!
//! What must always hold: it is a column of whole numbers that are never NULL, with an index that begins with it, in a base table: its rows
//! are found in its order, and none is missed.

use weir_plan::batch::{KeyColumn, Splittable, TableName};
use weir_plan::write::literal::quoted_name;
use weir_wire::Failure;
use weir_wire::error::not_supported;

use super::super::Session;
use super::super::stopped::Stopped;

type Rows = Vec<Vec<Option<Vec<u8>>>>;

/// A row of SHOW INDEX. The places are those of both kinds of server.
struct Part<'r>(&'r [Option<Vec<u8>>]);

impl Part<'_> {
    fn cell(&self, at: usize) -> &[u8] {
        self.0.get(at).and_then(Option::as_deref).unwrap_or_default()
    }

    fn is_unique(&self) -> bool {
        self.cell(1) == b"0"
    }

    fn index(&self) -> &[u8] {
        self.cell(2)
    }

    fn is_first(&self) -> bool {
        self.cell(3) == b"1"
    }

    fn column(&self) -> &[u8] {
        self.cell(4)
    }

    /// Whole values, in their order.
    fn is_ordered(&self) -> bool {
        self.0.get(7).is_none_or(Option::is_none) && self.cell(10) == b"BTREE"
    }
}

impl Session {
    /// The column that the client has named, or else the primary key's first.
    pub(super) async fn key_column(&mut self, statement: &Splittable) -> Result<KeyColumn, Stopped> {
        let table = statement.table.quoted();
        let indexes = self.run_apart(&[b"SHOW INDEX FROM ", &table[..]].concat()).await?.rows;
        let columns = self.run_apart(&[b"SHOW COLUMNS FROM ", &table[..]].concat()).await?.rows;
        self.is_base_table(&statement.table).await?;
        if let Some(target) = &statement.target {
            self.is_base_table(target).await?;
        }
        Ok(choose(&indexes, &columns, statement.column.as_deref())?)
    }

    /// A view may be of the table that is read.
    async fn is_base_table(&mut self, table: &TableName) -> Result<(), Stopped> {
        let database = table.database.as_ref().map(|name| [b" FROM ", &quoted_name(name)[..]].concat());
        let asked = [b"SHOW FULL TABLES", &database.unwrap_or_default()[..]].concat();
        let rows = self.run_apart(&asked).await?.rows;
        let cell = |row: &[Option<Vec<u8>>], at: usize| row.get(at).cloned().flatten().unwrap_or_default();
        let found = rows.iter().find(|row| cell(row, 0).eq_ignore_ascii_case(&table.name));
        match found {
            Some(row) if cell(row, 1) == b"BASE TABLE" => Ok(()),
            _ => {
                let name = String::from_utf8_lossy(&table.name).into_owned();
                Err(not_supported(format!("BATCH of {name}, which is no base table")).into())
            }
        }
    }
}

/// Chooses the column, by what SHOW INDEX and SHOW COLUMNS tell.
fn choose(indexes: &Rows, columns: &Rows, wanted: Option<&[u8]>) -> Result<KeyColumn, Failure> {
    let parts: Vec<Part<'_>> = indexes.iter().map(|row| Part(row)).collect();
    let first = |part: &&Part<'_>| part.is_first() && part.is_ordered();
    let name = match wanted {
        Some(name) => name.to_vec(),
        None => {
            let primary = parts.iter().find(|part| part.index().eq_ignore_ascii_case(b"PRIMARY") && part.is_first());
            primary.map(|part| part.column().to_vec()).ok_or_else(|| {
                not_supported(
                    "BATCH of a table without a primary key: name a column that has an index, BATCH ON column LIMIT …",
                )
            })?
        }
    };
    let is = |part: &&Part<'_>| part.column().eq_ignore_ascii_case(&name);
    let shown = String::from_utf8_lossy(&name).into_owned();
    let refuse = |why: &str| {
        Err(not_supported(format!("BATCH along {shown}, {why}: name another column, BATCH ON column LIMIT …")))
    };
    let cell = |row: &[Option<Vec<u8>>], at: usize| {
        String::from_utf8_lossy(row.get(at).and_then(Option::as_deref).unwrap_or_default()).to_lowercase()
    };
    let Some(column) = columns.iter().find(|row| cell(row, 0) == shown.to_lowercase()) else {
        return refuse("which is no column of the table");
    };
    let kind = cell(column, 1);
    if !["tinyint", "smallint", "mediumint", "int", "bigint"].iter().any(|integer| kind.starts_with(integer)) {
        return refuse(&format!("which is of type {kind}: it takes whole numbers"));
    }
    if cell(column, 2) != "no" {
        return refuse("which may be NULL");
    }
    if cell(column, 5).contains("generated") {
        return refuse("which is computed from others");
    }
    if !parts.iter().filter(first).any(|part| is(&part)) {
        return refuse("with which no index begins");
    }
    let alone = |part: &&Part<'_>| parts.iter().filter(|other| other.index() == part.index()).count() == 1;
    let unique = parts.iter().filter(is).filter(first).filter(alone).any(Part::is_unique);
    Ok(KeyColumn { name, unique })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(cells: &[&str]) -> Vec<Option<Vec<u8>>> {
        cells.iter().map(|cell| (*cell != "-").then(|| cell.as_bytes().to_vec())).collect()
    }

    fn index(unique: bool, name: &str, place: &str, column: &str, prefix: &str) -> Vec<Option<Vec<u8>>> {
        row(&["t", if unique { "0" } else { "1" }, name, place, column, "A", "9", prefix, "-", "", "BTREE"])
    }

    #[test]
    fn the_column_is_the_primary_keys_first_unless_another_is_named() {
        let indexes = vec![
            index(true, "PRIMARY", "1", "a", "-"),
            index(true, "PRIMARY", "2", "b", "-"),
            index(true, "u", "1", "U", "-"),
            index(false, "n", "1", "n", "-"),
            index(false, "v", "1", "v", "-"),
            index(false, "g", "1", "g", "-"),
            index(false, "s", "1", "s", "10"),
        ];
        let columns = vec![
            row(&["a", "int(11)", "NO", "PRI", "-", ""]),
            row(&["b", "bigint unsigned", "NO", "PRI", "-", ""]),
            row(&["u", "tinyint", "NO", "UNI", "-", "auto_increment"]),
            row(&["n", "int", "YES", "MUL", "-", ""]),
            row(&["v", "int", "NO", "MUL", "-", ""]),
            row(&["g", "int", "NO", "MUL", "-", "VIRTUAL GENERATED"]),
            row(&["s", "varchar(20)", "NO", "MUL", "-", ""]),
        ];
        let chosen = |name: Option<&str>| choose(&indexes, &columns, name.map(str::as_bytes));
        let column = |name: &str, unique| Ok(KeyColumn { name: name.as_bytes().to_vec(), unique });
        assert_eq!(chosen(None), column("a", false));
        assert_eq!(chosen(Some("u")), column("u", true));
        assert_eq!(chosen(Some("v")), column("v", false));
        for (name, why) in
            [("b", "no index begins"), ("n", "NULL"), ("g", "computed"), ("s", "varchar(20)"), ("x", "no column")]
        {
            let failure = chosen(Some(name)).expect_err(name);
            assert_eq!(failure.code, 1235);
            assert!(failure.message.contains(why), "{name}: {}", failure.message);
        }
        assert!(choose(&Vec::new(), &columns, None).expect_err("no key").message.contains("primary key"));
    }
}
