//! What Weir knows of databases and tables: which shards hold which rows.
//!
//! What must always hold: a [`Catalog`] is an immutable snapshot with a version; a change makes another one. Nothing in this crate
//! does I/O. What a value's shard is depends on the value, never on how it is spelt or sent ([`key`]).
//!
//! * [`model`]: databases, tables, columns, placements, the slot map.
//! * [`definition`]: definitions under way.
//! * [`key`]: constants, and which key value and slot they are.
//! * [`Weights`]: collation weights of characters, as learnt from the servers; [`collation`]: how they are asked for.
#![forbid(unsafe_code)]

mod charset;
pub mod collation;
mod colocated;
pub mod define;
pub mod definition;
mod hash;
pub mod key;
pub mod model;
mod moment;
mod number;
pub mod reading;
pub mod routine;
mod weights;

pub use charset::Charset;
pub use colocated::colocated;
pub use definition::{Change, Deed, Definition, Object, Placed, Progress, Sent, Told, Undo};
pub use key::{
    Bound, Constant, Finder, Located, Reach, locate, locate_null_safe, locate_range, locate_stored, ranges_are_unsure,
};
pub use model::{Catalog, Column, ColumnType, Database, Method, Placement, ShardId, ShardKey, SlotMap, Table};
pub use routine::{Routine, RoutineKind, Routines};
pub use weights::{Learnt, Weights};

use weir_wire::{Failure, Fault};

/// The servers' error for a row that no part of its table has room for: what INSERT answers to [`Located::Nowhere`].
pub fn no_part(value: &str) -> Failure {
    Failure::new(Fault::Client, 1526, b"HY000", format!("Table has no partition for value {value}"))
}
