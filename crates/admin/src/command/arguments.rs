//! Arguments that several commands take, each described once.

use super::{Argument, ArgumentKind};

pub(super) const PATTERN: Argument = Argument {
    name: "pattern",
    kind: ArgumentKind::Text,
    about: "What to show, as in MySQL's LIKE: `%` matches any text, `_` one character",
};
pub(super) const STATE: Argument = Argument { name: "state", kind: ArgumentKind::Text, about: "`ON` or `OFF`" };
pub(super) const LIMIT: Argument = Argument {
    name: "limit",
    kind: ArgumentKind::Integer,
    about: "The maximum number of rows to show; 100 if not given",
};
pub(super) const ID: Argument =
    Argument { name: "id", kind: ArgumentKind::Integer, about: "The connection id of a session: `CONNECTION_ID()`" };

pub(super) const DATABASE: Argument =
    Argument { name: "database", kind: ArgumentKind::Text, about: "The database's name" };

pub(super) const GROUP: Argument = Argument {
    name: "group",
    kind: ArgumentKind::Text,
    about: "The group's name; it may be left out if the server tells it, or there is one group",
};
pub(super) const NEW_WRITER: Argument =
    Argument { name: "server", kind: ArgumentKind::Text, about: "The name of the server that becomes the writer" };

pub(super) const DEFINITION: Argument =
    Argument { name: "id", kind: ArgumentKind::Integer, about: "The definition's number, as SHOW DDL shows it" };

pub(super) const BATCH: Argument =
    Argument { name: "id", kind: ArgumentKind::Integer, about: "The batch's number, as SHOW BATCHES shows it" };

pub(super) const MOVE: Argument =
    Argument { name: "id", kind: ArgumentKind::Integer, about: "The move's number, as SHOW MOVES shows it" };
