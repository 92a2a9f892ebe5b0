//! Events of binary logs, as servers send them to replicas.
//!
//! What must always hold, beside what holds in all of this crate: what can't be read is an error, never skipped over in silence. Of the
//! values of rows, only those that are asked for are looked at.
//!
//! * [`Decoder`]: from the bytes of an event to what it says; compressed events and transactions are taken apart.
//! * [`TableMap`]: the columns of a table as the log has them; [`Rows`]: the rows of an event, with the values of some columns.
//!
//! Why not a crate: those that exist give MariaDB's compressed events raw, ignore payloads that they can't unpack, or decode every column
//! of every row; what is needed here is less than what would have to be put around them.

mod decoder;
mod event;
mod rows;
mod table_map;
#[cfg(test)]
mod tests;
mod unpack;

pub use decoder::{Decoder, Watched};
pub use event::{Event, Gtid, Header, Xid, unhex};
pub use rows::{Image, Rows};
pub use table_map::{DECIMAL_BYTES, DECIMAL_DIGITS, Field, TableMap, types};

use crate::codec::Malformed;

/// An event that can't be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BinlogError {
    /// It is cut short, or has a length that can't be.
    #[error("malformed event of the binary log: {0}")]
    Malformed(&'static str),
    /// Its checksum is wrong.
    #[error("an event of the binary log has a wrong checksum")]
    Checksum,
    /// The row has no value of a key's column.
    #[error("a row in the binary log lacks a column of its key: set binlog_row_image to FULL")]
    KeyMissing,
    /// The table in the log has fewer columns than the table of the move, or others.
    #[error("the table in the binary log has other columns")]
    OtherColumns,
    /// A column's type that is not known.
    #[error("a column of type {0} in the binary log is not known")]
    UnknownType(u8),
    /// The server says that changes may be missing from its log.
    #[error("the server notes in its binary log that changes may be missing from it")]
    Incident,
}

impl From<Malformed> for BinlogError {
    fn from(error: Malformed) -> BinlogError {
        BinlogError::Malformed(error.0)
    }
}
