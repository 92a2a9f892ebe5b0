//! GROUP BY and aggregates whose groups have rows on several shards: each shard groups its own rows, sorted by the group's keys; equal
//! groups are folded.
//!
//! What must always hold: shards send a group once (or once for each distinct value that is counted), in the order of the keys.

use std::collections::BTreeSet;
use std::ops::Range;

use weir_sql::ast::{Call, Expr, ExprKind, Grouping, Literal, OrderItem, Query, Select};
use weir_sql::visit::{Flow, Node, walk};
use weir_sql::{Lexer, TokenKind};

use super::columns::{extend, same_meaning, unknown_columns};
use super::expressions::{aggregate, has_aggregate};
use super::fold::Divided;
use super::having::Having;
use super::projection::{Ordered, Projection, Sorts, column_names, is_simple};
use super::{Merged, Obstacle, Question, limits};
use crate::aggregate::is_aggregate;
use crate::analysis::{Branch, ColumnRef, InstanceKind};
use crate::text::{Edits, Pieces};
use crate::{Fold, Grouped, Merge, SortKey};

/// A key of the groups.
struct Key<'a> {
    item: &'a OrderItem<'a>,
    means: Ordered<'a>,
    descending: bool,
}

/// How the groups of a SELECT become one result.
pub(super) fn merge<'a>(
    question: &Question<'_, 'a>,
    query: &'a Query<'a>,
    select: &'a Select<'a>,
    branch: &Branch<'a>,
) -> Result<Merged, Obstacle> {
    if select.options.distinct {
        return Err("DISTINCT of groups that have rows on several shards".to_owned().into());
    }
    let rollup = match select.grouping {
        Grouping::Plain => false,
        Grouping::Rollup => true,
        Grouping::Cube | Grouping::Sets => return Err("CUBE and GROUPING SETS".to_owned().into()),
    };
    let mut shown = Projection::of(question, branch).ok_or_else(unknown_columns)?.of_groups();
    let mut edits = Edits::default();
    let mut keys = keys(&shown, select, &mut edits)?;
    let order = order(&shown, query, &mut keys, rollup)?;
    let having = Having::of(&shown, select, &keys_means(&keys), rollup)?;
    // Hidden columns of folded rows come first.
    let mut folded_hidden: Vec<(usize, Option<&'a Expr<'a>>)> = Vec::new();
    let order = order.map(|order| order_keys(&mut shown, order, &keys, &mut folded_hidden)).transpose()?;
    let having = having.targets(&mut shown, &mut folded_hidden);
    let group_keys = group_keys(&mut shown, &keys)?;
    let divided = divided(&mut shown, query, select)?;
    if rollup && !divided.by.is_empty() {
        return Err("DISTINCT values or an order within groups WITH ROLLUP".to_owned().into());
    }
    let mut columns = Vec::new();
    for place in 0..shown.columns.len() {
        columns.push(shown.fold(place, shown.columns[place].expr, &divided)?);
    }
    for (place, expr) in folded_hidden {
        columns.push(shown.fold(place, expr, &divided)?);
    }
    check_singles(&shown, &columns, select, &divided)?;
    let condition = having.condition(&shown, &columns)?;
    having.edit(select, &mut edits);
    let rollup = if rollup { Some(rollup_columns(&shown, &keys, select, &mut edits)?) } else { None };
    group_too(&shown, select, &divided, &mut edits);
    sort_by_keys(&shown, query, select, &keys, &divided, &mut edits);
    let (skip, take) = limits(question.planner, query.limit)?;
    let pushes =
        condition.is_none() && order.is_none() && rollup.is_none() && divided.by.is_empty() && !keys.is_empty();
    match query.limit {
        Some(limit) if !pushes => edits.replace(limit.span.range(), Pieces::default()),
        limit => edits.limit(limit, skip, take),
    }
    extend(&shown, query, Some(select), &mut edits)?;
    let merge = Merge::Grouped(Grouped { keys: group_keys, columns, having: condition, order, rollup });
    Ok(Merged { merge, columns: Some(shown.columns.len()), hidden: shown.hidden(), skip, take, edits })
}

/// What GROUP BY names.
fn keys<'a>(
    shown: &Projection<'_, '_, 'a>,
    select: &'a Select<'a>,
    edits: &mut Edits,
) -> Result<Vec<Key<'a>>, Obstacle> {
    let mut keys = Vec::new();
    for item in select.group_by {
        let means = shown.ordered(&item.expr, true)?;
        if matches!(means, Ordered::Constant) {
            if select.grouping != Grouping::Plain {
                return Err("GROUP BY of a constant WITH ROLLUP".to_owned().into());
            }
            // A shard may get a parameter's value as a literal, in which it would see a column's place.
            let literal = matches!(&item.expr.bare().kind, ExprKind::Literal(literal) if *literal != Literal::Integer);
            if !literal {
                edits.replace(item.expr.span.range(), Pieces::new("NULL"));
            }
            continue;
        }
        if let ExprKind::Column(name) = &item.expr.bare().kind
            && shown.clashes(name)
        {
            return Err("GROUP BY of a column that has the name of another column's alias".to_owned().into());
        }
        if let Ordered::Expression(_, _, None, bare) = &means
            && !matches!(bare.kind, ExprKind::Column(_))
            && shown.question.planner.facts.varies.contains(weir_sql::facts::Varies::RANDOM)
        {
            return Err("GROUP BY of a random function".to_owned().into());
        }
        keys.push(Key { item, means, descending: item.descending });
    }
    if keys.is_empty() && !select.group_by.is_empty() {
        // Without rows it has no group, unlike aggregates without GROUP BY.
        return Err("GROUP BY of constants only: leave it out".to_owned().into());
    }
    Ok(keys)
}

fn keys_means<'k, 'a>(keys: &'k [Key<'a>]) -> Vec<&'k Ordered<'a>> {
    keys.iter().map(|key| &key.means).collect()
}

/// ORDER BY, unless it is the order of the keys: these are put into that order then.
fn order<'a>(
    shown: &Projection<'_, '_, 'a>,
    query: &'a Query<'a>,
    keys: &mut [Key<'a>],
    rollup: bool,
) -> Result<Option<Vec<(Ordered<'a>, bool)>>, Obstacle> {
    let mut items = Vec::new();
    for item in query.order_by {
        match shown.ordered(&item.expr, false)? {
            Ordered::Constant => {}
            means => items.push((means, item.descending)),
        }
    }
    if items.is_empty() || keys.is_empty() {
        return Ok(None);
    }
    if rollup {
        return Err("ORDER BY of groups WITH ROLLUP".to_owned().into());
    }
    let mut placed = 0;
    for (means, descending) in &items {
        if !shown.spend(keys.len()) {
            return Ok(None);
        }
        let known = keys[..placed].iter().any(|key| same_meaning(shown, &key.means, means));
        let Some(at) = keys[placed..].iter().position(|key| same_meaning(shown, &key.means, means)) else {
            if known || placed == keys.len() {
                continue;
            }
            return Ok(Some(items));
        };
        keys[placed..=placed + at].rotate_right(1);
        keys[placed].descending = *descending;
        placed += 1;
    }
    Ok(None)
}

/// The keys of an order of folded rows.
fn order_keys<'a>(
    shown: &mut Projection<'_, '_, 'a>,
    order: Vec<(Ordered<'a>, bool)>,
    groups: &[Key<'a>],
    hidden: &mut Vec<(usize, Option<&'a Expr<'a>>)>,
) -> Result<Vec<SortKey>, Obstacle> {
    // There it is about the SELECT list only, which what is hidden is in.
    let all_are_checked = shown.question.planner.session.mariadb && is_full_group_by(shown);
    let groups = key_columns(shown, groups);
    let mut keys = Vec::new();
    for (means, descending) in order {
        let is_of_groups = match &means {
            Ordered::Expression(_, _, Some(column), _) => groups.contains(column),
            _ => true,
        };
        let (place, text, sorts, expr) = match means {
            Ordered::Constant => continue,
            Ordered::Column(place) => {
                (Some(place), shown.expression(place)?, shown.column_sorts(place), shown.columns[place].expr)
            }
            Ordered::Expression(text, sorts, _, bare) => (None, text, sorts, Some(bare)),
        };
        let of_aliases = |expr: &'a Expr<'a>| {
            let meant = column_names(expr).into_iter().filter(|name| shown.lookup(name).is_none());
            meant.filter_map(|name| shown.aliased(name)).any(has_aggregate)
        };
        let aggregated = expr.is_some_and(|expr| has_aggregate(expr) || of_aliases(expr));
        if aggregated && (!matches!(sorts, Sorts::Value) || expr.is_some_and(|expr| aggregate(expr).is_none())) {
            return Err("ORDER BY of an aggregate that is no number, or of an expression over aggregates"
                .to_owned()
                .into());
        }
        let before = shown.columns.len() + shown.hidden();
        let simple = expr.is_none_or(is_simple) && (is_of_groups || !all_are_checked);
        let key = shown.key(place, text, simple, sorts, descending)?;
        let after = shown.columns.len() + shown.hidden();
        hidden.extend((before..after).map(|place| (place, expr.filter(|_| aggregated))));
        keys.push(key);
    }
    Ok(keys)
}

fn group_keys(shown: &mut Projection<'_, '_, '_>, keys: &[Key<'_>]) -> Result<Vec<SortKey>, Obstacle> {
    let mut found = Vec::new();
    for key in keys {
        found.push(match &key.means {
            Ordered::Column(place) => shown.key_of_column(*place, key.descending)?,
            Ordered::Expression(text, sorts, _, bare) => {
                shown.key(None, text.clone(), is_simple(bare), sorts.clone(), key.descending)?
            }
            Ordered::Constant => continue,
        });
    }
    Ok(found)
}

/// What the groups are divided by: what aggregates with an order ask for, or else those with DISTINCT.
fn divided<'a>(
    shown: &mut Projection<'_, '_, 'a>,
    query: &'a Query<'a>,
    select: &'a Select<'a>,
) -> Result<Divided<'a>, Obstacle> {
    let mut found: Option<&'a Call<'a>> = None;
    let mut nodes: Vec<Node<'a>> = select.items.iter().map(Node::SelectItem).collect();
    nodes.extend(select.having.iter().map(Node::Expr));
    nodes.extend(query.order_by.iter().map(Node::OrderItem));
    for node in nodes {
        walk(node, &mut |node: Node<'a>| {
            if let Node::Expr(Expr { kind: ExprKind::Call(call), .. }) = node
                && divides(call)
                && found.is_none_or(|found| found.order_by.is_empty() && !call.order_by.is_empty())
            {
                found = Some(call);
            }
            if matches!(node, Node::Query(_)) { Flow::Skip } else { Flow::Descend }
        });
    }
    let Some(call) = found else { return Ok(Divided::default()) };
    let mut divided = Divided::default();
    let by: Vec<(&'a Expr<'a>, bool)> = match call.order_by {
        [] => call.arguments.iter().map(|argument| (argument, false)).collect(),
        order => order.iter().map(|item| (&item.expr, item.descending)).collect(),
    };
    for (expr, descending) in &by {
        if shown.question.planner.folder().fold(expr).is_some() {
            return Err("DISTINCT or ORDER BY of a constant in an aggregate".to_owned().into());
        }
        let (text, sorts) = (shown.pieces(expr), shown.expression_sorts(expr));
        divided.keys.push(shown.key(None, text, is_simple(expr), sorts, *descending)?);
    }
    divided.by = by;
    Ok(divided)
}

/// Whether the rows of a group have to come divided for an aggregate.
pub(super) fn divides(call: &Call<'_>) -> bool {
    let any_way = ["MIN", "MAX", "BIT_AND", "BIT_OR"].iter().any(|name| call.name.name.is(name));
    is_aggregate(call) && call.over.is_none() && (!call.order_by.is_empty() || call.distinct && !any_way)
}

/// A SELECT without GROUP BY has one row, also of no rows: what is no aggregate must be the same in all shards' rows.
fn check_singles<'a>(
    shown: &Projection<'_, '_, 'a>,
    columns: &[Fold],
    select: &Select<'a>,
    divided: &Divided<'a>,
) -> Result<(), Obstacle> {
    if !select.group_by.is_empty() {
        return Ok(());
    }
    for (fold, column) in columns.iter().zip(shown.columns) {
        if !matches!(fold, Fold::First(_)) {
            continue;
        }
        let constant = column.expr.is_some_and(is_constant);
        if !constant || !divided.by.is_empty() {
            return Err("a column that is no aggregate, without GROUP BY".to_owned().into());
        }
    }
    Ok(())
}

fn is_constant<'a>(expr: &'a Expr<'a>) -> bool {
    let mut constant = true;
    walk(Node::Expr(expr), &mut |node: Node<'a>| {
        let varies = match node {
            Node::Query(_) => true,
            Node::Expr(expr) => matches!(expr.kind, ExprKind::Column(_)),
            _ => false,
        };
        constant &= !varies;
        Flow::Descend
    });
    constant
}

/// The client's columns that are NULL when a key is left out, for each key; and the text without WITH ROLLUP.
fn rollup_columns<'a>(
    shown: &Projection<'_, '_, 'a>,
    keys: &[Key<'a>],
    select: &'a Select<'a>,
    edits: &mut Edits,
) -> Result<Vec<Vec<usize>>, Obstacle> {
    let range = with_rollup(shown, select).ok_or_else(|| Obstacle::Rows("this form of ROLLUP".to_owned()))?;
    edits.replace(range, Pieces::default());
    let mut columns: Vec<Vec<usize>> = Vec::new();
    for key in keys {
        columns.push(match &key.means {
            Ordered::Column(place) => {
                let own = &shown.columns[*place];
                let same = |other: usize| match (own.column, shown.columns[other].column) {
                    (Some(one), Some(other)) => one == other,
                    _ => other == *place,
                };
                (0..shown.columns.len()).filter(|other| same(*other)).collect()
            }
            _ => Vec::new(),
        });
    }
    // Servers leave out the one without the other.
    if (1..columns.len()).any(|nth| columns[..nth].iter().flatten().any(|place| columns[nth].contains(place))) {
        return Err("GROUP BY of a column twice WITH ROLLUP".to_owned().into());
    }
    for (place, column) in shown.columns.iter().enumerate() {
        let told = columns.iter().any(|key| key.contains(&place));
        let aggregated = column.expr.is_some_and(|expr| aggregate(expr).is_some());
        if !told && !aggregated && !column.expr.is_some_and(is_constant) {
            return Err("WITH ROLLUP, and a column that is neither a key nor an aggregate".to_owned().into());
        }
    }
    Ok(columns)
}

/// Where `WITH ROLLUP` stands.
fn with_rollup(shown: &Projection<'_, '_, '_>, select: &Select<'_>) -> Option<Range<usize>> {
    let end = select.group_by.last()?.span.range().end;
    let rest = &shown.text()[end..];
    let mut words = Lexer::new(rest, shown.question.planner.session.mode).filter(|token| token.kind == TokenKind::Word);
    let (with, rollup) = (words.next()?, words.next()?);
    let is = |range: Range<usize>, word: &[u8]| rest[range].eq_ignore_ascii_case(word);
    let found = is(with.range(), b"WITH") && is(rollup.range(), b"ROLLUP");
    let blank = rest[..with.range().start].iter().all(u8::is_ascii_whitespace);
    (found && blank).then(|| end + with.range().start..end + rollup.range().end)
}

/// Groups by the distinct values, too.
fn group_too<'a>(shown: &Projection<'_, '_, 'a>, select: &'a Select<'a>, divided: &Divided<'a>, edits: &mut Edits) {
    let mut list = Pieces::default();
    for (place, (argument, _)) in divided.by.iter().enumerate() {
        let between = if place == 0 && select.group_by.is_empty() { " GROUP BY " } else { ", " };
        list = list.then(between).and(&shown.pieces(argument));
    }
    if divided.by.is_empty() {
        return;
    }
    let end = match (select.group_by.last(), &select.condition) {
        (Some(last), _) => last.span.range().end,
        (None, Some(condition)) => condition.span.range().end,
        (None, None) => select.from.last().map_or(select.span.range().end, |table| table.span.range().end),
    };
    edits.insert(end, list);
}

/// The columns that groups have as their keys.
fn key_columns<'a>(shown: &Projection<'_, '_, 'a>, keys: &[Key<'a>]) -> BTreeSet<ColumnRef> {
    let of_key = |key: &Key<'a>| match key.means {
        Ordered::Column(place) => shown.columns[place].column,
        Ordered::Expression(_, _, column, _) => column,
        Ordered::Constant => None,
    };
    keys.iter().filter_map(of_key).collect()
}

fn is_full_group_by(shown: &Projection<'_, '_, '_>) -> bool {
    shown.question.planner.session.sql_mode.contains("ONLY_FULL_GROUP_BY")
}

/// Items of ORDER BY that a server may find wrong in a query of groups: columns that these keys do not determine (ONLY_FULL_GROUP_BY), and
/// aggregates of aggregates. Behind the keys they order nothing, and are checked.
fn to_be_checked<'a>(
    shown: &Projection<'_, '_, 'a>,
    query: &'a Query<'a>,
    keys: &[Key<'a>],
) -> impl Iterator<Item = &'a OrderItem<'a>> {
    let (keys, full) = (key_columns(shown, keys), is_full_group_by(shown));
    let is_determined = move |column: ColumnRef| {
        let primary = match &shown.question.analysis.instances[column.instance].kind {
            InstanceKind::Base(base) => &base.table.primary_key[..],
            _ => &[],
        };
        let whole = || primary.iter().all(|own| keys.contains(&ColumnRef { column: *own, ..column }));
        keys.contains(&column) || !primary.is_empty() && whole()
    };
    query.order_by.iter().filter(move |item| {
        let mut found = false;
        walk(Node::Expr(&item.expr), &mut |node: Node<'a>| {
            match node {
                Node::Query(_) => return Flow::Skip,
                Node::Expr(expr) if aggregate(expr).is_some() => {
                    let names = column_names(expr).into_iter().filter(|name| shown.lookup(name).is_none());
                    found |= names.filter_map(|name| shown.aliased(name)).any(has_aggregate);
                    return Flow::Skip;
                }
                Node::Expr(expr @ Expr { kind: ExprKind::Column(name), .. }) => {
                    found |= match shown.lookup(name) {
                        Some(column) => full && !is_determined(column),
                        // MariaDB takes an aggregate's alias by itself only.
                        None => !std::ptr::eq(expr, item.expr.bare()) && shown.aliased(name).is_some_and(has_aggregate),
                    };
                }
                _ => {}
            }
            Flow::Descend
        });
        found
    })
}

/// Sorts by the keys, and by distinct values behind them.
fn sort_by_keys<'a>(
    shown: &Projection<'_, '_, 'a>,
    query: &'a Query<'a>,
    select: &'a Select<'a>,
    keys: &[Key<'a>],
    divided: &Divided<'a>,
    edits: &mut Edits,
) {
    let mut list = Pieces::default();
    let mut between = "";
    for key in keys {
        let direction = if key.descending { " DESC" } else { "" };
        list = list.then(between).and(&Pieces::own(key.item.expr.span.range())).then(direction);
        between = ", ";
    }
    for (argument, descending) in &divided.by {
        let direction = if *descending { " DESC" } else { "" };
        list = list.then(between).and(&shown.pieces(argument)).then(direction);
        between = ", ";
    }
    if between.is_empty() {
        return;
    }
    for item in to_be_checked(shown, query, keys) {
        list = list.then(between).and(&Pieces::own(item.expr.span.range()));
    }
    match (query.order_by.first(), query.order_by.last()) {
        (Some(first), Some(last)) => edits.replace(first.span.range().start..last.span.range().end, list),
        _ => edits.insert(select.span.range().end, Pieces::new(" ORDER BY ").and(&list)),
    }
}
