//! The anchor: the participant of a transaction that has the session's temporary tables, user locks and latest values of sequences.
//!
//! What must always hold: a session has them on one connection, which stays the session's. While a transaction has several participants,
//! one of them is the anchor; when the transaction ends, however it does, its connection is the session's again, or the session ends.

use std::collections::BTreeSet;

use weir_backend::Lease;
use weir_sql::{Class, Effects, Pins};
use weir_wire::Failure;
use weir_wire::error::not_supported;

use super::super::Session;
use super::super::stopped::{SessionEnd, Stopped};
use super::kind::HARMLESS;
use super::{Parked, Participant};

/// Pins to what is used by statements that name it only: others may run on the connections of other participants.
pub(in crate::session) const ANCHORING: Pins = MADE_ANYWHERE.union(Pins::SEQUENCE);

/// Of these, what a statement makes on whichever shard it runs. A sequence is on a shard of its own, which the plan names.
const MADE_ANYWHERE: Pins = Pins::TEMPORARY_TABLE.union(Pins::USER_LOCK);

impl Session {
    /// Whether nothing but its transaction and what makes an anchor binds the session to its connection.
    pub(in crate::session) fn is_movable(&self) -> bool {
        (self.state.pins - HARMLESS - ANCHORING).is_empty() && !self.state.has_busy_statements()
    }

    /// Whether one of the connections that statements run on is an anchor. A statement's own transaction has none.
    pub(in crate::session) fn is_anchored(&self) -> bool {
        self.state.pins.intersects(ANCHORING) && self.transaction.kept.is_none()
    }

    /// The shard where the session has its temporary tables, user locks and latest values of sequences.
    pub(in crate::session) fn anchor(&self) -> Option<usize> {
        self.is_anchored().then(|| self.transaction.anchor.unwrap_or(self.current.server.shard))
    }

    /// The shard where the session would have a temporary table, if it is bound: in a transaction with several participants where that began,
    /// as MySQL has none in an XA branch.
    pub(in crate::session) fn place_for_temporary(&self) -> usize {
        let several = self.transaction.is_multi_shard();
        let first = if several { self.transaction.first } else { self.current.server.shard };
        self.anchor().unwrap_or(first)
    }

    fn is_beside_anchor(&self) -> bool {
        self.anchor().is_some_and(|anchor| anchor != self.current.server.shard)
    }

    /// Another participant is to become the session's connection.
    pub(super) fn note_anchor(&mut self) {
        self.transaction.anchor = self.anchor();
    }

    /// What has made the anchor may be gone.
    pub(super) fn note_anchor_left(&mut self) {
        if !self.is_anchored() {
            self.transaction.anchor = None;
        }
    }

    /// In a transaction with several participants, a statement that is for no shard runs on the anchor, or makes one.
    pub(in crate::session) fn aim_at_anchor(&mut self, class: &Class) {
        let about_latest = class.effects.contains(Effects::USES_WARNINGS);
        if !self.transaction.is_multi_shard() || self.chosen_shard.is_some() || about_latest {
            return;
        }
        if self.is_anchored() || class.pins.intersects(MADE_ANYWHERE) {
            self.set_shard(self.place_for_temporary());
        }
    }

    /// Refuses a statement that would bind the session to a second connection.
    pub(in crate::session) fn stays_bound_once(&self, class: &Class, opens_cursor: bool) -> Result<(), Failure> {
        let taken_along = Pins::COMPUTED_USER_VARIABLE | Pins::ROLE;
        let binds = opens_cursor || !(class.pins - HARMLESS - taken_along).is_empty();
        match self.anchor() {
            Some(anchor) if binds && anchor != self.target.shard => Err(self.bound_elsewhere(self.target.shard)),
            _ => Ok(()),
        }
    }

    /// The transaction of a session that is bound begins on its connection, whichever shard a statement is for.
    pub(super) async fn begin_on_anchor(&mut self) -> Result<(), Stopped> {
        if !self.is_anchored() || self.has_open_transaction() || self.current.lease.is_none() {
            return Ok(());
        }
        let target = std::mem::take(&mut self.target);
        let begun = Box::pin(self.begin_on_first(self.current.server.shard, false)).await;
        self.target = target;
        begun
    }

    /// A statement was run on the session's connection. Beside the anchor, variables that it has assigned are taken along.
    ///
    /// # Errors
    /// The session's end: what it has left (a trigger may, out of sight) can't be taken to the anchor.
    pub(in crate::session) async fn take_along(&mut self) -> Result<(), Stopped> {
        if !self.is_beside_anchor() {
            return Ok(());
        }
        if self.state.pins.contains(Pins::COMPUTED_USER_VARIABLE) && self.endpoint.sharding.is_some() {
            self.learn_what_was_left(true).await?;
            self.learn_user_variables(b"", BTreeSet::new()).await?;
        }
        if (self.state.pins - HARMLESS - ANCHORING).is_empty() {
            return Ok(());
        }
        let message = format!(
            "The statement has bound the session to a second connection ({}), beside the one with its temporary tables, user locks or sequences: \
             the session ends",
            self.state.bindings()
        );
        Err(Stopped::Ended(SessionEnd::Told(not_supported(message))))
    }

    /// The transaction is to end. What the latest statement has left beside the anchor is read first.
    pub(super) async fn leave_for_anchor(&mut self) {
        if !self.is_beside_anchor() || !self.state.left_something() {
            return;
        }
        let is_clean = self.current.lease.as_ref().is_some_and(|lease| lease.is_clean());
        if !is_clean || self.learn_what_was_left(true).await.is_err() {
            self.forget_what_was_left();
        }
    }

    /// The transaction has ended, and `lease` is what is left of the session's connection: that of the anchor is the session's again.
    pub(super) fn take_up_anchor(&mut self, lease: Option<Lease>, parked: &mut [Parked]) {
        let Some(anchor) = self.anchor() else {
            self.current.lease = lease;
            return;
        };
        let mut lost = false;
        if anchor == self.current.server.shard {
            self.current.lease = lease;
        } else {
            lost |= !self.is_movable();
            let found = parked.iter_mut().find(|part| part.participant.server.shard == anchor);
            let own = found.map(|part| std::mem::take(&mut part.participant)).unwrap_or_default();
            self.current = Participant { server: own.server, lease: own.lease, ..Participant::default() };
        }
        match &mut self.current.lease {
            Some(lease) if lease.is_clean() => {
                lease.has_found_rows = false;
                self.handle.info().server = Some((lease.server.clone(), lease.thread_id));
            }
            _ => lost = true,
        }
        self.transaction.anchor_lost |= lost;
        self.target.follow(self.current.server);
    }

    /// The session's end, if what has made the anchor is gone with its connection.
    pub(in crate::session) fn has_lost_anchor(&self) -> Result<(), SessionEnd> {
        if self.transaction.anchor_lost { Err(SessionEnd::Said) } else { Ok(()) }
    }
}
