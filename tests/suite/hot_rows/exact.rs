//! One client that is watched: whatever it does on a hot row, it gets the answers that it gets on a server of its own.
//!
//! The watched session runs its steps on both sides of a comparison. On Weir's side others hammer the row that its next steps are about, by
//! statements of the same shape that change nothing (`num = num - 0`), so that its own statements ride in batches with theirs.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use libtest_mimic::Failed;
use weir_local::Flavor;

use super::shapes::{CONTENT, FAULTY, PROBES, SHAPES, SINGLES, Shape, TABLES};
use super::{HOT, asks_for_faults, durable_site, ridden, rode, seconds, seed};
use crate::compare::{self, Pair, Side};
use crate::lab::{APP, Lab, PLAIN, eventually};
use crate::login::{Login, caps};
use crate::reply::Set;
use crate::script::Dice;
use crate::step::{HABITS, Session};

const BOUND: Duration = Duration::from_secs(60);
/// No episode is played again after that.
const LONGEST: Duration = Duration::from_secs(120);
/// Sessions like the watched one that hammer its row.
const HAMMERS: usize = 5;
/// One more is another user's, and one is in the other side's database, by the same statements.
const STRANGERS: usize = 2;
/// Steps between two shapes, about.
const BURST: usize = 8;
/// Shapes in one episode.
const SHAPES_AT_ONCE: usize = 4;

/// How statements are sent.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    /// As they are.
    Alone,
    /// Prepared, with the value of SET as a parameter.
    Executed,
    /// The same, and the row's id is a parameter too.
    ExecutedById,
    /// With the beginning and the end of their transaction.
    Bundle(&'static str, &'static str),
    /// With autocommit off, with their COMMIT.
    WithCommit,
}

impl Way {
    /// What must have been done before.
    fn before(self, shape: &Shape) -> Option<String> {
        let text = shape.text.replace("{v}", "?");
        match self {
            Self::Executed => Some(format!("!prepare hot {text}")),
            Self::ExecutedById => by_id(&text).map(|(text, _)| format!("!prepare hot {text}")),
            _ => None,
        }
    }

    fn step(self, shape: &Shape, value: &str) -> String {
        let text = shape.text.replace("{v}", value);
        match self {
            Self::Alone => text,
            Self::Executed => format!("!exec hot {value}"),
            Self::ExecutedById => format!("!exec hot {value}, {}", by_id(&text).map_or(1, |(_, id)| id)),
            Self::Bundle(begin, end) => format!("{begin}{text}{end}"),
            Self::WithCommit => format!("{text};commit"),
        }
    }

    fn is_executed(self) -> bool {
        matches!(self, Self::Executed | Self::ExecutedById)
    }
}

/// A statement whose condition begins with `id = 1`, with a parameter in the place of the number; and the number.
fn by_id(text: &str) -> Option<(String, u8)> {
    let at = text.find("WHERE id = ")? + "WHERE id = ".len();
    let id = text[at..].chars().next()?.to_digit(10)?;
    Some((format!("{}?{}", &text[..at], &text[at + 1..]), id as u8))
}

/// Ways to begin and to end a transaction in one text with its statement; not all of them are for batches.
const BUNDLES: &[(&str, &str)] = &[
    ("begin;", ";commit;"),
    ("begin;", ";commit;"),
    ("BEGIN;", ";COMMIT"),
    ("START TRANSACTION; ", "; COMMIT;"),
    ("begin work;", " ; commit work ; "),
    ("begin;", ";rollback"),
    ("begin;", ";commit and chain"),
    ("START TRANSACTION READ ONLY;", ";COMMIT"),
    ("START TRANSACTION WITH CONSISTENT SNAPSHOT;", ";COMMIT"),
    ("begin;select 1;", ";commit"),
];

/// Settings of all sessions of an episode.
const FIRST: &[&str] = &[
    "SET sql_mode = ''",
    "SET sql_mode = ''",
    "SET sql_mode = 'ANSI_QUOTES,STRICT_ALL_TABLES'",
    "SET NAMES latin1",
    "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
    "SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE",
    "SET SESSION TRANSACTION READ ONLY",
    "SET unique_checks = 0",
    "SET max_error_count = 0",
];

/// What all sessions of an episode are like.
struct Episode {
    login: Login,
    /// Statements alone are prepared, executed and closed.
    binary: bool,
    autocommit: bool,
    /// What each session does first.
    first: Vec<&'static str>,
}

impl Episode {
    fn draw(dice: &mut Dice) -> Self {
        let (user, password) = if dice.percent(75) { APP } else { PLAIN };
        let capabilities = match dice.below(8) {
            0..=5 => *dice.pick(&HABITS),
            6 => caps::BASE | caps::FOUND_ROWS,
            _ => caps::BASE | caps::SESSION_TRACK | caps::DEPRECATE_EOF | caps::FOUND_ROWS,
        };
        let mut first = Vec::new();
        if dice.percent(50) {
            first.push(draw(dice, FIRST));
        }
        let autocommit = dice.percent(75);
        if !autocommit {
            first.push("SET autocommit = 0");
        }
        Self {
            login: Login { capabilities, ..Login::new(user, password) },
            binary: dice.percent(30),
            autocommit,
            first,
        }
    }

    /// MySQL prepares no UPDATE then.
    fn is_read_only(&self) -> bool {
        self.first.iter().any(|step| step.ends_with("READ ONLY"))
    }

    fn way(&self, dice: &mut Dice, shape: &Shape) -> Way {
        let (begin, end) = *dice.pick(BUNDLES);
        match dice.below(10) {
            _ if !self.autocommit => Way::WithCommit,
            0..=3 => Way::Alone,
            4 if shape.takes_parameter && !self.is_read_only() => Way::Executed,
            5 if shape.takes_parameter && !self.is_read_only() && by_id(shape.text).is_some() => Way::ExecutedById,
            _ => Way::Bundle(begin, end),
        }
    }
}

/// What is hammered: a number that changes with it, what must be done before, and the step.
type Target = (u64, Option<String>, String);

/// The sessions that hammer.
struct Hammers<'a> {
    side: &'a Side,
    /// The other side's database.
    other: &'a str,
    episode: &'a Episode,
    target: Mutex<Target>,
    /// The number of the target that each of them has hit last.
    hit: Vec<AtomicU64>,
    over: AtomicBool,
}

impl Hammers<'_> {
    fn aim(&self, before: Option<String>, step: String) -> Result<(), Failed> {
        let number = {
            let mut target = self.target.lock().unwrap_or_else(PoisonError::into_inner);
            *target = (target.0 + 1, before, step);
            target.0
        };
        eventually(BOUND, "all hammer the row", || self.hit.iter().all(|hit| hit.load(Ordering::Relaxed) >= number))
    }

    fn hammer(&self, which: usize) -> Result<(), Failed> {
        let mut login = self.episode.login.clone();
        if which == HAMMERS {
            let other = if login.user == APP.0 { PLAIN } else { APP };
            (login.user, login.password) = (other.0.into(), other.1.into());
        }
        let database = if which > HAMMERS { self.other } else { &self.side.database };
        let mut session = Session::new(&self.side.address, &login, database);
        session.binary = self.episode.binary;
        self.episode.first.iter().for_each(|step| drop(session.run(step)));
        let mut aimed = 0;
        while !self.over.load(Ordering::Relaxed) {
            let (number, before, step) = self.target.lock().unwrap_or_else(PoisonError::into_inner).clone();
            if step.is_empty() {
                std::thread::sleep(Duration::from_millis(2));
                continue;
            }
            if number != aimed {
                // A text may have begun another transaction behind its COMMIT.
                session.run("ROLLBACK");
                before.iter().for_each(|before| drop(session.run(before)));
                aimed = number;
            }
            let sets = session.run(&step);
            if let Some(lost) = sets.iter().find(|set| matches!(set, Set::Lost(_))) {
                return Err(format!("{step}: {lost:?}").into());
            }
            if sets.iter().any(|set| set.error_code().is_some()) {
                // Somebody was in the way, and a transaction may be open.
                session.run("ROLLBACK");
            }
            self.hit[which].store(number, Ordering::Relaxed);
        }
        Ok(())
    }
}

/// Runs episodes until the time is over.
pub(super) fn exact(lab: &Lab, flavor: Flavor) -> Result<(), Failed> {
    exact_with(lab, flavor, HOT)
}

/// The same with these settings.
pub(super) fn exact_with(lab: &Lab, flavor: Flavor, settings: &[(&str, &str)]) -> Result<(), Failed> {
    let site = &durable_site(lab, flavor)?;
    lab.with_endpoint(site, settings, |endpoint| {
        let sides = compare::sides(site, endpoint, &format!("{}hot", compare::letter(flavor)));
        let bound = seconds() * 4;
        let (began, first) = (Instant::now(), seed());
        let play = |seed: u64| -> Result<usize, Failed> {
            compare::fill(site, &sides, &[TABLES, CONTENT].concat())?;
            let mut done = Vec::new();
            episode(&sides, seed, &mut done).map_err(|difference| {
                let before = done[done.len().saturating_sub(60)..].join("\n  ");
                let first = done[..done.len().min(3)].join("\n  ");
                format!("WEIR_SEED={seed}\n{difference}\nfirst:\n  {first}\n  …\nlast:\n  {before}")
            })?;
            Ok(done.len())
        };
        let (mut number, mut steps) = (0, 0);
        // As many on each machine, unless a long run is asked for.
        let most = if std::env::var_os("WEIR_HOT_SECONDS").is_some() { u64::MAX } else { 5 };
        while number < 2 || number < most && began.elapsed() < bound {
            steps += play(first + number)?;
            number += 1;
        }
        println!("hot rows on {flavor}: {steps} steps of a watched session, seeds {first} to {}", first + number - 1);
        // Where clients meet less often, the same episodes are played again until as many rode as there were steps.
        let least = steps as u64;
        let few = || Ok::<_, Failed>(ridden(endpoint)?.is_some_and(|rode| rode < least));
        for again in 0.. {
            if !few()? || began.elapsed() >= LONGEST {
                break;
            }
            play(first + again % number)?;
        }
        rode(endpoint, least)
    })
}

fn episode(sides: &[Side; 2], seed: u64, done: &mut Vec<String>) -> Result<(), String> {
    let mut dice = Dice::new(seed);
    let episode = Episode::draw(&mut dice);
    let mut pair = Pair::new(sides, &episode.login, episode.binary);
    let hammers = Hammers {
        side: &sides[1],
        other: &sides[0].database,
        episode: &episode,
        target: Mutex::default(),
        hit: (0..HAMMERS + STRANGERS).map(|_| AtomicU64::new(0)).collect(),
        over: AtomicBool::new(false),
    };
    std::thread::scope(|scope| {
        let running: Vec<_> = (0..HAMMERS + STRANGERS)
            .map(|which| {
                scope.spawn({
                    let hammers = &hammers;
                    move || hammers.hammer(which)
                })
            })
            .collect();
        let watched = watched(&mut pair, &hammers, &mut dice, done);
        hammers.over.store(true, Ordering::Relaxed);
        let hammered = running.into_iter().try_for_each(|hammer| match hammer.join() {
            Ok(hammered) => hammered.map_err(|failed| format!("a hammer: {}", failed.message().unwrap_or("failed"))),
            Err(_) => Err("a hammer panicked".into()),
        });
        watched.and(hammered)
    })?;
    for table in TABLES.iter().filter_map(|statement| statement.strip_prefix("CREATE TABLE {db}.")) {
        let name = table.split_once(' ').map_or(table, |(name, _)| name);
        pair.run(&format!("SELECT * FROM {name}"))?;
    }
    Ok(())
}

/// What the watched session does.
fn watched(pair: &mut Pair, hammers: &Hammers, dice: &mut Dice, done: &mut Vec<String>) -> Result<(), String> {
    let mut run = |step: &str| {
        done.push(step.to_owned());
        pair.run(step)
    };
    // On MariaDB a login's OK may tell of warnings of an earlier session, whose thread it got.
    let _logged_in = run("SELECT 'first'");
    hammers.episode.first.iter().try_for_each(|step| run(step))?;
    for _ in 0..SHAPES_AT_ONCE {
        let faulty = asks_for_faults() && dice.percent(20);
        let shape = dice.pick(if faulty { FAULTY } else { SHAPES });
        let way = hammers.episode.way(dice, shape);
        let aimed = hammers.aim(way.before(shape), way.step(shape, shape.neutral));
        aimed.map_err(|failed| failed.message().unwrap_or("failed").to_owned())?;
        way.before(shape).iter().try_for_each(|before| run(before))?;
        for _ in 0..BURST {
            match dice.below(12) {
                0 => transaction(dice, shape, &mut run)?,
                1 => run(&draw(dice, SINGLES).replace("{n}", &(1 + dice.below(3)).to_string()))?,
                3 if dice.percent(30) => {
                    run("SET TRANSACTION READ ONLY")?;
                    run(&way.step(shape, draw(dice, shape.values)))?;
                }
                2 if way.is_executed() => run(&way.step(shape, draw(dice, &["NULL", "'2'", "1.5", "'x'"])))?,
                _ => run(&way.step(shape, draw(dice, shape.values)))?,
            }
            if dice.percent(60) {
                run(draw(dice, PROBES))?;
            }
            // A text that has met an error left its transaction open; others begin one with autocommit off.
            if matches!(way, Way::Bundle(..) | Way::WithCommit) {
                run(if dice.percent(50) { "COMMIT" } else { "ROLLBACK" })?;
            }
        }
    }
    Ok(())
}

fn draw(dice: &mut Dice, from: &[&'static str]) -> &'static str {
    from[dice.below(from.len())]
}

/// A transaction beside the batches.
fn transaction(dice: &mut Dice, shape: &Shape, run: &mut impl FnMut(&str) -> Result<(), String>) -> Result<(), String> {
    let statement = |dice: &mut Dice| shape.text.replace("{v}", draw(dice, shape.values));
    run(draw(dice, &["BEGIN", "START TRANSACTION"]))?;
    run(&statement(dice))?;
    if dice.percent(50) {
        run(draw(dice, PROBES))?;
    }
    if dice.percent(30) {
        run("SAVEPOINT here")?;
        run(&statement(dice))?;
        run("ROLLBACK TO here")?;
    }
    run(draw(dice, &["COMMIT", "ROLLBACK"]))
}
