//! UPDATE and DELETE with LIMIT: which rows is found out over all shards first, by their primary keys, and they are locked.
//!
//! What must always hold: the rows that are changed are those that were found, each on the shard that has it: the primary key is
//! unique over all shards.

use std::ops::Range;

use weir_catalog::Column;
use weir_sql::ast::{Expr, Limit, OrderItem, StatementKind, TableRef, TableRefKind};

use super::Input;
use super::edits::Edits;
use super::forms::{form, put_read};
use super::literal::put_name;
use super::names::Target;
use crate::{Form, Gather, Need, Plan, Refusal};

/// The clauses of a change of one table.
struct Clauses<'a> {
    table: &'a TableRef<'a>,
    condition: Option<Expr<'a>>,
    order_by: &'a [OrderItem<'a>],
    limit: &'a Limit<'a>,
    /// Where WHERE goes, if there is none.
    where_at: usize,
}

impl<'a> Clauses<'a> {
    fn of(input: &Input<'a>) -> Option<Clauses<'a>> {
        match input.statement.kind {
            StatementKind::Update(update) if update.with.is_none() => {
                let ([table], Some(limit)) = (update.tables, update.limit) else { return None };
                let where_at = update.assignments.last()?.span.range().end;
                Some(Clauses { table, condition: update.condition, order_by: update.order_by, limit, where_at })
            }
            StatementKind::Delete(delete) if delete.with.is_none() && !delete.history => {
                let ([table], Some(limit)) = (delete.tables, delete.limit) else { return None };
                let where_at = table.span.range().end;
                Some(Clauses { table, condition: delete.condition, order_by: delete.order_by, limit, where_at })
            }
            _ => None,
        }
        .filter(|clauses| matches!(clauses.table.kind, TableRefKind::Table(_)))
    }
}

/// What finds the rows, and what changes them.
pub(super) fn plan_gather(input: &Input<'_>, target: &Target<'_>) -> Result<Gather, Refusal> {
    let clauses =
        Clauses::of(input).ok_or_else(|| Need::RowsInOnePlace.refused("LIMIT in this form of a change of rows of several shards: read the rows first, in a transaction, and change them by their keys"))?;
    let table = target.table;
    let shard_key = target.key().map_or(&[][..], |key| &key.columns);
    if table.primary_key.is_empty() || !shard_key.iter().all(|column| table.primary_key.contains(column)) {
        return Err(Need::RowsInOnePlace.refused(format!(
            "LIMIT in a change of rows of several shards: {} has no primary key that is unique over all of them, by which rows could be told. Leave LIMIT out, or name the shard key in WHERE",
            target.shown()
        )));
    }
    let mut edits = Edits::of_parameters(input.statement, input.text, input.session);
    edits.sort();
    let columns = || table.primary_key.iter().map(|column| &table.columns[*column]);
    let mut forms = Vec::new();
    for column in columns() {
        forms.push(form(column).ok_or_else(|| {
            Need::RowsInOnePlace.refused(format!(
                "LIMIT in a change of rows of several shards: values of '{}' have no exact text. Leave LIMIT out, or name the shard key in WHERE",
                column.name
            ))
        })?);
    }
    let cut = |range: Range<usize>| edits.cut(input.text, range);
    let question = question(&clauses, columns().zip(&forms), &cut);
    let Plan::Read(rows) = input.reads.query(&question)? else {
        return Err(Need::RowsInOnePlace.refused(
            "LIMIT in a change of rows that can't be found out first: read the rows in a transaction, and change them by their keys",
        ));
    };

    let (mut head, rest) = match clauses.condition {
        Some(condition) => (cut(0..condition.span.range().start), condition.span.range().end),
        None => (cut(0..clauses.where_at), clauses.where_at),
    };
    if clauses.condition.is_none() {
        head.extend_from_slice(b" WHERE ");
    }
    put_key(&mut head, columns().map(|column| &*column.name));
    head.extend_from_slice(b" IN (");
    let limit = clauses.limit.span.range();
    let mut tail = b")".to_vec();
    tail.extend(cut(rest..limit.start));
    tail.extend(cut(limit.end..input.text.len()));
    let update = matches!(input.statement.kind, StatementKind::Update(_));
    Ok(Gather { rows: Box::new(rows), update, forms, head, tail })
}

/// The query that finds the keys of the rows. `cut`: a range of the client's text.
fn question<'t>(
    clauses: &Clauses<'_>,
    columns: impl Iterator<Item = (&'t Column, &'t Form)>,
    cut: &dyn Fn(Range<usize>) -> Vec<u8>,
) -> Vec<u8> {
    let mut question = b"SELECT ".to_vec();
    for (nth, (column, form)) in columns.enumerate() {
        if nth > 0 {
            question.push(b',');
        }
        put_read(&mut question, column, form);
    }
    question.extend_from_slice(b" FROM ");
    question.extend(cut(clauses.table.span.range()));
    if let Some(condition) = clauses.condition {
        question.extend_from_slice(b" WHERE ");
        question.extend(cut(condition.span.range()));
    }
    if let (Some(first), Some(last)) = (clauses.order_by.first(), clauses.order_by.last()) {
        question.extend_from_slice(b" ORDER BY ");
        question.extend(cut(first.span.to(last.span).range()));
    }
    question.push(b' ');
    question.extend(cut(clauses.limit.span.range()));
    question.extend_from_slice(b" FOR UPDATE");
    question
}

fn put_key<'n>(out: &mut Vec<u8>, names: impl Iterator<Item = &'n str>) {
    out.push(b'(');
    for (nth, name) in names.enumerate() {
        if nth > 0 {
            out.push(b',');
        }
        put_name(out, name.as_bytes());
    }
    out.push(b')');
}
