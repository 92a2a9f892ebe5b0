//! Running the cases, and comparing.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use mysql::Conn;
use mysql::prelude::Queryable;
use weir_local::Flavor;

use crate::answer::{Answer, ask};
use crate::case::{Case, Step, load};
use crate::stage::{Target, set};
use crate::{Arguments, Error};

/// What came out.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) passed: usize,
    pub(crate) failed: usize,
    /// The first of those that failed, each with a line that says where.
    pub(crate) failures: Vec<String>,
}

impl Tally {
    /// How many failures are told once more at the end.
    const TOLD_AGAIN: usize = 10;

    pub(crate) fn add(&mut self, mut other: Tally) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.failures.append(&mut other.failures);
    }

    /// Counts a failure, and keeps what is told of it.
    pub(crate) fn fail(&mut self, told: String) {
        self.failed += 1;
        if self.failures.len() < Self::TOLD_AGAIN {
            self.failures.push(told);
        }
    }
}

/// The sessions of a case on one target.
pub(crate) struct Sessions<'a> {
    pub(crate) target: &'a Target,
    open: BTreeMap<usize, Conn>,
}

impl<'a> Sessions<'a> {
    pub(crate) fn new(target: &'a Target) -> Sessions<'a> {
        Sessions { target, open: BTreeMap::new() }
    }

    /// The session of this number.
    pub(crate) fn session(&mut self, number: usize) -> Result<&mut Conn, Error> {
        Ok(match self.open.entry(number) {
            std::collections::btree_map::Entry::Occupied(entry) => entry.into_mut(),
            std::collections::btree_map::Entry::Vacant(entry) => entry.insert(self.target.begin()?),
        })
    }

    pub(crate) fn run(&mut self, step: &Step, binary: bool) -> Result<Answer, Error> {
        let params = step.params.as_deref().unwrap_or_default();
        let (text, params) = if binary { (step.text.clone(), params) } else { (step.whole_text(), Default::default()) };
        let text = on_shards(text, self.target.shards);
        Ok(ask(self.session(step.session)?, &text, binary, params))
    }
}

/// `{s3}` is the third shard's name, or that of one that is there.
fn on_shards(mut text: String, shards: usize) -> String {
    for number in 1..=4 {
        text = text.replace(&format!("{{s{number}}}"), &format!("s{}", (number - 1) % shards.max(1) + 1));
    }
    text
}

/// Makes the database of a case anew.
pub(crate) fn fresh(target: &Target) -> Result<(), Error> {
    let mut session = target.connect(None)?;
    for text in ["DROP DATABASE IF EXISTS d", "CREATE DATABASE d"] {
        session.query_drop(text).map_err(|error| format!("{text}: {error}"))?;
    }
    Ok(())
}

/// Runs all cases on one kind of server: each target at its own pace, compared as answers come.
pub(crate) fn run(flavor: Flavor, arguments: &Arguments, bars: &MultiProgress) -> Result<Tally, Error> {
    let cases = if arguments.generate { Vec::new() } else { load(&arguments.cases, &arguments.filter)? };
    let directory = tempfile::Builder::new().prefix("weir-differential-").tempdir()?;
    let targets = set(flavor, arguments, directory.path())?;
    if arguments.mutate {
        return crate::mutate::run(flavor, arguments, &cases, &targets, bars);
    }
    let steps = cases.iter().map(|case| case.steps.len() as u64 * 2).sum();
    let bar = bars.add(ProgressBar::new(steps)).with_style(
        ProgressStyle::with_template("{msg} [{wide_bar}] {pos}/{len} {eta}")
            .unwrap_or_else(|_| ProgressStyle::default_bar()),
    );
    bar.set_message(flavor.to_string());
    let mut report = Report { flavor, arguments, bar: &bar, tally: Tally::default() };
    std::thread::scope(|scope| {
        let mut answers: Vec<Receiver<Answers>> = Vec::new();
        for target in &targets {
            let (sender, receiver) = sync_channel(CASES_AHEAD);
            let cases = &cases;
            scope.spawn(move || play(flavor, cases, target, &sender));
            answers.push(receiver);
        }
        for case in &cases {
            for binary in [false, true] {
                let of_case = answers.iter().map(Receiver::recv).collect::<Result<Result<Vec<_>, _>, _>>();
                report.compare(case, binary, &targets, of_case??);
            }
        }
        Ok::<_, Error>(())
    })?;
    let mut tally = report.tally;
    bar.finish_and_clear();
    if arguments.generate || arguments.filter.is_empty() {
        tally.add(crate::generate::run(flavor, arguments, &targets, bars)?);
    }
    Ok(tally)
}

/// How many cases a target may be ahead of the slowest one.
const CASES_AHEAD: usize = 8;

/// A case's answers on one target: a place for each step, empty where the step does not run there.
type Answers = Result<Vec<Option<Answer>>, Error>;

/// Runs all cases on one target, until nobody listens any more.
fn play(flavor: Flavor, cases: &[Case], target: &Target, sender: &SyncSender<Answers>) {
    for case in cases {
        for binary in [false, true] {
            let answers = play_case(flavor, case, binary, target);
            let failed = answers.is_err();
            if sender.send(answers).is_err() || failed {
                return;
            }
        }
    }
}

fn play_case(flavor: Flavor, case: &Case, binary: bool, target: &Target) -> Answers {
    let Case { file, title, .. } = case;
    let protocol = protocol(binary);
    let unmade = |error| target.with_log(format!("{file} ({title}), {}, {protocol}: {error}", target.name));
    fresh(target).map_err(unmade)?;
    let mut sessions = Sessions::new(target);
    let runs = |step: &Step| {
        let is_for_this =
            step.flavor.is_none_or(|only| only == flavor) && step.binary.is_none_or(|only| only == binary);
        // What is refused over several shards is done nowhere else: there is nothing to refuse on one shard.
        let here = match target.shards {
            0 => step.refused.is_none() && !step.weir_only,
            1 => step.refused.is_none(),
            _ => true,
        };
        is_for_this && here
    };
    let mut run = |step: &Step| {
        let Step { line, text, .. } = step;
        let at = |error| format!("{file}:{line} ({title}), {}, {protocol}:\n  {text}\n  {error}", target.name);
        sessions.run(step, binary).map_err(|error| target.with_log(at(error)).into())
    };
    case.steps.iter().map(|step| runs(step).then(|| run(step)).transpose()).collect()
}

/// What it is called.
pub(crate) fn protocol(binary: bool) -> &'static str {
    if binary { "binary" } else { "text" }
}

/// What came out so far, and where it is shown.
struct Report<'a> {
    flavor: Flavor,
    arguments: &'a Arguments,
    bar: &'a ProgressBar,
    tally: Tally,
}

impl Report<'_> {
    /// Compares the answers to a case: the first target's are the right ones.
    fn compare(&mut self, case: &Case, binary: bool, targets: &[Target], mut answers: Vec<Vec<Option<Answer>>>) {
        for (number, step) in case.steps.iter().enumerate() {
            self.bar.inc(1);
            let mut of_step = answers.iter_mut().map(|answers| answers[number].take());
            let expected = of_step.next().flatten();
            if self.arguments.verbose
                && let Some(expected) = &expected
            {
                let (file, line, text) = (&case.file, step.line, &step.text);
                self.bar.suspend(|| println!("{}, {file}:{line}: {text}\n{expected}", self.flavor));
            }
            for (got, target) in of_step.zip(&targets[1..]) {
                let Some(got) = got else { continue };
                match verdict(step, expected.as_ref(), &got) {
                    Ok(()) => self.tally.passed += 1,
                    Err(why) if got.is_broken() => self.differs(case, step, binary, target, &target.with_log(why)),
                    Err(why) => self.differs(case, step, binary, target, &why),
                }
            }
        }
    }

    fn differs(&mut self, case: &Case, step: &Step, binary: bool, target: &Target, why: &str) {
        let protocol = protocol(binary);
        let (file, line, text, title) = (&case.file, step.line, &step.text, &case.title);
        let (flavor, target) = (self.flavor, &target.name);
        let told = format!("{file}:{line} ({title}), {flavor}, {target}, {protocol}:\n  {text}\n{why}");
        if self.tally.failed < self.arguments.show {
            self.bar.suspend(|| println!("{told}"));
        }
        self.tally.fail(told);
    }
}

fn verdict(step: &Step, expected: Option<&Answer>, got: &Answer) -> Result<(), String> {
    if let Some(words) = &step.refused {
        return if got.is_refusal(words) {
            Ok(())
        } else {
            Err(format!("  to be refused with 1235 and '{words}':\n{got}"))
        };
    }
    let Some(expected) = expected else {
        return if got.error.is_none() { Ok(()) } else { Err(format!("  an error:\n{got}")) };
    };
    if expected.is_like(got, step) {
        return Ok(());
    }
    Err(format!("  plain server:\n{expected}  Weir:\n{got}"))
}
