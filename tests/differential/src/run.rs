//! Running the cases, and comparing.

use std::collections::BTreeMap;

use indicatif::{ProgressBar, ProgressStyle};
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
    shown: usize,
}

impl Tally {
    pub(crate) fn add(&mut self, other: &Tally) {
        self.passed += other.passed;
        self.failed += other.failed;
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
            std::collections::btree_map::Entry::Vacant(entry) => entry.insert(self.target.connect(Some("d"))?),
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
        session.query_drop(text).map_err(|error| format!("{}: {text}: {error}\n{}", target.name, target.log_tail()))?;
    }
    Ok(())
}

/// Runs all cases on one kind of server.
pub(crate) fn run(flavor: Flavor, arguments: &Arguments) -> Result<Tally, Error> {
    let cases = if arguments.generate { Vec::new() } else { load(&arguments.cases, &arguments.filter)? };
    let directory = tempfile::Builder::new().prefix("weir-differential-").tempdir()?;
    let targets = set(flavor, arguments, directory.path())?;
    let steps = cases.iter().map(|case| case.steps.len() as u64 * 2).sum();
    let bar = ProgressBar::new(steps).with_style(
        ProgressStyle::with_template("{msg} [{wide_bar}] {pos}/{len} {eta}")
            .unwrap_or_else(|_| ProgressStyle::default_bar()),
    );
    bar.set_message(flavor.to_string());
    let mut tally = Tally::default();
    for case in &cases {
        for binary in [false, true] {
            run_case(flavor, case, binary, &targets, arguments, &mut tally, &bar)?;
        }
    }
    bar.finish_and_clear();
    if arguments.generate || arguments.filter.is_empty() {
        let generated = crate::generate::run(flavor, arguments, &targets)?;
        tally.passed += generated.passed;
        tally.failed += generated.failed;
    }
    Ok(tally)
}

fn run_case(
    flavor: Flavor,
    case: &Case,
    binary: bool,
    targets: &[Target],
    arguments: &Arguments,
    tally: &mut Tally,
    bar: &ProgressBar,
) -> Result<(), Error> {
    for target in targets {
        fresh(target)?;
    }
    let mut all: Vec<Sessions<'_>> = targets.iter().map(Sessions::new).collect();
    for step in &case.steps {
        bar.inc(1);
        if step.flavor.is_some_and(|only| only != flavor) || step.binary.is_some_and(|only| only != binary) {
            continue;
        }
        let Some((plain, weirs)) = all.split_first_mut() else { return Ok(()) };
        let expected = match step.refused.is_some() || step.weir_only {
            true => None,
            false => Some(plain.run(step, binary)?),
        };
        if arguments.verbose
            && let Some(expected) = &expected
        {
            bar.println(format!("{}:{}: {}\n{expected}", case.file, step.line, step.text));
        }
        for sessions in weirs {
            if step.refused.is_some() && sessions.target.shards < 2 {
                // One shard holds everything: there is nothing to refuse, and the plain server has not done it either.
                continue;
            }
            let got = sessions.run(step, binary)?;
            match verdict(step, expected.as_ref(), &got) {
                Ok(()) => tally.passed += 1,
                Err(why) => {
                    tally.failed += 1;
                    tally.shown += 1;
                    if tally.shown <= arguments.show {
                        let protocol = if binary { "binary" } else { "text" };
                        let (file, line, text) = (&case.file, step.line, &step.text);
                        let (title, target) = (&case.title, &sessions.target.name);
                        bar.suspend(|| println!("{file}:{line} ({title}), {target}, {protocol}:\n  {text}\n{why}"));
                    }
                }
            }
        }
    }
    Ok(())
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
