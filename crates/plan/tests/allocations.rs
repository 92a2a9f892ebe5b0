//! A plan that is used again allocates nothing once it has been.

mod catalog;
#[expect(dead_code, reason = "the golden files themselves are not read here")]
mod settings;

use settings::Settings;
use weir_catalog::{Constant, Weights};
use weir_plan::{Given, Plan, Scratch, Templates, plan_traced};
use weir_sql::{Bump, KnownTexts, parse};

#[global_allocator]
static ALLOCATOR: dhat::Alloc = dhat::Alloc;

const TIMES: u64 = 1000;

/// The allocations of many executions of a statement, with these values in place of its `{}`.
fn allocations(text: &str, prepared: bool) -> u64 {
    let catalog = catalog::catalog();
    let weights = Weights::default();
    let mut shapes: KnownTexts<Templates> = KnownTexts::default();
    let (mut literals, mut scratch, mut parameters) = (Vec::new(), Scratch::default(), Vec::new());
    let texts: Vec<String> = (0..64).map(|value| text.replace("{}", &value.to_string())).collect();
    let mut counted = 0;
    for round in 0..2 {
        let before = dhat::HeapStats::get().total_blocks;
        for nth in 0..TIMES {
            let text = texts[nth as usize % texts.len()].as_bytes();
            let settings = Settings { parameters: None, ..Settings::default() };
            parameters.clear();
            if prepared {
                parameters.push(Constant::Integer(i128::from(nth)));
            }
            let facts = settings.session();
            let session = weir_plan::SessionFacts { parameters: prepared.then_some(&parameters[..]), ..facts };
            let Some(templates) = shapes.get_with(text, session.mode, &mut literals) else {
                shapes.keep(text, session.mode, Templates::default());
                continue;
            };
            let (collation, home) = (session.collation, session.home);
            let given = Given { text, literals: &literals, parameters: &parameters, collation, home };
            if let Some(plan) = templates.plan(&given, &weights, &mut scratch) {
                assert!(matches!(plan, Plan::Route(_)), "{plan:?}");
                continue;
            }
            assert_eq!(round, 0, "{}: planned anew", String::from_utf8_lossy(text));
            let arena = Bump::new();
            let parsed = parse(&arena, text, session.mode).expect("a statement");
            let (_, template) = plan_traced(text, &literals, &parsed.statements[0], &catalog, &weights, &session);
            templates.learn(template);
        }
        counted = dhat::HeapStats::get().total_blocks - before;
    }
    counted
}

fn main() {
    let _profiler = dhat::Profiler::builder().testing().build();
    let cases = [
        ("SELECT name FROM users WHERE id = {}", false),
        ("SELECT name FROM users WHERE id = '{}'", false),
        ("UPDATE users SET age = 7 WHERE id = {}", false),
        ("DELETE FROM users WHERE id IN ({})", false),
        ("INSERT INTO users (id, name) VALUES ({}, 'x')", false),
        ("SELECT name FROM users WHERE id = ?", true),
    ];
    for (text, prepared) in cases {
        let found = allocations(text, prepared);
        assert_eq!(found, 0, "{text}: {found} allocations in {TIMES} executions");
        println!("{text}: no allocations");
    }
}
