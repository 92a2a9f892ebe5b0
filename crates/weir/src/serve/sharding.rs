//! The catalog in the life of a process: opened before clients are served, handed over in a takeover, closed at the end.
//!
//! What must always hold: of the processes of one Weir, one writes the catalog.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use weir_backend::Replaceable;
use weir_backend::monitor::MonitorSettings;
use weir_moves::Mover;
use weir_shards::Sharding;
use weir_shards::sharding::Settings;
use weir_topology::Group;

use super::ServeError;
use crate::config::CheckedConfig;

/// How long a new catalog waits for all shards to be there.
const PATIENCE: Duration = Duration::from_secs(30);
/// Between two looks whether the old process is gone.
const LOOK: Duration = Duration::from_millis(500);
/// Bound on giving back what is left of sequences at the end.
const CLOSE_WITHIN: Duration = Duration::from_secs(3);

/// The catalog's file.
pub(crate) fn file(config: &CheckedConfig) -> PathBuf {
    config.sharding.directory.join("catalog")
}

/// Opens the catalog, if the configuration has several shards, says where the catalog is, or had it once.
pub(super) fn open(
    config: &CheckedConfig,
    groups: &[Arc<Group>],
    account: &Replaceable<MonitorSettings>,
    control: &tokio::runtime::Runtime,
    takeover: bool,
) -> Result<Option<Arc<Sharding>>, ServeError> {
    let path = file(config);
    if config.groups.len() < 2 && !config.sharding.wanted && !path.exists() {
        return Ok(None);
    }
    let settings = Settings { path, patience: PATIENCE };
    let (groups, account, handle) = (groups.to_vec(), account.clone(), control.handle().clone());
    let sharding = match takeover {
        true => Sharding::follow(settings, groups, account, handle),
        false => control.block_on(Sharding::open(settings, groups, account, handle)),
    };
    sharding.map(Some).map_err(|error| ServeError::Sharding(Box::new(error)))
}

/// This process serves now: it writes the catalog as soon as the old one has let go of it.
pub(super) async fn take_over(sharding: &Arc<Sharding>) {
    let Err(error) = sharding.take_over().await else { return };
    tracing::error!(%error, "the catalog can't be changed yet");
    let sharding = Arc::downgrade(sharding);
    tokio::spawn(async move {
        while let Some(sharding) = sharding.upgrade() {
            match sharding.take_over().await {
                Ok(()) => return tracing::info!("the catalog can be changed now"),
                Err(error) => tracing::error!(%error, "the catalog can't be changed yet"),
            }
        }
    });
}

/// Moves go on in this process. No table changes its place, and no shard is added, while the old one, of this process id, still has sessions.
pub(super) fn take_over_moves(mover: Arc<Mover>, predecessor: u32) {
    mover.set_elsewhere(true);
    mover.start();
    tokio::spawn(async move {
        while is_alive(predecessor) {
            tokio::time::sleep(LOOK).await;
        }
        mover.set_elsewhere(false);
        mover.sharding().add_configured();
    });
}

fn is_alive(process: u32) -> bool {
    let Ok(process) = i32::try_from(process) else { return false };
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(process), None) != Err(nix::errno::Errno::ESRCH)
}

/// Another process serves now.
pub(super) async fn hand_over(sharding: &Sharding) {
    if let Err(error) = sharding.hand_over().await {
        tracing::error!(%error, "the catalog can't be handed over");
    }
}

/// The end: what is left of sequences is given back.
pub(super) async fn close(sharding: &Sharding) {
    if tokio::time::timeout(CLOSE_WITHIN, sharding.sequences.give_back()).await.is_err() {
        tracing::debug!("values of sequences were left unused");
    }
}
