//! Reading and classifying statements, and splicing their text.
//!
//! Weir multiplexes many client sessions over few server connections, so it must know of every statement *text* which
//! session state it reads and which it changes, and which tables. This crate answers that from the statement's tree
//! ([`ast`]), and guesses nothing: what the parser does not read pins the session to its connection ([`Pins`]), because
//! a needless pin costs a connection and a missed one gives a client somebody else's state.
//!
//! What can't be seen in a text, and therefore isn't in a [`Class`]: what views, triggers, generated columns, routines
//! and prepared statements do that the text only names. Routines and prepared statements pin for that reason; a view or
//! a trigger is trusted to leave no session state behind.
//!
//! * [`Lexer`]: tokens as byte ranges into the text, any bytes accepted.
//! * [`parse`]: the tree of a text; [`visit`]: going through it, in the order of the text and without recursion.
//! * [`resolve`]: which tables a statement names, in which role, and to which of them its columns can belong.
//! * [`facts`]: all that is known of a statement; [`classify`]: what a text is, reads, changes and leaves on its connection.
//! * [`digest`], [`digest_text`]: the text without its literals, hashed and for display; [`shape`]: what decides about its
//!   class, hashed.
//! * [`KnownTexts`]: what was found out about texts, found again by comparing bytes.
//! * [`hot_row`]: statements that many clients may send for one row at once.
//! * [`PlainInsert`]: whether an INSERT has its AUTO_INCREMENT values generated.
//! * [`routing_hint`], [`shard_hint`]: where a text wants to run.
//! * [`named_transactions`]: which distributed transactions a text names.
//! * [`splice`], [`replace_state_functions`]: changing a text at ranges, never printing a syntax tree.
#![forbid(unsafe_code)]

pub mod ast;
mod classify;
mod cursor;
mod digest;
pub mod facts;
mod flags;
mod hint;
pub mod hot_row;
mod inserted;
mod keyword;
mod keyword_table;
mod known;
mod kw;
mod lexer;
mod mode;
mod named_transactions;
mod names;
mod parse;
mod parts;
mod quoted;
#[cfg(test)]
mod random_texts;
pub mod resolve;
mod scopes;
mod siphash;
mod splice;
mod state_functions;
pub mod visit;

pub use bumpalo::Bump;
pub use classify::{
    Class, Diagnostics, Effects, KillTarget, Pins, TextKind, UserVariable, classify, classify_with, is_servers_schema,
};
pub use digest::{Digest, digest, digest_text, shape};
pub use hint::{RoutingHint, ShardHint, routing_hint, shard_hint, without_routing_hint};
pub use inserted::PlainInsert;
pub use known::KnownTexts;
pub use lexer::{Lexer, Token, TokenKind};
pub use mode::{Dialect, LeadBytes, LexMode};
pub use named_transactions::{NamedTransactions, named_transactions};
pub use names::user_variables;
pub use parse::{
    MAX_DEPTH, Parsed, SyntaxError, parse, parse_body, parse_expression, parse_query, parse_table_reference,
};
pub use parts::{First, are_read_alike, decides_reading, first_statement, trimmed, trimmed_start};
pub use quoted::quoted;
pub use scopes::with_session_scopes;
pub use splice::splice;
pub use state_functions::{StateValues, replace_state_functions};
