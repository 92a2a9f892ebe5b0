//! Background work: copies for shards that come back, and the change from following a store to writing it, and back.
//!
//! What must always hold: it ends with the [`Sharding`]; a process that follows sees each version soon after it was stored.

use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::time::Instant;
use weir_catalog::ShardId;
use weir_meta::{Document, Embedded, Follower, Store, StoreError};

use super::{Holding, ShardState, Sharding, open};
use crate::{copies, inspect, schema};

/// Pause between two looks at a shard that lacks something.
const RETRY: Duration = Duration::from_secs(1);
/// Pause between two looks at what a shard that lacks nothing has.
const LOOK: Duration = Duration::from_secs(2);
/// Pause between two looks at a store that another process writes.
const FOLLOW: Duration = Duration::from_millis(20);
/// How long a process that takes over waits for the store.
const HANDED_OVER_WITHIN: Duration = Duration::from_secs(10);

impl Sharding {
    /// Starts the background work.
    pub(super) fn keep(self: &Arc<Self>) {
        for shard in self.own.shards() {
            let sharding = Arc::downgrade(self);
            self.own.behind(async move { keep_shard(sharding, shard).await });
        }
        let sharding = Arc::downgrade(self);
        self.own.behind(async move { follow(sharding).await });
    }

    /// Makes a shard have what it lacks.
    async fn complete(&self, shard: ShardId) {
        let Holding::Writes(store) = self.holding() else { return };
        let state = self.shard(shard);
        if usize::from(shard.0) >= self.catalog().shards.len() {
            // It may be another catalog's: see `open::add_configured`.
            return;
        }
        if !state.ready {
            // A server without the data is not to look as if it were a shard.
            match self.emptied(shard).await {
                Ok(None) => {}
                Ok(Some(why)) | Err(why) => return self.with_shard(shard, |state| state.trouble = Some(why)),
            }
            match schema::ensure(&self.own, shard).await {
                Ok(_) => self.with_shard(shard, |state| (state.ready, state.trouble) = (true, None)),
                Err(error) => return self.with_shard(shard, |state| state.trouble = Some(error.to_string())),
            }
        }
        let newest = super::blocking(move || store.newest()).await;
        if let Ok(Some(document)) = newest
            && (document.version > state.copied || state.trouble.is_some())
        {
            self.copy(shard, &document).await;
        }
    }

    /// What a shard lacks of the databases that the catalog has on it, if it has no copy of the catalog either.
    async fn emptied(&self, shard: ShardId) -> Result<Option<String>, String> {
        let copies = copies::last(&self.own, shard).await.map_err(|failure| failure.to_string())?;
        let catalog = self.catalog_now();
        let mut missing = Vec::new();
        for (name, _) in
            catalog.databases.iter().filter(|(_, database)| copies == 0 && database.shards.contains(&shard))
        {
            let found = inspect::database(&self.own, shard, name).await.map_err(|failure| failure.to_string())?;
            if found.is_none() {
                missing.push(name.as_str());
            }
        }
        Ok((!missing.is_empty()).then(|| {
            format!(
                "it was emptied, or is another server: it has neither the schema weir nor the databases {}. Restore it, or DROP the databases",
                missing.join(", ")
            )
        }))
    }

    /// Sees whether a shard still has what it had.
    async fn look(&self, shard: ShardId) {
        let Holding::Writes(_) = self.holding() else { return };
        let had = self.shard(shard).copied;
        let Ok(has) = copies::last(&self.own, shard).await else { return };
        if has >= had {
            return;
        }
        let why = format!(
            "its newest copy of the catalog is version {has}, and was {had}: it was emptied, or restored from a backup"
        );
        tracing::error!(shard = shard.0, has, had, "the shard has lost copies of the catalog");
        *self.chains[usize::from(shard.0)].lock().await = None;
        self.with_shard(shard, |state| *state = ShardState { ready: false, copied: has, trouble: Some(why) });
    }

    /// The predecessor has let go of the store: this process writes it from now on.
    ///
    /// # Errors
    /// When the store does not become free in time, or can't be used.
    pub async fn take_over(&self) -> Result<(), StoreError> {
        let deadline = Instant::now() + HANDED_OVER_WITHIN;
        let path = self.settings.path.clone();
        let store = loop {
            match Embedded::open(&path) {
                Err(StoreError::InUse { .. }) if Instant::now() < deadline => tokio::time::sleep(FOLLOW).await,
                outcome => break outcome?,
            }
        };
        let _one_at_a_time = self.changing.lock().await;
        if let Some(document) = store.newest()? {
            self.publish(&document)?;
        }
        self.hold(Holding::Writes(Arc::new(store)));
        Ok(())
    }

    /// Another process takes over: lets go of the store, and follows what that one does.
    ///
    /// # Errors
    /// When the store can't be read any more. It was let go of all the same.
    pub async fn hand_over(&self) -> Result<(), StoreError> {
        let _one_at_a_time = self.changing.lock().await;
        if let Holding::Writes(_) = self.holding() {
            // Opened before the other process writes, so that nothing is missed.
            let follower = Follower::open(&self.settings.path)?;
            self.hold(Holding::Follows(Arc::new(follower)));
        }
        Ok(())
    }

    fn publish(&self, document: &Document) -> Result<(), StoreError> {
        if document.version > self.catalog.load().version {
            self.catalog.store(Arc::new(open::catalog(&self.settings.path, document)?));
            self.note_definition();
        }
        Ok(())
    }
}

async fn keep_shard(sharding: Weak<Sharding>, shard: ShardId) {
    let mut looked = Instant::now();
    while let Some(sharding) = sharding.upgrade() {
        if sharding.shard(shard).ready && looked.elapsed() >= LOOK {
            sharding.look(shard).await;
            looked = Instant::now();
        }
        let state = sharding.shard(shard);
        if !state.ready || state.trouble.is_some() || state.copied < sharding.catalog().version {
            sharding.complete(shard).await;
        }
        drop(sharding);
        tokio::time::sleep(RETRY).await;
    }
}

async fn follow(sharding: Weak<Sharding>) {
    // Told once, not with every look.
    let mut trouble = None;
    while let Some(sharding) = sharding.upgrade() {
        let pause = match sharding.holding() {
            Holding::Writes(store) => {
                let kept = super::blocking(move || store.keep()).await.err().map(|failure| failure.message);
                if kept != trouble {
                    match &kept {
                        Some(error) => tracing::error!(%error, "the catalog's file is not as it should be"),
                        None => tracing::info!("the catalog's file is as it should be again"),
                    }
                    trouble = kept;
                }
                RETRY
            }
            Holding::Follows(follower) => {
                let looked = follower.newest().and_then(|newest| match newest {
                    Some(document) => sharding.publish(&document),
                    None => Ok(()),
                });
                if let Err(error) = looked {
                    tracing::error!(%error, "the catalog can't be followed");
                }
                FOLLOW
            }
        };
        drop(sharding);
        tokio::time::sleep(pause).await;
    }
}
