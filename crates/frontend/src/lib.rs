//! A client's session: handshake, command loop, session state, streaming replies.
//!
//! What must always hold here:
//! - a client sees one server: its own session state, its own connection id, the server's own replies;
//! - between two statements a session keeps a server connection only while something binds it ([`session`]);
//! - memory per session is bounded by its settings, whatever the client claims or the server sends.
//!
//! A session lives on one worker thread, from the acceptor's hand to its end.

pub mod accounts;
mod backends;
mod beginning;
pub mod client;
mod client_login;
pub mod deadlocks;
pub mod endpoint;
mod idle;
pub mod incoming;
mod literals;
mod login_cache;
pub mod metrics;
mod plans;
mod session;
mod shared;
mod texts;
pub mod tls;
pub mod worker;

pub use accounts::{Accounts, ConfiguredUser};
pub use endpoint::{Compression, Endpoint, Settings};
pub use incoming::{Incoming, Peer, Socket};
pub use metrics::Metrics;
pub use worker::{Door, Worker, WorkerIndex, WorkerSettings};
