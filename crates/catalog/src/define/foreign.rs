//! Foreign keys.
//!
//! What must always hold: the row that a foreign key refers to is on the shard of the row that has it.

use weir_sql::ast::{ColumnAttributeKind, CreateTable, ReferenceAction, References, TableElement};
use weir_wire::Failure;
use weir_wire::error::codes;

use super::{Setting, folded, text};
use crate::colocated::keys_meet;
use crate::placement::{Placement, ShardKey};
use crate::table::{Column, ColumnType, ForeignKey, Table};

/// A table as it is to be: a new one, or one that is there and is changed.
#[derive(Debug, Clone, Copy)]
pub struct Draft<'a> {
    /// Its name, in the database of the [`Setting`].
    pub name: &'a str,
    /// Its columns.
    pub columns: &'a [Column],
    /// Where its rows are.
    pub placement: &'a Placement,
}

/// Checks the foreign keys among these elements of a definition.
///
/// # Errors
/// 1235 when rows may refer to rows of other shards.
pub fn check_references(
    setting: &Setting<'_>,
    elements: &[TableElement<'_>],
    draft: &Draft<'_>,
) -> Result<(), Failure> {
    for (columns, references) in references(elements) {
        check_one(setting, draft, &columns, references)?;
    }
    Ok(())
}

/// The foreign keys among these elements: their columns, and what they refer to.
pub fn references<'a>(elements: &[TableElement<'a>]) -> Vec<(Vec<String>, &'a References<'a>)> {
    let mut found = Vec::new();
    for element in elements {
        match element {
            TableElement::ForeignKey(key) => {
                found.push((super::unique::whole_columns(key.columns), &key.references));
            }
            TableElement::Column(column) => {
                for attribute in column.attributes {
                    if let ColumnAttributeKind::References(references) = attribute.kind {
                        found.push((vec![text(column.name.name)], references));
                    }
                }
            }
            _ => {}
        }
    }
    found
}

/// Refuses foreign keys to tables that are not there yet, as in a dump: nobody knows where their rows will be.
pub(super) fn check_known(
    setting: &Setting<'_>,
    create: &CreateTable<'_>,
    elements: &[TableElement<'_>],
) -> Result<(), Failure> {
    let own = folded(setting, create.name.name.name);
    for (_, references) in references(elements) {
        let database =
            references.table.database.map_or_else(|| setting.database.into(), |name| folded(setting, name.name));
        let name = folded(setting, references.table.name.name);
        let known = setting.catalog.table(database.as_bytes(), name.as_bytes()).is_some();
        if !known && (database != setting.database || name != own) {
            return refused(format!(
                "The foreign key refers to '{name}', which is not there yet: make '{name}' first, or say SHARD BY HASH(…) by the columns of \
                 the foreign key"
            ));
        }
    }
    Ok(())
}

fn check_one(
    setting: &Setting<'_>,
    draft: &Draft<'_>,
    columns: &[String],
    references: &References<'_>,
) -> Result<(), Failure> {
    let database =
        references.table.database.map_or_else(|| setting.database.to_owned(), |name| folded(setting, name.name));
    let name = folded(setting, references.table.name.name);
    let theirs: Vec<String> = match super::unique::whole_columns(references.columns) {
        all if all.is_empty() => columns.to_vec(),
        all => all,
    };
    let itself = database == setting.database && name == draft.name;
    let other = match setting.catalog.database(database.as_bytes()) {
        None => {
            return refused(format!(
                "The foreign key refers to '{name}' in database '{database}', which is not sharded: its rows are not on the same shards"
            ));
        }
        Some(_) if itself => None,
        // It isn't there yet, as in a dump: it is checked against this table when it comes.
        Some(_) => match setting.catalog.table(database.as_bytes(), name.as_bytes()) {
            None => return Ok(()),
            Some((_, table)) => Some(&**table),
        },
    };
    let placement = other.map_or(draft.placement, |table| &table.placement);
    let columns_of = other.map_or(draft.columns, |table: &Table| &table.columns);
    let same_database = database == setting.database;
    match (draft.placement, placement) {
        (Placement::Sharded(key), Placement::Global) => changes_key(draft, key, columns, references, true),
        (_, Placement::Global) => Ok(()),
        (Placement::Single(one), Placement::Single(two)) if one == two => Ok(()),
        (Placement::Sharded(key), Placement::Sharded(of)) if same_database => {
            if !paired((draft.columns, key), (columns_of, of), columns, &theirs) {
                return refused(format!(
                    "The foreign key to '{name}' does not pair the shard keys of both tables in equal types, so that rows may be on \
                     different shards: shard both by these columns, or make '{name}' GLOBAL"
                ));
            }
            changes_key(draft, key, columns, references, false)
        }
        _ => refused(format!(
            "The foreign key refers to '{name}', whose rows are not on the same shards: make '{name}' GLOBAL, shard both tables by the \
             columns of the foreign key, or make both SINGLE (CREATE DATABASE … /*weir: default single */ makes all tables so)"
        )),
    }
}

/// Whether a foreign key pairs the shard keys, in equal types, of the table that has it and the one that it refers to.
fn paired(ours: (&[Column], &ShardKey), theirs: (&[Column], &ShardKey), from: &[String], to: &[String]) -> bool {
    let ((columns, key), (columns_of, of)) = (ours, theirs);
    let pairs = key.columns.iter().zip(&of.columns).all(|(our, their)| {
        let (Some(our), Some(their)) = (columns.get(*our), columns_of.get(*their)) else {
            return false;
        };
        let mut both = from.iter().zip(to);
        both.any(|(from, to)| our.name.eq_ignore_ascii_case(from) && their.name.eq_ignore_ascii_case(to))
    });
    key.columns.len() == of.columns.len()
        && pairs
        && keys_meet((&key.method, &types(columns, key)), (&of.method, &types(columns_of, of)))
}

/// Checks the foreign keys of known tables that refer to this one, and were made before it.
///
/// # Errors
/// 1235 when their rows would refer to rows of other shards.
pub fn check_referring(setting: &Setting<'_>, draft: &Draft<'_>) -> Result<(), Failure> {
    for (database, known) in &setting.catalog.databases {
        for (name, table) in known.tables.iter().filter(|(name, _)| *name != draft.name || database != setting.database)
        {
            let refers = |key: &&ForeignKey| key.table.0 == setting.database && key.table.1 == draft.name;
            for key in table.foreign_keys.iter().filter(refers) {
                let from: Vec<String> =
                    key.columns.iter().filter_map(|at| Some(table.columns.get(*at)?.name.clone())).collect();
                let fine = match (&table.placement, draft.placement) {
                    (_, Placement::Global) => true,
                    (Placement::Single(one), Placement::Single(two)) => one == two,
                    (Placement::Sharded(of_child), Placement::Sharded(of)) => {
                        let (ours, theirs) = ((&*table.columns, of_child), (draft.columns, of));
                        database == setting.database && paired(ours, theirs, &from, &key.references)
                    }
                    _ => false,
                };
                if !fine {
                    return refused(format!(
                        "The foreign key '{}' of '{name}' refers to this table, whose rows would be on other shards: make it GLOBAL, or \
                         place it as '{name}' is, by the columns of the foreign key",
                        key.name
                    ));
                }
            }
        }
    }
    Ok(())
}

fn types(columns: &[Column], key: &ShardKey) -> Vec<ColumnType> {
    key.columns.iter().filter_map(|column| Some(columns.get(*column)?.kind.clone())).collect()
}

/// Refuses actions by which a server would change the shard key without moving the row.
fn changes_key(
    draft: &Draft<'_>,
    key: &ShardKey,
    columns: &[String],
    references: &References<'_>,
    global: bool,
) -> Result<(), Failure> {
    let touches = key.columns.iter().any(|column| {
        draft
            .columns
            .get(*column)
            .is_some_and(|column| columns.iter().any(|name| name.eq_ignore_ascii_case(&column.name)))
    });
    let sets = |action: Option<ReferenceAction>| {
        matches!(action, Some(ReferenceAction::SetNull | ReferenceAction::SetDefault))
    };
    let cascades = global && references.on_update == Some(ReferenceAction::Cascade);
    if touches && (sets(references.on_delete) || sets(references.on_update) || cascades) {
        return refused(
            "The foreign key's SET NULL, SET DEFAULT or CASCADE would change the shard key without moving the row: use RESTRICT",
        );
    }
    Ok(())
}

fn refused<T>(why: impl Into<String>) -> Result<T, Failure> {
    Err(Failure::client(codes::ER_NOT_SUPPORTED_YET, why))
}
