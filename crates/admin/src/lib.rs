//! The commands behind the WEIR statements, the REST interface and `weir ctl`; the process list; metrics over HTTP.
//!
//! A command is parsed once, run once, and its answer is a plain table: SQL, REST and the command line are doors to the
//! same thing. Nothing here knows a client's MySQL socket, and no answer holds a secret.
#![forbid(unsafe_code)]

pub mod answer;
mod batches;
pub mod bell;
pub mod columns;
pub mod command;
pub mod commands;
pub mod digests;
mod gauges;
mod groups;
mod growth;
pub mod histogram;
pub mod http;
pub mod kind;
pub mod like;
pub mod logs;
mod moves;
pub mod network;
pub mod operations;
mod oversight;
pub mod rest;
pub mod rules;
pub mod sessions;
mod shards;
mod shown;
pub mod statistics;

pub use commands::{Caller, Commands};
pub use kind::StatementKind;
pub use operations::{Change, ChangeOutcome, Later, Operations, Setting};
pub use oversight::Oversight;
pub use statistics::{AnsweredBy, Statistics, WorkerStatistics};
