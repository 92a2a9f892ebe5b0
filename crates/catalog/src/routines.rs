//! The routines of a catalog: found by name, forgotten while shards may have different ones.

use std::sync::Arc;

use crate::definition::Change;
use crate::model::Catalog;
use crate::object::Object;
use crate::routine::{Routine, RoutineKind};

impl Catalog {
    /// A routine of a sharded database, with the database's name, if it is known what it does.
    pub fn routine(&self, database: &[u8], kind: RoutineKind, name: &[u8]) -> Option<(&str, &Arc<Routine>)> {
        let (database, _) = self.database(database)?;
        let of = self.routines.get(database)?;
        let name = std::str::from_utf8(name).ok()?.to_ascii_lowercase();
        if self.is_being_defined(database, kind, &name) {
            return None;
        }
        let known = match kind {
            RoutineKind::Procedure => &of.procedures,
            RoutineKind::Function => &of.functions,
        };
        known.get(&name).map(|routine| (database, routine))
    }

    /// Whether shards may have different ones, because not all have a definition of it yet.
    fn is_being_defined(&self, database: &str, kind: RoutineKind, name: &str) -> bool {
        let is_it = |object: &Object| {
            object.database == database && object.name.as_ref().is_some_and(|known| known.eq_ignore_ascii_case(name))
        };
        self.definitions.iter().flat_map(|definition| &definition.changes).any(|change| match change {
            Change::RereadRoutine(object, of) | Change::DropRoutine(object, of) => *of == kind && is_it(object),
            _ => false,
        })
    }

    /// Forgets the routines that these changes are about: what shards have of them is not known.
    pub fn forget_routines(&mut self, changes: &[Change]) {
        for change in changes {
            if let Change::RereadRoutine(object, kind) | Change::DropRoutine(object, kind) = change {
                self.put_routine(object, *kind, None);
            }
        }
    }

    /// Takes in what is known of a routine.
    pub(crate) fn put_routine(&mut self, object: &Object, kind: RoutineKind, routine: Option<Routine>) {
        let name = object.name.as_deref().unwrap_or_default();
        self.routines.entry(object.database.clone()).or_default().put(kind, name, routine);
    }

    /// A function of a library has come, which hides stored ones of its name.
    pub(crate) fn hide_functions(&mut self, name: &str) {
        for routines in self.routines.values_mut() {
            routines.put(RoutineKind::Function, name, None);
        }
    }
}
