//! Shards that come and go: which are in use, what one holds, and whether the configuration's groups are the catalog's shards.
//!
//! What must always hold: a shard that holds anything, or may be asked for something that it has promised, is not removed.

use crate::model::Catalog;
use crate::moves::Move;
use crate::placement::ShardId;

/// How the groups of a configuration differ from the shards of a catalog.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Membership {
    /// Not at all.
    Same,
    /// There are others behind them.
    Added,
    /// The last ones, which are drained, are missing.
    Removed,
}

impl Catalog {
    /// The shards that take databases, in order.
    pub fn shards_in_use(&self) -> Vec<ShardId> {
        self.all_shards().filter(|shard| !self.draining.contains(shard)).collect()
    }

    /// What a shard holds, or is about to get or to give away. None: it can be removed.
    pub fn held_by(&self, shard: ShardId) -> Option<String> {
        if shard == ShardId(0) {
            return Some("the databases that are not sharded".to_owned());
        }
        if let Some((name, _)) = self.databases.iter().find(|(_, database)| database.shards.contains(&shard)) {
            return Some(format!("database '{name}'"));
        }
        let moving = |known: &&Move| !known.phase.has_ended() && known.shards().contains(&shard);
        if let Some(known) = self.moves.iter().find(moving) {
            return Some(format!("tables of move {}", known.id));
        }
        let definition = self.definitions.iter().find(|known| known.shards.iter().any(|(on, _)| *on == shard))?;
        Some(format!("a part of definition {}", definition.id))
    }

    /// Whether these groups can be the shards.
    ///
    /// # Errors
    /// What is wrong.
    pub fn membership(&self, configured: &[String]) -> Result<Membership, String> {
        for (at, known) in self.shards.iter().enumerate() {
            match configured.get(at) {
                Some(name) if name == known => {}
                None => {
                    self.removable(at)?;
                }
                _ if !configured.contains(known) => return Err(format!("group '{known}' is missing")),
                _ => return Err(format!("group '{known}' is no longer number {}", at + 1)),
            }
        }
        Ok(match configured.len().cmp(&self.shards.len()) {
            std::cmp::Ordering::Less => Membership::Removed,
            std::cmp::Ordering::Equal => Membership::Same,
            std::cmp::Ordering::Greater => Membership::Added,
        })
    }

    fn removable(&self, at: usize) -> Result<(), String> {
        let shard = ShardId(u16::try_from(at).unwrap_or(u16::MAX));
        let name = self.shard_name(shard);
        if let Some(what) = self.held_by(shard) {
            return Err(format!(
                "group '{name}' is missing, and holds {what}: WEIR DRAIN SHARD {name} empties it first"
            ));
        }
        match self.draining.contains(&shard) {
            true => Ok(()),
            false => Err(format!("group '{name}' is missing: WEIR DRAIN SHARD {name} says first that it is to go")),
        }
    }

    /// The shards are these groups.
    pub fn set_shards(&mut self, configured: Vec<String>) {
        let count = configured.len();
        self.shards = configured;
        self.draining.retain(|shard| usize::from(shard.0) < count);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::model::Database;
    use crate::placement::SlotMap;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn shards_are_added_and_removed_at_the_end_only() {
        let mut catalog = Catalog { shards: names(&["a", "b", "c"]), ..Catalog::default() };
        let check = |catalog: &Catalog, groups: &[&str]| catalog.membership(&names(groups));
        assert_eq!(check(&catalog, &["a", "b", "c"]), Ok(Membership::Same));
        assert_eq!(check(&catalog, &["a", "b", "c", "d"]), Ok(Membership::Added));
        assert!(check(&catalog, &["a", "b"]).unwrap_err().contains("WEIR DRAIN SHARD c"));
        assert!(check(&catalog, &["a", "c"]).unwrap_err().contains("group 'b' is missing"));
        assert!(check(&catalog, &["d", "a", "b", "c"]).unwrap_err().contains("no longer number 1"));
        catalog.draining = vec![ShardId(2)];
        assert_eq!(check(&catalog, &["a", "b"]), Ok(Membership::Removed));
        let shards = vec![ShardId(0), ShardId(2)];
        let database = Database {
            slots: SlotMap::even(&shards),
            shards,
            tables: Default::default(),
            views: Default::default(),
            default_single: false,
        };
        catalog.databases.insert("shop".to_owned(), Arc::new(database));
        assert!(check(&catalog, &["a", "b"]).unwrap_err().contains("holds database 'shop'"));
        catalog.databases.clear();
        catalog.set_shards(names(&["a", "b"]));
        assert_eq!((catalog.shards.len(), catalog.draining.len()), (2, 0));
        assert!(check(&catalog, &[]).is_err());
    }
}
