//! Where MySQL's AVG may stand in an expression.
//!
//! What must always hold: its value has more digits than it shows. Where it is given with all of them, what is made of it must depend on
//! the value alone; whatever takes the number of its digits for something is left out.

use weir_sql::ast::{BinaryOp, Call, ColumnName, Expr, ExprKind, InList, UnaryOp};
use weir_sql::visit::{Flow, Node, walk};

use super::super::expressions::aggregate;

/// Functions whose values come from the value of a number.
const OF_VALUES: &[&str] = &[
    "ABS", "CEIL", "CEILING", "COALESCE", "FLOOR", "GREATEST", "IF", "IFNULL", "LEAST", "NULLIF", "ROUND", "SIGN",
    "SQRT", "TRUNCATE",
];

/// What an expression is looked at with.
#[derive(Clone, Copy)]
pub(super) struct Sight<'f, 'a> {
    pub(super) text: &'f [u8],
    /// What a name stands for, if it is an alias.
    pub(super) alias: &'f dyn Fn(&ColumnName<'a>) -> Option<&'a Expr<'a>>,
    /// Whether values of an expression are approximate: then an average has no more digits than it shows.
    pub(super) approximate: &'f dyn Fn(&Expr<'a>) -> bool,
}

/// Whether averages stand only where their value counts.
pub(super) fn fit<'a>(expr: &'a Expr<'a>, sight: Sight<'_, 'a>) -> bool {
    if !has(expr, sight) {
        return true;
    }
    if let Some(call) = aggregate(expr) {
        return is_average(call);
    }
    let all = |exprs: &[&'a Expr<'a>]| exprs.iter().all(|expr| fit(expr, sight));
    match &expr.kind {
        ExprKind::Column(name) => (sight.alias)(name).is_some_and(|meant| fit(meant, sight)),
        ExprKind::Paren(of) | ExprKind::Unary(UnaryOp::Minus | UnaryOp::Plus | UnaryOp::Not | UnaryOp::Bang, of) => {
            fit(of, sight)
        }
        ExprKind::Binary(BinaryOp::Add | BinaryOp::Subtract | BinaryOp::Multiply, left, right) => all(&[left, right]),
        ExprKind::Binary(op, left, right) if op.is_condition() => all(&[left, right]),
        // A quotient is rounded to so many digits more than what is divided has.
        ExprKind::Binary(BinaryOp::Divide, left, right) => !has(left, sight) && fit(right, sight),
        ExprKind::Is(is) => fit(&is.expr, sight),
        ExprKind::Between(between) => all(&[&between.expr, &between.low, &between.high]),
        ExprKind::In(list) => match &list.list {
            InList::Values(values) => fit(&list.expr, sight) && values.iter().all(|value| fit(value, sight)),
            _ => false,
        },
        ExprKind::Case(case) => {
            let branches = case.branches.iter().all(|branch| all(&[&branch.condition, &branch.value]));
            branches && case.operand.iter().chain(&case.otherwise).all(|value| fit(value, sight))
        }
        ExprKind::Cast(cast) => {
            let name = cast.data_type.name.text(sight.text);
            let exact =
                ["SIGNED", "UNSIGNED", "DECIMAL"].iter().any(|exact| name.eq_ignore_ascii_case(exact.as_bytes()));
            exact && fit(&cast.expr, sight)
        }
        ExprKind::Call(call) => {
            let named = call.name.database.is_none() && OF_VALUES.iter().any(|name| call.name.name.is(name));
            named && call.arguments.iter().all(|argument| fit(argument, sight))
        }
        _ => false,
    }
}

fn is_average(call: &Call<'_>) -> bool {
    call.name.name.is("AVG")
}

/// Whether there is an average in an expression, or in what its aliases stand for.
fn has<'a>(expr: &'a Expr<'a>, sight: Sight<'_, 'a>) -> bool {
    let mut found = false;
    let plainly = Sight { alias: &|_| None, ..sight };
    walk(Node::Expr(expr), &mut |node: Node<'a>| {
        if let Node::Expr(expr) = node {
            found |= match &expr.kind {
                ExprKind::Column(name) => (sight.alias)(name).is_some_and(|meant| has(meant, plainly)),
                _ => aggregate(expr)
                    .is_some_and(|call| is_average(call) && !call.arguments.iter().any(sight.approximate)),
            };
        }
        if found { Flow::Stop } else { Flow::Descend }
    });
    found
}
