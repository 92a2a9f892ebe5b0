//! Where the text of a query over `information_schema` changes.
//!
//! What must always hold: names refer to the same objects as before, and columns keep their names.

use std::ops::Range;

use weir_sql::ast::{Expr, ExprKind, SelectItem, SelectItemKind, StatementKind};
use weir_sql::visit::{Flow, NameRole, Node, walk};

use super::SCHEMA;
use crate::planner::Planner;
use crate::write::literal::quoted_name;
use crate::{InformationEdit, InformationTable};

/// What of a table's row differs between shards, as far as a statement reads it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reads {
    /// How much there is in a table.
    pub(super) counts: bool,
    /// The next value of AUTO_INCREMENT.
    pub(super) sequences: bool,
}

const COUNTS: [&str; 6] = ["table_rows", "avg_row_length", "data_length", "index_length", "data_free", "update_time"];

/// What a statement may read.
pub(super) fn reads(planner: &Planner<'_>) -> Reads {
    let mut all = false;
    walk(Node::Statement(planner.statement), &mut |node: Node<'_>| {
        all |= match node {
            Node::SelectItem(item) => matches!(item.kind, SelectItemKind::Star | SelectItemKind::TableStar(_)),
            Node::TableRef(reference, _) => is_natural(reference),
            Node::Query(query) => matches!(query.body, weir_sql::ast::QueryBody::Table(_)),
            _ => false,
        };
        if all { Flow::Stop } else { Flow::Descend }
    });
    let names = |wanted: &[&str]| {
        let mut columns = planner.facts.names.columns.iter();
        columns.any(|column| wanted.iter().any(|name| column.name.name.is(name)))
    };
    Reads { counts: all || names(&COUNTS), sequences: all || names(&["auto_increment"]) }
}

/// Whether tables are joined by all columns that they both have.
fn is_natural(reference: &weir_sql::ast::TableRef<'_>) -> bool {
    match reference.kind {
        weir_sql::ast::TableRefKind::Join(join) => join.natural,
        _ => false,
    }
}

/// The changes, in the text's order.
pub(super) fn edits(planner: &Planner<'_>, informed: &[InformationTable]) -> Vec<(Range<usize>, InformationEdit)> {
    let mut edits = Vec::new();
    let names = &planner.facts.names;
    for (source, table) in names.tables().filter(|(_, table)| is_schema(table.database)) {
        let place = informed.iter().position(|one| table.name.eq_ignore_ascii_case(one.name.as_bytes()));
        if let Some(table_place) = place {
            let range = source.span.range();
            let alias = source.alias.is_none().then(|| quoted_name(table.name));
            edits.push((range, InformationEdit::Table(table_place, alias)));
        }
    }
    let mut qualifiers = |database: Option<weir_sql::ast::Ident<'_>>, rest: weir_sql::ast::Ident<'_>| {
        if let Some(database) = database.filter(|database| is_schema(Some(database.name))) {
            edits.push((database.span.range().start..rest.span.range().start, InformationEdit::Text(Vec::new())));
        }
    };
    for column in &names.columns {
        if let Some(table) = column.name.table {
            qualifiers(column.name.database, table);
        }
    }
    walk(Node::Statement(planner.statement), &mut |node: Node<'_>| {
        if let Node::Name(name, NameRole::Star) = node {
            qualifiers(name.database, name.name);
        }
        Flow::Descend
    });
    edits.extend(labels(planner));
    edits.sort_by_key(|(range, _)| (range.start, range.end));
    edits
}

/// MySQL calls columns of `information_schema` in capitals, however they are written, and MariaDB as they are written: so they are called now.
fn labels(planner: &Planner<'_>) -> Vec<(Range<usize>, InformationEdit)> {
    let names = &planner.facts.names;
    let of_schema = |source: &usize| match &names.sources[*source].kind {
        weir_sql::resolve::SourceKind::Table(table) => is_schema(table.database),
        _ => false,
    };
    let label = |item: &SelectItem<'_>| {
        let SelectItemKind::Expr(Expr { kind: ExprKind::Column(name), span }, None) = &item.kind else { return None };
        let used = names.columns.iter().find(|column| column.name.span() == name.span())?;
        let of_schema = !used.sources.is_empty() && used.sources.iter().all(of_schema);
        let upper = name.name.name.to_ascii_uppercase();
        (of_schema && upper != name.name.name).then(|| {
            let end = span.range().end;
            let label = if planner.session.mariadb { name.name.name } else { &upper };
            (end..end, InformationEdit::Text([b" AS ", &quoted_name(label)[..]].concat()))
        })
    };
    let mut found = Vec::new();
    if let StatementKind::Query(_) = planner.statement.kind {
        walk(Node::Statement(planner.statement), &mut |node: Node<'_>| {
            if let Node::SelectItem(item) = node {
                found.extend(label(item));
            }
            Flow::Descend
        });
    }
    found
}

fn is_schema(database: Option<&[u8]>) -> bool {
    database.is_some_and(|database| database.eq_ignore_ascii_case(SCHEMA))
}
