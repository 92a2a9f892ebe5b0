//! HAVING of groups that have rows on several shards: what is about keys alone stays with the shards, what is about aggregates is decided
//! when they are whole.

use weir_catalog::Constant;
use weir_sql::ast::{BinaryOp, Expr, ExprKind, Select};

use super::Obstacle;
use super::columns::same_meaning;
use super::expressions::{aggregate, has_aggregate};
use super::projection::{Ordered, Projection};
use crate::analysis::{conjuncts, disjuncts};
use crate::text::{Edits, Pieces};
use crate::{Comparison, Condition, Fold};

/// HAVING, split.
#[derive(Default)]
pub(super) struct Having<'a> {
    /// Conditions that shards decide.
    kept: Vec<&'a Expr<'a>>,
    /// Those of whole groups.
    whole: Vec<Test<'a>>,
    /// The places of what is compared, in the order of the tests.
    places: Vec<usize>,
}

/// A condition on a whole group.
enum Test<'a> {
    Compare(&'a Expr<'a>, Comparison, String),
    All(Vec<Test<'a>>),
    Any(Vec<Test<'a>>),
}

impl<'a> Having<'a> {
    pub(super) fn of(
        shown: &Projection<'_, '_, 'a>,
        select: &'a Select<'a>,
        keys: &[&Ordered<'a>],
        rollup: bool,
    ) -> Result<Self, Obstacle> {
        let mut having = Having::default();
        for conjunct in select.having.iter().flat_map(conjuncts) {
            // All rows are one group also on a shard that keeps none of them: it would come back as that of no rows.
            let grouped = !rollup && !keys.is_empty();
            if grouped && is_of_keys(shown, conjunct, keys) {
                having.kept.push(conjunct);
            } else {
                having.whole.push(test(shown, conjunct)?);
            }
        }
        Ok(having)
    }

    /// Finds, or hides, what is compared.
    pub(super) fn targets(
        mut self,
        shown: &mut Projection<'_, '_, 'a>,
        hidden: &mut Vec<(usize, Option<&'a Expr<'a>>)>,
    ) -> Self {
        let mut compared = Vec::new();
        self.whole.iter().for_each(|test| test.compared(&mut compared));
        for expr in compared {
            let place = match shown.shown_place(expr) {
                Some(place) => place,
                None => {
                    let before = shown.columns.len() + shown.hidden();
                    let place = shown.hide(shown.pieces(expr));
                    if place >= before {
                        hidden.push((place, Some(expr)));
                    }
                    place
                }
            };
            self.places.push(place);
        }
        self
    }

    /// The condition on folded rows.
    pub(super) fn condition(
        &self,
        shown: &Projection<'_, '_, 'a>,
        columns: &[Fold],
    ) -> Result<Option<Condition>, Obstacle> {
        let mut places = self.places.iter().copied();
        let mut all = Vec::new();
        for test in &self.whole {
            all.push(test.condition(shown, columns, &mut places)?);
        }
        Ok(match all.len() {
            0 => None,
            1 => all.pop(),
            _ => Some(Condition::And(all)),
        })
    }

    /// Takes out of the text what shards can't decide.
    pub(super) fn edit(&self, select: &Select<'a>, edits: &mut Edits) {
        let Some(having) = select.having.filter(|_| !self.whole.is_empty()) else { return };
        let mut text = Pieces::default();
        let mut between = "";
        for kept in &self.kept {
            text = text.then(between).and(&Pieces::own(kept.span.range()).within(""));
            between = " AND ";
        }
        edits.replace(having.span.range(), if self.kept.is_empty() { Pieces::new("1") } else { text });
    }
}

impl<'a> Test<'a> {
    fn compared(&self, found: &mut Vec<&'a Expr<'a>>) {
        match self {
            Test::Compare(expr, ..) => found.push(expr),
            Test::All(tests) | Test::Any(tests) => tests.iter().for_each(|test| test.compared(found)),
        }
    }

    fn condition(
        &self,
        shown: &Projection<'_, '_, 'a>,
        columns: &[Fold],
        places: &mut dyn Iterator<Item = usize>,
    ) -> Result<Condition, Obstacle> {
        let mut each = |tests: &[Test<'a>]| -> Result<Vec<Condition>, Obstacle> {
            tests.iter().map(|test| test.condition(shown, columns, places)).collect()
        };
        Ok(match self {
            Test::All(tests) => Condition::And(each(tests)?),
            Test::Any(tests) => Condition::Or(each(tests)?),
            Test::Compare(expr, operator, number) => {
                let column = places.next().unwrap_or_default();
                let exact = columns.get(column).is_some_and(|fold| shown.is_exact_number(fold, shown.meant(expr)));
                if !exact {
                    let text = String::from_utf8_lossy(expr.span.text(shown.text())).into_owned();
                    return Err(format!("HAVING compares {text}, which is not an exact number").into());
                }
                Condition::Compare { column, operator: *operator, number: number.clone() }
            }
        })
    }
}

/// Whether a condition is decided by the keys of a group alone.
fn is_of_keys<'a>(shown: &Projection<'_, '_, 'a>, expr: &'a Expr<'a>, keys: &[&Ordered<'a>]) -> bool {
    if has_aggregate(expr) {
        return false;
    }
    super::projection::column_names(expr).iter().all(|name| {
        let means = match (shown.lookup(name), shown.aliased(name)) {
            (Some(at), _) => {
                let place = shown.index().shows(at);
                return keys.iter().any(|key| match key {
                    Ordered::Column(key) => Some(*key) == place || shown.columns[*key].column == Some(at),
                    Ordered::Expression(_, _, of, _) => *of == Some(at),
                    Ordered::Constant => false,
                });
            }
            (None, Some(meant)) => {
                let place =
                    shown.columns.iter().position(|column| column.expr.is_some_and(|of| std::ptr::eq(of, meant)));
                match place {
                    Some(place) => Ordered::Column(place),
                    None => return false,
                }
            }
            (None, None) => return false,
        };
        keys.iter().any(|key| same_meaning(shown, key, &means))
    })
}

fn test<'a>(shown: &Projection<'_, '_, 'a>, expr: &'a Expr<'a>) -> Result<Test<'a>, Obstacle> {
    let expr = expr.bare();
    let number = |expr: &Expr<'a>| match shown.question.planner.folder().fold(expr)?.constant {
        Constant::Integer(value) => Some(value.to_string()),
        Constant::Decimal(value) => Some(value),
        _ => None,
    };
    let refused = || {
        let text = String::from_utf8_lossy(expr.span.text(shown.text())).into_owned();
        Obstacle::Rows(format!(
            "HAVING is decided when groups are whole, and is not a comparison with a number: {text}"
        ))
    };
    match &expr.kind {
        // A chain is as long as the text: it must not nest.
        ExprKind::Binary(BinaryOp::And, ..) => {
            Ok(Test::All(conjuncts(expr).into_iter().map(|expr| test(shown, expr)).collect::<Result<_, _>>()?))
        }
        ExprKind::Binary(BinaryOp::Or, ..) => {
            Ok(Test::Any(disjuncts(expr).into_iter().map(|expr| test(shown, expr)).collect::<Result<_, _>>()?))
        }
        ExprKind::Binary(op, left, right) => {
            let (comparison, turned) = comparisons(*op).ok_or_else(refused)?;
            match (number(left), number(right)) {
                (None, Some(number)) if shown.is_compared(left) => Ok(Test::Compare(left.bare(), comparison, number)),
                (Some(number), None) if shown.is_compared(right) => Ok(Test::Compare(right.bare(), turned, number)),
                _ => Err(refused()),
            }
        }
        ExprKind::Between(between) if !between.negated && shown.is_compared(&between.expr) => {
            let (low, high) = (number(&between.low).ok_or_else(refused)?, number(&between.high).ok_or_else(refused)?);
            let of = between.expr.bare();
            Ok(Test::All(vec![
                Test::Compare(of, Comparison::GreaterOrEqual, low),
                Test::Compare(of, Comparison::LessOrEqual, high),
            ]))
        }
        _ => Err(refused()),
    }
}

/// A comparison, and the one with its sides exchanged.
fn comparisons(op: BinaryOp) -> Option<(Comparison, Comparison)> {
    Some(match op {
        BinaryOp::Lt => (Comparison::Less, Comparison::Greater),
        BinaryOp::Le => (Comparison::LessOrEqual, Comparison::GreaterOrEqual),
        BinaryOp::Eq => (Comparison::Equal, Comparison::Equal),
        BinaryOp::Ne => (Comparison::NotEqual, Comparison::NotEqual),
        BinaryOp::Ge => (Comparison::GreaterOrEqual, Comparison::LessOrEqual),
        BinaryOp::Gt => (Comparison::Greater, Comparison::Less),
        _ => return None,
    })
}

impl<'a> Projection<'_, '_, 'a> {
    /// What an expression of HAVING stands for: an alias for its expression.
    fn meant(&self, expr: &'a Expr<'a>) -> &'a Expr<'a> {
        match &expr.bare().kind {
            ExprKind::Column(name) => match (self.lookup(name), self.aliased(name)) {
                (None, Some(meant)) => meant,
                _ => expr,
            },
            _ => expr,
        }
    }

    fn is_compared(&self, expr: &'a Expr<'a>) -> bool {
        aggregate(self.meant(expr)).is_some()
    }

    /// The place of the client's column that is this expression.
    fn shown_place(&self, expr: &'a Expr<'a>) -> Option<usize> {
        self.place_of(self.meant(expr))
    }
}
