//! What MySQL refuses of a write whose subqueries read the table that it changes.
//!
//! What must always hold: nothing is refused that MySQL runs, and what it refuses is refused with its own error. MariaDB reads first, and
//! refuses none of it.

use weir_catalog::{Catalog, Database};
use weir_sql::ast::{Expr, ExprKind, InList, NamedTable, Query, QueryBody, StatementKind, TableRef, TableRefKind};
use weir_sql::visit::{Flow, Node, walk};
use weir_sql::{Bump, Dialect, LexMode};
use weir_wire::error::codes;

use super::names::Target;
use super::{Input, mistake};
use crate::Refusal;
use crate::analysis::is_mergeable;

/// Views within views.
const DEEPEST: usize = 32;

/// What a subquery reads that is changed.
enum Read {
    /// The target itself.
    Table(String),
    /// A view that MySQL reads as the tables behind it; the name that it goes by.
    Through(String, String),
}

/// `aliased`: MySQL does not see through another name of the table when it is false.
///
/// # Errors
/// Errors 1093 and 1443.
pub(super) fn refuse_own_reads(input: &Input<'_>, targets: &[Target<'_>], aliased: bool) -> Result<(), Refusal> {
    if input.session.mariadb {
        return Ok(());
    }
    match own_read(input, targets, aliased) {
        None => Ok(()),
        Some(Read::Table(name)) => Err(mistake(
            codes::ER_UPDATE_TABLE_USED,
            format!("You can't specify target table '{name}' for update in FROM clause"),
        )),
        Some(Read::Through(view, target)) => {
            let operation = match input.statement.kind {
                StatementKind::Update(_) => "UPDATE",
                StatementKind::Delete(_) => "DELETE",
                _ => "INSERT",
            };
            Err(mistake(
                codes::ER_VIEW_PREVENT_UPDATE,
                format!("The definition of table '{view}' prevents operation {operation} on table '{target}'."),
            ))
        }
    }
}

fn own_read(input: &Input<'_>, targets: &[Target<'_>], aliased: bool) -> Option<Read> {
    let mut read = None;
    walk(Node::Statement(input.statement), &mut |node: Node<'_>| {
        let query = match node {
            Node::Expr(Expr { kind: ExprKind::Subquery(query) | ExprKind::Exists(query), .. }) => Some(*query),
            Node::Expr(Expr { kind: ExprKind::In(list), .. }) => match list.list {
                InList::Query(query) => Some(query),
                InList::Values(_) => None,
            },
            Node::Expr(Expr { kind: ExprKind::Quantified(quantified), .. }) => Some(quantified.query),
            _ => None,
        };
        if let Some(query) = query {
            walk(Node::Query(query), &mut |node: Node<'_>| {
                match node {
                    // It is made before anything is changed.
                    Node::TableRef(TableRef { kind: TableRefKind::Derived(_), .. }, _) => return Flow::Skip,
                    Node::TableRef(TableRef { kind: TableRefKind::Table(named), .. }, _) => {
                        read = read.take().or_else(|| named_read(input, targets, named, aliased));
                    }
                    _ => {}
                }
                if read.is_some() { Flow::Stop } else { Flow::Descend }
            });
        }
        if read.is_some() { Flow::Stop } else { Flow::Descend }
    });
    read
}

fn named_read(input: &Input<'_>, targets: &[Target<'_>], named: &NamedTable<'_>, aliased: bool) -> Option<Read> {
    let database = named.name.database.map(|name| name.name).or(input.session.database).unwrap_or_default();
    if let Some(known) = Target::of(input.catalog, database, named.name.name.name) {
        let target = targets.iter().find(|target| known.is_same(target))?;
        return (aliased || named.alias.is_none()).then(|| Read::Table(target.name.to_owned()));
    }
    let (_, of) = input.catalog.database(database)?;
    let target = view_target(input.catalog, of, named.name.name.name, targets, 0)?;
    let called = named.alias.unwrap_or(named.name.name).name;
    Some(Read::Through(String::from_utf8_lossy(called).into_owned(), name_of(input, target)))
}

/// The name that a target goes by in the statement, which names it first.
fn name_of(input: &Input<'_>, target: &Target<'_>) -> String {
    let mut found = None;
    walk(Node::Statement(input.statement), &mut |node: Node<'_>| {
        if let Node::TableRef(TableRef { kind: TableRefKind::Table(named), .. }, _) = node {
            let database = named.name.database.map(|name| name.name).or(input.session.database).unwrap_or_default();
            let same = Target::of(input.catalog, database, named.name.name.name).is_some_and(|one| one.is_same(target));
            found = named.alias.filter(|_| same).map(|alias| String::from_utf8_lossy(alias.name).into_owned());
            return if same { Flow::Stop } else { Flow::Skip };
        }
        if matches!(node, Node::Expr(_)) { Flow::Skip } else { Flow::Descend }
    });
    found.unwrap_or_else(|| target.name.to_owned())
}

/// The target that stands behind a view, if MySQL reads the view as the tables behind it.
fn view_target<'t, 'a>(
    catalog: &Catalog,
    database: &Database,
    name: &[u8],
    targets: &'t [Target<'a>],
    depth: usize,
) -> Option<&'t Target<'a>> {
    let (_, text) = database.view(name, catalog.fold_case)?;
    let arena = Bump::new();
    let mode = LexMode { dialect: Dialect::MySql, ..LexMode::default() };
    let parsed = weir_sql::parse(&arena, text.as_bytes(), mode).ok()?;
    let [statement] = parsed.statements else { return None };
    let StatementKind::Query(query) = statement.kind else { return None };
    if depth >= DEEPEST || !merges(query) {
        return None;
    }
    let mut found = None;
    walk(Node::Statement(statement), &mut |node: Node<'_>| {
        match node {
            Node::TableRef(TableRef { kind: TableRefKind::Derived(derived), .. }, _) if !merges(derived.query) => {
                return Flow::Skip;
            }
            Node::TableRef(TableRef { kind: TableRefKind::Table(named), .. }, _) => {
                let of = named.name.database.map(|name| name.name).unwrap_or_default();
                found = match Target::of(catalog, of, named.name.name.name) {
                    Some(known) => targets.iter().find(|target| known.is_same(target)),
                    None => catalog
                        .database(of)
                        .and_then(|(_, of)| view_target(catalog, of, named.name.name.name, targets, depth + 1)),
                };
            }
            _ => {}
        }
        if found.is_some() { Flow::Stop } else { Flow::Descend }
    });
    found
}

/// Whether MySQL can read a view's or a derived table's query as a part of the query that names it (the manual's "Derived Table
/// Optimization").
fn merges(query: &Query<'_>) -> bool {
    let QueryBody::Select(select) = query.body else { return false };
    query.limit.is_none() && !select.from.is_empty() && is_mergeable(select)
}
