//! Servers, connections, sessions and Weir itself fail in the middle of batches: no acknowledged statement is lost, none is done twice, what was
//! refused is not done, and no client hangs.

use std::sync::atomic::Ordering;
use std::time::Duration;

use libtest_mimic::Failed;
use mysql::prelude::Queryable;
use weir_local::Flavor;

use super::cuts::{Cut, Cutter};
use super::ledger::{DATABASE, LINKED, Load, OTHERS, site, under_load};
use super::{BOUND, HOT, rode, seed};
use crate::Collector;
use crate::driver::connect;
use crate::faults::WATCHFUL;
use crate::lab::{APP, Endpoint, Lab, Site, eventually};
use crate::script::Dice;
use crate::weir::Weir;

/// How long a server that is hung for good is stopped: Weir gives it up before.
const LONG: Duration = Duration::from_millis(2_500);
const SHORT: Duration = Duration::from_millis(150);
/// Statements that are acknowledged between two faults.
const BETWEEN: u64 = 60;

/// What happens to servers and Weirs, which may go.
type Harm = (&'static str, fn(&mut Site, &mut Endpoint, &Load, &mut Dice) -> Result<(), Failed>);
/// What happens to sessions, also to those of the server itself; and what there is besides the tables of all.
type Trouble = (&'static str, &'static [&'static str], fn(&Site, &Endpoint, &Load, &mut Dice) -> Result<(), Failed>);

const HARMS: [Harm; 3] = [
    ("killed_servers_lose_and_double_nothing", killed_servers),
    ("stopped_servers_lose_and_double_nothing", stopped_servers),
    ("killed_weirs_lose_and_double_nothing", killed_weirs),
];
const TROUBLES: [Trouble; 3] = [
    ("servers_that_become_read_only_do_nothing_by_halves", &[], read_only),
    ("killed_members_and_threads_are_alone", &[], kills),
    ("locks_and_deadlocks_from_outside_are_errors_of_their_statements", LINKED, locks),
];

pub(super) fn collect(tests: &mut Collector) {
    for (word, more, case) in TROUBLES {
        tests.add(&format!("hot_rows::{word}"), move |lab: &Lab, flavor| {
            let site = site(lab, flavor, more)?;
            lab.with_endpoint(&site, &[WATCHFUL, HOT].concat(), |endpoint| {
                let mut dice = Dice::new(seed());
                let hints = endpoint.weir.is_some();
                let load = under_load(&endpoint.address, hints, seed(), |load| case(&site, endpoint, load, &mut dice))?;
                settle(&site, endpoint, load, &format!("{flavor}, {word}"))
            })
        });
    }
    for (word, case) in HARMS {
        tests.add_for_weir(&format!("hot_rows::{word}"), move |lab: &Lab, flavor| {
            let mut site = site(lab, flavor, &[])?;
            let weir = Weir::start(&lab.directory()?, &site.server, &[WATCHFUL, HOT].concat())?;
            lab.judge(Endpoint::of(weir), |endpoint| {
                let mut dice = Dice::new(seed());
                let address = endpoint.address.clone();
                let load = under_load(&address, true, seed(), |load| case(&mut site, endpoint, load, &mut dice))?;
                settle(&site, endpoint, load, &format!("{flavor}, {word}"))
            })
        });
    }
    tests.add_for_weir("hot_rows::connections_cut_between_any_two_packets_lose_and_double_nothing", cuts);
}

/// Weir goes, so that nothing is on its way to the server any more, and what is there is judged.
fn settle(site: &Site, endpoint: &mut Endpoint, load: Load, what: &str) -> Result<(), Failed> {
    rode(endpoint, 5)?;
    if let Some(weir) = &mut endpoint.weir {
        weir.start_again(&[])?;
    }
    load.settle(&site.server, what)
}

fn killed_servers(site: &mut Site, _: &mut Endpoint, load: &Load, dice: &mut Dice) -> Result<(), Failed> {
    for _ in 0..3 {
        load.more(BETWEEN + dice.below(100) as u64)?;
        site.server.kill()?;
        site.server.restart()?;
        site.prime()?;
    }
    load.more(BETWEEN)
}

fn stopped_servers(site: &mut Site, _: &mut Endpoint, load: &Load, dice: &mut Dice) -> Result<(), Failed> {
    for time in [SHORT, LONG, SHORT, LONG] {
        load.more(BETWEEN + dice.below(100) as u64)?;
        site.server.pause();
        std::thread::sleep(time);
        site.server.resume();
    }
    load.more(BETWEEN)
}

fn read_only(site: &Site, _: &Endpoint, load: &Load, dice: &mut Dice) -> Result<(), Failed> {
    for _ in 0..3 {
        load.more(BETWEEN + dice.below(100) as u64)?;
        let refused = load.refused.load(Ordering::SeqCst);
        // It waits for the transactions that are being committed.
        let mut root = site.server.admin()?;
        root.query_drop("SET SESSION lock_wait_timeout = 60")?;
        root.query_drop("SET GLOBAL read_only = 1")?;
        let met = eventually(BOUND, "a client is refused", || load.refused.load(Ordering::SeqCst) > refused);
        site.server.execute("SET GLOBAL read_only = 0")?;
        met?;
    }
    load.more(BETWEEN)
}

fn kills(site: &Site, endpoint: &Endpoint, load: &Load, dice: &mut Dice) -> Result<(), Failed> {
    let mut admin = connect(endpoint.port, APP, None)?;
    let mut killed = 0;
    for turn in 0..60 {
        load.more(8)?;
        let id = dice.pick(&load.ids).load(Ordering::SeqCst);
        match turn % 4 {
            // It may have ended, or not run anything.
            0 | 1 if id != 0 => drop(admin.query_drop(format!("KILL QUERY {id}"))),
            2 if id != 0 => drop(admin.query_drop(format!("KILL {id}"))),
            _ => killed += kill_threads(site, if dice.percent(50) { "KILL QUERY" } else { "KILL" })?,
        }
    }
    if killed == 0 {
        return Err("the server ran nothing whenever its threads were to be killed".into());
    }
    load.more(BETWEEN)
}

/// On the server, the threads that run a statement of the test, or a batch: how many there were.
fn kill_threads(site: &Site, verb: &str) -> Result<u64, Failed> {
    // MySQL's table of this name in information_schema holds a mutex of all sessions, which such a load may keep from it for minutes.
    let schema = match site.flavor {
        Flavor::MariaDb => "information_schema",
        Flavor::MySql => "performance_schema",
    };
    let running = format!("SELECT id FROM {schema}.processlist WHERE db = '{DATABASE}' AND command <> 'Sleep'");
    let mut killed = 0;
    for id in site.server.query(&running)?.into_iter().filter_map(|row| row.into_iter().next().flatten()).take(2) {
        // It may have ended by itself.
        killed += u64::from(site.server.execute(&format!("{verb} {id}")).is_ok());
    }
    Ok(killed)
}

fn locks(site: &Site, _: &Endpoint, load: &Load, dice: &mut Dice) -> Result<(), Failed> {
    for _ in 0..2 {
        load.more(BETWEEN)?;
        let refused = load.refused.load(Ordering::SeqCst);
        let mut holder = outside(site)?;
        holder.query_drop("BEGIN")?;
        let _: Option<i64> = holder.query_first("SELECT c FROM tallied WHERE id = 1 FOR UPDATE")?;
        eventually(BOUND, "a statement has waited too long", || load.refused.load(Ordering::SeqCst) > refused)?;
        holder.query_drop("COMMIT")?;
    }
    let mut met = 0;
    for _ in 0..12 {
        load.more(BETWEEN)?;
        met += u64::from(deadlock(site, dice.below(OTHERS as usize))?);
    }
    if met == 0 {
        return Err("no deadlock was met".into());
    }
    load.more(BETWEEN)
}

/// A transaction with more changes than a batch has, so that the batch is the victim: true if there was a deadlock that it has survived.
fn deadlock(site: &Site, other: usize) -> Result<bool, Failed> {
    let before = deadlocks(site)?;
    let mut heavy = outside(site)?;
    heavy.query_drop("BEGIN")?;
    let numbers = vec!["(1)"; 500].join(",");
    for _ in 0..4 {
        heavy.query_drop(format!("INSERT INTO bulk VALUES {numbers}"))?;
    }
    let _: Option<i64> = heavy.query_first(format!("SELECT n FROM others WHERE id = {other} FOR UPDATE"))?;
    eventually(BOUND, "a statement waits for it", || {
        // (Of `innodb_trx` the servers keep what they have read, until nobody reads it for a while.)
        let waits = site.server.query("SHOW GLOBAL STATUS LIKE 'Innodb_row_lock_current_waits'").unwrap_or_default();
        waits.into_iter().flatten().any(|cell| cell.is_some_and(|text| text.parse().is_ok_and(|count: u64| count > 0)))
    })?;
    let got: mysql::Result<Option<i64>> = heavy.query_first("SELECT c FROM tallied WHERE id = 1 FOR UPDATE");
    // It may have been the victim itself, or waited too long.
    let won = got.is_ok();
    heavy.query_drop("ROLLBACK")?;
    Ok(won && deadlocks(site)? > before)
}

/// How many there were, as the server counts them.
fn deadlocks(site: &Site) -> Result<u64, Failed> {
    let query = match site.flavor {
        Flavor::MariaDb => {
            "SELECT variable_value FROM information_schema.global_status WHERE variable_name = 'Innodb_deadlocks'"
        }
        Flavor::MySql => "SELECT count FROM information_schema.innodb_metrics WHERE name = 'lock_deadlocks'",
    };
    Ok(site.server.query_value(query)?.ok_or("no count of deadlocks")?.parse()?)
}

fn outside(site: &Site) -> Result<mysql::Conn, Failed> {
    let mut session = site.server.admin()?;
    session.query_drop(format!("USE {DATABASE}"))?;
    Ok(session)
}

fn killed_weirs(_: &mut Site, endpoint: &mut Endpoint, load: &Load, dice: &mut Dice) -> Result<(), Failed> {
    for _ in 0..4 {
        load.more(BETWEEN + dice.below(200) as u64)?;
        rode(endpoint, 5)?;
        endpoint.weir.as_mut().ok_or("no Weir")?.start_again(&[])?;
    }
    load.more(BETWEEN)
}

/// How many connections are cut.
const CUTS: u64 = 30;

fn cuts(lab: &Lab, flavor: Flavor) -> Result<(), Failed> {
    let site = site(lab, flavor, &[])?;
    let cutter = Cutter::start(site.server.port())?;
    let settings = [WATCHFUL, HOT, &[("server_tls.mode", "\"off\"")]].concat();
    let weir = Weir::start_at(&lab.directory()?, cutter.port, &settings)?;
    lab.judge(Endpoint::of(weir), |endpoint| {
        let mut dice = Dice::new(seed());
        let load = under_load(&endpoint.address, true, seed(), |load| {
            let mut number = 0;
            while cutter.cut() < CUTS {
                if number == 4 * CUTS {
                    return Err(format!("only {} connections were cut", cutter.cut()).into());
                }
                // A connection may rest before its position is reached: it is cut some time later, or never.
                number += 1;
                load.more(10)?;
                cutter.arm(Cut::draw(&mut dice));
                load.more(20)?;
            }
            load.more(BETWEEN)
        })?;
        settle(&site, endpoint, load, &format!("{flavor}, {CUTS} cuts"))
    })
}
