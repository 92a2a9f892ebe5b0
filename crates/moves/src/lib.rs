//! Tables change their placement while they are used.
//!
//! What must always hold: a move is recorded in the catalog before a server hears of it, and each of its steps can be done again, so that
//! after the end of the process at any point it goes on from its record, or is undone. Between the moment when old and new tables change
//! names on the first shard and that when the catalog says so, no session's statement runs on them ([`weir_shards::gate`]).
//!
//! * [`Mover`]: all moves of a process: begun, resumed at the start, and commanded. `drive`: one move, from phase to phase.
//! * [`request`]: what is asked for, and whether it can be; [`definition`]: the texts of the new tables.
//! * [`layout`]: other shards for a database, or other places for its slots.
//! * `tables`: makes and drops hidden tables; `checkpoints`: where the engine's state is kept; `engine`: the engine's plan.
//! * `cutover`: holding, locking, catching up; `rename`: the names change; `sequences`: AUTO_INCREMENT goes over.
//! * `program`: routines, triggers, events and views as texts; `carry`: those that come to other shards; `grants`: rights on them; `triggers`: those that go with their
//!   tables; `programs`: what would not follow.
//! * [`moment`]: the time of a cutover, as users write it.
//! * [`shown`]: what SHOW MOVES tells.
#![forbid(unsafe_code)]

mod carry;
mod checkpoints;
mod commands;
mod crash;
mod cutover;
pub mod definition;
mod drive;
mod engine;
mod grants;
pub mod layout;
pub mod moment;
mod mover;
mod program;
mod programs;
mod rename;
pub mod request;
mod sequences;
pub mod shown;
mod tables;
mod triggers;

pub use layout::{LayoutWish, Planned, WantedLayout, planned};
pub use mover::{Mover, Waited};
pub use request::{Request, WantedTable, read_tables, written};

/// Which way a move cuts over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    /// To the new placement.
    Forward,
    /// To the old one again.
    Back,
}
