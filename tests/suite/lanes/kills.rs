//! KILL of sessions whose statement rides, and clients that go away while theirs does. A statement is held up by a lock
//! on its table, taken directly at the server.

use libtest_mimic::Failed;
use mysql::Conn;
use mysql::prelude::Queryable;

use super::{BOUND, Case, Raw, Settings, app, counter, counter_reaches, pools, until_it_rides};
use crate::driver::{connect, expect_equal, expect_error, run, server_error, value};
use crate::lab::{APP, Endpoint, Site, eventually};

/// Nothing is moved away from a lane that is held up: what waits on it is the test's to end.
const PATIENT: Settings =
    &[("workers.threads", "1"), ("lanes.stall_timeout", "\"600s\""), ("monitor.hang_timeout", "\"600s\"")];
/// What waits behind another statement goes elsewhere soon.
const IMPATIENT: Settings = &[("workers.threads", "1"), ("lanes.stall_timeout", "\"100ms\"")];

/// Soon, but not before another statement is behind it.
const UNHURRIED: Settings = &[("workers.threads", "1"), ("lanes.stall_timeout", "\"2s\"")];

pub(super) const CASES: &[Case] = &[
    ("kill_query_of_a_riding_session_is_1317_before_the_reply", PATIENT, kill_query),
    ("kill_of_a_riding_session_ends_it_before_the_reply", PATIENT, kill_connection),
    ("statements_behind_one_that_is_held_up_are_run_elsewhere", UNHURRIED, neighbours),
    ("kill_query_of_the_statement_that_holds_a_lane_up_ends_it_on_the_server", IMPATIENT, kill_head),
    ("client_that_vanishes_while_riding_leaves_nothing_behind", IMPATIENT, vanished),
];

const HELD: &str = "SELECT v FROM held WHERE id = 1";
const HELD_TOO: &str = "SELECT v FROM held WHERE id = 2";

/// A session of this test. Else a statement that waits for a lock would end after a second, which the suite's servers
/// are told to allow.
fn patient(endpoint: &Endpoint, database: &str) -> Result<Conn, Failed> {
    let mut session = app(endpoint, database)?;
    session.query_drop("SET SESSION lock_wait_timeout = 600")?;
    Ok(session)
}

/// Two sessions whose reads of both tables ride, on the same lane.
fn two_that_ride(endpoint: &Endpoint, database: &str) -> Result<[Conn; 2], Failed> {
    let mut sessions = [patient(endpoint, database)?, patient(endpoint, database)?];
    until_it_rides(endpoint, || {
        for session in &mut sessions {
            expect_equal("a row", value(session, HELD)?, "11".into())?;
            expect_equal("a row", number(session, 5)?, 36)?;
        }
        Ok(())
    })?;
    Ok(sessions)
}

fn number(session: &mut Conn, id: u32) -> Result<u32, Failed> {
    let text = format!("SELECT v FROM numbers WHERE id = {id}");
    session.query_first(text)?.ok_or_else(|| "no row".into())
}

/// A lock on the table, held directly at the server.
struct Lock(Conn);

impl Lock {
    fn take(site: &Site, database: &str) -> Result<Self, Failed> {
        let mut holder = connect(site.server.port(), APP, Some(database))?;
        holder.query_drop("SET SESSION lock_wait_timeout = 60")?;
        holder.query_drop("LOCK TABLES held WRITE")?;
        Ok(Self(holder))
    }

    fn release(mut self) -> Result<(), Failed> {
        self.0.query_drop("UNLOCK TABLES")?;
        Ok(())
    }
}

/// Lets the session read the locked table, and runs `during` once that waits on a lane; then how the read ended.
fn while_it_rides<T>(
    endpoint: &Endpoint,
    mut victim: Conn,
    during: impl FnOnce(&mut Conn) -> Result<T, Failed>,
) -> Result<(mysql::Result<()>, Conn, T), Failed> {
    let mut admin = connect(endpoint.port, APP, None)?;
    std::thread::scope(|scope| {
        let reading = scope.spawn(move || {
            let ended = run(&mut victim, HELD);
            (ended, victim)
        });
        let done =
            eventually(BOUND, "the read rides", || pools(&mut admin, "riding") > 0).and_then(|()| during(&mut admin));
        let (ended, victim) = reading.join().map_err(|_| Failed::from("the session panicked"))?;
        done.map(|done| (ended, victim, done))
    })
}

/// The lock is gone: both sessions read both tables, and ride again.
fn all_is_well(endpoint: &Endpoint, database: &str, sessions: &mut [Conn]) -> Result<(), Failed> {
    let mut admin = connect(endpoint.port, APP, None)?;
    eventually(BOUND, "nothing rides", || pools(&mut admin, "riding") == 0)?;
    for id in 0..20 {
        for session in &mut *sessions {
            expect_equal("a number", number(session, id)?, 7 * id + 1)?;
            expect_equal("the first", value(session, HELD)?, "11".into())?;
            expect_equal("the second", value(session, HELD_TOO)?, "22".into())?;
        }
    }
    let mut another = patient(endpoint, database)?;
    until_it_rides(endpoint, || expect_equal("a number", number(&mut another, 9)?, 64))
}

fn kill_query(site: &Site, endpoint: &Endpoint, database: &str) -> Result<(), Failed> {
    let [victim, other] = two_that_ride(endpoint, database)?;
    let lock = Lock::take(site, database)?;
    let id = victim.connection_id();
    let (ended, victim, ()) =
        while_it_rides(endpoint, victim, |admin| Ok(admin.query_drop(format!("KILL QUERY {id}"))?))?;
    expect_error("the killed read", &ended, 1317, "70100")?;
    let mut admin = connect(endpoint.port, APP, None)?;
    expect_equal("statements whose replies are still to come", pools(&mut admin, "riding"), 1)?;
    expect_equal("statements killed on the server", counter(endpoint, "lane_kills")?, 0)?;
    lock.release()?;
    all_is_well(endpoint, database, &mut [victim, other])
}

fn kill_connection(site: &Site, endpoint: &Endpoint, database: &str) -> Result<(), Failed> {
    let [victim, other] = two_that_ride(endpoint, database)?;
    let lock = Lock::take(site, database)?;
    let id = victim.connection_id();
    let (ended, mut victim, ()) =
        while_it_rides(endpoint, victim, |admin| Ok(admin.query_drop(format!("KILL {id}"))?))?;
    if ended.is_ok() || server_error(&ended).is_some_and(|(code, _)| code != 1317 && code != 1927) {
        return Err(format!("the killed session's read ended with {ended:?}").into());
    }
    expect_equal("the killed session goes on", victim.ping().is_ok(), false)?;
    lock.release()?;
    all_is_well(endpoint, database, &mut [other])
}

fn neighbours(site: &Site, endpoint: &Endpoint, database: &str) -> Result<(), Failed> {
    let [victim, mut other] = two_that_ride(endpoint, database)?;
    let stalls = counter(endpoint, "lane_stalls")?;
    let lock = Lock::take(site, database)?;
    let (ended, victim, ()) = while_it_rides(endpoint, victim, |admin| {
        (0..50).try_for_each(|id| expect_equal("a number", number(&mut other, id)?, 7 * id + 1))?;
        counter_reaches(endpoint, "lane_stalls", stalls + 1)?;
        eventually(BOUND, "WEIR SHOW POOLS shows the stalls", || pools(admin, "stalls") > 0)?;
        lock.release()
    })?;
    expect_equal("the read that was held up", ended.is_ok(), true)?;
    all_is_well(endpoint, database, &mut [victim, other])
}

fn kill_head(site: &Site, endpoint: &Endpoint, database: &str) -> Result<(), Failed> {
    let [victim, mut other] = two_that_ride(endpoint, database)?;
    let kills = counter(endpoint, "lane_kills")?;
    let lock = Lock::take(site, database)?;
    let id = victim.connection_id();
    let (ended, victim, ()) = while_it_rides(endpoint, victim, |admin| {
        (0..50).try_for_each(|id| expect_equal("a number", number(&mut other, id)?, 7 * id + 1))?;
        Ok(admin.query_drop(format!("KILL QUERY {id}"))?)
    })?;
    expect_error("the killed read", &ended, 1317, "70100")?;
    counter_reaches(endpoint, "lane_kills", kills + 1)?;
    nobody_waits(site, database)?;
    lock.release()?;
    all_is_well(endpoint, database, &mut [victim, other])
}

/// No statement waits for the lock on the server any more.
fn nobody_waits(site: &Site, database: &str) -> Result<(), Failed> {
    let waiting = format!(
        "SELECT COUNT(*) FROM information_schema.processlist WHERE db = '{database}' AND info LIKE 'SELECT v FROM held%'"
    );
    eventually(BOUND, "the server runs the statement no more", || {
        site.server.query_value(&waiting).is_ok_and(|count| count.as_deref() == Some("0"))
    })
}

fn vanished(site: &Site, endpoint: &Endpoint, database: &str) -> Result<(), Failed> {
    let mut client = Raw::open(endpoint, database)?;
    client.ask("SET SESSION lock_wait_timeout = 600")?;
    until_it_rides(endpoint, || client.ask(HELD).map(drop))?;
    let mut other = patient(endpoint, database)?;
    let kills = counter(endpoint, "lane_kills")?;
    let lock = Lock::take(site, database)?;
    let mut admin = connect(endpoint.port, APP, None)?;
    client.packets.command(0x03, HELD.as_bytes())?;
    eventually(BOUND, "the read rides", || pools(&mut admin, "riding") > 0)?;
    // With no COM_QUIT.
    drop(client);
    (0..20).try_for_each(|id| expect_equal("a number", number(&mut other, id)?, 7 * id + 1))?;
    counter_reaches(endpoint, "lane_kills", kills + 1)?;
    nobody_waits(site, database)?;
    lock.release()?;
    all_is_well(endpoint, database, &mut [other])
}
