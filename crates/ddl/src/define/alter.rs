//! ALTER TABLE: what it does, and what is not supported.
//!
//! What must always hold: no ALTER changes which shard a row belongs to, or has shards fill rows with values of their own.

use weir_catalog::{Catalog, Change, Column, DefinitionKind, Object, Placement, Table};
use weir_sql::ast::{
    AlterAction, AlterActionKind, AlterColumn, AlterTable, ColumnAttributeKind, ColumnDefinition, ExprKind, Ident,
    KeyDefinition, KeyKind, PartitionMethod, PartitionOperation, TableElement, TableOptionKind,
};
use weir_wire::Failure;
use weir_wire::error::not_supported;

use super::asked::{Asked, cut};
use super::intent::Intent;
use super::{names, place, shards, tables};

const BY_A_NEW_TABLE: &str =
    "create the new table, fill it with INSERT … SELECT, and give it the name with RENAME TABLE";

/// ALTER TABLE.
pub(super) fn alter(asked: &Asked<'_>, catalog: &Catalog, alter: &AlterTable<'_>) -> Result<Option<Intent>, Failure> {
    let Some(mut intent) = tables::change(asked, catalog, &alter.table)? else { return Ok(None) };
    let object = intent.objects[0].clone();
    let table = shards::table(catalog, &object);
    let mut unchecked = Vec::new();
    for action in alter.actions {
        if let AlterActionKind::RenameTable(name) = &action.kind {
            rename(asked, catalog, &object, name, &mut intent)?;
        }
        if let AlterActionKind::Option(option) = &action.kind
            && let TableOptionKind::AutoIncrement(number) = option.kind
            && table.is_some_and(|table| !matches!(table.placement, Placement::Single(_)))
        {
            let next = tables::next_value(number.text(asked.text));
            intent.changes.push(Change::StartSequence(object.clone(), next));
        }
        if let Some(table) = table {
            check(asked, catalog, (&object, table), action)?;
            unchecked.extend(unchecked_words(action));
        }
    }
    intent.text = cut(asked, &unchecked);
    Ok(Some(intent))
}

fn rename(
    asked: &Asked<'_>,
    catalog: &Catalog,
    from: &Object,
    name: &weir_sql::ast::ObjectName<'_>,
    intent: &mut Intent,
) -> Result<(), Failure> {
    let Some(to) = names::object(asked, catalog, name)? else {
        return Err(not_supported(
            "A table can't be renamed into a database that is not sharded: make it there, and fill it with INSERT … SELECT",
        ));
    };
    tables::renamed(asked, catalog, from, &to)?;
    // MySQL and MariaDB take renaming a table to its own name for nothing.
    if to != *from {
        // What servers say of it is asked by the new name.
        intent.changes.retain(|change| matches!(change, Change::StartSequence(..)));
        intent.changes.extend([Change::Rename(from.clone(), to.clone()), Change::RereadTable(to.clone())]);
        intent.objects.push(to);
        intent.kind = DefinitionKind::Rename;
    }
    Ok(())
}

/// UNCHECKED, which servers don't read.
fn unchecked_words(action: &AlterAction<'_>) -> Vec<weir_sql::ast::Span> {
    match &action.kind {
        AlterActionKind::AddKey(key) => key.unchecked.into_iter().collect(),
        AlterActionKind::AddColumn(column) => place::unchecked_of_column(&column.definition),
        AlterActionKind::ModifyColumn(column) | AlterActionKind::ChangeColumn(_, column) => {
            place::unchecked_of_column(&column.definition)
        }
        AlterActionKind::AddElements(elements) => place::unchecked_of_elements(elements),
        _ => Vec::new(),
    }
}

fn check(
    asked: &Asked<'_>,
    catalog: &Catalog,
    (object, table): (&Object, &Table),
    action: &AlterAction<'_>,
) -> Result<(), Failure> {
    let references = |elements: &[TableElement<'_>]| place::references(asked, catalog, object, table, elements);
    match &action.kind {
        AlterActionKind::Place(_) => {
            return Err(not_supported(
                "A new placement goes in a statement of its own, which is not prepared: ALTER TABLE … SHARD BY, GLOBAL or SINGLE",
            ));
        }
        AlterActionKind::PartitionBy(by) if matches!(by.method, PartitionMethod::Hash(_)) && !by.in_comment => {
            return Err(not_supported(
                "PARTITION BY HASH says where rows are, and goes in a statement of its own; partitions of the servers are written as \
                 /*!50100 PARTITION BY HASH (…) */",
            ));
        }
        AlterActionKind::Partitions(operation) => partitions(operation)?,
        AlterActionKind::DiscardTablespace | AlterActionKind::ImportTablespace => {
            return Err(not_supported("Tablespaces belong to each server: run the statement on the servers"));
        }
        AlterActionKind::AddColumn(column) => {
            added_column(table, &column.definition)?;
            references(&[TableElement::Column(&column.definition)])?;
        }
        AlterActionKind::AddElements(elements) => {
            for element in *elements {
                match element {
                    TableElement::Column(column) => added_column(table, column)?,
                    TableElement::Key(key) => added_key(table, key)?,
                    TableElement::ForeignKey(_) | TableElement::Check(_) | TableElement::Period(_) => {}
                }
            }
            references(elements)?;
        }
        AlterActionKind::AddKey(key) => added_key(table, key)?,
        AlterActionKind::ChangeColumn(name, column) => uniquely_changed(table, name, &column.definition)?,
        AlterActionKind::ModifyColumn(column) => uniquely_changed(table, &column.definition.name, &column.definition)?,
        AlterActionKind::AddForeignKey(key) => references(&[TableElement::ForeignKey(key)])?,
        AlterActionKind::AddSystemVersioning if !matches!(table.placement, Placement::Single(_)) => {
            return Err(not_supported(
                "System-versioned tables can't be sharded: each shard would have times of its own",
            ));
        }
        _ => {}
    }
    key_column(table, &action.kind, asked)
}

fn partitions(operation: &PartitionOperation<'_>) -> Result<(), Failure> {
    match operation {
        PartitionOperation::Exchange(_) | PartitionOperation::ToTable(..) | PartitionOperation::FromTable(..) => {
            Err(not_supported(
                "Rows can't be exchanged between partitions and other tables: use INSERT … SELECT and DELETE",
            ))
        }
        PartitionOperation::DiscardTablespace(_) | PartitionOperation::ImportTablespace(_) => {
            Err(not_supported("Tablespaces belong to each server: run the statement on the servers"))
        }
        _ => Ok(()),
    }
}

/// Refuses what changes the shard key's column.
fn key_column(table: &Table, action: &AlterActionKind<'_>, asked: &Asked<'_>) -> Result<(), Failure> {
    let Some(key) = table.shard_key() else { return Ok(()) };
    let is_key = |name: &Ident<'_>| table.column(name.name).is_some_and(|at| key.columns.contains(&at));
    let refusal = |what: &str| {
        Err(not_supported(format!(
            "The shard key's column can't be {what}, because its rows would be elsewhere then: {BY_A_NEW_TABLE}"
        )))
    };
    match action {
        AlterActionKind::DropColumn(dropped) if is_key(&dropped.name) => refusal("dropped"),
        AlterActionKind::RenameColumn(from, to) if is_key(from) && !from.name.eq_ignore_ascii_case(to.name) => {
            refusal("renamed")
        }
        AlterActionKind::ChangeColumn(from, column) if is_key(from) => {
            if !from.name.eq_ignore_ascii_case(column.definition.name.name) {
                return refusal("renamed");
            }
            changed_key(table, from, column, asked).or_else(|()| refusal("given another type"))
        }
        AlterActionKind::ModifyColumn(column) if is_key(&column.definition.name) => {
            changed_key(table, &column.definition.name, column, asked).or_else(|()| refusal("given another type"))
        }
        AlterActionKind::ConvertCharset(..)
            if key.columns.iter().any(|at| table.columns[*at].kind.collation.is_some()) =>
        {
            refusal("given another collation")
        }
        _ => Ok(()),
    }
}

/// Whether a column of the shard key keeps the hash of its values.
fn changed_key(table: &Table, name: &Ident<'_>, new: &AlterColumn<'_>, asked: &Asked<'_>) -> Result<(), ()> {
    const INTEGERS: [&str; 5] = ["tinyint", "smallint", "mediumint", "int", "bigint"];
    let old: &Column = table.column(name.name).map(|at| &table.columns[at]).ok_or(())?;
    let definition = &new.definition;
    if definition.generated().is_some() || old.generated {
        return Err(());
    }
    let base = String::from_utf8_lossy(definition.data_type.name.text(asked.text)).to_ascii_lowercase();
    let base = if base == "integer" { "int".to_owned() } else { base };
    let width = |base: &str| INTEGERS.iter().position(|known| *known == base);
    if let (Some(before), Some(after)) = (width(&old.kind.base), width(&base)) {
        let unsigned = definition.data_type.unsigned || definition.data_type.zerofill;
        return if after >= before && unsigned == old.kind.unsigned { Ok(()) } else { Err(()) };
    }
    if base != old.kind.base || !matches!(&*base, "varchar" | "varbinary") {
        return Err(());
    }
    let length = definition.data_type.arguments.first().map(|length| length.span.text(asked.text));
    let length: u64 = length.and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok()).ok_or(())?;
    let collation = definition.attributes.iter().find_map(|attribute| match attribute.kind {
        ColumnAttributeKind::Collate(Some(name)) => Some(name),
        _ => None,
    });
    let same = match &old.kind.collation {
        Some(old) => collation.is_some_and(|new| new.is(old)),
        None => true,
    };
    if same && Some(length) >= old.kind.length { Ok(()) } else { Err(()) }
}

fn added_key(table: &Table, key: &KeyDefinition<'_>) -> Result<(), Failure> {
    if !matches!(key.kind, KeyKind::Primary | KeyKind::Unique) || key.unchecked.is_some() {
        return Ok(());
    }
    let name = key.name.or(key.constraint.and_then(|constraint| constraint.name));
    let name = name.map_or("PRIMARY".into(), |name| String::from_utf8_lossy(name.name).into_owned());
    place::holds_shard_key(table, &name, key.parts)
}

/// A known column may get a unique key with its definition, too.
fn uniquely_changed(table: &Table, name: &Ident<'_>, new: &ColumnDefinition<'_>) -> Result<(), Failure> {
    let Some(key) = table.shard_key() else { return Ok(()) };
    let alone = table.column(name.name).is_some_and(|at| key.columns.iter().all(|column| *column == at));
    match is_unique(new) || new.is_primary_key() {
        true if !alone => Err(place::without_shard_key(table, &String::from_utf8_lossy(new.name.name))),
        _ => Ok(()),
    }
}

fn is_unique(column: &ColumnDefinition<'_>) -> bool {
    let unique = |kind| matches!(kind, ColumnAttributeKind::Unique(None) | ColumnAttributeKind::SerialDefaultValue);
    column.attributes.iter().any(|attribute| unique(attribute.kind))
}

fn added_column(table: &Table, column: &ColumnDefinition<'_>) -> Result<(), Failure> {
    let name = String::from_utf8_lossy(column.name.name);
    if matches!(table.placement, Placement::Single(_)) {
        return Ok(());
    }
    let serial = column.attributes.iter().any(|attribute| attribute.kind == ColumnAttributeKind::SerialDefaultValue);
    if column.is_auto_increment() || serial {
        return Err(not_supported(format!(
            "Column '{name}' can't be added with AUTO_INCREMENT, because each shard would number its rows by itself: {BY_A_NEW_TABLE}"
        )));
    }
    if (is_unique(column) || column.is_primary_key()) && matches!(table.placement, Placement::Sharded(_)) {
        return Err(place::without_shard_key(table, &name));
    }
    let literal =
        |expr: &weir_sql::ast::Expr<'_>| matches!(expr.bare().kind, ExprKind::Literal(_) | ExprKind::Unary(..));
    if table.placement == Placement::Global && column.default().is_some_and(|default| !literal(default)) {
        return Err(not_supported(format!(
            "Column '{name}' of a GLOBAL table can't be added with a computed default, because its copies would differ: add it \
             without a default, fill it with UPDATE, and set the default with ALTER COLUMN"
        )));
    }
    Ok(())
}
