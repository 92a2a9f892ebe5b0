//! What is asked for: tables, each with the clause of its new placement; and whether that can be.
//!
//! What must always hold: what is refused has changed nothing. The rules of a placement are those of CREATE TABLE, in a catalog where all
//! tables of the move are placed as asked.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use weir_catalog::moves::shards_of_placement;
use weir_catalog::{Catalog, Move, MovePhase, MovedTable, Object, Placed, ShardId, Table};
use weir_ddl::define::placing;
use weir_shards::Sharding;
use weir_shards::own::{name, quoted, text};
use weir_sql::{LexMode, Lexer, TokenKind};
use weir_wire::Failure;
use weir_wire::error::{codes, not_supported};

use crate::{definition, programs, triggers};

/// Tables to be moved together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The tables.
    pub tables: Vec<WantedTable>,
    /// Who asks.
    pub by: String,
    /// A statement waits for it.
    pub awaited: bool,
}

/// A table, and where it is to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WantedTable {
    /// Which.
    pub object: Object,
    /// The clause of its placement, as in a comment: `shard by hash(id)`.
    pub clause: String,
}

/// Reads `a, b TO SHARD BY HASH(id), c TO GLOBAL`. `database`: where tables are that name none.
///
/// # Errors
/// 1064, 1046.
pub fn read_tables(list: &str, database: Option<&str>) -> Result<Vec<WantedTable>, Failure> {
    let mut wanted: Vec<WantedTable> = Vec::new();
    let mut names: Vec<Object> = Vec::new();
    let mut rest = list;
    loop {
        let (part, end) = first_part(rest);
        let (of_name, clause) = match to_clause(part) {
            Some((before, clause)) => (before, Some(clause)),
            None => (part, None),
        };
        names.push(object(of_name, database)?);
        if let Some(clause) = clause {
            let clause = clause.trim().trim_end_matches(';').trim();
            let clause =
                clause.strip_prefix("/*weir:").and_then(|inner| inner.strip_suffix("*/")).unwrap_or(clause).trim();
            if clause.is_empty() || clause.contains("*/") || clause.contains("/*") {
                return Err(unread(part));
            }
            wanted.extend(names.drain(..).map(|object| WantedTable { object, clause: clause.to_owned() }));
        }
        match end {
            Some(end) => rest = end,
            None if names.is_empty() => return Ok(wanted),
            None => return Err(unread(part)),
        }
    }
}

/// The list that [`read_tables`] reads so, with all databases.
pub fn written(tables: &[WantedTable]) -> String {
    let one = |table: &WantedTable| {
        let own = table.object.name.as_deref().unwrap_or_default();
        format!("{}.{} TO {}", name(&table.object.database), name(own), table.clause)
    };
    tables.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn unread(part: &str) -> Failure {
    let message = format!(
        "You have an error in your WEIR statement near '{}': expected tables and where they go, as in WEIR MOVE TABLES customers TO SHARD BY \
         HASH(id), orders, order_lines TO SHARD BY HASH(customer_id)",
        part.trim()
    );
    Failure::client(codes::ER_PARSE_ERROR, message)
}

/// Up to a comma that is in no parentheses, and what is behind it.
fn first_part(text: &str) -> (&str, Option<&str>) {
    let mut depth = 0_u32;
    for token in Lexer::new(text.as_bytes(), LexMode::default()) {
        let (start, end) = (token.start as usize, token.end as usize);
        match token.kind {
            TokenKind::Punct(b'(') => depth += 1,
            TokenKind::Punct(b')') => depth = depth.saturating_sub(1),
            TokenKind::Punct(b',') if depth == 0 => return (&text[..start], Some(&text[end..])),
            TokenKind::End => break,
            _ => {}
        }
    }
    (text, None)
}

/// What is before and behind the word TO.
fn to_clause(part: &str) -> Option<(&str, &str)> {
    for token in Lexer::new(part.as_bytes(), LexMode::default()) {
        let (start, end) = (token.start as usize, token.end as usize);
        match token.kind {
            TokenKind::Word if part[start..end].eq_ignore_ascii_case("to") => {
                return Some((&part[..start], &part[end..]));
            }
            TokenKind::End => break,
            _ => {}
        }
    }
    None
}

/// A table's name, with its database or in this one.
///
/// # Errors
/// 1064, 1046.
pub fn object(text: &str, database: Option<&str>) -> Result<Object, Failure> {
    let mut names: Vec<String> = Vec::new();
    for token in Lexer::new(text.as_bytes(), LexMode::default()) {
        let raw = &text[token.start as usize..token.end as usize];
        match token.kind {
            TokenKind::Word | TokenKind::String => names.push(raw.trim_matches(['\'', '"']).to_owned()),
            TokenKind::QuotedIdent => names.push(raw[1..raw.len() - 1].replace("``", "`")),
            TokenKind::Punct(b'.') => {}
            TokenKind::End => break,
            _ => return Err(unread(text)),
        }
    }
    match (&names[..], database) {
        ([table], Some(database)) => Ok(Object::within(database, table.clone())),
        ([_], None) => Err(Failure::client(codes::ER_NO_DB_ERROR, "No database selected")),
        ([database, table], _) => Ok(Object::within(database.clone(), table.clone())),
        _ => Err(unread(text)),
    }
}

/// The move that a request asks for, if it can be. `None`: all tables are as they are wanted.
///
/// # Errors
/// Why it can't be, and what to do.
pub(crate) async fn judge(sharding: &Arc<Sharding>, request: &Request) -> Result<Option<Move>, Failure> {
    let catalog = sharding.catalog_now();
    let tables = tables(&catalog, request)?;
    let mut definitions = Vec::new();
    for (object, table, _) in &tables {
        definitions.push(shown(sharding, &catalog, object, table).await?);
    }
    let alone = without(&catalog, &tables);
    let mut placed = Vec::new();
    for ((object, _, clause), (create, mode)) in tables.iter().zip(&definitions) {
        placed.push(place(sharding, &alone, object, create, clause, *mode).await?);
    }
    let after = settled(&catalog, &tables, &placed);
    for ((object, _, clause), (create, mode)) in tables.iter().zip(&definitions) {
        place(sharding, &after, object, create, clause, *mode).await?;
    }
    let mut moved = Vec::new();
    for ((object, table, _), to) in tables.iter().zip(placed) {
        if to.placement != table.placement {
            movable(object, table, &to)?;
        }
        let shards =
            catalog.database(object.database.as_bytes()).map(|(_, found)| found.shards.clone()).unwrap_or_default();
        moved.push(MovedTable {
            object: object.clone(),
            from: Placed::of(table),
            from_shards: shards_of_placement(&shards, &table.placement),
            to_shards: shards_of_placement(&shards, &to.placement),
            to: Placed { note: None, ..to },
            triggers: Vec::new(),
        });
    }
    moved.retain(|table| table.to.placement != table.from.placement);
    if moved.is_empty() {
        return Ok(None);
    }
    let new = begun(sharding, (&catalog, &after), moved, &request.by).await?;
    Ok(Some(Move { awaited: request.awaited, ..new }))
}

/// The move of these tables between two catalogs.
///
/// # Errors
/// Why it can't be, and what to do.
pub(crate) async fn begun(
    sharding: &Arc<Sharding>,
    (before, after): (&Catalog, &Catalog),
    mut moved: Vec<MovedTable>,
    by: &str,
) -> Result<Move, Failure> {
    tied(before, &moved)?;
    programs::follow(sharding, before, after, &moved).await?;
    free(sharding, before, &moved).await?;
    for table in &mut moved {
        let shard = table.from_shards.first().copied().unwrap_or(ShardId(0));
        table.triggers = triggers::told(sharding, shard, &table.object, mode(sharding, shard)).await?;
    }
    Ok(Move {
        id: 0,
        tables: in_order(before, moved),
        phase: MovePhase::Prepare,
        paused: false,
        automatic: true,
        cut_over_at: None,
        awaited: false,
        throttle: 0,
        error: None,
        undo: false,
        begun: SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs(),
        by: by.to_owned(),
        layout: None,
    })
}

type Wanted = (Object, Arc<Table>, String);

/// The tables, by the names that the catalog has for them.
fn tables(catalog: &Catalog, request: &Request) -> Result<Vec<Wanted>, Failure> {
    let mut found: Vec<Wanted> = Vec::new();
    for wanted in &request.tables {
        let Object { database, name: table } = &wanted.object;
        let table = table.as_deref().unwrap_or_default();
        let Some((known, of_database)) = catalog.database(database.as_bytes()) else {
            return Err(not_supported(format!(
                "Database '{database}' is not sharded: WEIR ATTACH DATABASE {database} adopts it as it is, and its tables can move then"
            )));
        };
        let Some((name, table)) = catalog.table(known.as_bytes(), table.as_bytes()) else {
            if of_database.views.contains_key(table) {
                return Err(Failure::client(codes::ER_WRONG_OBJECT, format!("'{known}.{table}' is not BASE TABLE")));
            }
            return Err(Failure::client(codes::ER_NO_SUCH_TABLE, format!("Table '{known}.{table}' doesn't exist")));
        };
        let object = Object::within(known, name);
        if found.iter().any(|(other, ..)| *other == object) {
            return Err(Failure::client(codes::ER_NONUNIQ_TABLE, format!("Not unique table/alias: '{name}'")));
        }
        if let Some((other, ..)) = found.first().filter(|(other, ..)| other.database != object.database) {
            return Err(not_supported(format!(
                "The tables of a move are in one database: '{object}' is not in '{}'. Begin a move for each database",
                other.database
            )));
        }
        found.push((object, table.clone(), wanted.clause.clone()));
    }
    if found.len() > 1 || found.first().is_some_and(|(object, ..)| object.name.is_some()) {
        return Ok(found);
    }
    Err(unread(""))
}

/// SHOW CREATE TABLE, and how it is read.
pub(crate) async fn shown(
    sharding: &Arc<Sharding>,
    catalog: &Catalog,
    object: &Object,
    table: &Table,
) -> Result<(String, LexMode), Failure> {
    let shards = catalog.database(object.database.as_bytes()).map(|(_, found)| &found.shards[..]).unwrap_or_default();
    let shard = shards_of_placement(shards, &table.placement).first().copied().unwrap_or(ShardId(0));
    let create = create_text(sharding, shard, object).await?;
    if definition::is_versioned(&create) {
        return Err(not_supported(format!(
            "Table '{object}' is system-versioned: a copy of it would have other times. ALTER TABLE … DROP SYSTEM VERSIONING first"
        )));
    }
    Ok((create, mode(sharding, shard)))
}

/// How a shard's own texts are read on Weir's own connections.
pub(crate) fn mode(sharding: &Sharding, shard: ShardId) -> LexMode {
    let facts = sharding.group(shard).writer().facts();
    definition::mode(facts.identity.as_ref().is_some_and(|identity| identity.mariadb))
}

/// What a shard says of a table's definition.
pub(crate) async fn create_text(sharding: &Sharding, shard: ShardId, object: &Object) -> Result<String, Failure> {
    let table = object.name.as_deref().unwrap_or_default();
    let sql = format!("SHOW CREATE TABLE {}.{}", name(&object.database), name(table));
    let reply = sharding.own.run(shard, sql).await?;
    Ok(reply.rows.first().map(|row| text(row.get(1))).unwrap_or_default())
}

async fn place(
    sharding: &Arc<Sharding>,
    catalog: &Catalog,
    object: &Object,
    create: &str,
    clause: &str,
    mode: LexMode,
) -> Result<Placed, Failure> {
    placing::placed(sharding, catalog, object, &definition::with_clause(create, clause), mode).await
}

/// The catalog without these tables.
fn without(catalog: &Catalog, tables: &[Wanted]) -> Catalog {
    changed(catalog, tables, |database, name, _| {
        database.tables.remove(name);
    })
}

/// The catalog with these tables in their new places.
fn settled(catalog: &Catalog, tables: &[Wanted], placed: &[Placed]) -> Catalog {
    changed(catalog, tables, |database, name, at| {
        if let (Some(table), Some(placed)) = (database.tables.get_mut(name), placed.get(at)) {
            Arc::make_mut(table).placement = placed.placement.clone();
        }
    })
}

fn changed(catalog: &Catalog, tables: &[Wanted], change: impl Fn(&mut weir_catalog::Database, &str, usize)) -> Catalog {
    let mut next = catalog.clone();
    for (at, (object, ..)) in tables.iter().enumerate() {
        if let (Some(database), Some(name)) = (next.databases.get_mut(&object.database), object.name.as_deref()) {
            change(Arc::make_mut(database), name, at);
        }
    }
    next
}

/// Whether a table is one that can move, by what the catalog says of it.
pub(crate) fn movable(object: &Object, table: &Table, to: &Placed) -> Result<(), Failure> {
    if table.unchecked.iter().chain(&to.unchecked).any(|name| name == "PRIMARY") {
        return Err(not_supported(format!(
            "The primary key of '{object}' is UNIQUE UNCHECKED: rows of several shards may have the same, and can't be told apart. Add the shard \
             key to it first"
        )));
    }
    weir_reshard::key_of(&object.to_string(), table).map(drop).map_err(Failure::from)
}

/// Refuses to move a table without those that refer to it: foreign keys follow a table that is renamed.
fn tied(catalog: &Catalog, moved: &[MovedTable]) -> Result<(), Failure> {
    let is_moved = |object: &Object| moved.iter().any(|table| table.object == *object);
    let mut missing: Vec<Object> = Vec::new();
    for (database, known) in &catalog.databases {
        for (name, table) in &known.tables {
            let child = Object::within(database.clone(), name.clone());
            let refers =
                |key: &weir_catalog::ForeignKey| is_moved(&Object::within(key.table.0.clone(), key.table.1.clone()));
            if !is_moved(&child) && table.foreign_keys.iter().any(refers) {
                missing.push(child);
            }
        }
    }
    if missing.is_empty() {
        return Ok(());
    }
    let missing: Vec<String> = missing.iter().map(ToString::to_string).collect();
    let all: Vec<String> = moved.iter().map(|table| table.object.to_string()).collect();
    Err(not_supported(format!(
        "Foreign keys of {} refer to {}: they move together only. WEIR MOVE TABLES … TO … names all of them, each with its clause",
        missing.join(", "),
        all.join(", ")
    )))
}

/// Refuses a move to a shard that has something of a table's name already.
async fn free(sharding: &Arc<Sharding>, catalog: &Catalog, moved: &[MovedTable]) -> Result<(), Failure> {
    for table in moved {
        let new = table.to_shards.iter().filter(|shard| !table.from_shards.contains(shard));
        for shard in new {
            let own = table.object.name.as_deref().unwrap_or_default();
            let sql = format!(
                "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = {} AND TABLE_NAME = {}",
                quoted(&table.object.database),
                quoted(own)
            );
            let reply = sharding.own.run(*shard, sql).await?;
            if reply.rows.first().is_some_and(|row| text(row.first()) != "0") {
                return Err(not_supported(format!(
                    "Shard '{}' has a table '{}' that is not in the catalog: rename or drop it there first (WEIR CATALOG CHECK lists such tables)",
                    catalog.shard_name(*shard),
                    table.object
                )));
            }
        }
    }
    Ok(())
}

/// Tables that others refer to come before them, as far as there is such an order.
fn in_order(catalog: &Catalog, mut moved: Vec<MovedTable>) -> Vec<MovedTable> {
    let mut ordered: Vec<MovedTable> = Vec::new();
    while !moved.is_empty() {
        let waits = |table: &MovedTable| {
            let name = table.object.name.as_deref().unwrap_or_default();
            let known = catalog.table(table.object.database.as_bytes(), name.as_bytes());
            known.is_some_and(|(_, known)| {
                known.foreign_keys.iter().any(|key| {
                    let other = Object::within(key.table.0.clone(), key.table.1.clone());
                    other != table.object && moved.iter().any(|left| left.object == other)
                })
            })
        };
        let next = moved.iter().position(|table| !waits(table)).unwrap_or(0);
        ordered.push(moved.remove(next));
    }
    ordered
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_read_with_their_clauses() {
        let read = |text| read_tables(text, Some("shop"));
        let wanted =
            |name: &str, clause: &str| WantedTable { object: Object::within("shop", name), clause: clause.to_owned() };
        assert_eq!(
            read("customers TO SHARD BY HASH(id), orders, `order lines` to /*weir: shard by hash (customer_id) */;"),
            Ok(vec![
                wanted("customers", "SHARD BY HASH(id)"),
                wanted("orders", "shard by hash (customer_id)"),
                wanted("order lines", "shard by hash (customer_id)"),
            ])
        );
        assert_eq!(
            read("t TO SHARD BY LIST(r) (s1 VALUES IN (1, 2), s2 DEFAULT), other.u TO SINGLE ON SHARD 's1'"),
            Ok(vec![
                wanted("t", "SHARD BY LIST(r) (s1 VALUES IN (1, 2), s2 DEFAULT)"),
                WantedTable { object: Object::within("other", "u"), clause: "SINGLE ON SHARD 's1'".to_owned() },
            ])
        );
        for wrong in ["t", "t TO", "TO GLOBAL", "t, TO GLOBAL", "t TO GLOBAL, u", "t TO GLOBAL */"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
        assert_eq!(read_tables("t TO GLOBAL", None).map_err(|failure| failure.code), Err(1046));
    }
}
