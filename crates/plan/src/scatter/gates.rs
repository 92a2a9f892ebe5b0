//! What can't be asked on several connections at once.

use weir_sql::Effects;
use weir_sql::ast::{Expr, ExprKind, Query};
use weir_sql::facts::Varies;
use weir_sql::visit::{Flow, Node, walk};

use crate::analysis::conjuncts;
use crate::planner::Planner;
use crate::{Need, Refusal};

/// Refuses what belongs to one connection or one server.
pub(super) fn check(planner: &Planner<'_>, query: &Query<'_>) -> Result<(), Refusal> {
    let (effects, varies) = (planner.facts.class.effects, planner.facts.varies);
    let of_effects = [
        (Effects::SETS_USER_VARIABLES, "It assigns user variables"),
        (Effects::CALC_FOUND_ROWS, "SQL_CALC_FOUND_ROWS counts on one server. Ask for COUNT(*) instead"),
        (Effects::USES_FOUND_ROWS, "FOUND_ROWS() belongs to one connection"),
        (Effects::USES_ROW_COUNT, "ROW_COUNT() belongs to one connection"),
        (Effects::SETS_LAST_INSERT_ID, "LAST_INSERT_ID(expr) sets a value of one connection"),
        (Effects::USES_WARNINGS, "Warnings belong to one connection"),
    ];
    let of_varies = [
        (Varies::WAITS, "It waits, or locks by name, on each server"),
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
    if writes_elsewhere(query) {
        return Err(Need::RowsInOnePlace
            .refused("INTO of rows that are on several shards: read them without it, or name the shard key in WHERE"));
    }
    unknown_variable(planner)?;
    relevance(query)
}

fn writes_elsewhere(query: &Query<'_>) -> bool {
    let mut found = query.procedure.is_some();
    walk(Node::Query(query), &mut |node: Node<'_>| {
        found |= matches!(node, Node::Into(_));
        Flow::Descend
    });
    found
}

/// Connections of other shards may not have a variable whose value isn't known.
fn unknown_variable(planner: &Planner<'_>) -> Result<(), Refusal> {
    let mut unknown = None;
    walk(Node::Statement(planner.statement), &mut |node: Node<'_>| {
        if let Node::Expr(Expr { kind: ExprKind::UserVariable(name), .. }) = node
            && (planner.session.variable)(name.name).is_none()
        {
            unknown = Some(String::from_utf8_lossy(name.name).into_owned());
        }
        if unknown.is_some() { Flow::Stop } else { Flow::Descend }
    });
    match unknown {
        Some(name) => Err(Need::Value.refused(format!(
            "The value of @{name} is known to one connection only, and the rows are on several shards: set it to a literal"
        ))),
        None => Ok(()),
    }
}

/// Relevance depends on all rows of a table; whether a row matches at all, which is what a condition asks, does not.
fn relevance(query: &Query<'_>) -> Result<(), Refusal> {
    let (mut shown, mut conditions) = (false, Vec::new());
    walk(Node::Query(query), &mut |node: Node<'_>| {
        match node {
            Node::Select(select) => {
                let conjuncts = select.condition.iter().flat_map(|condition| conjuncts(condition));
                conditions.extend(conjuncts.filter(|one| is_match(one)).map(|one| one.span));
            }
            Node::Expr(expr) if is_match(expr) => shown |= !conditions.contains(&expr.bare().span),
            _ => {}
        }
        Flow::Descend
    });
    if shown {
        return Err(Need::Nothing.refused(
            "Full-text relevance depends on all rows of a table, which are on several shards: use MATCH in WHERE alone, or name the shard key",
        ));
    }
    Ok(())
}

fn is_match(expr: &Expr<'_>) -> bool {
    matches!(&expr.bare().kind, ExprKind::Match(_))
}
