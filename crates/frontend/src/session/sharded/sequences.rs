//! Sequences of AUTO_INCREMENT whose shard takes no writes for a while, as one that is about to get another writer.
//!
//! What must always hold: a sequence is asked again only for a statement that has done nothing yet, of a session that has nothing locked.

use std::sync::Arc;
use std::time::Instant;

use weir_exec::write::Generator;
use weir_plan::Raise;
use weir_shards::Sharding;
use weir_wire::Failure;

use super::super::Session;
use super::super::relay::says_read_only;
use super::super::stopped::Stopped;

impl Session {
    /// Has a sequence go on behind an explicit value, before the row is written.
    ///
    /// # Errors
    /// As [`Generator::raise`].
    pub(in crate::session) async fn raise_sequence(
        &mut self,
        sharding: &Arc<Sharding>,
        raise: &Raise,
    ) -> Result<(), Stopped> {
        let (shard, mut deadline) = (usize::from(raise.keeper.0), None);
        loop {
            let writer = self.shared.shards[shard].writer();
            match sharding.sequences.raise(raise).await {
                Ok(()) => return Ok(()),
                Err(failure) => self.wait_for_sequence((shard, writer), failure, &mut deadline).await?,
            }
        }
    }

    /// A writer, a shard's server, has refused to change a sequence: waits for one that does, as writes of rows do.
    ///
    /// # Errors
    /// The refusal, if it is for another reason, if the session can't wait, or if nothing has changed within the bound.
    pub(super) async fn wait_for_sequence(
        &mut self,
        writer: (usize, usize),
        failure: Failure,
        deadline: &mut Option<Instant>,
    ) -> Result<(), Stopped> {
        let waits = says_read_only(failure.code, failure.message.as_bytes())
            && self.shared.shards[writer.0].splits
            && !self.has_open_transaction()
            && !self.has_table_locks();
        match waits {
            true => self.wait_for_writes(&[writer], &failure, deadline).await,
            false => Err(failure.into()),
        }
    }
}
