//! Aggregates of several shards: what each shard computes, and how the parts become one.
//!
//! What must always hold: the client's columns stay in the text as they are, so that their names and types are the server's; parts that
//! are needed besides are hidden columns. What can't be put together exactly is refused.

use weir_sql::ast::{BinaryOp, Call, Expr, ExprKind, Literal, OrderItem, UnaryOp};

use super::Obstacle;
use super::expressions::{aggregate, has_aggregate, has_window};
use super::projection::{Projection, Sorts, same_text};
use crate::text::Pieces;
use crate::{Fold, SortKey};

/// How exact the values of an expression are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Exactness {
    /// Integers and decimals.
    Exact,
    /// Floating point.
    Approximate,
    /// The server says.
    Unknown,
}

/// What groups are divided by on the shards, behind their keys: the values that DISTINCT aggregates are about, or the order of
/// GROUP_CONCAT.
#[derive(Debug, Default)]
pub(super) struct Divided<'a> {
    /// By what, and whether descending; nothing: groups are whole.
    pub(super) by: Vec<(&'a Expr<'a>, bool)>,
    pub(super) keys: Vec<SortKey>,
}

impl<'a> Projection<'_, '_, 'a> {
    /// How the column at a place, which is this expression, is folded.
    pub(super) fn fold(
        &mut self,
        place: usize,
        expr: Option<&'a Expr<'a>>,
        divided: &Divided<'a>,
    ) -> Result<Fold, Obstacle> {
        let Some(expr) = expr else { return Ok(Fold::First(place)) };
        if has_window(expr) {
            return Err("a window function over groups of several shards".to_owned().into());
        }
        if !has_aggregate(expr) {
            return Ok(Fold::First(place));
        }
        let summed = self.sum_or_zero(expr).filter(|_| divided.by.is_empty());
        match aggregate(expr).or(summed) {
            Some(call) => self.fold_call(place, expr, call, divided),
            None => {
                let text = String::from_utf8_lossy(&self.pieces(expr).shown(self.text())).into_owned();
                Err(format!("an expression over aggregates is computed from the rows of all shards: {text}").into())
            }
        }
    }

    /// The sum of `IFNULL(SUM(x), 0)`: what is added is 0 where there is nothing, and so is what comes of it.
    pub(super) fn sum_or_zero(&self, expr: &'a Expr<'a>) -> Option<&'a Call<'a>> {
        let ExprKind::Call(call) = &expr.bare().kind else { return None };
        let [sum, zero] = call.arguments else { return None };
        let named = call.name.name.is("IFNULL") || call.name.name.is("COALESCE");
        let is_zero = named && zero.span.text(self.text()) == b"0";
        aggregate(sum).filter(|sum| is_zero && sum.name.name.is("SUM") && !sum.distinct)
    }

    fn fold_call(
        &mut self,
        place: usize,
        expr: &'a Expr<'a>,
        call: &'a Call<'a>,
        divided: &Divided<'a>,
    ) -> Result<Fold, Obstacle> {
        let name = call.name.name.name.to_ascii_uppercase();
        let of = call.arguments.first();
        if call.limit.is_some() || call.clause.is_some() {
            return Err("an aggregate with LIMIT or a clause of its own".to_owned().into());
        }
        if call.distinct && !matches!(&name[..], b"MIN" | b"MAX" | b"BIT_AND" | b"BIT_OR") {
            return self.fold_distinct(place, &name, call, divided);
        }
        match (&name[..], of) {
            (b"COUNT", _) => Ok(Fold::Count(place)),
            (b"SUM", Some(of)) => Ok(match self.exactness(of) {
                Exactness::Approximate => Fold::SumFloat(place),
                Exactness::Exact | Exactness::Unknown => Fold::Sum(place),
            }),
            (b"AVG", Some(of)) => {
                let float = self.exactness(of) == Exactness::Approximate;
                let (sum, count) = (self.hide_call("SUM", of), self.hide_call("COUNT", of));
                Ok(Fold::Average { sum, count, float })
            }
            (b"MIN" | b"MAX", Some(_)) => {
                let sorts = self.expression_sorts(expr);
                let key = self.key(Some(place), self.pieces(expr), true, sorts, false)?;
                Ok(if name == b"MIN" { Fold::Min { value: place, key } } else { Fold::Max { value: place, key } })
            }
            (b"BIT_AND" | b"BIT_OR" | b"BIT_XOR", Some(of)) => match (self.exactness(of), &name[..]) {
                (Exactness::Unknown, _) => Err("bits of what may be a binary string".to_owned().into()),
                (_, b"BIT_AND") => Ok(Fold::BitAnd(place)),
                (_, b"BIT_OR") => Ok(Fold::BitOr(place)),
                _ => Ok(Fold::BitXor(place)),
            },
            (b"STD" | b"STDDEV" | b"STDDEV_POP", Some(of)) => Ok(self.variance(of, false, true)),
            (b"STDDEV_SAMP", Some(of)) => Ok(self.variance(of, true, true)),
            (b"VARIANCE" | b"VAR_POP", Some(of)) => Ok(self.variance(of, false, false)),
            (b"VAR_SAMP", Some(of)) => Ok(self.variance(of, true, false)),
            (b"GROUP_CONCAT", _) => {
                let fold = self.fold_concat(place, call)?;
                if call.order_by.is_empty() {
                    return Ok(fold);
                }
                if !self.is_order(call.order_by, divided) || call.order_by.len() != divided.by.len() {
                    return Err("GROUP_CONCAT in several orders".to_owned().into());
                }
                Ok(Fold::InOrder { by: divided.keys.clone(), fold: Box::new(fold) })
            }
            _ => {
                let name = String::from_utf8_lossy(&name).into_owned();
                Err(format!("the parts of {name} can't be put together").into())
            }
        }
    }

    /// Whether groups are divided in this order.
    fn is_order(&self, order: &[OrderItem<'a>], divided: &Divided<'a>) -> bool {
        order
            .iter()
            .zip(&divided.by)
            .all(|(item, (expr, descending))| item.descending == *descending && self.same(&item.expr, expr))
    }

    /// Texts, one after another.
    fn fold_concat(&mut self, place: usize, call: &'a Call<'a>) -> Result<Fold, Obstacle> {
        let separator = match call.separator {
            None => b",".to_vec(),
            Some(span) => {
                let contents = self.question.planner.folder().contents(span.text(self.text()));
                // The texts of shards are in the character set of results, and the separator is not.
                let contents = contents.filter(|contents| contents.is_ascii());
                contents.ok_or_else(|| Obstacle::Rows("a SEPARATOR that is not known, or not in ASCII".to_owned()))?
            }
        };
        let limit = self.hide(Pieces::new("@@group_concat_max_len"));
        Ok(Fold::Concat { column: place, separator, limit })
    }

    /// Of distinct values: shards send each value of a group once.
    fn fold_distinct(
        &mut self,
        place: usize,
        name: &[u8],
        call: &'a Call<'a>,
        divided: &Divided<'a>,
    ) -> Result<Fold, Obstacle> {
        let several = || Obstacle::Rows("DISTINCT values of different things have no common order".to_owned());
        let same = divided.by.iter().zip(call.arguments).all(|((one, _), other)| self.same(one, other));
        if !same || divided.by.len() != call.arguments.len() || !self.is_order(call.order_by, divided) {
            return Err(several());
        }
        let by = divided.keys.clone();
        let value = match (name, &by[..]) {
            (b"COUNT", _) => return Ok(Fold::Distinct { by, fold: Box::new(Fold::Count(place)) }),
            (b"GROUP_CONCAT", [_]) => {
                let fold = Box::new(self.fold_concat(place, call)?);
                return Ok(Fold::Distinct { by, fold });
            }
            (b"SUM" | b"AVG", [key]) => key.column,
            _ => {
                let name = String::from_utf8_lossy(name).into_owned();
                return Err(format!("the parts of {name}(DISTINCT …) can't be put together").into());
            }
        };
        let exactness = call.arguments.first().map_or(Exactness::Unknown, |of| self.exactness(of));
        let fold = match (name, exactness) {
            (_, Exactness::Unknown) => {
                return Err("a sum of distinct values whose type is not known".to_owned().into());
            }
            (b"SUM", Exactness::Exact) => Fold::Sum(value),
            (b"SUM", Exactness::Approximate) => Fold::SumFloat(value),
            (_, exactness) => Fold::Average { sum: value, count: value, float: exactness == Exactness::Approximate },
        };
        Ok(Fold::Distinct { by, fold: Box::new(fold) })
    }

    fn variance(&mut self, of: &'a Expr<'a>, sample: bool, root: bool) -> Fold {
        let float = Pieces::new("(").and(&self.pieces(of)).then(") + 0e0");
        let count = self.hide_call("COUNT", of);
        let mean = self.hide(float.clone().within("AVG"));
        let variance = self.hide(float.within("VAR_POP"));
        Fold::Variance { count, mean, variance, sample, root }
    }

    fn hide_call(&mut self, name: &str, of: &'a Expr<'a>) -> usize {
        let text = self.pieces(of).within(name);
        self.hide(text)
    }

    /// The text of an expression, with what aliases stand for.
    pub(super) fn pieces(&self, expr: &'a Expr<'a>) -> Pieces {
        self.unaliased(expr).unwrap_or_else(|_| Pieces::own(expr.span.range()))
    }

    // --- Types ---

    /// How exact the values of an expression are as numbers.
    pub(super) fn exactness(&self, expr: &Expr<'a>) -> Exactness {
        self.exactness_within(expr, 32)
    }

    fn exactness_within(&self, expr: &Expr<'a>, depth: u32) -> Exactness {
        let Some(depth) = depth.checked_sub(1) else { return Exactness::Unknown };
        let all = |exprs: &[&Expr<'a>]| -> Exactness {
            let each = exprs.iter().map(|expr| self.exactness_within(expr, depth));
            each.reduce(|one, other| match (one, other) {
                (Exactness::Unknown, _) | (_, Exactness::Unknown) => Exactness::Unknown,
                (Exactness::Exact, Exactness::Exact) => Exactness::Exact,
                _ => Exactness::Approximate,
            })
            .unwrap_or(Exactness::Unknown)
        };
        match &expr.bare().kind {
            ExprKind::Literal(Literal::Integer | Literal::Decimal | Literal::True | Literal::False | Literal::Null) => {
                Exactness::Exact
            }
            ExprKind::Literal(Literal::Float) => Exactness::Approximate,
            ExprKind::Column(name) => self.column_exactness(name),
            ExprKind::Unary(UnaryOp::Minus | UnaryOp::Plus, of) => all(&[of]),
            ExprKind::Binary(
                BinaryOp::Add | BinaryOp::Subtract | BinaryOp::Multiply | BinaryOp::Divide | BinaryOp::Modulo,
                left,
                right,
            ) => all(&[left, right]),
            ExprKind::Binary(op, ..) if op.is_condition() => Exactness::Exact,
            ExprKind::Is(_)
            | ExprKind::Between(_)
            | ExprKind::In(_)
            | ExprKind::Like(_)
            | ExprKind::Unary(UnaryOp::Not | UnaryOp::Bang, _) => Exactness::Exact,
            ExprKind::Case(case) => {
                let mut values: Vec<&Expr<'a>> = case.branches.iter().map(|branch| &branch.value).collect();
                values.extend(case.otherwise.iter());
                all(&values)
            }
            ExprKind::Call(call) if call.name.database.is_none() => {
                let arguments: Vec<&Expr<'a>> = call.arguments.iter().collect();
                let named = |names: &[&str]| names.iter().any(|name| call.name.name.is(name));
                match &arguments[..] {
                    [_, values @ ..] if named(&["IF"]) => all(values),
                    [] => Exactness::Unknown,
                    values if named(&["COALESCE", "IFNULL", "ABS", "GREATEST", "LEAST"]) => all(values),
                    _ if named(super::projection::INTEGER_FUNCTIONS) => Exactness::Exact,
                    _ => Exactness::Unknown,
                }
            }
            _ => Exactness::Unknown,
        }
    }

    fn column_exactness(&self, name: &weir_sql::ast::ColumnName<'_>) -> Exactness {
        let Some(kind) = self.lookup(name).and_then(|at| self.question.analysis.kind(at)) else {
            return Exactness::Unknown;
        };
        match kind.base.as_str() {
            "tinyint" | "smallint" | "mediumint" | "int" | "integer" | "bigint" | "decimal" | "numeric" | "year" => {
                Exactness::Exact
            }
            "float" | "double" => Exactness::Approximate,
            _ => Exactness::Unknown,
        }
    }

    /// Whether two expressions are the same text, or the same column.
    pub(super) fn same(&self, one: &Expr<'a>, other: &Expr<'a>) -> bool {
        if !self.spend(8) {
            return false;
        }
        if let (ExprKind::Column(one), ExprKind::Column(other)) = (&one.bare().kind, &other.bare().kind)
            && let (Some(one), Some(other)) = (self.lookup(one), self.lookup(other))
        {
            return one == other;
        }
        same_text(one.bare().span.text(self.text()), other.bare().span.text(self.text()))
    }

    /// Whether values of an expression are compared as exact numbers.
    pub(super) fn is_exact_number(&self, fold: &Fold, expr: &'a Expr<'a>) -> bool {
        let of = aggregate(expr).and_then(|call| call.arguments.first());
        match fold {
            Fold::Count(_) => true,
            Fold::Distinct { fold, .. } => matches!(**fold, Fold::Count(_)),
            Fold::Sum(_) | Fold::Min { .. } | Fold::Max { .. } => {
                of.is_some_and(|of| self.exactness(of) == Exactness::Exact && self.expression_sorts(of) == Sorts::Value)
            }
            _ => false,
        }
    }
}
