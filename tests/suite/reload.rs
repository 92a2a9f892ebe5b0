//! Reading the configuration again: what is applied, what is not, and that nobody is dropped by it.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use libtest_mimic::Failed;
use mysql::prelude::Queryable;
use mysql::{Conn, OptsBuilder, SslOpts};
use nix::sys::signal::Signal;

use crate::Collector;
use crate::driver::{connect, expect_equal, expect_error, run, server_error, value};
use crate::lab::{APP, Endpoint, Lab, OPEN, PLAIN, Site, eventually};
use crate::weir::{Weir, config_text, write_config};

const BOUND: Duration = Duration::from_secs(30);

/// Adds this module's tests.
pub(crate) fn collect(tests: &mut Collector) {
    type Case = (&'static str, fn(&Site, &Endpoint) -> Result<(), Failed>);
    let cases: [Case; 7] = [
        ("users_and_rights_are_applied", users),
        ("groups_and_weights_are_applied", groups),
        ("limits_and_timeouts_are_applied_to_whoever_comes", limits),
        ("what_needs_a_restart_is_told_and_stays", restart),
        ("a_wrong_file_changes_nothing", wrong),
        ("sighup_applies_the_log_and_opens_its_file_again", sighup),
        ("under_load_nobody_is_dropped", under_load),
    ];
    for (word, case) in cases {
        tests.add_for_weir(&format!("reload::{word}"), move |lab: &Lab, flavor| {
            let site = lab.site(flavor)?;
            site.fill("t_reload", &["CREATE DATABASE IF NOT EXISTS {db}"])?;
            lab.with_endpoint(site, &[], |endpoint| case(site, endpoint))
        });
    }
    tests.add_for_weir("reload::certificates_are_read_again", certificates);
}

/// Key, outcome, old and new value.
type Change = (String, String, Option<String>, Option<String>);

fn change(key: &str, outcome: &str, old: &str, new: &str) -> Change {
    (key.to_owned(), outcome.to_owned(), Some(old.to_owned()), Some(new.to_owned()))
}

/// Writes the configuration anew, with these settings and `more` at its end.
fn write(site: &Site, weir: &Weir, settings: &[(&str, &str)], more: &str) -> Result<(), Failed> {
    let text = config_text(weir.port, weir.metrics_port, &weir.socket, &[site.server.port()], settings);
    write_config(&weir.config, &format!("{text}{more}"))
}

fn weir(endpoint: &Endpoint) -> Result<&Weir, Failed> {
    endpoint.weir.as_ref().ok_or_else(|| "no Weir".into())
}

fn app(endpoint: &Endpoint) -> mysql::Result<Conn> {
    connect(endpoint.port, APP, Some("t_reload"))
}

fn users(site: &Site, endpoint: &Endpoint) -> Result<(), Failed> {
    let mut admin = app(endpoint)?;
    let mut plain = connect(endpoint.port, PLAIN, None)?;
    let mut open = connect(endpoint.port, OPEN, None)?;
    expect_error("no right yet", &plain.query_drop("WEIR STATUS"), 1227, "42000")?;
    let weir = weir(endpoint)?;
    let settings = [("users.plain.admin", "true"), ("users.plain.max_connections", "2")];
    let more = "[[users]]\nname = \"new\"\npassword = \"a new secret\"\n";
    write(site, weir, &settings, more)?;
    // The password of `open` is another now.
    let text = std::fs::read_to_string(&weir.config)?;
    let changed = text.replace("name = \"open\"\npassword = \"\"", "name = \"open\"\npassword = \"another secret\"");
    expect_equal("a changed file", text == changed, false)?;
    write_config(&weir.config, &changed)?;
    let changes: Vec<Change> = admin.query("WEIR RELOAD")?;
    for expected in [
        change("users.plain.admin", "applied", "false", "true"),
        change("users.plain.max_connections", "applied", "0", "2"),
        change("users.open.password", "applied", "***", "*** (new content)"),
        ("users.new.password".into(), "applied".into(), None, Some("***".into())),
    ] {
        expect_equal(&format!("{expected:?} in {changes:?}"), changes.contains(&expected), true)?;
    }
    expect_equal("secrets", format!("{changes:?}").contains("secret"), false)?;
    plain.query_drop("WEIR STATUS")?;
    open.query_drop("SELECT 1")?;
    expect_error("the old password", &connect(endpoint.port, OPEN, None), 1045, "28000")?;
    // The servers have the last word.
    expect_error(
        "the servers have the old one",
        &connect(endpoint.port, ("open", "another secret"), None),
        1045,
        "28000",
    )?;
    expect_error("the servers don't know it", &connect(endpoint.port, ("new", "a new secret"), None), 1045, "28000")?;
    site.server.create_user("new", "a new secret", &[], None)?;
    connect(endpoint.port, ("new", "a new secret"), None)?;
    site.server.execute("DROP USER new@'%'")?;
    let _second = connect(endpoint.port, PLAIN, None)?;
    expect_error("a third connection", &connect(endpoint.port, PLAIN, None), 1203, "42000")?;
    expect_equal("a second reload", admin.query::<Change, _>("WEIR RELOAD")?, Vec::new())?;
    // And back: the right is taken from a session that has it.
    write(site, weir, &[], "")?;
    admin.query_drop("WEIR RELOAD")?;
    expect_error("no right any more", &plain.query_drop("WEIR STATUS"), 1227, "42000")?;
    // What was done behind Weir's back counts soon.
    eventually(BOUND, "a user that has gone", || {
        server_error(&connect(endpoint.port, ("new", "a new secret"), None)).is_some_and(|(code, _)| code == 1045)
    })
}

fn groups(site: &Site, endpoint: &Endpoint) -> Result<(), Failed> {
    let mut admin = app(endpoint)?;
    expect_equal("at first", value(&mut admin, "SELECT @@weir_consistency")?, "session".into())?;
    let settings = [("groups.consistency", "\"primary\""), ("servers.writer.weight", "5")];
    write(site, weir(endpoint)?, &settings, "")?;
    let changes: Vec<Change> = admin.query("WEIR RELOAD")?;
    let applied = changes.iter().all(|(_, outcome, _, _)| outcome == "applied");
    expect_equal(&format!("all of it is applied: {changes:?}"), applied && changes.len() >= 2, true)?;
    let row: Option<mysql::Row> = admin.query_first("WEIR SHOW SERVERS LIKE 'writer'")?;
    expect_equal("the weight", row.and_then(|row| row.get::<u64, _>("weight")), Some(5))?;
    let mut newcomer = app(endpoint)?;
    expect_equal("a new session's", value(&mut newcomer, "SELECT @@weir_consistency")?, "primary".into())?;
    expect_equal("an old session's", value(&mut admin, "SELECT @@weir_consistency")?, "session".into())?;
    write(site, weir(endpoint)?, &[], "")?;
    admin.query_drop("WEIR RELOAD")?;
    expect_equal("back", value(&mut app(endpoint)?, "SELECT @@weir_consistency")?, "session".into())
}

fn limits(site: &Site, endpoint: &Endpoint) -> Result<(), Failed> {
    let mut admin = app(endpoint)?;
    let mut kept: Vec<Conn> = (0..4).map(|_| app(endpoint)).collect::<Result<_, _>>()?;
    for (number, session) in kept.iter_mut().enumerate() {
        session.query_drop(format!("CREATE TEMPORARY TABLE mine AS SELECT {number} AS n"))?;
    }
    let weir = weir(endpoint)?;
    let settings = [
        ("pool.max_connections", "3"),
        ("pool.max_user_connections", "2"),
        ("pool.queue_timeout", "\"200ms\""),
        ("clients.max_connections", "6"),
        ("clients.wait_timeout", "\"3s\""),
        ("clients.max_allowed_packet", "\"2KiB\""),
    ];
    write(site, weir, &settings, "")?;
    let changes: Vec<Change> = admin.query("WEIR RELOAD")?;
    expect_equal(&format!("{changes:?}"), changes.len(), settings.len())?;
    expect_equal(&format!("{changes:?}"), changes.iter().all(|change| change.1 == "applied"), true)?;
    // Those that have a connection keep it, beyond the limit.
    for (number, session) in kept.iter_mut().enumerate() {
        expect_equal("a temporary table", value(session, "SELECT n FROM mine")?, number.to_string())?;
    }
    expect_error("one connection more", &run(&mut admin, "SELECT @@port"), 1203, "42000")?;
    kept.truncate(1);
    eventually(BOUND, "there is room again", || run(&mut admin, "SELECT @@port").is_ok())?;
    eventually(BOUND, "idle connections beyond the limit are closed", || {
        let rows = admin.query("WEIR SHOW POOLS").unwrap_or_default();
        let numbers =
            |name: &str| rows.iter().filter_map(|row: &mysql::Row| row.get::<u64, _>(name)).collect::<Vec<_>>();
        numbers("limit") == [3, 3] && numbers("open").iter().sum::<u64>() <= 3
    })?;
    expect_error("a large packet", &admin.query_drop(format!("SELECT '{}'", "x".repeat(4096))), 1153, "08S01")?;
    let mut others = Vec::new();
    eventually(BOUND, "clients beyond the limit are refused", || match app(endpoint) {
        Ok(client) => {
            others.push(client);
            others.len() > 10
        }
        Err(_) => true,
    })?;
    // In place of a greeting: drivers read no SQLSTATE there.
    let refused = server_error(&app(endpoint)).map(|(code, _)| code);
    expect_equal("one client more", refused, Some(1040))?;
    drop(kept);
    eventually(BOUND, "idle sessions are closed", || {
        weir.metrics().is_ok_and(|text| text.lines().any(|line| line == "weir_sessions 0"))
    })
}

fn restart(site: &Site, endpoint: &Endpoint) -> Result<(), Failed> {
    let mut admin = app(endpoint)?;
    let weir = weir(endpoint)?;
    write(site, weir, &[("listen.backlog", "17"), ("pool.max_queue", "9")], "")?;
    let backlog = change("listen.backlog", "needs restart", "4096", "17");
    let changes: Vec<Change> = admin.query("WEIR RELOAD")?;
    expect_equal("changes", changes, vec![backlog.clone(), change("pool.max_queue", "applied", "10000", "9")])?;
    let shown = |admin: &mut Conn, key: &str| -> Result<Option<(String, String, String)>, Failed> {
        Ok(admin.query_first(format!("WEIR SHOW CONFIG LIKE '{key}'"))?)
    };
    let in_effect = Some(("listen.backlog".into(), "4096".into(), "default".into()));
    expect_equal("the value in effect", shown(&mut admin, "listen.backlog")?, in_effect)?;
    let applied = Some(("pool.max_queue".into(), "9".into(), "file".into()));
    expect_equal("the value in effect", shown(&mut admin, "pool.max_queue")?, applied)?;
    expect_equal("told again", admin.query::<Change, _>("WEIR RELOAD")?, vec![backlog])
}

fn wrong(site: &Site, endpoint: &Endpoint) -> Result<(), Failed> {
    let mut admin = app(endpoint)?;
    let weir = weir(endpoint)?;
    write(site, weir, &[("pool.max_queue", "9"), ("pool.max_quue", "9")], "")?;
    match admin.query_drop("WEIR RELOAD") {
        Err(mysql::Error::MySqlError(error)) if error.code == 1210 => {
            let told = error.message.contains("max_quue") && error.message.contains("did you mean");
            expect_equal(&error.message, told && !error.message.contains(APP.1), true)?;
        }
        other => return Err(format!("error 1210 expected: {other:?}").into()),
    }
    weir.signal(Signal::SIGHUP)?;
    eventually(BOUND, "the log tells it too", || weir.log_tail().contains("the configuration was not changed"))?;
    let queue: Option<(String, String, String)> = admin.query_first("WEIR SHOW CONFIG LIKE 'pool.max\\_queue'")?;
    expect_equal("the value", queue, Some(("pool.max_queue".into(), "10000".into(), "default".into())))
}

fn sighup(site: &Site, endpoint: &Endpoint) -> Result<(), Failed> {
    let mut kept = app(endpoint)?;
    let weir = weir(endpoint)?;
    let file = weir.config.with_file_name("own.log");
    let in_file = |path: &Path, text: &str| std::fs::read_to_string(path).is_ok_and(|log| log.contains(text));
    let path = format!("\"{}\"", file.display());
    write(site, weir, &[("log.file", &path), ("log.format", "\"json\""), ("log.level", "\"debug\"")], "")?;
    weir.signal(Signal::SIGHUP)?;
    eventually(BOUND, "the log is in the file, in JSON", || in_file(&file, "\"key\":\"log.format\""))?;
    eventually(BOUND, "debug events are logged", || {
        let _broken_login = std::net::TcpStream::connect(("127.0.0.1", endpoint.port));
        in_file(&file, "\"level\":\"DEBUG\"")
    })?;
    // As a tool that rotates logs does.
    let rotated = file.with_extension("1");
    std::fs::rename(&file, &rotated)?;
    weir.signal(Signal::SIGHUP)?;
    eventually(BOUND, "the file is opened again", || in_file(&file, "the configuration was read again"))?;
    kept.query_drop("SELECT 1")?;
    Ok(())
}

fn under_load(site: &Site, endpoint: &Endpoint) -> Result<(), Failed> {
    let weir = weir(endpoint)?;
    let (end, statements, errors) = (AtomicBool::new(false), AtomicUsize::new(0), Mutex::new(Vec::new()));
    let load = |number: usize| -> Result<(), Failed> {
        let mut session = app(endpoint)?;
        session.query_drop(format!("CREATE TEMPORARY TABLE mine AS SELECT {number} AS n"))?;
        let mut shared = app(endpoint)?;
        while !end.load(Ordering::Relaxed) {
            expect_equal("a temporary table", value(&mut session, "SELECT n FROM mine")?, number.to_string())?;
            run(&mut shared, "SELECT COUNT(*) FROM information_schema.schemata")?;
            app(endpoint)?.query_drop("SELECT @@port")?;
            statements.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    };
    let outcome = std::thread::scope(|scope| {
        for number in 0..4 {
            let (load, errors) = (&load, &errors);
            scope.spawn(move || {
                if let Err(error) = load(number) {
                    errors.lock().expect("no panic").push(error.message().unwrap_or_default().to_owned());
                }
            });
        }
        let outcome = (0..20).try_for_each(|round| {
            let max = if round % 2 == 0 { "8" } else { "50" };
            write(site, weir, &[("pool.max_connections", max), ("clients.wait_timeout", "\"1h\"")], "")?;
            let before = statements.load(Ordering::Relaxed);
            weir.signal(Signal::SIGHUP)?;
            eventually(BOUND, "the clients go on", || statements.load(Ordering::Relaxed) > before + 8)
        });
        end.store(true, Ordering::Relaxed);
        outcome
    });
    expect_equal("errors", errors.into_inner().unwrap_or_default(), Vec::<String>::new())?;
    outcome
}

/// A new certificate and its key at these paths; whoever trusts it takes no other.
fn make_certificate(certificate: &Path, key: &Path) -> Result<(), Failed> {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()])?;
    std::fs::write(certificate, made.cert.pem())?;
    write_config(key, &made.signing_key.serialize_pem())
}

fn connect_trusting(port: u16, authority: &Path) -> mysql::Result<Conn> {
    // The driver takes the process's; another test may have chosen it before.
    let _chosen_already = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let tls =
        SslOpts::default().with_root_cert_path(Some(authority.to_path_buf())).with_danger_skip_domain_validation(true);
    let options = OptsBuilder::new()
        .ip_or_hostname(Some("127.0.0.1"))
        .tcp_port(port)
        .user(Some(APP.0))
        .pass(Some(APP.1))
        .prefer_socket(false)
        .ssl_opts(Some(tls));
    Conn::new(options)
}

fn certificates(lab: &Lab, flavor: weir_local::Flavor) -> Result<(), Failed> {
    let site = lab.site(flavor)?;
    let dir = lab.directory()?;
    let (certificate, key, first) = (dir.join("cert.pem"), dir.join("key.pem"), dir.join("first.pem"));
    make_certificate(&certificate, &key)?;
    std::fs::copy(&certificate, &first)?;
    let (certificate_text, key_text) = (format!("\"{}\"", certificate.display()), format!("\"{}\"", key.display()));
    let settings =
        [("tls.mode", "\"files\""), ("tls.certificate", certificate_text.as_str()), ("tls.key", key_text.as_str())];
    lab.with_endpoint(site, &settings, |endpoint| {
        let mut kept = connect_trusting(endpoint.port, &first)?;
        make_certificate(&certificate, &key)?;
        expect_equal("another certificate", connect_trusting(endpoint.port, &certificate).is_err(), true)?;
        let mut admin = app(endpoint).or_else(|_| connect(endpoint.port, APP, None))?;
        let changes: Vec<Change> = admin.query("WEIR RELOAD")?;
        let keys: Vec<_> = changes.iter().map(|change| (change.0.as_str(), change.1.as_str())).collect();
        expect_equal("changes", keys, vec![("tls.certificate", "applied"), ("tls.key", "applied")])?;
        connect_trusting(endpoint.port, &certificate)?.query_drop("SELECT 1")?;
        expect_equal("the first certificate", connect_trusting(endpoint.port, &first).is_err(), true)?;
        kept.query_drop("SELECT 1")?;
        // A key that does not belong to the certificate changes nothing.
        make_certificate(&dir.join("other.pem"), &key)?;
        expect_error("another key", &admin.query_drop("WEIR RELOAD"), 1210, "HY000")?;
        connect_trusting(endpoint.port, &certificate).map(drop).map_err(Failed::from)
    })
}
