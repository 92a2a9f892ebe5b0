//! How long it takes to plan a statement of a sharded table, with and without an earlier plan of one like it.
//!
//! `cargo bench -p weir-plan --bench plan`.

#[path = "../tests/catalog/mod.rs"]
mod catalog;
#[path = "../tests/settings/mod.rs"]
#[expect(dead_code, reason = "the golden files themselves are not read here")]
mod settings;

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use settings::Settings;
use weir_catalog::Weights;
use weir_plan::{Given, Scratch, Templates, plan, plan_traced};
use weir_sql::{Bump, KnownTexts, parse};

const STATEMENTS: [(&str, &str); 5] = [
    ("select", "SELECT name FROM users WHERE id = 50147"),
    ("update", "UPDATE users SET age = 7, name = '68487932199-96439406143' WHERE id = 50147"),
    ("insert", "INSERT INTO users (id, name, age) VALUES (50147, '68487932199-96439406143', 4)"),
    ("in", "SELECT name FROM users WHERE id IN (50147, 50147, 50147, 50147)"),
    ("scatter", "SELECT name FROM users WHERE age BETWEEN 50147 AND 50246 ORDER BY age"),
];

fn plans(criterion: &mut Criterion) {
    let catalog = catalog::catalog();
    let weights = Weights::default();
    let settings = Settings::default();
    let session = settings.session();
    for (name, text) in STATEMENTS {
        let text = text.as_bytes();
        criterion.bench_function(&format!("{name}, anew"), |bencher| {
            bencher.iter(|| {
                let arena = Bump::new();
                let parsed = parse(&arena, black_box(text), session.mode).expect("a statement");
                plan(text, &parsed.statements[0], &catalog, &weights, &session)
            });
        });
        let mut shapes: KnownTexts<Templates> = KnownTexts::default();
        let (mut literals, mut scratch) = (Vec::new(), Scratch::default());
        shapes.keep(text, session.mode, Templates::default());
        let templates = shapes.get_with(text, session.mode, &mut literals).expect("it was kept");
        let arena = Bump::new();
        let parsed = parse(&arena, text, session.mode).expect("a statement");
        templates.learn(plan_traced(text, &literals, &parsed.statements[0], &catalog, &weights, &session).1);
        criterion.bench_function(&format!("{name}, again"), |bencher| {
            bencher.iter(|| {
                let templates = shapes.get_with(black_box(text), session.mode, &mut literals).expect("it was kept");
                let given = Given {
                    text,
                    literals: &literals,
                    parameters: &[],
                    collation: session.collation,
                    home: session.home,
                };
                templates.plan(&given, &weights, &mut scratch).expect("it was planned before")
            });
        });
    }
}

criterion_group!(benches, plans);
criterion_main!(benches);
