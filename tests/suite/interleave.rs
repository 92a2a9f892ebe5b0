//! Sessions with random scripts, their steps interleaved, must see the same on shared server connections as on
//! connections of their own.
//!
//! `WEIR_SEED` chooses the schedule (it is printed with a failure), `WEIR_INTERLEAVE_STEPS` how many steps a test runs, and
//! `WEIR_INTERLEAVE_SECONDS` how long at most: what it has covered by then is printed.
//! On a difference the schedule is cut down before it is printed.

use std::time::{Duration, Instant};

use libtest_mimic::Failed;
use weir_local::Flavor;

use crate::compare::{self, Pair, Side};
use crate::lab::{APP, Endpoint, Lab, Site, number_from_environment};
use crate::login::Login;
use crate::script::{self, Dice};
use crate::step::HABITS;

/// Sessions per schedule; the fixtures have tables for 12.
const SESSIONS: usize = 8;
/// Steps per session and schedule: a difference is found, and cut down, in a short schedule sooner than in a long one.
const SCRIPT: usize = 60;
/// At least one step in so many rides a lane, where they are to ride.
const LEAST_RIDES: usize = 20;
/// How long cutting down may take.
const SHRINK_BOUND: Duration = Duration::from_secs(90);
/// How long a test goes on without `WEIR_INTERLEAVE_SECONDS`: on a slow machine it runs fewer schedules, in the same order.
const DEFAULT_SECONDS: u64 = 150;
/// The schedules of a run without `WEIR_SEED`.
const DEFAULT_SEED: u64 = 20_251_121;

/// How statements go to the server.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Protocol {
    Text,
    Binary,
    /// Each session has its own way.
    Mixed,
}

/// What the sessions do.
#[derive(Clone, Copy)]
pub(crate) enum Scripts {
    /// All there is.
    Any,
    /// Mostly short reads, which ride lanes.
    Short,
}

impl Scripts {
    fn draw(self, dice: &mut Dice, flavor: Flavor, session: usize) -> Vec<String> {
        match self {
            Self::Any => script::draw(dice, flavor, session, SCRIPT),
            Self::Short => script::draw_short(dice, flavor, session, SCRIPT * 3),
        }
    }
}

/// Who does what, in which order.
#[derive(Clone)]
struct Schedule {
    /// Per session: the capabilities of its login, and whether it prepares its statements.
    sessions: Vec<(u32, bool)>,
    steps: Vec<(usize, String)>,
}

impl Schedule {
    fn draw(seed: u64, flavor: Flavor, protocol: Protocol, kind: Scripts) -> Self {
        let mut dice = Dice::new(seed);
        let sessions: Vec<(u32, bool)> = (0..SESSIONS)
            .map(|_| {
                let coin = dice.percent(50);
                let binary = protocol == Protocol::Binary || protocol == Protocol::Mixed && coin;
                (*dice.pick(&HABITS), binary)
            })
            .collect();
        let mut scripts: Vec<_> =
            (0..SESSIONS).map(|session| kind.draw(&mut dice, flavor, session).into_iter()).collect();
        let mut steps = Vec::new();
        let mut open: Vec<usize> = (0..SESSIONS).collect();
        while !open.is_empty() {
            let at = dice.below(open.len());
            // Now and then a session does several steps in a row.
            for _ in 0..=dice.below(3) {
                match scripts[open[at]].next() {
                    Some(step) => steps.push((open[at], step)),
                    None => {
                        open.swap_remove(at);
                        break;
                    }
                }
            }
        }
        Self { sessions, steps }
    }

    /// Runs the schedule on fresh databases: the first difference and where it is.
    fn run(&self, site: &Site, sides: &[Side; 2]) -> Result<Option<(usize, String)>, Failed> {
        compare::fill(site, sides, &script::content())?;
        let mut pairs: Vec<Pair> = self
            .sessions
            .iter()
            .map(|&(capabilities, binary)| {
                Pair::new(sides, &Login { capabilities, ..Login::new(APP.0, APP.1) }, binary)
            })
            .collect();
        for (index, (session, step)) in self.steps.iter().enumerate() {
            if let Err(difference) = pairs[*session].run(step) {
                return Ok(Some((index, difference)));
            }
        }
        Ok(None)
    }

    /// Leaves out what isn't needed for a difference: whole sessions, then ever smaller runs of steps.
    fn shrink(mut self, site: &Site, sides: &[Side; 2], mut found: (usize, String)) -> Result<(Self, String), Failed> {
        self.steps.truncate(found.0 + 1);
        let start = Instant::now();
        let in_time = || start.elapsed() < SHRINK_BOUND;
        for session in 0..self.sessions.len() {
            let mut fewer = self.clone();
            fewer.steps.retain(|(who, _)| *who != session);
            if in_time()
                && let Some(still) = fewer.run(site, sides)?
            {
                fewer.steps.truncate(still.0 + 1);
                (self, found) = (fewer, still);
            }
        }
        let mut chunk = (self.steps.len() / 2).max(1);
        while in_time() {
            let mut at = 0;
            while at < self.steps.len() && in_time() {
                let mut fewer = self.clone();
                fewer.steps.drain(at..(at + chunk).min(self.steps.len()));
                match fewer.run(site, sides)? {
                    Some(still) => {
                        fewer.steps.truncate(still.0 + 1);
                        (self, found) = (fewer, still);
                    }
                    None => at += chunk,
                }
            }
            if chunk == 1 {
                break;
            }
            chunk /= 2;
        }
        Ok((self, found.1))
    }

    fn print(&self) -> String {
        let mut text = String::new();
        for (session, (capabilities, binary)) in self.sessions.iter().enumerate() {
            if self.steps.iter().any(|(who, _)| *who == session) {
                text.push_str(&format!("  session {session}: capabilities {capabilities:#x}, binary {binary}\n"));
            }
        }
        for (session, step) in &self.steps {
            text.push_str(&format!("  {session}: {step}\n"));
        }
        text
    }
}

/// Runs random schedules, one step at a time.
pub(crate) fn interleaved(lab: &Lab, flavor: Flavor, protocol: Protocol) -> Result<(), Failed> {
    let site = lab.site(flavor)?;
    let steps = number_from_environment("WEIR_INTERLEAVE_STEPS", 6_000) as usize;
    // Every session may be pinned, one that was dropped may still hold its connection for a moment, and either worker may keep
    // idle ones of several users. Fewer, and sessions take connections from each other, by chance: docs/decisions.md, 13.
    lab.with_endpoint(site, &[("pool.max_connections", "24")], |endpoint| {
        run_schedules(site, endpoint, protocol, Scripts::Any, steps).map(drop)
    })
}

/// The same with scripts whose statements ride lanes, which Weir's counters must confirm.
pub(crate) fn riding(lab: &Lab, flavor: Flavor, protocol: Protocol) -> Result<(), Failed> {
    let site = lab.site(flavor)?;
    let steps = number_from_environment("WEIR_INTERLEAVE_STEPS", 6_000) as usize / 3;
    // One worker: what one session's statements have shown holds for the others'.
    let settings = [("pool.max_connections", "40"), ("workers.threads", "1")];
    lab.with_endpoint(site, &settings, |endpoint| {
        let done = run_schedules(site, endpoint, protocol, Scripts::Short, steps)?;
        enough_rode(endpoint, done)
    })
}

fn enough_rode(endpoint: &Endpoint, steps: usize) -> Result<(), Failed> {
    let Some(weir) = &endpoint.weir else { return Ok(()) };
    let least = (steps / LEAST_RIDES) as u64;
    let rode = weir.counter("weir_backend_lane_rides")?;
    if rode < least {
        return Err(format!("{rode} of {steps} steps rode lanes, fewer than {least}").into());
    }
    Ok(())
}

fn run_schedules(
    site: &Site,
    endpoint: &Endpoint,
    protocol: Protocol,
    kind: Scripts,
    steps: usize,
) -> Result<usize, Failed> {
    let flavor = site.flavor;
    let mut seed = number_from_environment("WEIR_SEED", DEFAULT_SEED);
    let way = match protocol {
        Protocol::Text => 't',
        Protocol::Binary => 'b',
        Protocol::Mixed => 'x',
    };
    let what = match kind {
        Scripts::Any => 'a',
        Scripts::Short => 's',
    };
    let sides = compare::sides(site, endpoint, &format!("{}{way}{what}", compare::letter(flavor)));
    // Who names a number of steps wants them all.
    let least = if std::env::var_os("WEIR_INTERLEAVE_STEPS").is_some() { u64::MAX } else { DEFAULT_SECONDS };
    let (began, bound) = (Instant::now(), number_from_environment("WEIR_INTERLEAVE_SECONDS", least));
    let (mut done, first) = (0, seed);
    while done < steps && began.elapsed().as_secs() < bound {
        let schedule = Schedule::draw(seed, flavor, protocol, kind);
        done += schedule.steps.len();
        if let Some(found) = schedule.run(site, &sides)? {
            // What a shorter schedule shows may be another fault, or the same one elsewhere.
            let first = format!("at step {}: {}", found.0, found.1);
            let (smallest, difference) = schedule.shrink(site, &sides, found)?;
            let smallest = smallest.print();
            return Err(format!("WEIR_SEED={seed}\n{first}cut down:\n{difference}schedule:\n{smallest}").into());
        }
        seed += 1;
    }
    println!("interleaving on {flavor}: {done} of {steps} steps, seeds {first} to {}", seed - 1);
    Ok(done)
}

/// Threads that run their own scripts at the same time, in databases of their own, as on a server of their own.
pub(crate) fn concurrent(lab: &Lab, flavor: Flavor) -> Result<(), Failed> {
    let site = lab.site(flavor)?;
    // Room for all: when sessions take connections from each other, some ways to read several warnings are refused,
    // and when that happens depends on the clock here.
    lab.with_endpoint(site, &[("pool.max_connections", "100")], |endpoint| {
        let seed = number_from_environment("WEIR_SEED", DEFAULT_SEED);
        let steps = number_from_environment("WEIR_INTERLEAVE_STEPS", 6_000) as usize / SESSIONS;
        let endpoint = &*endpoint;
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..SESSIONS)
                .map(|session| scope.spawn(move || run_alone(site, endpoint, flavor, session, seed, steps)))
                .collect();
            for thread in threads {
                thread.join().map_err(|_| Failed::from("a session panicked"))??;
            }
            Ok(())
        })
    })
}

fn run_alone(
    site: &Site,
    endpoint: &Endpoint,
    flavor: Flavor,
    session: usize,
    seed: u64,
    steps: usize,
) -> Result<(), Failed> {
    let sides = compare::sides(site, endpoint, &format!("{}c{session}", compare::letter(flavor)));
    compare::fill(site, &sides, &script::content())?;
    let mut dice = Dice::new(seed.wrapping_add(session as u64));
    let login = Login { capabilities: *dice.pick(&HABITS), ..Login::new(APP.0, APP.1) };
    let mut pair = Pair::new(&sides, &login, dice.percent(50)).decoded();
    let script = script::draw(&mut dice, flavor, session, steps);
    for (index, step) in script.iter().enumerate() {
        pair.run(step).map_err(|difference| {
            let before = script[index.saturating_sub(15)..index].join("\n  ");
            format!("WEIR_SEED={seed}, session {session}, step {index}\n{difference}after:\n  {before}")
        })?;
    }
    Ok(())
}
