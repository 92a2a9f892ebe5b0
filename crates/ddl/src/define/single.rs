//! Tables that were sharded only because nothing else was said, and become SINGLE because a later definition needs it: a unique key, a
//! foreign key.
//!
//! What must always hold: no row is ever where nobody looks. Only tables without rows become SINGLE here, while they are locked on all shards;
//! the catalog says so before a copy goes and before a lock does, so that a statement that was planned before finds no table there and fails.
//! What of the copies is left when Weir is killed is recorded, and empty. Tables with rows have to be moved first, by who runs the definition.

use std::sync::Arc;

use weir_catalog::define::references;
use weir_catalog::{
    Catalog, Definition, DefinitionKind, Object, Placement, Progress, Sent, ShardId, Table, Undo, reading,
};
use weir_exec::ShardLease;
use weir_shards::ask::ask;
use weir_shards::own::name;
use weir_sql::ast::{AlterActionKind, CreateRoutine, RoutineBody, Span, StatementKind, TableElement};
use weir_wire::Failure;
use weir_wire::error::{codes, not_supported};

use super::asked::Asked;
use super::held::{self, Held};
use super::intent::Intent;
use super::records::Records;
use super::{body_use, names, progress, reach, shards};

/// What a refused definition would be if tables that were sharded by default were SINGLE; the refusal, if that doesn't help.
pub(super) fn instead(
    asked: &Asked<'_>,
    catalog: &Catalog,
    refusal: Failure,
    intend: impl Fn(&Catalog) -> Option<Intent>,
) -> Result<Option<Intent>, Failure> {
    if refusal.code != codes::ER_NOT_SUPPORTED_YET {
        return Err(refusal);
    }
    let singles = possible(asked, catalog);
    let settled = if singles.is_empty() { None } else { settled(catalog, &singles) };
    let Some(intent) = settled.and_then(|settled| intend(&settled)) else { return Err(refusal) };
    let listed: Vec<String> = singles.iter().map(ToString::to_string).collect();
    let note = format!("Without SHARD BY and without rows, {} became SINGLE: {}", listed.join(", "), refusal.message);
    Ok(Some(Intent { singles, because: Some(refusal), note: Some(note), ..intent }))
}

/// The tables that may become SINGLE for this definition, with all that are tied to them by foreign keys.
pub(super) fn possible(asked: &Asked<'_>, catalog: &Catalog) -> Vec<Object> {
    let (mut found, mut in_body): (Vec<Object>, Vec<Object>) = Default::default();
    let mut add = |name: &weir_sql::ast::ObjectName<'_>| {
        if let Ok(Some(object)) = names::object(asked, catalog, name)
            && shards::table(catalog, &object).is_some_and(|table| table.by_default)
            && !found.contains(&object)
        {
            found.push(object);
        }
    };
    let by_default_in = |body: Span, database: &str| {
        let mut named = body_use::tables_in(asked, catalog, body, database);
        named.retain(|object| shards::table(catalog, object).is_some_and(|table| table.by_default));
        named
    };
    let add_referenced = |elements: &[TableElement<'_>], add: &mut dyn FnMut(&weir_sql::ast::ObjectName<'_>)| {
        references(elements).iter().for_each(|(_, references)| add(&references.table));
    };
    match asked.statement.kind {
        StatementKind::CreateTable(create) => {
            if let Some(definition) = create.definition() {
                add_referenced(definition.elements(), &mut add);
            }
        }
        StatementKind::CreateIndex(index) => add(&index.table),
        StatementKind::CreateTrigger(trigger) => {
            add(&trigger.table);
            if let Ok(Some(table)) = names::object(asked, catalog, &trigger.table) {
                in_body.extend(by_default_in(trigger.body, &table.database));
            }
        }
        StatementKind::CreateEvent(event) => {
            if let Ok(Some(object)) = names::object(asked, catalog, &event.name) {
                in_body.extend(by_default_in(event.body, &object.database));
            }
        }
        StatementKind::CreateRoutine(CreateRoutine {
            function: true,
            body: RoutineBody::Statement(body),
            name,
            ..
        }) => {
            if let Ok(Some(function)) = names::object(asked, catalog, name) {
                in_body.extend(by_default_in(*body, &function.database));
            }
        }
        StatementKind::AlterTable(alter) => {
            add(&alter.table);
            for action in alter.actions {
                match &action.kind {
                    AlterActionKind::AddForeignKey(key) => add(&key.references.table),
                    AlterActionKind::AddElements(elements) => add_referenced(elements, &mut add),
                    AlterActionKind::AddColumn(column) => {
                        add_referenced(&[TableElement::Column(&column.definition)], &mut add);
                    }
                    _ => {}
                }
            }
        }
        _ => {}
    }
    found.extend(in_body);
    found.sort();
    found.dedup();
    together(catalog, found)
}

/// These tables, and all by default that foreign keys tie to them; none if others are tied to them that stay where they are.
fn together(catalog: &Catalog, mut found: Vec<Object>) -> Vec<Object> {
    let mut at = 0;
    while let Some(object) = found.get(at).cloned() {
        at += 1;
        let Some(table) = shards::table(catalog, &object) else { continue };
        let referenced = table.foreign_keys.iter().map(|key| Object::within(key.table.0.clone(), key.table.1.clone()));
        for other in referenced.chain(referring(catalog, &object)) {
            let Some(tied) = shards::table(catalog, &other) else { continue };
            match tied.placement {
                _ if found.contains(&other) => {}
                _ if tied.by_default && other.database == object.database => found.push(other),
                Placement::Sharded(_) => return Vec::new(),
                Placement::Global | Placement::Single(_) => {}
            }
        }
    }
    found
}

/// The tables whose foreign keys refer to this one.
pub(super) fn referring<'a>(catalog: &'a Catalog, object: &'a Object) -> impl Iterator<Item = Object> + 'a {
    let refers = move |table: &Table| {
        table
            .foreign_keys
            .iter()
            .any(|key| key.table.0 == object.database && Some(&key.table.1) == object.name.as_ref())
    };
    catalog.databases.iter().flat_map(move |(database, known)| {
        let tables = known.tables.iter().filter(move |(_, table)| refers(table));
        tables.map(move |(name, _)| Object::within(database.clone(), name.clone()))
    })
}

/// The catalog with these tables on their database's home shard; `None` if a view would be on fewer shards then.
fn settled(catalog: &Catalog, singles: &[Object]) -> Option<Catalog> {
    let mut settled = catalog.clone();
    settle(&mut settled, singles)?;
    let views = catalog.databases.iter().flat_map(|(name, known)| known.views.keys().map(move |view| (name, view)));
    let mut same = views.map(|(name, view)| {
        weir_plan::views::shards(catalog, name, view) == weir_plan::views::shards(&settled, name, view)
    });
    same.all(|same| same).then_some(settled)
}

fn settle(catalog: &mut Catalog, singles: &[Object]) -> Option<()> {
    for object in singles {
        let home = *shards::of_database(catalog, &object.database).first()?;
        let placed = reading::adopted(home, catalog.shard_name(home));
        let database = Arc::make_mut(catalog.databases.get_mut(&object.database)?);
        let table = Arc::make_mut(database.tables.get_mut(object.name.as_ref()?)?);
        if !table.by_default {
            return None;
        }
        (table.placement, table.clause, table.by_default) = (placed.placement, placed.clause, false);
        table.unchecked.clear();
    }
    Some(())
}

/// How many seconds a shard waits for those who use a table: without a bound, one who waits for the other shard's lock would wait for long.
const WAIT: u32 = 50;

/// Up to how many rows, of all tables together, are moved without a word of the user's: about what a server copies within seconds.
const FEW_ROWS: u64 = 100_000;

/// Why a definition was not run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotDefined {
    /// For this reason.
    Failed(Failure),
    /// Tables that were sharded only by default would have to become SINGLE for it, and have rows, not too many to be moved.
    HasRows {
        /// Each table that would have to, and the clause of its new placement.
        tables: Vec<(Object, String)>,
        /// What is to be said when they were moved.
        note: String,
        /// What is to be said if they are not.
        failure: Failure,
    },
}

impl From<Failure> for NotDefined {
    fn from(failure: Failure) -> Self {
        NotDefined::Failed(failure)
    }
}

impl From<NotDefined> for Failure {
    fn from(not: NotDefined) -> Self {
        match not {
            NotDefined::Failed(failure) | NotDefined::HasRows { failure, .. } => failure,
        }
    }
}

/// Makes these tables of one database SINGLE, if they have no rows.
///
/// # Errors
/// That one has rows; what servers say, after which nothing was done; or what a shard still has of them, with the way on.
pub(super) async fn make<R: Records>(records: &R, intent: &Intent, parts: &mut [ShardLease]) -> Result<(), NotDefined> {
    let mut waits = Vec::new();
    let made = locked(records, (&intent.singles, intent.because.as_ref()), parts, &mut waits).await;
    held::release(&mut waits, parts).await;
    made
}

async fn locked<R: Records>(
    records: &R,
    (singles, because): (&[Object], Option<&Failure>),
    parts: &mut [ShardLease],
    waits: &mut Held,
) -> Result<(), NotDefined> {
    let catalog = records.catalog();
    let singles = &children_first(&catalog, singles)[..];
    let Some(database) = singles.first().map(|object| object.database.clone()) else { return Ok(()) };
    let all = shards::of_database(&catalog, &database);
    let names: Vec<String> = singles.iter().map(full_name).collect();
    let locks: Vec<String> = names.iter().map(|name| format!("{name} WRITE")).collect();
    let (mut filled, mut rows) = (None, 0_u64);
    for shard in &all {
        let part = part_of(parts, *shard)?;
        let wait = held::own_wait(part).await?;
        part.lease.retired = true;
        waits.push((*shard, wait.clone()));
        // Nobody waits longer than he wants to.
        if wait.parse::<u32>().is_ok_and(|own| own > WAIT) {
            ask(&mut part.lease, format!("SET SESSION lock_wait_timeout = {WAIT}").as_bytes()).await.ok()?;
        }
        ask(&mut part.lease, format!("LOCK TABLES {}", locks.join(", ")).as_bytes()).await.ok()?;
        for (object, name) in singles.iter().zip(&names) {
            let counted = format!("SELECT COUNT(*) FROM (SELECT 1 FROM {name} LIMIT {}) AS few", FEW_ROWS + 1);
            let counted = ask(&mut part.lease, counted.as_bytes()).await.ok()?;
            let counted = super::collations::first_text(&counted.rows).and_then(|count| count.parse::<u64>().ok());
            let counted = counted.unwrap_or(u64::MAX);
            if counted > 0 && filled.is_none() {
                filled = Some(object);
            }
            rows = rows.saturating_add(counted);
        }
    }
    if let Some(filled) = filled {
        return Err(has_rows(&catalog, singles, (filled, rows), because));
    }
    let [home, others @ ..] = &all[..] else { return Ok(()) };
    go_on(records, &catalog, (singles, &names), part_of(parts, *home)?).await?;
    let id = record(records, singles, &names, others).await?;
    let mut news = Vec::new();
    for shard in others {
        let part = part_of(parts, *shard)?;
        let dropped = ask(&mut part.lease, drop_text(&names).as_bytes()).await.ok();
        news.push((*shard, dropped.map_or_else(|why| Progress::Failed(why.to_string()), |_| Progress::Done)));
    }
    let done = news.iter().all(|(_, progress)| *progress == Progress::Done);
    let changed = progress::keep(records, id, move |catalog| match done {
        true => progress::forget(catalog, id),
        false => progress::note(catalog, id, &news),
    });
    let changed = changed.await?;
    if !done {
        return Err(progress::half_done(&changed, id).into());
    }
    for object in singles {
        records.set_sequence(object, None).await?;
    }
    Ok(())
}

/// These tables, each before those that its foreign keys refer to: MariaDB drops them one after another.
fn children_first(catalog: &Catalog, singles: &[Object]) -> Vec<Object> {
    let (mut ordered, mut left) = (Vec::new(), singles.to_vec());
    while !left.is_empty() {
        let free = |object: &Object| referring(catalog, object).all(|other| other == *object || !left.contains(&other));
        // Where they refer to each other in a circle any one comes first, and the server says so.
        let at = left.iter().position(free).unwrap_or(0);
        ordered.push(left.remove(at));
    }
    ordered
}

/// The home's own AUTO_INCREMENT goes on where the sequence is.
async fn go_on<R: Records>(
    records: &R,
    catalog: &Catalog,
    (singles, names): (&[Object], &[String]),
    home: &mut ShardLease,
) -> Result<(), Failure> {
    for (object, name) in singles.iter().zip(names) {
        if shards::table(catalog, object).is_none_or(|table| table.auto_increment.is_none()) {
            continue;
        }
        let next = records.sequence(object).await?;
        if next > 1 {
            ask(&mut home.lease, format!("ALTER TABLE {name} AUTO_INCREMENT = {next}").as_bytes()).await.ok()?;
        }
    }
    Ok(())
}

/// Says in the catalog that these are SINGLE, and that their copies are to go.
async fn record<R: Records>(
    records: &R,
    singles: &[Object],
    names: &[String],
    others: &[ShardId],
) -> Result<u64, Failure> {
    let text = drop_text(names);
    let statement = Sent { text: Some(text.clone()), shown: text, ..Sent::default() };
    let definition = Definition {
        id: 0,
        statement,
        kind: DefinitionKind::Drop,
        objects: singles.to_vec(),
        shards: others.iter().map(|shard| (*shard, Progress::Pending)).collect(),
        changes: Vec::new(),
        undo: Undo::Impossible,
    };
    let singles = singles.to_vec();
    let (told, number) = std::sync::mpsc::channel();
    let begun = records.change(move |catalog| {
        settle(catalog, &singles).ok_or_else(meanwhile)?;
        // The receiver lives as long as the future that awaits this.
        let _ = told.send(catalog.begin_definition(definition));
        Ok(())
    });
    begun.await?;
    number.try_recv().map_err(|_| meanwhile())
}

fn drop_text(names: &[String]) -> String {
    format!("DROP TABLE IF EXISTS {}", names.join(", "))
}

fn full_name(object: &Object) -> String {
    format!("{}.{}", name(&object.database), name(object.name.as_deref().unwrap_or_default()))
}

fn part_of(parts: &mut [ShardLease], shard: ShardId) -> Result<&mut ShardLease, Failure> {
    reach::part_of(parts, shard)
        .ok_or_else(|| Failure::weir(codes::ER_UNKNOWN_ERROR, "There is no connection to the shard; try again"))
}

fn meanwhile() -> Failure {
    Failure::weir(codes::ER_TABLE_DEF_CHANGED, "Other definitions have changed the object meanwhile; try again")
}

fn has_rows(
    catalog: &Catalog,
    singles: &[Object],
    (filled, rows): (&Object, u64),
    because: Option<&Failure>,
) -> NotDefined {
    let because = because.map_or("", |failure| &failure.message);
    let listed: Vec<String> = singles.iter().map(ToString::to_string).collect();
    let listed = listed.join(", ");
    let failure = not_supported(format!(
        "{because}. Table {filled} is sharded only by default and would become SINGLE for this, but it has rows: move them with WEIR MOVE TABLES {listed} TO SINGLE"
    ));
    if rows > FEW_ROWS {
        return failure.into();
    }
    let placed = |object: &Object| {
        let home = *shards::of_database(catalog, &object.database).first()?;
        Some((object.clone(), reading::adopted(home, catalog.shard_name(home)).clause))
    };
    NotDefined::HasRows {
        tables: singles.iter().filter_map(placed).collect(),
        note: format!("Without SHARD BY, {listed} became SINGLE, with all rows: {because}"),
        failure,
    }
}
