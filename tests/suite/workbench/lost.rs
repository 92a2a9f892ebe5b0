//! A server is killed: the workbench's, or one whose rows are gathered.

use libtest_mimic::Failed;
use mysql::prelude::Queryable;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::{BOUND, JOIN, JOINED, Moment, PrivateCase, Settings, Shards, app};
use crate::driver::{expect_equal, server_error, value};
use crate::lab::{Endpoint, eventually};

const SETTINGS: Settings =
    &[("pool.connect_timeout", "\"2s\""), ("monitor.timeout", "\"2s\""), ("monitor.hang_timeout", "\"10s\"")];

pub(super) const CASES: &[(&str, Settings, PrivateCase)] = &[
    ("a_server_that_dies_ends_the_statement", SETTINGS, outside),
    ("a_server_that_dies_ends_the_transaction", SETTINGS, within),
];

fn outside(shards: &mut Shards, endpoint: &Endpoint) -> Result<(), Failed> {
    for moment in Moment::ALL {
        for victim in [0, 1] {
            one(shards, endpoint, moment, victim, false)?;
        }
    }
    Ok(())
}

fn within(shards: &mut Shards, endpoint: &Endpoint) -> Result<(), Failed> {
    for moment in Moment::ALL {
        for victim in [0, 1] {
            one(shards, endpoint, moment, victim, true)?;
        }
    }
    Ok(())
}

fn one(shards: &mut Shards, endpoint: &Endpoint, moment: Moment, victim: usize, within: bool) -> Result<(), Failed> {
    let what = format!("{moment:?}, server {victim}, in a transaction: {within}");
    let works = |what: &str| {
        eventually(BOUND, &format!("{what}: statements work"), || {
            app(endpoint).is_ok_and(|mut session| value(&mut session, JOIN).is_ok_and(|joined| joined == JOINED))
        })
    };
    works(&what)?;
    let mut session = app(endpoint)?;
    if within {
        session.query_drop("BEGIN")?;
        session.query_drop("UPDATE people SET name = CONCAT(name, 'x')")?;
    }
    let pid = shards.sites[victim].server.pid().ok_or("the server has ended")?;
    // A query that runs has all rows: it does not notice that the other server dies.
    let involved = moment == Moment::Gathering;
    let die = || -> Result<(), Failed> { Ok(kill(Pid::from_raw(pid), Signal::SIGKILL)?) };
    let runs_there = std::cell::Cell::new(false);
    let (ended, mut session) = moment.meet(shards, endpoint, session, || {
        runs_there.set(involved || super::runs(&shards.sites[victim].server, "SELECT COUNT(*)%weir fragment 9"));
        die()?;
        if !runs_there.get() {
            // The query is alone on the workbench: it is what ends it.
            shards.end_all();
        }
        Ok(())
    })?;
    let code = server_error(&ended).map(|(code, _)| code);
    let lost = code.is_some_and(|code| [1317, 1927, 2003, 2013].contains(&code));
    expect_equal(&format!("{what}: {ended:?}"), lost || (!runs_there.get() && ended.is_err()), true)?;
    let server = &mut shards.sites[victim].server;
    server.kill()?;
    server.restart()?;
    works(&what)?;
    if within {
        // Nothing of it stays, whatever the session does next.
        let _over = session.query_drop("COMMIT");
    }
    expect_equal(&format!("{what}: the session"), value(&mut session, JOIN)?, JOINED.into())?;
    let changed = "SELECT COUNT(*) FROM people WHERE name LIKE '%x'";
    expect_equal(&format!("{what}: changes"), value(&mut app(endpoint)?, changed)?, "0".into())?;
    shards.clean(endpoint)
}
