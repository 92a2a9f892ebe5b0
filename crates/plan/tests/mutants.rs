//! Statements that nobody has thought of: those of the golden files with parts of others in their places.
//!
//! What must always hold: the planner comes back with a plan or a refusal, whatever the statement, and what it would have servers run can be
//! read by them. `WEIR_MUTANTS` says how many statements are made, `WEIR_SEED` which.

mod catalog;
mod settings;

use std::panic::{AssertUnwindSafe, catch_unwind};

use settings::{Settings, files};
use weir_catalog::{Catalog, Constant, Weights};
use weir_plan::{explain, plan};
use weir_sql::ast::Span;
use weir_sql::visit::{Flow, Node, walk};
use weir_sql::{Bump, LexMode, parse};

/// Longer ones add little.
const LONGEST: usize = 2_000;
/// Kinds of parts that may stand for each other.
const KINDS: usize = 5;

struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % limit.max(1) as u64) as usize
    }
}

/// The statements of the golden files.
fn statements() -> Vec<(Settings, String)> {
    let mut all = Vec::new();
    for path in files() {
        let file = std::fs::read_to_string(&path).expect("a golden file can be read");
        let (mut settings, mut statement) = (Settings::default(), String::new());
        for line in file.lines().chain([""]) {
            let ends = line.is_empty() || line.starts_with(['#', '@', ' ']);
            if ends && !statement.is_empty() {
                all.push((std::mem::take(&mut settings), std::mem::take(&mut statement)));
            }
            match line.strip_prefix("@ ") {
                Some(setting) => settings.set(setting),
                None if !ends => statement.push_str(&format!("{line}\n")),
                None => {}
            }
        }
    }
    all
}

/// The parts of a text: their kind, and where they are.
fn parts(text: &[u8], mode: LexMode) -> Vec<(usize, Span)> {
    let arena = Bump::new();
    let Ok(parsed) = parse(&arena, text, mode) else { return Vec::new() };
    let mut found = Vec::new();
    for statement in parsed.statements {
        walk(Node::Statement(statement), &mut |node: Node<'_>| {
            found.extend(match node {
                Node::Expr(expr) => Some((0, expr.span)),
                Node::TableRef(table, _) => Some((1, table.span)),
                Node::Query(query) => Some((2, query.span)),
                Node::SelectItem(item) => Some((3, item.span)),
                Node::OrderItem(item) => Some((4, item.span)),
                _ => None,
            });
            Flow::Descend
        });
    }
    found
}

/// One with some of its parts replaced.
fn mutant(original: &str, pool: &[Vec<Vec<u8>>; KINDS], mode: LexMode, random: &mut Random) -> Vec<u8> {
    let mut text = original.as_bytes().to_vec();
    for _ in 0..=random.below(3) {
        let parts = parts(&text, mode);
        if parts.is_empty() {
            break;
        }
        let (kind, span) = parts[random.below(parts.len())];
        let others = &pool[kind];
        let other = &others[random.below(others.len())];
        if text.len() + other.len() > LONGEST {
            break;
        }
        text.splice(span.range(), other.iter().copied());
    }
    text
}

/// What is wrong with the plan of a text, if anything is.
fn fault(text: &[u8], catalog: &Catalog, settings: &Settings) -> Option<String> {
    let session = settings.session();
    let arena = Bump::new();
    let parsed = parse(&arena, text, session.mode).ok()?;
    let [statement] = parsed.statements else { return None };
    let planned = catch_unwind(AssertUnwindSafe(|| {
        let plan = plan(text, statement, catalog, &Weights::default(), &session).ok()?;
        Some(explain::rows(&plan, catalog))
    }));
    let Ok(rows) = planned else { return Some("the planner panics".to_owned()) };
    let texts = rows.into_iter().flatten().filter(|(what, _)| what == "text");
    let unread = |text: &String| {
        let arena = Bump::new();
        parse(&arena, text.as_bytes(), session.mode).err().map(|error| format!("{error}: {text}"))
    };
    texts.map(|(_, text)| text).find_map(|text| unread(&text))
}

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

#[test]
fn whatever_parts_a_statement_has_it_is_planned_or_refused() {
    let catalog = catalog::catalog();
    let originals = statements();
    let mut pool: [Vec<Vec<u8>>; KINDS] = Default::default();
    for (settings, text) in &originals {
        for (kind, span) in parts(text.as_bytes(), settings.session().mode) {
            pool[kind].push(text.as_bytes()[span.range()].to_vec());
        }
    }
    let mut random = Random(number("WEIR_SEED", 1));
    let mut faults = Vec::new();
    let parameters: Vec<Constant> = (0..64).map(Constant::Integer).collect();
    for _ in 0..number("WEIR_MUTANTS", 20_000) {
        let (settings, original) = &originals[random.below(originals.len())];
        let settings = Settings {
            mariadb: settings.mariadb || random.below(2) == 0,
            parameters: Some(parameters.clone()),
            ..settings.clone()
        };
        let text = mutant(original, &pool, settings.session().mode, &mut random);
        if let Some(fault) = fault(&text, &catalog, &settings) {
            faults.push(format!("{}\n  {fault}", String::from_utf8_lossy(&text)));
        }
    }
    let shown = faults.iter().take(10).cloned().collect::<Vec<_>>().join("\n");
    assert!(faults.is_empty(), "{} faults:\n{shown}", faults.len());
}
