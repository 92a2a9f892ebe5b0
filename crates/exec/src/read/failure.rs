//! Failures of merging that are nobody's fault but Weir's.

use weir_wire::error::codes;
use weir_wire::{Failure, Fault};

/// A failure that only a mistake in Weir or a difference between the shards explains.
pub(crate) fn internal(why: &str) -> Failure {
    Failure::new(Fault::Weir, codes::ER_UNKNOWN_ERROR, b"HY000", format!("The shards' results can't be merged: {why}"))
}
