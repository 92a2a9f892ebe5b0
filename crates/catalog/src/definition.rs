//! Definitions in progress: what each shard was sent, and what the catalog becomes when all of them have it.
//!
//! What must always hold: a definition is in the catalog before the first server gets it, and leaves the catalog in the same change that
//! makes its effect known. No object is in two definitions at the same time, unless neither changes what is known of it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::event::Event;
use crate::object::Object;
use crate::placement::{Placement, ShardId};
use crate::routine::{Routine, RoutineKind};
use crate::table::Table;

/// A definition that not all of its shards have yet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Definition {
    /// Its number.
    pub id: u64,
    /// What servers are sent.
    pub statement: Sent,
    /// What kind of thing it does: decides how a shard that has it already is recognised.
    #[serde(rename = "deed")]
    pub kind: DefinitionKind,
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

/// What a definition does, as far as it matters for knowing whether a shard has it already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum DefinitionKind {
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
    /// An event that uses tables.
    PutEvent(Event),
    /// An event is gone.
    DropEvent(Object),
    /// The sequence of a table's AUTO_INCREMENT goes on from here, unless it is beyond already.
    StartSequence(Object, u64),
    /// The sequence of a table's AUTO_INCREMENT begins anew.
    ResetSequence(Object),
}

/// What servers say of tables, routines and views that a definition adds or changes.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Told {
    /// Tables.
    pub tables: BTreeMap<Object, Table>,
    /// Routines. One that is not here is not known.
    pub routines: BTreeMap<(Object, RoutineKind), Routine>,
    /// The queries of views. One that is not here is as the definition has it.
    pub views: BTreeMap<Object, String>,
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

impl Definition {
    /// Whether nothing of it is left once these changes are made on all shards: its objects are dropped, or their database is. Programs have
    /// names of their own kinds, so that a table's DROP says nothing of them.
    pub fn is_dropped_by(&self, changes: &[Change]) -> bool {
        let about_tables = |change: &Change| {
            use Change::{AddTable, DropTable, Rename, RereadTable, ResetSequence, StartSequence};
            matches!(
                change,
                AddTable(..) | RereadTable(_) | DropTable(_) | Rename(..) | StartSequence(..) | ResetSequence(_)
            )
        };
        let tables = !self.changes.is_empty() && self.changes.iter().all(about_tables);
        let dropped = |object: &Object| {
            changes.iter().any(|change| match change {
                Change::DropDatabase(name) => *name == object.database,
                Change::DropTable(table) => tables && table == object,
                _ => false,
            })
        };
        !self.objects.is_empty() && self.objects.iter().all(dropped)
    }

    /// Whether all shards have it.
    pub fn is_done(&self) -> bool {
        self.shards.iter().all(|(_, progress)| *progress == Progress::Done)
    }

    /// The default database that it is taken back under, if that has to be one: SHOW CREATE VIEW leaves the default database's name out, so a
    /// view that becomes again what it was is read under the same. All else is spelt out, and the default database may be what is dropped.
    pub fn database_to_undo(&self) -> Option<&str> {
        match &self.undo {
            Undo::Send(text) if text.starts_with("CREATE ") => self.statement.database.as_deref(),
            _ => None,
        }
    }

    /// Whether a shard has it.
    pub fn is_begun(&self) -> bool {
        self.shards.iter().any(|(_, progress)| *progress == Progress::Done)
    }
}
