//! Generated schemas, data and statements, compared as the cases are.
//!
//! What must always hold: a seed gives the same script on each run, and the plain server's answer to each of its statements is the only right
//! one. Weir may refuse a statement (1235); a write that it refuses over any number of shards is done nowhere. Shares of what was refused
//! are printed.

mod condition;
mod play;
mod random;
mod script;
mod select;
mod shrink;
mod world;
mod write;

use std::collections::BTreeMap;

use weir_local::Flavor;

use crate::stage::Target;
use crate::{Arguments, Error};
use play::End;
use script::Script;

/// Statements of one script.
const STATEMENTS: usize = 60;

/// How many statements of a kind were compared, and refused.
type Shares = BTreeMap<&'static str, (usize, usize)>;

/// What came of it.
#[derive(Debug, Default)]
pub(crate) struct Generated {
    pub(crate) passed: usize,
    pub(crate) failed: usize,
}

/// Runs scripts with at least so many statements.
pub(crate) fn run(flavor: Flavor, arguments: &Arguments, targets: &[Target]) -> Result<Generated, Error> {
    let (mut shares, mut generated) = (Shares::new(), Generated::default());
    let (mut done, mut cut) = (0, 0);
    for seed in arguments.seed.. {
        if done >= arguments.statements {
            break;
        }
        let script = Script::make(seed, flavor, STATEMENTS);
        done += script.acts.len();
        let all: Vec<&Target> = targets.iter().collect();
        match play::play(&script, &all, &mut shares)? {
            End::Same { compared } => generated.passed += compared,
            End::Cut { compared } => {
                generated.passed += compared;
                cut += 1;
            }
            End::Different(difference) => {
                generated.failed += 1;
                println!("{flavor}, seed {seed}: {}, {}", targets[difference.target].name, difference.why);
                let small = shrink::shrink(script, &difference, targets)?;
                println!("{}", small.shown());
                if generated.failed >= arguments.show {
                    break;
                }
            }
        }
    }
    println!(
        "{flavor}: generated from seed {} on, {done} statements; {cut} scripts ended by a refusal of a write while it ran",
        arguments.seed
    );
    for (kind, (compared, refused)) in shares {
        println!(
            "  {kind:<18} {compared:>6} compared {refused:>6} refused ({}%)",
            refused * 100 / (compared + refused).max(1)
        );
    }
    Ok(generated)
}
