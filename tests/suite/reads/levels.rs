//! The four levels, while replicas are delayed at random: thousands of writes and reads, in both protocols.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use libtest_mimic::Failed;
use mysql::Conn;
use mysql::prelude::Queryable;

use super::SharedCase;
use super::site::{DATABASE, GroupSite};
use crate::driver::connect;
use crate::lab::{APP, Endpoint};

type Case = (&'static str, &'static [(&'static str, &'static str)], SharedCase);

pub(super) const CASES: &[Case] = &[
    ("session_never_reads_less_than_it_has_written_or_seen", SETTINGS, session),
    ("strong_reads_see_every_acknowledged_commit", SETTINGS, strong),
    ("eventual_reads_are_within_the_lag_bound", EVENTUAL, eventual),
    ("primary_reads_stay_on_the_writer", SETTINGS, primary),
];

const SETTINGS: &[(&str, &str)] = &[("groups.read_wait", "\"200ms\""), ("groups.position_interval", "\"20ms\"")];
/// Long enough for replicas of a slow machine to be within it most of the time.
const LAG: Duration = Duration::from_millis(1_500);
const EVENTUAL: &[(&str, &str)] = &[("groups.max_lag", "\"1500ms\""), ("groups.position_interval", "\"20ms\"")];
/// How long a test goes on until replicas have had their share.
const BOUND: Duration = Duration::from_secs(120);

const SESSIONS: i64 = 10;
const PAIRS: i64 = 250;

/// A client that reads by text or by prepared statement.
struct Client {
    connection: Conn,
    prepared: bool,
}

impl Client {
    fn new(endpoint: &Endpoint, level: &str, prepared: bool) -> Result<Client, Failed> {
        let mut connection = connect(endpoint.port, APP, Some(DATABASE))?;
        connection.query_drop(format!("SET weir_consistency = '{level}'"))?;
        Ok(Client { connection, prepared })
    }

    fn counter(&mut self, id: i64) -> Result<i64, Failed> {
        let value = match self.prepared {
            true => self.connection.exec_first("SELECT v FROM counters WHERE id = ?", (id,))?,
            false => self.connection.query_first(format!("SELECT v FROM counters WHERE id = {id}"))?,
        };
        value.ok_or_else(|| "the counter is gone".into())
    }

    fn set(&mut self, id: i64, v: i64) -> Result<(), Failed> {
        match self.prepared {
            true => self.connection.exec_drop("UPDATE counters SET v = ? WHERE id = ?", (v, id))?,
            false => self.connection.query_drop(format!("UPDATE counters SET v = {v} WHERE id = {id}"))?,
        }
        Ok(())
    }
}

fn reset(site: &GroupSite) -> Result<(), Failed> {
    site.writer.server.execute(&format!("UPDATE {DATABASE}.counters SET v = 0"))?;
    site.writer.server.execute(&format!("DELETE FROM {DATABASE}.log"))?;
    site.catch_up()
}

/// Runs `work` while a client keeps counting up counter 0.
fn while_counting<T>(endpoint: &Endpoint, work: impl FnOnce() -> Result<T, Failed>) -> Result<T, Failed> {
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let counting = scope.spawn(|| {
            let mut client = Client::new(endpoint, "primary", false)?;
            let mut n = 0;
            while !done.load(Ordering::Relaxed) {
                n += 1;
                client.set(0, n)?;
                std::thread::sleep(Duration::from_millis(1));
            }
            Ok::<(), Failed>(())
        });
        let result = work();
        done.store(true, Ordering::Relaxed);
        counting.join().map_err(|_| "the counting client failed")??;
        result
    })
}

/// All sessions at the same time; the first failure counts.
fn all_sessions(work: impl Fn(i64) -> Result<(), Failed> + Sync) -> Result<(), Failed> {
    std::thread::scope(|scope| {
        let work = &work;
        let running: Vec<_> = (1..=SESSIONS).map(|session| scope.spawn(move || work(session))).collect();
        running.into_iter().try_for_each(|session| session.join().map_err(|_| "a session panicked")?)
    })
}

pub(super) fn on_readers(endpoint: &Endpoint) -> Result<u64, Failed> {
    endpoint.weir.as_ref().ok_or("Weir is the target")?.counter("weir_client_reads_on_readers")
}

/// Runs rounds of so many reads until a tenth of a round's were on replicas, and `shown` holds: before, the test has shown nothing. How many
/// replicas take depends on how fast the machine is, what they may answer does not.
fn until_replicas_have_their_share(
    endpoint: &Endpoint,
    reads: i64,
    shown: impl Fn() -> bool,
    round: impl Fn() -> Result<(), Failed>,
) -> Result<(), Failed> {
    let began = Instant::now();
    loop {
        let before = on_readers(endpoint)?;
        round()?;
        let there = on_readers(endpoint)? - before;
        if there * 10 >= reads.unsigned_abs() && shown() {
            return Ok(());
        }
        if began.elapsed() > BOUND {
            return Err(format!("{there} of {reads} reads were on replicas, or none of them was stale").into());
        }
    }
}

fn session(site: &GroupSite, endpoint: &Endpoint) -> Result<(), Failed> {
    let one = |session: i64| {
        let mut client = Client::new(endpoint, "session", session % 2 == 0)?;
        let mut seen = 0;
        for n in 1..=PAIRS {
            match n % 4 {
                0 => {
                    client.connection.query_drop("BEGIN")?;
                    client.set(session, n)?;
                    client.connection.query_drop("COMMIT")?;
                }
                1 => {
                    client.set(session, n)?;
                    client.connection.query_drop(format!("INSERT INTO log (who) VALUES ({session})"))?;
                    let sql = format!("SELECT COUNT(*) FROM log WHERE who = {session}");
                    let inserted: Option<i64> = client.connection.query_first(sql)?;
                    if inserted != Some(n / 4 + 1) {
                        return Err(format!("session {session}: {inserted:?} rows, {} written", n / 4 + 1).into());
                    }
                }
                _ => client.set(session, n)?,
            }
            if n % 7 == 0 {
                client.connection.query_drop("START TRANSACTION READ ONLY")?;
            }
            let own = client.counter(session)?;
            let others = client.counter(0)?;
            if n % 7 == 0 {
                client.connection.query_drop("COMMIT")?;
            }
            if n % 11 == 0 {
                // What was seen on the writer counts too.
                let sql = "SELECT /*+ WEIR_PRIMARY */ v FROM counters WHERE id = 0";
                let there: Option<i64> = client.connection.query_first(sql)?;
                seen = seen.max(there.unwrap_or_default());
            }
            if own != n {
                return Err(format!("session {session} read {own} after it had written {n}").into());
            }
            if n % 11 != 0 && others < seen {
                return Err(format!("session {session} read {others} after it had seen {seen}").into());
            }
            seen = seen.max(others);
        }
        Ok(())
    };
    until_replicas_have_their_share(
        endpoint,
        2 * SESSIONS * PAIRS,
        || true,
        || {
            reset(site)?;
            while_counting(endpoint, || site.with_delays(Duration::from_millis(60), || all_sessions(one)))
        },
    )
}

fn strong(site: &GroupSite, endpoint: &Endpoint) -> Result<(), Failed> {
    // What is acknowledged to the session before is read by this one.
    let acknowledged: Vec<AtomicI64> = (0..=SESSIONS).map(|_| AtomicI64::new(0)).collect();
    let one = |session: i64| {
        let mut client = Client::new(endpoint, "strong", session % 2 == 0)?;
        let neighbour = session % SESSIONS + 1;
        for n in 1..=PAIRS {
            client.set(session, n)?;
            acknowledged[session.unsigned_abs() as usize].store(n, Ordering::SeqCst);
            let known = acknowledged[neighbour.unsigned_abs() as usize].load(Ordering::SeqCst);
            let read = client.counter(neighbour)?;
            if read < known {
                return Err(format!("{read} was read after {known} had been acknowledged to another session").into());
            }
        }
        Ok(())
    };
    until_replicas_have_their_share(
        endpoint,
        SESSIONS * PAIRS,
        || true,
        || {
            reset(site)?;
            acknowledged.iter().for_each(|of| of.store(0, Ordering::SeqCst));
            site.with_delays(Duration::from_millis(60), || all_sessions(one))
        },
    )
}

fn eventual(site: &GroupSite, endpoint: &Endpoint) -> Result<(), Failed> {
    reset(site)?;
    let acknowledged = Mutex::new(Vec::new());
    let lock = || acknowledged.lock().map_err(|_| Failed::from("another session failed"));
    let (done, stale) = (AtomicBool::new(false), AtomicU64::new(0));
    let writing = || {
        let mut client = Client::new(endpoint, "primary", false)?;
        let mut n = 0;
        while !done.load(Ordering::Relaxed) {
            n += 1;
            client.set(0, n)?;
            lock()?.push((Instant::now(), n));
            std::thread::sleep(Duration::from_millis(2));
        }
        Ok::<(), Failed>(())
    };
    let one = |session: i64| {
        let mut client = Client::new(endpoint, "eventual", session % 2 == 0)?;
        for _ in 1..=PAIRS {
            let asked = Instant::now();
            let oldest = asked.checked_sub(LAG).ok_or("the clock has just begun")?;
            let (must, latest) = {
                let all = lock()?;
                let by =
                    |time: Instant| all[..all.partition_point(|(at, _)| *at <= time)].last().map_or(0, |(_, n)| *n);
                (by(oldest), by(asked))
            };
            let read = client.counter(0)?;
            if read < must {
                return Err(format!("{read} was read, {must} had been acknowledged {LAG:?} before").into());
            }
            stale.fetch_add(u64::from(read < latest), Ordering::Relaxed);
            std::thread::sleep(Duration::from_millis(8));
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let writer = scope.spawn(writing);
        // Long enough to fall out of the bound.
        let pause = LAG + Duration::from_millis(300);
        let stale = || stale.load(Ordering::Relaxed) > 0;
        let result = until_replicas_have_their_share(endpoint, SESSIONS * PAIRS, stale, || {
            site.with_delays(pause, || all_sessions(one))
        });
        done.store(true, Ordering::Relaxed);
        writer.join().map_err(|_| "the writing session panicked")??;
        result
    })
}

fn primary(site: &GroupSite, endpoint: &Endpoint) -> Result<(), Failed> {
    reset(site)?;
    let before = on_readers(endpoint)?;
    let mut client = Client::new(endpoint, "primary", false)?;
    for n in 1..=100 {
        client.set(1, n)?;
        let read = client.counter(1)?;
        if read != n {
            return Err(format!("{read} was read after {n} had been written").into());
        }
    }
    let after = on_readers(endpoint)?;
    if after != before { Err(format!("{} reads left the writer", after - before).into()) } else { Ok(()) }
}
