//! Clients that count on hot rows while something is broken, and what must be there afterwards.
//!
//! Each statement has a mark of its own, which it puts behind those that its row has: the row is the ledger of its changes, in their order. So it
//! can be told of every statement whether it was done: exactly once if it was acknowledged, never if it was refused, and at most once if
//! nobody was told.

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use libtest_mimic::Failed;
use mysql::prelude::Queryable;
use weir_local::{Flavor, Server};

use super::client::{Client, PATIENCE, hinted, is_hang, with_values};
use super::order::NEVER;
use super::{BOUND, OwnCase};
use crate::client::Address;
use crate::driver::expect_equal;
use crate::lab::{APP, Lab, Site, eventually};
use crate::login::Login;
use crate::reply::Set;
use crate::script::Dice;

pub(super) const DATABASE: &str = "t_hot_faults";
pub(super) const CLIENTS: usize = 32;
/// Rows that are counted; most statements are about the first.
const ROWS: usize = 2;
/// Rows that a statement may lock besides.
pub(super) const OTHERS: i64 = 5;
const STOCK: i64 = 1_000_000_000;

/// Also after a restart.
const DURABLE: &[&str] = &["innodb-flush-log-at-trx-commit=1", "sync-binlog=1"];

pub(super) const FILL: &[&str] = &[
    "CREATE DATABASE {db}",
    "CREATE TABLE {db}.tallied (id INT PRIMARY KEY, c BIGINT NOT NULL, other INT NULL, marks LONGTEXT CHARACTER SET ascii NOT NULL)",
    "CREATE TABLE {db}.seckill (id INT DEFAULT NULL, num BIGINT DEFAULT NULL)",
    "INSERT INTO {db}.tallied VALUES (1, 0, NULL, ''), (2, 0, NULL, '')",
    "INSERT INTO {db}.seckill VALUES (1, 1000000000)",
];
/// What makes each statement on `tallied` lock one of a few other rows besides: what deadlocks are made of.
pub(super) const LINKED: &[&str] = &[
    "CREATE TABLE {db}.others (id INT PRIMARY KEY, n BIGINT NOT NULL)",
    "INSERT INTO {db}.others VALUES (0, 0), (1, 0), (2, 0), (3, 0), (4, 0)",
    "ALTER TABLE {db}.tallied ADD FOREIGN KEY (other) REFERENCES {db}.others (id)",
    "CREATE TABLE {db}.bulk (n INT)",
];

const TALLY: &str = "UPDATE tallied SET c = c + 1, marks = CONCAT(marks, ?, ','), other = ? WHERE id = ?";
const UPSERT: &str = "INSERT INTO tallied VALUES (?, 0, 0, '') \
                      ON DUPLICATE KEY UPDATE c = c + 1, marks = CONCAT(marks, ?, ','), other = ?";
const SELL: &str = "UPDATE seckill SET num = num - ? WHERE id = ? AND num > 1";

/// Errors behind which a statement may have been done.
const MAY_BE_DONE: [u16; 6] = [2013, 2006, 1053, 1927, 1180, 1105];

/// How a statement ended for its client.
#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    Acknowledged,
    Refused(u16),
    Unknown,
}

/// A statement: its mark (0 if it has sold), its row, when it was sent and when it ended.
struct Entry {
    mark: i64,
    row: i64,
    sent: u64,
    ended: u64,
    end: End,
    /// How it was sent, for a person.
    how: &'static str,
}

/// What clients do, and have done.
pub(super) struct Load {
    address: Address,
    /// Some transactions have hints that end them.
    hints: bool,
    seed: u64,
    clock: AtomicU64,
    /// The next mark.
    marks: AtomicI64,
    over: AtomicBool,
    acknowledged: AtomicU64,
    pub(super) refused: AtomicU64,
    pub(super) unknown: AtomicU64,
    /// The connection ids of the clients, 0 while they have none.
    pub(super) ids: Vec<AtomicU32>,
    entries: Mutex<Vec<Entry>>,
}

/// Has clients count at `address` while `break_it` runs, and stops them. Fails if one of them hangs.
pub(super) fn under_load(
    address: &Address,
    hints: bool,
    seed: u64,
    break_it: impl FnOnce(&Load) -> Result<(), Failed>,
) -> Result<Load, Failed> {
    let load = Load {
        address: address.clone(),
        hints,
        seed,
        clock: AtomicU64::new(1),
        marks: AtomicI64::new(1),
        over: AtomicBool::new(false),
        acknowledged: AtomicU64::new(0),
        refused: AtomicU64::new(0),
        unknown: AtomicU64::new(0),
        ids: (0..CLIENTS).map(|_| AtomicU32::new(0)).collect(),
        entries: Mutex::default(),
    };
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|number| {
                scope.spawn({
                    let load = &load;
                    move || load.client(number)
                })
            })
            .collect();
        let broken = load.more(20).and_then(|()| break_it(&load));
        load.over.store(true, Ordering::SeqCst);
        let ended = clients.into_iter().try_for_each(|client| client.join().map_err(|_| "a client panicked")?);
        broken.and(ended)
    })?;
    Ok(load)
}

impl Load {
    /// Waits until so many more are acknowledged.
    pub(super) fn more(&self, count: u64) -> Result<(), Failed> {
        let before = self.acknowledged.load(Ordering::SeqCst);
        eventually(BOUND, "clients go on", || self.acknowledged.load(Ordering::SeqCst) >= before + count)
    }

    fn client(&self, number: usize) -> Result<(), Failed> {
        let mut dice = Dice::new(self.seed.wrapping_mul(1_000).wrapping_add(number as u64));
        let login = Login::new(APP.0, APP.1).database(DATABASE);
        while !self.over.load(Ordering::SeqCst) {
            let Ok(mut client) = Client::open(&self.address, &login) else {
                std::thread::sleep(Duration::from_millis(20));
                continue;
            };
            self.ids[number].store(client.id, Ordering::SeqCst);
            let mut lost = false;
            while !lost && !self.over.load(Ordering::SeqCst) {
                lost = self.one(&mut client, &mut dice, self.marks.fetch_add(1, Ordering::SeqCst))?;
            }
            self.ids[number].store(0, Ordering::SeqCst);
        }
        Ok(())
    }

    /// One statement; true if the connection is lost.
    fn one(&self, client: &mut Client, dice: &mut Dice, mark: i64) -> Result<bool, Failed> {
        let sells = dice.percent(15);
        let row = if sells || dice.percent(90) { 1 } else { ROWS as i64 };
        let (statement, values) = match dice.below(8) {
            _ if sells => (SELL, vec![1, row]),
            0 => (UPSERT, vec![row, mark, mark % OTHERS]),
            _ => (TALLY, vec![mark, mark % OTHERS, row]),
        };
        let sent = self.clock.fetch_add(1, Ordering::SeqCst);
        if dice.percent(1) {
            // If Weir has died since the reply before, it may not have been said.
            let _said = client.say(&with_values(statement, &values));
            self.unknown.fetch_add(1, Ordering::SeqCst);
            self.note(Entry {
                mark: mark * i64::from(!sells),
                row,
                sent,
                ended: NEVER,
                end: End::Unknown,
                how: "by one who left",
            });
            return Ok(true);
        }
        let (how, told) = match dice.below(5) {
            4 if self.hints && statement != UPSERT => ("with hints", with_hints(client, statement, &values)),
            0 => ("executed", client.execute(statement, &values)),
            1 => ("in a text", client.ask(&format!("begin;{};commit", with_values(statement, &values)))),
            _ => ("alone", client.ask(&with_values(statement, &values))),
        };
        let ended = self.clock.fetch_add(1, Ordering::SeqCst);
        let (end, lost) = self.ended(client, told)?;
        let counter = match end {
            End::Acknowledged => &self.acknowledged,
            End::Refused(_) => &self.refused,
            End::Unknown => &self.unknown,
        };
        counter.fetch_add(1, Ordering::SeqCst);
        let ended = if end == End::Acknowledged { ended } else { NEVER };
        self.note(Entry { mark: mark * i64::from(!sells), row, sent, ended, end, how });
        Ok(lost)
    }

    fn note(&self, entry: Entry) {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner).push(entry);
    }

    /// How a statement ended, and whether the connection is lost.
    fn ended(&self, client: &mut Client, told: io::Result<Vec<Set>>) -> Result<(End, bool), Failed> {
        let sets = match told {
            Err(error) if is_hang(&error) => {
                return Err(format!("a client has waited for {} s", PATIENCE.as_secs()).into());
            }
            Err(_) => return Ok((End::Unknown, true)),
            Ok(sets) => sets,
        };
        let Some(code) = sets.iter().find_map(Set::error_code) else {
            return match sets.last() {
                Some(Set::Ok(_)) => Ok((End::Acknowledged, false)),
                other => Err(format!("a statement is answered by {other:?}").into()),
            };
        };
        // A text may have left its transaction open.
        let lost = match client.ask("ROLLBACK") {
            Err(error) if is_hang(&error) => return Err("a client has waited for its ROLLBACK".into()),
            ended => ended.is_err(),
        };
        let end = if MAY_BE_DONE.contains(&code) { End::Unknown } else { End::Refused(code) };
        Ok((end, lost))
    }

    /// What is in the tables is what clients were told. Asked of the server itself, when none of the clients' statements can run any more.
    pub(super) fn settle(self, server: &Server, what: &str) -> Result<(), Failed> {
        let running = format!("SELECT COUNT(*) FROM information_schema.processlist WHERE db = '{DATABASE}'");
        eventually(BOUND, "the server has ended all sessions", || {
            server.query_value(&running).is_ok_and(|count| count.as_deref() == Some("0"))
        })?;
        let entries = self.entries.into_inner().unwrap_or_else(PoisonError::into_inner);
        let count = |end: fn(&End) -> bool| entries.iter().filter(|entry| end(&entry.end)).count();
        let mut codes: Vec<u16> = entries
            .iter()
            .filter_map(|entry| match entry.end {
                End::Refused(code) => Some(code),
                _ => None,
            })
            .collect();
        codes.sort_unstable();
        codes.dedup();
        println!(
            "hot rows, {what}: {} acknowledged, {} refused {codes:?}, {} unknown",
            count(|end| *end == End::Acknowledged),
            count(|end| matches!(end, End::Refused(_))),
            count(|end| *end == End::Unknown)
        );
        let mut root = server.admin()?;
        root.query_drop(format!("USE {DATABASE}"))?;
        let judged = (1..=ROWS as i64)
            .try_for_each(|row| judge_row(&mut root, row, &entries))
            .and_then(|()| sold(&mut root, &entries));
        judged.map_err(|failed| format!("WEIR_SEED={}: {what}: {}", self.seed, failed.message().unwrap_or("")).into())
    }
}

/// A row against what clients were told.
fn judge_row(root: &mut mysql::Conn, row: i64, entries: &[Entry]) -> Result<(), Failed> {
    let found: Option<(i64, String)> = root.query_first(format!("SELECT c, marks FROM tallied WHERE id = {row}"))?;
    let (value, marks) = found.ok_or("the row is gone")?;
    let ledger = marks.split_terminator(',').map(str::parse).collect::<Result<Vec<i64>, _>>()?;
    expect_equal(&format!("row {row}: its value and the length of its ledger"), value, ledger.len() as i64)?;
    judge(&ledger, entries.iter().filter(|entry| entry.mark != 0 && entry.row == row))
        .map_err(|why| format!("row {row}: {why}").into())
}

/// A row's ledger, marks in their order, against what clients were told.
fn judge<'a>(ledger: &[i64], entries: impl Iterator<Item = &'a Entry>) -> Result<(), String> {
    let told: HashMap<i64, &Entry> = entries.map(|entry| (entry.mark, entry)).collect();
    let mut done: HashMap<i64, usize> = HashMap::new();
    let mut latest = (0, 0);
    for (mark, at) in ledger.iter().zip(1..) {
        let entry = told.get(mark).ok_or_else(|| format!("nobody sent {mark}"))?;
        if let End::Refused(code) = entry.end {
            return Err(format!("{mark}, sent {}, was refused with {code}, and is done", entry.how));
        }
        if let Some(before) = done.insert(*mark, at) {
            return Err(format!(
                "{mark}, sent {} ({:?}), is done twice, as {before} and as {at}",
                entry.how, entry.end
            ));
        }
        if entry.ended < latest.0 {
            return Err(format!("{mark} ended before {} was sent, and is done after it", latest.1));
        }
        latest = latest.max((entry.sent, *mark));
    }
    let is_lost = |entry: &&&Entry| entry.end == End::Acknowledged && !done.contains_key(&entry.mark);
    let lost: Vec<i64> = told.values().filter(is_lost).map(|entry| entry.mark).collect();
    if lost.is_empty() { Ok(()) } else { Err(format!("acknowledged and not there: {lost:?}")) }
}

/// The ledger's judge knows a lie.
pub(super) const CASES: &[OwnCase] = &[("ledger_tells_what_clients_were_told_wrong", knows_a_lie)];

fn knows_a_lie() -> Result<(), Failed> {
    let entry = |mark, (sent, ended), end| Entry { mark, row: 1, sent, ended, end, how: "alone" };
    let entries = [
        entry(11, (1, 4), End::Acknowledged),
        entry(12, (2, 3), End::Acknowledged),
        entry(13, (5, 6), End::Acknowledged),
        entry(14, (7, NEVER), End::Unknown),
        entry(15, (8, NEVER), End::Refused(1205)),
    ];
    let verdict = |marks: &[i64]| judge(marks, entries.iter()).err().unwrap_or_default();
    expect_equal("all is well", verdict(&[11, 12, 13]), String::new())?;
    expect_equal("in the other order", verdict(&[12, 11, 13]), String::new())?;
    expect_equal("the unknown one is done", verdict(&[12, 11, 13, 14]), String::new())?;
    for (marks, word) in [
        (&[11, 13][..], "not there: [12]"),
        (&[11, 12, 13, 13], "is done twice"),
        (&[11, 12, 13, 14, 14], "is done twice"),
        (&[11, 12, 13, 15], "and is done"),
        (&[11, 12, 13, 16], "nobody sent 16"),
        (&[11, 13, 12], "done after it"),
        (&[14, 11, 12, 13], "done after it"),
    ] {
        let told = verdict(marks);
        expect_equal(&format!("{marks:?}: {told:?}"), told.contains(word), true)?;
    }
    Ok(())
}

/// The stock of the table without a key.
fn sold(root: &mut mysql::Conn, entries: &[Entry]) -> Result<(), Failed> {
    let left: Option<i64> = root.query_first("SELECT num FROM seckill")?;
    let sold = STOCK - left.ok_or("no stock")?;
    let of = |end: End| entries.iter().filter(|entry| entry.mark == 0 && entry.end == end).count() as i64;
    let (least, most) = (of(End::Acknowledged), of(End::Acknowledged) + of(End::Unknown));
    if (least..=most).contains(&sold) {
        return Ok(());
    }
    Err(format!("{sold} are sold, where {least} to {most} were told so").into())
}

/// A transaction of three commands whose UPDATE has hints: acknowledged as soon as that is.
fn with_hints(client: &mut Client, statement: &str, values: &[i64]) -> io::Result<Vec<Set>> {
    let begun = client.ask("BEGIN")?;
    if begun.iter().any(|set| set.error_code().is_some()) {
        return Ok(begun);
    }
    let told = client.ask(&hinted(&with_values(statement, values), false).expect("it is an UPDATE"))?;
    // Answered at once, if the connection is there still.
    let _ended = client.ask("COMMIT");
    Ok(told)
}

/// A server for these tests.
pub(super) fn site(lab: &Lab, flavor: Flavor, more: &[&str]) -> Result<Site, Failed> {
    let site = Site::start(flavor, &lab.directory()?, "server", DURABLE)?;
    site.fill(DATABASE, &[FILL, more].concat())?;
    Ok(site)
}
