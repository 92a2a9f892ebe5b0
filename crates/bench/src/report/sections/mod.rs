//! The sections of a report, one module for each kind.

pub(crate) mod kingshard;
pub(crate) mod load;
pub(crate) mod memory;
pub(crate) mod overview;
pub(crate) mod sweep;
