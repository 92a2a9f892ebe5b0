//! Where a new table is to be: Weir's clauses, or the default rule.

use weir_catalog::define::{Draft, Setting, Unplaced, check_references, check_referring, declare};
use weir_catalog::{Catalog, Object, Placed, Placement, Table};
use weir_sql::ast::{ColumnAttributeKind, ColumnDefinition, CreateTable, KeyPart, KeyPartKind, Span, TableElement};
use weir_wire::Failure;
use weir_wire::error::not_supported;

use super::asked::Asked;
use super::collations::CollationFacts;

/// A table that is everywhere.
pub(super) fn global() -> Placed {
    Placed::new(Placement::Global, Vec::new(), "global")
}

/// Where the table of a definition is. Without knowledge of the servers it may be said to be everywhere: on as many shards, and what it is
/// refused for is found out later.
///
/// # Errors
/// What can't be placed, or what must be known first.
pub(super) fn declared(
    asked: &Asked<'_>,
    catalog: &Catalog,
    object: &Object,
    create: &CreateTable<'_>,
    collations: Option<&CollationFacts>,
) -> Result<Placed, Unplaced> {
    let nothing = CollationFacts::default();
    let known = collations.unwrap_or(&nothing);
    let collation_of = |charset: &str| known.collations.get(&charset.to_ascii_lowercase()).cloned();
    let setting = setting(asked, catalog, object, known, &collation_of);
    match declare(&setting, create) {
        Err(_) | Ok(Placed { note: Some(_), .. }) if collations.is_none() => Ok(global()),
        placed => placed,
    }
}

fn holds(parts: &[KeyPart<'_>], key: &[Vec<u8>]) -> bool {
    key.iter().all(|column| {
        parts
            .iter()
            .any(|part| matches!(part.kind, KeyPartKind::Column(name, None) if name.name.eq_ignore_ascii_case(column)))
    })
}

fn lacks(name: &str, key: &[Vec<u8>]) -> Failure {
    let key: Vec<_> = key.iter().map(|column| String::from_utf8_lossy(column)).collect();
    let key: Vec<&str> = key.iter().map(AsRef::as_ref).collect();
    not_supported(weir_catalog::define::lacks(name, &key))
}

/// The shard key's columns.
fn key_names(table: &Table) -> Vec<Vec<u8>> {
    let columns = table.shard_key().map_or(&[][..], |key| &key.columns);
    columns.iter().map(|at| table.columns[*at].name.clone().into_bytes()).collect()
}

/// Refuses a unique key of a sharded table that does not hold the shard key.
pub(super) fn holds_shard_key(table: &Table, name: &str, parts: &[KeyPart<'_>]) -> Result<(), Failure> {
    let key = key_names(table);
    if holds(parts, &key) { Ok(()) } else { Err(lacks(name, &key)) }
}

/// The refusal of a unique column.
pub(super) fn without_shard_key(table: &Table, name: &str) -> Failure {
    lacks(name, &key_names(table))
}

/// Refuses foreign keys among these elements, new ones of a known table, whose rows may be on another shard.
pub(super) fn references(
    asked: &Asked<'_>,
    catalog: &Catalog,
    object: &Object,
    table: &Table,
    elements: &[TableElement<'_>],
) -> Result<(), Failure> {
    with_draft(asked, catalog, object, table, |setting, draft| check_references(setting, elements, draft))
}

/// Refuses a table of a name that foreign keys refer to already, if their rows would be on other shards.
pub(super) fn referring(asked: &Asked<'_>, catalog: &Catalog, object: &Object, table: &Table) -> Result<(), Failure> {
    with_draft(asked, catalog, object, table, check_referring)
}

/// Foreign keys depend on no server: they pair columns that are known.
fn with_draft(
    asked: &Asked<'_>,
    catalog: &Catalog,
    object: &Object,
    table: &Table,
    check: impl FnOnce(&Setting<'_>, &Draft<'_>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let name = object.name.as_deref().unwrap_or_default();
    let draft = Draft { name, columns: &table.columns, placement: &table.placement };
    check(&setting(asked, catalog, object, &CollationFacts::default(), &|_| None), &draft)
}

fn setting<'a>(
    asked: &Asked<'a>,
    catalog: &'a Catalog,
    object: &'a Object,
    known: &'a CollationFacts,
    collation_of: &'a dyn Fn(&str) -> Option<String>,
) -> Setting<'a> {
    Setting {
        catalog,
        database: &object.database,
        collation: known.collation.as_deref(),
        collation_of,
        weights: &known.weights,
        inexact: &known.inexact,
        text: asked.text,
        mode: asked.mode,
    }
}

/// UNCHECKED in a column's attributes.
pub(super) fn unchecked_of_column(column: &ColumnDefinition<'_>) -> Vec<Span> {
    let word = |attribute: &weir_sql::ast::ColumnAttribute<'_>| match attribute.kind {
        ColumnAttributeKind::Unique(unchecked) => unchecked,
        _ => None,
    };
    column.attributes.iter().filter_map(word).collect()
}

/// UNCHECKED in a table's columns and keys.
pub(super) fn unchecked_of_elements(elements: &[TableElement<'_>]) -> Vec<Span> {
    let of = |element: &TableElement<'_>| match element {
        TableElement::Column(column) => unchecked_of_column(column),
        TableElement::Key(key) => key.unchecked.into_iter().collect(),
        _ => Vec::new(),
    };
    elements.iter().flat_map(of).collect()
}
