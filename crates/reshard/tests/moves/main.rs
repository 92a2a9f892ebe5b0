//! Moves between real servers of both kinds.
//!
//! Each test has servers of its own, which end with it. What a test proves on both kinds is a function with the kind as its argument.

mod lab;
mod life;
mod load;
mod types;
