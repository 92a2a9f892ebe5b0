//! Expressions over what is given: the client's text, with names in the places of aggregates and of what is the same for a group.
//!
//! What must always hold: each value is given once; what shards select for it is the client's own text.

use std::collections::HashMap;
use std::ops::Range;

use weir_sql::ast::{Call, ColumnName, Expr, ExprKind, Query};
use weir_sql::visit::{Flow, Node, walk};

use super::super::Obstacle;
use super::super::columns::unknown_columns;
use super::super::expressions::{aggregate, has_window};
use super::super::fold::Exactness;
use super::super::projection::{Projection, Sorts, column_names};
use super::averages::{self, Sight};
use super::texts;
use crate::analysis::{ColumnRef, has_query};
use crate::text::Pieces;
use crate::{Averaged, GIVEN_TABLE, GivenValue};

/// Where an expression stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Clause {
    Items,
    Having,
    Order,
}

/// What is grouped by: a column, an expression.
pub(super) struct Key<'a> {
    pub(super) column: Option<ColumnRef>,
    pub(super) expr: Option<&'a Expr<'a>>,
}

/// What is given or selected already, and where.
#[derive(Default)]
pub(super) struct Selected {
    given: HashMap<(usize, Option<Averaged>), usize>,
    more: HashMap<Vec<u8>, usize>,
}

/// Expressions over what is given.
pub(super) struct OuterExpressions<'w, 'q, 'p, 'a> {
    pub(super) shown: &'w Projection<'q, 'p, 'a>,
    pub(super) computed: &'w [usize],
    pub(super) keys: Vec<Key<'a>>,
    pub(super) given: Vec<GivenValue>,
    /// What has to be selected besides the client's columns.
    pub(super) more: Vec<Pieces>,
    /// The places in `given` and `more` of what is there already.
    pub(super) known: Selected,
}

impl<'a> OuterExpressions<'_, '_, '_, 'a> {
    /// The text of an expression, over what is given.
    pub(super) fn text(&mut self, expr: &'a Expr<'a>, clause: Clause) -> Result<Pieces, Obstacle> {
        let alias = |name: &ColumnName<'a>| self.alias(name, clause);
        let approximate = |expr: &Expr<'a>| self.shown.exactness(expr) == Exactness::Approximate;
        let sight = Sight { text: self.shown.text(), alias: &alias, approximate: &approximate };
        if !self.shown.question.planner.session.mariadb && !averages::fit(expr, sight) {
            return Err("AVG in an expression that sees how many digits it has: ROUND it".to_owned().into());
        }
        let mut replaced: Vec<(Range<usize>, Pieces)> = Vec::new();
        let mut failed = None;
        walk(Node::Expr(expr), &mut |node: Node<'a>| {
            let instead = match node {
                Node::Query(_) => Err("a subquery in an expression over aggregates".to_owned().into()),
                Node::Expr(expr) => self.instead(expr, clause),
                _ => Ok(None),
            };
            match instead {
                Ok(None) => Flow::Descend,
                Ok(Some(pieces)) => {
                    replaced.push((node.span().range(), pieces));
                    Flow::Skip
                }
                Err(obstacle) => {
                    failed = failed.take().or(Some(obstacle));
                    Flow::Stop
                }
            }
        });
        if let Some(obstacle) = failed {
            return Err(obstacle);
        }
        let range = expr.span.range();
        let mut done = range.start;
        let mut text = Pieces::default();
        for (at, pieces) in replaced {
            text = text.and(&Pieces::own(done..at.start)).and(&pieces);
            done = at.end;
        }
        Ok(text.and(&Pieces::own(done..range.end)).within(""))
    }

    /// What stands for a part of an expression; none if its own parts are to be looked at.
    fn instead(&mut self, expr: &'a Expr<'a>, clause: Clause) -> Result<Option<Pieces>, Obstacle> {
        if has_window(expr) {
            return Err("a window function over groups of several shards".to_owned().into());
        }
        if is_grouping(expr) {
            return Err("GROUPING() where groups of several shards are sorted or chosen".to_owned().into());
        }
        if let Some(call) = aggregate(expr) {
            return self.aggregate(expr, call, clause).map(Some);
        }
        if let ExprKind::Column(name) = &expr.kind {
            let is_key = self.shown.lookup(name).is_some_and(|at| self.keys.iter().any(|key| key.column == Some(at)));
            if self.shown.clashes(name) && (clause == Clause::Order || clause == Clause::Having && is_key) {
                return Err("a name that is both a column's and an alias, in HAVING or ORDER BY".to_owned().into());
            }
            return match self.alias(name, clause) {
                Some(meant) => self.text(meant, Clause::Items).map(Some),
                None => self.give(Pieces::own(expr.span.range()), Some(expr)).map(Some),
            };
        }
        let names = column_names(expr);
        if !self.shown.spend(8 + names.len() * (1 + self.keys.len())) {
            return Err(unknown_columns());
        }
        let is_value = !matches!(expr.kind, ExprKind::Row(_) | ExprKind::Interval(_) | ExprKind::Paren(_));
        let is_alias = |name: &&ColumnName<'a>| self.alias(name, clause).is_some() || self.shown.lookup(name).is_none();
        let of_keys = |name: &&ColumnName<'a>| {
            self.shown.lookup(name).is_some_and(|at| self.keys.iter().any(|key| key.column == Some(at)))
        };
        let is_key = self.keys.iter().any(|key| key.expr.is_some_and(|key| self.shown.same(key, expr)));
        // Of a key's column more is known than of what is made of it.
        let parts = !is_key && names.iter().all(of_keys);
        let whole = is_value && !parts && !names.is_empty() && !has_any_aggregate(expr) && !names.iter().any(is_alias);
        if whole && has_query(expr) {
            return Err("a subquery in an expression over aggregates".to_owned().into());
        }
        whole.then(|| self.give(Pieces::own(expr.span.range()), Some(expr))).transpose()
    }

    /// The expression of the select list that a name stands for.
    fn alias(&self, name: &ColumnName<'a>, clause: Clause) -> Option<&'a Expr<'a>> {
        let found = self.shown.aliased(name)?;
        let named = match clause {
            Clause::Items => false,
            Clause::Order => self.shown.lookup(name).is_none(),
            // There aliases come before columns that are not grouped by.
            Clause::Having => true,
        };
        // An alias of a column that has this name is no other thing.
        (named && (self.shown.lookup(name).is_none() || self.shown.clashes(name))).then_some(found)
    }

    fn aggregate(&mut self, expr: &'a Expr<'a>, call: &'a Call<'a>, clause: Clause) -> Result<Pieces, Obstacle> {
        // The select list, where it is computed, knows no aliases: there they would be mistakes, too.
        let own = |expr: &'a Expr<'a>| match clause {
            Clause::Items => Pieces::own(expr.span.range()),
            Clause::Having | Clause::Order => self.shown.pieces(expr),
        };
        let [argument] = call.arguments else { return self.give(own(expr), Some(expr)) };
        if !call.name.name.is("AVG") {
            return self.give(own(expr), Some(expr));
        }
        let distinct = if call.distinct { "DISTINCT " } else { "" };
        let of = own(argument);
        let of_it = |name: &str| Pieces::new(format!("{name}({distinct}")).and(&of).then(")");
        // MariaDB's quotients keep all digits, too, and approximate ones have no others.
        if self.shown.question.planner.session.mariadb || self.shown.exactness(argument) == Exactness::Approximate {
            let (sum, count) = (self.give(of_it("SUM"), None)?, self.give(of_it("COUNT"), None)?);
            return Ok(sum.then(" / ").and(&count).within(""));
        }
        let (column, count) = (self.place(of_it("SUM"), None), self.place(of_it("COUNT"), None));
        let shown = self.place(of_it("AVG"), Some(expr));
        Ok(self.given(column, Some(Averaged { count, shown }), Sorts::Value, &of_it("AVG")))
    }

    /// One of the client's columns.
    pub(super) fn column(&mut self, place: usize) -> Result<Pieces, Obstacle> {
        match self.shown.columns[place].expr {
            Some(expr) => self.text(expr, Clause::Items),
            None => Ok(self.given(place, None, self.shown.column_sorts(place), &self.shown.expression(place)?)),
        }
    }

    /// The name under which a value is given.
    fn give(&mut self, text: Pieces, expr: Option<&'a Expr<'a>>) -> Result<Pieces, Obstacle> {
        let sorts = match expr {
            Some(expr) => self.collated(expr),
            None => Sorts::Value,
        };
        if expr.is_some_and(|expr| texts::cannot_be_given(self.shown, expr, &sorts)) {
            let shown = String::from_utf8_lossy(&text.shown(self.shown.text())).into_owned();
            return Err(format!(
                "an expression over groups is computed from {shown}, which can't be passed to a server exactly"
            )
            .into());
        }
        let place = self.place(text.clone(), expr);
        Ok(self.given(place, None, sorts, &text))
    }

    /// The place of a value in the groups.
    fn place(&mut self, text: Pieces, expr: Option<&'a Expr<'a>>) -> usize {
        let own = expr.and_then(|expr| self.shown.place_of(expr));
        let own = own.filter(|place| self.computed.binary_search(place).is_err());
        own.unwrap_or_else(|| {
            let wanted = text.shown(self.shown.text());
            let nth = *self.known.more.entry(wanted).or_insert(self.more.len());
            if nth == self.more.len() {
                self.more.push(text);
            }
            self.shown.columns.len() + nth
        })
    }

    /// How a value compares, if it is text.
    fn collated(&self, expr: &'a Expr<'a>) -> Sorts {
        match aggregate(expr).map(|call| (call, call.arguments)) {
            Some((call, [of])) if call.name.name.is("GROUP_CONCAT") => match self.shown.expression_sorts(of) {
                // Numbers and dates become texts of the connection.
                Sorts::Value => Sorts::Text(self.shown.question.planner.session.collation.to_owned()),
                sorts => sorts,
            },
            _ => self.shown.expression_sorts(expr),
        }
    }

    fn given(&mut self, column: usize, average: Option<Averaged>, sorts: Sorts, text: &Pieces) -> Pieces {
        let known = self.known.given.get(&(column, average)).copied();
        let nth = known.unwrap_or_else(|| {
            let collation = match sorts {
                Sorts::Text(collation) => Some(collation),
                _ => None,
            };
            let text = String::from_utf8_lossy(&text.shown(self.shown.text())).into_owned();
            self.known.given.insert((column, average), self.given.len());
            self.given.push(GivenValue { column, average, collation, text });
            self.given.len() - 1
        });
        Pieces::new(format!("`{GIVEN_TABLE}`.`c{nth}`"))
    }

    /// What shards select in the places of computed columns: what is needed besides, as long as there is any.
    pub(super) fn settle(&mut self) -> Result<Vec<Pieces>, Obstacle> {
        let count = self.shown.columns.len();
        let mut more = std::mem::take(&mut self.more).into_iter();
        let mut instead = Vec::new();
        for place in self.computed {
            let other = || self.first_of(*place).ok_or_else(unknown_columns);
            instead.push(more.next().map_or_else(other, Ok)?);
        }
        self.more = more.collect();
        let moved = |place: usize| match place.checked_sub(count) {
            None => place,
            Some(nth) => self.computed.get(nth).copied().unwrap_or(place - self.computed.len()),
        };
        for given in &mut self.given {
            given.column = moved(given.column);
            given.average =
                given.average.map(|Averaged { count, shown }| Averaged { count: moved(count), shown: moved(shown) });
        }
        Ok(instead)
    }

    /// An aggregate in a computed column.
    fn first_of(&self, place: usize) -> Option<Pieces> {
        let expr = self.shown.columns[place].expr?;
        let mut first = None;
        walk(Node::Expr(expr), &mut |node: Node<'a>| {
            if let Node::Expr(expr) = node
                && aggregate(expr).is_some()
            {
                first = Some(expr.span.range());
                return Flow::Stop;
            }
            Flow::Descend
        });
        first.map(Pieces::own)
    }

    /// TIMESTAMP values are given as DATETIME: in the hour that clocks are set back to, they are one of two points in time.
    pub(super) fn times_fit(&self, query: &'a Query<'a>) -> Result<(), Obstacle> {
        let mut asks = false;
        walk(Node::Query(query), &mut |node: Node<'a>| {
            asks |= matches!(node, Node::Expr(Expr { kind: ExprKind::Call(call), .. })
                if call.name.name.is("UNIX_TIMESTAMP") && call.arguments.iter().any(has_any_aggregate));
            if asks { Flow::Stop } else { Flow::Descend }
        });
        if asks {
            return Err("UNIX_TIMESTAMP of an aggregate: aggregate UNIX_TIMESTAMP of the column".to_owned().into());
        }
        Ok(())
    }
}

/// Whether it is GROUPING(), which knows the rows that WITH ROLLUP adds where these are made alone.
fn is_grouping(expr: &Expr<'_>) -> bool {
    matches!(&expr.kind, ExprKind::Call(call) if call.name.database.is_none() && call.name.name.is("GROUPING"))
}

/// Whether there are aggregates in an expression, those of queries in it included.
fn has_any_aggregate<'a>(expr: &'a Expr<'a>) -> bool {
    let mut found = false;
    walk(Node::Expr(expr), &mut |node: Node<'a>| {
        found |= matches!(node, Node::Expr(expr) if aggregate(expr).is_some());
        if found { Flow::Stop } else { Flow::Descend }
    });
    found
}
