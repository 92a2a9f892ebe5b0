//! Many clients on few rows: every reply and the tables at the end are explained by one serial order of the statements that respects
//! real time.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use libtest_mimic::Failed;
use weir_local::Flavor;

use super::client::{Client, hinted, with_values};
use super::model::{Deed, Object, Op, Reply, SLOTS, Tables, WRONG_ROWS, settled};
use super::order::{Call, NEVER, explain};
use crate::client::Address;
use crate::lab::{APP, PLAIN};
use crate::login::{Login, caps};
use crate::reply::Set;
use crate::script::Dice;

/// What a client may be told of a statement that others were in the way of: it was not done.
const IN_THE_WAY: [u16; 2] = [1205, 1213];
/// Statements of one client and round, at most.
const MOST: usize = 250;

/// Which statements clients draw from.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Mix {
    /// All tables.
    All,
    /// Only those that can be sharded by their key.
    Sharded,
}

/// A round of clients at the same time.
#[derive(Clone, Copy)]
pub(super) struct Round<'a> {
    pub(super) address: &'a Address,
    pub(super) flavor: Flavor,
    pub(super) database: &'a str,
    pub(super) mix: Mix,
    /// Some statements have hints that end their transaction.
    pub(super) hints: bool,
    pub(super) clients: usize,
    pub(super) bound: Duration,
    pub(super) seed: u64,
}

/// How a client sends a statement.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Style {
    Alone,
    /// One text with the beginning and the end of its transaction.
    Bundle(&'static str),
    /// With autocommit off: the statement and its COMMIT in one text.
    WithCommit,
    /// A transaction of separate commands, and what ends it.
    Steps {
        begins: bool,
        ends: &'static str,
    },
    /// The same with hints, by which its UPDATE is committed.
    Hinted {
        begins: bool,
    },
}

impl Style {
    fn draw(dice: &mut Dice, autocommit: bool, hints: bool) -> Self {
        let ends = if dice.percent(70) { "COMMIT" } else { "ROLLBACK" };
        match (autocommit, dice.below(10)) {
            (true, 0..=4) => Self::Alone,
            (true, 5..=6) => Self::Bundle("begin"),
            (true, 7) => Self::Bundle("START TRANSACTION"),
            (false, 0..=6) => Self::WithCommit,
            (autocommit, 9) if hints => Self::Hinted { begins: autocommit && dice.percent(70) },
            (begins, _) => Self::Steps { begins, ends },
        }
    }
}

/// Ways in which clients of these tests log in.
const HABITS: [u32; 4] = [
    caps::BASE | caps::DEPRECATE_EOF,
    caps::BASE | caps::DEPRECATE_EOF | caps::SESSION_TRACK,
    caps::BASE,
    caps::BASE | caps::DEPRECATE_EOF | caps::FOUND_ROWS,
];

/// A client, and what it has seen.
struct Worker<'a> {
    round: Round<'a>,
    clock: &'a AtomicU64,
    client: Client,
    dice: Dice,
    found_rows: bool,
    autocommit: bool,
    prepares: bool,
    calls: Vec<(Object, Call<Tables>)>,
    /// Statements that were not done because of others.
    in_the_way: u64,
}

impl<'a> Worker<'a> {
    fn new(round: Round<'a>, clock: &'a AtomicU64, number: usize) -> Result<Self, Failed> {
        let mut dice = Dice::new(round.seed.wrapping_mul(1_000).wrapping_add(number as u64));
        // Most are alike, so that they ride together.
        let capabilities = if dice.percent(60) { HABITS[0] } else { *dice.pick(&HABITS) };
        let (user, password) = if dice.percent(80) { APP } else { PLAIN };
        let login = Login { capabilities, ..Login::new(user, password) }.database(round.database);
        let autocommit = dice.percent(80);
        let mut client = Client::open(round.address, &login)?;
        if !autocommit {
            client.ask("SET autocommit = 0")?;
        }
        Ok(Self {
            round,
            clock,
            client,
            found_rows: capabilities & caps::FOUND_ROWS != 0,
            autocommit,
            prepares: dice.percent(30),
            dice,
            calls: Vec::new(),
            in_the_way: 0,
        })
    }

    fn work(&mut self, over: &AtomicBool) -> Result<(), Failed> {
        for _ in 0..MOST {
            if over.load(Ordering::Relaxed) {
                break;
            }
            let (object, deed) = draw(&mut self.dice, self.round);
            let style = match deed {
                Deed::Look => Style::Alone,
                _ => Style::draw(&mut self.dice, self.autocommit, self.round.hints && is_update(deed)),
            };
            self.one(object, deed, style)?;
        }
        Ok(())
    }

    fn one(&mut self, object: Object, deed: Deed, style: Style) -> Result<(), Failed> {
        let undone = matches!(style, Style::Steps { ends: "ROLLBACK", .. });
        let op = Op { object, deed, undone, hinted: matches!(style, Style::Hinted { .. }) };
        if let Style::Steps { begins: true, .. } | Style::Hinted { begins: true } = style {
            self.expect_ok("BEGIN")?;
        }
        let sent = self.clock.fetch_add(1, Ordering::SeqCst);
        let reply = self.statement(&op, style)?;
        let answered = self.clock.fetch_add(1, Ordering::SeqCst);
        if let Style::Steps { ends, .. } = style {
            self.expect_ok(ends)?;
        } else if op.hinted {
            self.expect_ok("COMMIT")?;
        } else if reply.error.is_some() && style != Style::Alone {
            // The transaction that its text has begun is open.
            self.expect_ok("ROLLBACK")?;
        }
        // A read with autocommit off begins a transaction, whose later reads would be of the same moment.
        if deed == Deed::Look && !self.autocommit {
            self.expect_ok("COMMIT")?;
        }
        // Hints have ended the transaction before its COMMIT.
        let ended = if op.hinted { answered } else { self.clock.fetch_add(1, Ordering::SeqCst) };
        match reply.error {
            Some(code) if IN_THE_WAY.contains(&code) => self.in_the_way += 1,
            Some(code) if !(may_answer(deed, code) || op.hinted && code == WRONG_ROWS) => {
                return Err(format!("error {code} to {:?} ({style:?})", op.statement()).into());
            }
            _ => {
                let told = format!("{:?}: {reply:?}", op.statement());
                let reply = if self.found_rows { reply.of_changed_rows() } else { Some(reply) };
                let reply = Some(settled(reply.ok_or(told)?, self.round.flavor));
                self.calls.push((object, Call { sent, ended, op, reply }));
            }
        }
        Ok(())
    }

    fn statement(&mut self, op: &Op, style: Style) -> Result<Reply, Failed> {
        let (statement, values) = op.statement();
        let text = with_values(statement, &values);
        let (sets, at) = match style {
            Style::Bundle(begin) => (self.client.ask(&format!("{begin};{text};commit;"))?, 1),
            Style::WithCommit => (self.client.ask(&format!("{text};commit"))?, 0),
            Style::Hinted { .. } => {
                let hinted = hinted(&text, self.dice.percent(30)).ok_or("only UPDATE has hints")?;
                (self.client.ask(&hinted)?, 0)
            }
            _ if self.prepares && op.deed != Deed::Look => (self.client.execute(statement, &values)?, 0),
            _ => (self.client.ask(&text)?, 0),
        };
        let due = match style {
            Style::Bundle(_) => 3,
            Style::WithCommit => 2,
            _ => 1,
        };
        match sets.get(at) {
            Some(set) if set.error_code().is_some() => Ok(Reply::of(set)),
            Some(set) if sets.len() == due && sets.iter().all(|set| set.error_code().is_none()) => Ok(Reply::of(set)),
            _ => Err(format!("{text} ({style:?}): {sets:?}").into()),
        }
    }

    fn expect_ok(&mut self, text: &str) -> Result<(), Failed> {
        match self.client.ask(text)?.as_slice() {
            [Set::Ok(_)] => Ok(()),
            other => Err(format!("{text}: {other:?}").into()),
        }
    }
}

fn is_update(deed: Deed) -> bool {
    use Deed::{Claim, Count, Draw, Free, Sell, Spend, Swing};
    matches!(deed, Sell(_) | Count(_) | Spend(_) | Swing(_) | Draw(_) | Claim { .. } | Free { .. })
}

/// Errors that the model knows of this statement.
fn may_answer(deed: Deed, code: u16) -> bool {
    match deed {
        Deed::Spend(_) => code == 1690,
        Deed::Swing(_) => code == 1264,
        Deed::Draw(_) => super::model::BROKEN_CHECKS.contains(&code),
        Deed::Claim { .. } => code == 1062,
        _ => false,
    }
}

/// Most of what all clients do is one kind of statement on one row, which the round's seed chooses.
fn draw(dice: &mut Dice, round: Round) -> (Object, Deed) {
    let kinds = if round.mix == Mix::All { 18 } else { 14 };
    if dice.percent(70) {
        let mut hot = Dice::new(round.seed);
        let (kind, row) = (hot.below(kinds), 1 + hot.below(2) as i64);
        return draw_of(dice, kind, row);
    }
    let (kind, row) = (dice.below(kinds), 1 + dice.below(2) as i64);
    draw_of(dice, kind, row)
}

fn draw_of(dice: &mut Dice, kind: usize, row: i64) -> (Object, Deed) {
    let by = 1 + dice.below(3) as i64;
    let (slot, holder) = (dice.below(SLOTS), 1 + dice.below(4) as i64);
    let more = dice.percent(4);
    let (object, deed) = match kind {
        0..=3 => (Object::Stock(row), Deed::Sell(if more { -30 } else { by })),
        4..=6 => (Object::Column('c', row), Deed::Count(by)),
        7 => (Object::Column('u', row), Deed::Spend(if more { -50 } else { by * 4 })),
        8 => (Object::Column('t', row), Deed::Swing(*dice.pick(&[-40, -7, 9, 60]))),
        9 => (Object::Column('p', row), Deed::Draw(if dice.percent(50) { by } else { -by })),
        10 => (Object::Hits(row), Deed::Hit(1)),
        11 => (Object::Hits(row), Deed::HitAndTell(by)),
        12 => (Object::Hits(row), Deed::Remove),
        13 => (Object::Hits(row), Deed::RemoveFrom(5)),
        14 => (Object::Slots, Deed::Claim { slot, holder }),
        15 => (Object::Slots, Deed::Free { slot, holder }),
        16 => (Object::Name(row), Deed::Name(by)),
        _ => (Object::Name(row), Deed::Remove),
    };
    (object, if dice.percent(8) { Deed::Look } else { deed })
}

/// What a round has shown.
#[derive(Default)]
pub(super) struct Shown {
    pub(super) explained: usize,
    pub(super) in_the_way: u64,
}

/// Runs a round, and searches the order.
pub(super) fn run(round: Round) -> Result<Shown, Failed> {
    let (clock, over) = (AtomicU64::new(1), AtomicBool::new(false));
    let mut workers =
        (0..round.clients).map(|number| Worker::new(round, &clock, number)).collect::<Result<Vec<_>, _>>()?;
    std::thread::scope(|scope| {
        let running: Vec<_> = workers.iter_mut().map(|worker| scope.spawn(|| worker.work(&over))).collect();
        let began = Instant::now();
        while began.elapsed() < round.bound && running.iter().any(|worker| !worker.is_finished()) {
            std::thread::sleep(Duration::from_millis(10));
        }
        over.store(true, Ordering::Relaxed);
        running.into_iter().try_for_each(|worker| worker.join().map_err(|_| "a client panicked")?)
    })?;
    let mut shown = Shown::default();
    let mut calls: BTreeMap<Object, Vec<Call<Tables>>> = BTreeMap::new();
    for worker in workers {
        shown.in_the_way += worker.in_the_way;
        worker.calls.into_iter().for_each(|(object, call)| calls.entry(object).or_default().push(call));
    }
    look_at_the_end(round, &clock, &mut calls)?;
    for (object, calls) in calls {
        let count = calls.len();
        shown.explained += explain(object.start(), calls)
            .map_err(|why| format!("WEIR_SEED={}: no order of {count} calls of {object:?}: {why:?}", round.seed))?;
    }
    Ok(shown)
}

/// What is there when all have ended is one more reply.
fn look_at_the_end(
    round: Round,
    clock: &AtomicU64,
    calls: &mut BTreeMap<Object, Vec<Call<Tables>>>,
) -> Result<(), Failed> {
    let mut client = Client::open(round.address, &Login::new(APP.0, APP.1).database(round.database))?;
    for (&object, calls) in calls {
        let op = Op { object, deed: Deed::Look, undone: false, hinted: false };
        let (statement, values) = op.statement();
        let sets = client.ask(&with_values(statement, &values))?;
        let sent = clock.fetch_add(1, Ordering::SeqCst);
        let reply = Some(Reply::of(sets.first().ok_or("no reply")?));
        calls.push(Call { sent, ended: NEVER - 1, op, reply });
    }
    Ok(())
}
