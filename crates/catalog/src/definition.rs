//! Definitions that are under way: what was sent to which shard, and what the catalog becomes when all of them have it.
//!
//! What must always hold: a definition is in the catalog before the first server hears of it, and leaves it in the same change
//! that makes its effect known. Of two definitions in the catalog no object is in both, unless neither changes what is known of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use weir_wire::{Failure, Fault};

use crate::model::{Catalog, Database, Placement, ShardId, SlotMap, Table};
use crate::routine::{Routine, RoutineKind};

/// A definition that not all of its shards have yet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Definition {
    /// Its number.
    pub id: u64,
    /// What servers are sent.
    pub statement: Sent,
    /// What kind of thing it does: decides how a shard that has it already is recognised.
    pub deed: Deed,
    /// What it is about: refused to other definitions until this one has ended.
    pub objects: Vec<Object>,
    /// Its shards, in the order in which they are asked, and how far each is.
    pub shards: Vec<(ShardId, Progress)>,
    /// What the catalog becomes at its end.
    pub changes: Vec<Change>,
    /// How it is taken back on a shard that has it.
    #[serde(default, skip_serializing_if = "Undo::is_impossible")]
    pub undo: Undo,
}

/// How a definition is taken back on a shard that has it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Undo {
    /// Not at all: what was there before is gone, or is not known.
    #[default]
    Impossible,
    /// By this statement.
    Send(String),
    /// What was made is dropped, if nobody has put anything into it: a table, or a database.
    DropEmpty(Object),
    /// A table becomes again what SHOW CREATE TABLE told of it before.
    Restore(Object, String),
    /// The renames are done backwards.
    Rename,
}

impl Undo {
    /// Whether there is no way.
    pub fn is_impossible(&self) -> bool {
        *self == Undo::Impossible
    }
}

/// A statement as servers are sent it, and what decides how they read it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Sent {
    /// The text; `None` if it holds a password, which is kept nowhere.
    pub text: Option<String>,
    /// What these shards are sent instead: those of a list's tables that they have.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub own: Vec<(ShardId, String)>,
    /// For people: the beginning of the text, or what it does.
    pub shown: String,
    /// The default database.
    pub database: Option<String>,
    /// Session variables that decide how it is read: `sql_mode` and character sets.
    pub settings: BTreeMap<String, String>,
    /// It gives an object the rights of who runs it: a view or a program without DEFINER.
    #[serde(default)]
    pub definer: bool,
}

impl Sent {
    /// What a shard is sent; `None` if it is kept nowhere.
    pub fn text_for(&self, shard: ShardId) -> Option<&str> {
        let own = self.own.iter().find(|(of, _)| *of == shard).map(|(_, text)| text);
        own.or(self.text.as_ref()).map(String::as_str)
    }
}

/// How far a shard is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Progress {
    /// It has not been asked, or has not answered.
    Pending,
    /// It has it.
    Done,
    /// It has refused, and has it not: the error.
    Failed(String),
    /// It was lost while it did it, and may have it or not: the error.
    Lost(String),
}

/// A database (no name within it), or something in it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Object {
    /// The database; empty for accounts, which belong to none.
    pub database: String,
    /// The table, view or program; `None`: the database as a whole.
    pub name: Option<String>,
}

/// What a definition does, as far as it matters for knowing whether a shard has it already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Deed {
    /// Something is made: a server that has it says so.
    Create,
    /// A table is made: a server that has one of that name has it, if both are the same.
    CreateTable,
    /// Something is removed: a server that has it no more says so.
    Drop,
    /// A table becomes another one: ALTER TABLE, CREATE INDEX, DROP INDEX.
    ChangeTable,
    /// Tables get other names.
    Rename,
    /// It may be done twice: ALTER DATABASE, GRANT, CREATE OR REPLACE, TRUNCATE.
    Again,
}

/// One thing that a definition changes in the catalog.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Change {
    /// A database is sharded over these shards.
    AddDatabase(String, Vec<ShardId>),
    /// Tables of a database without a clause are SINGLE from now on, or not.
    DefaultSingle(String, bool),
    /// A database is gone.
    DropDatabase(String),
    /// A table is new. Its columns and keys are asked of the first shard.
    AddTable(Object, Placed),
    /// What servers say of a table has changed.
    RereadTable(Object),
    /// A table is gone.
    DropTable(Object),
    /// A table (or view) has another name.
    Rename(Object, Object),
    /// A view, and its query with the names of databases spelt out.
    PutView(Object, String),
    /// A view is gone.
    DropView(Object),
    /// What servers say of a procedure or a function has changed.
    RereadRoutine(Object, RoutineKind),
    /// A procedure or a function is gone.
    DropRoutine(Object, RoutineKind),
    /// A function of a library: it hides stored ones of its name.
    HideFunctions(String),
    /// A trigger, and its table.
    PutTrigger(Object, Object),
    /// A trigger is gone.
    DropTrigger(Object),
    /// The sequence of a table's AUTO_INCREMENT goes on from here, unless it is beyond already.
    StartSequence(Object, u64),
    /// The sequence of a table's AUTO_INCREMENT begins anew.
    ResetSequence(Object),
}

/// What servers say of tables and routines that a definition adds or changes.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Told {
    /// Tables.
    pub tables: BTreeMap<Object, Table>,
    /// Routines. One that is not here is not known.
    pub routines: BTreeMap<(Object, RoutineKind), Routine>,
}

/// Where a new table is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Placed {
    /// Where its rows are; the key's columns by their place in the definition.
    pub placement: Placement,
    /// Unique keys that were allowed without the shard key.
    pub unchecked: Vec<String>,
    /// The clause, as SHOW CREATE TABLE shows it.
    pub clause: String,
    /// It is sharded because nothing else was said.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_default: bool,
    /// What is to be said of it: why it is not where it would be by default.
    #[serde(skip)]
    pub note: Option<String>,
}

impl Placed {
    /// Placed as asked.
    pub fn new(placement: Placement, unchecked: Vec<String>, clause: impl Into<String>) -> Placed {
        Placed { placement, unchecked, clause: clause.into(), by_default: false, note: None }
    }

    /// As a table is that there is.
    pub fn of(table: &Table) -> Placed {
        let placed = Placed::new(table.placement.clone(), table.unchecked.clone(), table.clause.clone());
        Placed { by_default: table.by_default, ..placed }
    }
}

impl Object {
    /// A database.
    pub fn database(name: impl Into<String>) -> Object {
        Object { database: name.into(), name: None }
    }

    /// Something in a database.
    pub fn within(database: impl Into<String>, name: impl Into<String>) -> Object {
        Object { database: database.into(), name: Some(name.into()) }
    }

    /// Whether a definition of one stands in the way of a definition of the other: they are the same, or one is the other's database.
    pub fn meets(&self, other: &Object) -> bool {
        self.database == other.database && (self.name.is_none() || other.name.is_none() || self.name == other.name)
    }
}

impl std::fmt::Display for Object {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.name {
            Some(name) => write!(f, "{}.{name}", self.database),
            None => f.write_str(&self.database),
        }
    }
}

impl Definition {
    /// Whether all shards have it.
    pub fn is_done(&self) -> bool {
        self.shards.iter().all(|(_, progress)| *progress == Progress::Done)
    }

    /// Whether a shard has it.
    pub fn is_begun(&self) -> bool {
        self.shards.iter().any(|(_, progress)| *progress == Progress::Done)
    }

    /// Names of the shards that have it, and of those that don't, each with its error if there is one.
    pub fn sides(&self, catalog: &Catalog) -> (Vec<String>, Vec<String>) {
        let (mut with, mut without) = (Vec::new(), Vec::new());
        for (shard, progress) in &self.shards {
            let name = catalog.shard_name(*shard);
            match progress {
                Progress::Done => with.push(name.to_owned()),
                Progress::Pending => without.push(name.to_owned()),
                Progress::Failed(why) | Progress::Lost(why) => without.push(format!("{name} ({why})")),
            }
        }
        (with, without)
    }
}

impl Catalog {
    /// The definition that stands in the way of another one of these objects.
    pub fn definition_in_the_way(&self, objects: &[Object]) -> Option<&Definition> {
        let meets = |known: &&Definition| known.objects.iter().any(|a| objects.iter().any(|b| a.meets(b)));
        self.definitions.iter().find(meets)
    }

    /// A definition by its number.
    pub fn definition(&self, id: u64) -> Option<&Definition> {
        self.definitions.iter().find(|definition| definition.id == id)
    }

    /// Takes a definition in, and gives it its number.
    pub fn begin_definition(&mut self, mut definition: Definition) -> u64 {
        self.last_definition += 1;
        definition.id = self.last_definition;
        self.definitions.push(definition);
        self.last_definition
    }

    /// Notes how far shards of a definition are.
    pub fn note_progress(&mut self, id: u64, news: &[(ShardId, Progress)]) {
        let Some(definition) = self.definitions.iter_mut().find(|definition| definition.id == id) else { return };
        for (shard, progress) in &mut definition.shards {
            if let Some((_, new)) = news.iter().find(|(told, _)| told == shard) {
                *progress = new.clone();
            }
        }
    }

    /// Removes a definition.
    pub fn forget_definition(&mut self, id: u64) {
        self.definitions.retain(|definition| definition.id != id);
    }

    /// Makes what a definition does known. `told`: what servers say of what it adds or changes.
    ///
    /// # Errors
    /// 1049 when a database is not (or no longer) known.
    pub fn apply_changes(&mut self, changes: &[Change], told: &Told) -> Result<(), Failure> {
        changes.iter().try_for_each(|change| self.apply_change(change, told))
    }

    fn apply_change(&mut self, change: &Change, told: &Told) -> Result<(), Failure> {
        match change {
            Change::AddDatabase(name, shards) => {
                let database = Database {
                    shards: shards.clone(),
                    slots: SlotMap::even(shards),
                    tables: BTreeMap::new(),
                    views: BTreeMap::new(),
                    default_single: false,
                };
                self.databases.entry(name.clone()).or_insert_with(|| Arc::new(database));
            }
            Change::DefaultSingle(name, single) => {
                self.within(&Object::database(name.clone()))?.default_single = *single;
            }
            Change::DropDatabase(name) => {
                self.databases.remove(name);
                self.triggers.retain(|(trigger, _)| trigger.database != *name);
                self.routines.remove(name);
            }
            Change::AddTable(object, _) | Change::RereadTable(object) => {
                if let Some(table) = told.tables.get(object) {
                    self.within(object)?.tables.insert(name_of(object), Arc::new(table.clone()));
                }
            }
            Change::DropTable(object) => {
                self.within(object)?.tables.remove(&name_of(object));
                self.triggers.retain(|(_, table)| table != object);
            }
            Change::PutTrigger(object, table) => {
                self.triggers.retain(|(known, _)| known != object);
                self.triggers.push((object.clone(), table.clone()));
            }
            Change::RereadRoutine(object, kind) => {
                self.within(object)?;
                let routine = told.routines.get(&(object.clone(), *kind)).cloned();
                self.put_routine(object, *kind, routine);
            }
            Change::DropRoutine(object, kind) => self.put_routine(object, *kind, None),
            Change::HideFunctions(name) => self.hide_functions(name),
            Change::DropTrigger(object) => self.triggers.retain(|(known, _)| known != object),
            // Sequences are not in the catalog.
            Change::StartSequence(..) | Change::ResetSequence(_) => {}
            Change::PutView(object, query) => {
                self.within(object)?.views.insert(name_of(object), query.clone());
            }
            Change::DropView(object) => {
                self.within(object)?.views.remove(&name_of(object));
            }
            Change::Rename(from, to) => self.rename(from, to)?,
        }
        Ok(())
    }

    fn rename(&mut self, from: &Object, to: &Object) -> Result<(), Failure> {
        let database = self.within(from)?;
        let table = database.tables.remove(&name_of(from));
        let view = database.views.remove(&name_of(from));
        for (_, of) in self.triggers.iter_mut().filter(|(_, of)| of == from) {
            *of = to.clone();
        }
        self.refer(from, to);
        let database = self.within(to)?;
        if let Some(table) = table {
            database.tables.insert(name_of(to), table);
        }
        if let Some(view) = view {
            database.views.insert(name_of(to), view);
        }
        Ok(())
    }

    /// Foreign keys follow the table that they refer to, as they do on the servers.
    fn refer(&mut self, from: &Object, to: &Object) {
        let old = (from.database.clone(), name_of(from));
        let refers = |table: &Arc<Table>| table.foreign_keys.iter().any(|key| key.table == old);
        for database in self.databases.values_mut().filter(|database| database.tables.values().any(refers)) {
            for table in Arc::make_mut(database).tables.values_mut().filter(|table| refers(table)) {
                for key in Arc::make_mut(table).foreign_keys.iter_mut().filter(|key| key.table == old) {
                    key.table = (to.database.clone(), name_of(to));
                }
            }
        }
    }

    fn within(&mut self, object: &Object) -> Result<&mut Database, Failure> {
        match self.databases.get_mut(&object.database) {
            Some(database) => Ok(Arc::make_mut(database)),
            None => {
                let message = format!("Unknown database '{}'", object.database);
                Err(Failure::new(Fault::Client, 1049, b"42000", message))
            }
        }
    }
}

fn name_of(object: &Object) -> String {
    object.name.clone().unwrap_or_default()
}

#[cfg(test)]
mod tests;
