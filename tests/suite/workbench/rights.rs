//! Rows are gathered with the rights of the client's user: what he may not read, he does not get.

use libtest_mimic::Failed;
use mysql::Conn;

use super::{BOUND, DATABASE, JOIN, JOINED, Settings, Shards, SharedCase, app};
use crate::driver::{connect, expect_equal, run, server_error, value};
use crate::lab::{Endpoint, eventually};

pub(super) const CASES: &[(&str, Settings, SharedCase)] =
    &[("rows_are_gathered_with_the_users_own_rights", &[], rights)];

const PASSWORD: &str = "a secret";

/// A user with these rights on both servers, logged in.
pub(super) fn with(shards: &Shards, endpoint: &Endpoint, name: &str, grants: &[&str]) -> Result<Conn, Failed> {
    for site in &shards.sites {
        site.server.execute(&format!("DROP USER IF EXISTS {name}"))?;
        site.server.create_user(name, PASSWORD, grants, None)?;
    }
    let mut session = None;
    eventually(BOUND, "the user can log in", || {
        session = connect(endpoint.port, (name, PASSWORD), Some(DATABASE)).ok();
        session.is_some()
    })?;
    session.ok_or_else(|| "no session".into())
}

/// The code and the message of a statement's error.
pub(super) fn refused(session: &mut Conn, statement: &str) -> Result<(u16, String), Failed> {
    let ended = run(session, statement);
    match server_error(&ended) {
        Some((code, _)) => Ok((code, format!("{ended:?}"))),
        None => Err(format!("{statement}: {ended:?}").into()),
    }
}

fn rights(shards: &Shards, endpoint: &Endpoint) -> Result<(), Failed> {
    run(&mut app(endpoint)?, JOIN)?;
    let all = &["SELECT, CREATE TEMPORARY TABLES ON `t\\_bench`.*"];
    expect_equal("what it takes", value(&mut with(shards, endpoint, "b_all", all)?, JOIN)?, JOINED.into())?;
    // Without one of the tables.
    let one = &["SELECT ON `t_bench`.orders", "CREATE TEMPORARY TABLES ON `t\\_bench`.*"];
    let mut session = with(shards, endpoint, "b_one", one)?;
    let (code, message) = refused(&mut session, JOIN)?;
    expect_equal(&message, (code, message.contains("people"), message.contains("weir")), (1142, true, false))?;
    expect_equal("what it may", value(&mut session, "SELECT COUNT(*) FROM orders")?, "200".into())?;
    // Without one of the columns.
    let columns =
        &["SELECT ON `t_bench`.orders", "SELECT (id, name) ON `t_bench`.people", all[0].trim_start_matches("SELECT, ")];
    let mut session = with(shards, endpoint, "b_columns", columns)?;
    expect_equal("the columns that it may read", value(&mut session, JOIN)?, JOINED.into())?;
    for statement in [
        "SELECT p.secret FROM orders o JOIN people p ON o.person = p.id",
        "SELECT o.id FROM orders o JOIN people p ON o.person = p.id WHERE p.secret LIKE 'h%'",
        "SELECT COUNT(*) FROM orders o WHERE EXISTS (SELECT 1 FROM people p WHERE o.person = p.id AND p.secret > '')",
        "SELECT * FROM orders o JOIN people p ON o.person = p.id",
    ] {
        let (code, message) = refused(&mut session, statement)?;
        let known = [1142, 1143].contains(&code) && !message.contains("hidden") && !message.contains("weir");
        expect_equal(&format!("{statement}: {message}"), known, true)?;
    }
    expect_equal("the session goes on", value(&mut session, JOIN)?, JOINED.into())?;
    // Without temporary tables.
    let mut session = with(shards, endpoint, "b_none", &["SELECT ON `t\\_bench`.*"])?;
    let (code, message) = refused(&mut session, JOIN)?;
    let told = message.contains("b_none") && message.contains("GRANT CREATE TEMPORARY TABLES");
    expect_equal(&message, (code, told), (1044, true))?;
    expect_equal("the session goes on", value(&mut session, "SELECT COUNT(*) FROM orders")?, "200".into())?;
    for site in &shards.sites {
        for name in ["b_all", "b_one", "b_columns", "b_none"] {
            site.server.execute(&format!("DROP USER {name}"))?;
        }
    }
    shards.clean(endpoint)
}
