//! RETURNING (MariaDB) of statements that several shards run, or whose text Weir changes.
//!
//! What must always hold: columns have the names that the client's text gives them, and values are those that one server would return.

use weir_sql::ast::{ExprKind, SelectItem};
use weir_sql::facts::Varies;
use weir_sql::visit::{Flow, Node, walk};

use super::Input;
use super::varying::Varying;
use crate::{Need, Refusal};

/// What a statement returns of the rows that it writes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Returning<'a>(&'a [SelectItem<'a>]);

impl<'a> Returning<'a> {
    /// `None`: nothing.
    pub(super) fn of(items: &'a [SelectItem<'a>]) -> Option<Returning<'a>> {
        (!items.is_empty()).then_some(Returning(items))
    }

    /// Where it begins in the text: all values of rows stand before it.
    pub(super) fn start(self) -> usize {
        self.0.first().map_or(usize::MAX, |item| item.span.range().start)
    }

    /// Parameters become literals in a text that Weir sends, and columns are named and described by what they are made of.
    pub(super) fn keep_columns(self, input: &Input<'_>) -> Result<(), Refusal> {
        if input.session.parameters.is_none() {
            return Ok(());
        }
        let mut found = false;
        for item in self.0 {
            walk(Node::SelectItem(item), &mut |node: Node<'_>| {
                found |= matches!(node, Node::Expr(expr) if matches!(expr.kind, ExprKind::Parameter(_)));
                Flow::Descend
            });
        }
        if found {
            return Err(Need::OtherForm.refused(
                "A parameter in RETURNING, for which a literal is put into the text: its column would be another one. Write the value",
            ));
        }
        Ok(())
    }

    /// What differs from connection to connection can't be returned by several.
    pub(super) fn alike(self, varying: &Varying) -> Result<(), Refusal> {
        let own = Varies::SESSION | Varies::SERVER | Varies::SETTING;
        if varying.values.iter().any(|(range, varies)| range.start >= self.start() && varies.intersects(own)) {
            return Err(Need::OtherForm.refused(
                "RETURNING of a value that differs from connection to connection, on several shards: read it in a statement of its own",
            ));
        }
        Ok(())
    }
}
