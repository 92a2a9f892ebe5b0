//! Plays a script on all targets.

use mysql::prelude::Queryable;

use super::Shares;
use super::script::{Act, Script};
use crate::Error;
use crate::answer::Answer;
use crate::case::Step;
use crate::run::{Sessions, fresh, protocol};
use crate::stage::Target;

/// How a script ended.
pub(super) enum End {
    Same {
        compared: usize,
    },
    /// A write was refused while it ran: some targets have done it.
    Cut {
        compared: usize,
    },
    Different(Difference),
}

/// Where answers differ.
pub(super) struct Difference {
    /// The statement, counted from the first act.
    pub(super) act: usize,
    /// The target that answers something else.
    pub(super) target: usize,
    /// Both answers.
    pub(super) why: String,
    /// Their error codes, and whether it is the rows that differ.
    pub(super) nature: Nature,
    /// The statements before it.
    pub(super) compared: usize,
}

/// What differs.
pub(super) type Nature = (Option<u16>, Option<u16>, bool);

/// Plays it: the first target is the plain one.
pub(super) fn play(script: &Script, targets: &[&Target], shares: &mut Shares) -> Result<End, Error> {
    let mut sessions = Vec::new();
    for target in targets {
        sessions.push(Sessions::new(target));
    }
    everywhere(&mut sessions, |one| fresh(one.target))?;
    let mut compared = 0;
    let setup = script.setup();
    for (number, act) in setup.iter().chain(&script.acts).enumerate() {
        if act.writes && refused_before(&mut sessions, act).map_err(|error| at(act, &error))? {
            shares.entry(act.kind).or_default().1 += 1;
            continue;
        }
        match one(&mut sessions, act).map_err(|error| at(act, &error))? {
            Verdict::Same { refused: false } => {
                compared += 1;
                shares.entry(act.kind).or_default().0 += 1;
            }
            Verdict::Same { refused: true } => shares.entry(act.kind).or_default().1 += 1,
            Verdict::Cut => {
                shares.entry(act.kind).or_default().1 += 1;
                return Ok(End::Cut { compared });
            }
            Verdict::Different(target, why, nature) => {
                let act = number.saturating_sub(setup.len());
                return Ok(End::Different(Difference { act, target, why, nature, compared }));
            }
        }
    }
    Ok(End::Same { compared })
}

/// An error without an answer, and the statement that it came from.
fn at(act: &Act, error: &Error) -> String {
    format!("{}:\n  {}\n  {error}", protocol(act.binary), act.step.text)
}

/// Does something on all targets at the same time.
pub(crate) fn everywhere<'a, T: Send>(
    sessions: &mut [Sessions<'a>],
    ask: impl Fn(&mut Sessions<'a>) -> Result<T, Error> + Sync,
) -> Result<Vec<T>, Error> {
    let ask = &ask;
    std::thread::scope(|scope| {
        let named = |one: &mut Sessions<'a>| {
            let target = one.target;
            ask(one).map_err(|error| target.with_log(format!("{}: {error}", target.name)).into())
        };
        let asked: Vec<_> = sessions.iter_mut().map(|one| scope.spawn(move || named(one))).collect();
        asked
            .into_iter()
            .map(|one| one.join().unwrap_or_else(|_panic| Err("a session's thread panicked".into())))
            .collect()
    })
}

/// Whether Weir says beforehand that it refuses a write.
fn refused_before(sessions: &mut [Sessions<'_>], act: &Act) -> Result<bool, Error> {
    let refused = everywhere(sessions, |one| {
        if one.target.shards < 2 {
            return Ok(false);
        }
        let told = one.session(0)?.query_drop(format!("WEIR EXPLAIN {}", act.step.whole_text()));
        Ok(matches!(&told, Err(mysql::Error::MySqlError(error)) if error.code == 1235))
    })?;
    Ok(refused.contains(&true))
}

enum Verdict {
    /// All that did not refuse it answer alike.
    Same {
        refused: bool,
    },
    Cut,
    Different(usize, String, Nature),
}

fn one(sessions: &mut [Sessions<'_>], act: &Act) -> Result<Verdict, Error> {
    let mut refused = false;
    let mut expected = None;
    let answers = everywhere(sessions, |one| one.run(&act.step, act.binary))?;
    for (number, got) in answers.into_iter().enumerate() {
        let Some(expected) = &expected else {
            expected = Some(got);
            continue;
        };
        if got.is_refusal("") {
            if act.writes && expected.error.is_none() {
                return Ok(Verdict::Cut);
            }
            refused = true;
        } else if !alike(act, expected, &got) && !is_alike_gathered(&mut sessions[number], act, expected, &got)? {
            let text = &act.step.text;
            let protocol = protocol(act.binary);
            let code = |answer: &Answer| answer.error.as_ref().map(|error| error.0);
            let rows = |answer: &Answer| answer.results.iter().map(|reply| reply.rows.len()).collect::<Vec<_>>();
            let nature = (code(expected), code(&got), rows(expected) != rows(&got));
            let mut why = format!("{protocol}:\n  {text}\n  plain server:\n{expected}  Weir:\n{got}");
            if got.is_broken() {
                why = sessions[number].target.with_log(why);
            }
            return Ok(Verdict::Different(number, why, nature));
        }
    }
    Ok(Verdict::Same { refused })
}

/// Of several rows that are wrong each in its own way, a shard finds its own first.
fn alike(act: &Act, expected: &Answer, got: &Answer) -> bool {
    let several = act.writes && expected.error.is_some() && got.error.is_some();
    several || expected.is_like(got, &act.step)
}

/// Over gathered rows a server may make a temporary table where it makes none over the tables, and the other way round: then only names and
/// types of the columns are the same.
fn is_alike_gathered(one: &mut Sessions<'_>, act: &Act, expected: &Answer, got: &Answer) -> Result<bool, Error> {
    if act.writes || !expected.is_like(got, &Step { other_columns: true, ..act.step.clone() }) {
        return Ok(false);
    }
    is_on_the_workbench(one, &act.step)
}

/// Whether Weir gathers the rows of a query.
pub(crate) fn is_on_the_workbench(one: &mut Sessions<'_>, step: &Step) -> Result<bool, Error> {
    let told = one.session(step.session)?.query(format!("WEIR EXPLAIN {}", step.whole_text()));
    let plan: Vec<(String, String)> = told?;
    Ok(plan.iter().any(|(what, _)| what == "workbench"))
}
