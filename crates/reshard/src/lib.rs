//! The engine of moves: it copies the rows of physical tables to where another placement has them, follows the sources' binary logs, and
//! compares both sides.
//!
//! A move has sources and targets, which are tables of a name and a definition on shards, and a function from a row to its targets. What
//! must always hold:
//! - From events of the binary log come only the keys of changed rows ([`weir_wire::binlog`]). Those rows are read anew from the source, once the
//!   change is visible there, and take the place of what the targets have under these keys. So copying and following are one way, and
//!   applying a change again does no harm.
//! - Of one source, one task copies chunks and applies changes, one after the other. A chunk that is stale when it is written is
//!   corrected by an event that is still to come.
//! - A row that a source no longer has may have come to another source. Whether it has is asked while no other task writes.
//! - Whatever ends the engine, one that starts from its last [`Checkpoint`] goes on without loss.
//!
//! Which rows belong where, and when statements are held, is the caller's matter; see `docs/resharding.md`.
//!
//! * [`Plan`], [`RowPlacement`]: what is moved; [`CatalogPlacement`]: by a placement of the catalog.
//! * [`Engine`], [`Handle`]: the work; `check` refuses what can't be moved; `source` is a source's task, `copy`, `apply` its two halves.
//! * `follow`: reads a binary log and collects the keys of each transaction; `visible`: when its changes can be read.
//! * `verify`: compares both sides. `link`, `target`: connections. `form`, `key`, `logged`: values as SQL.
#![forbid(unsafe_code)]

mod apply;
mod check;
mod checkpoint;
mod connector;
mod controls;
mod copy;
mod definition;
mod engine;
mod error;
mod facts;
mod follow;
mod form;
mod key;
mod keylog;
mod link;
mod logged;
mod placement;
mod plan;
mod position;
mod progress;
mod shared;
mod source;
mod start;
mod target;
mod transfer;
mod verify;
mod visible;

pub use checkpoint::{Checkpoint, Copied, SourceCheckpoint};
pub use connector::Connector;
pub use controls::{Controls, LagOf};
pub use engine::{Engine, Handle, positions};
pub use error::{MoveError, Trouble};
pub use placement::{CatalogPlacement, Fixed};
pub use plan::{Later, Placed, Plan, RowPlacement, Site, TablePlan, key_of};
pub use position::{Position, Positions};
pub use progress::{Phase, Progress, SourceProgress};
pub use verify::{Difference, DifferenceKind, Verification, VerifySettings};
