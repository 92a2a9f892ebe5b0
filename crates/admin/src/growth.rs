//! Shards that come and go, and databases that are spread over them.
//!
//! What must always hold: a dry run changes nothing; a shard that drains is marked first, so that nothing comes to it any more.

use std::sync::Arc;

use weir_catalog::{Catalog, Layout, ShardId};
use weir_moves::{LayoutWish, Mover, Planned, WantedLayout, planned};
use weir_shards::Sharding;
use weir_wire::Failure;
use weir_wire::error::{codes, not_supported};

use crate::answer::{Answer, Table};
use crate::columns;
use crate::command::Growth;

/// Whether a shard is in use, for display.
pub(crate) fn state(catalog: &Catalog, shard: ShardId) -> String {
    if usize::from(shard.0) >= catalog.shards.len() {
        return "not added yet".to_owned();
    }
    match (catalog.draining.contains(&shard), catalog.held_by(shard)) {
        (false, _) => "in use".to_owned(),
        (true, None) => "drained".to_owned(),
        (true, Some(what)) => format!("draining: holds {what}"),
    }
}

/// Does what is wanted of shards, or tells what that would be.
///
/// # Errors
/// 1105 for a shard that is not there; why something can't be.
pub(crate) async fn run(mover: &Arc<Mover>, order: Growth, user: &str) -> Result<Answer, Failure> {
    match order {
        Growth::Rebalance { database, dry_run } => {
            let databases = rebalance(&mover.catalog(), database);
            begin(mover, &databases, LayoutWish::Balanced, user, dry_run).await
        }
        Growth::MoveSlots { slots, database, shard } => {
            let wish = LayoutWish::Slots(slots, named(&mover.catalog(), &shard)?);
            begin(mover, &[database], wish, user, false).await
        }
        Growth::AddShard(shard) => add(mover.sharding(), &shard, user).await,
        Growth::Drain { shard, dry_run } => drain(mover, &shard, user, dry_run).await,
    }
}

/// A shard by its name.
///
/// # Errors
/// 1105 when there is none.
fn named(catalog: &Catalog, name: &str) -> Result<ShardId, Failure> {
    catalog.shard(name).ok_or_else(|| {
        let message = format!("There is no shard '{name}': the shards are {}", catalog.shards.join(", "));
        Failure::client(codes::ER_UNKNOWN_ERROR, message)
    })
}

/// The databases that are meant.
fn rebalance(catalog: &Catalog, database: Option<String>) -> Vec<String> {
    database.map_or_else(|| catalog.databases.keys().cloned().collect(), |database| vec![database])
}

/// Begins what is wanted of these databases, or tells what that would be.
///
/// # Errors
/// The first reason why one can't be: others are begun all the same.
async fn begin(
    mover: &Arc<Mover>,
    databases: &[String],
    wish: LayoutWish,
    user: &str,
    dry_run: bool,
) -> Result<Answer, Failure> {
    let mut table = Table::new(columns::LAYOUTS);
    let mut failed = None;
    for database in databases {
        let wanted = WantedLayout { database: database.clone(), wish: wish.clone(), by: user.to_owned() };
        let catalog = mover.catalog();
        let Some(found) = planned(&catalog, &wanted)? else { continue };
        let begun = if dry_run { Ok(None) } else { mover.begin_layout(wanted).await };
        match begun {
            Ok(id) => note(&mut table, &catalog, &found, id),
            Err(failure) => failed = failed.or(Some(failure)),
        }
    }
    match failed {
        None => Ok(Answer::Rows(table)),
        Some(failure) => Err(failure),
    }
}

fn note(table: &mut Table, catalog: &Catalog, found: &Planned, id: Option<u64>) {
    let change = &found.change;
    let tables: Vec<&str> = found.tables.iter().filter_map(|moved| moved.object.name.as_deref()).collect();
    table.push(vec![
        change.database.as_str().into(),
        id.into(),
        slots(catalog, &change.from).into(),
        slots(catalog, &change.to).into(),
        change.from.slots.moved(&change.to.slots).into(),
        tables.join(", ").into(),
    ]);
}

fn slots(catalog: &Catalog, layout: &Layout) -> String {
    let of = |shard: &ShardId| format!("{}: {}", catalog.shard_name(*shard), layout.slots.count(*shard));
    layout.shards.iter().map(of).collect::<Vec<_>>().join(", ")
}

/// `DRAIN SHARD`
///
/// # Errors
/// 1105 for a shard that is not there; 1235 for one that can't be drained; why a database can't leave it.
async fn drain(mover: &Arc<Mover>, name: &str, user: &str, dry_run: bool) -> Result<Answer, Failure> {
    let mut catalog = Catalog::clone(&mover.catalog());
    let shard = named(&catalog, name)?;
    mark(&mut catalog, shard)?;
    let databases = catalog.databases.iter().filter(|(_, database)| database.shards.contains(&shard));
    let databases: Vec<String> = databases.map(|(name, _)| name.clone()).collect();
    if dry_run {
        let mut table = Table::new(columns::LAYOUTS);
        for database in databases {
            let wanted = WantedLayout { database, wish: LayoutWish::Leave, by: user.to_owned() };
            if let Some(found) = planned(&catalog, &wanted)? {
                note(&mut table, &catalog, &found, None);
            }
        }
        return Ok(Answer::Rows(table));
    }
    tracing::info!(shard = name, user, "a shard is drained");
    mover.sharding().change(move |now| change(now, |next| mark(next, shard))).await?;
    begin(mover, &databases, LayoutWish::Leave, user, false).await
}

/// Marks a shard as one that is to hold nothing.
fn mark(catalog: &mut Catalog, shard: ShardId) -> Result<(), Failure> {
    if shard == ShardId(0) {
        return Err(not_supported(format!(
            "Shard '{}' is the home shard: databases that are not sharded are there, and it can't be drained",
            catalog.shard_name(shard)
        )));
    }
    if !catalog.draining.contains(&shard) {
        catalog.draining.push(shard);
    }
    Ok(())
}

/// `ADD SHARD`
///
/// # Errors
/// 1105 for a shard that is not there.
async fn add(sharding: &Arc<Sharding>, name: &str, user: &str) -> Result<Answer, Failure> {
    let shard = named(&sharding.catalog(), name)?;
    tracing::info!(shard = name, user, "a shard is taken into use");
    let taken = sharding.change(move |now| {
        change(now, |next| {
            next.draining.retain(|other| *other != shard);
            Ok(())
        })
    });
    taken.await.map(|_| Answer::Done)
}

fn change(now: &Catalog, by: impl FnOnce(&mut Catalog) -> Result<(), Failure>) -> Result<Catalog, Failure> {
    let mut next = now.clone();
    by(&mut next)?;
    Ok(next)
}
