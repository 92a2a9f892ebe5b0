//! Groups of servers: who writes, who reads, how far behind each reader is, and which of them a read may ask.
//!
//! Facts come from the monitor ([`weir_backend::monitor`]); [`roles`] turns them into a [`View`], a snapshot that workers
//! read without locks; [`choose`] picks a server for one read of one session. Both are pure functions of facts and times.
//!
//! What must always hold: a read at level `session` is sent to a server that has all that its session has written and seen,
//! or waits for it there; what is not certain goes to the writer.
#![forbid(unsafe_code)]

pub mod advise;
pub mod choose;
pub mod discover;
mod elected;
pub mod failover;
#[cfg(test)]
mod fixtures;
mod follows;
mod group;
mod history;
pub mod kind;
mod level;
mod positions;
pub mod roles;
mod seen;
mod settings;
mod starting;
mod view;

pub use advise::{Advice, Cost};
pub use choose::{Choice, choose};
pub use failover::Failover;
pub use follows::Follows;
pub use group::{Group, SetWriterError};
pub use history::History;
pub use kind::GroupKind;
pub use level::Level;
pub use positions::Positions;
pub use seen::Seen;
pub use settings::{GroupSettings, MemberSettings, Promotion};
pub use view::{Member, Role, View, WriterPosition};
