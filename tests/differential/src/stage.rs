//! The servers: one that is asked directly, and those behind each Weir.

use std::fs::OpenOptions;
use std::io::Write;
use std::net::TcpStream;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use mysql::{Conn, LocalInfileHandler, OptsBuilder};
use weir_local::{Flavor, Installation, PortChoice, Server, ServerSpec, free_port};

use crate::{Arguments, Error};

const USER: (&str, &str) = ("app", "app secret");
const OWN: (&str, &str) = ("weir", "own secret");
/// How long Weir may take to serve its first client.
const BOUND: Duration = Duration::from_secs(60);

/// Where statements are run.
pub(crate) struct Target {
    pub(crate) name: String,
    port: u16,
    pub(crate) shards: usize,
    weir: Option<Child>,
    log: PathBuf,
    settings: Option<String>,
    _servers: Vec<Server>,
}

impl Target {
    /// A session of a case, under the settings that were asked for.
    pub(crate) fn begin(&self) -> Result<Conn, Error> {
        let mut session = self.connect(Some("d"))?;
        if let Some(settings) = &self.settings {
            mysql::prelude::Queryable::query_drop(&mut session, format!("SET {settings}"))?;
        }
        Ok(session)
    }

    /// A session that finds all rows of an UPDATE as MySQL's own shell does. Its files have in them what they are called.
    pub(crate) fn connect(&self, database: Option<&str>) -> Result<Conn, Error> {
        let opts = OptsBuilder::new()
            .ip_or_hostname(Some("127.0.0.1"))
            .tcp_port(self.port)
            .prefer_socket(false)
            .user(Some(USER.0))
            .pass(Some(USER.1))
            .db_name(database)
            .read_timeout(Some(Duration::from_secs(60)))
            .init(vec!["SET time_zone = '+00:00'"]);
        let mut session = Conn::new(opts)?;
        session.set_local_infile_handler(Some(LocalInfileHandler::new(|name, file| file.write_all(name))));
        Ok(session)
    }

    /// What has happened, with what Weir told last, if this is a Weir.
    pub(crate) fn with_log(&self, told: String) -> String {
        if self.weir.is_none() { told } else { format!("{told}\n  Weir's log:\n{}", self.log_tail()) }
    }

    /// The end of Weir's log.
    fn log_tail(&self) -> String {
        let log = std::fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(20)..].join("\n")
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        if let Some(weir) = &mut self.weir {
            let _ = weir.kill();
            let _ = weir.wait();
        }
    }
}

/// The plain server first, then a Weir for each number of shards.
pub(crate) fn set(flavor: Flavor, arguments: &Arguments, directory: &Path) -> Result<Vec<Target>, Error> {
    let mut targets = vec![plain(flavor, arguments, directory, "plain")?];
    if arguments.direct {
        targets.push(plain(flavor, arguments, directory, "plain-too")?);
        return Ok(targets);
    }
    for &shards in &arguments.shards {
        targets.push(sharded(flavor, arguments, directory, shards)?);
    }
    Ok(targets)
}

fn plain(flavor: Flavor, arguments: &Arguments, directory: &Path, name: &str) -> Result<Target, Error> {
    let server = server(flavor, directory, name)?;
    let (port, name, log, settings) = (server.port(), name.to_owned(), PathBuf::new(), arguments.settings.clone());
    Ok(Target { name, port, shards: 0, weir: None, log, settings, _servers: vec![server] })
}

fn server(flavor: Flavor, directory: &Path, name: &str) -> Result<Server, Error> {
    let installation = Installation::find(flavor, None)?;
    let mut spec = ServerSpec::new(name);
    spec.die_with_parent = true;
    let options = [
        "innodb-lock-wait-timeout=5",
        "max-connections=500",
        "local-infile=1",
        "innodb-flush-log-at-trx-commit=2",
        "sync-binlog=0",
        "max-binlog-size=64M",
        // A table's stored statistics are those of its first moment, without rows, and hold when the server opens it anew, whenever that is;
        // the optimizer then takes another way. Those that are not stored are made of its rows.
        "innodb-stats-persistent=OFF",
        "performance-schema=OFF",
    ];
    spec.options = options.map(str::to_owned).to_vec();
    let server = Server::start(&installation, directory, &spec)?;
    for (name, password) in [USER, OWN] {
        server.create_user(name, password, &["ALL ON *.*"], None)?;
        server.execute(&format!("GRANT ALL ON *.* TO '{name}'@'%' WITH GRANT OPTION"))?;
    }
    Ok(server)
}

fn sharded(flavor: Flavor, arguments: &Arguments, directory: &Path, shards: usize) -> Result<Target, Error> {
    let servers: Vec<Server> =
        (1..=shards).map(|n| server(flavor, directory, &format!("w{shards}-s{n}"))).collect::<Result<_, _>>()?;
    let home = directory.join(format!("weir-{shards}"));
    std::fs::create_dir(&home)?;
    let port = free_port(PortChoice::Any)?;
    let metrics = free_port(PortChoice::Any)?;
    let mut text = format!(
        "[listen]\naddress = [\"127.0.0.1:{port}\"]\n[metrics]\naddress = \"127.0.0.1:{metrics}\"\n\
         [monitor]\nuser = \"{}\"\npassword = \"{}\"\n[workers]\nthreads = 2\n\
         [[users]]\nname = \"{}\"\npassword = \"{}\"\nadmin = true\n",
        OWN.0, OWN.1, USER.0, USER.1
    );
    for (index, server) in servers.iter().enumerate() {
        let (group, port) = (index + 1, server.port());
        text.push_str(&format!(
            "[[groups]]\nname = \"s{group}\"\n\
             [[servers]]\nname = \"s{group}\"\naddress = \"127.0.0.1:{port}\"\nrole = \"writer\"\ngroup = \"s{group}\"\n"
        ));
    }
    let config = home.join("weir.toml");
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(&config)?.write_all(text.as_bytes())?;
    let log = home.join("weir.log");
    let file = std::fs::File::create(&log)?;
    // Like its servers, it must not outlive a run that is killed.
    let weir = Command::new("setpriv")
        .args(["--pdeathsig", "KILL", "--"])
        .arg(binary(arguments)?)
        .arg("serve")
        .arg("--config")
        .arg(&config)
        .stdin(Stdio::null())
        .stdout(file.try_clone()?)
        .stderr(file)
        .spawn()?;
    let name = format!("Weir over {shards} {}", if shards == 1 { "shard" } else { "shards" });
    let settings = arguments.settings.clone();
    let mut target = Target { name, port, shards, weir: Some(weir), log, settings, _servers: servers };
    target.wait()?;
    Ok(target)
}

impl Target {
    fn wait(&mut self) -> Result<(), Error> {
        let start = Instant::now();
        loop {
            if TcpStream::connect(("127.0.0.1", self.port)).is_ok()
                && let Ok(mut session) = self.connect(None)
            {
                mysql::prelude::Queryable::query_drop(&mut session, "DO 1")?;
                return Ok(());
            }
            let ended = self.weir.as_mut().map(Child::try_wait).transpose()?.flatten();
            if ended.is_some() || start.elapsed() > BOUND {
                return Err(format!("{} does not serve\n{}", self.name, self.log_tail()).into());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

fn binary(arguments: &Arguments) -> Result<PathBuf, Error> {
    if let Some(named) = &arguments.weir {
        return Ok(named.clone());
    }
    let built = std::env::current_exe()?.with_file_name("weir");
    if built.is_file() { Ok(built) } else { Err(format!("{} is not there: build it first", built.display()).into()) }
}
