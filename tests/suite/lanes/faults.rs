//! Servers and connections that fail under full lanes: each client gets its own reply or an error, never another's
//! reply, and everything heals.

use std::time::Duration;

use libtest_mimic::Failed;
use mysql::prelude::Queryable;

use super::load::{Tally, under_load};
use super::{BOUND, CONTENT, Case, app, counter, counter_reaches, pools};
use crate::Collector;
use crate::driver::{connect, expect_equal, value};
use crate::faults::{GONE, WATCHFUL};
use crate::lab::{APP, Endpoint, Lab, Site, eventually};
use crate::weir::Weir;

const SESSIONS: usize = 64;
const DATABASE: &str = "t_lane_faults";
const POOL: u64 = 16;
/// What a client whose own connection was killed on the server may get besides: 1317, or 1927 of MariaDB.
const KILLED: [u16; 8] = [2013, 2006, 2003, 2002, 1040, 1053, 1317, 1927];

/// Tests on the shared server.
pub(super) const CASES: &[Case] = &[
    ("full_lanes_give_each_session_its_own_replies", &[("pool.max_connections", "16")], full_lanes),
    ("killed_lane_connections_are_hardly_noticed", WATCHFUL, killed_connections),
];

type PrivateCase = (&'static str, fn(&mut Site, &Endpoint) -> Result<(), Failed>);

/// Adds the tests that have a server of their own.
pub(super) fn collect(tests: &mut Collector) {
    let cases: [PrivateCase; 2] = [
        ("killed_server_under_full_lanes_is_an_error_or_the_own_reply", killed_server),
        ("paused_server_under_full_lanes_is_an_error_or_the_own_reply", paused_server),
    ];
    for (word, case) in cases {
        tests.add_for_weir(&format!("lanes::{word}"), move |lab: &Lab, flavor| {
            let directory = lab.directory()?;
            let mut site = Site::start(flavor, &directory, "server", &[])?;
            site.fill(DATABASE, CONTENT)?;
            let weir = Weir::start(&directory, &site.server, WATCHFUL)?;
            lab.judge(Endpoint::of(weir), |endpoint| case(&mut site, endpoint))
        });
    }
}

/// Whether a new client is served.
fn serves(endpoint: &Endpoint) -> bool {
    app(endpoint, DATABASE).is_ok_and(|mut client| value(&mut client, "SELECT v FROM numbers WHERE id = 1").is_ok())
}

/// The server's own list of Weir's connections for this test's sessions.
fn connections(database: &str) -> String {
    format!("SELECT id FROM information_schema.processlist WHERE db = '{database}' AND user = '{}'", APP.0)
}

/// Waits for this many more right replies, most of them from lanes.
fn lanes_carry(endpoint: &Endpoint, tally: &Tally, more: u64) -> Result<(), Failed> {
    let (right, carried) = (tally.right(), counter(endpoint, "lane_rides")?);
    eventually(BOUND, "sessions are answered", || tally.right() >= right.saturating_add(more))?;
    counter_reaches(endpoint, "lane_rides", carried + more / 2)
}

/// After the load: nothing rides, no connection is lost to the pool, and all of them can be had at the same time.
fn all_is_well(site: &Site, endpoint: &Endpoint, database: &str) -> Result<(), Failed> {
    let mut admin = app(endpoint, database)?;
    eventually(BOUND, "nothing rides", || pools(&mut admin, "riding") == 0)?;
    let mut clients = (0..POOL).map(|_| app(endpoint, database)).collect::<mysql::Result<Vec<_>>>()?;
    for client in &mut clients {
        client.query_drop("BEGIN")?;
        expect_equal("a row", value(client, "SELECT v FROM numbers WHERE id = 1")?, "8".into())?;
    }
    for client in &mut clients {
        client.query_drop("COMMIT")?;
    }
    let mut counted = (0, 0);
    let same = eventually(BOUND, "the pool has all connections that the server has", || {
        let there = site.server.query(&connections(database)).unwrap_or_default();
        counted = (pools(&mut admin, "open"), there.len() as u64);
        counted.0 == counted.1
    });
    same.map_err(|_| format!("open in the pool and on the server: {counted:?}").into())
}

fn full_lanes(site: &Site, endpoint: &Endpoint, database: &str) -> Result<(), Failed> {
    const RIDES: u64 = 12_000;
    let before = counter(endpoint, "lane_rides")?;
    let mut shown = false;
    let tally = under_load(endpoint, database, SESSIONS, &[], |tally| {
        let mut admin = connect(endpoint.port, APP, None)?;
        eventually(BOUND * 2, "lanes carry statements", || {
            shown |= pools(&mut admin, "riding") > 0;
            let rode = counter(endpoint, "lane_rides").is_ok_and(|now| now >= before + RIDES);
            tally.right() == u64::MAX || rode && shown
        })
    })?;
    let rode = counter(endpoint, "lane_rides")? - before;
    // Nearly all; fewer where the machine is too busy for runs to be short.
    if rode < tally.right() / 2 {
        return Err(format!("{rode} of {} statements rode", tally.right()).into());
    }
    all_is_well(site, endpoint, database)
}

fn killed_server(site: &mut Site, endpoint: &Endpoint) -> Result<(), Failed> {
    under_load(endpoint, DATABASE, SESSIONS, &GONE, |tally| {
        for _ in 0..2 {
            lanes_carry(endpoint, tally, 2_000)?;
            let failed = tally.failed();
            site.server.kill()?;
            eventually(BOUND, "each session has heard of it", || {
                tally.failed() >= failed.saturating_add(SESSIONS as u64)
            })?;
            site.server.restart()?;
            site.prime()?;
            eventually(BOUND, "new clients are served", || serves(endpoint))?;
        }
        lanes_carry(endpoint, tally, 2_000)
    })?;
    all_is_well(site, endpoint, DATABASE)
}

fn killed_connections(site: &Site, endpoint: &Endpoint, database: &str) -> Result<(), Failed> {
    let tally = under_load(endpoint, database, SESSIONS, &KILLED, |tally| {
        for _ in 0..10 {
            let losses = counter(endpoint, "lanes_closed")?;
            let mut carried = tally.right();
            eventually(BOUND, "a lane's connection is killed", || {
                // Killed faster than they are opened on a slow machine, none would become a lane's.
                if tally.right() < carried.saturating_add(100) {
                    return false;
                }
                carried = tally.right();
                for row in site.server.query(&connections(database)).unwrap_or_default() {
                    if let Some(id) = row.into_iter().next().flatten() {
                        // It may have ended by itself.
                        let _ = site.server.execute(&format!("KILL {id}"));
                    }
                }
                counter(endpoint, "lanes_closed").is_ok_and(|now| now > losses)
            })?;
            let carried = tally.right();
            eventually(BOUND, "sessions are answered again", || tally.right() >= carried.saturating_add(500))?;
        }
        lanes_carry(endpoint, tally, 2_000)
    })?;
    // Statements that rode are run again elsewhere: hardly any client hears of it.
    if tally.failed() > tally.right() / 10 {
        return Err(format!("{} errors beside {} replies", tally.failed(), tally.right()).into());
    }
    expect_equal("lanes were lost under statements", counter(endpoint, "lane_losses")? > 0, true)?;
    all_is_well(site, endpoint, database)
}

fn paused_server(site: &mut Site, endpoint: &Endpoint) -> Result<(), Failed> {
    let mut watcher = connect(endpoint.port, APP, None)?;
    under_load(endpoint, DATABASE, SESSIONS, &GONE, |tally| {
        lanes_carry(endpoint, tally, 2_000)?;
        let stalls = counter(endpoint, "lane_stalls")?;
        site.server.pause();
        // Several times the bound after which a statement is taken to hold its lane up.
        std::thread::sleep(Duration::from_millis(600));
        expect_equal("the server was there", site.server.resume(), true)?;
        lanes_carry(endpoint, tally, 2_000)?;
        // Single statements may be held up on a busy machine; blamed for the server, the heads would drive away all others.
        let stalls = counter(endpoint, "lane_stalls")? - stalls;
        expect_equal("most statements stayed on their lanes", stalls < SESSIONS as u64 / 2, true)?;
        counter_reaches(endpoint, "lane_depths", 1)?;
        let failed = tally.failed();
        site.server.pause();
        let noticed = eventually(BOUND, "the server is called hung", || {
            let servers: Vec<mysql::Row> = watcher.query("WEIR SHOW SERVERS").unwrap_or_default();
            servers.iter().any(|row| row.get::<String, _>("health").as_deref() == Some("hung"))
        });
        let heard = eventually(BOUND, "each session has heard of it", || {
            tally.failed() >= failed.saturating_add(SESSIONS as u64)
        });
        expect_equal("the server was there", site.server.resume(), true)?;
        noticed.and(heard)?;
        eventually(BOUND, "new clients are served", || serves(endpoint))?;
        lanes_carry(endpoint, tally, 2_000)
    })?;
    all_is_well(site, endpoint, DATABASE)
}
