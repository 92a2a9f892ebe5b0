//! The cases with their statements changed at random: an expression takes the place of another one, a literal becomes an odd one, a word
//! another word. The plain server is the judge, as for the cases themselves.
//!
//! What must always hold: a seed gives the same changes on each run, and a statement that changes rows and that Weir refuses ends its
//! script, since the targets have other rows from then on. What differs is sorted by its kind, with a few examples each: some differences
//! are a change's own (LIMIT without a whole order), so that a run is read, not counted.

mod change;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use indicatif::MultiProgress;
use weir_local::Flavor;

use crate::answer::Answer;
use crate::case::{Case, Step};
use crate::generate::{Random, everywhere, is_on_the_workbench};
use crate::run::{Sessions, Tally, fresh, protocol};
use crate::stage::Target;
use crate::{Arguments, Error};
use change::Changes;

/// How many differences of one kind are shown.
const SHOWN: usize = 4;
/// How many statements of a script are changed, in a hundred.
const CHANGED: usize = 60;

#[derive(Default)]
struct Found {
    compared: usize,
    refused: usize,
    cut: usize,
    /// What broke is a failure, whatever the change was.
    tally: Tally,
    kinds: BTreeMap<String, (usize, Vec<String>)>,
}

/// Runs the cases with changes, again and again with other ones, for as long as the arguments say.
pub(crate) fn run(
    flavor: Flavor,
    arguments: &Arguments,
    cases: &[Case],
    targets: &[Target],
    bars: &MultiProgress,
) -> Result<Tally, Error> {
    let start = Instant::now();
    let mut found = Found::default();
    'rounds: for seed in arguments.seed.. {
        for (number, case) in cases.iter().enumerate() {
            if start.elapsed() > Duration::from_secs(arguments.seconds) {
                break 'rounds;
            }
            let random = Random::new(seed.wrapping_mul(1_000_003) + number as u64);
            script(flavor, case, Changes::new(random, flavor, case), targets, &mut found)?;
        }
    }
    let mut told = format!(
        "{flavor}: {} compared, {} refused, {} scripts ended by a refusal\n",
        found.compared, found.refused, found.cut
    );
    for (kind, (count, examples)) in found.kinds {
        told += &format!("=== {kind}: {count}\n{}\n", examples.join("\n"));
    }
    bars.suspend(|| println!("{told}"));
    Ok(found.tally)
}

fn script(
    flavor: Flavor,
    case: &Case,
    mut changes: Changes,
    targets: &[Target],
    found: &mut Found,
) -> Result<(), Error> {
    let mut sessions: Vec<Sessions<'_>> = targets.iter().map(Sessions::new).collect();
    everywhere(&mut sessions, |one| fresh(one.target))?;
    let mut history = String::new();
    for step in &case.steps {
        if step.weir_only || step.refused.is_some() || step.flavor.is_some_and(|only| only != flavor) {
            continue;
        }
        let mut step = Step { params: None, text: step.whole_text(), ..step.clone() };
        let text = if changes.random.chance(CHANGED) { changes.changed(&step.text) } else { None };
        let changed = text.is_some();
        if let Some(text) = text {
            (step.text, step.any_order) = (text, true);
        }
        let binary = step.binary.unwrap_or_else(|| changes.random.chance(25));
        let answers = everywhere(&mut sessions, |one| one.run(&step, binary))?;
        if let Some(expected) = answers.first() {
            let code = expected.error.as_ref().map_or(0, |error| error.0);
            let mark = if changed { "*" } else { " " };
            history += &format!("   {mark} {}: {} -> {code}\n", step.session, step.text);
        }
        let [expected, others @ ..] = &answers[..] else { return Ok(()) };
        let mut ends = expected.is_broken();
        for (number, got) in others.iter().enumerate() {
            let session = &mut sessions[number + 1];
            if got.is_refusal("") {
                found.refused += 1;
                ends |= expected.error.is_none() && !is_read(&step.text);
                continue;
            }
            found.compared += 1;
            let Some(kind) = difference(session, &step, expected, got)? else {
                found.tally.passed += 1;
                continue;
            };
            ends |= !is_read(&step.text) || got.is_broken();
            let of_kind = found.kinds.entry(kind).or_default();
            of_kind.0 += 1;
            if of_kind.1.len() < SHOWN {
                let (file, line, protocol) = (&case.file, step.line, protocol(binary));
                let (shown, before) = if changed { (step.text.as_str(), "") } else { ("", history.as_str()) };
                let told = format!("{file}:{line} {protocol}\n{before}  {shown}\n{expected}  Weir:\n{got}");
                of_kind.1.push(if got.is_broken() { session.target.with_log(told) } else { told });
            }
            if got.is_broken() {
                found.tally.fail(format!("{}:{}: {}", case.file, step.line, step.text));
            }
        }
        if ends {
            found.cut += 1;
            break;
        }
    }
    Ok(())
}

/// What kind of difference there is, if any.
fn difference(
    session: &mut Sessions<'_>,
    step: &Step,
    expected: &Answer,
    got: &Answer,
) -> Result<Option<String>, Error> {
    let code = |answer: &Answer| answer.error.as_ref().map_or(0, |error| error.0);
    if expected.is_broken() && got.is_broken() {
        return Ok(None);
    }
    if got.is_broken() || code(expected) != code(got) {
        return Ok(Some(format!(
            "error {} became {}{}",
            code(expected),
            code(got),
            if got.is_broken() { " BROKEN" } else { "" }
        )));
    }
    if code(got) != 0 || expected.is_like(got, step) {
        return Ok(None);
    }
    if !expected.is_like(got, &Step { other_columns: true, other_types: true, no_warnings: true, ..step.clone() }) {
        return Ok(Some("rows".to_owned()));
    }
    if !expected.is_like(got, &Step { other_columns: true, other_types: true, ..step.clone() }) {
        return Ok(Some("warnings".to_owned()));
    }
    if !expected.is_like(got, &Step { other_columns: true, ..step.clone() }) {
        return Ok(Some("types".to_owned()));
    }
    Ok((!is_on_the_workbench(session, step).unwrap_or(false)).then(|| "columns".to_owned()))
}

fn is_read(text: &str) -> bool {
    let text = text.trim_start_matches(|c: char| c == '(' || c.is_whitespace()).to_ascii_uppercase();
    ["SELECT", "WITH", "SHOW", "EXPLAIN", "TABLE", "VALUES", "DESC"].iter().any(|word| text.starts_with(word))
        && !text.contains(":=")
        && !text.contains("INTO")
}
