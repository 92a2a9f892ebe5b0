//! Reads tables from the servers' `information_schema`.
//!
//! What must always hold: a [`Table`] is made from rows of one server. Both kinds of server answer the queries here with the same columns in
//! the same order. This module writes the queries; its callers send them.

mod default;
mod shown;

use std::collections::{BTreeMap, BTreeSet};

use weir_wire::Failure;
use weir_wire::error::codes;

use crate::definition::Placed;
use crate::placement::Placement;
use crate::table::{Column, ColumnType, ForeignKey, Table};

pub use shown::shown;

/// A row of a query's reply: each value as text, NULL as `None`.
pub type TextRow = Vec<Option<String>>;

/// The columns. Like the others, it is to be completed by [`of_database`] or [`of_table`].
pub const COLUMNS: &str = "SELECT t.table_name, t.column_name, t.data_type, t.column_type, t.character_maximum_length, \
    t.numeric_precision, t.numeric_scale, t.datetime_precision, t.collation_name, t.is_nullable, t.column_default, t.extra, VERSION() \
    FROM information_schema.columns t JOIN information_schema.tables b ON {joined} AND b.table_type <> 'VIEW' \
    WHERE {where} ORDER BY t.table_name, t.ordinal_position";

/// The unique keys. MySQL knows keys over expressions, which have no column's name here, and MariaDB has no such column as MySQL's
/// `expression`: a column that is NULL tells it.
pub const KEYS: &str = "SELECT t.table_name, t.index_name, t.column_name, t.sub_part FROM information_schema.statistics t \
    WHERE t.non_unique = 0 AND {where} ORDER BY t.table_name, t.index_name, t.seq_in_index";

/// The foreign keys.
pub const FOREIGN_KEYS: &str = "SELECT t.table_name, t.constraint_name, t.column_name, t.referenced_table_schema, \
    t.referenced_table_name, t.referenced_column_name FROM information_schema.key_column_usage t \
    WHERE t.referenced_table_name IS NOT NULL AND {where} ORDER BY t.table_name, t.constraint_name, t.ordinal_position";

/// Names of the tables with triggers.
pub const TRIGGERS: &str = "SELECT DISTINCT t.event_object_table FROM information_schema.triggers t WHERE {where}";

/// The rows of the four queries.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rows {
    /// Of [`COLUMNS`].
    pub columns: Vec<TextRow>,
    /// Of [`KEYS`].
    pub keys: Vec<TextRow>,
    /// Of [`FOREIGN_KEYS`].
    pub foreign_keys: Vec<TextRow>,
    /// Of [`TRIGGERS`].
    pub triggers: Vec<TextRow>,
}

/// A query for all tables of a database.
pub fn of_database(query: &str, database: &str) -> String {
    let of = |alias: &str| format!("{alias}.{} = {}", schema_of(query), literal(database));
    query.replace("{where}", &of("t")).replace("{joined}", &format!("{} AND b.table_name = t.table_name", of("b")))
}

/// A query for one table. MariaDB opens no other table if each table in the FROM is told the names, and nothing but the names: where it may
/// take them from the other table of a join, it opens all.
pub fn of_table(query: &str, database: &str, table: &str) -> String {
    let name = if query == TRIGGERS { "event_object_table" } else { "table_name" };
    let of = |alias: &str| {
        format!("{alias}.{} = {} AND {alias}.{name} = {}", schema_of(query), literal(database), literal(table))
    };
    query.replace("{where}", &of("t")).replace("{joined}", &of("b"))
}

fn schema_of(query: &str) -> &'static str {
    if query == TRIGGERS { "event_object_schema" } else { "table_schema" }
}

/// A name to compare with one of `information_schema`. In hexadecimal: no `sql_mode` reads that otherwise. Without a function: MariaDB
/// opens all tables of all databases when it does not know the name beforehand.
pub fn literal(text: &str) -> String {
    let hex: String = text.bytes().map(|byte| format!("{byte:02X}")).collect();
    if hex.is_empty() { "''".to_owned() } else { format!("_utf8mb4 x'{hex}'") }
}

/// The tables that these rows tell of, by name, each placed as said. What is not placed is left out.
///
/// # Errors
/// 1105 when rows are not those of the queries.
pub fn tables(rows: &Rows, placed: &dyn Fn(&str) -> Option<Placed>) -> Result<BTreeMap<String, Table>, Failure> {
    let mut found: BTreeMap<String, Table> = BTreeMap::new();
    let mut known: BTreeMap<&str, Option<Placed>> = BTreeMap::new();
    for row in &rows.columns {
        let name = field(row, 0)?;
        let Some(placed) = known.entry(name).or_insert_with(|| placed(name)) else {
            continue;
        };
        let table = found.entry(name.to_owned()).or_insert_with(|| empty(placed));
        if has_word(row, 11, "auto_increment") {
            table.auto_increment = Some(table.columns.len());
        }
        table.columns.push(column(row)?);
    }
    for row in &rows.triggers {
        if let Some(table) = found.get_mut(field(row, 0)?) {
            table.triggers = true;
        }
    }
    read_keys(&rows.keys, &mut found)?;
    read_foreign_keys(&rows.foreign_keys, &mut found)?;
    Ok(found)
}

/// A server's own view of a table, as a SINGLE one of a shard that becomes Weir's as it is.
pub fn adopted(shard: crate::placement::ShardId, shard_name: &str) -> Placed {
    let clause = format!("single on shard '{}'", shard_name.replace('\'', "''"));
    Placed::new(Placement::Single(shard), Vec::new(), clause)
}

fn empty(placed: &Placed) -> Table {
    Table {
        placement: placed.placement.clone(),
        columns: Vec::new(),
        primary_key: Vec::new(),
        unique_keys: Vec::new(),
        odd_unique: Vec::new(),
        unchecked: placed.unchecked.clone(),
        foreign_keys: Vec::new(),
        triggers: false,
        auto_increment: None,
        clause: placed.clause.clone(),
        hot_merge: false,
        by_default: placed.by_default,
    }
}

fn column(row: &TextRow) -> Result<Column, Failure> {
    let full = field(row, 3)?.to_owned();
    let base = field(row, 2)?.to_lowercase();
    let number = |at: usize| row.get(at)?.as_deref()?.parse::<u64>().ok();
    let temporal = matches!(&*base, "datetime" | "time" | "timestamp");
    let nullable = field(row, 9)?.eq_ignore_ascii_case("yes");
    let default = row.get(10).and_then(Option::as_deref).and_then(|value| {
        let mariadb = row.get(12)?.as_deref()?.contains("MariaDB");
        default::default_text(value, &base, mariadb, has_word(row, 11, "default_generated"))
    });
    // SHOW, whose rows are shorter, tells NULL as no default, too.
    let tells = row.len() > 12;
    let valued = ["auto_increment", "default_generated", "generated", "persistent", "virtual", "stored", "row"];
    let required =
        tells && !nullable && matches!(row.get(10), Some(None)) && !valued.iter().any(|word| has_word(row, 11, word));
    Ok(Column {
        name: field(row, 1)?.to_owned(),
        nullable,
        default,
        required,
        generated: ["generated", "persistent", "virtual", "stored"].iter().any(|word| has_word(row, 11, word))
            && !has_word(row, 11, "default_generated"),
        invisible: has_word(row, 11, "invisible"),
        kind: ColumnType {
            unsigned: full.contains("unsigned") || full.contains("zerofill"),
            length: number(4).or(number(5)),
            scale: if temporal { number(7) } else { number(6) }.and_then(|scale| u32::try_from(scale).ok()),
            collation: row.get(8).cloned().flatten(),
            base,
            full,
        },
    })
}

fn read_keys(rows: &[TextRow], tables: &mut BTreeMap<String, Table>) -> Result<(), Failure> {
    let mut keys: BTreeMap<(&str, &str), Vec<Option<&str>>> = BTreeMap::new();
    let mut odd: BTreeSet<(&str, &str)> = BTreeSet::new();
    for row in rows {
        let key = (field(row, 0)?, field(row, 1)?);
        let column = row.get(2).and_then(Option::as_deref);
        let prefix = row.get(3).and_then(Option::as_deref);
        if column.is_none() || prefix.is_some() {
            odd.insert(key);
        }
        keys.entry(key).or_default().push(column);
    }
    for ((table, name), columns) in keys {
        let Some(known) = tables.get_mut(table) else { continue };
        let places: Option<Vec<usize>> = columns.into_iter().map(|column| known.column(column?.as_bytes())).collect();
        match places {
            Some(places) if name == "PRIMARY" => {
                known.primary_key = places;
                if odd.contains(&(table, name)) {
                    known.odd_unique.push(name.to_owned());
                }
            }
            Some(places) if !odd.contains(&(table, name)) => known.unique_keys.push((name.to_owned(), places)),
            _ => known.odd_unique.push(name.to_owned()),
        }
    }
    Ok(())
}

fn read_foreign_keys(rows: &[TextRow], tables: &mut BTreeMap<String, Table>) -> Result<(), Failure> {
    for row in rows {
        let Some(table) = tables.get_mut(field(row, 0)?) else { continue };
        let (name, column) = (field(row, 1)?, field(row, 2)?);
        let place = table.column(column.as_bytes()).ok_or_else(strange)?;
        let references = field(row, 5)?.to_owned();
        match table.foreign_keys.last_mut().filter(|key| key.name == name) {
            Some(key) => {
                key.columns.push(place);
                key.references.push(references);
            }
            None => table.foreign_keys.push(ForeignKey {
                name: name.to_owned(),
                columns: vec![place],
                table: (field(row, 3)?.to_owned(), field(row, 4)?.to_owned()),
                references: vec![references],
            }),
        }
    }
    Ok(())
}

fn field(row: &TextRow, at: usize) -> Result<&str, Failure> {
    row.get(at).and_then(Option::as_deref).ok_or_else(strange)
}

fn has_word(row: &TextRow, at: usize, word: &str) -> bool {
    let text = row.get(at).and_then(Option::as_deref).unwrap_or_default();
    text.split([' ', ',']).any(|part| part.eq_ignore_ascii_case(word))
}

fn strange() -> Failure {
    Failure::server(
        codes::ER_UNKNOWN_ERROR,
        "The server's information_schema tells of a table in a form that Weir doesn't know",
    )
}
