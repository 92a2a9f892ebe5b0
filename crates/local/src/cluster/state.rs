//! The state file `cluster.json`: what was started in a cluster's directory, or is about to be.
//!
//! It is replaced whole, is readable by its owner only, and holds no password. What is read from it is checked before
//! it is used: names become paths, and processes are compared with their recorded start time and command line.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::check_name;
use crate::layout::write_private;
use crate::process::{CommandMark, Process, ProcessId};
use crate::{Flavor, Kind, LocalError};

pub(super) const STATE_FILE: &str = "cluster.json";
pub(super) const LOCK_FILE: &str = ".lock";
pub(super) const CONFIG_FILE: &str = "weir.toml";
pub(super) const LOG_FILE: &str = "weir.log";
pub(super) const FRONT_SOCKET: &str = "weir.sock";
/// Where Weir listens for its successor: beside its configuration. It stays when Weir is killed.
pub(super) const FRONT_TAKEOVER: &str = "weir.takeover";
/// Where Weir keeps the catalog of sharded databases: beside its configuration.
pub(super) const FRONT_CATALOG: &str = "weir-catalog";
const FORMAT: u32 = 1;
/// Far more than a thousand servers need.
const LARGEST_STATE: u64 = 1 << 20;

/// How far the making of a cluster has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// It was never complete: there is nothing in it that anyone could miss.
    Creating,
    /// It has been complete: its data is somebody's.
    Ready,
}

/// What is known of a cluster.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClusterState {
    /// Marks the file as Weir's, and says how to read it.
    pub weir_cluster: u32,
    /// Whether it has ever been complete.
    pub phase: Phase,
    /// How its groups replicate.
    #[serde(default)]
    pub kind: Kind,
    /// The kind of its servers.
    pub flavor: Flavor,
    /// Their version when the cluster was made.
    pub version: String,
    /// Their program.
    pub binary: PathBuf,
    /// The application's database.
    pub database: String,
    /// Replication groups.
    pub groups: Vec<GroupState>,
    /// Weir in front of them, once it was started.
    pub weir: Option<FrontState>,
}

/// A replication group.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GroupState {
    /// Its name.
    pub name: String,
    /// The server that takes writes.
    pub writer: ServerState,
    /// Those that follow it.
    pub replicas: Vec<ServerState>,
}

/// One server.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerState {
    /// Its name and its directory's.
    pub name: String,
    /// TCP port on 127.0.0.1; 0 until one was chosen.
    pub port: u16,
    /// Extra option lines.
    pub options: Vec<String>,
    /// Its process when it was last started.
    pub process: Option<ProcessId>,
}

/// Weir's own process.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FrontState {
    /// Where clients connect.
    pub address: String,
    /// How its process is recognised.
    pub mark: CommandMark,
    /// Its process when it was last started.
    pub process: Option<ProcessId>,
}

impl GroupState {
    /// All servers, the writer first.
    pub fn servers(&self) -> impl Iterator<Item = &ServerState> {
        std::iter::once(&self.writer).chain(&self.replicas)
    }

    /// All servers, the writer first.
    pub(super) fn servers_mut(&mut self) -> impl Iterator<Item = &mut ServerState> {
        std::iter::once(&mut self.writer).chain(&mut self.replicas)
    }
}

impl ClusterState {
    pub(super) fn new(kind: Kind, installation: &crate::Installation, database: &str, groups: Vec<GroupState>) -> Self {
        Self {
            kind,
            weir_cluster: FORMAT,
            phase: Phase::Creating,
            flavor: installation.flavor(),
            version: installation.version().to_string(),
            binary: installation.binary().to_path_buf(),
            database: database.to_owned(),
            groups,
            weir: None,
        }
    }

    /// Reads the state of a directory. Errors: [`LocalError::NotACluster`] when there is none that can be used.
    pub fn load(dir: &Path) -> Result<Self, LocalError> {
        Self::load_if_any(dir)?.ok_or_else(|| not_a_cluster(dir, format!("it has no {STATE_FILE}")))
    }

    pub(super) fn load_if_any(dir: &Path) -> Result<Option<Self>, LocalError> {
        let path = dir.join(STATE_FILE);
        let file = match File::open(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            other => other.map_err(LocalError::io("open", &path))?,
        };
        let mut text = String::new();
        file.take(LARGEST_STATE).read_to_string(&mut text).map_err(LocalError::io("read", &path))?;
        let unreadable = |reason: String| not_a_cluster(dir, format!("its {STATE_FILE} can't be read: {reason}"));
        let state: Self = serde_json::from_str(&text).map_err(|error| unreadable(error.to_string()))?;
        if state.weir_cluster != FORMAT {
            return Err(unreadable(format!("it has format {}, not {FORMAT}", state.weir_cluster)));
        }
        state.servers().try_for_each(|server| check_name(&server.name))?;
        Ok(Some(state))
    }

    pub(super) fn save(&self, dir: &Path) -> Result<(), LocalError> {
        let path = dir.join(STATE_FILE);
        let text = serde_json::to_string_pretty(self).map_err(|error| LocalError::Io {
            action: "write",
            path: path.clone(),
            source: error.into(),
        })?;
        write_private(&path, &text)
    }

    /// All servers, writers before their replicas.
    pub fn servers(&self) -> impl Iterator<Item = &ServerState> {
        self.groups.iter().flat_map(GroupState::servers)
    }

    pub(super) fn find_front(&self) -> Option<Process> {
        let front = self.weir.as_ref()?;
        Process::find("weir", front.process, &front.mark)
    }
}

pub(super) fn not_a_cluster(dir: &Path, reason: String) -> LocalError {
    LocalError::NotACluster { dir: dir.to_path_buf(), reason }
}

/// Whether a directory holds nothing but what a command that was interrupted at its very beginning leaves.
pub(super) fn is_unused(dir: &Path) -> Result<bool, LocalError> {
    let entries = fs::read_dir(dir).map_err(LocalError::io("read", dir))?;
    for entry in entries {
        let name = entry.map_err(LocalError::io("read", dir))?.file_name();
        if name != LOCK_FILE && name != format!("{STATE_FILE}.partial").as_str() {
            return Ok(false);
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state_with_name(name: &str) -> String {
        format!(
            r#"{{"weir_cluster":1,"phase":"ready","flavor":"mariadb","version":"10.11.1","binary":"/usr/sbin/mariadbd",
            "database":"app","weir":null,"groups":[{{"name":"main","replicas":[],
            "writer":{{"name":"{name}","port":20000,"options":[],"process":null}}}}]}}"#
        )
    }

    #[test]
    fn a_state_file_that_leads_out_of_the_directory_or_is_not_ours_is_refused() {
        let dir = tempfile::tempdir().expect("dir");
        assert!(ClusterState::load_if_any(dir.path()).expect("none").is_none());
        let load = |text: &str| {
            fs::write(dir.path().join(STATE_FILE), text).expect("write");
            ClusterState::load(dir.path())
        };
        assert_eq!(load(&state_with_name("writer")).expect("good").servers().count(), 1);
        assert!(load(&state_with_name("../../home")).is_err());
        assert!(load(&state_with_name("writer").replace("\"weir_cluster\":1", "\"weir_cluster\":2")).is_err());
        assert!(load("{\"name\": \"another program's file\"}").is_err());
    }
}
