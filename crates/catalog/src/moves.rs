//! Moves: tables whose placement changes while they are used.
//!
//! What must always hold: a move is in the catalog before a server hears of it, and stays there until nothing of it is left on any server.
//! What a phase has not finished can be done again. No table is in two moves that are in progress, nor in a move and a definition.

use serde::{Deserialize, Serialize};

use crate::definition::Placed;
use crate::difference::relatives;
use crate::model::{Catalog, Database};
use crate::object::Object;
use crate::placement::{Placement, ShardId, SlotMap};

/// Ended moves that are kept to be shown.
const KEPT: usize = 20;

/// Tables that get another placement at one moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Move {
    /// Its number.
    pub id: u64,
    /// The tables; one that others refer to comes before them.
    pub tables: Vec<MovedTable>,
    /// How far it is.
    pub phase: MovePhase,
    /// It does nothing until it is resumed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub paused: bool,
    /// It cuts over by itself as soon as it can.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub automatic: bool,
    /// It cuts over no earlier, in seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut_over_at: Option<u64>,
    /// A statement waits for it: it is cancelled if nobody waits any more before its cutover.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub awaited: bool,
    /// The most rows per second that are copied; 0: as many as possible.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub throttle: u64,
    /// Why it is paused, if an error has done that; or why it was given up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The old placement is to come back.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub undo: bool,
    /// When it was begun, in seconds since 1970.
    pub begun: u64,
    /// Who has begun it.
    pub by: String,
    /// The database gets other shards, or its slots get other places, with the tables.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layout: Option<LayoutChange>,
}

/// The shards of a database, and where its slots are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Layout {
    /// Its shards, in order.
    pub shards: Vec<ShardId>,
    /// Its slots.
    pub slots: SlotMap,
}

/// Another layout of a database.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LayoutChange {
    /// The database.
    pub database: String,
    /// Before the cutover.
    pub from: Layout,
    /// After it.
    pub to: Layout,
}

impl Layout {
    /// That of a database.
    pub fn of(database: &Database) -> Layout {
        Layout { shards: database.shards.clone(), slots: database.slots.clone() }
    }

    /// The database with this layout.
    pub fn apply(&self, database: &Database) -> Database {
        Database { shards: self.shards.clone(), slots: self.slots.clone(), ..database.clone() }
    }
}

impl LayoutChange {
    /// The shards that come to the database.
    pub fn added(&self) -> impl Iterator<Item = ShardId> {
        self.to.shards.iter().copied().filter(|shard| !self.from.shards.contains(shard))
    }
}

/// A table of a move.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MovedTable {
    /// Its name.
    pub object: Object,
    /// Its placement before.
    pub from: Placed,
    /// The shards that have it before.
    pub from_shards: Vec<ShardId>,
    /// Its placement after.
    pub to: Placed,
    /// The shards that have it after.
    pub to_shards: Vec<ShardId>,
    /// Its triggers, in the order in which they are made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub triggers: Vec<MovedTrigger>,
}

/// A trigger of a table that moves, as its server tells of it. It goes with its table at the cutover.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MovedTrigger {
    /// Its name.
    pub name: String,
    /// The statement that makes it.
    pub text: String,
    /// The `sql_mode` that it is read and run with.
    pub sql_mode: String,
    /// `character_set_client` as of its definition.
    pub charset: String,
    /// `collation_connection` as of its definition.
    pub collation: String,
}

/// How far a move is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MovePhase {
    /// The new tables are made, empty and hidden.
    Prepare,
    /// Rows are copied, and changes are followed.
    Copy,
    /// All rows are there; changes are followed until the cutover.
    Follow,
    /// The cutover: old and new tables change names. Only an undone or a completed rename ends it.
    Rename,
    /// The new placement is in effect, and the old tables follow the new ones.
    Reverse,
    /// The old placement comes back: names change back.
    RenameBack,
    /// The old tables are dropped.
    Finish,
    /// The new tables are dropped: those of a move that is cancelled, or undone.
    Cancel,
    /// The same after the old placement has come back.
    CancelUndone,
    /// The new placement is all there is.
    Finished,
    /// It has changed nothing.
    Cancelled,
    /// The old placement is back, with all that was written since.
    Undone,
}

impl MovePhase {
    /// Its name, as SHOW MOVES shows it.
    pub fn name(self) -> &'static str {
        match self {
            MovePhase::Prepare => "prepare",
            MovePhase::Copy => "copy",
            MovePhase::Follow => "follow",
            MovePhase::Rename => "cutover",
            MovePhase::Reverse => "reverse",
            MovePhase::RenameBack => "cutover back",
            MovePhase::Finish => "finishing",
            MovePhase::Cancel => "cancelling",
            MovePhase::CancelUndone => "cleaning up",
            MovePhase::Finished => "finished",
            MovePhase::Cancelled => "cancelled",
            MovePhase::Undone => "undone",
        }
    }

    /// Nothing of it is left.
    pub fn has_ended(self) -> bool {
        matches!(self, MovePhase::Finished | MovePhase::Cancelled | MovePhase::Undone)
    }

    /// The new placement is in effect, or about to be.
    pub fn is_cut_over(self) -> bool {
        matches!(self, MovePhase::Reverse | MovePhase::RenameBack | MovePhase::Finish | MovePhase::Finished)
    }

    /// Its tables have names that say nothing of their placement: nobody may use them.
    pub fn is_renaming(self) -> bool {
        matches!(self, MovePhase::Rename | MovePhase::RenameBack)
    }
}

impl Move {
    /// Where the new tables are until the cutover, and again after an undo.
    pub fn new_schema(&self) -> String {
        format!("{NEW}{}", self.id)
    }

    /// Where the old tables are after the cutover.
    pub fn old_schema(&self) -> String {
        format!("{OLD}{}", self.id)
    }

    /// All shards that have a table of it, before or after.
    pub fn shards(&self) -> Vec<ShardId> {
        let all = self.tables.iter().flat_map(|table| table.from_shards.iter().chain(&table.to_shards));
        let mut all: Vec<ShardId> = all.copied().collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Whether the record lets it change places, forward or back, at this time, in seconds since 1970.
    pub fn may_cut_over(&self, now: u64) -> bool {
        let wanted = match self.phase {
            MovePhase::Follow => self.automatic && self.cut_over_at.is_none_or(|at| at <= now),
            MovePhase::Reverse => self.undo,
            _ => false,
        };
        wanted && !self.paused
    }

    /// The database that its tables are in, if it has any, or that gets another layout.
    pub fn database(&self) -> &str {
        let of_tables = || self.tables.first().map_or("", |moved| &moved.object.database);
        self.layout.as_ref().map_or_else(of_tables, |change| &change.database)
    }

    /// The names of its tables, for people.
    pub fn names(&self) -> String {
        self.tables.iter().map(|table| table.object.to_string()).collect::<Vec<_>>().join(", ")
    }
}

const NEW: &str = "weir_move_";
const OLD: &str = "weir_old_";

/// Whether a schema is that of a move: hidden from applications.
pub fn is_schema_of_move(name: &str) -> bool {
    let number = |prefix: &str| {
        name.get(..prefix.len()).filter(|head| head.eq_ignore_ascii_case(prefix)).map(|head| &name[head.len()..])
    };
    let all_digits = |rest: &str| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit());
    number(NEW).or_else(|| number(OLD)).is_some_and(all_digits)
}

impl Catalog {
    /// A move by its number.
    pub fn move_by_id(&self, id: u64) -> Option<&Move> {
        self.moves.iter().find(|known| known.id == id)
    }

    /// The same, to be changed.
    pub fn move_by_id_mut(&mut self, id: u64) -> Option<&mut Move> {
        self.moves.iter_mut().find(|known| known.id == id)
    }

    /// Takes a move in, and gives it its number.
    pub fn begin_move(&mut self, new: Move) -> u64 {
        self.last_move += 1;
        self.moves.push(Move { id: self.last_move, ..new });
        let ended = self.moves.iter().filter(|known| known.phase.has_ended()).count();
        let mut spare = ended.saturating_sub(KEPT);
        self.moves.retain(|known| {
            let goes = spare > 0 && known.phase.has_ended();
            spare -= usize::from(goes);
            !goes
        });
        self.last_move
    }

    /// The move in progress that one of these objects is in, or that is in one of them.
    pub fn move_in_the_way(&self, objects: &[Object]) -> Option<&Move> {
        let meets = |table: &MovedTable| objects.iter().any(|object| object.meets(&table.object));
        // Whatever is defined in a database that changes its layout would be on the shards of one layout only.
        let within = |change: &LayoutChange| objects.iter().any(|object| object.database == change.database);
        let is_there = |known: &&Move| known.tables.iter().any(meets) || known.layout.as_ref().is_some_and(within);
        self.moves.iter().filter(|known| !known.phase.has_ended()).find(is_there)
    }

    /// The tables of a move are placed as they are to be after it, or before it again.
    pub fn place_moved(&mut self, id: u64, after: bool) {
        let Some(known) = self.move_by_id(id).cloned() else { return };
        if let Some(change) = &known.layout
            && let Some(database) = self.databases.get_mut(&change.database)
        {
            let layout = if after { &change.to } else { &change.from };
            *database = std::sync::Arc::new(layout.apply(database));
        }
        for moved in &known.tables {
            let Some(name) = moved.object.name.as_deref() else { continue };
            let placed = if after { &moved.to } else { &moved.from };
            let Some(database) = self.databases.get_mut(&moved.object.database) else { continue };
            let database = std::sync::Arc::make_mut(database);
            let Some(table) = database.tables.get_mut(name) else { continue };
            let table = std::sync::Arc::make_mut(table);
            table.placement = placed.placement.clone();
            table.clause = placed.clause.clone();
            table.unchecked = placed.unchecked.clone();
            table.by_default = placed.by_default;
            // The version that this change becomes.
            let version = self.version + 1;
            self.relocated.retain(|(object, _)| *object != moved.object);
            self.relocated.push((moved.object.clone(), version));
        }
    }

    /// The names, in lower case, of all that a statement can mean that has to do with the tables of a move: the tables, and those that foreign
    /// keys tie to them.
    pub fn names_of_move(&self, id: u64) -> Vec<String> {
        let tables = self.move_by_id(id).map(|known| &known.tables[..]).unwrap_or_default();
        let names = tables.iter().filter_map(|table| table.object.name.as_deref()).map(str::to_lowercase);
        relatives([self], names.collect()).into_iter().collect()
    }
}

/// The shards of a database that have a table that is placed so.
pub fn shards_of_placement(of_database: &[ShardId], placement: &Placement) -> Vec<ShardId> {
    match placement {
        Placement::Single(shard) => vec![*shard],
        Placement::Global | Placement::Sharded(_) => of_database.to_vec(),
    }
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemas_of_moves_are_known_by_their_names() {
        for (name, is) in [
            ("weir_move_1", true),
            ("weir_old_12", true),
            ("WEIR_MOVE_3", true),
            ("weir_move_", false),
            ("weir_move_1a", false),
            ("weir_older", false),
            ("shop", false),
            ("weir_ö", false),
        ] {
            assert_eq!(is_schema_of_move(name), is, "{name}");
        }
    }
}
