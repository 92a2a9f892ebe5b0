//! Events.
//!
//! What must always hold: an event that uses tables is on the one shard that has all of their rows; or it is on all shards, and each of its
//! statements changes rows of sharded tables that each shard finds by itself, so that the shards do together what one server would do. No
//! table, view or procedure that an event uses comes to be elsewhere.

use weir_catalog::{Catalog, Change, Constant, DefinitionKind, Event, EventPlace, Object, ShardId, Weights};
use weir_plan::{Plan, SessionFacts, TemporaryNames, WriteKind};
use weir_sql::ast::{
    AlterEvent, Control, CreateEvent, CreateRoutine, DropProgram, Piece, RoutineBody, Span, StatementKind,
};
use weir_sql::{Bump, Dialect, parse, parse_body};
use weir_wire::Failure;
use weir_wire::error::not_supported;

use super::asked::Asked;
use super::body_use::{BodyUse, tables_in};
use super::intent::Intent;
use super::names::{self, quoted};
use super::shards;

/// CREATE EVENT.
pub(super) fn create(
    asked: &Asked<'_>,
    catalog: &Catalog,
    create: &CreateEvent<'_>,
) -> Result<Option<Intent>, Failure> {
    let Some(object) = names::object(asked, catalog, &create.name)? else { return Ok(None) };
    let event = used(asked, catalog, &object, create.body)?;
    let all = shards::of_database(catalog, &object.database);
    let place = event.as_ref().map(|event| &event.place);
    let mut shards = of_place(place, &all);
    let mut own = Vec::new();
    if create.or_replace {
        // It may have been where it is not to be.
        let gone = format!("DROP EVENT IF EXISTS {}", quoted(&object)).into_bytes();
        own.extend(all.iter().filter(|shard| !shards.contains(shard)).map(|shard| (*shard, gone.clone())));
        shards.extend(own.iter().map(|(shard, _)| *shard));
    } else {
        name_taken_first(catalog, &object, &mut shards)?;
    }
    let kind = if create.or_replace { DefinitionKind::Again } else { DefinitionKind::Create };
    let change = event.map_or_else(|| Change::DropEvent(object.clone()), Change::PutEvent);
    let objects = about(asked, catalog, object, Some(create.body));
    let intent = Intent::new(asked, kind, objects, shards).with(vec![change]);
    Ok(Some(Intent { own, if_not_exists: create.if_not_exists, ..intent }))
}

/// ALTER EVENT: where the event is.
pub(super) fn alter(asked: &Asked<'_>, catalog: &Catalog, alter: &AlterEvent<'_>) -> Result<Option<Intent>, Failure> {
    let Some(object) = names::object(asked, catalog, &alter.name)? else { return Ok(None) };
    let known = catalog.event(&object);
    let mut event = match alter.body {
        Some(body) => used(asked, catalog, &object, body)?,
        None => known.cloned(),
    };
    let one = |event: Option<&Event>| match event.map(|event| &event.place) {
        Some(EventPlace::One(shard)) => Some(*shard),
        _ => None,
    };
    if one(event.as_ref()) != one(known) {
        return Err(elsewhere(&object));
    }
    let all = shards::of_database(catalog, &object.database);
    let mut shards = of_place(event.as_ref().map(|event| &event.place), &all);
    let mut changes = Vec::new();
    if let Some(name) = &alter.new_name {
        let renamed = names::object(asked, catalog, name)?.filter(|renamed| renamed.database == object.database);
        let renamed = renamed.ok_or_else(|| {
            not_supported(
                "An event in a sharded database can't be moved to another database: DROP it, and CREATE it there",
            )
        })?;
        name_taken_first(catalog, &renamed, &mut shards)?;
        changes.push(Change::DropEvent(object.clone()));
        event = event.map(|event| Event { object: renamed, ..event });
    }
    changes.push(event.map_or_else(|| Change::DropEvent(object.clone()), Change::PutEvent));
    let objects = about(asked, catalog, object, alter.body);
    Ok(Some(Intent::new(asked, DefinitionKind::Again, objects, shards).with(changes)))
}

/// DROP EVENT: where the event is.
pub(super) fn drop(asked: &Asked<'_>, catalog: &Catalog, drop: &DropProgram<'_>) -> Result<Option<Intent>, Failure> {
    let Some(object) = names::object(asked, catalog, &drop.name)? else { return Ok(None) };
    let all = shards::of_database(catalog, &object.database);
    let shards = of_place(catalog.event(&object).map(|event| &event.place), &all);
    let changes = vec![Change::DropEvent(object.clone())];
    Ok(Some(Intent::new(asked, DefinitionKind::Drop, vec![object], shards).with(changes)))
}

/// The event and its tables, which may not be moved meanwhile.
fn about(asked: &Asked<'_>, catalog: &Catalog, object: Object, body: Option<Span>) -> Vec<Object> {
    let tables = body.map(|body| tables_in(asked, catalog, body, &object.database)).unwrap_or_default();
    std::iter::once(object).chain(tables).collect()
}

/// Puts the shard first that may have an event of this name, which it says then. (An event that has run for the last time goes without a word.)
fn name_taken_first(catalog: &Catalog, object: &Object, shards: &mut [ShardId]) -> Result<(), Failure> {
    let Some(EventPlace::One(shard)) = catalog.event(object).map(|event| &event.place) else { return Ok(()) };
    if !shards.contains(shard) {
        return Err(elsewhere(object));
    }
    shards.sort_by_key(|other| other != shard);
    Ok(())
}

/// The shards that have an event.
pub(crate) fn of_place(place: Option<&EventPlace>, all: &[ShardId]) -> Vec<ShardId> {
    match place {
        Some(EventPlace::One(shard)) => vec![*shard],
        Some(EventPlace::Each { .. }) | None => all.to_vec(),
    }
}

fn elsewhere(object: &Object) -> Failure {
    not_supported(format!(
        "An event {object} that uses tables of other shards is there, or was: DROP EVENT IF EXISTS {object} first"
    ))
}

/// An event with what it uses; `None` if it uses no tables.
fn used(asked: &Asked<'_>, catalog: &Catalog, object: &Object, body: Span) -> Result<Option<Event>, Failure> {
    let reach = BodyUse::of(asked, catalog, body, &object.database);
    let Some(place) = place(asked, catalog, (body, &object.database), &reach)? else { return Ok(None) };
    let body = String::from_utf8_lossy(body.text(asked.text)).into_owned();
    Ok(Some(Event { object: object.clone(), body, writes: reach.writes, place }))
}

fn place(
    asked: &Asked<'_>,
    catalog: &Catalog,
    (body, database): (Span, &str),
    reach: &BodyUse,
) -> Result<Option<EventPlace>, Failure> {
    if reach.sharded
        && let Some(assigned) = for_each(asked, catalog, body, database)
    {
        return Ok(Some(EventPlace::Each { assigned }));
    }
    let all = shards::of_database(catalog, database);
    match reach.needs().as_deref() {
        Some([shard]) if all.contains(shard) => Ok(Some(EventPlace::One(*shard))),
        Some([]) if reach.global || reach.calls_unknown => Ok(all.first().copied().map(EventPlace::One)),
        Some([]) if !reach.writes => Ok(None),
        _ => Err(not_supported(
            "An event in a sharded database can use SINGLE tables of one shard and read GLOBAL tables, or change rows of sharded tables that \
             each shard finds by itself, without LIMIT, variables and definitions: have a scheduler run other statements through Weir",
        )),
    }
}

/// The columns that a body assigns, in lower case, if it does nothing but change rows of sharded tables that each shard finds by itself.
fn for_each(asked: &Asked<'_>, catalog: &Catalog, body: Span, database: &str) -> Option<Vec<String>> {
    let (arena, text) = (Bump::new(), body.text(asked.text));
    let mut assigned = Vec::new();
    for piece in parse_body(&arena, text, asked.mode).ok()? {
        match piece {
            Piece::Statement(span) => assigned.extend(changes_own_rows(asked, catalog, span.text(text), database)?),
            Piece::Control(Control::Block | Control::BlockEnd) => {}
            _ => return None,
        }
    }
    Some(assigned)
}

/// The columns that an UPDATE or DELETE assigns, if every shard can run it on its own rows.
fn changes_own_rows(asked: &Asked<'_>, catalog: &Catalog, text: &[u8], database: &str) -> Option<Vec<String>> {
    let arena = Bump::new();
    let parsed = parse(&arena, text, asked.mode).ok().filter(|parsed| !parsed.conditional && !parsed.dollars)?;
    let [statement] = parsed.statements else { return None };
    let assigned = match statement.kind {
        StatementKind::Update(update) => {
            update.assignments.iter().map(|set| String::from_utf8_lossy(set.column.name.name).to_lowercase()).collect()
        }
        StatementKind::Delete(_) => Vec::new(),
        _ => return None,
    };
    let setting = |name: &str| asked.settings.get(name).map_or("", String::as_str);
    let facts = SessionFacts {
        database: Some(database.as_bytes()),
        mode: asked.mode,
        sql_mode: setting("sql_mode"),
        charset: setting("character_set_client"),
        collation: setting("collation_connection"),
        default_collation: &|_| None,
        parameters: Some(&[]),
        variable: &|_| None::<Constant>,
        in_transaction: false,
        for_write: false,
        temporary: &TemporaryNames::new(),
        mariadb: asked.mode.dialect == Dialect::MariaDb,
        home: ShardId(0),
        hinted: None,
        running: &[],
    };
    match weir_plan::plan(text, statement, catalog, &Weights::default(), &facts) {
        Ok(Plan::Write(write)) => match write.kind {
            WriteKind::Everywhere(_, sent) if sent == text => Some(assigned),
            _ => None,
        },
        _ => None,
    }
}

/// Refuses a definition after which an event would use what other shards have.
pub(super) fn stay(asked: &Asked<'_>, catalog: &Catalog, changes: &[Change]) -> Result<(), Failure> {
    for change in changes {
        let (Change::AddTable(object, _)
        | Change::Rename(_, object)
        | Change::PutView(object, _)
        | Change::RereadRoutine(object, _)) = change
        else {
            continue;
        };
        if let Some(event) = catalog.events_with(object).find(|event| !fits(asked, catalog, event, change)) {
            return Err(not_supported(format!(
                "Event {} may use '{object}', and would no longer find all of its rows on the shard where it runs: DROP EVENT IF EXISTS {}, and \
                 CREATE it again afterwards",
                event.object, event.object
            )));
        }
    }
    Ok(())
}

/// Whether an event still runs where all that it uses is.
fn fits(asked: &Asked<'_>, catalog: &Catalog, event: &Event, change: &Change) -> bool {
    match change {
        Change::AddTable(_, placed) => event.allows(&placed.placement, &placed.clause),
        Change::Rename(from, _) => {
            shards::table(catalog, from).is_none_or(|table| event.allows(&table.placement, &table.clause))
        }
        Change::PutView(object, query) => uses_no_more(asked, catalog, event, query.as_bytes(), object),
        Change::RereadRoutine(object, _) => match asked.statement.kind {
            StatementKind::CreateRoutine(CreateRoutine {
                function: false, body: RoutineBody::Statement(body), ..
            }) => uses_no_more(asked, catalog, event, body.text(asked.text), object),
            _ => true,
        },
        _ => true,
    }
}

/// Whether an event that also does this still runs where it is.
fn uses_no_more(asked: &Asked<'_>, catalog: &Catalog, event: &Event, text: &[u8], object: &Object) -> bool {
    let EventPlace::One(shard) = event.place else { return false };
    let needs = BodyUse::of_text(catalog, text, asked.mode, &object.database).needs();
    needs.is_some_and(|needs| needs.iter().all(|other| *other == shard))
}
