//! Turns a statement into an intent: which shards, which text, what the catalog becomes.
//!
//! What must always hold: it is a pure function of the statement and a snapshot, so that it can be asked again when the snapshot is old.
//! A text for servers is the client's own, with Weir's clauses cut out.

use weir_catalog::OWN_SCHEMA;
use weir_catalog::define::Unplaced;
use weir_catalog::{Catalog, Change, DefinitionKind, Object, ShardId};
use weir_sql::ast::{
    AlterDatabase, Authentication, CreateDatabase, DropDatabase, DropKind, DropTables, GrantLevel, Granted, ObjectName,
    ProgramKind, Secret, SetItem, SetItemKind, StatementKind, Truncate, Verb,
};
use weir_wire::Failure;
use weir_wire::error::{codes, not_supported};

use super::asked::Asked;
use super::collations::CollationFacts;
use super::intent::{Intent, whole_database};
use super::multi_object::{self, Item};
use super::names::{self, database, object, objects};
use super::{alter, events, programs, shards, single, tables, undo, views};

/// What a definition does as far as it can be said without asking servers: on which shards, above all. `None` if it is about nothing that
/// is sharded: it runs where the session is.
///
/// # Errors
/// What can't be done exactly, with the way out.
pub fn intend(asked: &Asked<'_>, catalog: &Catalog) -> Result<Option<Intent>, Failure> {
    match intend_knowing(asked, catalog, None) {
        Ok(intent) => Ok(intent),
        Err(Unplaced::Refused(failure)) => Err(failure),
        // Only who knows something is told what is missing.
        Err(_) => Err(not_supported("The shard key's collation is not known")),
    }
}

/// The same, with what is known of the servers.
///
/// # Errors
/// What can't be done exactly, or what must be known first.
pub(super) fn intend_knowing(
    asked: &Asked<'_>,
    catalog: &Catalog,
    collations: Option<&CollationFacts>,
) -> Result<Option<Intent>, Unplaced> {
    let intent = match intend_as_it_is(asked, catalog, collations) {
        Err(Unplaced::Refused(failure)) => {
            let instead = |settled: &Catalog| intend_as_it_is(asked, settled, collations).ok().flatten();
            single::instead(asked, catalog, failure, instead)?
        }
        intent => intent?,
    };
    if let Some(intent) = &intent {
        events::stay(asked, catalog, &intent.changes)?;
    }
    Ok(intent.map(|intent| Intent { undo: undo::of(asked, &intent), ..intent }))
}

fn intend_as_it_is(
    asked: &Asked<'_>,
    catalog: &Catalog,
    collations: Option<&CollationFacts>,
) -> Result<Option<Intent>, Unplaced> {
    refuse_own_records(asked)?;
    match asked.statement.kind {
        StatementKind::CreateTable(create) => tables::create(asked, catalog, create, collations),
        StatementKind::AlterDatabase(alter) => Ok(alter_database(asked, catalog, alter, collations)?),
        _ => Ok(intend_other(asked, catalog)?),
    }
}

fn intend_other(asked: &Asked<'_>, catalog: &Catalog) -> Result<Option<Intent>, Failure> {
    match asked.statement.kind {
        StatementKind::AlterTable(alter) => alter::alter(asked, catalog, alter),
        StatementKind::DropTables(drop) => drop_tables(asked, catalog, drop),
        StatementKind::Truncate(truncate) => self::truncate(asked, catalog, truncate),
        StatementKind::RenameTables(rename) => tables::rename(asked, catalog, rename),
        StatementKind::CreateIndex(index) => tables::create_index(asked, catalog, index),
        StatementKind::DropIndex(index) => tables::change(asked, catalog, &index.table),
        StatementKind::CreateView(view) => views::create(asked, catalog, view),
        StatementKind::CreateDatabase(create) => create_database(asked, catalog, create),
        StatementKind::DropDatabase(drop) => Ok(drop_database(asked, catalog, drop)),
        StatementKind::DefineSequence(sequence) => tables::sequence(asked, catalog, sequence),
        StatementKind::CreateRoutine(routine) => {
            let kind = if routine.or_replace { DefinitionKind::Again } else { DefinitionKind::Create };
            programs::create_routine(asked, catalog, routine, kind)
        }
        StatementKind::CreateLibrary(library) => whole_database(asked, catalog, &library.name, DefinitionKind::Create),
        StatementKind::AlterRoutine(routine) => programs::alter_routine(asked, catalog, routine),
        StatementKind::CreateTrigger(trigger) => programs::create_trigger(asked, catalog, trigger),
        StatementKind::CreateEvent(event) => events::create(asked, catalog, event),
        StatementKind::AlterEvent(event) => events::alter(asked, catalog, event),
        StatementKind::DropProgram(drop) if drop.kind == ProgramKind::Event => events::drop(asked, catalog, drop),
        StatementKind::DropProgram(drop) if drop.kind == ProgramKind::Trigger => {
            programs::drop_trigger(asked, catalog, &drop.name)
        }
        StatementKind::DropProgram(drop) => programs::drop_routine(asked, catalog, drop),
        _ => accounts(asked, catalog),
    }
}

/// Refuses to drop, rename or alter Weir's own records: without them, nobody knows how open transactions end and where tables are. Who has
/// all rights could do so by mistake; on a shard itself nothing stops him.
fn refuse_own_records(asked: &Asked<'_>) -> Result<(), Failure> {
    let is_own = |name: &[u8]| name.eq_ignore_ascii_case(OWN_SCHEMA.as_bytes());
    let holds = |name: &ObjectName<'_>| name.database.map(|name| name.name).or(asked.database).is_some_and(is_own);
    let own = match asked.statement.kind {
        StatementKind::DropDatabase(drop) => is_own(drop.name.name),
        StatementKind::CreateDatabase(create) => create.or_replace && is_own(create.name.name),
        StatementKind::DropTables(drop) => !drop.temporary && drop.names.iter().any(holds),
        StatementKind::Truncate(truncate) => holds(&truncate.table),
        StatementKind::AlterTable(alter) => holds(&alter.table),
        StatementKind::RenameTables(rename) => rename.renames.iter().any(|rename| holds(&rename.from)),
        StatementKind::CreateTable(create) => create.or_replace && holds(&create.name),
        StatementKind::DropIndex(index) => holds(&index.table),
        StatementKind::DropProgram(drop) => holds(&drop.name),
        _ => false,
    };
    if !own {
        return Ok(());
    }
    let message = format!("Access to schema '{OWN_SCHEMA}' is rejected: Weir keeps its records of the shards there");
    Err(Failure::client(codes::ER_DBACCESS_DENIED_ERROR, message))
}

fn create_database(
    asked: &Asked<'_>,
    catalog: &Catalog,
    create: &CreateDatabase<'_>,
) -> Result<Option<Intent>, Failure> {
    let known = names::sharded(catalog, create.name.name);
    let shards::Wishes { shards: named, single } = shards::wishes(asked, catalog)?;
    let name = match &known {
        Some(name) => name.clone(),
        None if named.is_none() && single.is_none() && catalog.shards.len() < 2 => return Ok(None),
        None => names::utf8(create.name.name, catalog.fold_case)?,
    };
    let object = Object::database(name.clone());
    if known.is_some() && !create.or_replace {
        // The servers say that it exists; what they are asked does not matter to the catalog.
        let shards = shards::of_database(catalog, &name);
        return Ok(Some(Intent::new(asked, DefinitionKind::Again, vec![object], shards)));
    }
    let shards = named.unwrap_or_else(|| catalog.shards_in_use());
    let mut changes = vec![Change::AddDatabase(name.clone(), shards.clone())];
    changes.extend(single.map(|single| Change::DefaultSingle(name.clone(), single)));
    let kind = if create.or_replace { DefinitionKind::Again } else { DefinitionKind::Create };
    if known.is_some() {
        if shards != shards::of_database(catalog, &name) {
            return Err(not_supported("OR REPLACE can't move a database to other shards: drop it first"));
        }
        changes.insert(0, Change::DropDatabase(name));
    }
    let intent = Intent::new(asked, kind, vec![object], shards).with(changes);
    Ok(Some(Intent { if_not_exists: create.if_not_exists, ..intent }))
}

fn alter_database(
    asked: &Asked<'_>,
    catalog: &Catalog,
    alter: &AlterDatabase<'_>,
    collations: Option<&CollationFacts>,
) -> Result<Option<Intent>, Failure> {
    let Some(name) = database(asked, catalog, alter.name) else { return Ok(None) };
    let wishes = shards::wishes(asked, catalog)?;
    if wishes.shards.is_some() {
        return Err(not_supported(
            "A database can't be moved to other shards: make a new one, and fill its tables with INSERT … SELECT",
        ));
    }
    let shards = shards::of_database(catalog, &name);
    let mut intent = Intent::new(asked, DefinitionKind::Again, vec![Object::database(name.clone())], shards);
    if alter.options.is_empty() {
        // Servers need an option: what there is stays, and they say whether the client may change the database.
        let collation = collations.and_then(|known| known.collation.as_deref()).unwrap_or("utf8mb4_general_ci");
        intent.text = format!("ALTER DATABASE {} COLLATE {collation}", weir_shards::own::name(&name)).into_bytes();
    }
    let changes = wishes.single.map(|single| Change::DefaultSingle(name, single));
    Ok(Some(intent.with(changes.into_iter().collect())))
}

fn drop_database(asked: &Asked<'_>, catalog: &Catalog, drop: &DropDatabase<'_>) -> Option<Intent> {
    let name = database(asked, catalog, Some(drop.name))?;
    let shards = shards::of_database(catalog, &name);
    let change = Change::DropDatabase(name.clone());
    Some(Intent::new(asked, DefinitionKind::Drop, vec![Object::database(name)], shards).with(vec![change]))
}

fn drop_tables(asked: &Asked<'_>, catalog: &Catalog, drop: &DropTables<'_>) -> Result<Option<Intent>, Failure> {
    let Some(objects) = objects(asked, catalog, drop.names.iter())? else { return Ok(None) };
    let homes: Vec<Option<Vec<ShardId>>> = objects.iter().map(|object| shards::home(catalog, object)).collect();
    // A shard that was asked for what it lacks would refuse the rest.
    let alike = homes.iter().flatten().all(|home| homes.iter().flatten().next() == Some(home));
    let widens = alike && drop.kind == DropKind::View;
    let items: Vec<Item> = objects
        .iter()
        .zip(homes)
        .zip(drop.names)
        .map(|((object, home), name)| Item {
            home: home.map(|home| if widens { dropped_from(catalog, object, home) } else { home }),
            range: name.span.range(),
        })
        .collect();
    let nowhere = objects.first().map(|first| shards::of_database(catalog, &first.database)).unwrap_or_default();
    let (shards, own) = multi_object::spread(asked, &items, nowhere);
    let changes = objects.iter().filter_map(|object| dropped(catalog, drop.kind, object)).collect();
    Ok(Some(Intent { own, ..Intent::new(asked, DefinitionKind::Drop, objects, shards).with(changes) }))
}

/// What the catalog loses by a DROP. Servers leave a table alone that DROP SEQUENCE names, and only note that with IF EXISTS.
fn dropped(catalog: &Catalog, kind: DropKind, object: &Object) -> Option<Change> {
    match kind {
        DropKind::View => Some(Change::DropView(object.clone())),
        DropKind::Sequence if !tables::is_sequence(catalog, object) => None,
        DropKind::Table | DropKind::Sequence => Some(Change::DropTable(object.clone())),
    }
}

/// The shards that may have a view that is dropped. Where it is follows from the tables that it shows, which may be gone or
/// elsewhere by now: all are asked, those first that have it as far as is known.
fn dropped_from(catalog: &Catalog, object: &Object, mut home: Vec<ShardId>) -> Vec<ShardId> {
    if shards::table(catalog, object).is_none() {
        let others = shards::of_database(catalog, &object.database);
        let others: Vec<_> = others.into_iter().filter(|shard| !home.contains(shard)).collect();
        home.extend(others);
    }
    home
}

fn truncate(asked: &Asked<'_>, catalog: &Catalog, truncate: &Truncate<'_>) -> Result<Option<Intent>, Failure> {
    let Some(object) = object(asked, catalog, &truncate.table)? else { return Ok(None) };
    let shards = shards::of_object(catalog, &object);
    let reset = shards::table(catalog, &object).is_some_and(|table| table.auto_increment.is_some());
    let changes = reset.then(|| Change::ResetSequence(object.clone())).into_iter().collect();
    Ok(Some(Intent::new(asked, DefinitionKind::Again, vec![object], shards).with(changes)))
}

/// Accounts, privileges, and what belongs to servers: on all shards.
fn accounts(asked: &Asked<'_>, catalog: &Catalog) -> Result<Option<Intent>, Failure> {
    if catalog.shards.len() < 2 {
        return Ok(None);
    }
    if has_random_password(&asked.statement.kind) {
        return Err(not_supported(
            "Each shard would generate a password of its own: choose one, and use IDENTIFIED BY",
        ));
    }
    if matches!(asked.statement.kind, StatementKind::Set(set) if set.items.len() > 1) {
        return Err(not_supported(
            "SET PASSWORD and SET DEFAULT ROLE affect all shards: run them separately from other settings, in statements of their own",
        ));
    }
    let (kind, secret) = match asked.statement.kind {
        StatementKind::CreateUser(create) => {
            (if create.or_replace { DefinitionKind::Again } else { DefinitionKind::Create }, true)
        }
        StatementKind::CreateRole(create) => {
            (if create.or_replace { DefinitionKind::Again } else { DefinitionKind::Create }, false)
        }
        StatementKind::DropAccounts(_) => (DefinitionKind::Drop, false),
        StatementKind::RenameUser(_) => (DefinitionKind::Create, false),
        StatementKind::AlterUser(_) | StatementKind::Set(_) => (DefinitionKind::Again, true),
        StatementKind::Grant(_) => (DefinitionKind::Again, true),
        StatementKind::Revoke(_) => (DefinitionKind::Drop, false),
        StatementKind::ServerObject(server) => match server.verb {
            // Its options may hold a password.
            Verb::Create => (DefinitionKind::Create, true),
            Verb::Alter => (DefinitionKind::Again, true),
            Verb::Drop => (DefinitionKind::Drop, false),
        },
        StatementKind::CreateLoadableFunction(_) => (DefinitionKind::Create, false),
        _ => return Ok(None),
    };
    let mut left_over = Vec::new();
    let shards = match granted_object(asked) {
        None => shards::all(catalog),
        Some(name) => match object(asked, catalog, name)? {
            Some(object) => {
                stays_meanwhile(catalog, &object)?;
                let shards = shards::of_object(catalog, &object);
                if matches!(asked.statement.kind, StatementKind::Revoke(_)) {
                    left_over = shards::of_database(catalog, &object.database);
                    left_over.retain(|shard| !shards.contains(shard));
                }
                shards.into_iter().chain(left_over.iter().copied()).collect()
            }
            // A table of an unsharded database: only its shard knows it.
            None => return Ok(None),
        },
    };
    // Privileges may be given by several at once; what servers do of them they do one after another.
    let objects = vec![Object::within("", "accounts")];
    let changes = match asked.statement.kind {
        StatementKind::CreateLoadableFunction(function) => {
            vec![Change::HideFunctions(names::utf8(function.name.name.name, false)?)]
        }
        _ => Vec::new(),
    };
    Ok(Some(Intent { secret, left_over, ..Intent::new(asked, kind, objects, shards).with(changes) }))
}

/// Refuses rights on an object that moves: only the shards of one placement would have them.
fn stays_meanwhile(catalog: &Catalog, object: &Object) -> Result<(), Failure> {
    match catalog.move_in_the_way(std::slice::from_ref(object)) {
        None => Ok(()),
        Some(known) => Err(not_supported(format!(
            "Rights on '{object}' can't change while move {} is in progress: WEIR MOVE FINISH {} ends it, WEIR MOVE UNDO {} takes it back",
            known.id, known.id, known.id
        ))),
    }
}

/// Whether a server is to make up a password (MySQL).
fn has_random_password(kind: &StatementKind<'_>) -> bool {
    let is_random = |one: &Authentication<'_>| {
        one.secret == Some(Secret::Random) || one.initial.is_some_and(|first| first.secret == Some(Secret::Random))
    };
    let users = match kind {
        StatementKind::CreateUser(create) => create.users,
        StatementKind::AlterUser(alter) => alter.users,
        StatementKind::Set(set) => {
            let random = |item: &SetItem<'_>| matches!(item.kind, SetItemKind::Password(set) if set.password.is_none());
            return set.items.iter().any(random);
        }
        _ => return false,
    };
    users.iter().flat_map(|user| user.authentication).any(is_random)
}

/// The table or routine that a GRANT or REVOKE is about.
fn granted_object<'a>(asked: &Asked<'a>) -> Option<&'a ObjectName<'a>> {
    let what = match &asked.statement.kind {
        StatementKind::Grant(grant) => &grant.what,
        StatementKind::Revoke(revoke) => &revoke.what,
        _ => return None,
    };
    match what {
        Granted::Privileges(_, target) => match &target.level {
            GrantLevel::Object(name) => Some(name),
            _ => None,
        },
        _ => None,
    }
}
