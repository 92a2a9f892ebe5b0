//! What comes with a database, or with tables, to shards that lacked it: routines, views and events.
//!
//! What must always hold: all of it that could fail is made before the cutover, where nobody uses it yet. Events begin when the new placement
//! is in effect. What is left where a database or a table has gone is dropped with the old tables.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use weir_catalog::{Catalog, EventPlace, Move, MovedTable, Object, ShardId};
use weir_plan::views;
use weir_shards::Sharding;
use weir_shards::own::{OwnSession, name, quoted, text};
use weir_wire::Failure;
use weir_wire::error::not_supported;

use crate::program::{self, Kind, Program, names};
use crate::{Direction, grants, layout};

/// A database before and after it changes.
pub(crate) struct Sides {
    pub(crate) database: String,
    pub(crate) before: Catalog,
    pub(crate) after: Catalog,
}

impl Sides {
    /// Those of a move, whatever its phase.
    pub(crate) fn of(sharding: &Sharding, known: &Move) -> Sides {
        let (mut before, mut after) = (Catalog::clone(&sharding.catalog()), Catalog::clone(&sharding.catalog()));
        before.place_moved(known.id, false);
        after.place_moved(known.id, true);
        Sides { database: known.database().to_owned(), before, after }
    }

    /// Those of a database in two catalogs.
    pub(crate) fn between(database: &str, before: &Catalog, after: &Catalog) -> Sides {
        Sides { database: database.to_owned(), before: before.clone(), after: after.clone() }
    }

    /// The shards that come to the database, or that leave it.
    fn shards(&self, comes: bool) -> Vec<ShardId> {
        let of = |catalog: &Catalog| {
            catalog.database(self.database.as_bytes()).map(|(_, known)| known.shards.clone()).unwrap_or_default()
        };
        let (here, there) = if comes { (&self.before, &self.after) } else { (&self.after, &self.before) };
        let without = of(here);
        of(there).into_iter().filter(|shard| !without.contains(shard)).collect()
    }

    /// The first shard of the database as it was: it has all routines.
    fn first(&self) -> ShardId {
        let known = self.before.database(self.database.as_bytes());
        known.and_then(|(_, known)| known.shards.first().copied()).unwrap_or(ShardId(0))
    }

    /// A shard that has a view before.
    fn home(&self, view: &str) -> ShardId {
        views::shards(&self.before, &self.database, view).first().copied().unwrap_or_else(|| self.first())
    }

    /// The views that come to shards, or that leave them.
    fn views(&self, comes: bool) -> BTreeMap<ShardId, BTreeSet<String>> {
        let (here, there) = if comes { (&self.before, &self.after) } else { (&self.after, &self.before) };
        let mut found: BTreeMap<ShardId, BTreeSet<String>> = BTreeMap::new();
        let Some((_, known)) = self.before.database(self.database.as_bytes()) else { return found };
        for view in known.views.keys() {
            let without = views::shards(here, &self.database, view);
            for shard in views::shards(there, &self.database, view) {
                if !without.contains(&shard) {
                    found.entry(shard).or_default().insert(view.clone());
                }
            }
        }
        found
    }
}

/// Whether all that has to come can, and nothing else is there.
///
/// # Errors
/// 1235, with what is in the way; the servers' own.
pub(crate) async fn judge(sharding: &Sharding, sides: &Sides) -> Result<(), Failure> {
    let (first, database) = (sides.first(), &sides.database);
    let added = sides.shards(true);
    if !added.is_empty() {
        only_once(sharding, sides, &added).await?;
        others(sharding, first, database).await?;
        for kind in [Kind::Function, Kind::Procedure, Kind::Event] {
            programs(sharding, sides, kind).await?;
        }
    }
    for shard in &added {
        for kind in [Kind::Function, Kind::Procedure, Kind::Event] {
            let known = names(sharding, first, kind, database).await?;
            left_alone(sharding, *shard, (kind, database), |own| known.contains(own)).await?;
        }
        left_alone(sharding, *shard, (Kind::View, database), |own| known_view(sides, own)).await?;
    }
    for view in sides.views(true).values().flatten() {
        shown_view(sharding, sides, view).await?;
    }
    Ok(())
}

fn known_view(sides: &Sides, own: &str) -> bool {
    sides.before.view(sides.database.as_bytes(), own.as_bytes()).is_some()
}

/// Refuses what a shard has in a database that it is not a shard of, unless it is replaced.
async fn left_alone(
    sharding: &Sharding,
    shard: ShardId,
    (kind, database): (Kind, &str),
    is_replaced: impl Fn(&String) -> bool,
) -> Result<(), Failure> {
    match names(sharding, shard, kind, database).await?.iter().find(|own| !is_replaced(own)) {
        None => Ok(()),
        Some(own) => Err(not_supported(format!(
            "Shard '{}' has a {} {database}.{own} that the database does not have: DROP it there first",
            sharding.catalog().shard_name(shard),
            kind.word().to_lowercase()
        ))),
    }
}

/// Refuses kinds of routines that are not carried.
async fn others(sharding: &Sharding, first: ShardId, database: &str) -> Result<(), Failure> {
    let sql = format!(
        "SELECT ROUTINE_NAME, ROUTINE_TYPE FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = {} AND ROUTINE_TYPE NOT IN ('PROCEDURE', \
         'FUNCTION')",
        quoted(database)
    );
    match sharding.own.run(first, sql).await?.rows.first() {
        None => Ok(()),
        Some(row) => Err(not_supported(format!(
            "{} {database}.{} would be missing on a shard that comes: DROP it, let the database come there, and CREATE it again",
            text(row.get(1)),
            text(row.first())
        ))),
    }
}

/// Refuses events that run once, and on each shard: on a shard that comes at that moment nobody could say whether it ran.
async fn only_once(sharding: &Sharding, sides: &Sides, added: &[ShardId]) -> Result<(), Failure> {
    let sql = format!(
        "SELECT EVENT_NAME FROM information_schema.EVENTS WHERE EVENT_SCHEMA = {} AND EVENT_TYPE = 'ONE TIME'",
        quoted(&sides.database)
    );
    for row in sharding.own.run(sides.first(), sql).await?.rows {
        let event = text(row.first());
        if everywhere(sides, &event) {
            let shard = added.first().map_or("?", |shard| sides.before.shard_name(*shard));
            return Err(not_supported(format!(
                "Event {}.{event}, which runs once, would be missing on shard '{shard}': DROP it, let the database come there, and CREATE it \
                 again",
                sides.database
            )));
        }
    }
    Ok(())
}

/// Whether an event is on all shards of its database.
fn everywhere(sides: &Sides, event: &str) -> bool {
    let object = Object::within(sides.database.clone(), event);
    !matches!(sides.before.event(&object).map(|event| &event.place), Some(EventPlace::One(_)))
}

/// What all shards of the database have of a kind.
async fn programs(sharding: &Sharding, sides: &Sides, kind: Kind) -> Result<Vec<Program>, Failure> {
    let mut all = Vec::new();
    for own in names(sharding, sides.first(), kind, &sides.database).await? {
        if kind != Kind::Event || everywhere(sides, &own) {
            all.push(program::told(sharding, sides.first(), kind, (&sides.database, &own)).await?);
        }
    }
    Ok(all)
}

async fn shown_view(sharding: &Sharding, sides: &Sides, view: &str) -> Result<Program, Failure> {
    program::told(sharding, sides.home(view), Kind::View, (&sides.database, view)).await
}

/// Makes all that comes. Views find tables there in the names that the new ones get, which have no rows and go at once; events are made, as
/// a test, and dropped.
///
/// # Errors
/// The servers'.
pub(crate) async fn give(sharding: &Arc<Sharding>, sides: &Sides, known: Option<&Move>) -> Result<(), Failure> {
    for shard in sides.shards(true) {
        let mut session = entered(sharding, sides, shard).await?;
        for kind in [Kind::Function, Kind::Procedure, Kind::Event] {
            make(sharding, sides, shard, &mut session, &programs(sharding, sides, kind).await?).await?;
        }
        for event in programs(sharding, sides, Kind::Event).await? {
            session.run(&format!("DROP EVENT IF EXISTS {}", name(&event.name))).await?;
        }
    }
    let views = sides.views(true);
    let mut shards: BTreeSet<ShardId> = sides.shards(true).into_iter().chain(views.keys().copied()).collect();
    shards.extend(known.into_iter().flat_map(Move::shards));
    for shard in shards {
        give_to(sharding, sides, known, (shard, views.get(&shard).unwrap_or(&BTreeSet::new()))).await?;
    }
    Ok(())
}

/// Makes views on a shard, and gives rights on what comes there.
async fn give_to(
    sharding: &Sharding,
    sides: &Sides,
    known: Option<&Move>,
    (shard, views): (ShardId, &BTreeSet<String>),
) -> Result<(), Failure> {
    let mut made = Vec::new();
    for view in views {
        made.push(shown_view(sharding, sides, view).await?);
    }
    let mut granted: Vec<(ShardId, BTreeSet<String>)> = Vec::new();
    for (from, objects) in objects(sharding, sides, known, (shard, views)).await? {
        if grants::any(sharding, [from, shard], &sides.database, &objects).await? {
            granted.push((from, objects));
        }
    }
    if made.is_empty() && granted.is_empty() {
        return Ok(());
    }
    let mut session = entered(sharding, sides, shard).await?;
    if let Some(known) = known {
        shapes(known, shard, &mut session).await?;
    }
    upon_each_other(made, &mut session).await?;
    for (from, objects) in granted {
        grants::carry(sharding, (from, shard), &sides.database, &objects).await?;
    }
    match known {
        Some(known) => drop_shapes(sharding, known, shard).await,
        None => Ok(()),
    }
}

/// What comes to a shard and rights may be on, by a shard that has it.
async fn objects(
    sharding: &Sharding,
    sides: &Sides,
    known: Option<&Move>,
    (shard, views): (ShardId, &BTreeSet<String>),
) -> Result<BTreeMap<ShardId, BTreeSet<String>>, Failure> {
    let mut all: BTreeMap<ShardId, BTreeSet<String>> = BTreeMap::new();
    let named = |own: &str| grants::object(&sides.database, own);
    for moved in known.into_iter().flat_map(|known| &known.tables).filter(|moved| comes(moved, shard)) {
        let from = moved.from_shards.first().copied().unwrap_or_else(|| sides.first());
        all.entry(from).or_default().insert(named(moved.object.name.as_deref().unwrap_or_default()));
    }
    for view in views {
        all.entry(sides.home(view)).or_default().insert(named(view));
    }
    if sides.shards(true).contains(&shard) {
        for kind in [Kind::Function, Kind::Procedure] {
            let routines = names(sharding, sides.first(), kind, &sides.database).await?;
            let of_kind = routines.iter().map(|own| format!("{} {}", kind.word(), named(own)));
            all.entry(sides.first()).or_default().extend(of_kind);
        }
    }
    Ok(all)
}

fn comes(moved: &MovedTable, shard: ShardId) -> bool {
    moved.to_shards.contains(&shard) && !moved.from_shards.contains(&shard)
}

async fn entered(sharding: &Sharding, sides: &Sides, shard: ShardId) -> Result<OwnSession, Failure> {
    let mut session = sharding.own.session(shard).await?;
    program::enter(&mut session, &sides.database).await?;
    Ok(session)
}

/// Makes programs where nobody uses the database yet: its collation is for a moment what it was when each was made.
async fn make(
    sharding: &Sharding,
    sides: &Sides,
    shard: ShardId,
    session: &mut OwnSession,
    programs: &[Program],
) -> Result<(), Failure> {
    let default = layout::database_collation(sharding, shard, &sides.database).await?;
    let mut now = default.clone();
    for program in programs {
        let was = program.database_collation.as_ref().unwrap_or(&default);
        collate(sides, session, &mut now, was).await?;
        program.make(session).await?;
    }
    collate(sides, session, &mut now, &default).await
}

async fn collate(sides: &Sides, session: &mut OwnSession, now: &mut String, to: &str) -> Result<(), Failure> {
    if now == to {
        return Ok(());
    }
    session.run(&format!("ALTER DATABASE {} COLLATE {to}", name(&sides.database))).await?;
    to.clone_into(now);
    Ok(())
}

/// Makes views, each after those that it reads.
async fn upon_each_other(mut views: Vec<Program>, session: &mut OwnSession) -> Result<(), Failure> {
    while !views.is_empty() {
        let (mut left, mut failed) = (Vec::new(), None);
        let count = views.len();
        for view in views {
            if let Err(failure) = view.make(session).await {
                failed = Some(failure);
                left.push(view);
            }
        }
        match failed {
            Some(failure) if left.len() == count => return Err(failure),
            _ => views = left,
        }
    }
    Ok(())
}

fn mark(known: &Move) -> String {
    format!("shape of {}", known.new_schema())
}

/// Empty tables in the names of those that come to a shard. They come into their names with a mark, by which they are known.
async fn shapes(known: &Move, shard: ShardId, session: &mut OwnSession) -> Result<(), Failure> {
    let schema = name(&known.new_schema());
    for moved in known.tables.iter().filter(|moved| comes(moved, shard)) {
        let own = name(moved.object.name.as_deref().unwrap_or_default());
        let shape = format!("{schema}.weir_shape");
        session.run(&format!("DROP TABLE IF EXISTS {shape}")).await?;
        session.run(&format!("CREATE TABLE {shape} LIKE {schema}.{own}")).await?;
        session.run(&format!("ALTER TABLE {shape} COMMENT = {}", quoted(&mark(known)))).await?;
        session.run(&format!("RENAME TABLE {shape} TO {}.{own}", name(&moved.object.database))).await?;
    }
    Ok(())
}

/// Drops those that are left.
pub(crate) async fn drop_shapes(sharding: &Sharding, known: &Move, shard: ShardId) -> Result<(), Failure> {
    let sql = format!(
        "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = {} AND TABLE_TYPE = 'BASE TABLE' AND TABLE_COMMENT = {}",
        quoted(known.database()),
        quoted(&mark(known))
    );
    for row in sharding.own.run(shard, sql).await?.rows {
        let table = format!("{}.{}", name(known.database()), name(&text(row.first())));
        sharding.own.run(shard, format!("DROP TABLE {table}")).await?;
    }
    Ok(())
}

/// The new placement is in effect: events that all shards have begin on those that have come.
///
/// # Errors
/// The servers'.
pub(crate) async fn begin_events(sharding: &Sharding, sides: &Sides) -> Result<(), Failure> {
    let added = sides.shards(true);
    if added.is_empty() {
        return Ok(());
    }
    let events = programs(sharding, sides, Kind::Event).await?;
    for shard in added {
        let there = names(sharding, shard, Kind::Event, &sides.database).await?;
        let mut session = entered(sharding, sides, shard).await?;
        let missing: Vec<Program> = events.iter().filter(|event| !there.contains(&event.name)).cloned().collect();
        make(sharding, sides, shard, &mut session, &missing).await?;
    }
    Ok(())
}

/// Drops what is of no use where the database or its tables are no longer, as a direction has left them.
///
/// # Errors
/// The servers'.
pub(crate) async fn take(sharding: &Sharding, known: &Move, direction: Direction) -> Result<(), Failure> {
    let sides = Sides::of(sharding, known);
    let comes = direction == Direction::Back;
    for shard in sides.shards(comes) {
        for kind in [Kind::View, Kind::Event, Kind::Procedure, Kind::Function] {
            for own in names(sharding, shard, kind, &sides.database).await? {
                drop_one(sharding, shard, kind, (&sides.database, &own)).await?;
            }
        }
    }
    for (shard, views) in sides.views(comes) {
        for view in views {
            drop_one(sharding, shard, Kind::View, (&sides.database, &view)).await?;
        }
    }
    if comes {
        for shard in known.shards() {
            drop_shapes(sharding, known, shard).await?;
        }
    }
    Ok(())
}

async fn drop_one(
    sharding: &Sharding,
    shard: ShardId,
    kind: Kind,
    (database, own): (&str, &str),
) -> Result<(), Failure> {
    // Not through the database's own name alone: it may be gone.
    let there = names(sharding, shard, kind, database).await?;
    if there.iter().any(|known| known == own) {
        sharding.own.run(shard, format!("DROP {} IF EXISTS {}.{}", kind.word(), name(database), name(own))).await?;
    }
    Ok(())
}
