//! What can't be asked on several connections at once.

use weir_sql::Effects;
use weir_sql::ast::{Expr, ExprKind, Query};
use weir_sql::visit::{Flow, Node, walk};

use crate::analysis::conjuncts;
use crate::planner::Planner;
use crate::{Need, Refusal, gates};

/// Refuses what belongs to one connection or one server.
pub(super) fn check(planner: &Planner<'_>, query: &Query<'_>) -> Result<(), Refusal> {
    let more = [
        (Effects::SETS_USER_VARIABLES, "It assigns user variables"),
        (Effects::CALC_FOUND_ROWS, "SQL_CALC_FOUND_ROWS counts on one server. Ask for COUNT(*) instead"),
    ];
    gates::check(planner, &more)?;
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

fn unknown_variable(planner: &Planner<'_>) -> Result<(), Refusal> {
    let mut known = Ok(());
    walk(Node::Statement(planner.statement), &mut |node: Node<'_>| {
        known = gates::check_variable(planner, node);
        if known.is_err() { Flow::Stop } else { Flow::Descend }
    });
    known
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
