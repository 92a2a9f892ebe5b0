//! Single servers of a cluster, hurt and started again: how anybody tries a failover.

use std::path::Path;

use super::{Cluster, Group, existing_dir, lock_dir};
use crate::wait::Cancel;
use crate::{Kind, LocalError, Progress, Server, kinds};

/// What [`Cluster::start_server`] has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Woken {
    /// It was started.
    Started,
    /// It was paused, and goes on.
    Resumed,
    /// It was running.
    Running,
}

impl Cluster {
    /// Ends a server with SIGKILL, as a crash would, or pauses it with SIGSTOP. Tells whether it was running.
    ///
    /// # Errors
    /// [`LocalError::NoSuchServer`]; [`LocalError::Busy`] while another command works on the cluster.
    pub fn kill_server(dir: &Path, name: &str, pause: bool) -> Result<bool, LocalError> {
        let (mut cluster, _lock) = Self::open_locked(dir)?;
        let (group, member) = cluster.place(name)?;
        let server = cluster.groups[group].servers_mut().nth(member).expect("a place of a server");
        let was_running = server.is_running();
        if pause {
            server.pause();
        } else {
            server.kill()?;
        }
        Ok(was_running)
    }

    /// Starts a server that does not run, and has it take its part in its group again; a paused one goes on.
    ///
    /// # Errors
    /// [`LocalError::NoSuchServer`]; [`LocalError::Busy`]; and all that starting can meet.
    pub fn start_server(
        dir: &Path,
        name: &str,
        cancel: &Cancel,
        progress: &mut dyn Progress,
    ) -> Result<Woken, LocalError> {
        let (mut cluster, _lock) = Self::open_locked(dir)?;
        let (group, member) = cluster.place(name)?;
        let server = cluster.groups[group].servers().nth(member).expect("a place of a server");
        if server.is_paused() {
            server.resume();
            return Ok(Woken::Resumed);
        }
        if server.is_running() {
            return Ok(Woken::Running);
        }
        let started = cluster.start_members(group, &[member], cancel, progress);
        // What is wrong with its part in the group is easier to see while it runs.
        cluster.groups.iter_mut().flat_map(Group::servers_mut).for_each(Server::detach);
        started.map(|()| Woken::Started)
    }

    fn open_locked(dir: &Path) -> Result<(Self, nix::fcntl::Flock<std::fs::File>), LocalError> {
        Self::open(dir)?; // before a lock file is made in somebody's directory
        let lock = lock_dir(&existing_dir(dir)?)?;
        Ok((Self::open(dir)?, lock))
    }

    /// The group and the member of this name.
    fn place(&self, name: &str) -> Result<(usize, usize), LocalError> {
        let all = || {
            self.groups.iter().enumerate().flat_map(|(group, members)| {
                members.servers().enumerate().map(move |(member, server)| (group, member, server.name()))
            })
        };
        let found = all().find(|(.., known)| *known == name).map(|(group, member, _)| (group, member));
        let known = || all().map(|(.., known)| known).collect::<Vec<_>>().join(", ");
        found.ok_or_else(|| LocalError::NoSuchServer { name: name.to_owned(), known: known() })
    }

    /// Starts members of a group that do not run, and has them take their part in it.
    ///
    /// # Errors
    /// All that starting can meet.
    pub fn start_members(
        &mut self,
        group: usize,
        asleep: &[usize],
        cancel: &Cancel,
        progress: &mut dyn Progress,
    ) -> Result<(), LocalError> {
        let kind = self.state.kind;
        for turn in kinds::before_start(kind, &mut self.groups[group], asleep)? {
            for member in &turn {
                let server = self.groups[group].servers_mut().nth(*member).expect("a member of the group");
                progress.step(&format!("Starting {}", server.name()));
                server.stop_on_drop();
                server.launch_again()?;
                progress.done(&format!("port {}", server.port()));
                self.record_processes()?;
            }
            self.wait_for_members(group, &turn, progress)?;
        }
        kinds::after_start(kind, &self.groups[group], asleep, cancel, progress)
    }

    fn wait_for_members(
        &mut self,
        group: usize,
        members: &[usize],
        progress: &mut dyn Progress,
    ) -> Result<(), LocalError> {
        for member in members {
            let server = self.groups[group].servers_mut().nth(*member).expect("a member of the group");
            progress.step(&format!("Waiting for {}", server.name()));
            server.wait_ready()?;
            progress.done("it answers");
        }
        self.record_processes()
    }

    /// The server of a group that takes writes now, as the servers say; the first one if none says so.
    pub(super) fn present_writer<'a>(&self, group: &'a Group) -> &'a Server {
        let writes = |server: &&Server| match self.state.kind {
            Kind::Static | Kind::Galera => false,
            Kind::Async | Kind::SemiSync | Kind::GroupReplication => {
                let takes = server.query_value("SELECT NOT @@GLOBAL.read_only");
                takes.is_ok_and(|takes| takes.as_deref() == Some("1"))
            }
        };
        group.servers().find(writes).unwrap_or(&group.writer)
    }
}
