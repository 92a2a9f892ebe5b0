//! Moves while clients write.
