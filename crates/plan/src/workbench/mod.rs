//! Statements that need rows of several shards in one place: what is gathered, and the text that runs over it.
//!
//! What must always hold: a fragment has every row of its table that can matter to the statement (more do no harm: the client's own text
//! runs over them, with all of its conditions), as the session's user may read it; the text that runs is the client's, with the names of
//! tables (and views, which are spelt out) replaced.
//!
//! * `rewrite`: from the client's text to the one over temporary tables; `tables`: the fragments; `columns`: how columns are gathered.
//! * `filters`: which conditions a fragment's query has; `narrow`: which values of gathered rows narrow others; `gates`: what depends on the
//!   connection or server that it runs on.

mod asked;
mod columns;
mod filters;
mod gates;
mod narrow;
mod rewrite;
mod tables;

use weir_sql::ast::{SetItemKind, Statement, StatementKind};
use weir_sql::visit::Node;

use crate::planner::Planner;
use crate::text::made_of;
use crate::{Plan, Read, Refusal, Workbench};
pub use columns::passed;
pub(crate) use rewrite::missing;
use rewrite::{Place, Rewriter};

/// The plan of a statement that nothing cheaper can do: a query, or one that [`assigns`]. `refusal`: why.
///
/// # Errors
/// What prevents it, or `refusal` itself, if that is an error.
pub(crate) fn plan(planner: &Planner<'_>, refusal: Refusal) -> Result<Plan, Refusal> {
    let why = match &refusal {
        Refusal::NeedsWorkbench(why) => why.clone(),
        Refusal::NotSupported { message, .. } => message.clone(),
        Refusal::Failure(_) | Refusal::NeedsWeights(..) => return Err(refusal),
    };
    let returns = gates::check(planner)? && matches!(planner.statement.kind, StatementKind::Query(_));
    if let Some(trace) = planner.trace {
        trace.depends_on_more();
    }
    let mut rewriter = Rewriter::new(planner);
    let place = Place::of_client(planner);
    let whole = rewriter.rewrite(&place, Node::Statement(planner.statement), 0..planner.text.len())?;
    let tables = rewriter.tables;
    let home = tables.home().ok_or_else(|| Refusal::NeedsWorkbench("no shard has all of its databases".to_owned()))?;
    let fragments = tables.plan(planner)?;
    let (text, parameters) = made_of(&whole.0, planner.text, planner.statement);
    let query = Read::of_one(home, text, parameters, "over what is gathered".to_owned());
    Ok(Plan::Workbench(Box::new(Workbench { home, fragments, query, returns, reason: why })))
}

/// Whether a statement only computes values: SET of user variables, DO.
pub(crate) fn assigns(statement: &Statement<'_>) -> bool {
    match statement.kind {
        StatementKind::Set(set) => set.items.iter().all(|item| matches!(item.kind, SetItemKind::UserVariable(..))),
        StatementKind::Do(_) => true,
        _ => false,
    }
}
