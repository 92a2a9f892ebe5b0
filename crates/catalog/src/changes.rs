//! How definitions enter the catalog, record their progress, and change it.
//!
//! What must always hold: a definition is in the catalog before the first server gets it, and leaves the catalog in the same change that
//! makes its effect known.

use std::collections::BTreeMap;
use std::sync::Arc;

use weir_wire::Failure;
use weir_wire::error::codes;

use crate::definition::{Change, Definition, Progress, Told};
use crate::model::{Catalog, Database};
use crate::object::Object;
use crate::placement::{ShardId, SlotMap};
use crate::table::Table;

impl Definition {
    /// Names of the shards that have it, and of those that don't, each with its error if there is one.
    pub fn sides(&self, catalog: &Catalog) -> (Vec<String>, Vec<String>) {
        let (mut with, mut without) = (Vec::new(), Vec::new());
        for (shard, progress) in &self.shards {
            let name = catalog.shard_name(*shard);
            match progress {
                Progress::Done => with.push(name.to_owned()),
                Progress::Pending => without.push(name.to_owned()),
                Progress::Failed(why) | Progress::Lost(why) => without.push(format!("{name} ({why})")),
            }
        }
        (with, without)
    }
}

impl Catalog {
    /// The definition that stands in the way of another one of these objects.
    pub fn definition_in_the_way(&self, objects: &[Object]) -> Option<&Definition> {
        self.definitions_in_the_way(objects).next()
    }

    /// All of them.
    pub fn definitions_in_the_way(&self, objects: &[Object]) -> impl Iterator<Item = &Definition> {
        let meets = |known: &&Definition| known.objects.iter().any(|a| objects.iter().any(|b| a.meets(b)));
        self.definitions.iter().filter(meets)
    }

    /// Forgets the definitions that are about nothing but what these changes drop: there is no more to go on with or to take back.
    pub fn forget_dropped(&mut self, changes: &[Change]) {
        self.definitions.retain(|definition| !definition.is_dropped_by(changes));
    }

    /// A definition by its number.
    pub fn definition(&self, id: u64) -> Option<&Definition> {
        self.definitions.iter().find(|definition| definition.id == id)
    }

    /// Takes a definition in, and gives it its number.
    pub fn begin_definition(&mut self, mut definition: Definition) -> u64 {
        self.last_definition += 1;
        definition.id = self.last_definition;
        self.definitions.push(definition);
        self.last_definition
    }

    /// Notes how far shards of a definition are.
    pub fn note_progress(&mut self, id: u64, news: &[(ShardId, Progress)]) {
        let Some(definition) = self.definitions.iter_mut().find(|definition| definition.id == id) else { return };
        for (shard, progress) in &mut definition.shards {
            if let Some((_, new)) = news.iter().find(|(told, _)| told == shard) {
                *progress = new.clone();
            }
        }
    }

    /// Removes a definition.
    pub fn forget_definition(&mut self, id: u64) {
        self.definitions.retain(|definition| definition.id != id);
    }

    /// Makes what a definition does known. `told`: what servers say of what it adds or changes.
    ///
    /// # Errors
    /// 1049 when a database is not (or no longer) known.
    pub fn apply_changes(&mut self, changes: &[Change], told: &Told) -> Result<(), Failure> {
        changes.iter().try_for_each(|change| self.apply_change(change, told))
    }

    fn apply_change(&mut self, change: &Change, told: &Told) -> Result<(), Failure> {
        match change {
            Change::AddDatabase(name, shards) => {
                let database = Database {
                    shards: shards.clone(),
                    slots: SlotMap::even(shards),
                    tables: BTreeMap::new(),
                    views: BTreeMap::new(),
                    default_single: false,
                };
                self.databases.entry(name.clone()).or_insert_with(|| Arc::new(database));
            }
            Change::DefaultSingle(name, single) => {
                self.within(&Object::database(name.clone()))?.default_single = *single;
            }
            Change::DropDatabase(name) => {
                self.databases.remove(name);
                self.triggers.retain(|(trigger, _)| trigger.database != *name);
                self.events.retain(|event| event.object.database != *name);
                self.routines.remove(name);
            }
            Change::AddTable(object, _) | Change::RereadTable(object) => {
                if let Some(table) = told.tables.get(object) {
                    let tables = &mut self.within(object)?.tables;
                    let stays = matches!(change, Change::RereadTable(_));
                    let hot_merge = stays && tables.get(&name_of(object)).is_some_and(|before| before.hot_merge);
                    tables.insert(name_of(object), Arc::new(Table { hot_merge, ..table.clone() }));
                }
            }
            Change::DropTable(object) => {
                self.relocated.retain(|(known, _)| known != object);
                self.within(object)?.tables.remove(&name_of(object));
                self.triggers.retain(|(_, table)| table != object);
            }
            Change::PutTrigger(object, table) => {
                self.triggers.retain(|(known, _)| known != object);
                self.triggers.push((object.clone(), table.clone()));
            }
            Change::RereadRoutine(object, kind) => {
                self.within(object)?;
                let routine = told.routines.get(&(object.clone(), *kind)).cloned();
                self.put_routine(object, *kind, routine);
            }
            Change::DropRoutine(object, kind) => self.put_routine(object, *kind, None),
            Change::HideFunctions(name) => self.hide_functions(name),
            Change::DropTrigger(object) => self.triggers.retain(|(known, _)| known != object),
            Change::PutEvent(event) => self.put_event(event),
            Change::DropEvent(object) => self.drop_event(object),
            // Sequences are not in the catalog.
            Change::StartSequence(..) | Change::ResetSequence(_) => {}
            Change::PutView(object, query) => {
                let query = told.views.get(object).unwrap_or(query).clone();
                self.within(object)?.views.insert(name_of(object), query);
            }
            Change::DropView(object) => {
                self.within(object)?.views.remove(&name_of(object));
            }
            Change::Rename(from, to) => self.rename(from, to)?,
        }
        Ok(())
    }

    fn rename(&mut self, from: &Object, to: &Object) -> Result<(), Failure> {
        let database = self.within(from)?;
        let table = database.tables.remove(&name_of(from));
        let view = database.views.remove(&name_of(from));
        for (of, _) in self.relocated.iter_mut().filter(|(of, _)| of == from) {
            *of = to.clone();
        }
        for (_, of) in self.triggers.iter_mut().filter(|(_, of)| of == from) {
            *of = to.clone();
        }
        self.refer(from, to);
        let database = self.within(to)?;
        if let Some(table) = table {
            database.tables.insert(name_of(to), table);
        }
        if let Some(view) = view {
            database.views.insert(name_of(to), view);
        }
        Ok(())
    }

    /// Foreign keys follow the table that they refer to, as they do on the servers.
    fn refer(&mut self, from: &Object, to: &Object) {
        let old = (from.database.clone(), name_of(from));
        let refers = |table: &Arc<Table>| table.foreign_keys.iter().any(|key| key.table == old);
        for database in self.databases.values_mut().filter(|database| database.tables.values().any(refers)) {
            for table in Arc::make_mut(database).tables.values_mut().filter(|table| refers(table)) {
                for key in Arc::make_mut(table).foreign_keys.iter_mut().filter(|key| key.table == old) {
                    key.table = (to.database.clone(), name_of(to));
                }
            }
        }
    }

    fn within(&mut self, object: &Object) -> Result<&mut Database, Failure> {
        match self.databases.get_mut(&object.database) {
            Some(database) => Ok(Arc::make_mut(database)),
            None => {
                let message = format!("Unknown database '{}'", object.database);
                Err(Failure::client(codes::ER_BAD_DB_ERROR, message))
            }
        }
    }
}

fn name_of(object: &Object) -> String {
    object.name.clone().unwrap_or_default()
}

#[cfg(test)]
mod tests;
