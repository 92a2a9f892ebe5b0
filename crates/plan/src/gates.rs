//! What no statement over several shards can ask, because it belongs to one connection or one server.

use weir_sql::Effects;
use weir_sql::ast::{Expr, ExprKind};
use weir_sql::facts::Varies;
use weir_sql::visit::Node;

use crate::planner::Planner;
use crate::{Need, Refusal};

/// Refuses what belongs to one connection or one server, by what the statement's class and facts say; `more` are effects that only the
/// caller can't have.
pub(crate) fn check(planner: &Planner<'_>, more: &[(Effects, &str)]) -> Result<(), Refusal> {
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
    let mut of_effects = more.iter().chain(&of_effects);
    let found = of_effects.find(|(effect, _)| effects.contains(*effect)).map(|(_, why)| why);
    let found = found.or(of_varies.iter().find(|(varying, _)| varies.contains(*varying)).map(|(_, why)| why));
    found.map_or(Ok(()), |why| {
        Err(Need::OneServer.refused(format!(
            "{why}, and the rows are on several shards: name the shard key in WHERE, so that one shard has them all, or ask for it in a \
             statement of its own"
        )))
    })
}

/// Refuses a user variable whose value isn't known: connections of other shards may not have it.
pub(crate) fn check_variable(planner: &Planner<'_>, node: Node<'_>) -> Result<(), Refusal> {
    match node {
        Node::Expr(Expr { kind: ExprKind::UserVariable(name), .. })
            if (planner.session.variable)(name.name).is_none() =>
        {
            Err(Need::Value.refused(format!(
                "The value of @{} is known to one connection only, and the rows are on several shards: set it to a literal",
                String::from_utf8_lossy(name.name)
            )))
        }
        _ => Ok(()),
    }
}
