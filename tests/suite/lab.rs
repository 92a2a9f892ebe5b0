//! The servers that the tests share, the endpoint that is tested, and what a test needs to reach them.
//!
//! Servers are started once, by threads that live until the last test has ended (the kernel kills a server when the
//! thread that started it ends, so nothing outlives the suite, however it ends). Each test works in databases of its
//! own, whose names begin with `t_`.

use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use libtest_mimic::Failed;
use mysql::prelude::Queryable;
use tempfile::TempDir;
use weir_local::{Flavor, Installation, Server, ServerSpec, own_grants, replicate};

use crate::client::Address;
use crate::clients::Tools;
use crate::driver::{connect, serves};
use crate::login::{self, Login, Opening};
use crate::pace::Pace;
use crate::script;
use crate::signals;
use crate::weir::Weir;

/// The application's account: admin in Weir, all rights on the tests' databases.
pub(crate) const APP: (&str, &str) = ("app", "app secret");
/// An account with the same rights on the databases that Weir doesn't let do anything else.
pub(crate) const PLAIN: (&str, &str) = ("plain", "plain'secret\"");
/// An account with no password.
pub(crate) const OPEN: (&str, &str) = ("open", "");
/// Weir's own account.
pub(crate) const MONITOR: (&str, &str) = ("weir", "monitor secret");

/// What the suite is pointed at.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Target {
    /// The servers themselves: checks the suite.
    Direct,
    Weir,
}

impl Target {
    /// From `WEIR_TARGET`: `weir` unless it says `direct`.
    pub(crate) fn from_environment() -> Result<Self, String> {
        match std::env::var("WEIR_TARGET").as_deref() {
            Ok("direct") => Ok(Self::Direct),
            Ok("weir") | Err(_) => Ok(Self::Weir),
            Ok(other) => Err(format!("WEIR_TARGET is {other:?}: \"direct\" and \"weir\" are known")),
        }
    }
}

/// A number from the environment, or this default.
pub(crate) fn number_from_environment(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Waits until `condition` holds. Not a measurement: `bound` only says when to give up.
pub(crate) fn eventually(bound: Duration, what: &str, mut condition: impl FnMut() -> bool) -> Result<(), Failed> {
    let start = Instant::now();
    while !condition() {
        if start.elapsed() > bound {
            return Err(format!("not so within {} s: {what}", bound.as_secs()).into());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

/// A running server with the suite's accounts.
pub(crate) struct Site {
    pub(crate) flavor: Flavor,
    pub(crate) server: Server,
}

impl Site {
    /// Starts a server in `parent/name`.
    pub(crate) fn start(flavor: Flavor, parent: &Path, name: &str, options: &[&str]) -> Result<Self, Failed> {
        let installation = Installation::find(flavor, None)?;
        let mut spec = ServerSpec::new(name);
        spec.die_with_parent = true;
        spec.options = [
            "lock-wait-timeout=1",
            "innodb-lock-wait-timeout=1",
            "max-connections=2000",
            "local-infile=1",
            "max-allowed-packet=64M",
            "innodb-flush-log-at-trx-commit=2",
            "sync-binlog=0",
            "max-binlog-size=64M",
            // As in the differential: estimates do not depend on when a table was opened.
            "innodb-stats-persistent=OFF",
        ]
        .iter()
        .chain(options)
        .map(|option| (*option).to_owned())
        .collect();
        let site = Self { flavor, server: signals::unblocked(|| Server::start(&installation, parent, &spec))? };
        site.create_accounts()?;
        Ok(site)
    }

    /// Starts a replica of it in `parent/name`.
    pub(crate) fn start_replica(&self, parent: &Path, name: &str) -> Result<Server, Failed> {
        let mut spec = ServerSpec::new(name);
        spec.die_with_parent = true;
        spec.options =
            ["max-connections=2000", "innodb-flush-log-at-trx-commit=2", "sync-binlog=0"].map(str::to_owned).into();
        let replica = signals::unblocked(|| Server::start(self.server.installation(), parent, &spec))?;
        replicate(&self.server, &replica)?;
        Ok(replica)
    }

    fn create_accounts(&self) -> Result<(), Failed> {
        let server = &self.server;
        server.execute("CREATE ROLE IF NOT EXISTS reader")?;
        for (name, password) in [APP, PLAIN, OPEN] {
            server.create_user(name, password, &["ALL ON `t\\_%`.*", "reader"], None)?;
        }
        server.create_user(MONITOR.0, MONITOR.1, &own_grants(self.flavor), None)?;
        self.prime()
    }

    /// Logs every account in over the unix socket, so that the server's cache of `caching_sha2_password` knows it.
    pub(crate) fn prime(&self) -> Result<(), Failed> {
        for (name, password) in [APP, PLAIN, OPEN, MONITOR] {
            let (_, opening) = login::open(&self.socket(), &Login::new(name, password))?;
            if let Opening::Refused(why) = opening {
                return Err(format!("{name} can't log in: {why:?}").into());
            }
        }
        Ok(())
    }

    pub(crate) fn tcp(&self) -> Address {
        Address::Tcp(self.server.port())
    }

    pub(crate) fn socket(&self) -> Address {
        Address::Socket(self.server.socket().to_path_buf())
    }

    /// Runs statements as root on one connection. `{db}` stands for `database`; a line with `{s}` runs for 0 to 11.
    pub(crate) fn fill(&self, database: &str, lines: &[&str]) -> Result<(), Failed> {
        let mut root = self.server.admin()?;
        for line in lines.iter().filter_map(|line| script::for_flavor(line, self.flavor)) {
            let line = line.replace("{db}", database);
            if !line.contains("{s}") {
                run_unless_locked(&mut root, &line)?;
                is_quiet_routine(&mut root, &line)?;
                continue;
            }
            for session in 0..12 {
                run_unless_locked(&mut root, &line.replace("{s}", &session.to_string()))?;
            }
        }
        Ok(())
    }
}

/// Runs a statement, again while it meets locks of sessions that have just been dropped (1205, 3572).
fn run_unless_locked(root: &mut mysql::Conn, statement: &str) -> Result<(), Failed> {
    let start = Instant::now();
    loop {
        match root.query_drop(statement) {
            Err(mysql::Error::MySqlError(error)) if error.code == 1205 && start.elapsed() < Duration::from_secs(30) => {
            }
            other => return other.map_err(|error| format!("{statement}: {error}").into()),
        }
    }
}

/// Refuses a stored routine that the server has notes about, say on its name. A server tells the notes of a function to each connection that
/// reads it anew, which it does after any change of any routine; and MariaDB reads those of all databases for a query over
/// `information_schema.routines`. What a test is told would depend on what others do at that moment.
fn is_quiet_routine(root: &mut mysql::Conn, statement: &str) -> Result<(), Failed> {
    let is_routine = ["CREATE FUNCTION ", "CREATE PROCEDURE "].iter().any(|begin| statement.starts_with(begin));
    if !is_routine || root.warnings() == 0 {
        return Ok(());
    }
    let notes: Vec<(String, u16, String)> = root.query("SHOW WARNINGS")?;
    Err(format!("{statement}: the routines of tests must not have notes, which other tests would be told: {notes:?}")
        .into())
}

/// The endpoint under test: Weir in front of a site, or the site itself.
pub(crate) struct Endpoint {
    pub(crate) address: Address,
    pub(crate) port: u16,
    pub(crate) socket: PathBuf,
    /// The process that answers.
    pub(crate) pid: i32,
    /// None if the site itself is the target.
    pub(crate) weir: Option<Weir>,
}

impl Endpoint {
    /// A Weir that was started for a test.
    pub(crate) fn of(weir: Weir) -> Self {
        let (port, socket, pid) = (weir.port, weir.socket.clone(), weir.pid());
        Self { address: Address::Tcp(port), port, socket, pid, weir: Some(weir) }
    }
}

/// All that tests share.
pub(crate) struct Shared {
    pub(crate) target: Target,
    /// What the client programs need.
    pub(crate) tools: Tools,
    mariadb: OnceLock<Result<Site, String>>,
    mysql: OnceLock<Result<Site, String>>,
    directories: AtomicUsize,
    pub(crate) pace: Pace,
    /// Dropped, and so removed, after the servers in it.
    dir: TempDir,
}

impl Shared {
    pub(crate) fn new(target: Target) -> std::io::Result<Self> {
        let dir = tempfile::Builder::new().prefix("weir-suite-").tempdir()?;
        Ok(Self {
            target,
            tools: Tools::new()?,
            mariadb: OnceLock::new(),
            mysql: OnceLock::new(),
            directories: AtomicUsize::new(0),
            pace: Pace::default(),
            dir,
        })
    }

    fn slot(&self, flavor: Flavor) -> &OnceLock<Result<Site, String>> {
        match flavor {
            Flavor::MariaDb => &self.mariadb,
            Flavor::MySql => &self.mysql,
        }
    }

    /// Starts the shared server of a kind, and holds the thread until `end` closes.
    fn hold(&self, flavor: Flavor, end: &Receiver<()>) {
        let started = Site::start(flavor, self.dir.path(), name_of(flavor), &[]);
        let started = started.map_err(|failed| failed.message().unwrap_or("no message").to_owned());
        self.slot(flavor).get_or_init(|| started);
        let _closed = end.recv();
    }

    /// The shared server; waits while it starts.
    pub(crate) fn site(&self, flavor: Flavor) -> Result<&Site, Failed> {
        self.slot(flavor).wait().as_ref().map_err(|error| Failed::from(format!("{flavor} did not start: {error}")))
    }

    /// Where everything of this run is.
    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    /// A directory for what several tests share; gone with the suite.
    pub(crate) fn lasting_directory(&self) -> Result<PathBuf, Failed> {
        // Short names: the path of a socket has room for some hundred bytes.
        let number = self.directories.fetch_add(1, Ordering::Relaxed);
        let path = self.dir.path().join(number.to_string());
        std::fs::create_dir(&path)?;
        Ok(path)
    }
}

/// What one test sees: all that is shared, and directories of its own. When the test has ended, what it left on the
/// disk goes, or the suite would fill more than ten gigabytes.
pub(crate) struct Lab {
    shared: Arc<Shared>,
    flavor: Flavor,
    directories: Mutex<Vec<PathBuf>>,
}

impl Deref for Lab {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.shared
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        for directory in self.directories.get_mut().unwrap_or_else(PoisonError::into_inner) {
            let _left_to_the_end = std::fs::remove_dir_all(directory);
        }
        if let Some(Ok(site)) = self.slot(self.flavor).get() {
            // All but the log in use: nothing replicates from a shared server.
            let _left_to_the_end = site.server.execute("PURGE BINARY LOGS BEFORE NOW() + INTERVAL 1 DAY");
        }
    }
}

impl Lab {
    pub(crate) fn of_test(shared: &Arc<Shared>, flavor: Flavor) -> Self {
        Self { shared: shared.clone(), flavor, directories: Mutex::default() }
    }

    /// A directory of the test's own; gone with the test.
    pub(crate) fn directory(&self) -> Result<PathBuf, Failed> {
        let path = self.shared.lasting_directory()?;
        self.directories.lock().unwrap_or_else(PoisonError::into_inner).push(path.clone());
        Ok(path)
    }

    /// Runs a test against an endpoint of its own in front of `site`. `settings` are keys of Weir's configuration
    /// with TOML values: `("pool.max_connections", "8")`. A failure gets the end of Weir's log.
    pub(crate) fn with_endpoint(
        &self,
        site: &Site,
        settings: &[(&str, &str)],
        test: impl FnOnce(&mut Endpoint) -> Result<(), Failed>,
    ) -> Result<(), Failed> {
        let endpoint = match self.target {
            Target::Direct => Endpoint {
                address: site.tcp(),
                port: site.server.port(),
                socket: site.server.socket().to_path_buf(),
                pid: site.server.pid().ok_or("the server has ended")?,
                weir: None,
            },
            Target::Weir => Endpoint::of(Weir::start(&self.directory()?, &site.server, settings)?),
        };
        self.judge(endpoint, test)
    }

    /// Runs a test against a Weir over two shards that has a new database.
    pub(crate) fn over_two(
        &self,
        flavor: Flavor,
        database: (&str, &str),
        test: impl FnOnce(&Endpoint) -> Result<(), Failed>,
    ) -> Result<(), Failed> {
        self.over_two_with(flavor, database, &[], test)
    }

    /// The same, with settings.
    pub(crate) fn over_two_with(
        &self,
        flavor: Flavor,
        (database, clause): (&str, &str),
        settings: &[(&str, &str)],
        test: impl FnOnce(&Endpoint) -> Result<(), Failed>,
    ) -> Result<(), Failed> {
        let parent = self.directory()?;
        let sites = [Site::start(flavor, &parent, "s1", &[])?, Site::start(flavor, &parent, "s2", &[])?];
        for site in &sites {
            site.server.execute(&format!("GRANT ALL ON *.* TO '{}'@'%' WITH GRANT OPTION", MONITOR.0))?;
        }
        let servers = [("s1", vec![&sites[0].server]), ("s2", vec![&sites[1].server])];
        let weir = Weir::start_shards(&self.directory()?, &servers, settings)?;
        self.judge(Endpoint::of(weir), |endpoint| {
            eventually(Duration::from_secs(60), "a sharded database can be made", || {
                connect(endpoint.port, APP, None)
                    .is_ok_and(|mut session| session.query_drop(format!("CREATE DATABASE {database} {clause}")).is_ok())
            })?;
            test(endpoint)
        })
    }

    /// Runs a test against Weir over two new shards.
    pub(crate) fn over_two_shards(
        &self,
        flavor: Flavor,
        test: impl FnOnce(&Endpoint) -> Result<(), Failed>,
    ) -> Result<(), Failed> {
        self.over_two_shards_with(flavor, &[], test)
    }

    /// The same with settings of Weir's.
    pub(crate) fn over_two_shards_with(
        &self,
        flavor: Flavor,
        settings: &[(&str, &str)],
        test: impl FnOnce(&Endpoint) -> Result<(), Failed>,
    ) -> Result<(), Failed> {
        const BOUND: Duration = Duration::from_secs(30);
        let parent = self.directory()?;
        let sites = [Site::start(flavor, &parent, "s1", &[])?, Site::start(flavor, &parent, "s2", &[])?];
        let servers = [("s1", vec![&sites[0].server]), ("s2", vec![&sites[1].server])];
        let weir = Weir::start_shards(&parent, &servers, settings)?;
        self.judge(Endpoint::of(weir), |endpoint| {
            eventually(BOUND, "the servers answer", || serves(endpoint.port, APP))?;
            test(endpoint)
        })
    }

    /// Runs a test against an endpoint that must still be there afterwards.
    pub(crate) fn judge(
        &self,
        endpoint: Endpoint,
        test: impl FnOnce(&mut Endpoint) -> Result<(), Failed>,
    ) -> Result<(), Failed> {
        self.judge_stopped(endpoint, |endpoint| {
            test(endpoint)?;
            match endpoint.weir.as_mut().and_then(Weir::ended) {
                Some(status) => Err(format!("Weir has ended: {status}").into()),
                None => Ok(()),
            }
        })
    }

    /// Runs a test against an endpoint that may end.
    pub(crate) fn judge_stopped(
        &self,
        mut endpoint: Endpoint,
        test: impl FnOnce(&mut Endpoint) -> Result<(), Failed>,
    ) -> Result<(), Failed> {
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| test(&mut endpoint)));
        let message = match result {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(failed)) => failed.message().unwrap_or("failed").to_owned(),
            Err(panic) => panic_message(panic.as_ref()),
        };
        let log = endpoint.weir.as_ref().map(Weir::log_tail).unwrap_or_default();
        Err(format!("{message}\n---- end of Weir's log ----\n{log}").into())
    }
}

fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    format!("panicked: {}", text.unwrap_or("no message"))
}

/// The name of a server's kind in tests' names.
pub(crate) fn name_of(flavor: Flavor) -> &'static str {
    match flavor {
        Flavor::MariaDb => "mariadb",
        Flavor::MySql => "mysql",
    }
}

/// The threads that hold the shared servers.
pub(crate) struct Holders {
    end: Vec<Sender<()>>,
    threads: Vec<JoinHandle<()>>,
}

impl Holders {
    pub(crate) fn start(lab: &Arc<Shared>, flavors: &[Flavor]) -> Self {
        let mut holders = Self { end: Vec::new(), threads: Vec::new() };
        for &flavor in flavors {
            let (sender, receiver) = channel();
            let lab = lab.clone();
            holders.end.push(sender);
            holders.threads.push(std::thread::spawn(move || lab.hold(flavor, &receiver)));
        }
        holders
    }

    /// Lets the servers' threads end, after the lab (and with it the servers) was dropped.
    pub(crate) fn end(self) {
        drop(self.end);
        for thread in self.threads {
            let _panicked = thread.join();
        }
    }
}
