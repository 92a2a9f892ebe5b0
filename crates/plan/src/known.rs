//! Values that are known while a statement is planned.

use weir_catalog::Constant;

/// Which of the values that differ from execution to execution: the text's plain literals in their order, then its parameters.
pub(crate) type Slot = usize;

/// Where a value comes from, if it is just that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Source {
    pub(crate) slot: Slot,
    /// With a minus before it.
    pub(crate) negated: bool,
}

/// A value, and what is known of how it was written.
#[derive(Debug, Clone)]
pub(crate) struct KnownValue {
    /// The value.
    pub(crate) constant: Constant,
    /// It is `0x…`, `x'…'`, `b'…'`: a number where numbers are compared, bytes elsewhere.
    pub(crate) hexadecimal: bool,
    /// The number that it is then, up to eight bytes. To MariaDB `x'…'` is a text in any place.
    pub(crate) number: Option<u64>,
    /// Where it comes from, if another execution may have another value there and nobody has looked at this one.
    pub(crate) source: Option<Source>,
}
