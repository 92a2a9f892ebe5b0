//! The commands about moves of tables, each with all of its interfaces.
//!
//! What must always hold: none does more than its one line says.

use weir_wire::Failure;

use super::arguments::{MOVE, PATTERN};
use super::{Argument, ArgumentKind, Arguments, Command, Method, MoveOrder, Shape, Spec};
use crate::columns;

fn order(arguments: &Arguments, order: MoveOrder) -> Result<Command, Failure> {
    Ok(Command::Move { id: arguments.integer(MOVE.name)?, order })
}

pub(super) const SHOW: Spec = Spec {
    sql: &["SHOW MOVES [LIKE 'pattern']"],
    ctl: "MOVES ['pattern']",
    method: Method::Get,
    path: "/api/v1/moves",
    arguments: &[PATTERN],
    shape: Shape::Rows(columns::MOVES),
    about: "The moves of tables to other placements, by tables: how far each is, and what comes next",
    build: |arguments| Ok(Command::ShowMoves(arguments.pattern())),
};

pub(super) const BEGIN: Spec = Spec {
    sql: &["MOVE TABLES tables …"],
    ctl: "MOVE TABLES tables …",
    method: Method::Post,
    path: "/api/v1/moves",
    arguments: &[Argument {
        name: "tables",
        kind: ArgumentKind::Text,
        about: "Tables and their new placements: `shop.customers TO SHARD BY HASH(id), shop.orders TO SHARD BY HASH(customer_id)`",
    }],
    shape: Shape::Rows(columns::MOVE_BEGUN),
    about: "Give tables other placements while they are used, all at one moment; shows the move's number",
    build: |arguments| Ok(Command::MoveTables(arguments.text("tables")?)),
};

pub(super) const PAUSE: Spec = Spec {
    sql: &["MOVE PAUSE id"],
    ctl: "MOVE PAUSE id",
    method: Method::Post,
    path: "/api/v1/moves/{id}/pause",
    arguments: &[MOVE],
    shape: Shape::Done,
    about: "Stop copying rows, and do not cut over, until the move is resumed",
    build: |arguments| order(arguments, MoveOrder::Pause),
};

pub(super) const RESUME: Spec = Spec {
    sql: &["MOVE RESUME id"],
    ctl: "MOVE RESUME id",
    method: Method::Post,
    path: "/api/v1/moves/{id}/resume",
    arguments: &[MOVE],
    shape: Shape::Done,
    about: "Go on with a move that is paused, by a command or by an error",
    build: |arguments| order(arguments, MoveOrder::Resume),
};

pub(super) const CANCEL: Spec = Spec {
    sql: &["MOVE CANCEL id"],
    ctl: "MOVE CANCEL id",
    method: Method::Post,
    path: "/api/v1/moves/{id}/cancel",
    arguments: &[MOVE],
    shape: Shape::Done,
    about: "Give a move up before its cutover: nothing is left of it",
    build: |arguments| order(arguments, MoveOrder::Cancel),
};

pub(super) const CUTOVER: Spec = Spec {
    sql: &["MOVE CUTOVER id [AT 'time']"],
    ctl: "MOVE CUTOVER id [AT 'time']",
    method: Method::Post,
    path: "/api/v1/moves/{id}/cutover",
    arguments: &[
        MOVE,
        Argument {
            name: "time",
            kind: ArgumentKind::Text,
            about: "Not before this time: `2027-03-01 02:30:00+01:00`, `2027-03-01T01:30:00Z`; without an offset it is read in the session's \
                    `time_zone` (in SQL only)",
        },
    ],
    shape: Shape::Done,
    about: "Let a move cut over as soon as it can, or at a time",
    build: |arguments| order(arguments, MoveOrder::CutOver(arguments.get("time").map(str::to_owned))),
};

pub(super) const VERIFY: Spec = Spec {
    sql: &["MOVE VERIFY id"],
    ctl: "MOVE VERIFY id",
    method: Method::Post,
    path: "/api/v1/moves/{id}/verify",
    arguments: &[MOVE],
    shape: Shape::Done,
    about: "Compare the old and the new tables of a move once more; SHOW MOVES tells what came of it",
    build: |arguments| order(arguments, MoveOrder::Verify),
};

pub(super) const FINISH: Spec = Spec {
    sql: &["MOVE FINISH id"],
    ctl: "MOVE FINISH id",
    method: Method::Post,
    path: "/api/v1/moves/{id}/finish",
    arguments: &[MOVE],
    shape: Shape::Done,
    about: "Drop the old tables of a move that has cut over: there is no way back then",
    build: |arguments| order(arguments, MoveOrder::Finish),
};

pub(super) const UNDO: Spec = Spec {
    sql: &["MOVE UNDO id"],
    ctl: "MOVE UNDO id",
    method: Method::Post,
    path: "/api/v1/moves/{id}/undo",
    arguments: &[MOVE],
    shape: Shape::Done,
    about: "Take the old placement back after the cutover, with all that was written since",
    build: |arguments| order(arguments, MoveOrder::Undo),
};

pub(super) const THROTTLE: Spec = Spec {
    sql: &["MOVE THROTTLE id ROWS rows"],
    ctl: "MOVE THROTTLE id ROWS rows",
    method: Method::Put,
    path: "/api/v1/moves/{id}/throttle",
    arguments: &[
        MOVE,
        Argument {
            name: "rows",
            kind: ArgumentKind::Integer,
            about: "The most rows per second from each shard; 0: no limit",
        },
    ],
    shape: Shape::Done,
    about: "Limit how many rows a move copies per second",
    build: |arguments| order(arguments, MoveOrder::Throttle(arguments.integer("rows")?)),
};
