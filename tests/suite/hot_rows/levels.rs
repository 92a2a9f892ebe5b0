//! With replicas: a client that reads right after its write, which may have ridden in a batch, sees it.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use libtest_mimic::Failed;
use weir_local::Flavor;

use super::client::{Client, with_values};
use super::model::{CONTENT, TABLES};
use super::{HOT, make_durable, rode, seconds, seed};
use crate::client::{Address, Fields};
use crate::lab::{APP, Endpoint, Lab};
use crate::login::{Login, caps};
use crate::reads::GroupSite;
use crate::reply::Set;
use crate::script::Dice;
use crate::weir::Weir;

const CLIENTS: usize = 24;
const DATABASE: &str = "t_hot_levels";
const SETTINGS: &[(&str, &str)] = &[("groups.read_wait", "\"200ms\""), ("groups.position_interval", "\"20ms\"")];
const COUNT: &str = "UPDATE counters SET c = LAST_INSERT_ID(c + ?) WHERE id = ?";
const LOOK: &str = "SELECT c FROM counters WHERE id = ?";
/// How long a level goes on until replicas have had reads.
const BOUND: Duration = Duration::from_secs(60);

/// What all clients know of the two counters.
#[derive(Default)]
struct Known {
    /// The greatest value that anybody was told.
    acknowledged: [AtomicI64; 2],
    /// How much was sent, told or not.
    sent: [AtomicI64; 2],
    reads: AtomicU64,
}

pub(super) fn levels(lab: &Lab, flavor: Flavor) -> Result<(), Failed> {
    let site = GroupSite::start(flavor, &lab.directory()?)?;
    site.writer.fill(DATABASE, &["CREATE DATABASE {db}"])?;
    let mut root = site.writer.server.admin()?;
    let use_it = format!("USE {DATABASE}");
    for statement in [use_it.as_str()].iter().chain(TABLES).chain(CONTENT) {
        mysql::prelude::Queryable::query_drop(&mut root, statement)?;
    }
    make_durable(&site.writer.server)?;
    let weir = Weir::start_before(&lab.directory()?, &site.servers(), &[SETTINGS, HOT].concat())?;
    lab.judge(Endpoint::of(weir), |endpoint| {
        site.all_take_reads(endpoint)?;
        let known = Known::default();
        for level in ["session", "strong"] {
            at(endpoint, &known, level)?;
        }
        positions(&site, endpoint)?;
        rode(endpoint, 200)
    })
}

/// A client that tracks positions is told one that has its write.
fn positions(site: &GroupSite, endpoint: &Endpoint) -> Result<(), Failed> {
    let replica = Address::Tcp(site.replicas[0].port());
    let (set, wait) = match site.flavor {
        Flavor::MariaDb => ("SET session_track_system_variables = 'last_gtid'", "SELECT MASTER_GTID_WAIT('{}', 30)"),
        Flavor::MySql => ("SET session_track_gtids = OWN_GTID", "SELECT WAIT_FOR_EXECUTED_GTID_SET('{}', 30)"),
    };
    let login =
        Login { capabilities: caps::BASE | caps::DEPRECATE_EOF | caps::SESSION_TRACK, ..Login::new(APP.0, APP.1) };
    let login = login.database(DATABASE);
    let one = || {
        let mut client = Client::open(&endpoint.address, &login)?;
        let mut reader = Client::open(&replica, &login)?;
        client.ask(set)?;
        for _ in 0..20 {
            let sets = client.ask(&with_values(COUNT, &[1, 1]))?;
            let Some(Set::Ok(ok)) = sets.first() else { return Err(format!("{sets:?}").into()) };
            let position = ok.track.iter().find_map(position).ok_or_else(|| format!("no position: {sets:?}"))?;
            reader.ask(&wait.replace("{}", &position))?;
            let seen = look(&mut reader, 0)?;
            if seen < ok.insert_id.cast_signed() {
                return Err(format!("at {position}, counter 1 is {seen}, where {} was told", ok.insert_id).into());
            }
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let running: Vec<_> = (0..8).map(|_| scope.spawn(one)).collect();
        running.into_iter().try_for_each(|client| client.join().map_err(|_| Failed::from("a client panicked"))?)
    })
}

/// The position in a record of the session's state: a GTID of its own (MySQL), or the variable that has it (MariaDB).
fn position((kind, data): &(u8, Vec<u8>)) -> Option<String> {
    const GTIDS: u8 = 3;
    const VARIABLE: u8 = 0;
    let mut fields = Fields(data);
    if *kind == GTIDS {
        fields.int(1).ok()?;
    } else if *kind != VARIABLE || fields.lenenc_bytes().ok()? != b"last_gtid" {
        return None;
    }
    String::from_utf8(fields.lenenc_bytes().ok()?.to_vec()).ok().filter(|position| !position.is_empty())
}

/// Rounds at a level, until replicas have had some of the reads.
fn at(endpoint: &Endpoint, known: &Known, level: &str) -> Result<(), Failed> {
    let began = Instant::now();
    let on_readers = || endpoint.weir.as_ref().ok_or("no Weir")?.counter("weir_client_reads_on_readers");
    let (first, before) = (known.reads.load(Ordering::Relaxed), on_readers()?);
    loop {
        round(endpoint, known, level)?;
        let there = on_readers()? - before;
        if there >= 100 {
            let reads = known.reads.load(Ordering::Relaxed) - first;
            println!("hot rows: at {level}, {there} of {reads} reads behind writes were on replicas");
            return Ok(());
        }
        if began.elapsed() > BOUND {
            return Err(format!("only {there} reads were on replicas").into());
        }
    }
}

fn round(endpoint: &Endpoint, known: &Known, level: &str) -> Result<(), Failed> {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let over = &over;
        let one = |number| move || write_and_read(endpoint, known, level, number, over);
        let running: Vec<_> = (0..CLIENTS).map(|number| scope.spawn(one(number))).collect();
        std::thread::sleep(seconds());
        over.store(true, Ordering::Relaxed);
        running.into_iter().try_for_each(|client| client.join().map_err(|_| "a client panicked")?)
    })
}

fn write_and_read(
    endpoint: &Endpoint,
    known: &Known,
    level: &str,
    number: usize,
    over: &AtomicBool,
) -> Result<(), Failed> {
    let mut dice = Dice::new(seed() + number as u64);
    let tracks = if number.is_multiple_of(4) { caps::SESSION_TRACK } else { 0 };
    let login = Login { capabilities: caps::BASE | caps::DEPRECATE_EOF | tracks, ..Login::new(APP.0, APP.1) };
    let mut client = Client::open(&endpoint.address, &login.database(DATABASE))?;
    client.ask(&format!("SET weir_consistency = '{level}'"))?;
    let mut own = [0; 2];
    while !over.load(Ordering::Relaxed) {
        // One of them is hotter.
        let row = usize::from(dice.percent(20));
        let by = 1 + dice.below(3) as i64;
        known.sent[row].fetch_add(by, Ordering::SeqCst);
        let values = [by, row as i64 + 1];
        let sets = match number % 3 {
            0 => client.execute(COUNT, &values)?,
            1 => client.ask(&format!("begin;{};commit", with_values(COUNT, &values)))?.split_off(1),
            _ => client.ask(&with_values(COUNT, &values))?,
        };
        match sets.first() {
            Some(Set::Ok(ok)) => own[row] = ok.insert_id.cast_signed(),
            // Somebody was in the way; the transaction of a text is open.
            Some(set) if matches!(set.error_code(), Some(1205 | 1213)) => {
                client.ask("ROLLBACK")?;
            }
            other => return Err(format!("{other:?}").into()),
        }
        known.acknowledged[row].fetch_max(own[row], Ordering::SeqCst);
        // The other row, too: what this client has written there is older.
        let row = if dice.percent(70) { row } else { 1 - row };
        let told = known.acknowledged[row].load(Ordering::SeqCst);
        let least = if level == "strong" { told } else { own[row] };
        let seen = look(&mut client, row)?;
        let most = known.sent[row].load(Ordering::SeqCst);
        if seen < least || seen > most {
            return Err(format!(
                "at level {level}, counter {row}: read {seen}, where {least} was acknowledged and {most} was sent"
            )
            .into());
        }
        known.reads.fetch_add(1, Ordering::Relaxed);
    }
    Ok(())
}

fn look(client: &mut Client, row: usize) -> Result<i64, Failed> {
    let sets = client.ask(&with_values(LOOK, &[row as i64 + 1]))?;
    let cell = sets.first().map(Set::rows).and_then(|rows| rows.into_iter().flatten().next().flatten());
    let cell = cell.ok_or_else(|| format!("no value: {sets:?}"))?;
    Ok(std::str::from_utf8(&cell)?.parse()?)
}
