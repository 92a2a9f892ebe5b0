//! What clients connect to: the server itself, and the proxies that the bench starts in front of it.
//!
//! Must always hold: what is started here listens on loopback only, keeps its files in the run's private directory, and is
//! ended when its value is dropped, or with the bench's own process, however that ends.
//!
//! A further proxy is a variant of [`TargetKind`], a row in each of its tables, and a configuration in [`config`].

mod config;
mod readers;
mod sharded;

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use weir_local::{Account, Cancel, Daemon, DaemonSpec, LocalError, PortChoice, cache_dir, free_port};

use crate::error::BenchError;
use crate::files::write_private;
use crate::plan::Variation;
use crate::sql;

/// How long a proxy may take to pass a server's greeting on.
const START_BOUND: Duration = Duration::from_secs(20);
/// How long a proxy may take to end its sessions; nothing of them is needed any more.
const STOP_BOUND: Duration = Duration::from_secs(2);
/// Another process may take the port between the choice and the bind.
const PORT_ATTEMPTS: u32 = 4;

/// The kinds of targets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TargetKind {
    /// The server itself.
    Direct,
    /// HAProxy, passing TCP on.
    HaProxy,
    /// MySQL Router.
    Router,
    /// Weir with its hot rows switched off.
    WeirOff,
    /// Weir.
    Weir,
    /// Weir that may merge the changes of the tables with a hot row.
    WeirMerge,
}

impl TargetKind {
    /// All kinds, in the order in which they take turns; the first two are what ratios are taken against.
    pub const ALL: [Self; 6] = [Self::Direct, Self::HaProxy, Self::Router, Self::WeirOff, Self::Weir, Self::WeirMerge];
    /// Those that every bench has.
    pub const STANDARD: [Self; 4] = [Self::Direct, Self::HaProxy, Self::Router, Self::Weir];

    /// Whether only the bench of hot rows has it.
    pub fn is_special(self) -> bool {
        !Self::STANDARD.contains(&self)
    }

    /// Its name on the command line and in records.
    pub fn key(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::HaProxy => "haproxy",
            Self::Router => "router",
            Self::WeirOff => "weir-off",
            Self::Weir => "weir",
            Self::WeirMerge => "weir-merge",
        }
    }

    /// Its name for people.
    pub fn label(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::HaProxy => "HAProxy",
            Self::Router => "MySQL Router",
            Self::WeirOff => "Weir, hot rows off",
            Self::Weir => "Weir",
            Self::WeirMerge => "Weir, merging",
        }
    }

    /// The program, where one has to be looked for.
    pub(crate) fn program_name(self) -> Option<&'static str> {
        match self {
            Self::Direct | Self::WeirOff | Self::Weir | Self::WeirMerge => None,
            Self::HaProxy => Some("haproxy"),
            Self::Router => Some("mysqlrouter"),
        }
    }

    /// How to get a program that was not found.
    pub(crate) fn advice(self) -> &'static str {
        match self {
            Self::Router => "scripts/get-mysql unpacks it",
            _ => "scripts/install-deps installs it",
        }
    }

    /// Open files of the target's process that each client takes.
    pub(crate) fn files_per_client(self) -> u64 {
        match self {
            Self::Direct | Self::WeirOff | Self::Weir | Self::WeirMerge => 1,
            Self::HaProxy | Self::Router => 2,
        }
    }
}

impl fmt::Display for TargetKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.key())
    }
}

impl FromStr for TargetKind {
    type Err = String;

    fn from_str(key: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|kind| kind.key() == key);
        found.ok_or_else(|| format!("unknown target; the targets are {}", Self::ALL.map(Self::key).join(", ")))
    }
}

/// The server behind all targets, as clients and proxies reach it.
#[derive(Debug, Clone)]
pub(crate) struct Upstream {
    /// Host name or IP address.
    pub(crate) host: String,
    pub(crate) port: u16,
    /// Ports of its replicas, on the same host.
    pub(crate) replicas: Vec<u16>,
    /// Ports of the shards that Weir has instead of it, on the same host; none where it has that one server.
    pub(crate) shards: Vec<u16>,
    /// The load's account.
    pub(crate) account: Account,
    /// Weir's own account.
    pub(crate) monitor: Account,
    pub(crate) database: String,
}

/// What starting a proxy takes.
#[derive(Debug, Clone)]
pub(crate) struct Launcher {
    /// The run's private directory.
    pub(crate) dir: PathBuf,
    pub(crate) upstream: Upstream,
    pub(crate) weir: PathBuf,
    /// Threads for those proxies that have to be told.
    pub(crate) cores: u32,
    /// Open files that a process may have.
    pub(crate) files: u64,
    pub(crate) cancel: Cancel,
}

/// Where a proxy listens.
#[derive(Debug, Clone, Copy)]
struct WeirPorts {
    clients: u16,
    /// Of the metrics, where they are asked for.
    metrics: Option<u16>,
}

/// A target that clients can connect to.
#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) kind: TargetKind,
    pub(crate) host: String,
    pub(crate) port: u16,
    /// The setting that it was started with, where it is Weir and its settings are varied.
    pub(crate) variation: Option<Variation>,
    /// Where it counts its reads on replicas, if it does.
    metrics: Option<SocketAddr>,
    daemon: Option<Daemon>,
}

impl Target {
    /// The proxy's process.
    pub(crate) fn pid(&self) -> Option<i32> {
        self.daemon.as_ref().and_then(Daemon::pid)
    }

    /// Whether it can take clients, as far as its process tells.
    pub(crate) fn is_alive(&self) -> bool {
        self.daemon.as_ref().is_none_or(|daemon| daemon.pid().is_some())
    }

    /// Ends the proxy.
    pub(crate) fn stop(mut self) -> Result<(), BenchError> {
        Ok(self.daemon.take().map_or(Ok(()), |mut daemon| daemon.stop(STOP_BOUND))?)
    }
}

impl Launcher {
    /// Starts a target and waits until a query comes through it.
    pub(crate) fn start(&self, kind: TargetKind, variation: Option<Variation>) -> Result<Target, BenchError> {
        let upstream = &self.upstream;
        let target = match kind {
            TargetKind::Direct => {
                let (host, port) = (upstream.host.clone(), upstream.port);
                Target { kind, host, port, variation: None, metrics: None, daemon: None }
            }
            _ => self.start_proxy(kind, variation)?,
        };
        sql::check(&target.host, target.port, upstream, START_BOUND, &self.cancel)?;
        Ok(target)
    }

    fn start_proxy(&self, kind: TargetKind, variation: Option<Variation>) -> Result<Target, BenchError> {
        let mut attempt = 1;
        loop {
            let port = free_port(PortChoice::Any)?;
            let is_splitting = matches!(variation, Some(Variation::Splitting { .. }));
            let metrics = is_splitting.then(|| free_port(PortChoice::Any)).transpose()?;
            let ports = WeirPorts { clients: port, metrics };
            let mut daemon = Daemon::start(&self.daemon(kind, ports, variation)?)?;
            let on_loopback = |port: u16| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
            let (address, metrics) = (on_loopback(port), metrics.map(on_loopback));
            match daemon.wait_for_greeting(address, START_BOUND, &self.cancel) {
                Ok(()) => {
                    let host = Ipv4Addr::LOCALHOST.to_string();
                    return Ok(Target { kind, host, port, variation, metrics, daemon: Some(daemon) });
                }
                Err(LocalError::NotStarted { log_tail, .. })
                    if attempt < PORT_ATTEMPTS && log_tail.to_lowercase().contains("in use") =>
                {
                    attempt += 1;
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn daemon(
        &self,
        kind: TargetKind,
        ports: WeirPorts,
        variation: Option<Variation>,
    ) -> Result<DaemonSpec, BenchError> {
        let port = ports.clients;
        let (program, text) = match kind {
            TargetKind::HaProxy => (find(kind), config::haproxy(self, port)),
            TargetKind::Router => {
                let program = find(kind);
                let text = config::router(self, port, program.as_deref());
                (program, text)
            }
            TargetKind::Direct | TargetKind::WeirOff | TargetKind::Weir | TargetKind::WeirMerge => {
                (Some(self.weir.clone()), config::weir(self, ports, kind, variation))
            }
        };
        let name = kind.key();
        let program = program.ok_or_else(|| BenchError::Tool {
            tool: name.to_owned(),
            reason: format!("it is gone; {}", kind.advice()),
        })?;
        let file = self.dir.join(format!("{name}.conf"));
        write_private(&file, &text)?;
        let file = file.display().to_string();
        let arguments: Vec<String> = match kind {
            TargetKind::HaProxy => vec!["-db".to_owned(), "-f".to_owned(), file],
            TargetKind::Router => vec!["-c".to_owned(), file],
            TargetKind::Direct | TargetKind::WeirOff | TargetKind::Weir | TargetKind::WeirMerge => {
                vec!["serve".to_owned(), "--config".to_owned(), file]
            }
        };
        let log = self.dir.join(format!("{name}.log"));
        Ok(DaemonSpec {
            name: name.to_owned(),
            program,
            arguments,
            directory: self.dir.clone(),
            log,
            die_with_parent: true,
        })
    }

    /// The settings of a target for the record: name to value.
    pub(crate) fn settings(&self, kind: TargetKind) -> Vec<(String, String)> {
        let own: Vec<(&str, String)> = match kind {
            TargetKind::Direct => Vec::new(),
            TargetKind::HaProxy => {
                vec![("mode", "tcp".to_owned()), ("nbthread", self.cores.to_string())]
            }
            TargetKind::Router => vec![
                ("io.threads", self.cores.to_string()),
                ("client_ssl_mode", "DISABLED".to_owned()),
                ("server_ssl_mode", "DISABLED".to_owned()),
            ],
            TargetKind::WeirOff | TargetKind::Weir | TargetKind::WeirMerge => {
                vec![
                    ("workers", self.cores.to_string()),
                    ("pool.max_connections", config::weir_pool(&self.upstream).to_string()),
                ]
            }
        };
        own.into_iter().map(|(name, value)| (format!("{}.{name}", kind.key()), value)).collect()
    }
}

/// Where the program of a kind is on this machine.
pub(crate) fn find(kind: TargetKind) -> Option<PathBuf> {
    let name = kind.program_name()?;
    let mut folders = crate::tools::folders();
    if kind == TargetKind::Router {
        let tree = std::env::var_os("WEIR_MYSQL_TREE").filter(|tree| !tree.is_empty()).map(PathBuf::from);
        folders.extend([tree, Some(cache_dir().join("mysql"))].into_iter().flatten().map(|tree| tree.join("bin")));
    }
    folders.into_iter().map(|folder| folder.join(name)).find(|program| program.is_file())
}

/// The plugins of a router that runs from an unpacked tree; an installed one knows where they are.
fn router_plugins(program: &Path) -> Option<PathBuf> {
    let tree = program.parent()?.parent()?;
    let plugins = tree.join("root/usr/lib/mysqlrouter/plugin");
    plugins.is_dir().then_some(plugins)
}
