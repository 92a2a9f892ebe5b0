//! Statements that move a counter: `UPDATE t SET c = c ± k WHERE … [AND c > g]`, whose changes can be made by one statement.
//!
//! What must hold: the amount and the guard are plain numbers of the text, or parameters; nothing else of the condition looks at the
//! counter; and the rest of the condition is the same for statements whose changes are made together, byte by byte, but for parameters
//! that a column is compared with.

use std::ops::Range;

use bumpalo::Bump;

use crate::ast::{BinaryOp, Expr, ExprKind, Literal, StatementKind, TableRefKind};
use crate::mode::LexMode;
use crate::parse::parse;
use crate::visit::{Flow, Node, walk};

/// How a guard compares the counter with a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compare {
    /// `=`
    Equal,
    /// `<>`
    Differs,
    /// `<`
    Less,
    /// `<=`
    AtMost,
    /// `>`
    More,
    /// `>=`
    AtLeast,
}

/// A number of a statement. Ranges are of its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operand {
    /// Digits, perhaps with a point.
    Written(Range<usize>),
    /// A parameter's value, by its number from 0.
    Bound(u32),
}

/// A part of a condition. Ranges are of its statement's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// Whatever stands there: no parameter.
    Written(Range<usize>),
    /// A column equals a parameter.
    Bound {
        /// The column as the statement writes it.
        written: Range<usize>,
        /// Its name, without quotes.
        column: Box<[u8]>,
        /// The parameter's number, from 0.
        parameter: u32,
    },
}

/// A statement that moves a counter. Ranges are of its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CounterMove {
    /// The table, as the statement names it.
    pub table: Range<usize>,
    /// The counter's name, without quotes.
    pub column: Box<[u8]>,
    /// The counter as the statement writes it.
    pub written: Range<usize>,
    /// The amount is taken away.
    pub down: bool,
    /// By how much.
    pub amount: Operand,
    /// What the counter must be for the statement to find its row.
    pub guard: Option<(Compare, Operand)>,
    /// The rest of the condition: all of them hold.
    pub condition: Vec<Part>,
}

impl CounterMove {
    /// The move that a text is, if it is one.
    pub fn of(text: &[u8], mode: LexMode) -> Option<CounterMove> {
        let arena = Bump::new();
        let parsed = parse(&arena, text, mode).ok()?;
        let [statement] = parsed.statements else { return None };
        let StatementKind::Update(update) = statement.kind else { return None };
        let plain = update.with.is_none()
            && update.hint.is_none()
            && !update.ignore
            && !update.low_priority
            && update.order_by.is_empty()
            && update.limit.is_none()
            && update.returning.is_empty();
        let ([table], [assignment], true) = (update.tables, update.assignments, plain) else { return None };
        let TableRefKind::Table(named) = table.kind else { return None };
        let bare = named.alias.is_none()
            && named.partitions.is_empty()
            && named.index_hints.is_empty()
            && named.period.is_none()
            && named.sample.is_none();
        if !bare || assignment.column.table.is_some() {
            return None;
        }
        let counter = assignment.column.name.name;
        let ExprKind::Binary(op @ (BinaryOp::Add | BinaryOp::Subtract), left, right) = assignment.value.kind else {
            return None;
        };
        if !is_column(left, counter) {
            return None;
        }
        let amount = number(right)?;
        let (mut guard, mut condition) = (None, Vec::new());
        for part in parts(update.condition.as_ref()?) {
            match guard_of(part, counter) {
                Some(found) if guard.is_none() => guard = Some(found),
                Some(_) => return None,
                None => condition.push(part_of(part, counter)?),
            }
        }
        Some(CounterMove {
            table: named.name.span.range(),
            column: counter.into(),
            written: assignment.column.name.span.range(),
            down: op == BinaryOp::Subtract,
            amount,
            guard,
            condition,
        })
        // Without a condition of its own, it would be about all rows.
        .filter(|found| !found.condition.is_empty())
    }
}

/// What AND combines, in the order of the text.
fn parts<'e, 'a>(condition: &'e Expr<'a>) -> Vec<&'e Expr<'a>> {
    let (mut parts, mut rest) = (Vec::new(), vec![condition]);
    while let Some(expr) = rest.pop() {
        match expr.bare().kind {
            ExprKind::Binary(BinaryOp::And, left, right) => rest.extend([right, left]),
            _ => parts.push(expr),
        }
    }
    parts
}

/// A part of the condition, if it is the same whatever the counter is.
fn part_of(expr: &Expr<'_>, counter: &[u8]) -> Option<Part> {
    if let ExprKind::Binary(BinaryOp::Eq, left, right) = expr.bare().kind {
        let bound = match (left.bare().kind, right.bare().kind) {
            (ExprKind::Column(column), ExprKind::Parameter(number)) => Some((column, left.bare().span, number)),
            (ExprKind::Parameter(number), ExprKind::Column(column)) => Some((column, right.bare().span, number)),
            _ => None,
        };
        if let Some((column, span, parameter)) = bound.filter(|(column, ..)| column.table.is_none()) {
            return Some(Part::Bound { written: span.range(), column: column.name.name.into(), parameter });
        }
    }
    (!mentions(expr, counter)).then(|| Part::Written(expr.span.range()))
}

fn guard_of(expr: &Expr<'_>, counter: &[u8]) -> Option<(Compare, Operand)> {
    let ExprKind::Binary(op, left, right) = expr.bare().kind else { return None };
    let compare = match op {
        BinaryOp::Eq => Compare::Equal,
        BinaryOp::Ne => Compare::Differs,
        BinaryOp::Lt => Compare::Less,
        BinaryOp::Le => Compare::AtMost,
        BinaryOp::Gt => Compare::More,
        BinaryOp::Ge => Compare::AtLeast,
        _ => return None,
    };
    if is_column(left, counter) {
        return Some((compare, number(right)?));
    }
    let turned = match compare {
        Compare::Less => Compare::More,
        Compare::AtMost => Compare::AtLeast,
        Compare::More => Compare::Less,
        Compare::AtLeast => Compare::AtMost,
        same => same,
    };
    is_column(right, counter).then_some(())?;
    Some((turned, number(left)?))
}

fn is_column(expr: &Expr<'_>, counter: &[u8]) -> bool {
    match expr.bare().kind {
        ExprKind::Column(column) => column.table.is_none() && column.name.name.eq_ignore_ascii_case(counter),
        _ => false,
    }
}

fn number(expr: &Expr<'_>) -> Option<Operand> {
    let bare = expr.bare();
    match bare.kind {
        ExprKind::Literal(Literal::Integer | Literal::Decimal) => Some(Operand::Written(bare.span.range())),
        ExprKind::Parameter(number) => Some(Operand::Bound(number)),
        _ => None,
    }
}

/// Whether an expression looks at the counter, by whatever name.
fn mentions(expr: &Expr<'_>, counter: &[u8]) -> bool {
    !walk(Node::Expr(expr), &mut |node: Node<'_>| match node {
        Node::Expr(Expr { kind: ExprKind::Column(column), .. }) if column.name.name.eq_ignore_ascii_case(counter) => {
            Flow::Stop
        }
        // What is no value of the text or the row may differ from one execution to the next.
        Node::Expr(Expr { kind: ExprKind::Call(_) | ExprKind::Parameter(_), .. }) => Flow::Stop,
        _ => Flow::Descend,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> Option<String> {
        let found = CounterMove::of(text.as_bytes(), LexMode::default())?;
        let number = |operand| match operand {
            Operand::Written(range) => text[range].to_owned(),
            Operand::Bound(number) => format!("?{number}"),
        };
        let guard = found.guard.map(|(compare, operand)| format!(" if {compare:?} {}", number(operand)));
        let part = |part| match part {
            Part::Written(range) => text[range].to_owned(),
            Part::Bound { written, column, parameter } => {
                format!("{}[{}] = ?{parameter}", &text[written], String::from_utf8_lossy(&column))
            }
        };
        let condition: Vec<String> = found.condition.into_iter().map(part).collect();
        let sign = if found.down { "-" } else { "+" };
        Some(format!(
            "{}.{} {sign}{}{} where {}",
            &text[found.table],
            &text[found.written],
            number(found.amount),
            guard.unwrap_or_default(),
            condition.join(" & ")
        ))
    }

    #[test]
    fn moves_of_a_counter_are_read() {
        for (text, expected) in [
            ("update seckill set num=num-1 where id=1 and num>1", "seckill.num -1 if More 1 where id=1"),
            ("UPDATE db.t SET `c` = c + 2.5 WHERE a = 'x' AND (b = 3)", "db.t.`c` +2.5 where a = 'x' & (b = 3)"),
            ("UPDATE t SET c = (C) - (3) WHERE 3 <= c AND id IN (1, 2)", "t.c -3 if AtLeast 3 where id IN (1, 2)"),
            ("UPDATE t SET c = c - ? WHERE `id` = ? AND c >= ?", "t.c -?0 if AtLeast ?2 where `id`[id] = ?1"),
            ("UPDATE t SET c = c + 1 WHERE (? = id) AND d = 5", "t.c +1 where id[id] = ?0 & d = 5"),
        ] {
            assert_eq!(told(text).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_may_do_more_is_no_move() {
        for text in [
            "UPDATE t SET c = c - 1",
            "UPDATE t SET c = c - 1 WHERE c > 1",
            "UPDATE t SET c = c * 2 WHERE id = 1",
            "UPDATE t SET c = d - 1 WHERE id = 1",
            "UPDATE t SET c = 1 - c WHERE id = 1",
            "UPDATE t SET c = c - 1, d = 2 WHERE id = 1",
            "UPDATE t SET c = c - d WHERE id = 1",
            "UPDATE t SET c = c - -1 WHERE id = 1",
            "UPDATE t SET c = c - 1e3 WHERE id = 1",
            "UPDATE t SET c = c - '1' WHERE id = 1",
            "UPDATE t SET c = c - -? WHERE id = 1",
            "UPDATE t SET c = c - 1 WHERE id > ?",
            "UPDATE t SET c = c - 1 WHERE t.id = ?",
            "UPDATE t SET c = c - 1 WHERE id = ? + 1",
            "UPDATE t SET c = c - 1 WHERE id = 1 OR c > 1",
            "UPDATE t SET c = c - 1 WHERE id = 1 AND c > 1 AND c < 5",
            "UPDATE t SET c = c - 1 WHERE id = 1 AND c BETWEEN 1 AND 5",
            "UPDATE t SET c = c - 1 WHERE id = 1 AND c > d",
            "UPDATE t SET c = c - 1 WHERE d < NOW()",
            "UPDATE t AS u SET c = c - 1 WHERE id = 1",
            "UPDATE t SET c = c - 1 WHERE id = 1 LIMIT 1",
            "UPDATE IGNORE t SET c = c - 1 WHERE id = 1",
            "DELETE FROM t WHERE id = 1",
        ] {
            assert_eq!(told(text), None, "{text}");
        }
    }
}
