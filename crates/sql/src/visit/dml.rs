//! Children of statements.

use super::{Children, NameRole, Node, Object, TableUse};
use super::{account, ddl, routine, session};
use crate::ast::{Delete, Insert, InsertSource, Load, Statement, StatementKind, Update, With};

pub(super) fn statement<'a>(node: &'a Statement<'a>, to: &mut Children<'_, 'a>) {
    match node.kind {
        StatementKind::Query(query) => to.push(Node::Query(query)),
        StatementKind::Insert(node) => insert(node, to),
        StatementKind::Update(node) => update(node, to),
        StatementKind::Delete(node) => delete(node, to),
        StatementKind::Load(node) => load(node, to),
        StatementKind::Grant(node) => account::granted(&node.what, to),
        StatementKind::Revoke(node) => account::granted(&node.what, to),
        StatementKind::CreateUser(_)
        | StatementKind::AlterUser(_)
        | StatementKind::RenameUser(_)
        | StatementKind::CreateRole(_)
        | StatementKind::DropAccounts(_) => {}
        StatementKind::Set(_)
        | StatementKind::SetStatement(_)
        | StatementKind::Show(_)
        | StatementKind::DescribeTable(_)
        | StatementKind::Explain(_)
        | StatementKind::Help(_)
        | StatementKind::Use(_)
        | StatementKind::Transaction(_)
        | StatementKind::Xa(_)
        | StatementKind::LockTables(_)
        | StatementKind::Backup(_)
        | StatementKind::Prepare(_)
        | StatementKind::Execute(_)
        | StatementKind::Deallocate(_)
        | StatementKind::Call(_)
        | StatementKind::Do(_)
        | StatementKind::Handler(_)
        | StatementKind::Signal(_)
        | StatementKind::GetDiagnostics(_)
        | StatementKind::Compound(_)
        | StatementKind::Kill(_)
        | StatementKind::Flush(_)
        | StatementKind::Reset(_)
        | StatementKind::Replication(_)
        | StatementKind::TableUpkeep(_)
        | StatementKind::KeyCache(_)
        | StatementKind::Install(_)
        | StatementKind::Server(_)
        | StatementKind::Weir(_)
        | StatementKind::Batch(_)
        | StatementKind::UnlockTables => session::statement(&node.kind, to),
        StatementKind::CreateTable(_)
        | StatementKind::AlterTable(_)
        | StatementKind::DropTables(_)
        | StatementKind::Truncate(_)
        | StatementKind::RenameTables(_)
        | StatementKind::CreateIndex(_)
        | StatementKind::DropIndex(_)
        | StatementKind::CreateView(_)
        | StatementKind::CreateDatabase(_)
        | StatementKind::AlterDatabase(_)
        | StatementKind::DropDatabase(_)
        | StatementKind::DefineSequence(_)
        | StatementKind::ServerObject(_) => ddl::definition(node.kind, to),
        StatementKind::CreateRoutine(node) => routine::create_routine(node, to),
        StatementKind::CreateLoadableFunction(node) => routine::created(&node.name, Object::Routine, to),
        StatementKind::CreateLibrary(node) => routine::created(&node.name, Object::Other, to),
        StatementKind::CreateTrigger(node) => routine::create_trigger(node, to),
        StatementKind::CreateEvent(node) => routine::create_event(node, to),
        StatementKind::AlterRoutine(node) => routine::alter_routine(node, to),
        StatementKind::AlterEvent(node) => routine::alter_event(node, to),
        StatementKind::DropProgram(node) => routine::drop_program(node, to),
        StatementKind::Opaque(node) => to.each(node.names, |name| Node::Name(name, NameRole::Unknown)),
    }
}

fn with<'a>(node: Option<&'a With<'a>>, to: &mut Children<'_, 'a>) {
    if let Some(node) = node {
        to.push(Node::With(node));
    }
}

fn insert<'a>(node: &'a Insert<'a>, to: &mut Children<'_, 'a>) {
    to.push(Node::Name(&node.table, NameRole::Written));
    to.each(node.columns.unwrap_or_default(), Node::WrittenColumn);
    match node.source {
        InsertSource::Values(rows) => to.each(rows, Node::ValuesRow),
        InsertSource::Set(assignments) => to.each(assignments, Node::Assignment),
        InsertSource::Query(query) => to.push(Node::Query(query)),
    }
    if let Some(alias) = &node.row_alias {
        to.push(Node::RowAlias(alias));
    }
    to.each(node.on_duplicate, Node::Assignment);
    to.each(node.returning, Node::SelectItem);
}

fn update<'a>(node: &'a Update<'a>, to: &mut Children<'_, 'a>) {
    with(node.with, to);
    to.each(node.tables, |table| Node::TableRef(table, TableUse::Changed));
    to.each(node.assignments, Node::Assignment);
    to.maybe_expr(&node.condition);
    to.each(node.order_by, Node::OrderItem);
    if let Some(limit) = node.limit {
        to.push(Node::Limit(limit));
    }
    to.each(node.returning, Node::SelectItem);
}

fn delete<'a>(node: &'a Delete<'a>, to: &mut Children<'_, 'a>) {
    with(node.with, to);
    to.each(node.targets, |name| Node::Name(name, NameRole::Deleted));
    to.each(node.tables, |table| Node::TableRef(table, TableUse::Changed));
    to.maybe_expr(&node.before);
    to.maybe_expr(&node.condition);
    to.each(node.order_by, Node::OrderItem);
    if let Some(limit) = node.limit {
        to.push(Node::Limit(limit));
    }
    to.each(node.returning, Node::SelectItem);
}

fn load<'a>(node: &'a Load<'a>, to: &mut Children<'_, 'a>) {
    to.push(Node::Name(&node.table, NameRole::Written));
    to.exprs(node.columns.unwrap_or_default());
    to.each(node.assignments, Node::Assignment);
}
