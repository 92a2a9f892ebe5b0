//! `weir up`.

use std::fmt::Write as _;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use weir_local::{
    Account, Cluster, ClusterSpec, ClusterState, DaemonSpec, Installation, Kind, LocalError, Phase, PortChoice,
    Progress,
};

use super::config_file::{ConfigFile, listen_address};
use super::interrupt::Interrupt;
use super::show::{Show, say};
use super::{ClusterError, UpArgs, check, foreground};

const DEFAULT_PORT: u16 = 4406;
const DEFAULT_REPLICAS: usize = 1;
/// The same where another server takes the place of a dead writer: the rest is still a majority.
const DEFAULT_REPLICAS_OF_GROUP: usize = 2;
/// Where the servers' ports are looked for.
const FIRST_SERVER_PORT: u16 = 23_306;
/// What Weir takes itself from its port on: clients, metrics, API.
const OWN_PORTS: u16 = 3;
const FRONT_START_BOUND: Duration = Duration::from_secs(30);

/// Runs `weir up`. A cluster that is up already is no error.
pub(crate) fn up(args: UpArgs) -> Result<(), ClusterError> {
    let interrupt = Interrupt::watch()?;
    let mut show = Show::new();
    let plan = Plan::make(&args)?;
    interrupt.cancel.check()?;
    if args.fresh && Cluster::phase(&args.dir)?.is_some() {
        Cluster::wipe(&args.dir, &mut show)?;
    }
    let spec = plan.spec(&args, &interrupt);
    let mut cluster = Cluster::up(&spec, &mut show)?;
    let finished = finish(&mut cluster, &plan, &spec, &mut show);
    let outcome = match finished.and_then(|outcome| Ok(interrupt.cancel.check().map(|()| outcome)?)) {
        Ok(outcome) => outcome,
        Err(error) => {
            let interrupted = matches!(error, ClusterError::Local(LocalError::Cancelled));
            drop(show);
            cluster.abandon(interrupted)?;
            return Err(error);
        }
    };
    let dir = cluster.dir().to_path_buf();
    say(&outcome.describe(&args.dir, &dir, &cluster, &spec.application, args.foreground));
    cluster.detach();
    if args.foreground { foreground::stay(&dir, &interrupt) } else { Ok(()) }
}

/// What is to be brought up: the arguments, completed by what the directory holds.
struct Plan {
    installation: Installation,
    kind: Kind,
    shards: usize,
    replicas: usize,
    /// Where a client on this machine finds Weir.
    address: SocketAddr,
    with_weir: bool,
}

impl Plan {
    /// Checks all that can be checked before anything is started or removed.
    fn make(args: &UpArgs) -> Result<Self, ClusterError> {
        let existing = match Cluster::phase(&args.dir)? {
            Some(Phase::Ready) if !args.fresh => Some(ClusterState::load(&args.dir)?),
            _ => None,
        };
        let existing_kind = existing.as_ref().map(|state| state.kind);
        let kind = args.kind.map(Kind::from).or(existing_kind).unwrap_or_default();
        let installation = check::installation(args, kind, existing.as_ref())?;
        let existing_replicas = existing.as_ref().and_then(|state| Some(state.groups.first()?.replicas.len()));
        let asked = args.replicas.or(args.members.map(|members| members.saturating_sub(1))).map(usize::from);
        let default = if kind.fails_over() { DEFAULT_REPLICAS_OF_GROUP } else { DEFAULT_REPLICAS };
        let replicas = asked.or(existing_replicas).unwrap_or(default);
        kind.check(&installation, replicas + 1)?;
        let existing_shards = existing.as_ref().map(|state| state.groups.len());
        let shards = args.shards.map(usize::from).or(existing_shards).unwrap_or(1);
        let configured = if existing.is_some() { listen_address(&args.dir)? } else { None };
        if let (Some(has), Some(wanted)) = (configured, args.port)
            && has.port() != wanted
        {
            let file = Cluster::config_file(&args.dir);
            return Err(ClusterError::OtherPort { file, has: has.to_string(), wanted });
        }
        let default_address = SocketAddr::from((Ipv4Addr::LOCALHOST, args.port.unwrap_or(DEFAULT_PORT)));
        let address = configured.unwrap_or(default_address);
        let is_cluster = Cluster::phase(&args.dir)?.is_some();
        let own_port = if is_cluster { Cluster::front_address(&args.dir)?.map(|own| own.port()) } else { None };
        if !args.no_weir && own_port != Some(address.port()) {
            check::port(address.port())?;
        }
        if existing.is_none() {
            check::space(&args.dir, shards * (replicas + 1))?;
        }
        Ok(Self { installation, kind, shards, replicas, address, with_weir: !args.no_weir })
    }

    fn spec(&self, args: &UpArgs, interrupt: &Interrupt) -> ClusterSpec {
        ClusterSpec {
            kind: self.kind,
            shards: self.shards,
            replicas: self.replicas,
            ports: PortChoice::From(first_server_port(self.address.port())),
            cancel: interrupt.cancel.clone(),
            ..ClusterSpec::new(&args.dir, self.installation.clone())
        }
    }
}

/// Where the servers look for ports: nothing listens yet on Weir's own, and the two after it, when they do.
fn first_server_port(own: u16) -> u16 {
    let is_among_them = (FIRST_SERVER_PORT - OWN_PORTS..FIRST_SERVER_PORT + 2_000).contains(&own);
    if is_among_them { own + OWN_PORTS } else { FIRST_SERVER_PORT }
}

/// Writes the configuration where there is none, and starts Weir.
fn finish(cluster: &mut Cluster, plan: &Plan, spec: &ClusterSpec, show: &mut Show) -> Result<Outcome, ClusterError> {
    let config = Cluster::config_file(cluster.dir());
    if !config.exists() {
        if !cluster.is_new() {
            // Nobody knows the passwords any more.
            cluster.renew_accounts(&spec.application, &spec.monitor)?;
        }
        let port = plan.address.port();
        ConfigFile { cluster, port, application: &spec.application, monitor: &spec.monitor }.write()?;
    }
    let servers_started = cluster.started_servers();
    let mut weir_started = false;
    if plan.with_weir {
        show.step("Starting Weir");
        weir_started = cluster.start_front(&front(cluster, &config)?, plan.address, FRONT_START_BOUND, &spec.cancel)?;
        show.done(&if weir_started { plan.address.to_string() } else { "it runs already".to_owned() });
    }
    if weir_started && cluster.is_new() && plan.shards > 1 {
        // Else tables in the database that clients are told to use would all be on the first shard, without a word.
        show.step("Sharding the database");
        cluster.shard_database(plan.address, &spec.application, FRONT_START_BOUND, &spec.cancel)?;
        show.done(&format!("{} over {} shards", spec.database, plan.shards));
    }
    let address = plan.with_weir.then_some(plan.address);
    Ok(Outcome { address, started: servers_started + usize::from(weir_started) })
}

/// Weir as a background process: this very program.
fn front(cluster: &Cluster, config: &Path) -> Result<DaemonSpec, ClusterError> {
    let program = std::env::current_exe().map_err(|error| ClusterError::Io("find the path of this program", error))?;
    Ok(DaemonSpec {
        name: "weir".to_owned(),
        program,
        arguments: vec!["serve".to_owned(), "--config".to_owned(), config.display().to_string()],
        directory: cluster.dir().to_path_buf(),
        log: Cluster::log_file(cluster.dir()),
        die_with_parent: false,
    })
}

/// What `weir up` has done.
struct Outcome {
    address: Option<SocketAddr>,
    started: usize,
}

impl Outcome {
    /// How to connect, where the logs are, how to stop.
    fn describe(&self, given_dir: &Path, dir: &Path, cluster: &Cluster, app: &Account, foreground: bool) -> String {
        let mut text = String::from(if self.started == 0 { "\nAlready up. " } else { "\nThe cluster is up. " });
        let database = &cluster.state().database;
        match self.address {
            Some(address) => {
                let _ = writeln!(text, "Connect with either shell (password {:?}, loopback only):\n", app.password);
                let options = format!(
                    "--comments --host={} --port={} --user={} --password={} {database}",
                    address.ip(),
                    address.port(),
                    app.name,
                    app.password
                );
                let _ = writeln!(text, "  mariadb {options}\n  {} {options}\n", mysql_shell(cluster).display());
            }
            None => text.push_str("Without Weir; the servers:\n\n"),
        }
        for server in cluster.servers().filter(|_| self.address.is_none()) {
            let _ = writeln!(text, "  {}  127.0.0.1:{}  {}", server.name(), server.port(), server.socket().display());
        }
        let _ = writeln!(text, "Config  {}", Cluster::config_file(dir).display());
        let logs = format!("{} and {}/<server>/error.log", Cluster::log_file(dir).display(), dir.display());
        let _ = writeln!(text, "Logs    {logs}");
        let argument = if given_dir == Path::new("weir-cluster") {
            String::new()
        } else {
            format!(" --dir {}", given_dir.display())
        };
        let stop = if foreground { "Ctrl-C".to_owned() } else { format!("weir down{argument}") };
        let _ = writeln!(text, "Look    weir status{argument}; weir ctl{argument} sessions");
        if cluster.state().kind.fails_over()
            && let Some(writer) = cluster.servers().next()
        {
            let name = writer.name();
            let _ = writeln!(text, "Try     weir kill {name}{argument}; weir start {name}{argument}");
        }
        let _ = writeln!(text, "Stop    {stop}");
        text
    }
}

/// The `mysql` shell: by its path where only the servers' own tree has it.
fn mysql_shell(cluster: &Cluster) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&path).any(|folder| folder.join("mysql").is_file());
    let own = || cluster.servers().next().and_then(|server| server.installation().companion("mysql"));
    if on_path { "mysql".into() } else { own().unwrap_or_else(|| "mysql".into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_leave_weirs_own_ports_alone() {
        for own in [1, DEFAULT_PORT, 23_303, 23_304, 23_306, 24_000, 25_305, 25_306, 65_535] {
            let servers = u32::from(first_server_port(own))..u32::from(first_server_port(own)) + 100;
            let taken = u32::from(own)..u32::from(own) + u32::from(OWN_PORTS);
            assert!(taken.end <= servers.start || servers.end <= taken.start, "{own}: {servers:?}");
        }
        assert_eq!(first_server_port(FIRST_SERVER_PORT), FIRST_SERVER_PORT + OWN_PORTS);
    }
}
