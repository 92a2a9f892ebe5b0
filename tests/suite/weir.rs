//! A Weir process under test, with a configuration and a log of its own.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use libtest_mimic::Failed;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use weir_local::{PortChoice, Server, SignsOfLife, free_port};

use crate::client::{Address, Packets, Stream};
use crate::lab::{APP, MONITOR, OPEN, PLAIN, eventually};
use crate::login::Greeting;
use crate::signals;

/// How long Weir may take to greet, without a word in its log, and to end after it was told to.
const BOUND: Duration = Duration::from_secs(20);
/// How much of the log a failure shows.
const LOG_TAIL: usize = 6_000;
/// Another process may take the port between the choice and the bind.
const PORT_ATTEMPTS: usize = 4;

/// The Weir binary: `WEIR_BIN`, or the one that was built into the same target directory as this suite.
pub(crate) fn binary() -> Result<PathBuf, Failed> {
    if let Some(named) = std::env::var_os("WEIR_BIN") {
        return Ok(named.into());
    }
    // The suite is target/<profile>/deps/suite-<hash>.
    let suite = std::env::current_exe()?;
    let built = suite.parent().and_then(Path::parent).ok_or("the suite has no directory")?.join("weir");
    if built.is_file() {
        Ok(built)
    } else {
        Err(format!("{} is not there: build it (cargo build -p weir), or set WEIR_BIN", built.display()).into())
    }
}

/// A running Weir; killed on drop.
pub(crate) struct Weir {
    pub(crate) port: u16,
    pub(crate) metrics_port: u16,
    pub(crate) socket: PathBuf,
    pub(crate) config: PathBuf,
    log: PathBuf,
    child: Child,
}

impl Weir {
    /// Starts a Weir before `server` and waits for its greeting.
    pub(crate) fn start(dir: &Path, server: &Server, settings: &[(&str, &str)]) -> Result<Self, Failed> {
        Self::start_before(dir, &[server], settings)
    }

    /// Starts a Weir before a group, whose first server is the writer, and waits for its greeting.
    pub(crate) fn start_before(dir: &Path, servers: &[&Server], settings: &[(&str, &str)]) -> Result<Self, Failed> {
        Self::start_with(dir, servers, settings, "")
    }

    /// The same before one server, by its port: a test stands between.
    pub(crate) fn start_at(dir: &Path, port: u16, settings: &[(&str, &str)]) -> Result<Self, Failed> {
        Self::start_on(dir, &servers_of_group(&[port]), settings, "")
    }

    /// The same, with `sections` behind the configuration.
    pub(crate) fn start_with(
        dir: &Path,
        servers: &[&Server],
        settings: &[(&str, &str)],
        sections: &str,
    ) -> Result<Self, Failed> {
        let ports: Vec<u16> = servers.iter().map(|server| server.port()).collect();
        Self::start_on(dir, &servers_of_group(&ports), settings, sections)
    }

    /// Starts a Weir before several shards, whose first servers are the writers, and waits for its greeting.
    pub(crate) fn start_shards(
        dir: &Path,
        shards: &[(&str, Vec<&Server>)],
        settings: &[(&str, &str)],
    ) -> Result<Self, Failed> {
        let servers = shards.iter().flat_map(|(group, servers)| servers_of_shard(group, servers));
        Self::start_on(dir, &servers.collect::<Vec<_>>(), settings, "")
    }

    /// The same with shards of one server each, by its port: a test stands between.
    pub(crate) fn start_shards_at(
        dir: &Path,
        shards: &[(&str, u16)],
        settings: &[(&str, &str)],
    ) -> Result<Self, Failed> {
        let servers = shards.iter().flat_map(|(group, port)| servers_in(group, &[*port]));
        Self::start_on(dir, &servers.collect::<Vec<_>>(), settings, "")
    }

    fn start_on(
        dir: &Path,
        servers: &[ServerEntry],
        settings: &[(&str, &str)],
        sections: &str,
    ) -> Result<Self, Failed> {
        for _ in 0..PORT_ATTEMPTS {
            let port = free_port(PortChoice::Any)?;
            let metrics_port = free_port(PortChoice::Any)?;
            if port == metrics_port {
                continue;
            }
            let socket = weir_local::short_socket_path(dir, "weir.sock");
            let config = dir.join("weir.toml");
            let text = text_with(port, metrics_port, &socket, servers, settings) + sections;
            write_config(&config, &text)?;
            let log = dir.join("weir.log");
            let child = spawn(&config, &log, &[], &[])?;
            let mut weir = Self { port, metrics_port, socket, config, log, child };
            if weir.wait_for_greeting()? {
                return Ok(weir);
            }
        }
        Err("Weir found no free port in several attempts".into())
    }

    /// Starts a Weir that can't use its server, and waits until it tells its clients so: error 2003 with `reason`.
    pub(crate) fn expect_refusal(
        dir: &Path,
        server: &Server,
        settings: &[(&str, &str)],
        reason: &str,
    ) -> Result<(), Failed> {
        let port = free_port(PortChoice::Any)?;
        let socket = weir_local::short_socket_path(dir, "weir.sock");
        let (config, log) = (dir.join("weir.toml"), dir.join("weir.log"));
        let metrics_port = free_port(PortChoice::Any)?;
        write_config(&config, &config_text(port, metrics_port, &socket, &[server.port()], settings))?;
        let child = spawn(&config, &log, &[], &[])?;
        let weir = Self { port, metrics_port, socket, config, log, child };
        let mut last = Vec::new();
        let told = eventually(BOUND, "a client is told why", || {
            let first = Stream::connect(&Address::Tcp(port)).and_then(|stream| Packets::new(stream).read());
            last = first.unwrap_or_default();
            last.starts_with(&[0xff, 0xd3, 0x07]) && String::from_utf8_lossy(&last).contains(reason)
        });
        let said = String::from_utf8_lossy(&last).into_owned();
        told.map_err(|_| Failed::from(format!("the last answer was {said:?}\n{}", weir.log_tail())))
    }

    /// Starts a Weir before one server, by its port, and returns what its first client is told first. `connected` runs when that client is there.
    pub(crate) fn first_answer(
        dir: &Path,
        server: u16,
        settings: &[(&str, &str)],
        connected: impl FnOnce(),
    ) -> Result<Vec<u8>, Failed> {
        let port = free_port(PortChoice::Any)?;
        let socket = weir_local::short_socket_path(dir, "weir.sock");
        let (config, log) = (dir.join("weir.toml"), dir.join("weir.log"));
        let metrics_port = free_port(PortChoice::Any)?;
        write_config(&config, &config_text(port, metrics_port, &socket, &[server], settings))?;
        let child = spawn(&config, &log, &[], &[])?;
        let _weir = Self { port, metrics_port, socket, config, log, child };
        let mut client = None;
        eventually(BOUND, "Weir listens", || {
            client = Stream::connect(&Address::Tcp(port)).ok();
            client.is_some()
        })?;
        connected();
        Ok(Packets::new(client.ok_or("nobody listens")?).read()?)
    }

    /// Starts a process that takes over from this one.
    pub(crate) fn successor(&self) -> Result<Self, Failed> {
        let child = spawn(&self.config, &self.log, &["--takeover"], &[])?;
        let (socket, config, log) = (self.socket.clone(), self.config.clone(), self.log.clone());
        Ok(Self { port: self.port, metrics_port: self.metrics_port, socket, config, log, child })
    }

    /// Kills it, and starts another one in its place, with these variables in its environment.
    pub(crate) fn start_again(&mut self, environment: &[(&str, &str)]) -> Result<(), Failed> {
        // It may have ended by itself.
        let _ = self.child.kill();
        self.child.wait()?;
        self.child = spawn(&self.config, &self.log, &[], environment)?;
        match self.wait_for_greeting()? {
            true => Ok(()),
            false => Err("another process has taken Weir's port".into()),
        }
    }

    /// False if the port was lost to another process.
    fn wait_for_greeting(&mut self) -> Result<bool, Failed> {
        let mut signs = SignsOfLife::new(BOUND, self.log_length(), Instant::now());
        loop {
            let first = Stream::connect(&Address::Tcp(self.port)).and_then(|stream| Packets::new(stream).read());
            if first.is_ok_and(|packet| Greeting::decode(&packet).is_ok()) {
                return Ok(true);
            }
            if let Some(status) = self.ended() {
                let log = self.log_tail();
                if log.contains("in use") {
                    return Ok(false);
                }
                return Err(format!("Weir ended at its start: {status}\n{log}").into());
            }
            if signs.are_over(self.log_length(), Instant::now()) {
                return Err(format!("no greeting of Weir\n{}", self.log_tail()).into());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    pub(crate) fn pid(&self) -> i32 {
        self.child.id().cast_signed()
    }

    /// Where its configuration is, and files that it names without a path.
    pub(crate) fn directory(&self) -> &Path {
        self.log.parent().expect("the log is in a directory")
    }

    /// What the metrics endpoint says, with its HTTP header.
    pub(crate) fn metrics(&self) -> Result<String, Failed> {
        self.get("/metrics")
    }

    fn get(&self, path: &str) -> Result<String, Failed> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.metrics_port))?;
        let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes())?;
        let mut text = String::new();
        stream.read_to_string(&mut text)?;
        Ok(text)
    }

    /// What the health check says, with its HTTP header.
    pub(crate) fn health(&self) -> Result<String, Failed> {
        self.get("/health")
    }

    /// A counter among the metrics, by its name without `_total`.
    pub(crate) fn counter(&self, name: &str) -> Result<u64, Failed> {
        let text = self.metrics()?;
        let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix("_total "));
        Ok(value.ok_or_else(|| format!("{name} is not among the metrics"))?.trim().parse()?)
    }

    /// How it ended, if it has.
    pub(crate) fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    pub(crate) fn signal(&self, signal: Signal) -> Result<(), Failed> {
        kill(Pid::from_raw(self.pid()), signal)?;
        Ok(())
    }

    /// Waits for the process to end by itself.
    pub(crate) fn wait_end(&mut self, bound: Duration) -> Result<ExitStatus, Failed> {
        let mut status = None;
        eventually(bound, "Weir has ended", || {
            status = self.ended();
            status.is_some()
        })?;
        status.ok_or_else(|| "no exit status".into())
    }

    fn log_length(&self) -> u64 {
        self.log.metadata().map_or(0, |found| found.len())
    }

    /// The end of its log.
    pub(crate) fn log_tail(&self) -> String {
        let log = std::fs::read(&self.log).unwrap_or_default();
        String::from_utf8_lossy(&log[log.len().saturating_sub(LOG_TAIL)..]).into_owned()
    }
}

impl Drop for Weir {
    fn drop(&mut self) {
        let _ended_already = self.child.kill();
        let _status = self.child.wait();
    }
}

/// Runs a short command of the binary to its end: exit code, standard output, standard error.
pub(crate) fn command(args: &[&str], environment: &[(&str, &str)]) -> Result<(Option<i32>, String, String), Failed> {
    let mut command = Command::new(binary()?);
    command.args(args).envs(environment.iter().copied()).stdin(Stdio::null());
    let output = signals::unblocked(|| command.output())?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok((output.status.code(), text(&output.stdout), text(&output.stderr)))
}

/// Starts the process; the kernel kills it when the thread that starts it ends (util-linux's setpriv).
fn spawn(config: &Path, log: &Path, options: &[&str], environment: &[(&str, &str)]) -> Result<Child, Failed> {
    let log = OpenOptions::new().create(true).append(true).open(log)?;
    let mut command = Command::new("setpriv");
    command.envs(environment.iter().copied());
    // A test that is the service manager has bound this before.
    let manager = config.with_file_name("notify");
    if manager.exists() {
        command.env("NOTIFY_SOCKET", manager);
    }
    command.args(["--pdeathsig", "KILL"]).arg(binary()?).args(["serve", "--config"]).arg(config).args(options);
    command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
    Ok(signals::unblocked(|| command.spawn())?)
}

/// Runs `weir serve` with a configuration that is expected to be refused: how it ended, and what it printed.
pub(crate) fn serve_refused(dir: &Path, text: &str) -> Result<(ExitStatus, String), Failed> {
    let (config, log) = (dir.join("refused.toml"), dir.join("refused.log"));
    write_config(&config, text)?;
    let _before = std::fs::remove_file(&log);
    let mut child = spawn(&config, &log, &[], &[])?;
    let start = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if start.elapsed() > BOUND {
            child.kill()?;
            child.wait()?;
            return Err("Weir runs with a configuration that it should refuse".into());
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    Ok((status, String::from_utf8_lossy(&std::fs::read(&log)?).into_owned()))
}

/// Writes a file that only its owner can read.
pub(crate) fn write_config(path: &Path, text: &str) -> Result<(), Failed> {
    let mut file: File = OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())?;
    Ok(())
}

/// One of the `[[servers]]`.
pub(crate) struct ServerEntry {
    name: String,
    port: u16,
    role: &'static str,
    group: Option<String>,
}

/// The servers at these ports as the only group, the writer first.
fn servers_of_group(ports: &[u16]) -> Vec<ServerEntry> {
    let entry = |(number, port): (usize, &u16)| {
        let (name, role) = match number {
            0 => ("writer".to_owned(), "writer"),
            n => (format!("replica{n}"), "replica"),
        };
        ServerEntry { name, port: *port, role, group: None }
    };
    ports.iter().enumerate().map(entry).collect()
}

/// These servers as one of several groups, the writer first. The group's name begins their names.
pub(crate) fn servers_of_shard(group: &str, servers: &[&Server]) -> Vec<ServerEntry> {
    let ports: Vec<u16> = servers.iter().map(|server| server.port()).collect();
    servers_in(group, &ports)
}

fn servers_in(group: &str, ports: &[u16]) -> Vec<ServerEntry> {
    let of_group = |entry: ServerEntry| ServerEntry {
        name: format!("{group}-{}", entry.name),
        group: Some(group.into()),
        ..entry
    };
    servers_of_group(ports).into_iter().map(of_group).collect()
}

/// The text of a configuration with one group: the suite's own settings, overridden by `settings`.
pub(crate) fn config_text(
    port: u16,
    metrics_port: u16,
    socket: &Path,
    server_ports: &[u16],
    settings: &[(&str, &str)],
) -> String {
    text_with(port, metrics_port, socket, &servers_of_group(server_ports), settings)
}

/// The same with servers of any groups; where they are named, settings are `groups.NAME.KEY`.
pub(crate) fn text_with(
    port: u16,
    metrics_port: u16,
    socket: &Path,
    servers: &[ServerEntry],
    settings: &[(&str, &str)],
) -> String {
    let mut sections: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
    let own = [
        ("listen.address", format!("[\"127.0.0.1:{port}\"]")),
        ("listen.socket", quoted(&socket.to_string_lossy())),
        ("metrics.address", quoted(&format!("127.0.0.1:{metrics_port}"))),
        ("monitor.user", quoted(MONITOR.0)),
        ("monitor.password", quoted(MONITOR.1)),
        ("workers.threads", "2".into()),
    ];
    let given = settings.iter().map(|(key, value)| (*key, (*value).to_owned()));
    for (key, value) in own.into_iter().chain(given) {
        let (section, key) = key.split_once('.').expect("section.key");
        sections.entry(section.into()).or_default().insert(key.into(), value);
    }
    let mut text = String::new();
    let mut put = |line: String| text.write_str(&line).expect("strings take all");
    for (section, keys) in sections {
        // `users.NAME.KEY` settings go to the user's own section below.
        if section == "users"
            || section == "servers"
            || section == "groups" && servers.iter().any(|s| s.group.is_some())
        {
            continue;
        }
        put(if section == "groups" { "[[groups]]\n".into() } else { format!("[{section}]\n") });
        keys.iter().for_each(|(key, value)| put(format!("{key} = {value}\n")));
    }
    for (name, password) in [APP, PLAIN, OPEN] {
        put(format!("[[users]]\nname = {}\npassword = {}\n", quoted(name), quoted(password)));
        if name == APP.0 {
            put("admin = true\n".into());
        }
        for (key, value) in settings {
            if let Some(key) = key.strip_prefix(&format!("users.{name}.")) {
                put(format!("{key} = {value}\n"));
            }
        }
    }
    for ServerEntry { name, port, role, group } in servers {
        if let (Some(group), &"writer") = (group, role) {
            put(format!("[[groups]]\nname = \"{group}\"\n"));
            for (key, value) in settings {
                if let Some(key) = key.strip_prefix(&format!("groups.{group}.")) {
                    put(format!("{key} = {value}\n"));
                }
            }
        }
        let address = format!("127.0.0.1:{port}");
        put(format!("[[servers]]\nname = \"{name}\"\naddress = \"{address}\"\nrole = \"{role}\"\n"));
        if let Some(group) = group {
            put(format!("group = \"{group}\"\n"));
        }
        for (key, value) in settings {
            if let Some(key) = key.strip_prefix(&format!("servers.{name}.")) {
                put(format!("{key} = {value}\n"));
            }
        }
    }
    text
}

/// A TOML string.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
