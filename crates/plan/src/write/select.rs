//! INSERT … SELECT.
//!
//! What must always hold: a row lands on the shard of its key. Where each shard's rows stay on it (the shard key passes through
//! unchanged), the shards run the client's text; else the query's rows are read first, in the statement's own transaction, and become
//! rows of values, which are planned as such.

use weir_catalog::{Placement, ShardId};
use weir_sql::ast::{
    Expr, ExprKind, Insert, Join, JoinKind, Query, QueryBody, Select, SelectItemKind, TableRef, TableRefKind,
};
use weir_sql::facts::Facts;
use weir_sql::resolve::SourceKind;

use super::edits::Edits;
use super::locking::lock_clause;
use super::names::{Target, with_facts};
use super::returning::Returning;
use super::varying::Varying;
use super::{Input, on_duplicate, query_columns, stored_as};
use crate::{
    Merge, Need, Piece, Plan, Read, Refusal, Resolve, Returns, Route, RowSource, SharedValues, Write, WriteKind,
};

pub(super) fn plan_select<'a>(
    input: &Input<'a>,
    insert: &'a Insert<'a>,
    query: &'a Query<'a>,
    target: &Target<'a>,
) -> Result<Plan, Refusal> {
    let returning = Returning::of(insert.returning);
    if let Some(returning) = returning {
        returning.keep_columns(input)?;
    }
    let (whole, query) = (query, without_parentheses(query));
    let mut edits = Edits::of_parameters(input.statement, input.text, input.session);
    edits.sort();
    let mut asked = edits.clone();
    let (stays, new_row, varying) = with_facts(input, |facts| {
        stored_as::convert(input, insert, query, target, facts, &mut asked);
        let behind = facts.names.tables().filter(|(source, _)| source.span.start >= whole.span.end);
        let alone = on_duplicate::refuse_foreign_reads(input, target, behind.map(|(_, table)| table)).is_ok();
        let stays = alone && passes_key(input, insert, query, target, facts);
        let new_row = query_columns::as_new_row(input, insert, query, target, facts);
        (stays, new_row, Varying::of(input, facts.varies))
    });
    let mut question = asked.cut(input.text, query.span.range());
    if let QueryBody::Select(select) = query.body
        && !select.from.is_empty()
        && query.locks.is_empty()
    {
        // MySQL refuses it beside a lock clause (3569).
        if let Some(words) = select.options.high_priority {
            asked.replace(words.range(), Vec::new());
            asked.sort();
            question = asked.cut(input.text, query.span.range());
        }
        let cut = |range| asked.cut(input.text, range);
        question.extend(lock_clause(select.from, false, input.session.mariadb, &cut));
    }
    let (found, shards) = match input.reads.rows(&question)? {
        Plan::Read(read) => {
            let plain = read.merge == Merge::Concatenate && read.hidden == 0 && read.skip == 0 && read.take.is_none();
            let shards = read.shards.clone();
            (of_shards(read), plain.then_some(shards))
        }
        Plan::Route(route) => {
            let shards = Some(vec![route.shard]);
            (of_shards(of_one(route.shard, route.text.unwrap_or(question))), shards)
        }
        Plan::Home => (of_shards(of_one(input.session.home, question)), None),
        Plan::Workbench(workbench) if workbench.returns => (RowSource::Workbench(workbench), None),
        _ => {
            return Err(Need::RowsInOnePlace.refused(
                "INSERT … SELECT of such a query is not supported on several shards: read the rows first, and insert them as values, in a transaction",
            ));
        }
    };
    // What several shards return has no order.
    if let Some(shards) = shards.filter(|shards| stays && (returning.is_none() || shards.len() == 1)) {
        return in_place(input, target, &varying, shards, &edits);
    }
    let new_row = new_row?;
    let mut rows = vec![Piece::Text(b"VALUES ".to_vec()), Piece::Rows];
    if !new_row.is_empty() && !input.session.mariadb {
        rows.push(Piece::Text(query_columns::ALIAS.to_vec()));
    }
    for (range, with) in new_row {
        edits.replace(range, with);
    }
    Ok(resolved(input, whole, found, (edits, rows), insert, target))
}

/// A query without parentheses that mean nothing.
fn without_parentheses<'a>(query: &'a Query<'a>) -> &'a Query<'a> {
    match query.body {
        QueryBody::Nested(inner)
            if query.with.is_none() && query.order_by.is_empty() && query.limit.is_none() && query.locks.is_empty() =>
        {
            without_parentheses(inner)
        }
        _ => query,
    }
}

/// Each shard's rows stay there.
fn in_place(
    input: &Input<'_>,
    target: &Target<'_>,
    varying: &Varying,
    shards: Vec<ShardId>,
    edits: &Edits,
) -> Result<Plan, Refusal> {
    let reason = "the shard key passes through unchanged: each row stays on its shard".to_owned();
    if let [shard] = shards[..] {
        return Ok(Plan::Route(Route { shard, text: None, raise: None, reason }));
    }
    let alike = varying.alike(&[*target], true)?;
    let kind = WriteKind::Everywhere(shards, edits.apply(input.text));
    Ok(Plan::Write(Write { kind, alike, raise: None, returns: None, reason }))
}

/// The rows are read first.
fn resolved(
    input: &Input<'_>,
    query: &Query<'_>,
    found: RowSource,
    (mut edits, rows): (Edits, Vec<Piece>),
    insert: &Insert<'_>,
    target: &Target<'_>,
) -> Plan {
    let range = query.span.range();
    edits.forget_within(&range);
    let visible = || target.table.columns.iter().filter(|column| !column.invisible).count();
    let columns = insert.columns.map_or_else(visible, <[_]>::len);
    let none = (!insert.returning.is_empty()).then(|| {
        let mut edits = edits.clone();
        let nulls = vec!["NULL"; columns.max(1)].join(",");
        edits.replace(range.clone(), format!("SELECT {nulls} FROM DUAL WHERE 1 = 0").into_bytes());
        edits.sort();
        (target.keeper(), edits.apply(input.text))
    });
    edits.push(range, rows);
    let resolve = Resolve {
        ask: None,
        read: None,
        lazy: false,
        none,
        rows: Some(found),
        columns: u16::try_from(columns).ok(),
        ignore: insert.ignore,
        generate: None,
        edits: edits.into_sorted(),
    };
    let reason = "the query's rows are read first, in the same transaction, and become rows of values".to_owned();
    Plan::Write(Write {
        kind: WriteKind::Resolve(resolve),
        alike: SharedValues::default(),
        raise: None,
        returns: Returning::of(insert.returning).map(|_| Returns::All),
        reason,
    })
}

/// Rows that the shards give.
pub(super) fn of_shards(read: Read) -> RowSource {
    RowSource::Shards(Box::new(read))
}

/// A query of one shard.
pub(super) fn of_one(shard: ShardId, text: Vec<u8>) -> Read {
    Read { locks: true, ..Read::of_one(shard, text, Vec::new(), "its tables meet on one shard".to_owned()) }
}

/// Whether each row that a shard's query gives has a key of that shard.
fn passes_key(
    input: &Input<'_>,
    insert: &Insert<'_>,
    query: &Query<'_>,
    target: &Target<'_>,
    facts: &Facts<'_>,
) -> bool {
    let Some(key) = target.key() else { return false };
    let QueryBody::Select(select) = query.body else { return false };
    // Explicit values of AUTO_INCREMENT would have to raise the sequence.
    if target.table.auto_increment.is_some() || query.with.is_some() || !select.from.iter().all(is_inner) {
        return false;
    }
    key.columns.iter().enumerate().all(|(nth, column)| {
        let place = inserted(insert, target).position(|at| at == Some(*column));
        place.is_some_and(|place| is_same_key(input, target, facts, (nth, *column), selected(select, place)))
    })
}

/// The columns that the query's columns become, in their order.
pub(super) fn inserted<'i>(insert: &'i Insert<'_>, target: &'i Target<'_>) -> impl Iterator<Item = Option<usize>> + 'i {
    let named = insert.columns.into_iter().flatten().map(|name| target.table.column(name.name.name));
    let all = target.table.columns.iter().enumerate().filter(|(_, column)| !column.invisible);
    named.chain(all.filter(|_| insert.columns.is_none()).map(|(at, _)| Some(at)))
}

/// What a query selects in a place, if all before it are expressions.
pub(super) fn selected<'a>(select: &'a Select<'a>, place: usize) -> Option<&'a Expr<'a>> {
    let plain = |kind: &SelectItemKind<'_>| matches!(kind, SelectItemKind::Expr(..));
    if !select.items.iter().take(place + 1).all(|item| plain(&item.kind)) {
        return None;
    }
    match &select.items.get(place)?.kind {
        SelectItemKind::Expr(expr, _) => Some(expr),
        _ => None,
    }
}

/// Whether an expression is the same column of the shard key of a table whose rows are placed alike.
fn is_same_key(
    input: &Input<'_>,
    target: &Target<'_>,
    facts: &Facts<'_>,
    (nth, column): (usize, usize),
    expr: Option<&Expr<'_>>,
) -> bool {
    let Some(Expr { kind: ExprKind::Column(name), .. }) = expr.map(Expr::bare) else { return false };
    let found = facts.names.columns.iter().find(|known| known.name.name.span == name.name.span);
    let Some(source) = found.and_then(|found| found.only()) else { return false };
    let SourceKind::Table(table) = &facts.names.sources[source].kind else { return false };
    let Some(known) = Target::of(input.catalog, table.database.unwrap_or_default(), table.name) else { return false };
    let (Placement::Sharded(from), Placement::Sharded(to)) = (&known.table.placement, &target.table.placement) else {
        return false;
    };
    let same_type = |column: usize| {
        let (one, other) = (&known.table.columns[column].kind, &target.table.columns);
        one.full == other[to.columns[nth]].kind.full && one.collation == other[to.columns[nth]].kind.collation
    };
    known.database_name == target.database_name
        && from.method == to.method
        && from.columns.len() == to.columns.len()
        && to.columns[nth] == column
        && known.table.column(name.name.name) == Some(from.columns[nth])
        && same_type(from.columns[nth])
}

/// Whether a row of it has a row of each of its tables.
pub(super) fn is_inner(table: &TableRef<'_>) -> bool {
    let mut stack = vec![table];
    while let Some(table) = stack.pop() {
        match &table.kind {
            TableRefKind::Join(Join { kind: JoinKind::Inner | JoinKind::Straight, left, right, .. }) => {
                stack.extend([left, right]);
            }
            TableRefKind::Join(_) => return false,
            TableRefKind::Nested(tables) => stack.extend(tables.iter()),
            TableRefKind::Odbc(table) => stack.push(table),
            _ => {}
        }
    }
    true
}
