//! What can't run on another connection than the session's, or only on a server that has all rows itself.

use weir_sql::ast::{Expr, ExprKind, IntoTarget, Query};
use weir_sql::visit::{Flow, Node, walk};

use crate::planner::Planner;
use crate::{Need, Refusal, gates};

/// Refuses what the workbench would do otherwise than one server with all rows. Returns whether a query answers with rows: with INTO it
/// does not.
pub(super) fn check(planner: &Planner<'_>) -> Result<bool, Refusal> {
    gates::check(planner, &[])?;
    nodes(planner)
}

/// Refuses what names a place that the text can't be moved to.
fn nodes(planner: &Planner<'_>) -> Result<bool, Refusal> {
    let (mut refused, mut returns) = (None, true);
    walk(Node::Statement(planner.statement), &mut |node: Node<'_>| {
        refused = match node {
            Node::Query(Query { procedure: Some(_), .. }) => {
                Some(Need::OtherForm.refused("PROCEDURE ANALYSE() of rows of several shards is not supported"))
            }
            Node::Into(into) => match into.target {
                IntoTarget::Variables(variables) => {
                    returns = false;
                    let user = |expr: &Expr<'_>| matches!(expr.kind, ExprKind::UserVariable(_));
                    (!variables.iter().all(user)).then(|| {
                        Need::OtherForm.refused("INTO a variable of a routine, of rows that are on several shards, is not supported")
                    })
                }
                IntoTarget::Outfile(_) | IntoTarget::Dumpfile(_) => Some(Need::Nothing.refused(
                    "INTO OUTFILE and INTO DUMPFILE write a file on one server, and the rows are on several shards: read the rows without it",
                )),
            },
            _ => gates::check_variable(planner, node).err(),
        };
        match node {
            _ if refused.is_some() => Flow::Stop,
            Node::Into(_) => Flow::Skip,
            _ => Flow::Descend,
        }
    });
    refused.map_or(Ok(returns), Err)
}
