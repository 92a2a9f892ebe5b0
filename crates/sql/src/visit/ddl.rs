//! Children of definitions: names of objects, types, expressions and queries, in the order of the text.

use super::{Children, NameRole, Node, Object};
use crate::ast::{
    AlterAction, AlterActionKind, AlterTable, ColumnAttributeKind, ColumnDefinition, ColumnSetting, CreateIndex,
    CreateTable, DropKind, DropTables, KeyPart, KeyPartKind, PartitionDefinition, PartitionMethod, PartitionOperation,
    PartitionValue, PartitionValues, Partitioning, References, StatementKind, TableBody, TableDefinition, TableElement,
    TableOption, TableOptionKind,
};

/// Pushes the children of a definition; of any other statement nothing.
pub(super) fn definition<'a>(kind: StatementKind<'a>, to: &mut Children<'_, 'a>) {
    match kind {
        StatementKind::CreateTable(node) => create_table(node, to),
        StatementKind::AlterTable(node) => alter_table(node, to),
        StatementKind::DropTables(node) => drop_tables(node, to),
        StatementKind::Truncate(node) => to.push(Node::Name(&node.table, NameRole::Altered(Object::Table))),
        StatementKind::RenameTables(node) => {
            for rename in node.renames {
                to.push(Node::Name(&rename.from, NameRole::Dropped(Object::Table)));
                to.push(Node::Name(&rename.to, NameRole::Created(Object::Table)));
            }
        }
        StatementKind::CreateIndex(node) => create_index(node, to),
        StatementKind::DropIndex(node) => to.push(Node::Name(&node.table, NameRole::Altered(Object::Table))),
        StatementKind::CreateView(node) => {
            let role = if node.alter { NameRole::Altered } else { NameRole::Created };
            to.push(Node::Name(&node.name, role(Object::View)));
            to.push(Node::Query(node.query));
        }
        StatementKind::DefineSequence(node) => {
            let role = if node.alter { NameRole::Altered } else { NameRole::Created };
            to.push(Node::Name(&node.name, role(Object::Sequence)));
        }
        _ => {}
    }
    to.in_order();
}

fn create_table<'a>(node: &'a CreateTable<'a>, to: &mut Children<'_, 'a>) {
    to.push(Node::Name(&node.name, NameRole::Created(Object::Table)));
    match node.body {
        TableBody::Like(like) => to.push(Node::Name(&like.table, NameRole::Referred(Object::Table))),
        TableBody::Definition(definition) => table_definition(definition, to),
    }
}

fn table_definition<'a>(node: &'a TableDefinition<'a>, to: &mut Children<'_, 'a>) {
    elements(node.elements(), to);
    for option in node.options {
        table_option(option, to);
    }
    if let Some(partitioned) = node.partitioning {
        partitioning(partitioned, to);
    }
    if let Some(query) = node.query {
        to.push(Node::Query(query));
    }
}

fn elements<'a>(list: &'a [TableElement<'a>], to: &mut Children<'_, 'a>) {
    for element in list {
        match element {
            TableElement::Column(node) => column(node, to),
            TableElement::Key(node) => key_parts(node.parts, to),
            TableElement::ForeignKey(node) => references(&node.references, to),
            TableElement::Check(node) => to.push(Node::Expr(&node.expr)),
            TableElement::Period(_) => {}
        }
    }
}

fn column<'a>(node: &'a ColumnDefinition<'a>, to: &mut Children<'_, 'a>) {
    to.push(Node::DataType(&node.data_type));
    for attribute in node.attributes {
        match attribute.kind {
            ColumnAttributeKind::Default(expr) | ColumnAttributeKind::OnUpdate(expr) => to.push(Node::Expr(expr)),
            ColumnAttributeKind::Generated(generated) => to.push(Node::Expr(&generated.expr)),
            ColumnAttributeKind::Check(check) => to.push(Node::Expr(&check.expr)),
            ColumnAttributeKind::References(node) => references(node, to),
            _ => {}
        }
    }
}

fn key_parts<'a>(list: &'a [KeyPart<'a>], to: &mut Children<'_, 'a>) {
    for part in list {
        if let KeyPartKind::Expr(expr) = &part.kind {
            to.push(Node::Expr(expr));
        }
    }
}

fn references<'a>(node: &'a References<'a>, to: &mut Children<'_, 'a>) {
    to.push(Node::Name(&node.table, NameRole::Referred(Object::Table)));
}

fn table_option<'a>(node: &'a TableOption<'a>, to: &mut Children<'_, 'a>) {
    if let TableOptionKind::Union(tables) = node.kind {
        to.each(tables, |name| Node::Name(name, NameRole::Referred(Object::Table)));
    }
}

fn partitioning<'a>(node: &'a Partitioning<'a>, to: &mut Children<'_, 'a>) {
    partition_method(node.method, to);
    if let Some(node) = node.subpartitioning {
        partition_method(node.method, to);
    }
    partitions(node.definitions, to);
}

fn partition_method<'a>(method: PartitionMethod<'a>, to: &mut Children<'_, 'a>) {
    match method {
        PartitionMethod::Hash(hash) => to.push(Node::Expr(&hash.expr)),
        PartitionMethod::Range(expr) | PartitionMethod::List(expr) => to.push(Node::Expr(expr)),
        PartitionMethod::SystemTime(node) => {
            to.maybe_expr(&node.interval);
            to.maybe_expr(&node.starts);
        }
        PartitionMethod::Key(_) | PartitionMethod::RangeColumns(_) | PartitionMethod::ListColumns(_) => {}
    }
}

fn partitions<'a>(list: &'a [PartitionDefinition<'a>], to: &mut Children<'_, 'a>) {
    for partition in list {
        if let Some(PartitionValues::LessThan(values) | PartitionValues::In(values)) = partition.values {
            partition_values(values, to);
        }
    }
}

fn partition_values<'a>(list: &'a [PartitionValue<'a>], to: &mut Children<'_, 'a>) {
    for value in list {
        match value {
            PartitionValue::Expr(expr) => to.push(Node::Expr(expr)),
            PartitionValue::Tuple(values) => partition_values(values, to),
            PartitionValue::MaxValue(_) | PartitionValue::Default(_) => {}
        }
    }
}

fn create_index<'a>(node: &'a CreateIndex<'a>, to: &mut Children<'_, 'a>) {
    to.push(Node::Name(&node.table, NameRole::Altered(Object::Table)));
    key_parts(node.parts, to);
}

fn drop_tables<'a>(node: &'a DropTables<'a>, to: &mut Children<'_, 'a>) {
    let object = match node.kind {
        DropKind::Table => Object::Table,
        DropKind::View => Object::View,
        DropKind::Sequence => Object::Sequence,
    };
    to.each(node.names, |name| Node::Name(name, NameRole::Dropped(object)));
}

fn alter_table<'a>(node: &'a AlterTable<'a>, to: &mut Children<'_, 'a>) {
    to.push(Node::Name(&node.table, NameRole::Altered(Object::Table)));
    for action in node.actions {
        alter_action(action, to);
    }
}

fn alter_action<'a>(node: &'a AlterAction<'a>, to: &mut Children<'_, 'a>) {
    match &node.kind {
        AlterActionKind::AddColumn(node) | AlterActionKind::ModifyColumn(node) => column(&node.definition, to),
        AlterActionKind::ChangeColumn(_, node) => column(&node.definition, to),
        AlterActionKind::AddElements(list) => elements(list, to),
        AlterActionKind::AddKey(node) => key_parts(node.parts, to),
        AlterActionKind::AddForeignKey(node) => references(&node.references, to),
        AlterActionKind::AddCheck(node) => to.push(Node::Expr(&node.expr)),
        AlterActionKind::AlterColumn(node) => {
            if let ColumnSetting::SetDefault(expr) = &node.change {
                to.push(Node::Expr(expr));
            }
        }
        AlterActionKind::RenameTable(name) => to.push(Node::Name(name, NameRole::Created(Object::Table))),
        AlterActionKind::OrderBy(items) => to.each(items, Node::OrderItem),
        AlterActionKind::Option(node) => table_option(node, to),
        AlterActionKind::PartitionBy(node) => partitioning(node, to),
        AlterActionKind::Partitions(node) => partition_operation(node, to),
        _ => {}
    }
}

fn partition_operation<'a>(node: &'a PartitionOperation<'a>, to: &mut Children<'_, 'a>) {
    match node {
        PartitionOperation::Add(list) | PartitionOperation::Reorganize(_, list) => partitions(list, to),
        PartitionOperation::Exchange(node) => {
            to.push(Node::Name(&node.table, NameRole::Altered(Object::Table)));
        }
        PartitionOperation::ToTable(_, table) => to.push(Node::Name(table, NameRole::Created(Object::Table))),
        PartitionOperation::FromTable(table, definition) => {
            to.push(Node::Name(table, NameRole::Dropped(Object::Table)));
            partitions(std::slice::from_ref(definition), to);
        }
        _ => {}
    }
}
