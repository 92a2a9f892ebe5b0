//! The session's place among those that may have connections to several shards ([`weir_backend::places`]).
//!
//! What must always hold: over several shards, a session has a place before a transaction's first connection, and one for several
//! shards before it waits for a connection while it has another. It has none once no transaction is open and the statement is over.

use weir_backend::Places;
use weir_backend::places::Place;
use weir_wire::error::codes;
use weir_wire::{Failure, Fault, StatusFlags};

use super::super::server::Stopped;
use super::super::{End, Session};

impl Session {
    /// The connection that is wanted next is to the target's shard: if it begins a transaction, the session has a place for it.
    pub(in crate::session) async fn have_place_to_begin(&mut self) -> Result<(), Stopped> {
        let alone = self.shared.shards.len() == 1 || self.place.is_some();
        if alone || !self.is_or_begins_transaction() || self.lease.is_some() && self.state.is_bound() {
            return Ok(());
        }
        let places = self.endpoint.places.clone();
        let (user, shard) = (self.key.user.clone(), self.target.shard);
        self.place = match places.try_first(&user, shard) {
            Some(place) => Some(place),
            None => Some(self.wait_for_place(&places, places.first(&user, shard)).await?),
        };
        Ok(())
    }

    /// The session has a place for several shards.
    pub(in crate::session) async fn have_place_for_several(&mut self) -> Result<(), Stopped> {
        if self.place.as_ref().is_some_and(Place::is_for_several) {
            return Ok(());
        }
        let places = self.endpoint.places.clone();
        let user = self.key.user.clone();
        self.place = match places.try_several(&user) {
            Some(place) => Some(place),
            None => Some(self.wait_for_place(&places, places.several(&user)).await?),
        };
        Ok(())
    }

    /// Waits as for a connection, with the same bound. A connection that is held softly is given back before.
    async fn wait_for_place(&mut self, places: &Places, place: impl Future<Output = Place>) -> Result<Place, Stopped> {
        if self.held {
            self.give_way().await;
        }
        self.handle.set_state("Waiting for a place among transactions");
        let metrics = &self.endpoint.backend_metrics;
        metrics.queued.inc();
        let bound = self.shared.at(self.target.place()).pool.queue_timeout();
        let mut waiting = std::pin::pin!(tokio::time::timeout(bound, place));
        let waited = loop {
            // Cancel-safe: a dropped wait gives up its turn, `gone` keeps what was read, a bell keeps its ring.
            tokio::select! {
                biased;
                waited = &mut waiting => break waited,
                () = self.handle.bell.rung() => self.stops_waiting()?,
                error = self.client.gone() => return Err(Stopped::Ended(End::from(error))),
            }
        };
        self.handle.set_state("");
        waited.map_err(|_| {
            self.endpoint.backend_metrics.queue_timeouts.inc();
            let most = places.most_with_several();
            let message = format!(
                "Too many connections: {most} sessions have transactions or statements over several shards, and none ended within \
                 {bound:?}. Raise pool.max_connections and the servers' max_connections"
            );
            Failure::new(Fault::Weir, codes::ER_CON_COUNT_ERROR, b"08004", message).into()
        })
    }

    /// After a statement: the place is given up, unless a transaction is open.
    pub(in crate::session) fn settle_place(&mut self) {
        if !self.state.status.contains(StatusFlags::IN_TRANS) {
            self.place = None;
        }
    }
}
