//! How many tests run at once, in which order, and how long each of them took.
//!
//! Most tests wait for servers most of the time, so more of them run at once than there are cores. The ones that start several servers, or
//! keep the machine busy by themselves, are *heavy*: they run beside the others with a bound of their own, the longest first.

use std::io::Write;
use std::path::PathBuf;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Instant;

use libtest_mimic::{Arguments, Trial};

/// Heavy tests at once.
const HEAVY_AT_ONCE: usize = 2;
/// Other tests at once, beside them.
const LIGHT_AT_ONCE: usize = 3;
/// Heavy tests at once when no others are left.
const HEAVY_ALONE: usize = 3;
/// How many of the slowest are shown.
const SHOWN: usize = 20;
/// A file that gets a line for each test: its seconds and its name.
const TIMES: &str = "WEIR_TEST_TIMES";

/// The beginnings of the heavy tests' names, without the kind of server, those that take longest first.
const HEAVY: &[&str] = &[
    "bench::",
    "groups::a_group_that_elects",
    "transactions::bank",
    "streams::",
    "reads::",
    "takeover::",
    "definitions::",
    "transactions::",
    "dump::",
    "sequences::",
    "lanes::",
    "clients::sharded",
    "shards::",
    "catalog::",
    "faults::",
    "hot_rows::",
];

fn heaviness(name: &str) -> Option<usize> {
    let (_flavor, name) = name.split_once("::")?;
    HEAVY.iter().position(|beginning| name.starts_with(beginning))
}

/// Runs the tests, heavy ones beside the others; whether all have passed. A number of threads on the command line holds for each of the two.
pub(crate) fn run(arguments: &Arguments, trials: Vec<Trial>) -> bool {
    let (mut heavy, light): (Vec<Trial>, Vec<Trial>) =
        trials.into_iter().partition(|trial| heaviness(trial.name()).is_some());
    heavy.sort_by_key(|trial| heaviness(trial.name()));
    let wanted = |trials: &[Trial]| trials.iter().any(|trial| !arguments.is_filtered_out(trial));
    if arguments.list || !wanted(&heavy) || !wanted(&light) {
        HEAVY_TURNS.allow(usize::MAX);
        return !libtest_mimic::run(&with_threads(arguments, LIGHT_AT_ONCE), heavy.into_iter().chain(light).collect())
            .has_failed();
    }
    HEAVY_TURNS.allow(arguments.test_threads.unwrap_or(HEAVY_AT_ONCE));
    std::thread::scope(|scope| {
        let beside = scope.spawn(|| libtest_mimic::run(&with_threads(arguments, HEAVY_ALONE), heavy));
        let light = libtest_mimic::run(&with_threads(arguments, LIGHT_AT_ONCE), light);
        HEAVY_TURNS.allow(arguments.test_threads.unwrap_or(HEAVY_ALONE));
        let heavy = beside.join();
        !light.has_failed() && heavy.is_ok_and(|heavy| !heavy.has_failed())
    })
}

fn with_threads(arguments: &Arguments, threads: usize) -> Arguments {
    Arguments { test_threads: arguments.test_threads.or(Some(threads)), ..arguments.clone() }
}

/// The turns of heavy tests: as long as others run beside them, some of their threads wait.
static HEAVY_TURNS: Turns = Turns { running: Mutex::new((0, HEAVY_AT_ONCE)), changed: Condvar::new() };

struct Turns {
    /// How many have a turn, and how many may.
    running: Mutex<(usize, usize)>,
    changed: Condvar,
}

impl Turns {
    fn take(&self) -> Turn<'_> {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let may = self.changed.wait_while(running, |(running, most)| running >= most);
        may.unwrap_or_else(PoisonError::into_inner).0 += 1;
        Turn(self)
    }

    fn allow(&self, most: usize) {
        self.running.lock().unwrap_or_else(PoisonError::into_inner).1 = most;
        self.changed.notify_all();
    }
}

/// A turn, given back when it is dropped.
struct Turn<'a>(&'a Turns);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.0.running.lock().unwrap_or_else(PoisonError::into_inner).0 -= 1;
        self.0.changed.notify_one();
    }
}

/// How long each test took.
#[derive(Default)]
pub(crate) struct Pace {
    times: Mutex<Vec<(f64, String)>>,
}

impl Pace {
    /// Runs a test when it is its turn, and notes its time.
    pub(crate) fn time<T>(&self, name: &str, test: impl FnOnce() -> T) -> T {
        let _turn = heaviness(name).map(|_| HEAVY_TURNS.take());
        let start = Instant::now();
        let result = test();
        let mut times = self.times.lock().unwrap_or_else(PoisonError::into_inner);
        times.push((start.elapsed().as_secs_f64(), name.to_owned()));
        result
    }

    /// Prints the slowest tests, and writes all times into the file that the environment names.
    pub(crate) fn report(&self) {
        let mut times = self.times.lock().unwrap_or_else(PoisonError::into_inner).clone();
        times.sort_by(|one, other| other.0.total_cmp(&one.0));
        if times.len() > 1 {
            println!("slowest tests, seconds:");
        }
        for (seconds, name) in times.iter().take(if times.len() > 1 { SHOWN } else { 0 }) {
            println!("{seconds:8.1}  {name}");
        }
        let Some(path) = std::env::var_os(TIMES).map(PathBuf::from) else { return };
        let lines: String = times.iter().map(|(seconds, name)| format!("{seconds:.1} {name}\n")).collect();
        let written = std::fs::OpenOptions::new().create(true).append(true).open(&path);
        if let Err(error) = written.and_then(|mut file| file.write_all(lines.as_bytes())) {
            eprintln!("{}: {error}", path.display());
        }
    }
}
