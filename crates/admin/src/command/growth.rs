//! The commands about shards that come and go, each with all of its interfaces.
//!
//! What must always hold: none does more than its one line says; a dry run changes nothing.

use super::arguments::DATABASE;
use super::{Argument, ArgumentKind, Command, Growth, Method, Shape, Spec};
use crate::columns;

const SHARD: Argument =
    Argument { name: "shard", kind: ArgumentKind::Text, about: "The shard's name, as SHOW SHARDS shows it" };

pub(super) const REBALANCE_DRY_RUN: Spec = Spec {
    sql: &["REBALANCE [DATABASE database] DRY RUN"],
    ctl: "REBALANCE-PLAN [DATABASE database]",
    method: Method::Get,
    path: "/api/v1/rebalance",
    arguments: &[DATABASE],
    shape: Shape::Rows(columns::LAYOUTS),
    about: "What REBALANCE would move",
    build: |arguments| {
        Ok(Command::Grow(Growth::Rebalance {
            database: arguments.get(DATABASE.name).map(str::to_owned),
            dry_run: true,
        }))
    },
};

pub(super) const REBALANCE: Spec = Spec {
    sql: &["REBALANCE [DATABASE database]"],
    ctl: "REBALANCE [DATABASE database]",
    method: Method::Post,
    path: "/api/v1/rebalance",
    arguments: &[DATABASE],
    shape: Shape::Rows(columns::LAYOUTS),
    about: "Spread a sharded database, or each of them, evenly over all shards in use; the fewest slots move",
    build: |arguments| {
        Ok(Command::Grow(Growth::Rebalance {
            database: arguments.get(DATABASE.name).map(str::to_owned),
            dry_run: false,
        }))
    },
};

pub(super) const MOVE_SLOTS: Spec = Spec {
    sql: &["MOVE SLOTS slots OF DATABASE database TO SHARD shard"],
    ctl: "MOVE SLOTS slots OF DATABASE database TO SHARD shard",
    method: Method::Post,
    path: "/api/v1/databases/{database}/slots",
    arguments: &[
        Argument {
            name: "slots",
            kind: ArgumentKind::Text,
            about: "A slot, or the first and the last of several: `0-99`",
        },
        DATABASE,
        SHARD,
    ],
    shape: Shape::Rows(columns::LAYOUTS),
    about: "Move slots of a database's tables to one of its shards",
    build: |arguments| {
        let slots = arguments.text("slots")?;
        let (first, last) = slots.split_once('-').unwrap_or((&slots, &slots));
        let (Ok(first), Ok(last)) = (first.trim().parse(), last.trim().parse()) else {
            return Err(super::wrong_argument(&format!("`slots` must be a slot, or two as in 0-99, not `{slots}`")));
        };
        let (database, shard) = (arguments.text(DATABASE.name)?, arguments.text(SHARD.name)?);
        Ok(Command::Grow(Growth::MoveSlots { slots: first..=last, database, shard }))
    },
};

pub(super) const ADD_SHARD: Spec = Spec {
    sql: &["ADD SHARD shard"],
    ctl: "ADD SHARD shard",
    method: Method::Put,
    path: "/api/v1/shards/{shard}",
    arguments: &[SHARD],
    shape: Shape::Done,
    about: "Take a shard that was drained into use again; REBALANCE moves databases there",
    build: |arguments| Ok(Command::Grow(Growth::AddShard(arguments.text(SHARD.name)?))),
};

pub(super) const DRAIN_SHARD_DRY_RUN: Spec = Spec {
    sql: &["DRAIN SHARD shard DRY RUN"],
    ctl: "DRAIN-PLAN shard",
    method: Method::Get,
    path: "/api/v1/shards/{shard}/drain",
    arguments: &[SHARD],
    shape: Shape::Rows(columns::LAYOUTS),
    about: "What DRAIN SHARD would move",
    build: |arguments| Ok(Command::Grow(Growth::Drain { shard: arguments.text(SHARD.name)?, dry_run: true })),
};

pub(super) const DRAIN_SHARD: Spec = Spec {
    sql: &["DRAIN SHARD shard"],
    ctl: "DRAIN shard",
    method: Method::Post,
    path: "/api/v1/shards/{shard}/drain",
    arguments: &[SHARD],
    shape: Shape::Rows(columns::LAYOUTS),
    about: "Move everything off a shard, and put nothing there any more",
    build: |arguments| Ok(Command::Grow(Growth::Drain { shard: arguments.text(SHARD.name)?, dry_run: false })),
};
