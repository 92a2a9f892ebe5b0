//! Values of servers' rows as SQL for other servers.
//!
//! What must always hold: another server reads exactly the same value, whatever its `sql_mode` and the client's character set; a value that
//! can't be written so is refused. These literals build on those of the planner's constants (`weir_plan::write::literal`).
//! `weir_backend::profile` writes values of system variables, which servers report in the form that SET takes.
//!
//! The form of a value depends on its use. `row`: a value of INSERT, UPDATE or WHERE, as the column takes it; `variable`: a user variable,
//! with its collation; `union`: a cell that must not change the column's type in a UNION; `json`: a string of a document that a server
//! computes from.

pub(crate) mod json;
pub(crate) mod row;
mod union;
mod variable;

use weir_backend::Connection;
use weir_backend::profile::charset_of;

pub use union::in_union;
pub(crate) use variable::of_variable;

/// The most bytes of a statement that is made of rows: servers take statements of 16 MiB by default.
pub const MOST_STATEMENT: usize = 12 * 1024 * 1024;

/// The most bytes of a JSON document: as hexadecimal digits in a statement they are twice as many.
pub(crate) const MOST_DOCUMENT: usize = MOST_STATEMENT / 2;

/// The longest literal that is sent to each connection again: of a string that is asked of a server, half a million bytes.
pub const MOST_LITERAL: usize = 1024 * 1024;

/// The longest values that are asked for at once.
pub(crate) const MOST_AT_ONCE: usize = 4 * 1024 * 1024;

/// The most bytes of all of a session's literals.
pub const MOST_LITERALS: usize = 8 * 1024 * 1024;

/// The character set that texts of results come in, if it is known. `None`: texts come as they are stored.
pub(crate) fn results_charset(connection: &Connection) -> Option<String> {
    let set = connection.profile().variable("character_set_results")?;
    (!set.is_empty()).then(|| charset_of(set).to_owned())
}
