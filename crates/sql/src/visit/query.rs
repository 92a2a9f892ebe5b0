//! Children of queries and of what stands in FROM.

use super::{Children, NameRole, Node, TableUse};
use crate::ast::{
    Compound, Into, IntoTarget, JsonColumn, JsonColumnKind, JsonResponse, Limit, NamedTable, Query, QueryBody, Select,
    SelectItem, SelectItemKind, TableRef, TableRefKind,
};

pub(super) fn query<'a>(node: &'a Query<'a>, to: &mut Children<'_, 'a>) {
    if let Some(with) = node.with {
        to.push(Node::With(with));
    }
    body(&node.body, to);
    to.each(node.order_by, Node::OrderItem);
    if let Some(limit) = node.limit {
        to.push(Node::Limit(limit));
    }
    to.each(node.locks, Node::Lock);
    if let Some(into) = node.into {
        to.push(Node::Into(into));
        // INTO stands before or after the locks.
        to.in_order();
    }
}

fn body<'a>(body: &'a QueryBody<'a>, to: &mut Children<'_, 'a>) {
    match body {
        QueryBody::Select(select) => to.push(Node::Select(select)),
        QueryBody::Values(values) => to.each(values.rows, Node::ValuesRow),
        QueryBody::Table(table) => to.push(Node::Name(&table.name, NameRole::Read)),
        QueryBody::Compound(compound) => to.push(Node::Compound(compound)),
        QueryBody::Nested(query) => to.push(Node::Query(query)),
    }
}

pub(super) fn compound<'a>(node: &'a Compound<'a>, to: &mut Children<'_, 'a>) {
    body(&node.first, to);
    for term in node.rest {
        body(&term.body, to);
    }
}

pub(super) fn select<'a>(node: &'a Select<'a>, to: &mut Children<'_, 'a>) {
    to.each(node.items, Node::SelectItem);
    if let Some(into) = node.into {
        to.push(Node::Into(into));
    }
    to.each(node.from, |table| Node::TableRef(table, TableUse::Read));
    to.maybe_expr(&node.condition);
    to.each(node.group_by, Node::OrderItem);
    to.maybe_expr(&node.having);
    to.each(node.windows, Node::NamedWindow);
    to.maybe_expr(&node.qualify);
}

pub(super) fn select_item<'a>(node: &'a SelectItem<'a>, to: &mut Children<'_, 'a>) {
    match &node.kind {
        SelectItemKind::Star => {}
        SelectItemKind::TableStar(name) => to.push(Node::Name(name, NameRole::Star)),
        SelectItemKind::Expr(expr, _) => to.push(Node::Expr(expr)),
    }
}

pub(super) fn into<'a>(node: &'a Into<'a>, to: &mut Children<'_, 'a>) {
    match node.target {
        IntoTarget::Variables(variables) => to.exprs(variables),
        IntoTarget::Outfile(_) | IntoTarget::Dumpfile(_) => {}
    }
}

pub(super) fn limit<'a>(node: &'a Limit<'a>, to: &mut Children<'_, 'a>) {
    to.maybe_expr(&node.offset);
    to.maybe_expr(&node.count);
    to.maybe_expr(&node.rows_examined);
    to.in_order();
}

pub(super) fn table_ref<'a>(node: &'a TableRef<'a>, table_use: TableUse, to: &mut Children<'_, 'a>) {
    match &node.kind {
        TableRefKind::Table(table) => named_table(table, table_use, to),
        TableRefKind::Derived(derived) => {
            to.push(Node::Query(derived.query));
            if let Some(period) = derived.period {
                to.exprs(period.bounds);
            }
        }
        TableRefKind::JsonTable(table) => {
            to.push(Node::Expr(&table.document));
            to.each(table.columns, Node::JsonColumn);
        }
        TableRefKind::Join(join) => {
            to.push(Node::TableRef(&join.left, table_use));
            to.push(Node::TableRef(&join.right, table_use));
            to.maybe_expr(&join.on);
        }
        TableRefKind::Nested(tables) => to.each(tables, |table| Node::TableRef(table, table_use)),
        TableRefKind::Odbc(table) => to.push(Node::TableRef(table, table_use)),
    }
}

fn named_table<'a>(node: &'a NamedTable<'a>, table_use: TableUse, to: &mut Children<'_, 'a>) {
    let role = match table_use {
        TableUse::Read => NameRole::Read,
        TableUse::Changed => NameRole::Changed,
    };
    to.push(Node::Name(&node.name, role));
    if let Some(period) = node.period {
        to.exprs(period.bounds);
    }
    to.each(node.index_hints, Node::IndexHint);
    if let Some(sample) = node.sample {
        to.push(Node::Expr(&sample.percentage));
    }
}

pub(super) fn json_column<'a>(node: &'a JsonColumn<'a>, to: &mut Children<'_, 'a>) {
    match &node.kind {
        JsonColumnKind::Ordinality(_) => {}
        JsonColumnKind::Value(column) => {
            to.push(Node::DataType(&column.data_type));
            for response in [&column.on_empty, &column.on_error] {
                if let Some(JsonResponse::Default(value)) = response {
                    to.push(Node::Expr(value));
                }
            }
            // ON ERROR may come first.
            to.in_order();
        }
        JsonColumnKind::Nested(_, columns) => to.each(columns, Node::JsonColumn),
    }
}
