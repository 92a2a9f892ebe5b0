//! How Weir starts and stops: wrong configurations are refused whole, SIGTERM lets transactions end.

use std::net::TcpListener;
use std::time::Duration;

use libtest_mimic::Failed;
use mysql::prelude::Queryable;
use nix::sys::signal::Signal;
use weir_local::{PortChoice, free_port};

use crate::Collector;
use crate::driver::{connect, expect_equal};
use crate::lab::{APP, Endpoint, Lab, Site, eventually};
use crate::weir::{config_text, serve_refused};

const BOUND: Duration = Duration::from_secs(30);

/// Adds this module's tests.
pub(crate) fn collect(tests: &mut Collector) {
    tests.add_for_weir("config::errors_are_told_and_nothing_is_bound", wrong_configurations);
    tests.add_for_weir("config::a_file_with_passwords_that_others_can_read_is_refused", readable_configuration);
    tests.add_for_weir("stop::an_open_transaction_may_end", |lab: &Lab, flavor| {
        stop(lab, lab.site(flavor)?, "\"60s\"", transaction_ends)
    });
    tests.add_for_weir("stop::a_transaction_that_does_not_end_is_rolled_back", |lab: &Lab, flavor| {
        stop(lab, lab.site(flavor)?, "\"500ms\"", transaction_stays)
    });
}

fn wrong_configurations(lab: &Lab, flavor: weir_local::Flavor) -> Result<(), Failed> {
    let site = lab.site(flavor)?;
    let dir = lab.directory()?;
    let (port, metrics) = (free_port(PortChoice::Any)?, free_port(PortChoice::Any)?);
    let socket = dir.join("refused.sock");
    let good = config_text(port, metrics, &socket, &[site.server.port()], &[]);
    let cases = [
        ("an unknown key", good.replace("[workers]", "[workers]\nthreds = 1"), "threds"),
        ("a wrong type", good.replace("threads = 2", "threads = \"two\""), "threads"),
        ("a wrong duration", format!("{good}[shutdown]\ngrace = \"soon\"\n"), "grace"),
        ("a wrong address", good.replace(&format!("127.0.0.1:{port}"), "nowhere"), "address"),
        ("no writer", good.replace("role = \"writer\"", "role = \"replica\""), "writer"),
        ("no TOML", format!("{good}\n[[[\n"), "refused.toml"),
    ];
    for (what, text, told) in cases {
        let (status, said) = serve_refused(&dir, &text)?;
        expect_equal(what, status.code(), Some(1))?;
        if !said.contains(told) {
            return Err(format!("{what}: the messages don't say {told:?}:\n{said}").into());
        }
        if said.contains(APP.1) {
            return Err(format!("{what}: the messages hold a password:\n{said}").into());
        }
        TcpListener::bind(("127.0.0.1", port)).map_err(|error| format!("{what}: the port is in use: {error}"))?;
        expect_equal("the socket", socket.exists(), false)?;
    }
    Ok(())
}

fn readable_configuration(lab: &Lab, flavor: weir_local::Flavor) -> Result<(), Failed> {
    use std::os::unix::fs::PermissionsExt;
    let site = lab.site(flavor)?;
    let dir = lab.directory()?;
    let (port, metrics) = (free_port(PortChoice::Any)?, free_port(PortChoice::Any)?);
    let text = config_text(port, metrics, &dir.join("refused.sock"), &[site.server.port()], &[]);
    let file = dir.join("refused.toml");
    std::fs::write(&file, "")?;
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644))?;
    // Writing keeps the mode of a file that is there.
    let (status, said) = serve_refused(&dir, &text)?;
    expect_equal("exit code", status.code(), Some(1))?;
    if said.contains("refused.toml") { Ok(()) } else { Err(format!("the file is not named:\n{said}").into()) }
}

fn stop(lab: &Lab, site: &Site, grace: &str, case: fn(&mut Endpoint) -> Result<(), Failed>) -> Result<(), Failed> {
    let short = if grace.contains("ms") { "t_stop_b" } else { "t_stop_a" };
    site.fill(
        short,
        &["CREATE DATABASE IF NOT EXISTS {db}", "DROP TABLE IF EXISTS {db}.work", "CREATE TABLE {db}.work (id INT)"],
    )?;
    let dir = lab.directory()?;
    let weir = crate::weir::Weir::start(&dir, &site.server, &[("shutdown.grace", grace)])?;
    let stopped = lab.judge_stopped(Endpoint::of(weir), case);
    let rows = site.server.query_value(&format!("SELECT COUNT(*) FROM {short}.work"))?;
    stopped?;
    let expected = if grace.contains("ms") { "0" } else { "2" };
    expect_equal("rows", rows.as_deref(), Some(expected))
}

fn transaction_ends(endpoint: &mut Endpoint) -> Result<(), Failed> {
    let mut open = connect(endpoint.port, APP, Some("t_stop_a"))?;
    let mut idle = connect(endpoint.port, APP, None)?;
    open.query_drop("BEGIN")?;
    open.query_drop("INSERT INTO work VALUES (1)")?;
    let port = endpoint.port;
    let weir = endpoint.weir.as_mut().ok_or("no Weir")?;
    weir.signal(Signal::SIGTERM)?;
    eventually(BOUND, "the idle session is closed", || idle.ping().is_err())?;
    eventually(BOUND, "new connections are refused", || connect(port, APP, None).is_err())?;
    open.query_drop("INSERT INTO work VALUES (2)")?;
    open.query_drop("COMMIT")?;
    expect_equal("exit code", weir.wait_end(BOUND)?.code(), Some(0))
}

fn transaction_stays(endpoint: &mut Endpoint) -> Result<(), Failed> {
    let mut open = connect(endpoint.port, APP, Some("t_stop_b"))?;
    open.query_drop("BEGIN")?;
    open.query_drop("INSERT INTO work VALUES (1)")?;
    let weir = endpoint.weir.as_mut().ok_or("no Weir")?;
    weir.signal(Signal::SIGTERM)?;
    expect_equal("exit code", weir.wait_end(BOUND)?.code(), Some(0))
}
