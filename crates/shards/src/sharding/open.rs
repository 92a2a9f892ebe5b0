//! The start: from a configuration's groups and a store to a [`Sharding`].
//!
//! What must always hold: a catalog that was lost is never taken for one that was not begun. A new catalog is begun only when every
//! shard has said that it has no copy of another one, and an old one goes on only if no shard has a newer copy.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use arc_swap::ArcSwap;
use tokio::runtime::Handle;
use tokio::time::Instant;
use weir_backend::Replaceable;
use weir_backend::monitor::MonitorSettings;
use weir_catalog::{Catalog, Membership, ShardId};
use weir_meta::{Document, Embedded, Follower, Store, StoreError};
use weir_topology::Group;

use super::{Holding, ShardState, Sharding, put};
use crate::copies;
use crate::own::Own;
use crate::schema::{self, SchemaError, Server};
use crate::sequence::Sequences;

/// Pause between two attempts to ask a shard.
const AGAIN: Duration = Duration::from_millis(250);

/// Where the catalog is, and how long is waited for shards.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The store's file.
    pub path: PathBuf,
    /// How long a new catalog waits for all shards to be there.
    pub patience: Duration,
}

/// Why there is no [`Sharding`].
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A shard's schema.
    #[error(transparent)]
    Schema(#[from] SchemaError),
    /// The configuration has other shards than the catalog.
    #[error(
        "the catalog {} knows the shards {}, but the configuration has the groups {}: {why}. Groups keep their names and their \
         order; new ones are added at the end", path.display(), known.join(", "), configured.join(", ")
    )]
    OtherShards {
        /// The store's file.
        path: PathBuf,
        /// The catalog's shards.
        known: Vec<String>,
        /// The configuration's groups.
        configured: Vec<String>,
        /// What is wrong.
        why: String,
    },
    /// A shard has a newer copy than the store.
    #[error(
        "the catalog {} has {}, and shard '{shard}' has a copy of version {copy}: this file is not the catalog of these shards. \
         If it was lost or is an old one, move it away and run `weir catalog rebuild --config FILE`",
        path.display(), if *version == 0 { "just been made".to_owned() } else { format!("version {version}") }
    )]
    Lost {
        /// The store's file.
        path: PathBuf,
        /// The store's version.
        version: u64,
        /// The shard.
        shard: String,
        /// Its copy's version.
        copy: u64,
    },
    /// A new catalog can't be begun.
    #[error(
        "there is no catalog at {} yet, and it can't be created before every shard has been asked for copies of one: {reason}",
        path.display()
    )]
    NotAsked {
        /// The store's file.
        path: PathBuf,
        /// What is wrong.
        reason: SchemaError,
    },
    /// Servers that can't be one database.
    #[error(
        "shard '{one}' has lower_case_table_names = 0 and shard '{other}' does not: names would have different meanings. Set it to the \
         same value on all servers"
    )]
    FoldCase {
        /// A shard.
        one: String,
        /// Another one.
        other: String,
    },
}

/// What a shard said at the start.
struct Asked {
    server: Server,
    copy: u64,
}

impl Sharding {
    /// Opens the store, asks the shards, and begins a new catalog if there is none anywhere. `control` runs what is done behind; this
    /// future too runs there.
    ///
    /// # Errors
    /// When the store can't be used, is not that of these shards, or Weir's own account lacks rights.
    pub async fn open(
        settings: Settings,
        groups: Vec<Arc<Group>>,
        account: Replaceable<MonitorSettings>,
        control: Handle,
    ) -> Result<Arc<Sharding>, OpenError> {
        let store = Arc::new(Embedded::open(&settings.path)?);
        let own = Own::new(groups, account, control);
        let found = store.newest()?.map(|document| catalog(&settings.path, &document)).transpose()?;
        let mut states = vec![ShardState::default(); own.groups().len()];
        let catalog = match found {
            Some(catalog) => go_on(&settings, &own, catalog, &*store, &mut states).await?,
            None => begin(&settings, &own, &*store, &mut states).await?,
        };
        Ok(Self::assemble(settings, own, catalog, Holding::Writes(store), states))
    }

    /// Opens the store of a process that this one takes over from, to read. [`Sharding::take_over`] follows.
    ///
    /// # Errors
    /// When the store can't be read, or is not that of these shards.
    pub fn follow(
        settings: Settings,
        groups: Vec<Arc<Group>>,
        account: Replaceable<MonitorSettings>,
        control: Handle,
    ) -> Result<Arc<Sharding>, OpenError> {
        let follower = Arc::new(Follower::open(&settings.path)?);
        let own = Own::new(groups, account, control);
        let catalog = match follower.newest()? {
            Some(document) => catalog(&settings.path, &document)?,
            None => return Err(StoreError::Missing { path: settings.path }.into()),
        };
        if membership(&settings.path, &catalog, &names(&own))? == Membership::Removed {
            let why = "a shard is removed by a restart, not by a takeover".to_owned();
            return Err(other_shards(&settings.path, &catalog, &names(&own), why));
        }
        let states = vec![ShardState::default(); own.groups().len()];
        Ok(Self::assemble(settings, own, catalog, Holding::Follows(follower), states))
    }

    fn assemble(
        settings: Settings,
        own: Own,
        catalog: Catalog,
        holding: Holding,
        states: Vec<ShardState>,
    ) -> Arc<Sharding> {
        let sharding = Arc::new(Sharding {
            definitions: crate::Locks::default(),
            sequences: Sequences::new(own.clone()),
            gate: crate::Gate::default(),
            own,
            catalog: ArcSwap::from_pointee(catalog),
            weights: ArcSwap::default(),
            settings,
            holding: Mutex::new(holding),
            changing: tokio::sync::Mutex::default(),
            chains: states.iter().map(|_| tokio::sync::Mutex::default()).collect(),
            shards: states.into_iter().map(Mutex::new).collect(),
        });
        sharding.keep();
        sharding
    }
}

fn names(own: &Own) -> Vec<String> {
    own.groups().iter().map(|group| group.settings().name.clone()).collect()
}

pub(super) fn catalog(path: &Path, document: &Document) -> Result<Catalog, StoreError> {
    document.catalog().map_err(|source| StoreError::Document { path: path.to_owned(), source })
}

/// How the configuration's groups differ from the catalog's shards.
fn membership(path: &Path, catalog: &Catalog, configured: &[String]) -> Result<Membership, OpenError> {
    catalog.membership(configured).map_err(|why| other_shards(path, catalog, configured, why))
}

fn other_shards(path: &Path, catalog: &Catalog, configured: &[String], why: String) -> OpenError {
    let (known, configured) = (catalog.shards.clone(), configured.to_vec());
    OpenError::OtherShards { path: path.to_owned(), known, configured, why }
}

/// A catalog that is there already.
async fn go_on(
    settings: &Settings,
    own: &Own,
    mut catalog: Catalog,
    store: &dyn Store,
    states: &mut [ShardState],
) -> Result<Catalog, OpenError> {
    let membership = membership(&settings.path, &catalog, &names(own))?;
    let mut asked = Vec::new();
    for (shard, answer) in ask_all(own).await {
        match answer {
            Ok(answer) => asked.push((shard, answer)),
            Err(error @ SchemaError::Rights { .. }) => return Err(error.into()),
            // One that is not there now gets its schema and copies when it is.
            Err(error) => tracing::warn!(%error, "the shard can't be asked now"),
        }
    }
    check_copies(&settings.path, own, catalog.version, &asked)?;
    note(&asked, states);
    // One without any copy may have been emptied while Weir was away: the keeper looks at it before it is called ready.
    for state in states.iter_mut().filter(|state| state.copied == 0) {
        state.ready = false;
    }
    if membership != Membership::Same {
        let expected = catalog.version;
        catalog.set_shards(names(own));
        catalog.version += 1;
        store_version(&settings.path, store, expected, &catalog)?;
        tracing::info!(shards = ?catalog.shards, ?membership, "the shards are others");
    }
    Ok(catalog)
}

/// The first version of a catalog.
async fn begin(
    settings: &Settings,
    own: &Own,
    store: &dyn Store,
    states: &mut [ShardState],
) -> Result<Catalog, OpenError> {
    let deadline = Instant::now() + settings.patience;
    let asked = loop {
        let (mut asked, mut missing) = (Vec::new(), None);
        for (shard, answer) in ask_all(own).await {
            match answer {
                Ok(answer) => asked.push((shard, answer)),
                Err(error @ SchemaError::Rights { .. }) => return Err(error.into()),
                Err(error) => missing = Some(error),
            }
        }
        match missing {
            None => break asked,
            Some(reason) if Instant::now() >= deadline => {
                return Err(OpenError::NotAsked { path: settings.path.clone(), reason });
            }
            Some(_) => tokio::time::sleep(AGAIN).await,
        }
    };
    check_copies(&settings.path, own, 0, &asked)?;
    let fold_case = check_fold_case(own, &asked)?;
    note(&asked, states);
    let catalog = Catalog { version: 1, shards: names(own), fold_case, ..Catalog::default() };
    store_version(&settings.path, store, 0, &catalog)?;
    Ok(catalog)
}

fn store_version(path: &Path, store: &dyn Store, expected: u64, catalog: &Catalog) -> Result<(), StoreError> {
    let unreadable = |source| StoreError::Document { path: path.to_owned(), source };
    put(store, expected, &Document::of(catalog).map_err(unreadable)?)
}

fn check_copies(path: &Path, own: &Own, version: u64, asked: &[(ShardId, Asked)]) -> Result<(), OpenError> {
    match asked.iter().max_by_key(|(_, answer)| answer.copy) {
        Some((shard, answer)) if answer.copy > version => Err(OpenError::Lost {
            path: path.to_owned(),
            version,
            shard: names(own)[usize::from(shard.0)].clone(),
            copy: answer.copy,
        }),
        _ => Ok(()),
    }
}

fn check_fold_case(own: &Own, asked: &[(ShardId, Asked)]) -> Result<bool, OpenError> {
    let of = |fold: bool| asked.iter().find(|(_, answer)| answer.server.fold_case == fold);
    match (of(false), of(true)) {
        (Some((one, _)), Some((other, _))) => {
            let name = |shard: &ShardId| names(own)[usize::from(shard.0)].clone();
            Err(OpenError::FoldCase { one: name(one), other: name(other) })
        }
        (None, Some(_)) => Ok(true),
        _ => Ok(false),
    }
}

fn note(asked: &[(ShardId, Asked)], states: &mut [ShardState]) {
    for (shard, answer) in asked {
        states[usize::from(shard.0)] = ShardState { ready: true, copied: answer.copy, trouble: None };
    }
}

/// Sees to each shard's schema, and asks for its newest copy; all at the same time.
async fn ask_all(own: &Own) -> Vec<(ShardId, Result<Asked, SchemaError>)> {
    let begun: Vec<_> = own
        .shards()
        .map(|shard| {
            let own = own.clone();
            (shard, tokio::spawn(async move { ask(&own, shard).await }))
        })
        .collect();
    let mut answers = Vec::with_capacity(begun.len());
    for (shard, answer) in begun {
        let panicked = |error: tokio::task::JoinError| {
            let name = names(own)[usize::from(shard.0)].clone();
            Err(SchemaError::Failed { shard: name, failure: super::not_stored(&error) })
        };
        answers.push((shard, answer.await.unwrap_or_else(panicked)));
    }
    answers
}

impl Sharding {
    /// After a takeover from a process with fewer groups: adds the others, as soon as they can be asked whether they may be added. To be called
    /// when that process has ended, which could not reach them.
    pub fn add_configured(self: &Arc<Self>) {
        let sharding = Arc::downgrade(self);
        self.own.behind(async move { add_configured(sharding).await });
    }
}

async fn add_configured(sharding: Weak<Sharding>) {
    let mut told = None;
    while let Some(sharding) = sharding.upgrade() {
        let (known, configured) = (sharding.catalog().shards.len(), names(&sharding.own));
        if known >= configured.len() {
            return;
        }
        if let Err(error) = add(&sharding, known, configured).await
            && told.as_ref() != Some(&error)
        {
            tracing::error!(error, "shards can't be added yet");
            told = Some(error);
        }
        drop(sharding);
        tokio::time::sleep(AGAIN).await;
    }
}

async fn add(sharding: &Arc<Sharding>, known: usize, configured: Vec<String>) -> Result<(), String> {
    may_be_added(sharding, known).await.map_err(|error| error.to_string())?;
    let changed = sharding.change(move |now| {
        let mut next = now.clone();
        next.set_shards(configured);
        Ok(next)
    });
    let catalog = changed.await.map_err(|failure| failure.to_string())?;
    tracing::info!(shards = ?catalog.shards, "shards were added");
    Ok(())
}

/// Whether the shards from this number on belong to no other catalog.
async fn may_be_added(sharding: &Sharding, known: usize) -> Result<(), OpenError> {
    let version = sharding.catalog().version;
    let mut asked = Vec::new();
    for shard in sharding.own.shards().skip(known) {
        asked.push((shard, ask(&sharding.own, shard).await?));
    }
    check_copies(&sharding.settings.path, &sharding.own, version, &asked)
}

async fn ask(own: &Own, shard: ShardId) -> Result<Asked, SchemaError> {
    let server = schema::ensure(own, shard).await?;
    let name = || names(own)[usize::from(shard.0)].clone();
    let copy = copies::newest(own, shard).await.map_err(|failure| SchemaError::Failed { shard: name(), failure })?;
    Ok(Asked { server, copy })
}
