//! Where the tables of a dump will be: the rules of CREATE TABLE, and what foreign keys and triggers between them need.
//!
//! What must always hold: it ends, because a table only ever goes from sharded by default to SINGLE.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use weir_catalog::define::{Draft, Setting, Unplaced, check_references, columns, declare, references};
use weir_catalog::table::ForeignKey;
use weir_catalog::{
    Catalog, CollationWeights, Column, Object, Placed, Placement, ShardId, Table, Told, Weights, reading,
};
use weir_sql::ast::{CreateTable, StatementKind, TableElement};
use weir_sql::{Bump, Dialect, LexMode, parse};

use super::schema::{Declared, Refused, Schema, beginning, judged, lossy};

/// A table's place, and why it is there.
#[derive(Debug, Clone)]
pub(super) struct Place {
    pub(super) object: Object,
    pub(super) line: usize,
    /// What the dump says of it, with the keys that come later.
    pub(super) text: Vec<u8>,
    pub(super) clause: String,
    pub(super) placement: Placement,
    /// A clause says so.
    pub(super) asked: bool,
    /// Why it is SINGLE without a clause.
    pub(super) why: Option<String>,
}

/// What is taken as known of servers of a kind.
#[derive(Debug, Clone)]
pub(super) struct Servers {
    pub(super) mode: LexMode,
    weights: Weights,
    inexact: Vec<String>,
}

impl Servers {
    pub(super) fn of(dialect: Dialect) -> Servers {
        let mode = LexMode { dialect, ..LexMode::default() };
        Servers { mode, weights: Weights::default(), inexact: Vec::new() }
    }

    /// The default collation of a character set.
    fn collation_of(&self, charset: &str) -> Option<String> {
        let found = match charset.to_ascii_lowercase().as_str() {
            "utf8mb4" if self.mode.dialect == Dialect::MySql => "utf8mb4_0900_ai_ci",
            "utf8mb4" => "utf8mb4_general_ci",
            "utf8" | "utf8mb3" => "utf8mb3_general_ci",
            "latin1" => "latin1_swedish_ci",
            "ascii" => "ascii_general_ci",
            "binary" => "binary",
            _ => return None,
        };
        Some(found.to_owned())
    }

    /// Where a table is, in a catalog that has the others. Collations that Weir knows by name count as exact: servers are asked when it is made.
    pub(super) fn declare(
        &mut self,
        catalog: &Catalog,
        database: &str,
        text: &[u8],
        create: &CreateTable<'_>,
    ) -> Result<Placed, String> {
        loop {
            let found = self.with_setting(catalog, database, text, |setting| declare(setting, create));
            match found {
                Ok(placed) => return Ok(placed),
                Err(Unplaced::Refused(failure)) => return Err(failure.message),
                Err(Unplaced::NeedsCheck { column, collation }) => {
                    if self.inexact.contains(&collation) {
                        return Err(weir_catalog::collation::refusal(&column, &collation).message);
                    }
                    match weir_catalog::collation::check_query(&collation) {
                        Some(_) => self.learn(&collation, &[]),
                        None => self.inexact.push(collation),
                    }
                }
                Err(Unplaced::NeedsWeights(collation, chars)) => self.learn(&collation, &chars),
            }
        }
    }

    /// Only whether a table has a place is asked here, never which shard a text is on: any weights do.
    fn learn(&mut self, collation: &str, chars: &[char]) {
        let of: HashMap<char, Box<[u8]>> =
            chars.iter().map(|char| (*char, char.to_string().into_bytes().into_boxed_slice())).collect();
        self.weights = self.weights.with(collation, CollationWeights { pad: true, space: b" ".to_vec(), of });
    }

    pub(super) fn with_setting<T>(
        &self,
        catalog: &Catalog,
        database: &str,
        text: &[u8],
        work: impl FnOnce(&Setting<'_>) -> T,
    ) -> T {
        let collation = self.collation_of("utf8mb4");
        let collation_of = |charset: &str| self.collation_of(charset);
        work(&Setting {
            catalog,
            database,
            collation: collation.as_deref(),
            collation_of: &collation_of,
            weights: &self.weights,
            inexact: &self.inexact,
            text,
            mode: self.mode,
        })
    }
}

/// The CREATE TABLE of a text.
pub(super) fn with_create<T>(text: &[u8], mode: LexMode, work: impl FnOnce(&CreateTable<'_>) -> T) -> Option<T> {
    let arena = Bump::new();
    let parsed = parse(&arena, text, mode).ok()?;
    match parsed.statements.first()?.kind {
        StatementKind::CreateTable(create) => Some(work(create)),
        _ => None,
    }
}

/// Places all tables of a dump, and says in `schema.refused` what can't be.
pub(super) fn place(schema: &mut Schema, servers: &mut Servers) -> Vec<Place> {
    for table in &schema.tables {
        // Until it is known where others are, they are everywhere: that is in no foreign key's way.
        let known = with_create(&table.text, servers.mode, |create| {
            servers
                .with_setting(&schema.catalog, &table.object.database, &table.text, |setting| columns(setting, create))
        });
        put(&mut schema.catalog, &table.object, empty(known.unwrap_or_default()));
    }
    let tables = schema.tables.clone();
    let mut places: Vec<Place> = Vec::new();
    for (at, table) in tables.iter().enumerate() {
        let mut why = later_reference(table, &tables[at + 1..], &tables);
        match placed(table, schema, servers, &places) {
            Ok(Placed { placement, clause, by_default, note, .. }) => {
                why = note.or(why.filter(|_| by_default));
                let place = Place {
                    object: table.object.clone(),
                    line: table.line,
                    text: table.text.clone(),
                    clause,
                    placement,
                    asked: table.placed || !by_default && why.is_none(),
                    why: None,
                };
                places.push(match why {
                    Some(why) => single(&schema.catalog, place, why),
                    None => place,
                });
            }
            Err(why) => schema.refused.push(Refused { line: table.line, what: beginning(&table.text), why }),
        }
    }
    for place in &places {
        update(&mut schema.catalog, place);
    }
    follow_references(schema, servers, &mut places);
    judge_later(schema, servers, &mut places);
    places
}

fn placed(table: &Declared, schema: &Schema, servers: &mut Servers, places: &[Place]) -> Result<Placed, String> {
    if let Some(model) = &table.like {
        let known = places.iter().find(|place| place.object == *model);
        return known
            .map(|place| Placed::new(place.placement.clone(), Vec::new(), place.clause.clone()))
            .ok_or_else(|| format!("Its model {model} is not in the file before it"));
    }
    if table.from_query && !table.placed {
        let home = reading::adopted(ShardId(0), "s1");
        return Ok(home);
    }
    with_create(&table.text, servers.mode, |create| {
        servers.declare(&schema.catalog, &table.object.database, &table.text, create)
    })
    .unwrap_or_else(|| Err("It cannot be parsed together with the keys that later statements add".to_owned()))
}

/// A foreign key in CREATE TABLE itself to a table that comes later, or is not in the file.
fn later_reference(table: &Declared, after: &[Declared], all: &[Declared]) -> Option<String> {
    let unknown = |object: &&Object| {
        after.iter().any(|later| later.object == **object) || !all.iter().any(|known| known.object == **object)
    };
    let object = table.own_references.iter().find(unknown)?;
    Some(format!(
        "Its foreign key refers to {object}, which does not exist yet at this point: move its definition before this one"
    ))
}

/// Foreign keys, until no table changes its place any more.
fn follow_references(schema: &mut Schema, servers: &Servers, places: &mut [Place]) {
    let mut final_round = false;
    loop {
        let mut changed = false;
        for at in 0..places.len() {
            for (to, why) in broken(&schema.catalog, servers, &places[at]) {
                let own = is_by_default(&places[at]);
                let other = places.iter().position(|place| place.object == to).filter(|at| is_by_default(&places[*at]));
                let moved = if own { Some((at, why.clone())) } else { None };
                let from = &places[at].object;
                let moved =
                    moved.or(other.map(|at| (at, format!("{from}, which is SINGLE, refers to it by a foreign key"))));
                match moved {
                    Some((moved, why)) => {
                        places[moved] = single(&schema.catalog, places[moved].clone(), why);
                        update(&mut schema.catalog, &places[moved]);
                        changed = true;
                    }
                    None if final_round => {
                        let (line, what) = (places[at].line, format!("a foreign key of {from} to {to}"));
                        schema.refused.push(Refused { line, what, why });
                    }
                    None => {}
                }
            }
        }
        if final_round {
            return;
        }
        final_round = !changed;
    }
}

fn is_by_default(place: &Place) -> bool {
    !place.asked && matches!(place.placement, Placement::Sharded(_))
}

/// The foreign keys of a table whose rows may be elsewhere: what they refer to, and why it can't be.
fn broken(catalog: &Catalog, servers: &Servers, place: &Place) -> Vec<(Object, String)> {
    let Some((_, table)) = known(catalog, &place.object) else { return Vec::new() };
    let name = place.object.name.as_deref().unwrap_or_default();
    let draft = Draft { name, columns: &table.columns, placement: &place.placement };
    let database = &place.object.database;
    with_create(&place.text, servers.mode, |create| {
        let elements: &[TableElement<'_>] = create.definition().map_or(&[], |definition| definition.elements());
        servers.with_setting(catalog, database, &place.text, |setting| {
            let failed = |element: &TableElement<'_>| {
                let why = check_references(setting, &[*element], &draft).err()?;
                let to = references(&[*element]).first().map(|(_, references)| references.table)?;
                let home = to.database.map_or_else(|| database.clone(), |name| lossy(name.name));
                Some((Object::within(home, lossy(to.name.name)), why.message))
            };
            elements.iter().filter_map(failed).collect()
        })
    })
    .unwrap_or_default()
}

/// Triggers, routines, views, events: as Weir would judge them now.
fn judge_later(schema: &mut Schema, servers: &Servers, places: &mut [Place]) {
    for place in places.iter() {
        link(schema, servers, place);
    }
    for later in std::mem::take(&mut schema.later) {
        match judged(&later.text, &later.database, &schema.catalog, servers.mode) {
            Ok(Some(intent)) => {
                for object in &intent.singles {
                    if let Some(at) = places.iter().position(|place| place.object == *object) {
                        let why = format!("line {} needs it: {}", later.line, beginning(&later.text));
                        places[at] = single(&schema.catalog, places[at].clone(), why);
                        update(&mut schema.catalog, &places[at]);
                    }
                }
                // What servers would have to tell is not needed to judge what follows.
                let _ = schema.catalog.apply_changes(&intent.changes, &Told::default());
                for place in places.iter() {
                    restore(&mut schema.catalog, place, servers);
                }
            }
            Ok(None) => {}
            Err(failure) => {
                let what = beginning(&later.text);
                schema.refused.push(Refused { line: later.line, what, why: failure.message });
            }
        }
    }
}

/// A change that rereads a table has made it unknown, as nobody was asked.
fn restore(catalog: &mut Catalog, place: &Place, servers: &Servers) {
    if known(catalog, &place.object).is_some() {
        return;
    }
    let all = with_create(&place.text, servers.mode, |create| {
        servers.with_setting(catalog, &place.object.database, &place.text, |setting| columns(setting, create))
    });
    put(catalog, &place.object, empty(all.unwrap_or_default()));
    update(catalog, place);
}

/// Tells the catalog of a table's foreign keys.
fn link(schema: &mut Schema, servers: &Servers, place: &Place) {
    let database = &place.object.database;
    let keys = with_create(&place.text, servers.mode, |create| {
        let elements: &[TableElement<'_>] = create.definition().map_or(&[], |definition| definition.elements());
        let key = |(_, references): (Vec<String>, &weir_sql::ast::References<'_>)| {
            let home = references.table.database.map_or_else(|| database.clone(), |name| lossy(name.name));
            let table = (home, lossy(references.table.name.name));
            ForeignKey { name: String::new(), columns: Vec::new(), table, references: Vec::new() }
        };
        references(elements).into_iter().map(key).collect()
    });
    change(&mut schema.catalog, &place.object, |table| table.foreign_keys = keys.unwrap_or_default());
}

fn single(catalog: &Catalog, place: Place, why: String) -> Place {
    let home = catalog.databases.get(&place.object.database).and_then(|known| known.shards.first()).copied();
    let placed = reading::adopted(home.unwrap_or(ShardId(0)), catalog.shard_name(home.unwrap_or(ShardId(0))));
    Place { placement: placed.placement, clause: placed.clause, why: Some(why), ..place }
}

fn known<'a>(catalog: &'a Catalog, object: &Object) -> Option<(&'a str, &'a Arc<Table>)> {
    catalog.table(object.database.as_bytes(), object.name.as_deref().unwrap_or_default().as_bytes())
}

fn update(catalog: &mut Catalog, place: &Place) {
    let by_default = is_by_default(place);
    change(catalog, &place.object, |table| {
        (table.placement, table.clause) = (place.placement.clone(), place.clause.clone());
        table.by_default = by_default;
    });
}

fn change(catalog: &mut Catalog, object: &Object, work: impl FnOnce(&mut Table)) {
    let database = catalog.databases.get_mut(&object.database).map(Arc::make_mut);
    let name = object.name.as_deref().unwrap_or_default();
    if let Some(table) = database.and_then(|database| database.tables.get_mut(name)) {
        work(Arc::make_mut(table));
    }
}

fn put(catalog: &mut Catalog, object: &Object, table: Table) {
    let database = catalog.databases.get_mut(&object.database).map(Arc::make_mut);
    if let (Some(database), Some(name)) = (database, &object.name) {
        database.tables.insert(name.clone(), Arc::new(table));
    }
}

fn empty(columns: Vec<Column>) -> Table {
    Table {
        placement: Placement::Global,
        columns,
        primary_key: Vec::new(),
        unique_keys: Vec::new(),
        odd_unique: Vec::new(),
        unchecked: Vec::new(),
        foreign_keys: Vec::new(),
        triggers: false,
        auto_increment: None,
        clause: String::new(),
        hot_merge: false,
        by_default: false,
    }
}

/// How many tables have which kind of place.
pub(super) fn counted(places: &[Place]) -> BTreeMap<&'static str, usize> {
    let mut counts = BTreeMap::new();
    for place in places {
        let kind = match place.placement {
            Placement::Sharded(_) => "sharded",
            Placement::Global => "GLOBAL",
            Placement::Single(_) => "SINGLE",
        };
        *counts.entry(kind).or_default() += 1;
    }
    counts
}
