//! UNION, EXCEPT and INTERSECT of queries that are each planned alone: on shards of their own, grouped, cut by LIMIT, or in one place; and
//! DISTINCT of groups, as a UNION of one query.
//!
//! What must always hold: what the columns are is said by a server that runs the whole; rows are compared and sorted only where all
//! queries give a column in one way of comparing.

use std::ops::Range;

use weir_catalog::{Constant, Placement, ShardId};
use weir_sql::ast::{Compound, ExprKind, Grouping, Literal, Query, QueryBody, Select, SetOp};
use weir_sql::facts::Varies;
use weir_sql::{Lexer, TokenKind};

use super::projection::{Projection, Sorts};
use super::union::{Order, compound, order_of};
use super::{Obstacle, Question, limits, plain};
use crate::again;
use crate::analysis::values::Values;
use crate::analysis::{Analysis, InstanceKind, has_aggregates};
use crate::planner::Planner;
use crate::text::{Edits, Pieces, made_of};
use crate::{Combine, Compare, Plan, Read, Refusal, SortKey, Union, UnionPart};

/// Whether a query combines several, or makes one of equal rows of groups.
pub(super) fn is_of_parts<'a>(query: &'a Query<'a>) -> bool {
    let distinct_groups =
        |select: &'a Select<'a>| select.options.distinct && (!select.group_by.is_empty() || has_aggregates(select));
    match compound(query) {
        Ok((_, of)) => !of.rest.is_empty(),
        Err(_) => matches!(plain(query), Ok((_, Some(select))) if distinct_groups(select)),
    }
}

/// One of the queries.
struct Member<'a> {
    how: Combine,
    /// Where it stands, without parentheses.
    range: Range<usize>,
    select: Option<&'a Select<'a>>,
    /// A word DISTINCT that is left out, because equal rows are made one afterwards.
    without: Option<Range<usize>>,
}

/// The plan of a query that shards can't run as a whole: `why`.
pub(super) fn plan(
    planner: &Planner<'_>,
    analysis: &Analysis<'_>,
    query: &Query<'_>,
    why: String,
) -> Result<Plan, Refusal> {
    planned(planner, analysis, query, why).map_err(Obstacle::refusal)
}

fn planned(planner: &Planner<'_>, analysis: &Analysis<'_>, query: &Query<'_>, why: String) -> Result<Plan, Obstacle> {
    let with = query.with;
    let (query, members, head) = match compound(query) {
        Ok((query, compound)) => (query, members(compound)?, head(compound)?),
        Err(_) => of_groups(planner, query)?,
    };
    let unfit = if with.is_some_and(|with| with.recursive) || analysis.recursive {
        Some("a recursive common table expression")
    } else if with.is_some() && planner.facts.varies.contains(Varies::RANDOM) {
        Some("a random function, and WITH")
    } else if !query.locks.is_empty() || query.into.is_some() {
        Some("a clause behind a UNION")
    } else if planner.session.sql_mode.contains("PAD_CHAR_TO_FULL_LENGTH") {
        Some("a UNION with PAD_CHAR_TO_FULL_LENGTH")
    } else {
        None
    };
    if let Some(unfit) = unfit {
        return Err(unfit.to_owned().into());
    }
    // What texts sort by stands beside them, and says nothing of the rows in which they are left out.
    let rolled_up = |member: &Member<'_>| member.select.is_some_and(|select| select.grouping != Grouping::Plain);
    if members.iter().any(rolled_up) {
        return Err("WITH ROLLUP, and DISTINCT or a UNION".to_owned().into());
    }
    let (skip, take) = limits(planner, query.limit)?;
    let shard = shard_of_all(planner, analysis).ok_or_else(|| {
        Obstacle::Rows(format!("{why}; and no shard has all of its tables, to say what the columns are"))
    })?;
    let (keys, weights) = keys(planner, analysis, query, &members)?;
    let mut parts = Vec::new();
    for (nth, member) in members.iter().enumerate() {
        let text = member_text(planner, with.map(|with| with.span.range()), member, weights.get(nth))?;
        parts.push(UnionPart { how: member.how, read: member_read(planner, text, shard)? });
    }
    let (text, places) = made_of(&head.into_pieces(planner.text), planner.text, planner.statement);
    if let Some(trace) = planner.trace {
        trace.depends_on_more();
    }
    Ok(Plan::Union(Box::new(Union {
        head: Read::of_one(shard, text, places, String::new()),
        parts,
        keys,
        skip,
        take,
        pin_time: planner.facts.varies.contains(Varies::TIME),
        reason: why,
    })))
}

/// The queries, in order.
fn members<'a>(compound: &'a Compound<'a>) -> Result<Vec<Member<'a>>, Obstacle> {
    let first = (Combine::All, &compound.first);
    let rest = compound.rest.iter().map(|term| {
        let how = match (term.op, term.all) {
            (SetOp::Union, true) => Combine::All,
            (SetOp::Union, false) => Combine::Distinct,
            (SetOp::Intersect, all) => Combine::Intersect { all },
            (SetOp::Except, all) => Combine::Except { all },
        };
        (how, &term.body)
    });
    std::iter::once(first)
        .chain(rest)
        .map(|(how, body)| match body {
            QueryBody::Select(select) => {
                Ok(Member { how, range: select.span.range(), select: Some(select), without: None })
            }
            QueryBody::Table(table) => Ok(Member { how, range: table.span.range(), select: None, without: None }),
            QueryBody::Values(values) => Ok(Member { how, range: values.span.range(), select: None, without: None }),
            QueryBody::Nested(query) => {
                let select = plain(query).map_err(|_| nested())?.1;
                Ok(Member { how, range: query.span.range(), select, without: None })
            }
            QueryBody::Compound(_) => Err(nested()),
        })
        .collect()
}

/// Groups of which equal ones are one: one query without that, whose rows are compared.
fn of_groups<'a>(
    planner: &Planner<'_>,
    query: &'a Query<'a>,
) -> Result<(&'a Query<'a>, Vec<Member<'a>>, Edits), Obstacle> {
    let unknown = || Obstacle::Rows("DISTINCT of groups that have rows on several shards".to_owned());
    let (query, Some(select)) = plain(query)? else { return Err(unknown()) };
    let (range, first) = (select.span.range(), select.items.first().ok_or_else(unknown)?);
    let before = &planner.text[range.start..first.span.range().start];
    let word = Lexer::new(before, planner.session.mode).find(|token| {
        let word = &before[token.range()];
        token.kind == TokenKind::Word
            && (word.eq_ignore_ascii_case(b"DISTINCT") || word.eq_ignore_ascii_case(b"DISTINCTROW"))
    });
    let word = word.ok_or_else(unknown)?.range();
    let without = Some(range.start + word.start..range.start + word.end);
    let head = without_rows(query, select);
    Ok((query, vec![Member { how: Combine::Distinct, range, select: Some(select), without }], head))
}

/// A SELECT that has no rows.
pub(super) fn without_rows<'a>(query: &Query<'a>, select: &Select<'a>) -> Edits {
    let mut head = Edits::default();
    match (query.limit, query.order_by.last()) {
        (Some(limit), _) => head.replace(limit.span.range(), Pieces::new("LIMIT 0")),
        (None, Some(last)) => head.insert(last.span.range().end, Pieces::new(" LIMIT 0")),
        (None, None) => head.insert(select.span.range().end, Pieces::new(" LIMIT 0")),
    }
    head
}

fn nested() -> Obstacle {
    Obstacle::Rows("a UNION, EXCEPT or INTERSECT within another one".to_owned())
}

/// A shard that has all tables.
fn shard_of_all(planner: &Planner<'_>, analysis: &Analysis<'_>) -> Option<ShardId> {
    let mut able: Option<Vec<ShardId>> = None;
    for instance in &analysis.instances {
        let has = match &instance.kind {
            InstanceKind::Base(base) => match &base.table.placement {
                Placement::Single(shard) => vec![*shard],
                Placement::Sharded(_) | Placement::Global => base.database.shards.clone(),
            },
            InstanceKind::Elsewhere(shard) => vec![*shard],
            InstanceKind::System | InstanceKind::Computed | InstanceKind::Derived(_) => continue,
        };
        match &mut able {
            None => able = Some(has),
            Some(able) => able.retain(|shard| has.contains(shard)),
        }
    }
    let able = able?;
    let home = planner.home();
    able.iter().find(|shard| **shard == home).or(able.first()).copied()
}

// --- Keys ---

/// What rows are sorted by, and for each query the columns that it has besides for that.
fn keys(
    planner: &Planner<'_>,
    analysis: &Analysis<'_>,
    query: &Query<'_>,
    members: &[Member<'_>],
) -> Result<(Vec<SortKey>, Vec<Vec<Pieces>>), Obstacle> {
    let compares = members.iter().any(|member| member.how.compares());
    if !compares && query.order_by.is_empty() {
        return Ok((Vec::new(), Vec::new()));
    }
    let values = Values::of(analysis);
    let question = Question::new(analysis, &values, planner);
    let branches = analysis.outcome.as_ref().map_or(&[][..], |outcome| &outcome.branches[..]);
    if branches.len() != members.len() {
        return Err(nested());
    }
    let shown: Option<Vec<Projection<'_, '_, '_>>> =
        branches.iter().map(|branch| Projection::of(&question, branch)).collect();
    let shown = shown.ok_or_else(super::columns::unknown_columns)?;
    let Order { by, behind } = order_of(query, &shown, compares)?;
    let count = shown[0].columns.len();
    let mut weights: Vec<Vec<Pieces>> = vec![Vec::new(); members.len()];
    let mut keys = Vec::new();
    for (place, descending) in by.into_iter().chain(behind.into_iter().map(|place| (place, false))) {
        let by = compared(&shown, place)?;
        let mut column = place;
        if let Compare::Weights { collation } = &by {
            column = count + weights[0].len();
            for (own, one) in weights.iter_mut().zip(&shown) {
                let text = one.expression(place)?;
                let text = if is_string(one, place) { text.then(format!(" COLLATE {collation}")) } else { text };
                own.push(text.within("WEIGHT_STRING"));
            }
        }
        keys.push(SortKey { column, descending, by });
    }
    Ok((keys, weights))
}

/// How a column of the whole is compared: as all queries compare theirs.
fn compared(shown: &[Projection<'_, '_, '_>], place: usize) -> Result<Compare, Obstacle> {
    let session = shown[0].question.planner.session;
    let several = || {
        Obstacle::Rows(format!(
            "values of column {} are compared, and it has several types, or one that is not known",
            place + 1
        ))
    };
    let mut known: Option<(Sorts, &str)> = None;
    let mut texts = false;
    for one in shown {
        let own = match constant(one, place) {
            Some(Constant::Null) => continue,
            Some(Constant::Text { .. }) if is_string(one, place) => {
                texts = true;
                continue;
            }
            Some(Constant::Integer(_) | Constant::Decimal(_)) => Some((Sorts::Value, "number")),
            _ => one.family(place).map(|family| (one.column_sorts(place), family)),
        };
        let own = own.filter(|(sorts, _)| matches!(sorts, Sorts::Value | Sorts::Bytes | Sorts::Text(_)));
        match (own, &known) {
            (Some(own), None) => known = Some(own),
            (Some(own), Some(known)) if own == *known => {}
            _ => return Err(several()),
        }
    }
    // Strings in quotes take the collation of what they meet, if that is one of their character set.
    let charset = |collation: &str| collation.split_once('_').map(|(charset, _)| charset.to_owned());
    match known {
        None if texts => Ok(Compare::Weights { collation: session.collation.to_owned() }),
        Some((Sorts::Text(collation), _)) if !texts || charset(&collation) == charset(session.collation) => {
            Ok(Compare::Weights { collation })
        }
        _ if texts => Err(several()),
        Some((Sorts::Bytes, _)) => Ok(Compare::Bytes),
        _ => Ok(Compare::Value),
    }
}

/// The value of a column that is a literal or a parameter.
fn constant(shown: &Projection<'_, '_, '_>, place: usize) -> Option<Constant> {
    let expr = shown.columns[place].expr?.bare();
    match expr.kind {
        ExprKind::Literal(Literal::Null) => Some(Constant::Null),
        ExprKind::Literal(_) | ExprKind::Parameter(_) => {
            shown.question.planner.folder().fold(expr).map(|known| known.constant)
        }
        _ => None,
    }
}

fn is_string(shown: &Projection<'_, '_, '_>, place: usize) -> bool {
    let kind = shown.columns[place].expr.map(|expr| &expr.bare().kind);
    matches!(kind, Some(ExprKind::Literal(Literal::String)))
}

// --- Texts ---

/// The text of one of the queries, with what it gives besides, and the places of its parameters.
fn member_text(
    planner: &Planner<'_>,
    with: Option<Range<usize>>,
    member: &Member<'_>,
    weights: Option<&Vec<Pieces>>,
) -> Result<(Vec<u8>, Vec<u32>), Obstacle> {
    let mut pieces = Pieces::default();
    if let Some(with) = with {
        pieces = Pieces::own(with).then(" ");
    }
    let mut done = member.range.start;
    if let Some(without) = &member.without {
        pieces = pieces.and(&Pieces::own(done..without.start));
        done = without.end;
    }
    if let Some(weights) = weights.filter(|weights| !weights.is_empty()) {
        let Some(select) = member.select else { return Err(super::columns::unknown_columns()) };
        if select.options.distinct && member.without.is_none() {
            return Err("DISTINCT of texts within a UNION whose rows are compared or sorted".to_owned().into());
        }
        let Some(last) = select.items.last() else { return Err(super::columns::unknown_columns()) };
        let end = last.span.range().end;
        pieces = pieces.and(&Pieces::own(done..end));
        for weight in weights {
            pieces = pieces.then(", ").and(weight);
        }
        done = end;
    }
    pieces = pieces.and(&Pieces::own(done..member.range.end));
    Ok(made_of(&pieces.0, planner.text, planner.statement))
}

/// What gives the rows of one of the queries.
fn member_read(planner: &Planner<'_>, (text, places): (Vec<u8>, Vec<u32>), home: ShardId) -> Result<Read, Obstacle> {
    match again::plan(planner, &text, &places, planner.plan_whole) {
        None => Err("a query of a UNION that can't be read alone".to_owned().into()),
        Some(planned) => match planned? {
            Plan::Home => Ok(Read::of_one(home, text, places, "it has no table of a sharded database".to_owned())),
            Plan::Route(route) => Ok(Read::of_one(route.shard, route.text.unwrap_or(text), places, route.reason)),
            Plan::Read(read) => Ok(read),
            _ => Err("a query of a UNION that is no plain read".to_owned().into()),
        },
    }
}

/// The whole, with queries that have no rows.
fn head(compound: &Compound<'_>) -> Result<Edits, Obstacle> {
    let mut edits = Edits::default();
    for body in std::iter::once(&compound.first).chain(compound.rest.iter().map(|term| &term.body)) {
        match body {
            QueryBody::Select(select) => {
                edits.insert(select.span.range().start, Pieces::new("("));
                edits.insert(select.span.range().end, Pieces::new(" LIMIT 0)"));
            }
            QueryBody::Table(table) => {
                edits.insert(table.span.range().start, Pieces::new("("));
                edits.insert(table.span.range().end, Pieces::new(" LIMIT 0)"));
            }
            QueryBody::Nested(query) => {
                let (query, select) = plain(query).map_err(|_| nested())?;
                match (query.limit, query.order_by.last(), select) {
                    (Some(limit), ..) => edits.replace(limit.span.range(), Pieces::new("LIMIT 0")),
                    (None, Some(last), _) => edits.insert(last.span.range().end, Pieces::new(" LIMIT 0")),
                    (None, None, Some(select)) => edits.insert(select.span.range().end, Pieces::new(" LIMIT 0")),
                    (None, None, None) => {}
                }
            }
            // Few rows, which are not looked at.
            QueryBody::Values(_) | QueryBody::Compound(_) => {}
        }
    }
    Ok(edits)
}
