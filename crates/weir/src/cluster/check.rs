//! The checks before anything is started: programs, port, disk space.

use std::path::{Path, PathBuf};

use nix::sys::statvfs::statvfs;
use weir_local::{ClusterState, Flavor, Installation, Kind, LocalError, is_port_free};

use super::{ClusterError, UpArgs};

/// Data directory, redo log and binary logs of a new server, and a margin.
const MIB_PER_SERVER: u64 = 300;
const MIB: u64 = 1 << 20;

/// The servers' program: the one that was asked for, else the one that the cluster has had, else one that is installed and can do what
/// is asked for.
pub(super) fn installation(
    args: &UpArgs,
    kind: Kind,
    existing: Option<&ClusterState>,
) -> Result<Installation, ClusterError> {
    let wanted = args.flavor.map(Flavor::from);
    match (wanted, &args.server) {
        (Some(flavor), hint) => Ok(Installation::find(flavor, hint.as_deref())?),
        (None, Some(hint)) => Ok(Installation::at(hint)?),
        (None, None) => match existing {
            Some(state) => Ok(Installation::at(&state.binary).or_else(|_| Installation::find(state.flavor, None))?),
            None => match kind.flavor() {
                Some(flavor) => Ok(Installation::find(flavor, None)?),
                None => any_installation(),
            },
        },
    }
}

fn any_installation() -> Result<Installation, ClusterError> {
    let no_mariadb = match Installation::find(Flavor::MariaDb, None) {
        Err(error @ LocalError::NotFound { .. }) => error,
        other => return Ok(other?),
    };
    match Installation::find(Flavor::MySql, None) {
        Err(no_mysql @ LocalError::NotFound { .. }) => Err(ClusterError::NoServer(Box::new((no_mariadb, no_mysql)))),
        other => Ok(other?),
    }
}

/// Whether Weir can have its port.
pub(super) fn port(port: u16) -> Result<(), ClusterError> {
    if is_port_free(port) { Ok(()) } else { Err(ClusterError::PortTaken(port)) }
}

/// Whether there is disk space for this many new servers. If that is unknown, starting them will show.
pub(super) fn space(dir: &Path, servers: usize) -> Result<(), ClusterError> {
    let absolute = std::path::absolute(dir).map_err(|error| ClusterError::Io("find the current directory", error))?;
    let Some(existing) = absolute.ancestors().find(|ancestor| ancestor.is_dir()) else { return Ok(()) };
    let Ok(file_system) = statvfs(existing) else { return Ok(()) };
    let free_mib = file_system.blocks_available() * file_system.fragment_size() / MIB;
    let needed_mib = MIB_PER_SERVER * servers as u64;
    if free_mib >= needed_mib {
        return Ok(());
    }
    Err(ClusterError::NoSpace { dir: PathBuf::from(existing), free_mib, needed_mib })
}
