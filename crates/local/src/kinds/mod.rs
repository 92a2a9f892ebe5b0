//! Making groups of each kind of real servers, and starting their servers again.
//!
//! What always holds: a group is started anew only while none of its members is in operation, and from the one that has the most; who takes writes
//! is decided by the group, or by Weir, once the cluster has been made.

mod following;
mod galera;
mod group_replication;

use std::time::Duration;

use crate::cluster::Group;
use crate::replication::wait_caught_up;
use crate::wait::{Cancel, wait_until};
use crate::{Installation, Kind, LocalError, PortChoice, Progress, Server, replicate};

/// Option lines for each server of a new group, in addition to the cluster's own.
///
/// # Errors
/// No free ports for what the servers say to each other.
pub(crate) fn options(
    kind: Kind,
    installation: &Installation,
    names: &[String],
    ports: PortChoice,
) -> Result<Vec<Vec<String>>, LocalError> {
    match kind {
        Kind::Static | Kind::Async => Ok(vec![Vec::new(); names.len()]),
        Kind::SemiSync => Ok(vec![following::semi_sync_options(installation.flavor()); names.len()]),
        Kind::GroupReplication => group_replication::options(names.len(), ports),
        Kind::Galera => galera::options(names, ports),
    }
}

/// Prepares the start of a new server: the first one of its group, or a further one.
///
/// # Errors
/// Of the file system.
pub(crate) fn before_first_start(kind: Kind, server: &mut Server, is_first: bool) -> Result<(), LocalError> {
    match kind {
        Kind::Galera => galera::before_first_start(server, is_first),
        Kind::Static | Kind::Async | Kind::SemiSync | Kind::GroupReplication => Ok(()),
    }
}

/// Whether a server needs the one before it to be ready when it starts.
pub(crate) fn starts_in_turn(kind: Kind) -> bool {
    kind == Kind::Galera
}

/// Makes a group of new servers, all of which answer.
///
/// # Errors
/// What a server refuses, or does not do within its bound.
pub(crate) fn assemble(
    kind: Kind,
    group: &Group,
    cancel: &Cancel,
    progress: &mut dyn Progress,
) -> Result<(), LocalError> {
    match kind {
        Kind::Static | Kind::Async | Kind::SemiSync => {
            for replica in &group.replicas {
                cancel.check()?;
                progress.step(&format!("Connecting {} to {}", replica.name(), group.writer.name()));
                replicate(&group.writer, replica)?;
                progress.done("");
            }
            match kind {
                Kind::SemiSync => following::wait_for_acknowledgements(group, cancel, progress),
                _ => Ok(()),
            }
        }
        Kind::GroupReplication => group_replication::assemble(group, cancel, progress),
        Kind::Galera => Ok(()),
    }
}

/// Waits until all servers have what the first one has, and sees to it that later starts leave the roles to Weir.
///
/// # Errors
/// When one does not catch up within `bound`.
pub(crate) fn settle(kind: Kind, group: &Group, bound: Duration, cancel: &Cancel) -> Result<(), LocalError> {
    match kind {
        Kind::Static => group.replicas.iter().try_for_each(|one| wait_caught_up(&group.writer, one, bound, cancel)),
        Kind::Async | Kind::SemiSync => {
            group.replicas.iter().try_for_each(|one| wait_caught_up(&group.writer, one, bound, cancel))?;
            // Whoever was the writer before comes back read-only, and Weir knows who is it now.
            group.writer.start_read_only()
        }
        Kind::GroupReplication => group_replication::settle(group, bound, cancel),
        Kind::Galera => group.replicas.iter().try_for_each(galera::settle),
    }
}

/// Prepares the start of servers that were members before; none of them runs. Tells the turns in which they start: each waits for those before.
///
/// # Errors
/// When they can't be started as things are.
pub(crate) fn before_start(kind: Kind, group: &mut Group, asleep: &[usize]) -> Result<Vec<Vec<usize>>, LocalError> {
    match kind {
        Kind::Galera if !asleep.is_empty() => galera::before_start(group, asleep),
        _ => Ok(vec![asleep.to_vec()]),
    }
}

/// Has servers that were started take their part in the group again. All of them answer.
///
/// # Errors
/// When one does not within its bound.
pub(crate) fn after_start(
    kind: Kind,
    group: &Group,
    started: &[usize],
    cancel: &Cancel,
    progress: &mut dyn Progress,
) -> Result<(), LocalError> {
    match kind {
        Kind::Static => following::go_on(group, cancel, progress),
        Kind::GroupReplication => group_replication::go_on(group, started, cancel, progress),
        // Servers go on following by themselves; nodes have joined when they answer.
        Kind::Async | Kind::SemiSync | Kind::Galera => Ok(()),
    }
}

/// What a server is to its group now, in the words of its kind; `None` if that is not known.
pub(crate) fn role(kind: Kind, server: &Server, bound: Duration) -> Option<String> {
    let value = |sql: &str| -> Option<String> {
        use mysql::prelude::Queryable;
        server.admin_within(bound).ok()?.query_first(sql).ok()?
    };
    match kind {
        Kind::Static => None,
        Kind::Async | Kind::SemiSync => value("SELECT IF(@@GLOBAL.read_only, 'replica', 'writer')"),
        Kind::GroupReplication => value(group_replication::ROLE),
        Kind::Galera => value(galera::ROLE),
    }
}

/// Waits until `holds`, or fails with what the group lacks.
fn wait_or_fail(
    group: &str,
    bound: Duration,
    cancel: &Cancel,
    what: &str,
    mut holds: impl FnMut() -> Result<bool, LocalError>,
) -> Result<(), LocalError> {
    let held = wait_until(bound, cancel, || Ok(holds()?.then_some(())))?;
    let reason = || format!("{what}: not so within {} s", bound.as_secs());
    held.ok_or_else(|| LocalError::NoGroup { group: group.to_owned(), reason: reason() })
}
