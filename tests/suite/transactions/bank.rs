//! A bank whose accounts are spread over shards, while Weir and servers are killed: at any time, and between each two steps of a commit.
//!
//! There are two ledgers at once. The tables of one are each shard's own, and its clients say which shard they mean. Those of the other are
//! sharded by hash, and its clients know nothing of shards; some of their transfers are one statement without a transaction.
//!
//! `WEIR_BANK_SECONDS` is how long each test goes on (20), `WEIR_BANK_SHARDS` over how many shards (2).

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use libtest_mimic::Failed;
use mysql::prelude::Queryable;
use weir_local::Flavor;

use super::{BOUND, Shards, app, choose};
use crate::Collector;
use crate::driver::expect_equal;
use crate::lab::{Lab, Site, eventually};
use crate::weir::Weir;

const CLIENTS: u64 = 4;
/// Of each shard.
const ACCOUNTS: u64 = 12;
const BALANCE: u64 = 1_000;
/// So many acknowledged transfers of each kind prove something.
const ENOUGH: usize = 20;

const FILL: [&str; 3] = [
    "CREATE TABLE account (id INT PRIMARY KEY, balance BIGINT NOT NULL) ENGINE=InnoDB",
    "CREATE TABLE transfer (id BIGINT PRIMARY KEY, amount BIGINT NOT NULL) ENGINE=InnoDB",
    "INSERT INTO account SELECT n, 1000 FROM (SELECT 0 n UNION SELECT 1 UNION SELECT 2 UNION SELECT 3 UNION SELECT 4 UNION SELECT 5 \
     UNION SELECT 6 UNION SELECT 7 UNION SELECT 8 UNION SELECT 9 UNION SELECT 10 UNION SELECT 11) numbers",
];

/// Where a process ends that is told to.
const POINTS: [&str; 7] = [
    "before-prepare",
    "mid-prepare",
    "after-decision-row",
    "after-prepare",
    "after-decision",
    "mid-finish",
    "after-finish",
];

/// The sharded ledger's database, and what is in it.
const SHARDED: &str = "t_bank";
const SHARDED_FILL: [&str; 4] = [
    "CREATE DATABASE t_bank",
    "CREATE TABLE t_bank.account (id INT PRIMARY KEY, balance BIGINT NOT NULL) SHARD BY HASH(id)",
    "CREATE TABLE t_bank.transfer (id BIGINT PRIMARY KEY, amount BIGINT NOT NULL) SHARD BY HASH(id)",
    "INSERT INTO t_bank.account VALUES (0, 1000), (1, 1000), (2, 1000), (3, 1000), (4, 1000), (5, 1000), (6, 1000), (7, 1000), \
     (8, 1000), (9, 1000), (10, 1000), (11, 1000)",
];
/// A transfer of one statement is written down twice, the second time with a number that is as much greater: both are there, or none.
const SECOND: u64 = 1_000_000_000;

pub(super) fn collect(tests: &mut Collector) {
    tests.add_for_weir("transactions::bank_survives_kills_at_random", |lab, flavor| bank(lab, flavor, at_random));
    tests.add_for_weir("transactions::bank_survives_kills_between_all_steps", |lab, flavor| {
        bank(lab, flavor, at_each_step)
    });
}

fn setting(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(otherwise)
}

/// Numbers that look random and are the same in each run.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// What the clients know.
#[derive(Default)]
struct Ledger {
    next: AtomicU64,
    acknowledged: Mutex<BTreeSet<u64>>,
    over: AtomicBool,
}

impl Ledger {
    /// How many transfers were acknowledged.
    fn count(&self) -> usize {
        self.acknowledged.lock().expect("nobody panics with it").len()
    }
}

/// What happened, for people who run it for long.
#[derive(Default)]
struct Figures {
    servers_killed: u64,
    weirs_killed: u64,
    /// Branches that recovery has ended, by Weirs that are gone.
    recovered: u64,
    /// By the one that runs, when it was asked last.
    latest: u64,
}

impl Figures {
    fn look(&mut self, weir: &Weir) {
        let ended = |how| weir.counter(&format!("weir_transactions_branches_recovered_{how}"));
        if let (Ok(committed), Ok(rolled_back)) = (ended("commit"), ended("rollback")) {
            self.latest = committed + rolled_back;
        }
    }

    fn weir_has_ended(&mut self) {
        self.weirs_killed += 1;
        self.recovered += std::mem::take(&mut self.latest);
    }

    fn tell(&self, flavor: Flavor, shards: usize, seconds: u64, ledgers: [&Ledger; 2]) {
        let [by_shard, by_key] = ledgers.map(Ledger::count);
        let Figures { servers_killed, weirs_killed, recovered, latest } = self;
        eprintln!(
            "bank: {flavor}, {shards} shards, {seconds} s: {by_shard} transfers by shard and {by_key} by key acknowledged; {servers_killed} \
             servers and {weirs_killed} Weirs killed; {} branches recovered; both totals are what they were",
            recovered + latest
        );
    }
}

/// Goes on while the function says so.
type Chaos = fn(&mut Shards, &mut Weir, &dyn Fn() -> bool, &mut Figures) -> Result<(), Failed>;

fn bank(lab: &Lab, flavor: Flavor, chaos: Chaos) -> Result<(), Failed> {
    let count = setting("WEIR_BANK_SHARDS", 2).max(2) as usize;
    let mut shards = Shards::start(lab, flavor, count, &FILL)?;
    let mut weir = shards.weir(lab)?;
    let (ledger, sharded) = (Ledger::default(), Ledger::default());
    let mut session = app(weir.port)?;
    SHARDED_FILL.iter().try_for_each(|statement| session.query_drop(statement))?;
    drop(session);
    let seconds = setting("WEIR_BANK_SECONDS", 20);
    let end = Instant::now() + Duration::from_secs(seconds);
    let port = weir.port;
    let mut figures = Figures::default();
    let outcome = std::thread::scope(|scope| {
        for client in 0..CLIENTS {
            let (ledger, sharded) = (&ledger, &sharded);
            let mut random = Random(client + 1);
            let by_shard = move |session: &mut mysql::Conn, id| transfer(session, id, count as u64, &mut random);
            scope.spawn(move || transfers(ledger, port, by_shard));
            let mut random = Random(client + 100);
            scope.spawn(move || transfers(sharded, port, move |session, id| by_key(session, id, &mut random)));
        }
        // A slow machine may need longer for as many as prove something.
        let few = || Instant::now() < end + BOUND && [&ledger, &sharded].iter().any(|ledger| ledger.count() < ENOUGH);
        let outcome = chaos(&mut shards, &mut weir, &|| Instant::now() < end || few(), &mut figures);
        ledger.over.store(true, Ordering::Relaxed);
        sharded.over.store(true, Ordering::Relaxed);
        outcome
    });
    let judged = outcome.and_then(|()| settle(&mut shards, &mut weir, &ledger, &mut figures));
    let judged = judged.and_then(|()| settle_sharded(&shards, &weir, &sharded));
    if judged.is_ok() {
        figures.tell(flavor, count, seconds, [&ledger, &sharded]);
    }
    judged.map_err(|failed| {
        let message = failed.message().unwrap_or("failed").to_owned();
        let servers: String = shards.sites.iter().map(state).collect();
        Failed::from(format!("{message}\n---- end of Weir's log ----\n{}{servers}", weir.log_tail()))
    })
}

/// What a failure tells of a server: it may have ended by itself.
fn state(site: &Site) -> String {
    let running = if site.server.is_running() { "running" } else { "not running" };
    format!("\n---- {} is {running}, the end of its log ----\n{}", site.server.name(), site.server.error_log_tail())
}

/// Kills whatever comes to hand.
fn at_random(
    shards: &mut Shards,
    weir: &mut Weir,
    goes_on: &dyn Fn() -> bool,
    figures: &mut Figures,
) -> Result<(), Failed> {
    let mut random = Random(7);
    while goes_on() {
        std::thread::sleep(Duration::from_millis(600 + random.below(1_500)));
        let victim = random.below(shards.sites.len() as u64 + 2) as usize;
        match shards.sites.get_mut(victim) {
            Some(site) => {
                site.server.kill()?;
                site.server.restart()?;
                site.prime()?;
                figures.servers_killed += 1;
            }
            None => {
                figures.look(weir);
                weir.start_again(&[])?;
                figures.weir_has_ended();
            }
        }
        shards.sites.iter_mut().try_for_each(revive)?;
    }
    Ok(())
}

/// Starts a server that has ended by a fault of its own: that is one more death to survive.
fn revive(site: &mut Site) -> Result<(), Failed> {
    if site.server.is_running() {
        return Ok(());
    }
    eprintln!("{}", state(site));
    site.server.restart()?;
    site.prime()
}

/// Weir ends by itself at each of the points in turn.
fn at_each_step(
    shards: &mut Shards,
    weir: &mut Weir,
    goes_on: &dyn Fn() -> bool,
    figures: &mut Figures,
) -> Result<(), Failed> {
    let mut reached = BTreeSet::new();
    for turn in 0.. {
        let point = POINTS[turn % POINTS.len()];
        if turn >= POINTS.len() && !goes_on() {
            break;
        }
        weir.start_again(&[("WEIR_CRASH_AT", &format!("{point}:{}", 3 + turn % 5))])?;
        let ended = eventually(BOUND, "Weir has ended", || {
            figures.look(weir);
            shards.sites.iter_mut().try_for_each(revive).is_ok() && weir.ended().is_some()
        });
        if ended.is_ok() {
            figures.weir_has_ended();
            reached.insert(point);
        }
    }
    expect_equal("points where Weir has ended", reached.len(), POINTS.len())
}

/// A client: transfers until it is over, with a new connection whenever the old one is lost.
fn transfers(ledger: &Ledger, port: u16, mut transfer: impl FnMut(&mut mysql::Conn, u64) -> mysql::Result<()>) {
    while !ledger.over.load(Ordering::Relaxed) {
        let Ok(mut session) = app(port) else {
            std::thread::sleep(Duration::from_millis(20));
            continue;
        };
        while !ledger.over.load(Ordering::Relaxed) {
            let id = ledger.next.fetch_add(1, Ordering::Relaxed);
            match transfer(&mut session, id) {
                Ok(()) => {
                    ledger.acknowledged.lock().expect("nobody panics with it").insert(id);
                }
                // The transaction is open still, or not: a statement of a transaction that failed ends it here.
                Err(mysql::Error::MySqlError(_)) if session.query_drop("ROLLBACK").is_ok() => {}
                Err(_) => break,
            }
        }
    }
}

/// Moves money from one account to another, perhaps on the same shard, and writes it down on both.
fn transfer(session: &mut mysql::Conn, id: u64, shards: u64, random: &mut Random) -> mysql::Result<()> {
    let (from, to) = (random.below(shards) as usize, random.below(shards) as usize);
    let (payer, payee) = (random.below(ACCOUNTS), random.below(ACCOUNTS));
    let amount = 1 + random.below(50);
    session.query_drop("BEGIN")?;
    choose(session, from)?;
    if random.below(2) == 0 {
        let _: Option<i64> =
            session.query_first(format!("SELECT balance FROM account WHERE id = {payer} FOR UPDATE"))?;
    }
    session.query_drop(format!("UPDATE account SET balance = balance - {amount} WHERE id = {payer}"))?;
    session.query_drop(format!("INSERT INTO transfer VALUES ({id}, {amount})"))?;
    let saves = random.below(3) == 0;
    if saves {
        session.query_drop("SAVEPOINT half")?;
    }
    choose(session, to)?;
    if saves {
        session.query_drop(format!("UPDATE account SET balance = balance + 1000000 WHERE id = {payee}"))?;
        session.query_drop("ROLLBACK TO half")?;
    }
    session.query_drop(format!("UPDATE account SET balance = balance + {amount} WHERE id = {payee}"))?;
    session.query_drop(format!("INSERT IGNORE INTO transfer VALUES ({id}, {amount})"))?;
    session.query_drop("COMMIT")
}

/// The same by the accounts' keys: whichever shards they are on.
fn by_key(session: &mut mysql::Conn, id: u64, random: &mut Random) -> mysql::Result<()> {
    let payer = random.below(ACCOUNTS);
    let payee = (payer + 1 + random.below(ACCOUNTS - 1)) % ACCOUNTS;
    let amount = 1 + random.below(50);
    if random.below(3) == 0 {
        session.query_drop(format!(
            "UPDATE {SHARDED}.account SET balance = balance + IF(id = {payer}, -{amount}, {amount}) WHERE id IN ({payer}, {payee})"
        ))?;
        let second = id + SECOND;
        return session
            .query_drop(format!("INSERT INTO {SHARDED}.transfer VALUES ({id}, {amount}), ({second}, {amount})"));
    }
    session.query_drop("BEGIN")?;
    if random.below(2) == 0 {
        let _: Vec<i64> = session.query(format!(
            "SELECT balance FROM {SHARDED}.account WHERE id IN ({payer}, {payee}) ORDER BY id FOR UPDATE"
        ))?;
    }
    session.query_drop(format!("UPDATE {SHARDED}.account SET balance = balance - {amount} WHERE id = {payer}"))?;
    session.query_drop(format!("INSERT INTO {SHARDED}.transfer VALUES ({id}, {amount})"))?;
    if random.below(3) == 0 {
        session.query_drop("SAVEPOINT half")?;
        session.query_drop(format!("UPDATE {SHARDED}.account SET balance = balance + 1000000 WHERE id <= {payee}"))?;
        session.query_drop("ROLLBACK TO half")?;
    }
    session.exec_drop(format!("UPDATE {SHARDED}.account SET balance = balance + {amount} WHERE id = ?"), (payee,))?;
    session.query_drop("COMMIT")
}

/// The same of the sharded ledger, as Weir and as the servers tell it.
fn settle_sharded(shards: &Shards, weir: &Weir, ledger: &Ledger) -> Result<(), Failed> {
    let mut session = app(weir.port)?;
    let total: Option<i64> = session.query_first(format!("SELECT SUM(balance) FROM {SHARDED}.account"))?;
    expect_equal("the total over all shards", total, Some((BALANCE * ACCOUNTS) as i64))?;
    let mut of_shards = 0;
    for shard in 0..shards.sites.len() {
        of_shards +=
            shards.value(shard, &format!("SELECT COALESCE(SUM(balance), 0) FROM {SHARDED}.account"))?.parse::<i64>()?;
    }
    expect_equal("the total of the shards", of_shards, (BALANCE * ACCOUNTS) as i64)?;
    let all: BTreeSet<u64> = session.query(format!("SELECT id FROM {SHARDED}.transfer"))?.into_iter().collect();
    let halves: Vec<&u64> = all.iter().filter(|id| **id >= SECOND && !all.contains(&(**id - SECOND))).collect();
    expect_equal("statements of which a half is there", halves, Vec::new())?;
    let acknowledged = ledger.acknowledged.lock().expect("the clients have ended");
    let lost: Vec<&u64> = acknowledged.difference(&all).collect();
    expect_equal("acknowledged transfers by key that are lost", lost, Vec::new())?;
    if acknowledged.len() < ENOUGH {
        return Err(format!("only {} transfers by key were acknowledged", acknowledged.len()).into());
    }
    Ok(())
}

/// After the last kill: nothing stays prepared, all money is there, and so is every transfer that was acknowledged.
fn settle(shards: &mut Shards, weir: &mut Weir, ledger: &Ledger, figures: &mut Figures) -> Result<(), Failed> {
    weir.start_again(&[])?;
    shards.all_answer(weir)?;
    shards.all_ended("no branch stays prepared")?;
    figures.look(weir);
    let mut total: i64 = 0;
    let mut written = Vec::new();
    for shard in 0..shards.sites.len() {
        total += shards.value(shard, "SELECT SUM(balance) FROM account")?.parse::<i64>()?;
        let rows = shards.sites[shard].server.query(&format!("SELECT id FROM {}.transfer", super::DATABASE))?;
        let ids: BTreeSet<u64> = rows.into_iter().filter_map(|row| row.into_iter().next()??.parse().ok()).collect();
        written.push(ids);
    }
    let acknowledged = ledger.acknowledged.lock().expect("the clients have ended");
    let all: BTreeSet<u64> = written.iter().flatten().copied().collect();
    let lost: Vec<&u64> = acknowledged.difference(&all).collect();
    expect_equal("acknowledged transfers that are lost", lost, Vec::new())?;
    expect_equal("the total", total, (BALANCE * ACCOUNTS) as i64 * shards.sites.len() as i64)?;
    if acknowledged.len() < ENOUGH {
        return Err(format!("only {} transfers were acknowledged", acknowledged.len()).into());
    }
    Ok(())
}
