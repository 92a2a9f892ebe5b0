//! What the tasks of an engine share.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::sync::{RwLock, watch};
use weir_catalog::ShardId;

use crate::MoveError;
use crate::Trouble;
use crate::checkpoint::Checkpoint;
use crate::connector::Connector;
use crate::controls::Controls;
use crate::form::Form;
use crate::plan::{Placed, Plan, TablePlan};
use crate::position::Positions;

/// How often weights are learnt for one row: once for each collation of its key, and not for ever.
const MOST_LESSONS: usize = 16;

/// See the module.
pub(crate) struct Shared {
    pub(crate) plan: Plan,
    pub(crate) tables: Vec<SharedTable>,
    pub(crate) connector: Arc<dyn Connector>,
    pub(crate) controls: Arc<Controls>,
    pub(crate) checkpoint: watch::Sender<Checkpoint>,
    /// Up to where each source is applied.
    pub(crate) applied: watch::Sender<Positions>,
    /// The sources whose copy is complete.
    pub(crate) copied: watch::Sender<BTreeMap<ShardId, bool>>,
    pub(crate) stop: watch::Sender<bool>,
}

/// A table of the plan.
pub(crate) struct SharedTable {
    pub(crate) form: Arc<Form>,
    /// Held in common by who writes what its own source has, and alone by who writes what any source may have.
    pub(crate) writing: RwLock<()>,
}

impl Shared {
    /// The shard that a row with these values belongs to; `None`: every target.
    pub(crate) async fn place(
        &self,
        table: &TablePlan,
        values: &[Option<&[u8]>],
    ) -> Result<Option<ShardId>, MoveError> {
        let nowhere = |failure| MoveError { trouble: Trouble::NoPlace, failure, resumable: false };
        for _ in 0..MOST_LESSONS {
            match table.placement.place(values).map_err(nowhere)? {
                Placed::Everywhere => return Ok(None),
                Placed::On(shard) => return Ok(Some(shard)),
                Placed::NeedsWeights(collation, chars) => {
                    let learnt = table.placement.learn(&collation, &chars).await;
                    learnt.map_err(|failure| MoveError { trouble: Trouble::Internal, failure, resumable: true })?;
                }
            }
        }
        Err(MoveError::internal("the weights of a row's key can't be learnt"))
    }
}
