//! The WEIR statements, the process list and the metrics endpoint, over one command model.
//!
//! A command is parsed once, run once, and its answer is a plain table: SQL, and later REST and the command line, are
//! doors to the same thing. Nothing here knows a client's socket, and no answer holds a secret.
#![forbid(unsafe_code)]

pub mod bell;
pub mod commands;
mod gauges;
pub mod http;
pub mod sessions;

pub use commands::{Caller, Commands};
