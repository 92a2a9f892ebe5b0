//! CREATE VIEW: a view is on the shards that have all of its tables.

use weir_catalog::{Catalog, Change, DefinitionKind, Object, ShardId};
use weir_sql::ast::{CreateView, ViewKind};
use weir_sql::resolve::{Context, resolve};
use weir_sql::splice;
use weir_wire::Failure;
use weir_wire::error::not_supported;

use super::asked::Asked;
use super::intent::Intent;
use super::names::quoted;
use super::{names, shards};

/// CREATE VIEW, ALTER VIEW.
pub(super) fn create(asked: &Asked<'_>, catalog: &Catalog, view: &CreateView<'_>) -> Result<Option<Intent>, Failure> {
    let context =
        Context { database: asked.database, dialect: asked.mode.dialect, fold_case: catalog.fold_case, columns: &() };
    let names = resolve(asked.statement, &context);
    let query = view.query.span;
    let sources =
        || names.tables().filter(|(source, _)| source.span.start >= query.start && source.span.end <= query.end);
    let Some(object) = names::object(asked, catalog, &view.name)? else {
        let sharded = |table: &weir_sql::resolve::Table<'_>| {
            table.database.is_some_and(|database| catalog.database(database).is_some())
        };
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
    let mut on = shards::of_database(catalog, &object.database);
    let mut edits = Vec::new();
    for (source, table) in sources() {
        let Some(database) = table.database else { continue };
        let Some((database, _)) = catalog.database(database) else {
            return Err(not_supported(format!(
                "A view in a sharded database can't use '{}', which is not in one: create the table in a sharded database",
                String::from_utf8_lossy(table.name)
            )));
        };
        let shown = Object::within(database, names::utf8(table.name, catalog.fold_case)?);
        restrict(&mut on, &shards::of_object(catalog, &shown));
        if qualifier(asked, source.span.range(), table.name).is_none() {
            let start = source.span.range().start;
            edits.push((start..start, format!("`{}`.", database.replace('`', "``"))));
        }
    }
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
    let text = &asked.text[query.range()];
    edits.sort_by_key(|(range, _)| range.start);
    let offset = query.range().start;
    let edits: Vec<_> =
        edits.iter().map(|(range, text)| (range.start - offset..range.end - offset, text.as_bytes())).collect();
    let spelled = names::utf8(&splice(text, &edits), false)?;
    let change = Change::PutView(object.clone(), spelled);
    let deed = if replaces { DefinitionKind::Again } else { DefinitionKind::Create };
    let intent = Intent::new(asked, deed, vec![object], on).with(vec![change]);
    Ok(Some(Intent { own, if_not_exists: view.conditional && !view.alter, ..intent }))
}

/// The shards that don't get a view that is made anew, and lose the old one if they have it: with what they are sent.
fn elsewhere(catalog: &Catalog, object: &Object, replaced: bool, on: &mut Vec<ShardId>) -> Vec<(ShardId, Vec<u8>)> {
    let mut others = shards::of_database(catalog, &object.database);
    others.retain(|shard| replaced && !on.contains(shard));
    on.extend(&others);
    let text = format!("DROP VIEW IF EXISTS {}", quoted(object)).into_bytes();
    others.into_iter().map(|shard| (shard, text.clone())).collect()
}

fn restrict(on: &mut Vec<ShardId>, to: &[ShardId]) {
    on.retain(|shard| to.contains(shard));
}

/// What stands before the last name in a table's name.
fn qualifier<'a>(asked: &Asked<'a>, range: std::ops::Range<usize>, _name: &[u8]) -> Option<&'a [u8]> {
    let text = &asked.text[range];
    let mut lexer = weir_sql::Lexer::new(text, asked.mode);
    let first = lexer.next_token();
    let second = lexer.next_token();
    (second.kind == weir_sql::TokenKind::Punct(b'.')).then(|| &text[first.range()])
}
