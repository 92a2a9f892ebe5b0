//! Which shard the statement at hand runs on, and what the session has seen on each.
//!
//! What must always hold: a session that is bound to a connection runs everything on that connection's shard; a statement that is
//! for another one is refused, never run elsewhere than where it belongs.

use weir_wire::{Failure, error::codes};

use super::Session;
use super::route::Target;

impl Session {
    /// The statement at hand is for this shard. To be called when its command has begun, before [`Session::route`].
    pub(super) fn set_shard(&mut self, shard: usize) {
        if self.target.shard != shard {
            self.target = Target::writer_of(&self.shared.shards, shard);
        }
        self.target.named = true;
    }

    /// A shard's name.
    pub(super) fn name_of_shard(&self, shard: usize) -> String {
        self.endpoint.groups[shard].settings().name.clone()
    }

    /// All that the session runs from now on is for this shard.
    pub(super) fn choose_shard(&mut self, shard: usize) -> Result<(), Failure> {
        let elsewhere = self.current.lease.is_some() && self.state.is_bound() && self.current.server.shard != shard;
        // Temporary tables and user locks outlast the transaction.
        let leaves_anchor = self.anchor().is_some_and(|anchor| anchor != shard);
        if elsewhere && !self.may_change_shard() || leaves_anchor {
            return Err(self.bound_elsewhere(shard));
        }
        self.chosen_shard = Some(shard);
        Ok(())
    }

    /// The session is bound to its connection: refuses a statement that is for another shard.
    pub(super) fn stay_on_shard(&self) -> Result<(), Failure> {
        if !self.target.named || self.target.shard == self.current.server.shard {
            return Ok(());
        }
        Err(self.bound_elsewhere(self.target.shard))
    }

    pub(super) fn bound_elsewhere(&self, wanted: usize) -> Failure {
        let bound = self.anchor().unwrap_or(self.current.server.shard);
        let (wanted, bound) = (self.name_of_shard(wanted), self.name_of_shard(bound));
        let message = format!(
            "This statement is for shard '{wanted}', and the session is bound to a connection of shard '{bound}' by: {}. End what binds it first",
            self.state.bindings()
        );
        Failure::client(codes::ER_NOT_SUPPORTED_YET, message)
    }
}
