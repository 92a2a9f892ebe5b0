//! Events that use tables, and which shards run them.
//!
//! What must always hold: an event that uses tables is run either by one shard, which has all rows of its tables, or by each shard for
//! its own rows alone. Tables that would break this are refused where they are made, renamed or moved.

use serde::{Deserialize, Serialize};

use crate::model::Catalog;
use crate::object::Object;
use crate::placement::{Placement, ShardId};
use crate::words::{Name, Words};

/// An event that uses tables.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// Its name.
    pub object: Object,
    /// What it does.
    pub body: String,
    /// It may change rows.
    pub writes: bool,
    /// Who runs it.
    pub place: EventPlace,
}

/// Who runs an event that uses tables.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum EventPlace {
    /// This shard alone has it.
    One(ShardId),
    /// All shards of its database have it, and each changes its own rows of sharded tables.
    Each {
        /// The columns that it assigns, in lower case.
        assigned: Vec<String>,
    },
}

impl Event {
    /// Whether it still does the same if a table that it uses is placed like this. `clause`: that of the placement, which names the key.
    pub fn allows(&self, placement: &Placement, clause: &str) -> bool {
        match (&self.place, placement) {
            (EventPlace::One(shard), Placement::Single(other)) => shard == other,
            (EventPlace::One(_), Placement::Global) => !self.writes,
            (EventPlace::One(_), Placement::Sharded(_)) | (EventPlace::Each { .. }, Placement::Global) => false,
            (EventPlace::Each { .. }, Placement::Single(_)) => true,
            (EventPlace::Each { assigned }, Placement::Sharded(_)) => {
                let key = Words::of(clause.as_bytes(), None, &Catalog::default());
                !assigned.iter().any(|column| key.may_mean(&Name::of(column)))
            }
        }
    }
}

impl Catalog {
    /// An event that uses tables. Names of events do not depend on case.
    pub fn event(&self, object: &Object) -> Option<&Event> {
        self.events.iter().find(|event| is_same(&event.object, object))
    }

    /// The events that may use a table, a view or a procedure of this name.
    pub fn events_with<'a>(&'a self, object: &'a Object) -> impl Iterator<Item = &'a Event> {
        let name = Name::within(&object.database, object.name.as_deref().unwrap_or_default());
        self.events.iter().filter(move |event| {
            Words::of(event.body.as_bytes(), Some(event.object.database.as_bytes()), self).may_mean(&name)
        })
    }

    pub(crate) fn put_event(&mut self, event: &Event) {
        self.drop_event(&event.object);
        self.events.push(event.clone());
    }

    pub(crate) fn drop_event(&mut self, object: &Object) {
        self.events.retain(|event| !is_same(&event.object, object));
    }
}

fn is_same(one: &Object, other: &Object) -> bool {
    let name = |object: &Object| object.name.as_deref().unwrap_or_default().to_lowercase();
    one.database == other.database && name(one) == name(other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::placement::{Method, ShardKey};

    #[test]
    fn tables_of_an_event_stay_where_it_runs() {
        let sharded = Placement::Sharded(ShardKey { columns: vec![0], method: Method::Hash });
        let single = |shard| Placement::Single(ShardId(shard));
        let one = |writes| (EventPlace::One(ShardId(1)), writes);
        let each = || (EventPlace::Each { assigned: vec!["state".to_owned()] }, true);
        for ((place, writes), placement, clause, allowed) in [
            (one(true), single(1), "", true),
            (one(true), single(0), "", false),
            (one(true), Placement::Global, "", false),
            (one(false), Placement::Global, "", true),
            (one(false), sharded.clone(), "SHARD BY HASH(`id`)", false),
            (each(), sharded.clone(), "SHARD BY HASH(`id`)", true),
            (each(), sharded, "SHARD BY HASH(`State`)", false),
            (each(), single(0), "", true),
            (each(), Placement::Global, "", false),
        ] {
            let object = Object::within("d", "e");
            let event = Event { object, body: String::new(), writes, place };
            assert_eq!(event.allows(&placement, clause), allowed, "{:?} {placement:?} {clause}", event.place);
        }
    }

    #[test]
    fn events_are_found_in_any_case_and_by_the_names_in_their_bodies() {
        let mut catalog = Catalog::default();
        let object = Object::within("d", "Purge");
        let body = "DELETE FROM `Logs` WHERE at < NOW()".to_owned();
        let event = Event { object, body, writes: true, place: EventPlace::One(ShardId(0)) };
        catalog.put_event(&event);
        catalog.put_event(&event);
        assert_eq!(catalog.event(&Object::within("d", "purge")), Some(&event));
        assert_eq!(catalog.event(&Object::within("other", "purge")), None);
        assert_eq!(catalog.events_with(&Object::within("d", "logs")).count(), 1);
        assert_eq!(catalog.events_with(&Object::within("d", "log")).count(), 0);
        catalog.drop_event(&Object::within("d", "PURGE"));
        assert!(catalog.events.is_empty());
    }
}
