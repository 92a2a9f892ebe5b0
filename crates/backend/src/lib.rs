//! Connections to the servers: how they are made, pooled, brought into a session's state, and watched.
//!
//! What must always hold here:
//! - a connection is lent to one session at a time, and one whose reply has not been read to its end is closed, never
//!   lent again;
//! - a connection that a session gets has that session's profile before the session's statement runs on it;
//! - the limits per server and per user hold over all workers together.
//!
//! Pools belong to one worker thread and are never locked; what workers share is a semaphore per limit.

pub mod address;
pub mod admission;
pub mod connect;
pub mod connection;
pub mod counts;
pub mod gtid;
pub mod kill;
pub mod lanes;
pub mod limits;
pub mod metrics;
pub mod monitor;
pub mod patience;
pub mod pool;
pub mod pool_key;
pub mod prepared;
pub mod profile;
pub mod pulse;
pub mod rights;
pub mod server;
pub mod standing;
pub mod tables;
pub mod transport;

pub use address::Address;
pub use admission::Admission;
pub use connection::{Connection, OwnReply};
pub use gtid::Position;
pub use lanes::Lanes;
pub use metrics::Metrics;
pub use pool::{Lease, Pool};
pub use pool_key::PoolKey;
pub use profile::Profile;
pub use rights::Rights;
pub use server::{ConnectSettings, Identity, Observation, Server, ServerSettings};
pub use standing::Standing;
pub use tables::Defining;
pub use transport::Stream;

/// A value that may be replaced while others read it: what a reload of the configuration changes.
pub type Replaceable<T> = std::sync::Arc<arc_swap::ArcSwap<T>>;
