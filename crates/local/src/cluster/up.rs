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
use crate::{Kind, LocalError, PortChoice, Progress, Server, accounts, kinds};

impl Cluster {
    /// Brings a cluster up in `spec.dir`: makes it if there is none, completes it if an earlier command was interrupted,
    /// or starts what does not run of the one that is there (whose accounts stay as they are).
    ///
    /// Errors: [`LocalError::NotACluster`] for a directory with other content, [`LocalError::OtherCluster`] when the
    /// cluster that is there has another kind of group or server, or another number of shards or replicas, [`LocalError::Busy`]; and all that
    /// starting can meet. After an error nothing that this call started runs; the directory stays, for its logs. After
    /// [`LocalError::Cancelled`] a directory that this call filled is emptied or removed too.
    pub fn up(spec: &ClusterSpec, progress: &mut dyn Progress) -> Result<Self, LocalError> {
        spec.kind.check(&spec.installation, spec.replicas + 1)?;
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
        let state = match state {
            Some(state) => state,
            None => planned_state(spec)?,
        };
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
        let kind = self.state.kind;
        for group in &self.groups {
            spec.cancel.check()?;
            kinds::assemble(kind, group, &spec.cancel, progress)?;
            spec.cancel.check()?;
            let of_group = if several { format!(" of {}", group.name) } else { String::new() };
            progress.step(&format!("Making accounts and the database{of_group}"));
            accounts::ensure_monitor(&group.writer, &spec.monitor, kind, several)?;
            accounts::ensure_application(&group.writer, &spec.application, &spec.database)?;
            kinds::settle(kind, group, CATCH_UP_BOUND, &spec.cancel)?;
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
            for (number, server) in plan.servers().enumerate() {
                let server = self.launch_new_server(spec, server, number == 0, next_port, progress)?;
                next_port = port_after(next_port, server.port());
                match self.groups.get_mut(index) {
                    Some(group) => group.replicas.push(server),
                    None => self.groups.push(Group { name: plan.name.clone(), writer: server, replicas: Vec::new() }),
                }
                self.record_processes()?;
            }
        }
        self.wait_ready(progress)
    }

    fn launch_new_server(
        &self,
        spec: &ClusterSpec,
        server: &ServerState,
        is_first: bool,
        port: PortChoice,
        progress: &mut dyn Progress,
    ) -> Result<Server, LocalError> {
        progress.step(&format!("Preparing {}", server.name));
        let prepare = |server: &mut Server| kinds::before_first_start(self.state.kind, server, is_first);
        let mut server = Server::launch(&spec.installation, &self.dir, &spec.server_spec(server, port), prepare)?;
        progress.done(&format!("port {}", server.port()));
        if kinds::starts_in_turn(self.state.kind) {
            progress.step(&format!("Waiting for {}", server.name()));
            server.wait_ready()?;
            progress.done("it answers");
        }
        Ok(server)
    }

    fn wait_ready(&mut self, progress: &mut dyn Progress) -> Result<(), LocalError> {
        if kinds::starts_in_turn(self.state.kind) {
            return self.record_processes(); // That was waited for.
        }
        for server in self.groups.iter_mut().flat_map(Group::servers_mut) {
            progress.step(&format!("Waiting for {}", server.name()));
            server.wait_ready()?;
            progress.done("it answers");
        }
        self.record_processes()
    }

    fn wake(&mut self, spec: &ClusterSpec, progress: &mut dyn Progress) -> Result<(), LocalError> {
        self.refuse_other_cluster(spec)?;
        self.groups = attach_groups(&self.dir, &self.state, &spec.installation, &spec.cancel)?;
        for group in 0..self.groups.len() {
            let asleep = self.groups[group].servers().enumerate().filter(|(_, server)| !server.is_running());
            let asleep: Vec<usize> = asleep.map(|(index, _)| index).collect();
            self.start_members(group, &asleep, &spec.cancel, progress)?;
        }
        Ok(())
    }

    fn refuse_other_cluster(&self, spec: &ClusterSpec) -> Result<(), LocalError> {
        let replicas = self.state.groups.iter().map(|group| group.replicas.len()).max().unwrap_or(0);
        let (has, wanted) = (
            (self.state.kind, self.state.flavor, self.state.groups.len(), replicas),
            (spec.kind, spec.installation.flavor(), spec.shards, spec.replicas),
        );
        if has == wanted {
            return Ok(());
        }
        let describe = |(kind, flavor, shards, replicas): (Kind, crate::Flavor, usize, usize)| {
            let members = match kind {
                Kind::Static => format!("{replicas} replica(s)"),
                kind => format!("{} member(s) of kind {}", replicas + 1, kind.name()),
            };
            match shards {
                1 => format!("{flavor} and {members}"),
                _ => format!("{flavor}, {shards} shards and {members} each"),
            }
        };
        let (has, wanted) = (describe(has), describe(wanted));
        Err(LocalError::OtherCluster { dir: self.dir.clone(), has, wanted })
    }

    /// Writes the ports and processes of all servers that were started into the state file.
    pub(super) fn record_processes(&mut self) -> Result<(), LocalError> {
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

fn planned_state(spec: &ClusterSpec) -> Result<ClusterState, LocalError> {
    let name = |prefix: &str, number: usize| match (spec.kind, number) {
        (Kind::Static, 0) => format!("{prefix}writer"),
        (Kind::Static, number) => format!("{prefix}replica{number}"),
        // Who is what changes.
        (_, number) => format!("{prefix}db{}", number + 1),
    };
    let group = |group: String, prefix: &str, ports: PortChoice| -> Result<GroupState, LocalError> {
        let names: Vec<String> = (0..=spec.replicas).map(|number| name(prefix, number)).collect();
        let of_kind = kinds::options(spec.kind, &spec.installation, &names, ports)?;
        let with_options = |(name, own): (String, Vec<String>)| {
            let options = own.into_iter().chain(spec.options.iter().cloned()).collect();
            ServerState { name, port: 0, options, process: None }
        };
        let mut servers = names.into_iter().zip(of_kind).map(with_options);
        let writer = servers.next().expect("a group has at least one server");
        Ok(GroupState { name: group, writer, replicas: servers.collect() })
    };
    let groups = match spec.shards {
        0 | 1 => vec![group("main".to_owned(), "", spec.ports)?],
        shards => {
            let of_shard = |number: usize| {
                let ports = port_of_shard(spec.ports, number);
                group(format!("s{number}"), &format!("s{number}-"), ports)
            };
            (1..=shards).map(of_shard).collect::<Result<_, _>>()?
        }
    };
    Ok(ClusterState::new(spec.kind, &spec.installation, &spec.database, groups))
}

/// Ports that are chosen before anything listens there: each shard looks for its own beyond those of the others.
fn port_of_shard(choice: PortChoice, shard: usize) -> PortChoice {
    let distance = u16::try_from(shard).unwrap_or(u16::MAX).saturating_mul(50);
    match choice {
        PortChoice::Any => PortChoice::Any,
        PortChoice::From(port) | PortChoice::Exactly(port) => PortChoice::From(port.saturating_add(distance)),
    }
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
