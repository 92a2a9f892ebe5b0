//! Servers that die, hang or refuse: bounded errors for the clients, and a whole pool afterwards. Each test has a
//! server of its own.

use std::collections::HashMap;
use std::io::Write;
use std::time::{Duration, Instant};

use libtest_mimic::Failed;
use mysql::prelude::Queryable;
use mysql::{Conn, LocalInfileHandler};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use weir_local::Flavor;

use crate::Collector;
use crate::client::{Packets, Stream};
use crate::driver::{connect, expect_equal, expect_error, run, server_error, serves, value};
use crate::lab::{APP, Endpoint, Lab, MONITOR, PLAIN, Site, eventually};
use crate::login::{Greeting, Login, authenticate, caps, handshake_response};
use crate::reply::Set;

const BOUND: Duration = Duration::from_secs(30);
/// Weir notices quickly.
pub(crate) const WATCHFUL: &[(&str, &str)] = &[
    ("pool.max_connections", "16"),
    ("pool.queue_timeout", "\"3s\""),
    ("pool.connect_timeout", "\"2s\""),
    ("monitor.interval", "\"200ms\""),
    ("monitor.timeout", "\"500ms\""),
    ("monitor.hang_timeout", "\"1s\""),
];

/// Weir looks often, and calls no server down that is merely slow.
const PATIENT: &[(&str, &str)] =
    &[("monitor.interval", "\"100ms\""), ("monitor.timeout", "\"30s\""), ("monitor.hang_timeout", "\"60s\"")];
/// A client's part of a login, and the servers' part, may each take so long.
const LOGIN_BOUND: Duration = Duration::from_secs(8);
/// It, and a Weir that finds no fault with a server that pauses for less.
const SLOW_LOGIN: &[(&str, &str)] = &[
    ("clients.handshake_timeout", "\"8s\""),
    ("pool.connect_timeout", "\"60s\""),
    ("monitor.timeout", "\"30s\""),
    ("monitor.hang_timeout", "\"60s\""),
];
/// More statements than Weir's watching connection begins with.
const PAST_ITS_START: u64 = 20;

/// What a client may get for a server that is gone: lost in mid-query, gone away, can't connect, or no connection in time.
pub(crate) const GONE: [u16; 6] = [2013, 2006, 2003, 2002, 1040, 1053];

type Case = (&'static str, fn(&mut Site, &Endpoint) -> Result<(), Failed>);

/// Adds this module's tests.
pub(crate) fn collect(tests: &mut Collector) {
    let cases: [Case; 9] = [
        ("killed_server_in_mid_query_is_2013_and_the_pool_heals", killed_in_mid_query),
        ("killed_server_in_mid_transaction_loses_it_for_good", killed_in_mid_transaction),
        ("server_restarted_between_two_looks_at_it_is_not_called_down", restarted_between_probes),
        ("login_waits_for_a_slow_server_also_after_a_slow_client", slow_login),
        ("hung_server_is_an_error_in_bounded_time_and_heals", hung_server),
        ("what_a_hung_server_no_longer_takes_is_an_error_in_bounded_time", hung_before_the_end),
        ("reads_that_ride_on_a_hung_server_end_in_bounded_time", hung_on_lanes),
        ("changed_password_is_1045_for_its_user_only", changed_password),
        ("connections_closed_by_the_server_are_not_given_to_clients", closed_while_idle),
    ];
    for (word, case) in cases {
        tests.add_for_weir(&format!("faults::{word}"), move |lab: &Lab, flavor| {
            let mut site = private_site(lab, flavor)?;
            // The endpoint borrows nothing of the site: a test may kill and restart the server.
            let settings = match word.split('_').next() {
                Some("server") => PATIENT,
                Some("login") => SLOW_LOGIN,
                _ => WATCHFUL,
            };
            let weir = crate::weir::Weir::start(&lab.directory()?, &site.server, settings)?;
            lab.judge(Endpoint::of(weir), |endpoint| case(&mut site, endpoint))
        });
    }
}

/// A server for one test, with a table of rows.
fn private_site(lab: &Lab, flavor: Flavor) -> Result<Site, Failed> {
    let site = Site::start(flavor, &lab.directory()?, "server", &[])?;
    site.fill(
        "t_faults",
        &[
            "CREATE DATABASE {db}",
            "CREATE TABLE {db}.rows_ (id INT PRIMARY KEY, v INT)",
            "INSERT INTO {db}.rows_ VALUES (1, 1)",
        ],
    )?;
    Ok(site)
}

fn app(endpoint: &Endpoint) -> mysql::Result<Conn> {
    connect(endpoint.port, APP, Some("t_faults"))
}

/// Clients at the same time, as many as the pool has connections, each in a transaction.
fn pool_is_whole(endpoint: &Endpoint) -> Result<(), Failed> {
    let mut clients = (0..8).map(|_| app(endpoint)).collect::<mysql::Result<Vec<_>>>()?;
    for client in &mut clients {
        client.query_drop("BEGIN")?;
        expect_equal("a row", value(client, "SELECT v FROM rows_ WHERE id = 1")?, "1".into())?;
    }
    clients.iter_mut().try_for_each(|client| client.query_drop("COMMIT"))?;
    Ok(())
}

/// Whether the server runs this statement now.
fn runs(site: &Site, text: &str) -> bool {
    let query = format!("SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE '{text}%'");
    site.server.query_value(&query).is_ok_and(|count| count.as_deref() != Some("0"))
}

fn killed_in_mid_query(site: &mut Site, endpoint: &Endpoint) -> Result<(), Failed> {
    let mut client = app(endpoint)?;
    let mut idle = app(endpoint)?;
    idle.query_drop("SET @a = 5")?;
    let ended = std::thread::scope(|scope| {
        let running = scope.spawn(|| run(&mut client, "SELECT SLEEP(600)"));
        let started = eventually(BOUND, "the statement runs", || runs(site, "SELECT SLEEP"));
        site.server.kill()?;
        let ended = running.join().map_err(|_| Failed::from("the session panicked"))?;
        started.map(|()| ended)
    })?;
    expect_error("the statement in flight", &ended, 2013, "HY000")?;
    let mut newcomer = app(endpoint);
    let refused = newcomer.as_mut().map_err(|error| error.to_string()).map(|client| run(client, "SELECT v FROM rows_"));
    if let Ok(Ok(())) = refused {
        return Err("a statement was answered without a server".into());
    }
    site.server.restart()?;
    site.prime()?;
    eventually(BOUND, "new clients are served", || serves(endpoint.port, APP))?;
    expect_equal("a session that had nothing on the server", value(&mut idle, "SELECT @a")?, "5".into())?;
    pool_is_whole(endpoint)
}

fn killed_in_mid_transaction(site: &mut Site, endpoint: &Endpoint) -> Result<(), Failed> {
    let mut client = app(endpoint)?;
    client.query_drop("BEGIN")?;
    client.query_drop("UPDATE rows_ SET v = 2 WHERE id = 1")?;
    site.server.kill()?;
    site.server.restart()?;
    site.prime()?;
    // Whatever the client does next must not look as if its transaction went on.
    let next = client.query_drop("UPDATE rows_ SET v = v + 10 WHERE id = 1");
    match server_error(&next) {
        Some((code, _)) if GONE.contains(&code) => {}
        _ if next.is_err() => {}
        _ => return Err("the transaction went on after its server had died".into()),
    }
    eventually(BOUND, "new clients are served", || serves(endpoint.port, APP))?;
    expect_equal("the row", value(&mut app(endpoint)?, "SELECT v FROM rows_ WHERE id = 1")?, "1".into())?;
    pool_is_whole(endpoint)
}

fn restarted_between_probes(site: &mut Site, endpoint: &Endpoint) -> Result<(), Failed> {
    run(&mut app(endpoint)?, "SELECT v FROM rows_")?;
    // Only Weir's watching connections are broken, once they are past their start; the server is there all the time. Nobody else asks
    // the server anything, so that its own count of statements tells.
    let watching = format!(
        "SELECT id FROM information_schema.processlist WHERE user = '{}' AND command = 'Sleep' AND info IS NULL",
        MONITOR.0
    );
    let mut root = site.server.admin()?;
    let mut own = 0;
    let mut seen: HashMap<u64, u64> = HashMap::new();
    eventually(BOUND, "Weir has watched by five connections", || {
        own += 1;
        let ids: Vec<u64> = root.query(&watching).unwrap_or_default();
        let counted: Option<(String, u64)> =
            root.query_first("SHOW GLOBAL STATUS LIKE 'Com_select'").unwrap_or_default();
        let asked = counted.map_or(0, |(_, all)| all.saturating_sub(own));
        for id in ids {
            let since = *seen.entry(id).or_insert(asked);
            if asked.saturating_sub(since) > PAST_ITS_START {
                // It may have ended by itself.
                let _ = root.query_drop(format!("KILL {id}"));
            }
        }
        seen.len() >= 5
    })?;
    let log = endpoint.weir.as_ref().map(crate::weir::Weir::log_tail).unwrap_or_default();
    expect_equal("the server was called unusable", log.contains("server is not usable"), false)
}

/// The client uses half of what it may take, and the server then answers when that alone would be over.
fn slow_login(site: &mut Site, endpoint: &Endpoint) -> Result<(), Failed> {
    let mut packets = Packets::new(Stream::connect(&endpoint.address)?);
    let begun = Instant::now();
    let greeting = Greeting::decode(&packets.read()?)?;
    let passed = |bound: Duration| move || begun.elapsed() >= bound;
    eventually(BOUND, "the client has taken its time", passed(LOGIN_BOUND / 2))?;
    site.server.pause();
    let login = Login::new(PLAIN.0, PLAIN.1);
    let capabilities = login.capabilities & greeting.capabilities | caps::LONG_PASSWORD;
    packets.write(&handshake_response(&login, &greeting, capabilities))?;
    let waited = eventually(BOUND, "the server has taken its time", passed(LOGIN_BOUND * 5 / 4));
    site.server.resume();
    waited?;
    match authenticate(&mut packets, &login, capabilities, false)? {
        Set::Ok(_) => Ok(()),
        other => Err(format!("a login expected, got {other:?}").into()),
    }
}

fn hung_server(site: &mut Site, endpoint: &Endpoint) -> Result<(), Failed> {
    let mut waiting = app(endpoint)?;
    run(&mut waiting, "SELECT v FROM rows_")?;
    site.server.pause();
    // The driver's read timeout is the bound of "bounded".
    let ended = run(&mut waiting, "SELECT v FROM rows_");
    let resumed = site.server.resume();
    match server_error(&ended) {
        Some((code, _)) if GONE.contains(&code) => {}
        _ => return Err(format!("an error of a lost server expected, got {ended:?}").into()),
    }
    expect_equal("the server was there", resumed, true)?;
    eventually(BOUND, "new clients are served", || serves(endpoint.port, APP))?;
    pool_is_whole(endpoint)
}

/// More than the sockets' buffers hold: the server has not got the end of a statement, or of a file.
fn hung_before_the_end(site: &mut Site, endpoint: &Endpoint) -> Result<(), Failed> {
    const CHUNK: usize = 1 << 20;
    const CHUNKS: usize = 15;
    run(&mut app(endpoint)?, "CREATE TABLE texts (v LONGTEXT)")?;
    let mut writer = app(endpoint)?;
    run(&mut writer, "SELECT v FROM rows_")?;
    let insert = format!("INSERT INTO texts VALUES ('{}')", "x".repeat(CHUNK * CHUNKS));
    site.server.pause();
    let inserted = run(&mut writer, &insert);
    site.server.resume();
    match server_error(&inserted) {
        Some((code, _)) if GONE.contains(&code) => {}
        _ => return Err(format!("an error of a lost server expected, got {inserted:?}").into()),
    }
    eventually(BOUND, "new clients are served", || serves(endpoint.port, APP))?;
    let mut loader = app(endpoint)?;
    let pid = site.server.pid().ok_or("the server runs")?;
    loader.set_local_infile_handler(Some(LocalInfileHandler::new(move |_, file| {
        file.write_all(b"a first line\n")?;
        kill(Pid::from_raw(pid), Signal::SIGSTOP)?;
        (0..4 * CHUNKS).try_for_each(|_| file.write_all(&[b'x'; CHUNK]))
    })));
    let loaded = run(&mut loader, "LOAD DATA LOCAL INFILE 'large' INTO TABLE texts");
    site.server.resume();
    expect_equal(&format!("it fails: {loaded:?}"), loaded.is_err(), true)?;
    eventually(BOUND, "new clients are served", || serves(endpoint.port, APP))?;
    expect_equal("rows", value(&mut app(endpoint)?, "SELECT COUNT(*) FROM texts")?, "0".into())?;
    pool_is_whole(endpoint)
}

/// What rode on a lane is not sent to connections that were idle when the server stopped to answer.
fn hung_on_lanes(site: &mut Site, endpoint: &Endpoint) -> Result<(), Failed> {
    const READ: &str = "SELECT v FROM rows_ WHERE id = 1";
    // Each leaves a connection that is idle.
    pool_is_whole(endpoint)?;
    let mut riders = (0..4).map(|_| app(endpoint)).collect::<Result<Vec<_>, _>>()?;
    let weir = endpoint.weir.as_ref().ok_or("no Weir")?;
    eventually(BOUND, "the read rides", || {
        let before = weir.counter("weir_backend_lane_rides").unwrap_or_default();
        let read = riders.iter_mut().all(|rider| run(rider, READ).is_ok());
        read && weir.counter("weir_backend_lane_rides").is_ok_and(|rides| rides >= before + 4)
    })?;
    site.server.pause();
    let running: Vec<_> =
        riders.into_iter().map(|mut rider| std::thread::spawn(move || run(&mut rider, READ))).collect();
    let ended: Vec<_> = running.into_iter().map(std::thread::JoinHandle::join).collect();
    site.server.resume();
    for outcome in ended {
        let outcome = outcome.map_err(|_| "a session panicked")?;
        match server_error(&outcome) {
            Some((code, _)) if GONE.contains(&code) => {}
            _ => return Err(format!("an error of a lost server expected, got {outcome:?}").into()),
        }
    }
    eventually(BOUND, "new clients are served", || serves(endpoint.port, APP))?;
    pool_is_whole(endpoint)
}

fn changed_password(site: &mut Site, endpoint: &Endpoint) -> Result<(), Failed> {
    site.server.execute(&format!("ALTER USER '{}'@'%' IDENTIFIED BY 'another'", PLAIN.0))?;
    let refused = connect(endpoint.port, PLAIN, None).and_then(|mut plain| run(&mut plain, "SELECT @@port"));
    expect_error("a user whose password has changed on the server", &refused, 1045, "28000")?;
    pool_is_whole(endpoint)?;
    site.server.create_user(PLAIN.0, PLAIN.1, &[], None)?;
    site.prime()?;
    eventually(BOUND, "the user is served again", || serves(endpoint.port, PLAIN))
}

fn closed_while_idle(site: &mut Site, endpoint: &Endpoint) -> Result<(), Failed> {
    pool_is_whole(endpoint)?;
    let own = format!("SELECT id FROM information_schema.processlist WHERE user = '{}'", APP.0);
    for row in site.server.query(&own)? {
        let id = row.into_iter().next().flatten().ok_or("no id")?;
        site.server.execute(&format!("KILL {id}"))?;
    }
    eventually(BOUND, "the server has closed them", || site.server.query(&own).is_ok_and(|rows| rows.is_empty()))?;
    pool_is_whole(endpoint)
}
