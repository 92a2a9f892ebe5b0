//! The session's permit to have connections to several shards ([`weir_backend::admission`]).
//!
//! What must always hold: over several shards, a session has a permit before a transaction's first connection, and one for several
//! shards before it waits for a connection while it has another. It has none once no transaction is open, no tables of several shards
//! are locked, and the statement is over. One for additional connections is had by the statement's leases alone.

use std::rc::Rc;

use weir_backend::Admission;
use weir_backend::admission::AdmissionPermit;
use weir_wire::error::codes;
use weir_wire::{Failure, StatusFlags};

use super::super::Session;
use super::super::stopped::{SessionEnd, Stopped};

impl Session {
    /// The connection that is wanted next is to the target's shard: if it begins a transaction, the session has a permit for it.
    pub(in crate::session) async fn have_permit_to_begin(&mut self) -> Result<(), Stopped> {
        let alone = self.shared.shards.len() == 1 || self.transaction.permit.is_some();
        if alone || !self.is_or_begins_transaction() || self.current.lease.is_some() && self.state.is_bound() {
            return Ok(());
        }
        let admission = self.endpoint.admission.clone();
        let (user, shard) = (self.key.user.clone(), self.target.shard);
        self.transaction.permit = match admission.try_first(&user, shard) {
            Some(permit) => Some(permit),
            None => Some(self.wait_for_permit(&admission, admission.first(&user, shard)).await?),
        };
        Ok(())
    }

    /// The session has a permit for several shards.
    pub(in crate::session) async fn have_multi_shard_permit(&mut self) -> Result<(), Stopped> {
        if self.transaction.permit.as_ref().is_some_and(AdmissionPermit::is_multi_shard) {
            return Ok(());
        }
        let admission = self.endpoint.admission.clone();
        let user = self.key.user.clone();
        self.transaction.permit = match admission.try_multi_shard(&user) {
            Some(permit) => Some(permit),
            None => Some(self.wait_for_permit(&admission, admission.multi_shard(&user)).await?),
        };
        Ok(())
    }

    /// The session has a permit for several shards, and one for connections to shards to which it has some already. A statement within
    /// another one, of a procedure, has that one's.
    pub(super) async fn additional_permit(&mut self) -> Result<Rc<AdmissionPermit>, Stopped> {
        self.have_multi_shard_permit().await?;
        if let Some(permit) = self.transaction.additional.upgrade() {
            return Ok(permit);
        }
        let admission = self.endpoint.admission.clone();
        let user = self.key.user.clone();
        let permit = Rc::new(match admission.try_additional(&user) {
            Some(permit) => permit,
            None => self.wait_for_permit(&admission, admission.additional(&user)).await?,
        });
        self.transaction.additional = Rc::downgrade(&permit);
        Ok(permit)
    }

    /// Waits as for a connection, with the same bound. A connection that is held softly is given back before.
    async fn wait_for_permit(
        &mut self,
        admission: &Admission,
        permit: impl Future<Output = AdmissionPermit>,
    ) -> Result<AdmissionPermit, Stopped> {
        if self.held {
            self.give_way().await;
        }
        self.handle.set_state("Waiting for a place among transactions");
        let metrics = &self.endpoint.backend_metrics;
        metrics.queued.inc();
        let bound = self.shared.at(self.target.place()).pool.queue_timeout();
        let mut waiting = std::pin::pin!(tokio::time::timeout(bound, permit));
        let waited = loop {
            // Cancel-safe: a dropped wait gives up its turn, `gone` keeps what was read, a bell keeps its ring.
            tokio::select! {
                biased;
                waited = &mut waiting => break waited,
                () = self.handle.bell.rung() => self.stops_waiting()?,
                error = self.client.gone() => return Err(Stopped::Ended(SessionEnd::from(error))),
            }
        };
        self.handle.set_state("");
        waited.map_err(|_| {
            self.endpoint.backend_metrics.queue_timeouts.inc();
            let most = admission.most_multi_shard(&self.key.user);
            let message = format!(
                "Too many connections: at most {most} sessions have transactions or statements over several shards at once, and this \
                 one's turn did not come within {bound:?}. Raise pool.max_connections and the servers' max_connections"
            );
            Failure::weir(codes::ER_CON_COUNT_ERROR, message).into()
        })
    }

    /// After a statement: the permit is given up, unless a transaction is open, or tables of several shards are locked.
    pub(in crate::session) fn release_permit(&mut self) {
        if !self.state.status.contains(StatusFlags::IN_TRANS) && !self.table_locks.on_several_shards() {
            self.transaction.permit = None;
        }
    }
}
