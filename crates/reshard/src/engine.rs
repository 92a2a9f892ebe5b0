//! A stand-in, until the engine is there: it copies all rows while writes are held.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use weir_catalog::ShardId;
use weir_wire::Failure;

use crate::MoveError;
use crate::checkpoint::Checkpoint;
use crate::connector::Connector;
use crate::controls::Controls;
use crate::plan::{Placed, Plan};
use crate::position::Positions;
use crate::progress::{Counters, Meter, Progress, snapshot};
use crate::verify::{Verification, VerifySettings};

/// Engine.
#[derive(Debug)]
pub struct Engine;

/// Handle.
pub struct Handle {
    plan: Plan,
    connector: Arc<dyn Connector>,
    counters: BTreeMap<ShardId, Arc<Counters>>,
    meter: Meter,
    checkpoints: watch::Sender<Checkpoint>,
    controls: Arc<Controls>,
}

impl Engine {
    /// Start.
    pub async fn start(
        plan: Plan,
        connector: Arc<dyn Connector>,
        checkpoint: Option<Checkpoint>,
        controls: Arc<Controls>,
    ) -> Result<Handle, MoveError> {
        Ok(Handle {
            plan,
            connector,
            counters: BTreeMap::new(),
            meter: Meter::new(),
            checkpoints: watch::Sender::new(checkpoint.unwrap_or_default()),
            controls,
        })
    }
}

impl Handle {
    /// Progress.
    pub fn progress(&self) -> Progress {
        snapshot(&self.counters, &self.meter, false)
    }
    /// Checkpoint.
    pub fn checkpoint(&self) -> Checkpoint {
        self.checkpoints.borrow().clone()
    }
    /// Controls.
    pub fn controls(&self) -> &Arc<Controls> {
        &self.controls
    }
    /// Failed.
    pub async fn failed(&self) -> MoveError {
        std::future::pending().await
    }
    /// Copied.
    pub async fn wait_until_copied(&self) -> Result<(), MoveError> {
        Ok(())
    }
    /// Positions.
    pub async fn positions(&self) -> Result<Positions, MoveError> {
        Ok(Positions::new())
    }
    /// Copies all.
    pub async fn catch_up(&self, _: &Positions, _: Duration) -> Result<(), MoveError> {
        for table in &self.plan.tables {
            for target in &table.targets {
                self.run(target.shard, &format!("DELETE FROM `{}`.`{}`", target.schema, table.name)).await?;
            }
            for source in &table.sources {
                let names: Vec<String> = table.columns.iter().filter(|c| !c.generated).map(|c| format!("`{}`", c.name)).collect();
                let list = names.join(",");
                let rows = self.run(source.shard, &format!("SELECT {list} FROM `{}`.`{}`", source.schema, table.name)).await?;
                for row in rows {
                    let key: Vec<Option<&[u8]>> = table.placement.columns().iter().map(|at| row[*at].as_deref()).collect();
                    let placed = loop {
                        match table.placement.place(&key).map_err(failed)? {
                            Placed::NeedsWeights(collation, chars) => {
                                table.placement.learn(&collation, &chars).await.map_err(failed)?;
                            }
                            placed => break placed,
                        }
                    };
                    let values: Vec<String> = row
                        .iter()
                        .map(|cell| match cell {
                            None => "NULL".to_owned(),
                            Some(bytes) => weir_shards::own::quoted(&String::from_utf8_lossy(bytes)),
                        })
                        .collect();
                    for target in &table.targets {
                        if placed == Placed::Everywhere || placed == Placed::On(target.shard) {
                            let sql = format!("REPLACE INTO `{}`.`{}` ({list}) VALUES ({})", target.schema, table.name, values.join(","));
                            self.run(target.shard, &sql).await?;
                        }
                    }
                }
            }
        }
        Ok(())
    }
    async fn run(&self, shard: ShardId, sql: &str) -> Result<Vec<Vec<Option<Vec<u8>>>>, MoveError> {
        let (_, connected) = self.connector.connect(shard).await.map_err(failed)?;
        let mut probe = weir_backend::monitor::Probe::new(connected);
        probe.query("SET NAMES utf8mb4, SESSION foreign_key_checks=0").await.map_err(failed)?;
        probe.query(sql).await.map_err(failed)
    }
    /// Verify.
    pub async fn verify(&self, _: VerifySettings) -> Result<Verification, MoveError> {
        Ok(Verification::default())
    }
    /// Stop.
    pub async fn stop(self) -> Checkpoint {
        self.checkpoint()
    }
}

fn failed(failure: Failure) -> MoveError {
    MoveError { trouble: crate::Trouble::Internal, failure, resumable: false }
}

/// Where the binary logs of these shards end now.
///
/// # Errors
/// When a shard can't be asked.
pub async fn positions_of(connector: &dyn Connector, shards: &[ShardId]) -> Result<Positions, MoveError> {
    let _ = (connector, shards);
    Ok(Positions::new())
}
