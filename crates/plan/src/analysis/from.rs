//! FROM: its tables, and how they are joined.
//!
//! What must always hold: a join's condition is noted only for the tables that it restricts. An outer join that a condition elsewhere
//! makes an inner one (by refusing rows whose columns are NULL) is one.

use std::collections::HashSet;

use weir_sql::ast::{Expr, ExprKind, Join, JoinKind, TableRef, TableRefKind};
use weir_sql::visit::Node;

use super::logic::{conjuncts, refuses_null};
use super::names::AFTER_TEXT;
use super::query_graph::Gatherer;
use super::{ColumnRef, InstanceKind, MOST_JOINED};

/// Joins within joins.
const DEEPEST: usize = 128;

/// How tables are joined.
pub(super) enum Tree<'a> {
    Leaf(usize),
    Join(Box<Joined<'a>>),
    /// Lists of tables, and what FROM is as a whole.
    All(Vec<Tree<'a>>),
}

/// Two sides.
pub(super) struct Joined<'a> {
    /// The side that keeps its rows, if only one does: LEFT JOIN's left one.
    pub(super) left: Tree<'a>,
    pub(super) right: Tree<'a>,
    pub(super) outer: bool,
    pub(super) on: Option<&'a Expr<'a>>,
    /// Columns that USING and NATURAL make equal.
    pub(super) equal: Vec<(ColumnRef, ColumnRef)>,
}

impl Tree<'_> {
    /// The instances in it.
    pub(super) fn instances(&self) -> Vec<usize> {
        match self {
            Tree::Leaf(instance) => vec![*instance],
            Tree::Join(join) => [join.left.instances(), join.right.instances()].concat(),
            Tree::All(trees) => trees.iter().flat_map(Tree::instances).collect(),
        }
    }
}

impl<'a> Gatherer<'a> {
    /// The tables of FROM, in a block.
    pub(super) fn from(&mut self, block: usize, tables: &'a [TableRef<'a>]) -> Tree<'a> {
        let trees = tables.iter().map(|table| self.tree(block, table, 0)).collect();
        self.found.too_many_joined |= self.found.blocks[block].sources.len() > MOST_JOINED;
        Tree::All(trees)
    }

    fn tree(&mut self, block: usize, table: &'a TableRef<'a>, depth: usize) -> Tree<'a> {
        self.found.too_many_joined |= self.found.blocks[block].sources.len() > MOST_JOINED;
        if self.is_done() {
            return Tree::All(Vec::new());
        }
        if depth > DEEPEST {
            self.found.too_large = true;
            return Tree::All(Vec::new());
        }
        match &table.kind {
            TableRefKind::Table(named) => {
                let instance = self.table(block, &named.name, named.alias);
                if let Some(period) = named.period {
                    period.bounds.iter().for_each(|bound| self.queries_within(Node::Expr(bound), block));
                }
                Tree::Leaf(instance)
            }
            TableRefKind::Derived(derived) => {
                let parent = if derived.lateral { Some(block) } else { self.found.blocks[block].parent };
                let outcome = self.query(derived.query, parent);
                let kind = self.derived(outcome, derived.columns);
                Tree::Leaf(self.instance(block, kind, derived.alias.map_or(b"", |alias| alias.name), None))
            }
            TableRefKind::JsonTable(json) => {
                self.queries_within(Node::Expr(&json.document), block);
                let name = json.alias.map_or(&b""[..], |alias| alias.name);
                Tree::Leaf(self.instance(block, InstanceKind::Computed, name, None))
            }
            TableRefKind::Join(join) => self.join(block, join, depth + 1),
            TableRefKind::Nested(tables) => {
                Tree::All(tables.iter().map(|table| self.tree(block, table, depth + 1)).collect())
            }
            TableRefKind::Odbc(table) => self.tree(block, table, depth + 1),
        }
    }

    fn join(&mut self, block: usize, join: &'a Join<'a>, depth: usize) -> Tree<'a> {
        let left = self.tree(block, &join.left, depth);
        let right = self.tree(block, &join.right, depth);
        let (of_left, of_right) = (left.instances(), right.instances());
        if of_left.len() + of_right.len() > MOST_JOINED {
            self.found.too_many_joined = true;
            return Tree::All(Vec::new());
        }
        let mut equal = Vec::new();
        for name in self.common_columns(join, &of_left, &of_right) {
            let (one, other) = (self.one_of(block, &of_left, &name), self.one_of(block, &of_right, &name));
            if let (Some(one), Some(other)) = (one, other) {
                equal.push((one, other));
                let kept = if join.kind == JoinKind::Right { other } else { one };
                self.found.blocks[block].merged.push((name, kept));
            }
        }
        let (left, right) = if join.kind == JoinKind::Right { (right, left) } else { (left, right) };
        let outer = matches!(join.kind, JoinKind::Left | JoinKind::Right);
        Tree::Join(Box::new(Joined { left, right, outer, on: join.on.as_ref(), equal }))
    }

    /// The names of USING, or those that both sides of a NATURAL join have.
    fn common_columns(&self, join: &'a Join<'a>, left: &[usize], right: &[usize]) -> Vec<Vec<u8>> {
        if !join.natural {
            return join.using.iter().map(|name| name.name.to_vec()).collect();
        }
        let names = |side: &[usize]| {
            let columns = side.iter().flat_map(|instance| self.found.star(*instance).unwrap_or_default());
            let named = columns.filter(|(name, _)| *name != AFTER_TEXT);
            named.map(|(name, _)| name.to_ascii_lowercase()).collect::<Vec<_>>()
        };
        // What an earlier join has merged has its name on both of that join's sides.
        let (left, mut right) = (names(left), names(right).into_iter().collect::<HashSet<_>>());
        left.into_iter().filter(|name| right.remove(name)).collect()
    }

    /// The column of one side that a common name stands for.
    fn one_of(&self, block: usize, side: &[usize], name: &[u8]) -> Option<ColumnRef> {
        let merged = self.found.blocks[block].merged.iter().rev();
        let earlier =
            merged.clone().find(|(known, at)| known.eq_ignore_ascii_case(name) && side.contains(&at.instance));
        if let Some((_, at)) = earlier {
            return Some(*at);
        }
        let mut found = side.iter().filter_map(|instance| self.found.column_named(*instance, name));
        found.next().filter(|_| found.next().is_none())
    }

    // --- What joins say ---

    /// Notes what the joins of a block say. `scope`: the tables for which an inner join's condition holds. `refused`: those of which
    /// the rows that are all NULL are refused.
    pub(super) fn joins(&mut self, block: usize, tree: &Tree<'a>, scope: &[usize], refused: &[usize]) {
        let mut stack = vec![(tree, scope.to_vec(), refused.to_vec())];
        while let Some((tree, scope, mut refused)) = stack.pop() {
            match tree {
                Tree::Leaf(_) => {}
                Tree::All(trees) => {
                    // A condition of one of them refuses rows of itself only.
                    let joins = trees.iter().filter(|tree| !matches!(tree, Tree::Leaf(_)));
                    stack.extend(joins.map(|tree| (tree, scope.clone(), refused.clone())));
                }
                Tree::Join(join) => {
                    let (of_left, of_right) = (join.left.instances(), join.right.instances());
                    let outer = join.outer && !of_right.iter().any(|instance| refused.contains(instance));
                    let holds_for = if outer { of_right.clone() } else { scope.clone() };
                    let within = [&of_left[..], &of_right[..]].concat();
                    for (one, other) in &join.equal {
                        self.equal(*one, *other, &holds_for);
                    }
                    if let Some(on) = join.on {
                        self.condition(block, Some(&within), on, &holds_for);
                    }
                    let said = join.on.map(|on| self.refused(block, Some(&within), on)).unwrap_or_default();
                    let by_using = join.equal.iter().flat_map(|(one, other)| [one.instance, other.instance]);
                    let of_this: Vec<usize> = said.into_iter().chain(by_using).collect();
                    if outer {
                        of_right.iter().for_each(|instance| self.found.instances[*instance].nullable = true);
                        stack.push((&join.left, scope, refused));
                        stack.push((&join.right, of_right, of_this));
                    } else {
                        refused.extend(of_this);
                        stack.push((&join.left, scope.clone(), refused.clone()));
                        stack.push((&join.right, scope, refused));
                    }
                }
            }
        }
    }

    /// The tables whose rows a condition refuses when they are all NULL.
    pub(super) fn refused(&self, block: usize, within: Option<&[usize]>, condition: &'a Expr<'a>) -> Vec<usize> {
        let mut refused = Vec::new();
        for conjunct in conjuncts(condition) {
            let (one, other) = match &conjunct.bare().kind {
                ExprKind::Binary(op, left, right) if refuses_null(*op) => (Some(*left), Some(*right)),
                ExprKind::Between(between) if !between.negated => (Some(&between.expr), None),
                ExprKind::In(list) if !list.negated => (Some(&list.expr), None),
                ExprKind::Is(is) if is.negated && is.test == weir_sql::ast::IsTest::Null => (Some(&is.expr), None),
                _ => (None, None),
            };
            let columns = one.into_iter().chain(other).filter_map(|side| self.column_of(block, within, side));
            refused.extend(columns.map(|column| column.instance));
        }
        refused
    }
}
