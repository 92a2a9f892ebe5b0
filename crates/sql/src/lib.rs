//! Lexing and classifying statements, and splicing their text.
//!
//! Weir multiplexes many client sessions over few server connections, so it must know of every statement *text* which
//! session state it reads and which it changes. This crate answers that from tokens alone: there is no grammar here, and
//! nothing is guessed. What is not recognised pins the session to its connection ([`Pins`]), because a needless pin costs
//! a connection and a missed one gives a client somebody else's state.
//!
//! What can't be seen in a text, and therefore isn't in a [`Class`]: what views, triggers, generated columns, routines
//! and prepared statements do that the text only names. Routines and prepared statements pin for that reason; a view or
//! a trigger is trusted to leave no session state behind.
//!
//! * [`Lexer`]: tokens as byte ranges into the text, any bytes accepted.
//! * [`classify`]: what a text is, reads, changes and leaves on its connection.
//! * [`digest`], [`digest_text`]: the text without its literals, hashed and for display; [`shape`]: what decides about its
//!   class, hashed.
//! * [`KnownTexts`]: what was found out about texts, found again by comparing bytes.
//! * [`splice`], [`replace_state_functions`]: changing a text at ranges, never printing a syntax tree.
#![forbid(unsafe_code)]

mod classify;
mod cursor;
mod digest;
mod keyword;
mod keyword_table;
mod known;
mod kw;
mod lexer;
mod mode;
#[cfg(test)]
mod random_texts;
mod siphash;
mod splice;
mod state_functions;

pub use classify::{Class, Diagnostics, Effects, KillTarget, Kind, Pins, UserVariable, classify};
pub use digest::{Digest, digest, digest_text, shape};
pub use known::KnownTexts;
pub use lexer::{Lexer, Token, TokenKind};
pub use mode::{Dialect, LeadBytes, LexMode};
pub use splice::splice;
pub use state_functions::{StateValues, replace_state_functions};
