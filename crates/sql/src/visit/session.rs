//! Children of SET, SHOW and EXPLAIN, transactions, prepared statements, and of what operates the server.

use super::{Children, NameRole, Node, Object};
use crate::ast::{
    AdminOption, Backup, Execute, ExecuteSource, Explain, ExplainTarget, Flush, FlushWhat, Handler, HandlerPosition,
    HandlerRead, Install, Kill, KillWhom, Purge, Reset, ServerControl, SetItem, SetItemKind, SetValue, Show,
    ShowCreate, ShowFilter, ShowKind, StatementKind,
};

/// Children of a statement of these kinds.
pub(super) fn statement<'a>(kind: &'a StatementKind<'a>, to: &mut Children<'_, 'a>) {
    match kind {
        StatementKind::Set(set) => set_items(set.items, to),
        StatementKind::SetStatement(set) => {
            set_items(set.items, to);
            to.push(Node::Statement(set.statement));
        }
        StatementKind::Batch(batch) => to.push(Node::Statement(batch.statement)),
        StatementKind::Show(node) => show(node, to),
        StatementKind::DescribeTable(node) => to.push(Node::Name(&node.table, NameRole::Shown(Object::Table))),
        StatementKind::Explain(node) => explain(node, to),
        StatementKind::LockTables(lock) => to.each(lock.tables, |table| Node::Name(&table.table, NameRole::Locked)),
        StatementKind::Backup(Backup::Lock(table)) => to.push(Node::Name(table, NameRole::Locked)),
        StatementKind::Prepare(node) => to.push(Node::Expr(&node.text)),
        StatementKind::Execute(node) => execute(node, to),
        StatementKind::Call(node) => {
            to.push(Node::Name(&node.name, NameRole::Routine));
            to.exprs(node.arguments);
        }
        StatementKind::Do(node) => to.each(node.items, Node::SelectItem),
        StatementKind::Handler(Handler::Open(table, _)) => to.push(Node::Name(table, NameRole::Read)),
        StatementKind::Handler(Handler::Read(read)) => handler_read(read, to),
        StatementKind::Signal(node) => to.each(node.items, |item| Node::Expr(&item.value)),
        StatementKind::GetDiagnostics(node) => {
            to.maybe_expr(&node.condition);
            to.each(node.items, |item| Node::Expr(&item.target));
        }
        StatementKind::Kill(node) => kill(node, to),
        StatementKind::Flush(node) => flush(node, to),
        StatementKind::Reset(Reset::Options(list)) => options(list, to),
        StatementKind::TableUpkeep(upkeep) => to.each(upkeep.tables, |table| Node::Name(&table.name, ALTERED)),
        StatementKind::KeyCache(node) => to.each(node.tables, |table| Node::Name(&table.name, ALTERED)),
        StatementKind::Install(Install::Components(_, items)) => set_items(items, to),
        StatementKind::Server(ServerControl::Binlog(events)) => to.exprs(events),
        StatementKind::Server(ServerControl::Purge(Purge::Before(time))) => to.push(Node::Expr(time)),
        _ => {}
    }
}

const ALTERED: NameRole = NameRole::Altered(Object::Table);

fn set_items<'a>(items: &'a [SetItem<'a>], to: &mut Children<'_, 'a>) {
    for item in items {
        match &item.kind {
            SetItemKind::UserVariable(_, value) => to.push(Node::Expr(value)),
            SetItemKind::Variable(variable) => {
                if let SetValue::Expr(value) = &variable.value {
                    to.push(Node::Expr(value));
                }
            }
            SetItemKind::ResourceGroup(_, threads) => to.exprs(threads),
            _ => {}
        }
    }
}

fn show<'a>(node: &'a Show<'a>, to: &mut Children<'_, 'a>) {
    match &node.kind {
        ShowKind::Columns(of) | ShowKind::Index(of) => {
            to.push(Node::Name(&of.table, NameRole::Shown(Object::Table)));
        }
        ShowKind::Create(create) => show_create(create, to),
        ShowKind::RoutineCode(_, name) => to.push(Node::Name(name, NameRole::Shown(Object::Routine))),
        ShowKind::Profile(profile) => to.maybe_expr(&profile.query),
        ShowKind::LogEvents(events) => to.maybe_expr(&events.position),
        ShowKind::Explain(explain) => to.push(Node::Expr(&explain.connection)),
        _ => {}
    }
    if let Some(ShowFilter::Where(condition)) = &node.filter {
        to.push(Node::Expr(condition));
    }
    if let Some(limit) = node.limit {
        to.push(Node::Limit(limit));
    }
}

fn show_create<'a>(create: &'a ShowCreate<'a>, to: &mut Children<'_, 'a>) {
    let (name, object) = match create {
        ShowCreate::Table(name) => (name, Object::Table),
        ShowCreate::View(name) => (name, Object::View),
        ShowCreate::Sequence(name) => (name, Object::Sequence),
        ShowCreate::Routine(_, name) => (name, Object::Routine),
        ShowCreate::Trigger(name) => (name, Object::Trigger),
        ShowCreate::Event(name) => (name, Object::Event),
        ShowCreate::Database(_) | ShowCreate::User(_) => return,
    };
    to.push(Node::Name(name, NameRole::Shown(object)));
}

fn explain<'a>(node: &'a Explain<'a>, to: &mut Children<'_, 'a>) {
    match &node.target {
        ExplainTarget::Statement(statement) => to.push(Node::Statement(statement)),
        ExplainTarget::Connection(connection) => to.push(Node::Expr(connection)),
    }
}

fn execute<'a>(node: &'a Execute<'a>, to: &mut Children<'_, 'a>) {
    if let ExecuteSource::Immediate(text) = &node.source {
        to.push(Node::Expr(text));
    }
    to.exprs(node.using);
}

fn handler_read<'a>(read: &'a HandlerRead<'a>, to: &mut Children<'_, 'a>) {
    if let HandlerPosition::Key(_, values) = read.position {
        to.exprs(values);
    }
    to.maybe_expr(&read.condition);
    if let Some(limit) = read.limit {
        to.push(Node::Limit(limit));
    }
}

fn kill<'a>(node: &'a Kill<'a>, to: &mut Children<'_, 'a>) {
    match &node.target {
        KillWhom::Connection(id) | KillWhom::QueryId(id) => to.push(Node::Expr(id)),
        KillWhom::User(_) => {}
    }
}

fn flush<'a>(node: &'a Flush<'a>, to: &mut Children<'_, 'a>) {
    match &node.what {
        FlushWhat::Tables(tables) => to.each(tables.tables, |table| Node::Name(table, ALTERED)),
        FlushWhat::Options(list) => options(list, to),
    }
}

fn options<'a>(options: &'a [AdminOption<'a>], to: &mut Children<'_, 'a>) {
    for option in options {
        to.exprs(option.values);
    }
}
