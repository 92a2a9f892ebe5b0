//! What can't run on another connection than the session's, or only on a server that has all rows itself.

use weir_sql::Effects;
use weir_sql::ast::{Expr, ExprKind, IntoTarget, Query};
use weir_sql::facts::Varies;
use weir_sql::visit::{Flow, Node, walk};

use crate::planner::Planner;
use crate::{Need, Refusal};

/// Refuses what the workbench would do otherwise than one server with all rows. Returns whether a query answers with rows: with INTO it
/// does not.
pub(super) fn check(planner: &Planner<'_>) -> Result<bool, Refusal> {
    let (effects, varies) = (planner.facts.class.effects, planner.facts.varies);
    let of_effects = [
        (Effects::USES_FOUND_ROWS, "FOUND_ROWS() belongs to one connection"),
        (Effects::USES_ROW_COUNT, "ROW_COUNT() belongs to one connection"),
        (Effects::SETS_LAST_INSERT_ID, "LAST_INSERT_ID(expr) sets a value of one connection"),
        (Effects::USES_WARNINGS, "Warnings belong to one connection"),
    ];
    let of_varies = [
        (Varies::WAITS, "It waits, or locks by name, on a server"),
        (
            Varies::STORED,
            "It calls a function that is not built in, which may read tables that one shard has only in part",
        ),
        (Varies::SEQUENCE, "Values of a sequence belong to one server"),
        (Varies::SERVER, "It asks for what differs from server to server"),
    ];
    let found = of_effects.iter().find(|(effect, _)| effects.contains(*effect)).map(|(_, why)| why);
    let found = found.or(of_varies.iter().find(|(varying, _)| varies.contains(*varying)).map(|(_, why)| why));
    if let Some(why) = found {
        return Err(Need::OneServer.refused(format!(
            "{why}, and the rows are on several shards: name the shard key in WHERE, so that one shard has them all, or ask for it in a \
             statement of its own"
        )));
    }
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
            Node::Expr(Expr { kind: ExprKind::UserVariable(name), .. })
                if (planner.session.variable)(name.name).is_none() =>
            {
                Some(Need::Value.refused(format!(
                    "The value of @{} is known to one connection only, and the rows are on several shards: set it to a literal",
                    String::from_utf8_lossy(name.name)
                )))
            }
            _ => None,
        };
        match node {
            _ if refused.is_some() => Flow::Stop,
            Node::Into(_) => Flow::Skip,
            _ => Flow::Descend,
        }
    });
    refused.map_or(Ok(returns), Err)
}
