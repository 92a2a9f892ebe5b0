//! What runs of a cluster, and how it is: looked up afresh, each probe with a bound.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use mysql::prelude::Queryable;
use serde::Serialize;

use super::state::{ClusterState, Phase};
use super::{Cluster, existing_dir};
use crate::layout::ServerFiles;
use crate::process::{Process, ProcessId};
use crate::replication::status_within;
use crate::{Flavor, Kind, LocalError, ReplicationStatus, Server, daemon, kinds};

/// A server that hangs costs `weir status` this long per question.
const PROBE_BOUND: Duration = Duration::from_secs(2);

/// What runs in a cluster's directory.
#[derive(Debug, Clone, Serialize)]
pub struct ClusterStatus {
    /// The directory.
    pub dir: PathBuf,
    /// Whether it has ever been complete.
    pub phase: Phase,
    /// How its groups replicate.
    pub kind: Kind,
    /// The kind of its servers.
    pub flavor: Flavor,
    /// The application's database.
    pub database: String,
    /// Weir in front; `None` if it was never started.
    pub weir: Option<FrontStatus>,
    /// All servers, writers before their replicas.
    pub servers: Vec<ServerStatus>,
}

/// How Weir is.
#[derive(Debug, Clone, Serialize)]
pub struct FrontStatus {
    /// Where clients connect.
    pub address: String,
    /// Its process, while alive.
    pub pid: Option<i32>,
    /// Whether it greets clients.
    pub answers: bool,
    /// How long it has been running.
    pub uptime_seconds: Option<u64>,
}

/// How a server is.
#[derive(Debug, Clone, Serialize)]
pub struct ServerStatus {
    /// Its group.
    pub group: String,
    /// Its name.
    pub name: String,
    /// What it is to its group: of a static one, "writer" or "replica", as the cluster was made; else what it says itself, and "-" if it says
    /// nothing.
    pub role: String,
    /// Its process, while alive.
    pub pid: Option<i32>,
    /// TCP port on 127.0.0.1.
    pub port: u16,
    /// Unix socket.
    pub socket: PathBuf,
    /// Whether it answers statements.
    pub answers: bool,
    /// What it says its version is.
    pub version: Option<String>,
    /// How long it has been running.
    pub uptime_seconds: Option<u64>,
    /// Its replication, if it is a replica and answers.
    pub replication: Option<ReplicationStatus>,
}

impl Cluster {
    /// What runs of the cluster in this directory. Changes nothing, and takes no lock.
    pub fn status(dir: &Path) -> Result<ClusterStatus, LocalError> {
        let cluster = Self::open(&existing_dir(dir)?)?;
        let mut servers = Vec::new();
        let ClusterState { phase, kind, flavor, database, .. } = cluster.state.clone();
        for group in &cluster.groups {
            servers.push(server_status(kind, &group.name, "writer", &group.writer));
            let replicas = group.replicas.iter();
            servers.extend(replicas.map(|replica| server_status(kind, &group.name, "replica", replica)));
        }
        Ok(ClusterStatus { weir: cluster.front_status(), dir: cluster.dir, phase, kind, flavor, database, servers })
    }

    /// Which processes the cluster of this directory should have, and whether each lives: cheaper than
    /// [`Cluster::status`], asks no server anything.
    pub fn processes(dir: &Path) -> Result<Vec<(String, bool)>, LocalError> {
        let dir = existing_dir(dir)?;
        let state = ClusterState::load(&dir)?;
        let weir = state.weir.iter().map(|_| ("weir".to_owned(), state.find_front().is_some()));
        let mut processes: Vec<_> = weir.collect();
        for server in state.servers() {
            let mark = ServerFiles::new(&dir, &server.name)?.mark_of_program(&state.binary);
            processes.push((server.name.clone(), Process::find(&server.name, server.process, &mark).is_some()));
        }
        Ok(processes)
    }

    /// Where the Weir of this directory's cluster listens; `None` if it does not run.
    pub fn front_address(dir: &Path) -> Result<Option<SocketAddr>, LocalError> {
        let state = ClusterState::load(&existing_dir(dir)?)?;
        let front = state.weir.as_ref().filter(|_| state.find_front().is_some());
        Ok(front.and_then(|front| front.address.parse().ok()))
    }

    fn front_status(&self) -> Option<FrontStatus> {
        let front = self.state.weir.as_ref()?;
        let id = self.find_front().map(|process| process.id());
        let answers = id.is_some() && front.address.parse::<SocketAddr>().is_ok_and(daemon::greets);
        Some(FrontStatus {
            address: front.address.clone(),
            pid: id.map(|id| id.pid),
            answers,
            uptime_seconds: id.and_then(uptime),
        })
    }
}

fn uptime(id: ProcessId) -> Option<u64> {
    Some(id.age()?.as_secs())
}

fn server_status(kind: Kind, group: &str, made_as: &str, server: &Server) -> ServerStatus {
    let version = server.is_running().then(|| version(server)).flatten();
    let follows = matches!(kind, Kind::Static | Kind::Async | Kind::SemiSync) && version.is_some();
    let replication = follows.then(|| status_within(server, PROBE_BOUND).ok().flatten()).flatten();
    let role = match kind {
        Kind::Static => made_as.to_owned(),
        kind => version.as_ref().and_then(|_| kinds::role(kind, server, PROBE_BOUND)).unwrap_or_else(|| "-".to_owned()),
    };
    ServerStatus {
        group: group.to_owned(),
        name: server.name().to_owned(),
        role,
        pid: server.pid(),
        port: server.port(),
        socket: server.socket().to_path_buf(),
        answers: version.is_some(),
        version,
        uptime_seconds: server.process_id().and_then(uptime),
        replication,
    }
}

fn version(server: &Server) -> Option<String> {
    server.admin_within(PROBE_BOUND).ok()?.query_first("SELECT VERSION()").ok()?
}
