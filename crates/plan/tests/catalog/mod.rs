//! The catalog of the golden files, from its text.
//!
//! `table name placement: column type, …`, where a placement is `hash(a, b)`, `range(a) 100 s1, …`, `list(a) 'x' s1, …`, `global`, `single
//! s1`; `procedure …` and `function …` are as behind CREATE; a type that ends in `!` is NOT NULL. The first column is the primary key. `foreign table references other`: the first columns of both.

use std::collections::BTreeMap;
use std::sync::Arc;

use weir_catalog::table::ForeignKey;
use weir_catalog::{
    Catalog, Column, ColumnType, Database, Method, Placement, Routine, RoutineKind, ShardId, ShardKey, SlotMap, Table,
};

/// The catalog of `tests/golden/catalog`.
pub(crate) fn catalog() -> Catalog {
    let text = include_str!("../golden/catalog");
    let mut catalog = Catalog { version: 1, ..Catalog::default() };
    let mut database = None;
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (word, rest) = line.split_once(' ').expect("a word and what follows");
        match word {
            "shards" => catalog.shards = rest.split(' ').map(str::to_owned).collect(),
            "database" => {
                let (name, shards) = rest.split_once(" on ").expect("a database's shards");
                let shards: Vec<ShardId> = shards.split(' ').map(|name| shard(&catalog, name)).collect();
                let slots = SlotMap::even(&shards);
                let known =
                    Database { shards, slots, tables: BTreeMap::new(), views: BTreeMap::new(), default_single: false };
                catalog.databases.insert(name.to_owned(), Arc::new(known));
                database = Some(name.to_owned());
            }
            "table" => {
                let table = table(&catalog, rest);
                let known = catalog.databases.get_mut(database.as_ref().expect("a database comes first"));
                let known = Arc::get_mut(known.expect("it is known")).expect("nobody else has it");
                known.tables.insert(table.0, Arc::new(table.1));
            }
            "foreign" => {
                let (name, other) = rest.split_once(" references ").expect("the table that it refers to");
                let of = database.clone().expect("a database comes first");
                let known = Arc::get_mut(catalog.databases.get_mut(&of).expect("it is known"));
                let references =
                    vec![known.as_ref().expect("nobody else has it").tables[other].columns[0].name.clone()];
                let table = known.and_then(|known| known.tables.get_mut(name)).and_then(Arc::get_mut);
                let key =
                    ForeignKey { name: "f".to_owned(), columns: vec![0], table: (of, other.to_owned()), references };
                table.expect("it is known, and nobody else has it").foreign_keys.push(key);
            }
            "view" => {
                let (name, text) = rest.split_once(" AS ").expect("a view's query");
                let known = catalog.databases.get_mut(database.as_ref().expect("a database comes first"));
                let known = Arc::get_mut(known.expect("it is known")).expect("nobody else has it");
                known.views.insert(name.to_owned(), text.to_owned());
            }
            "procedure" | "function" => {
                let kind = if word == "procedure" { RoutineKind::Procedure } else { RoutineKind::Function };
                let name = rest.split(['(', ' ']).next().unwrap_or_default();
                let routine = Routine {
                    text: format!("CREATE {line}"),
                    sql_mode: String::new(),
                    collation: "utf8mb4_general_ci".to_owned(),
                    database_collation: "utf8mb4_general_ci".to_owned(),
                };
                let of = database.clone().expect("a database comes first");
                catalog.routines.entry(of).or_default().put(kind, name, Some(routine));
            }
            _ => panic!("{line}"),
        }
    }
    catalog
}

fn shard(catalog: &Catalog, name: &str) -> ShardId {
    catalog.shard(name).unwrap_or_else(|| panic!("no shard {name}"))
}

fn table(catalog: &Catalog, text: &str) -> (String, Table) {
    let (head, columns) = text.split_once(": ").expect("columns");
    let (name, placement) = head.split_once(' ').expect("a placement");
    let columns: Vec<Column> = columns.split(", ").map(column).collect();
    let placement = placed(catalog, placement, &columns);
    let auto_increment = columns.iter().position(|column| column.kind.full.ends_with(" auto"));
    let table = Table {
        placement,
        columns,
        primary_key: vec![0],
        unique_keys: Vec::new(),
        odd_unique: Vec::new(),
        unchecked: Vec::new(),
        foreign_keys: Vec::new(),
        triggers: false,
        auto_increment,
        clause: String::new(),
        hot_merge: false,
        by_default: false,
    };
    (name.to_owned(), table)
}

fn column(text: &str) -> Column {
    let (name, kind) = text.split_once(' ').expect("a type");
    let nullable = !kind.ends_with('!');
    let full = kind.trim_end_matches('!').to_owned();
    let base = full.split(['(', ' ']).next().unwrap_or_default().to_owned();
    let length = full.split(['(', ')', '.']).nth(1).and_then(|length| length.parse().ok());
    let scale = (base == "decimal").then_some(2);
    let collation = match base.as_str() {
        "char" | "varchar" | "text" | "enum" | "set" => {
            let named = full.split(" collate ").nth(1);
            Some(named.unwrap_or("utf8mb4_general_ci").to_owned())
        }
        _ => None,
    };
    let unsigned = full.contains(" unsigned");
    let default = full.split(" default ").nth(1).map(str::to_owned);
    Column {
        name: name.to_owned(),
        kind: ColumnType { base, full, unsigned, length, scale, collation },
        nullable,
        default,
        generated: false,
        required: false,
        invisible: false,
    }
}

fn placed(catalog: &Catalog, text: &str, columns: &[Column]) -> Placement {
    match text.split_once([' ', '(']) {
        None if text == "global" => Placement::Global,
        Some(("single", name)) => Placement::Single(shard(catalog, name)),
        Some((method, rest)) => {
            let (names, rest) = rest.split_once(')').expect("the key's columns");
            let place = |name: &str| columns.iter().position(|column| column.name == name).expect("a column");
            let listed = || {
                rest.split(", ").map(str::trim).map(|one| {
                    let (value, name) = one.split_once(' ').expect("a value and a shard");
                    ((value != "MAXVALUE").then(|| value.to_owned()), shard(catalog, name))
                })
            };
            let method = match method {
                "hash" => Method::Hash,
                "range" => Method::Range(listed().collect()),
                "list" => Method::List(listed().collect(), None),
                "year" => Method::Year,
                "month" => Method::Month,
                "day" => Method::Day,
                _ => panic!("{text}"),
            };
            Placement::Sharded(ShardKey { columns: names.split("; ").map(place).collect(), method })
        }
        None => panic!("{text}"),
    }
}
