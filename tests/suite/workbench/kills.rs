//! KILL, and clients that go away.

use libtest_mimic::Failed;
use mysql::Conn;
use mysql::prelude::Queryable;
use std::net::Shutdown;

use super::{BOUND, DATABASE, JOIN, JOINED, LARGE, Moment, Settings, Shards, SharedCase, app};
use crate::client::Packets;
use crate::driver::{connect, expect_equal, expect_error, run, server_error, value};
use crate::lab::{APP, Endpoint, eventually};
use crate::login::{self, Login, Opening};

pub(super) const CASES: &[(&str, Settings, SharedCase)] = &[
    ("kill_query_ends_the_statement_and_leaves_its_transaction", &[], kill_query),
    ("kill_ends_the_session_and_what_it_gathers", &[], kill_connection),
    ("kills_at_any_moment_leave_nothing", &[], kills_at_any_moment),
    ("max_execution_time_ends_the_statement", &[], too_long),
    ("a_client_that_goes_leaves_nothing", &[], goes),
    ("a_client_that_does_not_read_leaves_nothing", &[("clients.write_timeout", "\"1s\"")], stops_reading),
];

fn kill_query(shards: &Shards, endpoint: &Endpoint) -> Result<(), Failed> {
    for moment in Moment::ALL {
        for within in [false, true] {
            let mut session = app(endpoint)?;
            let id = session.connection_id();
            if within {
                session.query_drop("BEGIN")?;
                session.query_drop("UPDATE people SET name = CONCAT(name, 'x')")?;
            }
            let mut killer = app(endpoint)?;
            let kill = || Ok(killer.query_drop(format!("KILL QUERY {id}"))?);
            let (ended, mut session) = moment.meet(shards, endpoint, session, kill)?;
            expect_error(&format!("{moment:?}"), &ended, 1317, "70100")?;
            expect_equal("the session goes on", value(&mut session, JOIN)?, JOINED.into())?;
            if within {
                let changed = "SELECT COUNT(*) FROM people WHERE name LIKE '%x'";
                expect_equal("its transaction, too", value(&mut session, changed)?, "50".into())?;
                session.query_drop("ROLLBACK")?;
                expect_equal("rolled back", value(&mut session, changed)?, "0".into())?;
            }
            shards.clean(endpoint)?;
        }
    }
    Ok(())
}

fn kill_connection(shards: &Shards, endpoint: &Endpoint) -> Result<(), Failed> {
    for moment in Moment::ALL {
        let session = app(endpoint)?;
        let id = session.connection_id();
        let mut killer = app(endpoint)?;
        let kill = || Ok(killer.query_drop(format!("KILL {id}"))?);
        let (ended, mut session) = moment.meet(shards, endpoint, session, kill)?;
        let known = server_error(&ended).is_none_or(|(code, _)| code == 1317 || code == 1927);
        expect_equal(&format!("{moment:?}: {ended:?}"), ended.is_err() && known, true)?;
        expect_equal("the session is gone", session.ping().is_err(), true)?;
        shards.clean(endpoint)?;
    }
    expect_equal("others go on", value(&mut app(endpoint)?, JOIN)?, JOINED.into())
}

/// After so many statements of another session, the one that gathers much is killed: its rows are on their way then, or the query runs, or
/// its rows are sent, or it has ended.
fn kills_at_any_moment(shards: &Shards, endpoint: &Endpoint) -> Result<(), Failed> {
    let mut killer = app(endpoint)?;
    let mut session = app(endpoint)?;
    let (mut killed, mut done) = (0, 0);
    for round in 0..40_u32 {
        let id = session.connection_id();
        let running = std::thread::spawn(move || (run(&mut session, LARGE), session));
        for _ in 0..round * 8 {
            killer.query_drop("DO 0")?;
        }
        killer.query_drop(format!("KILL QUERY {id}"))?;
        let (ended, again) = running.join().map_err(|_| Failed::from("the session panicked"))?;
        session = again;
        match &ended {
            Ok(()) => done += 1,
            Err(_) => {
                expect_error(&format!("round {round}"), &ended, 1317, "70100")?;
                killed += 1;
            }
        }
        expect_equal("the session goes on", value(&mut session, JOIN)?, JOINED.into())?;
        if round % 8 == 0 {
            shards.clean(endpoint)?;
        }
    }
    expect_equal(&format!("{killed} were killed, {done} ended"), killed > 0, true)
}

fn too_long(shards: &Shards, endpoint: &Endpoint) -> Result<(), Failed> {
    let mut session = app(endpoint)?;
    let mariadb = shards.sites[0].flavor == weir_local::Flavor::MariaDb;
    let (set, code, state) = match mariadb {
        true => ("SET max_statement_time = 0.2", 1969, "70100"),
        false => ("SET max_execution_time = 200", 3024, "HY000"),
    };
    session.query_drop(set)?;
    let (ended, mut session) = Moment::Running.meet(shards, endpoint, session, || Ok(()))?;
    expect_error("the statement", &ended, code, state)?;
    expect_equal("the session goes on", value(&mut session, JOIN)?, JOINED.into())
}

/// A session whose answers the test reads itself.
pub(super) fn packets(endpoint: &Endpoint) -> Result<Packets, Failed> {
    let login = Login::new(APP.0, APP.1).database(DATABASE);
    match login::open(&endpoint.address, &login)? {
        (packets, Opening::Done(..)) => Ok(packets),
        (_, Opening::Refused(why)) => Err(format!("{why:?}").into()),
    }
}

fn goes(shards: &Shards, endpoint: &Endpoint) -> Result<(), Failed> {
    for moment in Moment::ALL {
        let mut holder = app(endpoint)?;
        holder.query_drop("BEGIN")?;
        holder.query_drop("UPDATE orders SET v = v + 1")?;
        let mut client = packets(endpoint)?;
        client.command(0x03, b"SET innodb_lock_wait_timeout = 100")?;
        client.read()?;
        client.command(0x03, moment.statement().as_bytes())?;
        moment.await_in(shards)?;
        client.stream().shutdown(Shutdown::Both)?;
        drop(client);
        let ran = |site: &crate::lab::Site| super::runs(&site.server, "FOR UPDATE");
        eventually(BOUND, &format!("{moment:?}: its shard waits no more"), || !shards.sites.iter().any(ran))?;
        holder.query_drop("ROLLBACK")?;
        shards.clean(endpoint)?;
    }
    // While rows are sent, and before.
    for read in [0, 1, 5, 100] {
        let mut client = packets(endpoint)?;
        client.command(0x03, LARGE.as_bytes())?;
        for _ in 0..read {
            client.read()?;
        }
        drop(client);
    }
    shards.clean(endpoint)?;
    expect_equal("others go on", value(&mut app(endpoint)?, JOIN)?, JOINED.into())
}

fn stops_reading(shards: &Shards, endpoint: &Endpoint) -> Result<(), Failed> {
    let mut client = packets(endpoint)?;
    // Much more than buffers hold.
    client.command(0x03, b"SELECT a.v, a.v, a.v, a.v, a.v, a.v, b.id FROM large a JOIN few b ON a.k <> b.v")?;
    client.read()?;
    shards.clean(endpoint)?;
    let rest = (0..=super::MANY * 20).try_for_each(|_| client.read().map(drop));
    expect_equal("it was cut off", rest.is_err(), true)?;
    let mut other: Conn = connect(endpoint.port, APP, Some(DATABASE))?;
    expect_equal("others go on", value(&mut other, JOIN)?, JOINED.into())
}
