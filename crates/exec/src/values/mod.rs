//! Values of servers' rows as SQL for other servers.
//!
//! What must always hold: what another server reads is the value exactly, whatever its `sql_mode` and the client's character set; what can't be
//! written so is refused. Constants of the planner have literals of their own (`weir_plan::write::literal`), on which these build; values of
//! system variables, which a server has told as they are SET, are written by `weir_backend::profile`.
//!
//! What a value is for decides its form: `row`: a value of INSERT, UPDATE or WHERE, as the column takes it; `variable`: a user variable, with its
//! collation; `union`: a cell that must not change the column's type in a UNION; `json`: a string of a document, which is computed from.

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
