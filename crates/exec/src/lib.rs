//! Runs plans on server connections: reads of several shards and their merge, writes, and batches of changes of one row.
//!
//! What must always hold: this crate knows no client sockets; what a client gets goes into a [`Sink`]. A connection counts as broken until
//! its reply has been read to its end.
//!
//! * [`hot_rows`]: changes of one row by many clients, in batches.
//! * [`read`](mod@read): reads of several shards, merged.
//! * [`write`](mod@write): writes on several shards.
//! * [`values`]: values of rows as SQL for other servers.
//! * [`variables`]: values of user variables.
#![forbid(unsafe_code)]

pub mod hot_rows;
pub mod read;
mod sql_prepare;
mod turns;
pub mod values;
pub mod variables;
pub mod workbench;
pub mod write;

use std::rc::Rc;

use weir_backend::Lease;
use weir_backend::profile::SharedProfile;
use weir_catalog::ShardId;
use weir_wire::stmt::Execute;
use weir_wire::{Failure, StatusFlags};

pub use sql_prepare::{PreparedName, SQL_PREPARED};

/// Where a merged result goes.
///
/// Payloads are without frame headers, in the format that the client's capabilities ask for.
pub trait Sink {
    /// Takes one packet.
    fn put(&mut self, payload: &[u8]);
    /// Whether so much waits to be sent that [`Sink::flush`] should be awaited before more is put.
    fn is_full(&self) -> bool;
    /// Sends what was put. Cancel-safe: what was not sent stays.
    ///
    /// # Errors
    /// When the client is gone, or does not read.
    fn flush(&mut self) -> impl Future<Output = Result<(), Failure>>;
    /// Resolves when the client has gone, while servers are waited for. Cancel-safe.
    fn gone(&mut self) -> impl Future<Output = Failure> {
        std::future::pending()
    }
}

/// A connection to a shard's writer, in a session's state: lent for one statement, or for a transaction.
#[derive(Debug)]
pub struct ShardLease {
    /// The shard.
    pub shard: ShardId,
    /// The server's place in its group.
    pub index: usize,
    /// The connection.
    pub lease: Lease,
}

/// What parts are asked.
#[derive(Debug, Clone, Copy)]
pub enum Request<'a> {
    /// A text (COM_QUERY).
    Text,
    /// A prepared statement (COM_STMT_EXECUTE): rows come back in the binary format.
    Execute {
        /// The settings that texts are prepared under.
        parsing: &'a SharedProfile,
        /// The client's parameters.
        execute: &'a Execute<'a>,
        /// The types of the parameters, as in the payload: two bytes for each.
        types: Option<&'a Rc<[u8]>>,
        /// The session: servers keep something of the types that another one has executed a statement with.
        session: u32,
    },
    /// A text with parameters that are the session's user variables, which the parts have: rows come back in the text format.
    SqlPrepared {
        /// The variables, in the order of the client's parameters.
        variables: &'a [String],
        /// Backslashes mean something in strings.
        backslashes: bool,
    },
}

/// What a statement makes of LAST_INSERT_ID().
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LeftId {
    /// It stays: there were no rows, or their values were explicit.
    #[default]
    Unchanged,
    /// This.
    Known(u64),
    /// What the only part has now, which had the session's before.
    OnPart,
}

/// What came of a statement on several shards, for the session.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MultiShardResult {
    /// Rows that were affected.
    pub affected: u64,
    /// Rows that were sent.
    pub sent: u64,
    /// Warnings, summed over the parts.
    pub warnings: u16,
    /// What they are, if that was asked where they were made.
    pub conditions: Option<Vec<hot_rows::member::WarningRow>>,
    /// The insert id that the client is told: also of explicit values.
    pub insert_id: u64,
    /// What LAST_INSERT_ID() becomes.
    pub left_id: LeftId,
    /// The status flags that came last, of all parts together.
    pub status: StatusFlags,
    /// The human-readable text of the OK (`Rows matched: 1  Changed: 1  Warnings: 0`).
    pub info: Vec<u8>,
    /// The rows that it returns (RETURNING), which the client has not been told yet.
    pub returned: Option<write::Returned>,
    /// The shard on which user variables are that the statement has assigned: those of the last line of a file.
    pub assigned_on: Option<ShardId>,
    /// A note of Weir's own, which is counted among the warnings.
    pub note: Option<String>,
    /// An error of a server, told to the client as it is.
    pub error: Option<Failure>,
}
