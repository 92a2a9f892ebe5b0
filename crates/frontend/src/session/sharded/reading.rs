//! What a statement reads of several shards.

use weir_plan::{Computed, Read, Union};

/// What is read.
#[derive(Clone, Copy)]
pub(super) enum Reading<'a> {
    Of(&'a Read),
    /// `own`: in a transaction of the statement's own.
    Union {
        union: &'a Union,
        own: bool,
    },
    Computed(&'a Computed),
}
