//! The shards as a whole: what is known of them, what Weir keeps in each, and its own ways to them.
//!
//! What must always hold: what is here is the same for all sessions, and runs with Weir's own account; nothing here knows a client.
//!
//! * [`sharding`]: what everything shares that concerns several shards: the catalog, where it is kept.
//! * [`own`]: Weir's own connections to the shards; [`ask`]: statements whose replies are read whole.
//! * [`schema`]: what Weir keeps in each shard; [`copies`]: the catalog there; [`inspect`]: what servers say of their tables.
//! * [`sequence`]: AUTO_INCREMENT of sharded tables.
//! * [`gate`]: which statements may use tables that move; [`locks`]: which objects are being defined.
#![forbid(unsafe_code)]

pub mod ask;
pub mod copies;
pub mod gate;
pub mod inspect;
pub mod locks;
pub mod own;
pub mod schema;
pub mod sequence;
pub mod sharding;

pub use gate::{Gate, Pass, Stage};
pub use locks::Locks;
pub use own::Own;
pub use sequence::{SequenceName, Sequences};
pub use sharding::Sharding;
