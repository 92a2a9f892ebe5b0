//! One SELECT of several shards.
//!
//! What must always hold: what shards are asked for is sorted as the merge expects it, and has all rows that the merged result can have.

use std::collections::HashSet;

use weir_sql::ast::{ColumnName, Expr, ExprKind, Grouping, Limit, Query, Select};
use weir_sql::facts::Varies;
use weir_sql::visit::{Flow, Node, walk};

use super::columns::{extend, unknown_columns};
use super::expressions::{has_aggregate, has_window};
use super::projection::{Ordered, Projection, is_simple};
use super::{Merged, Obstacle, Question, Together, limits, plain};
use crate::aggregate::is_aggregate;
use crate::analysis::{Branch, has_aggregates};
use crate::text::{Edits, Pieces};
use crate::{Compare, Fold, Grouped, Merge, SortKey};

/// How the rows of a SELECT become one result.
pub(super) fn merge<'a>(
    question: &Question<'_, 'a>,
    query: &'a Query<'a>,
    branch: &Branch<'a>,
    together: &Together,
) -> Result<Merged, Obstacle> {
    let (query, select) = plain(query)?;
    let Some(select) = select else { return rows(question, query, None, branch) };
    question.windows_fit(together, branch.block, select)?;
    let aggregates = has_aggregates(select);
    check_order(query, select, aggregates)?;
    let grouped = aggregates || !select.group_by.is_empty() || select.grouping != Grouping::Plain;
    let by_key = !select.group_by.is_empty() && question.groups_by_key(together, branch, select.group_by);
    if grouped && (!by_key || select.grouping != Grouping::Plain) {
        return super::group::merge(question, query, select, branch);
    }
    if select.options.distinct && !question.shows_key(together, branch) {
        return distinct(question, query, select, branch);
    }
    rows(question, query, Some(select), branch)
}

/// ORDER BY must not make what the select list does not: one row of all, or a look at other rows.
fn check_order<'a>(query: &'a Query<'a>, select: &Select<'a>, aggregates: bool) -> Result<(), Obstacle> {
    for item in query.order_by {
        if has_window(&item.expr) {
            return Err("a window function in ORDER BY".to_owned().into());
        }
        if has_aggregate(&item.expr) && !aggregates && select.group_by.is_empty() {
            return Err("an aggregate in ORDER BY only".to_owned().into());
        }
    }
    Ok(())
}

/// Each row of the result is a row of one shard.
fn rows<'a>(
    question: &Question<'_, 'a>,
    query: &'a Query<'a>,
    select: Option<&'a Select<'a>>,
    branch: &Branch<'a>,
) -> Result<Merged, Obstacle> {
    let (skip, take) = limits(question.planner, query.limit)?;
    let mut edits = Edits::default();
    edits.limit(query.limit, skip, take);
    let columns = branch.columns.as_ref().map(Vec::len);
    if query.order_by.is_empty() {
        return Ok(Merged { merge: Merge::Concatenate, columns, hidden: 0, skip, take, edits });
    }
    let mut shown = of_select(question, branch, select)?;
    let mut keys = Vec::new();
    let distinct = select.is_some_and(|select| select.options.distinct);
    for item in query.order_by {
        if distinct && matches!(shown.ordered(&item.expr, false)?, Ordered::Expression(..)) {
            return Err(unselected());
        }
        keys.extend(order_key(&mut shown, &item.expr, item.descending, &mut edits)?);
    }
    if let Some(select) = select.filter(|_| shown.hidden() > 0) {
        check_having(&shown, select)?;
    }
    extend(&shown, query, select, &mut edits)?;
    let merge = if keys.is_empty() { Merge::Concatenate } else { Merge::Sorted(keys) };
    Ok(Merged { merge, columns, hidden: shown.hidden(), skip, take, edits })
}

/// HAVING sees what is selected, and would see hidden columns too: a column that is neither selected nor grouped by is not known there (1054).
fn check_having<'a>(shown: &Projection<'_, '_, 'a>, select: &'a Select<'a>) -> Result<(), Obstacle> {
    let column = |expr: &Expr<'a>| match &expr.bare().kind {
        ExprKind::Column(name) => shown.lookup(name),
        _ => None,
    };
    let names = select.having.as_ref().map(names_outside_aggregates).unwrap_or_default();
    let is_unknown = |name: &&ColumnName<'a>| match shown.lookup(name) {
        Some(at) => {
            let grouped = || select.group_by.iter().any(|item| column(&item.expr) == Some(at));
            shown.aliased(name).is_none() && !shown.shows(at) && !grouped()
        }
        None => false,
    };
    match names.iter().find(|name| is_unknown(name)) {
        Some(_) => Err("HAVING names a column that is not selected".to_owned().into()),
        None => Ok(()),
    }
}

/// The columns that an expression names, without those in arguments of aggregates, which need not be selected, and in queries.
fn names_outside_aggregates<'a>(expr: &'a Expr<'a>) -> Vec<&'a ColumnName<'a>> {
    let mut names = Vec::new();
    walk(Node::Expr(expr), &mut |node: Node<'a>| match node {
        Node::Expr(Expr { kind: ExprKind::Call(call), .. }) if is_aggregate(call) => Flow::Skip,
        Node::Query(_) => Flow::Skip,
        Node::Expr(Expr { kind: ExprKind::Column(name), .. }) => {
            names.push(*name);
            Flow::Descend
        }
        _ => Flow::Descend,
    });
    names
}

fn of_select<'q, 'p, 'a>(
    question: &'q Question<'p, 'a>,
    branch: &'q Branch<'a>,
    select: Option<&Select<'a>>,
) -> Result<Projection<'q, 'p, 'a>, Obstacle> {
    let shown = Projection::of(question, branch).ok_or_else(unknown_columns)?;
    Ok(if select.is_some_and(|select| !select.group_by.is_empty()) { shown.of_groups() } else { shown })
}

/// The key of an item of ORDER BY; none if it says nothing.
fn order_key<'a>(
    shown: &mut Projection<'_, '_, 'a>,
    expr: &'a Expr<'a>,
    descending: bool,
    edits: &mut Edits,
) -> Result<Option<SortKey>, Obstacle> {
    let chance = shown.question.planner.facts.varies.contains(Varies::RANDOM);
    let hidden = shown.hidden();
    let key = match shown.ordered(expr, false)? {
        Ordered::Constant => return Ok(None),
        Ordered::Column(place) => {
            let key = shown.key_of_column(place, descending)?;
            let own = shown.columns[place].column.is_some();
            (key, own || shown.hidden() == hidden)
        }
        Ordered::Expression(text, _, None, bare) if chance => {
            if !matches!(&bare.kind, ExprKind::Call(call) if call.name.name.is("RAND")) {
                return Err("ORDER BY of a random function".to_owned().into());
            }
            // It must be sorted by the same value that is sent.
            let alias = format!("`weir order {}`", shown.hidden() + 1);
            let column = shown.hide(text.then(format!(" AS {alias}")));
            edits.replace(expr.span.range(), Pieces::new(alias));
            (SortKey { column, descending, by: Compare::Value }, true)
        }
        Ordered::Expression(text, sorts, _, bare) => (shown.key(None, text, is_simple(bare), sorts, descending)?, true),
    };
    match key {
        (key, true) => Ok(Some(key)),
        (_, false) if chance => Err("ORDER BY of a random function".to_owned().into()),
        (key, false) => Ok(Some(key)),
    }
}

/// Beside the select list, for shards to sort by, it would make several rows of equal ones; and MySQL refuses it (3065).
fn unselected() -> Obstacle {
    "DISTINCT, and ORDER BY of what is not in the select list".to_owned().into()
}

/// Equal rows of several shards are one.
fn distinct<'a>(
    question: &Question<'_, 'a>,
    query: &'a Query<'a>,
    select: &'a Select<'a>,
    branch: &Branch<'a>,
) -> Result<Merged, Obstacle> {
    let (skip, take) = limits(question.planner, query.limit)?;
    let mut shown = of_select(question, branch, Some(select))?;
    let mut order = Vec::new();
    for item in query.order_by {
        match shown.ordered(&item.expr, false)? {
            Ordered::Column(place) => order.push((place, item.descending)),
            Ordered::Constant => {}
            Ordered::Expression(..) => return Err(unselected()),
        }
    }
    let (keys, behind) = all_columns(&mut shown, &order)?;
    // Where MariaDB sorts distinct rows by a BIT, it gives that as a BIGINT.
    let is_bit = |place: &usize| {
        let kind = shown.columns[*place].column.and_then(|at| question.analysis.kind(at));
        kind.is_some_and(|kind| kind.base == "bit")
    };
    if question.planner.session.mariadb && behind.iter().any(is_bit) {
        return Err("DISTINCT of BIT columns, which sorting would make numbers of".to_owned().into());
    }
    let mut edits = Edits::default();
    edits.order_too(query, select.span.range().end, &behind);
    edits.limit_of_distinct(query.limit, skip, take, &keys);
    extend(&shown, query, Some(select), &mut edits)?;
    let columns = shown.columns.len();
    let merge = Merge::Grouped(folded(keys, columns));
    Ok(Merged { merge, columns: Some(columns), hidden: shown.hidden(), skip, take, edits })
}

/// Equal neighbours are one row.
pub(super) fn folded(keys: Vec<SortKey>, columns: usize) -> Grouped {
    let columns = (0..columns).map(Fold::First).collect();
    Grouped { keys, columns, having: None, order: None, rollup: None }
}

/// Keys of all columns: those of ORDER BY first; and the places of the others.
fn all_columns(
    shown: &mut Projection<'_, '_, '_>,
    order: &[(usize, bool)],
) -> Result<(Vec<SortKey>, Vec<usize>), Obstacle> {
    let mut keys = Vec::new();
    for (place, descending) in order {
        keys.push(shown.key_of_column(*place, *descending)?);
    }
    let ordered: HashSet<usize> = order.iter().map(|(place, _)| *place).collect();
    let behind: Vec<usize> = (0..shown.columns.len()).filter(|place| !ordered.contains(place)).collect();
    for place in &behind {
        keys.push(shown.key_of_column(*place, false)?);
    }
    Ok((keys, behind))
}

impl Edits {
    /// Asks each shard for all rows that can be among those of the merged result.
    pub(super) fn limit(&mut self, limit: Option<&Limit<'_>>, skip: u64, take: Option<u64>) {
        let Some(limit) = limit else { return };
        match take {
            Some(_) if skip == 0 && limit.offset.is_none() => {}
            Some(take) => {
                let most = skip.saturating_add(take);
                self.replace(limit.span.range(), Pieces::new(format!("LIMIT {most}")));
            }
            None => self.replace(limit.span.range(), Pieces::default()),
        }
    }

    /// The same of rows that are folded afterwards: what a shard takes for two rows may be one, by spaces at the end.
    pub(super) fn limit_of_distinct(
        &mut self,
        limit: Option<&Limit<'_>>,
        skip: u64,
        take: Option<u64>,
        keys: &[SortKey],
    ) {
        let exact = keys.iter().all(|key| matches!(key.by, Compare::Value | Compare::Bytes));
        match limit {
            Some(limit) if !exact => self.replace(limit.span.range(), Pieces::default()),
            limit => self.limit(limit, skip, take),
        }
    }

    /// Sorts by these columns, too.
    pub(super) fn order_too(&mut self, query: &Query<'_>, end: usize, columns: &[usize]) {
        if columns.is_empty() {
            return;
        }
        let list: Vec<String> = columns.iter().map(|place| (place + 1).to_string()).collect();
        let list = list.join(", ");
        match query.order_by.last() {
            Some(last) => self.insert(last.span.range().end, Pieces::new(format!(", {list}"))),
            None => self.insert(end, Pieces::new(format!(" ORDER BY {list}"))),
        }
    }
}
