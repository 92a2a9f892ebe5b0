//! Databases that are on the servers already become Weir's as they are, and are forgotten again.
//!
//! What must always hold: nothing is changed on the servers. Every table is SINGLE on the shard where it is; one whose name is on several
//! shards is refused, as nobody could say which rows are meant.

use std::collections::BTreeMap;
use std::sync::Arc;

use weir_catalog::{Catalog, Database, Event, EventPlace, Object, Placement, ShardId, SlotMap, Table};
use weir_shards::inspect;
use weir_shards::own::{Own, quoted, text};
use weir_shards::sharding::Sharding;
use weir_wire::Failure;
use weir_wire::error::codes;

use crate::{routine, view};

/// Adopts a database: from the shards that have it, with the tables that are there.
///
/// # Errors
/// 1049 when no shard has it, 1007 when the catalog has it already, 1235 when it can't be told what is meant; the servers' own.
pub async fn attach(sharding: &Arc<Sharding>, name: &str) -> Result<(), Failure> {
    if inspect::is_own(name) {
        return Err(refused(format!("Database '{name}' is a system database: it can't be attached")));
    }
    if let Some((known, _)) = sharding.catalog().database(name.as_bytes()) {
        let message = format!("Database '{known}' is already in the catalog; WEIR DETACH DATABASE removes it");
        return Err(Failure::client(codes::ER_DB_CREATE_EXISTS, message));
    }
    let mut seen = Vec::new();
    let mut spelt = None;
    for shard in sharding.own.shards() {
        if let Some(found) = inspect::database(&sharding.own, shard, name).await? {
            seen.push(look(&sharding.own, shard, &found).await?);
            spelt.get_or_insert(found);
        }
    }
    let Some(spelt) = spelt else {
        let message = format!("Unknown database '{name}': no shard has it");
        return Err(Failure::client(codes::ER_BAD_DB_ERROR, message));
    };
    let adopted = adopt(&spelt, seen, &sharding.catalog())?;
    let routines = routine::routines(&sharding.own, &adopted.shards, &spelt).await?;
    let events = events(&sharding.own, &adopted.shards, &spelt).await?;
    let (tables, shards) = (adopted.tables.len(), adopted.shards.len());
    let database = spelt.clone();
    sharding
        .change(move |now| {
            if now.database(database.as_bytes()).is_some() {
                let message = format!("Database '{database}' is already in the catalog");
                return Err(Failure::client(codes::ER_DB_CREATE_EXISTS, message));
            }
            let mut next = now.clone();
            next.events.extend(events);
            next.routines.insert(database.clone(), routines);
            next.databases.insert(database, Arc::new(adopted));
            Ok(next)
        })
        .await?;
    tracing::info!(database = spelt, tables, shards, "a database was attached");
    Ok(())
}

/// The events of a database that one shard has. What several have is run by each of them, as before.
async fn events(own: &Own, shards: &[ShardId], database: &str) -> Result<Vec<Event>, Failure> {
    let sql = format!(
        "SELECT EVENT_NAME, EVENT_DEFINITION FROM information_schema.EVENTS WHERE EVENT_SCHEMA = {}",
        quoted(database)
    );
    let mut found: Vec<Event> = Vec::new();
    for shard in shards {
        let rows = own.run(*shard, sql.clone()).await?.rows;
        found.extend(rows.iter().map(|row| Event {
            object: Object::within(database, text(row.first())),
            body: text(row.get(1)),
            writes: true,
            place: EventPlace::One(*shard),
        }));
    }
    let count = |event: &Event| found.iter().filter(|other| other.object == event.object).count();
    Ok(found.iter().filter(|event| count(event) == 1).cloned().collect())
}

/// Forgets a database; its tables stay where they are.
///
/// # Errors
/// 1049 when the catalog has no such database, 1235 when its tables are not all on one shard each.
pub async fn detach(sharding: &Arc<Sharding>, name: &str) -> Result<(), Failure> {
    let wanted = name.to_owned();
    sharding.change(move |now| forget(now, &wanted)).await?;
    tracing::info!(database = name, "a database was detached");
    Ok(())
}

fn forget(now: &Catalog, name: &str) -> Result<Catalog, Failure> {
    let Some((known, database)) = now.database(name.as_bytes()) else {
        let message = format!("Unknown database '{name}' in the catalog");
        return Err(Failure::client(codes::ER_BAD_DB_ERROR, message));
    };
    if let Some(moved) = now.move_in_the_way(&[Object::database(known)]) {
        let (id, tables) = (moved.id, moved.names());
        return Err(refused(format!(
            "Move {id} of {tables} is in progress: WEIR MOVE FINISH {id} or WEIR MOVE CANCEL {id} first"
        )));
    }
    let spread = database.tables.iter().find(|(_, table)| !matches!(table.placement, Placement::Single(_)));
    if let Some((table, _)) = spread {
        return Err(refused(format!(
            "Table '{known}.{table}' is on several shards: without the catalog nobody could read it whole. DROP it, or copy its rows \
             to a table that is SINGLE"
        )));
    }
    let mut next = now.clone();
    next.databases.remove(known);
    next.events.retain(|event| event.object.database != known);
    next.routines.remove(known);
    Ok(next)
}

/// What a shard has of a database.
struct Seen {
    shard: ShardId,
    tables: BTreeMap<String, Table>,
    views: BTreeMap<String, String>,
}

async fn look(own: &Own, shard: ShardId, database: &str) -> Result<Seen, Failure> {
    let tables = inspect::tables(own, shard, database, |_| None).await?;
    let views = view::views(own, shard, database).await?;
    Ok(Seen { shard, tables, views })
}

fn adopt(name: &str, seen: Vec<Seen>, catalog: &Catalog) -> Result<Database, Failure> {
    let shards: Vec<ShardId> = seen.iter().map(|seen| seen.shard).collect();
    let (mut tables, mut views): (BTreeMap<String, Arc<Table>>, BTreeMap<String, String>) = Default::default();
    for Seen { shard, tables: there, views: their_views } in seen {
        for (table, definition) in there {
            if let Some(other) = tables.insert(table.clone(), Arc::new(definition)) {
                let on = match other.placement {
                    Placement::Single(on) => catalog.shard_name(on).to_owned(),
                    _ => "another shard".to_owned(),
                };
                return Err(refused(format!(
                    "Table '{name}.{table}' is on shard '{on}' and on shard '{}': Weir can't know which rows belong together. Rename or \
                     drop all but one of them; a table over several shards is made with CREATE TABLE through Weir, and filled then",
                    catalog.shard_name(shard)
                )));
            }
        }
        views.extend(their_views);
    }
    Ok(Database { slots: SlotMap::even(&shards), shards, tables, views, default_single: false })
}

fn refused(message: String) -> Failure {
    Failure::client(codes::ER_NOT_SUPPORTED_YET, message)
}
