//! The MySQL client/server protocol, sans-IO, both directions: bytes in, packets and decisions out.
//!
//! What must always hold here: no sockets, no clock, no tokio; every length is checked before anything is
//! allocated for it; a decoder given any bytes returns an error, never panics; memory grows with the bytes that
//! have arrived, not with a length that the peer claims. One framer serves both directions.
//!
//! Source of the formats: "MySQL Internals: Client/Server Protocol" and MariaDB's "Clients & Protocol" pages.
#![forbid(unsafe_code)]

pub mod auth;
pub mod binlog;
pub mod caps;
pub mod charset;
pub mod codec;
pub mod compress;
pub mod error;
pub mod frame;
pub mod handshake;
pub mod kept;
pub mod packets;
pub mod params;
pub mod proxy_protocol;
pub mod reply;
pub mod resultset;
pub mod stmt;

pub use caps::{Capabilities, Command, StatusFlags};
pub use codec::{Malformed, Reader};
pub use error::{Failure, Fault};
