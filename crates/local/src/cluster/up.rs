//! Bringing a cluster up: making it, or waking one that is there.
//!
//! Either the whole cluster is up at the end, or what this call started is stopped again. A cluster that was never
//! complete is begun anew; one that was complete keeps its data, whatever happens.

use std::fs;
use std::path::Path;

use super::state::{ClusterState, GroupState, Phase, ServerState, is_unused, not_a_cluster};
use super::{CATCH_UP_BOUND, Cluster, ClusterSpec, Group, attach_groups, down, lock_dir};
use crate::layout::make_private_dir;
use crate::process::ProcessId;
use crate::replication::{start_replication, wait_running};
use crate::{LocalError, PortChoice, Progress, Server, accounts, replicate, replication_status};

impl Cluster {
    /// Brings a cluster up in `spec.dir`: makes it if there is none, completes it if an earlier command was interrupted,
    /// or starts what does not run of the one that is there (whose accounts stay as they are).
    ///
    /// Errors: [`LocalError::NotACluster`] for a directory with other content, [`LocalError::OtherCluster`] when the
    /// cluster that is there has another kind of server or number of shards or replicas, [`LocalError::Busy`]; and all that
    /// starting can meet. After an error nothing that this call started runs; the directory stays, for its logs. After
    /// [`LocalError::Cancelled`] a directory that this call filled is emptied or removed too.
    pub fn up(spec: &ClusterSpec, progress: &mut dyn Progress) -> Result<Self, LocalError> {
        let made_dir = !spec.dir.exists();
        make_private_dir_keeping_mode(&spec.dir)?;
        let dir = spec.dir.canonicalize().map_err(LocalError::io("resolve", &spec.dir))?;
        let lock = lock_dir_unless_foreign(&dir)?;
        let state = match ClusterState::load_if_any(&dir)? {
            Some(state) if state.phase == Phase::Creating => {
                progress.note("An earlier start was not completed: starting over.");
                down::kill_processes(&dir, &state)?;
                down::wipe_contents(&dir, &state)?;
                None
            }
            found => found,
        };
        let is_new = state.is_none();
        let state = state.unwrap_or_else(|| planned_state(spec));
        let mut cluster = Self { dir, state, groups: Vec::new(), front: None, is_new, made_dir, _lock: Some(lock) };
        let outcome = if is_new { cluster.create(spec, progress) } else { cluster.wake(spec, progress) };
        match outcome {
            Ok(()) => Ok(cluster),
            Err(error) => {
                cluster.abandon(matches!(error, LocalError::Cancelled))?;
                Err(error)
            }
        }
    }

    /// Ends what this value started. With `remove`, a cluster that it made anew leaves nothing behind.
    pub fn abandon(mut self, remove: bool) -> Result<(), LocalError> {
        if !self.is_new {
            drop(self.front.take());
            return Ok(()); // Dropping the rest stops gracefully what this value started, and nothing else.
        }
        // Nobody has used it: there is nothing to end gracefully. By the state file, so that also a process is found
        // whose start was cut short.
        self.front.take().map_or(Ok(()), |mut front| front.kill())?;
        for server in self.groups.iter_mut().flat_map(Group::servers_mut) {
            server.kill()?;
        }
        down::kill_processes(&self.dir, &self.state)?;
        if remove {
            down::wipe_contents(&self.dir, &self.state)?;
            if self.made_dir {
                fs::remove_dir(&self.dir).map_err(LocalError::io("remove", &self.dir))?;
            }
        }
        Ok(())
    }

    fn create(&mut self, spec: &ClusterSpec, progress: &mut dyn Progress) -> Result<(), LocalError> {
        self.state.save(&self.dir)?;
        self.launch_new(spec, progress)?;
        let several = self.groups.len() > 1;
        for group in &self.groups {
            for replica in &group.replicas {
                spec.cancel.check()?;
                progress.step(&format!("Connecting {} to {}", replica.name(), group.writer.name()));
                replicate(&group.writer, replica)?;
                progress.done("");
            }
            spec.cancel.check()?;
            let of_group = if several { format!(" of {}", group.name) } else { String::new() };
            progress.step(&format!("Making accounts and the database{of_group}"));
            accounts::ensure_monitor(&group.writer, &spec.monitor)?;
            accounts::ensure_application(&group.writer, &spec.application, &spec.database)?;
            group.wait_caught_up(CATCH_UP_BOUND, &spec.cancel)?;
            progress.done(&format!("database {}, user {}", spec.database, spec.application.name));
        }
        spec.cancel.check()?;
        self.state.phase = Phase::Ready;
        self.state.save(&self.dir)
    }

    /// Starts the servers of the plan side by side, and waits for all of them.
    fn launch_new(&mut self, spec: &ClusterSpec, progress: &mut dyn Progress) -> Result<(), LocalError> {
        let mut next_port = spec.ports;
        for index in 0..self.state.groups.len() {
            let plan = self.state.groups[index].clone();
            progress.step(&format!("Preparing {}", plan.writer.name));
            let writer =
                Server::launch(&spec.installation, &self.dir, &spec.server_spec(&plan.writer.name, next_port))?;
            progress.done(&format!("port {}", writer.port()));
            next_port = port_after(next_port, writer.port());
            self.groups.push(Group { name: plan.name.clone(), writer, replicas: Vec::new() });
            self.record_processes()?;
            for replica in &plan.replicas {
                progress.step(&format!("Preparing {}", replica.name));
                let replica =
                    Server::launch(&spec.installation, &self.dir, &spec.server_spec(&replica.name, next_port))?;
                progress.done(&format!("port {}", replica.port()));
                next_port = port_after(next_port, replica.port());
                self.groups[index].replicas.push(replica);
                self.record_processes()?;
            }
        }
        self.wait_ready(progress)
    }

    fn wait_ready(&mut self, progress: &mut dyn Progress) -> Result<(), LocalError> {
        for server in self.groups.iter_mut().flat_map(Group::servers_mut).filter(|server| server.stops_on_drop()) {
            progress.step(&format!("Waiting for {}", server.name()));
            server.wait_ready()?;
            progress.done("it answers");
        }
        self.record_processes()
    }

    fn wake(&mut self, spec: &ClusterSpec, progress: &mut dyn Progress) -> Result<(), LocalError> {
        self.refuse_other_cluster(spec)?;
        self.groups = attach_groups(&self.dir, &self.state, &spec.installation, &spec.cancel)?;
        let asleep = self.groups.iter_mut().flat_map(Group::servers_mut).filter(|server| !server.is_running());
        for server in asleep {
            progress.step(&format!("Starting {}", server.name()));
            server.stop_on_drop();
            server.launch_again()?;
            progress.done(&format!("port {}", server.port()));
        }
        self.record_processes()?;
        self.wait_ready(progress)?;
        for replica in self.groups.iter().flat_map(|group| &group.replicas) {
            progress.step(&format!("Checking replication of {}", replica.name()));
            if !replication_status(replica)?.is_some_and(|status| status.is_running()) {
                start_replication(replica)?;
            }
            wait_running(replica, &spec.cancel)?;
            progress.done("");
        }
        Ok(())
    }

    fn refuse_other_cluster(&self, spec: &ClusterSpec) -> Result<(), LocalError> {
        let replicas = self.state.groups.iter().map(|group| group.replicas.len()).max().unwrap_or(0);
        let (has, wanted) = (
            (self.state.flavor, self.state.groups.len(), replicas),
            (spec.installation.flavor(), spec.shards, spec.replicas),
        );
        if has == wanted {
            return Ok(());
        }
        let describe = |(flavor, shards, replicas): (crate::Flavor, usize, usize)| match shards {
            1 => format!("{flavor} and {replicas} replica(s)"),
            _ => format!("{flavor}, {shards} shards and {replicas} replica(s) each"),
        };
        let (has, wanted) = (describe(has), describe(wanted));
        Err(LocalError::OtherCluster { dir: self.dir.clone(), has, wanted })
    }

    /// Writes the ports and processes of all servers that were started into the state file.
    fn record_processes(&mut self) -> Result<(), LocalError> {
        let running: Vec<(String, u16, Option<ProcessId>)> =
            self.servers().map(|server| (server.name().to_owned(), server.port(), server.process_id())).collect();
        for recorded in self.state.groups.iter_mut().flat_map(GroupState::servers_mut) {
            if let Some((_, port, process)) = running.iter().find(|(name, ..)| *name == recorded.name) {
                recorded.port = *port;
                recorded.process = *process;
            }
        }
        self.state.save(&self.dir)
    }
}

fn planned_state(spec: &ClusterSpec) -> ClusterState {
    let server = |name: String| ServerState { name, port: 0, options: spec.options.clone(), process: None };
    let group = |name: String, prefix: &str| GroupState {
        name,
        writer: server(format!("{prefix}writer")),
        replicas: (1..=spec.replicas).map(|number| server(format!("{prefix}replica{number}"))).collect(),
    };
    let groups = match spec.shards {
        0 | 1 => vec![group("main".to_owned(), "")],
        shards => (1..=shards).map(|number| group(format!("s{number}"), &format!("s{number}-"))).collect(),
    };
    ClusterState::new(&spec.installation, &spec.database, groups)
}

/// Servers launched side by side have not bound their ports yet: the next one looks beyond.
fn port_after(choice: PortChoice, taken: u16) -> PortChoice {
    match choice {
        PortChoice::Any => PortChoice::Any,
        PortChoice::From(_) | PortChoice::Exactly(_) => PortChoice::From(taken.saturating_add(1)),
    }
}

/// Makes the directory if it is not there; one that is there keeps its mode, since it may not be ours.
fn make_private_dir_keeping_mode(dir: &Path) -> Result<(), LocalError> {
    if dir.is_dir() { Ok(()) } else { make_private_dir(dir) }
}

/// Locks the directory, but leaves nothing, not even a lock file, in one that is not Weir's.
fn lock_dir_unless_foreign(dir: &Path) -> Result<nix::fcntl::Flock<fs::File>, LocalError> {
    if ClusterState::load_if_any(dir)?.is_none() && !is_unused(dir)? {
        let reason = "it is not empty, and Weir did not make what is in it".to_owned();
        return Err(not_a_cluster(dir, reason));
    }
    lock_dir(dir)
}
