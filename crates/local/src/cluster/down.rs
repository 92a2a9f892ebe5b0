//! Ending a cluster's processes by its state file, and wiping its directory.

use std::fs;
use std::path::Path;
use std::time::Duration;

use super::state::{self, ClusterState, Phase, ServerState};
use super::{Cluster, FRONT_STOP_BOUND, existing_dir, lock_dir};
use crate::layout::{ServerFiles, remove_if_there, remove_short_socket_dir};
use crate::process::{CommandMark, Process};
use crate::template::remove_dir_if_there;
use crate::{LocalError, Progress, short_socket_path};

const SERVER_STOP_BOUND: Duration = Duration::from_secs(60);

impl Cluster {
    /// Stops Weir, then the replicas, then the writers; data is kept. What does not run is no error. Tells how many
    /// processes there were to stop.
    ///
    /// A directory whose making was never completed is left as it is, but for its processes.
    pub fn down(dir: &Path, progress: &mut dyn Progress) -> Result<usize, LocalError> {
        let dir = existing_dir(dir)?;
        ClusterState::load(&dir)?; // before a lock file is made in somebody's directory
        let _lock = lock_dir(&dir)?;
        let mut state = ClusterState::load(&dir)?;
        let stopped = end_processes(&dir, &state, progress)?;
        for server in state.groups.iter_mut().flat_map(state::GroupState::servers_mut) {
            server.process = None;
        }
        if let Some(front) = &mut state.weir {
            front.process = None;
        }
        state.save(&dir)?;
        Ok(stopped)
    }

    /// Stops the cluster at once and removes its data and all else that Weir put into the directory; the directory too,
    /// if it is empty then.
    pub fn wipe(dir: &Path, progress: &mut dyn Progress) -> Result<(), LocalError> {
        let dir = existing_dir(dir)?;
        ClusterState::load(&dir)?;
        let _lock = lock_dir(&dir)?;
        let state = ClusterState::load(&dir)?;
        progress.step("Removing the cluster");
        kill_processes(&dir, &state)?;
        wipe_contents(&dir, &state)?;
        let _has_other_files = fs::remove_dir(&dir);
        progress.done("");
        Ok(())
    }

    /// Whether a cluster was ever completed in this directory; `None` if Weir has made nothing there.
    pub fn phase(dir: &Path) -> Result<Option<Phase>, LocalError> {
        Ok(ClusterState::load_if_any(dir)?.map(|state| state.phase))
    }
}

/// How a server of this state is recognised. Not by way of an `Installation`, which needs a program that still runs.
fn server_mark(dir: &Path, state: &ClusterState, server: &ServerState) -> Result<CommandMark, LocalError> {
    let files = ServerFiles::new(dir, &server.name)?;
    Ok(files.mark_of_program(&state.binary))
}

/// Ends all processes gracefully: Weir, replicas, writers. Tells how many there were.
pub(super) fn end_processes(
    dir: &Path,
    state: &ClusterState,
    progress: &mut dyn Progress,
) -> Result<usize, LocalError> {
    let find = |server: &ServerState| -> Result<Option<(String, Process)>, LocalError> {
        let process = Process::find(&server.name, server.process, &server_mark(dir, state, server)?);
        Ok(process.map(|process| (server.name.clone(), process)))
    };
    end_copies(dir, state)?;
    let mut stopped = 0;
    let front = state.find_front().map(|process| ("Weir".to_owned(), process));
    stopped += end_together(front.into_iter().collect(), FRONT_STOP_BOUND, progress)?;
    for of_role in [replicas as fn(&ClusterState) -> Vec<&ServerState>, writers] {
        let found: Result<Vec<_>, _> =
            of_role(state).into_iter().filter_map(|server| find(server).transpose()).collect();
        stopped += end_together(found?, SERVER_STOP_BOUND, progress)?;
    }
    remove_socket_dirs(dir, state)?;
    Ok(stopped)
}

fn replicas(state: &ClusterState) -> Vec<&ServerState> {
    state.groups.iter().flat_map(|group| &group.replicas).collect()
}

fn writers(state: &ClusterState) -> Vec<&ServerState> {
    state.groups.iter().map(|group| &group.writer).collect()
}

fn end_together(
    processes: Vec<(String, Process)>,
    bound: Duration,
    progress: &mut dyn Progress,
) -> Result<usize, LocalError> {
    processes.iter().for_each(|(_, process)| process.request_stop());
    let count = processes.len();
    for (name, process) in processes {
        progress.step(&format!("Stopping {name}"));
        process.stop(bound)?;
        progress.done("");
    }
    Ok(count)
}

/// Ends all processes with SIGKILL.
pub(super) fn kill_processes(dir: &Path, state: &ClusterState) -> Result<(), LocalError> {
    end_copies(dir, state)?;
    let mut found: Vec<Process> = state.find_front().into_iter().collect();
    for server in state.servers() {
        found.extend(Process::find(&server.name, server.process, &server_mark(dir, state, server)?));
    }
    found.into_iter().try_for_each(Process::kill)?;
    remove_socket_dirs(dir, state)
}

/// Ends the copying of data directories that a killed command began, so that nothing is written behind our back.
fn end_copies(dir: &Path, state: &ClusterState) -> Result<(), LocalError> {
    for server in state.servers() {
        let mark = ServerFiles::new(dir, &server.name)?.copy_mark();
        Process::find("cp", None, &mark).map_or(Ok(()), Process::kill)?;
    }
    Ok(())
}

fn remove_socket_dirs(dir: &Path, state: &ClusterState) -> Result<(), LocalError> {
    for server in state.servers() {
        ServerFiles::new(dir, &server.name)?.remove_socket_dir();
    }
    remove_short_socket_dir(dir, &short_socket_path(dir, state::FRONT_SOCKET));
    Ok(())
}

/// Removes what Weir made in the directory, the state file last, so that an interrupted wipe can be repeated. No
/// process may run any more.
pub(super) fn wipe_contents(dir: &Path, state: &ClusterState) -> Result<(), LocalError> {
    for server in state.servers() {
        remove_dir_if_there(ServerFiles::new(dir, &server.name)?.dir())?;
    }
    remove_dir_if_there(&dir.join(state::FRONT_CATALOG))?;
    let of_front = [state::CONFIG_FILE, state::LOG_FILE, state::FRONT_SOCKET, state::FRONT_TAKEOVER];
    let files = of_front.iter().chain(&[state::LOCK_FILE, state::STATE_FILE]);
    files.into_iter().try_for_each(|file| remove_if_there(&dir.join(file)))
}
