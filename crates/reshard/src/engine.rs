//! Starting, watching and stopping a move.
//!
//! What must always hold: when one task of an engine fails, all of them end, and the handle tells the first error.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use weir_catalog::ShardId;

use crate::checkpoint::Checkpoint;
use crate::connector::Connector;
use crate::controls::Controls;
use crate::plan::Plan;
use crate::position::Positions;
use crate::progress::{Counters, Meter, Progress, snapshot};
use crate::verify::{Verification, VerifySettings};
use crate::MoveError;

/// See [`Engine::start`].
#[derive(Debug)]
pub struct Engine;

/// A move that runs. Dropping it stops the move.
pub struct Handle {
    counters: BTreeMap<ShardId, Arc<Counters>>,
    meter: Meter,
    checkpoints: watch::Receiver<Checkpoint>,
    ended: watch::Receiver<Option<MoveError>>,
    controls: Arc<Controls>,
}

impl Engine {
    /// Checks that the plan's tables can be moved, and begins, or goes on from a checkpoint. Needs a runtime of tokio with several threads'
    /// `spawn`: the tasks run where this is called.
    ///
    /// # Errors
    /// What refuses the move, before anything is done; a source or target that can't be reached.
    pub async fn start(
        plan: Plan,
        connector: Arc<dyn Connector>,
        checkpoint: Option<Checkpoint>,
        controls: Arc<Controls>,
    ) -> Result<Handle, MoveError> {
        let _ = (plan, connector, checkpoint, controls);
        Err(MoveError::internal("not yet"))
    }
}

impl Handle {
    /// How far it is.
    pub fn progress(&self) -> Progress {
        snapshot(&self.counters, &self.meter, self.ended.borrow().is_some())
    }

    /// From where another engine can go on.
    pub fn checkpoint(&self) -> Checkpoint {
        self.checkpoints.borrow().clone()
    }

    /// Tells checkpoints as they come: to be kept by whoever wants to go on after a crash.
    pub fn checkpoints(&self) -> watch::Receiver<Checkpoint> {
        self.checkpoints.clone()
    }

    /// Its controls.
    pub fn controls(&self) -> &Arc<Controls> {
        &self.controls
    }

    /// Waits until the move ends by itself, which is by an error.
    pub async fn failed(&self) -> MoveError {
        MoveError::internal("not yet")
    }

    /// Waits until all rows are copied. (Changes are followed all the time.)
    ///
    /// # Errors
    /// Why the move has ended before.
    pub async fn wait_until_copied(&self) -> Result<(), MoveError> {
        Err(MoveError::internal("not yet"))
    }

    /// Where the sources' binary logs end now.
    ///
    /// # Errors
    /// When a source can't be asked.
    pub async fn positions(&self) -> Result<Positions, MoveError> {
        Err(MoveError::internal("not yet"))
    }

    /// Waits until all that is before these positions is applied.
    ///
    /// # Errors
    /// [`crate::Trouble::Late`] if that takes longer than `bound`; why the move has ended.
    pub async fn catch_up(&self, to: &Positions, bound: Duration) -> Result<(), MoveError> {
        let _ = (to, bound);
        Err(MoveError::internal("not yet"))
    }

    /// Compares all copied rows on both sides, while changes go on. Copying should be complete.
    ///
    /// # Errors
    /// When a server can't be asked; why the move has ended. A difference is no error.
    pub async fn verify(&self, settings: VerifySettings) -> Result<Verification, MoveError> {
        let _ = settings;
        Err(MoveError::internal("not yet"))
    }

    /// Stops the move, after the chunk or the changes that it is at. The checkpoint is that of all it has done.
    pub async fn stop(self) -> Checkpoint {
        self.checkpoint()
    }
}

/// Where the binary logs of these shards end now.
///
/// # Errors
/// When a shard can't be asked.
pub async fn positions_of(connector: &dyn Connector, shards: &[ShardId]) -> Result<Positions, MoveError> {
    let _ = (connector, shards);
    Err(MoveError::internal("not yet"))
}
