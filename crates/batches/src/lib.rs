//! Large writes in parts: their records, who runs them, and what they are told.
//!
//! What must always hold: a part and the record of it are one transaction, so that no part is done twice, whoever died and whenever. At
//! most one session runs a batch: each run has a token of its own, without which no part can be recorded.
//!
//! Traded: the record is on the home shard; a part of other shards is a distributed transaction for it.
//!
//! * [`Batches`]: all batches: begun, taken up again, shown and commanded. [`Run`]: one that a session runs.
//! * [`record`]: what is kept on the home shard, and its statements.
#![forbid(unsafe_code)]

mod batches;
pub mod record;
mod run;

pub use batches::{Batches, Order, Shown};
pub use record::{NewBatch, Record, State};
pub use run::{Course, Run};
