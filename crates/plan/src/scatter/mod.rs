//! Reads of several shards: what each is asked, and how the rows become one result.
//!
//! What must always hold: the merged rows are those that one server with all rows would give, in an order that its ORDER BY allows. What
//! can't be made so is refused, with what stands in the way.
//!
//! * `colocation`: whether shards can answer part by part; `gates`: what can't be asked on several connections.
//! * `select`: one SELECT; `union`: several; `set_operation`: several that are each read alone; `group`: groups, `fold`: their aggregates, `having`: conditions on them;
//!   `computed`: expressions over them.
//! * `carried`: an order that comes from a view. `projection`: columns and how they sort; `index`: how columns are found.

mod aliases;
mod carried;
mod colocation;
mod columns;
mod computed;
mod expressions;
mod fold;
mod gates;
mod group;
mod having;
mod index;
mod place;
mod projection;
mod select;
mod set_operation;
mod union;

use weir_catalog::ShardId;
use weir_sql::ast::{Query, QueryBody, Select, StatementKind};
use weir_sql::facts::Varies;
use weir_sql::{Effects, ast};

use crate::analysis::values::Values;
use crate::analysis::{Analysis, Branch};
use crate::place::Shards;
use crate::planner::Planner;
use crate::text::{Edits, made_of};
use crate::{Merge, Plan, Read, Refusal, workbench};
pub(crate) use colocation::{Question, Together};

/// Why shards can't answer.
#[derive(Debug)]
pub(crate) enum Obstacle {
    /// It takes all rows on one server.
    Rows(String),
    /// Anything else.
    Other(Refusal),
}

impl From<String> for Obstacle {
    fn from(reason: String) -> Self {
        Obstacle::Rows(reason)
    }
}

impl From<Refusal> for Obstacle {
    fn from(refusal: Refusal) -> Self {
        Obstacle::Other(refusal)
    }
}

impl Obstacle {
    fn refusal(self) -> Refusal {
        match self {
            Obstacle::Rows(reason) => Refusal::NeedsWorkbench(reason),
            Obstacle::Other(refusal) => refusal,
        }
    }
}

const OUTER_AGGREGATE: &str = "an aggregate in a subquery is one of the rows of the query around it";

/// What a merge is made of, before it is a [`Read`].
pub(crate) struct Merged {
    pub(crate) merge: Merge,
    pub(crate) columns: Option<usize>,
    pub(crate) hidden: usize,
    pub(crate) skip: u64,
    pub(crate) take: Option<u64>,
    pub(crate) edits: Edits,
}

/// A way to plan a query whose tables don't meet in one shard.
struct Strategy {
    applies: fn(&Planner<'_>, &Query<'_>) -> bool,
    /// Told why the strategy before it can't plan the query, or that its rows are apart.
    plan: fn(&Planner<'_>, &Analysis<'_>, &Query<'_>, String) -> Result<Plan, Refusal>,
}

/// In the order in which they are tried, the cheapest first; a write takes its rows as one plain result. The last one that applies says what
/// a refused query is refused for.
const STRATEGIES: [Strategy; 3] = [
    // Each shard runs the whole query, and rows are merged.
    Strategy { applies: |_, _| true, plan: plan_merge },
    // The queries of a UNION, EXCEPT or INTERSECT are read one by one.
    Strategy {
        applies: |planner, query| set_operation::is_of_parts(query) && !planner.session.for_write,
        plan: set_operation::plan,
    },
    // A server computes expressions over the merged groups.
    Strategy {
        applies: |planner, query| planner.computes && !set_operation::is_of_parts(query) && !planner.session.for_write,
        plan: computed::plan,
    },
];

/// The plan of a query whose tables don't meet in one shard.
pub(crate) fn plan_read(planner: &Planner<'_>, analysis: &Analysis<'_>, apart: String) -> Result<Plan, Refusal> {
    let StatementKind::Query(query) = planner.statement.kind else { return Err(Refusal::NeedsWorkbench(apart)) };
    match plan_scatter(planner, analysis, query, apart) {
        Err(refusal) if planner.computes => workbench::plan(planner, refusal),
        planned => planned,
    }
}

/// The plan of a query that shards answer by themselves, or one shard with what they give.
fn plan_scatter(
    planner: &Planner<'_>,
    analysis: &Analysis<'_>,
    query: &Query<'_>,
    apart: String,
) -> Result<Plan, Refusal> {
    gates::check(planner, query)?;
    if analysis.outer_aggregate {
        return Err(Refusal::NeedsWorkbench(OUTER_AGGREGATE.to_owned()));
    }
    let mut why = apart;
    for strategy in STRATEGIES.iter().filter(|strategy| (strategy.applies)(planner, query)) {
        match (strategy.plan)(planner, analysis, query, why) {
            Err(Refusal::NeedsWorkbench(reason)) => why = reason,
            planned => return planned,
        }
    }
    Err(Refusal::NeedsWorkbench(why))
}

/// The plan of a query of which each shard runs the whole.
fn plan_merge(
    planner: &Planner<'_>,
    analysis: &Analysis<'_>,
    query: &Query<'_>,
    apart: String,
) -> Result<Plan, Refusal> {
    if analysis.recursive {
        return Err(Refusal::NeedsWorkbench("a recursive common table expression".to_owned()));
    }
    if let Some(Ok(plan)) = carried::plan(planner, query) {
        return Ok(plan);
    }
    let Some(outcome) = &analysis.outcome else { return Err(Refusal::NeedsWorkbench(apart)) };
    let values = Values::of(analysis);
    let question = Question::new(analysis, &values, planner);
    let mut shards = Shards::none();
    let mut all = Vec::new();
    for branch in &outcome.branches {
        let together = question.together(branch).map_err(Refusal::NeedsWorkbench)?;
        shards.add(&values.shards(together.root, &planner.places())?);
        all.push(together);
    }
    let merged = match (&outcome.branches[..], &all[..]) {
        ([branch], [together]) => select::merge(&question, query, branch, together),
        _ => union::merge(&question, query, outcome, &all),
    };
    let merged = merged.map_err(Obstacle::refusal)?;
    let pieces = merged.edits.into_pieces(planner.text);
    let (text, parameters) = made_of(&pieces, planner.text, planner.statement);
    if let Some(trace) = planner.trace {
        trace.made_of(&pieces);
    }
    if shards.list().is_empty() {
        return Err(Refusal::NeedsWorkbench(apart));
    }
    Ok(Plan::Read(Read {
        shards: shards.list().to_vec(),
        text,
        parameters,
        columns: merged.columns,
        hidden: merged.hidden,
        merge: merged.merge,
        skip: merged.skip,
        take: merged.take,
        locks: planner.facts.class.effects.contains(Effects::LOCKING_READ),
        pin_time: planner.facts.varies.contains(Varies::TIME),
        reason: apart,
    }))
}

/// The shards that can each do their part of an UPDATE or DELETE, or the query of an INSERT.
pub(crate) fn alone(
    planner: &Planner<'_>,
    analysis: &Analysis<'_>,
    values: &Values<'_>,
) -> Result<Vec<ShardId>, String> {
    if analysis.outer_aggregate {
        return Err(OUTER_AGGREGATE.to_owned());
    }
    let question = Question::new(analysis, values, planner);
    let changed = Branch { block: 0, columns: None, cut: false };
    let together = match &analysis.outcome {
        None => question.together(&changed)?,
        Some(outcome) => match &outcome.branches[..] {
            [branch] => question.together(branch)?,
            _ => return Err("a UNION".to_owned()),
        },
    };
    let shards =
        values.shards(together.root, &planner.places()).map_err(|_| "weights have to be learnt first".to_owned())?;
    Ok(shards.list().to_vec())
}

/// The query that has the clauses of the whole, and the SELECT in it, through parentheses.
pub(crate) fn plain<'a>(query: &'a Query<'a>) -> Result<(&'a Query<'a>, Option<&'a Select<'a>>), Obstacle> {
    let mut query = query;
    loop {
        match query.body {
            QueryBody::Select(select) => return Ok((query, Some(select))),
            QueryBody::Table(_) => return Ok((query, None)),
            QueryBody::Nested(inner) => {
                let clauses = query.with.is_some() || query.limit.is_some() || !query.order_by.is_empty();
                let inner_clauses = inner.limit.is_some() || !inner.order_by.is_empty();
                if clauses && inner_clauses {
                    return Err("a query in parentheses with clauses of its own".to_owned().into());
                }
                if clauses {
                    return Err("clauses behind a query in parentheses".to_owned().into());
                }
                query = inner;
            }
            QueryBody::Values(_) | QueryBody::Compound(_) => return Err("a query of several parts".to_owned().into()),
        }
    }
}

/// What LIMIT says: the rows to leave out, and the most rows.
pub(crate) fn limits(planner: &Planner<'_>, limit: Option<&ast::Limit<'_>>) -> Result<(u64, Option<u64>), Obstacle> {
    let Some(limit) = limit else { return Ok((0, None)) };
    if limit.with_ties {
        return Err("LIMIT WITH TIES".to_owned().into());
    }
    if limit.rows_examined.is_some() {
        return Err("LIMIT ROWS EXAMINED".to_owned().into());
    }
    let folder = planner.folder();
    let value = |expr: &Option<ast::Expr<'_>>| match expr {
        None => Ok(None),
        Some(expr) => match folder.count(expr) {
            Some(value) => Ok(Some(value)),
            None => Err(Obstacle::Rows("LIMIT of a value that is not known".to_owned())),
        },
    };
    Ok((value(&limit.offset)?.unwrap_or(0), value(&limit.count)?))
}
