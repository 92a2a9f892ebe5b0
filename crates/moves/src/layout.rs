//! Other shards for a database, or other places for its slots.
//!
//! What must always hold: the slots of a database, its GLOBAL tables and all that foreign keys tie to them change at one moment, that of
//! the move's cutover. What is on a shard that leaves goes to one other shard, so that rows that were on one shard stay together.

use std::collections::BTreeMap;
use std::sync::Arc;

use weir_catalog::define::{parts_clause, single_clause};
use weir_catalog::moves::shards_of_placement;
use weir_catalog::{
    Catalog, Database, Event, EventPlace, ForeignKey, Layout, LayoutChange, Method, Move, MovedTable, Object, Placed,
    Placement, SLOTS, ShardId, ShardKey, Table,
};
use weir_shards::Sharding;
use weir_shards::own::{quoted, text};
use weir_wire::Failure;
use weir_wire::error::{codes, not_supported};

use crate::carry::{self, Sides};
use crate::{Direction, request};

/// What is wanted of a database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LayoutWish {
    /// On all shards that are in use, with as many slots on each.
    Balanced,
    /// On none that is to hold nothing.
    Leave,
    /// These slots on this shard.
    Slots(std::ops::RangeInclusive<usize>, ShardId),
}

/// A database, and what is wanted of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WantedLayout {
    /// The database.
    pub database: String,
    /// What.
    pub wish: LayoutWish,
    /// Who asks.
    pub by: String,
}

/// What a wish would change.
#[derive(Debug, Clone, PartialEq)]
pub struct Planned {
    /// The layouts.
    pub change: LayoutChange,
    /// The tables that move.
    pub tables: Vec<MovedTable>,
}

/// What a wish means now. `None`: all is as it is wanted.
///
/// # Errors
/// 1049 for another database; 1235, 1210 for what can't be meant.
pub fn planned(catalog: &Catalog, wanted: &WantedLayout) -> Result<Option<Planned>, Failure> {
    let Some((name, database)) = catalog.database(wanted.database.as_bytes()) else {
        let message = format!("Database '{}' is not sharded: see WEIR SHOW TABLES", wanted.database);
        return Err(Failure::client(codes::ER_BAD_DB_ERROR, message));
    };
    let to = layout(catalog, database, &wanted.wish)?;
    let change = LayoutChange { database: name.to_owned(), from: Layout::of(database), to };
    if change.from == change.to {
        return Ok(None);
    }
    let tables = tables(catalog, name, database, &change);
    Ok(Some(Planned { change, tables }))
}

fn layout(catalog: &Catalog, database: &Database, wish: &LayoutWish) -> Result<Layout, Failure> {
    let in_use = catalog.shards_in_use();
    let mut shards: Vec<ShardId> = database.shards.iter().copied().filter(|shard| in_use.contains(shard)).collect();
    match wish {
        LayoutWish::Balanced => shards.extend(in_use.iter().copied().filter(|shard| !database.shards.contains(shard))),
        LayoutWish::Leave if shards.is_empty() => shards.extend(in_use.first().copied()),
        LayoutWish::Leave => {}
        LayoutWish::Slots(range, shard) => return with_slots(catalog, database, range, *shard),
    }
    let slots = match *wish == LayoutWish::Balanced || shards != database.shards {
        true => database.slots.balanced(&shards),
        false => database.slots.clone(),
    };
    Ok(Layout { shards, slots })
}

fn with_slots(
    catalog: &Catalog,
    database: &Database,
    range: &std::ops::RangeInclusive<usize>,
    shard: ShardId,
) -> Result<Layout, Failure> {
    if !database.shards.contains(&shard) || catalog.draining.contains(&shard) {
        return Err(not_supported(format!(
            "The database is not on shard '{}', or that shard is draining: WEIR REBALANCE takes shards into use",
            catalog.shard_name(shard)
        )));
    }
    let mut to = Layout::of(database);
    match to.slots.0.get_mut(range.clone()) {
        Some(slots) if !range.is_empty() => slots.fill(shard),
        _ => {
            let message =
                format!("Incorrect arguments to MOVE SLOTS: slots are 0 to {}, the first one first", SLOTS - 1);
            return Err(Failure::client(codes::ER_WRONG_ARGUMENTS, message));
        }
    }
    Ok(to)
}

/// The tables whose rows, or physical tables, have other shards afterwards, and those that foreign keys tie to them.
fn tables(catalog: &Catalog, name: &str, database: &Database, change: &LayoutChange) -> Vec<MovedTable> {
    let heirs = heirs(database, change);
    let other_shards = change.from.shards != change.to.shards;
    let mut moved = Vec::new();
    let mut staying: Vec<(&String, &Arc<Table>)> = Vec::new();
    for (own, table) in &database.tables {
        let to = placed(catalog, table, &heirs);
        let by_slots = table.shard_key().is_some_and(|key| !matches!(key.method, Method::Range(_) | Method::List(..)));
        let everywhere = !matches!(table.placement, Placement::Single(_));
        if to.placement != table.placement || everywhere && other_shards || by_slots {
            moved.push(moved_table(Object::within(name, own), table, to, change));
        } else {
            staying.push((own, table));
        }
    }
    // Foreign keys follow a table that is renamed: who refers to one that moves is made anew where it is.
    while let Some(at) = staying.iter().position(|(_, table)| refers(table, &moved)) {
        let (own, table) = staying.remove(at);
        moved.push(moved_table(Object::within(name, own), table, Placed::of(table), change));
    }
    moved
}

fn refers(table: &Table, moved: &[MovedTable]) -> bool {
    let to = |key: &ForeignKey| Object::within(key.table.0.clone(), key.table.1.clone());
    table.foreign_keys.iter().any(|key| moved.iter().any(|moved| moved.object == to(key)))
}

fn moved_table(object: Object, table: &Table, to: Placed, change: &LayoutChange) -> MovedTable {
    MovedTable {
        object,
        from: Placed::of(table),
        from_shards: shards_of_placement(&change.from.shards, &table.placement),
        to_shards: shards_of_placement(&change.to.shards, &to.placement),
        to,
        triggers: Vec::new(),
    }
}

/// For each shard that leaves the database, the one that gets its SINGLE tables and its parts of others: that with the fewest SINGLE tables.
fn heirs(database: &Database, change: &LayoutChange) -> BTreeMap<ShardId, ShardId> {
    let single = |shard: ShardId| {
        let here = |table: &&Arc<Table>| table.placement == Placement::Single(shard);
        database.tables.values().filter(here).count()
    };
    let heir = change.to.shards.iter().copied().min_by_key(|shard| (single(*shard), *shard));
    let leaving = change.from.shards.iter().filter(|shard| !change.to.shards.contains(shard));
    leaving.filter_map(|shard| Some((*shard, heir?))).collect()
}

/// A table's placement, with other shards in place of those that leave.
fn placed(catalog: &Catalog, table: &Table, heirs: &BTreeMap<ShardId, ShardId>) -> Placed {
    let other = |shard: ShardId| heirs.get(&shard).copied().unwrap_or(shard);
    let was = Placed::of(table);
    let (placement, clause) = match &table.placement {
        Placement::Global => return was,
        Placement::Single(shard) => {
            let shard = other(*shard);
            (Placement::Single(shard), single_clause(catalog.shard_name(shard)))
        }
        Placement::Sharded(ShardKey { columns, method }) => {
            let method = match method {
                Method::Range(parts) => {
                    Method::Range(parts.iter().map(|(bound, shard)| (bound.clone(), other(*shard))).collect())
                }
                Method::List(members, others) => {
                    let members = members.iter().map(|(member, shard)| (member.clone(), other(*shard)));
                    Method::List(members.collect(), others.map(other))
                }
                method => method.clone(),
            };
            // The key's part of the clause stays: what follows are the parts, if the method has any.
            let parts = parts_clause(&method, |shard| catalog.shard_name(shard));
            let was_parts = table.shard_key().map(|key| parts_clause(&key.method, |shard| catalog.shard_name(shard)));
            let head = was_parts.as_deref().and_then(|parts| was.clause.strip_suffix(parts)).unwrap_or(&was.clause);
            let clause = format!("{head}{parts}");
            (Placement::Sharded(ShardKey { columns: columns.clone(), method }), clause)
        }
    };
    if placement == table.placement { was } else { Placed { placement, clause, by_default: false, ..was } }
}

/// The move that a wish asks for, if it can be.
///
/// # Errors
/// Why it can't be, and what to do.
pub(crate) async fn judge(sharding: &Arc<Sharding>, wanted: &WantedLayout) -> Result<Option<Move>, Failure> {
    let catalog = sharding.catalog_now();
    let Some(Planned { change, tables }) = planned(&catalog, wanted)? else { return Ok(None) };
    for moved in &tables {
        let own = moved.object.name.as_deref().unwrap_or_default();
        let Some((_, table)) = catalog.table(change.database.as_bytes(), own.as_bytes()) else { continue };
        request::movable(&moved.object, table, &moved.to)?;
        request::shown(sharding, &catalog, &moved.object, table).await?;
    }
    for shard in change.added() {
        can_come(sharding, &catalog, &change, shard).await?;
    }
    events_stay(&catalog, &change)?;
    let after = settled(&catalog, &change, &tables);
    let sides = Sides::between(&change.database, &catalog, &after);
    carry::judge(sharding, &sides).await?;
    let new = request::begun(sharding, (&catalog, &after), tables, &wanted.by).await?;
    Ok(Some(Move { layout: Some(change), ..new }))
}

/// The catalog as it is to be.
pub(crate) fn settled(catalog: &Catalog, change: &LayoutChange, tables: &[MovedTable]) -> Catalog {
    let mut next = catalog.clone();
    if let Some(database) = next.databases.get_mut(&change.database) {
        let mut after = change.to.apply(database);
        for moved in tables {
            if let Some(table) = moved.object.name.as_deref().and_then(|name| after.tables.get_mut(name)) {
                Arc::make_mut(table).placement = moved.to.placement.clone();
            }
        }
        *database = Arc::new(after);
    }
    next
}

/// Whether no event would be gone with the shard that runs it.
fn events_stay(catalog: &Catalog, change: &LayoutChange) -> Result<(), Failure> {
    let leaves = |event: &&Event| match event.place {
        EventPlace::One(shard) => event.object.database == change.database && !change.to.shards.contains(&shard),
        EventPlace::Each { .. } => false,
    };
    catalog.events.iter().find(leaves).map_or(Ok(()), |event| {
        Err(not_supported(format!(
            "Event {} runs on a shard that the database would leave: DROP EVENT IF EXISTS {}, and CREATE it again afterwards",
            event.object, event.object
        )))
    })
}

/// Whether a shard can take a database.
async fn can_come(
    sharding: &Arc<Sharding>,
    catalog: &Catalog,
    change: &LayoutChange,
    shard: ShardId,
) -> Result<(), Failure> {
    let name = catalog.shard_name(shard);
    let state = sharding.shard(shard);
    if !state.ready {
        let why = state.trouble.unwrap_or_else(|| "it was not asked yet".to_owned());
        return Err(Failure::weir(codes::ER_UNKNOWN_ERROR, format!("Shard '{name}' is not ready: {why}")));
    }
    let first = change.from.shards.first().copied().unwrap_or(ShardId(0));
    if fold_case(sharding, first).await? != fold_case(sharding, shard).await? {
        return Err(not_supported(format!(
            "Shard '{name}' has another lower_case_table_names than shard '{}': names would have different meanings. Set it to the same value",
            catalog.shard_name(first)
        )));
    }
    let there = accounts(sharding, shard).await?;
    let here = accounts(sharding, first).await?;
    let missing: Vec<String> = here.into_iter().filter(|account| !there.contains(account)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(not_supported(format!(
        "Shard '{name}' lacks accounts that shard '{}' has: {}. Create them there, with the same passwords and grants",
        catalog.shard_name(first),
        missing.join(", ")
    )))
}

async fn fold_case(sharding: &Sharding, shard: ShardId) -> Result<bool, Failure> {
    let reply = sharding.own.run(shard, "SELECT @@lower_case_table_names").await?;
    Ok(reply.rows.first().is_some_and(|row| text(row.first()) != "0"))
}

/// The accounts of a server but for Weir's own, as far as that may see them.
async fn accounts(sharding: &Sharding, shard: ShardId) -> Result<Vec<String>, Failure> {
    let own = format!("'{}'@", sharding.own.user());
    let sql = format!(
        "SELECT DISTINCT GRANTEE FROM information_schema.USER_PRIVILEGES WHERE LEFT(GRANTEE, CHAR_LENGTH({own})) <> {own}",
        own = quoted(&own)
    );
    let reply = sharding.own.run(shard, sql).await?;
    Ok(reply.rows.iter().map(|row| text(row.first())).collect())
}

/// Makes the database where it comes to, with the defaults that it has elsewhere.
///
/// # Errors
/// The servers'.
pub(crate) async fn make_database(sharding: &Sharding, change: &LayoutChange) -> Result<(), Failure> {
    let name = weir_shards::own::name(&change.database);
    let first = change.from.shards.first().copied().unwrap_or(ShardId(0));
    let sql = format!(
        "SELECT DEFAULT_CHARACTER_SET_NAME, DEFAULT_COLLATION_NAME FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = {}",
        quoted(&change.database)
    );
    let reply = sharding.own.run(first, sql).await?;
    let told = reply.rows.first().map(|row| (text(row.first()), text(row.get(1))));
    let defaults =
        told.map_or_else(String::new, |(set, collation)| format!(" CHARACTER SET {set} COLLATE {collation}"));
    for shard in change.added() {
        sharding.own.run(shard, format!("CREATE DATABASE IF NOT EXISTS {name}{defaults}")).await?;
        if !defaults.is_empty() {
            sharding.own.run(shard, format!("ALTER DATABASE {name}{defaults}")).await?;
        }
    }
    Ok(())
}

/// The default collation of a database on a shard.
///
/// # Errors
/// The server's.
pub(crate) async fn database_collation(sharding: &Sharding, shard: ShardId, database: &str) -> Result<String, Failure> {
    let sql = format!(
        "SELECT DEFAULT_COLLATION_NAME FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = {}",
        quoted(database)
    );
    let reply = sharding.own.run(shard, sql).await?;
    Ok(reply.rows.first().map(|row| text(row.first())).unwrap_or_default())
}

/// A database of a move as it is where a direction leads to.
pub(crate) fn of_side(known: &Move, database: &Database, towards: Direction) -> Database {
    match (&known.layout, towards) {
        (Some(change), Direction::Forward) => change.to.apply(database),
        (Some(change), Direction::Back) => change.from.apply(database),
        (None, _) => database.clone(),
    }
}
