//! Generated schemas, data and statements, compared as the cases are.
//!
//! What must always hold: a seed gives the same script on each run, and the plain server's answer to each of its statements is the only right
//! one. Weir may refuse a statement (1235); a write that it refuses over any number of shards is done nowhere. Shares of what was refused
//! are printed.

mod condition;
mod gathered;
mod play;
mod random;
mod script;
mod select;
mod shrink;
mod world;
mod write;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use indicatif::MultiProgress;
use weir_local::Flavor;

use crate::run::Tally;
use crate::stage::Target;
use crate::{Arguments, Error};
use play::End;
use script::Script;

pub(crate) use play::{everywhere, is_on_the_workbench};
pub(crate) use random::Random;

/// Statements of one script.
const STATEMENTS: usize = 60;

/// How many statements of a kind were compared, and refused.
type Shares = BTreeMap<&'static str, (usize, usize)>;

/// Runs scripts with at least so many statements.
pub(crate) fn run(
    flavor: Flavor,
    arguments: &Arguments,
    targets: &[Target],
    bars: &MultiProgress,
) -> Result<Tally, Error> {
    let start = Instant::now();
    let (mut shares, mut generated) = (Shares::new(), Tally::default());
    let (mut done, mut cut) = (0, 0);
    for seed in arguments.seed.. {
        if done >= arguments.statements || start.elapsed() > Duration::from_secs(arguments.seconds) {
            break;
        }
        let script = Script::make(seed, flavor, STATEMENTS);
        done += script.acts.len();
        let all: Vec<&Target> = targets.iter().collect();
        let end =
            play::play(&script, &all, &mut shares).map_err(|error| format!("generated from seed {seed}: {error}"));
        match end? {
            End::Same { compared } => generated.passed += compared,
            End::Cut { compared } => {
                generated.passed += compared;
                cut += 1;
            }
            End::Different(difference) => {
                generated.passed += difference.compared;
                let found = format!("{flavor}, seed {seed}: {}, {}", targets[difference.target].name, difference.why);
                let told = match shrink::shrink(&script, &difference, targets) {
                    Ok(Some(small)) => format!("{found}\n{}", small.shown()),
                    Ok(None) => format!("{found}\nNot seen again in the same script:\n{}", script.shown()),
                    Err(error) => format!("{found}\nNot made smaller ({error}):\n{}", script.shown()),
                };
                bars.suspend(|| println!("{told}"));
                generated.fail(told);
                if generated.failed >= arguments.show {
                    break;
                }
            }
        }
    }
    let mut told = format!(
        "{flavor}: generated from seed {} on, {done} of {} statements in {} s; {cut} scripts ended by a refusal of a write while it ran\n",
        arguments.seed,
        arguments.statements,
        start.elapsed().as_secs(),
    );
    for (kind, (compared, refused)) in shares {
        let share = refused * 100 / (compared + refused).max(1);
        told += &format!("  {kind:<18} {compared:>6} compared {refused:>6} refused ({share}%)\n");
    }
    bars.suspend(|| print!("{told}"));
    Ok(generated)
}
