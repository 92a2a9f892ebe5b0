//! Conditions that a fragment's query has, so that fewer rows are gathered.
//!
//! What must always hold: a row that a fragment leaves out would have been refused by the query itself, or joined with nothing, in
//! whatever order its conditions are looked at. The query has all of its conditions still: here one too few costs rows, one too many
//! makes the result wrong.

use std::ops::Range;

use weir_sql::ast::{
    BinaryOp, Expr, ExprKind, InList, IsTest, JoinKind, Literal, Select, Span, TableRef, TableRefKind, UnaryOp,
};
use weir_sql::facts::Varies;
use weir_sql::resolve::{ColumnUse, Resolved};
use weir_sql::visit::{Flow, Node, walk};

use super::narrow::{self, Link};
use crate::aggregate::is_aggregate;
use crate::analysis::conjuncts;

/// The columns that a text names, by where they stand.
pub(super) struct Uses<'r, 'a> {
    names: &'r Resolved<'a>,
    order: Vec<(u32, usize)>,
}

impl<'r, 'a> Uses<'r, 'a> {
    pub(super) fn of(names: &'r Resolved<'a>) -> Self {
        let columns = names.columns.iter().enumerate();
        let mut order: Vec<(u32, usize)> = columns.map(|(at, column)| (column.name.span().start, at)).collect();
        order.sort_unstable();
        Uses { names, order }
    }

    /// The columns that are named within a part of the text.
    fn within(&self, part: Span) -> impl Iterator<Item = &ColumnUse<'a>> {
        let first = self.order.partition_point(|(start, _)| *start < part.start);
        let within = self.order[first..].iter().take_while(move |(start, _)| *start < part.end);
        within.map(|(_, at)| &self.names.columns[*at])
    }

    /// All of them.
    pub(super) fn all(&self) -> impl Iterator<Item = &ColumnUse<'a>> {
        self.names.columns.iter()
    }

    /// Where a source begins.
    pub(super) fn start(&self, source: usize) -> u32 {
        self.names.sources[source].span.start
    }

    /// The one source that all columns of an expression belong to, if that is certain; none if it names no column.
    pub(super) fn source_of(&self, expr: &Expr<'_>) -> Option<usize> {
        let mut only = None;
        for column in self.within(expr.span) {
            let source = column.only()?;
            if only.is_some_and(|known| known != source) {
                return None;
            }
            only = Some(source);
        }
        only
    }
}

/// A condition that a table's rows must fulfil to matter.
pub(super) struct Condition<'a> {
    pub(super) expr: &'a Expr<'a>,
    /// The table, by where its name begins.
    pub(super) table: u32,
    /// Where it stands.
    pub(super) range: Range<usize>,
    /// It is MATCH … AGAINST, which a table without its index can't be asked: it is true of all rows that are gathered.
    pub(super) is_match: bool,
}

/// What is found of the tables of a text.
#[derive(Default)]
pub(super) struct Found<'a> {
    pub(super) conditions: Vec<Condition<'a>>,
    pub(super) links: Vec<Link>,
}

/// Notes the conditions about the tables of one SELECT.
pub(super) fn of_select<'a>(select: &'a Select<'a>, uses: &Uses<'_, 'a>, found: &mut Found<'a>) {
    let mut always = Vec::new();
    for table in select.from {
        always.extend(of_table(table, uses, found));
    }
    if let Some(condition) = &select.condition {
        take(condition, &always, uses, found);
    }
}

/// Notes the conditions of the joins in a table of FROM. Returns the tables in it that have a row in each of its rows: by where they begin.
fn of_table<'a>(table: &'a TableRef<'a>, uses: &Uses<'_, 'a>, found: &mut Found<'a>) -> Vec<u32> {
    match &table.kind {
        TableRefKind::Table(named) => vec![named.name.span.start],
        TableRefKind::Derived(_) | TableRefKind::JsonTable(_) => Vec::new(),
        TableRefKind::Nested(tables) => tables.iter().flat_map(|table| of_table(table, uses, found)).collect(),
        TableRefKind::Odbc(table) => of_table(table, uses, found),
        TableRefKind::Join(join) => {
            let (left, right) = (of_table(&join.left, uses, found), of_table(&join.right, uses, found));
            // A condition of an outer join refuses no row of the side that keeps its rows.
            let (restricted, kept) = match join.kind {
                JoinKind::Inner | JoinKind::Straight => {
                    let both = [left, right].concat();
                    (both.clone(), both)
                }
                JoinKind::Left => (right, left),
                JoinKind::Right => (left, right),
            };
            narrow::of_using(join, &mut found.links);
            if let Some(on) = &join.on {
                take(on, &restricted, uses, found);
            }
            kept
        }
    }
}

/// Notes those of a condition's operands of AND that are about one of these tables.
fn take<'a>(condition: &'a Expr<'a>, tables: &[u32], uses: &Uses<'_, 'a>, found: &mut Found<'a>) {
    for one in conjuncts(condition) {
        narrow::of_condition(one, tables, uses, &mut found.links);
        if let Some(source) = uses.source_of(one)
            && let start = uses.start(source)
            && tables.contains(&start)
            && let is_match = matches!(one.kind, ExprKind::Match(_))
            && (is_match || is_plain(one))
        {
            found.conditions.push(Condition { expr: one, table: start, range: one.span.range(), is_match });
        }
    }
}

/// Whether an expression converts nothing: servers warn of conversions that lose something, and in a write that may be an error, which the
/// write's own query has to meet.
pub(super) fn converts_nothing(expr: &Expr<'_>, kind: &dyn Fn(&[u8]) -> Option<bool>) -> bool {
    let is_number = |expr: &Expr<'_>| match &expr.bare().kind {
        ExprKind::Column(name) => kind(name.name.name),
        ExprKind::Literal(Literal::Integer | Literal::Decimal | Literal::Float) => Some(true),
        ExprKind::Unary(UnaryOp::Minus, of) => {
            matches!(of.bare().kind, ExprKind::Literal(Literal::Integer | Literal::Decimal)).then_some(true)
        }
        ExprKind::Literal(Literal::String) => Some(false),
        _ => None,
    };
    let alike = |one: &Expr<'_>, other: &Expr<'_>| is_number(one).is_some() && is_number(one) == is_number(other);
    match &expr.bare().kind {
        ExprKind::Binary(BinaryOp::And | BinaryOp::Or, left, right) => {
            converts_nothing(left, kind) && converts_nothing(right, kind)
        }
        ExprKind::Binary(op, left, right) if op.is_condition() => alike(left, right),
        ExprKind::Between(between) => alike(&between.expr, &between.low) && alike(&between.expr, &between.high),
        ExprKind::In(list) => match list.list {
            InList::Values(values) => values.iter().all(|value| alike(&list.expr, value)),
            InList::Query(_) => false,
        },
        ExprKind::Is(is) => is.test == IsTest::Null && is_number(&is.expr).is_some(),
        _ => false,
    }
}

/// Whether an expression is the same wherever and whenever it is computed over the same row, and has no effect.
fn is_plain(expr: &Expr<'_>) -> bool {
    let mut plain = true;
    walk(Node::Expr(expr), &mut |node: Node<'_>| {
        plain &= match node {
            Node::Query(_) => false,
            Node::Expr(expr) => is_plain_kind(&expr.kind),
            _ => true,
        };
        if plain { Flow::Descend } else { Flow::Stop }
    });
    plain
}

fn is_plain_kind(kind: &ExprKind<'_>) -> bool {
    match kind {
        ExprKind::Call(call) => {
            let built_in =
                call.name.database.is_none() && call.over.is_none() && is_known_function(call.name.name.name);
            built_in && !is_aggregate(call) && Varies::of_call(call).is_nothing()
        }
        ExprKind::UserVariable(_)
        | ExprKind::Assign(_)
        | ExprKind::SystemVariable(_)
        | ExprKind::Exists(_)
        | ExprKind::Subquery(_)
        | ExprKind::Quantified(_)
        | ExprKind::Match(_)
        | ExprKind::Word(_)
        | ExprKind::Sequence(_) => false,
        _ => true,
    }
}

/// Functions of their arguments alone that fail for no value. Others cost rows that are gathered, nothing else.
fn is_known_function(name: &[u8]) -> bool {
    const KNOWN: [&str; 48] = [
        "ABS",
        "ADDDATE",
        "ASCII",
        "CEIL",
        "CEILING",
        "CHAR_LENGTH",
        "CHARACTER_LENGTH",
        "COALESCE",
        "CONCAT",
        "CONCAT_WS",
        "DATE",
        "DATEDIFF",
        "DATE_ADD",
        "DATE_FORMAT",
        "DATE_SUB",
        "DAY",
        "DAYOFMONTH",
        "DAYOFWEEK",
        "DAYOFYEAR",
        "EXTRACT",
        "FLOOR",
        "GREATEST",
        "HEX",
        "HOUR",
        "IF",
        "IFNULL",
        "INSTR",
        "LAST_DAY",
        "LEAST",
        "LEFT",
        "LENGTH",
        "LOCATE",
        "LOWER",
        "LTRIM",
        "MINUTE",
        "MOD",
        "MONTH",
        "NULLIF",
        "QUARTER",
        "RIGHT",
        "ROUND",
        "RTRIM",
        "SECOND",
        "SUBSTR",
        "SUBSTRING",
        "TRIM",
        "UPPER",
        "YEAR",
    ];
    KNOWN.iter().any(|known| name.eq_ignore_ascii_case(known.as_bytes()))
}
