//! What everything shares that concerns several shards: the catalog, where it is kept, and Weir's own ways to the shards.
//!
//! What must always hold: a snapshot of the catalog is in the store before anybody plans with it; versions are published in order; a
//! shard that was not there when a version was made gets its copy when it comes back. Changes run on the control runtime and are carried
//! out even if the session that wanted them is gone.

mod keeper;
mod open;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arc_swap::{ArcSwap, Guard};
use weir_catalog::collation::{MOST_CHARS, learn_query, learnt};
use weir_catalog::{Catalog, CollationWeights, ShardId, Weights};
use weir_meta::{Chain, Document, Follower, Store, StoreError, Writer};
use weir_topology::Group;
use weir_wire::Failure;
use weir_wire::error::codes;

use crate::copies;
use crate::own::Own;
use crate::sequence::Sequences;
pub use open::{OpenError, Settings};
use weir_wire::error::not_supported;

/// The longest that a change waits for the copies in the shards. A shard that takes longer gets its copy later.
const COPIES_WITHIN: Duration = Duration::from_secs(2);

/// See the module. One for a process that has several shards.
#[derive(Debug)]
pub struct Sharding {
    /// Weir's own connections to the shards.
    pub own: Own,
    /// Who defines what.
    pub definitions: crate::Locks,
    /// The AUTO_INCREMENT values of sharded tables.
    pub sequences: Sequences,
    /// Who may use tables that move.
    pub gate: crate::Gate,
    catalog: ArcSwap<Catalog>,
    weights: ArcSwap<Weights>,
    settings: Settings,
    holding: Mutex<Holding>,
    changing: tokio::sync::Mutex<Writer>,
    shards: Vec<Mutex<ShardState>>,
    /// What was copied to each shard last; held while it is written to.
    chains: Vec<tokio::sync::Mutex<Option<Chain>>>,
}

/// How this process has the store.
#[derive(Debug, Clone)]
enum Holding {
    /// It writes it.
    Writes(Arc<dyn Store>),
    /// Another process of this Weir writes it: the one that it takes over from, or that has taken over.
    Follows(Arc<Follower>),
}

/// What is known of a shard's schema and copies.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ShardState {
    /// The schema `weir` is there.
    pub ready: bool,
    /// The newest version that was copied there.
    pub copied: u64,
    /// Why it has no newer one.
    pub trouble: Option<String>,
}

impl Sharding {
    /// The shards: a group of servers each, in the order of their ids.
    pub fn groups(&self) -> &[Arc<Group>] {
        self.own.groups()
    }

    /// A shard's group.
    pub fn group(&self, shard: ShardId) -> &Arc<Group> {
        &self.groups()[usize::from(shard.0)]
    }

    /// The catalog as it is now. For as long as the guard lives it is this one: a statement is planned and run with one snapshot.
    pub fn catalog(&self) -> Guard<Arc<Catalog>> {
        self.catalog.load()
    }

    /// The same, to be kept.
    pub fn catalog_now(&self) -> Arc<Catalog> {
        self.catalog.load_full()
    }

    /// The collation weights that are known.
    pub fn weights(&self) -> Guard<Arc<Weights>> {
        self.weights.load()
    }

    /// Adds what was learned of a collation. What is known already stays unchanged.
    pub fn learnt(&self, collation: &str, more: &CollationWeights) {
        self.weights.rcu(|known| known.with(collation, more.clone()));
    }

    /// Asks a server for the weights of these characters, and keeps them.
    ///
    /// # Errors
    /// That it can't be asked; 1235 if it tells no weights of the collation.
    pub async fn learn(&self, collation: &str, chars: &[char]) -> Result<(), Failure> {
        for chars in chars.chunks(MOST_CHARS) {
            let reply = self.own.run(ShardId(0), learn_query(collation, chars)).await?;
            let told = reply.rows.first().and_then(|row| learnt(chars, row));
            let told = told.ok_or_else(|| not_supported(format!("The server returns no weights for {collation}")))?;
            self.learnt(collation, &told);
        }
        Ok(())
    }

    /// Changes the catalog: what `change` makes of the newest one becomes the next version, is stored, copied to the shards that are
    /// there, and then seen by everybody. `change` need not care for the version. One that changes nothing makes no version.
    ///
    /// # Errors
    /// That of `change`; 1290 when another process writes the catalog; 1105 when it can't be stored. The catalog is then as it was.
    pub async fn change<F>(self: &Arc<Self>, change: F) -> Result<Arc<Catalog>, Failure>
    where
        F: FnOnce(&Catalog) -> Result<Catalog, Failure> + Send + 'static,
    {
        let sharding = self.clone();
        self.own.apart(async move { sharding.change_here(change).await }).await
    }

    async fn change_here(
        self: &Arc<Self>,
        change: impl FnOnce(&Catalog) -> Result<Catalog, Failure>,
    ) -> Result<Arc<Catalog>, Failure> {
        let mut writer = self.changing.lock().await;
        let Holding::Writes(store) = self.holding() else { return Err(written_by_another()) };
        let now = self.catalog.load_full();
        let mut next = change(&now)?;
        next.version = now.version;
        if next == *now {
            return Ok(now);
        }
        next.version += 1;
        let document = Arc::new(writer.next(&next).map_err(|e| not_stored(&e))?);
        let (expected, stored) = (now.version, document.clone());
        blocking(move || put(&*store, expected, &stored)).await?;
        self.copy_everywhere(&document).await;
        let next = Arc::new(next);
        self.catalog.store(next.clone());
        self.note_definition();
        tracing::info!(version = next.version, "the catalog has changed");
        Ok(next)
    }

    /// Tables may have become others on any shard.
    fn note_definition(&self) {
        let servers = self.own.groups().iter().flat_map(|group| &group.servers);
        servers.for_each(|server| server.tables.note_definition());
    }

    /// Writes a version to all shards that have the one before, within a bound.
    async fn copy_everywhere(self: &Arc<Self>, document: &Arc<Document>) {
        let begun: Vec<_> = self
            .own
            .shards()
            .filter(|shard| self.shard(*shard).ready && self.shard(*shard).trouble.is_none())
            .map(|shard| {
                let (sharding, document) = (self.clone(), document.clone());
                tokio::spawn(async move { sharding.copy(shard, &document).await })
            })
            .collect();
        let all = async {
            for copy in begun {
                // A task that panicked has told the log; the keeper copies then.
                let _ = copy.await;
            }
        };
        let _ = tokio::time::timeout(COPIES_WITHIN, all).await;
    }

    async fn copy(&self, shard: ShardId, document: &Document) {
        let outcome = {
            let mut chain = self.chains[usize::from(shard.0)].lock().await;
            let known = chain.take();
            copies::write(&self.own, shard, known, document).await.map(|next| *chain = next)
        };
        self.with_shard(shard, |state| match outcome {
            Ok(()) => {
                state.copied = state.copied.max(document.version);
                state.trouble = None;
            }
            Err(failure) => {
                if state.trouble.is_none() {
                    let version = document.version;
                    tracing::warn!(shard = shard.0, version, %failure, "the shard has no copy of the catalog yet");
                }
                state.trouble = Some(failure.to_string());
            }
        });
    }

    /// What is known of a shard's schema and copies.
    pub fn shard(&self, shard: ShardId) -> ShardState {
        self.with_shard(shard, |state| state.clone())
    }

    fn with_shard<T>(&self, shard: ShardId, with: impl FnOnce(&mut ShardState) -> T) -> T {
        with(&mut self.shards[usize::from(shard.0)].lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn holding(&self) -> Holding {
        self.holding.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn hold(&self, holding: Holding) {
        *self.holding.lock().unwrap_or_else(PoisonError::into_inner) = holding;
    }
}

/// Puts a version. After an error the store itself tells whether it has it.
fn put(store: &dyn Store, expected: u64, document: &Document) -> Result<(), StoreError> {
    match store.put(expected, document) {
        Err(error) if !matches!(error, StoreError::Changed { .. } | StoreError::NotNewer { .. }) => {
            match store.newest() {
                Ok(Some(newest)) if newest == *document => Ok(()),
                _ => Err(error),
            }
        }
        outcome => outcome,
    }
}

/// Work that waits for a disk.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, Failure> {
    match tokio::task::spawn_blocking(work).await {
        Ok(outcome) => outcome.map_err(|error| not_stored(&error)),
        Err(error) => Err(not_stored(&error)),
    }
}

fn not_stored(error: &dyn std::fmt::Display) -> Failure {
    Failure::weir(codes::ER_UNKNOWN_ERROR, format!("The catalog can't be changed: {error}"))
}

fn written_by_another() -> Failure {
    let message =
        "Another process of this Weir has taken over, or has not handed over yet: definitions run there. Connect again";
    Failure::weir(codes::ER_OPTION_PREVENTS_STATEMENT, message)
}
