//! The kinds of groups that a cluster's servers can form, and what each of them takes.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::{Flavor, Installation, LocalError};

/// Where distributions keep Galera's library.
const GALERA_LIBRARIES: &[&str] = &[
    "/usr/lib/galera/libgalera_smm.so",
    "/usr/lib64/galera-4/libgalera_smm.so",
    "/usr/lib64/galera/libgalera_smm.so",
    "/usr/lib/galera-4/libgalera_smm.so",
];
/// The first version of MySQL whose Group Replication was tried.
const GROUP_REPLICATION_FROM: u16 = 9;

/// How the servers of a group replicate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A writer and replicas. The writer stays the writer.
    #[default]
    Static,
    /// A writer and replicas; Weir replaces the writer.
    Async,
    /// The same, and each commit waits until a replica has it.
    #[serde(rename = "semisync")]
    SemiSync,
    /// MySQL Group Replication with one primary.
    GroupReplication,
    /// A MariaDB Galera cluster.
    Galera,
}

impl Kind {
    /// Its word on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Static => "static",
            Self::Async => "async",
            Self::SemiSync => "semisync",
            Self::GroupReplication => "group_replication",
            Self::Galera => "galera",
        }
    }

    /// Its word in Weir's configuration, to which semi-synchronous replication is a matter of the servers.
    pub fn configured(self) -> &'static str {
        match self {
            Self::SemiSync => Self::Async.name(),
            other => other.name(),
        }
    }

    /// Whether another server takes writes when the writer dies.
    pub fn fails_over(self) -> bool {
        self != Self::Static
    }

    /// The only kind of server that can do it, if there is but one.
    pub fn flavor(self) -> Option<Flavor> {
        match self {
            Self::GroupReplication => Some(Flavor::MySql),
            Self::Galera => Some(Flavor::MariaDb),
            Self::Static | Self::Async | Self::SemiSync => None,
        }
    }

    /// Whether these servers can form groups of this kind of so many members.
    ///
    /// # Errors
    /// [`LocalError::Unsupported`], with what to do.
    pub fn check(self, installation: &Installation, members: usize) -> Result<(), LocalError> {
        let refused = |reason: String| Err(LocalError::Unsupported { kind: self.name(), reason });
        let version = installation.version();
        if let Some(flavor) = self.flavor().filter(|flavor| *flavor != installation.flavor()) {
            let argument = flavor.to_string().to_lowercase();
            return refused(format!("needs {flavor}, and this is {}; use --flavor {argument}", installation.flavor()));
        }
        match self {
            Self::GroupReplication if version.major < GROUP_REPLICATION_FROM => refused(format!(
                "needs MySQL {GROUP_REPLICATION_FROM}, and this is {version}; scripts/get-mysql fetches it"
            )),
            Self::Galera if galera_library().is_none() => {
                refused(format!("there is no {}; install the package galera-4", GALERA_LIBRARIES[0]))
            }
            Self::SemiSync if members < 2 => {
                refused("needs a replica that acknowledges: at least 2 members".to_owned())
            }
            _ => Ok(()),
        }
    }
}

/// Galera's library, if it is installed.
pub(crate) fn galera_library() -> Option<PathBuf> {
    GALERA_LIBRARIES.iter().map(PathBuf::from).find(|library| Path::is_file(library))
}

#[cfg(test)]
mod tests {
    use super::Kind;

    #[test]
    fn a_kind_has_one_word_everywhere() {
        for kind in [Kind::Static, Kind::Async, Kind::SemiSync, Kind::GroupReplication, Kind::Galera] {
            let word = serde_json::to_string(&kind).expect("a word");
            assert_eq!(word, format!("{:?}", kind.name()));
        }
    }
}
