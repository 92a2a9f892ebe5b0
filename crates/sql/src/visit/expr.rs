//! Children of expressions.

use super::{Children, NameRole, Node};
use crate::ast::{Call, Expr, ExprKind, InList, Over, WindowSpec};

pub(super) fn expr<'a>(node: &'a Expr<'a>, to: &mut Children<'_, 'a>) {
    match &node.kind {
        ExprKind::Literal(_)
        | ExprKind::Parameter(_)
        | ExprKind::Column(_)
        | ExprKind::UserVariable(_)
        | ExprKind::SystemVariable(_)
        | ExprKind::Word(_) => {}
        ExprKind::Assign(assign) => to.push(Node::Expr(&assign.value)),
        ExprKind::Unary(_, operand) => to.push(Node::Expr(operand)),
        ExprKind::Binary(_, left, right) => {
            to.push(Node::Expr(left));
            to.push(Node::Expr(right));
        }
        ExprKind::Paren(inner) => to.push(Node::Expr(inner)),
        ExprKind::Row(values) => to.exprs(values),
        ExprKind::Is(is) => to.push(Node::Expr(&is.expr)),
        ExprKind::Between(between) => {
            to.push(Node::Expr(&between.expr));
            to.push(Node::Expr(&between.low));
            to.push(Node::Expr(&between.high));
        }
        ExprKind::In(list) => {
            to.push(Node::Expr(&list.expr));
            match list.list {
                InList::Values(values) => to.exprs(values),
                InList::Query(query) => to.push(Node::Query(query)),
            }
        }
        ExprKind::Like(like) => {
            to.push(Node::Expr(&like.expr));
            to.push(Node::Expr(&like.pattern));
            to.maybe_expr(&like.escape);
        }
        ExprKind::Case(case) => {
            to.maybe_expr(&case.operand);
            for branch in case.branches {
                to.push(Node::Expr(&branch.condition));
                to.push(Node::Expr(&branch.value));
            }
            to.maybe_expr(&case.otherwise);
        }
        ExprKind::Cast(cast) => {
            to.push(Node::Expr(&cast.expr));
            to.push(Node::DataType(&cast.data_type));
        }
        ExprKind::ConvertUsing(inner, _) | ExprKind::Collate(inner, _) => to.push(Node::Expr(inner)),
        ExprKind::Interval(interval) => to.push(Node::Expr(&interval.value)),
        ExprKind::Call(function) => call(function, to),
        ExprKind::Exists(query) | ExprKind::Subquery(query) => to.push(Node::Query(query)),
        ExprKind::Quantified(quantified) => {
            to.push(Node::Expr(&quantified.expr));
            to.push(Node::Query(quantified.query));
        }
        ExprKind::Match(search) => {
            to.exprs(search.columns);
            to.push(Node::Expr(&search.against));
        }
        ExprKind::Odbc(_, inner) => to.push(Node::Expr(inner)),
        ExprKind::Sequence(call) => {
            to.push(Node::Name(&call.sequence, NameRole::Sequence));
            to.exprs(call.arguments);
        }
    }
}

fn call<'a>(node: &'a Call<'a>, to: &mut Children<'_, 'a>) {
    to.push(Node::Name(&node.name, NameRole::Routine));
    to.exprs(node.arguments);
    to.each(node.order_by, Node::OrderItem);
    if let Some(limit) = node.limit {
        to.push(Node::Limit(limit));
    }
    if let Some(Over::Window(over)) = node.over {
        to.push(Node::Window(over));
    }
}

pub(super) fn window<'a>(node: &'a WindowSpec<'a>, to: &mut Children<'_, 'a>) {
    to.exprs(node.partition_by);
    to.each(node.order_by, Node::OrderItem);
    if let Some(frame) = node.frame {
        to.push(Node::Frame(frame));
    }
}
