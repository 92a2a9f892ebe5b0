//! CREATE TABLE … SELECT of rows of several shards: in steps.
//!
//! A server says what the table is, as a temporary one without rows; the table is defined so, and filled by INSERT … SELECT. What must always
//! hold: the columns are those that one server gives the table; nothing is sent to a shard that does not have all tables of the query.

use weir_catalog::define::{server_text, sharding_partitions};
use weir_catalog::{Catalog, Object, Placement, ShardId};
use weir_exec::ShardLease;
use weir_sql::ast::{CreateTable, Duplicates, Query, StatementKind, TableBody, TableDefinition};
use weir_sql::resolve::{Context, resolve};
use weir_sql::splice;
use weir_wire::Failure;
use weir_wire::error::not_supported;

use super::asked::Asked;
use super::{names, shards};

/// The temporary tables that tell the definition, and the query's columns.
const MODELS: [&str; 2] = ["weir definition", "weir columns"];

/// Such a statement in its steps.
#[derive(Debug, PartialEq, Eq)]
pub struct Filled {
    /// A shard that has all tables of the query.
    pub shard: ShardId,
    /// What DROP TABLE takes back.
    pub table: String,
    database: String,
    /// The definition of each of the models.
    models: [Vec<u8>; 2],
    /// Weir's clause.
    clause: Vec<u8>,
    create: &'static str,
    verb: &'static str,
    query: Vec<u8>,
}

/// What a server has said of it.
#[derive(Debug)]
pub struct Told {
    /// CREATE TABLE with all columns, for all shards, or CREATE TEMPORARY TABLE for the session's.
    pub create: Vec<u8>,
    /// What fills it.
    pub insert: Vec<u8>,
}

/// The steps of a statement; `None` if it is no CREATE TABLE … SELECT in a sharded database, or one that can't be taken apart.
pub fn apart(asked: &Asked<'_>, catalog: &Catalog) -> Result<Option<Filled>, Failure> {
    let StatementKind::CreateTable(create) = asked.statement.kind else { return Ok(None) };
    let TableBody::Definition(definition) = create.body else { return Ok(None) };
    let (Some(query), Some(object)) = (definition.query, names::object(asked, catalog, &create.name)?) else {
        return Ok(None);
    };
    let by_hash = sharding_partitions(definition).is_some();
    let whole = asked.statement.span.start == 0 && query.into.is_none();
    // A temporary table hides another one.
    let exists = !create.temporary && shards::home(catalog, &object).is_some();
    if !whole || (definition.partitioning.is_some() && !by_hash) || exists {
        return Ok(None);
    }
    if definition.placement.as_ref().is_some_and(|placement| placement.span.start > query.span.start) {
        return Ok(None);
    }
    let Some(shard) = shard_of(asked, catalog, &object, query) else { return Ok(None) };
    let clause = match definition.partitioning.filter(|_| by_hash) {
        Some(partitioning) => partitioning.span.text(asked.text),
        None => definition.placement.as_ref().map_or(&b""[..], |placement| placement.span.text(asked.text)),
    };
    Ok(Some(Filled {
        shard,
        table: names::quoted(&object),
        models: models(asked, &object, create, definition, query),
        database: object.database,
        clause: clause.to_vec(),
        create: match (create.temporary, create.or_replace) {
            (false, _) => "CREATE TABLE ",
            (true, false) => "CREATE TEMPORARY TABLE ",
            (true, true) => "CREATE OR REPLACE TEMPORARY TABLE ",
        },
        verb: match definition.duplicates {
            None => "INSERT INTO ",
            Some(Duplicates::Ignore) => "INSERT IGNORE INTO ",
            Some(Duplicates::Replace) => "REPLACE INTO ",
        },
        query: query.span.text(asked.text).to_vec(),
    }))
}

/// A shard that has all tables of a query, and may have the new one.
fn shard_of(asked: &Asked<'_>, catalog: &Catalog, object: &Object, query: &Query<'_>) -> Option<ShardId> {
    let context =
        Context { database: asked.database, dialect: asked.mode.dialect, fold_case: catalog.fold_case, columns: &() };
    let names = resolve(asked.statement, &context);
    let mut all = shards::of_database(catalog, &object.database);
    for (source, table) in names.tables() {
        if source.span.start < query.span.start || source.span.end > query.span.end {
            continue;
        }
        let database = table.database?;
        let (_, known) = catalog.database(database)?;
        all.retain(|shard| known.shards.contains(shard));
        if let Some((_, table)) = catalog.table(database, table.name)
            && let Placement::Single(at) = table.placement
        {
            all.retain(|shard| *shard == at);
        }
    }
    all.first().copied()
}

/// What makes the models, which have no rows: the table's and the query's columns are those of the client's own text.
fn models(
    asked: &Asked<'_>,
    object: &Object,
    create: &CreateTable<'_>,
    definition: &TableDefinition<'_>,
    query: &Query<'_>,
) -> [Vec<u8>; 2] {
    let none = without_rows(asked.text, query);
    // All between the name and the query, as servers read it: nothing in it is Weir's.
    let text = server_text(asked.text, create);
    let behind = asked.text.len() - definition.query.map_or(0, |query| query.span.start as usize);
    let columns = &text[create.name.span.end as usize..text.len().saturating_sub(behind)];
    let begin = |model: &str| format!("CREATE TEMPORARY TABLE {}", named(&object.database, model)).into_bytes();
    let closing = &asked.text[query.span.end as usize..];
    [[&begin(MODELS[0]), columns, &none, closing].concat(), [&begin(MODELS[1]), &b" AS "[..], &none].concat()]
}

/// The name of a model for a statement.
fn named(database: &str, model: &str) -> String {
    names::quoted(&Object::within(database.to_owned(), model.to_owned()))
}

/// A query with LIMIT 0 for its own.
fn without_rows(text: &[u8], query: &Query<'_>) -> Vec<u8> {
    let base = query.span.start as usize;
    let own = query.span.text(text);
    let at = match (query.limit, query.locks.first()) {
        (Some(limit), _) => limit.span.start as usize - base..limit.span.end as usize - base,
        (None, Some(lock)) => lock.span.start as usize - base..lock.span.start as usize - base,
        (None, None) => own.len()..own.len(),
    };
    splice(own, &[(at, &b" LIMIT 0 "[..])])
}

impl Filled {
    /// Has a server tell what the table is.
    ///
    /// # Errors
    /// What the server finds wrong with it, or the loss of its connection.
    pub async fn ask(&self, part: &mut ShardLease) -> Result<Told, Failure> {
        let asked = self.ask_models(part).await;
        for model in MODELS {
            let name = named(&self.database, model);
            // What can't be dropped goes with its connection.
            if part.lease.is_clean()
                && part.lease.query(&format!("DROP TEMPORARY TABLE IF EXISTS {name}")).await.is_err()
            {
                part.lease.retired = true;
            }
        }
        asked
    }

    async fn ask_models(&self, part: &mut ShardLease) -> Result<Told, Failure> {
        for model in &self.models {
            part.lease.temporary_made += 1;
            part.lease.query(model).await?;
        }
        let [definition, columns] = MODELS.map(|model| named(&self.database, model));
        let shown = part.lease.query(&format!("SHOW CREATE TABLE {definition}")).await?;
        let shown = shown.rows.into_iter().flatten().nth(1).flatten().unwrap_or_default();
        let columns = part.lease.query(&format!("SHOW COLUMNS FROM {columns}")).await?;
        let columns: Option<Vec<_>> = columns.rows.into_iter().map(|row| row.into_iter().next().flatten()).collect();
        let (Some(begin), Some(columns)) = (shown.iter().position(|byte| *byte == b'('), columns) else {
            return Err(not_supported("CREATE TABLE … SELECT: the servers tell no definition: make the table first"));
        };
        Ok(Told {
            create: [self.create.as_bytes(), self.table.as_bytes(), b" ", &shown[begin..], b" ", &self.clause].concat(),
            insert: self.insert(&columns),
        })
    }

    fn insert(&self, columns: &[Vec<u8>]) -> Vec<u8> {
        let quoted = |name: &Vec<u8>| format!("`{}`", String::from_utf8_lossy(name).replace('`', "``"));
        let list: Vec<String> = columns.iter().map(quoted).collect();
        [self.verb.as_bytes(), self.table.as_bytes(), b" (", list.join(", ").as_bytes(), b") ", &self.query].concat()
    }
}
