//! Names of a SELECT that are columns' and aliases' at once.
//!
//! What must always hold: text that is put into another clause means there what it means where the client wrote it. A name alone is an
//! alias in ORDER BY, and in GROUP BY servers warn of one that may be both; the select list knows no alias.

use weir_sql::ast::{ColumnName, Expr, ExprKind, SelectItemKind};
use weir_sql::visit::{Flow, Node, walk};

use super::projection::{Projection, column_names};
use crate::analysis::ColumnRef;
use crate::text::Pieces;

impl<'a> Projection<'_, '_, 'a> {
    /// Whether a column's name is also the alias of something else, which ORDER BY would take it for.
    pub(crate) fn clashes(&self, name: &ColumnName<'a>) -> bool {
        match (self.lookup(name), self.aliased(name)) {
            (Some(at), Some(meant)) => match &meant.bare().kind {
                ExprKind::Column(other) => self.lookup(other) != Some(at),
                _ => true,
            },
            _ => false,
        }
    }

    pub(crate) fn aliased(&self, name: &ColumnName<'a>) -> Option<&'a Expr<'a>> {
        let place = self.index().aliased(name.name.name).filter(|_| name.table.is_none())?;
        match &self.items()[place].kind {
            SelectItemKind::Expr(expr, _) => Some(expr),
            _ => None,
        }
    }

    /// A column's name with its table's, which no alias is taken for.
    pub(super) fn qualified(&self, column: ColumnRef, name: &[u8]) -> Pieces {
        let instance = &self.question.analysis.instances[column.instance];
        let mut text = Vec::new();
        for name in instance.database.into_iter().chain([instance.name, name]) {
            if !text.is_empty() {
                text.push(b'.');
            }
            text.push(b'`');
            text.extend(name.iter().flat_map(|byte| std::iter::repeat_n(*byte, if *byte == b'`' { 2 } else { 1 })));
            text.push(b'`');
        }
        Pieces::new(text)
    }

    /// An expression with what aliases stand for, and its columns' names as no alias is written: for any clause.
    pub(crate) fn unaliased(&self, expr: &'a Expr<'a>) -> Result<Pieces, String> {
        let mut pieces = Pieces::default();
        let mut done = expr.span.range().start;
        let (names, within) = names_by_query(expr);
        if within.iter().any(|name| self.aliased(name).is_some()) {
            return Err("a subquery that names what is also an alias around it".to_owned());
        }
        for name in names {
            let instead = match (self.lookup(name), self.aliased(name)) {
                (Some(column), Some(_)) if self.clashes(name) => self.qualified(column, name.name.name),
                (None, Some(meant)) => self.columns_only(meant)?,
                _ => continue,
            };
            let at = name.span().range();
            pieces = pieces.and(&Pieces::own(done..at.start)).and(&instead);
            done = at.end;
        }
        Ok(pieces.and(&Pieces::own(done..expr.span.range().end)))
    }

    /// What an alias stands for.
    fn columns_only(&self, meant: &'a Expr<'a>) -> Result<Pieces, String> {
        if !column_names(meant).iter().all(|name| self.aliased(name).is_none() || self.lookup(name).is_some()) {
            return Err("an alias that is made of aliases".to_owned());
        }
        Ok(self.unaliased(meant)?.within(""))
    }
}

/// The columns that an expression names outside and inside of the queries in it.
fn names_by_query<'a>(expr: &'a Expr<'a>) -> (Vec<&'a ColumnName<'a>>, Vec<&'a ColumnName<'a>>) {
    let (mut outside, mut inside) = (Vec::new(), Vec::new());
    walk(Node::Expr(expr), &mut |node: Node<'a>| match node {
        Node::Query(_) => {
            walk(node, &mut |node: Node<'a>| {
                if let Node::Expr(Expr { kind: ExprKind::Column(name), .. }) = node {
                    inside.push(*name);
                }
                Flow::Descend
            });
            Flow::Skip
        }
        Node::Expr(Expr { kind: ExprKind::Column(name), .. }) => {
            outside.push(*name);
            Flow::Descend
        }
        _ => Flow::Descend,
    });
    (outside, inside)
}
