//! What Weir knows of databases and tables: which shards hold which rows.
//!
//! What must always hold: a [`Catalog`] is an immutable snapshot with a version; a change makes another one. Nothing in this crate
//! does I/O. What a value's shard is depends on the value, never on how it is spelt or sent ([`key`]).
//!
//! * [`model`]: the catalog and its databases; [`table`]: tables; [`placement`]: shards, the slot map, where rows are.
//! * [`definition`]: definitions under way, and what they will change.
//! * [`moves`]: tables that get another placement while they are used.
//! * [`key`]: constants, and which key value and slot they are.
//! * [`Difference`]: which plans a change of the catalog may change, by the [`Words`] of their statements.
//! * [`Weights`]: collation weights of characters, as learnt from the servers; [`collation`]: how they are asked for.
#![forbid(unsafe_code)]

mod changes;
mod charset;
pub mod collation;
mod colocated;
pub mod define;
pub mod definition;
mod difference;
mod event;
mod hash;
pub mod key;
mod membership;
pub mod model;
mod moment;
pub mod moves;
mod number;
mod object;
pub mod placement;
pub mod reading;
pub mod routine;
mod routines;
pub mod table;
mod weights;
mod words;

pub use charset::{Charset, converted};
pub use colocated::colocated;
pub use definition::{Change, Definition, DefinitionKind, Placed, Progress, Sent, Told, Undo};
pub use difference::Difference;
pub use event::{Event, EventPlace};
pub use key::{
    Bound, Constant, Finder, Located, RangeShards, locate, locate_null_safe, locate_range, locate_stored,
    ranges_are_unsure,
};
pub use membership::Membership;
pub use model::{Catalog, Database, lead_shard};
pub use moves::{Layout, LayoutChange, Move, MovePhase, MovedTable, MovedTrigger};
pub use object::Object;
pub use placement::{Method, Placement, SLOTS, ShardId, ShardKey, SlotMap};
pub use routine::{Routine, RoutineKind, Routines};
pub use table::{Column, ColumnType, ForeignKey, Table};
pub use weights::{CollationWeights, Weights};
pub use words::{Name, Words};

/// The schema in which the shards have Weir's own records.
pub const OWN_SCHEMA: &str = "weir";

use weir_wire::Failure;
use weir_wire::error::codes;

/// The servers' error for a row that no part of its table has room for: what INSERT answers to [`Located::Nowhere`].
pub fn no_part(value: &str) -> Failure {
    Failure::client(codes::ER_NO_PARTITION_FOR_GIVEN_VALUE, format!("Table has no partition for value {value}"))
}
