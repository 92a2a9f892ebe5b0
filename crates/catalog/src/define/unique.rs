//! Unique keys and the shard key.
//!
//! What must always hold: a unique key that does not contain all columns of the shard key is refused unless it is declared UNCHECKED, because
//! a shard sees only its own rows.

use weir_sql::ast::{ColumnAttributeKind, KeyKind, KeyPart, KeyPartKind, TableDefinition, TableElement};

use super::{Unplaced, refused, text};

/// A unique key of a definition.
struct Unique {
    name: String,
    /// Whole columns only.
    columns: Vec<String>,
    unchecked: bool,
}

/// Names of the unique keys that were allowed without the shard key.
pub(super) fn unchecked(definition: &TableDefinition<'_>, shard_key: &[&str]) -> Result<Vec<String>, Unplaced> {
    let mut allowed = Vec::new();
    let by_name = definition.placement.map_or(&[][..], |placement| placement.unchecked);
    for unique in all(definition) {
        let holds = |column: &&str| unique.columns.iter().any(|known| known.eq_ignore_ascii_case(column));
        if shard_key.iter().all(holds) {
            continue;
        }
        if !unique.unchecked && !by_name.iter().any(|name| name.is(&unique.name)) {
            return refused(lacks(&unique.name, shard_key));
        }
        allowed.push(unique.name);
    }
    Ok(allowed)
}

/// What is said of a unique key without the shard key.
pub fn lacks(name: &str, shard_key: &[&str]) -> String {
    let out = match name {
        "PRIMARY" => "name one of its columns in SHARD BY HASH(…), or make the table SINGLE or GLOBAL",
        _ => "or write UNIQUE UNCHECKED if the application sees to it",
    };
    format!(
        "Key '{name}' does not hold the shard key ({}), so that no shard alone can say whether a value is unique: add the missing \
         columns to the key, {out}",
        shard_key.join(", ")
    )
}

/// The unique keys of a definition, the primary key included: names, and the columns that they hold as a whole.
pub fn unique_keys(definition: &TableDefinition<'_>) -> Vec<(String, Vec<String>)> {
    all(definition).into_iter().map(|unique| (unique.name, unique.columns)).collect()
}

fn all(definition: &TableDefinition<'_>) -> Vec<Unique> {
    let mut found: Vec<Unique> = Vec::new();
    let mut names: Vec<String> = Vec::new();
    for element in definition.elements() {
        match element {
            TableElement::Column(column) => {
                let name = text(column.name.name);
                let serial = column.attributes.iter().any(|it| it.kind == ColumnAttributeKind::SerialDefaultValue);
                let mut add = |key: &str, unchecked| {
                    let key = if key == "PRIMARY" { key.to_owned() } else { fresh(&mut names, key) };
                    found.push(Unique { name: key, columns: vec![name.clone()], unchecked });
                };
                if column.is_primary_key() {
                    add("PRIMARY", false);
                }
                let word = column.attributes.iter().find_map(|attribute| match attribute.kind {
                    ColumnAttributeKind::Unique(unchecked) => Some(unchecked.is_some()),
                    _ => None,
                });
                if let Some(unchecked) = word.or(serial.then_some(false)) {
                    add(&name, unchecked);
                }
            }
            TableElement::Key(key) => {
                let first = key.parts.first().and_then(KeyPart::column);
                let named = key.name.or(key.constraint.and_then(|constraint| constraint.name)).or(first);
                let named = named.map_or_else(|| "functional_index".to_owned(), |name| text(name.name));
                let name = match key.kind {
                    KeyKind::Primary => "PRIMARY".to_owned(),
                    _ => fresh(&mut names, &named),
                };
                if matches!(key.kind, KeyKind::Primary | KeyKind::Unique) {
                    let unchecked = key.unchecked.is_some();
                    found.push(Unique { name, columns: whole_columns(key.parts), unchecked });
                }
            }
            _ => {}
        }
    }
    found
}

/// The columns that a key has as a whole; of those with a prefix, values that differ may meet.
pub(super) fn whole_columns(parts: &[KeyPart<'_>]) -> Vec<String> {
    let whole = |part: &KeyPart<'_>| match part.kind {
        KeyPartKind::Column(name, None) => Some(text(name.name)),
        _ => None,
    };
    parts.iter().filter_map(whole).collect()
}

/// The name that the servers give a key: with a number after it if there is one of that name.
fn fresh(names: &mut Vec<String>, name: &str) -> String {
    let taken = |name: &str| names.iter().any(|known| known.eq_ignore_ascii_case(name));
    let found = match taken(name) {
        false => name.to_owned(),
        true => (2..).map(|number| format!("{name}_{number}")).find(|name| !taken(name)).unwrap_or_default(),
    };
    names.push(found.clone());
    found
}
