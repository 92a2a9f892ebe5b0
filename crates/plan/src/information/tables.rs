//! The tables of `information_schema` about databases and the objects in them.

use std::collections::BTreeMap;

use weir_catalog::{Catalog, EventPlace, Placement, ShardId};

use super::edits::Reads;
use crate::views;
use crate::{CatalogTableName, InformationTable};

/// How the rows of a table are found that tell of something.
struct InformationRows {
    name: &'static str,
    /// The column with the database's name.
    schema: &'static str,
    of: Of,
}

/// What rows tell of.
#[derive(Clone, Copy)]
enum Of {
    /// Of a database, or of what is on all of its shards.
    Database,
    /// Of a table or a view, whose name is in this column.
    Table(&'static str),
    /// Of an event.
    Event,
    /// Of a constraint, which MySQL tells without its table.
    Check,
}

const fn of_table(name: &'static str, schema: &'static str, column: &'static str) -> InformationRows {
    InformationRows { name, schema, of: Of::Table(column) }
}

const fn of_database(name: &'static str, schema: &'static str) -> InformationRows {
    InformationRows { name, schema, of: Of::Database }
}

/// Sources: the manuals' chapters on INFORMATION_SCHEMA of MySQL 9 and MariaDB 10.11.
const KINDS: [InformationRows; 28] = [
    of_database("schemata", "SCHEMA_NAME"),
    of_database("schemata_extensions", "SCHEMA_NAME"),
    of_database("routines", "ROUTINE_SCHEMA"),
    of_database("parameters", "SPECIFIC_SCHEMA"),
    InformationRows { name: "events", schema: "EVENT_SCHEMA", of: Of::Event },
    of_table("tables", "TABLE_SCHEMA", "TABLE_NAME"),
    of_table("tables_extensions", "TABLE_SCHEMA", "TABLE_NAME"),
    of_table("columns", "TABLE_SCHEMA", "TABLE_NAME"),
    of_table("columns_extensions", "TABLE_SCHEMA", "TABLE_NAME"),
    of_table("statistics", "TABLE_SCHEMA", "TABLE_NAME"),
    of_table("key_column_usage", "TABLE_SCHEMA", "TABLE_NAME"),
    of_table("table_constraints", "TABLE_SCHEMA", "TABLE_NAME"),
    of_table("table_constraints_extensions", "TABLE_SCHEMA", "TABLE_NAME"),
    of_table("referential_constraints", "CONSTRAINT_SCHEMA", "TABLE_NAME"),
    InformationRows { name: "check_constraints", schema: "CONSTRAINT_SCHEMA", of: Of::Check },
    of_table("partitions", "TABLE_SCHEMA", "TABLE_NAME"),
    of_table("triggers", "TRIGGER_SCHEMA", "EVENT_OBJECT_TABLE"),
    of_table("views", "TABLE_SCHEMA", "TABLE_NAME"),
    of_table("view_table_usage", "VIEW_SCHEMA", "VIEW_NAME"),
    of_table("view_routine_usage", "TABLE_SCHEMA", "TABLE_NAME"),
    of_table("column_statistics", "SCHEMA_NAME", "TABLE_NAME"),
    of_table("st_geometry_columns", "TABLE_SCHEMA", "TABLE_NAME"),
    of_table("geometry_columns", "F_TABLE_SCHEMA", "F_TABLE_NAME"),
    of_table("periods", "TABLE_SCHEMA", "TABLE_NAME"),
    of_table("table_privileges", "TABLE_SCHEMA", "TABLE_NAME"),
    of_table("column_privileges", "TABLE_SCHEMA", "TABLE_NAME"),
    of_table("role_table_grants", "TABLE_SCHEMA", "TABLE_NAME"),
    of_table("role_column_grants", "TABLE_SCHEMA", "TABLE_NAME"),
];

/// Whether a table tells how a server keeps its tables: that can't be put together.
pub(super) fn is_of_one_server(name: &[u8]) -> bool {
    const KEPT: [&str; 4] = ["table_statistics", "index_statistics", "innodb_mutexes", "innodb_cached_indexes"];
    const OF_TABLES: [&str; 14] = [
        "tables",
        "tablestats",
        "tablespaces",
        "tablespaces_brief",
        "tablespaces_encryption",
        "tablespaces_scrubbing",
        "columns",
        "indexes",
        "fields",
        "foreign",
        "foreign_cols",
        "virtual",
        "datafiles",
        "buffer_page",
    ];
    let name = name.to_ascii_lowercase();
    let Ok(name) = std::str::from_utf8(&name) else { return false };
    let kept = name.strip_prefix("innodb_").map(|rest| rest.strip_prefix("sys_").unwrap_or(rest));
    KEPT.contains(&name) || kept.is_some_and(|kept| OF_TABLES.contains(&kept) || kept == "buffer_page_lru")
}

/// Names by database; none: all that the database has.
type Names<'a> = BTreeMap<&'a str, Vec<&'a str>>;

/// What makes a table whole that one shard tells, if it is not.
pub(super) fn informed(catalog: &Catalog, home: ShardId, name: &[u8], reads: Reads) -> Option<InformationTable> {
    let kind = KINDS.iter().find(|kind| name.eq_ignore_ascii_case(kind.name.as_bytes()))?;
    let counts = matches!(kind.name, "tables" | "partitions");
    let sums = counts && reads.counts;
    let sequences = kind.name == "tables" && reads.sequences;
    let mut asked: BTreeMap<ShardId, Names<'_>> = BTreeMap::new();
    let mut replaced: Names<'_> = BTreeMap::new();
    let mut known = Vec::new();
    for (schema, database) in &catalog.databases {
        if let Of::Database | Of::Event = kind.of {
            let whole = if database.shards.contains(&home) { Some(&home) } else { database.shards.first() };
            if let Some(shard) = whole.filter(|shard| **shard != home) {
                asked.entry(*shard).or_default().entry(schema).or_default();
            }
            if let Of::Event = kind.of {
                for (shard, event) in events_of_one(catalog, schema).filter(|(shard, _)| Some(shard) != whole) {
                    asked.entry(shard).or_default().entry(schema).or_default().push(event);
                }
            }
            continue;
        }
        for (table, known_table) in &database.tables {
            let shards = match known_table.placement {
                Placement::Single(shard) => vec![shard],
                Placement::Global | Placement::Sharded(_) => database.shards.clone(),
            };
            let summed = sums && shards.len() > 1 && matches!(known_table.placement, Placement::Sharded(_));
            let generated =
                known_table.auto_increment.is_some() && !matches!(known_table.placement, Placement::Single(_));
            let sequence = sequences && generated;
            let here = shards.contains(&home);
            if here && !summed && !sequence {
                continue;
            }
            if here {
                replaced.entry(schema).or_default().push(table);
            }
            if sequence {
                known.push(CatalogTableName { database: schema.clone(), table: table.clone() });
            }
            let first = if here { home } else { *shards.first()? };
            let from = if summed { shards } else { vec![first] };
            for shard in from {
                asked.entry(shard).or_default().entry(schema).or_default().push(table);
            }
        }
        for view in database.views.keys() {
            let shards = views::shards(catalog, schema, view);
            if let (false, Some(first)) = (shards.contains(&home), shards.first()) {
                asked.entry(*first).or_default().entry(schema).or_default().push(view);
            }
        }
    }
    if asked.is_empty() {
        return None;
    }
    let name = kind.name.to_ascii_uppercase();
    let asks = asked.iter().map(|(shard, names)| {
        let text = format!("SELECT * FROM information_schema.{name} WHERE {}", condition(kind, names));
        (*shard, text.into_bytes())
    });
    let asks = asks.collect();
    let replaced = (!replaced.is_empty()).then(|| condition(kind, &replaced));
    Some(InformationTable { name, asks, replaced, adds: sums, sequences: known })
}

/// The events of a database that one shard alone has.
fn events_of_one<'a>(catalog: &'a Catalog, database: &'a str) -> impl Iterator<Item = (ShardId, &'a str)> {
    let of_database = catalog.events.iter().filter(move |event| event.object.database == database);
    of_database.filter_map(|event| match event.place {
        EventPlace::One(shard) => Some((shard, event.object.name.as_deref()?)),
        EventPlace::Each { .. } => None,
    })
}

fn condition(kind: &InformationRows, names: &Names<'_>) -> String {
    let one = |(schema, names): (&&str, &Vec<&str>)| {
        let database = format!("{} = {}", kind.schema, literal(schema));
        let list: Vec<String> = names.iter().map(|name| literal(name)).collect();
        let list = list.join(", ");
        match kind.of {
            Of::Database => database,
            Of::Event if names.is_empty() => database,
            Of::Event => format!("({database} AND EVENT_NAME IN ({list}))"),
            Of::Table(column) => format!("({database} AND {column} IN ({list}))"),
            Of::Check => format!(
                "({database} AND CONSTRAINT_NAME IN (SELECT CONSTRAINT_NAME FROM information_schema.TABLE_CONSTRAINTS WHERE TABLE_SCHEMA = {} \
                 AND TABLE_NAME IN ({list})))",
                literal(schema)
            ),
        }
    };
    names.iter().map(one).collect::<Vec<_>>().join(" OR ")
}

/// A name as a literal that means the same in every mode and character set.
fn literal(name: &str) -> String {
    match name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-$.".contains(&byte)) {
        true => format!("'{name}'"),
        false => format!("_utf8mb4 0x{}", name.bytes().map(|byte| format!("{byte:02x}")).collect::<String>()),
    }
}
