//! Makes the documents of successive versions of the catalog. What has not changed since the one before is not written anew: else each
//! definition would take the longer the more tables there are.
//!
//! What must always hold: a document is the same, byte by byte, whatever this has written before; its step leads from the one before to it.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;
use serde_json::{Map, Value};
use weir_catalog::{Catalog, Database, Table};

use crate::delta::{Edit, checksum, differ};
use crate::document::{Document, DocumentError, FORMAT};

/// See the module.
#[derive(Debug, Default)]
pub struct Writer {
    known: Option<Known>,
}

/// The version that was written last.
#[derive(Debug)]
struct Known {
    text: Arc<str>,
    /// All but tables, in the order of its keys.
    rest: Value,
    tables: Tables,
}

/// By database and name.
type Tables = BTreeMap<String, BTreeMap<String, Piece>>;

/// A table, and its part of the text.
#[derive(Debug, Clone)]
struct Piece {
    table: Arc<Table>,
    text: Arc<str>,
}

/// How a document comes from another one.
#[derive(Debug, Clone)]
pub(crate) struct Step {
    /// The other one's text.
    pub(crate) before: Arc<str>,
    pub(crate) edits: Arc<[Edit]>,
    /// The checksum of the document's text.
    pub(crate) sum: u64,
}

#[derive(Serialize)]
struct Written<'a> {
    format: u32,
    catalog: &'a Catalog,
}

impl Writer {
    /// The document of the next version.
    ///
    /// # Errors
    /// When the catalog can't be written as JSON.
    pub fn next(&mut self, catalog: &Catalog) -> Result<Document, DocumentError> {
        let rest = rest(catalog)?;
        let known = self.known.take();
        let (mut path, mut edits) = (Vec::new(), Vec::new());
        if let Some(known) = &known {
            differ(&known.rest, &rest, &mut path, &mut edits);
        }
        let mut tables = Tables::new();
        for (name, database) in &catalog.databases {
            let before = known.as_ref().and_then(|known| known.tables.get(name));
            let pieces = pieces(database, before)?;
            if known.is_some() {
                path.extend(["catalog", "databases", name, "tables"].map(Value::from));
                differing_tables(before.unwrap_or(&BTreeMap::new()), &pieces, &mut path, &mut edits)?;
                path.clear();
            }
            tables.insert(name.clone(), pieces);
        }
        let text: Arc<str> = whole(&rest, &tables).into();
        let step = known.map(|known| Step { before: known.text, edits: edits.into(), sum: checksum(&text) });
        self.known = Some(Known { text: text.clone(), rest, tables });
        Ok(Document { version: catalog.version, text, step })
    }
}

/// A catalog without its tables.
fn rest(catalog: &Catalog) -> Result<Value, DocumentError> {
    let without_tables = |database: &Arc<Database>| {
        let Database { shards, slots, tables: _, views, default_single } = &**database;
        let (shards, slots, views) = (shards.clone(), slots.clone(), views.clone());
        Arc::new(Database { shards, slots, tables: BTreeMap::new(), views, default_single: *default_single })
    };
    let databases = catalog.databases.iter().map(|(name, database)| (name.clone(), without_tables(database)));
    let catalog = &Catalog { databases: databases.collect(), ..catalog.clone() };
    sorted(&Written { format: FORMAT, catalog })
}

/// Keys in their order, which does not depend on how it came to be.
fn sorted(written: &impl Serialize) -> Result<Value, DocumentError> {
    let mut value = serde_json::to_value(written)?;
    value.sort_all_objects();
    Ok(value)
}

fn pieces(
    database: &Database,
    before: Option<&BTreeMap<String, Piece>>,
) -> Result<BTreeMap<String, Piece>, DocumentError> {
    let piece = |(name, table): (&String, &Arc<Table>)| {
        let known = before.and_then(|before| before.get(name)).filter(|known| Arc::ptr_eq(&known.table, table));
        let piece = match known {
            Some(known) => known.clone(),
            None => Piece { table: table.clone(), text: sorted(table)?.to_string().into() },
        };
        Ok((name.clone(), piece))
    };
    database.tables.iter().map(piece).collect()
}

fn differing_tables(
    before: &BTreeMap<String, Piece>,
    after: &BTreeMap<String, Piece>,
    path: &mut Vec<Value>,
    edits: &mut Vec<Edit>,
) -> Result<(), DocumentError> {
    let value = |piece: &Piece| serde_json::from_str::<Value>(&piece.text);
    for name in before.keys().filter(|name| !after.contains_key(*name)) {
        edits.push(Edit::Cut([&path[..], &[Value::from(name.as_str())]].concat()));
    }
    for (name, piece) in after {
        path.push(Value::from(name.as_str()));
        match before.get(name) {
            Some(known) if known.text == piece.text => {}
            Some(known) => differ(&value(known)?, &value(piece)?, path, edits),
            None => edits.push(Edit::Set(path.clone(), value(piece)?)),
        }
        path.pop();
    }
    Ok(())
}

/// The text of all, with tables in their places.
fn whole(rest: &Value, tables: &Tables) -> String {
    let mut text = String::new();
    put(&mut text, rest, &["catalog", "databases"], &mut |text, name, database| {
        let own = tables.get(name);
        put(text, database, &[], &mut |text, key, value| match (key, own) {
            ("tables", Some(own)) => put_members(text, own.iter(), |text, _, piece| text.push_str(&piece.text)),
            _ => text.push_str(&value.to_string()),
        });
    });
    text
}

/// Puts an object whose members `each` puts; with a path, the members of what is there are meant.
fn put(text: &mut String, value: &Value, path: &[&str], each: &mut dyn FnMut(&mut String, &str, &Value)) {
    let nothing = Map::new();
    let members = value.as_object().unwrap_or(&nothing);
    match path.split_first() {
        None => put_members(text, members.iter(), each),
        Some((step, path)) => put_members(text, members.iter(), |text, key, value| match key == *step {
            true => put(text, value, path, each),
            false => text.push_str(&value.to_string()),
        }),
    }
}

fn put_members<'a, T>(
    text: &mut String,
    members: impl Iterator<Item = (&'a String, T)>,
    mut each: impl FnMut(&mut String, &str, T),
) {
    text.push('{');
    for (at, (key, value)) in members.enumerate() {
        if at > 0 {
            text.push(',');
        }
        text.push_str(&Value::from(key.as_str()).to_string());
        text.push(':');
        each(text, key, value);
    }
    text.push('}');
}

#[cfg(test)]
mod tests {
    use rand::rngs::StdRng;
    use rand::{RngExt, SeedableRng};
    use weir_catalog::{Object, ShardId, SlotMap};

    use super::*;
    use crate::delta::Chain;

    fn table(clause: &str) -> Arc<Table> {
        let text = format!(
            r#"{{"placement":"Global","columns":[],"primary_key":[],"unique_keys":[],"odd_unique":[],"unchecked":[],"foreign_keys":[],
            "triggers":false,"auto_increment":null,"clause":"{clause}"}}"#
        );
        Arc::new(serde_json::from_str(&text).unwrap())
    }

    /// Makes, changes and drops databases, tables and what else there is.
    fn change(catalog: &mut Catalog, random: &mut StdRng) {
        let name = ["a", "b", "ü\"\n", "tables"][random.random_range(0..4)].to_owned();
        match random.random_range(0..10) {
            0 => drop(catalog.databases.remove(&name)),
            1 => catalog.shards.push(name),
            2 => {
                catalog.triggers.push((Object::within(name.clone(), name.clone()), Object::within(name.clone(), name)))
            }
            at => {
                let shards = vec![ShardId(0)];
                let slots = SlotMap::even(&shards);
                let (tables, views) = (BTreeMap::new(), BTreeMap::new());
                let new = || Arc::new(Database { shards, slots, tables, views, default_single: false });
                let database = Arc::make_mut(catalog.databases.entry(name.clone()).or_insert_with(new));
                let of = ["t", "u", "v\\", "tables"][random.random_range(0..4)].to_owned();
                match at {
                    3 => drop(database.tables.remove(&of)),
                    4 => drop(database.views.insert(of, name)),
                    5 => database.default_single = !database.default_single,
                    _ => drop(database.tables.insert(of, table(&name.replace(['"', '\n'], "")))),
                }
            }
        }
        catalog.version += 1;
    }

    #[test]
    fn documents_don_t_depend_on_those_before_and_are_reached_by_their_steps() {
        let mut random = StdRng::seed_from_u64(7);
        let mut catalog = Catalog { version: 1, ..Catalog::default() };
        // Large enough for changes to be smaller.
        catalog.shards.push("x".repeat(20_000));
        let mut writer = Writer::default();
        let mut document = writer.next(&catalog).unwrap();
        let mut chain = Chain::begin(&document);
        let mut entries = vec![(document.version, document.text.to_string())];
        for _ in 0..300 {
            // A version may be written and not be stored.
            for _ in 0..random.random_range(1..=2) {
                change(&mut catalog, &mut random);
                document = writer.next(&catalog).unwrap();
                assert_eq!(document, Document::of(&catalog).unwrap());
                let mut value = serde_json::to_value(Written { format: FORMAT, catalog: &catalog }).unwrap();
                value.sort_all_objects();
                assert_eq!(*document.text, value.to_string());
            }
            let (entry, grown) = chain.next(&document).unwrap();
            assert!(entry.len() < 2_000, "{entry}");
            entries.push((document.version, entry));
            chain = grown;
            assert_eq!(Chain::read(entries.clone()).unwrap().0, document);
        }
    }
}
