//! Comparing the catalog with what the servers have.
//!
//! What must always hold: it changes nothing; what it could not read is reported as a difference, never skipped.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use weir_catalog::{Catalog, Database, Placed, Placement, Routines, ShardId, Table};
use weir_meta::Document;
use weir_shards::own::Own;
use weir_shards::{copies, inspect};
use weir_wire::Failure;

use crate::{routine, view};

/// Something that is not as the catalog says.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Difference {
    /// The shard's name.
    pub shard: String,
    /// The table, or another object.
    pub object: String,
    /// What is wrong.
    pub what: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "shard '{}': {}: {}", self.shard, self.object, self.what)
    }
}

/// All differences between this catalog and the shards' writers.
pub async fn check(own: &Own, catalog: &Catalog) -> Vec<Difference> {
    let (mut differences, mut views) = (Vec::new(), BTreeSet::new());
    for shard in own.shards() {
        let mut found = Found { shard: catalog.shard_name(shard).to_owned(), all: Vec::new(), views };
        if let Err(failure) = check_shard(own, catalog, shard, &mut found).await {
            found.add("the shard", format!("can't be checked: {}", failure.message));
        }
        differences.append(&mut found.all);
        views = found.views;
    }
    // One that was attached is on the shard of its tables alone.
    for (name, database) in &catalog.databases {
        for view in database.views.keys().filter(|view| !views.contains(&(name.clone(), (*view).clone()))) {
            let on: Vec<_> = database.shards.iter().map(|shard| catalog.shard_name(*shard)).collect();
            let what = "is a view in the catalog, but missing there".to_owned();
            differences.push(Difference { shard: on.join(", "), object: format!("{name}.{view}"), what });
        }
    }
    check_routines(own, catalog, &mut differences).await;
    differences.sort();
    differences
}

/// Routines that shards have otherwise than the catalog, which CALL goes by.
async fn check_routines(own: &Own, catalog: &Catalog, differences: &mut Vec<Difference>) {
    let nothing = Routines::default();
    for (name, database) in &catalog.databases {
        // A shard that can't be asked has been told of.
        let Ok(there) = routine::routines(own, &database.shards, name).await else { continue };
        let known = catalog.routines.get(name).unwrap_or(&nothing);
        for (word, known, there) in
            [("PROCEDURE", &known.procedures, &there.procedures), ("FUNCTION", &known.functions, &there.functions)]
        {
            for routine in known.keys().filter(|routine| known.get(*routine) != there.get(*routine)) {
                let on: Vec<_> = database.shards.iter().map(|shard| catalog.shard_name(*shard)).collect();
                let what = format!(
                    "is not on all shards as the catalog has it: make it again through Weir, or ALTER {word} {name}.{routine} COMMENT '' \
                     there if they are right"
                );
                differences.push(Difference { shard: on.join(", "), object: format!("{name}.{routine}"), what });
            }
        }
    }
}

struct Found {
    shard: String,
    all: Vec<Difference>,
    /// Views that any shard has: database, name.
    views: BTreeSet<(String, String)>,
}

impl Found {
    fn add(&mut self, object: impl Into<String>, what: impl Into<String>) {
        self.all.push(Difference { shard: self.shard.clone(), object: object.into(), what: what.into() });
    }
}

async fn check_shard(own: &Own, catalog: &Catalog, shard: ShardId, found: &mut Found) -> Result<(), Failure> {
    check_copy(own, catalog, shard, found).await?;
    for (name, database) in catalog.databases.iter().filter(|(_, database)| database.shards.contains(&shard)) {
        if inspect::database(own, shard, name).await?.is_none() {
            found.add(format!("database {name}"), "is not there");
            continue;
        }
        let placed = |table: &str| {
            let known = database.tables.get(table)?;
            Some(Placed::of(known))
        };
        let there = inspect::tables(own, shard, name, placed).await?;
        compare(name, database, shard, &there, found);
        let views = view::names(own, shard, name).await?;
        for view in views.iter().filter(|view| !database.views.contains_key(*view)) {
            found.add(format!("{name}.{view}"), "is a view that the catalog does not know");
        }
        found.views.extend(views.into_iter().map(|view| (name.clone(), view)));
    }
    Ok(())
}

async fn check_copy(own: &Own, catalog: &Catalog, shard: ShardId, found: &mut Found) -> Result<(), Failure> {
    let copy = copies::newest(own, shard).await?;
    if copy != catalog.version {
        let what = format!("the newest copy is version {copy}, and the catalog has version {}", catalog.version);
        found.add("weir.catalog", what);
        return Ok(());
    }
    let same = match (copies::read(own, shard, copy).await?, Document::of(catalog)) {
        (Some(copy), Ok(document)) => copy.catalog().is_ok_and(|copy| Some(copy) == document.catalog().ok()),
        _ => false,
    };
    if !same {
        found.add("weir.catalog", format!("version {copy} differs from the catalog's"));
    }
    Ok(())
}

/// The tables that a shard should have, and those that it has.
fn compare(name: &str, database: &Database, shard: ShardId, there: &BTreeMap<String, Table>, found: &mut Found) {
    let belongs = |table: &Table| match table.placement {
        Placement::Single(on) => on == shard,
        Placement::Sharded(_) | Placement::Global => true,
    };
    let names: BTreeSet<&String> = database.tables.keys().chain(there.keys()).collect();
    for table in names {
        let object = format!("{name}.{table}");
        match (database.tables.get(table).filter(|table| belongs(table)), there.get(table)) {
            (Some(_), None) => found.add(object, "is in the catalog, but missing there"),
            (None, Some(_)) => found.add(object, "exists there, but the catalog does not have it on this shard"),
            (Some(known), Some(seen)) => {
                for what in unlike(known, seen) {
                    found.add(&object, what);
                }
            }
            (None, None) => {}
        }
    }
}

/// In what a table's definitions differ.
fn unlike(known: &Table, seen: &Table) -> Vec<String> {
    let mut unlike = Vec::new();
    let names = |table: &Table| table.columns.iter().map(|column| column.name.clone()).collect::<Vec<_>>();
    if names(known) != names(seen) {
        let text = |table: &Table| names(table).join(", ");
        unlike.push(format!("has the columns {}, and the catalog has {}", text(seen), text(known)));
        return unlike;
    }
    for (known, seen) in known.columns.iter().zip(&seen.columns) {
        let shape = |column: &weir_catalog::Column| {
            let null = if column.nullable { "" } else { " NOT NULL" };
            let collation = column.kind.collation.as_ref().map(|name| format!(" COLLATE {name}")).unwrap_or_default();
            format!("{}{collation}{null}", column.kind.full)
        };
        if shape(known) != shape(seen) {
            let name = &known.name;
            unlike.push(format!("column {name} is {}, and the catalog has {}", shape(seen), shape(known)));
        }
    }
    if known.primary_key != seen.primary_key {
        let text = |table: &Table| {
            let of = |at: &usize| table.columns.get(*at).map_or("?", |column| column.name.as_str());
            format!("({})", table.primary_key.iter().map(of).collect::<Vec<_>>().join(", "))
        };
        unlike.push(format!("the primary key is {}, and the catalog has {}", text(seen), text(known)));
    }
    unlike
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use weir_catalog::{Column, ColumnType, SlotMap};

    use super::*;

    fn column(name: &str, full: &str) -> Column {
        let kind = ColumnType {
            base: full.to_owned(),
            full: full.to_owned(),
            unsigned: false,
            length: None,
            scale: None,
            collation: None,
        };
        Column {
            name: name.to_owned(),
            kind,
            nullable: false,
            default: None,
            generated: false,
            required: false,
            invisible: false,
        }
    }

    fn table(placement: Placement, columns: &[(&str, &str)]) -> Table {
        Table {
            placement,
            columns: columns.iter().map(|(name, full)| column(name, full)).collect(),
            primary_key: vec![0],
            unique_keys: Vec::new(),
            odd_unique: Vec::new(),
            unchecked: Vec::new(),
            foreign_keys: Vec::new(),
            triggers: false,
            auto_increment: None,
            clause: String::new(),
            hot_merge: false,
            by_default: false,
        }
    }

    #[test]
    fn tables_that_miss_are_more_or_differ_are_told() {
        let shards = vec![ShardId(0), ShardId(1)];
        let mut database = Database {
            slots: SlotMap::even(&shards),
            shards,
            tables: BTreeMap::new(),
            views: BTreeMap::new(),
            default_single: false,
        };
        let mut know = |name: &str, table: Table| database.tables.insert(name.to_owned(), Arc::new(table));
        know("everywhere", table(Placement::Global, &[("id", "int")]));
        know("elsewhere", table(Placement::Single(ShardId(1)), &[("id", "int")]));
        know("here", table(Placement::Single(ShardId(0)), &[("id", "int"), ("v", "text")]));
        know("gone", table(Placement::Global, &[("id", "int")]));
        let mut there = BTreeMap::new();
        there.insert("everywhere".to_owned(), table(Placement::Global, &[("id", "bigint")]));
        there.insert("elsewhere".to_owned(), table(Placement::Global, &[("id", "int")]));
        there.insert("here".to_owned(), table(Placement::Global, &[("id", "int")]));
        there.insert("unheard".to_owned(), table(Placement::Global, &[("id", "int")]));
        let mut found = Found { shard: "s1".to_owned(), all: Vec::new(), views: BTreeSet::new() };
        compare("d", &database, ShardId(0), &there, &mut found);
        let told: Vec<_> = found.all.iter().map(ToString::to_string).collect();
        assert_eq!(
            told,
            [
                "shard 's1': d.elsewhere: exists there, but the catalog does not have it on this shard",
                "shard 's1': d.everywhere: column id is bigint NOT NULL, and the catalog has int NOT NULL",
                "shard 's1': d.gone: is in the catalog, but missing there",
                "shard 's1': d.here: has the columns id, and the catalog has id, v",
                "shard 's1': d.unheard: exists there, but the catalog does not have it on this shard",
            ]
        );
        database.tables.remove("gone");
        there.retain(|name, _| name == "everywhere");
        there.insert("everywhere".to_owned(), table(Placement::Global, &[("id", "int")]));
        there.insert("here".to_owned(), table(Placement::Global, &[("id", "int"), ("v", "text")]));
        let mut found = Found { shard: "s1".to_owned(), all: Vec::new(), views: BTreeSet::new() };
        compare("d", &database, ShardId(0), &there, &mut found);
        assert_eq!(found.all, []);
    }
}
