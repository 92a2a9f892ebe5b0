//! The parts of the program that commands ask, which are put in while Weir starts.
//!
//! What must always hold: each is put in at most once; a command that needs one that is not there is refused.

use std::sync::Arc;

use weir_batches::Batches;
use weir_exec::hot_rows::HotRows;
use weir_moves::Mover;
use weir_shards::Sharding;
use weir_topology::Failover;
use weir_txn::Coordinator;
use weir_wire::Failure;
use weir_wire::error::codes;

use super::Commands;
use crate::operations::Operations;
use crate::shards;

impl Commands {
    /// Puts the program around in; once. Before, what needs it is refused.
    pub fn operate_with(&self, operations: Arc<dyn Operations>) {
        let put_in_before = self.operations.set(operations).is_err();
        debug_assert!(!put_in_before, "the program is put in once");
    }

    /// Puts the shards' common part in; once, if there is one.
    pub fn shard_with(&self, sharding: Arc<Sharding>) {
        let put_in_before = self.sharding.set(sharding).is_err();
        debug_assert!(!put_in_before, "the shards are put in once");
    }

    pub(super) fn sharding(&self) -> Result<&Arc<Sharding>, Failure> {
        self.sharding.get().ok_or_else(shards::none)
    }

    /// Puts in who moves tables; once, if there are shards.
    pub fn move_with(&self, mover: Arc<Mover>) {
        let put_in_before = self.mover.set(mover).is_err();
        debug_assert!(!put_in_before, "it is put in once");
    }

    /// Who moves tables.
    ///
    /// # Errors
    /// 1235 when there are no shards.
    pub fn mover(&self) -> Result<&Arc<Mover>, Failure> {
        self.mover.get().ok_or_else(shards::none)
    }

    /// Puts in who keeps writes in parts; once.
    pub fn batch_with(&self, batches: Arc<Batches>) {
        let put_in_before = self.batches.set(batches).is_err();
        debug_assert!(!put_in_before, "they are put in once");
    }

    /// Who keeps writes in parts.
    ///
    /// # Errors
    /// 1105 while Weir is still starting.
    pub fn batches(&self) -> Result<&Arc<Batches>, Failure> {
        self.batches.get().ok_or_else(starting)
    }

    /// Puts in who ends transactions; once.
    pub fn tell_of_transactions(&self, coordinator: Arc<Coordinator>) {
        let put_in_before = self.transactions.set(coordinator).is_err();
        debug_assert!(!put_in_before, "it is put in once");
    }

    /// Puts in what is known of hot rows; once.
    pub fn tell_of_hot_rows(&self, hot_rows: Arc<HotRows>) {
        let put_in_before = self.hot_rows.set(hot_rows).is_err();
        debug_assert!(!put_in_before, "it is put in once");
    }

    /// Puts in who changes the groups' writers, one for each group; once.
    pub fn fail_over_with(&self, failovers: Vec<Arc<Failover>>) {
        let put_in_before = self.failovers.set(failovers).is_err();
        debug_assert!(!put_in_before, "they are put in once");
    }

    /// Who changes the groups' writers.
    pub fn failovers(&self) -> &[Arc<Failover>] {
        self.failovers.get().map(Vec::as_slice).unwrap_or_default()
    }

    pub(super) fn operations(&self) -> Result<&Arc<dyn Operations>, Failure> {
        self.operations.get().ok_or_else(starting)
    }
}

fn starting() -> Failure {
    Failure::weir(codes::ER_UNKNOWN_ERROR, "Weir is still starting")
}
