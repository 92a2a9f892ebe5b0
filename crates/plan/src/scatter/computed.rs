//! Expressions over aggregates of groups that have rows on several shards: the groups are folded, and a server computes the expressions
//! from their values; HAVING and ORDER BY too, where they are more than folding can decide.
//!
//! What must always hold: what is given to the server is what it would have had at that place itself: aggregates, and parts of the
//! expression that have none, each of its type (`outer_query`). AVG is given as its sum and its count, as servers divide with more digits than they show.

mod averages;
mod outer_query;
mod texts;

use std::collections::HashSet;
use std::ops::Range;

use weir_sql::ast::{Expr, ExprKind, Query, Select, SelectItemKind};
use weir_sql::facts::Varies;
use weir_sql::visit::{Flow, Node, walk};
use weir_sql::{Lexer, TokenKind};

use super::columns::unknown_columns;
use super::expressions::{aggregate, has_aggregate, has_window};
use super::group::divides;
use super::projection::{Ordered, Projection, column_names};
use super::set_operation::without_rows;
use super::{Obstacle, Question, limits, plain};
use crate::again;
use crate::analysis::values::Values;
use crate::analysis::{Analysis, has_aggregates};
use crate::planner::Planner;
use crate::text::{Edits, Pieces, made_of};
use crate::{Computed, ComputedColumn, GIVEN_ROW, GIVEN_TABLE, Plan, Read, Refusal};
use outer_query::{Clause, Key, OuterExpressions, Selected};

/// The plan of a query that folding alone does not answer: `why`.
pub(super) fn plan(
    planner: &Planner<'_>,
    analysis: &Analysis<'_>,
    query: &Query<'_>,
    why: String,
) -> Result<Plan, Refusal> {
    match planned(planner, analysis, query, &why) {
        Ok(Some(computed)) => Ok(Plan::Computed(Box::new(computed))),
        Ok(None) => Err(Refusal::NeedsWorkbench(why)),
        Err(obstacle) => Err(obstacle.refusal()),
    }
}

/// Which clauses shards and folding do.
#[derive(Clone, Copy)]
struct Folded {
    having: bool,
    order: bool,
}

fn planned<'a>(
    planner: &Planner<'a>,
    analysis: &Analysis<'a>,
    query: &'a Query<'a>,
    why: &str,
) -> Result<Option<Computed>, Obstacle> {
    let Ok((query, Some(select))) = plain(query) else { return Ok(None) };
    let grouped = has_aggregates(select) || !select.group_by.is_empty();
    let Some(outcome) = analysis.outcome.as_ref().filter(|_| grouped && !select.options.distinct) else {
        return Ok(None);
    };
    let [branch] = &outcome.branches[..] else { return Ok(None) };
    let values = Values::of(analysis);
    let question = Question::new(analysis, &values, planner);
    let Some(shown) = Projection::of(&question, branch) else { return Ok(None) };
    let expressions = shown.columns.iter().filter_map(|column| column.expr);
    if expressions.chain(query.order_by.iter().map(|item| &item.expr)).any(has_window) {
        return Ok(None);
    }
    let computed = computed_columns(&shown, query, select);
    let ways = [(true, true), (false, true), (true, false), (false, false)];
    let mut obstacle = None;
    for (having, order) in ways {
        let needless = !having && select.having.is_none() || !order && query.order_by.is_empty();
        let nothing = having && order && computed.is_empty();
        let way = Way { shown: &shown, query, select, computed: &computed, folded: Folded { having, order } };
        if needless || nothing || !way.is_open() {
            continue;
        }
        if planner.facts.varies.contains(Varies::RANDOM) {
            return Err("a random function, and expressions over aggregates".to_owned().into());
        }
        match way.plan(planner, why) {
            Err(Obstacle::Rows(why)) => obstacle = Some(Obstacle::Rows(why)),
            planned => return planned.map(Some),
        }
    }
    obstacle.map_or(Ok(None), Err)
}

/// The places of columns that are expressions over aggregates.
fn computed_columns<'a>(shown: &Projection<'_, '_, 'a>, query: &'a Query<'a>, select: &'a Select<'a>) -> Vec<usize> {
    let mut divided = false;
    let mut look = |node: Node<'a>| {
        walk(node, &mut |node: Node<'a>| {
            divided |= matches!(node, Node::Expr(Expr { kind: ExprKind::Call(call), .. }) if divides(call));
            Flow::Descend
        });
    };
    look(Node::Select(select));
    query.order_by.iter().for_each(|item| look(Node::OrderItem(item)));
    let folds = |expr: &'a Expr<'a>| {
        !has_aggregate(expr) || aggregate(expr).is_some() || !divided && shown.sum_or_zero(expr).is_some()
    };
    (0..shown.columns.len()).filter(|place| !shown.columns[*place].expr.is_none_or(folds)).collect()
}

/// A way to divide the work.
struct Way<'w, 'q, 'p, 'a> {
    shown: &'w Projection<'q, 'p, 'a>,
    query: &'a Query<'a>,
    select: &'a Select<'a>,
    /// The places of columns that are computed.
    computed: &'w [usize],
    folded: Folded,
}

impl<'a> Way<'_, '_, '_, 'a> {
    /// Whether what folding is to do names nothing that is computed.
    fn is_open(&self) -> bool {
        let computed: HashSet<Vec<u8>> =
            self.computed.iter().map(|place| self.shown.columns[*place].name.to_ascii_lowercase()).collect();
        let names_computed = |expr: &'a Expr<'a>| {
            column_names(expr)
                .iter()
                .any(|name| name.table.is_none() && computed.contains(&name.name.name.to_ascii_lowercase()))
        };
        let having = self.select.having.as_ref().filter(|_| self.folded.having);
        let order = self.query.order_by.iter().filter(|_| self.folded.order);
        let by_place = |expr: &'a Expr<'a>| match self.shown.ordered(expr, false) {
            Ok(Ordered::Column(place)) => self.computed.binary_search(&place).is_ok(),
            _ => false,
        };
        !having.is_some_and(names_computed)
            && !order.clone().any(|item| names_computed(&item.expr) || by_place(&item.expr))
    }

    fn plan(&self, planner: &Planner<'_>, why: &str) -> Result<Computed, Obstacle> {
        let keys = self.keys()?;
        let mut made = OuterExpressions {
            shown: self.shown,
            computed: self.computed,
            keys,
            given: Vec::new(),
            more: Vec::new(),
            known: Selected::default(),
        };
        let mut items = Vec::new();
        let mut columns: Vec<ComputedColumn> = (0..self.shown.columns.len()).map(ComputedColumn::Own).collect();
        for (nth, place) in self.computed.iter().enumerate() {
            let Some(expr) = self.shown.columns[*place].expr else { continue };
            items.push(made.text(expr, Clause::Items)?);
            columns[*place] = ComputedColumn::Computed(nth);
        }
        let condition = match self.select.having.as_ref().filter(|_| !self.folded.having) {
            Some(having) => Some(made.text(having, Clause::Having)?),
            None => None,
        };
        let mut order = Vec::new();
        for item in self.query.order_by.iter().filter(|_| !self.folded.order) {
            let text = match self.shown.ordered(&item.expr, false)? {
                Ordered::Constant => continue,
                Ordered::Column(place) => made.column(place)?,
                Ordered::Expression(.., expr) => made.text(expr, Clause::Order)?,
            };
            order.push(text.then(if item.descending { " DESC" } else { "" }));
        }
        made.times_fit(self.query)?;
        let (skip, take) = if self.cuts() { limits(planner, self.query.limit)? } else { (0, None) };
        let instead = made.settle()?;
        let groups = self.groups(planner, &made, &instead)?;
        let whole = !order.is_empty();
        let (text, parameters) = made_of(&select_of(&items, condition, order).0, planner.text, planner.statement);
        let Some(shard) = groups.shards.first().copied() else { return Err(why.to_owned().into()) };
        let head = without_rows(self.query, self.select).into_pieces(planner.text);
        let (head, places) = made_of(&head, planner.text, planner.statement);
        if let Some(trace) = planner.trace {
            trace.depends_on_more();
        }
        let head = Read::of_one(shard, head, places, String::new());
        let reason = why.to_owned();
        Ok(Computed { head, groups, columns, given: made.given, text, parameters, whole, skip, take, reason })
    }

    /// What is grouped by.
    fn keys(&self) -> Result<Vec<Key<'a>>, Obstacle> {
        let mut keys = Vec::new();
        for item in self.select.group_by {
            keys.push(match self.shown.ordered(&item.expr, true)? {
                Ordered::Constant => continue,
                Ordered::Column(place) => {
                    let column = &self.shown.columns[place];
                    Key { column: column.column, expr: column.expr }
                }
                Ordered::Expression(_, _, column, expr) => Key { column, expr: Some(expr) },
            });
        }
        Ok(keys)
    }

    /// Whether LIMIT comes behind what is computed.
    fn cuts(&self) -> bool {
        !(self.folded.having && self.folded.order)
    }

    /// What gives the groups.
    fn groups(
        &self,
        planner: &Planner<'_>,
        made: &OuterExpressions<'_, '_, '_, 'a>,
        instead: &[Pieces],
    ) -> Result<Read, Obstacle> {
        let mut edits = Edits::default();
        // The computed columns are in the order of the items that they are.
        let mut items = self.select.items.iter();
        for (place, instead) in self.computed.iter().zip(instead) {
            let item = items.find(|item| match (&item.kind, self.shown.columns[*place].expr) {
                (SelectItemKind::Expr(expr, _), Some(of)) => std::ptr::eq(expr, of),
                _ => false,
            });
            let Some(item) = item else {
                return Err("an expression over aggregates in an odd place".to_owned().into());
            };
            edits.replace(item.span.range(), instead.clone());
        }
        let Some(last) = self.select.items.last() else { return Err(unknown_columns()) };
        let mut more = Pieces::default();
        for text in &made.more {
            more = more.then(", ").and(text);
        }
        edits.insert(last.span.range().end, more);
        if !self.folded.having
            && let Some(having) = &self.select.having
        {
            let word = self.having_word(having).ok_or_else(|| "HAVING in an odd place".to_owned())?;
            edits.replace(word.start..having.span.range().end, Pieces::default());
        }
        if let (false, [first, .., last] | [first @ last]) = (self.folded.order, self.query.order_by) {
            edits.replace(first.span.range().start..last.span.range().end, Pieces::new("NULL"));
        }
        if let Some(limit) = self.query.limit.filter(|_| self.cuts()) {
            edits.replace(limit.span.range(), Pieces::default());
        }
        let (text, places) = made_of(&edits.into_pieces(planner.text), planner.text, planner.statement);
        match again::plan(planner, &text, &places, planner.plan_groups) {
            Some(Ok(Plan::Read(read))) => Ok(read),
            Some(Err(Refusal::NeedsWorkbench(why))) => Err(why.into()),
            Some(Err(refusal)) => Err(refusal.into()),
            Some(Ok(_)) | None => Err("groups that can't be read alone".to_owned().into()),
        }
    }

    /// Where the word HAVING stands.
    fn having_word(&self, having: &Expr<'_>) -> Option<Range<usize>> {
        let start = self.select.span.range().start;
        let before = &self.shown.text()[start..having.span.range().start];
        let mode = self.shown.question.planner.session.mode;
        let last = Lexer::new(before, mode)
            .filter(|token| token.kind == TokenKind::Word && before[token.range()].eq_ignore_ascii_case(b"HAVING"))
            .last()?
            .range();
        Some(start + last.start..start + last.end)
    }
}

/// `SELECT` the number of the row and these.
fn select_of(items: &[Pieces], condition: Option<Pieces>, order: Vec<Pieces>) -> Pieces {
    let row = format!("`{GIVEN_TABLE}`.`{GIVEN_ROW}`");
    let mut text = Pieces::new(format!("SELECT {row}"));
    for item in items {
        text = text.then(", ").and(item);
    }
    text = text.then(format!(" FROM `{GIVEN_TABLE}`"));
    if let Some(condition) = condition {
        text = text.then(" WHERE ").and(&condition);
    }
    text = text.then(" ORDER BY ");
    for key in order {
        text = text.and(&key).then(", ");
    }
    text.then(row)
}
