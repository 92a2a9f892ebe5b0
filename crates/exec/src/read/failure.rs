//! Failures of a merge that are Weir's own fault.

use weir_wire::Failure;
use weir_wire::error::codes;

/// A failure that only a mistake in Weir or a difference between the shards explains.
pub(crate) fn internal(why: &str) -> Failure {
    Failure::weir(codes::ER_UNKNOWN_ERROR, format!("The shards' results can't be merged: {why}"))
}
