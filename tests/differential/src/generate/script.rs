//! A script: tables with rows, and statements on them, all from one seed.

use weir_local::Flavor;

use super::random::Random;
use super::select::{Made, query};
use super::world::{Table, World, make};
use super::write::write;
use crate::case::Step;

/// Tables, and what is done with them.
#[derive(Debug, Clone)]
pub(super) struct Script {
    pub(super) tables: Vec<Rows>,
    pub(super) acts: Vec<Act>,
}

/// A table, and its rows at first.
#[derive(Debug, Clone)]
pub(super) struct Rows {
    name: String,
    definition: String,
    pub(super) rows: Vec<String>,
}

/// A statement.
#[derive(Debug, Clone)]
pub(super) struct Act {
    /// What shares are told of.
    pub(super) kind: &'static str,
    pub(super) step: Step,
    pub(super) binary: bool,
    /// It may change something: it must be done by all targets or by none.
    pub(super) writes: bool,
}

impl Act {
    fn plain(kind: &'static str, text: String) -> Act {
        Act { kind, step: Step { text, ..Step::default() }, binary: false, writes: false }
    }

    fn made(made: Made, writes: bool) -> Act {
        let Made { kind, words, ordered, other_columns, other_types } = made;
        // Whether a conversion warns for each row or once is the optimizer's affair; deprecated words warn once for each shard.
        let no_warnings = !writes || kind == "on duplicate key";
        // A server names a view's columns or its tables', as its protocol and its way go.
        let of_view = words.text.contains(" v_");
        let step = Step {
            text: words.text,
            params: words.prepared.then_some(words.params),
            any_order: !ordered,
            other_columns: other_columns || of_view,
            other_types,
            no_warnings,
            ..Step::default()
        };
        Act { kind, step, binary: words.prepared, writes }
    }
}

impl Script {
    pub(super) fn make(seed: u64, flavor: Flavor, statements: usize) -> Script {
        let mut random = Random::new(seed);
        let world = make(flavor, &mut random);
        let rows = |table: &Table| table.rows.iter().map(|row| format!("({})", row.join(", "))).collect();
        let made = |table: &Table, rows| Rows { name: table.name.clone(), definition: table.definition(), rows };
        let tables = world.tables.iter().map(|table| made(table, rows(table)));
        let views = world.views.iter().map(|view| made(view, Vec::new()));
        Script { tables: tables.chain(views).collect(), acts: acts(&world, &mut random, statements) }
    }

    /// What makes the tables.
    pub(super) fn setup(&self) -> Vec<Act> {
        let mut setup = Vec::new();
        for table in &self.tables {
            setup.push(Act::plain("table", table.definition.clone()));
            if !table.rows.is_empty() {
                setup.push(Act::plain("rows", format!("INSERT INTO {} VALUES {}", table.name, table.rows.join(", "))));
            }
        }
        setup
    }

    /// It as a case.
    pub(super) fn shown(&self) -> String {
        let mut shown = String::from("## found by the generator\n");
        for act in self.setup().iter().chain(&self.acts) {
            if let Some(params) = act.step.params.as_ref().filter(|params| !params.is_empty()) {
                shown.push_str(&format!("-- params: {}\n", params.join(", ")));
            }
            if act.step.any_order && act.step.text.contains("ORDER BY") {
                shown.push_str("-- any order\n");
            }
            shown.push_str(&format!("{};\n", act.step.text));
        }
        shown
    }
}

fn acts(world: &World, random: &mut Random, statements: usize) -> Vec<Act> {
    let mut acts = Vec::new();
    let mut open: Option<Vec<String>> = None;
    while acts.len() < statements || open.is_some() {
        if let Some(control) = control(&mut open, random) {
            acts.push(Act::plain("transaction", control));
            continue;
        }
        let writes = random.chance(if open.is_some() { 55 } else { 30 });
        acts.push(Act::made(if writes { write(world, random) } else { query(world, random) }, writes));
        if writes && random.chance(50) {
            let table = random.pick(&world.tables);
            acts.push(Act { step: Step { any_order: true, ..Step::default() }, ..Act::plain("check", String::new()) });
            if let Some(last) = acts.last_mut() {
                last.step.text = format!("SELECT * FROM {}", table.name);
            }
        }
    }
    for table in &world.tables {
        let mut act = Act::plain("check", format!("SELECT * FROM {}", table.name));
        act.step.any_order = true;
        acts.push(act);
    }
    acts
}

/// What begins, ends or divides a transaction.
fn control(open: &mut Option<Vec<String>>, random: &mut Random) -> Option<String> {
    let Some(points) = open else {
        if random.chance(7) {
            *open = Some(Vec::new());
            return Some((*random.pick(&["BEGIN", "START TRANSACTION"])).to_owned());
        }
        return None;
    };
    match random.below(24) {
        0 | 1 => {
            let name = format!("p{}", random.below(3));
            points.retain(|point| *point != name);
            points.push(name.clone());
            Some(format!("SAVEPOINT {name}"))
        }
        2 | 3 if !points.is_empty() => {
            let at = random.below(points.len());
            points.truncate(at + 1);
            Some(format!("ROLLBACK TO {}", points[at]))
        }
        4 if !points.is_empty() => {
            let at = random.below(points.len());
            let name = points[at].clone();
            points.truncate(at);
            Some(format!("RELEASE SAVEPOINT {name}"))
        }
        5 | 6 => {
            *open = None;
            Some("COMMIT".to_owned())
        }
        7 => {
            *open = None;
            Some("ROLLBACK".to_owned())
        }
        _ => None,
    }
}
