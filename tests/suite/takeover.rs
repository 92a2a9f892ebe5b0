//! Upgrades by handing the listening sockets over: nobody is refused, no statement fails.

use std::collections::HashSet;
use std::net::TcpListener;
use std::os::unix::net::UnixDatagram;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use libtest_mimic::Failed;
use mysql::Conn;
use mysql::prelude::Queryable;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use weir_local::{PortChoice, free_port};

use crate::Collector;
use crate::client::Address;
use crate::driver::{connect, expect_equal, run, value};
use crate::lab::{APP, Endpoint, Lab, Site, eventually};
use crate::login::{self, Login, Opening};
use crate::weir::Weir;

const BOUND: Duration = Duration::from_secs(60);
/// How often processes take over under load.
const TAKEOVERS: usize = 3;
/// Clients that connect for each statement, and clients that connect for several.
const CLIENTS: (usize, usize) = (3, 3);
/// Statements of a client before it connects anew, as pools with a longest lifetime do.
const STATEMENTS: usize = 60;

/// Adds this module's tests.
pub(crate) fn collect(tests: &mut Collector) {
    type Case = (&'static str, &'static str, fn(&Site, &mut Endpoint) -> Result<(), Failed>);
    let cases: [Case; 4] = [
        // Nobody is idle for so long: all leave by themselves.
        ("under_load_nothing_fails", "\"60s\"", under_load),
        ("idle_sessions_leave_and_bound_ones_may_end", "\"1s\"", sessions_leave),
        ("a_process_that_fails_leaves_the_old_one_serving", "\"1s\"", failing),
        ("sigusr2_starts_the_new_process_and_the_service_manager_is_told", "\"1s\"", by_signal),
    ];
    for (word, idle, case) in cases {
        tests.add_for_weir(&format!("takeover::{word}"), move |lab: &Lab, flavor| {
            let site = lab.site(flavor)?;
            site.fill(
                "t_takeover",
                &["CREATE DATABASE IF NOT EXISTS {db}", "CREATE TABLE IF NOT EXISTS {db}.work (id BIGINT, note TEXT)"],
            )?;
            let dir = lab.directory()?;
            let weir = Weir::start(&dir, &site.server, &[("takeover.idle", idle)])?;
            lab.judge_stopped(Endpoint::of(weir), |endpoint| case(site, endpoint))
        });
    }
}

/// The process that serves new clients.
fn serving(port: u16) -> Result<i32, Failed> {
    let mut connection = connect(port, APP, None)?;
    let rows: Vec<(String, String)> = connection.query("WEIR STATUS")?;
    let pid = rows.iter().find(|(name, _)| name == "pid").ok_or("no pid")?;
    Ok(pid.1.parse()?)
}

/// Lets a new process take over, and waits until it serves.
pub(crate) fn take_over(old: &Weir) -> Result<Weir, Failed> {
    let mut new = old.successor()?;
    let pid = new.pid();
    let mut ended = None;
    eventually(BOUND, "the new process serves", || {
        ended = new.ended();
        ended.is_some() || serving(old.port).is_ok_and(|serving| serving == pid)
    })?;
    match ended {
        Some(status) => Err(format!("the new process has ended: {status}").into()),
        None => Ok(new),
    }
}

/// What the clients of a test have met.
#[derive(Default)]
struct Met {
    errors: Mutex<Vec<String>>,
    ids: Mutex<HashSet<u32>>,
    connections: AtomicUsize,
    commits: AtomicUsize,
    end: AtomicBool,
}

impl Met {
    fn error(&self, what: &str, error: &dyn std::fmt::Display) {
        self.errors.lock().unwrap_or_else(PoisonError::into_inner).push(format!("{what}: {error}"));
    }

    /// A connection whose id nobody else has had.
    fn connect(&self, port: u16) -> Option<Conn> {
        match connect(port, APP, Some("t_takeover")) {
            Ok(connection) => {
                self.connections.fetch_add(1, Ordering::Relaxed);
                let id = connection.connection_id();
                if !self.ids.lock().unwrap_or_else(PoisonError::into_inner).insert(id) {
                    self.error("connection id", &format!("{id} is there twice"));
                }
                Some(connection)
            }
            Err(error) => {
                self.error("connect", &error);
                None
            }
        }
    }

    /// Connects, gives some statements, disconnects, until the test ends.
    fn load(&self, port: u16, statements: usize) {
        while !self.end.load(Ordering::Relaxed) {
            let Some(mut connection) = self.connect(port) else { continue };
            for number in 0..statements {
                let statement = match number % 4 {
                    0 => "SELECT COUNT(*) FROM work WHERE id = 1",
                    1 => "BEGIN",
                    2 => "INSERT INTO work VALUES (2, 'under load')",
                    _ => "COMMIT",
                };
                if let Err(error) = run(&mut connection, statement) {
                    self.error(statement, &error);
                    break;
                }
                if statement == "COMMIT" {
                    self.commits.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
    }
}

fn under_load(site: &Site, endpoint: &mut Endpoint) -> Result<(), Failed> {
    let port = endpoint.port;
    let met = Met::default();
    let outcome = std::thread::scope(|scope| {
        for _ in 0..CLIENTS.0 {
            scope.spawn(|| met.load(port, 1));
        }
        for _ in 0..CLIENTS.1 {
            scope.spawn(|| met.load(port, STATEMENTS));
        }
        let outcome = take_over_repeatedly(endpoint, &met);
        met.end.store(true, Ordering::Relaxed);
        outcome
    });
    let errors = met.errors.into_inner().unwrap_or_else(PoisonError::into_inner);
    if !errors.is_empty() {
        return Err(format!("{} errors: {:?}", errors.len(), &errors[..errors.len().min(10)]).into());
    }
    outcome?;
    let rows = site.server.query_value("SELECT COUNT(*) FROM t_takeover.work WHERE id = 2")?;
    expect_equal("rows of committed transactions", rows, Some(met.commits.into_inner().to_string()))
}

fn take_over_repeatedly(endpoint: &mut Endpoint, met: &Met) -> Result<(), Failed> {
    for _ in 0..TAKEOVERS {
        let old = endpoint.weir.as_mut().ok_or("no Weir")?;
        let new = take_over(old)?;
        let before = met.connections.load(Ordering::Relaxed);
        expect_equal("exit code of the old process", old.wait_end(BOUND)?.code(), Some(0))?;
        eventually(BOUND, "the new process has clients", || {
            met.connections.load(Ordering::Relaxed) > before + CLIENTS.0 + CLIENTS.1
        })?;
        endpoint.weir = Some(new);
    }
    Ok(())
}

fn sessions_leave(_: &Site, endpoint: &mut Endpoint) -> Result<(), Failed> {
    let (port, socket) = (endpoint.port, endpoint.socket.clone());
    // Over the Unix socket, where the suite's own client sends its password as it is.
    let (mut idle, opening) = login::open(&Address::Socket(socket.clone()), &Login::new(APP.0, APP.1))?;
    expect_equal("login", matches!(opening, Opening::Done(..)), true)?;
    let mut in_transaction = connect(port, APP, Some("t_takeover"))?;
    in_transaction.query_drop("BEGIN")?;
    in_transaction.query_drop("INSERT INTO work VALUES (3, 'open')")?;
    let mut bound = connect(port, APP, Some("t_takeover"))?;
    bound.query_drop("CREATE TEMPORARY TABLE mine (id INT)")?;
    let old = endpoint.weir.as_mut().ok_or("no Weir")?;
    let new = take_over(old)?;
    // It answers the command that the client sends next.
    idle.sequence = 1;
    let told = idle.read()?;
    expect_equal("error 1053", told.get(..3), Some(&[0xff, 0x1d, 0x04][..]))?;
    expect_equal("the end of the idle session", idle.read().is_err(), true)?;
    expect_equal("the old process", old.ended().is_none(), true)?;
    in_transaction.query_drop("INSERT INTO work VALUES (3, 'still')")?;
    in_transaction.query_drop("COMMIT")?;
    expect_equal("a temporary table", value(&mut bound, "SELECT COUNT(*) FROM mine")?, "0".into())?;
    drop((in_transaction, bound));
    expect_equal("exit code of the old process", old.wait_end(BOUND)?.code(), Some(0))?;
    // The socket's file, the metrics and the control socket are the new process's.
    let old = std::mem::replace(old, new);
    drop(old);
    std::os::unix::net::UnixStream::connect(&socket)?;
    let weir = endpoint.weir.as_mut().ok_or("no Weir")?;
    expect_equal("metrics", weir.metrics()?.contains("weir_sessions"), true)?;
    let next = take_over(weir)?;
    expect_equal("exit code", weir.wait_end(BOUND)?.code(), Some(0))?;
    *weir = next;
    weir.signal(Signal::SIGTERM)?;
    expect_equal("exit code", weir.wait_end(BOUND)?.code(), Some(0))?;
    expect_equal("files that are left", [socket.exists(), weir.config.with_extension("takeover").exists()], [false; 2])
}

fn failing(_: &Site, endpoint: &mut Endpoint) -> Result<(), Failed> {
    let port = endpoint.port;
    let mut kept = connect(port, APP, None)?;
    let weir = endpoint.weir.as_mut().ok_or("no Weir")?;
    let taken = TcpListener::bind(("127.0.0.1", free_port(PortChoice::Any)?))?;
    let text = std::fs::read_to_string(&weir.config)?;
    let own = format!("\"127.0.0.1:{port}\"");
    let with_another = text.replace(&own, &format!("{own}, \"{}\"", taken.local_addr()?));
    for (what, changed) in [("an address in use", with_another), ("a wrong file", text.replace("threads", "treads"))] {
        std::fs::write(&weir.config, changed)?;
        let mut new = weir.successor()?;
        expect_equal(what, new.wait_end(BOUND)?.code(), Some(1))?;
        expect_equal(what, serving(port)?, weir.pid())?;
        kept.query_drop("SELECT 1")?;
    }
    std::fs::write(&weir.config, text)?;
    let new = take_over(weir)?;
    expect_equal("exit code of the old process", weir.wait_end(BOUND)?.code(), Some(0))?;
    *weir = new;
    Ok(())
}

/// A process that nobody else watches; killed on drop.
struct Stray(i32);

impl Drop for Stray {
    fn drop(&mut self) {
        let _ended_already = kill(Pid::from_raw(self.0), Signal::SIGKILL);
    }
}

fn by_signal(_: &Site, endpoint: &mut Endpoint) -> Result<(), Failed> {
    let port = endpoint.port;
    let first = endpoint.weir.as_mut().ok_or("no Weir")?;
    // This test is the service manager from here on.
    let manager = UnixDatagram::bind(first.config.with_file_name("notify"))?;
    manager.set_read_timeout(Some(BOUND))?;
    let told = |pid: i32| -> Result<(), Failed> {
        let mut state = [0; 256];
        let length = manager.recv(&mut state)?;
        let state = String::from_utf8_lossy(&state[..length]).into_owned();
        let main = format!("MAINPID={pid}");
        expect_equal(&state, ["READY=1", &main].iter().all(|wanted| state.lines().any(|line| line == *wanted)), true)
    };
    let second = take_over(first)?;
    told(second.pid())?;
    expect_equal("exit code of the first process", first.wait_end(BOUND)?.code(), Some(0))?;
    *first = second;
    let old = first;
    let pid = old.pid();
    old.signal(Signal::SIGUSR2)?;
    let mut new = None;
    eventually(BOUND, "another process serves", || {
        new = serving(port).ok().filter(|serving| *serving != pid).map(Stray);
        new.is_some()
    })?;
    let new = new.ok_or("no new process")?;
    told(new.0)?;
    expect_equal("exit code of the old process", old.wait_end(BOUND)?.code(), Some(0))?;
    kill(Pid::from_raw(new.0), Signal::SIGTERM)?;
    eventually(BOUND, "the new process has ended", || connect(port, APP, None).is_err())
}
