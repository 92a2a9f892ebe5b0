//! The switch that turns lanes off, and what lanes leave for others: their connections and the memory.

use libtest_mimic::Failed;
use mysql::Conn;
use mysql::prelude::Queryable;

use super::load::under_load;
use super::{BOUND, Case, ONE_WORKER, app, counter, counter_reaches, pools, until_it_rides};
use crate::driver::{expect_equal, resident, value};
use crate::lab::{Endpoint, Site, eventually};

pub(super) const CASES: &[Case] = &[
    ("lanes_that_are_switched_off_carry_nothing", &[("lanes.enabled", "false")], carries_nothing),
    (
        "a_pool_of_two_connections_has_none_for_lanes",
        &[("pool.max_connections", "2"), ("pool.queue_timeout", "\"60s\"")],
        carries_nothing,
    ),
    (
        "lanes_leave_half_of_the_connections_to_transactions_and_then_all",
        &[("pool.max_connections", "8"), ("pool.queue_timeout", "\"30s\"")],
        connections_come_back,
    ),
    ("sessions_with_ever_new_settings_leave_no_memory_behind", ONE_WORKER, settings_are_forgotten),
];

fn carries_nothing(_: &Site, endpoint: &Endpoint, database: &str) -> Result<(), Failed> {
    under_load(endpoint, database, 16, &[], |tally| {
        eventually(BOUND, "sessions are answered", || tally.right() >= 2_000)
    })?;
    for name in ["lanes_opened", "lane_rides", "lane_writes", "lane_depths", "lane_unfit", "lane_stalls", "lane_losses"]
    {
        expect_equal(name, counter(endpoint, name)?, 0)?;
    }
    expect_equal("lanes", pools(&mut app(endpoint, database)?, "lanes"), 0)
}

/// Transactions that are open at the same time.
fn transactions(endpoint: &Endpoint, database: &str, count: usize) -> Result<Vec<Conn>, Failed> {
    let mut open = (0..count).map(|_| app(endpoint, database)).collect::<mysql::Result<Vec<_>>>()?;
    for session in &mut open {
        session.query_drop("BEGIN")?;
        expect_equal("a row", value(session, "SELECT v FROM numbers WHERE id = 1")?, "8".into())?;
    }
    Ok(open)
}

fn connections_come_back(_: &Site, endpoint: &Endpoint, database: &str) -> Result<(), Failed> {
    under_load(endpoint, database, 32, &[], |tally| {
        let carried = counter(endpoint, "lane_rides")?;
        counter_reaches(endpoint, "lane_rides", carried + 2_000)?;
        let open = transactions(endpoint, database, 4)?;
        let right = tally.right();
        eventually(BOUND, "others are answered", || tally.right() >= right.saturating_add(2_000))?;
        drop(open);
        counter_reaches(endpoint, "lane_rides", carried + 4_000)
    })?;
    let mut admin = app(endpoint, database)?;
    let mut open = transactions(endpoint, database, 8)?;
    eventually(BOUND, "no lanes beside as many transactions as connections", || pools(&mut admin, "lanes") == 0)?;
    for session in &mut open {
        session.query_drop("COMMIT")?;
    }
    let mut session = app(endpoint, database)?;
    until_it_rides(endpoint, || {
        expect_equal("a row", value(&mut session, "SELECT v FROM numbers WHERE id = 2")?, "15".into())
    })
}

fn settings_are_forgotten(_: &Site, endpoint: &Endpoint, database: &str) -> Result<(), Failed> {
    const SETTINGS: usize = 4_000;
    const GROWTH: u64 = 24 << 20;
    let mut riding = app(endpoint, database)?;
    let mut changing = app(endpoint, database)?;
    let mut ride = || expect_equal("a row", value(&mut riding, "SELECT v FROM numbers WHERE id = 2")?, "15".into());
    until_it_rides(endpoint, &mut ride)?;
    let before = resident(endpoint.pid)?;
    for number in 0..SETTINGS {
        changing.query_drop(format!("SET group_concat_max_len = {}", 1_000 + number))?;
        expect_equal("a row", value(&mut changing, "SELECT v FROM numbers WHERE id = 3")?, "22".into())?;
        if number % 10 == 0 {
            ride()?;
        }
    }
    let now = resident(endpoint.pid)?;
    if now > before + GROWTH {
        return Err(format!("{} MB resident, {} MB before", now >> 20, before >> 20).into());
    }
    Ok(())
}
