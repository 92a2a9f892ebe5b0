//! UNION of SELECTs that shards can answer part by part: each shard runs the whole text.

use weir_sql::ast::{Compound, Query, QueryBody, Select, SetOp};

use super::columns::unknown_columns;
use super::projection::{Ordered, Projection, Sorts};
use super::select::folded;
use super::{Merged, Obstacle, Question, Together, limits, plain};
use crate::analysis::QueryBranches;
use crate::text::Edits;
use crate::{Compare, Merge, SortKey};

/// How the rows of a UNION become one result.
pub(super) fn merge<'a>(
    question: &Question<'_, 'a>,
    query: &'a Query<'a>,
    outcome: &QueryBranches<'a>,
    together: &[Together],
) -> Result<Merged, Obstacle> {
    let (query, compound) = compound(query)?;
    let distinct = is_distinct(compound)?;
    let selects = selects(compound)?;
    if selects.len() != outcome.branches.len() {
        return Err("queries in parentheses within a UNION".to_owned().into());
    }
    for ((select, branch), together) in selects.iter().zip(&outcome.branches).zip(together) {
        question.is_whole(together, branch, select)?;
    }
    let (skip, take) = limits(question.planner, query.limit)?;
    let mut edits = Edits::default();
    let columns = outcome.branches[0].columns.as_ref().map(Vec::len);
    if !distinct && query.order_by.is_empty() {
        edits.limit(query.limit, skip, take);
        return Ok(Merged { merge: Merge::Concatenate, columns, hidden: 0, skip, take, edits });
    }
    let shown: Option<Vec<Projection<'_, '_, '_>>> =
        outcome.branches.iter().map(|branch| Projection::of(question, branch).map(Projection::side_by_side)).collect();
    let mut shown = shown.ok_or_else(unknown_columns)?;
    let Order { by, behind } = order_of(query, &shown, distinct)?;
    let count = shown[0].columns.len();
    let mut keys = Vec::new();
    for (place, descending) in by.into_iter().chain(behind.iter().map(|place| (*place, false))) {
        keys.push(key(&mut shown, place, descending)?);
    }
    edits.order_too(query, compound.span.range().end, &behind);
    for (one, select) in shown.iter().zip(&selects) {
        one.extend(Some(select), &mut edits);
    }
    let hidden = shown[0].hidden();
    let merge = if distinct {
        edits.limit_of_distinct(query.limit, skip, take, &keys);
        Merge::Grouped(folded(keys, count))
    } else {
        edits.limit(query.limit, skip, take);
        Merge::Sorted(keys)
    };
    Ok(Merged { merge, columns: Some(count), hidden, skip, take, edits })
}

/// The key of a column that all SELECTs give in one type.
fn key(shown: &mut [Projection<'_, '_, '_>], place: usize, descending: bool) -> Result<SortKey, Obstacle> {
    let families: Vec<Option<&str>> = shown.iter().map(|one| one.family(place)).collect();
    let sorts = shown[0].column_sorts(place);
    let same = shown.iter().all(|one| one.column_sorts(place) == sorts);
    let known = !matches!(sorts, Sorts::Unknown | Sorts::Oddly | Sorts::Number);
    if !same || !known || families.iter().any(|family| family.is_none() || *family != families[0]) {
        return Err(format!("column {} of the UNION has several types, or one that is not known", place + 1).into());
    }
    let by = match &sorts {
        Sorts::Text(collation) => Compare::Weights { collation: collation.clone() },
        Sorts::Bytes => Compare::Bytes,
        _ => Compare::Value,
    };
    let mut column = place;
    if matches!(sorts, Sorts::Text(_)) {
        for one in shown.iter_mut() {
            let text = one.expression(place)?.within("WEIGHT_STRING");
            column = one.hide(text);
        }
    }
    Ok(SortKey { column, descending, by })
}

/// The UNION, and the query that has its clauses.
pub(super) fn compound<'a>(query: &'a Query<'a>) -> Result<(&'a Query<'a>, &'a Compound<'a>), Obstacle> {
    match query.body {
        QueryBody::Compound(compound) => Ok((query, compound)),
        QueryBody::Nested(inner) if query.limit.is_none() && query.order_by.is_empty() => compound(inner),
        _ => Err("clauses behind a query in parentheses".to_owned().into()),
    }
}

/// Whether equal rows are one.
fn is_distinct(compound: &Compound<'_>) -> Result<bool, Obstacle> {
    if compound.rest.iter().any(|term| term.op != SetOp::Union) {
        return Err("EXCEPT and INTERSECT compare the rows of all shards".to_owned().into());
    }
    match compound.rest.iter().rposition(|term| !term.all) {
        None => Ok(false),
        Some(last) if last + 1 == compound.rest.len() => Ok(true),
        Some(_) => Err("UNION, and UNION ALL behind it".to_owned().into()),
    }
}

fn selects<'a>(compound: &'a Compound<'a>) -> Result<Vec<&'a Select<'a>>, Obstacle> {
    let bodies = std::iter::once(&compound.first).chain(compound.rest.iter().map(|term| &term.body));
    bodies
        .map(|body| match body {
            QueryBody::Select(select) => Ok(*select),
            QueryBody::Nested(query) => match plain(query)? {
                (query, Some(select)) if query.limit.is_none() => Ok(select),
                (_, Some(_)) => Err("LIMIT within a UNION".to_owned().into()),
                (_, None) => Err("TABLE within a UNION".to_owned().into()),
            },
            _ => Err("VALUES, TABLE or a compound within a UNION".to_owned().into()),
        })
        .collect()
}

/// By which columns the rows of the whole are sorted.
pub(super) struct Order {
    /// Those of its ORDER BY, and whether descending.
    pub(super) by: Vec<(usize, bool)>,
    /// Where rows are compared, all others.
    pub(super) behind: Vec<usize>,
}

/// The order of the whole. `compares`: rows are compared, so that they need one by all columns.
pub(super) fn order_of(query: &Query<'_>, shown: &[Projection<'_, '_, '_>], compares: bool) -> Result<Order, Obstacle> {
    let count = shown[0].columns.len();
    if shown.iter().any(|one| one.columns.len() != count) {
        return Err(unknown_columns());
    }
    let mut by = Vec::new();
    for item in query.order_by {
        match shown[0].ordered(&item.expr, false)? {
            Ordered::Column(place) => by.push((place, item.descending)),
            Ordered::Constant => {}
            Ordered::Expression(..) => return Err("ORDER BY of a UNION by an expression".to_owned().into()),
        }
    }
    let behind = (0..count).filter(|place| compares && !by.iter().any(|(known, _)| known == place)).collect();
    Ok(Order { by, behind })
}
