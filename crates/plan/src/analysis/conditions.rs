//! What conditions say about columns.
//!
//! What must always hold: everything that is noted follows from the condition being true. What makes it unknown or false is ignored.

use weir_catalog::Constant;
use weir_sql::ast::{BinaryOp, Expr, ExprKind, In, InList, IsTest, Query};
use weir_sql::visit::Node;

use super::from::Tree;
use super::logic::{conjuncts, disjuncts};
use super::query_graph::Gatherer;
use super::{ColumnRef, Edge, InstanceKind, KeyRange, Limit, alike};
use crate::known::KnownValue;

impl<'a> Gatherer<'a> {
    /// Notes what the joins and the WHERE of a block say.
    pub(super) fn conditions(&mut self, block: usize, tree: &Tree<'a>, condition: Option<&'a Expr<'a>>) {
        let scope = self.found.blocks[block].sources.clone();
        let refused = condition.map(|condition| self.refused(block, None, condition)).unwrap_or_default();
        self.joins(block, tree, &scope, &refused);
        if let Some(condition) = condition {
            self.condition(block, None, condition, &scope);
        }
    }

    /// Notes what a condition says for the rows of these tables.
    pub(super) fn condition(
        &mut self,
        block: usize,
        within: Option<&[usize]>,
        condition: &'a Expr<'a>,
        holds_for: &[usize],
    ) {
        for conjunct in conjuncts(condition) {
            self.conjunct(block, within, conjunct, holds_for);
            for limit in self.limits(block, within, conjunct) {
                match limit.columns.first() {
                    None => self.found.impossible.extend(holds_for),
                    Some(column) if holds_for.contains(&column.instance) => self.found.limits.push(limit),
                    Some(_) => {}
                }
            }
        }
    }

    /// Equalities of columns, and queries.
    fn conjunct(&mut self, block: usize, within: Option<&[usize]>, expr: &'a Expr<'a>, holds_for: &[usize]) {
        match &expr.kind {
            ExprKind::Binary(BinaryOp::Eq, left, right) => {
                for (left, right) in pairs(left, right) {
                    let columns = (self.column_of(block, within, left), self.column_of(block, within, right));
                    if let (Some(one), Some(other)) = columns {
                        self.equal(one, other, holds_for);
                    }
                }
                self.queries_within(Node::Expr(expr), block);
            }
            ExprKind::In(list) => match list.list {
                InList::Query(query) => self.in_query(block, within, list, query, holds_for),
                InList::Values(_) => self.queries_within(Node::Expr(expr), block),
            },
            _ => self.queries_within(Node::Expr(expr), block),
        }
    }

    /// `(a, b) [NOT] IN (query)`, true.
    fn in_query(
        &mut self,
        block: usize,
        within: Option<&[usize]>,
        list: &'a In<'a>,
        query: &'a Query<'a>,
        holds_for: &[usize],
    ) {
        self.queries_within(Node::Expr(&list.expr), block);
        let outcome = self.query(query, Some(block));
        let kind = self.derived(outcome, &[]);
        let instance = self.unnamed(block, kind);
        for (column, left) in row(&list.expr).iter().enumerate() {
            let Some(left) = self.column_of(block, within, left) else { continue };
            let right = ColumnRef { instance, column };
            // A NULL on either side makes NOT IN unknown, whatever the values of other rows.
            if list.negated && !(self.found.is_filled(left) && self.found.is_filled(right)) {
                continue;
            }
            let mut for_these = vec![instance];
            if !list.negated {
                for_these.extend(holds_for);
            }
            self.equal(left, right, &for_these);
        }
    }

    /// Notes that two columns are equal.
    pub(super) fn equal(&mut self, left: ColumnRef, right: ColumnRef, holds_for: &[usize]) {
        let (Some(one), Some(other)) = (self.found.kind(left), self.found.kind(right)) else { return };
        if !alike(one, other) {
            return;
        }
        let follows = |column: ColumnRef| holds_for.contains(&column.instance);
        let edge = Edge { left, right, left_follows: follows(left), right_follows: follows(right) };
        self.found.edges.push(edge);
    }

    // --- Limits ---

    /// What a condition says of the values of columns. A limit without columns: it is never true.
    fn limits(&self, block: usize, within: Option<&[usize]>, expr: &'a Expr<'a>) -> Vec<Limit> {
        let never = || vec![Limit { columns: Vec::new(), rows: Vec::new() }];
        match &expr.bare().kind {
            ExprKind::Binary(BinaryOp::Eq, left, right) => self.equalities(block, within, left, right),
            ExprKind::Binary(BinaryOp::NullSafeEq, left, right) => {
                let (column, value) = match (self.column_of(block, within, left), self.column_of(block, within, right))
                {
                    (Some(column), None) => (column, self.around.folder.fold_unread(right)),
                    (None, Some(column)) => (column, self.around.folder.fold_unread(left)),
                    _ => return Vec::new(),
                };
                value.filter(|_| self.keeps_rows(column)).map(|value| one_value(column, value)).into_iter().collect()
            }
            ExprKind::Binary(BinaryOp::Or, ..) => self.alternatives(block, within, expr),
            ExprKind::Binary(BinaryOp::And, ..) => {
                conjuncts(expr).into_iter().flat_map(|conjunct| self.limits(block, within, conjunct)).collect()
            }
            ExprKind::Binary(op @ (BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge), left, right) => {
                self.range(block, within, *op, left, right).into_iter().collect()
            }
            ExprKind::Between(between) if !between.negated => {
                let Some(column) = self.column_of(block, within, &between.expr) else { return Vec::new() };
                let bound = |expr| self.value(expr).map(|value| (value, true));
                let (low, high) = (bound(&between.low), bound(&between.high));
                if low.is_none() && high.is_none() {
                    return Vec::new();
                }
                vec![Limit { columns: vec![column], rows: vec![vec![KeyRange::Range(low, high)]] }]
            }
            ExprKind::In(list) if !list.negated => match list.list {
                InList::Values(values) => self.in_values(block, within, &list.expr, values).into_iter().collect(),
                InList::Query(_) => Vec::new(),
            },
            ExprKind::Is(is) if !is.negated && is.test == IsTest::Null => {
                let column = self.column_of(block, within, &is.expr).filter(|column| self.keeps_rows(*column));
                let null = KnownValue { constant: Constant::Null, hexadecimal: false, number: None, source: None };
                column.map(|column| one_value(column, null)).into_iter().collect()
            }
            _ => match self.around.folder.fold(expr).map(|value| value.constant) {
                Some(Constant::Integer(0) | Constant::Null) => never(),
                _ => Vec::new(),
            },
        }
    }

    /// Whether a row of a column's table is there whenever the column is looked at: then NULL is the column's own value.
    fn keeps_rows(&self, column: ColumnRef) -> bool {
        let instance = &self.found.instances[column.instance];
        !instance.nullable && matches!(instance.kind, InstanceKind::Base(_))
    }

    fn equalities(
        &self,
        block: usize,
        within: Option<&[usize]>,
        left: &'a Expr<'a>,
        right: &'a Expr<'a>,
    ) -> Vec<Limit> {
        let pairs = pairs(left, right);
        let mut limits = Vec::new();
        let mut row = Limit { columns: Vec::new(), rows: vec![Vec::new()] };
        for (left, right) in pairs {
            let (column, value) = match (self.column_of(block, within, left), self.column_of(block, within, right)) {
                (Some(column), None) => (column, self.around.folder.fold_unread(right)),
                (None, Some(column)) => (column, self.around.folder.fold_unread(left)),
                (None, None) => match (self.around.folder.fold(left), self.around.folder.fold(right)) {
                    (Some(left), Some(right)) if never_equal(&left.constant, &right.constant) => {
                        return vec![Limit { columns: Vec::new(), rows: Vec::new() }];
                    }
                    _ => continue,
                },
                _ => continue,
            };
            match value {
                // Nothing equals NULL.
                Some(KnownValue { constant: Constant::Null, .. }) => {
                    return vec![Limit { columns: Vec::new(), rows: Vec::new() }];
                }
                Some(value) => limits.push(one_value(column, value)),
                None => {}
            }
        }
        for limit in &limits {
            row.columns.extend(&limit.columns);
            row.rows[0].extend(limit.rows[0].iter().cloned());
        }
        let of_one = |column: &ColumnRef| column.instance == row.columns[0].instance;
        if limits.len() > 1 && row.columns.iter().all(of_one) {
            limits.push(row);
        }
        limits
    }

    fn in_values(
        &self,
        block: usize,
        within: Option<&[usize]>,
        expr: &'a Expr<'a>,
        values: &'a [Expr<'a>],
    ) -> Option<Limit> {
        let left = row(expr);
        let columns: Option<Vec<ColumnRef>> = left.iter().map(|expr| self.column_of(block, within, expr)).collect();
        let columns = columns?;
        if columns.iter().any(|column| column.instance != columns[0].instance) {
            return None;
        }
        let mut rows = Vec::with_capacity(values.len());
        for value in values {
            let parts = row(value);
            if parts.len() != columns.len() {
                return None;
            }
            let parts: Option<Vec<KnownValue>> =
                parts.iter().map(|part| self.around.folder.fold_unread(part)).collect();
            let parts = parts?;
            if parts.iter().all(|part| part.constant != Constant::Null) {
                rows.push(parts.into_iter().map(KeyRange::Value).collect());
            }
        }
        Some(Limit { columns, rows })
    }

    fn value(&self, expr: &'a Expr<'a>) -> Option<KnownValue> {
        self.around.folder.fold_unread(expr).filter(|value| value.constant != Constant::Null)
    }

    fn range(
        &self,
        block: usize,
        within: Option<&[usize]>,
        op: BinaryOp,
        left: &'a Expr<'a>,
        right: &'a Expr<'a>,
    ) -> Option<Limit> {
        let (column, value, turned) = match self.column_of(block, within, left) {
            Some(column) => (column, self.value(right)?, false),
            None => (self.column_of(block, within, right)?, self.value(left)?, true),
        };
        let included = matches!(op, BinaryOp::Le | BinaryOp::Ge);
        let below = matches!(op, BinaryOp::Lt | BinaryOp::Le) != turned;
        let bound = Some((value, included));
        let range = if below { KeyRange::Range(None, bound) } else { KeyRange::Range(bound, None) };
        Some(Limit { columns: vec![column], rows: vec![vec![range]] })
    }

    /// `a OR b OR c`: what all of them limit.
    fn alternatives(&self, block: usize, within: Option<&[usize]>, expr: &'a Expr<'a>) -> Vec<Limit> {
        let mut branches = Vec::new();
        for operand in disjuncts(expr) {
            let limits: Vec<Limit> =
                conjuncts(operand).into_iter().flat_map(|conjunct| self.limits(block, within, conjunct)).collect();
            if limits.iter().all(|limit| !limit.columns.is_empty()) {
                branches.push(limits);
            }
        }
        let Some((first, others)) = branches.split_first() else {
            return vec![Limit { columns: Vec::new(), rows: Vec::new() }];
        };
        let mut found = Vec::new();
        for limit in first.iter().chain(&self.whole_keys(first)) {
            let mut rows = limit.rows.clone();
            let all = others.iter().all(|branch| {
                let whole = self.whole_keys(branch);
                let same = branch.iter().chain(&whole).find(|other| other.columns == limit.columns);
                rows.extend(same.iter().flat_map(|other| other.rows.iter().cloned()));
                same.is_some()
            });
            if all {
                found.push(Limit { columns: limit.columns.clone(), rows });
            }
        }
        found
    }

    /// `a = 1 AND b = 2` as a limit of both, where they are a shard key of several columns.
    fn whole_keys(&self, limits: &[Limit]) -> Vec<Limit> {
        let mut found = Vec::new();
        let mut seen = Vec::new();
        for instance in limits.iter().filter_map(|limit| limit.columns.first()).map(|column| column.instance) {
            if seen.contains(&instance) {
                continue;
            }
            seen.push(instance);
            let Some(key) = self.found.base(instance).and_then(|base| base.table.shard_key()) else { continue };
            if key.columns.len() < 2 {
                continue;
            }
            let columns: Vec<ColumnRef> =
                key.columns.iter().map(|column| ColumnRef { instance, column: *column }).collect();
            let of =
                |column: &ColumnRef| limits.iter().find(|limit| limit.columns == [*column] && limit.rows.len() == 1);
            let parts: Option<Vec<KeyRange>> =
                columns.iter().map(|column| Some(of(column)?.rows[0][0].clone())).collect();
            if let Some(parts) = parts {
                found.push(Limit { columns, rows: vec![parts] });
            }
        }
        found
    }
}

fn one_value(column: ColumnRef, value: KnownValue) -> Limit {
    Limit { columns: vec![column], rows: vec![vec![KeyRange::Value(value)]] }
}

/// The parts of a row constructor, or the expression alone.
fn row<'a>(expr: &'a Expr<'a>) -> &'a [Expr<'a>] {
    match &expr.bare().kind {
        ExprKind::Row(values) => values,
        _ => std::slice::from_ref(expr.bare()),
    }
}

/// The sides of an equality, part by part if they are rows.
fn pairs<'a>(left: &'a Expr<'a>, right: &'a Expr<'a>) -> Vec<(&'a Expr<'a>, &'a Expr<'a>)> {
    let (left, right) = (row(left), row(right));
    if left.len() == right.len() { left.iter().zip(right).collect() } else { Vec::new() }
}

fn never_equal(left: &Constant, right: &Constant) -> bool {
    matches!((left, right), (Constant::Integer(left), Constant::Integer(right)) if left != right)
}
