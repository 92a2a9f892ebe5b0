//! Starting, watching and stopping a move.
//!
//! What must always hold: when one task of an engine fails, all of them end, and the handle tells the first error. A source's task ends
//! between two chunks or changes when it is stopped, and anywhere when the handle is dropped.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::sync::{Mutex, watch};
use tokio::task::{AbortHandle, JoinSet};
use weir_backend::Server;
use weir_catalog::ShardId;

use crate::checkpoint::Checkpoint;
use crate::connector::Connector;
use crate::controls::Controls;
use crate::facts::{Facts, source_error};
use crate::link::Link;
use crate::plan::Plan;
use crate::position::Positions;
use crate::progress::{Counters, Meter, Progress, snapshot};
use crate::shared::Shared;
use crate::start::{Part, set_up};
use crate::verify::{Verification, VerifySettings, verify};
use crate::{MoveError, Trouble};

/// See [`Engine::start`].
#[derive(Debug)]
pub struct Engine;

/// A move that runs. Dropping it ends the move.
pub struct Handle {
    shared: Arc<Shared>,
    facts: BTreeMap<ShardId, Facts>,
    servers: BTreeMap<ShardId, Arc<Server>>,
    counters: BTreeMap<ShardId, Arc<Counters>>,
    meter: Meter,
    ended: watch::Receiver<Option<MoveError>>,
    running: AbortHandle,
    /// Connections for [`Handle::positions`].
    askers: Mutex<BTreeMap<ShardId, Link>>,
}

impl Engine {
    /// Checks that the plan's tables can be moved, and begins, or goes on from a checkpoint. The tasks run on the runtime where this is
    /// called.
    ///
    /// # Errors
    /// What refuses the move, before anything is done; a source or target that can't be reached.
    pub async fn start(
        plan: Plan,
        connector: Arc<dyn Connector>,
        checkpoint: Option<Checkpoint>,
        controls: Arc<Controls>,
    ) -> Result<Handle, MoveError> {
        let setup = set_up(plan, connector, checkpoint, controls).await?;
        let counters = setup.parts.iter().map(|part| (part.source.shard, part.source.counters.clone())).collect();
        let (tell, ended) = watch::channel(None);
        let running = tokio::spawn(async move {
            let outcome = run(setup.parts).await;
            let error = outcome.err().unwrap_or_else(|| MoveError::new(Trouble::Stopped, "The move was stopped"));
            tracing::debug!(%error, "a move has ended");
            tell.send_replace(Some(error));
        });
        Ok(Handle {
            shared: setup.shared,
            facts: setup.facts,
            servers: setup.servers,
            counters,
            meter: Meter::new(),
            ended,
            running: running.abort_handle(),
            askers: Mutex::new(BTreeMap::new()),
        })
    }
}

/// Where the binary logs of these shards end now: for a [`Checkpoint`] of an engine that is not there yet.
///
/// # Errors
/// When one can't be asked, or followed.
pub async fn positions(connector: &dyn Connector, shards: &[ShardId]) -> Result<Positions, MoveError> {
    let position = async |shard: &ShardId| {
        let failed = source_error(*shard);
        let mut link = Link::open(connector, *shard).await.map_err(&failed)?;
        let facts = Facts::ask(&mut link).await?;
        Ok((*shard, facts.position(&mut link).await.map_err(&failed)?))
    };
    join_all(shards.iter().map(position)).await.into_iter().collect()
}

/// Runs the tasks until one fails, or all sources' have been stopped.
async fn run(parts: Vec<Part>) -> Result<(), MoveError> {
    let mut sources = JoinSet::new();
    let mut followers = JoinSet::new();
    for Part { source, follower, groups } in parts {
        sources.spawn(source.run());
        followers.spawn(follower.run(groups));
    }
    loop {
        // Both are cancel-safe. What is left when this returns is aborted.
        tokio::select! {
            Some(ended) = sources.join_next() => ended.unwrap_or_else(panicked)?,
            Some(ended) = followers.join_next() => ended.unwrap_or_else(panicked)?,
        }
        if sources.is_empty() {
            return Ok(());
        }
    }
}

fn panicked(error: tokio::task::JoinError) -> Result<(), MoveError> {
    Err(MoveError { resumable: true, ..MoveError::internal(format!("a task of the move ended: {error}")) })
}

impl Handle {
    /// The servers that it reads from and writes to.
    pub fn servers(&self) -> &BTreeMap<ShardId, Arc<Server>> {
        &self.servers
    }

    /// How far it is.
    pub fn progress(&self) -> Progress {
        snapshot(&self.counters, &self.meter, self.ended.borrow().is_some())
    }

    /// From where another engine can go on.
    pub fn checkpoint(&self) -> Checkpoint {
        self.shared.checkpoint.borrow().clone()
    }

    /// Tells checkpoints as they come: to be kept by whoever wants to go on after a crash.
    pub fn checkpoints(&self) -> watch::Receiver<Checkpoint> {
        self.shared.checkpoint.subscribe()
    }

    /// Its controls.
    pub fn controls(&self) -> &Arc<Controls> {
        &self.shared.controls
    }

    /// Waits until the move ends by itself, which is by an error.
    pub async fn failed(&self) -> MoveError {
        let mut ended = self.ended.clone();
        let error = ended.wait_for(Option::is_some).await.ok().and_then(|error| error.clone());
        error.unwrap_or_else(|| MoveError::new(Trouble::Stopped, "The move was stopped"))
    }

    /// Awaits something, unless the move ends before.
    async fn unless_failed<T>(&self, wanted: impl Future<Output = T>) -> Result<T, MoveError> {
        tokio::select! {
            biased;
            error = self.failed() => Err(error),
            done = wanted => Ok(done),
        }
    }

    /// Waits until all rows are copied. (Changes are followed all the time.)
    ///
    /// # Errors
    /// Why the move has ended before.
    pub async fn wait_until_copied(&self) -> Result<(), MoveError> {
        let mut copied = self.shared.copied.subscribe();
        // The sender is in `self`.
        let all = copied.wait_for(|all| all.values().all(|done| *done));
        self.unless_failed(all).await.map(drop)
    }

    /// Where the sources' binary logs end now.
    ///
    /// # Errors
    /// When a source can't be asked.
    pub async fn positions(&self) -> Result<Positions, MoveError> {
        let mut askers = self.askers.lock().await;
        let position = async |(shard, facts): (&ShardId, &Facts), link: Option<Link>| {
            let failed = source_error(*shard);
            let mut link = match link {
                Some(link) => link,
                None => Link::open(&*self.shared.connector, *shard).await.map_err(&failed)?,
            };
            let position = facts.position(&mut link).await.map_err(&failed)?;
            Ok((*shard, position, link))
        };
        // A connection that fails is not put back.
        let asked = self.facts.iter().map(|one| position(one, askers.remove(one.0)));
        let asked: Vec<_> = asked.collect();
        let mut positions = Positions::new();
        for told in join_all(asked).await {
            let (shard, position, link) = told?;
            positions.insert(shard, position);
            askers.insert(shard, link);
        }
        Ok(positions)
    }

    /// Up to where the sources are applied.
    pub fn applied(&self) -> Positions {
        self.shared.applied.borrow().clone()
    }

    /// Waits until all that is before these positions is applied. For a last position, statements must not write to the sources, but the
    /// engine must be able to read their tables: LOCK TABLES … READ and FLUSH TABLES … WITH READ LOCK let it; LOCK TABLES … WRITE, and a
    /// definition that waits for a table, do not.
    ///
    /// # Errors
    /// [`Trouble::Late`] if that takes longer than `bound`; why the move has ended.
    pub async fn catch_up(&self, to: &Positions, bound: Duration) -> Result<(), MoveError> {
        let mut applied = self.shared.applied.subscribe();
        let mariadb = |shard: &ShardId| self.facts.get(shard).is_some_and(|facts| facts.mariadb);
        let reached = applied.wait_for(|all| {
            to.iter().all(|(shard, wanted)| all.get(shard).is_none_or(|at| at.reaches(wanted, mariadb(shard))))
        });
        match self.unless_failed(tokio::time::timeout(bound, reached)).await? {
            Ok(_) => Ok(()),
            Err(_) => Err(MoveError::new(
                Trouble::Late,
                format!(
                    "The changes of the sources were not applied within {bound:?}: try again, or when there are fewer"
                ),
            )),
        }
    }

    /// Compares all copied rows on both sides, while changes go on. Copying should be complete.
    ///
    /// # Errors
    /// When a server can't be asked; why the move has ended. A difference is no error.
    pub async fn verify(&self, settings: VerifySettings) -> Result<Verification, MoveError> {
        self.unless_failed(verify(self, &self.shared, settings)).await?
    }

    /// Stops the move, after the chunk or the changes that it is at. The checkpoint is that of all it has done.
    pub async fn stop(self) -> Checkpoint {
        self.shared.stop.send_replace(true);
        self.failed().await;
        self.checkpoint()
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.running.abort();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_send<T: Send>(_: T) {}

    /// Futures that callers await in tasks of their own. It is enough that this compiles.
    #[expect(dead_code, reason = "what it says is said by its types")]
    fn futures_can_be_spawned(plan: Plan, connector: Arc<dyn Connector>, handle: &Handle, at: &Positions) {
        is_send(Engine::start(plan, connector.clone(), None, Arc::default()));
        is_send(positions(&*connector, &[]));
        is_send(handle.positions());
        is_send(handle.catch_up(at, Duration::ZERO));
        is_send(handle.verify(VerifySettings::default()));
        is_send(handle.wait_until_copied());
    }
}
