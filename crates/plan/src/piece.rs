//! Parts of texts that are made from the client's.

use std::ops::Range;

/// A part of a new text.
#[derive(Debug, Clone)]
pub(crate) enum Piece {
    /// A part of the client's text.
    Own(Range<usize>),
    /// Something else, without parameters.
    New(Vec<u8>),
}
