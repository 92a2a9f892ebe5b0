//! The difference of two catalogs, as far as plans of statements depend on it.
//!
//! What must always hold: if none of a statement's [`Words`] is a name of the difference, both catalogs give the same plan. A change of
//! anything that the planner looks at without a name in the statement, or in a view or routine that it uses, therefore affects all plans.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::definition::Change;
use crate::model::{Catalog, Database};
use crate::routine::{Routine, Routines};
use crate::words::{Name, Words};

/// See the module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Difference {
    /// Any plan may be another one.
    Everything,
    /// Plans of statements that mean something of one of these names.
    Names(Vec<Name>),
}

impl Difference {
    /// What is different between two catalogs.
    pub fn between(old: &Catalog, new: &Catalog) -> Difference {
        // In full, so that a new field is thought of here.
        let Catalog {
            version: _,
            shards,
            databases,
            fold_case,
            definitions: _,
            triggers: _,
            events: _,
            routines: _,
            last_definition: _,
            moves: _,
            last_move: _,
            relocated: _,
            draining: _,
        } = old;
        let same_databases = || databases.keys().eq(new.databases.keys());
        if *shards != new.shards || *fold_case != new.fold_case || !same_databases() {
            return Difference::Everything;
        }
        let mut names = BTreeSet::new();
        for (one, other) in databases.values().zip(new.databases.values()) {
            if !Arc::ptr_eq(one, other) && !note_database(one, other, &mut names) {
                return Difference::Everything;
            }
        }
        note_routines(old, new, &mut names);
        let triggered = old.triggers.iter().filter(|trigger| !new.triggers.contains(trigger));
        let triggered = triggered.chain(new.triggers.iter().filter(|trigger| !old.triggers.contains(trigger)));
        names.extend(triggered.filter_map(|(_, table)| table.name.as_deref()).map(str::to_lowercase));
        let events = old.events.iter().filter(|event| !new.events.contains(event));
        let events = events.chain(new.events.iter().filter(|event| !old.events.contains(event)));
        names.extend(events.filter_map(|event| event.object.name.as_deref()).map(str::to_lowercase));
        let names = if names.is_empty() { names } else { relatives([old, new], names) };
        Difference::Names(names.iter().map(|name| Name::of(name)).collect())
    }

    /// Whether the plan of a statement with these words may be another one.
    pub fn touches(&self, words: &Words) -> bool {
        match self {
            Difference::Everything => true,
            Difference::Names(names) => names.iter().any(|name| words.may_mean(name)),
        }
    }
}

/// Notes tables and views that are different. Returns whether there is nothing else that is.
fn note_database(old: &Database, new: &Database, names: &mut BTreeSet<String>) -> bool {
    let Database { shards, slots, tables, views, default_single } = old;
    if *shards != new.shards || *slots != new.slots || *default_single != new.default_single {
        return false;
    }
    note_map(tables, &new.tables, |one, other| Arc::ptr_eq(one, other) || one == other, names);
    note_map(views, &new.views, |one, other| one == other, names);
    true
}

/// Notes routines that are different, and those that are not known while they are defined, in one of the two only.
fn note_routines(old: &Catalog, new: &Catalog, names: &mut BTreeSet<String>) {
    let same = |one: &Arc<Routine>, other: &Arc<Routine>| Arc::ptr_eq(one, other) || one == other;
    for database in old.routines.keys().chain(new.routines.keys()) {
        let of = |catalog: &Catalog| catalog.routines.get(database).cloned().unwrap_or_default();
        let (one, other): (Routines, Routines) = (of(old), of(new));
        note_map(&one.procedures, &other.procedures, same, names);
        note_map(&one.functions, &other.functions, same, names);
    }
    let defined = |catalog: &Catalog| -> BTreeSet<String> {
        let changes = catalog.definitions.iter().flat_map(|definition| &definition.changes);
        let routines = changes.filter_map(|change| match change {
            Change::RereadRoutine(object, _) | Change::DropRoutine(object, _) => object.name.as_deref(),
            _ => None,
        });
        routines.map(str::to_lowercase).collect()
    };
    names.extend(defined(old).symmetric_difference(&defined(new)).cloned());
}

fn note_map<T>(
    old: &BTreeMap<String, T>,
    new: &BTreeMap<String, T>,
    same: impl Fn(&T, &T) -> bool,
    names: &mut BTreeSet<String>,
) {
    let gone_or_other = old.iter().filter(|(name, one)| !new.get(*name).is_some_and(|other| same(one, other)));
    let come = new.iter().filter(|(name, _)| !old.contains_key(*name));
    names.extend(gone_or_other.chain(come).map(|(name, _)| name.to_lowercase()));
}

/// Foreign keys tie tables to each other: what a statement does to one depends on all that hang together with it.
pub(crate) fn relatives<'a>(
    catalogs: impl IntoIterator<Item = &'a Catalog>,
    mut names: BTreeSet<String>,
) -> BTreeSet<String> {
    let databases = catalogs.into_iter().flat_map(|catalog| catalog.databases.values());
    let tables = databases.flat_map(|database| &database.tables);
    let keys = tables.flat_map(|(name, table)| table.foreign_keys.iter().map(move |key| (name, &key.table.1)));
    let ties: BTreeSet<(String, String)> =
        keys.map(|(name, other)| (name.to_lowercase(), other.to_lowercase())).collect();
    loop {
        let before = names.len();
        for (one, other) in &ties {
            if names.contains(one) || names.contains(other) {
                names.extend([one.clone(), other.clone()]);
            }
        }
        if names.len() == before {
            return names;
        }
    }
}

#[cfg(test)]
mod tests;
