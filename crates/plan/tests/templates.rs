//! A plan that is used again is the one that the planner makes: all statements of the golden files, with other values in place of their
//! literals and parameters, are planned both ways; and the same with decimals in place of integers.

mod catalog;
mod settings;

use std::collections::HashMap;
use std::ops::Range;

use settings::{Settings, files};
use weir_catalog::{Catalog, Constant, Weights};
use weir_plan::{Given, Plan, Refusal, Scratch, SessionFacts, Template, Templates, plan, plan_traced};
use weir_sql::{Bump, KnownTexts, LexMode, parse};

/// Other values that each statement is tried with.
const TRIES: usize = 60;

const INTEGERS: [&str; 14] =
    ["0", "1", "2", "3", "5", "7", "10", "99", "100", "101", "150", "199", "200", "123456789012345678"];
const FRACTIONS: [&str; 6] = ["0", "5", "00", "25", "4999", "9999999999"];
const STRINGS: [&str; 16] =
    ["", "a", "b", "x", "y", "5", "05", "-7", "de", "DE", "fr", "2023-12-31", "2024-01-01", "2024-06-15", "abc ", "ä"];

/// Numbers that look like chance, the same each time.
struct Chance(u64);

impl Chance {
    fn below(&mut self, count: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % count as u64) as usize
    }

    fn of<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.below(all.len())]
    }

    fn integer(&mut self) -> String {
        match self.below(3) {
            0 => self.below(1_000_000).to_string(),
            _ => self.of(&INTEGERS).to_owned(),
        }
    }

    fn decimal(&mut self) -> String {
        format!("{}.{}", self.below(200), self.of(&FRACTIONS))
    }

    fn string(&mut self) -> String {
        self.of(&STRINGS).to_owned()
    }

    fn parameter(&mut self, was: &Constant) -> Constant {
        let was = match self.below(8) {
            0 => &Constant::Null,
            1 => &Constant::Integer(0),
            _ => was,
        };
        match was {
            Constant::Integer(_) => Constant::Integer(self.integer().parse::<i128>().expect("digits") - 3),
            Constant::Text { collation, explicit, .. } => {
                Constant::Text { bytes: self.string().into_bytes(), collation: collation.clone(), explicit: *explicit }
            }
            other => other.clone(),
        }
    }
}

fn literals(text: &[u8], mode: LexMode) -> Option<Vec<Range<usize>>> {
    let mut texts = KnownTexts::default();
    texts.keep(text, mode, ());
    let mut literals = Vec::new();
    texts.get_with(text, mode, &mut literals)?;
    Some(literals)
}

/// The text with other values.
fn other(text: &str, literals: &[Range<usize>], chance: &mut Chance) -> String {
    let mut out = String::new();
    let mut from = 0;
    for literal in literals {
        out.push_str(&text[from..literal.start]);
        match (chance.below(4), text.as_bytes()[literal.start]) {
            (0, _) => out.push_str(&text[literal.clone()]),
            (_, b'\'') => {
                out.push('\'');
                out.push_str(&chance.string());
                out.push('\'');
            }
            _ if text[literal.clone()].contains('.') => out.push_str(&chance.decimal()),
            _ => out.push_str(&chance.integer()),
        }
        from = literal.end;
    }
    out.push_str(&text[from..]);
    out
}

/// The text with decimals in place of its integers.
fn with_decimals(text: &str, literals: &[Range<usize>]) -> String {
    let mut out = text.to_owned();
    for literal in literals.iter().rev().filter(|literal| text.as_bytes()[literal.start].is_ascii_digit()) {
        out.insert_str(literal.end, ".0");
    }
    out
}

/// All statements, with their settings; each once more with decimals.
fn cases() -> Vec<(Settings, String)> {
    let cases = golden_cases();
    let decimals = cases.iter().filter_map(|(settings, text)| {
        let places = literals(text.as_bytes(), settings.session().mode)?;
        Some((settings.clone(), with_decimals(text, &places))).filter(|(_, other)| other != text)
    });
    decimals.collect::<Vec<_>>().into_iter().chain(cases.iter().cloned()).collect()
}

fn golden_cases() -> Vec<(Settings, String)> {
    let mut cases = Vec::new();
    for path in files() {
        let file = std::fs::read_to_string(&path).expect("a golden file can be read");
        let (mut settings, mut statement) = (Settings::default(), String::new());
        for line in file.lines().chain([""]) {
            if let Some(setting) = line.strip_prefix("@ ") {
                settings.set(setting);
            } else if line.is_empty() || line.starts_with(['#', ' ']) {
                if !statement.is_empty() {
                    let statement = std::mem::take(&mut statement).trim_end().to_owned();
                    cases.push((std::mem::take(&mut settings), statement));
                }
            } else {
                statement.push_str(line);
                statement.push('\n');
            }
        }
    }
    cases
}

type Planned = Result<Plan, Refusal>;

fn traced(
    text: &str,
    literals: &[Range<usize>],
    catalog: &Catalog,
    session: &SessionFacts<'_>,
) -> Option<(Planned, Planned, Option<Template>)> {
    let arena = Bump::new();
    let parsed = parse(&arena, text.as_bytes(), session.mode).ok()?;
    let [statement] = parsed.statements else { return None };
    let (text, weights) = (text.as_bytes(), Weights::default());
    let (noted, template) = plan_traced(text, literals, statement, catalog, &weights, session);
    Some((plan(text, statement, catalog, &weights, session), noted, template))
}

/// Without what is told only once.
fn bare(mut plan: Plan) -> Plan {
    match &mut plan {
        Plan::Route(route) => route.reason.clear(),
        Plan::Read(read) => read.reason.clear(),
        _ => {}
    }
    plan
}

#[test]
fn a_plan_that_is_used_again_is_the_one_that_the_planner_makes() {
    let catalog = catalog::catalog();
    let mut chance = Chance(0x9E37_79B9_7F4A_7C15);
    let mut found: HashMap<&str, usize> = HashMap::new();
    for (settings, original) in cases() {
        let Some(places) = literals(original.as_bytes(), settings.session().mode) else { continue };
        let (mut templates, mut scratch) = (Templates::default(), Scratch::default());
        for nth in 0..TRIES {
            let mut settings = settings.clone();
            let mut text = original.clone();
            if nth > 0 {
                text = other(&original, &places, &mut chance);
                settings.home = chance.below(2) as u16;
                for parameter in settings.parameters.iter_mut().flatten() {
                    *parameter = chance.parameter(parameter);
                }
            }
            let session = settings.session();
            let places = literals(text.as_bytes(), session.mode).expect("it is as plain as the original");
            let Some((whole, noted, template)) = traced(&text, &places, &catalog, &session) else { continue };
            assert_eq!(whole, noted, "{text}: taking notes changes the plan");
            let given = Given {
                text: text.as_bytes(),
                literals: &places,
                parameters: settings.parameters.as_deref().unwrap_or_default(),
                collation: session.collation,
                home: session.home,
            };
            match templates.plan(&given, &Weights::default(), &mut scratch) {
                None => templates.learn(template),
                Some(again) => {
                    let kind = match &again {
                        Plan::Home => "home",
                        Plan::Route(_) => "route",
                        _ => "read",
                    };
                    *found.entry(kind).or_default() += 1;
                    let whole = whole.map(bare);
                    assert_eq!(Ok(bare(again)), whole, "{text}\n like {original}\n with {:?}", settings.parameters);
                }
            }
        }
    }
    for (kind, least) in [("home", 200), ("route", 2000), ("read", 4000)] {
        assert!(found.get(kind).is_some_and(|times| *times > least), "too few plans were used again: {found:?}");
    }
}
