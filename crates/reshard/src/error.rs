//! Why a move stops.
//!
//! What must always hold: an error knows whether it makes sense to start the engine again from its last checkpoint.

use std::fmt;

use weir_catalog::ShardId;
use weir_wire::Failure;
use weir_wire::error::codes;

/// What kind of trouble a move has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    /// The tables or their servers are not such that rows can be moved. Nothing was done.
    Refused,
    /// A source could not be reached, or its connection was lost.
    Source(ShardId),
    /// The same of a target.
    Target(ShardId),
    /// A target has no room for more rows.
    Full(ShardId),
    /// The source no longer has the binary logs that follow the checkpoint: the copy has to begin anew.
    LogsPurged(ShardId),
    /// A table of the move was changed by a definition, which its binary log says.
    TableChanged(ShardId),
    /// A statement on a table of the move was logged as a text, not as rows.
    NotLoggedAsRows(ShardId),
    /// A row belongs to no shard by the new placement.
    NoPlace,
    /// The sources' positions were not reached within the bound.
    Late,
    /// The engine was stopped.
    Stopped,
    /// Weir's own fault, or a server's that says what it should not.
    Internal,
}

/// Why a move stops, as a client is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MoveError {
    /// The kind of trouble.
    pub trouble: Trouble,
    /// What happened, and what to do.
    pub failure: Failure,
    /// Whether the engine may be started again from its last checkpoint, as things are or after what the message says.
    pub resumable: bool,
}

impl fmt::Display for MoveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.failure.fmt(f)
    }
}

impl std::error::Error for MoveError {}

impl From<MoveError> for Failure {
    fn from(error: MoveError) -> Failure {
        error.failure
    }
}

impl MoveError {
    /// What can't be moved, with the reason and the way out.
    pub(crate) fn refused(message: impl Into<String>) -> MoveError {
        let failure = weir_wire::error::not_supported(message);
        MoveError { trouble: Trouble::Refused, failure, resumable: false }
    }

    pub(crate) fn new(trouble: Trouble, message: impl Into<String>) -> MoveError {
        let resumable = matches!(
            trouble,
            Trouble::Source(_) | Trouble::Target(_) | Trouble::Full(_) | Trouble::Late | Trouble::Stopped
        );
        MoveError { trouble, failure: Failure::weir(codes::ER_UNKNOWN_ERROR, message), resumable }
    }

    pub(crate) fn internal(message: impl Into<String>) -> MoveError {
        MoveError::new(Trouble::Internal, message)
    }

    /// A failure of a source.
    pub(crate) fn of_source(shard: ShardId, failure: Failure) -> MoveError {
        let trouble = match failure.code {
            // ER_MASTER_FATAL_ERROR_READING_BINLOG
            1236 => Trouble::LogsPurged(shard),
            codes::ER_NO_SUCH_TABLE | codes::ER_BAD_DB_ERROR | codes::ER_BAD_FIELD_ERROR => {
                Trouble::TableChanged(shard)
            }
            _ => Trouble::Source(shard),
        };
        MoveError { trouble, failure, resumable: matches!(trouble, Trouble::Source(_)) }
    }

    /// A failure of a target.
    pub(crate) fn of_target(shard: ShardId, failure: Failure) -> MoveError {
        let trouble = match failure.code {
            codes::ER_NO_SUCH_TABLE | codes::ER_BAD_DB_ERROR | codes::ER_BAD_FIELD_ERROR => {
                Trouble::TableChanged(shard)
            }
            // ER_DISK_FULL, ER_RECORD_FILE_FULL, EE_WRITE, ER_ERROR_ON_WRITE, ER_BINLOG_LOGGING_IMPOSSIBLE
            1021 | 1114 | 3 | 1026 => Trouble::Full(shard),
            _ => Trouble::Target(shard),
        };
        let message = match trouble {
            Trouble::Full(_) => format!("{}: make room on shard {}, and WEIR MOVE RESUME", failure.message, shard.0),
            _ => failure.message,
        };
        let failure = Failure { message, ..failure };
        MoveError { trouble, failure, resumable: !matches!(trouble, Trouble::TableChanged(_)) }
    }
}
