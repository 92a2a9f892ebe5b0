//! The intents of CREATE TABLE, RENAME TABLE and indexes.

use std::collections::BTreeMap;

use weir_catalog::define::{Unplaced, server_text};
use weir_catalog::reading::adopted;
use weir_catalog::{Catalog, Change, DefinitionKind, Object, Placed, Placement, ShardId, Table};
use weir_sql::ast::{
    CreateIndex, CreateTable, DefineSequence, KeyKind, ObjectName, Query, RenameTables, TableBody, TableLike,
    TableOptionKind,
};
use weir_sql::resolve::{Context, resolve};
use weir_wire::Failure;
use weir_wire::error::{codes, not_supported};

use super::asked::{Asked, cut};
use super::collations::CollationFacts;
use super::intent::Intent;
use super::multi_object::{self, Item};
use super::{names, place, shards};

/// CREATE TABLE in all its forms.
pub(super) fn create(
    asked: &Asked<'_>,
    catalog: &Catalog,
    create: &CreateTable<'_>,
    collations: Option<&CollationFacts>,
) -> Result<Option<Intent>, Unplaced> {
    let Some(object) = names::object(asked, catalog, &create.name)? else { return Ok(None) };
    let known = shards::table(catalog, &object);
    let there = shards::home(catalog, &object).filter(|_| known.is_none() || !create.or_replace);
    if let Some(shards) = there {
        // The servers say that it is there, as an error or as a warning; the catalog stays as it is.
        let text = server_text(asked.text, create);
        return Ok(Some(Intent { text, ..Intent::new(asked, DefinitionKind::Again, vec![object], shards) }));
    }
    let placed = match create.body {
        TableBody::Like(like) => like_placed(asked, catalog, &object, like)?,
        TableBody::Definition(definition) => {
            let placed = place::declared(asked, catalog, &object, create, collations)?;
            match definition.query {
                Some(query) => {
                    let by_clause = matches!(placed.placement, Placement::Sharded(_)) && !placed.by_default;
                    let chosen = definition.placement.is_some() || by_clause;
                    filled(asked, catalog, (&object, chosen), placed, query)?
                }
                None => placed,
            }
        }
    };
    let of_database = shards::of_database(catalog, &object.database);
    let shards = shards::of_placement(&of_database, &placed.placement);
    if known.is_some() && shards != shards::of_object(catalog, &object) {
        return Err(moves_by_replacing().into());
    }
    let kind = if create.or_replace { DefinitionKind::Again } else { DefinitionKind::CreateTable };
    let text = server_text(asked.text, create);
    let mut changes: Vec<Change> = first_value(asked, &placed, create)
        .map(|next| Change::StartSequence(object.clone(), next))
        .into_iter()
        .collect();
    let note = placed.note.clone();
    changes.push(Change::AddTable(object.clone(), placed));
    let intent = Intent::new(asked, kind, vec![object], shards).with(changes);
    Ok(Some(Intent { text, note, if_not_exists: create.if_not_exists, ..intent }))
}

/// CREATE SEQUENCE, ALTER SEQUENCE: a sequence is a table on the database's first shard.
pub(super) fn sequence(
    asked: &Asked<'_>,
    catalog: &Catalog,
    sequence: &DefineSequence<'_>,
) -> Result<Option<Intent>, Failure> {
    let Some(object) = names::object(asked, catalog, &sequence.name)? else { return Ok(None) };
    if sequence.temporary {
        return Err(not_supported("A temporary SEQUENCE in a sharded database is not supported: CREATE SEQUENCE"));
    }
    let known = shards::table(catalog, &object).is_some();
    if let Some(shards) = shards::home(catalog, &object).filter(|_| sequence.alter || !known || !sequence.or_replace) {
        return Ok(Some(Intent::new(asked, DefinitionKind::Again, vec![object], shards)));
    }
    // In place of a table it is where that is.
    let shards = match known {
        true => shards::of_object(catalog, &object),
        false => shards::of_database(catalog, &object.database).into_iter().take(1).collect(),
    };
    let shard = match shards[..] {
        [] => return Ok(None),
        [shard] => shard,
        [..] => return Err(moves_by_replacing()),
    };
    let kind = if sequence.or_replace || sequence.alter { DefinitionKind::Again } else { DefinitionKind::CreateTable };
    let changes = match sequence.alter {
        true => Vec::new(),
        false => vec![Change::AddTable(object.clone(), adopted(shard, catalog.shard_name(shard)))],
    };
    let intent = Intent::new(asked, kind, vec![object], vec![shard]).with(changes);
    Ok(Some(Intent { if_not_exists: sequence.conditional, ..intent }))
}

fn moves_by_replacing() -> Failure {
    not_supported("OR REPLACE can't move a table to other shards: drop it first")
}

/// Whether a name is that of a sequence, which the catalog knows as a table with the columns of one.
pub(super) fn is_sequence(catalog: &Catalog, object: &Object) -> bool {
    let columns = shards::table(catalog, object).map_or(&[][..], |table| &table.columns);
    columns.iter().map(|column| &*column.name).eq(SEQUENCE)
}

/// The columns of a sequence.
const SEQUENCE: [&str; 8] = [
    "next_not_cached_value",
    "minimum_value",
    "maximum_value",
    "start_value",
    "increment",
    "cache_size",
    "cycle_option",
    "cycle_count",
];

/// Where the sequence of a new table begins, if the definition says so.
fn first_value(asked: &Asked<'_>, placed: &Placed, create: &CreateTable<'_>) -> Option<u64> {
    if matches!(placed.placement, Placement::Single(_)) {
        return None;
    }
    let options = create.definition()?.options;
    options.iter().rev().find_map(|option| match option.kind {
        TableOptionKind::AutoIncrement(number) => Some(next_value(number.text(asked.text))),
        _ => None,
    })
}

/// What servers take from the number of AUTO_INCREMENT = …: the digits that it begins with (`19.9`, `1e2`), or all that it can be. MariaDB takes
/// hexadecimal digits, too.
pub(super) fn next_value(number: &[u8]) -> u64 {
    let text = String::from_utf8_lossy(number);
    let (digits, base) = match text.strip_prefix("0x").or(text.strip_prefix("0X")) {
        Some(digits) => (digits, 16),
        None => (&*text, 10),
    };
    let end = digits.find(|digit: char| !digit.is_digit(base)).unwrap_or(digits.len());
    match &digits[..end] {
        "" => 0,
        digits => u64::from_str_radix(digits, base).unwrap_or(u64::MAX),
    }
}

/// The placement of a table that is made as another one.
fn like_placed(asked: &Asked<'_>, catalog: &Catalog, object: &Object, like: &TableLike<'_>) -> Result<Placed, Failure> {
    if like.placement.is_some() {
        return Err(not_supported(
            "CREATE TABLE … LIKE has the placement of its model: write the columns out for another one",
        ));
    }
    let Some(model) = names::object(asked, catalog, &like.table)? else {
        return Err(not_supported("CREATE TABLE … LIKE needs a model in a sharded database: write the columns out"));
    };
    let Some(table) = shards::table(catalog, &model) else {
        // No such table: the server says so.
        return Ok(place::global());
    };
    same_home(catalog, &model, object, table)?;
    place::referring(asked, catalog, object, table)?;
    Ok(Placed::of(table))
}

/// Refuses what would have rows of one database where the other's slots don't say.
fn same_home(catalog: &Catalog, from: &Object, to: &Object, table: &Table) -> Result<(), Failure> {
    let home = |object: &Object| catalog.database(object.database.as_bytes()).map(|(_, found)| found);
    let same = match (home(from), home(to)) {
        (Some(from), Some(to)) => match &table.placement {
            Placement::Single(shard) => to.shards.contains(shard),
            Placement::Global => from.shards == to.shards,
            Placement::Sharded(_) => from.shards == to.shards && from.slots == to.slots,
        },
        _ => false,
    };
    if same {
        return Ok(());
    }
    Err(not_supported(format!(
        "Databases '{}' and '{}' are on different shards: make the table there, and fill it with INSERT … SELECT",
        from.database, to.database
    )))
}

/// A table that begins with the rows of a query: all of it has to be on one shard. Without a clause it is on that of the rows.
fn filled(
    asked: &Asked<'_>,
    catalog: &Catalog,
    (object, chosen): (&Object, bool),
    placed: Placed,
    query: &Query<'_>,
) -> Result<Placed, Failure> {
    let refusal = |why: &str| {
        Err(not_supported(format!(
            "CREATE TABLE … SELECT in a sharded database needs all of its tables on one shard ({why}): make the table \
             first, and fill it with INSERT … SELECT"
        )))
    };
    let context =
        Context { database: asked.database, dialect: asked.mode.dialect, fold_case: catalog.fold_case, columns: &() };
    let names = resolve(asked.statement, &context);
    let mut sources = Vec::new();
    for (source, table) in names.tables() {
        if source.span.start < query.span.start || source.span.end > query.span.end {
            continue;
        }
        let known = table.database.and_then(|database| catalog.table(database, table.name));
        sources.push((table.name, known.map(|(_, table)| &table.placement)));
    }
    let of_rows = sources.iter().find_map(|(_, placement)| match placement {
        Some(Placement::Single(at)) => Some(*at),
        _ => None,
    });
    let at_home = || shards::of_database(catalog, &object.database).first().copied();
    let shard = match placed.placement {
        Placement::Single(shard) if chosen => shard,
        _ if chosen => return refusal(&format!("table {object} is not SINGLE")),
        _ => match of_rows.or_else(at_home) {
            Some(shard) => shard,
            None => return Ok(placed),
        },
    };
    for (name, placement) in sources {
        match placement {
            Some(Placement::Single(at)) if *at == shard => {}
            Some(Placement::Global) => {}
            _ => {
                let name = String::from_utf8_lossy(name);
                return refusal(&format!("table {name} is not on shard {}", catalog.shard_name(shard)));
            }
        }
    }
    Ok(match chosen {
        true => placed,
        false => weir_catalog::reading::adopted(shard, catalog.shard_name(shard)),
    })
}

/// RENAME TABLE.
pub(super) fn rename(
    asked: &Asked<'_>,
    catalog: &Catalog,
    rename: &RenameTables<'_>,
) -> Result<Option<Intent>, Failure> {
    let all_names = rename.renames.iter().flat_map(|rename| [&rename.from, &rename.to]);
    let Some(objects) = names::objects(asked, catalog, all_names)? else { return Ok(None) };
    // The names that earlier ones have changed, and what bears them now: its shards, and the table if it is one.
    let mut now: BTreeMap<&Object, Named<'_>> = BTreeMap::new();
    let (mut items, mut changes) = (Vec::new(), Vec::new());
    for (pair, rename) in objects.chunks_exact(2).zip(rename.renames) {
        let (from, to) = (&pair[0], &pair[1]);
        let named =
            |of| now.get(of).cloned().unwrap_or_else(|| (shards::home(catalog, of), shards::table(catalog, of)));
        let (home, table) = named(from);
        if home.is_some() && from != to && named(to).0.is_some() {
            return Err(exists(to));
        }
        if let Some(table) = table {
            same_home(catalog, from, to, table)?;
            referring(asked, catalog, to, table)?;
        }
        items.push(Item { home: home.clone(), range: rename.span.range() });
        now.insert(from, (None, None));
        now.insert(to, (home, table));
        changes.push(Change::Rename(from.clone(), to.clone()));
    }
    let nowhere = objects.first().map(|first| shards::of_database(catalog, &first.database)).unwrap_or_default();
    let (shards, own) = multi_object::spread(asked, &items, nowhere);
    let mut taken = objects.clone();
    taken.sort();
    taken.dedup();
    Ok(Some(Intent { own, ..Intent::new(asked, DefinitionKind::Rename, taken, shards).with(changes) }))
}

/// What bears a name: its shards, if there is any, and the table, if it is one.
type Named<'c> = (Option<Vec<ShardId>>, Option<&'c Table>);

/// A name that is taken, perhaps on other shards than the statement is for.
fn exists(object: &Object) -> Failure {
    let name = object.name.as_deref().unwrap_or_default();
    Failure::client(codes::ER_TABLE_EXISTS_ERROR, format!("Table '{name}' already exists"))
}

/// Whether renaming is possible, for ALTER TABLE … RENAME.
pub(super) fn renamed(asked: &Asked<'_>, catalog: &Catalog, from: &Object, to: &Object) -> Result<(), Failure> {
    if from != to && shards::table(catalog, from).is_some() && shards::home(catalog, to).is_some() {
        return Err(exists(to));
    }
    match shards::table(catalog, from) {
        Some(table) => same_home(catalog, from, to, table).and_then(|()| referring(asked, catalog, to, table)),
        None => Ok(()),
    }
}

/// Refuses a name that foreign keys refer to, for a table that is elsewhere. If there is a table of this name, they stay with it.
fn referring(asked: &Asked<'_>, catalog: &Catalog, to: &Object, table: &Table) -> Result<(), Failure> {
    match shards::table(catalog, to) {
        Some(_) => Ok(()),
        None => place::referring(asked, catalog, to, table),
    }
}

/// A statement that makes a table another one, as it is.
pub(super) fn change(asked: &Asked<'_>, catalog: &Catalog, name: &ObjectName<'_>) -> Result<Option<Intent>, Failure> {
    let Some(object) = names::object(asked, catalog, name)? else { return Ok(None) };
    let shards = shards::of_object(catalog, &object);
    let changes = vec![Change::RereadTable(object.clone())];
    Ok(Some(Intent::new(asked, DefinitionKind::ChangeTable, vec![object], shards).with(changes)))
}

/// CREATE INDEX.
pub(super) fn create_index(
    asked: &Asked<'_>,
    catalog: &Catalog,
    index: &CreateIndex<'_>,
) -> Result<Option<Intent>, Failure> {
    let Some(intent) = change(asked, catalog, &index.table)? else { return Ok(None) };
    if let (KeyKind::Unique, None, Some(table)) =
        (index.kind, index.unchecked, shards::table(catalog, &intent.objects[0]))
    {
        place::holds_shard_key(table, &String::from_utf8_lossy(index.name.name), index.parts)?;
    }
    let text = cut(asked, index.unchecked.as_slice());
    Ok(Some(Intent { text, ..intent }))
}
