//! CREATE VIEW: a view is on the shards that have all of its tables.

use std::ops::Range;

use weir_catalog::{Catalog, Change, DefinitionKind, Object, ShardId};
use weir_sql::ast::{CreateView, ViewKind};
use weir_sql::resolve::{Context, Source, Table, resolve};
use weir_sql::splice;
use weir_wire::Failure;
use weir_wire::error::not_supported;

use super::asked::Asked;
use super::intent::Intent;
use super::names::quoted;
use super::{names, shards};
use crate::view::with_columns;

/// CREATE VIEW, ALTER VIEW.
pub(super) fn create(asked: &Asked<'_>, catalog: &Catalog, view: &CreateView<'_>) -> Result<Option<Intent>, Failure> {
    let context =
        Context { database: asked.database, dialect: asked.mode.dialect, fold_case: catalog.fold_case, columns: &() };
    let names = resolve(asked.statement, &context);
    let query = view.query.span;
    let sources =
        || names.tables().filter(|(source, _)| source.span.start >= query.start && source.span.end <= query.end);
    let Some(object) = names::object(asked, catalog, &view.name)? else {
        let sharded = |table: &Table<'_>| table.database.is_some_and(|database| catalog.database(database).is_some());
        if sources().any(|(_, table)| sharded(table)) {
            return Err(not_supported("A view of sharded tables must be in a sharded database: create it in theirs"));
        }
        return Ok(None);
    };
    let replaces = view.alter || view.or_replace;
    let known = shards::home(catalog, &object);
    if let Some(shards) = known.clone().filter(|_| !replaces || shards::table(catalog, &object).is_some()) {
        // The servers say that it is there; the catalog stays as it is.
        return Ok(Some(Intent::new(asked, DefinitionKind::Again, vec![object], shards)));
    }
    if view.kind != ViewKind::Plain {
        return Err(not_supported("Only plain views can be in a sharded database"));
    }
    let (mut on, edits) = place_tables(asked, catalog, &object, sources())?;
    if on.is_empty() {
        return Err(not_supported(
            "The view's tables are SINGLE on different shards, and no server has all of them: make one of them GLOBAL, or create a view for each",
        ));
    }
    if view.alter && known.as_ref().is_some_and(|known| *known != on) {
        return Err(not_supported(
            "The view's tables are on other shards than before: CREATE OR REPLACE VIEW moves it",
        ));
    }
    let own = elsewhere(catalog, &object, replaces && known.is_some(), &mut on);
    let columns: Result<Vec<String>, Failure> =
        view.columns.iter().map(|column| names::utf8(column.name, false)).collect();
    let columns = columns?;
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    let text = spelled(asked, query.range(), edits)?;
    let text = with_columns(object.name.as_deref().unwrap_or_default(), &columns, text);
    // Until a server tells how it has written it out.
    let change = Change::PutView(object.clone(), text);
    let kind = if replaces { DefinitionKind::Again } else { DefinitionKind::Create };
    let intent = Intent::new(asked, kind, vec![object], on).with(vec![change]);
    Ok(Some(Intent { own, if_not_exists: view.conditional && !view.alter, ..intent }))
}

/// Where a database is put before a table's name.
type Qualification = (usize, String);

/// The shards that have all tables of a view, and where their databases are missing before their names.
fn place_tables<'s>(
    asked: &Asked<'_>,
    catalog: &Catalog,
    view: &Object,
    sources: impl Iterator<Item = (&'s Source<'s>, &'s Table<'s>)>,
) -> Result<(Vec<ShardId>, Vec<Qualification>), Failure> {
    let mut on = shards::of_database(catalog, &view.database);
    let mut missing = Vec::new();
    for (source, table) in sources {
        let Some(database) = table.database else { continue };
        let Some((database, _)) = catalog.database(database) else {
            return Err(not_supported(format!(
                "A view in a sharded database can't use '{}', which is not in one: create the table in a sharded database",
                String::from_utf8_lossy(table.name)
            )));
        };
        let object = Object::within(database, names::utf8(table.name, catalog.fold_case)?);
        let shards = shards::of_object(catalog, &object);
        on.retain(|shard| shards.contains(shard));
        if !is_qualified(asked, source.span.range()) {
            missing.push((source.span.range().start, format!("`{}`.", database.replace('`', "``"))));
        }
    }
    Ok((on, missing))
}

/// The view's query as it is kept: with all tables' databases.
fn spelled(asked: &Asked<'_>, query: Range<usize>, mut missing: Vec<Qualification>) -> Result<String, Failure> {
    missing.sort_by_key(|(at, _)| *at);
    let edits: Vec<(Range<usize>, &[u8])> =
        missing.iter().map(|(at, database)| (at - query.start..at - query.start, database.as_bytes())).collect();
    names::utf8(&splice(&asked.text[query], &edits), false)
}

/// The shards that don't get a view that is made anew, and lose the old one if they have it: with what they are sent.
fn elsewhere(catalog: &Catalog, object: &Object, replaced: bool, on: &mut Vec<ShardId>) -> Vec<(ShardId, Vec<u8>)> {
    let mut others = shards::of_database(catalog, &object.database);
    others.retain(|shard| replaced && !on.contains(shard));
    on.extend(&others);
    let text = format!("DROP VIEW IF EXISTS {}", quoted(object)).into_bytes();
    others.into_iter().map(|shard| (shard, text.clone())).collect()
}

/// Whether a table's name says its database.
fn is_qualified(asked: &Asked<'_>, name: Range<usize>) -> bool {
    let mut lexer = weir_sql::Lexer::new(&asked.text[name], asked.mode);
    lexer.next_token();
    lexer.next_token().kind == weir_sql::TokenKind::Punct(b'.')
}
