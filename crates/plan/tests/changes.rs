//! Plans that are kept over a change of the catalog are those that the new catalog gives: each statement of the golden files is planned
//! over a catalog from which everything is gone, or is another, that its words do not mean.

mod catalog;
mod settings;

use std::sync::Arc;

use settings::{Settings, files};
use weir_catalog::{Catalog, Difference, Placement, ShardId, Weights, Words};
use weir_plan::{explain, plan_traced};
use weir_sql::{Bump, parse};

type Mutation = Box<dyn Fn(&mut Catalog)>;

/// Changes of one object each.
fn mutations(catalog: &Catalog) -> Vec<Mutation> {
    let mut all: Vec<Mutation> = Vec::new();
    for (database, known) in &catalog.databases {
        for name in known.tables.keys() {
            let (of, table) = (database.clone(), name.clone());
            all.push(Box::new(move |catalog| {
                let known = catalog.databases.get_mut(&of).map(Arc::make_mut);
                known.and_then(|known| known.tables.remove(&table));
            }));
            let (of, table) = (database.clone(), name.clone());
            all.push(Box::new(move |catalog| {
                let known = catalog.databases.get_mut(&of).map(Arc::make_mut);
                if let Some(table) = known.and_then(|known| known.tables.get_mut(&table)) {
                    let is_first = table.placement == Placement::Single(ShardId(0));
                    Arc::make_mut(table).placement = Placement::Single(ShardId(u16::from(is_first)));
                }
            }));
        }
        for name in known.views.keys() {
            let (of, view) = (database.clone(), name.clone());
            all.push(Box::new(move |catalog| {
                let known = catalog.databases.get_mut(&of).map(Arc::make_mut);
                known.and_then(|known| known.views.remove(&view));
            }));
        }
    }
    for (database, known) in &catalog.routines {
        for (name, is_function) in
            known.procedures.keys().map(|name| (name, false)).chain(known.functions.keys().map(|name| (name, true)))
        {
            let (of, name) = (database.clone(), name.clone());
            all.push(Box::new(move |catalog| {
                let Some(known) = catalog.routines.get_mut(&of) else { return };
                if is_function {
                    known.functions.remove(&name)
                } else {
                    known.procedures.remove(&name)
                };
            }));
        }
    }
    all
}

/// The statements of a golden file, with their settings.
fn statements(file: &str) -> Vec<(String, Settings)> {
    let (mut all, mut settings, mut text) = (Vec::new(), Settings::default(), String::new());
    for line in file.lines().chain([""]) {
        let ends = line.is_empty() || line.starts_with(['#', '@', ' ']);
        if ends && !text.is_empty() {
            all.push((std::mem::take(&mut text).trim_end().to_owned(), std::mem::take(&mut settings)));
        }
        if let Some(setting) = line.strip_prefix("@ ") {
            settings.set(setting);
        } else if !ends {
            text.push_str(line);
            text.push('\n');
        }
    }
    all
}

/// The plan, if it may be kept.
fn kept(text: &str, catalog: &Catalog, settings: &Settings) -> Option<String> {
    let session = settings.session();
    let arena = Bump::new();
    let parsed = parse(&arena, text.as_bytes(), session.mode).ok()?;
    let [statement] = parsed.statements else { return None };
    let (plan, template) = plan_traced(text.as_bytes(), &[], statement, catalog, &Weights::default(), &session);
    template.and(plan.ok()).map(|plan| format!("{:?}", explain::rows(&plan, catalog)))
}

#[test]
fn a_plan_that_is_kept_is_the_one_of_the_new_catalog() {
    let catalog = catalog::catalog();
    let changes: Vec<(Mutation, Difference)> = mutations(&catalog)
        .into_iter()
        .map(|mutation| {
            let mut new = catalog.clone();
            mutation(&mut new);
            let difference = Difference::between(&catalog, &new);
            (mutation, difference)
        })
        .collect();
    let (mut looked_at, mut changed) = (0, 0);
    for path in files() {
        let file = std::fs::read_to_string(&path).expect("a golden file can be read");
        for (text, settings) in statements(&file) {
            let Some(plan) = kept(&text, &catalog, &settings) else { continue };
            let words = Words::of(text.as_bytes(), settings.session().database, &catalog);
            let mut new = catalog.clone();
            for (mutation, _) in changes.iter().filter(|(_, difference)| !difference.touches(&words)) {
                mutation(&mut new);
                changed += 1;
            }
            assert_eq!(kept(&text, &new, &settings), Some(plan), "{text}");
            looked_at += 1;
        }
    }
    assert!(looked_at > 200 && changed > 20 * looked_at, "{looked_at} plans, {changed} changes");
}
