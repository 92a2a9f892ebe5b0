//! Stored programs.

mod body;
mod characteristic;
mod event;
mod for_loop;
mod program;
mod trigger;

#[cfg(test)]
mod tests;
