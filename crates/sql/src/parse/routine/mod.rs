//! Stored programs.

mod body;
mod characteristic;
mod event;
mod program;
mod trigger;

#[cfg(test)]
mod tests;
