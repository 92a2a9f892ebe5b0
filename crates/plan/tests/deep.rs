//! Long lists don't nest: each is read, classified and planned on a thread with the stack that Weir's threads have. A pass that recurses
//! along a list would end the process.

mod catalog;
mod lists;
#[expect(dead_code, reason = "the golden files themselves are not read here")]
mod settings;

use lists::LISTS;
use settings::Settings;
use weir_catalog::Weights;
use weir_plan::{Effort, plan_within};
use weir_sql::{Bump, classify, digest_text, parse};

/// The stack of a thread of Weir's.
const STACK: usize = 2 * 1024 * 1024;
/// Unoptimised frames of a pass that recurses fill the stack well before.
const ITEMS: usize = 4_000;

fn plan_all() -> usize {
    let (catalog, settings) = (catalog::catalog(), Settings::default());
    let session = settings.session();
    let mut planned = 0;
    for list in LISTS {
        let text = list.text(ITEMS);
        classify(&text, session.mode);
        digest_text(&text, session.mode, 1024);
        let arena = Bump::new();
        let Ok(parsed) = parse(&arena, &text, session.mode) else { continue };
        let effort = Effort::of(&text);
        for statement in parsed.statements {
            let plan = plan_within(&text, statement, &catalog, &Weights::default(), &session, &effort);
            // What is planned is shown, too, and taken apart.
            planned += usize::from(!format!("{plan:?}").is_empty());
        }
    }
    planned
}

#[test]
fn long_lists_do_not_nest() {
    let planner = std::thread::Builder::new().stack_size(STACK).spawn(plan_all).expect("a thread");
    let planned = planner.join().expect("no list panics");
    assert!(planned >= LISTS.len(), "only {planned} statements were planned");
}
