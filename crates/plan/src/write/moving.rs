//! UPDATE of a shard key: the rows move to the shards of their new keys.
//!
//! What must always hold: a row that is taken away from one shard is put on another one in the same transaction, with all its columns;
//! what a server does at an UPDATE and would not do at DELETE and INSERT (triggers, ON UPDATE, cascades) is refused.

use std::ops::Range;

use weir_catalog::{Column, Located, Placement, ShardId};
use weir_sql::ast::{Assignment, Expr, ExprKind, StatementKind, TableRefKind, Update};
use weir_sql::visit::{Flow, Node, walk};

use super::Input;
use super::edits::Edits;
use super::forms::{form, put_read};
use super::literal::{charset, put_name, put_text};
use super::names::Target;
use super::nulls::is_strict;
use super::through_view::is_view;
use crate::{Form, Move, Need, Plan, Read, Refusal};

/// What reads the rows with their new values, and what takes them away and puts them back.
pub(super) fn plan_move(input: &Input<'_>, target: &Target<'_>) -> Result<Move, Refusal> {
    let StatementKind::Update(update) = input.statement.kind else {
        return Err(Need::Nothing.refused("A change of a shard key"));
    };
    let alias = check(input, target, update)?;
    let question = question(input, target, update, &alias)?;
    let order = order_of_rows(input, target, update, &alias);
    let ordered = read_of(input, &question, &order)?;
    // Shards may not be able to bring their rows into the order of the key.
    let rows = match ordered {
        None if update.order_by.is_empty() => read_of(input, &question, b"")?,
        ordered => ordered,
    };
    let rows = rows.ok_or_else(|| {
        Need::RowsInOnePlace.refused(
            "A change of a shard key with such a condition is not supported: DELETE and INSERT the rows, in a transaction",
        )
    })?;
    let Question { forms, names, .. } = question;
    let table = target.table;
    let first_value = forms.len() + 1;
    let kept = |column: usize| table.columns[..column].iter().filter(|column| !column.generated).count();
    let key = target.key().map_or(&[][..], |key| &key.columns);
    let catalog = input.catalog;
    let known = || {
        Some((
            catalog.database(target.database_name.as_bytes())?.1,
            catalog.table(target.database_name.as_bytes(), target.name.as_bytes())?.1,
        ))
    };
    let (database, known) = known().ok_or_else(|| Need::Nothing.refused("The table is not known"))?;
    Ok(Move {
        shards: target.database.shards.clone(),
        rows: Box::new(rows),
        forms,
        key: key.iter().map(|column| first_value + kept(*column)).collect(),
        delete: delete_of(target),
        insert: [b"INSERT INTO ", &qualified(target)[..], b" (", &names, b") VALUES "].concat(),
        check: target.may_take_time().then(|| on_update(target)),
        database: database.clone(),
        table: known.clone(),
        weights: input.weights.clone(),
        strict: is_strict(input.session),
    })
}

/// What reads the rows in an order, and locks them; `None`: not the shards by themselves.
fn read_of(input: &Input<'_>, question: &Question, order: &[u8]) -> Result<Option<Read>, Refusal> {
    let text = [&question.text[..], order, &question.limit, b" FOR UPDATE"].concat();
    Ok(match input.reads.query(&text)? {
        Plan::Read(rows) => Some(rows),
        Plan::Route(route) => Some(super::select::of_one(route.shard, route.text.unwrap_or(text))),
        _ => None,
    })
}

/// The order in which one server changes the rows: where a row gets the key of another one, it decides whether that is an error. Without
/// ORDER BY a server goes along the primary key, unless an index finds the rows; with LIMIT alone, it takes any.
fn order_of_rows(input: &Input<'_>, target: &Target<'_>, update: &Update<'_>, alias: &[u8]) -> Vec<u8> {
    let mut order = b" ORDER BY ".to_vec();
    if let (Some(first), Some(last)) = (update.order_by.first(), update.order_by.last()) {
        let mut edits = Edits::of_parameters(input.statement, input.text, input.session);
        edits.sort();
        order.extend(edits.cut(input.text, first.span.to(last.span).range()));
        return order;
    }
    for (nth, column) in target.table.primary_key.iter().enumerate() {
        if nth > 0 {
            order.push(b',');
        }
        order.extend_from_slice(alias);
        order.push(b'.');
        put_name(&mut order, target.table.columns[*column].name.as_bytes());
    }
    order
}

/// The shard of rows that get these values, if all columns of the shard key are assigned values that are known.
///
/// # Errors
/// [`Refusal::NeedsWeights`].
pub(super) fn place_of_assigned(
    input: &Input<'_>,
    target: &Target<'_>,
    assignments: &[Assignment<'_>],
) -> Result<Option<ShardId>, Refusal> {
    let Some(key) = target.key() else { return Ok(None) };
    let assigned = |column: &usize| {
        let is_it = |one: &&Assignment<'_>| target.table.column(one.column.name.name) == Some(*column);
        assignments.iter().rfind(is_it).map(|one| &one.value)
    };
    let Some(values) = key.columns.iter().map(assigned).collect::<Option<Vec<_>>>() else { return Ok(None) };
    match input.reads.stored(target.database, target.table, &values) {
        Some(Located::Shard(shard)) => Ok(Some(shard)),
        Some(Located::NeedsWeights(collation, characters)) => Err(Refusal::NeedsWeights(collation, characters)),
        Some(Located::Nowhere | Located::Unsure) | None => Ok(None),
    }
}

/// What reads the rows, with their keys and their new values.
struct Question {
    /// Up to the order of the rows.
    text: Vec<u8>,
    /// What follows the order.
    limit: Vec<u8>,
    /// How the columns of the primary key are read.
    forms: Vec<Form>,
    /// The names of the columns whose values follow.
    names: Vec<u8>,
}

/// The question has the primary key, whether the row changes at all, and its new values.
fn question(input: &Input<'_>, target: &Target<'_>, update: &Update<'_>, alias: &[u8]) -> Result<Question, Refusal> {
    let table = target.table;
    let mut edits = Edits::of_parameters(input.statement, input.text, input.session);
    edits.sort();
    let cut = |range| edits.cut(input.text, range);
    let assigned = |column: &Column| update.assignments.iter().rfind(|one| one.column.name.is(&column.name));
    let new = |one: &Assignment<'_>| [b"(", &cut(one.value.span.range())[..], b")"].concat();

    let mut text = b"SELECT ".to_vec();
    let mut forms = Vec::new();
    for column in &table.primary_key {
        let column = &table.columns[*column];
        let form = form(column).ok_or_else(|| unreadable(column))?;
        put_read(&mut text, None, column, &form);
        text.push(b',');
        forms.push(form);
    }
    let same: Vec<Vec<u8>> = update
        .assignments
        .iter()
        .map(|one| {
            let column = table.column(one.column.name.name).map(|at| &table.columns[at]);
            put_same(column, &cut(one.column.span().range()), &new(one))
        })
        .collect();
    text.extend_from_slice(b"NOT (");
    text.extend(same.join(&b" AND "[..]));
    text.push(b')');
    let mut names = Vec::new();
    for column in table.columns.iter().filter(|column| !column.generated) {
        text.push(b',');
        match assigned(column) {
            Some(one) => text.extend(new(one)),
            None if column.kind.base == "float" => return Err(unreadable(column)),
            None => {
                text.extend_from_slice(alias);
                text.push(b'.');
                put_name(&mut text, column.name.as_bytes());
            }
        }
        if !names.is_empty() {
            names.push(b',');
        }
        put_name(&mut names, column.name.as_bytes());
    }
    put_clauses(&mut text, update, &cut);
    let limit = update.limit.map(|limit| [b" ", &cut(limit.span.range())[..]].concat()).unwrap_or_default();
    Ok(Question { text, limit, forms, names })
}

/// Whether a column keeps its value: servers compare the bytes of texts, whatever the collation.
fn put_same(column: Option<&Column>, old: &[u8], new: &[u8]) -> Vec<u8> {
    let texts = |base: &str| base.ends_with("char") || base.ends_with("text");
    let collation =
        column.filter(|column| texts(&column.kind.base)).and_then(|column| column.kind.collation.as_deref());
    let Some(collation) = collation else { return [old, b" <=> ", new].concat() };
    let using = [b" USING ", charset(collation).as_bytes()].concat();
    [b"CAST(", old, b" AS BINARY) <=> CAST(CONVERT(", new, &using, b") AS BINARY)"].concat()
}

/// Which rows: as the client has said.
fn put_clauses(text: &mut Vec<u8>, update: &Update<'_>, cut: &dyn Fn(Range<usize>) -> Vec<u8>) {
    text.extend_from_slice(b" FROM ");
    text.extend(cut(update.tables[0].span.range()));
    if let Some(condition) = update.condition {
        text.extend_from_slice(b" WHERE ");
        text.extend(cut(condition.span.range()));
    }
}

/// Takes rows away, whose keys follow.
fn delete_of(target: &Target<'_>) -> Vec<u8> {
    let mut delete = [b"DELETE FROM ", &qualified(target)[..], b" WHERE ("].concat();
    for (nth, column) in target.table.primary_key.iter().enumerate() {
        if nth > 0 {
            delete.push(b',');
        }
        put_name(&mut delete, target.table.columns[*column].name.as_bytes());
    }
    delete.extend_from_slice(b") IN (");
    delete
}

fn qualified(target: &Target<'_>) -> Vec<u8> {
    let mut name = Vec::new();
    put_name(&mut name, target.database_name.as_bytes());
    name.push(b'.');
    put_name(&mut name, target.name.as_bytes());
    name
}

/// Refuses what DELETE and INSERT would not do as UPDATE does. Gives what the table goes by in the statement.
fn check(input: &Input<'_>, target: &Target<'_>, update: &Update<'_>) -> Result<Vec<u8>, Refusal> {
    let table = target.table;
    let no = |why: &str| {
        let shown = target.shown();
        Err(Need::RowsInOnePlace.refused(format!(
            "A change of the shard key of {shown} moves rows, and {why}: DELETE and INSERT them in a transaction"
        )))
    };
    let [one] = update.tables else { return no("the statement has several tables") };
    let TableRefKind::Table(named) = one.kind else { return no("its table is joined") };
    let shard_key = target.key().map_or(&[][..], |key| &key.columns);
    if table.primary_key.is_empty() || !shard_key.iter().all(|column| table.primary_key.contains(column)) {
        return no("it has no primary key that is unique over all shards");
    }
    if is_view(input.catalog, target.database_name, target.name) {
        return no("a view may not show all of their columns");
    }
    if table.triggers {
        return no("its triggers would see a DELETE and an INSERT");
    }
    let refers = input.catalog.databases.values().flat_map(|database| database.tables.values()).any(|other| {
        other.foreign_keys.iter().any(|key| key.table.0 == target.database_name && key.table.1 == target.name)
    });
    if refers {
        return no("foreign keys refer to it");
    }
    if update.ignore || update.with.is_some() {
        return no("IGNORE and WITH say what an UPDATE does");
    }
    let mut before: Vec<&[u8]> = Vec::new();
    for assignment in update.assignments {
        if matches!(assignment.value.bare().kind, ExprKind::Word(_)) || reads(&assignment.value, &before) {
            return no("an assignment is DEFAULT, or reads a column that another one has changed");
        }
        before.push(assignment.column.name.name);
    }
    if !matches!(table.placement, Placement::Sharded(_)) {
        return no("it is not sharded");
    }
    let mut name = Vec::new();
    put_name(&mut name, named.alias.map_or(named.name.name.name, |alias| alias.name));
    Ok(name)
}

/// Whether an expression has a query, or reads one of these columns.
fn reads(value: &Expr<'_>, columns: &[&[u8]]) -> bool {
    !walk(Node::Expr(value), &mut |node: Node<'_>| match node {
        Node::Query(_) => Flow::Stop,
        Node::Expr(Expr { kind: ExprKind::Column(name), .. })
            if columns.iter().any(|column| column.eq_ignore_ascii_case(name.name.name)) =>
        {
            Flow::Stop
        }
        _ => Flow::Descend,
    })
}

/// Tells whether a column of the table changes by itself at an UPDATE: then it has rows.
fn on_update(target: &Target<'_>) -> Vec<u8> {
    let mut text = b"SELECT column_name FROM information_schema.columns WHERE table_schema = ".to_vec();
    put_text(&mut text, target.database_name.as_bytes(), "utf8mb4");
    text.extend_from_slice(b" AND table_name = ");
    put_text(&mut text, target.name.as_bytes(), "utf8mb4");
    text.extend_from_slice(b" AND extra LIKE _utf8mb4'%on update%'");
    text
}

fn unreadable(column: &Column) -> Refusal {
    Need::OtherForm.refused(format!(
        "A change of a shard key moves rows, and values of '{}' have no exact text: DELETE and INSERT them",
        column.name
    ))
}
