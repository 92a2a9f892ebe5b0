//! The commands about large writes in parts, each with all of its interfaces.
//!
//! What must always hold: none does more than its one line says.

use weir_batches::Order;
use weir_wire::Failure;

use super::arguments::{BATCH, PATTERN};
use super::{Arguments, Command, Method, Shape, Spec};
use crate::columns;

fn order(arguments: &Arguments, order: Order) -> Result<Command, Failure> {
    Ok(Command::Batch { id: arguments.integer(BATCH.name)?, order })
}

pub(super) const SHOW: Spec = Spec {
    sql: &["SHOW BATCHES [LIKE 'pattern']"],
    ctl: "BATCHES ['pattern']",
    method: Method::Get,
    path: "/api/v1/batches",
    arguments: &[PATTERN],
    shape: Shape::Rows(columns::BATCHES),
    about: "The writes that BATCH does in parts, by table, with how far each is; users without the admin right see their own",
    build: |arguments| Ok(Command::ShowBatches(arguments.pattern())),
};

pub(super) const PAUSE: Spec = Spec {
    sql: &["BATCH PAUSE id"],
    ctl: "BATCH PAUSE id",
    method: Method::Post,
    path: "/api/v1/batches/{id}/pause",
    arguments: &[BATCH],
    shape: Shape::Done,
    about: "Begin no further part of a BATCH until it is resumed",
    build: |arguments| order(arguments, Order::Pause),
};

pub(super) const RESUME: Spec = Spec {
    sql: &["BATCH RESUME id"],
    ctl: "BATCH RESUME id",
    method: Method::Post,
    path: "/api/v1/batches/{id}/resume",
    arguments: &[BATCH],
    shape: Shape::Done,
    about: "Go on with a BATCH that is paused; over SQL, its user goes on with one that no session runs any more",
    build: |arguments| order(arguments, Order::Resume),
};

pub(super) const CANCEL: Spec = Spec {
    sql: &["BATCH CANCEL id"],
    ctl: "BATCH CANCEL id",
    method: Method::Post,
    path: "/api/v1/batches/{id}/cancel",
    arguments: &[BATCH],
    shape: Shape::Done,
    about: "Give a BATCH up behind the part at hand: what its parts have done stays",
    build: |arguments| order(arguments, Order::Cancel),
};
