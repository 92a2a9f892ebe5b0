//! Starts, stops and wires real MySQL and MariaDB servers in a private directory.
//!
//! `weir up`, the integration tests and the benches all use this crate, so that a cluster that a person looks at is
//! the same thing that the tests prove. The API blocks: a caller on an async runtime wraps it in `spawn_blocking`.
//!
//! What always holds:
//! - servers listen on 127.0.0.1 and on a unix socket in a directory of mode 0700 only; `root` has no password and can
//!   log in over that socket only;
//! - no process is signalled unless its pid, its start time and its command line are those of the process that was
//!   started; a recycled pid is never hit;
//! - a server is never started on a data directory whose earlier process still lives;
//! - each wait has a bound, and ends early when its [`Cancel`] is set.
#![forbid(unsafe_code)]

mod accounts;
mod admin;
mod cluster;
mod daemon;
mod error;
mod install;
mod kind;
mod kinds;
mod layout;
mod ports;
mod process;
mod progress;
mod replication;
mod server;
mod start;
mod template;
mod tool;
mod wait;

pub use accounts::{Account, failover_grants, move_grants, own_grants};
pub use cluster::{Cluster, ClusterSpec, ClusterState, ClusterStatus, FrontState, Group, GroupState, Phase};
pub use cluster::{FrontStatus, ServerState, ServerStatus, Woken};
pub use daemon::{Daemon, DaemonSpec};
pub use error::LocalError;
pub use install::{Flavor, Installation, Version, cache_dir};
pub use kind::Kind;
pub use layout::{ServerFiles, short_socket_path};
pub use ports::{PortChoice, free_port, is_port_free};
pub use process::{CommandMark, ProcessId, find_processes};
pub use progress::{Progress, Quiet};
pub use replication::{ReplicationStatus, replicate, replication_status, wait_for_replica};
pub use server::{Server, ServerSpec};
pub use wait::{Cancel, SignsOfLife, wait_until};

/// The driver behind [`Server::admin`], so that callers need not name the same version themselves.
pub use mysql;
