//! A cluster in one directory: groups of a writer and its replicas, and Weir in front of them.
//!
//! What always holds:
//! - the state file says what is about to be started before it is started, so that whatever an interrupted command left
//!   behind is found and ended by [`Cluster::down`];
//! - one command works on a directory at a time (a file lock);
//! - a directory that Weir did not make is never changed, and wiping removes only what Weir put there.

mod down;
mod members;
mod state;
mod status;
mod up;

use std::fs::File;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use mysql::prelude::Queryable;
use mysql::{Conn, OptsBuilder};
use nix::fcntl::Flock;

pub use members::Woken;
pub use state::{ClusterState, FrontState, GroupState, Phase, ServerState};
pub use status::{ClusterStatus, FrontStatus, ServerStatus};

use crate::daemon::{Daemon, DaemonSpec};
use crate::layout::check_name;
use crate::replication::wait_caught_up;
use crate::wait::{Cancel, wait_until};
use crate::{Account, Installation, Kind, LocalError, PortChoice, Server, ServerSpec, accounts, short_socket_path};

/// How long Weir may take to end its sessions when it is asked to.
const FRONT_STOP_BOUND: Duration = Duration::from_secs(15);
/// How long a new replica may take to apply what little there is.
const CATCH_UP_BOUND: Duration = Duration::from_secs(60);

/// ER_DB_CREATE_EXISTS.
const DATABASE_IS_THERE: u16 = 1007;

/// What cluster to bring up; [`ClusterSpec::new`] gives the defaults.
#[derive(Debug, Clone)]
pub struct ClusterSpec {
    /// Its directory; made if it is not there.
    pub dir: PathBuf,
    /// The servers' program.
    pub installation: Installation,
    /// How the servers of a group replicate.
    pub kind: Kind,
    /// Groups of servers: shards. One is called `main`, several `s1`, `s2`, ….
    pub shards: usize,
    /// Replicas of each writer, or how many members a group has more than one.
    pub replicas: usize,
    /// Lines for the option files of all servers.
    pub options: Vec<String>,
    /// Where the servers' ports are looked for; [`PortChoice::Exactly`] is the first writer's, the others' follow it.
    pub ports: PortChoice,
    /// See [`ServerSpec::die_with_parent`]; for tests.
    pub die_with_parent: bool,
    /// The application's database.
    pub database: String,
    /// The application's account: all rights on its database, on all shards. Servers listen on loopback only.
    pub application: Account,
    /// Weir's own account, on all shards.
    pub monitor: Account,
    /// Ends the waits, and undoes what was begun.
    pub cancel: Cancel,
}

impl ClusterSpec {
    /// One shard of a writer and one replica on any ports, database `app`, account `app` with the password `app`, and Weir's account
    /// `weir` with a random one.
    pub fn new(dir: &Path, installation: Installation) -> Self {
        Self {
            dir: dir.to_path_buf(),
            installation,
            kind: Kind::default(),
            shards: 1,
            replicas: 1,
            options: Vec::new(),
            ports: PortChoice::Any,
            die_with_parent: false,
            database: "app".to_owned(),
            application: Account { name: "app".to_owned(), password: "app".to_owned() },
            monitor: Account::generated("weir"),
            cancel: Cancel::default(),
        }
    }

    fn server_spec(&self, server: &ServerState, port: PortChoice) -> ServerSpec {
        ServerSpec {
            options: server.options.clone(),
            port,
            die_with_parent: self.die_with_parent,
            cancel: self.cancel.clone(),
            ..ServerSpec::new(&server.name)
        }
    }
}

/// A replication group: one server that takes writes, and those that follow it.
#[derive(Debug)]
pub struct Group {
    /// The group's name.
    pub name: String,
    /// Takes writes; in a group that fails over, the one that did when it was made.
    pub writer: Server,
    /// Follow the writer, read-only; in a group that fails over, the other members.
    pub replicas: Vec<Server>,
}

impl Group {
    /// All servers, the writer first.
    pub fn servers(&self) -> impl Iterator<Item = &Server> {
        std::iter::once(&self.writer).chain(&self.replicas)
    }

    /// All servers, the first one first.
    pub fn servers_mut(&mut self) -> impl Iterator<Item = &mut Server> {
        std::iter::once(&mut self.writer).chain(&mut self.replicas)
    }

    /// Waits until all replicas have applied what the writer has committed by now.
    pub fn wait_for_replicas(&self, bound: Duration) -> Result<(), LocalError> {
        self.wait_caught_up(bound, &Cancel::default())
    }

    fn wait_caught_up(&self, bound: Duration, cancel: &Cancel) -> Result<(), LocalError> {
        self.replicas.iter().try_for_each(|replica| wait_caught_up(&self.writer, replica, bound, cancel))
    }
}

/// A running cluster. Dropping it stops the servers that this value started, unless [`Cluster::detach`] was called.
#[derive(Debug)]
pub struct Cluster {
    dir: PathBuf,
    state: ClusterState,
    /// Replication groups: the shards.
    pub groups: Vec<Group>,
    front: Option<Daemon>,
    /// Whether this value made the cluster anew.
    is_new: bool,
    made_dir: bool,
    /// Held while this value may change the directory.
    _lock: Option<Flock<File>>,
}

impl Cluster {
    /// The cluster's directory, absolute.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// What the state file says.
    pub fn state(&self) -> &ClusterState {
        &self.state
    }

    /// Whether [`Cluster::up`] made the cluster anew, rather than waking one that was there.
    pub fn is_new(&self) -> bool {
        self.is_new
    }

    /// Where Weir's configuration for this cluster is kept.
    pub fn config_file(dir: &Path) -> PathBuf {
        dir.join(state::CONFIG_FILE)
    }

    /// Where Weir, run in the background, logs.
    pub fn log_file(dir: &Path) -> PathBuf {
        dir.join(state::LOG_FILE)
    }

    /// The unix socket for Weir: in the directory, or in a short one where that would be too long.
    pub fn front_socket(dir: &Path) -> PathBuf {
        short_socket_path(dir, state::FRONT_SOCKET)
    }

    /// All servers, writers before their replicas.
    pub fn servers(&self) -> impl Iterator<Item = &Server> {
        self.groups.iter().flat_map(Group::servers)
    }

    /// Makes Weir's own and the application's account again, with the passwords given: for when the file that held the
    /// passwords is gone. Replicas get them by replication.
    pub fn renew_accounts(&self, application: &Account, monitor: &Account) -> Result<(), LocalError> {
        let several = self.groups.len() > 1;
        for group in &self.groups {
            let writer = self.present_writer(group);
            accounts::ensure_monitor(writer, monitor, self.state.kind, several)?;
            accounts::ensure_application(writer, application, &self.state.database)?;
        }
        Ok(())
    }

    /// Starts Weir in front of the cluster and waits until it greets on `address`. If the process is there already, it
    /// is left as it is, and `false` is returned.
    pub fn start_front(
        &mut self,
        spec: &DaemonSpec,
        address: SocketAddr,
        bound: Duration,
        cancel: &Cancel,
    ) -> Result<bool, LocalError> {
        if self.find_front().is_some() {
            return Ok(false);
        }
        let mark = spec.mark();
        self.state.weir = Some(FrontState { address: address.to_string(), mark, process: None });
        self.state.save(&self.dir)?;
        let mut daemon = Daemon::start(spec)?;
        if let Some(front) = &mut self.state.weir {
            front.process = daemon.process_id();
        }
        self.state.save(&self.dir)?;
        let greeted = daemon.wait_for_greeting(address, bound, cancel);
        self.front = Some(daemon);
        greeted.map(|()| true)
    }

    /// Has the application's database sharded over all shards: says so to Weir, which listens on `address`. A database that is
    /// sharded already stays as it is.
    pub fn shard_database(
        &self,
        address: SocketAddr,
        application: &Account,
        bound: Duration,
        cancel: &Cancel,
    ) -> Result<(), LocalError> {
        let options = OptsBuilder::new()
            .ip_or_hostname(Some(address.ip().to_string()))
            .tcp_port(address.port())
            .prefer_socket(false)
            .user(Some(&application.name))
            .pass(Some(&application.password));
        let statement = format!("WEIR ATTACH DATABASE `{}`", self.state.database);
        let mut last = None;
        // Right after its start Weir may not have reached all shards yet.
        let done = wait_until(bound, cancel, || {
            let asked = Conn::new(options.clone()).and_then(|mut weir| weir.query_drop(&statement));
            match asked {
                Err(mysql::Error::MySqlError(error)) if error.code == DATABASE_IS_THERE => Ok(Some(())),
                Err(error) => {
                    last = Some(error);
                    Ok(None)
                }
                Ok(()) => Ok(Some(())),
            }
        })?;
        match (done, last) {
            (None, Some(error)) => Err(LocalError::sql("weir", error)),
            _ => Ok(()),
        }
    }

    /// How many servers this value has started.
    pub fn started_servers(&self) -> usize {
        self.servers().filter(|server| server.stops_on_drop()).count()
    }

    fn find_front(&self) -> Option<crate::process::Process> {
        self.state.find_front()
    }

    /// Leaves all processes running when this value is dropped, and lets other commands work on the directory.
    pub fn detach(mut self) {
        for server in self.groups.iter_mut().flat_map(Group::servers_mut) {
            server.detach();
        }
        if let Some(front) = &mut self.front {
            front.detach();
        }
    }

    /// Opens the cluster of a directory: its servers, running or not. Nothing is started, and nothing is stopped on drop.
    pub fn open(dir: &Path) -> Result<Self, LocalError> {
        let dir = existing_dir(dir)?;
        let state = ClusterState::load(&dir)?;
        let installation = Installation::at(&state.binary)?;
        let groups = attach_groups(&dir, &state, &installation, &Cancel::default())?;
        Ok(Self { dir, state, groups, front: None, is_new: false, made_dir: false, _lock: None })
    }
}

fn attach_groups(
    dir: &Path,
    state: &ClusterState,
    installation: &Installation,
    cancel: &Cancel,
) -> Result<Vec<Group>, LocalError> {
    let attach = |server: &ServerState| {
        let spec =
            ServerSpec { options: server.options.clone(), cancel: cancel.clone(), ..ServerSpec::new(&server.name) };
        Server::attach(installation, dir, &spec, server.port, server.process)
    };
    let open_group = |group: &GroupState| {
        Ok(Group {
            name: group.name.clone(),
            writer: attach(&group.writer)?,
            replicas: group.replicas.iter().map(attach).collect::<Result<_, _>>()?,
        })
    };
    state.groups.iter().map(open_group).collect()
}

fn existing_dir(dir: &Path) -> Result<PathBuf, LocalError> {
    dir.canonicalize().map_err(|error| LocalError::NotACluster { dir: dir.to_path_buf(), reason: error.to_string() })
}

/// The lock under which a command works on a directory.
fn lock_dir(dir: &Path) -> Result<Flock<File>, LocalError> {
    let taken = crate::template::try_lock(&dir.join(state::LOCK_FILE))?;
    taken.ok_or_else(|| LocalError::Busy { dir: dir.to_path_buf() })
}
