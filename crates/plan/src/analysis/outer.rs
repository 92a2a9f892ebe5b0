//! Aggregates in subqueries that are the surrounding query's: `SELECT (SELECT SUM(t.a)) FROM t` has one row.
//!
//! What must always hold: an aggregate all of whose columns are of queries around its own is noted, as it groups the rows of one of these.

use weir_sql::ast::{ColumnName, Expr, ExprKind, Select};
use weir_sql::visit::{Flow, Node, walk};

use super::query_graph::Gatherer;
use crate::aggregate::is_aggregate;

impl<'a> Gatherer<'a> {
    /// Notes whether a SELECT within another one has such an aggregate.
    pub(super) fn note_outer_aggregates(&mut self, block: usize, select: &'a Select<'a>) {
        if self.found.blocks[block].parent.is_none() || self.found.outer_aggregate {
            return;
        }
        let items = select.items.iter().map(Node::SelectItem);
        let conditions = select.condition.iter().chain(&select.having).map(Node::Expr);
        for node in items.chain(conditions) {
            let mut outer = false;
            walk(node, &mut |node: Node<'a>| {
                if let Node::Expr(expr @ Expr { kind: ExprKind::Call(call), .. }) = node
                    && call.over.is_none()
                    && is_aggregate(call)
                {
                    outer |= self.is_of_others(block, expr);
                }
                if matches!(node, Node::Query(_)) { Flow::Skip } else { Flow::Descend }
            });
            self.found.outer_aggregate |= outer;
        }
    }

    /// Whether an expression names columns, none of which is of a block's own tables.
    fn is_of_others(&self, block: usize, expr: &'a Expr<'a>) -> bool {
        let (mut names, mut own) = (0, false);
        walk(Node::Expr(expr), &mut |node: Node<'a>| {
            if let Node::Expr(Expr { kind: ExprKind::Column(name), .. }) = node {
                names += 1;
                own |= !self.is_elsewhere(block, name);
            }
            if own || matches!(node, Node::Query(_)) { Flow::Skip } else { Flow::Descend }
        });
        names > 0 && !own
    }

    /// Whether a column is certainly of a query around a block.
    fn is_elsewhere(&self, block: usize, name: &ColumnName<'_>) -> bool {
        let sources = &self.found.blocks[block].sources;
        match self.found.lookup(block, None, name, self.around.catalog.fold_case) {
            Some(column) => !sources.contains(&column.instance),
            None => sources.is_empty(),
        }
    }
}
