//! UPDATE and DELETE of rows that are found first, by their primary keys, and locked: with LIMIT, which is meant over all shards, or with
//! conditions that need rows of several shards.
//!
//! What must always hold: the rows that are changed are those that were found, each on the shard that has it: the primary key is
//! unique over all shards. Values that depend on other rows are found with them, and each row is assigned its own.

use std::borrow::Cow;
use std::ops::Range;

use weir_catalog::ShardId;
use weir_sql::ast::{Assignment, Expr, ExprKind, Limit, OrderItem, Span, StatementKind, TableRef, TableRefKind, With};
use weir_sql::facts::Facts;
use weir_sql::resolve::{ColumnUse, Roles, Source, SourceKind};

use super::Input;
use super::change::assigned_source;
use super::edits::Edits;
use super::forms::{form, put_read};
use super::literal::put_name;
use super::locking::lock_clause;
use super::names::{Target, with_facts};
use super::resolve::row_source;
use super::stored_as;
use crate::analysis::has_query;
use crate::{Assigned, ByKey, Form, Gather, Need, Refusal, RowSource};

/// The clauses of a change of one table, which may read others.
struct Clauses<'a> {
    with: Option<&'a With<'a>>,
    tables: &'a [TableRef<'a>],
    /// The statement's form has one table only, with its clauses behind it.
    single: bool,
    assignments: Cow<'a, [Assignment<'a>]>,
    ignore: bool,
    condition: Option<Expr<'a>>,
    order_by: &'a [OrderItem<'a>],
    limit: Option<&'a Limit<'a>>,
    /// Where WHERE goes, if there is none.
    where_at: usize,
}

impl<'a> Clauses<'a> {
    fn of(input: &Input<'a>) -> Option<Clauses<'a>> {
        let is_table =
            |tables: &[TableRef<'_>]| matches!(tables, [table] if matches!(table.kind, TableRefKind::Table(_)));
        match input.statement.kind {
            StatementKind::Update(update) => Some(Clauses {
                with: update.with,
                tables: update.tables,
                single: is_table(update.tables),
                assignments: Cow::Borrowed(update.assignments),
                ignore: update.ignore,
                condition: update.condition,
                order_by: update.order_by,
                limit: update.limit,
                where_at: update.assignments.last()?.span.range().end,
            }),
            StatementKind::Delete(delete) if !delete.history => Some(Clauses {
                with: delete.with,
                tables: delete.tables,
                single: delete.targets.is_empty() && is_table(delete.tables),
                assignments: Cow::Borrowed(&[]),
                ignore: delete.ignore,
                condition: delete.condition,
                order_by: delete.order_by,
                limit: delete.limit,
                where_at: delete.tables.last()?.span.range().end,
            }),
            _ => None,
        }
    }

    fn tables_range(&self) -> Option<Range<usize>> {
        Some(self.tables.first()?.span.to(self.tables.last()?.span).range())
    }
}

/// What finds the rows, and what changes them. `targets`: the tables that are changed; if there are several, with which of the statement's
/// tables each is. `varies`: what is assigned may differ from server to server, so that copies of a row need one value.
pub(super) fn plan_gather(
    input: &Input<'_>,
    targets: &[(&Target<'_>, Option<usize>)],
    varies: bool,
) -> Result<Gather, Refusal> {
    let mut edits = Edits::of_parameters(input.statement, input.text, input.session);
    edits.sort();
    let cut = |range: Range<usize>| edits.cut(input.text, range);
    let clauses = || Clauses::of(input).ok_or_else(|| unfit("its form does not allow that"));
    let all = clauses()?;
    let mut selected = Vec::new();
    let mut changes = Vec::with_capacity(targets.len());
    for (target, source) in targets {
        changes.push(by_key(input, clauses()?, (target, *source, varies), &mut selected, &cut)?);
    }
    let tables = all.tables_range().ok_or_else(|| unfit("its form does not allow that"))?;
    let rows = row_source(input, question(&all, tables, &selected, input.session.mariadb, &cut))?;
    for (change, (target, _)) in changes.iter_mut().zip(targets) {
        change.shards = changing(target, &rows);
    }
    let update = matches!(input.statement.kind, StatementKind::Update(_));
    // MariaDB's DELETE only warns of what is wrong with a value that it compares.
    let ignore = all.ignore || !update && input.session.mariadb;
    let returning = match input.statement.kind {
        StatementKind::Delete(delete) => delete.returning,
        _ => &[],
    };
    let describes = returning.first().zip(returning.last()).map(|(first, last)| {
        let list = cut(first.span.to(last.span).range());
        [b"SELECT ", &list[..], b" FROM ", &cut(all.tables_range().unwrap_or_default()), b" LIMIT 0"].concat()
    });
    let returns_in_order = describes.is_some() && !all.order_by.is_empty();
    Ok(Gather { rows, ignore, update, returns_in_order, describes, changes })
}

fn unfit(why: &str) -> Refusal {
    Need::OtherForm.refused(format!(
        "This change needs rows of several shards in one place, and {why}: read the rows first, in a transaction, and change them by their keys"
    ))
}

/// The change of one table. What it takes of the rows that are found goes to `selected`.
fn by_key(
    input: &Input<'_>,
    mut clauses: Clauses<'_>,
    (target, source, varies): (&Target<'_>, Option<usize>, bool),
    selected: &mut Vec<Vec<u8>>,
    cut: &dyn Fn(Range<usize>) -> Vec<u8>,
) -> Result<ByKey, Refusal> {
    let varies = varies && target.is_global();
    let found = with_facts(input, |facts| values(&mut clauses, target, (source, varies), facts));
    let (called, by_row) = found.map_err(unfit)?;
    let prefix = with_facts(input, |facts| column_prefix(target, &called, facts));
    let table = target.table;
    let shard_key = target.key().map_or(&[][..], |key| &key.columns);
    if table.primary_key.is_empty() || !shard_key.iter().all(|column| table.primary_key.contains(column)) {
        return Err(unfit(&format!(
            "{} has no primary key that is unique over all shards, by which rows could be told",
            target.shown()
        )));
    }
    let columns = || table.primary_key.iter().map(|column| &table.columns[*column]);
    let forms: Option<Vec<Form>> = columns().map(form).collect();
    let forms = forms.ok_or_else(|| unfit("values of its primary key have no exact text"))?;
    let place = selected.len();
    for (column, form) in columns().zip(&forms) {
        let mut read = Vec::new();
        put_read(&mut read, Some(&prefix), column, form);
        selected.push(read);
    }
    let values = clauses.assignments.iter().filter(|one| by_row && !is_default(one));
    selected.extend(with_facts(input, |facts| {
        let value = |one: &Assignment<'_>| {
            let stored_in = table.column(one.column.name.name).map(|column| &table.columns[column]);
            stored_as::assigned(input, facts, (&one.value, cut(one.value.span.range())), stored_in)
        };
        values.map(value).collect::<Vec<_>>()
    }));
    let assigned = if by_row { assigned(&clauses, cut) } else { Vec::new() };
    let (mut head, rest) = match clauses.single && !by_row {
        true => own_text(&clauses, cut, input.text.len()),
        false => (made_text(&clauses, target, &called, (!by_row).then_some(cut)), Vec::new()),
    };
    let mut key = Vec::new();
    put_key(&mut key, columns().map(|column| &*column.name));
    let tail = match by_row {
        true => [b" WHERE ", &key[..], b" = "].concat(),
        false => {
            head.extend_from_slice(&key);
            head.extend_from_slice(b" IN (");
            [b")", &rest[..]].concat()
        }
    };
    Ok(ByKey { place, shards: Vec::new(), global: target.is_global(), forms, assigned, head, tail })
}

/// The shards that may have a row that was found: all of a GLOBAL table's have a copy.
fn changing(target: &Target<'_>, rows: &RowSource) -> Vec<ShardId> {
    match rows {
        _ if target.is_global() => target.database.shards.clone(),
        RowSource::Shards(read) => read.shards.clone(),
        RowSource::Workbench(workbench) => {
            let of_target = |database: &str, table: &str| database == target.database_name && table == target.name;
            let own = workbench.fragments.iter().filter(|one| of_target(&one.table.database, &one.table.table));
            let mut shards: Vec<ShardId> = own.flat_map(|one| one.read.shards.iter().copied()).collect();
            shards.sort_unstable();
            shards.dedup();
            shards
        }
    }
}

/// The name that the target goes by, and whether what is assigned depends on other rows than the target's, or has to be found once because it
/// varies. Where others are changed too, the assignments that are not the target's are left out.
fn values(
    clauses: &mut Clauses<'_>,
    target: &Target<'_>,
    (source, varies): (Option<usize>, bool),
    facts: &Facts<'_>,
) -> Result<(Vec<u8>, bool), &'static str> {
    let several = source.is_some();
    let source = match source {
        Some(source) => source,
        None => only_source(clauses, target, facts)?,
    };
    let within = |outer: Span, inner: Span| outer.start <= inner.start && inner.end <= outer.end;
    let reads = |assignment: &Assignment<'_>| {
        let value = assignment.value.span;
        facts.names.columns.iter().filter(move |column| within(value, column.name.span()))
    };
    let foreign =
        |one: &Assignment<'_>| has_query(&one.value) || reads(one).any(|column| column.only() != Some(source));
    let by_row = !clauses.assignments.is_empty() && (several || varies || clauses.assignments.iter().any(foreign));
    let changed = |one: &Assignment<'_>| assigned_source(one, facts);
    // Whether the old or the new value is meant depends on the form of the statement and on the server.
    let again = |one: &Assignment<'_>, column: &ColumnUse<'_>| {
        clauses.assignments.iter().filter(|other| other.span != one.span).any(|other| {
            let same = column.only().zip(changed(other)).is_none_or(|(read, changed)| read == changed);
            same && other.column.name.name.eq_ignore_ascii_case(column.name.name.name)
        })
    };
    if by_row && clauses.assignments.iter().any(|one| reads(one).any(|column| again(one, column))) {
        return Err("an assignment reads a column that another one changes");
    }
    if several {
        let own = clauses.assignments.iter().filter(|one| changed(one) == Some(source)).copied().collect();
        clauses.assignments = Cow::Owned(own);
    }
    let known = &facts.names.sources[source];
    Ok((known.alias.map_or(target.name.as_bytes(), |alias| alias.name).to_vec(), by_row))
}

/// What a column of the target is qualified with: what it goes by, and its database where tables of several databases go by one name.
fn column_prefix(target: &Target<'_>, called: &[u8], facts: &Facts<'_>) -> Vec<u8> {
    let goes_by_it = |source: &&Source<'_>| match (source.alias, &source.kind) {
        (Some(alias), _) => alias.name.eq_ignore_ascii_case(called),
        (None, SourceKind::Table(table)) => table.name.eq_ignore_ascii_case(called),
        _ => false,
    };
    let mut prefix = Vec::new();
    if facts.names.sources.iter().filter(goes_by_it).count() > 1 && target.name.as_bytes() == called {
        put_name(&mut prefix, target.database_name.as_bytes());
        prefix.push(b'.');
    }
    put_name(&mut prefix, called);
    prefix
}

/// The one of the statement's tables that the target is.
fn only_source(clauses: &Clauses<'_>, target: &Target<'_>, facts: &Facts<'_>) -> Result<usize, &'static str> {
    let is_target = |source: usize| match &facts.names.sources[source].kind {
        SourceKind::Table(table) => {
            let same = |name: &[u8], known: &str| name.eq_ignore_ascii_case(known.as_bytes());
            same(table.name, target.name) && table.database.is_some_and(|name| same(name, target.database_name))
        }
        _ => false,
    };
    let within = |outer: Span, inner: Span| outer.start <= inner.start && inner.end <= outer.end;
    let top = |source: usize| clauses.tables.iter().any(|one| within(one.span, facts.names.sources[source].span));
    let all = || (0..facts.names.sources.len()).filter(|source| is_target(*source) && top(*source));
    // A table that is joined with itself is changed by one of its names.
    let is_written = |source: &usize| match &facts.names.sources[*source].kind {
        SourceKind::Table(table) => table.roles.contains(Roles::WRITTEN),
        _ => false,
    };
    let several = all().count() > 1;
    let mut own = all().filter(|source| !several || is_written(source));
    match (own.next(), own.next()) {
        (Some(source), None) => Ok(source),
        _ => Err("the table that it changes stands there more than once"),
    }
}

fn is_default(assignment: &Assignment<'_>) -> bool {
    matches!(assignment.value.bare().kind, ExprKind::Word(_))
}

/// What each row is assigned.
fn assigned(clauses: &Clauses<'_>, cut: &dyn Fn(Range<usize>) -> Vec<u8>) -> Vec<Assigned> {
    let one = |assignment: &Assignment<'_>| {
        let mut column = Vec::new();
        put_name(&mut column, assignment.column.name.name);
        column.extend_from_slice(b" = ");
        Assigned { column, fixed: is_default(assignment).then(|| cut(assignment.value.span.range())) }
    };
    clauses.assignments.iter().map(one).collect()
}

/// The query that finds the keys of the rows. `cut`: a range of the client's text.
fn question(
    clauses: &Clauses<'_>,
    tables: Range<usize>,
    selected: &[Vec<u8>],
    mariadb: bool,
    cut: &dyn Fn(Range<usize>) -> Vec<u8>,
) -> Vec<u8> {
    let with = clauses.with.map(|with| [&cut(with.span.range())[..], b" "].concat());
    let mut question = with.unwrap_or_default();
    question.extend_from_slice(b"SELECT ");
    question.extend(selected.join(&b','));
    question.extend_from_slice(b" FROM ");
    question.extend(cut(tables));
    if let Some(condition) = clauses.condition {
        question.extend_from_slice(b" WHERE ");
        question.extend(cut(condition.span.range()));
    }
    if let (Some(first), Some(last)) = (clauses.order_by.first(), clauses.order_by.last()) {
        question.extend_from_slice(b" ORDER BY ");
        question.extend(cut(first.span.to(last.span).range()));
    }
    if let Some(limit) = clauses.limit {
        question.push(b' ');
        question.extend(cut(limit.span.range()));
    }
    question.extend(lock_clause(clauses.tables, true, mariadb, cut));
    question
}

/// The client's text up to the condition, and behind the condition, without LIMIT.
fn own_text(clauses: &Clauses<'_>, cut: &dyn Fn(Range<usize>) -> Vec<u8>, end: usize) -> (Vec<u8>, Vec<u8>) {
    let start = clauses.with.map_or(0, |with| with.span.range().end);
    let (head, rest) = match clauses.condition {
        Some(condition) => (cut(start..condition.span.range().start), condition.span.range().end),
        None => ([&cut(start..clauses.where_at)[..], b" WHERE "].concat(), clauses.where_at),
    };
    let tail = match clauses.limit.map(|limit| limit.span.range()) {
        Some(limit) => [cut(rest..limit.start), cut(limit.end..end)].concat(),
        None => cut(rest..end),
    };
    (head, tail)
}

/// A text of one table in place of the client's, up to the key's columns; without its assignments up to these.
fn made_text(
    clauses: &Clauses<'_>,
    target: &Target<'_>,
    called: &[u8],
    assignments: Option<&dyn Fn(Range<usize>) -> Vec<u8>>,
) -> Vec<u8> {
    let mut text = match (&*clauses.assignments, clauses.ignore) {
        ([], false) => b"DELETE FROM ".to_vec(),
        ([], true) => b"DELETE IGNORE FROM ".to_vec(),
        (_, false) => b"UPDATE ".to_vec(),
        (_, true) => b"UPDATE IGNORE ".to_vec(),
    };
    put_name(&mut text, target.database_name.as_bytes());
    text.push(b'.');
    put_name(&mut text, target.name.as_bytes());
    if !clauses.assignments.is_empty() {
        text.extend_from_slice(b" AS ");
        put_name(&mut text, called);
        text.extend_from_slice(b" SET ");
    }
    let Some(cut) = assignments else { return text };
    if let (Some(first), Some(last)) = (clauses.assignments.first(), clauses.assignments.last()) {
        text.extend(cut(first.span.to(last.span).range()));
    }
    text.extend_from_slice(b" WHERE ");
    text
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
